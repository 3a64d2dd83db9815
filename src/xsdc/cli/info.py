"""``xsdc info``: what a run or a model is, and what is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import platform, python_version
from typing import Annotated, Any

import typer

from xsdc.cli.console import accuracy_text, print_json, print_table

LIBRARIES = ("torch", "scikit-learn", "numpy", "scipy", "pandas", "pyarrow", "anndata", "optuna")


def info(
    what: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Folder of a run, or a model file.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell what a RUN or a model file holds; without one, which versions are installed."""
    facts = describe_installation() if what is None else describe_run(what)
    if json:
        print_json(facts)
    else:
        print_table([(name, _shown(value)) for name, value in facts.items()])


def describe_installation() -> dict[str, Any]:
    """Versions of this package and of what it stands on."""
    from xsdc import __version__  # noqa: PLC0415

    facts: dict[str, Any] = {"xsdc": __version__, "python": python_version(), "system": platform()}
    for library in LIBRARIES:
        try:
            facts[library] = version(library)
        except PackageNotFoundError:
            facts[library] = None
    return facts


def describe_run(path: Path) -> dict[str, Any]:
    """What a model was fitted to, and how."""
    from xsdc import XSDC  # noqa: PLC0415
    from xsdc.runs import open_run, read_metrics  # noqa: PLC0415

    facts: dict[str, Any] = {}
    if path.is_dir():
        folder = open_run(path)
        folder.require(folder.metrics, folder.model)
        metrics = read_metrics(folder)
        measured = metrics["measured"]
        facts = {
            "data": metrics["data"]["name"],
            "points": metrics["data"]["n"],
            "labels": metrics["data"]["n_labeled"],
            "accuracy": None if measured is None else accuracy_text(measured),
            "written by": f"xsdc {metrics['version']}",
        }
        path = folder.model
    model = XSDC.load(path)
    options = {name: value for name, value in model.get_params().items() if value != XSDC().get_params()[name]}
    return facts | {
        "classes": [str(name) for name in model.classes_],
        "network": type(model.network_).__name__,
        "parameters": sum(p.numel() for p in model.network_.parameters()),
        "features": model.network_.n_features,
        "steps": model.n_iter_,
        "options that are not the default": {
            k: v for k, v in options.items() if k not in ("callbacks", "progress", "random_state")
        },
    }


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {inner}" for name, inner in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
