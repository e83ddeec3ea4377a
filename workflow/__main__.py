"""`python -m workflow` and, where the package is installed, `hexcursion`: the command line."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

KEPT_BLOCK = 64 << 20  # bytes
FEW_LOOKS = 100_000  # new objects until the next look for what nobody holds: Python looks at every 700
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fix the number of BLAS threads, then run one command; returns the exit status."""
    # Before numpy is imported: two BLAS threads are many times slower than one when anything else runs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _keep_memory()
    gc.disable()  # what is imported stays: looking through it again and again takes a third of a second

    try:
        from workflow.cli import main as run

        gc.freeze()
        gc.set_threshold(FEW_LOOKS)
    finally:
        gc.enable()
    return run(arguments)


def _keep_memory() -> None:
    """Keep what is freed (glibc): to give arrays of some MB back and fetch them anew takes half a second."""
    with suppress(AttributeError, OSError, TypeError):  # another C library, which may do as it likes
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, KEPT_BLOCK)
        library.mallopt(_TRIM_THRESHOLD, 2 * KEPT_BLOCK)


if __name__ == "__main__":
    sys.exit(main())
