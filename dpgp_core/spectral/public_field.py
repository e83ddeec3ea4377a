"""The field given published reference records: a Gaussian process, chosen by their evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist

from dpgp_core.errors import InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.priors.lattice import Prior
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.ball import ONE_COLUMN, Ball
from dpgp_core.spectral.prior import ClippedPrior, PublicPrior, at_nodes, unclipped

RANGES = (4.0, 8.0, 16.0, 32.0)  # of the exponential kernel, node spacings
SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85)  # of a record's variance that the field has
MOST = 700  # largest number of nodes for choosing range and share
LONG, SMOOTH = 0.25, 0.12  # variance of smooth change, as a share of the field's, at two ranges
SMOOTH_RANGE = 8.0  # node spacings; the longer range is a third of the domain's diameter
SCALE = 0.25  # variance of the factor by which the public map's contrasts may change
COLUMNS = (0.3, 0.6)  # shares of the field's variance that public columns may explain
ODDS = 0.25  # prior odds that columns explain anything
CLIP = 2.5  # clip bound, in deviations of a record about the public map
# Local scatter is a weighted mean over NEAR spacings, with USUAL pseudo-records of the usual scatter.
NEAR, USUAL = 2.0, 20.0
OUTLYING = 3.0  # deviations at which residuals are cut before they widen the local scatter
JITTER = 1e-9


@dataclass(frozen=True)
class MapModel:
    """The map of the private records without privacy: a public linear smoother."""

    # prior, lengthscale, ridge: of its Gaussian process: name in `PRIORS`, metres, and noise over signal
    prior: str
    lengthscale: float
    ridge: float
    # centre, clip: its response scale, in the response units of the release: it clips values to centre +-
    # clip
    centre: float
    clip: float
    usual: float = 0.0  # mean answer, -1 to 1, to which it returns far from all records


@dataclass(frozen=True, eq=False)
class PublicField:
    """The posterior of a field given public records of another time, at the M nodes of a domain.

    Records scatter around the field with standard deviation `scatter`, times `local` at each node; the
    field's own deviation grows by the same factor. It has an exponential kernel and an unknown constant mean.
    It is the prior for the private records, up to drift: `drift` is the covariance of a change since the
    reference that is as large as the field itself.
    """

    nodes: Nodes
    index: Ints  # (k,) nodes with public records, increasing
    # count, mean: (k,) number and mean of their responses, clipped or not
    count: Floats
    mean: Floats
    # deviation, scatter, lengthscale: standard deviations, response units, and metres
    deviation: float
    scatter: float
    lengthscale: float
    map: MapModel | None = None  # model of the map without privacy
    columns: Floats | None = None  # (M, k) that explain a part of the field; None if they explain nothing
    covariates: float = 0.0  # share of the field's variance that columns explain, in equal parts
    local: Floats | float = 1.0  # (M,) scatter of records around each node relative to the usual one
    ball: Ball = ONE_COLUMN  # to which the vectors of private records are cut; other columns vary alike

    @classmethod
    def of(cls, nodes: Nodes, cell: Ints, response: Floats, columns: Floats | None = None) -> PublicField:
        """Choose the range, and the field's share of the variance, that make public records likeliest.

        `cell`, `response` (n,) are the cells and the responses of the records. Public `columns` (N, k) in any
        units are used if the records are likelier with them. Raises InvalidValue for fewer than two records,
        or all equal.
        """
        place = nodes.place[cell]
        count = np.bincount(place, minlength=nodes.size).astype(np.float64)
        index = np.flatnonzero(count)
        total = np.bincount(place, weights=response, minlength=nodes.size)
        count, mean = count[index], total[index] / count[index]
        variance = float(np.var(response)) if response.size > 1 else 0.0
        if not variance > 0.0:
            raise InvalidValue("the public records do not differ: name reference data with several values.")
        at_node = np.zeros(nodes.size)
        at_node[index] = mean
        apart_each = np.square(response - at_node[place])
        square = np.bincount(place, weights=apart_each, minlength=nodes.size)[index]
        # The evidence takes a Cholesky factor for each candidate: a thinned set of nodes bounds its cost.
        sample = np.unique(np.linspace(0, index.size - 1, min(MOST, index.size)).astype(np.int64))
        centres = nodes.lattice.domain_centres[index[sample]]
        apart, spacing = cdist(centres, centres), nodes.lattice.spacing
        free = float(count[sample].sum()) - sample.size
        within = float(square[sample].sum())
        node_columns = None if columns is None else at_nodes(nodes, columns)
        together = (
            np.zeros(apart.shape)
            if node_columns is None
            else alike(node_columns[index[sample]], node_columns[index[sample]])
        )
        candidates = []
        for steps, (part, odd) in product(RANGES, column_shares(node_columns).items()):
            shape = (1.0 - part) * np.exp(-apart / (steps * spacing)) + part * together
            for share in SHARES:
                scatter = (1.0 - share) * variance
                evidence = evidence_of_means(shape, share * variance, scatter, count[sample], mean[sample])
                candidates.append((evidence + _within(within, free, scatter) + odd, steps, share, part))
        _, steps, share, part = max(candidates)
        # Single outliers are cut before they enter the local scatter, which would widen their neighbourhood.
        deviation, scatter = np.sqrt(share * variance), np.sqrt((1.0 - share) * variance)
        apart_each = np.minimum(apart_each, np.square(OUTLYING * scatter))
        square = np.bincount(place, weights=apart_each, minlength=nodes.size)[index]
        return cls(
            nodes,
            index,
            count,
            mean,
            float(deviation),
            float(scatter),
            steps * spacing,
            columns=node_columns if part else None,
            covariates=part,
            local=_local(nodes, index, count - 1.0, square.astype(np.float64)),
        )

    @property
    def bound(self) -> float:
        """Clip bound of private records about the public map, response units: public."""
        return CLIP * float(np.hypot(self.scatter, 0.5 * self.deviation))

    def rescaled(self, centre: float, clip: float, model: MapModel | None = None) -> PublicField:
        """Rescale to units in which `centre` is 0 and `clip` is 1; `model` is the map without privacy."""
        return replace(
            self,
            mean=(self.mean - centre) / clip,
            deviation=self.deviation / clip,
            scatter=self.scatter / clip,
            map=model,
        )

    @cached_property
    def _known(self) -> tuple[float, Floats, Floats, float, Floats]:
        """Mean of the field, root of the records' covariance, their weights, information, white ones."""
        # Universal kriging with an unknown constant mean: `information` is 1^T V^-1 1, the precision of the
        # generalised least squares estimate `level` of that mean.
        centres = self.nodes.lattice.domain_centres[self.index]
        covariance = self._kernel(centres, self.index)
        covariance[np.diag_indices_from(covariance)] += self.scatter**2 / self.count
        root = cholesky(covariance, "the covariance of the public records", "use other reference data")
        ones = solve_lower(root, np.ones(self.index.size))
        information = float(ones @ ones)
        level = float(ones @ solve_lower(root, self.mean)) / information
        weights = solve_lower(root, solve_lower(root, self.mean - level), transposed=True)
        return level, root, weights, information, ones

    def _kernel(self, places: Floats, node: Ints) -> Floats:
        """(K, k) prior covariance of the field at places (K, 2), in the nodes `node`, with the records."""
        centres = self.nodes.lattice.domain_centres[self.index]
        shape = (1.0 - self.covariates) * np.exp(-cdist(places, centres) / self.lengthscale)
        if self.columns is not None:
            shape += self.covariates * alike(self.columns[node], self.columns[self.index])
        return np.asarray(self.deviation**2 * shape)

    def at_cells(self, places: Floats) -> Floats:
        """(N,) posterior mean of the field at the centres (N, 2) of all cells, metres."""
        return self.at_nodes if self.nodes.one_to_one else self._at(places, self.nodes.place)

    def _at(self, places: Floats, node: Ints) -> Floats:
        level, _, weights, _, _ = self._known
        return np.asarray(level + self._kernel(places, node) @ weights)

    @cached_property
    def at_nodes(self) -> Floats:
        """(M,) posterior mean at the nodes."""
        return self._at(self.nodes.lattice.domain_centres, np.arange(self.nodes.size))

    @cached_property
    def covariance(self) -> Floats:
        """(M, M) posterior covariance at the nodes."""
        _, root, _, information, ones = self._known
        centres = self.nodes.lattice.domain_centres
        posterior = _decay(cdist(centres, centres), self.lengthscale)
        posterior *= 1.0 - self.covariates
        if self.columns is not None:
            posterior += self.covariates * alike(self.columns, self.columns)
        posterior *= self.deviation**2
        half = solve_lower(root, posterior[:, self.index].T)
        reduction = half.T @ half
        posterior -= reduction
        # The second term is the error of the estimated mean, where the records do not determine the field.
        left = 1.0 - half.T @ ones
        posterior += np.divide(np.outer(left, left, out=reduction), information, out=reduction)
        # C becomes h C h, h the local scatter (docs/spectral-statistics.md, section 4, "The public field").
        local = np.broadcast_to(self.local, self.nodes.size)
        posterior *= local
        posterior *= local[:, None]
        return posterior

    @property
    def scatters(self) -> Floats:
        """(M,) standard deviation of records around each node."""
        return np.asarray(self.scatter * np.broadcast_to(self.local, self.nodes.size))

    @cached_property
    def drift(self) -> Floats:
        """(M, M) covariance of a drift: a shift, smooth change, new weights of public columns, new scale.

        The shift has a record's own deviation, as a change common to all records need not follow the field.
        """
        # D = r^2 + S^2 (1 + K_long/4 + .12 K_8 + .12 B B'/k) + d d'/4, d the contrasts of the public map
        # (docs/spectral-statistics.md, section 4, "Drift"; "Beside published reference data").
        centres = self.nodes.lattice.domain_centres
        apart = cdist(centres, centres)
        change = LONG * _decay(apart.copy(), apart.max() / 3.0 + 1.0)
        change += 1.0
        change += SMOOTH * _decay(apart, SMOOTH_RANGE * self.nodes.lattice.spacing)
        if self.columns is not None:
            change += SMOOTH * alike(self.columns, self.columns)
        contrast = self.at_nodes - float(np.average(self.at_nodes[self.index], weights=self.count))
        change *= self.deviation**2
        change += self.scatter**2
        change += np.outer(SCALE * contrast, contrast, out=apart)
        return change

    def before(self, trust: float, drift: float) -> Floats:
        """(M,) variance of the field at the nodes before a release, under one belief."""
        return np.asarray(trust * self.covariance.diagonal() + drift**2 * self.drift.diagonal())

    @cached_property
    def roots(self) -> tuple[Floats, Floats]:
        """Lower Cholesky factors (M, M) of `covariance` and `drift`, for draws."""
        return _root(self.covariance), _root(self.drift)

    @cached_property
    def smoother(self) -> Prior:
        """Prior at the nodes of the map without privacy; InvalidValue if that map's model is unknown."""
        if self.map is None:
            raise InvalidValue("say how the map without privacy is made.")
        return make_prior(self.map.prior, self.nodes.lattice, self.map.lengthscale)

    def __getstate__(self) -> dict[str, object]:
        """Drop cached arrays: another process recomputes them."""
        cached = ("_known", "at_nodes", "covariance", "drift", "roots", "smoother")
        return {name: value for name, value in self.__dict__.items() if name not in cached}


@dataclass(frozen=True, eq=False)
class Seen:
    """Parts of the covariance of released sums, (p, p) each: the public map's error, a drift, noise."""

    links: tuple[Floats, Floats]  # as in `Belief`
    own: Floats
    drifted: Floats
    records: Floats
    square: float | None  # mean square of an answer's share, the weight of errors of counts; None: amounts

    def by(self, field: PublicField, trust: float, drift: float) -> tuple[Floats, ClippedPrior | None, float]:
        """Covariance (p, p) for a trust and a drift, the law of amounts, and a response's mean square."""
        if self.square is not None:
            return trust * self.own + drift**2 * self.drifted + self.records, None, self.square
        # Clipping flattens the field to a slope below 1, which depends on its variance under this belief.
        deviation = float(np.sqrt(field.before(trust, drift).mean()))
        prior = ClippedPrior.of(PublicPrior(0.0, deviation, field.scatter / deviation, ball=field.ball))
        covariance = prior.slope**2 * (trust * self.own + drift**2 * self.drifted)
        covariance += prior.record_noise**2 * self.records
        return covariance, prior, prior.deviation**2


@dataclass(frozen=True, eq=False)
class Belief:
    """A size of drift and an uncertainty of the public map, with the field's posterior under them.

    The field less the public map is `N(0, C)`, C = trust * covariance + drift^2 * covariance of a drift. Its
    clipped form is linear, `slope` times the field; the record noise includes the remainder.
    """

    drift: float  # as `trust` a factor in C
    trust: float
    # the law of clipped responses for the mean variance of C; None for answers, whose law is in
    # `DriftReader.law`
    prior: ClippedPrior | None
    root: Floats  # (p, p) lower Cholesky factor of the released sums' covariance V
    before: Floats  # (M,) prior variance of the field at the nodes
    links: tuple[Floats, Floats]  # (M, p) covariance of map and of drift, times records and features
    square: float  # mean square of a response, the weight of errors of the counts
    odds: float = 1.0  # odds before the release, relative to the other beliefs

    @cached_property
    def link(self) -> Floats:
        """(M, p) covariance of the field with the released sums; computed on first use."""
        map_error, drifted = self.links
        return self.slope * (self.trust * map_error + self.drift**2 * drifted)

    def half(self) -> Floats:
        """(p, M) root of the reduction: `half.T @ half` is the covariance that the sums remove."""
        return solve_lower(self.root, self.link.T)

    @cached_property
    def deviation(self) -> Floats:
        """(M,) posterior standard deviation of the field in linear form."""
        left = self.before - np.square(self.half()).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(left, 1e-12)))

    @property
    def slope(self) -> float:
        """Mean slope of a clipped response in the field; 1 for answers."""
        return 1.0 if self.prior is None else self.prior.slope

    @property
    def record_noise(self) -> float:
        """Noise of a record, in units of the reader's `noises`."""
        return 1.0 if self.prior is None else self.prior.record_noise

    def log_evidence(self, sums: Floats) -> float:
        """Log density of released sums (p,), nats, up to a constant that all beliefs share."""
        white = solve_lower(self.root, sums)
        return -0.5 * float(white @ white) - float(np.sum(np.log(self.root.diagonal())))

    def corrected(self, left: Floats) -> Floats:
        """`V^-1 left` for (p,) or (p, R)."""
        return solve_lower(self.root, solve_lower(self.root, left), transposed=True)

    def mean(self, sums: Floats) -> Floats:
        """(M,) posterior mean of the field less the public map, in linear form."""
        return np.asarray(self.link @ self.corrected(sums))

    def average_sd(self, weights: Floats, field: PublicField) -> float:
        """Standard deviation, given a release, of the field's sum over the nodes by weights (M,)."""
        map_error, drifted = (
            float(weights @ covariance @ weights) for covariance in (field.covariance, field.drift)
        )
        reduction = np.square(solve_lower(self.root, self.link.T @ weights)).sum()
        return float(np.sqrt(max(self.trust * map_error + self.drift**2 * drifted - reduction, 0.0)))

    def unclipped(self, sums: Floats, linear: Floats) -> tuple[Floats, Floats, Floats]:
        """Undo clipping for sums (p,) and linear paths (R, M): paths, mean and deviation of the field."""
        if self.prior is None:
            return linear, self.mean(sums), self.deviation
        slope = self.slope
        return unclipped(slope * self.mean(sums), slope * self.deviation, self.prior, slope * linear)


def _decay(apart: Floats, lengthscale: float) -> Floats:
    """`exp(-apart / lengthscale)`, computed in place as matrices of all nodes are large."""
    apart /= -lengthscale
    return np.exp(apart, out=apart)


def column_shares(columns: Floats | None) -> dict[float, float]:
    """Shares of the field's variance that columns (M, k) may explain, and the log odds of each."""
    return {0.0: 0.0} | {part: np.log(ODDS / len(COLUMNS)) for part in COLUMNS if columns is not None}


def alike(columns: Floats, other: Floats) -> Floats:
    """(A, B) covariance of sums of columns (A, k) and (B, k), with normal weights of total variance 1."""
    return np.asarray(columns @ other.T / columns.shape[1])


def _root(covariance: Floats) -> Floats:
    covariance = covariance.T.copy(order="F")  # symmetric, so the transpose avoids a change of layout
    covariance[np.diag_indices_from(covariance)] += JITTER * float(np.trace(covariance)) / len(covariance)
    what = "the covariance of the field"
    return cholesky(covariance, what, "use other reference data", overwrite=True)


def _local(nodes: Nodes, index: Ints, free: Floats, square: Floats) -> Floats:
    """(M,) scatter of records near each node relative to the usual scatter.

    `square` (k,) are squared deviations from the means of the nodes `index`, with `free` (k,) degrees of
    freedom.
    """
    if not square.any():
        return np.ones(nodes.size)
    centres, usual = nodes.lattice.domain_centres, square.sum() / free.sum()
    near = np.exp(-cdist(centres, centres[index]) / (NEAR * nodes.lattice.spacing))
    return np.asarray(np.sqrt((USUAL + near @ square / usual) / (USUAL + near @ free)))


def evidence_of_means(shape: Floats, field: float, scatter: float, count: Floats, mean: Floats) -> float:
    """Log density of node means (k,) under an unknown constant mean, up to a constant; `shape` is (k, k)."""
    covariance = field * shape
    covariance[np.diag_indices_from(covariance)] += scatter / count
    root = cholesky(covariance, "the covariance of the public records", "use other reference data")
    # Restricted likelihood: the integral over the unknown mean adds log(information)/2.
    ones, white = solve_lower(root, np.ones(mean.size)), solve_lower(root, mean)
    information = float(ones @ ones)
    left = white - ones * float(ones @ white) / information
    spread = float(np.sum(np.log(root.diagonal()))) + 0.5 * float(np.log(information))
    return -0.5 * float(left @ left) - spread


def _within(square: float, free: float, scatter: float) -> float:
    """Log density of the records' deviations from their node means, up to a constant."""
    return -0.5 * (square / scatter + free * float(np.log(scatter))) if free else 0.0
