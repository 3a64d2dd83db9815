"""The page in a browser, as a reader meets it."""

from __future__ import annotations

import shutil
import time

import pytest

from tests.report.cases import VARIANTS, make_findings
from xsdc.report import write_report

webdriver = pytest.importorskip("selenium.webdriver")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="chromium and chromedriver are not both there")

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Different colours on the canvas, and how much of it is not clear.
PAINTED = """
const canvas = document.getElementById("map-canvas");
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const colours = new Set();
let painted = 0, sum = 7;
for (let p = 0; p < pixels.length; p += 4) {
  if (!pixels[p + 3]) continue;
  painted += 1;
  sum = (sum * 31 + p + pixels[p] + pixels[p + 1] * 3 + pixels[p + 2] * 7) % 1000003;
  if (pixels[p + 3] === 255) colours.add([pixels[p], pixels[p + 1], pixels[p + 2]].join());
}
return {painted, sum, colours: [...colours]};
"""
EMPTY_FIGURES = """
return [...document.querySelectorAll("section svg, section img, .thumb")].filter((figure) => {
  const box = figure.getBoundingClientRect(), shown = figure.checkVisibility();
  return shown && !(box.width > 5 && box.height > 5);
}).length;
"""
BROKEN_PATHS = """
return [...document.querySelectorAll("svg path")].filter((path) => {
  const box = path.getBBox();
  return !Number.isFinite(box.x + box.y + box.width + box.height) || path.getTotalLength() === 0;
}).length;
"""


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


@pytest.fixture
def visit(browser, tmp_path):
    """Open a report in a window of a width and a theme; in the end nothing may have been complained of."""

    def visit(*, width: int = 1280, theme: str = "light", **options):
        write_report(make_findings(**options), tmp_path / "report.html")
        size = {"width": width, "height": 900, "deviceScaleFactor": 2 if width < 500 else 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wish = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
        browser.get((tmp_path / "report.html").as_uri())
        wait_for(lambda: browser.execute_script(PAINTED)["painted"] > 0)
        return browser

    yield visit
    ours = "willReadFrequently"  # advice on how this test looks at the canvas
    assert [entry for entry in browser.get_log("browser") if ours not in entry["message"]] == []


def wait_for(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def click(browser, selector: str) -> None:
    element = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    element.click()


@pytest.mark.parametrize(
    ("name", "width", "theme"),
    [(name, *window) for name in VARIANTS for window in [(1280, "light"), (390, "dark")]]
    + [("images with truth", 1280, "dark"), ("images with truth", 390, "light")],
)
def test_everything_is_drawn_and_nothing_sticks_out(visit, name, width, theme):
    browser = visit(width=width, theme=theme, **VARIANTS[name])
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(EMPTY_FIGURES) == 0
    assert browser.execute_script(BROKEN_PATHS) == 0
    page = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert page == ("rgb(247, 247, 245)" if theme == "light" else "rgb(20, 23, 27)")
    for image in browser.find_elements(By.CSS_SELECTOR, "img"):
        assert browser.execute_script("return arguments[0].naturalWidth", image) > 0


def test_the_map_goes_from_after_to_before_and_back(visit):
    browser = visit()
    after = settled(browser)
    click(browser, "[data-phase='0']")
    assert browser.find_element(By.CSS_SELECTOR, "[data-phase='0']").get_attribute("aria-pressed") == "true"
    before = settled(browser)
    assert before != after
    click(browser, "[data-phase='1']")
    assert settled(browser) == after


def test_colours_follow_the_choice_and_the_legend_filters(visit):
    browser = visit(look="vectors")
    classes = {"31,97,229", "172,95,1", "29,184,147"}
    assert classes <= set(browser.execute_script(PAINTED)["colours"])
    click(browser, "[data-class='1']")
    wait_for(lambda: "172,95,1" not in browser.execute_script(PAINTED)["colours"])
    click(browser, "#show-none")
    wait_for(lambda: browser.execute_script(PAINTED)["painted"] == 0)
    click(browser, "#show-all")
    wait_for(lambda: classes <= set(browser.execute_script(PAINTED)["colours"]))
    for choice, colour in {"right": "224,138,44", "given": "195,200,206", "found": "31,97,229"}.items():
        browser.find_element(By.CSS_SELECTOR, f"#colour-by option[value={choice}]").click()
        wait_for(lambda colour=colour: colour in browser.execute_script(PAINTED)["colours"])
    browser.find_element(By.CSS_SELECTOR, "#colour-by option[value=doubt]").click()
    assert browser.find_element(By.ID, "key").text.split("\n") == ["sure", "in doubt"]


def test_pictures_take_the_colour_of_their_class_or_become_dots(visit):
    browser = visit()
    wait_for(lambda: "31,97,229" in browser.execute_script(PAINTED)["colours"])
    pictures = settled(browser)
    click(browser, "[data-marks='dots']")
    assert settled(browser) != pictures


def test_zoom_by_button_key_and_wheel(visit):
    browser = visit()
    whole = settled(browser)
    click(browser, "#zoom-in")
    assert settled(browser) != whole
    click(browser, "#zoom-reset")
    assert settled(browser) == whole
    canvas = browser.find_element(By.ID, "map-canvas")
    wheel = "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -100, cancelable: true}))"
    browser.execute_script(wheel, canvas)
    assert settled(browser) == whole, "a map that was not chosen must let the page scroll"
    canvas.send_keys("+")
    near = settled(browser)
    assert near != whole
    browser.execute_script(wheel, canvas)
    assert settled(browser) != near


def test_pointing_at_a_mark_says_what_it_is(visit):
    browser = visit(look="cells", n=6, n_labeled=1)
    find = """
      const data = JSON.parse(document.getElementById("map-data").textContent);
      const canvas = document.getElementById("map-canvas"), box = canvas.getBoundingClientRect();
      const side = Math.min(box.width, box.height) * 0.9;
      const at = {clientX: box.left + box.width / 2 + (data.after[0][0] - 0.5) * side,
                  clientY: box.top + box.height / 2 - (data.after[0][1] - 0.5) * side};
      canvas.dispatchEvent(new PointerEvent("pointermove", at));
    """
    browser.execute_script(find)
    tip = browser.find_element(By.ID, "tip")
    assert tip.is_displayed()
    assert "<script>alert(1)</script>" in tip.text
    assert "given: zero" in tip.text
    assert "100.0 %" in tip.text


def test_the_theme_can_be_changed(visit):
    browser = visit(look="vectors", theme="dark")
    assert "144,162,252" in browser.execute_script(PAINTED)["colours"]
    click(browser, "#theme")
    wait_for(lambda: "31,97,229" in browser.execute_script(PAINTED)["colours"])
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(247, 247, 245)"


def settled(browser) -> int:
    """A fingerprint of the map once it moves no more."""
    last = -1
    for _ in range(60):
        time.sleep(0.15)
        now = browser.execute_script(PAINTED)["sum"]
        if now == last:
            return int(now)
        last = now
    raise AssertionError("the map does not come to rest")


def test_a_wrong_point_is_clicked_and_corrected_and_the_file_holds_it(visit):
    page = visit(n=200)
    page.execute_script("document.querySelector('#first .fix').click()")
    name = page.find_element(By.ID, "correction-id").text
    page.find_element(By.ID, "correction-class").send_keys('two, "or" three\n')
    bar = page.find_element(By.ID, "corrections")
    assert bar.is_displayed()
    link = page.find_element(By.ID, "corrections-file").get_attribute("href")
    script = (
        "const done = arguments[1]; fetch(arguments[0]).then((file) => file.text()).then(done, (e) => done(String(e)))"
    )
    text = page.execute_async_script(script, link)
    page.get_log("browser")  # reading the file back is what the policy of the page forbids to it
    if "Failed" not in text:
        assert text == f'id,label\n{name},"two, ""or"" three"\n'
    assert link.startswith("blob:")
    page.find_element(By.ID, "corrections-clear").click()
    assert not bar.is_displayed()


def test_the_tile_of_doubtful_points_leads_to_them(visit):
    page = visit(n=200)
    link = page.find_element(By.CSS_SELECTOR, "a[data-metric='found.n_doubtful']")
    assert link.get_attribute("href").endswith("#first")
    assert page.find_element(By.ID, "first").is_displayed()


def test_the_confusion_table_fits_a_phone(visit):
    page = visit(n=200, classes=[f"class {i}" for i in range(10)], width=390)
    fits = (
        "const box = document.querySelector('.confusion').parentElement; return box.scrollWidth <= box.clientWidth + 1"
    )
    assert page.execute_script(fits)
