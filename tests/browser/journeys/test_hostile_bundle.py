"""A bundle by somebody who means harm, on each screen that shows one: text stays text, nobody is called."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Page

from hexcursion.bundle import BundleError, read_bundle, write_bundle
from hexcursion.bundle.published.readings import READINGS
from pages.shared.plain_text import JOINER
from tests.browser.harness import PATIENCE, RunningApp, open_screen, running_app, settle
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.bundle.reading.test_bundle_read import resealed

NAME = "0123456789abcdef"
# What Streamlit's Markdown would make something of; {host} listens.
SIGNS = (
    "![p](http://{host}/a.png)",
    "[win](http://{host}/b)",
    "http://{host}/c",
    "www.evil.example",
    "eve@evil.example",
    "<img src=http://{host}/d.png>",
    "<a href=http://{host}/e>win</a>",
    ":smile: :material/home: :red[red]",
    "$x^2$ **b** `c` -> ~~s~~",
)


class Listener:
    """A foreign host: a server of its own, and what it was asked for."""

    def __init__(self) -> None:
        asked = self.asked = []

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    running = Listener()
    yield running
    running.server.shutdown()
    running.server.server_close()


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts in a JSON value."""
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*place, key))


def put(value: Any, place: tuple[Any, ...], text: str) -> Any:
    """A copy of a JSON value with another text at one place."""
    copy = json.loads(json.dumps(value))
    target = copy
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = text
    return copy


def poisoned(folder: Path, host: str) -> tuple[bytes, list[str]]:
    """The zip of a bundle with signs in every text where its reader lets them pass, and those texts."""
    signs = [sign.format(host=host) for sign in SIGNS]
    release = make_release(
        small_domain(),
        release_id=NAME,
        title=" ".join(signs[:3]),
        value_unit=signs[3],
        attribution=tuple(signs),
        domain_origin=" ".join(signs[:2]),
    )
    written = write_bundle(release, folder / NAME)
    contents = {file.name: file.read_bytes() for file in written.directory.iterdir()}
    statement = json.loads(contents["statement.json"])
    texts = [release.title]
    for number, place in enumerate(leaves(statement)):
        sign = signs[number % len(signs)]
        original = statement
        for key in place:
            original = original[key]
        changed = put(statement, place, f"{original} {sign}")
        try:
            read_bundle(resealed(contents, statement__json=json.dumps(changed).encode()))
        except BundleError:
            continue
        statement = changed
        texts.append(f"{original} {sign}")
    forged = json.dumps(statement).encode()
    (written.directory / "statement.json").write_bytes(forged)
    archive = resealed(contents, statement__json=forged)
    (folder / f"{NAME}.zip").write_bytes(archive)
    return archive, texts


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> tuple[Path, bytes, list[str]]:
    """A folder of bundles that holds the hostile one; the bundle and its texts."""
    folder = tmp_path_factory.mktemp("hostile")
    return folder, *poisoned(folder, listener.host)


@pytest.fixture(scope="module")
def stage(
    shelf: tuple[Path, bytes, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningApp]:
    """The app with that folder."""
    home = tmp_path_factory.mktemp("hostile-home")
    with running_app(home, HEXCURSION_BUNDLES=str(shelf[0])) as app:
        yield app


class Ear:
    """What a page asks of anybody but the app."""

    def __init__(self, page: Page, own: str) -> None:
        self.foreign: list[str] = []
        page.on("request", lambda request: self._hear(request.url, own))

    def _hear(self, url: str, own: str) -> None:
        if not url.startswith((own, "data:", "blob:", own.replace("http", "ws", 1))):
            self.foreign.append(url)


def marks(frame: Page | Frame, own: str) -> list[str]:
    """Links and pictures that lead elsewhere, formulas, colours and emoji in a page or a frame of it."""
    found = frame.locator("a").evaluate_all("all => all.map(one => one.href)")
    found += frame.locator("img").evaluate_all("all => all.map(one => one.src)")
    found = [url for url in found if not url.startswith((own, "data:", "blob:"))]
    found += ["formula"] * frame.locator(".katex").count()
    found += ["colour"] * frame.get_by_text("red", exact=True).count()
    return found + ["emoji"] * frame.get_by_text("\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}").count()


def words(page: Page) -> str:
    """All text of a screen, as a reader sees it."""
    return " ".join(page.get_by_test_id("stMain").inner_text().replace(JOINER, "").split())


def test_the_hostile_bundle_opens_and_holds_what_it_should(shelf: tuple[Path, bytes, list[str]]) -> None:
    _, archive, texts = shelf
    statement = read_bundle(archive).statement
    assert statement["release"]["title"].startswith("![p](http://127.0.0.1:")
    assert len(texts) >= 10
    assert "<img src=http://" in " ".join(statement["attribution"])


def test_the_viewer_shows_a_hostile_bundles_text_as_text(
    page: Page, stage: RunningApp, shelf: tuple[Path, bytes, list[str]], listener: Listener
) -> None:
    ear = Ear(page, stage.url)
    statement = read_bundle(shelf[1]).statement
    open_screen(page, stage, f"viewer?release={NAME}")
    seen = ""
    tabs = (READINGS[name].tab for name in READINGS)
    for name in ("In words", *tabs, "Downloads", "Protection and cost", "Label", "Attribution"):
        page.get_by_role("tab", name=name).click()
        settle(page)
        if name == "Protection and cost":
            page.get_by_text("What is protected, and what is not").click()
            page.get_by_text("All lines that are published with the map").click()
            page.get_by_text("Bound", exact=True).wait_for(timeout=PATIENCE * 1000)
        seen += words(page)
        assert marks(page, stage.url) == []
    page.get_by_test_id("stSidebar").get_by_role("combobox").first.click()  # the list of bundles
    page.get_by_role("option").first.wait_for(timeout=PATIENCE * 1000)
    assert marks(page, stage.url) == []
    page.keyboard.press("Escape")
    for frame in page.frames:
        assert marks(frame, stage.url) == []
    assert statement["release"]["title"] in seen
    for text in statement["attribution"]:
        assert text in seen
    for line in statement["receipt"]:
        assert " ".join(line["text"].split()) in seen
    assert ear.foreign == []
    assert listener.asked == []


@pytest.mark.parametrize("address", ["publish", "release"])
def test_other_screens_show_it_as_text_too(
    page: Page, stage: RunningApp, shelf: tuple[Path, bytes, list[str]], listener: Listener, address: str
) -> None:
    ear = Ear(page, stage.url)
    open_screen(page, stage, f"{address}?release={NAME}")
    page.wait_for_timeout(500)
    for frame in page.frames:
        assert marks(frame, stage.url) == []
    if address == "publish":
        assert read_bundle(shelf[1]).statement["release"]["title"] in words(page)
    assert page.get_by_test_id("stException").count() == 0
    assert ear.foreign == []
    assert listener.asked == []


def test_an_upload_of_it_is_shown_as_text(
    page: Page, stage: RunningApp, shelf: tuple[Path, bytes, list[str]], listener: Listener
) -> None:
    ear = Ear(page, stage.url)
    open_screen(page, stage, "viewer")
    page.get_by_test_id("stSidebar").get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": "[x](http://evil.example).zip", "mimeType": "application/zip", "buffer": shelf[1]}
    )
    settle(page)
    page.get_by_role("tab", name="Protection and cost").click()
    settle(page)
    assert read_bundle(shelf[1]).statement["release"]["title"] in words(page)
    assert marks(page, stage.url) == []
    assert ear.foreign == []
    assert listener.asked == []


def test_the_shipped_pages_are_text_and_one_picture_without_the_app_too(
    page: Page, shelf: tuple[Path, bytes, list[str]], listener: Listener
) -> None:
    """Somebody unzips the bundle and opens its page from disk."""
    for shipped in sorted((shelf[0] / NAME).glob("*.html")):
        ear = Ear(page, shipped.as_uri())
        page.goto(shipped.as_uri())
        assert page.locator("a, iframe, object, form").count() == 0
        # The label's one picture is the map, and stands in the page itself; map.html draws its own.
        pictures = page.locator("img").evaluate_all("all => all.map(one => one.src.slice(0, 22))")
        assert pictures == (["data:image/png;base64,"] if shipped.name == "label.html" else [])
        # The label has no script; the map's two are its data, which is text, and its own.
        scripts = page.locator("script").evaluate_all("all => all.map(one => one.type)")
        assert scripts == (["application/json", ""] if shipped.name == "map.html" else [])
        assert read_bundle(shelf[1]).statement["release"]["title"] in page.locator("body").inner_text()
        assert ear.foreign == []
    assert (shelf[0] / NAME / "label.html").exists()
    assert listener.asked == []


def test_even_a_picture_that_got_into_a_page_is_not_fetched(
    page: Page, stage: RunningApp, listener: Listener
) -> None:
    """The second fence, should the first one have a hole: the page's own security policy."""
    open_screen(page, stage, "help")
    outcome = page.evaluate(
        """async host => {
            const picture = new Promise(done => {
                const image = new Image();
                image.onload = () => done("loaded"); image.onerror = () => done("refused");
                image.src = `http://${host}/picture.png`;
            });
            const call = fetch(`http://${host}/call`, {mode: "no-cors"})
                .then(() => "called", () => "refused");
            return [await picture, await call];
        }""",
        listener.host,
    )
    assert outcome == ["refused", "refused"]
    assert listener.asked == []
