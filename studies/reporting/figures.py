"""The figures of the studies: which columns they draw, their points, and each as a self-contained SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

from studies.reporting.tables import Cell, StudyResult

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#4d4d4d")
"""Okabe and Ito's palette, apart for colour-blind readers, on a light ground."""
DARK_COLOURS = ("#56b4e9", "#e69f00", "#2fc49a", "#e3a3c9", "#4f8fff", "#f0e442", "#c4c4c4")
"""The same on a dark ground."""
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # second channel: series beyond colour
WIDTH, HEIGHT = 720, 430
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 34, 52

PUBLISHED_LINE: tuple[tuple[str, Cell], ...] = (("private ridges", "up to 5"),)
DomainName = Literal["region", "occupied"]
FamilyName = Literal["paper code", "cell records", "point records", "public prior mean"]
FAMILIES: dict[FamilyName, str] = {
    "paper code": "Published recipe, not proved",
    "cell records": "Cell records",
    "point records": "Point records",
    "public prior mean": "Point records with a public prior mean",
}
CONTESTED = (
    "LAQN NO2 2023",
    "Meuse lead",
    "Jura cadmium",
    "Plumes",
    "Generated city, 450,000 GBP",
    "London, 442,413 GBP",
    "London, 700,000 GBP",
)
DOMAINS: dict[DomainName, str] = {"region": "whole region", "occupied": "hexagons with a sale"}


@dataclass(frozen=True)
class Figure:
    """Lines of `ys` columns over an `x` column of one table, one series per value of `series` and column.

    Parameters
    ----------
    where
        rows to draw: (column, value) pairs
    ground
        a column drawn once, as a separate series
    diagonal
        draws y = x under this name
    x_title, y_title
        of the axes, with units; the columns' own names where empty
    """

    name: str
    table: str
    title: str
    x: str
    ys: tuple[str, ...]
    series: str = ""
    where: tuple[tuple[str, Cell], ...] = ()
    log_x: bool = False
    log_y: bool = False
    ground: str = ""
    diagonal: str = ""
    x_title: str = ""
    y_title: str = ""

    @property
    def titles(self) -> tuple[str, str]:
        """Of the x and the y axis."""
        return self.x_title or self.x, self.y_title or self.ys[0]


@dataclass(frozen=True)
class Point:
    """One finite point of a figure."""

    x: float
    y: float
    series: str


def slug(title: str) -> str:
    """A title as a name: lower-case letters and digits, the rest hyphens."""
    return "-".join(filter(None, re.split(r"[^a-z0-9]+", title.lower())))


def _london(domain: DomainName, family: FamilyName) -> Figure:
    return Figure(
        f"{domain}-{family}".replace(" ", "-"), "iou", f"{FAMILIES[family]}, {DOMAINS[domain]}", "epsilon",
        ("IoU",), "mechanism", (("domain", domain), ("family", family)), log_x=True,
        ground="free map", x_title="epsilon (log scale)", y_title="IoU with the map without privacy",
    )  # fmt: skip


FIGURES: dict[str, tuple[Figure, ...]] = {
    "membership": (
        Figure("auc", "sweep", "Attack success against the ridge, one path", "ridge", ("AUC",), "scale",
               log_x=True, x_title="ridge r", y_title="AUC (0.5 is chance)"),
        Figure("bound", "sweep", "Proved bound against the ridge, one path", "ridge", ("bound",), "scale",
               log_x=True, log_y=True, x_title="ridge r", y_title="proved epsilon"),
        Figure("excess", "sweep", "Excess true positives at 1 % false positives", "ridge",
               ("excess TPR at 1 %",), "scale", log_x=True, x_title="ridge r",
               y_title="true-positive rate above 1 %"),
        Figure("paths", "composition", "Attack success against the number of paths", "paths",
               ("AUC, mean only", "AUC, combined"), log_x=True, x_title="released paths L",
               y_title="AUC (0.5 is chance)"),
        Figure("paths-bound", "composition", "Epsilon grows more slowly than the number of paths", "paths",
               ("empirical epsilon", "bound", "L times the bound of one path"), log_x=True, log_y=True,
               x_title="released paths L", y_title="epsilon"),
        Figure("roc", "roc", "ROC at ridge 0.1, scale 0.5, three paths", "false-positive rate",
               ("true-positive rate",), "statistic", (("covariates", "halves"),)),
    ),
    "reconstruction": (
        Figure("bound", "reconstruction", "Right guesses of the last record against the proved bound",
               "bound", ("success, lower limit",), "design", x_title="proved bound on right guesses",
               y_title="right guesses, lower limit", diagonal="equality: above it is an alarm"),
        *(Figure(slug(asked), "reconstruction", f"Right guesses of {words} against epsilon", "epsilon",
                 ("success", "bound"), "design", (("guessed", asked),), log_x=True,
                 x_title="epsilon (log scale)", y_title="share of right guesses")
          for asked, words in (("place and yes or no", "place and answer"),
                               ("value within .1", "the value"))),
    ),
    "audit": (
        Figure("audit", "audit", "Lower bounds from the attack against the proved bounds, four deltas each",
               "proved epsilon", ("empirical epsilon",), "design",
               y_title="empirical epsilon, lower limit",
               diagonal="equality: above it is an alarm"),
    ),
    "line": (
        Figure("noise", "noise", "Agreement with the truth against the noise", "M_xi",
               ("median IoU, unconstrained", "median one-path IoU"), "", PUBLISHED_LINE,
               x_title="observation noise M_xi", y_title="IoU with the true set"),
        Figure("size", "size", "Agreement with the truth against the number of records", "n",
               ("median IoU, unconstrained", "median one-path IoU"), "", PUBLISHED_LINE, log_x=True,
               x_title="records n", y_title="IoU with the true set"),
    ),
    "plane": (
        Figure("plumes", "plumes", "A released path under either bound, ridges up to 8", "M_xi",
               ("mean one-path IoU",), "bound", (("private ridges", "up to 8"),),
               x_title="observation noise M_xi", y_title="IoU with the true set"),
        Figure("plumes-limit", "plumes", "A released path under either bound, ridges up to 300", "M_xi",
               ("mean one-path IoU",), "bound", (("private ridges", "up to 300"),),
               x_title="observation noise M_xi", y_title="IoU with the true set"),
    ),
    "leaderboard": (
        Figure("leaderboard-limit", "worlds-of-the-prior", "Worlds of the prior, above what none can beat",
               "epsilon", ("left by records",), "mechanism", log_x=True, ground="limit",
               x_title="epsilon (log scale)", y_title="share of the field's variance left"),
        *(
            Figure(f"leaderboard-{number}", slug(data), f"{data}, hiding {hides}", "epsilon", ("right",),
                   "mechanism", (("data", data), ("hides", hides)), log_x=True,
                   x_title="epsilon (log scale)", y_title="records on the side shown")
            for number, (data, hides) in enumerate(
                (data, hides) for data in CONTESTED for hides in ("values and places", "values")
            )
        ),
    ),
    "london": (
        *(_london(domain, family) for domain in DOMAINS
          for family in FAMILIES),
    ),
}  # fmt: skip


def points(figure: Figure, result: StudyResult) -> list[Point]:
    """The figure's finite points; empty if the result lacks its table or rows."""
    table = next((table for table in result.tables if table.name == figure.table), None)
    result_points: list[Point] = []
    for row in table.records() if table else ():
        if any(row[column] != value for column, value in figure.where):
            continue
        for y in figure.ys:
            place = (_number(row[figure.x], figure.log_x), _number(row[y], figure.log_y))
            if place[0] is None or place[1] is None:
                continue
            result_points.append(Point(place[0], place[1], _series(figure, row, y)))
        if figure.ground:
            x, level = _number(row[figure.x], figure.log_x), _number(row[figure.ground], figure.log_y)
            if x is not None and level is not None:
                result_points.append(Point(x, level, figure.ground))
    if figure.diagonal and result_points:
        ends = min(point.x for point in result_points), max(point.x for point in result_points)
        result_points += [Point(end, end, figure.diagonal) for end in ends]
    return list(dict.fromkeys(result_points))


def svg(figure: Figure, figure_points: Sequence[Point]) -> str:
    """The figure as SVG text with axes, units in their titles and a legend; lines also differ in dashes."""
    xs = _Axis.over([p.x for p in figure_points], figure.log_x, LEFT, WIDTH - RIGHT)
    ys = _Axis.over([p.y for p in figure_points], figure.log_y, HEIGHT - BOTTOM, TOP)
    names = list(dict.fromkeys(point.series for point in figure_points))
    height = HEIGHT + 20 * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="#222"><title>{escape(figure.title)}</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        f'<text x="{LEFT}" y="20" font-weight="bold">{escape(figure.title)}</text>'
    ]
    parts += _frame(figure, xs, ys)
    for number, name in enumerate(names):
        style = _Style(COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)])
        places = [(xs.at(p.x), ys.at(p.y)) for p in figure_points if p.series == name]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke-width="1.8" {style.stroke}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{style.colour}"/>' for x, y in places]
        row = HEIGHT + 14 + 20 * number
        parts.append(f'<path d="M{LEFT} {row - 4}h26" stroke-width="3" {style.stroke}/>')
        parts.append(f'<text x="{LEFT + 34}" y="{row}">{escape(name)}</text>')
    return "".join([*parts, "</svg>\n"])


@dataclass(frozen=True)
class _Style:
    """How one series is drawn: colour and dashes."""

    colour: str
    dash: str

    @property
    def stroke(self) -> str:
        return f'stroke="{self.colour}" stroke-dasharray="{self.dash}"'


def _frame(figure: Figure, xs: _Axis, ys: _Axis) -> list[str]:
    """Grid lines, their labels, and the titles of both axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    across, upwards = figure.titles
    parts = [
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(15 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(upwards)}</text>",
    ]
    for value, label in xs.ticks():
        at = xs.at(value)
        parts.append(f'<path d="M{at:.1f} {TOP}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{label}</text>')
    for value, label in ys.ticks():
        at = ys.at(value)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    return parts


@dataclass(frozen=True)
class _Axis:
    """A linear or logarithmic axis from value to SVG unit."""

    low: float
    high: float
    log: bool
    start: float
    end: float

    @staticmethod
    def over(values: Sequence[float], log: bool, start: float, end: float) -> _Axis:
        low, high = (min(values), max(values)) if values else (1.0, 2.0)
        if high <= low:
            low, high = (low / 2.0, high * 2.0) if log else (low - 0.5, high + 0.5)
        room = 0.0 if log else 0.04 * (high - low)
        return _Axis(low - room, high + room, log, start, end)

    def at(self, value: float) -> float:
        low, high, value = (
            map(math.log, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        )
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values inside the axis, with their labels."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if len(powers) < 4 else (1,)
            values = [step * 10.0**power for power in powers for step in steps]
        else:
            size = 10.0 ** math.floor(math.log10((self.high - self.low) / 4.0))
            step = next(s * size for s in (1, 2, 5, 10) if (self.high - self.low) / (s * size) <= 7)
            first = math.ceil(self.low / step)
            values = [step * k for k in range(first, math.floor(self.high / step) + 1)]
        return [(value, f"{value:g}") for value in values if self.low <= value <= self.high]


def _series(figure: Figure, row: dict[str, Cell], y: str) -> str:
    if not figure.series:
        return y
    label = f"{figure.series} {row[figure.series]}" if figure.series == "scale" else str(row[figure.series])
    return label if len(figure.ys) == 1 else f"{label}: {y}"


def _number(cell: Cell, log: bool) -> float | None:
    """A finite number, positive on a log axis; None where nothing is drawn."""
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) and (value > 0.0 or not log) else None
