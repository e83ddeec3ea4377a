"""Simultaneous sessions: `python -m studies.scale.sessions [--sessions 10] [--minutes 10]`.

Scripted curators, each in a separate browser, walk through one real server repeatedly: upload a table and
settings, read, search, release, look at the map. Tables differ in their number of rows, so that a number on a
screen identifies its session. The study reports errors, numbers of other sessions, ledger entries without
their release, and the server's memory before and after, once closed tabs are freed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Error, Page, sync_playwright

from hexcursion.ledger import open_ledger
from hexcursion.settings.model import settings_to_toml
from tests.browser.harness import (
    CHROMIUM,
    FLAGS,
    RunningApp,
    appear,
    go_to,
    open_screen,
    press,
    release_anyway,
    running_app,
    server_memory,
    settle,
    take_settings,
)
from tests.town import Town, write_town

ROWS, STEP = 2_000, 13  # of the first session's table, and the increase from one to the next
LONGEST = 600.0  # seconds until a click counts as an error
LET_GO = 240.0  # seconds within which the server frees the memory of closed tabs
WITHIN = 1.2  # largest factor by which memory may grow
SEED = 100  # of the first session's table


@dataclass
class Found:
    """Releases and faults of all sessions."""

    releases: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def rows_of(number: int) -> int:
    """Number of rows of a session's table."""
    return ROWS + STEP * number


def write_session(folder: Path, number: int) -> tuple[Town, Path]:
    """Two tables and settings of one session: sixteen hexagons and a mechanism that is quick on them."""
    folder.mkdir(parents=True)
    town = write_town(folder, rows_of(number), SEED + number)
    plan = town.settings(
        resolution=7, priors=("car",), mechanisms=("posterior-sampling",), title=f"Map {number}", budget=1e4
    )
    choices = folder / "choices.toml"
    choices.write_text(settings_to_toml(town.uploaded(plan)), encoding="utf-8")
    return town, choices


def walk(page: Page, app: RunningApp, town: Town, choices: Path) -> tuple[str, str]:
    """Walk from upload to release; return the release's name and the text of all screens."""
    texts = []

    def look(text: str) -> None:
        appear(page.get_by_text(text, exact=False).first)
        settle(page)
        texts.append(page.get_by_test_id("stMain").inner_text())

    open_screen(page, app, "data")
    take_settings(page, choices, town.private, town.reference)
    look("What was read")
    go_to(page, "Privacy and utility")
    press(page, "Search for the best design")
    look("The proposal")
    go_to(page, "Release")
    look("What will be published")
    release_anyway(page)
    look("Released as")
    if page.get_by_test_id("stException").count():
        raise AssertionError("an exception stands on the screen")
    match = re.search(r"Released as ([0-9a-f]{16})", texts[-1])
    assert match is not None
    return match[1], "\n".join(texts)


def at_work(page: Page) -> str:
    """Messages of the screen on progress or errors at the time of a fault."""
    try:
        messages = page.locator('[data-testid="stProgress"], [data-testid="stAlert"]').all_inner_texts()
    except Error:
        return "; the page was gone"
    text = " ".join(" ".join(messages).split())[:200]
    return f"; the screen said: {text or 'nothing of a computation or error'}"


def foreign_rows(text: str, number: int, sessions: int) -> list[int]:
    """Sessions whose number of rows appears in the text of session `number`."""
    numbers = {
        int(number_text.replace(",", "")) for number_text in re.findall(r"([0-9][0-9,]*) rows read", text)
    }
    return [other for other in range(sessions) if other != number and rows_of(other) in numbers]


def _session(number: int, sessions: int, app: RunningApp, folder: Path, until: float, found: Found) -> None:
    """Walk repeatedly until the time is over, at least once."""
    town, choices = write_session(folder / str(number), number)
    with sync_playwright() as driver, driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser:
        while True:
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            context.set_default_timeout(LONGEST * 1000)
            page = context.new_page()
            try:
                name, text = walk(page, app, town, choices)
                found.releases.append(name)
                if f"{rows_of(number):,} rows read" not in text:
                    found.faults.append(f"session {number} does not see its own {rows_of(number):,} rows")
                found.faults += [
                    f"session {number} sees the rows of session {other}"
                    for other in foreign_rows(text, number, sessions)
                ]
            except Exception as error:
                found.faults.append(
                    f"session {number}: {type(error).__name__} {str(error)[:300]}{at_work(page)}"
                )
            finally:
                context.close()
            if time.monotonic() >= until:
                return


def run(app: RunningApp, sessions: int, minutes: float, folder: Path, earlier: Sequence[str] = ()) -> Found:
    """Run all sessions at once and compare the ledger with their releases and the earlier ones."""
    found, until = Found(list(earlier)), time.monotonic() + 60.0 * minutes
    threads = [
        threading.Thread(target=_session, args=(number, sessions, app, folder, until, found))
        for number in range(sessions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.faults += ledger_faults(app, found.releases)
    return found


def ledger_faults(app: RunningApp, releases: list[str]) -> list[str]:
    """Differences between the ledger and the screens."""
    ledger, faults = open_ledger(app.home / "ledger.sqlite", create=False), []
    if sorted(ledger.committed()) != sorted(set(releases)):
        faults.append(f"{len(set(releases))} releases were shown, {len(ledger.committed())} are charged")
    if len(set(releases)) != len(releases):
        faults.append("two sessions were shown one release")
    kinds = [entry.kind for entry in ledger.entries()]
    counts = [kinds.count(kind) for kind in ("reserve", "draw", "commit")]
    if counts != [len(releases)] * 3:
        faults.append(f"{len(releases)} releases have {counts} reservations, draws and commits")
    return faults + [str(wrong) for wrong in ledger.verify()]


def _rested(app: RunningApp, bound: float) -> float:
    """The server's memory in MB once it is below a bound, at the latest after LET_GO seconds."""
    deadline = time.monotonic() + LET_GO
    while (now := server_memory(app)) > bound and time.monotonic() < deadline:
        time.sleep(5.0)
    return now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10, help="at once (default 10)")
    parser.add_argument("--minutes", type=float, default=10.0, help="until none begins anew (default 10)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, running_app(Path(name) / "home") as app:
        warm = run(app, 1, 0.0, Path(name) / "warm")
        memory_before = _rested(app, 0.0)
        ours = run(app, options.sessions, options.minutes, Path(name) / "sessions", warm.releases)
        memory_last = server_memory(app)
        memory_after = _rested(app, WITHIN * memory_before)
    faults = warm.faults + ours.faults
    print(
        f"{options.sessions} sessions for {options.minutes:g} minutes: "
        f"{len(ours.releases)} releases with one to warm up"
    )
    print(f"errors, numbers of somebody else, ledger entries without their release: {len(faults)}")
    print("\n".join(faults), end="\n" if faults else "")
    print(
        f"the server's own memory: {memory_before:.0f} MB before, {memory_last:.0f} MB at the end, "
        f"{memory_after:.0f} MB at rest"
    )
    print(f"after is {memory_after / memory_before:.2f} times before ({WITHIN:g} at most is asked for)")
    print(f"Seed {SEED} of the generated tables; the releases are drawn from the system's entropy.")


if __name__ == "__main__":
    main()
