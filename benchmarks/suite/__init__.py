"""Accuracy with defaults on many data sets, beside other methods on the same splits.

``python -m benchmarks.suite run`` makes trials, ``table`` writes docs/suite.md and its picture, ``record`` writes down
what the guard in the tests compares with. The modules, in the order in which a trial passes through them:

- `sets`: the data sets, their halves and their preparation;
- `regimes`: splits, and what is known at each level of supervision;
- `methods`: all methods by name; `ours` and `rivals` (`graph_rivals`, `pair_rivals`) implement them;
- `measures`: how an answer is scored;
- `runner`: which trials are to be made, and the log of those that were;
- `summary`, `table`, `picture`: what the trials say.
"""
