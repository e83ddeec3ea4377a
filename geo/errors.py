"""How this room fails, in one sentence with the remedy, and how long work tells of its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[float, str], None]
"""Called with the share of the work that is done (0 to 1) and what is being done.

Whatever it raises ends the work at once and reaches the caller: that is how work is cancelled.
"""


class GeoError(ValueError):
    """Anything wrong with places: regions, cells, coordinates or GeoJSON."""


class DomainError(GeoError):
    """A region or a set of cells that cannot become a domain."""


class CrsError(GeoError):
    """A coordinate reference system that is unknown or cannot be converted."""


class GeoJsonError(GeoError):
    """Something that cannot be written as RFC 7946 GeoJSON."""


def silent(share: float, text: str) -> None:
    """Say nothing and stop nothing."""


def part_of(progress: Progress, first: float, last: float) -> Progress:
    """Make the progress of a part, between two shares of the whole, out of that of the whole."""
    return lambda share, text: progress(first + (last - first) * share, text)
