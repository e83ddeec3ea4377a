"""What searches, audits and readers ask of a design: functions with one default each, which is sound.

A mechanism that knows better registers a function for the class of its designs, for example with
`@questions.simulate.register`. A default never lowers a price and never promises more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Protocol, cast

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.excursion import agreed
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.base import Reading
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released, draw_release
from dpgp_core.simulation import SEED, SIMULATED_RELEASES, HeldOut, World

# What a release costs, beyond its guarantee.


@singledispatch
def sharpened(design: Design, facts: PublicFacts, budget: Budget) -> Design:
    """A design from `calibrate` with the least noise that is proved for the budget; unchanged by default."""
    return design


@singledispatch
def priced(
    design: Design, facts: PublicFacts, delta: float, bound: str | None = None
) -> tuple[Design, float]:
    """The design under the bound that prices it lowest, and its epsilon at `delta`, an upper bound.

    By default what it is guaranteed to cost.
    """
    return design, mechanism_of(design).guarantee(design, facts).epsilon(delta).epsilon


@singledispatch
def floor(design: Design, facts: PublicFacts, delta: float) -> float:
    """The epsilon that remains whatever the noise; 0 where enough noise meets every budget, the default."""
    return 0.0


@singledispatch
def least_cost(design: Design) -> Cost | None:
    """What a release of `design` costs at least, by its own noise and whatever the data; None if unknown.

    For a reader who has the design and not the facts: a statement with a smaller cost is false.
    """
    return None


# How a release is read.


@singledispatch
def read(
    design: Design, facts: PublicFacts, records: CollapsedRecords, paths: Floats, entropy: Entropy
) -> Reading | None:
    """The field given released paths (L, N) where these are no draws of it; None by default: they are.

    Post-processing of paths on the public grid (before a public prior mean is added back). Of `records`
    their places alone may enter, and only where `facts` say that these are public.
    """
    return None


@singledispatch
def receipt_lines(design: Design) -> tuple[tuple[str, str], ...]:
    """(topic, sentence) pairs for the receipt: by default the mechanism and its paths."""
    mechanism = mechanism_of(design)
    number = "1 path" if design.paths == 1 else f"{design.paths:,} paths"
    text = f"{number}; the stated epsilon covers all of them together."
    if mechanism.free_paths:
        text = f"{number}, drawn after the noise: their number costs nothing."
    return (("Mechanism", f"{mechanism.title}, {mechanism.describe(design)}."), ("Paths", text))


# How a release is simulated on reference data.


@singledispatch
def simulated_sets(
    design: Design, world: World, records: CollapsedRecords, releases: int, entropy: Entropy
) -> Bools:
    """(releases, N) released sets of simulated releases of some records, judged as `world` asks."""
    prepared = mechanism_of(design).prepare(design, world.facts, records)
    drawn = (draw_release(prepared, entropy, simulation=True) for _ in range(releases))
    return np.array([world.published(each, design) for each in drawn])


def _releases(design: Design, world: World) -> int:
    return world.releases(1 if mechanism_of(design).free_paths else design.paths)


@singledispatch
def simulate(design: Design, world: World, *, quick: bool = False) -> Bools:
    """(S, N) released sets of simulated releases of the world's records, on common random numbers.

    By `quick` ones a search ranks its candidates. They are on further draws, where they differ: the best of
    many designs on the same draws looks better than it is, and what is shown is simulated again.
    """
    return simulated_sets(design, world, world.records, _releases(design, world), SimulationEntropy(SEED))


@singledispatch
def simulate_held_out(design: Design, world: World) -> Bools:
    """(S, N) released sets of releases of the training records only, whose held-out cells are judged."""
    entropy = SimulationEntropy(SEED + 3)
    return simulated_sets(design, world, world.training, _releases(design, world), entropy)


@singledispatch
def held_out(design: Design, world: World) -> HeldOut:
    """Cross-entropy on held-out cells of a simulated release of the training records."""
    prepared = mechanism_of(design).prepare(design, world.facts, world.training)
    released = draw_release(prepared, SimulationEntropy(SEED + 4), simulation=True)
    return HeldOut(world.bce(world.probabilities(released)[world.held_out]))


# The same of mechanisms whose probabilities are exact, so that no paths need be drawn.


class WithoutPaths(Protocol):
    """A prepared release that can be simulated without its paths."""

    def without_paths(self, entropy: Entropy, releases: int) -> list[Released]:
        """Simulated releases judged by their probabilities only."""
        ...


def _without_paths(
    design: Design, world: World, records: CollapsedRecords, releases: int, entropy: Entropy
) -> list[Released]:
    prepared = cast(WithoutPaths, mechanism_of(design).prepare(design, world.facts, records))
    return prepared.without_paths(entropy, releases)


def sets_without_paths(
    design: Design, world: World, records: CollapsedRecords, releases: int, entropy: Entropy
) -> Bools:
    """(releases, N) released sets, as `simulated_sets`."""
    drawn = _without_paths(design, world, records, releases, entropy)
    return np.array([world.published(each, design) for each in drawn])


def simulate_without_paths(design: Design, world: World, seed: int) -> Bools:
    """(S, N) released sets, as `simulate`: every cutoff reads the same probabilities of the same releases."""
    blank = replace(design, cutoff=0.5)

    def make() -> Floats:
        entropy = SimulationEntropy(seed)
        drawn = _without_paths(blank, world, world.records, SIMULATED_RELEASES, entropy)
        return np.array([world.probabilities(each) for each in drawn])

    return agreed(world.cache.keep(design.mechanism, (world.key, blank), make), design.cutoff)


def held_out_without_paths(design: Design, world: World) -> HeldOut:
    """As `held_out`, the mean over three releases."""
    drawn = _without_paths(design, world, world.training, 3, SimulationEntropy(SEED + 4))
    seen = [world.probabilities(each)[world.held_out] for each in drawn]
    return HeldOut(float(np.mean([world.bce(each) for each in seen])))


# What an attacker sees.


@singledispatch
def seen(
    design: Design,
    facts: PublicFacts,
    records: CollapsedRecords,
    cells: Sequence[int],
    releases: int,
    entropy: Entropy,
) -> Floats:
    """(releases, L, k) what an attack looks at in each release: by default the paths at some cells."""
    prepared = mechanism_of(design).prepare(design, facts, records)
    drawn = [draw_release(prepared, entropy, simulation=True).paths for _ in range(releases)]
    return np.stack(drawn)[:, :, list(cells)]


@singledispatch
def mean_and_noise(
    design: Design, facts: PublicFacts, records: CollapsedRecords, cells: Sequence[int]
) -> tuple[Floats, Floats] | None:
    """(d,) means and deviations of what is `seen`, where independent noise is added; None elsewhere."""
    return None


@singledispatch
def law(
    design: Design, covariance: Floats, count: Floats, pull: Floats, seen: Sequence[int]
) -> tuple[Floats, Floats] | None:
    """Exact mean and covariance of what is seen when all records lie in k cells; None if unknown.

    `covariance` (k, k) is the prior's among these cells; `count`, `pull` (k,) the number of records and the
    sum of their responses in each; `seen` the positions among the k that the attack looks at.
    """
    return None
