"""The heap of the C library (glibc): what it keeps of freed memory, and what it gives back to the system.

Another C library may do as it likes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextlib import suppress

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8  # of mallopt(3)


def tune_heap(options: Mapping[int, int]) -> None:
    """Set options of mallopt(3), in the given order."""
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        for option, value in options.items():
            library.mallopt(option, value)


def trim_heap() -> None:
    """Give back the pages on which nothing lies any more."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
