"""Probabilities and confidences as paintings: classes of 20 %, and tooltips that never round to certain."""

from __future__ import annotations

import numpy as np
import pytest

from geo.maps.shares import paint_shares


def test_classes_and_tooltips_of_shares() -> None:
    shares = np.array([0.0, 0.2, 0.21, 0.999, 1.0])
    painted = paint_shares(shares, what="above 3", title="Probability", word="a probability of")
    assert painted.classes.tolist() == [0, 0, 1, 4, 4]
    assert [note.removeprefix("Released: above 3, a probability of ") for note in painted.notes] == [
        "0 %", "20 %", "21 %", "over 99 %", "100 %"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="one number in"):
        paint_shares(np.array([1.2]), what="above 3", title="Probability", word="a probability of")
