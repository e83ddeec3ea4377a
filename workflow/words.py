"""Privacy numbers in words: odds, chances and quantities as a reader without mathematics meets them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

BILLION = 1e9
CURRENCIES = {"pounds": "£", "gbp": "£", "£": "£", "euros": "€", "eur": "€", "€": "€", "usd": "$", "$": "$"}
# With a chance of failure above this a guarantee is not worth the name.
USELESS_DELTA = 0.01


def times(epsilon: float) -> str:
    """The factor e^epsilon in words, two significant digits: "2.7 times", "22,000 times".

    It bounds how much more likely any result of a release can become when one record is exchanged
    (apart from delta). Beyond a billion only the power of ten is said.
    """
    if math.isnan(epsilon) or epsilon < 0:
        raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}.")
    if epsilon == math.inf:
        return "without limit"
    if epsilon > math.log(BILLION):
        return f"10^{math.ceil(epsilon / math.log(10.0))} times"
    return f"{significant(math.exp(epsilon), 3 if epsilon < 0.7 else 2)} times"


def belief(epsilon: float) -> str:
    """How sure an attacker who gave even odds before can become: "73 %"."""
    share = 1.0 / (1.0 + math.exp(-min(epsilon, 700.0)))
    if share > 0.999:
        return "more than 99.9 %"
    return f"{share * 100:.1f} %" if share > 0.99 or share < 0.6 else f"{share * 100:.0f} %"


def one_in(delta: float) -> str:
    """A small probability as "1 in 100,000"."""
    if not 0 < delta < 1:
        return significant(delta, 2)
    return f"1 in {significant(1.0 / delta, 3)}"


def significant(value: float, digits: int = 6) -> str:
    """A number with thousands separators and at most `digits` significant digits, no trailing zeros."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    exponent = math.floor(math.log10(abs(value)))
    if exponent < -4 or exponent > 14:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(power)}"
    places = max(digits - 1 - exponent, 0)
    text = f"{round(value, digits - 1 - exponent):,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def upper(value: float, digits: int = 4) -> str:
    """A privacy cost with `digits` significant digits, rounded up so that the text never understates it."""
    if value == 0 or not math.isfinite(value):
        return significant(value, digits)
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    steps = value / unit
    nearest = round(steps)
    # A cost that is a round number up to rounding error stays that number.
    return significant((nearest if abs(steps - nearest) < 1e-6 else math.ceil(steps)) * unit, digits)


def quantity(value: float, unit: str, digits: int = 9) -> str:
    """A value of the data with its unit: "£442,413", "20 ug/m3"."""
    symbol = CURRENCIES.get(unit.strip().lower())
    number = significant(value, digits)
    if symbol is None:
        return f"{number} {unit}".strip()
    return f"-{symbol}{number[1:]}" if number.startswith("-") else f"{symbol}{number}"


def question(subject: Mapping[str, Any]) -> str:
    """What a map answers: "Where price exceeds £442,413." (`subject` as in the privacy statement)."""
    side = "exceeds" if subject["direction"] == "above" else "is at most"
    return (
        f"Where {subject['value'] or 'the value'} {side} {quantity(subject['threshold'], subject['unit'])}."
    )


def plural(count: int, word: str) -> str:
    """ "1 sale", "2 sales", "3 properties"."""
    if count == 1:
        return f"1 {word}"
    ending = f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{word}s"
    return f"{count:,} {ending}"


def epsilon_sentence(epsilon: float, delta: float, unit_word: str) -> str:
    """What epsilon promises, as odds and as an attacker's belief."""
    return (
        f"Exchanging one {unit_word} can make any published result up to {times(epsilon)} more likely, apart "
        f"from a slack of {one_in(delta)}. Someone who gave a claim about that {unit_word} even odds can "
        f"become at most {belief(epsilon)} sure of it."
    )


def protected_text(unit: str, unit_word: str, n: int) -> str:
    """What the guarantee covers, in one sentence."""
    if unit == "cell":
        return (
            f"One hexagon's whole record: the median of its observations, and which hexagon it is, among "
            f"{plural(n, 'non-empty cell')}."
        )
    return f"One {unit_word}: its value and its place, among {plural(n, unit_word)}."


def not_protected_texts(unit: str, unit_word: str) -> tuple[str, ...]:
    """What the guarantee does not cover, one sentence each."""
    number = "non-empty cells" if unit == "cell" else plural(2, unit_word).removeprefix("2 ")
    shared = (
        f"The number of {number} is treated as public.",
        "Facts about the whole area that remain the same whichever single record is exchanged.",
    )
    if unit == "cell":
        return (
            "A single observation is protected only as part of its hexagon's record.",
            "Someone whose observations fall into several hexagons is protected less: see the group lines.",
            *shared,
        )
    return (f"A person with more than one {unit_word} is protected less: see the group lines.", *shared)


def group_sentence(records: int, epsilon: float, delta: float, unit_word: str) -> str:
    """The guarantee of someone with up to `records` records, or that none worth the name is left."""
    who = f"Someone with up to {plural(records, unit_word)}"
    if not (delta < USELESS_DELTA and math.isfinite(epsilon)):
        return f"{who}: no useful guarantee (delta {upper(min(delta, 1.0), 2)})."
    return f"{who}: epsilon {upper(epsilon)} at delta {upper(delta, 3)} (up to {times(epsilon)})."
