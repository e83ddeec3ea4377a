"""Units of measure as tables write them: their equality, and the factor between different ones.

`units.toml` is a table of our own because `pint` does not read "UG/M3" and "Micrograms/cubic meter", as
agencies write them, and because the program must ask about an unknown unit instead of guessing.
Sources: BIPM, The International System of Units (9th edition, tables 2 to 8); NIST Special
Publication 811, appendix B.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias

Dimension: TypeAlias = tuple[tuple[str, int], ...]

LONGEST = 80  # letters of a unit
LONGEST_NAME = 120  # letters of a column's name that are searched
_PREFIXES = {"k": 1e3, "h": 1e2, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_LARGE = {"M": 1e6, "G": 1e9}
_TABLES = tomllib.loads((files("data_loaders") / "columns/units.toml").read_text(encoding="utf-8"))
# Symbols that take a prefix: their size, the quantity, and its power.
_PREFIXED: dict[str, tuple[float, str, int]] = {
    symbol: tuple(entry) for symbol, entry in _TABLES["prefixed"].items()
}
_CURRENCIES = "aud cad nzd hkd sek nok dkk isk pln czk huf ron jpy cny krw inr brl mxn zar try"
_WHOLE: dict[str, tuple[float, str, int]] = {
    **{symbol: tuple(entry) for symbol, entry in _TABLES["whole"].items()},
    **{code: (1.0, code.upper(), 1) for code in _CURRENCIES.split()},
}
_CAPITALS = re.compile(r"[KMUNPC]?[GLM]")  # capitals that mean small letters: "MG", "UG", "L"
_WORDS: tuple[tuple[str, str], ...] = tuple(_TABLES["words"].items())
_PLAIN = str.maketrans("µμ²³⁻−¹·*\u00a0\u202f_", "uu23--1     ", "^")
_TERM = re.compile(r"([0-9]+(?:\.[0-9]+)?)?([A-Za-z%‰]+)?(-?[1-9])?")
_DEGREES = {
    **dict.fromkeys(("degc", "°c", "deg c", "celsius"), (1.0, 0.0)),
    **dict.fromkeys(("degf", "°f", "deg f", "fahrenheit"), (5 / 9, -160 / 9)),
    **dict.fromkeys(("k", "kelvin"), (1.0, -273.15)),
}

# Symbols of units, with prefixes and powers, in products and quotients. A method, a year, a kind,
# the "(s)" of a plural and the "(min)" of a minimum are not units, unless they follow a word of
# time.
_LASTING = "|".join(f"(?<={word} )" for word in ("time", "duration", "delay", "dauer", "zeit", "durée"))
_SYMBOL = (
    r"(?:%|‰|°[CF]?|deg(?:rees?)?(?: [CF])?|pp[mbt][vw]?|[KFPMkhdcmunpµμ]?"
    r"(?:g|l|L|m|s|Pa|Bq|Ci|Sv|Gy|eq|W|Wh|V|K|Hz|mol)"
    r"|ft|feet|mi|miles?|yd|acres?|sq (?:ft|km|mi|m)"
    r"|ha|h|min|minutes?|days?|years?|hours?|t|dB(?:\([A-Z]\))?|CFU|[FN]TU|AQI"
    r"|thousand|million|Tsd\.?|Mio\.?|1000|[kT]€|[kT]EUR|[kT]CHF|k[$£]|(?:US|AU?|CA?N?|NZ|HK) ?\$|[€$£]"
    r"|EUR|USD|GBP|CHF|AUD|CAD|NZD|HKD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|JPY|CNY|KRW|INR|BRL|MXN|ZAR|TRY"
    r"|dollars?|euros?|pounds?)"
    r"(?:\^?[-⁻−]?[1-4²³¹])?"
)
_WRITTEN = rf"(?:{_SYMBOL}(?:\s*[/·*. ]\s*(?:per )?{_SYMBOL}){{0,3}})"
_BEFORE = rf"(?:(?i:{_LASTING})|(?!\((?:s|min)\)))"
_UNITS = (
    (re.compile(rf"{_BEFORE}[(\[]\s*({_WRITTEN}|[^)\]/]{{1,14}}/\d*{_WRITTEN})\s*[)\]]"), None),
    (re.compile(r"[uµμ]g[_/ ]?m-?[3³]"), "ug/m3"),
    (re.compile(r"mg[_/ ]?m-?[3³]"), "mg/m3"),
    (re.compile(r"mg[_/ ]?kg"), "mg/kg"),
    (re.compile(r"ppb"), "ppb"),
    (re.compile(r"ppm"), "ppm"),
)


@dataclass(frozen=True)
class Unit:
    """A unit; a value v in it is `scale * v + offset` in the base units of its dimension."""

    scale: float
    offset: float
    dimension: Dimension


def normal(text: str) -> str:
    """Normalise the spelling of a unit: replace letters and marks that mean the same."""
    return " ".join(text[:LONGEST].translate(_PLAIN).split()).strip("[]() ")


@lru_cache(maxsize=1024)
def unit_of(text: str) -> Unit | None:
    """Parse a unit such as "ug/m3", "µg m⁻³", "MG/L" or "Micrograms/cubic meter"; None if
    unknown."""
    plain = re.sub(r"(?<=[A-Za-z])\.(?=[A-Za-z])", " ", normal(text))  # "ug.m-3"
    if plain.lower() in _DEGREES:
        return Unit(*_DEGREES[plain.lower()], (("temperature", 1),))
    for pattern, symbol in _WORDS:
        plain = re.sub(rf"(?<![A-Za-z])(?:{pattern})(?![A-Za-z])", symbol, plain, flags=re.IGNORECASE)
    parts = re.split(r"\s*/\s*|\s+per\s+", plain)
    scale, powers = 1.0, Counter[str]()
    for at, part in enumerate(parts):
        for word in re.findall(r"[0-9.]+ ?[A-Za-z%‰]+-?[1-9]?|\S+", part) or [""]:
            term = _term(word.replace(" ", ""))
            if term is None:
                return None
            size, what, power = term
            sign = -1 if at else 1
            scale *= size**sign
            powers[what] += sign * power
    dimension = tuple(sorted((what, power) for what, power in powers.items() if power))
    return Unit(scale, 0.0, dimension) if dimension or len(parts) > 1 else None


def _term(word: str) -> tuple[float, str, int] | None:
    """Return size, quantity and power of one symbol such as "m3", "100ml", "kg"; None if
    unknown."""
    if not word:
        return None
    match = _TERM.fullmatch(word)
    if match is None or match[2] is None:
        return None
    symbol = _symbol(match[2])
    if symbol is None:
        return None
    size, what, power = symbol
    times = int(match[3] or 1)
    return float(match[1] or 1.0) * size**times, what, power * times


def _symbol(word: str) -> tuple[float, str, int] | None:
    for spelling in (word, word.lower()):
        if spelling in _WHOLE and (spelling == word or len(word) > 2):
            return _WHOLE[spelling]
    if word in _PREFIXED:
        return _PREFIXED[word]
    if _CAPITALS.fullmatch(word) and len(word) > 1:
        word = word.lower()
    prefix, stem = word[0], word[1:]
    # "Mg" hardly ever means a megagram, so the program asks.
    factor = _PREFIXES.get(prefix) or (_LARGE.get(prefix) if stem not in ("g", "l", "L", "m") else None)
    if word.lower() == "mcg":
        factor, stem = 1e-6, "g"
    if factor is None or stem not in _PREFIXED:
        return None
    size, what, power = _PREFIXED[stem]
    return factor * size, what, power


def conversion(given: str, wanted: str) -> tuple[float, float] | None:
    """Return a and b so that a value v in `given` is `a * v + b` in `wanted`; None if unknown.

    >>> conversion("mg/l", "ug/l")
    (1000.0, 0.0)
    """
    source, target = unit_of(given), unit_of(wanted)
    if normal(given) == normal(wanted):
        return 1.0, 0.0
    # capitals alone make no other unit where neither is "mBq" or "MBq"
    if source is None or target is None:
        return (1.0, 0.0) if normal(given).casefold() == normal(wanted).casefold() else None
    if source.dimension != target.dimension:
        return None
    factor = float(f"{source.scale / target.scale:.15g}")
    return factor, (source.offset - target.offset) / target.scale


def split_unit(name: str) -> tuple[str, str | None]:
    """Split a column's name into words and the unit of measure that it states: "Pb [mg/kg]" is Pb
    in mg/kg.

    Return the whole name and None for a name without a unit or with only a unit."""
    short = name[:LONGEST_NAME]
    for pattern, unit in _UNITS:
        if unit is None and (match := pattern.search(short)):
            words = " ".join(name.replace(match[0], " ").split())
            return words or name, match[1]
        if unit is not None and pattern.search(short.lower()):
            return name, unit
    return name, None
