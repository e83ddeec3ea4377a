"""What published reference records say of the field: a Gaussian process, chosen by their evidence."""

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
from dpgp_core.spectral.prior import ClippedPrior, PublicPrior, at_nodes, unclipped

RANGES = (4.0, 8.0, 16.0, 32.0)  # of the exponential kernel, node spacings
SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85)  # of a record's variance that the field has
MOST = 700  # nodes by which range and share are chosen
LONG, SMOOTH = 0.25, 0.12  # variance of smooth change, as a share of the field's, at two ranges
SMOOTH_RANGE = 8.0  # node spacings; the longer range is a third of the domain's diameter
SCALE = 0.25  # variance of the factor by which the public map's contrasts may change
COLUMNS = (0.3, 0.6)  # shares of the field's variance that public columns may explain
ODDS = 0.25  # that they explain any, against that they do not, before the records are seen
CLIP = 2.5  # deviations of a record about the public map that the clip bound holds
NEAR, USUAL = 2.0, 20.0  # spacings within which scatter is alike; records of the usual scatter beside them
OUTLYING = 3.0  # deviations beyond which a record tells of no wider scatter around it
JITTER = 1e-9


@dataclass(frozen=True)
class MapModel:
    """How the map of the private records without privacy is made: a public linear smoother."""

    # prior, lengthscale, ridge: of its Gaussian process: name in `PRIORS`, metres, and noise over signal
    prior: str
    lengthscale: float
    ridge: float
    # centre, clip: its own response scale, in the response units of the release: it clips values to centre +-
    # clip
    centre: float
    clip: float
    usual: float = 0.0  # mean answer, -1 to 1, that it returns to far from all records


@dataclass(frozen=True, eq=False)
class PublicField:
    """The posterior of a field given public records of another time, at the M nodes of a domain.

    Records scatter around the field with standard deviation `scatter`, times `local` at each node: where they
    scatter more, the field is less certain by as much. It has an exponential kernel and an unknown constant
    mean. The private records are judged by it, up to drift: `drift` is the covariance of what may have
    changed since, for a drift as large as the field itself.
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
    map: MapModel | None = None  # how the map without privacy is made
    columns: Floats | None = None  # (M, k) that explain a part of the field; None where they explain nothing
    covariates: float = 0.0  # share of the field's variance that they explain, in equal parts
    local: Floats | float = 1.0  # (M,) scatter of records around each node relative to the usual one

    @classmethod
    def of(cls, nodes: Nodes, cell: Ints, response: Floats, columns: Floats | None = None) -> PublicField:
        """Find the range, and the field's share of the variance, that make public records likeliest.

        `cell`, `response` (n,): where records lie, and what they say in response units. Public
        `columns` (N, k) in any units are kept if the records are likelier with them. Raises InvalidValue for
        fewer than two records, or all equal.
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
        some = np.unique(np.linspace(0, index.size - 1, min(MOST, index.size)).astype(np.int64))
        centres = nodes.lattice.domain_centres[index[some]]
        apart, spacing = cdist(centres, centres), nodes.lattice.spacing
        free = float(count[some].sum()) - some.size
        within = float(square[some].sum())
        known = None if columns is None else at_nodes(nodes, columns)
        together = np.zeros(apart.shape) if known is None else alike(known[index[some]], known[index[some]])
        tried = []
        for steps, (part, odd) in product(RANGES, column_shares(known).items()):
            shape = (1.0 - part) * np.exp(-apart / (steps * spacing)) + part * together
            for share in SHARES:
                scatter = (1.0 - share) * variance
                found = evidence_of_means(shape, share * variance, scatter, count[some], mean[some])
                tried.append((found + _within(within, free, scatter) + odd, steps, share, part))
        _, steps, share, part = max(tried)
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
            columns=known if part else None,
            covariates=part,
            local=_local(nodes, index, count - 1.0, square.astype(np.float64)),
        )

    @property
    def bound(self) -> float:
        """The clip bound about the public map that private records are cut to, response units: public."""
        return CLIP * float(np.hypot(self.scatter, 0.5 * self.deviation))

    def rescaled(self, centre: float, clip: float, model: MapModel | None = None) -> PublicField:
        """The same in units of which `centre` is 0 and `clip` is 1; `model` makes the map without privacy."""
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
        """(K, k) prior covariance of the field at places (K, 2), whose nodes are given, with its records."""
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
        """(M,) the posterior mean at the nodes."""
        return self._at(self.nodes.lattice.domain_centres, np.arange(self.nodes.size))

    @cached_property
    def covariance(self) -> Floats:
        """(M, M) posterior covariance at the nodes."""
        _, root, _, information, ones = self._known
        centres = self.nodes.lattice.domain_centres
        made = _decay(cdist(centres, centres), self.lengthscale)
        made *= 1.0 - self.covariates
        if self.columns is not None:
            made += self.covariates * alike(self.columns, self.columns)
        made *= self.deviation**2
        half = solve_lower(root, made[:, self.index].T)
        taken = half.T @ half
        made -= taken
        left = 1.0 - half.T @ ones
        made += np.divide(np.outer(left, left, out=taken), information, out=taken)
        local = np.broadcast_to(self.local, self.nodes.size)
        made *= local
        made *= local[:, None]
        return made

    @property
    def scatters(self) -> Floats:
        """(M,) standard deviation of records around each node."""
        return np.asarray(self.scatter * np.broadcast_to(self.local, self.nodes.size))

    @cached_property
    def drift(self) -> Floats:
        """(M, M) covariance of a drift: a shift, smooth change, other weights of public columns, another
        scale.

        The shift is as large as a record's own deviation: what all records share need not follow the field.
        """
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
        """The prior at the nodes of the map without privacy; InvalidValue if that map's model is unknown."""
        if self.map is None:
            raise InvalidValue("say how the map without privacy is made.")
        return make_prior(self.map.prior, self.nodes.lattice, self.map.lengthscale)

    def __getstate__(self) -> dict[str, object]:
        """What is made anew elsewhere does not travel."""
        made = ("_known", "at_nodes", "covariance", "drift", "roots", "smoother")
        return {name: value for name, value in self.__dict__.items() if name not in made}


@dataclass(frozen=True, eq=False)
class Seen:
    """What released sums see, (p, p) each: the public map's error, a drift, and the records' noise."""

    links: tuple[Floats, Floats]  # as in `Belief`
    own: Floats
    drifted: Floats
    records: Floats
    square: float | None  # mean square of an answer's share, by which errors of counts weigh; None of amounts

    def by(self, field: PublicField, trust: float, drift: float) -> tuple[Floats, ClippedPrior | None, float]:
        """(p, p) what a trust and a drift make of it; the law of amounts; the mean square of a response."""
        if self.square is not None:
            return trust * self.own + drift**2 * self.drifted + self.records, None, self.square
        deviation = float(np.sqrt(field.before(trust, drift).mean()))
        prior = ClippedPrior.of(PublicPrior(0.0, deviation, field.scatter / deviation))
        covariance = prior.slope**2 * (trust * self.own + drift**2 * self.drifted)
        covariance += prior.record_noise**2 * self.records
        return covariance, prior, prior.deviation**2


@dataclass(frozen=True, eq=False)
class Belief:
    """How far the field has drifted and how uncertain its map is, and the field's posterior then.

    The field less the public map is `N(0, C)`, C = trust * covariance + drift^2 * covariance of a drift. Its
    clipped form is linear, `slope` times the field; what that leaves out is in the record noise.
    """

    # drift, trust: of C
    drift: float
    trust: float
    # the law of clipped responses for the mean variance of C; None of answers, which `DriftReader.law` has
    prior: ClippedPrior | None
    root: Floats  # (p, p) lower Cholesky factor of the released sums' covariance V
    before: Floats  # (M,) prior variance of the field at the nodes
    # (M, p) the public map's covariance, and that of a drift, times the records and the features
    links: tuple[Floats, Floats]
    square: float  # mean square of a response, by which errors of the counts weigh
    odds: float = 1.0  # before the release, relative to the other beliefs

    @cached_property
    def link(self) -> Floats:
        """(M, p) covariance of the field with the released sums; made for beliefs of some weight alone."""
        own, drifted = self.links
        return self.slope * (self.trust * own + self.drift**2 * drifted)

    def half(self) -> Floats:
        """(p, M) what the sums tell of the field: `half.T @ half` is the covariance that they take away."""
        return solve_lower(self.root, self.link.T)

    @cached_property
    def deviation(self) -> Floats:
        """(M,) posterior standard deviation of the field in linear form."""
        left = self.before - np.square(self.half()).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(left, 1e-12)))

    @property
    def slope(self) -> float:
        """Of a clipped response in the field, on average; 1 of answers."""
        return 1.0 if self.prior is None else self.prior.slope

    @property
    def record_noise(self) -> float:
        """Of a record, in units of the reader's `noises`."""
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
        own, drifted = (float(weights @ each @ weights) for each in (field.covariance, field.drift))
        known = np.square(solve_lower(self.root, self.link.T @ weights)).sum()
        return float(np.sqrt(max(self.trust * own + self.drift**2 * drifted - known, 0.0)))

    def unclipped(self, sums: Floats, linear: Floats) -> tuple[Floats, Floats, Floats]:
        """Paths (R, M) before clipping, of those in linear form; mean and deviation (M,), for sums (p,)."""
        if self.prior is None:
            return linear, self.mean(sums), self.deviation
        slope = self.slope
        return unclipped(slope * self.mean(sums), slope * self.deviation, self.prior, slope * linear)


def _decay(apart: Floats, lengthscale: float) -> Floats:
    """`exp(-apart / lengthscale)` in place: matrices of all nodes are large."""
    apart /= -lengthscale
    return np.exp(apart, out=apart)


def column_shares(columns: Floats | None) -> dict[float, float]:
    """Shares of the field's variance that columns (M, k) may explain, and the log odds of each."""
    return {0.0: 0.0} | {part: np.log(ODDS / len(COLUMNS)) for part in COLUMNS if columns is not None}


def alike(one: Floats, other: Floats) -> Floats:
    """(A, B) covariance of sums of columns (A, k) and (B, k), with normal weights of total variance 1."""
    return np.asarray(one @ other.T / one.shape[1])


def _root(covariance: Floats) -> Floats:
    covariance = covariance.T.copy(order="F")  # symmetric: copied as it lies in memory
    covariance[np.diag_indices_from(covariance)] += JITTER * float(np.trace(covariance)) / len(covariance)
    what = "the covariance of the field"
    return cholesky(covariance, what, "use other reference data", overwrite=True)


def _local(nodes: Nodes, index: Ints, free: Floats, square: Floats) -> Floats:
    """(M,) how much wider than usual records scatter near each node.

    `square` (k,): squared deviations from the means of the nodes `index`, of `free` (k,) degrees of freedom.
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
    ones, white = solve_lower(root, np.ones(mean.size)), solve_lower(root, mean)
    information = float(ones @ ones)
    left = white - ones * float(ones @ white) / information
    spread = float(np.sum(np.log(root.diagonal()))) + 0.5 * float(np.log(information))
    return -0.5 * float(left @ left) - spread


def _within(square: float, free: float, scatter: float) -> float:
    """Log density of what records differ by within their nodes, up to a constant."""
    return -0.5 * (square / scatter + free * float(np.log(scatter))) if free else 0.0
