"""Common parts of the mechanisms for public places: sums over public places, and their reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism, SearchSpace
from dpgp_core.mechanisms.design import LENGTHSCALE, NUMBER, RIDGE, Design, Parameter, Protection, SearchSpec
from dpgp_core.mechanisms.grids import FEW_CUTOFFS, SCALES, coarse_grid, tried
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.public_places import PublicPlaces, SumsReading
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.simulation import SEED, World

VALUES_ONLY = Protection(
    "values", ("point", "cell"), ("replace-one",), ("the number of records", "the places of all records")
)
RIDGES = (1.0,)
LENGTHSCALES = 2  # number of lengthscales, from the short end of the common grid
PATHS = 100  # drawn after the noise: free
PARAMETERS = (LENGTHSCALE, RIDGE, Parameter("scale", "model_scale", "positive"), NUMBER)


@dataclass(frozen=True)
class LabelDesign(Design):
    """The model of the field, for the shape and the reading of a release over public places."""

    prior: str  # name in `PRIORS`
    lengthscale: float  # range of the prior, metres, > 0
    ridge: float  # scatter of one record around its cell's value, in units of `scale`
    scale: float  # standard deviation of the field, response units, > 0; used for the reading only

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("lengthscale", "ridge", "scale")
        self.refuse_smoothing()


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSums:
    """The public part of a release, ready for the records' sums and the noise."""

    design: LabelDesign  # design of the release
    places: PublicPlaces  # public places
    rows: Floats  # (k, p) contribution of a unit of response
    variance: Floats  # (p,) variance of the noise
    reading: SumsReading  # the field given the sums
    noisy: Any  # function that draws the sums (p,) from an entropy

    def draw(self, entropy: Entropy) -> Released:
        sums = self.noisy(entropy)
        paths = self._paths(sums, entropy)
        return Released(paths, self.reading.mean(sums), self.reading.deviation, (sums,))

    def _paths(self, sums: Floats, entropy: Entropy) -> Floats:
        """(paths, N) draws of the field given the sums (p,), by Matheron's rule: post-processing, so free.

        A prior draw g with its own simulated sums T' gives `mean + g - gain T'`, which has the
        reading's law.
        """
        design, places, variance = self.design, self.places, self.variance
        prior, count = places.prior, places.count.astype(np.float64)
        prior_draws = design.scale * prior.colour(entropy.normal((prior.white_size, design.paths)))
        totals = count[:, None] * prior_draws[places.index]
        scatter = design.scale * design.ridge * np.sqrt(count)
        totals += scatter[:, None] * entropy.normal((count.size, design.paths))
        noise = np.sqrt(variance)[:, None] * entropy.normal((variance.size, design.paths))
        simulated = self.rows.T @ totals + noise
        return np.ascontiguousarray((self.reading.gain @ (sums[:, None] - simulated) + prior_draws).T)

    def without_paths(self, entropy: Entropy, releases: int) -> list[Released]:
        """Simulated releases with probabilities and without paths."""
        means = [self.reading.mean(self.noisy(entropy)) for _ in range(releases)]
        return [Released(mean[None], mean, self.reading.deviation) for mean in means]


class LabelSpace(SearchSpace, ABC):
    """Few models, as each needs a dense factorisation."""

    @abstractmethod
    def shapes(
        self, facts: PublicFacts, models: Sequence[tuple[str, float, float, float]]
    ) -> tuple[Design, ...]:
        """Designs, noise still open, for models (prior, lengthscale, ridge, scale)."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[Design, ...]:
        """A few models, as each needs a dense factorisation; none if places are private."""
        if VALUES_ONLY.refusal(facts):
            return ()
        lengthscales = coarse_grid(facts.lattice, facts.n, ask.quick).lengthscales[:LENGTHSCALES]
        models = [
            (ask.priors[0], lengthscale, ridge, scale)
            for lengthscale in lengthscales
            for ridge in RIDGES
            for scale in tried(SCALES, ask.thorough)
        ]
        return self.shapes(facts, models)

    def given(self, facts: PublicFacts, ask: SearchSpec, lengthscale: float, ridge: float) -> Design | None:
        if not facts.places_public:
            return None
        return self.shapes(facts, [(ask.priors[0], lengthscale, ridge, SCALES[1])])[0]

    def variants(self, design: Any, ask: SearchSpec) -> tuple[Design, ...]:
        return tuple(replace(design, cutoff=cutoff) for cutoff in FEW_CUTOFFS)


class LabelSums(Mechanism):
    """A mechanism that releases noisy sums of values over public places, once; any number of maps
    is free."""

    protection = VALUES_ONLY
    free_paths = True
    reads = ("priors",)
    exact_on_a_computer = True

    @abstractmethod
    def prepare(self, design: Any, facts: PublicFacts, records: CollapsedRecords) -> PreparedSums:
        """Do every step that can fail before the draw."""

    def places_of(self, design: LabelDesign, facts: PublicFacts, records: CollapsedRecords) -> PublicPlaces:
        """Public places of the records; raises BoundRefused if they are private."""
        self.refuse_unprotected(facts)
        where = (records.index.tobytes(), records.count.tobytes())
        return facts.cache.keep(
            "public places",
            (design.prior, design.lengthscale, hash(where)),
            lambda: PublicPlaces(facts.prior(design.prior, design.lengthscale), records.index, records.count),
        )


def _prepared(design: LabelDesign, facts: PublicFacts, records: CollapsedRecords) -> PreparedSums:
    return cast(PreparedSums, mechanism_of(design).prepare(design, facts, records))


questions.simulated_sets.register(LabelDesign)(questions.sets_without_paths)
questions.held_out.register(LabelDesign)(questions.held_out_without_paths)


@questions.simulate.register
def _simulate(design: LabelDesign, world: World, *, quick: bool = False) -> Bools:
    return questions.simulate_without_paths(design, world, SEED + 6)


@questions.seen.register
def _seen(
    design: LabelDesign,
    facts: PublicFacts,
    records: CollapsedRecords,
    cells: Sequence[int],
    draws: questions.Draws,
) -> Floats:
    """The released sums, which do not depend on the attacked cells."""
    prepared = _prepared(design, facts, records)
    return np.array([prepared.noisy(draws.entropy) for _ in range(draws.releases)])[:, None]


def model_words(design: LabelDesign) -> str:
    """Prior and range in words."""
    return f"prior {design.prior}, range {significant(design.lengthscale, 4)} m"
