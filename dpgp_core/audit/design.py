"""The audit of one design: attack the worst-looking neighbours with the real sampler, compare with the proof.

A check, not a guarantee: a lower bound under the proved bound proves nothing about other neighbours; a lower
bound above it proves that the sampler or the accountant is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import open_unit, whole
from dpgp_core.accounting.rdp import EpsilonBound
from dpgp_core.audit.attack import best_threshold, count_errors
from dpgp_core.audit.gaussians import NormalLaw
from dpgp_core.audit.lower_bound import ErrorCounts, epsilon_lower_bound
from dpgp_core.audit.neighbours import Pair, worst_pair
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior
from dpgp_core.releasing.facts import PublicFacts

Sampler = Callable[[CollapsedRecords, int], Floats]
"""(records, releases) -> (releases, L, k): what an attacker sees of each release at the watched places."""

Report = Callable[[float, str], None]

Claim = Callable[[float], EpsilonBound]
"""delta -> the proved epsilon, as `Guarantee.epsilon`."""

EXTRA_DELTAS = (1e-3, 1e-2, 1e-1)
"""Deltas looked at besides the design's own: at a larger one, fewer releases suffice to catch a mistake."""

LEAST_TRIALS = 100
PORTIONS = 8  # releases are drawn in so many portions, so that a cancel is heard soon


@dataclass(frozen=True)
class AuditRow:
    """At one delta: the proved upper bound, and the lower bound that the attack's success proves."""

    delta: float
    proved: float
    lower: float
    counts: ErrorCounts

    @property
    def alarm(self) -> bool:
        """The attack proves more leakage than the accountant admits."""
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
        """Some row's lower bound lies above the proved bound: do not release with this program."""
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
    """Attack `design` on simulated neighbours of n records, the worst pair by default; reads nothing private.

    `claim` is the guarantee under audit: delta -> epsilon. `trials` shadow releases, and as many fresh ones,
    are drawn per dataset and share no random numbers. An honest mechanism raises a false alarm with
    probability at most 1 - confidence. `sampler` draws releases, by default the program's own mechanism;
    `report` is told (fraction, text) and may raise to cancel. Raises InvalidValue for too few trials or
    records.
    """
    delta, trials = open_unit("delta", delta), whole("trials", trials)
    if trials < LEAST_TRIALS:
        raise InvalidValue(f"an audit needs at least {LEAST_TRIALS} releases, got {trials}.")
    order = claim(delta).order
    pair = pair or worst_pair(design, prior, n, 2.0 if order is None else float(np.clip(order, 1.01, 50.0)))
    draw = sampler or own_sampler(design, prior, pair.watched, entropy)
    tell = report or (lambda fraction, text: None)

    def drawn(start: float, text: str) -> list[Floats]:
        values = []
        for side, records in enumerate((pair.first, pair.second)):
            parts = []
            for portion in range(PORTIONS):
                tell(start + 0.25 * (side + portion / PORTIONS), text)
                count = (portion + 1) * trials // PORTIONS - portion * trials // PORTIONS
                parts.append(draw(records, count))
            values.append(np.concatenate(parts))
        return values

    shadow = drawn(0.0, "Drawing shadow releases")
    laws = [NormalLaw.of(values.reshape(-1, values.shape[2])) for values in shadow]
    shadow_in, shadow_out = (_scores(values, laws) for values in shadow)
    fresh_in, fresh_out = [_scores(values, laws) for values in drawn(0.5, "Attacking fresh releases")]
    deltas = tuple(dict.fromkeys((delta, *(value for value in EXTRA_DELTAS if value > delta))))
    each = 1.0 - (1.0 - confidence) / len(deltas)
    rows = []
    for value in deltas:
        counts = count_errors(fresh_in, fresh_out, best_threshold(shadow_in, shadow_out, value))
        rows.append(AuditRow(value, claim(value).epsilon, epsilon_lower_bound(counts, value, each), counts))
    return DesignAudit(pair, tuple(rows), trials, confidence)


def own_sampler(design: Design, prior: Prior, watched: tuple[int, ...], entropy: Entropy) -> Sampler:
    """The program's mechanism, exactly as a release runs it, seen at the watched cells."""
    mechanism = mechanism_of(design)

    def sample(records: CollapsedRecords, releases: int) -> Floats:
        facts = PublicFacts(prior.lattice, records.n)
        return mechanism.seen(design, facts, records, watched, releases, entropy)

    return sample


def _scores(values: Floats, laws: list[NormalLaw]) -> Floats:
    """Log likelihood ratios of releases, their independent paths added up."""
    return np.asarray(np.sum(laws[0].log_density(values) - laws[1].log_density(values), axis=1))
