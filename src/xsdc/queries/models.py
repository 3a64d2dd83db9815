"""Questions about the data of a fitted model, for scripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from xsdc.core.graph import NeighborIndex
from xsdc.errors import InvalidInputError
from xsdc.estimator import XSDC
from xsdc.fitting.knowledge import read_knowledge
from xsdc.fitting.labels import LabelClassifier
from xsdc.fitting.representation import fit_representation
from xsdc.fitting.resolve import as_view
from xsdc.fitting.sources import prepare
from xsdc.fitting.views import View
from xsdc.queries.questions import KINDS, Kind, Question, choose_questions
from xsdc.queries.situation import Situation
from xsdc.queries.strategies import STRATEGIES, Strategy


def suggest(
    model: XSDC,
    X: Any,
    y: Any = None,
    *,
    n: int = 20,
    kinds: Iterable[Kind] = KINDS,
    strategy: str | Strategy = "useful",
    asked: Iterable[Question] = (),
    must_link: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> list[Question]:
    """Suggest the questions whose answers would help a fitted model most.

    Parameters
    ----------
    model : XSDC
        Fitted to ``X``.
    X : array-like
        The data it was fitted to, all rows in the same order.
    y : array-like, shape (n,), optional
        The labels it was given; -1, None or NaN where unknown.
    n : int
        How many questions.
    kinds : iterable of str
        Which of "group", "pair", "set" and "label" may be asked.
    strategy : str or function
        Which points to ask about: "useful", "margin", "typical", "random", or a function like them.
    asked : iterable of Question
        Questions that are not to be asked again.
    must_link : array-like, shape (m, 2), optional
        Pairs of positions it was told to be in the same class.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    list of Question
        The most useful first.

    Examples
    --------
    >>> import numpy as np
    >>> from xsdc import XSDC
    >>> from xsdc.queries import suggest
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3) * 6, 30, axis=0) + rng.normal(size=(90, 3))
    >>> model = XSDC(3, random_state=0).fit(X)
    >>> [question.text for question in suggest(model, X, n=3)]
    ['Is this group one thing?', 'Is this group one thing?', 'Is this group one thing?']
    """
    kinds = tuple(kinds)
    strange = [kind for kind in kinds if kind not in KINDS]
    if strange or not kinds:
        raise InvalidInputError(f"kinds must be some of {', '.join(KINDS)}; they are {list(kinds)}.")
    if isinstance(strategy, str) and strategy not in STRATEGIES:
        raise InvalidInputError(f"strategy must be one of {', '.join(STRATEGIES)}, or a function; it is {strategy!r}.")
    if n < 1:
        raise InvalidInputError(f"n must be at least 1; it is {n}.")
    chosen = STRATEGIES[strategy] if isinstance(strategy, str) else strategy
    keys = frozenset(question.key for question in asked)
    situation = find_situation(model, X, y, must_link=must_link, asked=keys)
    return choose_questions(situation, n, kinds=kinds, strategy=chosen, rng=check_random_state(random_state))


def find_situation(
    model: XSDC,
    X: Any,
    y: Any = None,
    *,
    must_link: Any = None,
    asked: frozenset[tuple[str, tuple[int, ...]]] = frozenset(),
) -> Situation:
    """Gather what questions are chosen by from a fitted model and its data."""
    view = view_of(model, X)
    if len(view) != len(model.labels_):
        raise InvalidInputError(
            f"X must hold the {len(model.labels_)} points that the model was fitted to; it holds {len(view)}."
        )
    knowledge = read_knowledge(len(view), y=y, must_link=must_link, n_clusters=model.n_clusters_)
    names = model.classes_.tolist()
    place = {name: code for code, name in enumerate(names)}
    given = set(knowledge.names[: knowledge.n_named].tolist())
    return Situation(
        Z=view.Z.numpy(),
        graph=NeighborIndex.of(view.Z).graph(),
        probabilities=model.predict_proba(X),
        codes=np.array([place[label] for label in model.labels_.tolist()], dtype=np.int64),
        names=[str(name) if name in given else f"group {name}" for name in names],
        named=np.array([name in given for name in names]),
        known=knowledge.constraints.classes >= 0,
        asked=asked,
    )


def view_of(model: XSDC, X: Any) -> View:
    """Represent data as the classifiers of a fitted model see it: learned features where there are any, else inputs."""
    data = prepare(model.network_, model._read(X, reset=False), channels=model.channels)
    classifier = model._classifier
    if not isinstance(classifier, LabelClassifier):
        return as_view(fit_representation(data, images=data[:1].ndim > 2)(data).numpy())
    if len(classifier.representations) > 1:
        return as_view(classifier.representations[1](as_view(model.transform(X)).Z).numpy())
    return as_view(classifier.representations[0](data).numpy())
