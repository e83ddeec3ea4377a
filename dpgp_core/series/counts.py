"""The counts of a series of releases: where records lie unevenly in one period they do so in the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.series.chain import Seen, smoothed
from dpgp_core.spectral.counts import FLOOR, CountPrior, NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel
from dpgp_core.spectral.sums import SpectralSums

COUNT_MEMORY = 0.95
"""Correlation, from one unit of time to the next, of how unevenly records lie."""


@dataclass(frozen=True, eq=False)
class Period:
    """One release of a series."""

    time: float  # in any unit
    # made, released, known: the plan, its release, and what is public of the counts
    made: Prepared
    released: SpectralSums
    known: PublicCounts
    # centre, clip: a response is `(value - centre)/clip`, less the public mean, clipped to [-1, 1]
    centre: float
    clip: float
    # (M,) at the nodes, response units; None where none was taken off
    public_mean: Floats | None = None


def joint_counts(
    model: SpectralModel, periods: Sequence[Period | None], times: Floats
) -> list[NodeCounts | None]:
    """Posterior of the counts of every period: those of which released counts alone tell are read together.

    Where counts lie unevenly in one period they do so in the next: unevenness follows a chain over time (T,).
    Periods whose counts are public, or start from published ones, are read by themselves; None stands for a
    period without a release.
    """
    alone = [
        None
        if each is None or each.known.kind == "unknown"
        else each.made.counts(each.known, each.released.counts)
        for each in periods
    ]
    hidden = [
        place for place, each in enumerate(periods) if each is not None and each.known.kind == "unknown"
    ]
    priors = {place: _count_prior(periods[place]) for place in hidden}
    mean = {place: each.mean for place, each in priors.items()}
    white = {place: each.white for place, each in priors.items()}
    steps = np.diff(times, prepend=times[0])
    relative = next((each.relative for each in priors.values()), None)
    if relative is None:
        return alone
    decays = [np.full(relative.shape[1], COUNT_MEMORY**step) for step in steps]
    rounds = priors[hidden[0]].rounds
    for step in range(rounds + 1):
        seen: list[Seen | None] = [None] * len(periods)
        for place in hidden:
            a, released, noise = _released(periods[place])
            own = (white[place][:, None] * a).T @ a
            own[np.diag_indices_from(own)] += noise**2
            seen[place] = Seen(released - a.T @ mean[place], a.T @ (mean[place][:, None] * relative), own)
        chain = smoothed(seen, decays)
        for place in hidden:
            a, _, noise = _released(periods[place])
            observed, total = seen[place], priors[place].mean.sum()
            assert observed is not None
            root = cholesky(observed.noise, "the covariance of the released counts", "use more noise")
            state = chain.means[place]
            pull = solve_lower(
                root, solve_lower(root, observed.values - observed.link @ state), transposed=True
            )
            found = mean[place] * (1.0 + relative @ state) + white[place] * (a @ pull)
            if step < rounds:
                around = model.nodes.averaging @ np.maximum(found, 2.0 * FLOOR * mean[place].mean())
                around *= total / around.sum()
                white[place] = white[place] * (around / mean[place])
                mean[place] = around
                continue
            found = np.maximum(found, FLOOR * np.minimum(mean[place], mean[place].mean()))
            one = np.eye(a.shape[1])
            own = observed.noise - noise**2 * one
            kept = one - _solved(root, own)
            error = own @ kept + kept.T @ observed.link @ chain.covariances[place] @ observed.link.T @ kept
            alone[place] = NodeCounts(found * (total / found.sum()), 0.5 * (error + error.T))
    return alone


def _solved(root: Floats, right: Floats) -> Floats:
    return solve_lower(root, solve_lower(root, right), transposed=True)


def _released(period: Period | None) -> tuple[Floats, Floats, float]:
    """Features, released counts and their noise of a period whose counts were released."""
    if period is None or period.released.counts is None or period.made.noise.counts is None:
        raise InvalidValue("counts were not released: say what is known of them.")
    return period.made.features.values, period.released.counts, period.made.noise.counts


def _count_prior(period: Period | None) -> CountPrior:
    _, released, _ = _released(period)
    assert period is not None
    return period.made.count_prior(period.known, released)
