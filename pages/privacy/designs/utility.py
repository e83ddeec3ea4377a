"""What a design is expected to achieve, in words: agreement, area and hexagons, always the same three."""

from __future__ import annotations

import math

from hexcursion.words import off_words, ratio_words, right_words


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
    said = [f"expected agreement {ratio_words(math.nan if agreement is None else agreement)}"]
    if area_error is not None and math.isfinite(area_error):
        said.append(f"area {off_words(area_error)}")
    if right is not None and math.isfinite(right):
        said.append(f"{right_words(right)} of the shown hexagons right")
    return ", ".join(said)
