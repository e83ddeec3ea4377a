"""Which sets a statement names, and why others are left out."""

from __future__ import annotations

import pytest

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.bundle.statement.build import products_block

TOO_FEW = "Inner and outer sets and 'cannot tell' at confidence 0.9 need 10 paths; this release has {}."
TOO_MANY = "Dissolved regions of single paths are written for the first {} paths."


@pytest.mark.parametrize(
    ("paths", "draws", "left_out", "confidence"),
    [
        (8, None, [TOO_FEW.format(8)], None),
        (9, None, [TOO_FEW.format(9), TOO_MANY.format(8)], None),
        (10, None, [TOO_MANY.format(8)], 0.9),
        (1, 10, [], 0.9),
    ],
)
def test_joint_sets_need_ten_draws(
    paths: int, draws: int | None, left_out: list[str], confidence: float | None
) -> None:
    design = PosteriorSamplingDesign("car", 1_500.0, 2.0, 0.5, paths=paths)
    block = products_block(design, draws, ranked=True)
    assert block["left_out"] == left_out
    assert block["confidence"] == confidence
    assert block["vote_step"] == 1.0 / paths
    assert block["excursion_function"] is (confidence is not None)
    assert ("inner" in block["meanings"]) is (confidence is not None)
    if confidence is not None:
        assert ("of 10 draws of the field" in block["meanings"]["inner"]) is (draws is not None)
