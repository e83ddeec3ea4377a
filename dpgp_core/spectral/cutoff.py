"""The cutoff on exceedance probabilities: chosen to maximise expected agreement, free of any privacy cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion.scores import ious
from dpgp_core.excursion.sets import ROUNDING
from dpgp_core.linalg.numerics import Floats

Bools = NDArray[np.bool_]

CUTOFFS = tuple(round(0.05 * step, 2) for step in range(4, 17))
"""Cutoffs tried: 0.2 to 0.8."""

OWN_CUTOFFS = tuple(round(0.01 * step, 2) for step in range(5, 96))
"""Cutoffs that a release may choose for itself: hundredths from 0.05 to 0.95."""


@dataclass(frozen=True)
class CutoffScore:
    """A cutoff and what it achieves: mean IoU with the baseline, its standard deviation, and mean area error.

    Parameters
    ----------
    area_error
        mean of (cells inside - cells of the baseline)/(cells of the baseline); inf for an empty one
    """

    cutoff: float
    iou: float
    iou_sd: float
    area_error: float


def score_cutoffs(
    probability: Floats, baseline: Bools, cutoffs: tuple[float, ...] = CUTOFFS
) -> tuple[CutoffScore, ...]:
    """Every cutoff's agreement over simulated releases.

    Parameters
    ----------
    probability : ndarray, shape (R, N)
        Exceedance probabilities of R simulated releases.
    baseline : ndarray of bool, shape (N,)
        The set to agree with, of reference data.
    """
    found = []
    area = int(np.count_nonzero(baseline))
    for cutoff in cutoffs:
        sets = probability >= cutoff
        values = ious(sets, baseline)
        spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
        error = float((sets.sum(axis=1) / area - 1.0).mean()) if area else float("inf")
        found.append(CutoffScore(cutoff, float(values.mean()), spread, error))
    return tuple(found)


def best_cutoff(scores: tuple[CutoffScore, ...]) -> CutoffScore:
    """The best by mean IoU, averaged with its neighbours so that chance decides less; ties go towards 1/2.

    An agreement that is undefined counts as none.
    """
    means = np.nan_to_num(np.array([score.iou for score in scores]), nan=0.0)
    padded = np.concatenate([means[:1], means, means[-1:]])
    smooth = (padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0
    order = sorted(range(len(scores)), key=lambda k: (-round(smooth[k], 6), abs(scores[k].cutoff - 0.5)))
    return scores[order[0]]


def cutoff_for_map(probability: Floats, shown: Floats) -> float:
    """The cutoff on `probability` whose set is expected to agree best with a map that is not known.

    Parameters
    ----------
    probability : ndarray, shape (N,)
        Exceedance probabilities of one release, which are cut.
    shown : ndarray, shape (N,)
        Probability that the map to be reached shows the cell inside.

    Returns
    -------
    float
        Of `OWN_CUTOFFS` the one with the largest expected intersection over expected union; of those that are
        level the one nearest to 1/2.

    Examples
    --------
    >>> cutoff_for_map(np.array([0.45, 0.4, 0.2]), np.array([0.9, 0.8, 0.1]))
    0.4
    """
    order = np.argsort(-probability, kind="stable")
    inside = np.searchsorted(-probability[order], ROUNDING - np.array(OWN_CUTOFFS), side="right")
    common = np.concatenate([[0.0], np.cumsum(shown[order])])[inside]
    union = inside + float(shown.sum()) - common
    ratio = np.round(common / np.maximum(union, 1e-12), 12)
    return OWN_CUTOFFS[int(np.lexsort((np.abs(np.array(OWN_CUTOFFS) - 0.5), -ratio))[0])]


def expected_iou_cutoff(probability: Floats, rounds: int = 50) -> float:
    """The cutoff that maximises expected intersection over expected union, from the probabilities alone.

    Adding a cell of probability p gains p of intersection and 1 - p of union, so at the optimum J exactly the
    cells with `p > J (1 - p)` are inside: the cutoff is J/(1 + J), at most one half. Dinkelbach's iteration.
    For probabilities (N,) of a release whose maps are judged against the truth they describe.
    """
    p = np.asarray(probability, dtype=np.float64)
    ratio = 0.0
    for _ in range(rounds):
        inside = p > ratio / (1.0 + ratio)
        common = float(p[inside].sum())
        union = float(np.count_nonzero(inside)) + float(p[~inside].sum())
        new = common / union if union > 0 else 1.0
        if abs(new - ratio) < 1e-12:
            break
        ratio = new
    return ratio / (1.0 + ratio)
