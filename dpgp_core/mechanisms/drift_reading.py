"""Reading released sums where a published reference says what the field was: drift is weighed by evidence."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import cutoff_for_map
from dpgp_core.linalg import Floats, Ints, cholesky, coloured
from dpgp_core.mechanisms.base import LEAST_WEIGHT, Reading, mixed, shares
from dpgp_core.noise import Entropy
from dpgp_core.posterior.fitting import Posterior, fit_cells
from dpgp_core.spectral.counts import CHANCE, NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.model_check import FEWEST_CHECKED, Change, ModelCheck, chance_unchanged, compared
from dpgp_core.spectral.prior import REACH, ClippedPrior, LinearLaw, before_cut, clipped_moments, share_of_yes
from dpgp_core.spectral.public_field import Belief, PublicField, Seen
from dpgp_core.spectral.settled import settled_reader

DRIFTS = (0.05, 0.15, 0.4, 1.0)  # deviations of the drift, as shares of the field's own
TRUSTS = (1.0, 2.5)
"""Factors on the covariance of the public map: how much more uncertain it may be than it says.

With the least drift only the first: a map errs as it says where next to nothing has changed since.
"""
TRUSTS_OF_ANSWERS = (1.0,)  # in worlds drawn from their prior a wider one would only state too little

COUNTS = 3  # draws of the private records' places for which the map without privacy is made
MAPS = 24  # draws of that map for one simulated release
ROUNDS = 7  # in which answers are made linear anew: from then on single shares move by about .003 at most
NO_FIELD = "this design starts from a published reference: name it, or choose another."

Smoothed = tuple[Ints, Floats, Posterior]


def suppositions(trusts: tuple[float, ...]) -> list[tuple[float, float]]:
    """Trust and drift of what may have happened, all equally likely; the least drift has one trust."""
    return [(trusts[0] if drift == DRIFTS[0] else trust, drift) for drift, trust in product(DRIFTS, trusts)]


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

    Answers of yes and no are released as they are, -1 and 1: with a `law` they are, at each node, `mean +
    slope` times the field less the public map. T is then taken less A diag(m) mean, and E counts by the mean
    square of the share of yes less that of no.
    (docs/spectral-statistics.md, the reading with a published reference.)
    """

    def __init__(
        self,
        field: PublicField,
        features: Floats,
        counts: NodeCounts,
        noise: float,
        *,
        places_known: bool = False,
        counts_public: bool = True,
        single: bool = False,
        law: LinearLaw | None = None,
    ) -> None:
        self._field, self._features, self._noise = field, features, noise
        self.counts, self.law = counts, law
        self._known, self._public, self._single = places_known, counts_public, single
        self._smoothed: list[Smoothed] = []
        self._drawn: tuple[Floats, tuple[Floats, Floats]] | None = None
        self.beliefs = self._made()

    @classmethod
    def of_answers(
        cls, field: PublicField, features: Floats, counts: NodeCounts, noise: float, **known: bool
    ) -> DriftReader:
        """The same of answers, by features (M, p), made linear around the public map; see `at`."""
        before = np.mean([field.before(*each) for each in suppositions(TRUSTS_OF_ANSWERS)], axis=0)
        law = LinearLaw.about(field.at_nodes, field.at_nodes, np.sqrt(before))
        return cls(field, features, counts, noise, law=law, **known)

    def at(self, sums: Floats) -> DriftReader:
        """This reader; of answers one made linear around what is read of released sums (p,)."""

        def linear(found: Floats) -> DriftReader:
            made = copy(self)  # with whatever depends on the counts alone
            made.law = LinearLaw.about(self._field.at_nodes, *found)
            made.beliefs = made._made()
            return made

        if self.law is None:
            return self
        return settled_reader(self, linear, lambda made: made.around(sums), ROUNDS)

    def around(self, sums: Floats) -> tuple[Floats, Floats]:
        """(M,) mean and deviation of the field itself given sums (p,), in linear form, of all beliefs."""
        kept, likely = self._kept(self.weights(sums))
        means = np.array([belief.mean(self._left(sums)) for belief in kept])
        square = likely @ (np.square(means) + np.square([belief.deviation for belief in kept]))
        mean = likely @ means
        return self._field.at_nodes + mean, np.sqrt(square - np.square(mean))

    @classmethod
    def of(
        cls, plan: Prepared, known: PublicCounts, released: Floats | None, field: PublicField | None
    ) -> DriftReader:
        """Read sums given counts (p,), None where places are public; InvalidValue without a public field."""
        if field is None:
            raise InvalidValue(NO_FIELD)
        make = cls.of_answers if plan.plan.field.law == "yes-no" else cls
        return make(
            field,
            plan.features.values,
            plan.counts(known, released),
            plan.noise.sums,
            places_known=known.kind == "known",
            counts_public=known.kind != "unknown",
            single=known.single,
        )

    def _made(self) -> tuple[Belief, ...]:
        self._sight, found = self._seen(self.law), []
        supposed = Counter(suppositions(TRUSTS if self.law is None else TRUSTS_OF_ANSWERS))
        for (trust, drift), odds in supposed.items():
            covariance, prior, square = self._covariance(self._sight, trust, drift)
            root = cholesky(
                0.5 * (covariance + covariance.T), "the covariance of the released sums", "use more noise"
            )
            before = self._field.before(trust, drift)
            found.append(Belief(drift, trust, prior, root, before, self._sight.links, square, odds))
        return tuple(found)

    def _seen(self, law: LinearLaw | None) -> Seen:
        """What the sums see under a linear law."""
        field, a, m = self._field, self._features, self.counts.mean
        slopes = np.ones(m.size) if law is None else law.deviation
        noises = np.broadcast_to(field.local, m.size) if law is None else law.record_noise
        loaded = (m * slopes)[:, None] * a
        own, drifted = field.covariance @ loaded, field.drift @ loaded
        own_seen = loaded.T @ own + ((np.square(slopes) * self._astray)[:, None] * a).T @ a
        records = (m[:, None] * a).T @ (np.square(noises)[:, None] * a)
        square = float(np.average(1.0 - np.square(noises), weights=np.maximum(m, 1e-12)))
        return Seen((own, drifted), own_seen, loaded.T @ drifted, records, None if law is None else square)

    def _covariance(
        self, seen: Seen, trust: float, drift: float
    ) -> tuple[Floats, ClippedPrior | None, float]:
        """(p, p) V for one trust and drift; the law of amounts; the mean square by which errors weigh."""
        covariance, prior, square = seen.by(self._field, trust, drift)
        covariance += square * self.counts.error
        covariance[np.diag_indices_from(covariance)] += self._noise**2
        return covariance, prior, square

    def _left(self, sums: Floats) -> Floats:
        """Released sums (p,), or (p, R), less what the public map alone would have them be."""
        if self.law is None:
            return sums
        return np.asarray((sums.T - self._features.T @ (self.counts.mean * self.law.mean)).T)

    @property
    def _noises(self) -> Floats:
        """(M,) deviation of a record's response around the field, up to a factor that a belief may have."""
        local = np.broadcast_to(self._field.local, self.counts.mean.size)
        return local if self.law is None else self.law.record_noise

    @cached_property
    def _astray(self) -> Floats:
        """(M,) variance of each node's own count times that of the field there, at trust 1."""
        return np.asarray(self._unsure * self._field.covariance.diagonal())

    @cached_property
    def _unsure(self) -> Floats:
        """(M,) variance of each node's own count."""
        m, room = self.counts.mean, self._field.nodes.cells_per_node
        if self._known:
            return np.zeros(m.size)
        alone = m * np.maximum(1.0 - m / room, 0.0)  # at most one record in a cell
        return np.asarray(alone if self._single else self.counts.growth * m**2 + CHANCE * m)

    def weights(self, sums: Floats) -> Floats:
        """(B,) posterior weights of the beliefs given released sums (p,)."""
        evidence = np.array([belief.log_evidence(self._left(sums)) for belief in self.beliefs])
        weight = np.exp(evidence - evidence.max()) * [belief.odds for belief in self.beliefs]
        return np.asarray(weight / weight.sum())

    def stated(self, sums: Floats) -> tuple[Floats, Floats]:
        """(N,) mean and deviation of the field less the public map, as `read` states them for sums (p,)."""
        nodes, (kept, likely) = self._field.nodes, self._kept(self.weights(sums))
        none, readings = np.empty((0, self.counts.mean.size)), []
        for belief in kept:
            _, mean, sd = belief.unclipped(self._left(sums), none)
            readings.append(Reading(nodes.spread(mean), nodes.spread(sd), np.empty((0, nodes.cells))))
        made = mixed(readings, likely)
        return made.mean, made.sd

    def _kept(self, weight: Floats) -> tuple[list[Belief], Floats]:
        """The beliefs of some weight (B,), and their own weights, which sum to 1."""
        kept = np.flatnonzero(weight >= LEAST_WEIGHT)
        return [self.beliefs[place] for place in kept], weight[kept] / weight[kept].sum()

    def check(self, sums: Floats) -> ModelCheck | None:
        """How released sums (p,) compare with the likeliest belief and the public map; None of few sums."""
        if sums.size < FEWEST_CHECKED:
            return None
        belief = self.beliefs[int(np.argmax(self.weights(sums)))]
        found = compared(self._field.nodes.lattice, belief.half().T, belief.root, self._left(sums))
        return replace(found, change=self._change(sums))

    def _change(self, sums: Floats) -> Change | None:
        """How released sums (p,) differ from the public map; None of answers whose counts are not public: as
        their mean is far from 0, what is not known of the counts would pass for a change."""
        if self.law is not None and not self._public:
            return None
        (kept, likely), left, readings = self._kept(self.weights(sums)), self._left(sums), []
        share, field = self.counts.mean / self.counts.mean.sum(), self._field
        was, _ = share_of_yes(field.at_nodes, np.sqrt(field.before(TRUSTS[0], 0.0)))
        for belief in kept:
            mean, deviation = belief.mean(left), belief.deviation
            if self.law is None:
                level, steep = before_cut(belief.slope * mean, np.hypot(field.scatters, deviation))
            else:
                level, steep = share_of_yes(field.at_nodes + mean, deviation)
                level = level - was
            sd = belief.average_sd(share * belief.slope * steep, field)
            readings.append(Reading(np.array([share @ level]), np.array([sd]), np.empty((0, 1))))
        made, records = mixed(readings, likely), self.counts.at_cells(self._field.nodes)
        return Change(self.unchanged(sums), float(made.mean[0]), float(made.sd[0]), records)

    def unchanged(self, sums: Floats) -> float:
        """Chance of released sums (p,) at least as far from what the public map has them be, were it true."""
        seen, at_nodes, left = self._sight, self._field.at_nodes, sums
        if self.law is not None:  # linear around that map
            law = LinearLaw.about(at_nodes, at_nodes, np.sqrt(self._field.before(TRUSTS[0], 0.0)))
            left = sums - self._features.T @ (self.counts.mean * law.mean)
            seen = self._seen(law)
        without, prior, _ = self._covariance(seen, TRUSTS[0], 0.0)
        drifted = (1.0 if prior is None else prior.slope**2) * seen.drifted
        return chance_unchanged(left, without, drifted, DRIFTS)

    def read(self, sums: Floats, draws: int, entropy: Entropy) -> DriftReading:
        """The field and the map without privacy given released sums (p,), by joint draws (>= 2): free."""
        nodes, weight = self._field.nodes, self.weights(sums)
        (kept, likely), readings, maps = self._kept(weight), [], []
        numbers, (own, drifted) = shares(likely, draws), self._fields(draws, entropy)
        ends = np.cumsum(numbers)
        for belief, number, end in zip(kept, numbers, ends, strict=True):
            here = slice(end - number, end)
            drawn = np.sqrt(belief.trust) * own[:, here] + belief.drift * drifted[:, here]
            linear, errors = self._draws(belief, self._left(sums), drawn, entropy)
            paths, centre, sd = belief.unclipped(self._left(sums), linear.T)
            if number:
                maps.append(self._maps(belief, paths, errors, entropy))
            stated = nodes.spread(sd)
            readings.append(
                Reading(nodes.spread(centre), stated, self._at_cells(belief, paths, centre, stated))
            )
        shown = np.concatenate(maps)
        return DriftReading(
            mixed(readings, likely).shuffled(entropy),
            nodes.spread(shown.mean(axis=0)),
            nodes.spread(shown.std(axis=0, ddof=1)),
            weight,
        )

    def _fields(self, draws: int, entropy: Entropy) -> tuple[Floats, Floats]:
        """(M, R) draws of the public map's error and of a drift, from before the release.

        Simulated releases of all worlds share a seed: what equal white noise gives is made once.
        """
        roots = self._field.roots
        white = np.array([entropy.normal((root.shape[0], draws)) for root in roots])
        if self._drawn is None or not np.array_equal(white, self._drawn[0]):
            self._drawn = white, (coloured(roots[0], white[0]), coloured(roots[1], white[1]))
        return self._drawn[1]

    def _draws(self, belief: Belief, sums: Floats, field: Floats, entropy: Entropy) -> tuple[Floats, Floats]:
        """(M, R) draws of the field in linear form, and of the records' summed noise at each node.

        `field` (M, R) holds draws from before the release, in linear form.
        """
        a, m, number = self._features, self.counts.mean, field.shape[1]
        slopes = belief.slope if self.law is None else self.law.deviation[:, None]
        deviation = belief.record_noise * self._noises * np.sqrt(m)
        errors = deviation[:, None] * entropy.normal((m.size, number))
        astray = np.sqrt(belief.trust * self._astray)[:, None] * entropy.normal((m.size, number))
        seen = a.T @ (slopes * (m[:, None] * field + astray) + errors)
        seen += np.sqrt(belief.square) * (self._error_root @ entropy.normal((a.shape[1], number)))
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
        model, m = self._field.map, self.counts.mean
        assert model is not None  # `smoother` refuses otherwise
        found, at_nodes = np.empty(paths.shape), self._field.at_nodes
        parts = np.array_split(np.arange(len(paths)), min(COUNTS, len(paths)))
        for part, (place, n, smoother) in zip(parts, self._smoothers(entropy), strict=False):
            value, most = at_nodes[place] + paths[part][:, place], np.maximum(m[place], n)
            noise = belief.record_noise * self._noises[place]
            if self.law is None:
                scatter = self._field.scatters[place]
                share = belief.slope * scatter**2 / (noise**2 * most)
            else:  # answers scatter by their share
                value = 2.0 * ndtr(value) - 1.0
                scatter = np.sqrt(1.0 - np.square(value))
                share = scatter / (noise * most)
            unseen = np.maximum(scatter**2 / n - np.square(share * noise) * m[place], 0.0)
            mean = value + share * errors[place][:, part].T
            mean += np.sqrt(unseen) * entropy.normal((part.size, place.size))
            if self.law is None:
                mean, _ = clipped_moments((mean - model.centre) / model.clip, scatter / model.clip)
                shown = model.centre + model.clip * smoother.mean_of(mean.T).T
            else:
                mean = np.clip(mean, -1.0, 1.0) - model.usual
                shown = 0.5 + 0.5 * (smoother.mean_of(mean.T).T + model.usual)
                shown = np.clip(ndtri(np.clip(shown, 0.0, 1.0)), -REACH, REACH)
            found[part] = shown - at_nodes
        return found

    def _smoothers(self, entropy: Entropy) -> list[Smoothed]:
        """Nodes with records (k,), their numbers, and the smoother there, for draws of the counts."""
        if not self._smoothed:
            drawn = 1 if self._known else COUNTS
            self._smoothed += COUNTS // drawn * [self._smoother(entropy) for _ in range(drawn)]
        return self._smoothed

    def _smoother(self, entropy: Entropy) -> Smoothed:
        field = self._field
        n = self.counts.mean if self._known else self.counts.drawn(entropy)
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
        """Chances of field and map without privacy, and own cutoffs, of R releases of exact sums (p,).

        `level` (N,), response units, is the threshold less the public map, `sign` 1 for above and -1 for
        below; the shapes are (R, N), (R, N) and (R,). The set is cut by the map's chances.
        """
        found, shown, own = [], [], []
        for _ in range(releases):
            sums = exact + self._noise * entropy.normal(exact.size)
            read = self.at(sums).read(sums, MAPS, entropy)
            found.append(ndtr(sign * (read.field.mean - level) / np.maximum(read.field.sd, 1e-12)))
            shown.append(ndtr(sign * (read.map_mean - level) / np.maximum(read.map_sd, 1e-12)))
            own.append(cutoff_for_map(shown[-1], shown[-1]))
        return np.array(found), np.array(shown), np.array(own)
