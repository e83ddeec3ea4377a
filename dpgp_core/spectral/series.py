"""Reading releases of several periods together: one field that changes, seen through all their sums."""

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
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.prior import FieldBasis, clipped_moments
from dpgp_core.spectral.series_states import Chain, Period, Seen, chain_evidence, joint_counts, smoothed

MEMORIES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.995)
"""Correlations of the field from one unit of time to the next, of which the released sums choose one."""

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Factors on the stated deviation of the field, and on its range, likewise."""

DOUBT = 0.35
"""Standard deviation of the logarithm of such a factor beforehand: within a factor of two, nearly surely."""

ROUNDS = 3  # how often clipping is linearised: first at the prior, then at the posterior
RECENT = 6  # last periods by which memory, deviation and range are chosen
EXPLAINED = float(np.log(3.0))
"""Two maps do not differ by more than the noise explains where a change makes their sums at most three times
as likely: log evidence, nats."""

DIRECTIONS, FEW = 256, 96
"""Patterns of the field at most; and patterns, and sums, by which the releases choose."""

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class SeriesPrior:
    """What is believed of the field in time and space, in the unit of values or of their logarithms."""

    name: str  # in `PRIORS`
    lengthscale: float  # range, metres
    # middle, deviation: of the field
    middle: float
    deviation: float
    scatter: float  # standard deviation of a record around its cell's value
    memory: float = 0.9  # correlation of the field from one unit of time to the next, in [0, 1]
    # standard deviation of what all cells and periods have in common: how well `middle` is known
    level: float = 0.0
    shift: float = 0.0  # standard deviation of a change of all cells at once, anew in each period

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

    times: Floats  # (T,) of the periods, and of others that were asked for
    # mean, deviation: (T, N)
    mean: Floats
    deviation: Floats
    # change, change_deviation: (T, N) of the field less that of the time before, from the joint posterior; in
    # the first row of the last time less the first
    change: Floats
    change_deviation: Floats
    records: Floats  # (T, N) expected records; NaN at times without a release
    # (T - 1,) log evidence of the sums of a time, given those before, if nothing had changed since the time
    # before, less that of the series' own memory, nats
    no_change: Floats
    prior: SeriesPrior  # by which it was read
    log_evidence: float  # of all sums, nats
    # areas, area_deviation: (T, A) mean of the field over areas, and its deviation
    areas: Floats
    area_deviation: Floats
    drawn: Callable[[Entropy], Floats]  # draws the field at the last time, (N,), given all releases

    def above(self, threshold: float) -> Floats:
        """(T, N) probability that the field exceeds a threshold."""
        return np.asarray(ndtr((self.mean - threshold) / self.deviation))

    @property
    def explained(self) -> Bools:
        """(T - 1,) whether noise explains all by which the sums differ from those of the time before."""
        return np.asarray(self.no_change >= -EXPLAINED)

    def risen(self, by: float = 0.0) -> Floats:
        """(T, N) probability that the field rose by more than `by` since the time before, first over all."""
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

    `periods` are releases at different times; `also` are other times at which the field is asked for.
    `choose` lets the releases choose memory, deviation and range near those of the prior. `around` (M,) is a
    public map at the nodes, in the unit of values, about which the field lies beforehand; `middle` is added
    to it. `areas` (A, N) are weights of cells in areas, rows of sum 1. Raises InvalidValue if there is no
    release, two have one time, or they are of another domain.
    """
    series = _Series(model, periods, also, around)
    prior = series.likeliest(prior) if choose else prior
    return series.read(prior, np.empty((0, model.nodes.cells)) if areas is None else areas)


@dataclass(frozen=True, eq=False)
class _Linear:
    """A response as a linear function of the field at each node, (M,) each: `first + slope (f - at)`."""

    first: Floats
    slope: Floats
    noise: Floats  # variance of a record around it
    rest: Floats  # variance of what is not linear, which the records of a node share
    at: Floats


def linearised(at: Floats, variance: Floats, scatter: float, period: Period) -> _Linear:
    """Clipped responses for values N(at, variance), (M,): exact mean, slope (Stein), moments; in their
    unit.
    """
    shift = 0.0 if period.public_mean is None else period.public_mean
    value, sd = (at - period.centre) / period.clip - shift, np.sqrt(variance) / period.clip
    own = scatter / period.clip
    spread = np.hypot(sd, own)
    first, second = clipped_moments(value, spread)
    slope = ndtr((1.0 - value) / spread) - ndtr((-1.0 - value) / spread)
    given = clipped_moments(value[:, None] + sd[:, None] * _NODES, own)[0]
    explained = np.maximum(np.square(given) @ _WEIGHTS - np.square(given @ _WEIGHTS), 0.0)
    rest = np.maximum(explained - np.square(slope * sd), 0.0)
    noise = np.maximum(second - np.square(first) - explained, 1e-12)
    return _Linear(first, slope / period.clip, noise, rest, at)


class _Series:
    """Releases in order of time, with their counts: everything that does not depend on the field's prior."""

    def __init__(
        self, model: SpectralModel, periods: Sequence[Period], also: Sequence[float], around: Floats | None
    ) -> None:
        if not periods:
            raise InvalidValue("a series needs at least one release.")
        if any(each.made.nodes.size != model.nodes.size for each in periods):
            raise InvalidValue("the releases of a series must be of the same hexagons.")
        every = sorted([(each.time, each) for each in periods], key=lambda pair: pair[0])
        times = [time for time, _ in every]
        if len(set(times)) < len(times):
            raise InvalidValue("two releases of a series have the same time: name one for each.")
        asked = sorted({float(time) for time in also} - set(times))
        order = sorted([*every, *((time, None) for time in asked)], key=lambda pair: pair[0])
        self.model, self.times = model, np.array([time for time, _ in order])
        self.periods = [each for _, each in order]
        self.around = np.zeros(model.nodes.size) if around is None else around
        self.size = min(DIRECTIONS, max(2 * each.made.features.size + 64 for each in periods))
        self.counts = joint_counts(model, self.periods, self.times)

    def basis(self, prior: SeriesPrior, most: int = DIRECTIONS) -> FieldBasis:
        return FieldBasis.of(self.model.smooth_pairs(prior.name, prior.lengthscale), min(most, self.size))

    def rows(self, prior: SeriesPrior, basis: FieldBasis) -> Floats:
        """(M, Q + 2) the field in the unit of values: patterns, what all periods share, and shifts."""
        even = np.ones((basis.rest.size, 1))
        return np.hstack([prior.deviation * basis.rows, prior.level * even, prior.shift * even])

    def decays(self, prior: SeriesPrior, most: int = DIRECTIONS) -> list[Floats]:
        size = self.basis(prior, most).rows.shape[1]
        steps = np.diff(self.times, prepend=self.times[0])
        return [np.concatenate([np.full(size, prior.memory**step), [1.0, 0.0]]) for step in steps]

    def seen(
        self, prior: SeriesPrior, lines: Sequence[_Linear | None], first: int = 0, most: int = DIRECTIONS
    ) -> list[Seen | None]:
        """The sums of each period from the first on, `most` of them, as observations of its state."""
        basis = self.basis(prior, most)
        rows = self.rows(prior, basis)
        found: list[Seen | None] = []
        for period, line, counts in list(zip(self.periods, lines, self.counts, strict=True))[first:]:
            if period is None or line is None or counts is None:
                found.append(None)
                continue
            a, m = period.made.features.values[:, :most], counts.mean
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
            found.append(Seen(period.released.sums[:size] - a.T @ expected, loaded.T @ rows, noise))
        return found

    def at_prior(self, prior: SeriesPrior) -> list[_Linear | None]:
        """Clipping linearised where nothing is known of the field but the prior."""
        variance = np.full(self.model.nodes.size, prior.deviation**2 + prior.level**2 + prior.shift**2)
        return [
            None if each is None else linearised(prior.middle + self.around, variance, prior.scatter, each)
            for each in self.periods
        ]

    def likeliest(self, prior: SeriesPrior) -> SeriesPrior:
        """Deviation, range, then memory that are likeliest given the smoothest sums of late periods, near the
        stated.
        """
        known = [place for place, each in enumerate(self.periods) if each is not None]
        first, factors = known[-min(RECENT, len(known))], np.array(FACTORS)

        def best(name: str, values: Sequence[float], beforehand: Floats) -> SeriesPrior:
            changes: list[dict[str, Any]] = [{name: value} for value in values]
            each = [replace(prior, **change) for change in changes]
            kept = [
                self.seen(tried, self.at_prior(tried), first, FEW)
                for tried in each[: 1 if name == "memory" else None]
            ]
            kept *= len(each) // len(kept)
            found = [
                chain_evidence(sums, self.decays(tried, FEW)[first:])
                for sums, tried in zip(kept, each, strict=True)
            ]
            return each[int(np.argmax(np.array(found) + beforehand))]

        near = -0.5 * np.square(np.log(factors) / DOUBT)
        for name in ("deviation", "lengthscale"):
            prior = best(name, (factors * getattr(prior, name)).tolist(), near)
        return best("memory", MEMORIES, np.zeros(len(MEMORIES))) if len(known) > 1 else prior

    def read(self, prior: SeriesPrior, areas: Floats) -> SeriesReading:
        basis, decays, lines = self.basis(prior), self.decays(prior), self.at_prior(prior)
        rows, rest = self.rows(prior, basis), prior.deviation**2 * basis.rest
        for _ in range(ROUNDS):
            chain = smoothed(self.seen(prior, lines), decays)
            mean = prior.middle + self.around + np.array([rows @ each for each in chain.means])
            variance = np.array([_diagonal(rows, each) for each in chain.covariances]) + rest
            variance = np.maximum(variance, 1e-12)
            lines = [
                None if period is None else linearised(mean[place], variance[place], prior.scatter, period)
                for place, period in enumerate(self.periods)
            ]
        across = np.array([_diagonal(rows, each) for each in (chain.ends, *chain.shared)])
        kept = np.array([decay[0] for decay in decays])[:, None]
        kept[0] = np.prod(kept[1:])
        later, before = np.arange(len(decays)), np.arange(len(decays)) - 1
        later[0], before[0] = len(decays) - 1, 0
        changed = variance[later] + variance[before] - 2.0 * (across + kept * rest)
        spread, last = self.model.nodes.spread, chain.covariances[-1]

        def drawn(entropy: Entropy) -> Floats:
            jitter = 1e-9 * np.eye(len(last))  # what is known for sure has no variance
            root = cholesky(last + jitter, "the covariance of the last period", "use more noise")
            field = mean[-1] + rows @ (root @ entropy.normal(len(last)))
            return spread(field + np.sqrt(rest) * entropy.normal(rest.size))

        records = [
            np.full(self.model.nodes.cells, np.nan) if each is None else each.at_cells(self.model.nodes)
            for each in self.counts
        ]
        return SeriesReading(
            self.times,
            spread(mean),
            spread(np.sqrt(variance)),
            spread(mean[later] - mean[before]),
            spread(np.sqrt(np.maximum(changed, 1e-12))),
            np.array(records),
            np.array(chain.still),
            prior,
            chain.log_evidence,
            *self._of_areas(areas, rows, rest, mean, chain),
            drawn,
        )

    def _of_areas(
        self, areas: Floats, rows: Floats, rest: Floats, mean: Floats, chain: Chain
    ) -> tuple[Floats, Floats]:
        """Means over areas and their deviations, (T, A) each."""
        weights = areas @ self.model.nodes.interpolation
        loaded = weights @ rows
        variance = np.array([_diagonal(loaded, each) for each in chain.covariances])
        variance += np.square(weights) @ rest
        return mean @ weights.T, np.sqrt(np.maximum(variance, 0.0))


def _diagonal(rows: Floats, covariance: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", rows @ covariance, rows))
