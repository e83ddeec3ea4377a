"""Reading released sums where a published reference says what the field was: drift is weighed by evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv, ndtr, pdtrik

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import cutoff_for_map
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.mechanisms.base import LEAST_WEIGHT, Reading, mixed, shares
from dpgp_core.noise import Entropy
from dpgp_core.posterior.fitting import Posterior, fit_cells
from dpgp_core.spectral.counts import CHANCE, NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.model_check import FEWEST_CHECKED, ModelCheck, compared
from dpgp_core.spectral.prior import ClippedPrior, PublicPrior, clipped_moments, unclipped
from dpgp_core.spectral.public_field import PublicField

DRIFTS = (0.05, 0.15, 0.4, 1.0)  # deviations of the drift, as shares of the field's own
TRUSTS = (1.0, 2.5)
"""Factors on the covariance of the public map: how much more uncertain it may be than it says."""

COUNTS = 3  # draws of the private records' places for which the map without privacy is made
MAPS = 24  # draws of that map for one simulated release
NO_FIELD = "this design starts from a published reference: name it, or choose another."

Smoothed = tuple[Ints, Floats, Posterior]


@dataclass(frozen=True, eq=False)
class Belief:
    """One drift of `DRIFTS` with one trust of `TRUSTS`, and the posterior of the field under it.

    The field less the public map is `N(0, C)`, C = trust * covariance + drift^2 * covariance of a drift. Its
    clipped form is linear, `slope` times the field; what that leaves out is in the record noise.
    """

    # drift, trust: of C
    drift: float
    trust: float
    prior: ClippedPrior  # the law of clipped responses for the mean variance of C
    root: Floats  # (p, p) lower Cholesky factor of the released sums' covariance V
    before: Floats  # (M,) prior variance of the field at the nodes
    # (M, p) the public map's covariance, and that of a drift, times the records and the features
    links: tuple[Floats, Floats]

    @cached_property
    def link(self) -> Floats:
        """(M, p) covariance of the field with the released sums; made for beliefs of some weight alone."""
        own, drifted = self.links
        return self.slope * (self.trust * own + self.drift**2 * drifted)

    def half(self) -> Floats:
        """(p, M) what the sums tell of the field: `half.T @ half` is the covariance that they take away."""
        return solve_lower(self.root, np.ascontiguousarray(self.link.T))

    @cached_property
    def deviation(self) -> Floats:
        """(M,) posterior standard deviation of the field in linear form."""
        left = self.before - np.square(self.half()).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(left, 1e-12)))

    @property
    def slope(self) -> float:
        """Of a clipped response in the field, on average."""
        return self.prior.deviation / self.prior.before.deviation

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

    def unclipped(self, sums: Floats, linear: Floats) -> tuple[Floats, Floats, Floats]:
        """Paths (R, M) before clipping, of those in linear form; mean and deviation (M,), for sums (p,)."""
        slope = self.slope
        return unclipped(slope * self.mean(sums), slope * self.deviation, self.prior, slope * linear)


@dataclass(frozen=True, eq=False)
class DriftReading:
    """What a release says, on the N cells: of the field, and of the map of its records without privacy."""

    field: Reading  # the field less the public map
    # map_mean, map_sd: (N,) what a map of the same records without privacy shows, less the public map
    map_mean: Floats
    map_sd: Floats
    weight: Floats  # (B,) of all beliefs


class DriftReader:
    """Reads sums of residuals from a public map: everything that does not depend on the released sums.

    With A (p, M) the features, m the counts, u the variance of a node's own count, E the covariance of the
    error of A m, h the local scatter, C the field's covariance and C0 its diagonal without drift, b the slope
    and rho the record noise of `ClippedPrior`:

        W = b C diag(m) A^T,
        V = b A diag(m) W + A diag(rho^2 h^2 m + b^2 u C0) A^T + deviation^2 E + noise^2.

    The sums weigh a node's value by its true count, which differs from m: u C0 is the variance of that error.
    The term of E covers what neighbours share, where errors of their counts cancel. The field less the public
    map has mean `W V^-1 T`; beliefs weigh as `N(T; 0, V)`. Draws follow Matheron's rule.
    (docs/spectral-statistics.md, the reading with a published reference.)
    """

    def __init__(
        self, field: PublicField, features: Floats, counts: NodeCounts, noise: float,
        *, places_known: bool = False, single: bool = False,
    ) -> None:  # fmt: skip
        self._field, self._features, self._noise = field, features, noise
        self.counts = counts
        self._known, self._single = places_known, single
        self._smoothed: list[Smoothed] = []
        self._drawn: tuple[Floats, tuple[Floats, Floats]] | None = None
        self.beliefs = self._made()

    @classmethod
    def of(
        cls, plan: Prepared, known: PublicCounts, released: Floats | None, field: PublicField | None
    ) -> DriftReader:
        """Read sums given counts (p,), None where places are public; InvalidValue without a public field."""
        if field is None:
            raise InvalidValue(NO_FIELD)
        return cls(
            field, plan.features.values, plan.counts(known, released), plan.noise.sums,
            places_known=known.kind == "known", single=known.single,
        )  # fmt: skip

    def _made(self) -> tuple[Belief, ...]:
        field, a, m = self._field, self._features, self.counts.mean
        loaded = m[:, None] * a
        own, drifted = field.covariance @ loaded, field.drift @ loaded
        own_seen, drifted_seen = loaded.T @ own + (self._astray[:, None] * a).T @ a, loaded.T @ drifted
        records = loaded.T @ (np.square(self._local)[:, None] * a)
        found = []
        for trust in TRUSTS:
            for drift in DRIFTS:
                before = trust * field.covariance.diagonal() + drift**2 * field.drift.diagonal()
                deviation = float(np.sqrt(before.mean()))
                prior = ClippedPrior.of(PublicPrior(0.0, deviation, field.scatter / deviation))
                slope = prior.deviation / deviation
                covariance = slope**2 * (trust * own_seen + drift**2 * drifted_seen)
                covariance += prior.record_noise**2 * records
                covariance += prior.deviation**2 * self.counts.error
                covariance[np.diag_indices_from(covariance)] += self._noise**2
                root = cholesky(0.5 * (covariance + covariance.T), "the covariance of the released sums",
                                "use more noise")  # fmt: skip
                found.append(Belief(drift, trust, prior, root, before, (own, drifted)))
        return tuple(found)

    @property
    def _local(self) -> Floats:
        return np.broadcast_to(self._field.local, self.counts.mean.size)

    @cached_property
    def _astray(self) -> Floats:
        """(M,) variance of each node's own count times that of the field there, at trust 1."""
        m, room = self.counts.mean, self._field.nodes.cells_per_node
        if self._known:
            return np.zeros(m.size)
        alone = m * np.maximum(1.0 - m / room, 0.0)  # at most one record in a cell
        unsure = alone if self._single else self.counts.growth * m**2 + CHANCE * m
        return np.asarray(unsure * self._field.covariance.diagonal())

    def weights(self, sums: Floats) -> Floats:
        """(B,) posterior weights of the beliefs given released sums (p,)."""
        evidence = np.array([belief.log_evidence(sums) for belief in self.beliefs])
        weight = np.exp(evidence - evidence.max())
        return np.asarray(weight / weight.sum())

    def stated(self, sums: Floats) -> tuple[Floats, Floats]:
        """(N,) mean and deviation of the field less the public map, as `read` states them for sums (p,)."""
        nodes, (kept, likely) = self._field.nodes, self._kept(self.weights(sums))
        none, readings = np.empty((0, self.counts.mean.size)), []
        for belief in kept:
            _, mean, sd = belief.unclipped(sums, none)
            readings.append(Reading(nodes.spread(mean), nodes.spread(sd), np.empty((0, nodes.cells))))
        made = mixed(readings, likely)
        return made.mean, made.sd

    def _kept(self, weight: Floats) -> tuple[list[Belief], Floats]:
        """The beliefs of some weight (B,), and their own weights, which sum to 1."""
        kept = np.flatnonzero(weight >= LEAST_WEIGHT)
        return [self.beliefs[place] for place in kept], weight[kept] / weight[kept].sum()

    def check(self, sums: Floats) -> ModelCheck | None:
        """How released sums (p,) compare with draws of the likeliest belief; None of few sums."""
        if sums.size < FEWEST_CHECKED:
            return None
        belief = self.beliefs[int(np.argmax(self.weights(sums)))]
        return compared(self._field.nodes.lattice, belief.half().T, belief.root, sums)

    def read(self, sums: Floats, draws: int, entropy: Entropy) -> DriftReading:
        """The field and the map without privacy given released sums (p,), by joint draws (>= 2): free."""
        nodes, weight = self._field.nodes, self.weights(sums)
        (kept, likely), readings, maps = self._kept(weight), [], []
        numbers = shares(likely, draws)
        own, drifted = self._fields(draws, entropy)
        ends = np.cumsum(numbers)
        for belief, number, end in zip(kept, numbers, ends, strict=True):
            here = slice(end - number, end)
            drawn = np.sqrt(belief.trust) * own[:, here] + belief.drift * drifted[:, here]
            linear, errors = self._draws(belief, sums, drawn, entropy)
            paths, centre, sd = belief.unclipped(sums, linear.T)
            if number:
                maps.append(self._maps(belief, paths, errors, entropy))
            stated = nodes.spread(sd)
            readings.append(
                Reading(nodes.spread(centre), stated, self._at_cells(belief, paths, centre, stated))
            )
        shown = np.concatenate(maps)
        return DriftReading(
            _shuffled(mixed(readings, likely), entropy),
            nodes.spread(shown.mean(axis=0)), nodes.spread(shown.std(axis=0, ddof=1)), weight,
        )  # fmt: skip

    def _fields(self, draws: int, entropy: Entropy) -> tuple[Floats, Floats]:
        """(M, R) draws of the public map's error and of a drift, from before the release.

        Simulated releases of all worlds share a seed: what equal white noise gives is made once.
        """
        roots = self._field.roots
        white = np.array([entropy.normal((root.shape[0], draws)) for root in roots])
        if self._drawn is None or not np.array_equal(white, self._drawn[0]):
            self._drawn = white, (roots[0] @ white[0], roots[1] @ white[1])
        return self._drawn[1]

    def _draws(self, belief: Belief, sums: Floats, field: Floats, entropy: Entropy) -> tuple[Floats, Floats]:
        """(M, R) draws of the field in linear form, and of the records' summed noise at each node.

        `field` (M, R) holds draws from before the release, in linear form.
        """
        a, m, number = self._features, self.counts.mean, field.shape[1]
        deviation = belief.prior.record_noise * self._local * np.sqrt(m)
        errors = deviation[:, None] * entropy.normal((m.size, number))
        astray = np.sqrt(belief.trust * self._astray)[:, None] * entropy.normal((m.size, number))
        seen = a.T @ (belief.slope * (m[:, None] * field + astray) + errors)
        seen += belief.prior.deviation * (self._error_root @ entropy.normal((a.shape[1], number)))
        seen += self._noise * entropy.normal((a.shape[1], number))
        pull = belief.corrected(sums[:, None] - seen)
        return field + belief.link @ pull, errors + np.square(deviation)[:, None] * (a @ pull)

    @cached_property
    def _error_root(self) -> Floats:
        """(p, p) a root of the covariance of the counts' error."""
        values, vectors = np.linalg.eigh(self.counts.error)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _maps(self, belief: Belief, paths: Floats, errors: Floats, entropy: Entropy) -> Floats:
        """(R, M) maps without privacy, less the public map, for paths (R, M) and their records' noise (M, R).

        A node's mean holds the part of the noise that the released sums saw, and another that they did not.
        That map cuts single records to its own bound, which pulls means near it inward.
        """
        model = self._field.map
        m = self.counts.mean
        assert model is not None  # `smoother` refuses otherwise
        found = np.empty(paths.shape)
        parts = np.array_split(np.arange(len(paths)), min(COUNTS, len(paths)))
        for part, (place, n, smoother) in zip(parts, self._smoothers(entropy), strict=False):
            scatter = self._field.scatters[place]
            noise = belief.prior.record_noise * self._local[place]
            share = belief.slope * scatter**2 / (noise**2 * np.maximum(m[place], n))
            unseen = np.maximum(scatter**2 / n - np.square(share * noise) * m[place], 0.0)
            mean = self._field.at_nodes[place] + paths[part][:, place]
            mean += share * errors[place][:, part].T
            mean += np.sqrt(unseen) * entropy.normal((part.size, place.size))
            cut, _ = clipped_moments((mean - model.centre) / model.clip, scatter / model.clip)
            shown = smoother.mean_of(cut.T).T
            found[part] = model.centre + model.clip * shown - self._field.at_nodes
        return found

    def _smoothers(self, entropy: Entropy) -> list[Smoothed]:
        """Nodes with records (k,), their numbers, and the smoother there, for draws of the counts."""
        if not self._smoothed:
            one = self._smoother(entropy)
            more = [one if self._known else self._smoother(entropy) for _ in range(COUNTS - 1)]
            self._smoothed = [one, *more]
        return self._smoothed

    def _smoother(self, entropy: Entropy) -> Smoothed:
        n, field = self.counts.mean, self._field
        if not self._known:
            growth = self.counts.growth
            if growth:  # a node's own count scatters as that of a gamma mixture of Poisson laws
                n = n * growth * gammaincinv(1.0 / growth, entropy.uniform(n.size))
            chance = entropy.uniform(n.size)
            n = np.maximum(np.ceil(pdtrik(chance, np.maximum(n, 1e-9))), 0.0)
            n = np.minimum(n, field.nodes.cells_per_node) if self._single else n
        place = np.flatnonzero(n >= 0.5)
        place = place if place.size else np.array([int(self.counts.mean.argmax())])
        n = np.maximum(n[place], 1.0)
        smoother = field.smoother
        assert field.map is not None
        return place, n, fit_cells(smoother, place, np.zeros(place.size), field.map.ridge**2 / n)

    def _at_cells(self, belief: Belief, paths: Floats, centre: Floats, stated: Floats) -> Floats:
        """(R, N) paths at the cells; between nodes they scatter as widely as is stated there."""
        nodes = self._field.nodes
        if nodes.one_to_one or not len(paths):
            return paths if nodes.one_to_one else np.empty((0, nodes.cells))
        half = belief.half()
        covariance = belief.trust * self._field.covariance + belief.drift**2 * self._field.drift
        made = np.sqrt(np.maximum(nodes.spread_variance(covariance - half.T @ half), 1e-12))
        mean = nodes.spread(centre)
        return mean + nodes.spread(belief.deviation) / made * (nodes.spread(paths) - mean)

    def simulated(
        self, exact: Floats, releases: int, level: Floats, sign: float, entropy: Entropy
    ) -> tuple[Floats, Floats, Floats]:
        """What R releases of exact sums (p,) would state: chances of field and map without privacy, own
        cutoffs.

        `level` (N,), response units, is the threshold less the public map, `sign` 1 for above and -1 for
        below; the shapes are (R, N), (R, N) and (R,). The set is cut by the map's chances.
        """
        found, shown, own = [], [], []
        for _ in range(releases):
            read = self.read(exact + self._noise * entropy.normal(exact.size), MAPS, entropy)
            found.append(ndtr(sign * (read.field.mean - level) / np.maximum(read.field.sd, 1e-12)))
            shown.append(ndtr(sign * (read.map_mean - level) / np.maximum(read.map_sd, 1e-12)))
            own.append(cutoff_for_map(shown[-1], shown[-1]))
        return np.array(found), np.array(shown), np.array(own)


def _shuffled(reading: Reading, entropy: Entropy) -> Reading:
    """The same with its draws in an order that tells no belief."""
    order = np.argsort(entropy.uniform(len(reading.draws)))
    return Reading(reading.mean, reading.sd, reading.draws[order])
