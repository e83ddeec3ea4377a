"""The cutoff on exceedance probabilities: chosen to maximise expected agreement, free of any privacy cost."""

from __future__ import annotations

import numpy as np

from dpgp_core.excursion.sets import ROUNDING
from dpgp_core.linalg import Floats

OWN_CUTOFFS = tuple(round(0.01 * step, 2) for step in range(5, 96))
"""Cutoffs that a release may choose for itself: hundredths from 0.05 to 0.95."""


def cutoff_for_map(probability: Floats, shown: Floats) -> float:
    """Choose the cutoff on `probability` (N,) whose set is expected to agree best with an unknown map.

    `shown` (N,) is the probability that the map shows the cell inside. Of `OWN_CUTOFFS` the one with the
    largest expected intersection over expected union is returned; of equals the one nearest to 1/2.

    >>> cutoff_for_map(np.array([0.45, 0.4, 0.2]), np.array([0.9, 0.8, 0.1]))
    0.4
    """
    order = np.argsort(-probability, kind="stable")
    inside = np.searchsorted(-probability[order], ROUNDING - np.array(OWN_CUTOFFS), side="right")
    common = np.concatenate([[0.0], np.cumsum(shown[order])])[inside]
    union = inside + float(shown.sum()) - common
    ratio = np.round(common / np.maximum(union, 1e-12), 12)
    return OWN_CUTOFFS[int(np.lexsort((np.abs(np.array(OWN_CUTOFFS) - 0.5), -ratio))[0])]
