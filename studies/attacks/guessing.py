"""The reconstruction attack: guess the place and value of one record from a release and all other records.

The adversary knows the mechanism, the other records, and the probability of each candidate for the last one.
The best guess is the one that is most probably right given the release (Bayes). `success_bound` turns the
cost of a release into the largest possible share of right guesses (reconstruction robustness: Balle,
Cherubin, Hayes 2022; Hayes, Mahloujifar, Balle 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from dpgp_core._checks import non_negative, whole
from dpgp_core.accounting.composition import Cost, delta
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.audit.attack import rate_above, rate_below
from dpgp_core.audit.design import among
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Design
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior
from dpgp_core.releasing import PublicFacts

Sampler = Callable[[int, int], Floats]
"""(candidate, releases) -> (releases, L, d): the attacker's view of releases with that last record."""

EPSILONS = tuple(float(value) for value in np.geomspace(0.02, 30.0, 20))
"""Points of the profile delta(epsilon) that give a bound; each is valid alone."""

STEPS = 60  # halvings of a bracket of probabilities
_UP = 1.0 + 2.0**-40


@dataclass(frozen=True, eq=False)
class Candidates:
    """Equally likely values of the last record, and the guesses that count as right."""

    cells: Ints  # (m,) positions in the domain
    responses: Floats  # (m,) clipped responses, in [-1, 1]
    right: Bools  # (g, m) whether the guess of a row is right where the candidate of a column is true

    def __post_init__(self) -> None:
        if self.cells.ndim != 1 or self.cells.shape != self.responses.shape or self.cells.size < 2:
            raise InvalidValue("a reconstruction needs at least two candidates, each a cell and a response.")
        if not np.all(np.abs(self.responses) <= 1.0):
            raise InvalidValue("responses of candidates must be clipped to [-1, 1].")

    @classmethod
    def of(
        cls,
        cells: ArrayLike,
        responses: ArrayLike,
        *,
        tolerance: float = 0.0,
        place: bool = True,
        value: bool = True,
    ) -> Candidates:
        """One candidate for each cell and response, (m,) each.

        A guessed response may be off by `tolerance`, response units; `place` and `value` say whether cell and
        response must be guessed. Guesses are the candidates and, where they may be off, responses between
        candidates: a guess one tolerance above a candidate is right for as many as any guess can be.
        """
        at, y = np.asarray(cells, dtype=np.int64), np.asarray(responses, dtype=np.float64)
        off = non_negative("tolerance", tolerance)
        above = [y + off] if value and off > 0.0 else []
        guessed, where = np.concatenate([y, *above]), np.tile(at, 1 + len(above))
        same = where[:, None] == at[None] if place else np.ones((where.size, at.size), dtype=bool)
        near = np.abs(guessed[:, None] - y[None]) <= off + 1e-12
        return cls(at, y, same & near if value else same)

    @property
    def size(self) -> int:
        return int(self.cells.size)

    @property
    def chance(self) -> float:
        """Success of the best guess without any release: kappa in the literature."""
        return float(self.right.sum(axis=1).max()) / self.size

    @property
    def places(self) -> tuple[int, ...]:
        """The cells of all candidates, without repetition."""
        return tuple(int(cell) for cell in np.unique(self.cells))


@dataclass(frozen=True, eq=False)
class Laws:
    """Normal laws of the path values that an attacker sees, one for each candidate."""

    means: Floats  # (m, d)
    covariances: Floats  # (m, d, d), or (d,) the variances of independent noise that all candidates share

    @cached_property
    def _white(self) -> tuple[Floats, Floats]:
        """Inverse lower factors (m, d, d) and half log determinants (m,)."""
        roots = np.linalg.cholesky(self.covariances)
        eye = np.broadcast_to(np.eye(roots.shape[1]), roots.shape)
        return np.linalg.solve(roots, eye), np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)

    def log_likelihoods(self, seen: Floats) -> Floats:
        """Log likelihoods of releases (S, L, d) under each candidate, (S, m), up to a constant."""
        if self.covariances.ndim == 1:
            total, paths = seen.sum(axis=1), seen.shape[1]
            weighted = self.means / self.covariances
            square = np.sum(weighted * self.means, axis=1)
            return np.asarray(total @ weighted.T - 0.5 * paths * square)
        inverse, half = self._white
        log_densities = np.empty((seen.shape[0], self.means.shape[0]))
        for number, mean in enumerate(self.means):
            white = (seen - mean) @ inverse[number].T
            log_densities[:, number] = -0.5 * np.square(white).sum(axis=(1, 2)) - seen.shape[1] * half[number]
        return log_densities

    def draw(self, candidate: int, releases: int, paths: int, entropy: Entropy) -> Floats:
        """(releases, paths, d) releases whose last record is that candidate."""
        normal = entropy.normal((releases, paths, self.means.shape[1]))
        if self.covariances.ndim == 1:
            return np.asarray(self.means[candidate] + np.sqrt(self.covariances) * normal)
        root = np.linalg.cholesky(self.covariances[candidate])
        return np.asarray(self.means[candidate] + normal @ root.T)

    @staticmethod
    def learned(shadow: list[Floats]) -> Laws:
        """Estimated from shadow releases (S, L, d) of each candidate, where no law is known."""
        flat = [values.reshape(-1, values.shape[2]) for values in shadow]
        size = flat[0].shape[1]
        covariances = [np.cov(values, rowvar=False).reshape(size, size) for values in flat]
        return Laws(np.array([values.mean(axis=0) for values in flat]), np.array(covariances))


@dataclass(frozen=True)
class Reconstruction:
    """Result of an attack: `hits` right guesses of `trials`, with chance and the proved bound."""

    hits: int
    trials: int
    chance: float
    bound: float
    confidence: float

    @property
    def success(self) -> float:
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Exact limits of the success; each is wrong with probability at most 1 - confidence."""
        failure = 1.0 - self.confidence
        return rate_below(self.hits, self.trials, failure), rate_above(self.hits, self.trials, failure)

    @property
    def alarm(self) -> bool:
        """The attack is right more often than the proof allows: sampler or accountant is broken."""
        return self.interval[0] > self.bound


def best_guesses(candidates: Candidates, log_likelihoods: Floats) -> tuple[Ints, Floats]:
    """For each release (S, m): the guess that is right most probably, (S,), and that probability."""
    shifted = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    right = (shifted / shifted.sum(axis=1, keepdims=True)) @ candidates.right.T.astype(np.float64)
    guess = np.argmax(right, axis=1)
    return guess, np.asarray(right[np.arange(guess.size), guess])


def attack_releases(
    candidates: Candidates,
    laws: Laws,
    sampler: Sampler,
    bound: float,
    entropy: Entropy,
    *,
    trials: int = 20_000,
    confidence: float = 0.99,
) -> Reconstruction:
    """Draw the truth, release it, guess and count.

    The adversary assumes `laws`; `sampler` releases, and may be another program than the proved one. `bound`
    is the largest proved share of right guesses, `entropy` draws the truths.
    """
    trials = whole("trials", trials)
    truths = np.minimum((entropy.uniform(trials) * candidates.size).astype(np.int64), candidates.size - 1)
    hits = 0
    for truth, count in enumerate(np.bincount(truths, minlength=candidates.size)):
        if count:
            guess, _ = best_guesses(candidates, laws.log_likelihoods(sampler(truth, int(count))))
            hits += int(candidates.right[guess, truth].sum())
    return Reconstruction(hits, trials, candidates.chance, bound, confidence)


def optimal_success(
    candidates: Candidates, laws: Laws, entropy: Entropy, draws: int = 2_000, paths: int = 1
) -> tuple[float, float]:
    """Success of the best attack on these laws, and its standard error.

    The mean over drawn releases of the probability that the best guess is right: no attack does better, and
    it scatters less than hits.
    """
    per_candidate = -(-whole("draws", draws) // candidates.size)
    successes = np.concatenate(
        [
            best_guesses(candidates, laws.log_likelihoods(laws.draw(truth, per_candidate, paths, entropy)))[1]
            for truth in range(candidates.size)
        ]
    )
    return float(successes.mean()), float(successes.std(ddof=1) / math.sqrt(successes.size))


def laws_of(
    design: Design, facts: PublicFacts, core: CollapsedRecords | None, candidates: Candidates
) -> Laws:
    """The exact laws of what `questions.seen` shows at the candidates' cells.

    `core` holds all records but the last, in few cells for the law of paths; None for no records.
    Raises InvalidValue if the mechanism knows no law: learn one from shadow releases.
    """
    data = [with_record(core, candidates, number) for number in range(candidates.size)]
    sums = [questions.mean_and_noise(design, facts, records, candidates.places) for records in data]
    if sums[0] is not None:
        return Laws(np.array([pair[0] for pair in sums if pair is not None]), np.square(sums[0][1]))
    name, lengthscale = getattr(design, "prior", ""), getattr(design, "lengthscale", 0.0)
    prior: Prior = facts.prior(name, lengthscale)
    cells = np.union1d(candidates.cells, [] if core is None else core.index).astype(np.int64)
    covariance, positions = among(prior, cells), np.searchsorted(cells, candidates.places)
    laws = []
    for records in data:
        count, pull = np.zeros(cells.size), np.zeros(cells.size)
        at = np.searchsorted(cells, records.index)
        count[at], pull[at] = records.count, records.count * records.mean
        law = questions.law(design, covariance, count, pull, [int(place) for place in positions])
        if law is None:
            raise InvalidValue(f"No law of {design.mechanism} is known: learn one from shadow releases.")
        laws.append(law)
    return Laws(np.array([mean for mean, _ in laws]), np.array([covariance for _, covariance in laws]))


def with_record(core: CollapsedRecords | None, candidates: Candidates, number: int) -> CollapsedRecords:
    """All records where the last one is that candidate."""
    cell, response = int(candidates.cells[number]), float(candidates.responses[number])
    if core is None:
        return CollapsedRecords.from_records([cell], [response])
    index = np.concatenate([np.repeat(core.index, core.count), [cell]])
    return CollapsedRecords.from_records(
        index, np.concatenate([np.repeat(core.mean, core.count), [response]])
    )


def success_bound(cost: Cost, chance: float, candidates: int | None = None) -> float:
    """Upper bound on the success of every reconstruction from a release of this cost, at most 1.

    The cost's neighbours must cover every pair of candidates, so "add-or-remove" counts as the exchange that
    two of its steps make. `chance`, in (0, 1], is the success of the best guess without the release.
    A known small number of `candidates` lowers the bound: few laws are nearer to a centre.

    For a fixed law Q of the release, a guess is right with probability at most `chance` under Q, whatever the
    truth; a bound B, concave, on the probability under a candidate's law of what has probability q under Q is
    then a bound B(chance) on the success. Q is the law of some candidate for curves and profiles. For
    Gaussian mechanisms Q is the noise around the centre of the smallest ball that holds all candidates: they
    are at most mu apart, so its radius is at most mu sqrt((m-1)/(2m)) (Jung's theorem). Source:
    docs/accounting.md, section 10. Raises InvalidValue for a chance outside (0, 1].
    """
    chance = float(chance)
    if not 0.0 < chance <= 1.0:
        raise InvalidValue(f"chance must lie in (0, 1], got {chance!r}.")
    mu = cost.exchange_mu if cost.neighbours == "add-or-remove" else cost.gaussian_mu
    bounds = [1.0]
    if mu is not None:
        bounds.append(gaussian_success(mu * jung(candidates), chance) + cost.distance)
    if cost.neighbours == "add-or-remove":
        if cost.gaussian_mu is not None:  # the law without the record is a centre
            bounds.append(gaussian_success(cost.gaussian_mu, chance) + cost.distance)
        return min(1.0, min(bounds) * _UP)
    if mu is None:
        bounds.append(renyi_success(cost.curve, chance) + cost.distance)
        for epsilon in EPSILONS:
            lost, odds = delta(cost, epsilon), math.exp(epsilon)
            bounds += [odds * chance + lost, 1.0 - (1.0 - chance - lost) / odds]
    return min(1.0, min(bounds) * _UP)


def jung(candidates: int | None = None) -> float:
    """Largest radius of the smallest ball around points of which no two are more than 1 apart.

    Examples
    --------
    >>> jung(2), round(jung(), 4)
    (0.5, 0.7071)
    """
    if candidates is None:
        return math.sqrt(0.5)
    number = whole("candidates", candidates, least=2)
    return math.sqrt((number - 1.0) / (2.0 * number))


def gaussian_success(mu: float, chance: float) -> float:
    """Phi(Phi^-1(chance) + mu): the largest probability, mu away, of an event of probability `chance`.

    Examples
    --------
    >>> round(gaussian_success(1.0, 0.5), 4)
    0.8413
    """
    return float(ndtr(ndtri(chance) + non_negative("mu", mu)))


def renyi_success(curve: RdpCurve, chance: float) -> float:
    """The largest p with p^a chance^(1-a) + (1-p)^a (1-chance)^(1-a) <= e^((a-1) eps(a)) for every order a.

    The Renyi divergence between right and wrong guesses is at most that of the releases.
    """
    finite = np.isfinite(curve.values)
    orders, limit = ORDERS[finite], (ORDERS[finite] - 1.0) * curve.values[finite]
    if orders.size == 0 or chance >= 1.0:
        return 1.0
    low, high = np.full(orders.size, chance), np.ones(orders.size)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore"):
            right = orders * np.log(middle) + (1.0 - orders) * math.log(chance)
            wrong = orders * np.log1p(-middle) + (1.0 - orders) * math.log1p(-chance)
        inside = np.logaddexp(right, wrong) <= limit
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return float(high.min())
