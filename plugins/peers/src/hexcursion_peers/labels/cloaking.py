"""Cloaking: posterior means over public places with the noise that hides one value at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, get_args

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import MU, Budget, Parameter
from dpgp_core.mechanisms.label_sums import (
    PARAMETERS,
    PATHS,
    LabelDesign,
    LabelSpace,
    LabelSums,
    PreparedSums,
    model_words,
)
from dpgp_core.noise import distance_of
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.public_places import PublicPlaces
from dpgp_core.releasing import PublicFacts
from hexcursion_peers.labels.cloak import Criterion
from hexcursion_peers.labels.features import cloaked_rows
from hexcursion_peers.labels.plan import LabelPlan

BLURS = (2.0, 8.0, 32.0)


@dataclass(frozen=True)
class GaussianLabelDesign(LabelDesign):
    """A model of the field, and its released sums.

    Parameters
    ----------
    mu
        Gaussian-DP parameter that the release may cost, > 0.
    blur
        The released posterior mean has this many times the ridge, > 0: the larger, the smoother is what is
        released, and the less noise it needs. The reading knows it.
    """

    mu: float
    blur: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("mu", "blur")


@dataclass(frozen=True)
class CloakingDesign(GaussianLabelDesign):
    """Cloaked posterior means; `criterion`: whether the noise's mean square or its volume is made small."""

    mechanism: ClassVar[str] = "cloaking"

    criterion: Criterion = "mean-square"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_among("criterion", get_args(Criterion))


class GaussianLabelSums(LabelSums):
    """Sums over public places with Gaussian noise: priced by mu, however the features were made."""

    parameters = (
        *PARAMETERS[:-1],
        Parameter("blur", "blur", "positive"),
        MU,
        PARAMETERS[-1],
    )

    def rows(self, design: GaussianLabelDesign, places: PublicPlaces) -> Floats:
        """(k, p) what a unit of one record's value contributes, up to scale."""
        raise NotImplementedError

    def guarantee(self, design: GaussianLabelDesign, facts: PublicFacts) -> Guarantee:
        """The noise is made from the rounded features so that one changed value costs at most mu."""
        cost = Cost.gaussian(design.mu, distance_of(facts.lattice.size))
        return Guarantee.gaussian(cost.among("values-only"), self.source)

    def calibrate(
        self, design: GaussianLabelDesign, facts: PublicFacts, budget: Budget
    ) -> GaussianLabelDesign:
        return replace(design, mu=budget.mu)

    def plan(self, design: GaussianLabelDesign, facts: PublicFacts, records: CollapsedRecords) -> LabelPlan:
        """The gridded features of the records' public places, kept: they depend on public facts only."""
        places = self.places_of(design, facts, records)
        blank = replace(design, mu=1.0, scale=1.0, cutoff=0.5, paths=1)
        key = (blank, hash((places.index.tobytes(), places.count.tobytes())))
        plan: LabelPlan = facts.cache.keep(
            f"plan of {self.name}",
            key,
            lambda: LabelPlan.of(places, self.rows(design, places), self.name),
        )
        return plan

    def prepare(
        self, design: GaussianLabelDesign, facts: PublicFacts, records: CollapsedRecords
    ) -> PreparedSums:
        plan = self.plan(design, facts, records)
        noise = plan.noise_for(design.mu)
        variance = np.full(plan.features.size, noise**2)
        reading = plan.reading(design.ridge, design.scale, variance)
        return PreparedSums(
            design,
            plan.places,
            plan.features.values,
            variance,
            reading,
            partial(plan.release, records, noise),
        )

    def describe(self, design: GaussianLabelDesign) -> str:
        return f"mu {significant(design.mu, 4)}; {model_words(design)}"


@questions.least_cost.register
def _least_cost(design: GaussianLabelDesign) -> Cost:
    return Cost.gaussian(design.mu, distance_of(1)).among("values-only")


class CloakingSpace(LabelSpace):
    """A few models of the field, each with a few blurs."""

    def shapes(
        self, facts: PublicFacts, models: Sequence[tuple[str, float, float, float]]
    ) -> tuple[CloakingDesign, ...]:
        return tuple(CloakingDesign(*model, 1.0, blur, paths=PATHS) for model in models for blur in BLURS)


class Cloaking(GaussianLabelSums):
    """Release the map's leading directions with the noise that hides any one value at the least cost."""

    name = "cloaking"
    title = "Cloaking"
    summary = (
        "For public places: releases the smoothed map with the noise that hides any one value at the least "
        "cost; where the records are is not hidden."
    )
    source = "plugins/peers/docs/peers.md, cloaking"
    design_type = CloakingDesign
    space = CloakingSpace

    def rows(self, design: GaussianLabelDesign, places: PublicPlaces) -> Floats:
        criterion: Criterion = design.criterion if isinstance(design, CloakingDesign) else "mean-square"
        return cloaked_rows(places, design.blur * design.ridge, criterion)
