"""Functions of a design for searches, audits and readers, each with a sound default.

A mechanism with a sharper answer registers a function for the class of its designs, for example
with `@questions.simulate.register`. A default never lowers a price and never raises a guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

# The cost of a release, beyond its guarantee.


@singledispatch
def sharpened(design: Design, facts: PublicFacts, budget: Budget) -> Design:
    """Reduce the noise of a design from `calibrate` to the least proved for the budget; default: no
    change."""
    return design


@singledispatch
def priced(
    design: Design, facts: PublicFacts, delta: float, bound: str | None = None
) -> tuple[Design, float]:
    """The design under the bound that prices it lowest, and its epsilon at `delta`, an upper bound.

    The default is the design itself and the cost of its guarantee.
    """
    return design, mechanism_of(design).guarantee(design, facts).epsilon(delta).epsilon


@singledispatch
def floor(design: Design, facts: PublicFacts, delta: float) -> float:
    """The epsilon at infinite noise; 0, the default, if enough noise meets every budget."""
    return 0.0


@singledispatch
def least_cost(design: Design) -> Cost | None:
    """Lower bound on the cost of a release of `design` for any data, by its own noise; None if
    unknown.

    A reader has the design and not the facts: a statement with a smaller cost is false.
    """
    return None


# The reading of a release.


@singledispatch
def read(
    design: Design, facts: PublicFacts, records: CollapsedRecords, paths: Floats, entropy: Entropy
) -> Reading | None:
    """The field given released paths (L, N); None, the default, if the paths are draws of the
    field.

    Post-processing of paths on the public grid (before a public prior mean is added back). It may
    use the places of `records`, only if `facts` declare them public, and nothing else of them.
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


# The simulation of a release on reference data.


@singledispatch
def simulated_sets(
    design: Design, world: World, records: CollapsedRecords, releases: int, entropy: Entropy
) -> Bools:
    """(releases, N) released sets of simulated releases of some records, at the threshold of
    `world`."""
    prepared = mechanism_of(design).prepare(design, world.facts, records)
    draws = (draw_release(prepared, entropy, simulation=True) for _ in range(releases))
    return np.array([world.published(released, design) for released in draws])


def _releases(design: Design, world: World) -> int:
    return world.releases(1 if mechanism_of(design).free_paths else design.paths)


@singledispatch
def simulate(design: Design, world: World, *, quick: bool = False) -> Bools:
    """(S, N) released sets of simulated releases of the world's records, on common random numbers.

    A search ranks its candidates by `quick` simulations. These use other draws, if they differ at
    all: the best of many designs on the same draws looks better than it is, so the winners are
    simulated again.
    """
    return simulated_sets(design, world, world.records, _releases(design, world), SimulationEntropy(SEED))


@singledispatch
def simulate_held_out(design: Design, world: World) -> Bools:
    """(S, N) released sets of releases of the training records only, for judging held-out cells."""
    entropy = SimulationEntropy(SEED + 3)
    return simulated_sets(design, world, world.training, _releases(design, world), entropy)


@singledispatch
def held_out(design: Design, world: World) -> HeldOut:
    """Cross-entropy on held-out cells of a simulated release of the training records."""
    prepared = mechanism_of(design).prepare(design, world.facts, world.training)
    released = draw_release(prepared, SimulationEntropy(SEED + 4), simulation=True)
    return HeldOut(world.bce(world.probabilities(released)[world.held_out]))


# Simulations of mechanisms with exact probabilities, which need no paths.


class WithoutPaths(Protocol):
    """A prepared release that can be simulated without its paths."""

    def without_paths(self, entropy: Entropy, releases: int) -> list[Released]:
        """Simulated releases with probabilities and without paths."""
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
    draws = _without_paths(design, world, records, releases, entropy)
    return np.array([world.published(released, design) for released in draws])


def simulate_without_paths(design: Design, world: World, seed: int) -> Bools:
    """(S, N) released sets, as `simulate`: all cutoffs share the probabilities of the same
    releases."""
    blank = replace(design, cutoff=0.5)

    def make() -> Floats:
        entropy = SimulationEntropy(seed)
        draws = _without_paths(blank, world, world.records, SIMULATED_RELEASES, entropy)
        return np.array([world.probabilities(released) for released in draws])

    return agreed(world.cache.keep(design.mechanism, (world.key, blank), make), design.cutoff)


def held_out_without_paths(design: Design, world: World) -> HeldOut:
    """As `held_out`, the mean over three releases."""
    draws = _without_paths(design, world, world.training, 3, SimulationEntropy(SEED + 4))
    probabilities = [world.probabilities(released)[world.held_out] for released in draws]
    return HeldOut(float(np.mean([world.bce(chances) for chances in probabilities])))


# The view of an attacker.


@dataclass(frozen=True)
class Draws:
    """The number of simulated releases and the entropy of their noise."""

    releases: int
    entropy: Entropy


@singledispatch
def seen(
    design: Design, facts: PublicFacts, records: CollapsedRecords, cells: Sequence[int], draws: Draws
) -> Floats:
    """(releases, L, k) numbers that an attack takes from each release: by default paths at some
    cells."""
    prepared = mechanism_of(design).prepare(design, facts, records)
    paths = [draw_release(prepared, draws.entropy, simulation=True).paths for _ in range(draws.releases)]
    return np.stack(paths)[:, :, list(cells)]


@singledispatch
def mean_and_noise(
    design: Design, facts: PublicFacts, records: CollapsedRecords, cells: Sequence[int]
) -> tuple[Floats, Floats] | None:
    """(d,) means and deviations of the numbers of `seen` under independent noise; None
    otherwise."""
    return None


@singledispatch
def law(
    design: Design, covariance: Floats, count: Floats, pull: Floats, attacked: Sequence[int]
) -> tuple[Floats, Floats] | None:
    """Exact mean and covariance of the attacker's numbers if all records are in k cells; None if
    unknown.

    `covariance` (k, k) is the prior's for these cells; `count`, `pull` (k,) are the number of
    records and the sum of their responses in each; `attacked` are the positions of the attacked cells
    among the k.
    """
    return None
