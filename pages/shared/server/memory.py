"""Memory: what a session lets go of goes back to the system, which the C library alone does late."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pyarrow as pa

ARENAS = 2
LARGE = 1 << 20  # bytes from which a block has pages of its own and gives them back at once
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of mallopt(3)


def keep_little() -> None:
    """Let all threads share few heaps (glibc): every session has threads, each would have its own.

    Another C library may do as it likes.
    """
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENA_MAX, ARENAS)
        library.mallopt(_MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Give back the pages on which nothing lies any more: after a session was forgotten."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
