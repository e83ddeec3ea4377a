"""The command line by its two names, and its threads fixed before any number is computed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hexcursion.__main__ import main as program
from hexcursion.cli import main
from hexcursion.cli.main import build_parser
from hexcursion.version import VERSION
from tests.patience import HANG

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("called", "named"),
    [("/usr/local/bin/hexcursion", "hexcursion"), ("hexcursion/__main__.py", "python -m hexcursion")],
)
def test_help_and_refusals_name_the_command_that_was_called(
    called: str, named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [called])
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {named} ")


def test_a_reader_that_has_enough_of_the_output_sees_no_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As `| head` has: the command ends with status 1, and what is left goes nowhere."""

    def run(arguments: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr("hexcursion.cli.main", run)
    monkeypatch.setattr("gc.set_threshold", lambda number: None)
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    with (tmp_path / "out").open("w", encoding="utf-8") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert program(["view", "bundle"]) == 1
        out.write("left")
    assert (tmp_path / "out").read_text(encoding="utf-8") == ""


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"Hexcursion {VERSION}\n"


def test_one_blas_thread_is_set_before_numpy_is_there() -> None:
    """Both ways in call `hexcursion.__main__.main`; with two threads a busy machine is many times slower."""
    script = (
        "import os, sys, hexcursion.__main__ as entry\n"
        "assert 'numpy' not in sys.modules\n"
        "sys.argv = ['hexcursion', '--version']\n"
        "try:\n    entry.main()\nexcept SystemExit:\n    pass\n"
        "print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])\n"
        "import gc\nprint(gc.isenabled(), gc.get_freeze_count() > 10_000, 'matplotlib' in sys.modules)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=True,
    )
    assert done.stdout.splitlines() == [f"Hexcursion {VERSION}", "True 1", "True True False"]


INTERRUPTED = """
import os, signal, sys, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "hexcursion.cli":
            WAY
def stop(*_):
    os.kill(os.getpid(), signal.SIGINT)
def stop_while_tidying():
    kept = Interrupts()
    noted = weakref.ref(kept, stop)
    del kept
sys.meta_path.insert(0, Interrupts())
from hexcursion.__main__ import main
sys.exit(main(["--version"]))
"""


def ended_script(script: str, *given: str) -> subprocess.CompletedProcess[str]:
    """A Python script that ran to its end in a process of its own, with what it printed."""
    return subprocess.run(
        [sys.executable, "-c", script, *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )


@pytest.mark.parametrize("way", ["stop()", "stop_while_tidying()"])
def test_ctrl_c_while_the_program_is_still_loading_is_one_sentence(way: str) -> None:
    """In what Python calls back for a weak reference the Ctrl-C was lost, and the release went on."""
    ended = ended_script(INTERRUPTED.replace("WAY", way))
    assert (ended.returncode, ended.stdout) == (7, "")
    assert ended.stderr == "error: Stopped; nothing was done.\n"


TWICE = """
import os, signal, sys, tempfile
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from hexcursion.__main__ import main
import hexcursion.cli
class Tidied(tempfile.TemporaryDirectory):
    def cleanup(self):
        os.kill(os.getpid(), signal.SIGINT)
        super().cleanup()
class Command:
    def parse_args(self, given):
        return self
    def run(self, options):
        with Tidied(dir=sys.argv[1]):
            os.kill(os.getpid(), signal.SIGINT)
sys.modules["hexcursion.cli.main"].build_parser = lambda *wanted: Command()
status = main(["view"])
os.kill(os.getpid(), signal.SIGINT)
sys.exit(status)
"""


def test_a_second_ctrl_c_does_not_break_off_the_tidying(tmp_path: Path) -> None:
    ended = ended_script(TWICE, str(tmp_path))
    assert (ended.returncode, ended.stderr) == (7, "error: Stopped; nothing was released.\n")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_is_one_sentence() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "hexcursion", "view", "static/tour/bundle.zip"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG,
            check=False,
        )
    said = "error: No more can be written (No space left on device): make room, or write elsewhere.\n"
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.parametrize("number", ["-1e-3", "-.5", "-2", "-1E+2", "-3."])
def test_a_negative_number_is_a_value_and_no_option(number: str) -> None:
    asked = ["release", "--data", "a.csv", "--out", "o", "--threshold", number, "--centre", number]
    assert build_parser().parse_args(asked).centre == [number]


def test_what_is_no_number_is_still_an_unknown_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["release", "--data", "a", "--out", "o", "--threshold", "1", "-1e-3x"])
    assert "error: unrecognized arguments: -1e-3x" in capsys.readouterr().err
