"""A headless Chromium, and what a person would see of a page in it."""

import shutil
from contextlib import contextmanager
from pathlib import Path

PHONE = (390, 844)
DESKTOP = (1280, 900)


def absence() -> str | None:
    """Why pages cannot be looked at here, or None."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"no {program} is installed here"
    return None


@contextmanager
def chromium(size: tuple[int, int] = DESKTOP, *, dark: bool = False, offline: bool = True):
    """A browser of a phone's or a desktop's size, without network unless said."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--no-proxy-server",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        # A window cannot be as narrow as a phone, but its device can be.
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        if offline:
            driver.execute_cdp_cmd("Network.enable", {})
            none = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
            driver.execute_cdp_cmd("Network.emulateNetworkConditions", none)
        yield driver
    finally:
        driver.quit()


def screenshot(driver, path: Path) -> None:
    """The whole page, not only what fits the window."""
    import base64

    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(found["data"]))
