"""Reading a release: the Gaussian posterior of the field given noisy sums, by one solve of size p x
p."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.noise import Entropy
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.prior import ClippedPrior, FieldBasis, LinearLaw

LEAST_MAP_SHARE = 1e-4
"""Least variance of the map without privacy noise, as a share of the released posterior's."""


def known_by_records(basis: FieldBasis, prior: ClippedPrior | LinearLaw, counts: Floats) -> Floats:
    """(Q, Q) lower Cholesky factor of the precision of z given all records, for counts (M,)."""
    # The mean of m records of a node observes `deviation B z` with variance record_noise^2/m +
    # deviation^2 rest, so its weight is m / (record_noise^2 + m deviation^2 rest); z is standard
    # normal beforehand.
    deviation = np.broadcast_to(prior.deviation, counts.shape)
    scatter = np.square(prior.record_noise) + counts * np.square(deviation) * basis.rest
    weight = np.where(counts > 0, counts / np.maximum(scatter, 1e-300), 0.0)
    rows = deviation[:, None] * basis.rows
    precision = (rows * weight[:, None]).T @ rows
    precision[np.diag_indices_from(precision)] += 1.0
    return cholesky(precision, "the precision of the field", "use a larger ridge")


def variance_given_records(
    basis: FieldBasis, prior: ClippedPrior | LinearLaw, counts: Floats, root: Floats | None = None
) -> Floats:
    """(M,) posterior variance of the field given all records, for counts (M,); it ignores their
    values.

    `root` is the result of `known_by_records` for these counts, if already computed.
    """
    deviation = np.broadcast_to(prior.deviation, counts.shape)
    if root is None:
        root = known_by_records(basis, prior, counts)
    half = solve_lower(root, np.ascontiguousarray((deviation[:, None] * basis.rows).T))
    return np.asarray(np.square(half).sum(axis=0) + np.square(deviation) * basis.rest)


def map_variance(released: Floats, private: Floats, deviation: float, unseen: float = 0.0) -> Floats:
    """(K,) variance of the map without privacy noise, given a release.

    `released`, `private` (K,) are the field's posterior variances given the release, and given the
    records; `deviation` is that of the field before either. `unseen` is the standard deviation of
    the part of the records' mean that clipping hides from a release: far from all records that map
    shows their mean.
    """
    # Law of total variance (docs/spectral-statistics.md, section 4): the map is the posterior mean
    # given the records, whose variance given the release is that of the field less the one that the
    # records leave. Private variance over prior variance is near 1 far from all records, where the
    # hidden mean matters.
    left = np.maximum(released - private, LEAST_MAP_SHARE * released)
    return np.asarray(left + np.square(unseen * private / deviation**2))


@dataclass(frozen=True, eq=False)
class FieldReader:
    """The part of the posterior that does not depend on the observed numbers.

    The observation is p numbers `T = A (m o g) + noise`, noise ~ N(0, C): for a release of sums, A
    (p, M) are the features and C is `noise^2` times the identity. The m are the counts, and the
    field of clipped responses is `g = mean + deviation (B z + rest)`. For the p numbers:

        T - A m mean  =  G z + error,    G = deviation A diag(m) B,
        error ~ N(0, R),  R = A diag(m record_noise^2 + m^2 deviation^2 rest) A^T
                              + (deviation^2 + mean^2) (error of the counts) + C.

    The last term but one treats the field as constant over the distance within which errors of the
    counts agree. Given T, z has mean `G^T V^-1 (T - A m mean)` and covariance `1 - G^T V^-1 G`, V =
    G G^T + R.
    """

    nodes: Nodes
    basis: FieldBasis
    prior: ClippedPrior
    offset: Floats  # (p,) A m mean
    root: Floats  # (p, p) lower Cholesky factor of V
    half: Floats  # (p, Q) L^-1 G
    error_root: Floats | None  # (p, p) lower Cholesky factor of R, for paths
    linear: LinearLaw | None = None  # with it the reader returns the field itself instead of mean responses

    @classmethod
    def of(
        cls,
        nodes: Nodes,
        basis: FieldBasis,
        prior: ClippedPrior,
        loadings: Floats,
        counts: NodeCounts,
        noise: Floats | float,
        *,
        paths: bool = True,
        linear: LinearLaw | None = None,
    ) -> FieldReader:
        """Factor the posterior; nodes, basis and prior are public.

        `loadings` (M, p) is A transposed: the features' values for a release of sums. `noise` is
        the standard deviation of independent noise, or its covariance (p, p). Drawing `paths` needs
        one more factorisation. `linear` replaces the mean law of responses over the prior by one
        for each node.
        """
        a, m = loadings, counts.mean
        law = prior if linear is None else linear
        mean, deviation = np.broadcast_to(law.mean, m.shape), np.broadcast_to(law.deviation, m.shape)
        link = (a * (m * deviation)[:, None]).T @ basis.rows
        scatter = m * np.square(law.record_noise) + np.square(m * deviation) * basis.rest
        # R of the class's docstring: records of a node scatter independently, the node's own part
        # is common to its m records, so its variance grows with m^2.
        error = a.T @ (a * scatter[:, None])
        size = np.square(deviation) + np.square(mean)
        error += float(np.average(size, weights=np.maximum(m, 1e-12))) * counts.error
        if isinstance(noise, np.ndarray):
            error += noise
        else:
            error[np.diag_indices_from(error)] += noise**2
        root = cholesky(error + link @ link.T, "the covariance of the released sums", "use more noise")
        half = solve_lower(root, link)
        reader = cls(nodes, basis, prior, a.T @ (m * mean), root, half, None, linear)
        return reader.with_errors(error) if paths else reader

    def with_errors(self, error: Floats) -> FieldReader:
        """Add the Cholesky factor of the errors' covariance (p, p), which paths need."""
        return replace(self, error_root=cholesky(error, "the covariance of the errors", "use more noise"))

    @property
    def _read(self) -> tuple[float, float]:
        """Mean and deviation of the clipped field, or with a linear law of the field itself."""
        law = self.prior if self.linear is None else self.prior.before
        return law.mean, law.deviation

    def weights(self, sums: Floats) -> Floats:
        """Posterior mean (Q,) of z, from the released sums (p,) of one or of R releases."""
        offset = self.offset if sums.ndim == 1 else self.offset[:, None]
        return np.asarray(self.half.T @ solve_lower(self.root, sums - offset))

    def mean(self, sums: Floats) -> Floats:
        """(..., M) posterior mean at the nodes for released sums (p,) or (p, R)."""
        mean, deviation = self._read
        return np.asarray(mean + deviation * (self.basis.rows @ self.weights(sums)).T)

    def deviation(self) -> Floats:
        """(M,) posterior standard deviation at the nodes; the same for all released sums."""
        return self._deviation

    @cached_property
    def _deviation(self) -> Floats:
        reduction = np.square(self.basis.rows @ self.half.T).sum(axis=1)
        return np.asarray(self._read[1] * np.sqrt(np.maximum(self.basis.variance - reduction, 1e-12)))

    @cached_property
    def law(self) -> tuple[ClippedPrior | LinearLaw, float]:
        """The law of the records, in the units of the reading, and the field's prior deviation."""
        linear, prior = self.linear, self.prior
        if linear is None:
            return prior, prior.deviation
        spread = prior.before.deviation  # in units of the field
        ratio = spread / linear.deviation
        return LinearLaw(linear.mean, np.full(ratio.shape, spread), ratio * linear.record_noise), spread

    @cached_property
    def _of_records(self) -> dict[NodeCounts, tuple[Floats, Floats]]:
        return {}

    def given_records(self, counts: NodeCounts) -> tuple[Floats, Floats]:
        """Factor (Q, Q) of the precision of z, and variance (M,) of the field, given all records;
        cached."""
        if counts not in self._of_records:
            law = self.law[0]
            root = known_by_records(self.basis, law, counts.mean)
            self._of_records[counts] = root, variance_given_records(self.basis, law, counts.mean, root)
        return self._of_records[counts]

    @cached_property
    def _halves(self) -> dict[NodeCounts, Floats]:
        return {}

    def half_hidden(self, counts: NodeCounts) -> Floats:
        """(Q, Q) symmetric root of z's covariance given the release less that given the records;
        cached."""
        if counts not in self._halves:
            # The difference is positive in theory, as the records tell more than their noisy sums.
            # The law of the records is an approximation, so small negative eigenvalues are set to
            # 0.
            identity = np.eye(self.half.shape[1])
            inverse = solve_lower(self.given_records(counts)[0], identity)
            values, vectors = np.linalg.eigh(identity - self.half.T @ self.half - inverse.T @ inverse)
            self._halves[counts] = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return self._halves[counts]

    def log_evidence(self, sums: Floats) -> float:
        """Log density, nats, of released sums (p,) under this prior: ranks priors for free."""
        white = solve_lower(self.root, sums - self.offset)
        spread = 2.0 * float(np.sum(np.log(self.root.diagonal())))
        return -0.5 * (float(white @ white) + spread + sums.size * float(np.log(2.0 * np.pi)))

    def draw(self, sums: Floats, count: int, entropy: Entropy) -> Floats:
        """Draw clipped responses (count, N) given sums (p,): exact where every node is one cell.

        By Matheron's rule: for z, error from their priors, `z + G^T V^-1 (T - A m mean - G z -
        error)`. If a node has several cells, B z is interpolated between nodes, and a cell takes
        the independent rest of its own node. An interpolated value scatters less than the nodes, so
        the scatter is then widened at every cell to the stated deviation. Raises InvalidValue for a
        reader without paths.
        """
        # The correction uses the white residuals: G^T V^-1 = half^T L^-1, with half = L^-1 G.
        if self.error_root is None:
            raise InvalidValue("this reader was made without paths: make it with paths=True.")
        z = entropy.normal((self.half.shape[1], count))
        error = self.error_root @ entropy.normal((self.root.shape[0], count))
        simulated = self.half @ z + solve_lower(self.root, error)
        z += self.half.T @ (solve_lower(self.root, sums - self.offset)[:, None] - simulated)
        independent = np.sqrt(self.basis.rest)[:, None] * entropy.normal((self.basis.rest.size, count))
        centre, deviation = self._read
        if self.nodes.one_to_one:
            return np.asarray((centre + deviation * (self.basis.rows @ z + independent)).T)
        mean = self.nodes.spread(self.mean(sums))
        smooth = self.nodes.spread(np.asarray(self.basis.rows @ z).T) + independent.T[:, self.nodes.place]
        return mean + self._widening * (centre + deviation * smooth - mean)

    @cached_property
    def _widening(self) -> Floats:
        """(N,) stated deviation at each cell over the deviation of the interpolated field."""
        rows, reduction = self.basis.rows, self.basis.rows @ self.half.T
        covariance = rows @ rows.T - reduction @ reduction.T  # of B z at the nodes
        variance = self.nodes.spread_variance(covariance) + self.basis.rest[self.nodes.place]
        interpolated = self._read[1] * np.sqrt(np.maximum(variance, 1e-12))
        return np.asarray(self.nodes.spread(self.deviation()) / interpolated)


@dataclass(frozen=True, eq=False)
class FieldPosterior:
    """The field of clipped responses given one release, on the N cells of the domain.

    Values are those of `g(f) = E[clip(f + e) | f]` in response units: compare them with
    `prior.level(...)`.
    """

    reader: FieldReader
    sums: Floats

    def mean(self) -> Floats:
        """(N,) posterior mean."""
        return self.reader.nodes.spread(self.reader.mean(self.sums))

    def deviation(self) -> Floats:
        """(N,) posterior standard deviation, interpolated between nodes."""
        return self.reader.nodes.spread(self.reader.deviation())

    def map_deviation(self, counts: NodeCounts, unseen: float = 0.0) -> Floats:
        """(N,) standard deviation of the map without privacy noise, given the release.

        That map is the posterior mean given the records themselves. Its variance given the release
        is the posterior variance given the release less the one given the records (law of total
        variance).
        """
        released, spread = np.square(self.reader.deviation()), self.reader.law[1]
        private = self.reader.given_records(counts)[1]
        return self.reader.nodes.spread(np.sqrt(map_variance(released, private, spread, unseen)))

    def map_draws(self, counts: NodeCounts, count: int, entropy: Entropy, unseen: float = 0.0) -> Floats:
        """(count, N) joint draws of the map without privacy noise less its mean: free.

        As in `map_deviation`, its covariance is that of the field given the release less that given
        the records. The part of the records' mean that clipping hides is the same for all cells of
        a draw.
        """
        reader, spread = self.reader, self.reader.law[1]
        half = reader.half_hidden(counts)
        deviations = spread * (reader.basis.rows @ (half @ entropy.normal((half.shape[0], count)))).T
        if unseen:
            private = reader.given_records(counts)[1]
            deviations = deviations + entropy.normal((count, 1)) * (unseen * private / spread**2)
        return reader.nodes.spread(deviations)

    def paths(self, count: int, entropy: Entropy) -> Floats:
        """Posterior paths (L, N), clipped responses in response units: free."""
        return self.reader.draw(self.sums, count, entropy)
