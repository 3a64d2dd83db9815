"""Draw the pictures of docs/labelling.md: the page of `xsdc label` on the digits, as Chromium shows it."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from xsdc.app.opening import open_run
from xsdc.app.routes import Events
from xsdc.app.serve import guarded_app
from xsdc.app.session import Session
from xsdc.app.store import Entry
from xsdc.runs import Configuration, DataOptions, RunFolder

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
)
SIZE = (1180, 760)
DOCS = Path(__file__).parent.parent / "docs"
LONGEST = 20.0  # seconds that something is waited for
TOKEN = "pictures"  # noqa: S105


def say(session: Session, kind: str, points: tuple[int, ...], answer: str, *, audit: bool = False) -> None:
    """Give an answer, and wait for what follows."""
    name = f"entry-{len(session.entries()):06d}"
    session.add([Entry(name, name, kind, points, answer, extra={"audit": True} if audit else {})])
    session.wait()


def name_groups(session: Session, truth: Any, count: int) -> None:
    """Name the first groups after what most of their members are, without the others."""
    for _ in range(count):
        classes = session.solution.classes
        code = next(c for c, each in enumerate(classes) if not each.named)
        members = session.members(code)[0]
        labels = [str(truth[i]) for i in members]
        most = max(set(labels), key=labels.count)
        say(session, "group", tuple(i for i, label in zip(members, labels, strict=True) if label == most), most)


def answer_questions(session: Session, truth: Any, count: int) -> None:
    """Answer the next questions rightly."""
    for _ in range(count):
        question = session.solution.questions[0]
        said = str(truth[question.points[0]])
        if question.kind == "pair":
            said = "same" if truth[question.points[0]] == truth[question.points[1]] else "different"
        say(session, question.kind, question.points, said, audit=question.reason == "audit")


def main() -> None:
    """Open, answer, photograph."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        raise SystemExit("The pictures need chromium and chromedriver.")
    with tempfile.TemporaryDirectory() as place:
        data = DataOptions("digits", truth_column="label")
        opened = open_run(Configuration.make(data, {"n_clusters": 10}), RunFolder(Path(place) / "run"))
        events = Events()
        session, truth = Session(opened, events.tell), opened.dataset.truth
        name_groups(session, truth, 4)
        listening = socket.create_server(("127.0.0.1", 0))
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        app = guarded_app(session, events, token=TOKEN, hosts=[host])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True).start()
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for flag in (*FLAGS, f"--user-data-dir={place}/browser", f"--window-size={SIZE[0]},{SIZE[1]}"):
            options.add_argument(flag)
        page = webdriver.Chrome(options=options, service=Service(driver))
        try:
            page.get(f"http://{host}/?token={TOKEN}")
            photograph(page, "groups", lambda: bool(page.execute_script("return document.images.length > 20")))
            name_groups(session, truth, 6)
            answer_questions(session, truth, 34)
            page.execute_script("location.hash = 'questions'")
            photograph(page, "questions", lambda: bool(page.execute_script("return document.images.length")))
            page.execute_script("location.hash = 'map'")
            photograph(page, "map", lambda: bool(page.execute_script("return window.xsdcPlot && xsdcPlot.phase < 1")))
        finally:
            page.quit()
            server.should_exit = True
            session.stop()


def photograph(page: Any, view: str, ready: Callable[[], bool]) -> None:
    """Wait until a view is ready, and keep its picture."""
    end = time.monotonic() + LONGEST
    while not ready() and time.monotonic() < end:
        time.sleep(0.2)
    time.sleep(3)  # points glide, pictures arrive
    target = DOCS / f"labelling-{view}.png"
    page.save_screenshot(str(target))
    Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)
    print(target)


if __name__ == "__main__":
    main()
