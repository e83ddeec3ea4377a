"""What a released trace says of itself: who is protected from whom, how well, and what it is not."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from dpgp_core.numbers import lower, upper
from hexcursion.errors import WorkflowError
from hexcursion.project.trip import MOMENT, PROTECTION, TRIP_FORMAT
from hexcursion.version import NAME, VERSION
from hexcursion_traces.plan import TracePlan
from hexcursion_traces.settings import MOST_ODDS

FORMAT = 1
_MOST_MU = 0.9  # at which the odds are below `MOST_ODDS` at the usual delta
NOT_DP = (
    "This is not differential privacy. It does not hide that the trip took place, when its records were "
    "made, who made "
    "it, or anything about records that are not secret; and it speaks of an adversary who expects places "
    "to follow a "
    "Gaussian process with one of the stated lengthscales, not of every adversary."
)


def rounded_up(value: float, digits: int = 4) -> float:
    """A number that is said "at most", rounded up to some significant digits."""
    return float(upper(value, digits).replace(",", "")) if math.isfinite(value) else value


def rounded_down(value: float, digits: int = 3) -> float:
    """A number that is said "at least", rounded down to some significant digits."""
    if not value > 0.0 or math.isinf(value):
        return 0.0
    return float(lower(value, digits).replace(",", ""))


def sentences(plan: TracePlan) -> tuple[str, ...]:
    """The guarantee in words, for a screen, a terminal and the statement.

    Returns
    -------
    tuple of str
    """
    settings, worst = plan.settings, plan.worst
    mu = worst.certificate.mu
    scales = ", ".join(f"{settings.lengthscale * factor:g}" for factor in settings.factors)
    many = "1 secret" if len(plan.secrets) == 1 else f"{len(plan.secrets)} secrets"
    moved = (
        "all of its records shifted alike"
        if settings.moves == "together"
        else "each of its records shifted by itself"
    )
    odds = worst.certificate.odds(settings.delta)
    return (
        f"{many} in {plan.trace.size:,} records. For each of them, two hypotheses that differ by at most "
        f"{settings.radius:g} m, {moved}, are told apart no better than by μ = {upper(mu, 4)}.",
        f"That changes the odds of the two {_times(odds)}, except with probability "
        f"{settings.delta:g}. As ε at a slack δ of {settings.delta:g} it is "
        f"{upper(worst.certificate.epsilon(settings.delta), 4)}."
        + (" The curator accepted these odds and released it anyway." if accepted(plan) else ""),
        f"The adversary's 68 % interval at a secret stays at least {rounded_down(worst_interval(plan)):g} "
        f"m wide per "
        f"axis. This holds for an adversary who takes places to stay alike over {scales} s, roaming "
        f"{settings.amplitude:g} m, and for every place where he expects them.",
        f"The noise moves a record by {plan.root_mean_square:,.1f} m per axis (root mean square over the "
        f"trip).",
        NOT_DP,
    )


def accepted(plan: TracePlan) -> bool:
    """Whether the odds are too large to be released without a word, and the curator said it."""
    return plan.settings.accept_large_odds and bool(objection(plan))


def objection(plan: TracePlan) -> str:
    """Why the odds of a secret are too large to be released by accident; "" where they are not."""
    settings, worst = plan.settings, plan.worst.certificate
    odds = worst.odds(settings.delta)
    if odds <= MOST_ODDS:
        return ""
    return (
        f"the odds of two places of a secret would change {_times(odds)}, and more than {MOST_ODDS:g} times "
        "is little protection"
    )


def stop_large_odds(plan: TracePlan) -> None:
    """Raise `WorkflowError` for odds above `MOST_ODDS` that nobody accepted; to be called before a charge."""
    why = objection(plan)
    if why and not plan.settings.accept_large_odds:
        # Losses fall about as noise grows, so this much would about do.
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
    return min(one.interval for one in plan.standings)


def public_facts(plan: TracePlan) -> dict[str, Any]:
    """What the ledger keeps of a release: a receipt, not the trace."""
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
    """The statement of a released trace.

    Parameters
    ----------
    plan : TracePlan
    release_id : str
        16 hex digits.
    seal : str
        Of the ledger's entry.

    Returns
    -------
    dict
        Plain JSON. Bounds that are said "at most" are rounded up, "at least" down.
    """
    settings = plan.settings
    secrets = []
    for secret, one in zip(plan.secrets, plan.standings, strict=True):
        start, end = plan.span(secret)
        epsilon = one.certificate.epsilon(settings.delta)
        secrets.append(
            {
                "from": _instant(start),
                "to": _instant(end),
                "records": len(secret.records),
                "mu_at_most": rounded_up(one.certificate.mu),
                "epsilon_at_most": rounded_up(epsilon),
                "interval_68_m_at_least": rounded_down(one.interval),
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
        "large_odds_accepted": accepted(plan),
        "noise": {"distribution": "normal, both axes alike and independent", "projection": plan.crs},
        "root_mean_square_m": round(plan.root_mean_square, 2),
        "secret_moments": secrets,
        "in_words": list(sentences(plan)),
    }


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
