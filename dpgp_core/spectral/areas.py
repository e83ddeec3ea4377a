"""Areal answers: the share of a polygon above the threshold with an interval, from excursion sets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats


@dataclass(frozen=True)
class AreaShare:
    """Share of an area above the threshold: posterior mean, and an interval that holds it."""

    mean: float
    low: float
    high: float
    confidence: float


def area_shares(excursions: Iterable[Bools], weights: Floats, confidence: float = 0.9) -> list[AreaShare]:
    """Return the share of each area above the threshold, from posterior excursion sets in batches (b, N).

    `weights` (A, N) are the sizes of the parts of cells that lie in each area. A thousand sets give ends to
    about a hundredth. The interval is the shortest that holds `confidence` of the sets' shares; one with
    equal parts on both sides would hold too much where an area likely lies wholly above or below. Cells of
    one area depend on each other, which sets know and marginal probabilities do not. Raises InvalidValue
    without a set, for an empty area, and for a confidence outside (0, 1).
    """
    if not 0.0 < confidence < 1.0:
        raise InvalidValue(f"the confidence must lie strictly between 0 and 1, got {confidence!r}.")
    sizes = np.asarray(weights, dtype=np.float64)
    total = sizes.sum(axis=1)
    if np.any(sizes < 0) or not np.all(total > 0):
        raise InvalidValue("every area must hold part of a cell, and no part may be negative.")
    # Rounded so that all of an area is 1, neither a little less nor more, whatever order a machine adds in.
    parts = [np.round(batch @ sizes.T / total, 12) for batch in excursions]
    if not parts:
        raise InvalidValue("at least one excursion set is needed.")
    shares = np.concatenate(parts)
    ranked = np.sort(shares, axis=0)
    held = min(shares.shape[0], math.ceil(confidence * shares.shape[0]))
    widths = ranked[held - 1 :] - ranked[: shares.shape[0] - held + 1]
    start = widths.argmin(axis=0)
    areas = np.arange(total.size)
    low, high = ranked[start, areas], ranked[start + held - 1, areas]
    return [
        AreaShare(float(mean), float(a), float(b), confidence)
        for mean, a, b in zip(shares.mean(axis=0), low, high, strict=True)
    ]
