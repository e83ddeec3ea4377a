"""Tuning: turns a project into a search on its reference data, and a search result into a choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.cell_statistics import statistic_noise_for
from dpgp_core.design import NOISY_CELL_STATISTICS, POSTERIOR_SAMPLING, Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.guarantee import guarantee
from dpgp_core.posterior import fit
from dpgp_core.priors import Prior, make_prior
from dpgp_core.scores import iou
from workflow.errors import WorkflowError
from workflow.evaluation import Evaluator, Shelf
from workflow.pricing import cheapest_price
from workflow.project import CLIP_QUANTILE, Pilot, Project
from workflow.records import PlacedObservations, bin_records, public_n
from workflow.released import ResponseScale, Tuning
from workflow.scored import Scored, SearchResult, SearchTask
from workflow.search import search, unconstrained_design

Floats = NDArray[np.float64]
CLIP_FACTORS = (1.0, 0.6, 0.36)
PILOT_STEPS = 24
HALVING_SEED = 271828  # splits reference data only


@dataclass(frozen=True)
class PublicMap:
    """A public prior mean: (N,) in response units of `response`, and where it comes from."""

    mean: Floats
    origin: str


@dataclass(frozen=True)
class Choice:
    """All that is fixed before the private records are touched, and how it was chosen."""

    design: Design
    response: ResponseScale
    tuning: Tuning
    public_map: PublicMap | None = None


@dataclass(frozen=True)
class Tuned:
    """A search result with the choice it leads to.

    free_agreement  IoU that public knowledge alone would reach, estimated from two halves of the reference
                    data; None where the reference is simulated
    left_out        prior families that were asked for and cannot be made on so many cells
    """

    result: SearchResult
    choice: Choice
    free_agreement: float | None
    left_out: tuple[str, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """What a curator should know before releasing, in words; all from reference data."""
        said = []
        inside, agreement = float(self.result.baseline.mean()), self.result.chosen.utility.agreement
        if inside in (0.0, 1.0):
            side = "inside" if inside else "outside"
            said.append(
                f"The whole reference map lies {side} the asked region, so the search had nothing to tell "
                "designs apart: choose another threshold or better reference data."
            )
        if self.left_out:
            said.append(
                f"The search left out the prior {' and '.join(self.left_out)}: it needs a dense matrix, too "
                "large for this many hexagons. A coarser resolution would include it."
            )
        if self.free_agreement is not None:
            said.append(
                f"The free map, public knowledge alone, reaches an IoU of about {self.free_agreement:.2f}."
            )
            if self.choice.public_map is None and agreement <= self.free_agreement:
                said.append("This release is not expected to add to it; a public prior mean may.")
            elif agreement <= self.free_agreement:
                said.append("This release is not expected to add to it.")
        return tuple(said)


def tune(project: Project, report: Callable[[float, str], None] | None = None) -> Tuned:
    """Search on the reference data; of the private records only the public number is used."""
    settings = project.settings
    if settings.lengthscale is not None and settings.ridge is not None:
        raise WorkflowError(
            "Lengthscale and ridge are given: use `given_choice`, there is nothing to search."
        )
    result = search(search_task(project, report), report)
    free_agreement: float | None = None
    if project.reference_kind in ("reference data", "public reference data"):
        free_agreement = free_map_agreement(project, result.unconstrained.design)
    if project.pilot is not None:
        result = replace(result, chosen=_beside_pilot(project, result.chosen, project.pilot))
    chosen = result.chosen
    public = public_map(project, result, chosen.response)
    tuning = _tuning(project, project.reference_kind, _detail(project, result))
    left_out = tuple(name for name in settings.priors if name not in project.priors)
    return Tuned(result, Choice(chosen.design, chosen.response, tuning, public), free_agreement, left_out)


def search_task(
    project: Project,
    report: Callable[[float, str], None] | None = None,
    unconstrained: Scored | None = None,
) -> SearchTask:
    """What the search of a project is asked: judges on its reference data, the public n, the budget.

    unconstrained  the baseline's design, where an earlier search of the same reference data has found it

    With a public prior mean the baseline's design comes from all reference data; then one half of them plays
    the public map and the other, mapped under the same design, the private data.
    """
    settings = project.settings
    shelf = Shelf(project.lattice)
    plain = _judge(project, shelf, project.reference, project.response)
    narrower = [_judge(project, shelf, project.reference, scale) for scale in _narrower(project)]
    task = SearchTask(
        judges=(plain, *narrower),
        baseline_judge=plain,
        n=private_n(project),
        epsilon=left_for_release(settings.epsilon, project.pilot),
        delta=settings.delta,
        paths=settings.paths,
        priors=project.priors,
        mechanisms=settings.mechanisms,
        objective=settings.objective,
        bound=settings.bound,
        quick=settings.quick,
    )
    if not settings.prior_mean:
        return replace(task, unconstrained=unconstrained)
    free = unconstrained or unconstrained_design(task, report or (lambda fraction, text: None))
    first, second = halves(project.reference)
    return replace(
        task,
        judges=_residual_judges(project, shelf, first, second, free.design),
        baseline_judge=_judge(project, shelf, second, project.response),
        unconstrained=free,
    )


def given_choice(project: Project) -> Choice:
    """The design given by hand: lengthscale and ridge from the settings, the scale solved."""
    settings = project.settings
    if settings.lengthscale is None or settings.ridge is None:
        raise WorkflowError("Give lengthscale and ridge together to skip the search.")
    if POSTERIOR_SAMPLING not in settings.mechanisms:
        raise WorkflowError("Lengthscale and ridge describe posterior sampling: leave them out to search.")
    name = settings.priors[0]
    try:
        prior = make_prior(name, project.lattice, settings.lengthscale)
        price = cheapest_price(
            prior, private_n(project), settings.ridge, settings.epsilon, settings.delta, settings.paths, 0.0,
            settings.bound,
        )  # fmt: skip
    except ValueError as error:  # WorkflowError says its own sentence
        raise error if isinstance(error, WorkflowError) else WorkflowError(f"Impossible: {error}") from error
    if price is None:
        raise WorkflowError(
            f"Ridge {settings.ridge:g} cannot meet epsilon {settings.epsilon:g} at any scale: "
            "raise the ridge."
        )
    design = Design(
        prior=name, lengthscale=settings.lengthscale, ridge=settings.ridge, scale=price.scale,
        paths=settings.paths, bound=price.bound,
    )  # fmt: skip
    return Choice(
        design, project.response, _tuning(project, "given", "typed in by the curator as public knowledge")
    )


def typed_choice(project: Project, tuned: Tuned, scored: Scored) -> Choice:
    """A design typed in and judged on the reference data, with the public map of the search if it had one.

    Raises `WorkflowError` where it costs more than the settings' epsilon, the pilot included.
    """
    if not scored.epsilon <= project.settings.epsilon:
        raise WorkflowError(
            f"This design does not fit epsilon {project.settings.epsilon:g}: raise its ridge or scale, take "
            "fewer paths, or raise the budget."
        )
    detail = "typed in by the curator and judged there"
    return Choice(
        scored.design, scored.response, _tuning(project, project.reference_kind, detail),
        public_map(project, tuned.result, scored.response),
    )  # fmt: skip


def public_map(project: Project, result: SearchResult, scale: ResponseScale) -> PublicMap | None:
    """The public prior mean under a response scale, where the settings ask for one."""
    if not project.settings.prior_mean:
        return None
    mean = reference_mean(project, project.reference, result.unconstrained.design, scale)
    return PublicMap(mean, "posterior mean of the public reference data")


def stated(project: Project, choice: Choice) -> Choice:
    """The choice as a release must state it: what was chosen by looking is not accounted for."""
    tuning = choice.tuning
    return (
        replace(choice, tuning=_tuning(project, tuning.kind, tuning.detail)) if tuning.accounted else choice
    )


def _tuning(project: Project, kind: str, detail: str) -> Tuning:
    """How the design was chosen; what was chosen after looking at the private data is not accounted for."""
    return (
        Tuning("not accounted", f"Otherwise: {kind}, {detail}.")
        if project.settings.looked
        else Tuning(kind, detail)
    )


def private_n(project: Project) -> int:
    """The public number of records of the chosen unit of protection."""
    return public_n(project.private.placed, project.settings.unit)


def halves(placed: PlacedObservations) -> tuple[PlacedObservations, PlacedObservations]:
    """Two random halves of reference observations."""
    first = SimulationEntropy(HALVING_SEED).uniform(placed.index.size) < 0.5
    if first.all() or not first.any():
        raise WorkflowError(
            "There are too few reference observations to split: name a larger reference file."
        )
    return tuple(  # type: ignore[return-value]
        PlacedObservations(placed.index[part], placed.value[part], int(part.sum()), 0)
        for part in (first, ~first)
    )


def reference_mean(
    project: Project, placed: PlacedObservations, design: Design, scale: ResponseScale
) -> Floats:
    """(N,) posterior mean of reference observations under a design, in response units of `scale`."""
    records = bin_records(placed, project.response, project.settings.unit).records
    posterior = fit(make_prior(design.prior, project.lattice, design.lengthscale), records, design.ridge)
    transformed = posterior.mean * project.response.clip + project.response.centre
    return np.asarray((transformed - scale.centre) / scale.clip)


def free_map_agreement(project: Project, design: Design) -> float:
    """IoU of one half of the reference data's baseline with the other half's: the free map's estimate."""
    level, sign = project.level, 1.0 if project.settings.direction == "above" else -1.0
    sets = [
        sign * (reference_mean(project, half, design, project.response) - level) > 0
        for half in halves(project.reference)
    ]
    return iou(sets[0], sets[1])


def _judge(
    project: Project, shelf: Shelf, placed: PlacedObservations, scale: ResponseScale,
    prior_mean: Floats | None = None, weight: int = 1,
) -> Evaluator:  # fmt: skip
    settings = project.settings
    return Evaluator(
        project.lattice, project.domain.cells, placed, scale, settings.unit, settings.threshold,
        settings.direction, settings.paths, prior_mean, weight, shelf,
    )  # fmt: skip


def _narrower(project: Project) -> list[ResponseScale]:
    """Tighter clip bounds around the same centre that still reach the threshold; none for a given clip."""
    if project.settings.clip is not None:
        return []
    scale = project.response
    reach = 1.25 * abs(project.level) * scale.clip
    return [
        replace(scale, clip=round(factor * scale.clip, 4))
        for factor in CLIP_FACTORS[1 : 2 if project.settings.quick else None]
        if factor * scale.clip >= reach
    ]


def _residual_judges(
    project: Project, shelf: Shelf, first: PlacedObservations, second: PlacedObservations, free: Design
) -> tuple[Evaluator, ...]:
    """Judges whose records are residuals of the second half from the first half's map under `free`.

    Each point record of the half counts twice, so that data and privacy noise are in proportion.
    """
    settings = project.settings
    mean = reference_mean(project, first, free, project.response)
    residual = np.abs(project.response.forward(second.value) - mean[second.index])
    base = settings.clip or round(float(np.quantile(residual, CLIP_QUANTILE)) * project.response.clip, 4)
    factors = CLIP_FACTORS if settings.clip is None else (1.0,)
    judges = []
    for factor in factors[: 2 if settings.quick else None]:
        scale = replace(project.response, clip=round(factor * base, 4))
        offset = reference_mean(project, first, free, scale)
        judges.append(_judge(project, shelf, second, scale, offset, 1 if settings.unit == "cell" else 2))
    return tuple(judges)


def left_for_release(epsilon: float, pilot: Pilot | None) -> float:
    """About what a release may cost beside a pilot: costs of Gaussian-like releases add in squares."""
    return epsilon if pilot is None else math.sqrt(epsilon**2 - pilot.epsilon**2)


def _beside_pilot(project: Project, chosen: Scored, pilot: Pilot) -> Scored:
    """The chosen design with the least noise at which pilot and release together cost at most epsilon.

    Its utility stays that of the search, whose noise differed by the little that composition leaves.
    Bisection on the release's own epsilon; the RDP curves add, so the total is a proved bound.
    """
    settings = project.settings
    facts = make_prior(chosen.design.prior, project.lattice, chosen.design.lengthscale)
    n, low, high, best = private_n(project), 0.0, settings.epsilon, None
    for _ in range(PILOT_STEPS):
        middle = 0.5 * (low + high)
        design = _at_epsilon(project, chosen.design, facts, middle)
        total = math.inf
        if design is not None:
            total = (guarantee(design, n, facts).curve + pilot.curve).epsilon(settings.delta).epsilon
        if design is not None and total <= settings.epsilon:
            low, best = middle, replace(chosen, design=design, epsilon=total)
        elif design is None:
            low = middle
        else:
            high = middle
    if best is None:
        raise WorkflowError("The pilot leaves too little for a release: lower its share or raise epsilon.")
    return best


def _at_epsilon(project: Project, design: Design, facts: Prior, epsilon: float) -> Design | None:
    """The design with the least noise that costs at most epsilon on its own, or None."""
    settings = project.settings
    if design.mechanism == NOISY_CELL_STATISTICS:
        return replace(design, statistic_noise=statistic_noise_for(epsilon, settings.delta))
    share = design.noise_scale**2 / (design.scale**2 + design.noise_scale**2)
    price = cheapest_price(
        facts, private_n(project), design.ridge, epsilon, settings.delta, design.paths, share, settings.bound
    )
    if price is None:
        return None
    return replace(design, scale=price.scale, noise_scale=price.noise_scale, bound=price.bound)


def _detail(project: Project, result: SearchResult) -> str:
    text = f"{result.evaluated:,} designs scored, objective {result.objective}"
    if project.pilot is None:
        return text
    return (
        f"{text}, on a pilot that cost epsilon {project.pilot.epsilon:.4g} (ledger entry "
        f"{project.pilot.entry.split(':')[0]}), which is part of the stated epsilon"
    )
