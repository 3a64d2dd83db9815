"""The exact configuration of a run: enough to make it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from xsdc import __version__
from xsdc.data import Limits, Preparation, Reading
from xsdc.data.preparation import KINDS
from xsdc.errors import InvalidInputError

# Options of the estimator that belong to a process and not to a run.
NOT_KEPT = ("callbacks", "progress", "random_state")


@dataclass(frozen=True)
class DataOptions:
    """What to read, and how.

    Attributes
    ----------
    source : str
        A file, a folder, or the name of a data set.
    label_column, truth_column, id_column : str or None
        Columns, or arrays of an npz, that hold given labels, true labels to measure by, and ids.
    ignore : tuple of str
        Columns that take no part.
    must_link, cannot_link : str or None
        Files of pairs in the same and in different classes.
    links : str or None
        File of both kinds, each line of which says which.
    corrections : tuple of str
        Files of answers and corrections, which add to the labels and pairs above; of two labels the last one counts.
    keep_labels : int or None
        Labels to keep; the others are hidden and become truth to measure by.
    scale : str
        How numbers are scaled: "auto", "standard" or "none".
    image_size : int or None
        Side to which images are brought.
    delimiter, decimal, encoding : str or None
        What separates cells of a table in text, its decimal sign and its letters, where they are not to be guessed.
    header : bool or None
        Whether a line of a table names its columns.
    skip_rows : int or None
        Lines before a table.
    missing : tuple of str
        Further cells that mean that nothing is known.
    sheet : str or None
        Sheet of a workbook.
    kind : str
        What vectors hold: "auto", "numbers", "counts" or "words".
    text_encoder : str or None
        Name of a sentence encoder for free text.
    limits : dict or None
        Bytes, rows, columns and seconds that reading may take, where not the usual ones.
    """

    source: str
    label_column: str | None = None
    truth_column: str | None = None
    id_column: str | None = None
    ignore: tuple[str, ...] = ()
    must_link: str | None = None
    cannot_link: str | None = None
    links: str | None = None
    corrections: tuple[str, ...] = ()
    keep_labels: int | None = None
    scale: Literal["auto", "standard", "none"] = "auto"
    image_size: int | None = None
    limits: dict[str, float] | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    skip_rows: int | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    kind: Literal["auto", "numbers", "counts", "words"] = "auto"
    text_encoder: str | None = None

    def reading(self) -> Reading:
        """Return how a table is written, as far as it is said."""
        return Reading(
            self.delimiter, self.decimal, self.encoding, self.header, self.skip_rows, self.missing, self.sheet
        )

    def preparation(self) -> Preparation:
        """Return how columns are to become numbers."""
        return Preparation(scale=self.scale, kind=self.kind, text_encoder=self.text_encoder)

    def __post_init__(self) -> None:
        words = (
            *("label_column", "truth_column", "id_column", "must_link", "cannot_link", "links"),
            *("delimiter", "decimal", "encoding", "sheet", "text_encoder"),
        )
        for name in words:
            _require(getattr(self, name) is None or isinstance(getattr(self, name), str), name, "text", self)
        _require(isinstance(self.source, str) and self.source.strip() != "", "source", "the name of what to read", self)
        names = {"ignore": "columns", "corrections": "files", "missing": "cells"}
        for name, of in names.items():
            some = getattr(self, name)
            listed = isinstance(some, tuple | list) and all(isinstance(each, str) for each in some)
            _require(listed, name, f"a list of {of}", self)
        for name in ("keep_labels", "image_size", "skip_rows"):
            value = getattr(self, name)
            _require(value is None or (type(value) is int and value >= 0), name, "a whole number", self)
        _require(self.header in (None, True, False), "header", "true or false", self)
        _require(self.limits is None or isinstance(self.limits, dict), "limits", "names with numbers", self)
        Limits.of(self.limits)
        _require(self.scale in ("auto", "standard", "none"), "scale", "auto, standard or none", self)
        _require(self.kind in KINDS, "kind", "auto, numbers, counts or words", self)
        self.reading()


def _require(holds: bool, name: str, wanted: str, owner: object) -> None:
    if not holds:
        raise InvalidInputError(f"{name} must be {wanted}; it is {getattr(owner, name)!r}.")


@dataclass(frozen=True)
class Configuration:
    """What a run was asked to do.

    Attributes
    ----------
    data : DataOptions
        What to read.
    options : dict
        Options of the estimator, defaults included.
    seed : int
        Its ``random_state``.
    """

    data: DataOptions
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        _require(type(self.seed) is int and 0 <= self.seed < 2**32, "seed", "a whole number from 0 to 2^32 - 1", self)

    @classmethod
    def make(cls, data: DataOptions, options: Mapping[str, Any], *, seed: int = 0) -> Configuration:
        """Fill in the defaults of options that are not given; refuse those that do not exist."""
        from xsdc.estimator import XSDC  # noqa: PLC0415  torch takes a second

        defaults = {name: value for name, value in XSDC().get_params().items() if name not in NOT_KEPT}
        strange = [name for name in options if name not in defaults]
        if strange:
            raise InvalidInputError(f"There is no option {strange[0]!r}; there are {', '.join(defaults)}.")
        return cls(data, defaults | dict(options), seed)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as it stands in the file."""
        return {"xsdc": __version__, "data": asdict(self.data), "options": self.options, "seed": self.seed}

    @classmethod
    def read(cls, path: Path) -> Configuration:
        """Read a file that a run has written."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            missing = {"data", "options", "seed"} - (content.keys() if isinstance(content, dict) else set())
            if missing:
                raise InvalidInputError(f"{path} is not the configuration of a run: it has no {min(missing)!r}.")
            data = dict(content["data"])
            for name in ("ignore", "corrections", "missing"):
                if isinstance(data.get(name), list):
                    data[name] = tuple(data[name])
            strange = data.keys() - {each.name for each in fields(DataOptions)}
            if strange:
                raise InvalidInputError(f"{path} has {min(strange)!r} under data, which this release does not know.")
            return cls.make(DataOptions(**data), content["options"], seed=content["seed"])
        except FileNotFoundError as error:
            raise InvalidInputError(f"There is no file {path}.") from error
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{path} cannot be read: {error}.") from error
        except InvalidInputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"{path} is not the configuration of a run ({error}).") from error
