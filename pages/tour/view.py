"""What the guided tour says: its maps, what differs between them by town, and its measured figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from geo.context.surroundings import around
from geo.domains.hexagons import interface
from geo.maps.linked import Line, Pane
from geo.maps.painting import NO_RECORDS, Entry, Painting
from geo.measures import with_unit
from hexcursion.bundle.products import paint_classes
from hexcursion.bundle.published.view import Viewer
from hexcursion.words import quantity
from pages.shared.shipped import FILES, shipped

Bools = NDArray[np.bool_]
STORY = FILES / "tour.json"
Shown = Literal["public", "released", "truth"]
Painted = Literal["public", "released", "truth", "classes", "table"]
SHOWN: tuple[Shown, ...] = get_args(Shown)
TELLING = 5  # hexagons: a town whose two maps differ by fewer is not mentioned
MOST = 6  # towns of a table
BLANK = "blank"


@dataclass(frozen=True)
class Town:
    """How many of the hexagons nearest to a town are above the threshold on each map, where the release
    is judged."""

    name: str
    public: int
    released: int
    truth: int


@dataclass(frozen=True)
class House:
    """What the tour tells about one sale, taken at random; its address is invented."""

    address: str
    cell: int
    price: float
    # Sales in its hexagon and their mean price in the table, without it and with it; None where blank.
    editions: tuple[tuple[int, float] | None, tuple[int, float] | None]
    same_class: bool  # the table's classes are the same without it
    times: int  # so often the range of prices fits into the 95 % interval of two releases, at least

    @property
    def found(self) -> float | None:
        """Its price by the arithmetic of two editions of the table; None where one of them hides it."""
        edition_before, edition_after = self.editions
        return (
            None
            if edition_before is None or edition_after is None
            else edition_after[0] * edition_after[1] - edition_before[0] * edition_before[1]
        )


class Tour:
    """A finished example, without a wait: searched, released and measured before."""

    def __init__(self, viewer: Viewer, story: Mapping[str, Any]) -> None:
        self.viewer, self._story, practice = viewer, story, story["practice"]
        first, last = story["years"]
        self.years = int(first), int(last)  # the public and the private one
        self.sales = int(story["public_sales"]), int(story["sales"])  # public and private records
        self.least = int(practice["least"])  # records that a hexagon of the table must have
        self.exact = float(practice["exact"])  # share of the prices that two editions of the table give away
        self.changed = float(practice["classes"])  # share of the sales without which the classes differ
        self.draws = int(story["draws"])  # simulated releases of each budget
        # Agreement with the map of all sales: public, released, table, filled, smoothed.
        self.measured = {name: float(value) for name, value in story["measured"].items()}
        later = story["later"]  # a later year that could be public; agreement of its map, of releases from it
        self.later = int(later["year"]), float(later["public"]), float(later["released"])

    def cells(self, map_name: Shown | Literal["shown", "inside"]) -> Bools:
        """Return (N,) hexagons above the threshold: by the public year, as released, by all sales without
        privacy, all where the release is judged; or those that a table of least counts shows, and those that
        it says are above."""
        if map_name == "released":
            return self.viewer.bundle.published.in_set
        inside = np.array([letter == "1" for letter in self._story[_STORED[map_name]]])
        return inside & ~self.empty if map_name in ("public", "truth") else inside

    def called(self, map_name: Painted) -> str:
        """What a map is called."""
        first, last = self.years
        return {
            "public": f"Public map of {first}",
            "released": f"Private release of {last}",
            "classes": f"Private release of {last}",
            "truth": f"All sales of {last}, without privacy",
            "table": f"Table of at least {self.least}",
        }[map_name]

    @property
    def blank(self) -> float:
        """Share of the hexagons of which the table says nothing."""
        return 1.0 - float(self.cells("shown").mean())

    @property
    def house(self) -> House:
        """The sale that was taken at random."""
        sale = self._story["house"]
        editions = tuple(None if edition is None else tuple(edition) for edition in sale["editions"])
        return House(**{**sale, "editions": editions})

    @property
    def threshold(self) -> str:
        """The threshold with its unit."""
        return quantity(self.viewer.bundle.threshold, self.viewer.unit)

    @property
    def empty(self) -> Bools:
        """(N,) hexagons that are not judged, as they hold few sales or none."""
        empty = self.viewer.bundle.published.empty
        assert empty is not None, "the shipped release has a mechanism that tells of counts"
        return empty

    def above(self, map_name: Shown) -> int:
        """Number of judged hexagons above the threshold on a map."""
        return int(self.cells(map_name).sum())

    def money(self, price: float, decimals: int = 0) -> str:
        """A price in the data's unit: "$72,000"."""
        return with_unit(f"{price:,.{decimals}f}", self.viewer.unit)

    @property
    def prices(self) -> tuple[float, float]:
        """Least and largest price that the release tells apart: those beyond count as these."""
        low, high = self.viewer.bundle.response.value(np.array([-1.0, 1.0])).tolist()
        return low, high

    @property
    def epsilon(self) -> float:
        """The release's budget, as its statement says."""
        return float(self.viewer.bundle.statement["guarantee"]["epsilon"])

    @property
    def classes(self) -> tuple[int, int, int, int]:
        """Hexagons likely above the threshold, open, likely not above it, and without a record expected."""
        above, unsure, below, empty = np.bincount(self.viewer.bundle.published.classes, minlength=4).tolist()
        return above, unsure, below, empty

    @property
    def right(self) -> float:
        """Share of the hexagons likely above the threshold that are, on the map of all sales."""
        return float(self.cells("truth")[self.viewer.bundle.published.classes == 0].mean())

    @property
    def bought(self) -> tuple[float, float, float, float]:
        """Least and largest budget of simulated releases; least and largest mean agreement of them."""
        rows = self._story["frontier"]
        agreements = [float(row["agreement"]) for row in rows]
        return float(rows[0]["epsilon"]), float(rows[-1]["epsilon"]), min(agreements), max(agreements)

    @cached_property
    def towns(self) -> tuple[Town, ...]:
        """Every town of the area, by name: the hexagons of which it is the nearest."""
        domain = self.viewer.domain
        places = around(domain).places
        inside = (
            domain.locate([place.longitude for place in places], [place.latitude for place in places]) >= 0
        )
        towns = [place for place, within in zip(places, inside, strict=True) if within]
        centres = domain.centres_lonlat
        flat = np.array([np.cos(np.radians(centres[:, 1].mean())), 1.0])
        at = np.array([[place.longitude, place.latitude] for place in towns])
        apart = ((centres[:, None, :] - at[None, :, :]) * flat) ** 2
        nearest = apart.sum(axis=2).argmin(axis=1)
        maps = [self.cells(map_name) for map_name in SHOWN]
        listed = [
            Town(place.name, *(int(cells[nearest == k].sum()) for cells in maps))
            for k, place in enumerate(towns)
        ]
        return tuple(sorted(listed, key=lambda town: town.name))

    def changes(self) -> tuple[Town, ...]:
        """Towns where release and public map differ, those that gained most first; at most `MOST`."""
        towns = [town for town in self.towns if abs(town.released - town.public) >= TELLING]
        return tuple(sorted(towns, key=lambda town: town.public - town.released))[:MOST]

    def painting(self, map_name: Painted) -> Painting:
        """One of the maps, in the words of the threshold."""
        title, above = self.called(map_name), f"above {self.threshold}"
        published = self.viewer.bundle.published
        if map_name == "classes":
            return paint_classes(published, self.threshold, title)
        if map_name == "table":
            judged, inside, other = self.cells("shown"), self.cells("inside"), Entry(BLANK, "unsure")
        else:
            judged, inside = ~self.empty, self.cells(map_name)
            other = Entry(NO_RECORDS, "empty")
        classes = np.where(judged, np.where(inside, 0, 1), 2)
        entries = (Entry(above, "above"), Entry(f"not {above}", "below"), other)
        notes = tuple(f"Released: {entries[kind].label}" for kind in classes.tolist())
        return Painting(classes, entries, notes, title)

    def pane(self, map_name: Painted, ringed: int | None = None) -> Pane:
        """One of the maps, perhaps with a line around one hexagon."""
        title, domain = self.called(map_name), self.viewer.domain
        ring = () if ringed is None else interface(domain.cells, np.arange(domain.size) == ringed)
        lines = (Line("house", "line", 3.0, ring),) if ring else ()
        return Pane(title, self.painting(map_name), lines=lines, word=title)


_STORED = {"public": "public_map", "truth": "truth", "shown": "shown", "inside": "inside"}


@cache
def tour() -> Tour:
    """The tour as shipped; it is public and the same for everybody. `WorkflowError` where it is damaged."""
    return Tour(shipped(), json.loads(STORY.read_text(encoding="utf-8")))
