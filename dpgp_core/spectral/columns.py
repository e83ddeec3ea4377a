"""Public columns that may explain a field: numbers per cell, made comparable and held within bounds."""

from __future__ import annotations

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats

MOST_COLUMNS = 8
"""More columns than these are refused: each takes its part of the noise's budget."""

REACH = 3.0
"""Deviations from the mean: a number further away counts as this far, or one odd cell would be all."""

SHARE = 0.25
"""Share of the variance that columns are believed to explain together, if they explain anything."""


def standardised(columns: Floats) -> Floats:
    """Columns of mean 0 before what lies further than REACH deviations is cut off; mean square 1 at most.

    Parameters
    ----------
    columns : ndarray, shape (N, k)
        Public numbers, one row a cell.

    Returns
    -------
    ndarray, shape (N, k)

    Raises
    ------
    InvalidValue
        For no column or too many, a number that is not finite, and a column that is constant.
    """
    found = np.asarray(columns, dtype=np.float64)
    if found.ndim != 2 or not 1 <= found.shape[1] <= MOST_COLUMNS:
        raise InvalidValue(f"between 1 and {MOST_COLUMNS} covariates can be read together.")
    if not np.all(np.isfinite(found)):
        raise InvalidValue("every number of a covariate must be finite.")
    largest = np.abs(found).max(axis=0)
    found = found / np.where(largest > 0, largest, 1.0)  # squares of very large numbers would overflow
    for _ in range(2):
        found = found - found.mean(axis=0)
        deviation = found.std(axis=0)
        if not np.all(deviation > 1e-12):
            raise InvalidValue("a covariate is the same everywhere: leave it out.")
        found = np.clip(found / deviation, -REACH, REACH)
    return np.asarray(np.clip(found / np.sqrt(np.square(found).mean(axis=0)), -REACH, REACH))
