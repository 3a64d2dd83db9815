"""All methods by name, and which of them apply to a problem."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from benchmarks.suite.measures import Answer
from benchmarks.suite.ours import TRAINED, UNTRAINED, fit_xsdc
from benchmarks.suite.regimes import LEVELS, UNLABELED, Given
from benchmarks.suite.rivals import RIVALS
from benchmarks.suite.shuffled import DEPENDENT, with_shuffled_classes

SUITE = Path(__file__).parent
SOURCE = SUITE.parents[1] / "src" / "xsdc"
# What a fit consists of. Data readers, reports and the command line have no part in it.
OUR_CODE = (
    *(SOURCE / part for part in ("core", "networks", "labelers", "training", "fitting", "estimator.py")),
    SOURCE / "validation.py",
    SOURCE / "defaults.py",
    SUITE / "ours.py",
)
RIVAL_CODE = tuple(SUITE / name for name in ("rivals.py", "graph_rivals.py", "pair_rivals.py"))
OUR_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
RIVAL_PACKAGES = ("numpy", "scipy", "scikit-learn", "umap-learn", "graphlearning", "k-means-constrained")


@dataclass(frozen=True)
class Method:
    """A method of the suite.

    Attributes
    ----------
    fit : callable
        From what is given to an answer.
    levels : tuple of str
        Levels of supervision at which it is run.
    ours : bool
        Whether it is XSDC.
    applies : callable
        Whether it can be run on what is given.
    shuffled : bool
        Whether its classes are numbered at random.
    """

    fit: Callable[[Given], Answer]
    levels: tuple[str, ...]
    ours: bool
    applies: Callable[[Given], bool] = lambda _: True
    shuffled: bool = False

    @property
    def code(self) -> str:
        """Fingerprint of the code and the packages behind it."""
        if self.ours:
            return _fingerprint(OUR_CODE, OUR_PACKAGES)
        return _fingerprint(RIVAL_CODE + ((SUITE / "shuffled.py",) if self.shuffled else ()), RIVAL_PACKAGES)


def _rival(name: str) -> Method:
    shuffled = name in DEPENDENT
    rival = with_shuffled_classes(RIVALS[name]) if shuffled else RIVALS[name]
    return Method(rival.fit, rival.levels, ours=False, applies=rival.applies, shuffled=shuffled)


METHODS: dict[str, Method] = {
    "xsdc": Method(fit_xsdc, LEVELS, ours=True),
    "xsdc, trained": Method(lambda given: fit_xsdc(given, **TRAINED), LEVELS, ours=True),
    "xsdc, untrained": Method(lambda given: fit_xsdc(given, **UNTRAINED), LEVELS, ours=True),
} | {name: _rival(name) for name in RIVALS}
# Those that ignore pairs and sizes are run once, without labels; they count at the other unlabeled levels too.
IGNORE_CONSTRAINTS = tuple(name for name, method in METHODS.items() if method.levels == ("0",))


def methods_at(level: str) -> list[str]:
    """Methods that count at a level, those that ignore what it tells among them."""
    ignoring = IGNORE_CONSTRAINTS if level in UNLABELED else ()
    return [name for name, method in METHODS.items() if level in method.levels or name in ignoring]


@cache
def _fingerprint(code: tuple[Path, ...], packages: tuple[str, ...]) -> str:
    """Digest of syntax trees without docstrings, and of versions; comments and formatting do not count."""
    total = hashlib.sha256()
    for path in code:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            total.update(str(file.relative_to(SUITE.parents[1])).encode())
            total.update(ast.dump(_without_docstrings(ast.parse(file.read_text(encoding="utf-8")))).encode())
    for package in packages:
        total.update(f"{package} {version(package)}".encode())
    return total.hexdigest()[:12]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in _documented(tree):
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _documented(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
