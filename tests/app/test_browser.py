"""The page in a browser, as a person meets it."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
webdriver = pytest.importorskip("selenium.webdriver")

from selenium.webdriver import ActionChains  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from xsdc.app.opening import open_run  # noqa: E402
from xsdc.app.routes import Events  # noqa: E402
from xsdc.app.serve import guarded_app  # noqa: E402
from xsdc.app.session import Session  # noqa: E402
from xsdc.runs import Configuration, DataOptions, RunFolder  # noqa: E402

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="chromium and chromedriver are not both there")

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TOKEN = "token-of-this-launch"  # noqa: S105
N = 400
WIDER = "return document.documentElement.scrollWidth > document.documentElement.clientWidth;"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def opened_digits(tmp_path_factory):
    """A folder in which some digits were opened once."""
    place = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    np.savez(place / "digits.npz", X=(X[:N].reshape(-1, 8, 8) * 15).astype(np.uint8), y=y[:N])
    folder = RunFolder(place / "run")
    data = DataOptions(str(place / "digits.npz"), truth_column="y")
    opened = open_run(Configuration.make(data, {"n_clusters": 10, "effort": "fast"}), folder)
    opened.store.close()
    return folder


class Page:
    """A browser, the session behind it and what a person does there."""

    def __init__(self, browser, session, address):
        self.browser, self.session, self.address = browser, session, address

    def open(self, view="groups", *, width=1280, query=""):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.browser.get(f"{self.address}/?token={TOKEN}")
        self.browser.get(f"{self.address}/{query}#{view}")
        self.until(lambda: self.all("main *"))

    def go(self, view):
        self.browser.execute_script(f"location.hash = '{view}'")
        self.until(lambda: self.all(f"nav a.here[href='#{view}']"))

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        self.until(lambda: self.all(selector))
        return self.all(selector)[0]

    def until(self, condition, seconds=20.0):
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < end, self.browser.find_element(By.TAG_NAME, "body").text[:2000]
            time.sleep(0.02)
        return found

    def press(self, key):
        ActionChains(self.browser).send_keys(key).perform()

    def entries(self, count):
        self.until(lambda: len(self.session.entries()) >= count)
        return self.session.entries()

    def settled(self):
        """Wait until the page shows the solution of all entries."""
        solution = self.session.wait()
        self.until(lambda: self.all("[data-saved]"))
        seen = "return import('/static/model.js').then((page) => page.model.state.seq)"
        self.until(lambda: self.browser.execute_script(seen) >= solution.seq)
        return self.session.solution


@pytest.fixture
def page(browser, opened_digits, tmp_path, monkeypatch):
    monkeypatch.setattr("xsdc.app.routes.neighbor_places", lambda Z: (Z[:, :2] / abs(Z).max()).astype("f4"))
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(opened_digits.path, folder.path)
    events = Events()
    session = Session(open_run(None, folder), events.tell)
    listening = socket.create_server(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(
        uvicorn.Config(
            guarded_app(session, events, token=TOKEN, hosts=[host]), log_level="error", timeout_graceful_shutdown=1
        )
    )
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    yield Page(browser, session, f"http://{host}")
    complaints = [entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
    browser.get("about:blank")
    server.should_exit = True
    thread.join(timeout=10)
    listening.close()
    session.stop()
    assert complaints == []


def test_a_group_is_named_without_a_stray_and_found_again(page):
    page.open()
    assert len(page.all(".sheet[data-group]")) == 10
    sheet = page.one(".sheet[data-group]")
    group = int(sheet.get_attribute("data-group"))
    sheet.find_elements(By.CSS_SELECTOR, ".member")[3].click()
    page.until(lambda: page.all(".member.struck"))
    field = sheet.find_element(By.CSS_SELECTOR, "input[type=text]")
    field.send_keys("<b>zero</b>" + Keys.ENTER)
    (entry,) = page.entries(1)
    assert entry.kind == "group"
    assert entry.answer == "<b>zero</b>"
    assert len(entry.points) == 11
    assert len(entry.strays) == 1
    assert page.session.opened.groups[entry.points[0]] == group
    page.settled()
    page.until(lambda: len(page.all(".named .sheet")) == 1)
    assert "<b>zero</b>" in page.one(".named .sheet h3").text  # text, not markup
    page.browser.refresh()
    page.until(lambda: len(page.all(".named .sheet")) == 1)
    page.press("u")
    page.entries(2)
    page.settled()
    page.until(lambda: not page.all(".named .sheet"))


def test_groups_are_merged_and_split(page):
    page.open()
    first, second = (int(each.get_attribute("data-group")) for each in page.all(".sheet[data-group]")[:2])
    select = page.one(f".sheet[data-group='{first}'] select")
    select.find_element(By.CSS_SELECTOR, f"option[value='{second}']").click()
    page.entries(1)
    page.settled()
    page.until(lambda: len(page.all(".sheet[data-group]")) == 9)
    page.browser.execute_script("arguments[0].click()", page.all(".sheet .actions button:not(.primary)")[0])
    assert page.entries(2)[1].kind == "split"
    page.settled()
    page.until(lambda: len(page.all(".sheet[data-group]")) == 10)


def name_two(page):
    """Name two groups, so that there are keys to answer with."""
    for name in ("ant", "bee"):
        page.one(".sheet[data-group] form input").send_keys(name + Keys.ENTER)
        page.entries(1 if name == "ant" else 2)
        page.settled()
        page.until(lambda: page.all(".named .sheet h3"))


def asked(page):
    return page.one(".ask[data-points]").get_attribute("data-points")


def test_questions_are_answered_by_mouse_and_by_keyboard(page):
    page.open()
    name_two(page)
    page.go("questions")
    first = asked(page)
    page.press("2")
    page.until(lambda: asked(page) != first)
    answered = page.entries(3)[2]
    assert (answered.kind, answered.answer) == ("label", "bee")
    assert ",".join(map(str, answered.points)) == first
    assert "The model had thought" in page.one(".toast.up").text or "As expected" in page.one(".toast.up").text
    second = asked(page)
    page.one(".choices button").click()
    page.until(lambda: asked(page) != second)
    assert page.entries(4)[3].answer == "ant"
    page.press("t")
    page.browser.switch_to.active_element.send_keys("cat" + Keys.ENTER)
    assert page.entries(5)[4].answer == "cat"
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    for key, answer in (("n", "unsure"), ("s", "skip")):
        before, count = asked(page), len(page.session.entries())
        page.press(key)
        page.until(lambda before=before: asked(page) != before)
        assert page.entries(count + 1)[count].answer == answer
    for count in (8, 9):
        page.press("u")
        undone = page.entries(count)[count - 1]
        assert undone.kind == "undo"
    page.settled()
    assert [entry.answer for entry in page.session.solution.known.live] == ["ant", "bee", "bee", "ant", "cat"]


def test_the_next_question_is_there_at_once(page):
    page.open()
    name_two(page)
    page.go("questions")
    asked(page)
    measure = """
    const done = arguments[0], before = document.querySelector('.ask').dataset.points, begun = performance.now();
    document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true}));
    const look = () => document.querySelector('.ask').dataset.points === before
      ? requestAnimationFrame(look) : done(performance.now() - begun);
    look();
    """
    times = [page.browser.execute_async_script(measure) for _ in range(5)]
    assert len(set(times)) == 5
    assert page.entries(7)[-1].kind in ("label", "pair", "set")


def test_the_guess_is_hidden_until_the_answer(page):
    page.open()
    name_two(page)
    page.go("questions")
    asked(page)
    for guess in page.session.solution.classes:
        if not guess.named:
            assert guess.name not in page.one(".ask").text
    assert "between" not in page.one(".ask").text


def lasso(page):
    page.one(".tools button").click()
    canvas = page.one(".stage canvas")
    size = canvas.size
    actions = ActionChains(page.browser).move_to_element(canvas)
    corners = [(-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.3), (-0.3, -0.2)]
    actions.move_to_element_with_offset(canvas, int(-0.3 * size["width"]), int(-0.3 * size["height"])).click_and_hold()
    for x, y in corners:
        actions.move_to_element_with_offset(canvas, int(x * size["width"]), int(y * size["height"]))
    actions.release().perform()


@pytest.mark.parametrize(("query", "kind"), [("", "webgl"), ("?canvas", "2d")])
def test_the_map_labels_many_at_once_with_webgl_and_without(page, query, kind):
    page.open("map", query=query)
    canvas = page.one(".stage canvas[data-kind]")
    assert canvas.get_attribute("data-kind") == kind
    page.until(lambda: page.browser.execute_script("return window.xsdcPlot.n") == N)
    page.until(lambda: page.browser.execute_script("return window.xsdcPlot.colours !== undefined"))
    lasso(page)
    page.one(".picked input").send_keys("middle" + Keys.ENTER)
    (entry,) = page.entries(1)
    assert entry.answer == "middle"
    assert 20 < len(entry.points) < N
    solution = page.settled()
    assert "middle" in [each.name for each in solution.classes]
    page.until(lambda: "middle" in page.one("aside").text)
    found = page.browser.execute_script(
        "const plot = window.xsdcPlot; const f = plot.frame();"
        "return plot.at(f.x + f.side * plot.after[0], f.y - f.side * plot.after[1], 3)"
    )
    assert found >= 0
    before = page.browser.execute_script("return JSON.stringify(window.xsdcPlot.view)")
    ActionChains(page.browser).move_to_element(canvas).click_and_hold().move_by_offset(0, 0).perform()
    page.browser.execute_script("window.xsdcPlot.zoomAt(2)")
    assert page.browser.execute_script("return JSON.stringify(window.xsdcPlot.view)") != before


def test_a_contradiction_is_shown_and_undone_from_there(page):
    page.open()
    for number, (points, answer) in enumerate(((("0", "1"), "same"), (("1", "2"), "same"), (("0", "2"), "different"))):
        body = json.dumps([int(point) for point in points])
        page.browser.execute_script(f"import('/static/model.js').then((page) => page.say('pair', {body}, '{answer}'))")
        page.entries(number + 1)
    clash = page.one(".clash")
    page.until(lambda: len(page.all(".clash li")) == 3)
    assert "0 and 1 are the same" in clash.text
    page.all(".clash li button")[1].click()
    page.entries(4)
    page.until(lambda: not page.all(".clash"))
    assert page.settled().known.clashes == []


def test_training_from_the_page(page):
    page.open()
    name_two(page)
    page.go("results")
    page.one("section .primary").click()
    page.until(lambda: page.all("[data-status=running]"))
    page.until(lambda: page.all("[data-status=done]"), seconds=120)
    page.until(lambda: any("report.html" in each.text for each in page.all(".files a")))
    assert page.session.opened.folder.report.exists()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("view", ["groups", "questions", "map", "results"])
def test_nothing_is_wider_than_the_window(page, view, width):
    page.open(view, width=width)
    page.until(lambda: page.all("main h1, main h2, main canvas"))
    assert not page.browser.execute_script(WIDER)


def test_answers_wait_in_the_outbox_while_the_server_is_away(page):
    page.open()
    failing = page.session.opened.store.add

    def full(_entries):
        from xsdc.app.store import NotSavedError

        raise NotSavedError("Not saved: database or disk is full.")

    page.session.opened.store.add = full
    page.one(".sheet[data-group] form input").send_keys("ant" + Keys.ENTER)
    page.until(lambda: "not saved" in page.one(".status").text)
    assert page.session.entries() == []
    page.browser.get_log("browser")  # the refused request is told of there
    page.browser.refresh()
    page.until(lambda: "not saved" in page.one(".status").text)
    page.session.opened.store.add = failing
    assert [entry.answer for entry in page.entries(1)] == ["ant"]
    page.settled()
    page.browser.get_log("browser")


def test_two_pages_see_the_same(page):
    page.open()
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.open()
    page.one(".sheet[data-group] form input").send_keys("ant" + Keys.ENTER)
    page.entries(1)
    page.settled()
    page.browser.close()
    page.browser.switch_to.window(first)
    page.until(lambda: len(page.all(".named .sheet")) == 1)
