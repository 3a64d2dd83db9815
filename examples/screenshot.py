"""Draw the picture of the README: the report of a run on the digits, as Chromium shows it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from xsdc.runs import Configuration, DataOptions, RunFolder, fit_run

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")
SIZE = (1280, 1430)
TARGET = Path(__file__).parent.parent / "docs" / "report.png"


def main() -> None:
    """Fit, draw, photograph."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("The picture needs chromium.")
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place) / "run")
        fit_run(Configuration.make(DataOptions("digits", keep_labels=50), {}), folder)
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        taken = [f"--screenshot={TARGET}", "--virtual-time-budget=3000", f"--user-data-dir={place}/browser", size]
        subprocess.run([browser, *FLAGS, *taken, folder.report.as_uri()], check=True, capture_output=True)  # noqa: S603
    Image.open(TARGET).quantize(128).save(TARGET, optimize=True)  # a third of the size
    print(TARGET)


if __name__ == "__main__":
    main()
