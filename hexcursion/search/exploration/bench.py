"""The bench: what any design, searched or typed in, costs and achieves on the reference data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.audit.coverage import Coverage, simulated_coverage
from dpgp_core.excursion import smooth
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design, Parameter
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import draw_release
from dpgp_core.simulation import Agreement
from hexcursion.bundle import supports
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.decision.tuning import search_task
from hexcursion.search.looks.pilot import cost_beside_pilot
from hexcursion.search.optimisation.score import as_shown, utility_of
from hexcursion.search.problem.public_map import answered
from hexcursion.search.problem.task import Scene, Scored, SearchResult

SEED = 577215  # simulated releases of reference data only; a release never sees it
RELEASES = 40
CONFIDENCES = (0.9, 0.8, 0.5)  # the first that the paths can speak of
FACTORS = (0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0)
FEW = (1, 2, 3, 5, 10)
MANY = (30, 100)  # numbers of paths to look at where they cost nothing
MOST_PATHS = 1000  # as many as settings allow


class Bench:
    """Judges designs as the search of `result` judged its own: same reference data, baseline and draws."""

    def __init__(self, project: Project, result: SearchResult) -> None:
        project = answered(project, result)
        self.project, self.result = project, result
        self._task = search_task(project, None, result.unconstrained).aiming_at(result.baseline)

    def scene(self, response: ResponseScale) -> Scene:
        """Return the world of a response scale; `WorkflowError` for one that the search did not try."""
        return self._task.scene_of(response)

    def price(self, design: Design) -> tuple[Design, float]:
        """Return the design under its cheapest proved bound, and its epsilon (upper bound, maybe inf).

        A pilot that stands in for reference data is inside the epsilon.
        """
        delta, bound = self.project.delta, self.project.settings.bound
        best, epsilon = mechanism_of(design).priced(design, self._task.facts, delta, bound)
        if self.project.pilot is not None:
            epsilon = cost_beside_pilot(best, self._task.facts, self.project.pilot, delta)
        return best, epsilon

    def score(self, design: Design, response: ResponseScale) -> Scored:
        """Score a design, held-out figures included.

        Raise `ValueError` if its prior does not exist at its lengthscale.
        """
        best, epsilon = self.price(design)
        scene = self.scene(response)
        return as_shown(scene, Scored(best, response, epsilon, utility_of(scene, design)))

    def agreement(self, design: Design, response: ResponseScale) -> Agreement:
        """How simulated releases of a design compare with the baseline."""
        return self.scene(response).agreement(design)


@dataclass(frozen=True)
class SimulatedCoverage:
    """Coverage of the sets at `confidence`; the truth is the reference map without privacy."""

    coverage: Coverage
    confidence: float


def supported_confidence(paths: int) -> float | None:
    """The confidence of which so many paths can speak: they must be able to leave one out."""
    return next((each for each in CONFIDENCES if supports(paths, each)), None)


def coverage_of(
    bench: Bench, scored: Scored, report: Report | None = None, releases: int = RELEASES
) -> SimulatedCoverage:
    """Release the reference data again and again in simulation, and compare with their map without privacy.

    The mechanism's randomness is repeated; the truth is the reference baseline, which has errors of its own.
    `report(fraction, text)` may raise to cancel. Raise `WorkflowError` for a design with a single path.
    """
    tell = report or (lambda fraction, text: None)
    design = scored.design
    confidence = supported_confidence(design.paths)
    if confidence is None:
        raise WorkflowError("one path cannot say what is sure: coverage needs at least two paths.")
    world = bench.scene(scored.response).world
    prepared = mechanism_of(design).prepare(design, world.facts, world.records)
    entropy, done = SimulationEntropy(SEED), 0
    up = bench.result.baseline == (world.direction == "above")
    truth = world.level + np.where(up, 1.0, -1.0)  # only the side of the threshold counts

    def one() -> tuple[Floats, Floats]:
        nonlocal done
        tell(done / releases, f"Simulated release {done + 1} of {releases}")
        done += 1
        paths = draw_release(prepared, entropy, simulation=True).shifted(world.offset).paths
        return truth, smooth(world.facts.lattice, paths, design.smoothing)

    found = simulated_coverage(one, world.level, confidence, releases, world.direction)
    return SimulatedCoverage(found, confidence)


@dataclass(frozen=True)
class Varied:
    """One value of a parameter: metres, a positive number or a number of paths, by the parameter's kind."""

    value: float
    epsilon: float  # upper bound; `inf` where no finite one exists
    agreement: float  # expected IoU with the reference baseline
    spread: float  # its deviation over simulated releases


@dataclass(frozen=True)
class Variation:
    """One parameter varied around `current`, values increasing."""

    parameter: Parameter
    current: float
    points: tuple[Varied, ...]


def sweep(bench: Bench, scored: Scored, report: Report | None = None) -> tuple[Variation, ...]:
    """Vary each parameter of the design's mechanism by up to a factor of four either way, the others held.

    Every value is priced by its lowest proved bound, as a release of it would be, and compared on common
    random numbers. `report(fraction, text)` may raise to cancel.
    """
    tell = report or (lambda fraction, text: None)
    design, mechanism = scored.design, mechanism_of(scored.design)
    values = {parameter: _values(design, parameter) for parameter in mechanism.parameters}
    total, done, found = sum(len(each) for each in values.values()), 0, []
    for parameter, asked in values.items():
        points = []
        for value in asked:
            name = "the number of paths" if parameter.kind == "count" else f"the {parameter.name}"
            tell(done / total, f"Varying {name.replace('_', ' ')}")
            varied = mechanism.varied(design, parameter.name, value)
            seen = bench.agreement(varied, scored.response)
            points.append(Varied(value, bench.price(varied)[1], seen.iou, seen.iou_sd))
            done += 1
        found.append(Variation(parameter, float(getattr(design, parameter.name)), tuple(points)))
    return tuple(found)


def _values(design: Design, parameter: Parameter) -> tuple[float, ...]:
    current = getattr(design, parameter.name)
    if parameter.kind == "count":
        free = MANY if mechanism_of(design).free_paths else ()
        near = {round(current / 2), current, min(2 * current, MOST_PATHS)} if current > FEW[-1] else {current}
        return tuple(sorted(float(value) for value in {*FEW, *near, *free} if value >= 1))
    return tuple(factor * current for factor in FACTORS)
