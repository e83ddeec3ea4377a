"""Photographs of every screen in both themes, on the example: `python -m tests.browser.screenshots`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from pages.shared.steps import SCREENS, START
from tests.browser.harness import (
    CHROMIUM,
    FLAGS,
    MAP,
    PATIENCE,
    RunningApp,
    go_to,
    open_screen,
    press,
    running_app,
    settle,
)

TALLEST = 2400  # pixels of a photograph
DRAWN = 2.5  # seconds for WebGL to finish after the script has
NARROW = 768  # pixels: up to here a telephone or tablet, whose side bar folds again once a screen is chosen
TOUCHED = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Mobile Safari/537.36"
)


def photograph(page: Page, target: Path, width: int) -> None:
    """The whole screen, as tall as it is."""
    tall = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": width, "height": int(min(TALLEST, max(800, tall)))})
    settle(page)
    page.wait_for_timeout(DRAWN * 1000 if page.locator(MAP).count() else 400)
    page.screenshot(path=target)
    page.set_viewport_size({"width": width, "height": 800})


def walk(browser: Browser, app: RunningApp, folder: Path, theme: str, width: int) -> list[Path]:
    """One visit to every screen in one theme; the files written."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if theme == "dark" else "light",
        user_agent=TOUCHED if width <= NARROW else None,
    )
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    written = []

    def keep(name: str) -> None:
        written.append(folder / f"{name}-{theme}.png")
        photograph(page, written[-1], width)

    open_screen(page, app)
    keep(START.address)
    press(page, "Open the finished example")
    page.wait_for_url("**/viewer*")
    settle(page)
    for screen in SCREENS:
        if screen is not START:
            go_to(page, screen.title)
            keep(screen.address)
    go_to(page, "Release")
    for way in ("Swipe", "Difference", "Boundary lines"):
        page.get_by_role("radio", name=way).click()
        settle(page)
        keep(f"release-{way.split()[0].lower()}")
    context.close()
    return written


def main() -> None:
    """Write `<screen>-<theme>.png` for every screen into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/screenshots"), help="folder of the pictures")
    parser.add_argument("--width", type=int, default=1280, help="pixels (default 1280)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        running_app(Path(home)) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for theme in ("light", "dark"):
            for path in walk(browser, app, options.out, theme, options.width):
                print(path)
        browser.close()


if __name__ == "__main__":
    main()
