"""A comparison on paper: its lines in words, its table as CSV and its figure as SVG."""

from __future__ import annotations

import csv
import io

from hexcursion.comparing.run import Comparison, Row
from hexcursion.words import ratio_words

COLUMNS = (
    "mechanism", "protects", "epsilon", "delta", "unit", "n", "cells", "basis", "agreement",
    "agreement_sd", "area_error", "right", "bce", "calibration_error", "design", "seconds", "reason",
)  # fmt: skip
MARKS = "osD^vPX*"


def lines(found: Comparison) -> list[str]:
    """What is printed: the banner, one block for each protection, and a recommendation in words."""
    said = [
        f"{found.n:,} records of unit {found.unit}, {found.cells:,} hexagons, delta {found.delta:g}; figures "
        f"on {found.basis}."
    ]
    if found.banner:
        said += ["", found.banner]
    for protects in found.protections:
        said += ["", f"Hiding {protects}"]
        said += [f"  {_line(row)}" for row in found.under(protects)]
    return [*said, "", *found.recommendations()]


def _line(row: Row) -> str:
    start = f"{row.title:<28} epsilon {row.epsilon:<5g}"
    if row.best is None:
        return f"{start} {row.reason}"
    made = row.best.utility
    return (
        f"{start} agreement {ratio_words(made.agreement)} (deviation {made.agreement_sd:.2f}), "
        f"area error {made.area_error:.0%}, calibration error {row.calibration:.2f}"
    )


def csv_text(found: Comparison) -> str:
    """One row for each mechanism and epsilon; figures are empty where no design meets the budget."""
    with io.StringIO(newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for row in found.rows:
            made = None if row.best is None else row.best.utility
            figures = (
                ("",) * 6
                if made is None
                else (
                    made.agreement,
                    made.agreement_sd,
                    made.area_error,
                    made.right,
                    made.bce,
                    row.calibration,
                )
            )
            table.writerow([
                row.mechanism, row.protects, row.epsilon, found.delta, found.unit, found.n, found.cells,
                found.basis, *figures, "" if row.best is None else row.best.design.to_mapping(),
                round(row.seconds, 3), row.reason,
            ])  # fmt: skip
        return file.getvalue()


def svg_text(found: Comparison) -> str:
    """Expected agreement over epsilon with its deviation; protections stand in panels of their own."""
    # Only this figure needs the library, and every other command would wait for it.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    count = len(found.protections)
    figure = Figure(figsize=(5.6 * count, 4.2), layout="constrained")
    FigureCanvasSVG(figure)
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for panel, protects in zip(panels, found.protections, strict=True):
        rows = [row for row in found.under(protects) if row.best is not None]
        for number, name in enumerate(dict.fromkeys(row.mechanism for row in rows)):
            own = [row for row in rows if row.mechanism == name]
            reached = [row.best.utility for row in own if row.best is not None]
            panel.errorbar(
                [row.epsilon for row in own],
                [each.agreement for each in reached],
                [each.agreement_sd for each in reached],
                marker=MARKS[number % len(MARKS)],
                capsize=3,
                label=own[0].title,
            )
        panel.set_xscale("log")
        panel.set_ylim(0.0, 1.0)
        panel.set_xlabel(f"epsilon at delta {found.delta:g}")
        panel.set_title(f"Hiding {protects}", fontsize=10)
        if rows:
            panel.legend(fontsize=8, loc="lower right")
    panels[0].set_ylabel("expected agreement (IoU)")
    if found.banner:
        figure.suptitle("Different protections: no ranking across the panels", fontsize=10)
    with io.StringIO() as file:
        figure.savefig(file, format="svg")
        return file.getvalue()
