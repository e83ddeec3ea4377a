"""The number of records of each node: a public prior, and its posterior given released counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaincinv, pdtrik

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import Features
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.noise import Entropy

NEIGHBOUR_SHARE = 0.1
"""Weight of the neighbours' mean in reference counts: new records come near old ones."""

LEAST_SHARE = 0.002
"""Least prior mean of a cell, as a share of n/N: public counts of zero do not exclude a record."""

GROWTHS = (0.1, 0.4, 1.5, 6.0)
"""Candidate squared relative changes of a cell's count from one period to the next, beyond chance;
the released counts choose one. New buildings change place from year to year, sales of old ones do
not."""

ALONE = (0.0, 0.1, 0.4, 1.5, 4.0, 10.0, 20.0)
"""Candidates without public counts: a single cell may hold a crowd that its neighbours do not
share."""

CHANCE = 2.0
"""Variance of a count over its mean: clusters make records twice as scattered as a Poisson law."""

UNEVEN = 2.0  # squared relative unevenness of counts over a domain without public counts
MODES = 96  # number of directions of that unevenness
ROUNDS = 2
"""Rounds that centre a prior without public counts on its own smoothed posterior."""

FLOOR = 0.01  # least posterior mean of a node, as a share of the mean count


@dataclass(frozen=True, eq=False)
class CountPrior:
    """Prior of the counts per node before the release."""

    mean: Floats  # (M,) > 0
    white: Floats  # (M,) variance that nodes do not share, > 0
    # (M, Q) such that `mean_i mean_j <relative_i, relative_j>` is the shared covariance, or None
    relative: Floats | None = None
    rounds: int = 0  # number of times that mean and covariance are centred on the smoothed posterior
    # candidate squared relative changes of a node's count; `white` contains the first. The released
    # counts choose one, after all rounds, so that unevenness shared by neighbours does not count as
    # a change.
    growths: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or self.mean.shape != self.white.shape:
            raise InvalidValue("prior means and variances of counts need one number per node each.")
        if not (np.all(np.isfinite(self.mean) & (self.mean > 0)) and np.all(np.isfinite(self.white))):
            raise InvalidValue("prior means of counts must be positive and finite.")
        if np.any(self.white < 0):
            raise InvalidValue("prior variances of counts must not be negative.")

    def likeliest(self, features: Floats, released: Floats, noise: float) -> CountPrior:
        """Choose the growth under which released counts (p,) of features (M, p) are likeliest."""
        return self if len(self.growths) == 1 else self._likeliest(features, released, noise)[1]

    def likelier_alone(self, features: Floats, released: Floats, noise: float) -> CountPrior:
        """Choose between this prior and one without shared covariance by released counts (p,)."""
        alone = replace(self, relative=None, rounds=0, growths=ALONE)
        shared, independent = (prior._likeliest(features, released, noise) for prior in (self, alone))
        return independent[1] if independent[0] > shared[0] else self

    def _likeliest(self, features: Floats, released: Floats, noise: float) -> tuple[float, CountPrior]:
        """The largest log density of released counts (p,), up to a constant, and its prior."""
        # The covariance of the released counts is linear in the growth: `first` at the first
        # candidate, plus a multiple of `grown`.
        grown = (np.square(self.mean)[:, None] * features).T @ features
        first = (self.white[:, None] * features).T @ features
        if self.relative is not None:
            shared = (self.mean[:, None] * self.relative).T @ features
            first += shared.T @ shared
        first[np.diag_indices_from(first)] += noise**2
        apart, densities = released - features.T @ self.mean, []
        for growth in self.growths:
            increase = growth - self.growths[0]
            root = cholesky(
                first + increase * grown, "the covariance of the released counts", "use more noise"
            )
            left = solve_lower(root, apart)
            densities.append(-0.5 * float(left @ left) - float(np.sum(np.log(root.diagonal()))))
        growth = self.growths[int(np.argmax(densities))]
        white = self.white + (growth - self.growths[0]) * np.square(self.mean)
        return max(densities), replace(self, white=white, growths=(growth,))

    def with_total_known(self) -> CountPrior:
        """Condition on a public number of records: unevenness then moves records, and adds none.

        Counts in proportion to `exp(u)` that sum to n differ from their mean by u less its mean
        over records.
        """
        # To first order: n exp(u_i) / sum exp(u) is mean_i (1 + u_i - average of u weighted by
        # mean).
        if self.relative is None:
            return self
        common = self.mean @ self.relative / self.mean.sum()
        return replace(self, relative=self.relative - common)


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """Posterior of the counts per node, for the reading."""

    mean: Floats  # (M,) >= 0
    error: Floats  # (p, p) covariance of the error of `sum phi` over the records, given the release
    # squared relative deviation of a node's own count from `mean`, beyond chance; 0 without public
    # counts, as `error` then includes it
    growth: float = 0.0
    sd: Floats | None = None  # (M,) standard deviation of each node's count, if requested

    @classmethod
    def known(cls, counts: Floats, size: int) -> NodeCounts:
        """Public counts (M,), without error, for `size` features."""
        return cls(np.asarray(counts, dtype=np.float64), np.zeros((size, size)))

    def drawn(self, entropy: Entropy) -> Floats:
        """(M,) whole numbers of records, drawn around their means."""
        n = self.mean
        # A gamma mixture of Poisson laws has the squared relative variance `growth` beyond chance.
        if self.growth:
            n = n * self.growth * gammaincinv(1.0 / self.growth, entropy.uniform(n.size))
        chance = entropy.uniform(n.size)
        return np.asarray(np.maximum(np.ceil(pdtrik(chance, np.maximum(n, 1e-9))), 0.0))

    def at_cells(self, nodes: Nodes) -> Floats:
        """(N,) expected number of records per cell; a node's records are divided evenly among its
        cells."""
        return np.asarray(np.maximum(self.mean / nodes.cells_per_node, 0.0)[nodes.place])


def prior_from_reference(nodes: Nodes, reference: Floats, n: float, *, single: bool = False) -> CountPrior:
    """Prior from public counts (N,) of another period, scaled to n; 1 or 0 for the unit "cell
    record".

    With `single` a cell holds at most one record. Raises InvalidValue for a negative count, or if
    all are 0.
    """
    n = positive("n", n)
    public = nodes.gather(np.asarray(reference, dtype=np.float64))
    if np.any(public < 0) or public.sum() <= 0:
        raise InvalidValue("reference counts must not be negative, and some must be positive.")
    around = nodes.lattice.averaging @ (nodes.lattice.averaging @ public)
    mean = (public + NEIGHBOUR_SHARE * around) / (1.0 + NEIGHBOUR_SHARE)
    mean = mean * (n / mean.sum()) + LEAST_SHARE * n * nodes.cells_per_node / nodes.cells
    mean *= n / mean.sum()
    if single:
        return _single(nodes, mean)
    return CountPrior(mean, GROWTHS[0] * mean**2 + CHANCE * mean, growths=GROWTHS)


def _single(nodes: Nodes, mean: Floats) -> CountPrior:
    # A node with c cells has a binomial number of cell records. A mean of c would leave no
    # variance.
    room = 0.98 * nodes.cells_per_node
    mean = np.minimum(mean, room)
    return CountPrior(mean, mean * (1.0 - mean / nodes.cells_per_node))


def prior_of_unknown(nodes: Nodes, n: float, relative: Floats, *, single: bool = False) -> CountPrior:
    """Prior if only n is public: an even mean, with shared and independent unevenness.

    `relative` (M, Q) has rows of length at most 1, leading directions first, such as the field's
    own basis.
    """
    mean = positive("n", n) * nodes.cells_per_node / nodes.cells
    chance = 1.0 if single else CHANCE
    return CountPrior(
        mean, chance * mean, np.sqrt(UNEVEN) * relative[:, :MODES], ROUNDS, ALONE[:1] if single else ALONE
    )


def estimated_number(features: Features, shape: Floats, released: Floats) -> float:
    """Estimate a private number of records, >= 1, from released counts by least squares.

    `shape` (M,) are the expected counts up to a factor, from public knowledge.
    """
    direction = features.values.T @ (shape / shape.sum())
    return max(1.0, float(direction @ released) / float(direction @ direction))


def read_counts(
    prior: CountPrior,
    rows: Floats,
    released: Floats,
    noise: float,
    nodes: Nodes,
    *,
    rough: bool = False,
    with_sd: bool = False,
) -> NodeCounts:
    """Posterior of the counts given the released `sum phi + N(0, noise^2)`, (p,): post-processing,
    free.

    `rows` (M, p) are the features, and the prior's mean sums to the number of records. `rough`, for
    simulations only, sums over nodes in single precision. `with_sd` adds the deviation of each
    node.

    With covariance V and features A (p, M) the posterior mean is `mean + V A^T (A V A^T +
    noise^2)^-1 (released - A mean)`, and the error of A m has covariance `noise^2 C (C +
    noise^2)^-1` with C = A V A^T. Counts are not Gaussian: in the rounds, prior mean and covariance
    follow the smoothed estimate, so that empty regions lose their variance and with it most of the
    noise.
    """
    total, a = float(prior.mean.sum()), rows
    if prior.rounds == 0:
        prior = prior.likeliest(a, released, noise)
    mean, white, relative = prior.mean, prior.white, prior.relative
    kind: np.dtype[Any] = np.dtype(np.float32 if rough else np.float64)
    rows = a.astype(kind, copy=False)  # in the precision of the sums below
    common = None if relative is None else relative.astype(kind, copy=False)
    for step in range(prior.rounds + 1):
        # The last round chooses the growth: before, unevenness shared by neighbours would count as
        # growth.
        if step == prior.rounds > 0 and len(prior.growths) > 1:
            white = replace(prior, mean=mean, white=white).likeliest(a, released, noise).white
        half = np.sqrt(white).astype(kind)[:, None] * rows
        inner, shared = (half.T @ half).astype(np.float64), None
        if common is not None:
            shared = ((mean.astype(kind)[:, None] * common).T @ rows).astype(np.float64)
            inner += shared.T @ shared
        noisy = inner.copy()
        noisy[np.diag_indices_from(noisy)] += noise**2
        factor = cholesky(noisy, "the covariance of the released counts", "use more noise")
        residual = solve_lower(factor, released - a.T @ mean)
        pull = solve_lower(factor, residual, transposed=True)
        estimate = mean + white * (a @ pull)
        if shared is not None and relative is not None:
            estimate += mean * (relative @ (shared @ pull))
        if step < prior.rounds:
            # The variance that nodes do not share is proportional to the mean, as that of counts
            # is.
            around = nodes.lattice.averaging @ np.maximum(estimate, 2.0 * FLOOR * mean.mean())
            white = white * (around * (total / around.sum()) / mean)
            mean = around * (total / around.sum())
    estimate = np.maximum(estimate, FLOOR * np.minimum(mean, mean.mean()))
    # C - C (C + noise^2)^-1 C = noise^2 C (C + noise^2)^-1, as a difference of symmetric matrices.
    half_error = solve_lower(factor, inner)
    error = np.asarray(inner - half_error.T @ half_error)
    sd = None
    if with_sd:
        covariance, variance = white[:, None] * a, white.copy()
        if shared is not None and relative is not None:
            covariance += mean[:, None] * (relative @ shared)
            variance += np.square(mean) * np.square(relative).sum(axis=1)
        left = variance - np.square(solve_lower(factor, np.ascontiguousarray(covariance.T))).sum(axis=0)
        sd = np.sqrt(np.maximum(left, 0.0)) * (total / estimate.sum())
    return NodeCounts(estimate * (total / estimate.sum()), error, prior.growths[0], sd)
