"""How far a command is: one line of a terminal, written over again; a file or a pipe gets none of it."""

from __future__ import annotations

import sys


def progress(fraction: float, text: str) -> None:
    """Say on standard error what is being done, and which share of it is done."""
    if sys.stderr.isatty():
        print(f"\r{100 * fraction:3.0f} %  {text:<60}", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    """Leave the line, so that what follows begins a new one."""
    if sys.stderr.isatty():
        print(file=sys.stderr)
