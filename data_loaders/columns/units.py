"""Units of measure as tables write them: their equality, and the factor between different ones.

This module has its own table because `pint` does not read "UG/M3" and "Micrograms/cubic meter", as
agencies write them, and because the program must ask about an unknown unit instead of guessing.
Sources: BIPM, The International System of Units (9th edition, tables 2 to 8); NIST Special
Publication 811, appendix B.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

Dimension: TypeAlias = tuple[tuple[str, int], ...]

LONGEST = 80  # letters of a unit
LONGEST_NAME = 120  # letters of a column's name that are searched
_PREFIXES = {"k": 1e3, "h": 1e2, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_LARGE = {"M": 1e6, "G": 1e9}
# Symbols that take a prefix: their size, the quantity, and its power.
_PREFIXED: dict[str, tuple[float, str, int]] = {
    "g": (1.0, "mass", 1), "l": (1e-3, "length", 3), "L": (1e-3, "length", 3), "m": (1.0, "length", 1),
    "s": (1.0, "time", 1), "mol": (1.0, "amount", 1), "eq": (1.0, "charge", 1), "Bq": (1.0, "activity", 1),
    "Ci": (3.7e10, "activity", 1), "Sv": (1.0, "dose", 1), "Gy": (1.0, "absorbed dose", 1),
    "Pa": (1.0, "pressure", 1), "bar": (1e5, "pressure", 1), "W": (1.0, "power", 1), "V": (1.0, "voltage", 1),
    "Hz": (1.0, "frequency", 1), "S": (1.0, "conductance", 1),
}  # fmt: skip
_WHOLE: dict[str, tuple[float, str, int]] = {
    "t": (1e6, "mass", 1), "lb": (453.59237, "mass", 1), "oz": (28.349523125, "mass", 1),
    "in": (0.0254, "length", 1), "ft": (0.3048, "length", 1), "yd": (0.9144, "length", 1),
    "mi": (1609.344, "length", 1), "ha": (1e4, "length", 2), "acre": (4046.8564224, "length", 2),
    "gal": (3.785411784e-3, "length", 3), "min": (60.0, "time", 1), "h": (3600.0, "time", 1),
    "d": (86400.0, "time", 1), "mmHg": (133.322387415, "pressure", 1), "atm": (101325.0, "pressure", 1),
    "%": (1e-2, "parts", 1), "‰": (1e-3, "parts", 1), "ppm": (1e-6, "parts", 1), "ppb": (1e-9, "parts", 1),
    "ppt": (1e-12, "parts", 1), "cfu": (1.0, "colonies", 1), "mpn": (1.0, "most probable number", 1),
    "eur": (1.0, "euro", 1), "gbp": (1.0, "pound", 1), "usd": (1.0, "US dollar", 1),
    "chf": (1.0, "franc", 1),
    **{
        code: (1.0, code.upper(), 1)
        for code in ("aud", "cad", "nzd", "hkd", "sek", "nok", "dkk", "isk", "pln", "czk", "huf", "ron")
    },
    **{code: (1.0, code.upper(), 1) for code in ("jpy", "cny", "krw", "inr", "brl", "mxn", "zar", "try")},
}  # fmt: skip
_CAPITALS = re.compile(r"[KMUNPC]?[GLM]")  # capitals that mean small letters: "MG", "UG", "L"
_WORDS = (
    (r"micro ?grams?", "ug"), (r"milli ?grams?", "mg"), (r"nano ?grams?", "ng"), (r"pico ?grams?", "pg"),
    (r"kilo ?grams?", "kg"), (r"grams?", "g"), (r"milli ?lit(?:er|re)s?", "ml"), (r"lit(?:er|re)s?", "l"),
    (r"cubic met(?:er|re)s?", "m3"), (r"square met(?:er|re)s?", "m2"), (r"cubic (?:feet|foot)", "ft3"),
    (r"square (?:feet|foot)|sq ?ft", "ft2"), (r"kilo ?met(?:er|re)s?", "km"),
    (r"centi ?met(?:er|re)s?", "cm"), (r"milli ?met(?:er|re)s?", "mm"), (r"met(?:er|re)s?", "m"),
    (r"feet|foot", "ft"), (r"inch(?:es)?", "in"), (r"miles?", "mi"), (r"acres", "acre"), (r"tonnes?", "t"),
    (r"hectares?", "ha"), (r"minutes?", "min"), (r"hours?", "h"), (r"days?", "d"), (r"seconds?", "s"),
    (r"pico ?curies?", "pCi"), (r"becquerels?", "Bq"), (r"per ?cent", "%"), (r"parts per million", "ppm"),
    (r"parts per billion", "ppb"), (r"€|euros?", "eur"), (r"£|pounds sterling", "gbp"),
    (r"us ?\$|us dollars?", "usd"), (r"\b(?:a|au) ?\$", "aud"), (r"\b(?:c|ca|can) ?\$", "cad"),
    (r"\bnz ?\$", "nzd"), (r"\bhk ?\$", "hkd"), (r"k\$|kusd", "1000 usd"), (r"\$", "usd"),
    (r"tsd\.?|thousands?|milliers d['’e]|miles de", "1000"),
    (r"mio\.?|mill\.?|millions? (?:de|d['’])|millions?", "1000000"), (r"t€|k€|teur|keur", "1000 eur"),
    (r"tchf|kchf", "1000 chf"), (r"k£|kgbp", "1000 gbp"),
)  # fmt: skip
_PLAIN = str.maketrans({
    "µ": "u", "μ": "u", "²": "2", "³": "3", "⁻": "-", "−": "-", "¹": "1", "·": " ", "*": " ", "^": "",
    "\u00a0": " ", "\u202f": " ", "_": " ",
})  # fmt: skip
_TERM = re.compile(r"([0-9]+(?:\.[0-9]+)?)?([A-Za-z%‰]+)?(-?[1-9])?")
_DEGREES = {
    "degc": (1.0, 0.0), "°c": (1.0, 0.0), "deg c": (1.0, 0.0), "celsius": (1.0, 0.0),
    "degf": (5 / 9, -160 / 9), "°f": (5 / 9, -160 / 9), "deg f": (5 / 9, -160 / 9),
    "fahrenheit": (5 / 9, -160 / 9), "k": (1.0, -273.15), "kelvin": (1.0, -273.15),
}  # fmt: skip

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
