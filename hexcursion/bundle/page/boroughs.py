"""The table of a map's own areas: how much of each lies beyond the threshold, and how surely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from geo import Domain
from geo.context.own_layers import OwnLayer
from hexcursion.bundle.files.own_layers import named_areas_of
from hexcursion.bundle.products.area_shares import CONFIDENCE, FEWEST, AreaAnswer, shares_of
from hexcursion.bundle.products.at_threshold import Floats, Products

MOST = 100
FIRST = 3  # areas that one sentence names
DUST = 1e-9  # what is nearer to a whole per cent than that is one


@dataclass(frozen=True)
class BoroughTable:
    """The table."""

    # name, share and interval in words, and how much of the area the hexagons cover; largest share first
    rows: tuple[tuple[str, str, str, str], ...]
    left_out: int  # areas that found no place in the table
    intervals: bool  # whether the release has draws enough to say how surely

    @property
    def lead(self) -> str:
        """The largest shares in one sentence; "" where there are none."""
        first = [f"{name} {share}" for name, share, *_ in self.rows[:FIRST] if share != "0 %"]
        return f"Largest shares: {', '.join(first)}." if first else ""

    @property
    def note(self) -> str:
        """What the columns mean, and what is not in the table."""
        said = "The share is that of the area's hexagons, by the part of them that lies in it."
        if self.intervals:
            said += f" The interval holds it with {CONFIDENCE * 100:.0f} % confidence, given the release."
        else:
            said += f" The release has too few draws of its field for intervals: that takes {FEWEST}."
        said += " Open hexagons count by their chance."
        if self.left_out:
            said += f" {self.left_out:,} more areas: python -m hexcursion areas says them all."
        return said


def borough_table(
    domain: Domain,
    layers: Sequence[OwnLayer],
    products: Products,
    field: tuple[Floats, Floats] | None,
    draws: Floats,
    level: float,
) -> BoroughTable | None:
    """The table of the named areas in a map's own layers; None where there are none. `products` are at the
    threshold `level`; `field`: (N,) mean and standard deviation; `draws`: (J, N) joint draws; all in response
    units."""
    areas = named_areas_of(layers, domain)
    if areas is None:
        return None
    if draws.shape[0] >= FEWEST:
        answers = shares_of(areas, field, draws, level, products.direction)
    else:
        chance = products.votes if products.probability is None else products.probability
        shares = (areas.weights @ chance / areas.weights.sum(axis=1)).tolist()
        each = zip(areas.names, shares, areas.covered.tolist(), strict=True)
        answers = [AreaAnswer(name, share, None, None, CONFIDENCE, part) for name, share, part in each]
    ordered = sorted(answers, key=lambda one: (-(one.share or 0.0), one.name))
    rows = tuple(_row(one) for one in ordered[:MOST])
    return BoroughTable(rows, max(0, len(ordered) - MOST), draws.shape[0] >= FEWEST)


def _row(one: AreaAnswer) -> tuple[str, str, str, str]:
    interval = "–"
    if one.low is not None and one.high is not None:  # rounded outwards: it still holds what it held
        low, high = math.floor(100.0 * one.low + DUST), math.ceil(100.0 * one.high - DUST)
        interval = f"{low} % to {high} %"
    return one.name, _part(one.share or 0.0), interval, "all" if one.covered > 0.995 else _part(one.covered)


def _part(share: float) -> str:
    return f"{100.0 * share:.0f} %"
