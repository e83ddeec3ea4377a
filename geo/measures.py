"""Units of measure as people write them: the sign of a currency, where a unit is one."""

from __future__ import annotations

import re

_SIGNS = {
    "£": ("£", "pound", "pounds", "gbp"),
    "€": ("€", "euro", "euros", "eur"),
    "$": ("$", "dollar", "dollars", "usd"),
}
_KNOWN = {word: sign for sign, words in _SIGNS.items() for word in words}


def currency_sign(unit: str) -> str:
    """The sign of a currency, which stands before a number; "" where a unit is none.

    Parameters
    ----------
    unit : str
        As data and settings write it; capitals do not count.

    Examples
    --------
    >>> currency_sign("GBP"), currency_sign("ug/m3")
    ('£', '')
    """
    return _KNOWN.get(unit.strip().lower(), "")


_AMOUNT = re.compile(
    r"(counts?|cpm|bq|bq/.+|ppm|ppb|ppt|db|dba|lux|persons?|people|"
    r"(n|u|µ|μ|m|c|d|h|k)?(g|gram|grams|l|m[23²³]|mol)(/.+| .*[-⁻][123¹²³])?|"
    r"(n|u|µ|μ|m)?sv(/.+)?)"
)


def never_negative(unit: str) -> bool:
    """Tell whether a unit measures an amount, which has a floor at zero: prices, masses, concentrations.

    Parameters
    ----------
    unit : str
        As data and settings write it.

    Returns
    -------
    bool
        False for units that are not known, such as degrees Celsius.

    Examples
    --------
    >>> never_negative("mg/kg"), never_negative("GBP"), never_negative("°C")
    (True, True, False)
    """
    return bool(currency_sign(unit)) or bool(_AMOUNT.fullmatch(unit.strip().lower()))
