"""A trace's lengthscale by maximum likelihood: for the curator alone, since a fit is not
private."""

from __future__ import annotations

import numpy as np
import scipy  # loads its parts at first use: scipy.optimize takes long
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.prior import TracePrior

MOST_FITTED = 300
"""Largest number of records in a fit, from the middle of the trace."""


def fitted_prior(times: ArrayLike, axes: ArrayLike, error: float = 3.0) -> TracePrior:
    """Fit lengthscale and amplitude to a trace, both axes alike.

    `times` (n,) are seconds, ascending and different; `axes` (2, n) and the receiver's `error`, taken as
    known, metres. The lengthscale has the largest likelihood between the median step and half the
    duration. It depends on the private trace: publishing it reveals something that no certificate
    covers. Raise `InvalidValue` for fewer than 4 records, or a trace that never moves."""
    t = np.asarray(times, dtype=np.float64)
    places = np.asarray(axes, dtype=np.float64)
    if t.size < 4:
        raise InvalidValue("a lengthscale cannot be fitted to fewer than 4 records: state one.")
    first = max(0, (t.size - MOST_FITTED) // 2)
    t, places = t[first : first + MOST_FITTED], places[:, first : first + MOST_FITTED]
    centred = places - places.mean(axis=1, keepdims=True)
    amplitude = float(np.sqrt(np.mean(centred**2)))
    if amplitude <= max(error, 1e-9):
        raise InvalidValue("this trace does not move beyond the receiver's error: state a lengthscale.")
    low, high = float(np.median(np.diff(t))), float(t[-1] - t[0]) / 2.0

    def unlikely(log_scale: float) -> float:
        prior = TracePrior(float(np.exp(log_scale)), amplitude, max(error, 1e-3 * amplitude))
        covariance = prior.covariance(t)
        try:
            factor, lower = cho_factor(covariance, lower=True)
        except LinAlgError:
            return 1e300
        solved = cho_solve((factor, lower), centred.T)
        return float(np.sum(centred.T * solved) + 4.0 * np.sum(np.log(np.diag(factor))))

    best = scipy.optimize.minimize_scalar(
        unlikely, bounds=(np.log(low), np.log(max(high, 2.0 * low))), method="bounded"
    )
    return TracePrior(float(np.exp(best.x)), amplitude, error)
