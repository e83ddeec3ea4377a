"""What the guided tour says: its maps, what differs between them by district, and its measured figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from geo.maps.linked import Line, Pane
from geo.maps.painting import Painting, paint_set
from hexcursion.bundle.published.view import Viewer
from hexcursion.words import quantity
from pages.shared.shipped import FILES, shipped

Bools = NDArray[np.bool_]
STORY = FILES / "tour.json"
Shown = Literal["public", "released", "truth"]
SHOWN: tuple[Shown, ...] = get_args(Shown)
TELLING = 5  # hexagons: where a district's two maps differ by fewer, nothing is said of it


@dataclass(frozen=True)
class District:
    """How many hexagons of a district lie above the threshold: on the public map, as released, in truth."""

    name: str
    public: int
    released: int
    truth: int


@dataclass(frozen=True)
class Bought:
    """What a budget buys: mean agreement with the truth over simulated releases, and its deviation."""

    epsilon: float
    agreement: float
    spread: float


class Tour:
    """A finished example that nobody has to wait for: generated, searched, released and measured before."""

    def __init__(self, viewer: Viewer, story: Mapping[str, Any]) -> None:
        self.viewer = viewer
        self._story = story

    def cells(self, shown: Shown) -> Bools:
        """(N,) hexagons above the threshold: by last year's public values, as released, or in truth.

        The truth is the generated field itself, known only because it is invented.
        """
        if shown == "released":
            return self.viewer.bundle.published.vote_set
        return np.array(
            [letter == "1" for letter in self._story["public_map" if shown == "public" else "truth"]]
        )

    def called(self, shown: Shown) -> str:
        """What a map is called."""
        first, last = self.years
        return {
            "public": f"Public map of {first}", "released": f"Private release of {last}",
            "truth": "Truth (invented)",
        }[shown]  # fmt: skip

    @property
    def years(self) -> tuple[int, int]:
        """The public and the private year."""
        first, last = self._story["years"]
        return int(first), int(last)

    @property
    def sales(self) -> int:
        """Number of private records."""
        return int(self._story["sales"])

    @property
    def threshold(self) -> str:
        """The threshold with its unit."""
        return quantity(self.viewer.bundle.threshold, self.viewer.unit)

    @property
    def epsilon(self) -> float:
        """The release's budget, as its statement says."""
        return float(self.viewer.bundle.statement["guarantee"]["epsilon"])

    @property
    def measured(self) -> dict[str, float]:
        """Agreement with the truth: "public", "released" and "unprotected", as stored."""
        return {name: float(value) for name, value in self._story["measured"].items()}

    @property
    def frontier(self) -> tuple[Bought, ...]:
        """What other budgets buy, epsilon increasing."""
        return tuple(
            Bought(float(row["epsilon"]), float(row["agreement"]), float(row["spread"]))
            for row in self._story["frontier"]
        )

    @property
    def draws(self) -> int:
        """Simulated releases behind each point of `frontier`."""
        return int(self._story["draws"])

    @cached_property
    def districts(self) -> tuple[District, ...]:
        """Every district, by name."""
        of, maps = np.array(self._story["district"]), [self.cells(shown) for shown in SHOWN]
        found = [
            District(name, *(int(cells[of == k].sum()) for cells in maps))
            for k, name in enumerate(self._story["districts"])
        ]
        return tuple(sorted(found, key=lambda district: district.name))

    def changes(self) -> tuple[District, ...]:
        """Districts where release and public map differ most, those that gained first."""
        told = [one for one in self.districts if abs(one.released - one.public) >= TELLING]
        return tuple(sorted(told, key=lambda one: one.public - one.released))

    def gained(self) -> str:
        """The district that gained most."""
        return self.changes()[0].name

    def lost(self) -> str:
        """The district that lost most."""
        return self.changes()[-1].name

    def painting(self, shown: Shown) -> Painting:
        """One of the maps, in the words of the threshold."""
        inside = f"above {self.threshold}"
        return paint_set(self.cells(shown), inside=inside, outside=f"not {inside}", title=self.called(shown))

    def pane(self, shown: Shown) -> Pane:
        """One of the maps with the river over it."""
        title = self.called(shown)
        river = Line("river", "below", 3.0, [np.array(self._story["river"])])
        return Pane(title, self.painting(shown), lines=(river,), word=title)


@cache
def tour() -> Tour:
    """The tour as shipped; it is public and the same for everybody. `WorkflowError` where it is damaged."""
    return Tour(shipped(), json.loads(STORY.read_text(encoding="utf-8")))
