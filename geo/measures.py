"""Values and units of measure as people write them: the sign of a currency, where a unit is one."""

from __future__ import annotations

import math
import re

_SIGNS = {
    "£": ("£", "pound", "pounds", "gbp"),
    "€": ("€", "euro", "euros", "eur"),
    "$": ("$", "dollar", "dollars", "usd"),
}
_KNOWN = {word: sign for sign, words in _SIGNS.items() for word in words}


def with_unit(number: str, unit: str) -> str:
    """Add its unit to a number in writing: the sign of a currency before it, any other behind
    it."""
    symbol = _currency_sign(unit)
    if not symbol:
        return f"{number} {unit}".strip()
    return f"-{symbol}{number[1:]}" if number.startswith("-") else f"{symbol}{number}"


def format_value(value: float, unit: str) -> str:
    """Write a measured or estimated value with its unit: three digits, or whole numbers from 100
    on; "no value" if it is not finite. `with_unit` writes exact values, such as thresholds, with
    all digits."""
    if not math.isfinite(value):
        return "no value"
    decimals = 0 if value == int(value) else max(0, min(6, 2 - math.floor(math.log10(abs(value)))))
    return with_unit(f"{value:,.{decimals}f}", unit)


_AMOUNT = re.compile(
    r"(counts?|cpm|bq|bq/.+|ppm|ppb|ppt|db|dba|lux|persons?|people|"
    r"(n|u|µ|μ|m|c|d|h|k)?(g|gram|grams|l|m[23²³]|mol)(/.+| .*[-⁻][123¹²³])?|"
    r"(n|u|µ|μ|m)?sv(/.+)?)"
)


def never_negative(unit: str) -> bool:
    """Tell whether a unit measures an amount, which has a floor at zero (prices, masses,
    concentrations); False for units that are not known, such as degrees Celsius."""
    return bool(_currency_sign(unit)) or bool(_AMOUNT.fullmatch(unit.strip().lower()))


def _currency_sign(unit: str) -> str:
    return _KNOWN.get(unit.strip().lower(), "")
