"""The audit of one design: an attack on bad neighbours with the real sampler, and the proof.

A check, not a guarantee: a lower bound under the proved bound proves nothing about other
neighbours; a lower bound above it proves that the sampler or the accountant is broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import open_unit, whole
from dpgp_core.accounting.rdp import EpsilonBound
from dpgp_core.audit.attack import ErrorCounts, best_threshold, count_errors, epsilon_lower_bound
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Design
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior
from dpgp_core.releasing import PublicFacts


def renyi_divergence(mean_a: Floats, cov_a: Floats, mean_b: Floats, cov_b: Floats, order: float) -> float:
    """Exact D_order(N(mean_a, cov_a) || N(mean_b, cov_b)), order > 1 (Gil et al. 2013).

    Means (k,), positive definite covariances (k, k). Source: paper, appendix A.
    """
    mixed = order * cov_b + (1.0 - order) * cov_a
    if float(np.linalg.eigvalsh(mixed)[0]) <= 0.0:
        return math.inf
    shift = mean_a - mean_b
    logs = [float(np.linalg.slogdet(matrix)[1]) for matrix in (mixed, cov_a, cov_b)]
    square = float(shift @ np.linalg.solve(mixed, shift))
    return 0.5 * order * square - (logs[0] - (1.0 - order) * logs[1] - order * logs[2]) / (
        2.0 * (order - 1.0)
    )


@dataclass(frozen=True, eq=False)
class NormalLaw:
    """A normal law of k numbers, estimated from samples."""

    mean: Floats  # shape (k,)
    precision: Floats  # inverse covariance, shape (k, k)
    log_determinant: float  # of the covariance

    @staticmethod
    def of(samples: Floats) -> NormalLaw:
        """From S samples of k numbers each, shape (S, k)."""
        covariance = np.cov(samples, rowvar=False).reshape(samples.shape[1], samples.shape[1])
        precision: Floats = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        return NormalLaw(samples.mean(axis=0), precision, float(np.linalg.slogdet(covariance)[1]))

    def log_density(self, values: Floats) -> Floats:
        """Log density of values (..., k), shape (...), up to the constant that all laws share."""
        shift = values - self.mean
        square = np.einsum("...i,ij,...j->...", shift, self.precision, shift)
        return np.asarray(-0.5 * (square + self.log_determinant))


CROWDS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Core records near the replaced ones, in units of the ridge squared."""


@dataclass(frozen=True)
class Pair:
    """Two datasets that differ in one record, at cells[0] in `first` and cells[1] in `second`."""

    first: CollapsedRecords
    second: CollapsedRecords
    # cells of the two replaced records; equal if only a response is replaced
    cells: tuple[int, int]
    # exact Renyi divergence of one path's values at these cells, at the order of the search
    divergence: float

    @property
    def watched(self) -> tuple[int, ...]:
        """The cells whose released values tell the datasets apart, without repetition."""
        return tuple(sorted(set(self.cells)))


def worst_pair(design: Design, prior: Prior, n: int, order: float = 2.0) -> Pair:
    """The candidate pair with the largest exact divergence at a Renyi order > 1.

    Without prior noise a path's values at the two replaced records' cells are sufficient: given
    them, the rest of the path has the same law under both datasets. So the attack loses nothing by
    looking there only. Raises InvalidValue for fewer than two records.
    """
    if n < 2:
        raise InvalidValue("an audit needs at least two records: one is replaced, one stays.")
    best: Pair | None = None
    for x, other in _places(prior, design):
        park = _far_from(prior, (x, other))
        cells = np.unique([x, other, park])
        covariance = among(prior, cells)
        where = {int(cell): k for k, cell in enumerate(cells)}
        for core in _cores(design, n, x, other, park):
            for response in (-1.0, 1.0) if x != other else (-1.0,):
                data = [[*core, (x, 1, 1.0)], [*core, (other, 1, response)]]
                value = _divergence(design, covariance, where, data, (x, other), order)
                if best is None or value > best.divergence:
                    best = Pair(_collapse(data[0]), _collapse(data[1]), (x, other), value)
    assert best is not None  # there is always a place
    return best


def among(prior: Prior, cells: np.ndarray) -> Floats:
    """Prior covariance (k, k) among cells at positions (k,), in units of the prior's variance."""
    if prior.graph is not None:
        inside = prior.lattice.inside[cells]
        right = np.zeros((prior.lattice.centres.shape[0], cells.size), order="F")
        right[inside, np.arange(cells.size)] = 1.0
        return np.asarray(prior.graph.factor.solve(right)[inside])
    return np.asarray(prior.correlation()[np.ix_(cells, cells)])


Rows = list[tuple[int, int, float]]  # groups of records: cell, how many, and their common response


def _places(prior: Prior, design: Design) -> Iterator[tuple[int, int]]:
    """Pairs of cells: from the domain's middle to itself, its neighbour, and ever farther cells."""
    centres = prior.lattice.domain_centres
    middle = int(np.argmin(np.linalg.norm(centres - centres.mean(axis=0), axis=1)))
    corner = _far_from(prior, (middle,))
    for x in dict.fromkeys((middle, corner)):
        distance = np.linalg.norm(centres - centres[x], axis=1)
        distances = [0.0, prior.lattice.spacing, *(factor * prior.lengthscale for factor in (0.5, 1.0, 2.0))]
        partners = [int(np.argmin(np.abs(distance - goal))) for goal in (*distances, float(distance.max()))]
        yield from ((x, other) for other in dict.fromkeys(partners))


def _far_from(prior: Prior, cells: tuple[int, ...]) -> int:
    centres = prior.lattice.domain_centres
    distance = np.min([np.linalg.norm(centres - centres[cell], axis=1) for cell in cells], axis=0)
    return int(np.argmax(distance))


def _cores(design: Design, n: int, x: int, other: int, park: int) -> Iterator[Rows]:
    """Common cores of n - 1 records: crowds that pull against the replaced records.

    Records that are not in a crowd are parked at a far cell, where they change little.
    """
    ridge = float(getattr(design, "ridge", 1.0))
    crowds = {min(round(factor * ridge**2), (n - 1) // 2) for factor in CROWDS}
    for near in sorted(crowds):
        for far in sorted(crowds) if x != other else (0,):
            for pull in (-1.0, 1.0):
                parked = n - 1 - near - far
                rows = [(x, near, -1.0), (other, far, pull), (park, parked, 0.0)]
                yield [row for row in rows if row[1] > 0]


def _collapse(rows: Rows) -> CollapsedRecords:
    index = np.concatenate([np.full(count, cell) for cell, count, _ in rows])
    return CollapsedRecords.from_records(index, np.concatenate([np.full(c, y) for _, c, y in rows]))


def _divergence(
    design: Design,
    covariance: Floats,
    where: dict[int, int],
    data: list[Rows],
    ends: tuple[int, int],
    order: float,
) -> float:
    """The larger of the two directions' divergences."""
    positions = sorted({where[cell] for cell in ends})
    laws = []
    for rows in data:
        count, pull = np.zeros(len(where)), np.zeros(len(where))
        for cell, number, response in rows:
            count[where[cell]] += number
            pull[where[cell]] += number * response
        law = questions.law(design, covariance, count, pull, positions)
        if law is None:
            raise InvalidValue(f"The audit knows no law of {design.mechanism}: name the pair to attack.")
        laws.append(law)
    first, second = laws
    return max(renyi_divergence(*first, *second, order), renyi_divergence(*second, *first, order))


Sampler = Callable[[CollapsedRecords, int], Floats]
"""(records, releases) -> (releases, L, k): the numbers of each release at the watched places."""

Report = Callable[[float, str], None]

Claim = Callable[[float], EpsilonBound]  # delta -> the proved epsilon, as `Guarantee.epsilon`

EXTRA_DELTAS = (1e-3, 1e-2, 1e-1)
"""Deltas tested as well: at a larger delta fewer releases suffice to find a mistake."""

LEAST_TRIALS = 100
PORTIONS = 8  # portions of the draws, so that a cancellation takes effect soon


@dataclass(frozen=True)
class AuditRow:
    """At one delta: the proved upper bound, and the lower bound that the attack proves."""

    delta: float
    proved: float
    lower: float
    counts: ErrorCounts

    @property
    def alarm(self) -> bool:
        """Whether the attack proves more leakage than the accountant states."""
        return self.lower > self.proved


@dataclass(frozen=True)
class DesignAudit:
    """All rows of one audit; they hold together with probability at least `confidence`."""

    pair: Pair
    rows: tuple[AuditRow, ...]
    trials: int
    confidence: float

    @property
    def alarm(self) -> bool:
        """Whether a row's lower bound exceeds the proved bound: do not release then."""
        return any(row.alarm for row in self.rows)


def audit_design(
    design: Design,
    prior: Prior,
    n: int,
    claim: Claim,
    delta: float,
    *,
    entropy: Entropy,
    trials: int = 20_000,
    confidence: float = 0.99,
    pair: Pair | None = None,
    sampler: Sampler | None = None,
    report: Report | None = None,
) -> DesignAudit:
    """Attack `design` on simulated neighbours of n records, the worst pair by default.

    `claim` is the guarantee under audit: delta -> epsilon. `trials` shadow releases, and as many
    fresh ones, are drawn per dataset and share no random numbers. An honest mechanism raises a
    false alarm with probability at most 1 - confidence. `sampler` draws releases, by default the
    program's own mechanism; `report` is called with (fraction, text) and may raise to cancel.
    Raises InvalidValue for too few trials or records.
    """
    delta, trials = open_unit("delta", delta), whole("trials", trials)
    if trials < LEAST_TRIALS:
        raise InvalidValue(f"an audit needs at least {LEAST_TRIALS} releases, got {trials}.")
    # The pair is searched at the Renyi order that gave the claim, where the proof is tightest.
    order = claim(delta).order
    pair = pair or worst_pair(design, prior, n, 2.0 if order is None else float(np.clip(order, 1.01, 50.0)))
    draw = sampler or own_sampler(design, prior, pair.watched, entropy)
    tell = report or (lambda fraction, text: None)
    shadow = _draw_sides(pair, trials, draw, lambda share: tell(0.5 * share, "Drawing shadow releases"))
    fresh = _draw_sides(pair, trials, draw, lambda share: tell(0.5 + 0.5 * share, "Attacking fresh releases"))
    laws = [NormalLaw.of(values.reshape(-1, values.shape[2])) for values in shadow]
    shadow_in, shadow_out = (_scores(values, laws) for values in shadow)
    fresh_in, fresh_out = (_scores(values, laws) for values in fresh)
    # Thresholds come from shadow releases and errors from fresh ones, so no choice biases a limit;
    # the confidence is divided among the deltas.
    deltas = tuple(dict.fromkeys((delta, *(value for value in EXTRA_DELTAS if value > delta))))
    level = 1.0 - (1.0 - confidence) / len(deltas)
    rows = []
    for value in deltas:
        counts = count_errors(fresh_in, fresh_out, best_threshold(shadow_in, shadow_out, value))
        rows.append(AuditRow(value, claim(value).epsilon, epsilon_lower_bound(counts, value, level), counts))
    return DesignAudit(pair, tuple(rows), trials, confidence)


def _draw_sides(pair: Pair, trials: int, draw: Sampler, tell: Callable[[float], None]) -> list[Floats]:
    """Draw `trials` releases of each dataset of the pair; report the share drawn so far."""
    sides = []
    for side, records in enumerate((pair.first, pair.second)):
        parts = []
        for portion in range(PORTIONS):
            tell(0.5 * (side + portion / PORTIONS))
            count = (portion + 1) * trials // PORTIONS - portion * trials // PORTIONS
            parts.append(draw(records, count))
        sides.append(np.concatenate(parts))
    return sides


def own_sampler(design: Design, prior: Prior, watched: tuple[int, ...], entropy: Entropy) -> Sampler:
    """The program's mechanism, exactly as a release runs it, seen at the watched cells."""

    def sample(records: CollapsedRecords, releases: int) -> Floats:
        facts = PublicFacts(prior.lattice, records.n)
        return questions.seen(design, facts, records, watched, questions.Draws(releases, entropy))

    return sample


def _scores(values: Floats, laws: list[NormalLaw]) -> Floats:
    """Log likelihood ratios of releases, their independent paths added up."""
    return np.asarray(np.sum(laws[0].log_density(values) - laws[1].log_density(values), axis=1))
