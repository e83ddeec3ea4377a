"""The design: everything that is fixed before the private data are touched."""

from __future__ import annotations

import math
from dataclasses import dataclass

POSTERIOR_SAMPLING = "posterior-sampling"
NOISY_CELL_STATISTICS = "noisy-cell-statistics"


@dataclass(frozen=True)
class Design:
    """A public choice of mechanism, prior and noise; a value is valid or does not exist.

    Responses are in response units (clipped to [-1, 1]); lengths are metres.

    mechanism        "posterior-sampling" or "noisy-cell-statistics"
    prior            name in `dpgp_core.PRIORS`
    lengthscale      range of the prior, metres, > 0
    ridge            effective ridge r > 0 (noise-to-signal ratio; K + r^2 I)
    scale            posterior scale sigma >= 0, response units (for noisy cell statistics: the prior
                     standard deviation of the noise-aware posterior, which costs nothing)
    noise_scale      extra prior noise eta >= 0, response units (section 4 of the privacy note)
    statistic_noise  standard deviation s > 0 added to each cell's sum and weighted count
                     (noisy cell statistics only, otherwise 0)
    paths            number L >= 1 of released paths
    smoothing        rounds of neighbour averaging applied to a released path (post-processing, free)
    cutoff           vote fraction in (0, 1] from which a cell counts as inside the published set
    bound            name in `dpgp_core.BOUNDS` of the proved bound that prices the design
    """

    prior: str
    lengthscale: float
    ridge: float
    scale: float
    noise_scale: float = 0.0
    statistic_noise: float = 0.0
    paths: int = 1
    smoothing: int = 0
    cutoff: float = 0.5
    bound: str = "sharp"
    mechanism: str = POSTERIOR_SAMPLING

    def __post_init__(self) -> None:
        for name in ("lengthscale", "ridge"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive finite number, got {value!r}.")
        for name in ("scale", "noise_scale", "statistic_noise"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
        if self.paths < 1 or self.paths != int(self.paths):
            raise ValueError(f"paths must be a whole number >= 1, got {self.paths!r}.")
        if self.smoothing < 0 or self.smoothing != int(self.smoothing):
            raise ValueError(f"smoothing must be a whole number >= 0, got {self.smoothing!r}.")
        if not 0 < self.cutoff <= 1:
            raise ValueError(f"cutoff must be in (0, 1], got {self.cutoff!r}.")
        if self.mechanism not in (POSTERIOR_SAMPLING, NOISY_CELL_STATISTICS):
            raise ValueError(f"unknown mechanism {self.mechanism!r}.")
        if self.mechanism == NOISY_CELL_STATISTICS and self.statistic_noise <= 0:
            raise ValueError("noisy cell statistics need statistic_noise > 0.")
