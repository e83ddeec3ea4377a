"""Probabilities and confidences as paintings: classes of 20 %, and tooltips that never round to certain."""

from __future__ import annotations

import numpy as np
import pytest

from geo.maps.painting import paint_shares, share_classes


def test_classes_and_tooltips_of_shares() -> None:
    shares = np.array([0.0, 0.2, 0.21, 0.999, 1.0])
    painted = paint_shares(shares, what="above 3", title="Probability", word="a probability of")
    assert painted.classes.tolist() == [0, 0, 1, 4, 4]
    assert [note.removeprefix("Released: above 3, a probability of ") for note in painted.notes] == [
        "0 %",
        "20 %",
        "21 %",
        "over 99 %",
        "100 %",
    ]
    with pytest.raises(ValueError, match="one number in"):
        paint_shares(np.array([1.2]), what="above 3", title="Probability", word="a probability of")


def test_a_share_at_a_limit_is_in_the_class_below_it_whatever_floats_make_of_it() -> None:
    """0.1 * 6 and 0.2 * 3 are a little above 0.6."""
    shares = np.array([0.0, 0.2, 0.1 * 6, 0.2 * 3, 0.6 + 1e-6, 0.8, 1.0])
    assert share_classes(shares).tolist() == [0, 0, 2, 2, 3, 3, 4]
