"""The finding of a figure, as one sentence computed from its points."""

from __future__ import annotations

from collections.abc import Sequence

from dpgp_core.numbers import significant
from studies.reporting.figures import Figure, Point, points
from studies.reporting.tables import StudyResult

BROKEN = "broken "  # prefix of the designs that an audit breaks on purpose
LEVEL = 0.02  # share of the first value below which a change does not count


def finding(figure: Figure, result: StudyResult) -> str:
    """The sentence; "" for a figure without points."""
    figure_points = points(figure, result)
    if not figure_points:
        return ""
    if figure.diagonal:
        return _below(figure_points, figure.diagonal)
    if figure.ground:
        return _beside(figure_points, figure.ground)
    return _trend(figure, figure_points)


def _below(figure_points: Sequence[Point], diagonal: str) -> str:
    """Whether an honest design is caught, and how many of the deliberately broken ones are."""
    attacks = [point for point in figure_points if point.series != diagonal]
    honest = [point for point in attacks if not point.series.startswith(BROKEN)]
    above = sum(point.y > point.x for point in honest)
    if above:
        return f"{above:,} of {len(honest):,} attacks show more than the proof admits: that is an alarm."
    verdict = f"None of {len(honest):,} attacks shows more than the proof admits"
    broken = {point.series for point in attacks} - {point.series for point in honest}
    caught = {point.series for point in attacks if point.series in broken and point.y > point.x}
    if not broken:
        return f"{verdict}."
    return f"{verdict}; of {len(broken):,} designs broken on purpose {len(caught):,} are caught."


def _beside(figure_points: Sequence[Point], ground: str) -> str:
    """Which series first agrees better than public data alone, or which one comes closest."""
    level = {point.x: point.y for point in figure_points if point.series == ground}
    mechanisms = [point for point in figure_points if point.series != ground]
    if not mechanisms or not level:
        return ""
    better = [point for point in mechanisms if point.x in level and point.y > level[point.x]]
    alone = f"public data alone ({max(level.values()):.3f})"
    if better:
        first = min(better, key=lambda point: (point.x, -point.y))
        return f"From epsilon {first.x:g} on {first.series} reaches {first.y:.3f}, more than {alone}."
    best = max(mechanisms, key=lambda point: point.y)
    closest = f"{best.series} comes closest with {best.y:.3f}, at epsilon {best.x:g}"
    return f"Nothing here agrees better than {alone}; {closest}."


def _trend(figure: Figure, figure_points: Sequence[Point]) -> str:
    """How far each series goes from the smallest to the largest x, and which one ends highest."""
    ends: dict[str, tuple[Point, Point]] = {}
    for name in dict.fromkeys(point.series for point in figure_points):
        series = sorted((point for point in figure_points if point.series == name), key=lambda point: point.x)
        ends[name] = series[0], series[-1]
    directions = {_direction(first.y, last.y) for first, last in ends.values()}
    x, y = figure.titles
    lowest, highest = min(point.x for point in figure_points), max(point.x for point in figure_points)
    how = directions.pop() if len(directions) == 1 else "changes"
    starts = [first.y for first, _ in ends.values()]
    stops = [last.y for _, last in ends.values()]
    ways = f"{how} from {_span(starts)} to {_span(stops)}"
    sentence = f"As {x} goes from {lowest:,.4g} to {highest:,.4g}, {y} {ways}"
    if len(ends) == 1:
        return f"{sentence}."
    top = max(ends, key=lambda name: ends[name][1].y)
    return f"{sentence}; {top} ends highest."


def _direction(first: float, last: float) -> str:
    if abs(last - first) <= LEVEL * max(abs(first), 1e-9):
        return "hardly changes,"
    return "rises" if last > first else "falls"


def _span(values: Sequence[float]) -> str:
    low, high = significant(min(values), 3), significant(max(values), 3)
    return low if low == high else f"between {low} and {high}"
