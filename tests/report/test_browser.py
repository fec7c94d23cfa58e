"""The pages in a real browser: no console error, figures visible, tables that sort."""

import pytest
from matplotlib import image

from tests.report import browser

missing = browser.absence()
pytestmark = pytest.mark.skipif(missing is not None, reason=str(missing))

SIZES = {"phone": browser.PHONE, "desktop": browser.DESKTOP}

VISIBLE = """
return [...document.querySelectorAll("figure img, figure svg")].map(one => {
  const box = one.getBoundingClientRect();
  return box.width > 100 && box.height > 30 && (one.tagName !== "IMG" || one.naturalWidth > 0);
});
"""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
COLUMN = "return [...document.querySelectorAll('tbody tr')].map(row => row.cells[1].dataset.value)"


@pytest.fixture(scope="module", params=SIZES)
def desk(request):
    with browser.chromium(SIZES[request.param], dark=request.param == "phone") as driver:
        yield driver


@pytest.mark.parametrize(("name", "figures"), [("report", 14), ("comparison", 5)])
def test_it_loads_without_a_console_error_and_shows_its_figures(name, figures, desk, request):
    desk.get(request.getfixturevalue(name).as_uri())
    assert desk.get_log("browser") == []
    visible = desk.execute_script(VISIBLE)
    assert len(visible) == figures
    assert all(visible)
    assert desk.execute_script(OVERFLOW) <= 0, "the page is wider than its window"


def test_a_click_sorts_the_table_and_another_turns_it_round(comparison, desk):
    desk.get(comparison.as_uri())
    head = desk.find_element("css selector", "table.sortable thead th:nth-child(2)")
    button = head.find_element("tag name", "button")
    button.click()
    rising = [float(value) for value in desk.execute_script(COLUMN)[:2]]
    assert rising == sorted(rising)
    assert head.get_attribute("aria-sort") == "ascending"
    button.click()
    assert [float(value) for value in desk.execute_script(COLUMN)[:2]] == rising[::-1]
    assert head.get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_plots_stand_out_in_light_and_dark(dark, report, tmp_path):
    with browser.chromium(dark=dark) as driver:
        driver.get(report.as_uri())
        colours = driver.execute_script(
            "const style = getComputedStyle(document.body);"
            "const tick = getComputedStyle(document.querySelector('figure svg text'));"
            "return [style.backgroundColor, style.color, tick.fill]"
        )
        paper, ink, tick = (sum(_channels(colour)) for colour in colours)
        assert (paper < 150) == dark
        assert abs(paper - ink) > 400
        assert abs(paper - tick) > 400
        browser.screenshot(driver, tmp_path / "page.png")
    picture = image.imread(tmp_path / "page.png")
    assert picture.shape[0] > browser.DESKTOP[1], "the page is longer than its window"
    assert picture[..., :3].std() > 0.1


def _channels(colour: str) -> list[float]:
    return [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
