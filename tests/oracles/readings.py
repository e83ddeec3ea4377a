"""What a release of spectral sums says of the field, put together from the reader's parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpgp_core.excursion import exceedance_probability
from dpgp_core.linalg import Bools, Floats
from dpgp_core.noise import Entropy
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.prior import ClippedPrior
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.sums import SpectralSums


def read(made: Prepared, released: SpectralSums, known: PublicCounts) -> FieldPosterior:
    """The posterior of the field given one release of a plan."""
    return FieldPosterior(made.reader(made.counts(known, released.counts)), released.sums)


def read_exceedance(
    prior: ClippedPrior, mean: Floats, deviation: Floats, threshold: Floats | float, sign: float
) -> Floats:
    """Exceedance probabilities (..., N) from posterior means (..., N) and standard deviations (N,)."""
    level = prior.level(threshold, deviation / prior.deviation)
    return exceedance_probability(sign * (mean - level), np.broadcast_to(deviation, mean.shape), 0.0)


def exceedance(posterior: FieldPosterior, threshold: Floats | float, sign: float = 1.0) -> Floats:
    """(N,) probability that the field before clipping lies above the threshold, or below it (sign -1)."""
    prior = posterior.reader.prior
    return read_exceedance(prior, posterior.mean(), posterior.deviation(), threshold, sign)


def excursions(
    posterior: FieldPosterior, threshold: float, count: int, entropy: Entropy, sign: float = 1.0
) -> Iterator[Bools]:
    """Excursion sets of posterior paths, at most 64 at a time."""
    prior, deviation = posterior.reader.prior, posterior.deviation()
    level = prior.level(threshold, deviation / prior.deviation)
    for start in range(0, count, 64):
        yield np.asarray(sign * (posterior.paths(min(64, count - start), entropy) - level) > 0)
