"""The errors of this package, one sentence with the remedy each, and the progress of long work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dpgp_core.errors import HexcursionError

Progress: TypeAlias = Callable[[float, str], None]
"""Called with the finished share of the work (0 to 1) and the name of the present step.

To cancel the work, raise an exception: it ends the work at once and reaches the caller.
"""


class GeoError(HexcursionError, ValueError):
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
