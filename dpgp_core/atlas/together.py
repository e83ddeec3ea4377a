"""Reading related columns together: what the others' released sums say of each, by k x k problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpgp_core.linalg import Floats, solve_lower
from dpgp_core.spectral.model import Prepared
from dpgp_core.spectral.prior import FieldBasis
from dpgp_core.spectral.rates import RateReading
from dpgp_core.spectral.reading import FieldReader

ROUNDS = 40  # of expectation and maximisation
FREEDOM = 4  # degrees of freedom of the prior of the correlation, beyond the number of columns
ALIKE = (0.0, 0.5, 0.9)  # correlations of all columns that centre the prior; the released sums choose
LEAST = 1e-6  # share of its variance that a column keeps at least, given the others
FAINT = 0.02  # signal over noise below which a direction is left out: it says next to nothing


class GivenOthers(NamedTuple):
    """The law of a column's q, independent between D directions, given the sums of all other columns."""

    mean: Floats  # (D,)
    variance: Floats  # (D,)
    turned: Floats  # (Q, D) the directions, in coefficients of the field


@dataclass(frozen=True, eq=False)
class WhiteSums:
    """The released sums of k columns in D directions whose noise is white, the same for all columns.

    In direction d they are `size_d q_d + noise`, q_d (k,) with the columns' correlation C as covariance.
    """

    size: Floats  # (D,) >= 0
    sums: Floats  # (D, k)
    turned: Floats  # (Q, D) orthonormal: z of a column is `turned @ q` and what no sum sees

    @classmethod
    def of(cls, reader: FieldReader, sums: Sequence[Floats]) -> WhiteSums:
        """Of the sums (p,) of each column, which one reader with paths reads."""
        assert reader.error_root is not None
        link = solve_lower(reader.error_root, np.ascontiguousarray(reader.root @ reader.half))
        left, size, right = np.linalg.svd(link, full_matrices=False)
        clear = np.square(size) >= FAINT
        left, size, right = left[:, clear], size[clear], right[clear]
        white = solve_lower(
            reader.error_root, np.column_stack([column_sums - reader.offset for column_sums in sums])
        )
        return cls(size, left.T @ white, right.T)

    def covariance(self, correlation: Floats) -> Floats:
        """(D, k, k) covariance of the white sums in each direction."""
        return np.square(self.size)[:, None, None] * correlation + np.eye(correlation.shape[0])

    def apart(self, correlation: Floats) -> tuple[Floats, Floats, Floats]:
        """Variances (k,) of independent mixtures of the columns, axes (k, k), and variances (D, k) of sums.

        In the axes of a correlation (k, k) the covariances of all directions are diagonal.
        """
        variance, axes = np.linalg.eigh(correlation)
        variance = np.maximum(variance, 0.0)
        return variance, axes, np.square(self.size)[:, None] * variance + 1.0

    def log_density(self, correlation: Floats) -> float:
        """Log density of the white sums under a correlation (k, k), up to a constant that all share."""
        _, axes, of_sums = self.apart(correlation)
        return -0.5 * float(np.sum(np.square(self.sums @ axes) / of_sums + np.log(of_sums)))

    @property
    def seen(self) -> float:
        """In how many directions the sums say something of one column."""
        return float(np.sum(np.square(self.size) / (1.0 + np.square(self.size))))

    def correlation(self, alike: float) -> Floats:
        """(k, k) correlation of the columns by expectation and maximisation, from a prior about `alike`."""
        count = self.sums.shape[1]
        start = np.full((count, count), alike) + (1.0 - alike) * np.eye(count)
        correlation, freedom = start, count + FREEDOM
        for _ in range(ROUNDS):
            variance, axes, of_sums = self.apart(correlation)
            mean = (self.size[:, None] * variance / of_sums * (self.sums @ axes)) @ axes.T
            left = (axes * np.sum(variance / of_sums, axis=0)) @ axes.T
            scatter = mean.T @ mean + left + freedom * start
            scale = np.sqrt(scatter.diagonal())
            # Each column varies as it is believed to by itself
            correlation = scatter / np.outer(scale, scale)
        return correlation

    def given_others(self, column: int, correlation: Floats) -> GivenOthers:
        """A column's q, (D,), in each direction given the sums of all others."""
        other_columns = np.delete(np.arange(correlation.shape[0]), column)
        link = correlation[column, other_columns]
        inner = self.covariance(correlation[np.ix_(other_columns, other_columns)])
        pull = np.linalg.solve(
            inner, np.broadcast_to(link[:, None], (self.size.size, other_columns.size, 1))
        )[..., 0]
        mean = self.size * np.einsum("dk,dk->d", pull, self.sums[:, other_columns])
        return GivenOthers(mean, 1.0 - np.square(self.size) * (pull @ link), self.turned)


def likeliest(white: WhiteSums) -> tuple[Floats, float]:
    """The likeliest correlation (k, k) of ALIKE, and by how much it beats unrelated columns.

    The gain in log density is less half the logarithm of the directions seen for each pair of columns
    (Schwarz's criterion): below 0 the columns are better read apart.
    """
    count = white.sums.shape[1]
    candidates = [white.correlation(alike) for alike in ALIKE]
    densities = [white.log_density(correlation) for correlation in candidates]
    best = int(np.argmax(densities))
    penalty = 0.25 * count * (count - 1) * np.log(max(white.seen, 1.0))
    return candidates[best], densities[best] - white.log_density(np.eye(count)) - float(penalty)


def together(
    plan: Prepared, alone: Sequence[RateReading], sums_by_column: Sequence[Floats]
) -> tuple[tuple[RateReading, ...], ...] | None:
    """Readings of each column under each belief given the sums (p,) of all others; None if apart is better.

    `alone` are the readings of one column under each belief, which differ between columns in their sums
    alone. Given the others a column's z is `N(m, S)`: it is read as `m + S^(1/2) z`. Under C = 1 nothing
    changes. Which belief decides between both readings is the one under which all sums are likeliest.
    """
    white = [WhiteSums.of(reading.reader, sums_by_column) for reading in alone]
    likeliest_of = [likeliest(white_sums) for white_sums in white]
    density = [
        sum(reading.reader.log_evidence(sums) for sums in sums_by_column) + max(gain, 0.0)
        for reading, (_, gain) in zip(alone, likeliest_of, strict=True)
    ]
    if likeliest_of[int(np.argmax(density))][1] <= 0.0:
        return None
    return tuple(
        tuple(
            _beside(plan, reading, sums, white_sums.given_others(column, correlation))
            for reading, white_sums, (correlation, _) in zip(alone, white, likeliest_of, strict=True)
        )
        for column, sums in enumerate(sums_by_column)
    )


def _beside(plan: Prepared, alone: RateReading, sums: Floats, others: GivenOthers) -> RateReading:
    """One column's reading with what the others' sums say of it; `sums` (p,) are its own."""
    mean, variance, turned = others
    reader, rows = alone.reader, alone.reader.basis.rows
    shorter = 1.0 - np.sqrt(np.clip(variance, LEAST, 1.0))
    basis = FieldBasis(rows - ((rows @ turned) * shorter) @ turned.T, reader.basis.rest)
    shift = reader.prior.deviation * (rows @ (turned @ mean))
    reader_given = replace(plan, basis=basis, prior=reader.prior).reader(alone.counts)
    residual = sums - plan.features.values.T @ (alone.counts.mean * shift)
    # E[z] = m + S^(1/2) w, and what the column's own sums say of z if it had no prior is S^(-1/2) w.
    weights = reader_given.weights(residual)
    along = turned.T @ weights
    joint_weights = turned @ mean + weights - turned @ (shorter * along)
    own_weights = weights + turned @ (shorter / (1.0 - shorter) * along)
    # Given its records y, z has precision P, and the map is P^-1 B' W y: others tell of z, not of the scatter
    # y - z, so that E[map] = E[z] - P^-1 (E[z] - own), which is E[z] for S = 1 and m = 0.
    root = reader.given_records(alone.counts)[0]
    map_weights = joint_weights - solve_lower(
        root, solve_lower(root, joint_weights - own_weights), transposed=True
    )
    of_map = plan.nodes.spread(reader.prior.mean + reader.prior.deviation * (rows @ map_weights))
    return RateReading(reader_given, residual, alone.counts, plan.nodes.spread(shift), of_map)
