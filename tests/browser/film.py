"""A short film of the main path on the sales of Lucas County, as an animated GIF.

Command: `python -m tests.browser.film`.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.harness import (
    CHROMIUM,
    FLAGS,
    LINKED,
    PATIENCE,
    go_to,
    open_screen,
    press,
    running_app,
    settle,
)

WIDTH, HEIGHT = 1280, 860
SHOWN = 860  # pixels of the film's width
COLOURS = 200


class Camera:
    """Takes the frames, each with the seconds that it stands."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[tuple[Image.Image, float]] = []

    def take(self, seconds: float, wait: float = 0.0, *, at_rest: bool = True) -> None:
        """One frame of the screen as it is after a wait."""
        if at_rest:
            settle(self.page)
        self.page.wait_for_timeout(1000 * wait)
        with Image.open(io.BytesIO(self.page.screenshot())) as picture:
            size = (SHOWN, round(picture.height * SHOWN / picture.width))
            self.frames.append((picture.convert("RGB").resize(size, Image.Resampling.LANCZOS), seconds))

    def write(self, target: Path) -> None:
        """The film in one palette, so that it stays small and does not flicker."""
        strip = Image.new("RGB", (SHOWN, sum(frame.height for frame, _ in self.frames)))
        top = 0
        for frame, _ in self.frames:
            strip.paste(frame, (0, top))
            top += frame.height
        palette = strip.quantize(COLOURS)
        drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in self.frames]
        durations = [round(1000 * seconds) for _, seconds in self.frames]
        drawn[0].save(
            target, save_all=True, append_images=drawn[1:], duration=durations, loop=0, optimize=True
        )


def play(page: Page, camera: Camera) -> None:
    """From the data to the bundle, as a person would go."""
    press(page, "Use the sales of Lucas County")
    page.get_by_text("What was read").wait_for()
    camera.take(2.0, 1.5)
    go_to(page, "Hexagons")
    camera.take(2.0, 3.0)
    go_to(page, "Privacy and utility")
    camera.take(2.0)
    page.get_by_role("button", name="Search for the best design").click()
    page.get_by_role("button", name="Cancel the search").wait_for()
    camera.take(1.5, 2.5, at_rest=False)
    page.get_by_text("The proposal").wait_for()
    camera.take(3.0, 3.0)
    go_to(page, "Release")
    camera.take(2.5)
    page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    page.get_by_role("button", name="Release now").click()
    page.locator(f"{LINKED}[data-drawn]").wait_for()
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    camera.take(2.5, 2.0)
    slider = page.get_by_role("slider").first
    for _ in range(5):
        for _ in range(3):
            slider.press("ArrowLeft")
        camera.take(0.5, 0.8)
    for _ in range(15):
        slider.press("ArrowRight")
    camera.take(1.0, 0.8)
    page.get_by_role("radio", name="Swipe").click()
    page.locator(f'{LINKED}[data-mode="swipe"]').wait_for()
    divider = page.get_by_role("slider", name="Divider between the two maps")
    for _ in range(6):
        for _ in range(3):
            divider.press("ArrowLeft")
        camera.take(0.35, 0.4)
    page.get_by_role("radio", name="Difference").click()
    camera.take(2.0, 1.5)
    go_to(page, "Publish")
    camera.take(3.0, 1.5)


def main() -> None:
    """Write the film."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/main-path.gif"), help="file of the film")
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        running_app(Path(home)) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_default_timeout(PATIENCE * 1000)
        open_screen(page, app, "data")
        camera = Camera(page)
        play(page, camera)
        camera.write(out)
        browser.close()
    print(f"{out}: {len(camera.frames)} frames, {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
