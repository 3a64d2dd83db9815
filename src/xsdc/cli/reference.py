"""The reference of the command line in Markdown, from what the commands themselves say.

``python -m xsdc.cli.reference`` prints it; with the name of a file it writes there: docs/cli.md is made so.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from xsdc.cli import app

COMMAND = "python -m xsdc.cli.reference docs/cli.md"
OWN = "Options"  # the panel of options that name none
MARKUP = re.compile(r"\[/?[a-z ]*\]")  # Rich's: [bold] and [/]
EXAMPLE = re.compile(r"\[bold\](.*?)\[/\]")


def render_reference() -> str:
    """Write down every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    callbacks = {each.name: each.callback for each in app.registered_commands}
    defaults = _inherited_defaults()
    lines = [
        "# Command line",
        "",
        f"<!-- Made by {COMMAND}; change the commands, not this page. -->",
        "",
        f"{group.help} What a run leaves behind is described in [Runs and files](runs.md).",
        "",
        f"{group.epilog} Every command has `--help`.",
        "",
        "| command | what it does |",
        "| --- | --- |",
    ]
    for name, command in group.commands.items():
        lines.append(f"| [`xsdc {name}`](#xsdc-{name}) | {_cell(_paragraphs(command.help)[0])} |")
    for name, command in group.commands.items():
        lines += ["", *_command(f"xsdc {name}", command, callbacks[name], defaults)]
    return "\n".join(lines) + "\n"


def _inherited_defaults() -> dict[str, Any]:
    """Defaults of options that are passed on to the estimator or the readers."""
    from xsdc import XSDC  # noqa: PLC0415  torch takes a second
    from xsdc.runs import DataOptions  # noqa: PLC0415

    parameters = [*inspect.signature(DataOptions).parameters.values(), *inspect.signature(XSDC).parameters.values()]
    return {p.name: p.default for p in parameters if isinstance(p.default, str | int | float)}


def _command(name: str, command: Any, callback: Callable[..., Any] | None, defaults: dict[str, Any]) -> Iterator[str]:
    kinds = typing.get_type_hints(callback)
    arguments = [p for p in command.params if not _is_option(p)]
    options = [p for p in command.params if _is_option(p) and p.name != "help" and not p.hidden]
    usage = [name, *(p.metavar for p in arguments), *(["[OPTIONS]"] if options else [])]
    yield from (f"## {name}", "", "```text", " ".join(usage), "```")
    for paragraph in _paragraphs(command.help):
        example = EXAMPLE.fullmatch(paragraph)
        yield from ("", *(("```text", example[1], "```") if example else (MARKUP.sub("", paragraph),)))
    if arguments:
        yield from ("", "| argument | meaning |", "| --- | --- |")
        for argument in arguments:
            yield f"| {_cell(argument.metavar)} | {_cell(argument.help)} |"
    panels: dict[str, list[Any]] = {OWN: []}
    for option in options:
        panels.setdefault(option.rich_help_panel or OWN, []).append(option)
    for panel, members in panels.items():
        if members:
            yield from ("", f"**{panel}**", "", "| option | default | meaning |", "| --- | --- | --- |")
            yield from (_row(option, kinds.get(option.name), defaults.get(option.name)) for option in members)


def _row(option: Any, kind: Any, inherited: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" {_cell(_metavar(option, kind))}"
    return f"| {names}{value} | {_default(option, inherited)} | {_cell(option.help)} |"


def _metavar(option: Any, kind: Any) -> str:
    if option.metavar:
        return str(option.metavar)
    if isinstance(option.default, enum.Enum):
        return "|".join(str(each.value) for each in type(option.default))
    return "NUMBER" if {int, float} & {kind, *typing.get_args(kind)} else "VALUE"


def _default(option: Any, inherited: Any) -> str:
    value = inherited if option.default is None else option.default
    if value is None or (option.is_flag and value is False):
        return ""
    if option.is_flag:
        return f"`{option.opts[0]}`"
    return f"`{value.value if isinstance(value, enum.Enum) else value}`"


def _is_option(parameter: Any) -> bool:
    return any(name.startswith("-") for name in parameter.opts)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _cell(text: str) -> str:
    """Write text so that it stays within its cell and nothing in it is taken for a tag."""
    return text.replace("|", "&#124;").replace("<", "&lt;")


def main(arguments: list[str]) -> None:
    """Print the reference, or write it to a file."""
    if arguments:
        Path(arguments[0]).write_text(render_reference(), encoding="utf-8")
    else:
        sys.stdout.write(render_reference())


if __name__ == "__main__":
    main(sys.argv[1:])
