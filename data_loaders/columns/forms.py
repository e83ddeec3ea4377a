"""The forms of unreadable entries, and the signs and letters around a number that do not change it.

A form does not reveal its entry: digits become 9, and long words become "word".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SHOWN = 4  # forms named in a sentence

LABORATORY = tuple("J J+ J- B BJ JB D DJ JD E EJ H HJ JH NJ JN P Q".split())
"""Letters that laboratories write after a valid result: estimated, diluted, detected in blanks."""

_CURRENCIES: dict[str, tuple[str, ...]] = {
    sign: tuple(codes.split(","))
    for sign, codes in re.findall(
        r"(\S+)=(\S+)",
        """€=EUR £=GBP $=USD,CAD,AUD,NZD,SGD,HKD,MXN ¥=JPY,CNY 円=JPY 元=CNY ₩=KRW 원=KRW ₹=INR ₽=RUB zł=PLN
        kč=CZK kr=SEK,NOK,DKK,ISK ft=HUF ₺=TRY r$=BRL us$=USD a$=AUD c$=CAD""",
    )
}
_CODES = sorted({code for codes in _CURRENCIES.values() for code in codes} | {"CHF", "RON", "BGN", "ZAR"})
_WIDE = str.maketrans(
    "０１２３４５６７８９．，－＋％＜＞　٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹",
    "0123456789.,-+%<> " + 2 * "0123456789",
)
_PLAIN = r"^[0-9.,+\- ]*$"
_NO_CENTS = r"[.,]\s?[-–—]{1,2}"  # 245.- and 245,--
_TIMES = {"k": "e3", "tsd": "e3", "m": "e6", "mio": "e6", "mn": "e6", "b": "e9", "bn": "e9", "mrd": "e9"}
"""The factor of an amount of money by the word after it."""
_BOUND = r"\s*(?:±|\+/-|\+-)\s*[0-9.,]+\s*"


def form_of(entry: str) -> str:
    """Return the form of an entry: 9 for each run of digits, and its words of up to three
    letters."""
    short = re.sub(r"\d+", "9", entry[:40].strip())
    return re.sub(r"[^\W\d_]{4,}", "word", short)


def forms_of(entries: Iterable[str]) -> Mapping[str, int]:
    """Count entries by their forms."""
    return Counter(map(form_of, entries))


def in_words(forms: Mapping[str, int]) -> str:
    """Write the most frequent forms with their counts, as in "35 like `9.9 J`"."""
    ranked = sorted(forms.items(), key=lambda pair: (-pair[1], pair[0]))
    listed = ", ".join(f"{count:,} like `{form}`" for form, count in ranked[:SHOWN])
    remainder = sum(count for _, count in ranked[SHOWN:])
    return listed + (f" and {remainder:,} in other forms" if remainder else "")


def letters_of(behind: tuple[str, ...], unit: str) -> tuple[str, ...]:
    """Return the letters allowed after a number: those that a person states ("none" alone for no
    letters), otherwise those of laboratories, except after amounts of money, where B is a
    billion."""
    if behind:
        return () if behind == ("none",) else behind
    return () if unit.upper() in _CODES else LABORATORY


def undressed(column: Any, unit: str, letters: tuple[str, ...]) -> Any:
    """Strip from n Arrow strings whatever surrounds a number without changing it: signs of the
    unit's currency, the unit, a bound after a plus-minus sign, stars, and `letters`. Turn digits of
    other scripts into ASCII. Read each entry on its own, and leave an entry with other text
    unchanged."""
    plain = pc.match_substring_regex(column, _PLAIN)
    if pc.all(plain).as_py():
        return column
    odd = np.flatnonzero(~np.asarray(plain.to_numpy(zero_copy_only=False), dtype=bool))
    dress = _dress(unit, letters)
    entries = column.take(pa.array(odd)).to_pylist()
    bare = {entry: _undressed(entry, dress) for entry in set(entries)}
    texts = np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)
    texts[odd] = [bare[entry] for entry in entries]
    return pa.array(texts, pa.string())


def _dress(unit: str, letters: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    code = unit.strip().upper()
    other = code in _CODES  # an amount of money in another currency is no number in this one
    signs = [sign for sign, codes in _CURRENCIES.items() if not other or code in codes]
    words = [*signs, *([code] if other else _CODES)]
    same = [unit.strip()] if unit.strip() else []
    prefixes = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    suffixes = "|".join(map(re.escape, sorted([*words, *same], key=len, reverse=True)))
    flags = "|".join(map(re.escape, sorted(letters, key=len, reverse=True)))
    times = rf"(?:\s*(?P<times>(?i:{'|'.join(_TIMES)}))\b\.?)?" if other else "(?P<times>)"
    ending = rf"(?:\s*(?i:{suffixes})|{_BOUND}|\s*[*†‡]+" + (rf"|\s*(?:{flags}))" if flags else ")")
    number = r"[+\-−]?[0-9.,][0-9., '’\u00a0\u2009\u202f]*?"
    start = rf"(?P<less>[<>≤≥]=?\s*)?(?P<sign>[+\-−]?)\s*(?:(?i:{prefixes})\s*)?"
    return re.compile(rf"{start}(?P<number>{number})(?:{_NO_CENTS})?{times}{ending}*"), re.compile(r".*[0-9]")


def _undressed(entry: str, dress: tuple[re.Pattern[str], re.Pattern[str]]) -> str:
    wide = entry.translate(_WIDE).strip()
    match = dress[0].fullmatch(wide)
    if match is None or dress[1].match(match["number"]) is None:
        return wide
    times = _TIMES.get((match["times"] or "").lower(), "")
    return f"{match['less'] or ''}{match['sign']}{match['number'].strip()}{times}"
