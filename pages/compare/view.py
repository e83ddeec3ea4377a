"""What the Compare screen shows of a comparison: dots, rows and words, without Streamlit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dpgp_core.mechanisms.terms import Protects
from hexcursion.comparing.run import Comparison, Row
from hexcursion.door.pipeline import compare_settings
from hexcursion.errors import Report
from hexcursion.project.model import Project
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import ExecutorName
from hexcursion.words import design_words, spread_words
from pages.shared.jobs import Job
from pages.shared.subprocess_job import in_subprocess, workers


@dataclass(frozen=True)
class Measure:
    """One figure that is compared: its name on the axis, its value in a row, and whether more is better."""

    title: str
    value: Callable[[Row], float]
    spread: Callable[[Row], float]
    more: bool


MeasureName = Literal["agreement", "area", "bce", "calibration"]

MEASURES: dict[MeasureName, Measure] = {
    "agreement": Measure(
        "expected agreement (IoU)",
        lambda row: _of(row, lambda made: made.agreement),
        lambda row: _of(row, lambda made: made.agreement_sd),
        True,
    ),
    "area": Measure(
        "error of the area (share of the true area)",
        lambda row: _of(row, lambda made: made.area_error), lambda row: 0.0, False,
    ),
    "bce": Measure(
        "cross-entropy on held-out hexagons (BCE)",
        lambda row: _of(row, lambda made: made.bce), lambda row: 0.0, False,
    ),
    "calibration": Measure(
        "calibration error of the probabilities", lambda row: row.calibration, lambda row: 0.0, False
    ),
}  # fmt: skip


def _of(row: Row, look: Callable[[Any], float]) -> float:
    return math.nan if row.best is None else look(row.best.utility)


def dots(found: Comparison, protects: Protects, measure: MeasureName) -> list[dict[str, Any]]:
    """One dot for each mechanism and epsilon of a protection that has a figure; `number` is its row's."""
    asked = MEASURES[measure]
    made = []
    for number, row in enumerate(found.rows):
        value = asked.value(row)
        if row.protects != protects or row.best is None or not math.isfinite(value):
            continue
        spread = asked.spread(row)
        made.append({
            "number": number, "epsilon": row.epsilon, "value": value, "low": max(0.0, value - spread),
            "high": value + spread, "mechanism": row.title, "design": design_words(row.best.design),
        })  # fmt: skip
    return made


def table(found: Comparison, protects: Protects) -> list[dict[str, str]]:
    """The rows of one protection in words."""
    return [_line(row) for row in found.under(protects)]


def _line(row: Row) -> dict[str, str]:
    start = {"mechanism": row.title, "ε": f"{row.epsilon:g}"}
    if row.best is None:
        return {**start, "design": row.reason}
    made = row.best.utility
    return {
        **start,
        "agreement": spread_words(made.agreement, made.agreement_sd),
        "area error": _share(made.area_error),
        "BCE": "–" if math.isnan(made.bce) else f"{made.bce:.2f}",
        "calibration error": f"{row.calibration:.2f}",
        "seconds": f"{row.seconds:.1f}",
        "design": design_words(row.best.design),
    }


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def compare_job(
    settings: ReleaseSettings, names: tuple[str, ...], epsilons: tuple[float, ...]
) -> Job[tuple[Project, Comparison]]:
    """Load and compare in a process of its own."""
    return Job(lambda report: in_subprocess(report, load_and_compare, settings, names, epsilons))


def load_and_compare(
    report: Report, settings: ReleaseSettings, names: tuple[str, ...], epsilons: tuple[float, ...]
) -> tuple[Project, Comparison]:
    """Picklable, for a process of its own; nothing is drawn from private records."""
    several = workers()
    name: ExecutorName = "processes" if several > 1 else "serial"
    name = "dask" if settings.executor == "dask" else name
    return compare_settings(settings, names, epsilons, report, name, several)
