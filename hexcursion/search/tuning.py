"""Tuning: turns a project into a search on its reference data, and a search result into a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.numbers import upper
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import World
from dpgp_core.spectral.public_field import PublicField
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Pilot, Project
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import FOCUSED, ResponseScale, tidy
from hexcursion.search.choice import (
    Choice,
    context_words,
    cutoff_words,
    early_words,
    edge_words,
    expected_of,
    fixed_design_words,
    fixed_words,
    proposal_words,
    records_sentence,
    start_words,
    tuning_of,
    unused_words,
    yardsticks_of,
)
from hexcursion.search.executors import ALONE, Run
from hexcursion.search.optimise import search
from hexcursion.search.pilot import beside_pilot, left_for_release
from hexcursion.search.public_map import (
    answers_model,
    as_many,
    free_in_worlds,
    free_map_agreement,
    free_map_basis,
    has_reference,
    last_of_several,
    private_parts,
    public_map,
    starting_point,
    uncut,
)
from hexcursion.search.scenes import ask_of, project_scene, public_facts, shuffled
from hexcursion.search.score import (
    baseline_set,
    fixed_model,
    fixed_of,
    simulated_scenes,
    unconstrained_design,
)
from hexcursion.search.task import Scene, SearchResult, SearchTask, Unconstrained
from hexcursion.settings.names import TriedOn, TuningKind
from hexcursion.words import plural, ratio_words

CLIP_FACTORS = (1.0, 0.6, 0.36)
FOCUSED_FACTORS = (0.8, 0.5, 0.3, 0.18, 0.11)  # of the clip bound of all thresholds, around one of them
FIXED_FACTORS, FEWEST_FOCUSED = (0.5, 0.3), 500  # of a fixed design, and records from which it tries them


@dataclass(frozen=True)
class Tuned:
    """A search result with the choice it leads to."""

    result: SearchResult
    choice: Choice  # released, unless a person chooses otherwise
    # IoU of public knowledge alone, from two parts of the reference; None where simulated
    free_agreement: float | None
    left_out: tuple[str, ...] = ()  # prior families asked for that do not fit in memory on this domain
    free_basis: str = ""  # how `free_agreement` was estimated
    starts: str = ""  # the results with and without the public map; "" where one was tried
    tried_on: TriedOn = "the reference data"  # see `Project.tried_on`
    unread: bool = False  # covariates were named, and the design reads none

    @property
    def few(self) -> str:
        """`Choice.few` of the design that it chose."""
        return self.choice.few

    def remarks(self) -> tuple[str, ...]:
        """What a curator should know before releasing, in words; all from what designs were tried on."""
        if self.result.fixed:
            return fixed_words(self.choice.expected, self.choice.yardsticks, self.result)
        unused = unused_words(self.left_out, unread=self.unread)
        if caution := self.few:
            return (f"{caution}.", *edge_words(self.result), *unused)
        sentences = []
        inside, agreement = float(self.result.baseline.mean()), self.result.chosen.utility.known_agreement
        if inside in (0.0, 1.0):
            side = "inside" if inside else "outside"
            sentences.append(
                f"The whole reference map lies {side} the asked region, so the search had nothing to tell "
                "designs apart: choose another threshold or better reference data."
            )
        sentences += [
            proposal_words(self.result, self.tried_on),
            *filter(None, [records_sentence(self.choice.expected, self.choice.yardsticks)]),
            *filter(None, [early_words(self.result), self.starts]),
        ]
        sentences += edge_words(self.result)
        sentences += filter(None, [context_words(self.result), cutoff_words(self.result)])
        sentences += unused
        if self.free_agreement is not None:
            sentences.append(
                "The map of public data alone reaches an agreement (IoU, all hexagons) of about "
                f"{ratio_words(self.free_agreement)}{self.free_basis}."
            )
            if self.choice.public_map is None and agreement <= self.free_agreement:
                sentences.append("This release is not expected to add to it; a public prior mean may.")
            elif agreement <= self.free_agreement:
                sentences.append("This release is not expected to add to it.")
        return tuple(sentences)


def tune(
    project: Project,
    run: Run = ALONE,
    *,
    frontier: tuple[float, ...] = FRONTIER_EPSILONS,
    walked: tuple[float, ...] = (),
    facts: PublicFacts | None = None,
) -> Tuned:
    """Search on the reference data; of the private records only the public number is used.

    `frontier` are further epsilons of a shown frontier, which the choice does not depend on; `walked` are
    others yet, for mechanisms with quick simulations. `facts` are those of another column of the same
    records, whose work is used again. Raise `WorkflowError` if lengthscale and ridge are
    given, no design meets the budget, or the reference data are too few.
    """
    settings = project.settings
    if settings.lengthscale is not None and settings.ridge is not None:
        raise WorkflowError(
            "Lengthscale and ridge are given: use `given_choice`, there is nothing to search."
        )
    facts = facts or public_facts(project)  # shared by both starts, with the work on the domain
    if settings.weighs_drift:
        project = replace(project, settings=settings.with_changes(prior_mean=True))
    if settings.weighs_drift or not settings.tries_public_map:
        return _tuned(project, run, (frontier, walked), facts)
    with_map, without = (
        replace(project, settings=settings.with_changes(prior_mean=used)) for used in (True, False)
    )
    plain = _tuned(without, run.part(0.0, 0.5), (frontier, walked), facts)
    free = plain.result.unconstrained
    mapped = _tuned(with_map, run.part(0.5, 0.5), (frontier, walked), facts, free)
    return better_start(plain, mapped)


def better_start(plain: Tuned, mapped: Tuned) -> Tuned:
    """Return the better of the searches without and with the public map as prior mean, with a word on both.

    Without the map where they are level: the map then says nothing that the records do not.
    """
    best = mapped if mapped.result.loss < plain.result.loss else plain
    return replace(best, starts=start_words(plain.result, mapped.result))


def _tuned(
    project: Project,
    run: Run,
    budgets: tuple[tuple[float, ...], tuple[float, ...]],
    facts: PublicFacts,
    unconstrained: Unconstrained | None = None,
) -> Tuned:
    """One search, with or without the public map as the settings say."""
    frontier, walked = budgets
    task = search_task(project, run, unconstrained, facts)
    task = replace(task, frontier=frontier, walked=walked)
    result = search(task, run)
    free_agreement = None
    if has_reference(project):
        worlds = task.scenes[0].worlds if task.public_mean and last_of_several(project) is None else ()
        predicted = [world.baseline for world in worlds if world.baseline is not None]
        if predicted:
            result = replace(result, free_worlds=free_in_worlds(project, result.model, predicted))
        agreements = result.free_worlds or (free_map_agreement(project, result.model),)
        finite = [
            agreement for agreement in agreements if np.isfinite(agreement)
        ]  # two empty maps agree on nothing
        free_agreement = float(np.mean(finite)) if finite else None
    if project.pilot is not None:
        result = replace(result, chosen=beside_pilot(project, result.chosen, project.pilot))
    same = last_of_several(project) is None and result.chosen.response == task.scenes[0].response
    return concluded(project, result, free_agreement, field=task.facts.field if same else None)


def concluded(
    project: Project,
    result: SearchResult,
    free_agreement: float | None,
    starts: str = "",
    field: PublicField | None = None,
) -> Tuned:
    """A search result with the choice it leads to; `field` as in `public_map`, the rest as in `Tuned`."""
    proposal = result.chosen
    public = public_map(project, result.model, proposal.response, field)
    kind: TuningKind = "fixed" if result.fixed else project.reference_kind
    tuning = tuning_of(project, kind, _detail(project, result))
    started = public is not None
    yardsticks = yardsticks_of(project, proposal, result.one_colour, free_agreement, public=started)
    choice = Choice(
        proposal.design, proposal.response, tuning, public, expected_of(project, proposal), yardsticks
    )
    left_out = tuple(name for name in project.settings.priors or () if name not in project.priors)
    predicted = result.public_mean and last_of_several(project) is None
    basis = free_map_basis(project, predicted=predicted) if has_reference(project) else ""
    unread = project.covariates is not None and not getattr(proposal.design, "covariates", 0.0)
    return Tuned(result, choice, free_agreement, left_out, basis, starts, project.tried_on, unread)


def search_task(
    project: Project,
    run: Run = ALONE,
    unconstrained: Unconstrained | None = None,
    facts: PublicFacts | None = None,
    *,
    every_scale: bool = False,
) -> SearchTask:
    """Build the search's task: scenes on the reference data, public facts, the budget.

    The baseline's design comes from all reference data; pass `unconstrained` and `facts` to reuse earlier
    work. More reference records than private ones are thinned (`as_many`). `every_scale` also tries several
    clip bounds for a fixed design. Raise `WorkflowError` if the reference data are too few to split.
    """
    facts = facts or public_facts(project)
    if project.simulated:
        return _simulated_task(project, facts, every_scale)
    settings = project.settings
    narrower: list[ResponseScale] = []
    if project.answers is None:  # which have one scale
        narrower = _focused(project) if settings.focus == "threshold" else _narrower(project)
    scales = (project.response, *narrower)
    reference = private_parts(project)[0]
    played = as_many(project, reference)
    searched = played is reference and not settings.prior_mean
    scenes = _scenes(project, facts, reference, scales if searched else scales[:1])
    task = _task(project, facts, scenes, unconstrained)
    if searched:
        return task
    free = unconstrained
    if free is None and project.answers is not None:
        free = fixed_model(facts, task.ask, task.budget, project.response, answers_model(project))
    free = free or unconstrained_design(task, run)
    if not settings.prior_mean:
        scenes = _scenes(project, facts, played, scales)
        return replace(task, unconstrained=free, scenes=scenes, baseline_scene=scenes[0])
    residual, plain = _starting_scenes(project, facts, free.design)
    return replace(
        task,
        public_mean=True,
        facts=residual.world.facts,
        unconstrained=free,
        scenes=(residual,),
        baseline_scene=plain,
    )


def _task(
    project: Project, facts: PublicFacts, scenes: tuple[Scene, ...], free: Unconstrained | None
) -> SearchTask:
    names = project.settings.mechanisms
    if project.answers is not None:
        names = tuple(name for name in names if "values" in MECHANISMS[name].reads)
    return SearchTask(
        scenes=scenes,
        baseline_scene=scenes[0],
        facts=facts,
        budget=_budget(project),
        ask=ask_of(project),
        mechanisms=names,
        objective=project.settings.objective,
        unconstrained=free,
        unsearched=project.simulated,
    )


def _budget(project: Project) -> Budget:
    left = left_for_release(project.settings.epsilon, project.pilot)
    return Budget(left, project.delta, project.settings.bound)


def _simulated_task(project: Project, facts: PublicFacts, every_scale: bool) -> SearchTask:
    """Judge designs in simulated worlds for want of reference data, a fixed one at the stated clip bound, and
    at narrower ones about its threshold where that alone is asked of enough records."""
    settings, scales = project.settings, [project.response]
    searched = every_scale or fixed_of(settings.mechanisms) is None
    focused = settings.values == "amount" and settings.focus == "threshold"  # answers have one scale
    if focused and searched:
        scales += _focused(project)
    elif focused and facts.n >= FEWEST_FOCUSED:
        scales += _focused(project, FIXED_FACTORS)
    elif searched and settings.values == "amount":
        scales += _narrower(project)
    free = fixed_model(facts, ask_of(project), _budget(project), project.response)
    scenes = simulated_scenes(project, facts, scales, free.design, fixed=not searched)
    return _task(project, facts, scenes, free)


def _scenes(
    project: Project, facts: PublicFacts, observations: PlacedObservations, scales: Sequence[ResponseScale]
) -> tuple[Scene, ...]:
    """One scene for each response scale, on the same data; for reference data with their shuffled values."""
    mixed = (shuffled(observations),) if has_reference(project) else ()  # a pilot's stand-ins prove nothing
    return tuple(
        replace(
            project_scene(project, facts, observations, scale),
            controls=tuple(project_scene(project, facts, exchanged, scale).world for exchanged in mixed),
        )
        for scale in scales
    )


def _narrower(project: Project) -> list[ResponseScale]:
    """Tighter clip bounds around the same centre that still reach the threshold; none for a given clip."""
    if project.settings.clip is not None:
        return []
    scale = project.response
    reach = 1.25 * abs(project.level) * scale.clip
    return [
        replace(scale, clip=tidy(factor * scale.clip))
        for factor in CLIP_FACTORS[1 : 2 if project.settings.quick else None]
        if factor * scale.clip >= reach
    ]


def _focused(project: Project, factors: Sequence[float] = FOCUSED_FACTORS) -> list[ResponseScale]:
    """Response scales centred at the threshold, with clip bounds so narrow that every value speaks of it."""
    settings, scale = project.settings, project.response
    middle = float(scale.centre + scale.clip * project.level)
    clips = [tidy(factor * scale.clip) for factor in factors[: 3 if settings.quick else None]]
    return [replace(scale, centre=tidy(middle, 6), clip=clip, origin=FOCUSED) for clip in clips]


def _starting_scenes(
    project: Project, facts: PublicFacts, free: PosteriorSamplingDesign
) -> tuple[Scene, Scene]:
    """Return the scene of residuals from the public field, and a plain one for the baseline.

    The plain one holds the first world's records in the project's own response scale.
    """
    field, scale, played = starting_point(project, free)
    facts, offset = replace(facts, field=field), field.at_cells(project.lattice.domain_centres)
    from_field = last_of_several(project) is None and not project.reference_origin

    def residuals(observations: PlacedObservations) -> World:
        return project_scene(project, facts, observations, scale, offset, from_field=from_field).world

    wide = uncut(project) if from_field else project.response
    truths = [
        baseline_set(project_scene(project, facts, observations, wide).world, free) for observations in played
    ]
    worlds = [
        residuals(observations).aiming_at(truth) for observations, truth in zip(played, truths, strict=True)
    ]
    controls = tuple(residuals(shuffled(observations)) for observations in played[:: min(2, len(played))])
    plain = project_scene(project, facts, played[0], project.response).world
    return Scene(scale, worlds[0], tuple(worlds[1:]), controls), Scene(
        project.response, plain.aiming_at(truths[0])
    )


SCORED_BY = {"iou": "expected agreement", "bce": "cross-entropy of their chances"}


def _detail(project: Project, result: SearchResult) -> str:
    if result.fixed:
        what = "no reference data" if project.settings.reference is None else "no reference data show change"
        return f"{what}, so one design for all such data; {fixed_design_words(result)}"
    text = f"{plural(result.evaluated, 'design')} scored by {SCORED_BY[result.objective]}"
    if result.public_mean and result.further:
        text += ", in worlds that drifted from the reference"
    elif as_many(project, project.reference) is not project.reference:
        source_words = "" if project.settings.records_about is None else " by public knowledge"
        text += f", on as many reference records as there are private ones{source_words}"
    return text if project.pilot is None else f"{text}, on {_paid(project.pilot)}"


def _paid(pilot: Pilot) -> str:
    return (
        f"a pilot that cost epsilon {upper(pilot.epsilon)} (ledger entry {pilot.entry.split(':')[0]}), "
        "which is part of the stated epsilon"
    )
