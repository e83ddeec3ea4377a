"""States of a series given all observations, and the counts of every period read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.spectral.counts import FLOOR, CountPrior, NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel
from dpgp_core.spectral.sums import SpectralSums

LOG_TWO_PI = float(np.log(2.0 * np.pi))
WHAT, REMEDY = "the covariance of the released sums", "use more noise"


@dataclass(frozen=True, eq=False)
class Seen:
    """What is observed of one state z: `values = link z + error`, error ~ N(0, noise)."""

    values: Floats  # (p,)
    link: Floats  # (p, Q)
    noise: Floats  # (p, p) positive definite


@dataclass(frozen=True, eq=False)
class Chain:
    """States z_1 ... z_T given all observations.

    Each state is standard normal beforehand; `z_t = decay_t z_(t-1) + sqrt(1 - decay_t^2) innovation`, one
    decay in [0, 1] for each of Q components.
    """

    # means, covariances: (Q,) and (Q, Q) of each state, given the observations of all periods
    means: tuple[Floats, ...]
    covariances: tuple[Floats, ...]
    # for each t > 0 the covariance (Q, Q) of z_t (rows) with z_(t-1), given all observations
    shared: tuple[Floats, ...]
    ends: Floats  # the covariance (Q, Q) of the last state (rows) with the first, given all observations
    log_evidence: float  # log density of all observations, nats
    # for each t > 0 the log density of the observations of t given those before, if z_t were z_(t-1), less
    # that of the chain, nats; 0 where nothing was observed at t
    still: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Filtered:
    """States given what was observed up to then, and the log density of each period's observations."""

    means: list[Floats]
    covariances: list[Floats]
    densities: list[float]
    still: list[float]


def _filtered(seen: Sequence[Seen | None], decays: Sequence[Floats], *, still: bool = False) -> _Filtered:
    mean = np.zeros(decays[0].size)
    covariance = np.eye(mean.size)
    found = _Filtered([], [], [], [])
    for period, (decay, each) in enumerate(zip(decays, seen, strict=True)):
        before = mean, covariance
        if period:
            mean = decay * mean
            covariance = decay[:, None] * covariance * decay
            covariance[np.diag_indices_from(covariance)] += 1.0 - np.square(decay)
        density = 0.0
        if each is not None:
            root, white, across, density = _density(each, mean, covariance)
            half = solve_lower(root, across)
            mean = mean + half.T @ white
            covariance = covariance - half.T @ half
        if still and period:
            found.still.append(0.0 if each is None else _density(each, *before)[3] - density)
        found.means.append(mean)
        found.covariances.append(covariance)
        found.densities.append(density)
    return found


def _density(each: Seen, mean: Floats, covariance: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Root of the observations' covariance, their white residuals, their link with the state, log density."""
    across = each.link @ covariance
    root = cholesky(across @ each.link.T + each.noise, WHAT, REMEDY)
    white = solve_lower(root, each.values - each.link @ mean)
    spread = 2.0 * float(np.sum(np.log(root.diagonal())))
    return root, white, across, -0.5 * (float(white @ white) + spread + white.size * LOG_TWO_PI)


def chain_evidence(seen: Sequence[Seen | None], decays: Sequence[Floats]) -> float:
    """Log density of all observations, nats, for decays (Q,) each; as `smoothed`, at half of its cost."""
    return float(sum(_filtered(seen, decays).densities))


def smoothed(seen: Sequence[Seen | None], decays: Sequence[Floats]) -> Chain:
    """The states given all observations: one solve of size p and one of size Q for each period.

    `seen` holds one for each period, None where nothing was observed; `decays` (Q,) lead from the period
    before, so the first is not used. Raises NumericalFailure for a covariance that is not positive definite.
    """
    found = _filtered(seen, decays, still=True)
    means, covariances = found.means, found.covariances
    shared: list[Floats] = []
    ends = covariances[-1]
    for period in range(len(seen) - 2, -1, -1):
        decay, own = decays[period + 1], covariances[period]
        ahead = decay[:, None] * own * decay
        ahead[np.diag_indices_from(ahead)] += 1.0 - np.square(decay) + 1e-12  # decay 1 may leave nothing
        root = cholesky(ahead, "the covariance of a later period", "use a shorter memory")
        gain = solve_lower(root, solve_lower(root, decay[:, None] * own), transposed=True)  # transposed
        shared.append(covariances[period + 1] @ gain)
        ends = ends @ gain
        means[period] = means[period] + gain.T @ (means[period + 1] - decay * means[period])
        covariances[period] = own + gain.T @ (covariances[period + 1] - ahead) @ gain
    return Chain(
        tuple(means),
        tuple(covariances),
        tuple(reversed(shared)),
        ends,
        float(sum(found.densities)),
        tuple(found.still),
    )


COUNT_MEMORY = 0.95  # correlation, from one unit of time to the next, of how unevenly records lie


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
                around = model.nodes.lattice.averaging @ np.maximum(found, 2.0 * FLOOR * mean[place].mean())
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
