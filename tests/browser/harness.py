"""Driving the app in a real browser: a server on a free port, headless Chromium, and eyes for colours."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, TimeoutError, expect

from pages.shared import maps
from pages.shared.steps import SCREENS
from tests.browser.traffic import listen, waiting
from tests.patience import HANG

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path("/usr/bin/chromium")
# With these flags Chromium draws WebGL in software and asks nothing of the network by itself.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = HANG  # seconds until a wait is given up although the server lives
STEP = 5.0  # seconds between two looks at whether it does
AT_REST = 30  # pictures in a row that are the same: nothing more is coming
FRAMES = 20  # that the browser draws between two of them
CHART = '[data-testid="stDeckGlJsonChart"]'
LINKED = ".linked-map"
MAP = f"{CHART}, {LINKED}"  # of whichever kind
needs_linked_maps = pytest.mark.skipif(
    not maps.built() and os.environ.get("HEXCURSION_REQUIRE_MAPS") != "1",
    reason="the linked maps are not built: run `make maps` where the npm registry can be reached",
)
# What every Python process of a running app does first. Computations do not step back for others: beside
# tests that keep every core busy, a search of twenty seconds would take minutes, and a page does not rest
# while the curve of other budgets is drawn. While the file is there, a search stops at its start.
BRAKE = """
import os, pathlib, signal, sys
os.nice = lambda step: 0
if "pages.shared.subprocess_job" in sys.orig_argv and (pathlib.Path(__file__).parent / "pulled").exists():
    os.kill(os.getpid(), signal.SIGSTOP)
"""
IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class RunningApp:
    """A server of this checkout's app: its address, its home folder and its log."""

    url: str
    home: Path
    log: Path

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Searches begun meanwhile stand still until they are cancelled: however quick the machine is."""
        pulled = _brake(self.home) / "pulled"
        pulled.touch()
        try:
            yield
        finally:
            pulled.unlink()


def _brake(home: Path) -> Path:
    """The folder, first on every process's path, with what can stop a search."""
    folder = home.parent / f"{home.name}-brake"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(BRAKE)
    return folder


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(home: Path, *arguments: str, **environment: str) -> Iterator[RunningApp]:
    """Start `python app.py` with a home of its own; stop it at the end."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [sys.executable, "app.py", *arguments, "--server.port", str(port)]
    places = {"HEXCURSION_HOME": str(home), "HEXCURSION_WITNESS": str(home / "witness")}
    places["PYTHONPATH"] = os.pathsep.join([str(_brake(home)), *filter(None, [os.environ.get("PYTHONPATH")])])
    with _server(command, ROOT, port, home / "server.log", **places, **environment) as url:
        yield RunningApp(url, home, home / "server.log")


@contextmanager
def running_script(folder: Path, script: str) -> Iterator[str]:
    """Serve a Streamlit script of its own, written into a folder; the address."""
    (folder / "script.py").write_text(script)
    port = free_port()
    options = {"server.port": port, "server.address": "127.0.0.1", "server.headless": "true"}
    options |= {"browser.gatherUsageStats": "false", "server.fileWatcherType": "none"}
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", "script.py", *words]
    with _server(command, folder, port, folder / "server.log", PYTHONPATH=str(ROOT)) as url:
        yield url


@contextmanager
def _server(command: list[str], folder: Path, port: int, log: Path, **environment: str) -> Iterator[str]:
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_until_healthy(server, url, log)
            _SERVERS[url] = server
            yield url
        finally:
            _SERVERS.pop(url, None)
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


_SERVERS: dict[str, subprocess.Popen[bytes]] = {}  # by address: those of this process that are running


def server_memory(app: RunningApp) -> float:
    """MB that the server's own process holds for itself; what it started is not in it."""
    status = Path(f"/proc/{_SERVERS[app.url].pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")) / 1024


def server_seconds(app: RunningApp) -> float:
    """Seconds of CPU that the server's own process has used."""
    fields = Path(f"/proc/{_SERVERS[app.url].pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=STEP):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _wait_until_healthy(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """However long it takes: until the server answers, or its process has ended."""
    while not _answers(url):
        if server.poll() is not None:
            raise RuntimeError(f"the app did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def refuse_if_ended(page: Page) -> None:
    """Raise if the server behind a page has ended: what a test waits for cannot come any more."""
    server = next((one for url, one in _SERVERS.items() if page.url.startswith(url)), None)
    if server is not None and server.poll() is not None:
        raise AssertionError(f"the server of {page.url} ended with {server.returncode}")


def appear(wanted: Locator, state: Literal["visible", "attached", "detached"] = "visible") -> None:
    """Wait for an element while its server lives."""
    begun = time.monotonic()
    while True:
        try:
            return wanted.wait_for(state=state, timeout=STEP * 1000)
        except TimeoutError:
            refuse_if_ended(wanted.page)
            if time.monotonic() - begun > PATIENCE:
                raise


def frames(page: Page, count: int = FRAMES) -> None:
    """Wait until the browser has drawn so many frames: a busy machine takes its time for them."""
    page.evaluate(
        """count => new Promise(done => {
            const next = left => left ? requestAnimationFrame(() => next(left - 1)) : done();
            next(count);
        })""",
        count,
    )


def settle(page: Page) -> None:
    """Wait until every run of the script that was asked for has ended, and none begins for a moment."""
    begun, quiet = time.monotonic(), 0
    while quiet < 3:
        appear(page.locator(IDLE))
        page.wait_for_timeout(100)
        quiet = quiet + 1 if page.query_selector(IDLE) and not waiting(page) else 0
        refuse_if_ended(page)
        if time.monotonic() - begun > PATIENCE:
            raise AssertionError("the app's script did not come to rest")


def at_rest(shown: Locator) -> bytes:
    """The picture of an element once the script has ended and two pictures, frames apart, are the same."""
    page, before, picture = shown.page, b"", None
    while picture != before:
        before = picture or b""
        settle(page)
        frames(page, 2 * FRAMES)
        picture = shown.screenshot()
    return picture or b""


def open_screen(page: Page, app: RunningApp, address: str = "") -> None:
    """Open a screen by its address and wait for it."""
    visit(page, f"{app.url}/{address}")


def visit(page: Page, url: str) -> None:
    """Open an address of a server of this module and wait for its script."""
    listen(page)
    page.goto(url)
    settle(page)


def go_to(page: Page, title: str) -> None:
    """Walk to a screen by the side bar, as a person does; the session stays the same."""
    screen = next(screen for screen in SCREENS if screen.title == title)
    menu = page.get_by_test_id("stExpandSidebarButton")
    if menu.is_visible():  # on a telephone the side bar is folded, and folds again once a screen is chosen
        menu.click()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
    if screen.heads_itself:  # by what it shows
        page.wait_for_url(f"**/{screen.address}*", timeout=PATIENCE * 1000)
    else:
        appear(page.get_by_role("heading", name=title, level=1))
    settle(page)


def unfold(page: Page, inside: Locator) -> None:
    """Open every closed fold that holds something, the outermost first."""
    expect(inside).to_be_attached(timeout=1000 * PATIENCE)
    folds = inside.locator("xpath=ancestor::details[not(@open)]")
    while folds.count():
        folds.first.locator("summary").first.click()
        settle(page)


def press(page: Page, name: str) -> None:
    """Press the button of that name, unfolding what holds it, and wait for what it does."""
    shown = page.get_by_role("button", name=name).first
    hidden = page.get_by_role("button", name=name, include_hidden=True).first
    expect(hidden).to_be_attached(timeout=1000 * PATIENCE)
    if not shown.is_visible():
        unfold(page, hidden)
    shown.click()
    settle(page)


def choose(label: str, option: str) -> Callable[[Page], None]:
    """Choose an option of a select box, unfolding what holds it."""

    def act(page: Page) -> None:
        unfold(page, page.get_by_role("combobox", name=label, include_hidden=True).first)
        box = page.get_by_role("combobox", name=label).first
        box.scroll_into_view_if_needed()
        settle(page)
        wanted, begun = page.get_by_role("option", name=option).first, time.monotonic()
        while True:  # a list that opens while an unfolding panel still moves is closed again
            box.click()
            try:
                wanted.click(timeout=STEP * 1000)
                break
            except TimeoutError:
                refuse_if_ended(page)
                if time.monotonic() - begun > PATIENCE:
                    raise
        page.keyboard.press("Tab")  # a list of several choices stays open
        settle(page)

    return act


def give(page: Page, label: str, *files: str | Path) -> None:
    """Hand files to the upload widget of that label and wait until they stand there.

    A widget that is just being drawn anew loses what it is handed, without a word: it is handed over again.
    For that the field is emptied first, as a click on the widget does it: the same files are no change.
    """
    widget, begun = page.get_by_test_id("stFileUploader").filter(has_text=label), time.monotonic()
    unfold(page, widget.first)
    while True:
        field = widget.locator("input[type=file]")
        field.evaluate("field => { field.value = ''; }")
        field.set_input_files([str(file) for file in files])
        settle(page)
        shown = widget.inner_text()
        if all(Path(file).name[:5] in shown for file in files):
            return
        if time.monotonic() - begun > PATIENCE:
            raise AssertionError(f"the files given as {label!r} never arrived")


def take_settings(page: Page, choices: Path, *files: Path) -> None:
    """Give a settings file and the files it names, on the screen Data."""
    page.get_by_text("Or take all choices from a settings file").click()
    give(page, "Settings file", choices)
    give(page, "Files that had been", *files)
    press(page, "Take these settings")


def release_anyway(page: Page) -> None:
    """Release what is planned; insist where rows are left out, the map may be poor or breaks a promise."""
    for doubt in ("Release without these rows", "Release this map anyway", "Release anyway:"):
        tick = page.get_by_text(doubt)
        if tick.count() and not page.get_by_role("checkbox", name=doubt).is_checked():
            tick.click()
            settle(page)
    page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    page.get_by_role("button", name="Release now").click()


def pixels(picture: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """(height, width, 3) red, green, blue of a PNG."""
    with Image.open(io.BytesIO(picture)) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8)


def count_colour(picture: bytes, colour: Colour, tolerance: int = 6) -> int:
    """How many pixels of a PNG have a colour, each channel within the tolerance."""
    distance = np.abs(pixels(picture).astype(np.int16) - np.asarray(colour, dtype=np.int16))
    return int((distance <= tolerance).all(axis=2).sum())


def wait_for_colour(chart: Locator, colour: Colour, at_least: int, tolerance: int = 6) -> int:
    """Look at a chart until it shows that many pixels of a colour; the count.

    Given up, with an AssertionError, once the script has ended and picture after picture is the same.
    """
    last, same = b"", 0
    while same < AT_REST:
        picture = chart.screenshot()
        seen = count_colour(picture, colour, tolerance)
        if seen >= at_least:
            return seen
        refuse_if_ended(chart.page)
        idle = chart.page.query_selector(IDLE) is not None
        same = same + 1 if picture == last and idle else 0
        last = picture
        frames(chart.page)
    raise AssertionError(f"{seen} pixels of {colour} once the chart had come to rest, not {at_least}")


def download(page: Page, button: str, folder: Path) -> Path:
    """Press a download button, unfolding what holds it, and keep what it gives."""
    unfold(page, page.get_by_role("button", name=button, include_hidden=True).first)
    with page.expect_download(timeout=PATIENCE * 1000) as coming:
        page.get_by_role("button", name=button).first.click()
    target = folder / coming.value.suggested_filename
    coming.value.save_as(target)
    return target


HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec_WebSocket_Protocol": "streamlit",
}
"""What asks for the app's WebSocket."""


def answer_of(
    connection: HTTPConnection, path: str, method: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers by lower-case name, and body of one request; `headers` are sent as they stand."""
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = b"" if answer.status == 101 else answer.read()
        return answer.status, [(key.lower(), value) for key, value in answer.getheaders()], content
    finally:
        connection.close()
