"""Columns that qualify a value: its unit, quantity, kind of sample or status, and identifiers that
repeat.

Names alone select these columns. Their entries are counted over the rows kept, for the curator's
report. The unit of a row converts only the value of that row.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.guess_names import names_owner
from data_loaders.columns.numbers import looks_numeric
from data_loaders.columns.sensortable import Shape
from data_loaders.columns.specification import settled
from data_loaders.columns.units import conversion, normal, split_unit, unit_of
from data_loaders.errors import DataError
from data_loaders.files.blocks import text
from data_loaders.files.spool import Column, strides
from data_loaders.repeats import as_bytes, hashed_names, record_names

_LONGEST = 120  # letters of a name that are searched
MOST = 30  # distinct entries of a column that qualifies; one with more identifies single rows
_SHOWN, _LETTERS = 5, 40  # entries that a sentence shows, and letters of each
_NAMED = 3  # identifiers in the report
NO_UNIT = "none"

_UNIT = re.compile(
    r"(^|.* )(unit|units|uom|\w*einheit|unité|unite|unidad|unità|unita|\w*eenheid|\w*enhet|\w*enhed|jednostka"
    r"|jednotka|yksikkö|единица|単位|单位|단위)"
    r"( of measure| of measurement| de mesure| de medida| di misura| miary| измерения| code| name| cd| symbol"
    r")*$"
)
_MOST_UNITS = 0.5  # the share of known units in a sample that makes a column one of units
_OF_BUILDINGS = re.compile(
    r"residential|commercial|housing|total|apartment|dwelling|no of|number of|business"
)
_LIMIT = re.compile(r"limit|detection|quantitation|reporting|\b(mdl|lod|loq|rl)\b")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(rf"(^|.* )({'|'.join(words)})($| )"))
    for what, words in tomllib.loads(
        (files("data_loaders") / "columns/qualifiers.toml").read_text(encoding="utf-8")
    )["kinds"].items()
)
_IDENTIFIER = re.compile(
    r"(^| )(id|ids|uuid|guid|identifier|ident|imei|kennung|identifiant|identificador)($| )|"
    r"(^| )(animal|individual|tag|collar|vehicle|device|trip|track|household|permit|parcel|mutation|deed|"
    r"case|incident|accident|cluster)( (no|nr|number|index|key|ref|reference|code|id))?$|"
    r"^bbl\b"  # borough, block and lot; at the end of a name it is barrels
)
_NO_IDENTIFIER = re.compile(
    r"code postal|postcode|zip|(^| )(code|type|class|name|category|species|taxon)($| )"
)
_UNSURE = re.compile(
    r"uncertainty|accuracy|positional error|location error|position error|error radius|(^| )(hacc|eph|sd m)$"
)
_PLACED = re.compile(
    r"coordinate|horizontal|location|position|gps|place|geo|^(accuracy|uncertainty|hacc|eph)"
)


def worded(name: str) -> str:
    """Split a name into small words: "MeasureUnitCode" and "measure_unit-code" are "measure unit
    code"."""
    apart = re.sub(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Ý])", " ", name[:_LONGEST])
    return " ".join(re.sub(r"[\W_]+", " ", apart).lower().split())


def unit_columns(names: Sequence[str], value: str, limit: str | None) -> tuple[int | None, int | None]:
    """Return the positions of the columns with the units of values and of limits; None without
    one."""
    words = [worded(name) for name in names]
    units = [at for at, word in enumerate(words) if _UNIT.match(word) and not _OF_BUILDINGS.search(word)]
    of_limit = [at for at in units if _LIMIT.search(words[at])]
    of_value = [at for at in units if at not in of_limit]

    def nearest(candidates: list[int], column: str) -> int | None:
        alone = [at for at in candidates if len(words[at].split()) <= 2]
        shared = {at: _shared(words[at], worded(column)) for at in candidates}
        best = max(shared.values(), default=0)
        close = [at for at in candidates if shared[at] == best] if best > 1 else alone or candidates
        return close[0] if len(close) == 1 or (close and close == alone[:1]) else None

    return nearest(of_value, value), None if limit is None else nearest(of_limit, limit)


@dataclass(frozen=True)
class ValueColumn:
    """The column of values, the stated unit, and the column of limits where there is one."""

    name: str
    unit: str
    limit: str | None


def units_beside(
    where: str, shape: Shape, value: ValueColumn, used: Iterable[int], stated_position: int | None
) -> tuple[int | None, int | None]:
    """Return the positions of the columns with the units of values and of limits. Find the former
    at `stated_position`, otherwise by name, otherwise by the units in most of the sample. Raise
    `DataError` if one row decides this, or if no column states units and the name of the value
    states another unit than the stated one."""
    names, sample, unit = shape.called, shape.sample, value.unit
    of_value, of_limit = unit_columns(names, value.name, value.limit)
    of_value = stated_position if stated_position is not None else of_value
    if of_value is None:
        excluded = set(used)
        for at in (at for at in range(len(names)) if at not in excluded and at != of_limit):
            entries = Counter(row[at] for row in sample if row[at])
            yes = sum(rows for entry, rows in entries.items() if _is_unit(entry, unit))
            said = settled(yes, entries.total() - yes, len(sample), _MOST_UNITS)
            if said is None:
                raise DataError(
                    f"{where} leaves open whether {names[at]!r} holds the units of the values, since one row "
                    "alone decides it: name the column of units with `unit_column` (--unit-column), or say "
                    f"that none holds them (--unit-column {NO_UNIT})."
                )
            if said:
                return at, of_limit
        stated_unit = split_unit(value.name)[1]
        if (
            stated_unit
            and unit_of(stated_unit)
            and unit_of(unit)
            and conversion(stated_unit, unit) != (1.0, 0.0)
        ):
            raise DataError(
                f"Column {value.name!r} names {stated_unit} as its unit, while {unit} was stated: state "
                "the unit of the values with `value_unit` (--value-unit), or say that the name "
                f"tells none with `unit_column` (--unit-column {NO_UNIT})."
            )
    return of_value, of_limit


def _is_unit(entry: str, unit: str) -> bool:
    """Whether an entry is a unit from which a factor to `unit` is known; a single letter is no unit."""
    return (
        2 <= len(entry) <= _LETTERS
        and not looks_numeric(entry)
        and unit_of(entry) is not None
        and conversion(entry, unit) is not None
    )


def telling(names: Sequence[str]) -> list[int]:
    """Return the positions of the columns that qualify a value, or identify things with several
    rows."""
    units = [at for at, name in enumerate(names) if _UNIT.match(worded(name))]
    return sorted({*units, *Qualifiers(names, (), owner=False, identifier=False).columns})


def _shared(first: str, second: str) -> int:
    """Count the words that two names have in common at their beginning."""
    count = 0
    for a, b in zip(first.split(), second.split(), strict=False):
        if a != b:
            return count
        count += 1
    return count


@dataclass(frozen=True)
class Finding:
    """A possible meaning of a column, and the setting for it."""

    setting: Literal["where", "owner", "place_sd"]
    column: str
    sentence: str


class Conversion:
    """Converts the numbers of a table to the stated unit, each from the unit of its row."""

    def __init__(self, column: str, unit: str) -> None:
        self._column, self._unit = column, unit
        self._rows: dict[str, int] = {}
        self._known = unit_of(unit) is not None

    def factors(self, entries: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (n,) a and (n,) b of `a * v + b` for n units (Arrow strings); NaN for an unknown
        factor. A blank means the stated unit."""
        encoded = text(entries).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        pairs = [self._pair(name) for name in names]
        coefficients = np.array(
            [(np.nan, np.nan) if pair is None else pair for pair in pairs], dtype=np.float64
        )
        rows = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        return (coefficients[rows, 0], coefficients[rows, 1]) if rows.size else (np.empty(0), np.empty(0))

    def converted(self, entries: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert (n,) values to the stated unit. Leave those with an unknown factor unchanged; the
        caller raises an error if it keeps such a row."""
        factor, shift = self.factors(entries)
        return np.where(np.isnan(factor), values, values * factor + shift)

    def _pair(self, name: str) -> tuple[float, float] | None:
        """Return the conversion of one unit. An unknown stated unit may be the only unit of the
        rows in another spelling, so it converts by 1."""
        return conversion(name, self._unit) if name and self._known else (1.0, 0.0)

    def count(self, entries: Any, selection: NDArray[np.bool_]) -> None:
        """Count the units of the rows in an (n,) selection."""
        for pair in pc.value_counts(text(entries).filter(pa.array(selection))).to_pylist():
            self._rows[pair["values"]] = self._rows.get(pair["values"], 0) + pair["counts"]

    def check(self) -> None:
        """Raise `DataError` if the stated unit is unknown and the rows have several units."""
        if not self._known and len({normal(name).casefold() for name in self._rows if name}) > 1:
            raise self.refuse()

    def refuse(self) -> DataError:
        """Return the error for rows whose unit has no known factor."""
        return DataError(
            f"Column {self._column!r} holds units from which no factor to {self._unit} is known: keep the "
            "rows of one unit with `where` (--where), state the unit of the values with `value_unit` "
            f"(--value-unit), or say that the column is none of the values' unit with `unit_column` "
            f"(--unit-column {NO_UNIT})."
        )

    def notes(self) -> list[str]:
        """Report the converted units, and the number of rows with a blank unit."""
        sentences = []
        for name, rows in sorted(self._rows.items()):
            pair = self._pair(name)
            if name and not self._known and normal(name).casefold() != normal(self._unit).casefold():
                sentences.append(
                    f"Column {self._column!r} says {_short(name)}, while {self._unit} was stated."
                )
            elif not name and len(self._rows) > 1:
                names, count = ("names", "counts") if rows == 1 else ("name", "count")
                sentences.append(
                    f"{_rows(rows)} {names} no unit in {self._column!r} and {count} as {self._unit}."
                )
            elif pair is not None and pair != (1.0, 0.0):
                shift = f", and {pair[1]:+g}" if pair[1] else ""
                sentences.append(
                    f"{_rows(rows)} in {_short(name)} {'was' if rows == 1 else 'were'} converted to "
                    f"{self._unit} (times {pair[0]:g}{shift}), by column {self._column!r}."
                )
        return sentences


class Qualifiers:
    """Counts of the entries of columns that qualify a value, and of identifiers that repeat."""

    def __init__(self, names: Sequence[str], used: Iterable[int], *, owner: bool, identifier: bool) -> None:
        excluded = set(used)
        self.columns: dict[int, str] = {}
        self._identifiers: dict[int, Column] = {}
        self._counts: dict[int, dict[str, int]] = {}
        self._what: dict[int, str] = {}
        self.unsure: list[str] = []
        for at, name in enumerate(names):
            words = worded(name)
            if at in excluded or not words:
                continue
            if _UNSURE.search(words) and _PLACED.search(words):
                self.unsure.append(name)
            elif (what := next((what for what, pattern in _KINDS if pattern.match(words)), None)) is not None:
                self.columns[at], self._what[at], self._counts[at] = name, what, {}
            elif not owner and _is_identifier(name, words, identifier):
                self.columns[at], self._identifiers[at] = name, Column()

    def add(self, columns: Mapping[int, Any]) -> None:
        """Add a block of kept rows: n Arrow strings by position."""
        for at, entries in columns.items():
            if at in self._identifiers:
                names = entries.filter(pc.not_equal(entries, ""))
                if len(names) == 0:
                    continue
                self._identifiers[at].add(hashed_names(as_bytes(record_names(names))))
            elif (counts := self._counts.get(at)) is not None:
                for pair in pc.value_counts(entries).to_pylist():
                    counts[pair["values"]] = counts.get(pair["values"], 0) + pair["counts"]
                if len(counts) > MOST:
                    del self._counts[at]

    def findings(self) -> list[Finding]:
        """Return a finding for each column with distinct entries, repeated identifiers or unsure
        places."""
        statements = [
            Finding("where", self.columns[at], self._of_kind(at, counts))
            for at, counts in self._counts.items()
            if len(counts) > 1
        ]
        repeated = [
            Finding("owner", self.columns[at], sentence)
            for at, hashes in self._identifiers.items()
            if (sentence := self._of_owner(at, hashes.array("u8")))
        ]
        if self.unsure:
            sentence = (
                f"{' and '.join(map(repr, self.unsure[:_NAMED]))} may say how sure a place is, in metres: "
                "where it is a standard deviation, name it with `place_sd` (--place-sd "
                f"{shlex.quote(self.unsure[0])})."
            )
            statements.append(Finding("place_sd", self.unsure[0], sentence))
        return [*statements, *repeated[:_NAMED]]

    def _of_kind(self, at: int, counts: Mapping[str, int]) -> str:
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        listed = ", ".join(f"{_short(entry) or 'blank'} in {_rows(rows)}" for entry, rows in ordered[:_SHOWN])
        remainder = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
        what, name = self._what[at], self.columns[at]
        example = shlex.quote(f"{name}={_short(ordered[0][0])}")
        also = ""
        if what in ("the status of a row", "a mark beside a limit"):
            also = "; `condition` (--condition) takes it where it says which are below a limit"
        elif what == "the zone of a place":
            column = shlex.quote(name)
            also = f"; `zone_column` (--zone-column {column}) reads each row's place in its own UTM zone"
        return (
            f"Column {name!r} may say {what}: {listed}{remainder}. Where they should not be mixed, keep the "
            f"rows of one with `where` (--where {example}){also}."
        )

    def _of_owner(self, at: int, hashes: NDArray[np.uint64]) -> str | None:
        names, counts = np.unique(np.asarray(hashes), return_counts=True)
        rows, largest = int(counts.sum()), int(counts.max(initial=0))
        if names.size < 2 or largest < 2:
            return None
        name = self.columns[at]
        return (
            f"Column {name!r} has {names.size:,} different entries in {_rows(rows)}; the most frequent is "
            f"in {largest:,}: `owner` (--owner {shlex.quote(name)} --records-per-owner 1) protects all rows "
            "with one entry together; without it each row is protected alone."
        )


def _is_identifier(name: str, words: str, identifier: bool) -> bool:
    """Whether a column identifies things with several rows; if rows have an `identifier`, only
    sensors, persons and similar owners."""
    if names_owner(name):
        return True
    return not identifier and bool(_IDENTIFIER.search(words)) and not _NO_IDENTIFIER.search(words)


def zeros_alone(values: NDArray[np.float64]) -> bool:
    """Whether zeros of (n,) values, at least 10 and 1 in 100, may mean "no value": hardly another
    number is below a tenth of the median. False for answers and small counts."""
    zeros = sum(int(np.count_nonzero(values[rows] == 0.0)) for rows in strides(values.size))
    if zeros < max(10, 0.01 * values.size) or zeros == values.size:
        return False
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    sizes = sizes[sizes > 0.0]
    middle = float(np.median(sizes))
    if middle < 20.0 and not np.any(sizes % 1.0):
        return False
    return 10 * int(np.count_nonzero(sizes <= 0.1 * middle)) <= zeros


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _short(entry: str) -> str:
    return entry if len(entry) <= _LETTERS else f"{entry[:_LETTERS]}…"
