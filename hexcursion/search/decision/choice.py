"""The choice: all that is fixed before the private records are touched, searched for, typed in or given."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpgp_core.errors import CoreError
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_design import SPREADS_OF_COUNTS, SpectralStatisticsDesign
from dpgp_core.releasing import PublicFacts
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.record import FEW_RECORDS, WIDE_RANGE, Expected, Tuning, Yardsticks
from hexcursion.search.problem.facts import ask_of, cut, private_n, public_facts
from hexcursion.search.problem.public_map import PublicMap, answered, public_map
from hexcursion.search.problem.task import Scored, SearchResult
from hexcursion.settings.names import TuningKind


@dataclass(frozen=True)
class Choice:
    """All that is fixed before the private records are touched, and how it was chosen."""

    design: Design
    response: ResponseScale
    tuning: Tuning  # how the design was chosen, as the statement says it
    public_map: PublicMap | None = None
    expected: Expected | None = None  # None for a design given by hand
    yardsticks: Yardsticks | None = None  # what maps without any private record would reach

    def facts(self, project: Project) -> PublicFacts:
        """The public facts of a release, with the field that it starts from."""
        facts = public_facts(project)
        return facts if self.public_map is None else replace(facts, field=self.public_map.field)

    def level(self, threshold: float) -> Floats | float:
        """Return the threshold as a response, minus the public prior mean, (N,), if there is one.

        0 for counted records: rates are cut nowhere, so that none is out of reach.
        """
        if isinstance(self.design, SpectralStatisticsDesign) and self.design.law in SPREADS_OF_COUNTS:
            return 0.0
        level = float(self.response.forward(threshold))
        return level if self.public_map is None else level - self.public_map.mean


def expected_of(project: Project, scored: Scored) -> Expected:
    """What a scored design promises, with the data on which that rests."""
    found = scored.utility

    def known(value: float) -> float | None:
        return value if math.isfinite(value) else None

    low, high = known(found.low), known(found.high)
    little = low is not None and high is not None and (
        private_n(project) < FEW_RECORDS or high - low >= WIDE_RANGE
    )  # fmt: skip
    return Expected(
        known(found.agreement), known(found.area_error), known(found.right), project.reference_kind, low,
        high, little,
    )  # fmt: skip


def known_gain(scored: Scored) -> float | None:
    """How much better a design agrees than with values exchanged among places; None where not computed."""
    return scored.utility.gain if math.isfinite(scored.utility.gain) else None


def given_choice(project: Project) -> Choice:
    """Make the design of the stated lengthscale and ridge, for the first asked mechanism that they describe.

    Raise `WorkflowError` if one is missing, no mechanism fits them, or no noise meets the budget.
    """
    settings = project.settings
    if settings.lengthscale is None or settings.ridge is None:
        raise WorkflowError("Give lengthscale and ridge together to skip the search.")
    facts, ask = public_facts(project), ask_of(project)
    budget = Budget(settings.epsilon, project.delta, settings.bound)
    for mechanism in map(mechanism_named, settings.mechanisms):
        try:
            shape = mechanism.given(facts, ask, settings.lengthscale, settings.ridge)
            if shape is None:
                continue
            design = mechanism.calibrate(shape, facts, budget)
        except (CoreError, ValueError) as error:
            raise WorkflowError(f"Impossible: {error}") from error
        if design is None:
            raise WorkflowError(
                f"Ridge {settings.ridge:g} cannot meet epsilon {settings.epsilon:g} at any scale: "
                "raise the ridge."
            )
        design = cut(ask, (mechanism.sharpened(design, facts, budget),))[0]
        detail = "typed in by the curator as public knowledge"
        return Choice(design, project.response, tuning_of(project, "given", detail))
    raise WorkflowError(
        "Lengthscale and ridge describe none of the mechanisms asked for: leave them out to search."
    )


def typed_choice(project: Project, result: SearchResult, scored: Scored) -> Choice:
    """Choose a design typed in and judged on the reference data, with the public map of the search, if any.

    Raise `WorkflowError` if it costs more than the settings' epsilon, the pilot included.
    """
    if not scored.epsilon <= project.settings.epsilon:
        raise WorkflowError(
            f"This design does not fit epsilon {project.settings.epsilon:g}: raise its ridge or scale, take "
            "fewer paths, or raise the budget."
        )
    detail = "typed in by the curator and judged there"
    return Choice(
        scored.design, scored.response, tuning_of(project, project.reference_kind, detail),
        public_map(answered(project, result), result.model, scored.response), expected_of(project, scored),
    )  # fmt: skip


def stated(project: Project, choice: Choice) -> Choice:
    """The choice as a release must state it: what was chosen by looking is not accounted for."""
    tuning = choice.tuning
    return (
        replace(choice, tuning=tuning_of(project, tuning.kind, tuning.detail)) if tuning.accounted else choice
    )


def tuning_of(project: Project, kind: TuningKind, detail: str) -> Tuning:
    """How the design was chosen; what was chosen after looking at the private data is not accounted for."""
    if project.reference_origin and project.reference_origin not in detail:
        detail += (
            f"; the reference is what {project.reference_origin} tells of the field now, and a record that "
            "is in both releases pays for both"
        )
    return (
        Tuning("not accounted", f"Otherwise: {kind}, {detail}.")
        if project.settings.looked
        else Tuning(kind, detail)
    )
