"""Posterior sampling: the paper's mechanism, released paths of the posterior of a Gaussian process.

A release is the correctly rounded path of whole numbers (docs/exact-paths.md); simulations draw in
floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.accounting.rdp import ORDERS, covariance_rdp, epsilon_from_rdp
from dpgp_core.bounds.registry import proved_bounds, smallest_scale_for, variance_bound
from dpgp_core.errors import DesignError
from dpgp_core.excursion import agreed, excursion
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import DRAWS, Mechanism, Reading, SearchSpace
from dpgp_core.mechanisms.design import (
    LENGTHSCALE,
    NUMBER,
    RIDGE,
    Budget,
    Design,
    Parameter,
    Protection,
    SearchSpec,
)
from dpgp_core.mechanisms.grids import coarse_grid, steps_around
from dpgp_core.mechanisms.paths import (
    PathReader,
    PosteriorSamplingDesign,
    least_at_public_places,
    path_guarantee,
    sharpened_paths,
)
from dpgp_core.noise import Entropy, SimulationEntropy, distance_of
from dpgp_core.numbers import significant
from dpgp_core.posterior.exact_paths import ExactPaths, exact_paths
from dpgp_core.posterior.fitting import Posterior, fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.held import UNSOLVABLE, deviates_at_most, refuse_unsolvable, solve_slack
from dpgp_core.priors.lattice import Prior, smooth
from dpgp_core.releasing import GRID, Prepared, PublicFacts, Released, draw_release
from dpgp_core.simulation import SEED, HeldOut, World

SMOOTHINGS = (0, 2, 6, 15)  # candidate rounds of smoothing
CHUNK = 4_000_000  # numbers drawn at a time for an attack
NOISE_SHARES = (0.0, 0.5)  # candidate shares of prior noise in the released variance


@lru_cache(maxsize=20_000)
def _least_scales(
    name: str, n: int, ridge: float, kappa: float, epsilon: float, delta: float, paths: int, share: float
) -> tuple[float, float]:
    solved = smallest_scale_for(
        name, epsilon, delta, n=n, ridge=ridge, kappa=kappa, paths=paths, noise_share=share
    )
    return float(solved.scale), float(solved.noise_scale)


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedPaths:
    """The posterior of the records, ready for draws: exact for a release, in floats for a
    simulation."""

    design: PosteriorSamplingDesign
    prior: Prior
    records: CollapsedRecords
    exact: ExactPaths

    @cached_property
    def posterior(self) -> Posterior:
        """The same posterior in floats, for simulations."""
        return fit(self.prior, self.records, self.design.ridge)

    def draw(self, entropy: Entropy) -> Released:
        design = self.design
        # Only a simulation's source draws in floats: any other source may be a release and draws
        # exactly.
        if isinstance(entropy, SimulationEntropy):
            return Released(self.posterior.draw(design.scale, design.paths, entropy, design.noise_scale))
        return Released(np.asarray(self.exact.draw(design.paths, entropy) * GRID))


class PathSpace(SearchSpace):
    """Every prior at a few ranges and ridges; around the best, shares of prior noise; rounds of
    smoothing."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[PosteriorSamplingDesign, ...]:
        grid = coarse_grid(facts.lattice, facts.n, ask.quick)
        return tuple(
            PosteriorSamplingDesign(prior, lengthscale, ridge, 1.0, paths=ask.paths)
            for prior in ask.priors
            for lengthscale in grid.lengthscales
            for ridge in grid.ridges
        )

    def unpriced(self, design: PosteriorSamplingDesign, facts: PublicFacts) -> PosteriorSamplingDesign:
        """Keep only the share of prior noise in the released variance."""
        scale, noise = _split(round(design.noise_share, 6))
        return replace(design, scale=scale, noise_scale=noise, bound="sharp")

    def place_of(self, design: PosteriorSamplingDesign, facts: PublicFacts) -> PosteriorSamplingDesign:
        return replace(design, scale=1.0, noise_scale=0.0, bound="sharp", smoothing=0, cutoff=0.5)

    def refinement(
        self, best: Sequence[PosteriorSamplingDesign], facts: PublicFacts, ask: SearchSpec
    ) -> tuple[PosteriorSamplingDesign, ...]:
        """Neighbours in lengthscale and ridge, each with every share of prior noise."""
        places = [(design.prior, design.lengthscale, design.ridge) for design in best]
        near = [
            (prior, lengthscale, ridge)
            for prior, middle, around in places
            for lengthscale in steps_around(middle, 1.4)
            for ridge in steps_around(around, 1.18)
        ]
        return tuple(
            PosteriorSamplingDesign(*place, *_split(share), paths=ask.paths)
            for place in dict.fromkeys([*places, *near])
            for share in NOISE_SHARES
        )

    def variants(
        self, design: PosteriorSamplingDesign, ask: SearchSpec
    ) -> tuple[PosteriorSamplingDesign, ...]:
        return tuple(replace(design, smoothing=rounds) for rounds in SMOOTHINGS)

    def given(
        self, facts: PublicFacts, ask: SearchSpec, lengthscale: float, ridge: float
    ) -> PosteriorSamplingDesign:
        return PosteriorSamplingDesign(ask.priors[0], lengthscale, ridge, 1.0, paths=ask.paths)

    def varied(self, design: PosteriorSamplingDesign, name: str, value: float) -> Design:
        """Change a parameter; a new scale leaves the share of prior noise unchanged, a new share the
        released variance."""
        if name == "noise_share":
            width = math.hypot(design.scale, design.noise_scale)
            scale, noise = math.sqrt(1.0 - value), math.sqrt(value)
            return replace(design, scale=width * scale, noise_scale=width * noise)
        if name == "scale":
            return replace(design, scale=value, noise_scale=design.noise_scale * value / design.scale)
        return super().varied(design, name, value)


class PosteriorSampling(Mechanism):
    """Release L paths of the posterior as whole functions, so every threshold is free.

    If the places of the records are public, it is a Gaussian mechanism: docs/exact-paths.md,
    section 6.
    """

    name = "posterior-sampling"
    title = "Posterior sampling"
    product = "Posterior paths"
    summary = "Draws whole maps from what the records suggest; each further map costs privacy."
    source = "Maciazek, arXiv:2606.17995, Theorem 3.1 and Proposition 2"
    protection = Protection("values and places", ("point", "cell"), shows_public_places=True)
    design_type = PosteriorSamplingDesign
    space = PathSpace
    usual = True
    sole = True
    exact_on_a_computer = True
    reads = ("priors", "paths", "bound")
    parameters = (LENGTHSCALE, RIDGE, Parameter("scale", "scale", "positive"), NUMBER)

    def guarantee(self, design: PosteriorSamplingDesign, facts: PublicFacts) -> Guarantee:
        prior = facts.prior(design.prior, design.lengthscale)
        guaranteed = path_guarantee(design, facts.n, prior, facts.neighbours)
        return replace(guaranteed, distance=distance_of(design.paths * deviates_at_most(prior)))

    def calibrate(
        self, design: PosteriorSamplingDesign, facts: PublicFacts, budget: Budget
    ) -> PosteriorSamplingDesign | None:
        """Also None if no proof covers the numerical solution of the design's equations."""
        design, prior = design.rounded_up(), facts.prior(design.prior, design.lengthscale)
        if solve_slack(prior, facts.n, design.ridge).solving > UNSOLVABLE:
            return None
        if facts.neighbours == "values-only":
            return least_at_public_places(design, facts.n, prior, budget)
        # Each proved bound gives its own least noise; the bound with the least of them prices the
        # design.
        share, best = design.noise_share, None
        for name in proved_bounds(prior, budget.bound):
            scale, noise = _least_scales(
                name, facts.n, design.ridge, prior.kappa, budget.epsilon, budget.delta, design.paths, share
            )
            if math.isfinite(scale) and (best is None or scale < best.scale):
                best = replace(design, scale=scale, noise_scale=noise, bound=name)
        return None if best is None else best.rounded_up()

    def prepare(
        self, design: PosteriorSamplingDesign, facts: PublicFacts, records: CollapsedRecords
    ) -> Prepared:
        design, prior = design.rounded_up(), facts.prior(design.prior, design.lengthscale)
        records.refuse_outside(prior.size)
        refuse_unsolvable(prior, facts.n, design.ridge)
        exact = exact_paths(prior, records, design.ridge, design.scale, design.noise_scale)
        return _PreparedPaths(design, prior, records, exact)

    def describe(self, design: PosteriorSamplingDesign) -> str:
        parts = [f"ridge {significant(design.ridge, 4)}", f"scale {significant(design.scale, 4)}"]
        if design.noise_scale > 0:
            parts.append(f"prior noise {significant(design.noise_scale, 4)}")
        return f"{', '.join(parts)}; prior {design.prior}, range {significant(design.lengthscale, 4)} m"


@questions.sharpened.register
def _sharpened(
    design: PosteriorSamplingDesign, facts: PublicFacts, budget: Budget
) -> PosteriorSamplingDesign:
    if facts.owner is not None:  # the sharper conversion holds for one record only
        return design
    if facts.neighbours == "values-only":
        return design  # the price is exact
    prior = facts.prior(design.prior, design.lengthscale)
    return sharpened_paths(design, facts.n, prior, budget.epsilon, budget.delta).rounded_up()


@questions.priced.register
def priced_paths(
    design: PosteriorSamplingDesign, facts: PublicFacts, delta: float, bound: str | None = None
) -> tuple[PosteriorSamplingDesign, float]:
    design, prior, offers = design.rounded_up(), facts.prior(design.prior, design.lengthscale), []
    for name in proved_bounds(prior, bound):
        offer = replace(design, bound=name)
        offers.append((PosteriorSampling().guarantee(offer, facts).epsilon(delta).epsilon, name, offer))
    epsilon, _, best = min(offers, key=lambda item: item[:2])
    return best, epsilon


@questions.floor.register
def _floor(design: PosteriorSamplingDesign, facts: PublicFacts, delta: float) -> float:
    """The cost at infinite scale: the covariance term of the paths, converted at `delta`."""
    # The covariance term does not contain sigma, so no scale removes it (docs/mathematics.md,
    # section 2). With public places both covariances are equal, and it vanishes.
    if facts.neighbours == "values-only":
        return 0.0
    variance = variance_bound(facts.n, design.ridge, facts.prior(design.prior, design.lengthscale).kappa)
    return epsilon_from_rdp(
        ORDERS, design.paths * covariance_rdp(ORDERS, design.ridge, variance), delta
    ).epsilon


@questions.read.register
def _read(
    design: PosteriorSamplingDesign,
    facts: PublicFacts,
    records: CollapsedRecords,
    paths: Floats,
    entropy: Entropy,
) -> Reading:
    """Deconvolve paths (L, N), L >= 1, into probabilities and draws of the field."""
    counts: Floats | None = None
    if facts.places_public:
        counts = np.zeros(facts.lattice.size)
        counts[records.index] = records.count
    key = (design, facts.n, None if counts is None else hash(counts.tobytes()))
    reader = facts.cache.keep("path reader", key, lambda: PathReader(design, facts, counts), 1)
    return reader.read(paths, DRAWS, entropy).on_grid()


@questions.simulate.register
def _simulate(design: PosteriorSamplingDesign, world: World, *, quick: bool = False) -> Bools:
    """Smooth mean, residual paths and prior noise once, and combine them for every scale."""
    draws = world.releases(design.paths) * design.paths
    key = (world.key, design.prior, design.lengthscale, design.ridge, draws)
    parts = world.cache.keep(
        "posterior sampling", key, lambda: dict(_smoothed_parts(design, world, draws)), 2
    )
    mean, paths = parts[_rounds(design)]
    field = mean + design.scale * paths
    if design.noise_scale > 0:
        field += design.noise_scale * _prior_noise(design, world, draws)[_rounds(design)]
    above = excursion(field, world.level, world.direction)
    votes = above.reshape(-1, design.paths, above.shape[1]).mean(axis=1)
    return agreed(votes, design.cutoff)


@questions.held_out.register
def _held_out(design: PosteriorSamplingDesign, world: World) -> HeldOut:
    state = world.family(design.prior, design.lengthscale, training=True).at(design.ridge)
    mean, sd = state.mean[world.held_out], np.sqrt(state.variance[world.held_out])
    loss = world.held_out_bce(mean, np.hypot(design.scale * sd, design.noise_scale))
    draws = world.releases(design.paths) * design.paths
    family = world.family(design.prior, design.lengthscale, draws)
    return HeldOut(loss, family.effective_dimension(design.ridge))


@questions.seen.register
def _seen(
    design: PosteriorSamplingDesign,
    facts: PublicFacts,
    records: CollapsedRecords,
    cells: Sequence[int],
    draws: questions.Draws,
) -> Floats:
    """Draw the paths of many releases together, in portions."""
    parts, step = [], max(1, CHUNK // (design.paths * facts.lattice.size))
    for start in range(0, draws.releases, step):
        count = min(step, draws.releases - start)
        batch = PosteriorSampling().prepare(replace(design, paths=count * design.paths), facts, records)
        paths = draw_release(batch, draws.entropy, simulation=True).paths[:, list(cells)]
        parts.append(paths.reshape(count, design.paths, len(cells)))
    return np.concatenate(parts)


@questions.law.register
def _law(
    design: PosteriorSamplingDesign, covariance: Floats, count: Floats, pull: Floats, attacked: Sequence[int]
) -> tuple[Floats, Floats]:
    """Law of one path at the replaced records' cells, which carry all its information on the
    records."""
    # With D the precisions of the records, k_D = (1 + K D)^-1 K and m_D = k_D (pull / r^2): the
    # posterior without inverting K (docs/mathematics.md, section 0).
    precision, weighted = count / design.ridge**2, pull / design.ridge**2
    left = np.linalg.solve(np.eye(pull.size) + covariance * precision, covariance)
    noisy = design.scale**2 * left + design.noise_scale**2 * covariance
    return (left @ weighted)[list(attacked)], (0.5 * (noisy + noisy.T))[
        np.ix_(list(attacked), list(attacked))
    ]


def _split(share: float) -> tuple[float, float]:
    """Two scales with this share of prior noise in their variance; their common factor is open."""
    return (1.0, 0.0) if share == 0.0 else (1.0, math.sqrt(share / (1.0 - share)))


def _rounds(design: PosteriorSamplingDesign) -> int:
    if design.smoothing not in SMOOTHINGS:
        raise DesignError(
            f"simulated releases are smoothed {SMOOTHINGS} times, not {design.smoothing} times."
        )
    return design.smoothing


def _smoothed(world: World, fields: Floats) -> Iterator[Floats]:
    """The fields after each number of rounds in SMOOTHINGS."""
    previous = 0
    for rounds in SMOOTHINGS:
        fields = smooth(world.facts.lattice, fields, rounds - previous)
        yield fields
        previous = rounds


def _smoothed_parts(
    design: PosteriorSamplingDesign, world: World, draws: int
) -> Iterator[tuple[int, tuple[Floats, Floats]]]:
    state = world.family(design.prior, design.lengthscale, draws).at(design.ridge)
    means, paths = _smoothed(world, state.mean[None] + world.offset), _smoothed(world, state.residual_paths)
    for rounds, mean, smoothed in zip(SMOOTHINGS, means, paths, strict=True):
        yield rounds, (mean[0], smoothed)


def _prior_noise(design: PosteriorSamplingDesign, world: World, draws: int) -> dict[int, Floats]:
    """(draws, N) shared draws of the prior at unit scale, per number of smoothing rounds."""

    def make() -> dict[int, Floats]:
        prior = world.facts.prior(design.prior, design.lengthscale)
        white = SimulationEntropy(SEED + 1).normal((prior.white_size, draws))
        return dict(
            zip(SMOOTHINGS, _smoothed(world, np.ascontiguousarray(prior.colour(white).T)), strict=True)
        )

    return world.cache.keep("prior noise", (design.prior, design.lengthscale, draws), make, 2)
