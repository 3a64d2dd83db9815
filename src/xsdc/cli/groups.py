"""Groups of options that several commands share, each written down once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

Group = Mapping[str, Any]  # name of an option to its annotation; all are optional and None where not given
Command = Callable[..., None]


def takes(**groups: Group) -> Callable[[Command], Command]:
    """Give a command the options of some groups; it gets those that were used as one dictionary per group.

    Parameters
    ----------
    **groups : mapping from option to annotation
        Under the name of the command's argument that takes them.
    """

    def decorate(command: Command) -> Command:
        own = [p for name, p in inspect.signature(command, eval_str=True).parameters.items() if name not in groups]

        @functools.wraps(command)
        def run(*args: Any, **values: Any) -> None:
            for group, options in groups.items():
                given = {name: values.pop(name) for name in options}
                values[group] = {name: value for name, value in given.items() if value is not None}
            command(*args, **values)

        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for options in groups.values()
            for name, annotation in options.items()
        ]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + shared
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__  # Typer would look behind it
        return run

    return decorate


def text(help_: str, *, panel: str, metavar: str = "NAME") -> Any:
    """Describe an option that holds text."""
    return Annotated[str | None, typer.Option(help=help_, metavar=metavar, rich_help_panel=panel, show_default=False)]


def parsed(parser: Callable[[str], Any], help_: str, *, panel: str, metavar: str) -> Any:
    """Describe an option that a function reads."""
    option = typer.Option(help=help_, metavar=metavar, rich_help_panel=panel, parser=parser, show_default=False)
    return Annotated[Any | None, option]
