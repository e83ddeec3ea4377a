"""Memory: what a session lets go of goes back to the system, which the C library alone does late."""

from __future__ import annotations

import pyarrow as pa

from hexcursion.heap import ARENA_MAX, MMAP_THRESHOLD, trim_heap, tune_heap

ARENAS = 2
LARGE = 1 << 20  # bytes from which a block has pages of its own and gives them back at once


def keep_little() -> None:
    """Let all threads share few heaps (glibc): every session has threads, each would have its own."""
    tune_heap({ARENA_MAX: ARENAS, MMAP_THRESHOLD: LARGE})


def give_back() -> None:
    """Give back the pages on which nothing lies any more: after a session was forgotten."""
    pa.default_memory_pool().release_unused()
    trim_heap()
