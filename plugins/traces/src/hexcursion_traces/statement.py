"""The statement of a released trace: protection, adversary, guarantee, and limits."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from dpgp_core.numbers import lower, upper
from hexcursion.errors import WorkflowError
from hexcursion.project.trip import MOMENT, PROTECTION, TRIP_FORMAT
from hexcursion.version import NAME, VERSION
from hexcursion_traces.mathematics.beliefs import shifted_beliefs
from hexcursion_traces.plan import TracePlan
from hexcursion_traces.settings import MOST_ODDS

FORMAT = 1
BELIEFS = 0.1
"""Shift of beliefs outside the class: standard deviations, for all other records together."""
_MOST_MU = 0.9  # the odds are below `MOST_ODDS` here at the usual delta
NOT_DP = (
    "This is not differential privacy. It does not hide that the trip took place, when its records were "
    "made, who made it, or anything about records that are not secret; and it speaks of an adversary who "
    "expects places to follow a Gaussian process with one of the stated lengthscales, not of every "
    "adversary."
)


def rounded_up(value: float, digits: int = 4) -> float:
    """An upper bound, rounded up to some significant digits."""
    return float(upper(value, digits).replace(",", "")) if math.isfinite(value) else value


def rounded_down(value: float, digits: int = 3) -> float:
    """A lower bound, rounded down to some significant digits."""
    if not value > 0.0 or math.isinf(value):
        return 0.0
    return float(lower(value, digits).replace(",", ""))


def sentences(plan: TracePlan) -> tuple[str, ...]:
    """The guarantee in words, for a screen, a terminal and the statement."""
    settings, worst = plan.settings, plan.worst
    mu = worst.certificate.mu
    scales = ", ".join(f"{settings.lengthscale * factor:g}" for factor in settings.factors)
    many = "1 secret" if len(plan.secrets) == 1 else f"{len(plan.secrets)} secrets"
    moves = (
        "all of its records shifted alike"
        if settings.moves == "together"
        else "each of its records shifted by itself"
    )
    odds = worst.certificate.odds(settings.delta)
    shifted = shifted_beliefs(worst.certificate, BELIEFS)
    return (
        f"{many} in {plan.trace.size:,} records. For each of them, two hypotheses that differ by at most "
        f"{settings.radius:g} m, {moves}, are told apart no better than by μ = {upper(mu, 4)}.",
        f"That changes the odds of the two {_times(odds)}, except with probability "
        f"{settings.delta:g}. As ε at a slack δ of {settings.delta:g} it is "
        f"{upper(worst.certificate.epsilon(settings.delta), 4)}."
        + (" The curator accepted these odds and released it anyway." if accepted(plan) else ""),
        f"The adversary's 68 % interval at a secret stays at least {rounded_down(worst_interval(plan)):g} "
        f"m wide per axis. This holds for an adversary who takes places to stay alike over {scales} s, "
        f"roaming {settings.amplitude:g} m, and for every place where he expects them.",
        f"Where his expected places differ from such beliefs by {BELIEFS:g} standard deviations of the "
        f"other records together, the odds change {_times(shifted.odds(settings.delta))}.",
        f"The noise moves a record by {plan.root_mean_square:,.1f} m per axis (root mean square over "
        "the trip).",
        NOT_DP,
    )


def accepted(plan: TracePlan) -> bool:
    """Whether the odds need the curator's acceptance and have it."""
    return plan.settings.accept_large_odds and bool(objection(plan))


def objection(plan: TracePlan) -> str:
    """The reason to stop a release with large odds of a secret; "" for small odds."""
    settings, worst = plan.settings, plan.worst.certificate
    odds = worst.odds(settings.delta)
    if odds <= MOST_ODDS:
        return ""
    return (
        f"the odds of two places of a secret would change {_times(odds)}, and more than {MOST_ODDS:g} times "
        "is little protection"
    )


def stop_large_odds(plan: TracePlan) -> None:
    """Raise `WorkflowError` for odds above `MOST_ODDS` that the curator did not accept.

    Call it before a charge.
    """
    why = objection(plan)
    if why and not plan.settings.accept_large_odds:
        # A loss is about inverse to the noise, so this noise is about enough.
        enough = plan.root_mean_square * plan.worst.certificate.mu / _MOST_MU
        raise WorkflowError(
            f"This release is stopped, and nothing was charged: {why}. Ask for more noise (about "
            f"{rounded_up(enough, 2):g} m per axis), or for a smaller distance of the two places, or release "
            "it anyway with --accept-large-odds."
        )


def _times(odds: float) -> str:
    if odds < 1e6:
        return f"at most {upper(odds, 3)} times"
    return "possibly more than a million times, which is no protection in practice"


def worst_interval(plan: TracePlan) -> float:
    """The narrowest interval over the secrets, metres."""
    return min(standing.interval for standing in plan.standings)


def public_facts(plan: TracePlan) -> dict[str, Any]:
    """The ledger's facts of a release: a receipt, not the trace."""
    settings = plan.settings
    return {
        "protection": PROTECTION,
        "records": plan.trace.size,
        "secrets": len(plan.secrets),
        "mu": rounded_up(plan.worst.certificate.mu),
        "radius_m": settings.radius,
        "lengthscales_s": [settings.lengthscale * factor for factor in settings.factors],
        "amplitude_m": settings.amplitude,
        "receiver_error_m": settings.error,
        "moves": settings.moves,
        "mode": settings.mode,
    }


def statement(plan: TracePlan, release_id: str, seal: str) -> dict[str, Any]:
    """The statement of a released trace, plain JSON, by its id of 16 hex digits and the seal of the
    ledger's entry. Upper bounds are rounded up, lower bounds down."""
    settings = plan.settings
    secrets = []
    for secret, standing in zip(plan.secrets, plan.standings, strict=True):
        start, end = plan.span(secret)
        epsilon = standing.certificate.epsilon(settings.delta)
        secrets.append(
            {
                "from": _instant(start),
                "to": _instant(end),
                "records": len(secret.records),
                "mu_at_most": rounded_up(standing.certificate.mu),
                "epsilon_at_most": rounded_up(epsilon),
                "interval_68_m_at_least": rounded_down(standing.interval),
            }
        )
    return {
        "format": TRIP_FORMAT,
        "version": FORMAT,
        "program": f"{NAME} {VERSION}",
        "release_id": release_id,
        "ledger_seal": seal,
        **public_facts(plan),
        "is_differential_privacy": False,
        "unit_of_protection": MOMENT,
        "delta": settings.delta,
        "shifted_beliefs": {
            "deviations": BELIEFS,
            "mu_at_most": rounded_up(shifted_beliefs(plan.worst.certificate, BELIEFS).mu),
        },
        "large_odds_accepted": accepted(plan),
        "noise": {"distribution": "normal, both axes alike and independent", "projection": plan.crs},
        "root_mean_square_m": round(plan.root_mean_square, 2),
        "secret_moments": secrets,
        "in_words": list(sentences(plan)),
    }


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
