"""Around a design: what each of its parameters does to epsilon and to the agreement, the others held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from workflow.bench import Bench
from workflow.evaluation import Evaluator
from workflow.scored import Scored
from workflow.statistics_search import PATHS

PARAMETERS = ("lengthscale", "ridge", "scale", "paths")
FACTORS = (0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0)
FEW = (1, 2, 3, 5, 10)
MOST_PATHS = 1000  # as many as settings allow
Report = Callable[[float, str], None]


@dataclass(frozen=True)
class Varied:
    """One value of a parameter: epsilon is an upper bound, `inf` where no finite one exists.

    value      metres, noise-to-signal ratio, response units, or a number of paths
    agreement  expected IoU with the reference baseline; spread  its deviation over simulated releases
    """

    value: float
    epsilon: float
    agreement: float
    spread: float


@dataclass(frozen=True)
class Variation:
    """One parameter varied around `current`, values increasing."""

    parameter: str
    current: float
    points: tuple[Varied, ...]


def around(bench: Bench, scored: Scored, report: Report | None = None) -> tuple[Variation, ...]:
    """Vary lengthscale, ridge, scale and paths, in this order, by up to a factor of four either way.

    For noisy cell statistics `scale` stands for their noise. Every value is priced by the proved bound that
    is the lowest there, as a release of it would be. Values are compared on common random numbers; those of
    the paths on a set of draws of their own. `report(fraction, text)` may raise to cancel.
    """
    tell = report or (lambda fraction, text: None)
    design, response = scored.design, scored.response
    values = {name: _values(design, name) for name in PARAMETERS}
    total = sum(len(each) for each in values.values())
    done, found = 0, []
    for name in PARAMETERS:
        judge = _judge(bench, scored, name, values)
        points = []
        for value in values[name]:
            tell(done / total, f"Varying {'the number of paths' if name == 'paths' else 'the ' + name}")
            varied = _with(design, name, value)
            epsilon = bench.price(varied, response)[1]
            points.append(Varied(value, epsilon, *bench.agreement(varied, response, judge)))
            done += 1
        found.append(Variation(name, _value(design, name), tuple(points)))
    return tuple(found)


def _judge(bench: Bench, scored: Scored, name: str, values: dict[str, tuple[float, ...]]) -> Evaluator:
    """The search's own judge; for the paths one with draws enough for the largest number."""
    sampled = scored.design.mechanism != NOISY_CELL_STATISTICS
    if sampled and (name == "paths" or scored.design.paths != bench.project.settings.paths):
        most = int(max(values["paths"]) if name == "paths" else scored.design.paths)
        return bench.judge(scored.response, most)
    return bench.judge(scored.response)


def _values(design: Design, name: str) -> tuple[float, ...]:
    current = _value(design, name)
    if name == "paths":
        free = (30, PATHS) if design.mechanism == NOISY_CELL_STATISTICS else ()
        near = {round(current / 2), current, min(2 * current, MOST_PATHS)} if current > FEW[-1] else {current}
        return tuple(sorted(float(value) for value in {*FEW, *near, *free} if value >= 1))
    return tuple(factor * current for factor in FACTORS)


def _value(design: Design, name: str) -> float:
    if name == "scale" and design.mechanism == NOISY_CELL_STATISTICS:
        return design.statistic_noise
    return float(getattr(design, name))


def _with(design: Design, name: str, value: float) -> Design:
    """The design with one parameter changed; its prior noise keeps its share of the released variance."""
    if name == "paths":
        return replace(design, paths=int(value))
    if name == "lengthscale":
        return replace(design, lengthscale=value)
    if name == "ridge":
        return replace(design, ridge=value)
    if design.mechanism == NOISY_CELL_STATISTICS:
        return replace(design, statistic_noise=value)
    return replace(design, scale=value, noise_scale=design.noise_scale * value / design.scale)
