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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page

from pages.parts import linked_maps

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
PATIENCE = 150.0  # seconds until a wait is given up; never a claim about speed
CHART = '[data-testid="stDeckGlJsonChart"]'
LINKED = ".linked-map"
MAP = f"{CHART}, {LINKED}"  # of whichever kind
needs_linked_maps = pytest.mark.skipif(
    not linked_maps.built() and os.environ.get("HEXCURSION_REQUIRE_MAPS") != "1",
    reason="the linked maps are not built: run `make maps` where the npm registry can be reached",
)
IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class RunningApp:
    """A server of this checkout's app: its address, its home folder and its log."""

    url: str
    home: Path
    log: Path


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
    with _server(command, ROOT, port, home / "server.log", HEXCURSION_HOME=str(home), **environment) as url:
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
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_healthy(server, url, log)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_until_healthy(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the app did not start:\n{log.read_text(errors='replace')[-2000:]}")


def settle(page: Page) -> None:
    """Wait until the script of the screen has run to its end and stays there for a moment."""
    deadline = time.monotonic() + PATIENCE
    quiet = 0
    while quiet < 3:
        page.wait_for_selector(IDLE, timeout=PATIENCE * 1000)
        page.wait_for_timeout(100)
        quiet = quiet + 1 if page.query_selector(IDLE) else 0
        if time.monotonic() > deadline:
            raise AssertionError("the app's script did not come to rest")


def open_screen(page: Page, app: RunningApp, address: str = "") -> None:
    """Open a screen by its address and wait for it."""
    page.goto(f"{app.url}/{address}")
    settle(page)


def go_to(page: Page, title: str) -> None:
    """Walk to a screen by the side bar, as a person does; the session stays the same."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
    page.get_by_role("heading", name=title, level=1).wait_for(timeout=PATIENCE * 1000)
    settle(page)


def press(page: Page, name: str) -> None:
    """Press the button of that name and wait for what it does."""
    page.get_by_role("button", name=name).first.click()
    settle(page)


def pixels(picture: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """(height, width, 3) red, green, blue of a PNG."""
    with Image.open(io.BytesIO(picture)) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8)


def count_colour(picture: bytes, colour: Colour, tolerance: int = 6) -> int:
    """How many pixels of a PNG have a colour, each channel within the tolerance."""
    distance = np.abs(pixels(picture).astype(np.int16) - np.asarray(colour, dtype=np.int16))
    return int((distance <= tolerance).all(axis=2).sum())


def wait_for_colour(chart: Locator, colour: Colour, at_least: int, tolerance: int = 6) -> int:
    """Look at a chart until it shows that many pixels of a colour; the count, or an AssertionError."""
    deadline = time.monotonic() + PATIENCE
    seen = -1
    while time.monotonic() < deadline:
        seen = count_colour(chart.screenshot(), colour, tolerance)
        if seen >= at_least:
            return seen
        time.sleep(0.3)
    raise AssertionError(f"{seen} pixels of {colour} after {PATIENCE:.0f} s, expected at least {at_least}")


def download(page: Page, button: str, folder: Path) -> Path:
    """Press a download button and keep what it gives."""
    with page.expect_download(timeout=PATIENCE * 1000) as coming:
        page.get_by_role("button", name=button).first.click()
    target = folder / coming.value.suggested_filename
    coming.value.save_as(target)
    return target
