"""Columns of dates and times as people write them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.forms import forms_of
from data_loaders.errors import DataError

MONTH, QUARTER, YEAR, WEEK = 1, 2, 3, 4
"""The stamps of entries that are a period instead of a moment (`TimesRead.stamp`)."""

_ISO = r"^(?P<a>[0-9]{4})[-/.](?P<b>[0-9]{1,2})[-/.](?P<c>[0-9]{1,2})"
_OTHER = r"^(?P<a>[0-9]{1,2})[-/.](?P<b>[0-9]{1,2})[-/.](?P<c>[0-9]{4})"
_COMPACT = r"^(?P<a>[0-9]{4})(?P<b>[0-9]{2})(?P<c>[0-9]{2})$"
# Followed by a time: "20240501T0800", "20240501080000". Digits of other centuries count seconds.
_LONGER = (
    r"^(?P<a>(?:19|20)[0-9]{2})(?P<b>[0-9]{2})(?P<c>[0-9]{2})"
    r"[T ]?(?P<d>[0-9]{2})(?P<e>[0-9]{2})?(?P<f>[0-9]{2})?(?:[^0-9].*)?$"
)
_YEAR = r"^(?P<a>1[0-9]{3}|2[0-9]{3})$"
_HALF = r"[0-9][ \x{a0}\x{202f}]?(?P<a>[AaPp])\.?[Mm]"  # browsers write a narrow blank before it
_CLOCK = r"[T ](?P<a>[0-9]{1,2})(?::(?P<b>[0-9]{2})(?::(?P<c>[0-9]{2}))?|[ \x{a0}\x{202f}]?[AaPp]\.?[Mm])"
# Twelve digits that are a time both with a year of four digits and with one of two.
_EITHER = r"^(?P<a>20(?:0[1-9]|1[0-2])(?:0[1-9]|1[0-2])(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9])$"
_OUTWEIGHED = 10  # one order must be this many times as frequent for the other to count as slips
_FIRST_UNREAD = np.uint64(1 << 63)
_LEFT = 1 << 62  # stamps from here on hash the text that remains after a time
_BEHIND = (  # a time after a date, without the text that follows it
    r"(?:,?[Tt ]\s*[0-9]{1,2}(?::[0-9]{2}(?::[0-9]{2})?(?:[ \x{a0}\x{202f}]?[AaPp]\.?[Mm]\.?)?"
    r"|[ \x{a0}\x{202f}]?[AaPp]\.?[Mm]\.?))?"
)
_DATED = (
    r"^(?:(?:19|20)[0-9]{6}[Tt ]?(?:[0-9]{2}){1,3}|(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}"
    rf"|[0-9]{{1,2}}[-/.][0-9]{{1,2}}[-/.][0-9]{{4}}|[0-9]{{8}}){_BEHIND})"
)
_NOTHING = r"^(?:[.,]0*)?\s*(?:z|utc|gmt|[+-]00:?00)?$"
_LETTERS = r"(?P<name>[^\W\d_]{3,12}\.?)"
_STRETCHES = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"(?P<year>\d{4})[-/. ](?P<number>\d{1,2})", MONTH),
        (r"(?P<number>\d{1,2})[-/.](?P<year>\d{4})", MONTH),
        (r"(?P<year>(?:19|20)\d{2})(?P<number>\d{2})(?P<packed>)", MONTH),
        (rf"{_LETTERS}[-/, ]*(?P<year>\d{{4}})", MONTH),
        (rf"(?P<year>\d{{4}})[-/ ]{_LETTERS}", MONTH),
        (r"(?P<year>\d{4})[-/ ]?q(?P<number>[1-4])", QUARTER),
        (r"q(?P<number>[1-4])[-/, ]*(?P<year>\d{4})", QUARTER),
        (r"(?P<number>[1-4])q[-/ ]?(?P<year>\d{4})", QUARTER),
        (r"(?P<year>\d{4})-?w(?P<week>\d{2})", WEEK),
    )
)
_NAMED = tuple(
    re.compile(pattern + r"(?![0-9])")
    for pattern in (
        rf"(?P<day>\d{{1,2}})\.?[-/ ]?{_LETTERS}[-/, ]*(?P<year>\d{{4}})",
        rf"{_LETTERS}[- ]+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[-, ]+(?P<year>\d{{4}})",
        rf"(?P<year>\d{{4}})[-/ ]{_LETTERS}[-/ ](?P<day>\d{{1,2}})",
    )
)
_ORDINAL = re.compile(r"(?P<year>[12]\d{3})-(?P<day>[0-3]\d{2})")
_SERIAL, _SHORT = re.compile(r"\d{5}(?:\.\d+)?"), re.compile(r"\d{12}")
_COUNT = re.compile(r"\d{9,11}(?:\.\d*)?|\d{13}(?:\.\d*)?|\d{16}|\d{19}|\d\.\d+e\+?\d{1,2}")
_MONTHS = {
    word: number
    for number, words in enumerate(
        (
            "jan janu jän janv ene ener gen genn",
            "feb febr fév févr fev feve",
            "mar marc mär märz mars maar maa mrz",
            "apr apri avr avri abr abri",
            "may mai mei mag magg mayo maj",
            "jun june juni juin giu giug",
            "jul july juli juil lug lugl",
            "aug augu août aoû ago agos",
            "sep sept set sett",
            "oct octo okt okto ott otto out outu",
            "nov nove",
            "dec dece dez deze déc déce dic dici",
        ),
        start=1,
    )
    for word in words.split()
}
"""The first letters of months in English, German, French, Spanish, Italian, Portuguese and
Dutch."""

_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$"


def parse_times(column: Any, *, day_first: bool = False) -> NDArray[np.datetime64]:
    """Parse n Arrow strings such as "2018-03-01", "2018-03-01T12:30:59Z", "1.3.2018", "1/3/2018
    8:30 PM", "05-JAN-2023", "20180301123059", "240501080000", "2018", "2018-03" and "2023-Q2"
    (their beginnings), seconds or milliseconds since 1970 and days of Excel, as (n,) datetime64[s],
    ignoring time zones; NaT if blank, unreadable or ambiguous. Unless `day_first`, the dates of the
    column decide the order of "3/4/2018" (`DateOrder`). Raise `DataError` if a single date decides
    it."""
    read = read_times(column)
    month_first = False if day_first else read.order.month_comes_first()
    if month_first is None:
        raise DataError("Dates such as 3/4/2018 do not tell which number is the month: say so.")
    return read.as_month_first if month_first else read.as_day_first


@dataclass(frozen=True)
class DateOrder:
    """The evidence about dates such as 3/4/2018 in a table or one block of it."""

    slashed: int = 0  # dates in this notation
    first_high: int = 0  # of them, those with a first number above 12; `second_high` likewise
    second_high: int = 0

    def month_comes_first(self) -> bool | None:
        """Whether the month comes first: at least two dates have a second number above 12, and ten
        times as many as have such a first number. None if a single date would decide; False if no
        date has a second number above 12."""
        low, high = sorted((self.first_high, self.second_high))
        if self.second_high == 0:
            return False
        if high < _OUTWEIGHED * low or high < 2:
            return None
        return self.second_high == high

    @property
    def open(self) -> bool:
        """Whether the dates do not decide the order, or contradict each other."""
        has_evidence = self.first_high or self.second_high
        return self.slashed > 0 and (not has_evidence or self.month_comes_first() is None)

    def contradicts(self, day_first: bool) -> bool:
        """Whether the stated order leaves dates unread that the other order would read."""
        high, low = (self.second_high, self.first_high) if day_first else (self.first_high, self.second_high)
        return high > 0 and low == 0

    def with_(self, other: DateOrder) -> DateOrder:
        """Return the joint evidence of two blocks of one table."""
        return DateOrder(
            self.slashed + other.slashed,
            self.first_high + other.first_high,
            self.second_high + other.second_high,
        )


@dataclass(frozen=True, eq=False)
class TimesRead:
    """A column of n times, or one block of it, read with the day first and with the month first."""

    # (n,) times by the order of "3/4/2018"; the same array twice if no entry has this notation
    as_day_first: NDArray[np.datetime64]
    as_month_first: NDArray[np.datetime64]
    order: DateOrder  # the column's evidence about the order
    # (n,) 0 for a moment or a blank; MONTH, QUARTER, YEAR or WEEK for a period; otherwise a hash of
    # an entry that either order leaves unread, or of the text after a date. Two times are equal
    # only if their stamps are equal too.
    stamp: NDArray[np.uint64]
    # (n,) fractional seconds since 1970 of entries that count them, else NaN
    counted: NDArray[np.float64]
    forms: Mapping[str, int]  # notations of the unread entries, with their numbers


def settled(stamp: NDArray[np.uint64], time: NDArray[np.datetime64]) -> NDArray[np.uint64]:
    """Return (n,) stamps, with those of unread entries reset to 0 where (n,) `time` is known."""
    return np.where((stamp >= _FIRST_UNREAD) & ~np.isnat(time), np.uint64(0), stamp)


def read_times(column: Any) -> TimesRead:
    """Read n Arrow strings as `parse_times` does, in both orders, since other rows may decide the
    order."""
    text = pc.utf8_trim_whitespace(column)
    plain = _all_plain(text)
    if plain is not None:
        zeros = np.zeros(plain.size)
        return TimesRead(plain, plain, DateOrder(), zeros.astype(np.uint64), zeros + np.nan, {})
    iso, compact, year = _parts(text, _ISO), _parts(text, _COMPACT), _parts(text, _YEAR, 1)[0]
    first, second, last = _parts(text, _OTHER)
    *longer, hour, minute, past = _parts(text, _LONGER, 6)
    clocks = zip(_parts(text, _CLOCK), (hour, minute, past), strict=True)
    clock = [np.nan_to_num(np.where(np.isnan(a), b, a)) for a, b in clocks]
    half = matched(text, _HALF)
    clock[0] = np.where(half == "", clock[0], clock[0] % 12 + 12 * np.isin(half, ["p", "P"]))
    ones = np.where(np.isnan(year), np.nan, 1.0)
    slashed = ~np.isnan(first)

    def read(*ordered: NDArray[np.float64]) -> NDArray[np.datetime64]:
        fields = iso
        for other in (compact, tuple(longer), ordered, (year, ones, ones)):
            fields = tuple(np.where(np.isnan(a), b, a) for a, b in zip(fields, other, strict=True))
        return _moments(fields, tuple(clock))

    as_day_first = read(last, second, first)
    as_month_first = read(last, first, second) if slashed.any() else as_day_first
    stamp = np.where(np.isnan(year), 0, YEAR).astype(np.uint64)
    unix_seconds = np.full(stamp.size, np.nan)
    stamp = np.where(stamp == 0, _left(text, _DATED), stamp)
    blank = np.asarray(pc.equal(text, "").to_numpy(zero_copy_only=False), dtype=bool)
    twice = np.isnat(as_day_first) & np.isnat(as_month_first) | _either_century(text)
    odd = np.flatnonzero(twice & ~blank)
    forms: Mapping[str, int] = {}
    if odd.size:
        as_day_first = as_day_first.copy()
        as_month_first = as_month_first.copy() if slashed.any() else as_day_first
        entries = [str(text[int(at)].as_py()).lower() for at in odd]
        found, kinds, seconds = _others(entries, np.array([clock[k][odd] for k in range(3)]))
        as_day_first[odd] = found
        as_month_first[odd] = found
        stamp[odd] = kinds
        unix_seconds[odd] = seconds
        forms = forms_of([entry for entry, time in zip(entries, found, strict=True) if np.isnat(time)])
    for at in np.flatnonzero(np.isnat(as_day_first) != np.isnat(as_month_first)):
        stamp[at] = _stamp(str(text[int(at)].as_py()).lower())
    high = (int(np.count_nonzero(number[slashed] > 12)) for number in (first, second))
    order = DateOrder(int(np.count_nonzero(slashed)), *high)
    return TimesRead(as_day_first, as_month_first, order, stamp, unix_seconds, forms)


def _left(text: Any, read: str) -> NDArray[np.uint64]:
    """Return (n,) hashes of the text after the part that matches the pattern `read`: "12 Uhr",
    "+02:00", the end of a period; 0 without such text. Two times are equal only if these hashes are
    equal."""
    remainder = pc.utf8_lower(pc.replace_substring_regex(text, read, ""))
    encoded = pc.if_else(pc.match_substring_regex(remainder, _NOTHING), "", remainder).dictionary_encode()
    words = encoded.dictionary.to_pylist()
    numbers = [int(_stamp(word)) & ~int(_FIRST_UNREAD) | _LEFT if word else 0 for word in words]
    rows = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.array(numbers, np.uint64)[rows] if rows.size else np.zeros(0, np.uint64)


def _either_century(text: Any) -> NDArray[np.bool_]:
    """Return which of (n,) texts are twelve digits that are a time with a year of four and of two
    digits."""
    return np.asarray(matched(text, _EITHER) != "")


def _others(
    entries: list[str], clock: NDArray[np.float64]
) -> tuple[NDArray[np.datetime64], NDArray[np.uint64], NDArray[np.float64]]:
    """Read (k,) times in rare notations one by one: periods, names of months, counts. `clock` is
    (3, k) hours, minutes and seconds that follow the date."""
    times = np.full(len(entries), np.datetime64("NaT", "s"))
    stamps = np.zeros(len(entries), np.uint64)
    unix_seconds = np.full(len(entries), np.nan)
    for at, entry in enumerate(entries):
        date, kind = _stretch(entry)
        if date is None and (count := _count(entry)) is not None:
            unix_seconds[at] = count
            times[at] = np.datetime64(int(np.floor(count)), "s")
        elif date is None and (moment := _moment(entry, clock[:, at])) is not None:
            times[at], stamps[at] = np.datetime64(moment, "s"), _behind_name(entry)
        elif date is not None:
            times[at], stamps[at] = np.datetime64(date, "s"), kind
        else:
            stamps[at] = _stamp(entry)
    return times, stamps, unix_seconds


def _behind_name(entry: str) -> np.uint64:
    """Hash the text after a date with the name of its month and its time."""
    ends = [match.end() for pattern in _NAMED if (match := pattern.match(entry)) is not None]
    remainder = pa.array([entry[ends[0] :] if ends else ""], pa.string())
    return np.uint64(_left(remainder, f"^{_BEHIND}")[0])


def _stamp(entry: str) -> np.uint64:
    """Hash the text of an unread time, to tell it from others."""
    digest = hashlib.blake2b(entry.encode("utf-8", "replace"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest) | int(_FIRST_UNREAD))


def _date(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day)
    except ValueError:
        return None


def _stretch(entry: str) -> tuple[datetime | None, int]:
    """Return the beginning of a month, a quarter or a week, and the kind of the period."""
    for pattern, kind in _STRETCHES:
        if (match := pattern.fullmatch(entry)) is None:
            continue
        parts = match.groupdict()
        year = int(parts["year"])
        if kind == WEEK:
            try:
                return datetime.fromisocalendar(year, int(parts["week"]), 1), kind
            except ValueError:
                return None, 0
        month = _MONTHS.get(parts["name"][:4].rstrip("."), 0) if "name" in parts else int(parts["number"])
        month = 3 * month - 2 if kind == QUARTER else month
        if "packed" in pattern.groupindex and 1 <= year % 100 <= 12 and 1 <= month <= 31:
            return None, 0  # 200512 is in December 2005, or the 12th of May 2020
        return _date(year, month, 1), kind
    return None, 0


def _moment(entry: str, clock: NDArray[np.float64]) -> datetime | None:
    """Read a date with the name of its month or the number of its day in the year, days of Excel,
    and twelve digits that begin with a year of two."""
    for pattern in _NAMED:
        if (match := pattern.match(entry)) is not None:
            month = _MONTHS.get(match["name"][:4].rstrip("."), 0)
            date = _date(int(match["year"]), month, int(match["day"]))
            hour, minute, second = (int(part) for part in clock)
            if date is None or hour > 23 or minute > 59 or second > 59:
                return None
            return date.replace(hour=hour, minute=minute, second=second)
    if (match := _ORDINAL.fullmatch(entry)) is not None:
        date = datetime(int(match["year"]), 1, 1) + timedelta(days=int(match["day"]) - 1)
        return date if match["day"] != "000" and date.year == int(match["year"]) else None
    if (match := _SERIAL.fullmatch(entry)) is not None and 20_000 <= float(entry) < 80_000:
        return datetime(1899, 12, 30) + timedelta(seconds=round(86_400 * float(entry)))
    if _SHORT.fullmatch(entry) is not None and entry[:2] not in ("19", "20"):
        try:
            return datetime.strptime(("19" if entry >= "7" else "20") + entry, "%Y%m%d%H%M%S")
        except ValueError:
            return None
    return None


def _count(entry: str) -> float | None:
    """Return the seconds since 1970 of a count of seconds or, by its size, of milliseconds or
    less."""
    if _COUNT.fullmatch(entry) is None:
        return None
    count = float(entry)
    for smallest, unit in ((1e17, 1e9), (1e14, 1e6), (1e12, 1e3), (1e8, 1.0)):
        if count >= smallest:
            return count / unit if count / unit < 1e11 else None
    return None


def _all_plain(text: Any) -> NDArray[np.datetime64] | None:
    """Parse (n,) times if every entry is "2018-03-01", alone or with "12:30" or "12:30:59"; else
    None."""
    width = pc.min_max(pc.binary_length(text)).as_py()
    # With sixteen letters Arrow reads only this form; with more it would apply a time zone.
    minutes = width == {"min": 16, "max": 16}
    if not minutes and not pc.all(pc.match_substring_regex(text, _PLAIN)).as_py():
        return None
    try:
        texts = text if minutes else _with_clock(text)
        return np.asarray(pc.cast(texts, pa.timestamp("s")).to_numpy(zero_copy_only=False), dtype="M8[s]")
    except pa.ArrowInvalid:  # no 31st of June
        return None


def _with_clock(text: Any) -> Any:
    return pc.if_else(
        pc.greater(pc.binary_length(text), 10), text, pc.binary_join_element_wise(text, "00:00", " ")
    )


def _moments(
    date: tuple[NDArray[np.float64], ...], clock: tuple[NDArray[np.float64], ...]
) -> NDArray[np.datetime64]:
    """Combine years, months, days, hours, minutes and seconds into (n,) times; NaT for impossible
    ones."""
    (year, month, day), (hour, minute, second) = date, clock
    good = ~np.isnan(year) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    good &= (hour <= 23) & (minute <= 59) & (second <= 60)
    parts = [np.where(good, part, 0).astype(np.int64) for part in (*date, *clock)]
    months = (parts[0] - 1970) * 12 + parts[1] - 1
    days = months.astype("M8[M]").astype("M8[D]") + (parts[2] - 1).astype("m8[D]")
    good &= days.astype("M8[M]") == months.astype("M8[M]")  # no 31st of June
    seconds = (parts[3] * 3600 + parts[4] * 60 + parts[5]).astype("m8[s]")
    time = np.where(good, days.astype("M8[s]") + seconds, np.datetime64("NaT", "s"))
    return np.asarray(time.astype("M8[s]"))


def _parts(text: Any, pattern: str, count: int = 3) -> tuple[NDArray[np.float64], ...]:
    """Return the groups a, b, c of a pattern as numbers; NaN without a match or for an absent
    group."""
    groups = pc.extract_regex(text, pattern)
    parts = []
    for index in range(count):
        group = pc.struct_field(groups, [index])
        group = pc.if_else(pc.equal(group, ""), pa.scalar(None, pa.string()), group)
        parts.append(
            np.asarray(pc.cast(group, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        )
    return tuple(parts)


def matched(text: Any, pattern: str) -> NDArray[np.str_]:
    """Return (n,) texts of the group a of a pattern; "" without a match."""
    groups = pc.fill_null(pc.struct_field(pc.extract_regex(text, pattern), [0]), "")
    return np.asarray(groups.to_numpy(zero_copy_only=False), dtype=np.str_)
