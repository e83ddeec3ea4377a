"""The yardstick before a release: how many simulated records a design's map shows on the right side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.linalg import Bools
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import draw_release
from dpgp_core.simulation import World
from dpgp_core.yardstick import Sides, judged_domain, shown_side
from hexcursion.search.task import Scene, Utility

SEED = 662607  # simulated releases only; a release never sees it
RELEASES = 4  # of the one world of a reference; of several worlds one each


@dataclass(frozen=True, eq=False)
class Shown:
    """One simulated release: the side that its map shows, and the hexagons that it judges, (N,) each."""

    side: Bools
    judged: Bools


def judged_utility(scene: Scene, design: Design, found: Utility) -> Utility:
    """Return what a design achieves with the shares of records that lie on the side a map shows.

    Of its own map, the better map of one colour, chosen knowing the answer, the public map that a release
    starts from, and a release of values exchanged among their places. All are about the hexagons that the
    release judges; each is a mean over releases, NaN where there is none.
    """
    several = len(scene.worlds) > 1
    rows, mixed = list[tuple[float, ...]](), list[float]()
    step = len(scene.worlds) // max(1, len(scene.controls))
    for number, world in enumerate(scene.worlds):
        sides, public = world.sides_of_records, _public_side(world)
        for shown in _releases(world, design, 1 if several else RELEASES):
            right = sides.right(shown.side, shown.judged)
            colour = sides.one_colour(shown.judged)
            free = np.nan if public is None else sides.right(public, shown.judged)
            rows.append((right, colour, free, right - np.fmax(colour, free)))
        if scene.controls and number % step == 0 and number // step < len(scene.controls):
            mixed.append(_exchanged(scene.controls[number // step], design, sides))
    right, colour, free, gain = (_mean(column) for column in zip(*rows, strict=True))
    return replace(
        found, records=right, colour_records=colour, public_records=free, records_gain=gain,
        mixed_records=_mean(mixed),
    )  # fmt: skip


def _releases(world: World, design: Design, count: int) -> Iterator[Shown]:
    mechanism = mechanism_of(design)
    asked = replace(design, paths=1) if mechanism.free_paths else design
    prepared, entropy = mechanism.prepare(asked, world.facts, world.records), SimulationEntropy(SEED)
    for _ in range(count):
        released = draw_release(prepared, entropy, simulation=True)
        chance = world.probabilities(released)
        expected = released.records
        judged = np.ones(chance.size, dtype=bool) if expected is None else judged_domain(expected)
        yield Shown(shown_side(chance, judged), judged)


def _exchanged(control: World, design: Design, sides: Sides) -> float:
    (shown,) = _releases(control, design, 1)
    return sides.right(shown.side, shown.judged)


def _public_side(world: World) -> Bools | None:
    """(N,) the asked side on the public map that a release starts from; None where it starts from none."""
    return None if world.facts.field is None else world.inside(np.zeros_like(world.offset))


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else math.nan
