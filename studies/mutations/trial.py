"""Trials: the tests of one mutant, in a copy of the checkout and in a process of their own."""

from __future__ import annotations

import importlib
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from studies.mutations.reach import Reach, Recorder
from studies.mutations.record import Outcome

# Imported once, before a process is split off for every trial: what the tests of all packages need of others.
PRELOADED = (
    "numpy", "scipy.sparse.linalg", "scipy.optimize", "scipy.special", "scipy.stats", "pandas", "pyproj",
    "pyarrow.parquet", "shapely", "geopandas", "pyogrio", "h3", "sqlalchemy", "sqlalchemy.dialects.sqlite",
    "jsonschema", "PIL.ImageFont", "tomlkit", "playwright.sync_api",
)  # fmt: skip
LEFT_OUT = "not slow and not browser and not postgres"
PATIENCE = 300  # seconds of the clock after which pytest fails a single test that waits for something
_counter = itertools.count(1)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Parameters
    ----------
    outcome
        "killed" by a failing test, "stopped" for taking too long, "broken" (not even collected) or "survived"
    by
        the test that failed first, or ""
    seconds
        CPU seconds of the tests
    tests
        how many tests were chosen
    """

    outcome: Outcome
    by: str
    seconds: float
    tests: int


def preload() -> None:
    """Import what every trial would import again."""
    os.environ.setdefault("MPLBACKEND", "agg")
    for name in PRELOADED:
        importlib.import_module(name)


def copy_checkout(root: Path, target: Path) -> None:
    """Copy what git tracks, and what it would, into an empty folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def learn(copy: Path, tests: Sequence[str], files: Sequence[str]) -> Reach:
    """Run a package's tests unharmed; raises `RuntimeError` with pytest's last words where one fails."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "reach.json"

        def run() -> int:
            sys.dont_write_bytecode = False  # for the trials, which then compile their mutant only
            recorder = Recorder(copy, files)
            recorder.start()
            code = _pytest(tests, recorder)
            kept.write_text(recorder.reach().to_json(), encoding="utf-8")
            return code

        code, said, _ = _apart(copy, run, cpu_seconds=3600)
        if code != 0:
            raise RuntimeError(f"The tests fail without any mutation (code {code}):\n{said[-3000:]}")
        return Reach.from_json(kept.read_text(encoding="utf-8"))


def judge(copy: Path, file: str, source: str, tests: Sequence[str], usual_seconds: float) -> Verdict:
    """Put a mutant into the copy, run these tests until the first fails, and put the file right again.

    A trial may take five times the CPU seconds that its tests usually take, and ten more.
    """
    path = copy / file
    before, stamp = path.read_bytes(), path.stat()
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first"

        def run() -> int:
            chosen = Chosen(tests, first)
            return _pytest(list(dict.fromkeys(name.split("::")[0] for name in tests)), chosen)

        try:
            path.write_text(source, encoding="utf-8")
            os.utime(path, (stamp.st_atime, next(_counter)))  # no compiled file is of this time
            code, _, seconds = _apart(copy, run, cpu_seconds=int(10 + 5 * usual_seconds))
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        by = first.read_text(encoding="utf-8") if first.exists() else ""
    names: dict[int, Outcome] = {
        0: "survived",
        1: "killed",
        -signal.SIGXCPU: "stopped",
        -signal.SIGKILL: "stopped",
    }
    return Verdict(names.get(code, "broken"), by, round(seconds, 2), len(tests))


class Chosen:
    """A pytest plugin that runs the chosen tests only, in their order, and writes down the first to fail."""

    def __init__(self, tests: Sequence[str], first: Path) -> None:
        self._rank = {name: number for number, name in enumerate(tests)}
        self._first = first

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep and sort."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._rank), key=lambda item: self._rank[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first failure is what killed the mutant."""
        if report.failed and not self._first.exists():
            self._first.write_text(report.nodeid, encoding="utf-8")


def _pytest(tests: Sequence[str], plugin: object) -> int:
    arguments = [
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-m",
        LEFT_OUT,
        "--no-header",
        "-o",
        f"timeout={PATIENCE}",
        *tests,
    ]
    return int(pytest.main(arguments, plugins=[plugin]))


def _apart(copy: Path, run: Callable[[], int], cpu_seconds: int) -> tuple[int, str, float]:
    """Run in a process split off from this one, inside the copy: exit code, what it said, CPU seconds.

    The code is minus the signal for a process that was ended by one. Nothing of the checkout may be imported
    here beforehand except this package.
    """
    with tempfile.TemporaryFile() as said:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.setsid()
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
                _move_into(copy)
                code = run()
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status, used = os.wait4(child, 0)
        said.seek(0)
        words = said.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(status), words, used.ru_utime + used.ru_stime


def _move_into(copy: Path) -> None:
    os.chdir(copy)
    sys.dont_write_bytecode = True
    here = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [str(copy), *(place for place in sys.path if place not in ("", here))]
    for name in [name for name in sys.modules if name.split(".")[0] == "studies"]:
        del sys.modules[name]
    importlib.invalidate_caches()
