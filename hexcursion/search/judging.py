"""The yardstick before a release: how many simulated records a design's map shows on the right side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.excursion import agreed, iou
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.releasing import Released, draw_release
from dpgp_core.simulation import Agreement, World, average
from dpgp_core.yardstick import LIKELY, Promise, Sides, judged_domain, promise_of, shown_side, tempered
from hexcursion.record import tells_tempered
from hexcursion.search.task import Scene, Utility

SEED = 662607  # simulated releases only; a release never sees it
RELEASES = 4  # of the one world of a reference; of several worlds one each
KEPT = 2**20  # cells of all simulated releases that are kept for other questions about the same worlds


@dataclass(frozen=True, eq=False)
class Shown:
    """One simulated release: the side that its map shows, and the hexagons that it judges, (N,) each."""

    side: Bools
    judged: Bools
    chance: Floats  # (N,) of lying on the asked side
    records: Floats | None = None  # (N,) expected; None where the mechanism does not know
    told: bool = True  # whether the release tells these chances; a single path tells none


def judged_utility(scene: Scene, design: Design, utility: Utility) -> Utility:
    """Return what a design achieves with the shares of records that lie on the side a map shows, and how its
    shown set agrees with the map to be reached.

    Five maps are judged by records: that of the design, the map to be reached, the better map of one colour,
    chosen knowing the answer, the public map that a release starts from, and a release of values exchanged
    among their places. Only hexagons that the release judges count; each figure is a mean over releases, NaN
    where it is undefined.
    """
    several = len(scene.worlds) > 1
    rows, mixed, sets = list[tuple[float, ...]](), list[float](), list[Agreement]()
    step = len(scene.worlds) // max(1, len(scene.controls))
    public_map = scene.world.facts.field is not None
    temper = tells_tempered(scene.response.origin, public=public_map, simulated=several)
    for number, world in enumerate(scene.worlds):
        sides, public = world.sides_of_records, world.public_side
        for picture in _of_seed(world, design, 1 if several else RELEASES):
            right = sides.right(picture.side, picture.judged)
            colour = sides.one_colour(picture.judged)
            free = np.nan if public is None else sides.right(public, picture.judged)
            promise = _told(picture, temper=temper)
            gain, aim = right - np.fmax(colour, free), math.nan
            if world.baseline is not None:
                aim = sides.right(world.baseline, picture.judged)
                sets.append(agreement_in(picture.judged, picture.side, world.baseline))
            rows.append((right, aim, colour, free, gain, promise.orange, promise.finds))
        if scene.controls and number % step == 0 and number // step < len(scene.controls):
            mixed.append(_exchanged(scene.controls[number // step], design, sides))
    right, aim, colour, free, gain, orange, finds = map(_mean, zip(*rows, strict=True))
    of_sets = average(sets)
    if several:  # one world more or less: of a single one no range is known
        utility = replace(utility, low=of_sets.low, high=of_sets.high)
    return replace(
        utility,
        area_error=of_sets.area_error,
        right=of_sets.right,
        records=right,
        records_sd=_deviation([row[0] for row in rows]),
        aim_records=aim,
        colour_records=colour,
        public_records=free,
        records_gain=gain,
        mixed_records=_mean(mixed),
        judged_iou=of_sets.iou,
        orange=orange,
        finds=finds,
    )


def agreement_in(judged: Bools, side: Bools, baseline: Bools) -> Agreement:
    """Compare a set with the map to be reached within the judged hexagons alone; all (N,)."""
    shown, aim = side & judged, baseline & judged
    area, size = int(aim.sum()), int(shown.sum())
    return Agreement(
        float(iou(shown, aim)),
        0.0,
        abs(size - area) / area if area else math.nan,
        int((shown & aim).sum()) / size if size else math.nan,
    )


def _told(picture: Shown, *, temper: bool) -> Promise:
    """The promise of a simulated release about its map; NaN if it has no chances."""
    if not picture.told:
        return Promise(math.nan, math.nan, math.nan)
    chance = tempered(picture.chance) if temper else picture.chance
    orange = agreed(picture.chance, LIKELY) & picture.judged
    return promise_of(chance, orange, picture.judged, picture.records)


def shown_releases(world: World, design: Design, entropy: Entropy, count: int) -> Iterator[Shown]:
    """Simulate `count` releases of the records of a world, as their bundles would show them."""
    for released in _drawn(world, design, entropy, count):
        yield _shown(world, released)


def _drawn(world: World, design: Design, entropy: Entropy, count: int) -> Iterator[Released]:
    """Draw `count` simulated releases, without paths where these cost nothing."""
    mechanism = mechanism_of(design)
    variant = replace(design, paths=1) if mechanism.free_paths else design
    facts = replace(world.facts, reads="field")  # a shown side needs neither paths nor the map
    prepared = mechanism.prepare(variant, facts, world.records)
    for _ in range(count):
        yield draw_release(prepared, entropy, simulation=True)


def _shown(world: World, released: Released) -> Shown:
    chance, expected = world.probabilities(released), released.records
    judged = np.ones(chance.size, dtype=bool) if expected is None else judged_domain(expected)
    return Shown(shown_side(chance, judged), judged, chance, expected, released.mean is not None)


def _of_seed(world: World, design: Design, count: int) -> Iterator[Shown]:
    """`shown_releases` by the public seed: columns of one table are judged in the same worlds, so that a
    release whose map is read at any threshold is drawn once for all of them."""
    if not mechanism_of(design).free_paths:
        yield from shown_releases(world, design, SimulationEntropy(SEED), count)
        return
    records, cells = world.records, world.offset.size

    def make() -> tuple[Released, ...]:
        releases = _drawn(world, design, SimulationEntropy(SEED), count)
        return tuple(replace(release, raw=(), sums=None, map_draws=None) for release in releases)

    same = (
        replace(design, paths=1),
        count,
        *(part.tobytes() for part in (records.index, records.count, records.units)),
    )
    for released in world.facts.cache.keep("judged releases", same, make, max(1, KEPT // (count * cells))):
        yield _shown(world, released)


def _exchanged(control: World, design: Design, sides: Sides) -> float:
    (picture,) = _of_seed(control, design, 1)
    return sides.right(picture.side, picture.judged)


def _deviation(values: Sequence[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.std(known, ddof=1)) if len(known) > 1 else math.nan


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan
