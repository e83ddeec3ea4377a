"""Reading released sums with a published map as prior; the evidence weighs the drift since that map."""

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
from dpgp_core.spectral.ball import ONE_COLUMN
from dpgp_core.spectral.counts import CHANCE, NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.model_check import FEWEST_CHECKED, Change, ModelCheck, chance_unchanged, compared
from dpgp_core.spectral.prior import REACH, ClippedPrior, LinearLaw, before_cut, clipped_moments, share_of_yes
from dpgp_core.spectral.public_field import Belief, PublicField, Seen
from dpgp_core.spectral.settled import settled_reader

DRIFTS = (0.05, 0.15, 0.4, 1.0)  # deviations of the drift, as shares of the field's deviation
TRUSTS = (1.0, 2.5)
"""Factors on the covariance of the public map; the least drift has the first factor only."""
TRUSTS_OF_ANSWERS = (1.0,)  # in worlds drawn from the prior a wider covariance is too cautious

COUNTS = 3  # draws of the private records' places for the map without privacy
MAPS = 24  # draws of that map for one simulated release
ROUNDS = 7  # rounds of linearisation of answers; later rounds move shares by at most about .003
NO_FIELD = "this design starts from a published reference: name it, or choose another."

Smoothed = tuple[Ints, Floats, Posterior]


def suppositions(trusts: tuple[float, ...]) -> list[tuple[float, float]]:
    """Pairs of trust and drift, all equally likely; the least drift has one trust."""
    return [(trusts[0] if drift == DRIFTS[0] else trust, drift) for drift, trust in product(DRIFTS, trusts)]


@dataclass(frozen=True, eq=False)
class DriftReading:
    """The field, and the map of the same records without privacy, on N cells, given a release."""

    field: Reading  # the field less the public map
    # map_mean, map_sd: (N,) mean and deviation of the map without privacy less the public map
    map_mean: Floats
    map_sd: Floats
    weight: Floats  # (B,) posterior weights of all beliefs


class DriftReader:
    """Reader of sums of residuals from a public map: the part that does not depend on the released sums.

    With A (p, M) the features, m the counts, u the variance of a node's own count, E the covariance
    of the error of A m, h the local scatter, C the field's covariance and C0 its diagonal without
    drift, b the slope and rho the record noise of `ClippedPrior`:

        W = b C diag(m) A^T,
        V = b A diag(m) W + A diag(rho^2 h^2 m + b^2 u C0) A^T + deviation^2 E + noise^2.

    The sums weigh a node's value by its true count, which differs from m: u C0 is the variance of that error.
    The term of E covers the part that neighbours share, where errors of their counts cancel. The field less
    the public map has mean `W V^-1 T`, and a belief has the weight `N(T; 0, V)`. Draws follow Matheron's
    rule.

    Answers of yes and no are released as -1 and 1: under a `law` an answer at a node is `mean + slope` times
    the field less the public map. A diag(m) mean is then subtracted from T, and the factor of E is the mean
    square of the share of yes less that of no (docs/spectral-statistics.md, section 4, "Where the reference
    is published" and "Answers beside published ones").
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
        cls, field: PublicField, features: Floats, counts: NodeCounts, noise: float, **flags: bool
    ) -> DriftReader:
        """Reader of answers, by features (M, p), linearised around the public map; see `at`."""
        variance = np.mean([field.before(*belief) for belief in suppositions(TRUSTS_OF_ANSWERS)], axis=0)
        law = LinearLaw.about(field.at_nodes, field.at_nodes, np.sqrt(variance))
        return cls(field, features, counts, noise, law=law, **flags)

    def at(self, sums: Floats) -> DriftReader:
        """Return this reader, or for answers one linearised around its reading of the sums (p,)."""

        def linear(moments: Floats) -> DriftReader:
            reader = copy(self)  # shares everything that depends on the counts alone
            reader.law = LinearLaw.about(self._field.at_nodes, *moments)
            reader.beliefs = reader._made()
            return reader

        if self.law is None:
            return self
        return settled_reader(self, linear, lambda settling: settling.around(sums), ROUNDS)

    def around(self, sums: Floats) -> tuple[Floats, Floats]:
        """(M,) mean and deviation of the field given sums (p,), in linear form, mixed over all beliefs."""
        likely_beliefs, likely = self._kept(self.weights(sums))
        means = np.array([belief.mean(self._left(sums)) for belief in likely_beliefs])
        square = likely @ (np.square(means) + np.square([belief.deviation for belief in likely_beliefs]))
        mean = likely @ means
        return self._field.at_nodes + mean, np.sqrt(square - np.square(mean))

    @classmethod
    def of(
        cls, plan: Prepared, public_counts: PublicCounts, released: Floats | None, field: PublicField | None
    ) -> DriftReader:
        """Reader for released counts (p,), None if places are public; InvalidValue without a field."""
        if field is None:
            raise InvalidValue(NO_FIELD)
        make = cls.of_answers if plan.plan.field.law == "yes-no" else cls
        return make(
            field,
            plan.features.values,
            plan.counts(public_counts, released),
            plan.noise.sums,
            places_known=public_counts.kind == "known",
            counts_public=public_counts.kind != "unknown",
            single=public_counts.single,
        )

    def _made(self) -> tuple[Belief, ...]:
        self._sight, beliefs = self._seen(self.law), []
        supposed = Counter(suppositions(TRUSTS if self.law is None else TRUSTS_OF_ANSWERS))
        for (trust, drift), odds in supposed.items():
            covariance, prior, square = self._covariance(self._sight, trust, drift)
            root = cholesky(
                0.5 * (covariance + covariance.T), "the covariance of the released sums", "use more noise"
            )
            prior_variance = self._field.before(trust, drift)
            beliefs.append(Belief(drift, trust, prior, root, prior_variance, self._sight.links, square, odds))
        return tuple(beliefs)

    def _seen(self, law: LinearLaw | None) -> Seen:
        """Parts of the sums' covariance under a linear law."""
        field, a, m = self._field, self._features, self.counts.mean
        slopes = np.ones(m.size) if law is None else law.deviation
        noises = np.broadcast_to(field.local, m.size) if law is None else law.record_noise
        loaded = (m * slopes)[:, None] * a
        map_error, drifted = field.covariance @ loaded, field.drift @ loaded
        # b A diag(m) C diag(m) A^T b, and the error of the node's own count: b^2 A diag(u C0) A^T.
        own_seen = loaded.T @ map_error + ((np.square(slopes) * self._astray)[:, None] * a).T @ a
        records = (m[:, None] * a).T @ (np.square(noises)[:, None] * a)
        square = float(np.average(1.0 - np.square(noises), weights=np.maximum(m, 1e-12)))
        return Seen(
            (map_error, drifted), own_seen, loaded.T @ drifted, records, None if law is None else square
        )

    def _covariance(
        self, parts: Seen, trust: float, drift: float
    ) -> tuple[Floats, ClippedPrior | None, float]:
        """V (p, p) for one trust and drift, the law of amounts, and the mean square that weighs E."""
        covariance, prior, square = parts.by(self._field, trust, drift)
        covariance += square * self.counts.error
        covariance[np.diag_indices_from(covariance)] += self._noise**2
        return covariance, prior, square

    def _left(self, sums: Floats) -> Floats:
        """Released sums (p,), or (p, R), less their mean under the public map."""
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
        alone = m * np.maximum(1.0 - m / room, 0.0)
        return np.asarray(alone if self._single else self.counts.growth * m**2 + CHANCE * m)

    def weights(self, sums: Floats) -> Floats:
        """(B,) posterior weights of the beliefs given released sums (p,)."""
        evidence = np.array([belief.log_evidence(self._left(sums)) for belief in self.beliefs])
        weight = np.exp(evidence - evidence.max()) * [belief.odds for belief in self.beliefs]
        return np.asarray(weight / weight.sum())

    def stated(self, sums: Floats) -> tuple[Floats, Floats]:
        """(N,) mean and deviation of the field less the public map for sums (p,), as in `read`."""
        nodes, (likely_beliefs, likely) = self._field.nodes, self._kept(self.weights(sums))
        no_paths, readings = np.empty((0, self.counts.mean.size)), []
        for belief in likely_beliefs:
            _, mean, sd = belief.unclipped(self._left(sums), no_paths)
            readings.append(Reading(nodes.spread(mean), nodes.spread(sd), np.empty((0, nodes.cells))))
        mixture = mixed(readings, likely)
        return mixture.mean, mixture.sd

    def _kept(self, weight: Floats) -> tuple[list[Belief], Floats]:
        """Beliefs with a weight (B,) of at least LEAST_WEIGHT, and their weights scaled to sum 1."""
        positions = np.flatnonzero(weight >= LEAST_WEIGHT)
        return [self.beliefs[place] for place in positions], weight[positions] / weight[positions].sum()

    def check(self, sums: Floats) -> ModelCheck | None:
        """Compare released sums (p,) with the likeliest belief and the public map; None for few sums."""
        if sums.size < FEWEST_CHECKED:
            return None
        belief = self.beliefs[int(np.argmax(self.weights(sums)))]
        model_check = compared(self._field.nodes.lattice, belief.half().T, belief.root, self._left(sums))
        return replace(model_check, change=self._change(sums))

    def _change(self, sums: Floats) -> Change | None:
        """Compare sums (p,) with the public map; None for answers if their counts are private."""
        if self.law is not None and not self._public:
            return None
        (likely_beliefs, likely), left, readings = self._kept(self.weights(sums)), self._left(sums), []
        share, field = self.counts.mean / self.counts.mean.sum(), self._field
        was, _ = share_of_yes(field.at_nodes, np.sqrt(field.before(TRUSTS[0], 0.0)))
        for belief in likely_beliefs:
            mean, deviation = belief.mean(left), belief.deviation
            if field.ball != ONE_COLUMN:  # no formula inverts the cut of one node's mean to a ball
                level = belief.unclipped(left, np.empty((0, share.size)))[1]
                steep = np.asarray(1.0 / belief.slope)
            elif self.law is None:
                # Invert the clipping; the derivative of the inverse stretches the error.
                level, steep = before_cut(belief.slope * mean, np.hypot(field.scatters, deviation))
            else:
                level, steep = share_of_yes(field.at_nodes + mean, deviation)
                level = level - was
            sd = belief.average_sd(share * belief.slope * steep, field)
            readings.append(Reading(np.array([share @ level]), np.array([sd]), np.empty((0, 1))))
        mixture, records = mixed(readings, likely), self.counts.at_cells(self._field.nodes)
        return Change(self.unchanged(sums), float(mixture.mean[0]), float(mixture.sd[0]), records)

    def unchanged(self, sums: Floats) -> float:
        """Chance of sums (p,) at least as far from their mean under the public map, if that map is true."""
        parts, at_nodes, left = self._sight, self._field.at_nodes, sums
        if self.law is not None:  # linearise around the public map instead of the reading
            law = LinearLaw.about(at_nodes, at_nodes, np.sqrt(self._field.before(TRUSTS[0], 0.0)))
            left = sums - self._features.T @ (self.counts.mean * law.mean)
            parts = self._seen(law)
        without, prior, _ = self._covariance(parts, TRUSTS[0], 0.0)
        drifted = (1.0 if prior is None else prior.slope**2) * parts.drifted
        return chance_unchanged(left, without, drifted, DRIFTS)

    def read(self, sums: Floats, draws: int, entropy: Entropy) -> DriftReading:
        """The field and the map without privacy given sums (p,), by joint draws (>= 2): free."""
        nodes, weight = self._field.nodes, self.weights(sums)
        (likely_beliefs, likely), readings, maps = self._kept(weight), [], []
        numbers, (map_errors, drifted) = shares(likely, draws), self._fields(draws, entropy)
        ends = np.cumsum(numbers)
        for belief, number, end in zip(likely_beliefs, numbers, ends, strict=True):
            columns = slice(end - number, end)
            changes = np.sqrt(belief.trust) * map_errors[:, columns] + belief.drift * drifted[:, columns]
            linear, errors = self._draws(belief, self._left(sums), changes, entropy)
            paths, centre, sd = belief.unclipped(self._left(sums), linear.T)
            if number:
                maps.append(self._maps(belief, paths, errors, entropy))
            stated_sd = nodes.spread(sd)
            readings.append(
                Reading(nodes.spread(centre), stated_sd, self._at_cells(belief, paths, centre, stated_sd))
            )
        all_maps = np.concatenate(maps)
        return DriftReading(
            mixed(readings, likely).shuffled(entropy),
            nodes.spread(all_maps.mean(axis=0)),
            nodes.spread(all_maps.std(axis=0, ddof=1)),
            weight,
        )

    def _fields(self, draws: int, entropy: Entropy) -> tuple[Floats, Floats]:
        """(M, R) draws of the map's error and of a drift from their priors, cached for equal white noise."""
        roots = self._field.roots
        white = np.array([entropy.normal((root.shape[0], draws)) for root in roots])
        if self._drawn is None or not np.array_equal(white, self._drawn[0]):
            self._drawn = white, (coloured(roots[0], white[0]), coloured(roots[1], white[1]))
        return self._drawn[1]

    def _draws(self, belief: Belief, sums: Floats, field: Floats, entropy: Entropy) -> tuple[Floats, Floats]:
        """(M, R) draws of the linear field and of the records' summed noise; `field` (M, R): prior draws."""
        # Matheron's rule, for the field and the records' noise together.
        a, m, number = self._features, self.counts.mean, field.shape[1]
        slopes = belief.slope if self.law is None else self.law.deviation[:, None]
        deviation = belief.record_noise * self._noises * np.sqrt(m)
        errors = deviation[:, None] * entropy.normal((m.size, number))
        astray = np.sqrt(belief.trust * self._astray)[:, None] * entropy.normal((m.size, number))
        simulated = a.T @ (slopes * (m[:, None] * field + astray) + errors)
        simulated += np.sqrt(belief.square) * (self._error_root @ entropy.normal((a.shape[1], number)))
        simulated += self._noise * entropy.normal((a.shape[1], number))
        pull = belief.corrected(sums[:, None] - simulated)
        return field + belief.link @ pull, errors + np.square(deviation)[:, None] * (a @ pull)

    @cached_property
    def _error_root(self) -> Floats:
        """(p, p) a root of the covariance of the counts' error."""
        values, vectors = np.linalg.eigh(self.counts.error)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _maps(self, belief: Belief, paths: Floats, errors: Floats, entropy: Entropy) -> Floats:
        """(R, M) maps without privacy, less the public map, for paths (R, M) and their records' noise (M, R).

        The noise of a node's mean has a part that entered the released sums and an independent remainder. The
        map clips single records to its own bound, which pulls means near the bound inward.
        """
        model, m = self._field.map, self.counts.mean
        assert model is not None  # `smoother` refuses otherwise
        maps, at_nodes = np.empty(paths.shape), self._field.at_nodes
        parts = np.array_split(np.arange(len(paths)), min(COUNTS, len(paths)))
        for part, (place, n, smoother) in zip(parts, self._smoothers(entropy), strict=False):
            value, most_records = at_nodes[place] + paths[part][:, place], np.maximum(m[place], n)
            noise = belief.record_noise * self._noises[place]
            if self.law is None:
                scatter = self._field.scatters[place]
                share = belief.slope * scatter**2 / (noise**2 * most_records)
            else:  # answers scatter by their share
                value = 2.0 * ndtr(value) - 1.0
                scatter = np.sqrt(1.0 - np.square(value))
                share = scatter / (noise * most_records)
            unseen = np.maximum(scatter**2 / n - np.square(share * noise) * m[place], 0.0)
            mean = value + share * errors[place][:, part].T
            mean += np.sqrt(unseen) * entropy.normal((part.size, place.size))
            if self.law is None:
                mean, _ = clipped_moments((mean - model.centre) / model.clip, scatter / model.clip)
                map_values = model.centre + model.clip * smoother.mean_of(mean.T).T
            else:
                mean = np.clip(mean, -1.0, 1.0) - model.usual
                map_values = 0.5 + 0.5 * (smoother.mean_of(mean.T).T + model.usual)
                map_values = np.clip(ndtri(np.clip(map_values, 0.0, 1.0)), -REACH, REACH)
            maps[part] = map_values - at_nodes
        return maps

    def _smoothers(self, entropy: Entropy) -> list[Smoothed]:
        """Nodes with records (k,), their numbers, and the smoother for them, for draws of the counts."""
        if not self._smoothed:
            different = 1 if self._known else COUNTS
            self._smoothed += COUNTS // different * [self._smoother(entropy) for _ in range(different)]
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

    def _at_cells(self, belief: Belief, paths: Floats, centre: Floats, stated_sd: Floats) -> Floats:
        """(R, N) paths at the cells, widened between nodes to the stated deviation."""
        nodes = self._field.nodes
        if nodes.one_to_one or not len(paths):
            return paths if nodes.one_to_one else np.empty((0, nodes.cells))
        half = belief.half()
        covariance = belief.trust * self._field.covariance + belief.drift**2 * self._field.drift
        interpolated = np.sqrt(np.maximum(nodes.spread_variance(covariance - half.T @ half), 1e-12))
        mean = nodes.spread(centre)
        return mean + nodes.spread(belief.deviation) / interpolated * (nodes.spread(paths) - mean)

    def simulated(
        self, exact: Floats, releases: int, level: Floats, sign: float, entropy: Entropy
    ) -> tuple[Floats, Floats, Floats]:
        """Probabilities of field and map without privacy, and own cutoffs, of R releases of sums (p,).

        `level` (N,), response units, is the threshold less the public map, `sign` 1 for above and -1 for
        below; the shapes are (R, N), (R, N) and (R,). The map's probabilities cut the set.
        """
        field_chances, map_chances, cutoffs = [], [], []
        for _ in range(releases):
            sums = exact + self._noise * entropy.normal(exact.size)
            read = self.at(sums).read(sums, MAPS, entropy)
            field_chances.append(ndtr(sign * (read.field.mean - level) / np.maximum(read.field.sd, 1e-12)))
            map_chances.append(ndtr(sign * (read.map_mean - level) / np.maximum(read.map_sd, 1e-12)))
            cutoffs.append(cutoff_for_map(map_chances[-1], map_chances[-1]))
        return np.array(field_chances), np.array(map_chances), np.array(cutoffs)
