"""What an export is: a file made from the released cells, and how a reader finds the same cells in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shapely.geometry import MultiPolygon

from geo import Domain
from geo.context.own_layers import OwnLayer
from geo.domains.hexagons import cell_polygons
from hexcursion.bundle.products.at_threshold import Products
from hexcursion.bundle.products.regions import Drawn, drawn_regions

DECLARED = "Public layers that the curator declared to be public. They do not follow from the released paths."


@dataclass(frozen=True, eq=False)
class Exported:
    """What every export is made from: public, checked, the same for all."""

    statement: Mapping[str, Any]  # the checked privacy statement
    facts: Mapping[str, Any]  # the key facts of the release, flat and harmless in a spreadsheet
    domain: Domain  # the cells and the public region
    products: Products  # what the release says at its published threshold
    columns: Mapping[str, Sequence[Any]]  # N values for each name: `h3` and what is said of each cell
    layers: Sequence[OwnLayer] = ()  # public layers that the curator added: not computed from the release

    @cached_property
    def outlines(self) -> list[MultiPolygon]:
        """(N,) exact outlines of the cells, WGS 84."""
        return cell_polygons(self.domain.cells)

    @cached_property
    def regions(self) -> Drawn:
        """(outline, properties) of every region."""
        return drawn_regions(self.domain.cells, self.products)


@dataclass(frozen=True)
class Export:
    """One format."""

    file: str  # the file's name in the bundle; one that a package adds ends as a file of data does
    says: str  # one line for the README
    most_bytes: int  # the largest size that a reader accepts
    write: Callable[[Exported], bytes]  # the file's bytes
    # N values for each name, found in a stranger's file; BundleError where it is none of this format
    read: Callable[[bytes], Mapping[str, Sequence[Any]]]
