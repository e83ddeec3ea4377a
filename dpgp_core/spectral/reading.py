"""Reading a release: the Gaussian posterior of the field given noisy sums, by one solve of size p x p."""

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
    """(M,) posterior variance of the field given all records, for counts (M,): free of their values.

    `root`: what `known_by_records` gives for them, where it is at hand.
    """
    deviation = np.broadcast_to(prior.deviation, counts.shape)
    if root is None:
        root = known_by_records(basis, prior, counts)
    known = solve_lower(root, np.ascontiguousarray((deviation[:, None] * basis.rows).T))
    return np.asarray(np.square(known).sum(axis=0) + np.square(deviation) * basis.rest)


def map_variance(released: Floats, private: Floats, deviation: float, unseen: float = 0.0) -> Floats:
    """(K,) variance, given a release, of what the map without privacy noise shows.

    `released`, `private` (K,) are the field's posterior variances given the release, and given the records;
    `deviation` is that of the field before either. `unseen` is the standard deviation of what a release
    cannot see of the records' mean because they are clipped: far from all records that map shows their mean.
    """
    left = np.maximum(released - private, LEAST_MAP_SHARE * released)
    return np.asarray(left + np.square(unseen * private / deviation**2))


@dataclass(frozen=True, eq=False)
class FieldReader:
    """Everything of the posterior that does not depend on the observed numbers.

    Observed are p numbers `T = A (m o g) + noise`, noise ~ N(0, C): for a release of sums, A (p, M) are the
    features and C is `noise^2` times the identity. The m are the counts, and the field of clipped responses
    is `g = mean + deviation (B z + rest)`. In the p numbers:

        T - A m mean  =  G z + error,    G = deviation A diag(m) B,
        error ~ N(0, R),  R = A diag(m record_noise^2 + m^2 deviation^2 rest) A^T
                              + (deviation^2 + mean^2) (error of the counts) + C.

    The last term but one treats the field as constant over the distance within which errors of the counts
    agree. Given T, z has mean `G^T V^-1 (T - A m mean)` and covariance `1 - G^T V^-1 G`, V = G G^T + R.
    """

    nodes: Nodes
    basis: FieldBasis
    prior: ClippedPrior
    offset: Floats  # (p,) A m mean
    root: Floats  # (p, p) lower Cholesky factor of V
    half: Floats  # (p, Q) L^-1 G
    error_root: Floats | None  # (p, p) lower Cholesky factor of R, for paths
    linear: LinearLaw | None = None  # then the field itself is read, before it becomes answers

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

        `loadings` (M, p) is A transposed: the features' values for a release of sums. `noise` is the standard
        deviation of independent noise, or its covariance (p, p). Drawing `paths` needs one more
        factorisation. `linear` replaces the mean law of responses over the prior by one for each node.
        """
        a, m = loadings, counts.mean
        law = prior if linear is None else linear
        mean, deviation = np.broadcast_to(law.mean, m.shape), np.broadcast_to(law.deviation, m.shape)
        link = (a * (m * deviation)[:, None]).T @ basis.rows
        scatter = m * np.square(law.record_noise) + np.square(m * deviation) * basis.rest
        error = a.T @ (a * scatter[:, None])
        size = np.square(deviation) + np.square(mean)
        error += float(np.average(size, weights=np.maximum(m, 1e-12))) * counts.error
        if isinstance(noise, np.ndarray):
            error += noise
        else:
            error[np.diag_indices_from(error)] += noise**2
        root = cholesky(error + link @ link.T, "the covariance of the released sums", "use more noise")
        half = solve_lower(root, link)
        made = cls(nodes, basis, prior, a.T @ (m * mean), root, half, None, linear)
        return made.with_errors(error) if paths else made

    def with_errors(self, error: Floats) -> FieldReader:
        """The same with the factor that paths need, of the errors' covariance (p, p)."""
        return replace(self, error_root=cholesky(error, "the covariance of the errors", "use more noise"))

    @property
    def _read(self) -> tuple[float, float]:
        """Mean and deviation of what is read: the clipped field, or with a linear law the field itself."""
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
        known = np.square(self.basis.rows @ self.half.T).sum(axis=1)
        return np.asarray(self._read[1] * np.sqrt(np.maximum(self.basis.variance - known, 1e-12)))

    @cached_property
    def law(self) -> tuple[ClippedPrior | LinearLaw, float]:
        """The law of the records, in the units of what is read, and the field's deviation before them."""
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
        """Factor (Q, Q) of the precision of z, and variance (M,) of the field, given all records: kept."""
        if counts not in self._of_records:
            law = self.law[0]
            root = known_by_records(self.basis, law, counts.mean)
            self._of_records[counts] = root, variance_given_records(self.basis, law, counts.mean, root)
        return self._of_records[counts]

    @cached_property
    def _halves(self) -> dict[NodeCounts, Floats]:
        return {}

    def half_hidden(self, counts: NodeCounts) -> Floats:
        """(Q, Q) the symmetric root of z's covariance given the release less that given the records: kept."""
        if counts not in self._halves:
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

        By Matheron's rule: for z, error from their priors, `z + G^T V^-1 (T - A m mean - G z - error)`. Where
        a node has several cells, B z is interpolated between nodes, and the rest, independent from node to
        node, is that of a cell's own node. A mean of nodes scatters less than each of them, so the scatter is
        then widened at every cell to the deviation that is stated there. Raises InvalidValue for a reader
        without paths.
        """
        if self.error_root is None:
            raise InvalidValue("this reader was made without paths: make it with paths=True.")
        z = entropy.normal((self.half.shape[1], count))
        error = self.error_root @ entropy.normal((self.root.shape[0], count))
        simulated = self.half @ z + solve_lower(self.root, error)
        z += self.half.T @ (solve_lower(self.root, sums - self.offset)[:, None] - simulated)
        rest = np.sqrt(self.basis.rest)[:, None] * entropy.normal((self.basis.rest.size, count))
        centre, deviation = self._read
        if self.nodes.one_to_one:
            return np.asarray((centre + deviation * (self.basis.rows @ z + rest)).T)
        mean = self.nodes.spread(self.mean(sums))
        smooth = self.nodes.spread(np.asarray(self.basis.rows @ z).T) + rest.T[:, self.nodes.place]
        return mean + self._widening * (centre + deviation * smooth - mean)

    @cached_property
    def _widening(self) -> Floats:
        """(N,) the stated deviation at each cell over that of what is interpolated between nodes there."""
        rows, known = self.basis.rows, self.basis.rows @ self.half.T
        covariance = rows @ rows.T - known @ known.T  # of B z at the nodes
        variance = self.nodes.spread_variance(covariance) + self.basis.rest[self.nodes.place]
        made = self._read[1] * np.sqrt(np.maximum(variance, 1e-12))
        return np.asarray(self.nodes.spread(self.deviation()) / made)


@dataclass(frozen=True, eq=False)
class FieldPosterior:
    """The field of clipped responses given one release, on the N cells of the domain.

    Values are those of `g(f) = E[clip(f + e) | f]` in response units: compare them with `prior.level(...)`.
    """

    reader: FieldReader
    sums: Floats

    def mean(self) -> Floats:
        """(N,) posterior mean."""
        return self.reader.nodes.spread(self.reader.mean(self.sums))

    def deviation(self) -> Floats:
        """(N,) posterior standard deviation; between nodes it is interpolated."""
        return self.reader.nodes.spread(self.reader.deviation())

    def map_deviation(self, counts: NodeCounts, unseen: float = 0.0) -> Floats:
        """(N,) standard deviation, given the release, of what the map without privacy noise would show.

        That map is the posterior mean given the records themselves. Its variance given the release is the
        posterior variance given the release less the one given the records (law of total variance).
        """
        released, spread = np.square(self.reader.deviation()), self.reader.law[1]
        private = self.reader.given_records(counts)[1]
        return self.reader.nodes.spread(np.sqrt(map_variance(released, private, spread, unseen)))

    def map_draws(self, counts: NodeCounts, count: int, entropy: Entropy, unseen: float = 0.0) -> Floats:
        """(count, N) joint draws of how far the map without privacy noise lies from its mean: free.

        As in `map_deviation`, its covariance is that of the field given the release less that given the
        records. What clipping hides of the records' mean is the same for all cells of a draw.
        """
        reader, spread = self.reader, self.reader.law[1]
        half = reader.half_hidden(counts)
        drawn = spread * (reader.basis.rows @ (half @ entropy.normal((half.shape[0], count)))).T
        if unseen:
            private = reader.given_records(counts)[1]
            drawn = drawn + entropy.normal((count, 1)) * (unseen * private / spread**2)
        return reader.nodes.spread(drawn)

    def paths(self, count: int, entropy: Entropy) -> Floats:
        """Posterior paths (L, N), clipped responses in response units: free."""
        return self.reader.draw(self.sums, count, entropy)
