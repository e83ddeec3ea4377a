"""The parameter sweep: what each parameter of a design does to epsilon and to the agreement."""

from __future__ import annotations

from dataclasses import dataclass

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.terms import Parameter
from hexcursion.progress import Report
from hexcursion.search.exploration.scorer import Bench
from hexcursion.search.problem.task import Scored

FACTORS = (0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0)
FEW = (1, 2, 3, 5, 10)
MANY = (30, 100)  # numbers of paths to look at where they cost nothing
MOST_PATHS = 1000  # as many as settings allow


@dataclass(frozen=True)
class Varied:
    """One value of a parameter.

    Parameters
    ----------
    value
        Metres, a positive number, or a number of paths, by the parameter's kind.
    epsilon
        Upper bound, `inf` where no finite one exists.
    agreement, spread
        Expected IoU with the reference baseline, and its deviation over simulated releases.
    """

    value: float
    epsilon: float
    agreement: float
    spread: float


@dataclass(frozen=True)
class Variation:
    """One parameter varied around `current`, values increasing."""

    parameter: Parameter
    current: float
    points: tuple[Varied, ...]


def sweep(bench: Bench, scored: Scored, report: Report | None = None) -> tuple[Variation, ...]:
    """Vary each parameter of the design's mechanism by up to a factor of four either way, the others held.

    Every value is priced by the proved bound that is the lowest there, as a release of it would be. Values
    are compared on common random numbers. `report(fraction, text)` may raise to cancel.
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
