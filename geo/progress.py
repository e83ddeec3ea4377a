"""How long work on an outline tells of its progress and is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[float, str], None]
"""Called with the share of the work that is done (0 to 1) and what is being done.

Whatever it raises ends the work at once and reaches the caller: that is how work is cancelled.
"""


def silent(share: float, text: str) -> None:
    """Say nothing and stop nothing."""


def part_of(progress: Progress, first: float, last: float) -> Progress:
    """Make the progress of a part, between two shares of the whole, out of that of the whole."""
    return lambda share, text: progress(first + (last - first) * share, text)
