"""Other systems, simulated: what Windows lacks is said in one sentence, and what macOS lacks is not used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.town import BOX, Town

ROOT = Path(__file__).resolve().parents[3]
HEAD = """
import asyncio, builtins, importlib, io, multiprocessing.util, os, signal, subprocess, sys
from pathlib import Path
def take(module, *names):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
def import_all(*rooms):
    for room in rooms:
        for path in sorted(Path(room).rglob("*.py")):
            if path.stem not in ("__main__", "page") and not path.stem.startswith("redraw"):
                importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
"""
WINDOWS = """
for name in ("fcntl", "resource", "pwd", "grp", "termios", "pty", "syslog"):
    sys.modules[name] = None
take(os, "nice", "fork", "getuid", "geteuid", "killpg", "setsid", "statvfs", "sched_getaffinity", "mkfifo")
take(os, "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC")
take(signal, "SIGKILL", "SIGSTOP", "SIGHUP", "SIGALRM", "pthread_sigmask", "setitimer", "alarm")
"""
MACOS = """
take(os, "sched_getaffinity", "posix_fadvise", "posix_fallocate", "memfd_create", "eventfd", "pidfd_open")
take(os, "O_TMPFILE", "O_PATH", "O_DIRECT", "copy_file_range", "splice", "getrandom", "sched_setaffinity")
take(signal, "pidfd_send_signal", "sigtimedwait", "sigwaitinfo")
opened = builtins.open
def hidden(file, *more, **named):
    if str(file).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return opened(file, *more, **named)
builtins.open = io.open = hidden
"""


def run(code: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    places = {"HEXCURSION_HOME": str(home), "HEXCURSION_WITNESS": str(home / "witness")}
    environment = {**os.environ, **places, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_the_libraries_work_on_windows_and_the_program_says_that_it_does_not(tmp_path: Path) -> None:
    code = """
import_all("dpgp_core", "geo", "data_loaders")
import hexcursion
try:
    hexcursion.release
except ImportError as error:
    print(error)
from hexcursion.__main__ import main
print(main(["release", "--help"]))
import runpy
runpy.run_path("app.py", run_name="__main__")
"""
    ended = run(HEAD + WINDOWS + code, home=tmp_path)
    sentence = (
        "Hexcursion locks its ledger and keeps its keys secret by the rules of Linux and macOS: on Windows "
        "run it in WSL 2, or in the container of deploy/Containerfile."
    )
    assert ended.stdout.splitlines() == [sentence, "2"]
    assert ended.stderr.splitlines() == [f"error: {sentence}", sentence]
    assert ended.returncode == 1


@pytest.mark.slow
def test_a_release_needs_nothing_that_macos_lacks(town: Town, tmp_path: Path) -> None:
    code = """
import_all("dpgp_core", "geo", "data_loaders", "hexcursion", "pages")
from hexcursion.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
    given = [
        *("--data", str(town.private), "--value", "no2", "--lon", "lon", "--lat", "lat"),
        *("--bbox", *map(str, BOX), "--resolution", "7", "--threshold", "30", "--value-unit", "ug/m3"),
        *("--centre", "28", "--clip", "15", "--mechanisms", "spectral-statistics", "--json"),
        *("--executor", "processes", "--out", str(tmp_path / "bundle")),
        "--accept-dropped",  # many rows lie at the rim of the box
    ]
    ended = run(HEAD + MACOS + code, "release", *given, home=tmp_path)
    assert json.loads(ended.stdout)["outcome"] == "released", ended.stderr
    read = run(HEAD + MACOS + code, "lint", str(tmp_path / "bundle"), home=tmp_path)
    assert read.returncode == 0, read.stdout + read.stderr
