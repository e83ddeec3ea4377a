"""What an adversary is taken to know of a trace: a Gaussian process over time with a known covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgp_core.errors import InvalidValue

Floats = NDArray[np.float64]

ROBUST_FACTORS = (0.5, 0.75, 1.0, 1.25, 1.5)
"""Lengthscales, relative to the stated one, for which the robust design bounds the loss."""


@dataclass(frozen=True)
class TracePrior:
    """The covariance of one axis of a trace; its mean is arbitrary and the guarantee holds for every mean.

    `lengthscale`: seconds (or samples, where times count samples) over which places stay alike.
    `amplitude`: standard deviation of a place, metres; the loss falls as it grows, so a guarantee for
    one amplitude holds for every larger one with the same ratio of error to amplitude. `error`: standard
    deviation of the receiver's own error, metres: independent from one record to the next, the same
    where one record is released twice. `period`: seconds after which the trip repeats itself; then the
    covariance is exp(-2 sin^2(pi d / p) / l^2) with a lengthscale without a unit, as in Meehan and
    Chaudhuri (2021). Raise `InvalidValue` for a number that is not positive and finite (the error may be
    0)."""

    lengthscale: float
    amplitude: float = 1.0
    error: float = 0.0
    period: float | None = None

    def __post_init__(self) -> None:
        for name in ("lengthscale", "amplitude", *(("period",) if self.period is not None else ())):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise InvalidValue(f"the {name} of a trace's prior must be a positive number, got {value!r}.")
        if not (math.isfinite(self.error) and self.error >= 0.0):
            raise InvalidValue(f"the receiver's error must be a number of at least 0, got {self.error!r}.")

    def covariance(self, times: ArrayLike) -> Floats:
        """Return the covariance (n, n) of the places at times (n,), square metres and seconds; equal
        times are the same place."""
        t = np.asarray(times, dtype=np.float64)
        return self.between(t[:, None] - t[None, :])

    def column(self, times: ArrayLike, record: int) -> Floats:
        """One column of the covariance: (n,), square metres."""
        t = np.asarray(times, dtype=np.float64)
        return self.between(t - t[record])

    def between(self, apart: Floats) -> Floats:
        """Covariance of places by the seconds between them, square metres, of the shape given."""
        if self.period is None:
            like = np.exp(-0.5 * (apart / self.lengthscale) ** 2)
        else:
            like = np.exp(-2.0 * (np.sin(np.pi * apart / self.period) / self.lengthscale) ** 2)
        return np.asarray(self.amplitude**2 * like + self.error**2 * (apart == 0.0))

    def candidates(self, factors: tuple[float, ...] = ROBUST_FACTORS) -> tuple[TracePrior, ...]:
        """Return the same prior with other lengthscales, `factors` relative to its own."""
        return tuple(replace(self, lengthscale=self.lengthscale * factor) for factor in factors)
