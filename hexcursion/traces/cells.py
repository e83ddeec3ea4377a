"""Sanitised records on the map: where each one probably was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgp_core.traces.posterior import estimate
from hexcursion.traces.plan import TracePlan

_TOGETHER = 1500  # records up to which one estimate uses all others


def estimated_places(
    plan: TracePlan, noisy: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the places from their noisy release, under the stated prior; it reads nothing private.

    Parameters
    ----------
    plan : TracePlan
    noisy : (n, 2)
        The release, metres of the plan's projection.

    Returns
    -------
    places : (n, 2) float64
        Metres.
    deviation : (n,) float64
        Metres per axis. Beyond 1,500 records a record's own release and noise.
    """
    if plan.trace.size > _TOGETHER:
        return noisy, np.sqrt(plan.noise.variance)
    covariance, noise = plan.settings.prior.covariance(plan.times), plan.noise.dense()
    axes = [estimate(noisy[:, axis], covariance, noise) for axis in (0, 1)]
    deviation = np.sqrt(np.maximum(np.diag(axes[0].covariance), 0.0))
    return np.column_stack([axis.mean for axis in axes]), deviation
