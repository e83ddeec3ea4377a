"""Pictures of docs/experiments.md: each is drawn by the command that measured what it shows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from studies.reporting.figures import Figure, Point, svg

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def draw_lines(
    name: str,
    title: str,
    axes: tuple[str, str],
    points: Iterable[tuple[float, float, str]],
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Draw points (x, y, series) as lines into docs/pictures/NAME.svg; `axes` are titles with units."""
    figure = Figure(name, "", title, *axes[:1], axes[1:], log_x=log_x, log_y=log_y)
    drawn = [Point(float(x), float(y), series) for x, y, series in points]
    (PICTURES / f"{name}.svg").write_text(svg(figure, drawn), encoding="utf-8")
