"""Which column is the label, the truth, the id; which are left out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xsdc.data.forms import Form
from xsdc.errors import InvalidInputError

LABEL_WORDS = ("label", "labels", "class", "target", "y", "kind", "category", "species")


@dataclass(frozen=True)
class Reading:
    """What the user said about how a file is written; None for what is to be guessed.

    Attributes
    ----------
    delimiter, decimal, encoding : str or None
        What separates cells, the decimal sign, the letters.
    header : bool or None
        Whether a line names the columns.
    skip_rows : int or None
        Lines before the table.
    missing : tuple of str
        Further cells that mean that nothing is known.
    sheet : str or None
        Sheet of a workbook; the first one by default.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    skip_rows: int | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InvalidInputError(
                f"delimiter must be one letter, such as ; or tab; it is {self.delimiter!r}.", option="delimiter"
            )
        if self.decimal not in (None, ".", ","):
            raise InvalidInputError(f"decimal must be a point or a comma; it is {self.decimal!r}.", option="decimal")
        if self.skip_rows is not None and self.skip_rows < 0:
            raise InvalidInputError(f"skip_rows must be 0 or more; it is {self.skip_rows}.", option="skip_rows")


@dataclass(frozen=True)
class Roles:
    """What the user said about columns, or about arrays that take the place of columns.

    Attributes
    ----------
    label, truth, id : str or None
        Columns of given labels, of true labels to measure by, and of ids.
    ignore : tuple of str
        Columns that are not used at all.
    text : tuple of str
        Columns whose cells are words also where all look like numbers; those that are not there are passed over.
    expected : tuple of str
        Columns of the table of a fit, of which this one is to be the like.
    forms : dict from str to Form
        How that table wrote its numbers; it counts where this one does not tell.
    reading : Reading
        How the file is written.
    """

    label: str | None = None
    truth: str | None = None
    id: str | None = None
    ignore: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    forms: Mapping[str, Form] = field(default_factory=dict)
    reading: Reading = Reading()

    @property
    def verbatim(self) -> tuple[str, ...]:
        """Every column that is read as text."""
        return tuple(column for column in (self.label, self.truth, self.id, *self.text) if column is not None)

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that plays a role."""
        return tuple(column for column in (self.label, self.truth, self.id, *self.ignore) if column is not None)

    def require_in(self, columns: Sequence[str], *, where: str, thing: str = "column") -> None:
        """Refuse roles of columns that are not there, and a column with two roles."""
        for column in self.named:
            if column not in columns:
                raise InvalidInputError(
                    f"{where} has no {thing} `{column}`{near_miss(column, columns)}."
                    f" Its {thing}s are {listed(columns)}."
                )
            if self.named.count(column) > 1:
                raise InvalidInputError(
                    f"The {thing} `{column}` is given more than one role (label, truth, id, ignored); it can have one."
                )


def near_miss(word: str, words: Iterable[str]) -> str:
    """Ask whether a similar word was meant: `` (did you mean `colour`?)``, or nothing."""
    by_lower = {w.lower(): w for w in words}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return f" (did you mean `{by_lower[close[0]]}`?)" if close else ""


def listed(names: Sequence[str], *, limit: int = 8) -> str:
    """Format names for a message: ```a`, `b` and 40 more``."""
    shown = ", ".join(f"`{name}`" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def looks_like_labels(columns: Iterable[str]) -> str | None:
    """Return the first column whose name is one that label columns have."""
    return next((column for column in columns if column.strip().lower() in LABEL_WORDS), None)
