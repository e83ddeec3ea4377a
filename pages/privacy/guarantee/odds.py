"""The attacker's odds on a screen: what (epsilon, delta) leaves to anybody who is after one record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.accounting.gaussian import largest_power, surest_guess
from hexcursion import words

ALARMS = (0.01, 0.1)
STEPS = 60


@dataclass(frozen=True)
class AttackOdds:
    """Upper bounds on every attack, in words and as a curve.

    Parameters
    ----------
    factor
        by how much any result can become likelier when the record is exchanged
    guesses
        how often such an attacker guesses rightly
    rows
        (false alarms, detections) as texts
    curve
        (false alarms, detections) as shares; inside the straight line lies what guessing alone gives
    """

    factor: str
    guesses: str
    rows: tuple[tuple[str, str], ...]
    curve: tuple[tuple[float, float], ...]


def attack_odds(epsilon: float, delta: float) -> AttackOdds:
    """The bounds of `dpgp_core.accounting.gaussian` in words, each rounded upwards."""
    rates = np.concatenate([np.geomspace(1e-4, 0.05, STEPS), np.linspace(0.06, 1.0, STEPS)])
    powers = largest_power(epsilon, delta, rates)
    at = largest_power(epsilon, delta, ALARMS)
    return AttackOdds(
        factor=words.times(epsilon),
        guesses=share(surest_guess(epsilon, delta)),
        rows=tuple((f"{100 * alarm:g} %", share(power)) for alarm, power in zip(ALARMS, at, strict=True)),
        curve=((0.0, 0.0), (0.0, min(1.0, delta)), *zip(rates.tolist(), powers.tolist(), strict=True)),
    )


def share(value: float) -> str:
    """A bound on a share in per cent, rounded upwards, never past certainty."""
    return words.share(value)
