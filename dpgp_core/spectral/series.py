"""Reading releases of several periods together: one changing field, observed through all their
sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpgp_core._checks import non_negative, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats, cholesky
from dpgp_core.noise import Entropy
from dpgp_core.spectral.ball import ONE_COLUMN
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.prior import FieldBasis, clipped_moments
from dpgp_core.spectral.series_states import Chain, Period, Seen, chain_evidence, joint_counts, smoothed

MEMORIES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.995)
"""Candidate correlations of the field from one unit of time to the next; the released sums choose
one."""

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Candidate factors on the stated deviation of the field, and on its range; the sums choose one of
each."""

DOUBT = 0.35
"""Prior standard deviation of the logarithm of such a factor: almost surely within a factor of
two."""

ROUNDS = 3  # rounds of linearised clipping: first at the prior, then at the posterior
RECENT = 6  # number of last periods that choose memory, deviation and range
EXPLAINED = float(np.log(3.0))
"""Noise explains the difference of two maps if a change makes their sums at most three times as
likely: log evidence, nats."""

DIRECTIONS, FEW = 256, 96
"""Largest number of patterns of the field, and the number of patterns and sums that choose the
prior."""

TABULATED, FAR = 801, 8.0  # values at which moments are tabulated, and their reach in record deviations
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class SeriesPrior:
    """Prior of the field in time and space, in the unit of values or of their logarithms."""

    name: str  # in `PRIORS`
    lengthscale: float  # range, metres
    # middle, deviation: mean and standard deviation of the field
    middle: float
    deviation: float
    scatter: float  # standard deviation of a record around its cell's value
    memory: float = 0.9  # correlation of the field from one unit of time to the next, in [0, 1]
    # standard deviation of the part common to all cells and periods: the uncertainty of `middle`
    level: float = 0.0
    shift: float = 0.0  # standard deviation of a change common to all cells, independent in each period

    def __post_init__(self) -> None:
        for name in ("lengthscale", "deviation", "scatter"):
            positive(name, getattr(self, name))
        for name in ("level", "shift"):
            non_negative(name, getattr(self, name))
        if not 0.0 <= self.memory <= 1.0:
            raise InvalidValue("the memory of a series must lie between 0 and 1.")


@dataclass(frozen=True, eq=False)
class SeriesReading:
    """The field of every period given all releases, on the N cells; in the unit of values."""

    times: Floats  # (T,) times of the periods and of the additional times
    # mean, deviation: (T, N)
    mean: Floats
    deviation: Floats
    # change, change_deviation: (T, N) field less the field at the previous time, from the joint
    # posterior; the first row compares the last time with the first
    change: Floats
    change_deviation: Floats
    records: Floats  # (T, N) expected records; NaN at times without a release
    # (T - 1,) log evidence of the sums at a time, given the earlier ones, without a change since
    # the previous time, less that under the series' memory, nats
    no_change: Floats
    prior: SeriesPrior  # prior of the reading
    log_evidence: float  # of all sums, nats
    # areas, area_deviation: (T, A) mean of the field over areas, and its deviation
    areas: Floats
    area_deviation: Floats
    drawn: Callable[[Entropy], Floats]  # function that draws the field at the last time, (N,)

    def above(self, threshold: float) -> Floats:
        """(T, N) probability that the field exceeds a threshold."""
        return np.asarray(ndtr((self.mean - threshold) / self.deviation))

    @property
    def explained(self) -> Bools:
        """(T - 1,) whether noise explains the whole difference of the sums from the previous
        time."""
        return np.asarray(self.no_change >= -EXPLAINED)

    def risen(self, by: float = 0.0) -> Floats:
        """(T, N) probability of a rise above `by` since the previous time; first row: over all
        times."""
        return np.asarray(ndtr((self.change - by) / self.change_deviation))


def read_series(
    model: SpectralModel,
    periods: Sequence[Period],
    prior: SeriesPrior,
    also: Sequence[float] = (),
    *,
    choose: bool = True,
    around: Floats | None = None,
    areas: Floats | None = None,
) -> SeriesReading:
    """Read releases of disjoint or overlapping records together: post-processing, free.

    `periods` are releases at different times; `also` are additional times at which the field is
    read. `choose` lets the releases choose memory, deviation and range near those of the prior.
    `around` (M,) is a public map at the nodes, in the unit of values: the prior mean of the field
    is this map plus `middle`. `areas` (A, N) are weights of cells in areas, rows of sum 1. Raises
    InvalidValue if there is no release, two releases have the same time, or one is of another
    domain.
    """
    series = _Series(model, periods, also, around)
    prior = series.likeliest(prior) if choose else prior
    return series.read(prior, np.empty((0, model.nodes.cells)) if areas is None else areas)


@dataclass(frozen=True, eq=False)
class _Linear:
    """A response as a linear function of the field at each node, (M,) each: `first + slope (f -
    at)`."""

    first: Floats
    slope: Floats
    noise: Floats  # variance of a record around it
    rest: Floats  # variance of the nonlinear remainder, which the records of a node share
    at: Floats


def linearised(at: Floats, variance: Floats, scatter: float, period: Period) -> _Linear:
    """Linearise clipped responses for values N(at, variance), (M,): exact mean, slope and moments.

    Responses and slope are in response units and response units per unit of values.
    """
    # Stein's lemma: the best linear slope is the expected derivative, the chance that a response is
    # not clipped (docs/spectral-statistics.md, section 7). The variance of E[clip | f] that the
    # line does not explain is shared by all records of a node; the rest of the variance is
    # independent for each record.
    shift = 0.0 if period.public_mean is None else period.public_mean
    value, sd = (at - period.centre) / period.clip - shift, np.sqrt(variance) / period.clip
    record_sd = scatter / period.clip
    if period.made.plan.field.ball != ONE_COLUMN:
        return _linear_in_ball(at, value, sd, record_sd, period)
    spread = np.hypot(sd, record_sd)
    first, second = clipped_moments(value, spread)
    slope = ndtr((1.0 - value) / spread) - ndtr((-1.0 - value) / spread)
    conditional = clipped_moments(value[:, None] + sd[:, None] * _NODES, record_sd)[0]
    explained = np.maximum(np.square(conditional) @ _WEIGHTS - np.square(conditional @ _WEIGHTS), 0.0)
    remainder = np.maximum(explained - np.square(slope * sd), 0.0)
    noise = np.maximum(second - np.square(first) - explained, 1e-12)
    return _Linear(first, slope / period.clip, noise, remainder, at)


def _linear_in_ball(at: Floats, value: Floats, sd: Floats, record_sd: float, period: Period) -> _Linear:
    """The same for one of several columns, whose vectors were also cut to a ball; response units."""
    field = period.made.plan.field
    # The moments of a cut response depend on the node through its value alone: one table serves all.
    steps = np.linspace(-1.0, 1.0, TABULATED) * (1.0 + FAR * record_sd)
    tables = field.ball.moments(steps, record_sd, field.mean, field.deviation)
    within = value[:, None] + sd[:, None] * _NODES
    conditional, square = (np.interp(within, steps, table) for table in tables)
    first = conditional @ _WEIGHTS
    explained = np.maximum(np.square(conditional) @ _WEIGHTS - np.square(first), 0.0)
    slope = (conditional * _NODES) @ _WEIGHTS / sd  # Stein's lemma again, by the same quadrature
    remainder = np.maximum(explained - np.square(slope * sd), 0.0)
    noise = np.maximum(square @ _WEIGHTS - np.square(first) - explained, 1e-12)
    return _Linear(first, slope / period.clip, noise, remainder, at)


class _Series:
    """Releases in order of time, with their counts: the part that does not depend on the field's
    prior."""

    def __init__(
        self, model: SpectralModel, periods: Sequence[Period], also: Sequence[float], around: Floats | None
    ) -> None:
        if not periods:
            raise InvalidValue("a series needs at least one release.")
        if any(period.made.nodes.size != model.nodes.size for period in periods):
            raise InvalidValue("the releases of a series must be of the same hexagons.")
        every = sorted([(period.time, period) for period in periods], key=lambda pair: pair[0])
        times = [time for time, _ in every]
        if len(set(times)) < len(times):
            raise InvalidValue("two releases of a series have the same time: name one for each.")
        extra = sorted({float(time) for time in also} - set(times))
        order = sorted([*every, *((time, None) for time in extra)], key=lambda pair: pair[0])
        self.model, self.times = model, np.array([time for time, _ in order])
        self.periods = [period for _, period in order]
        self.around = np.zeros(model.nodes.size) if around is None else around
        self.size = min(DIRECTIONS, max(2 * period.made.features.size + 64 for period in periods))
        self.counts = joint_counts(model, self.periods, self.times)

    def basis(self, prior: SeriesPrior, directions: int = DIRECTIONS) -> FieldBasis:
        return FieldBasis.of(
            self.model.smooth_pairs(prior.name, prior.lengthscale), min(directions, self.size)
        )

    def rows(self, prior: SeriesPrior, basis: FieldBasis) -> Floats:
        """(M, Q + 2) the field in the unit of values: patterns, the common level, and shifts."""
        even = np.ones((basis.rest.size, 1))
        return np.hstack([prior.deviation * basis.rows, prior.level * even, prior.shift * even])

    def decays(self, prior: SeriesPrior, directions: int = DIRECTIONS) -> list[Floats]:
        # The common level never changes (decay 1); shifts are independent from period to period
        # (decay 0).
        size = self.basis(prior, directions).rows.shape[1]
        steps = np.diff(self.times, prepend=self.times[0])
        return [np.concatenate([np.full(size, prior.memory**step), [1.0, 0.0]]) for step in steps]

    def seen(
        self,
        prior: SeriesPrior,
        lines: Sequence[_Linear | None],
        first: int = 0,
        directions: int = DIRECTIONS,
    ) -> list[Seen | None]:
        """The first `directions` sums of each period from `first` on, as observations of its state."""
        basis = self.basis(prior, directions)
        rows = self.rows(prior, basis)
        observations: list[Seen | None] = []
        for period, line, counts in list(zip(self.periods, lines, self.counts, strict=True))[first:]:
            if period is None or line is None or counts is None:
                observations.append(None)
                continue
            a, m = period.made.features.values[:, :directions], counts.mean
            size = a.shape[1]
            loaded = (m * line.slope)[:, None] * a
            expected = m * (line.first + line.slope * (prior.middle + self.around - line.at))
            scatter = m * line.noise + np.square(m) * (
                line.rest + np.square(line.slope * prior.deviation) * basis.rest
            )
            half = np.sqrt(scatter)[:, None] * a
            noise = half.T @ half
            square = float(m @ (np.square(line.first) + line.rest) / m.sum())
            noise += square * counts.error[:size, :size]
            noise[np.diag_indices_from(noise)] += period.made.noise.sums**2
            observations.append(Seen(period.released.sums[:size] - a.T @ expected, loaded.T @ rows, noise))
        return observations

    def at_prior(self, prior: SeriesPrior) -> list[_Linear | None]:
        """Linearise clipping at the prior of the field."""
        variance = np.full(self.model.nodes.size, prior.deviation**2 + prior.level**2 + prior.shift**2)
        return [
            None
            if period is None
            else linearised(prior.middle + self.around, variance, prior.scatter, period)
            for period in self.periods
        ]

    def likeliest(self, prior: SeriesPrior) -> SeriesPrior:
        """Choose deviation, range, then memory by the evidence of the smoothest sums of the last
        periods.

        Deviation and range have a prior around their stated values.
        """
        occupied = [place for place, period in enumerate(self.periods) if period is not None]
        first, factors = occupied[-min(RECENT, len(occupied))], np.array(FACTORS)

        def best(name: str, values: Sequence[float], beforehand: Floats) -> SeriesPrior:
            changes: list[dict[str, Any]] = [{name: value} for value in values]
            priors = [replace(prior, **change) for change in changes]
            observations = [
                self.seen(candidate, self.at_prior(candidate), first, FEW)
                for candidate in priors[: 1 if name == "memory" else None]
            ]
            observations *= len(priors) // len(observations)
            evidence = [
                chain_evidence(sums, self.decays(candidate, FEW)[first:])
                for sums, candidate in zip(observations, priors, strict=True)
            ]
            return priors[int(np.argmax(np.array(evidence) + beforehand))]

        near = -0.5 * np.square(np.log(factors) / DOUBT)
        for name in ("deviation", "lengthscale"):
            prior = best(name, (factors * getattr(prior, name)).tolist(), near)
        return best("memory", MEMORIES, np.zeros(len(MEMORIES))) if len(occupied) > 1 else prior

    def read(self, prior: SeriesPrior, areas: Floats) -> SeriesReading:
        basis, decays, lines = self.basis(prior), self.decays(prior), self.at_prior(prior)
        rows, independent = self.rows(prior, basis), prior.deviation**2 * basis.rest
        for _ in range(ROUNDS):
            chain = smoothed(self.seen(prior, lines), decays)
            mean = prior.middle + self.around + np.array([rows @ part for part in chain.means])
            variance = np.array([_diagonal(rows, part) for part in chain.covariances]) + independent
            variance = np.maximum(variance, 1e-12)
            lines = [
                None if period is None else linearised(mean[place], variance[place], prior.scatter, period)
                for place, period in enumerate(self.periods)
            ]
        # Var(f_t - f_s) = Var f_t + Var f_s - 2 Cov(f_t, f_s); the part outside the patterns
        # decays, too.
        across = np.array([_diagonal(rows, part) for part in (chain.ends, *chain.shared)])
        decay_of_patterns = np.array([decay[0] for decay in decays])[:, None]
        decay_of_patterns[0] = np.prod(decay_of_patterns[1:])
        later, earlier = np.arange(len(decays)), np.arange(len(decays)) - 1
        later[0], earlier[0] = len(decays) - 1, 0
        changed = variance[later] + variance[earlier] - 2.0 * (across + decay_of_patterns * independent)
        spread, last = self.model.nodes.spread, chain.covariances[-1]

        def drawn(entropy: Entropy) -> Floats:
            jitter = 1e-9 * np.eye(len(last))  # components without variance make the covariance singular
            root = cholesky(last + jitter, "the covariance of the last period", "use more noise")
            field = mean[-1] + rows @ (root @ entropy.normal(len(last)))
            return spread(field + np.sqrt(independent) * entropy.normal(independent.size))

        records = [
            np.full(self.model.nodes.cells, np.nan) if part is None else part.at_cells(self.model.nodes)
            for part in self.counts
        ]
        return SeriesReading(
            self.times,
            spread(mean),
            spread(np.sqrt(variance)),
            spread(mean[later] - mean[earlier]),
            spread(np.sqrt(np.maximum(changed, 1e-12))),
            np.array(records),
            np.array(chain.still),
            prior,
            chain.log_evidence,
            *self._of_areas(areas, rows, independent, mean, chain),
            drawn,
        )

    def _of_areas(
        self, areas: Floats, rows: Floats, independent: Floats, mean: Floats, chain: Chain
    ) -> tuple[Floats, Floats]:
        """Means over areas and their deviations, (T, A) each."""
        weights = areas @ self.model.nodes.interpolation
        loaded = weights @ rows
        variance = np.array([_diagonal(loaded, covariance) for covariance in chain.covariances])
        variance += np.square(weights) @ independent
        return mean @ weights.T, np.sqrt(np.maximum(variance, 0.0))


def _diagonal(rows: Floats, covariance: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", rows @ covariance, rows))
