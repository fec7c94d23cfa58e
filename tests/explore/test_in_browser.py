"""The explorer in a real browser, with a keyboard, on a phone and in the dark."""

import threading

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.report import browser
from tests.report.conftest import COLUMN, LEVEL
from wakesleep.explore import LocalServer, open_subjects

missing = browser.absence()
pytestmark = pytest.mark.skipif(missing is not None, reason=str(missing))

PATIENCE = 120
"""Seconds; the first answer is compiled."""
DRAWN = "return document.querySelector('tbody').innerText"
"""Found and read in one go: the page replaces the table while it is read."""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def serve():
    servers = []

    def start(*runs):
        server = LocalServer(open_subjects(runs))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.url

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def answered(driver, words):
    """Wait until the status begins with these words."""

    def status(driver):
        return driver.find_element("id", "status").text.startswith(words)

    WebDriverWait(driver, PATIENCE).until(status)


def press(driver, *keys):
    driver.switch_to.active_element.send_keys(*keys)


def test_a_table_on_a_phone_in_the_dark_by_keyboard(serve, table_run):
    with browser.chromium(browser.PHONE, dark=True, offline=False) as driver:
        driver.get(serve(table_run))
        answered(driver, "nothing is given")
        assert COLUMN in [one.text for one in driver.find_elements("tag name", "legend")]
        labels = [one.text for one in driver.find_elements("css selector", ".state .label")]
        assert LEVEL in labels
        assert not driver.find_elements("css selector", "fieldset b")
        driver.find_element("tag name", "body").send_keys(Keys.TAB)
        for _ in range(3 + labels.index(LEVEL)):
            if driver.switch_to.active_element.text.startswith(LEVEL):
                break
            press(driver, Keys.TAB)
        press(driver, Keys.SPACE)
        answered(driver, "1 column given")
        active = driver.switch_to.active_element
        assert active.get_attribute("aria-pressed") == "true"
        assert "100 %" in active.text
        cells = driver.find_elements("css selector", "tbody td:first-child")
        assert {cell.text for cell in cells} == {LEVEL}
        before = driver.execute_script(DRAWN)
        driver.find_element("id", "more").send_keys(Keys.ENTER)
        WebDriverWait(driver, PATIENCE).until(lambda d: d.execute_script(DRAWN) != before)
        driver.find_element("id", "clear").send_keys(Keys.ENTER)
        answered(driver, "nothing is given")
        assert driver.execute_script(OVERFLOW) <= 0
        paper, ink = driver.execute_script(
            "const style = getComputedStyle(document.body);"
            "return [style.backgroundColor, style.color].map(c => c.match(/\\d+/g).map(Number))"
        )
        assert sum(paper[:3]) < 150 < 400 < sum(ink[:3])
        assert driver.get_log("browser") == []


@pytest.mark.slow
def test_two_machines_complete_an_image_painted_by_keyboard(serve, runs):
    with browser.chromium(offline=False) as driver:
        driver.get(serve(*runs))
        answered(driver, "nothing is given")
        easel = driver.find_element("css selector", "canvas.easel")
        easel.send_keys(
            Keys.ARROW_RIGHT, "1", Keys.ARROW_DOWN, "0", Keys.ARROW_DOWN, "1", Keys.DELETE
        )
        answered(driver, "2 pixels given")
        assert "Row 3, column 2 is unknown" in easel.get_attribute("aria-label")
        assert len(driver.find_elements("css selector", ".drawn canvas")) == 24
        on = "return arguments[0].getContext('2d').getImageData(1, 0, 1, 1).data[0]"
        for canvas in driver.find_elements("css selector", ".drawn canvas, canvas.mean"):
            assert driver.execute_script(on, canvas) == 255
        driver.find_element("xpath", "//button[text()='Half a test image']").click()
        answered(driver, "32 pixels given")
        assert driver.execute_script(OVERFLOW) <= 0
        assert driver.get_log("browser") == []
