"""Readers and a hostile uploader: `python -m studies.scale.uploads [--sessions 10] [--minutes 5]`.

The command starts a viewer on 127.0.0.1. Readers open one published map repeatedly, while an attacker uploads
large files from many sessions: at addresses that the server gave out, at invented ones, and without a length.
It reports the readers' waits, the answers to uploads, and the memory of the server, which may grow by
`--most`. It contacts its own server only.

`--readers N` measures reruns without an attacker: N readers of the published map and N of the start page of
an app, both on these cores, each with `--pause` seconds between an answer and the next rerun.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import ConnectionClosed

from hexcursion.bundle import write_bundle
from tests.browser.harness import RunningApp, running_app, server_memory, server_seconds
from tests.browser.sessions import MEGABYTE, session
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain

LARGE = 90 * MEGABYTE  # of one file: just below what a session may hold
MOST_REQUESTS = 5_000
GUESTS = 8  # simultaneous sessions of the uploader
PAUSE = 0.2  # seconds between two visits of a reader


@dataclass
class Met:
    """Waits, answers and faults of all threads."""

    seconds: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


def read(app: RunningApp, met: Met) -> None:
    """Open the viewer repeatedly, each time as a new reader."""
    while not met.over.is_set():
        start = time.perf_counter()
        try:
            with session(app) as reader:
                reader.run()
            met.seconds.append(time.perf_counter() - start)
        except (OSError, TimeoutError, ConnectionClosed) as error:
            met.faults.append(f"a reader: {type(error).__name__} {error}")
        met.over.wait(PAUSE)


def ask_again(app: RunningApp, path: str, pause: float, met: Met) -> None:
    """Hold one session on a page and rerun it repeatedly."""
    try:
        with session(app, path) as reader:
            while not met.over.wait(pause):
                start = time.perf_counter()
                reader.run()
                met.seconds.append(time.perf_counter() - start)
    except (OSError, TimeoutError, ConnectionClosed) as error:
        met.faults.append(f"a reader of {path or 'the start page'}: {type(error).__name__} {error}")


def reruns(readers: int, seconds: float, pause: float, folder: Path) -> int:
    """Measure the reruns of `readers` readers of the viewer and as many of the start page."""
    write_bundle(make_release(small_domain()), folder / "bundles" / "london")
    places = {"HEXCURSION_BUNDLES": str(folder / "bundles")}
    with running_app(folder / "home", **places) as app:
        pages = {"viewer": Met(), "": Met()}
        at_work = [
            threading.Thread(target=ask_again, args=(app, path, pause, met))
            for path, met in pages.items()
            for _ in range(readers)
        ]
        for thread in at_work:
            thread.start()
        memory, used = [], server_seconds(app)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            memory.append(server_memory(app))
            time.sleep(0.5)
        for met in pages.values():
            met.over.set()
        for thread in at_work:
            thread.join()
        used = server_seconds(app) - used
    print(
        f"{readers} readers of each page for {seconds:g} s, {pause:g} s between an answer and the next rerun"
    )
    for path, met in pages.items():
        waited = sorted(met.seconds) or [float("nan")]
        print(
            f"{path or 'start':8} {len(waited):6,} reruns, half within {waited[len(waited) // 2]:.2f} s, "
            f"95 of 100 within {waited[int(0.95 * len(waited))]:.2f} s, {len(met.faults)} faults"
        )
        for fault in met.faults[:5]:
            print(f"fault: {fault}")
    count = sum(len(met.seconds) for met in pages.values())
    print(f"CPU of the server, opening included: {used / max(count, 1):.3f} s a rerun")
    third = len(memory) // 3
    print(
        f"memory of the server, MB: {max(memory[third : 2 * third]):,.0f} in the second third of the time, "
        f"{max(memory[2 * third :]):,.0f} in the last; no random numbers"
    )
    return 1 if any(met.faults or not met.seconds for met in pages.values()) else 0


def upload(app: RunningApp, met: Met) -> None:
    """Upload with every kind of mistake until the time is over."""
    while not met.over.is_set():
        try:
            with session(app) as guest:
                *addresses, other = guest.places(8)
                for path in addresses:
                    if met.over.is_set() or met.answers.total() > MOST_REQUESTS:
                        return
                    for kind, put in (
                        ("told", (path, LARGE, LARGE)),
                        ("made up", (f"/_stcore/upload_file/{guest.name}/made-up", LARGE, LARGE)),
                        ("without a length", (path, LARGE, None)),
                        ("too large", (path, 250 * MEGABYTE, 250 * MEGABYTE)),
                        ("empty", (other, 0, 0)),
                    ):
                        met.answers[f"{kind}: {guest.put(*put)}"] += 1
        except (OSError, TimeoutError, ConnectionClosed) as error:
            met.faults.append(f"the uploader: {type(error).__name__} {error}")
            met.over.wait(PAUSE)


def beside(app: RunningApp, sessions: int, seconds: float) -> Met:
    """Run readers and the uploader's sessions together; sample the server's memory twice a second."""
    met = Met()
    at_work = [threading.Thread(target=read, args=(app, met)) for _ in range(sessions)]
    at_work += [threading.Thread(target=upload, args=(app, met)) for _ in range(GUESTS)]
    until = time.monotonic() + seconds
    for thread in at_work:
        thread.start()
    while time.monotonic() < until:
        met.memory.append(server_memory(app))
        time.sleep(0.5)
    met.over.set()
    for thread in at_work:
        thread.join()
    met.memory.append(server_memory(app))
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--uploads", type=int, default=200, help="MB that the server holds for all together")
    parser.add_argument("--most", type=float, default=1_000.0, help="MB that the server's memory may grow by")
    parser.add_argument("--readers", type=int, help="measure reruns of so many readers of two pages instead")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between a reader's reruns")
    options = parser.parse_args()
    if options.readers:
        with tempfile.TemporaryDirectory() as folder:
            return reruns(options.readers, 60.0 * options.minutes, options.pause, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(make_release(small_domain()), Path(folder) / "bundles" / "london")
        places = {
            "HEXCURSION_BUNDLES": str(Path(folder) / "bundles"),
            "HEXCURSION_UPLOADS_MB": str(options.uploads),
        }
        with running_app(Path(folder) / "home", "--viewer", **places) as app:
            with session(app):
                memory_before = server_memory(app)
            met = beside(app, options.sessions, 60.0 * options.minutes)
    waited = sorted(met.seconds) or [float("nan")]
    print(f"{options.sessions} readers and {GUESTS} sessions of an uploader for {options.minutes:g} minutes")
    print(
        f"visits of readers       {len(met.seconds):,}, half of them within {waited[len(waited) // 2]:.1f} s"
    )
    print(
        f"memory of the server    {memory_before:,.0f} MB before, at most {max(met.memory):,.0f} MB, "
        f"{met.memory[-1]:,.0f} MB at the end"
    )
    print("No random numbers: what is uploaded is one letter again and again.")
    for kind, times in sorted(met.answers.items()):
        print(f"upload {kind:30} {times:,}")
    for fault in met.faults[:10]:
        print(f"fault: {fault}")
    grown = max(met.memory) - memory_before
    print(
        f"grown by at most        {grown:,.0f} MB of {options.most:,.0f} MB allowed; {len(met.faults)} faults"
    )
    return 1 if grown > options.most or not met.seconds else 0


if __name__ == "__main__":
    raise SystemExit(main())
