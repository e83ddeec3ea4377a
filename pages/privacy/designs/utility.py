"""What a design is expected to achieve, in words: agreement, area and hexagons, always the same three."""

from __future__ import annotations

import math


def expected_words(agreement: float | None, area_error: float | None, right: float | None) -> str:
    """The three figures in one line; what is not known is left out.

    Parameters
    ----------
    agreement
        Expected IoU with the map without privacy; None where that map has one side only.
    area_error
        Expected error of the region's area, over the true area.
    right
        Expected share of the shown hexagons that are right.
    """
    known = agreement is not None and math.isfinite(agreement)
    said = [f"expected agreement {agreement:.2f}" if known else "expected agreement undefined"]
    if area_error is not None and math.isfinite(area_error):
        said.append(f"area off by {math.ceil(100 * area_error):.0f} %")
    if right is not None and math.isfinite(right):
        said.append(f"{math.floor(100 * right):.0f} % of the shown hexagons right")
    return ", ".join(said)
