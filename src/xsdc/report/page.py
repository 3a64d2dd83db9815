"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from xsdc.report.findings import Findings
from xsdc.report.summary import summarize
from xsdc.report.wording import count, percent, score


def render_report(findings: Findings) -> str:
    """Write a run down for people: what was given, what was found, how good it is and how it was made.

    Parameters
    ----------
    findings : Findings
        A finished run.

    Returns
    -------
    str
        A page of HTML that holds its pictures, styles and scripts and asks the network for nothing.
    """
    return _environment().get_template("report.html").render(summarize(findings))


def write_report(findings: Findings, path: str | Path) -> None:
    """Render a run and save the page; see :func:`render_report`."""
    Path(path).write_text(render_report(findings), encoding="utf-8")


def mark_names(text: str) -> Markup:
    """Set what stands between backticks, names of columns and files, as code; the rest is escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped before


def _environment() -> jinja2.Environment:
    """Templates with escapes on: names, ids and cells come from anywhere."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("xsdc.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=count, percent=percent, score=score, names=mark_names)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False, "ensure_ascii": False}
    return environment
