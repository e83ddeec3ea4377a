"""Columns that qualify a value: its unit, quantity, kind of sample or status, and identifiers that repeat.

Which columns these are, their names alone say. Their entries are counted over the rows that are kept, for
the curator's report; a row's own unit converts that row's value and no other.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.guess_names import names_owner
from data_loaders.columns.units import conversion, normal, split_unit, unit_of
from data_loaders.errors import DataError
from data_loaders.files.blocks import Column, strides, text
from data_loaders.repeats import as_bytes, hashed_names, record_names

_LONGEST = 120  # letters of a name that are looked at
MOST = 30  # entries of a column that qualifies; one of more tells single rows apart
_SHOWN, _LETTERS = 5, 40  # entries that a sentence shows, and letters of each
_NAMED = 3  # identifiers that are named
NO_UNIT = "none"

_UNIT = re.compile(
    r"(^|.* )(unit|units|uom|\w*einheit|unité|unite|unidad|unità|unita|\w*eenheid|\w*enhet|\w*enhed|jednostka"
    r"|jednotka|yksikkö|единица|単位|单位|단위)"
    r"( of measure| of measurement| de mesure| de medida| di misura| miary| измерения| code| name| cd| symbol"
    r")*$"
)
_MOST_UNITS = 0.5  # of a column's sampled entries, from which they are taken for units
_OF_BUILDINGS = re.compile(
    r"residential|commercial|housing|total|apartment|dwelling|no of|number of|business"
)
_LIMIT = re.compile(r"limit|detection|quantitation|reporting|\b(mdl|lod|loq|rl)\b")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(rf"(^|.* )({words})($| )"))
    for what, words in (
        ("what a row measures", "parameter|pollutant|characteristic|analyte|analyt|substance|determinand"
         "|variable|measure|measurand|metric|indicator|quantity|element|species|compound|constituent|chemical"
         "|phenomenon|observed property|parametre|paramètre|polluant|grandeur|parámetro|magnitud"
         "|contaminante|inquinante|sostanza|stoff|schadstoff|komponente|messgröße|messgroesse|component"
         "|składnik|zanieczyszczenie|ukazatel|показатель|項目|项目|항목"),
        ("the kind of sample", "sample type|sample media|media|medium|matrix|activity type|activity type code"
         "|sample fraction|fraction|fraction text|probenart|qc type|depth class|grain size"),
        ("the status of a row", "status|flag|flags|qualifier|remark|validity|verification"
         r"|(?<!air )(?<!water )quality|qc|qa|valid|rmk|uflag|condition|[0-9]+ cd"
         "|statut|estado|result status|measure qualifier code|remark code"),
        ("the zone of a place", "zone|utm zone|grid zone|huso|fuseau"),
        ("the datum of a place", "datum|horizontal datum|srid|epsg|crs|coordinate system"
         "|coordinate reference system datum name"),
        ("a mark beside a limit", "censored|censoring|detection condition|result detection condition"
         "|less than|sign|lt|operator|prefix"),
        ("which measurement of several a row is", "replicate|rep|duplicate|poc|repeat|occurrence|replica"),
        ("how values were summed up", "statistic|statistic code|averaging|averaging period|aggregation"
         "|data aggregation process|sample duration|duration description|aggregation process|period type"),
        ("the currency of a price", "currency|currency code|währung|devise|moneda"),
        ("the kind of a sale", "nature mutation|sale type|transaction type|record type"
         "|not full market price"),
    )
)  # fmt: skip
_IDENTIFIER = re.compile(
    r"(^| )(id|ids|uuid|guid|identifier|ident|imei|kennung|identifiant|identificador)($| )|"
    r"(^| )(animal|individual|tag|collar|vehicle|device|trip|track|household|permit|parcel|mutation|deed|"
    r"case|incident|accident|bbl|cluster)( (no|nr|number|index|key|ref|reference|code|id))?$"
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
    """A column's name as small words: "MeasureUnitCode" and "measure_unit-code" are "measure unit code"."""
    apart = re.sub(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Ý])", " ", name[:_LONGEST])
    return " ".join(re.sub(r"[\W_]+", " ", apart).lower().split())


def unit_columns(names: Sequence[str], value: str, limit: str | None) -> tuple[int | None, int | None]:
    """Positions of the columns with the unit of each value, and of each limit; None without one."""
    words = [worded(name) for name in names]
    units = [at for at, one in enumerate(words) if _UNIT.match(one) and not _OF_BUILDINGS.search(one)]
    of_limit = [at for at in units if _LIMIT.search(words[at])]
    of_value = [at for at in units if at not in of_limit]

    def nearest(candidates: list[int], column: str) -> int | None:
        alone = [at for at in candidates if len(words[at].split()) <= 2]
        shared = {at: _shared(words[at], worded(column)) for at in candidates}
        best = max(shared.values(), default=0)
        close = [at for at in candidates if shared[at] == best] if best > 1 else alone or candidates
        return close[0] if len(close) == 1 or (close and close == alone[:1]) else None

    return nearest(of_value, value), None if limit is None else nearest(of_limit, limit)


def units_beside(
    names: Sequence[str],
    sample: Sequence[Sequence[str]],
    value: str,
    unit: str,
    limit: str | None,
    used: Iterable[int],
    said: int | None,
) -> tuple[int | None, int | None]:
    """Positions of the columns with the unit of each value, by the position that is `said`, else by name,
    else by what most of the `sample` holds, and of each limit. Raise `DataError` where no column tells and
    the value's own name tells another unit than `unit`."""
    of_value, of_limit = unit_columns(names, value, limit)
    of_value = said if said is not None else of_value
    if of_value is None:
        taken = set(used)
        for at in (at for at in range(len(names)) if at not in taken and at != of_limit):
            entries = [row[at] for row in sample if row[at]]
            different = set(entries)
            if 1 <= len(different) <= MOST and all(2 <= len(one) <= _LETTERS for one in different):
                known = {one for one in different if conversion(one, unit) and unit_of(one)}
                if sum(entry in known for entry in entries) > _MOST_UNITS * len(entries):
                    return at, of_limit
        named = split_unit(value)[1]
        if named and unit_of(named) and unit_of(unit) and conversion(named, unit) != (1.0, 0.0):
            raise DataError(
                f"Column {value!r} names {named} as its unit, while {unit} was stated: state the unit of the "
                "values with `value_unit` (--value-unit), or say that the name tells none with `unit_column` "
                f"(--unit-column {NO_UNIT})."
            )
    return of_value, of_limit


def telling(names: Sequence[str]) -> list[int]:
    """Positions of the columns that qualify a value, or name things that may stand on several rows."""
    units = [at for at, name in enumerate(names) if _UNIT.match(worded(name))]
    return sorted({*units, *Qualifiers(names, (), owner=False, identifier=False).columns})


def _shared(one: str, other: str) -> int:
    """Words that two names begin with together."""
    count = 0
    for a, b in zip(one.split(), other.split(), strict=False):
        if a != b:
            return count
        count += 1
    return count


@dataclass(frozen=True)
class Finding:
    """What a column may mean for the rows, and the setting that answers it."""

    setting: Literal["where", "owner", "place_sd"]
    column: str
    sentence: str


class Conversion:
    """Numbers of a table in the unit that was stated, each by the unit of its own row."""

    def __init__(self, column: str, unit: str) -> None:
        self._column, self._unit = column, unit
        self._rows: dict[str, int] = {}
        self._known = unit_of(unit) is not None

    def factors(self, entries: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) a and (n,) b of `a * v + b` for n units (Arrow strings); NaN where no factor is known. A blank
        is the stated unit."""
        encoded = text(entries).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        pairs = [self._pair(name) for name in names]
        found = np.array([(np.nan, np.nan) if pair is None else pair for pair in pairs], dtype=np.float64)
        rows = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        return (found[rows, 0], found[rows, 1]) if rows.size else (np.empty(0), np.empty(0))

    def converted(self, entries: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) values in the stated unit; as they are where no factor is known: such rows are refused where
        they are kept."""
        factor, shift = self.factors(entries)
        return np.where(np.isnan(factor), values, values * factor + shift)

    def _pair(self, name: str) -> tuple[float, float] | None:
        """What converts one unit; a stated unit that the table does not know may be the only one of the rows,
        in other words."""
        return conversion(name, self._unit) if name and self._known else (1.0, 0.0)

    def count(self, entries: Any, kept: NDArray[np.bool_]) -> None:
        """Count the units of the rows that are kept, (n,)."""
        for pair in pc.value_counts(text(entries).filter(pa.array(kept))).to_pylist():
            self._rows[pair["values"]] = self._rows.get(pair["values"], 0) + pair["counts"]

    def check(self) -> None:
        """Raise `DataError` where the stated unit is not in the table and the rows have several units."""
        if not self._known and len({normal(name).casefold() for name in self._rows if name}) > 1:
            raise self.refuse()

    def refuse(self) -> DataError:
        """The error for rows whose unit has no known factor."""
        return DataError(
            f"Column {self._column!r} holds units from which no factor to {self._unit} is known: keep the "
            "rows of one unit with `where` (--where), state the unit of the values with `value_unit` "
            f"(--value-unit), or say that the column is none of the values' unit with `unit_column` "
            f"(--unit-column {NO_UNIT})."
        )

    def notes(self) -> list[str]:
        """Say which units were converted, and how often a unit was left blank."""
        said = []
        for name, rows in sorted(self._rows.items()):
            pair = self._pair(name)
            if name and not self._known and normal(name).casefold() != normal(self._unit).casefold():
                said.append(f"Column {self._column!r} says {_short(name)}, while {self._unit} was stated.")
            elif not name and len(self._rows) > 1:
                said.append(f"{_rows(rows)} name no unit in {self._column!r} and count as {self._unit}.")
            elif pair is not None and pair != (1.0, 0.0):
                shift = f", and {pair[1]:+g}" if pair[1] else ""
                said.append(
                    f"{_rows(rows)} in {_short(name)} were converted to {self._unit} (times {pair[0]:g}"
                    f"{shift}), by column {self._column!r}."
                )
        return said


class Qualifiers:
    """Counts of the entries of columns that qualify a value, and of identifiers that repeat."""

    def __init__(self, names: Sequence[str], used: Iterable[int], *, owner: bool, identifier: bool) -> None:
        taken = set(used)
        self.columns: dict[int, str] = {}
        self._identifiers: dict[int, Column] = {}
        self._counts: dict[int, dict[str, int]] = {}
        self._what: dict[int, str] = {}
        self.unsure: list[str] = []
        for at, name in enumerate(names):
            words = worded(name)
            if at in taken or not words:
                continue
            if _UNSURE.search(words) and _PLACED.search(words):
                self.unsure.append(name)
            elif (what := next((what for what, named in _KINDS if named.match(words)), None)) is not None:
                self.columns[at], self._what[at], self._counts[at] = name, what, {}
            elif not owner and _is_identifier(name, words, identifier):
                self.columns[at], self._identifiers[at] = name, Column()

    def add(self, columns: Mapping[int, Any]) -> None:
        """Add a block of kept rows: n Arrow strings by position."""
        for at, entries in columns.items():
            if at in self._identifiers:
                given = entries.filter(pc.not_equal(entries, ""))
                if len(given) == 0:
                    continue
                self._identifiers[at].add(hashed_names(as_bytes(record_names(given))))
            elif (counts := self._counts.get(at)) is not None:
                for pair in pc.value_counts(entries).to_pylist():
                    counts[pair["values"]] = counts.get(pair["values"], 0) + pair["counts"]
                if len(counts) > MOST:
                    del self._counts[at]

    def findings(self) -> list[Finding]:
        """One for each column whose entries differ, for identifiers that repeat and for unsure places."""
        said = [
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
            said.append(Finding("place_sd", self.unsure[0], sentence))
        return [*said, *repeated[:_NAMED]]

    def _of_kind(self, at: int, counts: Mapping[str, int]) -> str:
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        listed = ", ".join(f"{_short(entry) or 'blank'} in {_rows(rows)}" for entry, rows in ordered[:_SHOWN])
        more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
        what, name = self._what[at], self.columns[at]
        example = shlex.quote(f"{name}={_short(ordered[0][0])}")
        also = ""
        if what in ("the status of a row", "a mark beside a limit"):
            also = "; `condition` (--condition) takes it where it says which are below a limit"
        elif what == "the zone of a place":
            column = shlex.quote(name)
            also = f"; `zone_column` (--zone-column {column}) reads each row's place in its own UTM zone"
        return (
            f"Column {name!r} may say {what}: {listed}{more}. Where they should not be mixed, keep the "
            f"rows of one with `where` (--where {example}){also}."
        )

    def _of_owner(self, at: int, hashes: NDArray[np.uint64]) -> str | None:
        names, counts = np.unique(np.asarray(hashes), return_counts=True)
        rows, most = int(counts.sum()), int(counts.max(initial=0))
        if names.size < 2 or most < 2:
            return None
        name = self.columns[at]
        return (
            f"Column {name!r} names {names.size:,} different things in {_rows(rows)}, one of them in up to "
            f"{most:,}: `owner` (--owner {shlex.quote(name)} --records-per-owner 1) protects all rows of one "
            "together; without it each row is a record of its own."
        )


def _is_identifier(name: str, words: str, identifier: bool) -> bool:
    """Whether a column names things that may stand on several rows; where rows have an `identifier`, only
    what names a sensor, a person or the like."""
    if names_owner(name):
        return True
    return not identifier and bool(_IDENTIFIER.search(words)) and not _NO_IDENTIFIER.search(words)


def zeros_alone(values: NDArray[np.float64]) -> bool:
    """Whether zeros of (n,) values, at least 10 and 1 in 100, may mean that there is no value: hardly another
    number is nearer to 0 than a tenth of the middle one. Not for answers and small counts."""
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
