"""What the documentation shows is run as it stands, its links lead somewhere, and nothing is left out of it."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path

import pytest

from xsdc import XSDC
from xsdc.cli import DONE, WRONG_INPUT, main
from xsdc.cli.reference import render_reference
from xsdc.data import DATASETS
from xsdc.data.reading import BY_SUFFIX
from xsdc.runs import DataOptions, RunFolder
from xsdc.tuning.space import TUNABLE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SHOWN = [
    *sorted(DOCS.glob("tutorials/*.md")),
    DOCS / "index.md",
    DOCS / "runs.md",
    DOCS / "family.md",
    DOCS / "scaling.md",
]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
RUNS = (DOCS / "runs.md").read_text(encoding="utf-8")
SUSPICIOUS = ("id", "row", "label", "probability", "likelier", "likelier_probability")
# Keys of runs with violated pairs, with suspicious labels, and with labels held out.
SOMETIMES = {"found.violations[].kind", "found.violations[].points", "steps[].score", "steps[].unbounded"} | {
    f"found.suspicious[].{name}" for name in SUSPICIOUS
}
NEARLY = 0.05  # machines round differently; a count or a share may be off by as much


@dataclass(frozen=True)
class Block:
    """A fenced block: code, commands with what they print, what code prints, or a file."""

    language: str
    title: str
    body: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(*(group or "" for group in found)) for found in FENCE.findall(page.read_text(encoding="utf-8"))]


def assert_like(shown: str, came: str) -> None:
    """Compare word by word; ``...`` stands for anything, and numbers may be off by a little."""
    pattern = "".join(
        r"\s+" if part.isspace() else ".*?" if part == "..." else f"({NUMBER.pattern})" if NUMBER.fullmatch(part)
        else re.escape(part)
        for part in re.split(rf"(\s+|\.\.\.|{NUMBER.pattern})", shown.strip()) if part
    )  # fmt: skip
    match = re.fullmatch(pattern, came.strip(), re.DOTALL)
    assert match, f"The page shows\n{shown}\nbut this came:\n{came}"
    for text, other in zip(NUMBER.findall(shown.replace("...", " ")), match.groups(), strict=True):
        value, found = (float(number.replace(",", "")) for number in (text, other))
        assert found == pytest.approx(value, rel=NEARLY, abs=0.02), f"{text} is shown, but {other} came:\n{came}"


def run_commands(session: str, monkeypatch) -> None:
    """Run the lines that begin with ``$`` and compare what follows each with what it prints."""
    for line, shown in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
        arguments = shlex.split(line.replace("\\\n", " "))
        assert arguments[0] == "xsdc", line
        monkeypatch.setattr(sys, "argv", arguments)
        screen = io.StringIO()
        with redirect_stdout(screen), redirect_stderr(screen), pytest.raises(SystemExit) as stop:
            main()
        said = screen.getvalue()
        refused = "Error:" in shown or "would refuse" in shown
        assert (stop.value.code or 0) == (WRONG_INPUT if refused else DONE), f"{line}\n{said}"
        lines = [text for text in said.splitlines() if not text.endswith(" ...")]  # without the progress
        if shown.strip():
            assert_like(shown, "\n".join(lines))


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_page_does_what_it_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XSDC_DATA", raising=False)
    names: dict[str, object] = {"__name__": "__main__"}
    printed = None
    for block in blocks_of(page):
        file = tmp_path / (block.title or "-")
        if block.language == "python":
            capsys.readouterr()
            exec(compile(block.body, str(page), "exec"), names)  # noqa: S102
            printed = capsys.readouterr().out
        elif block.language == "console":
            run_commands(block.body, monkeypatch)
        elif block.title and file.exists():
            lines = file.read_text(encoding="utf-8").splitlines()
            assert_like(block.body, "\n".join(lines[: len(block.body.splitlines())]))
        elif block.title:
            file.write_text(block.body, encoding="utf-8")
        elif block.language == "text":
            assert printed, f"No code prints this:\n{block.body}"
            assert_like(block.body, printed)
            printed = None


def test_comparison_can_fail():
    assert_like("accuracy 0.95 on 1,747 points; ... s", "accuracy  0.951 on\n1,747 points; 12 s\n")
    for came in ("accuracy 0.80 on 1,747 points; 3 s", "accuracy 0.95 on 900 points; 3 s", "accuracy 0.95 on 1,747"):
        with pytest.raises(AssertionError):
            assert_like("accuracy 0.95 on 1,747 points; ... s", came)


def test_reference_of_the_command_line_is_current():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert page == render_reference(), "docs/cli.md is not current: python -m xsdc.cli.reference docs/cli.md"


def test_imports_of_the_command_line_stay_light():
    code = "import sys, xsdc.cli.reference; print({'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "set()"


def section(page: str, heading: str) -> str:
    return page.split(f"\n{heading}\n")[1].split("\n## ", maxsplit=1)[0]


def test_every_file_of_a_run_is_described():
    folder = RunFolder(Path("run"))
    paths = [getattr(folder, name) for name, _ in inspect.getmembers(RunFolder, lambda x: isinstance(x, property))]
    for path in paths:
        if isinstance(path, Path):
            assert f"| `{path.name}" in section(RUNS, "## The folder of a run"), path.name


def test_every_key_of_the_metrics_is_described(tmp_path, monkeypatch):
    """The keys are those of a run that has all of them: labels, choices, pairs, bounds and truth."""
    monkeypatch.chdir(tmp_path)
    make_run_of_everything(monkeypatch)
    named = set()
    for name in ("metrics.json", "history.json"):
        keys = set(paths_of(json.loads(Path("run", name).read_text(encoding="utf-8"))))
        documented = set(re.findall(r"^\| `([^`]+)`", section(RUNS, f"## {name}"), re.MULTILINE))
        assert keys - documented == set(), f"{name}: not described"
        assert {key for key in SOMETIMES if key.split("[]")[0] in keys} <= documented, f"{name}: not described"
        assert documented - keys <= SOMETIMES, f"{name}: described, but not there"
        named |= keys
    assert "measured.calibration.bins[].accuracy" in named
    for name in ("labels.csv", "suspicious.csv"):
        columns = Path("run", name).read_text(encoding="utf-8").splitlines()[0].split(",")
        assert columns == re.findall(r"^\| `([^`]+)`", section(RUNS, f"## {name}"), re.MULTILINE)


def make_run_of_everything(monkeypatch) -> None:
    rows = [f"{x + i / 40:.3f},{x * y - i % 7 / 9:.3f},{name if i % 4 == 0 else ''},{name}"
            for x, y, name in ((0, 5, "a"), (6, 1, "b")) for i in range(40)]  # fmt: skip
    rows[1] = rows[1].replace(",,", ",a|b,")
    Path("data.csv").write_text("\n".join(["p,q,kind,truth", *rows]) + "\n", encoding="utf-8")
    Path("links.csv").write_text("2,3,same\n2,45,different\n6,7,different\n", encoding="utf-8")
    run_commands(
        "$ xsdc fit data.csv --label-column kind --truth-column truth --links links.csv --cluster-size 0.2,0.8"
        " --max-iter 2 --no-report --quiet\n",
        monkeypatch,
    )


def paths_of(content: object, prefix: str = "") -> list[str]:
    """Name the keys of nested data, but for those that are names of classes."""
    if isinstance(content, list):
        return list(dict.fromkeys(path for item in content for path in paths_of(item, f"{prefix}[]")))
    if not isinstance(content, dict):
        return []
    paths = []
    for key, value in content.items():
        path = f"{prefix}.{key}" if prefix else key
        by_class = isinstance(value, dict) and {"a", "b"} == set(value)
        paths += [path] if by_class else [path, *paths_of(value, path)]
    return paths


@pytest.mark.parametrize("name", [*(each.name for each in fields(DataOptions))])
def test_every_key_of_the_configuration_is_described(name):
    assert f"| `data.{name}`" in section(RUNS, "## config.json")


def test_every_option_that_can_be_searched_is_described():
    page = (DOCS / "tuning.md").read_text(encoding="utf-8")
    assert not [name for name in TUNABLE if f"`{name}`" not in page]


def test_every_format_and_data_set_is_described():
    for suffix in BY_SUFFIX:
        assert f"`{suffix}`" in section(RUNS, "## What can be read"), suffix
    for name in DATASETS:
        assert f"| `{name}`" in section(RUNS, "## Data sets by name"), name


def anchors_of(page: Path) -> set[str]:
    """Anchors that headings make, as Markdown's table of contents writes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    for page in PAGES:
        assert re.search(rf"[\s:]{re.escape(page.relative_to(DOCS).as_posix())}$", navigation, re.MULTILINE), page.name


def public_names(module: str) -> list[str]:
    if module == "xsdc.estimator.XSDC":
        return [name for name in vars(XSDC) if not name.startswith(("_", "set_"))]
    thing = importlib.import_module(module)
    own = [name for name, value in vars(thing).items() if getattr(value, "__module__", None) == module]
    return getattr(thing, "__all__", [name for name in own if not name.startswith("_")])


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed: pip install xsdc[docs]")
def test_site_is_built_without_a_warning(tmp_path):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    for source in DOCS.glob("api/*.md"):
        built = (tmp_path / "site" / "api" / f"{source.stem}.html").read_text(encoding="utf-8")
        for module in re.findall(r"^::: (.*)$", source.read_text(encoding="utf-8"), re.MULTILINE):
            for name in public_names(module):
                assert f'id="{module}.{name}"' in built or f"<code>{name}</code>" in built, f"{module}.{name}"
