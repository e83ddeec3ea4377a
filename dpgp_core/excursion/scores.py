"""Scores of a map against a baseline map, and of a design's regularisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion.sets import Direction, sign_of
from dpgp_core.linalg import Bools, Floats

PROBABILITY_FLOOR = 1e-6
"""Probabilities are kept this far from 0 and 1 in the cross-entropy, so that one cell cannot make it inf."""


def iou(one: Bools, other: Bools) -> float:
    """Intersection over union of two sets of cells, (N,) each; NaN, undefined, for two empty sets.

    Raises InvalidValue for sets of different size.

    >>> float(iou(np.array([True, True, False]), np.array([True, False, False])))
    0.5
    """
    one, other = np.asarray(one, dtype=bool), np.asarray(other, dtype=bool)
    if one.shape != other.shape:
        raise InvalidValue("two sets of cells must be over the same domain.")
    union = np.count_nonzero(one | other)
    return math.nan if union == 0 else np.count_nonzero(one & other) / union


def ious(sets: Bools, truth: Bools) -> Floats:
    """IoU (S,) of each of S sets (S, N) with the set `truth` (N,); InvalidValue for another number of
    cells.
    """
    sets, truth = np.atleast_2d(np.asarray(sets, dtype=bool)), np.asarray(truth, dtype=bool)
    if sets.shape[1] != truth.size:
        raise InvalidValue("two sets of cells must be over the same domain.")
    common = np.count_nonzero(sets & truth, axis=1)
    union = np.count_nonzero(sets, axis=1) + np.count_nonzero(truth) - common
    return np.where(union == 0, np.nan, common / np.maximum(union, 1))


def bce(probability: Floats, label: Bools) -> float:
    """Mean binary cross-entropy, nats per cell, of probabilities (N,) against labels (N,), else
    InvalidValue.
    """
    p = np.clip(np.asarray(probability, dtype=np.float64), PROBABILITY_FLOOR, 1.0 - PROBABILITY_FLOOR)
    inside = np.asarray(label, dtype=bool)
    if p.shape != inside.shape:
        raise InvalidValue("probabilities and labels must be over the same cells.")
    return float(-np.mean(np.where(inside, np.log(p), np.log1p(-p))))


def exceedance_probability(
    mean: Floats, sd: Floats, level: Floats | float, direction: Direction = "above"
) -> Floats:
    """Probability that normal values lie above `level` (or at or below it), one by one.

    Parameters
    ----------
    mean, sd
        Of the values, response units, of any shapes that broadcast; (N,) for one value per cell.
    level
        A scalar, or an array that broadcasts with them; response units.

    Returns
    -------
    Floats
        In [0, 1], of the shape that the three broadcast to.
    """
    return np.asarray(ndtr(sign_of(direction) * (mean - level) / np.maximum(sd, 1e-12)))


@dataclass(frozen=True)
class StatedScores:
    """What probabilities say about the map that is cut from them; NaN where a number is not defined."""

    # expected intersection over expected union of the shown set and the set that is not known
    agreement: float
    right: float  # expected share of the shown cells that belong to that set
    found: float  # expected share of that set that is shown


def stated_scores(probability: Floats, inside: Bools) -> StatedScores:
    """What a shown set (N,) is expected to reach, by the probability (N,) that each cell belongs to the
    unknown one.

    With S the shown cells and q the probabilities: `sum_S q / (|S| + sum_outside q)`, which is a ratio of
    expectations, `sum_S q / |S|` and `sum_S q / sum q`. Nothing is simulated. Raises InvalidValue for
    different shapes.

    >>> stated_scores(np.array([0.75, 0.5, 0.25]), np.array([True, True, False]))
    StatedScores(agreement=0.5555555555555556, right=0.625, found=0.8333333333333334)
    """
    q, shown = np.asarray(probability, dtype=np.float64), np.asarray(inside, dtype=bool)
    if q.shape != shown.shape:
        raise InvalidValue("probabilities and shown cells must be over the same cells.")
    common, everything, count = float(q[shown].sum()), float(q.sum()), int(np.count_nonzero(shown))
    union = count + everything - common

    def ratio(part: float, whole: float) -> float:
        return part / whole if whole > 0 else math.nan

    return StatedScores(ratio(common, union), ratio(common, count), ratio(common, everything))
