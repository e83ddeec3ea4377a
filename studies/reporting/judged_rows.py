"""Rows of maps that records have judged: what each stated and reached, and summaries over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from dpgp_core.linalg import Floats
from dpgp_core.yardstick import TEMPER, Sides
from hexcursion.project.model import Project
from hexcursion.record import FEWEST_PROMISED
from studies.reporting.measures import calibration_error

CLEAR_GAIN = 0.02  # from which a stop, or advice against, was wrong
SOURCES = ("London", "Lucas", "LAQN")  # files that rows with a reference come from


@dataclass(frozen=True, eq=False)
class Row:
    """What the releases of one row stated and reached: means, and each judged hexagon's chances."""

    name: str
    records: int  # public number, of those released
    reference: bool
    stopped: bool
    figures: dict[str, float]
    told: Floats  # (M,) stated chances of judged hexagons, of all releases, before they are tempered
    truth: Floats  # (M,) chances of the same hexagons in the map without privacy
    before: float = np.nan  # share of records on the side shown, as expected before a release

    @property
    def group(self) -> str:
        """Its line in the summary."""
        size = (
            ">= 500" if self.records >= 500 else "150 to 499" if self.records >= FEWEST_PROMISED else "< 150"
        )
        return f"n {size}, {'a reference' if self.reference else 'none'}"


FIGURES = (
    "held", "right", "colour", "public", "mixed", "gain", "advice", "told", "sure", "orange", "came", "finds",
    "found", "ECE", "IoU", "mixed IoU",
)  # fmt: skip
TOLD = {"right": ("told", "sure"), "orange": ("orange", "came"), "finds": ("finds", "found")}
LEGEND = """held: share of the asking records in judged hexagons. right, colour, public, mixed: share of them
on the side that the map shows; the better map of one colour; the public map; the release of shuffled values.
gain: right less the better of colour and public. advice: the same by the released records themselves.
told/sure: told that records are right, and so by the map without privacy. orange/came, finds/found: told of
hexagons shown above, and so. ECE: of the chances told. IoU, and of shuffled values: with that map."""


def together(rows: Sequence[Row]) -> Iterator[str]:
    """Compare stated figures with reached ones, by number of records and reference."""
    yield "Told less came: mean distance, most too high; of right, orange, finds. Then ECE, least held."
    for group in sorted({row.group for row in rows}):
        mine = [row for row in rows if row.group == group]
        parts = []
        for stated, came in TOLD.values():
            gap = np.array([row.figures[stated] - row.figures[came] for row in mine])
            parts.append(f"{np.nanmean(np.abs(gap)):.3f} {np.nanmax(gap):+.3f}")
        error = np.mean([row.figures["ECE"] for row in mine])
        held = np.nanmin([row.figures["held"] for row in mine])
        yield f"{group:26} ({len(mine):2} rows)  {';  '.join(parts)};  ECE {error:.3f};  held {held:.3f}"


def stops(rows: Sequence[Row]) -> Iterator[str]:
    """List the stops and the advice that were wrong, judged by the asking records."""
    stopped = [row for row in rows if row.stopped]
    gains = {row.name: row.figures["gain"] for row in stopped}
    false = {name: gain for name, gain in gains.items() if gain >= CLEAR_GAIN}
    lost = f", mean gain lost {np.mean(list(false.values())):.3f}" if false else ""
    yield f"Stopped {len(stopped)} of {len(rows)}, falsely {len(false)}{lost}: {'; '.join(false)}."
    poor = [row.name for row in rows if not row.stopped and row.figures["gain"] < 0]
    yield f"Passed although one colour or the public map is better: {'; '.join(poor)}."
    wrong = [row.name for row in rows if row.figures["advice"] < 0 and row.figures["gain"] >= CLEAR_GAIN]
    yield f"Wrong advice after the draw: {len(wrong)}{': ' if wrong else ''}{'; '.join(wrong)}."


def factors(rows: Sequence[Row]) -> Iterator[str]:
    """The factor on logits that calibrates the rows of other sources, with a published reference."""
    mine = [row for row in rows if row.reference]
    for source in SOURCES:
        training = [row for row in mine if source not in row.name]
        testing = [row for row in mine if source in row.name]
        if training and testing:
            multipliers = (1.0, TEMPER, likeliest_factor(training))
            errors = [
                np.mean([calibration_error(expit(factor * logit(row.told)), row.truth) for row in testing])
                for factor in multipliers
            ]
            figures = ", ".join(f"{error:.3f}" for error in errors)
            factor = f"others ask for {multipliers[2]:.2f} times logits"
            yield f"{source}: {factor}; ECE by 1, {TEMPER:g}, it: {figures}."
    if mine:
        yield f"All rows with a reference ask for {likeliest_factor(mine):.2f}."


def likeliest_factor(rows: Sequence[Row]) -> float:
    """The factor on logits that brings chances nearest to the map without privacy; rows weigh the same."""

    def distance(factor: float) -> float:
        total = 0.0
        for row in rows:
            chance = np.clip(expit(factor * logit(row.told)), 1e-9, 1 - 1e-9)
            total -= float(np.mean(row.truth * np.log(chance) + (1 - row.truth) * np.log1p(-chance)))
        return total

    return float(minimize_scalar(distance, bounds=(0.1, 2.0), method="bounded").x)


def sides_of(project: Project) -> Sides | None:
    """On which side of the threshold the private records are; None for answers, which have no side."""
    if project.answers is not None:
        return None
    placed = project.private.placed
    return Sides.of(placed.index, placed.value > project.settings.threshold, project.domain.size)
