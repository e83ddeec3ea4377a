"""`python -m hexcursion` and, where the package is installed, `hexcursion` and `hexcursion-app`."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from hexcursion import NEEDS_POSIX, can_run

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, its owner's share of it, a file
FEW_LOOKS = 100_000  # new objects until the next garbage collection: Python's usual number is 700


def main(arguments: Sequence[str] | None = None) -> int:
    """Fix the number of BLAS threads, then run one command; returns the exit status."""
    if not can_run():
        print(f"error: {NEEDS_POSIX}", file=sys.stderr)
        return 2
    # Before numpy is imported: two BLAS threads are many times slower than one when anything else runs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # modules stay: looking through them again and again takes a third of a second

    try:
        # Python loses a Ctrl-C that comes while it tidies up after an import: it is heard when all is there.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # no shell's background job
            signal.signal(signal.SIGINT, _stop_once)
        import numpy

        # scipy takes over all that numpy has, and would load a compiler's front end: a tenth of a second
        vars(numpy).setdefault("f2py", None)
        from hexcursion.cli import main as run

        gc.freeze()
        gc.set_threshold(FEW_LOOKS)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    except KeyboardInterrupt:
        print("error: Stopped; nothing was done.", file=sys.stderr)
        return 7  # as `hexcursion.cli.outcome` gives every command that was stopped
    finally:
        gc.enable()
    try:
        try:
            return run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read has enough, as `| head` has: the rest goes nowhere
        pass
    except OSError as error:
        if error.errno not in FULL:
            raise
        print(
            f"error: No more can be written ({error.strerror}): make room, or write elsewhere.",
            file=sys.stderr,
        )
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _stop_once(number: int, frame: object) -> NoReturn:
    """What a Ctrl-C does: the command stops and tidies up, which no second one breaks off."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def app() -> None:
    """`hexcursion-app`: what `python app.py` does in a checkout, with the same arguments."""
    import runpy

    here = Path(__file__).resolve().parent
    folder = here / "app" if (here / "app").is_dir() else here.parent  # in a wheel, in a checkout
    sys.path.insert(0, str(folder))
    runpy.run_path(str(folder / "app.py"), run_name="__main__")


if __name__ == "__main__":
    sys.exit(main())
