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
    """An observation of one state z: `values = link z + error`, error ~ N(0, noise)."""

    values: Floats  # (p,)
    link: Floats  # (p, Q)
    noise: Floats  # (p, p) positive definite


@dataclass(frozen=True, eq=False)
class Chain:
    """States z_1 ... z_T given all observations.

    Each state is standard normal beforehand; `z_t = decay_t z_(t-1) + sqrt(1 - decay_t^2)
    innovation`, one decay in [0, 1] for each of Q components.
    """

    # means, covariances: (Q,) and (Q, Q) of each state, given the observations of all periods
    means: tuple[Floats, ...]
    covariances: tuple[Floats, ...]
    # for each t > 0 the covariance (Q, Q) of z_t (rows) with z_(t-1), given all observations
    shared: tuple[Floats, ...]
    ends: Floats  # the covariance (Q, Q) of the last state (rows) with the first, given all observations
    log_evidence: float  # log density of all observations, nats
    # for each t > 0 the log density of the observations at t given the earlier ones, if z_t were
    # z_(t-1), less that of the chain, nats; 0 without an observation at t
    still: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Filtered:
    """States given all observations up to their time, and the log density of each period's
    observations."""

    means: list[Floats]
    covariances: list[Floats]
    densities: list[float]
    still: list[float]


def _filtered(
    observations: Sequence[Seen | None], decays: Sequence[Floats], *, still: bool = False
) -> _Filtered:
    mean = np.zeros(decays[0].size)
    covariance = np.eye(mean.size)
    states = _Filtered([], [], [], [])
    for period, (decay, observation) in enumerate(zip(decays, observations, strict=True)):
        unchanged = mean, covariance
        if period:
            # The innovation restores unit variance in each component, so a state is standard normal
            # again where nothing is observed (docs/spectral-statistics.md, section 7).
            mean = decay * mean
            covariance = decay[:, None] * covariance * decay
            covariance[np.diag_indices_from(covariance)] += 1.0 - np.square(decay)
        density = 0.0
        if observation is not None:
            root, white, across, density = _density(observation, mean, covariance)
            half = solve_lower(root, across)
            mean = mean + half.T @ white
            covariance = covariance - half.T @ half
        if still and period:
            states.still.append(
                0.0 if observation is None else _density(observation, *unchanged)[3] - density
            )
        states.means.append(mean)
        states.covariances.append(covariance)
        states.densities.append(density)
    return states


def _density(observation: Seen, mean: Floats, covariance: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Root of the observations' covariance, their white residuals, their link with the state, log
    density."""
    across = observation.link @ covariance
    root = cholesky(across @ observation.link.T + observation.noise, WHAT, REMEDY)
    white = solve_lower(root, observation.values - observation.link @ mean)
    spread = 2.0 * float(np.sum(np.log(root.diagonal())))
    return root, white, across, -0.5 * (float(white @ white) + spread + white.size * LOG_TWO_PI)


def chain_evidence(observations: Sequence[Seen | None], decays: Sequence[Floats]) -> float:
    """Log density of all observations, nats, for decays (Q,) each; as `smoothed`, at half of its
    cost."""
    return float(sum(_filtered(observations, decays).densities))


def smoothed(observations: Sequence[Seen | None], decays: Sequence[Floats]) -> Chain:
    """The states given all observations: one solve of size p and one of size Q for each period.

    `observations` has one entry for each period, None without an observation; `decays` (Q,) lead from the
    previous period, so the first is not used. Raises NumericalFailure for a covariance that is not
    positive definite.
    """
    # Kalman filter forward, Rauch-Tung-Striebel smoother backward.
    states = _filtered(observations, decays, still=True)
    means, covariances = states.means, states.covariances
    shared: list[Floats] = []
    ends = covariances[-1]
    for period in range(len(observations) - 2, -1, -1):
        decay, filtered = decays[period + 1], covariances[period]
        ahead = decay[:, None] * filtered * decay
        # With decay 1 a state that was observed exactly has no variance ahead: the jitter keeps it
        # regular.
        ahead[np.diag_indices_from(ahead)] += 1.0 - np.square(decay) + 1e-12
        root = cholesky(ahead, "the covariance of a later period", "use a shorter memory")
        gain = solve_lower(root, solve_lower(root, decay[:, None] * filtered), transposed=True)  # transposed
        shared.append(covariances[period + 1] @ gain)
        ends = ends @ gain
        means[period] = means[period] + gain.T @ (means[period + 1] - decay * means[period])
        covariances[period] = filtered + gain.T @ (covariances[period + 1] - ahead) @ gain
    return Chain(
        tuple(means),
        tuple(covariances),
        tuple(reversed(shared)),
        ends,
        float(sum(states.densities)),
        tuple(states.still),
    )


COUNT_MEMORY = 0.95  # correlation of the records' unevenness from one unit of time to the next


@dataclass(frozen=True, eq=False)
class Period:
    """One release of a series."""

    time: float  # in any unit
    # made, released, known: the plan, its release, and public knowledge of the counts
    made: Prepared
    released: SpectralSums
    known: PublicCounts
    # centre, clip: a response is `(value - centre)/clip`, less the public mean, clipped to [-1, 1]
    centre: float
    clip: float
    # (M,) at the nodes, response units; None if no mean was subtracted
    public_mean: Floats | None = None


def joint_counts(
    model: SpectralModel, periods: Sequence[Period | None], times: Floats
) -> list[NodeCounts | None]:
    """Posterior of the counts of every period; periods without public counts are read together.

    Unevenness of counts persists from one period to the next: it follows a chain over time (T,).
    Periods whose counts are public, or start from published ones, are read by themselves; None
    marks a period without a release.
    """
    alone = [
        None
        if period is None or period.known.kind == "unknown"
        else period.made.counts(period.known, period.released.counts)
        for period in periods
    ]
    hidden = [
        place for place, period in enumerate(periods) if period is not None and period.known.kind == "unknown"
    ]
    priors = {place: _count_prior(periods[place]) for place in hidden}
    mean = {place: period.mean for place, period in priors.items()}
    white = {place: period.white for place, period in priors.items()}
    steps = np.diff(times, prepend=times[0])
    relative = next((period.relative for period in priors.values()), None)
    if relative is None:
        return alone
    decays = [np.full(relative.shape[1], COUNT_MEMORY**step) for step in steps]
    rounds = priors[hidden[0]].rounds
    # As in `read_counts`, rounds centre mean and variance of the prior on the smoothed posterior.
    for step in range(rounds + 1):
        observations: list[Seen | None] = [None] * len(periods)
        for place in hidden:
            a, released, noise = _released(periods[place])
            covariance = (white[place][:, None] * a).T @ a
            covariance[np.diag_indices_from(covariance)] += noise**2
            observations[place] = Seen(
                released - a.T @ mean[place], a.T @ (mean[place][:, None] * relative), covariance
            )
        chain = smoothed(observations, decays)
        for place in hidden:
            a, _, noise = _released(periods[place])
            observed, total = observations[place], priors[place].mean.sum()
            assert observed is not None
            root = cholesky(observed.noise, "the covariance of the released counts", "use more noise")
            state = chain.means[place]
            pull = solve_lower(
                root, solve_lower(root, observed.values - observed.link @ state), transposed=True
            )
            estimate = mean[place] * (1.0 + relative @ state) + white[place] * (a @ pull)
            if step < rounds:
                around = model.nodes.lattice.averaging @ np.maximum(
                    estimate, 2.0 * FLOOR * mean[place].mean()
                )
                around *= total / around.sum()
                white[place] = white[place] * (around / mean[place])
                mean[place] = around
                continue
            estimate = np.maximum(estimate, FLOOR * np.minimum(mean[place], mean[place].mean()))
            identity = np.eye(a.shape[1])
            covariance = observed.noise - noise**2 * identity
            unexplained = identity - _solved(root, covariance)
            # Error of `sum phi`: of the independent parts given the chain, and of the chain's
            # state, which enters through the residuals that the first part did not explain.
            error = (
                covariance @ unexplained
                + unexplained.T @ observed.link @ chain.covariances[place] @ observed.link.T @ unexplained
            )
            alone[place] = NodeCounts(estimate * (total / estimate.sum()), 0.5 * (error + error.T))
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
