"""The choice: all that is fixed before the private records are touched, and the proposal in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpgp_core.errors import CoreError
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.numbers import significant
from dpgp_core.releasing import PublicFacts
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import FOCUSED, ResponseScale
from hexcursion.project.simulated import WORLD_RANGES
from hexcursion.record import (
    FEW_RECORDS,
    WIDE_RANGE,
    Expected,
    Tuning,
    Yardsticks,
    few_words,
    promises_nothing,
    stops_by_number,
)
from hexcursion.search.public_map import PublicMap, answered, public_map
from hexcursion.search.scenes import ask_of, cut, private_n, public_facts
from hexcursion.search.task import Scored, SearchResult, known
from hexcursion.settings.names import TriedOn, TuningKind
from hexcursion.words import agreement_words, off_words, range_words, ratio_words, records_words, right_words


@dataclass(frozen=True)
class Choice:
    """All that is fixed before the private records are touched, and how it was chosen."""

    design: Design
    response: ResponseScale
    tuning: Tuning  # how the design was chosen, as the statement says it
    public_map: PublicMap | None = None
    expected: Expected | None = None  # None for a design given by hand
    yardsticks: Yardsticks | None = None  # what maps without any private record would reach
    # the same of the map of all holders of a shared design, for which this release is made
    of_all: tuple[Expected, Yardsticks] | None = None

    @property
    def judged(self) -> tuple[Expected | None, Yardsticks | None]:
        """The expected agreement of the map of this release, and that of other maps."""
        return self.of_all or (self.expected, self.yardsticks)

    @property
    def few(self) -> str:
        """Why no figure may be said of how right its map will be; "" where one may. See `few_words`."""
        return few_words(self.expected, self.yardsticks)

    @property
    def cut(self) -> ResponseScale | None:
        """The scale that cuts values about one threshold, for `curators_map`; None for any other."""
        about_one = self.response.origin == FOCUSED and self.public_map is None
        return self.response if about_one else None

    def facts(self, project: Project) -> PublicFacts:
        """The public facts of a release, with the field that it starts from."""
        facts = public_facts(project)
        return facts if self.public_map is None else replace(facts, field=self.public_map.field)

    def level(self, threshold: float) -> Floats | float:
        """Return the threshold as a response, minus the public prior mean, (N,), if there is one.

        0 for counted records and for answers: neither are cut, so that none is out of reach.
        """
        is_count = isinstance(self.design, SpectralStatisticsDesign) and self.design.law != "amount"
        if is_count or self.response.transform == "probit":
            return 0.0
        level = float(self.response.forward(threshold))
        return level if self.public_map is None else level - self.public_map.mean


def expected_of(project: Project, candidate: Scored) -> Expected:
    """What a candidate design promises within the hexagons that its releases judge, with the data on which
    that rests; no agreement where the map to be reached has one side only."""
    utility = candidate.utility
    agreement = utility.judged_iou if math.isfinite(utility.agreement) else math.nan
    low, high = known(utility.low), known(utility.high)
    little = (
        low is not None
        and high is not None
        and (private_n(project) < FEW_RECORDS or high - low >= WIDE_RANGE)
    )
    stopped = stops_by_number(project.reference_kind, private_n(project))
    return Expected(
        known(agreement),
        known(utility.area_error),
        known(utility.right),
        project.reference_kind,
        low,
        high,
        little,
        *((None, None) if stopped else (known(utility.records), known(utility.records_gain))),
        known(utility.orange),
        known(utility.finds),
    )


def too_few(project: Project, *, public: bool) -> int | None:
    """The public number of records, where a release that starts from a `public` map, or not, promises
    nothing."""
    number = private_n(project)
    return number if promises_nothing(number, public=public) else None


def yardsticks_of(
    project: Project, candidate: Scored, one_colour: float, free: float | None, *, public: bool
) -> Yardsticks:
    """What maps without any private record reach, to compare with a scored design; `public`: whether a
    release starts from a public map."""
    utility = candidate.utility
    return Yardsticks(
        one_colour,
        free,
        known_gain(candidate),
        known(utility.colour_records),
        known(utility.public_records),
        known(utility.mixed_records),
        too_few(project, public=public),
    )


def known_gain(candidate: Scored) -> float | None:
    """How much better a design agrees than with values exchanged among places; None where not computed."""
    return known(candidate.utility.gain)


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
            shape = mechanism.search.given(facts, ask, settings.lengthscale, settings.ridge)
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
        design = cut(ask, (questions.sharpened(design, facts, budget),))[0]
        detail = "typed in by the curator as public knowledge"
        return Choice(design, project.response, tuning_of(project, "given", detail))
    raise WorkflowError(
        "Lengthscale and ridge describe none of the mechanisms asked for: leave them out to search."
    )


def typed_choice(project: Project, result: SearchResult, candidate: Scored) -> Choice:
    """Choose a design typed in and judged on the reference data, with the public map of the search, if any.

    Raise `WorkflowError` if it costs more than the settings' epsilon, the pilot included.
    """
    if not candidate.epsilon <= project.settings.epsilon:
        raise WorkflowError(
            f"This design does not fit epsilon {project.settings.epsilon:g}: raise its ridge or scale, take "
            "fewer paths, or raise the budget."
        )
    detail = "typed in by the curator and judged there"
    return Choice(
        candidate.design,
        candidate.response,
        tuning_of(project, project.reference_kind, detail),
        public_map(answered(project, result), result.model, candidate.response),
        expected_of(project, candidate),
    )


def stated(project: Project, choice: Choice) -> Choice:
    """The choice as a release must state it: a choice by looking is not accounted for."""
    tuning = choice.tuning
    return (
        replace(choice, tuning=tuning_of(project, tuning.kind, tuning.detail)) if tuning.accounted else choice
    )


def tuning_of(project: Project, kind: TuningKind, detail: str) -> Tuning:
    """How the design was chosen; a choice after looking at the private data is not accounted for."""
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


HALF = 0.5


def proposal_words(result: SearchResult, tried_on: TriedOn) -> str:
    """Name the proposed design in one sentence, with what it and the rivals are expected to show."""
    proposal = result.chosen
    title = mechanism_of(proposal.design).title
    clip = f" with a clip bound of {significant(proposal.response.clip, 3)}"
    uncut = proposal.response.transform == "probit"  # answers of yes and no are not clipped
    text = f"Proposed: {title}{'' if uncut else clip}: on {tried_on} it {_reaches(proposal, result)}"
    rivals = _others(result)
    if not rivals:
        return f"{text}."
    rival_words = "; ".join(
        f"{mechanism_named(name).title} {_reaches(best, result)} at its best" for name, best in rivals.items()
    )
    return f"{text}; {rival_words}."


def fixed_design_words(result: SearchResult) -> str:
    """What was chosen of a fixed design."""
    focused = result.chosen.response.origin == FOCUSED
    return "its clip bound was chosen in simulated worlds" if focused else "nothing was searched"


def fixed_words(
    expected: Expected | None, yardsticks: Yardsticks | None, result: SearchResult
) -> tuple[str, ...]:
    """The proposal without reference data, what simulated worlds tell of it, and what would tell more."""
    title = mechanism_of(result.chosen.design).title
    text = f"No reference data: one fixed design of {title.lower()}, {fixed_design_words(result)}."
    if caution := few_words(expected, yardsticks):
        return (text, f"{caution}.")
    if expected is None or expected.agreement is None or expected.low is None or expected.high is None:
        return (text, "In all simulated worlds the map has one side only, so no agreement can be stated.")
    agreement = range_words(expected.low, expected.high, little=expected.little)
    ranges = ", ".join(f"{world_range:g}" for world_range in WORLD_RANGES)
    return (
        *filter(None, [records_sentence(expected, yardsticks)]),
        f"{text} In simulated worlds, with ranges of {ranges} hexagons, its agreement (IoU) with the map "
        f"without privacy, in judged hexagons, is {ratio_words(expected.agreement)} on average, {agreement}.",
        *filter(None, [context_words(result)]),
        "The private values may be unlike all of these worlds: reference data would tell more.",
    )


def records_sentence(expected: Expected | None, yardsticks: Yardsticks | None) -> str:
    """How many records a map is expected to show on their right side, and other maps; "" where unknown, or
    where records are too few to say."""
    if expected is None or expected.records is None or yardsticks is None or yardsticks.few is not None:
        return ""
    rivals = {
        "public map": yardsticks.public_records,
        "one colour": yardsticks.colour_records,
        "exchanged values": yardsticks.mixed_records,
    }
    comparisons = [f"{name} {round(100 * share)}" for name, share in rivals.items() if share is not None]
    share = round(100 * expected.records)
    return f"Of 100 records tried {share} lie on the side that the map shows; {'; '.join(comparisons)}."


def early_words(result: SearchResult) -> str:
    """Which mechanisms were not searched to their end, and why; "" where all were."""
    return " ".join(
        f"{mechanism_named(early.mechanism).title} was not searched further: in a short first "
        f"comparison the best of {early.designs:,} designs across its grid reaches an agreement (IoU) of "
        f"{agreement_words(early.agreement)}, too far behind."
        for early in result.left_early
    )


def start_words(plain: SearchResult, mapped: SearchResult) -> str:
    """What the best releases with and without the public map as prior mean reach."""
    return (
        f"Starting from the public map, the best release {_reaches(mapped.chosen, mapped)}; without it, the "
        f"best {_reaches(plain.chosen, plain)}. The better of the two is proposed."
    )


def context_words(result: SearchResult) -> str:
    """Area and shown hexagons, in judged ones; "" where neither is known."""
    utility, parts = result.chosen.utility, []
    if math.isfinite(utility.area_error):
        parts.append(f"its area is {off_words(utility.area_error)}")
    if math.isfinite(utility.right):
        parts.append(f"{right_words(utility.right)} of the hexagons that it shows are right")
    return f"In judged hexagons {', '.join(parts)}." if parts else ""


def cutoff_words(result: SearchResult) -> str:
    """Say the cutoff from which hexagons are inside, what one half would reach, and the area errors of both.

    "" where the mechanism tried one cutoff only, one half is chosen, or they are those of another design.
    """
    proposal = result.chosen
    halves = (cut for cut in result.cutoffs if cut.design == cut.design.with_cutoff(HALF))
    half = next(halves, None)
    own = next((cut for cut in result.cutoffs if cut.design == proposal.design), None)
    if half is None or own is None or proposal.design == half.design:
        return ""
    is_fixed = proposal.design == proposal.design.with_cutoff(proposal.design.cutoff)
    start = (
        f"A hexagon is inside from a probability of {significant(proposal.design.cutoff, 2)} on: "
        "the agreement"
        if is_fixed
        else "From which probability on a hexagon is inside is read from the release itself: the agreement"
    )
    then = f"{start} (IoU, all hexagons) is then {_with_area(own)}"
    return f"{then}. From one half on it would be {_with_area(half)}."


def _with_area(candidate: Scored) -> str:
    area = candidate.utility.area_error
    area_words = f", the area {off_words(area)}" if math.isfinite(area) else ""
    return f"{agreement_words(candidate.utility.agreement)}{area_words}"


def unused_words(left_out: tuple[str, ...], *, unread: bool) -> list[str]:
    """A sentence for each thing that was asked for and not used: priors `left_out`, `unread` covariates."""
    sentences = []
    if left_out:
        sentences.append(
            f"The search left out the prior {' and '.join(left_out)}: it needs a dense matrix, too large for "
            "this many hexagons. A coarser resolution would include it."
        )
    if unread:
        sentences.append(
            "The covariates are neither used nor published: the reference data do not follow them, or the "
            "mechanism cannot use them."
        )
    return sentences


def edge_words(result: SearchResult) -> tuple[str, ...]:
    """A sentence for everything chosen that is the least or the most the search tried."""
    if not result.on_edge:
        return ()
    parts = " and ".join(f"{what} ({end})" for what, end in result.on_edge)
    return (
        f"At the end of what was tried: {parts}. Beyond it another design may do a little better; vary it by "
        "hand to see.",
    )


def _reaches(candidate: Scored, result: SearchResult) -> str:
    if result.objective == "bce":
        return f"has a cross-entropy of {candidate.utility.bce:.3f}"
    if math.isnan(candidate.utility.agreement):
        return "has nothing to show, as their map has one side only"
    if math.isnan(candidate.utility.records):
        return "judges no record"
    return f"shows {records_words(candidate.utility.records)} on their right side"


def _others(result: SearchResult) -> dict[str, Scored]:
    """The best design at the chosen one's budget of every other mechanism, the best first."""
    budgets = {
        point.epsilon
        for point in result.frontier
        if point.scored.design == result.chosen.design and point.scored.response == result.chosen.response
    }

    def loss(candidate: Scored) -> float:
        return candidate.utility.bce if result.objective == "bce" else -candidate.utility.known_agreement

    best: dict[str, Scored] = {}
    for point in result.frontier:
        name = point.scored.design.mechanism
        if point.epsilon not in budgets or name == result.chosen.design.mechanism:
            continue
        if name not in best or loss(point.scored) < loss(best[name]):
            best[name] = point.scored
    return dict(sorted(best.items(), key=lambda item: loss(item[1])))
