"""Guesses the columns of coordinates and value of a table, for a person to confirm."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from data_loaders.columns import guess_names
from data_loaders.columns.coordinates import (
    PAIRS,
    bare,
    is_latitude,
    is_longitude,
    is_place,
    parse_degrees,
    rounded_to,
)
from data_loaders.columns.forms import LABORATORY, undressed
from data_loaders.columns.numbers import (
    USUAL,
    Decimal,
    looks_numeric,
    parse_censored,
    parse_numbers,
    suspects,
    told_alone,
)
from data_loaders.columns.place_forms import place_columns
from data_loaders.columns.profiles import Recognised, held_against, named_profile
from data_loaders.columns.qualifiers import Finding, Qualifiers, zeros_alone
from data_loaders.columns.sensortable import Shape, decimal_mark, is_typed, shape_of
from data_loaders.columns.specification import ReadingSpecification, Written
from data_loaders.errors import DataError
from data_loaders.files.layers import POINT_X, POINT_Y
from data_loaders.files.sources import Source, Table, open_tables
from data_loaders.observations import OwnerWord

_GRID = ("easting", "eastings", "oseast1m")
_DUTCH = {"rd", "rijksdriehoek", "rdnew", "dutch", "rdx"}
_NO_VALUE = re.compile(
    r"(^|[^a-z])(id|code|year|month|day|date|hour|hours|time|count|rows?|index|capture|fid|objectid|n|sd|"
    r"probability|nr|number|nummer|zip|plz|postcode|point|zone|elevation|altitude|elev|ele|alt|[hvptg]?dop|"
    r"satellites|heading|identifier|ident|uuid|guid|serial|geohash|h3|mesh|fips|insee|ags|nuts|"
    r"elevaci[oó]n|altitud|altura|quota|hoogte|(see)?h(ö|oe)he|masl|dem|dtm|dsm|z|rownames?|rownum|unnamed)"
    r"($|[^a-z])|^height($|[^a-z])|"
    r"(sample|site|point|station|plot|well|row|record|case|lab|object|user|sensor|device)[ _-]?(id|no|nr)$|"
    r"(nummer|number)$|(^|[^a-z])no\.$"  # "No.", a running number; "NO" is nitric oxide
)
_VALUE = re.compile(
    r"value|mean|average|conc|reading|measure|level|result|ug_?m3|mg_?kg|µg|ppb|ppm|"
    r"(price|prix|precio|preço|preco|prezzo|preis|prijs|valeur|valore?|waarde|wert)s?($|[^a-zà-ÿ])|"
    r"(^|[^a-z])[nmuµμ]?g ?/ ?(kg|g|l|m)|"
    r"(^|[^a-z])(pm[ _]?(1|2[._]?5|10)|no2|nox|o3|so2|ozone|nitrate|lead|arsenic|radon|noise)($|[^a-z0-9])"
)
MAX_CHOICES = 30
FEWEST_RUNNING = 8  # consecutive numbers from which a column counts as row numbers


@dataclass(frozen=True)
class ColumnGuess:
    """A proposal from the first 64 KB of a table, which a person confirms or changes; None where
    the person must choose."""

    columns: tuple[str, ...]
    numeric: tuple[str, ...]  # columns whose sampled entries are numbers
    x: str | None
    y: str | None
    crs: str | None
    value: str | None
    unit: str | None
    # entries by column, for columns fit for a row filter
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    specification: ReadingSpecification
    decimal: Decimal | None  # None where the sample leaves it open
    reasons: tuple[str, ...]  # one sentence per guess
    owner: str | None = None  # column that seems to name the sensor or person of a row
    owner_word: OwnerWord | None = None
    question: str = ""  # about owners: without an answer each reading is protected on its own
    identifier: str | None = None  # column of permanent identifiers
    time: str | None = None
    layers: tuple[str, ...] = ()  # sheets of a workbook or layers of a GeoPackage
    layer: str | None = None  # the sheet or layer of this guess
    header_row: int = 1  # the row that names the columns, from 1 as in a spreadsheet
    # numbers and cells of the first rows not blank
    top: tuple[tuple[int, tuple[str, ...]], ...] = ()
    points: bool = False  # whether the file holds points, whose columns have fixed names
    suspects: tuple[float, ...] = ()  # possible codes for a missing value in the value's sample
    beyond: bool = False  # whether sampled values are below or above a limit
    known: Recognised | None = None  # the agency's profile that the columns fit
    place: str | None = None  # column of whole places
    findings: tuple[Finding, ...] = ()  # columns that may qualify the value, or name owners
    answers: bool = False  # whether the value's sample holds only 1 and 0


def guess_columns(
    source: Source,
    *,
    layer: str | None = None,
    said: Written = Written(),  # noqa: B008 - frozen
) -> ColumnGuess:
    """Propose columns for `load_sensors` from the first rows of a table. Without `layer` take the
    first sheet or layer with a table; `said` is the text format that a person states. Raise
    `DataError` for unusable tables, as `load_sensors` does."""
    table, shape = _opened(source, layer, said)
    if not shape.sample:
        raise DataError(f"{table.name} has no rows below its header: choose a file with readings.")
    sampled = _Sample(shape, table)
    reasons = [*table.notes, *shape.header.notes]
    x, y, crs = _places(table, sampled, reasons)
    place = None if x is not None else guess_names.whole_places(shape, reasons)
    value = _value(sampled, (x, y, place))
    unit, answers = guess_names.guess_unit(value, sampled.numbers, sampled.signed, reasons)
    decimal = sampled.marks.get(value or "", ".")
    reasons += _questions(table, decimal)
    owner, word = guess_names.guess_owner(shape, (x, y, value))
    used_columns = (x, y, value, owner)
    return ColumnGuess(
        columns=shape.called,
        numeric=sampled.numeric,
        x=x,
        y=y,
        crs=crs,
        value=value,
        unit=unit,
        choices=_choices(shape, (x, y, value)),
        specification=shape.specification,
        decimal=decimal,
        reasons=tuple(reasons),
        owner=owner,
        owner_word=word,
        question=guess_names.owner_question(shape, owner, word),
        identifier=guess_names.guess_identifier(shape, used_columns),
        time=guess_names.guess_time(shape, used_columns),
        layers=tuple(sheet for sheet in table.layers if sheet),
        layer=table.layer or None,
        header_row=shape.header.number,
        top=shape.top,
        points=table.points,
        suspects=_suspects(sampled.numbers[value]) if value else (),
        findings=(*_findings(shape, (x, y, value)), *_rounded(sampled, x, y, crs)),
        place=place,
        beyond=bool(value) and _beyond(shape.column(shape.called.index(value)), decimal or "."),
        answers=answers,
        known=shape.known,
    )


def _questions(table: Table, decimal: Decimal | None) -> list[str]:
    """Return a sentence for each choice that the first rows leave open."""
    lines = []
    if decimal is None:
        lines.append("Commas may mark decimals or thousands: state the decimal mark.")
    if len(table.layers) > 1:
        lines.append(f"The file has several sheets or layers, and {table.layer!r} holds a table.")
    return lines


def profile_of(
    source: Source,
    *,
    layer: str | None = None,
    said: Written = Written(),  # noqa: B008 - frozen
    named: str | None = None,
) -> Recognised | None:
    """Match a table's columns to an agency's profile: the one `named`, otherwise the one
    recognised; None without one. Raise `DataError` as `guess_columns` does, and for an unknown
    name."""
    shape = _opened(source, layer, said)[1]
    return shape.known if named is None else held_against(named_profile(named), shape.called)


def without_places(table: Table, layout: Written) -> DataError:
    """Return the error for a table without stated places; it names the likely columns."""
    shape, likely = shape_of(table, layout), ""
    x, y, _ = _places(table, _Sample(shape, table), [])
    candidates = place_columns(shape.called, [shape.column(at) for at in range(len(shape.called))])
    if x is not None and y is not None:
        likely = f": {x!r} and {y!r} look like them (--lon {shlex.quote(x)} --lat {shlex.quote(y)})"
    elif candidates:
        name, form = candidates[0]
        likely = f": {name!r} holds places, written as {form.words} (--place-column {shlex.quote(name)})"
    return DataError(
        f"{table.name} holds no points of its own: name its columns of longitude (or easting) and latitude "
        f"(or northing), or one of whole places{likely}."
    )


def _opened(source: Source, layer: str | None, layout: Written) -> tuple[Table, Shape]:
    """Open the table and its shape; of several sheets or layers, the first with two columns of
    numbers."""
    with closing(open_tables(source, layer=layer, ask=False)) as tables:
        table = next(tables)
        alone = layer is not None or len(table.layers) < 2
        if alone:
            return table, shape_of(table, layout).of_records()
    first: tuple[Table, Shape] | None = None
    for name in table.layers[:MAX_CHOICES]:
        try:
            candidate = _opened(source, name, layout)
        except DataError:  # an empty sheet, or one of titles alone
            continue
        if len(_Sample(candidate[1], candidate[0]).numeric) >= 2:
            return candidate
        first = first or candidate
    return first or _opened(source, table.layers[0], layout)


def _with_sign(entry: str) -> bool:
    """Whether an entry is a number followed by a percent sign."""
    number = entry.strip().removesuffix("%")
    return number != entry.strip() and looks_numeric(number)


class _Sample:
    """The sampled rows as numbers, column by column."""

    def __init__(self, shape: Shape, table: Table) -> None:
        self.names = shape.called
        self.numbers: dict[str, np.ndarray] = {}
        self.marks: dict[str, Decimal | None] = {}
        self.signed: tuple[str, ...] = ()  # columns whose numbers have a percent sign
        for position, name in enumerate(shape.called):
            entries = [entry for entry in shape.column(position) if entry]
            if entries and sum(map(_with_sign, entries)) >= 0.8 * len(entries):
                self.signed = (*self.signed, name)
            typed = is_typed(table, name)
            column = pa.array([entry.strip() for entry in shape.column(position)], pa.string())
            column = column if is_place(name) else undressed(column, "%", LABORATORY)
            column = told_alone(column) if typed else column
            mark = decimal_mark(column, typed, grouped=not is_place(name))
            self.marks.setdefault(name, mark)
            parsed = parse_numbers(column, mark or ",")
            value = parsed.value
            if is_place(name):
                value, _ = parse_degrees(column, parsed, name, of_latitude=is_latitude(name))
            entries_read, low = value[~parsed.missing], 0
            if not is_place(name) and not np.isfinite(entries_read).all():
                censored = parse_censored(column, parsed, mark or ",", USUAL)
                entries_read = censored.value[~censored.missing]
                low = int(np.count_nonzero(censored.below & np.isnan(censored.value)))
            read = entries_read[np.isfinite(entries_read)]
            if (
                read.size
                and read.size + low >= 0.8 * entries_read.size
                and read.size >= 0.2 * entries_read.size
            ):
                self.numbers.setdefault(name, read)
        self.numeric = tuple(self.numbers)

    def first(self, fits: Callable[[str], bool]) -> str | None:
        return next((name for name in self.numeric if fits(name.strip().lower())), None)

    def within(self, name: str, low: float, high: float) -> bool:
        """Whether at least 4 in 5 entries are between the bounds, so that a stray one hides no
        column."""
        values = self.numbers[name]
        return bool(np.mean((values >= low) & (values <= high)) >= 0.8)


def _ends(fits: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return a test whether any word of a name fits, as in "start latitude"."""
    return lambda name: any(map(fits, re.split(r"[\W_]+", name)))


def _places(table: Table, sample: _Sample, reasons: list[str]) -> tuple[str | None, str | None, str | None]:
    if table.points:
        system = f", in {table.crs}" if table.crs else "; state their coordinate system"
        reasons.append(f"The file holds points{system}.")
        return POINT_X, POINT_Y, table.crs or None
    for of_longitude, of_latitude in ((is_longitude, is_latitude), (_ends(is_longitude), _ends(is_latitude))):
        x, y = sample.first(of_longitude), sample.first(of_latitude)
        if x and y and sample.within(x, -180, 360) and sample.within(y, -90, 90):
            reasons.append(f"Columns {x!r} and {y!r} are named as longitude and latitude and hold degrees.")
            return x, y, "EPSG:4326"
    x, y = _paired(sample)
    if x is None or y is None:
        reasons.append("No pair of columns looks like coordinates: choose them.")
        return None, None, None
    if sample.within(x, -180, 180) and sample.within(y, -90, 90):
        reasons.append(
            f"Columns {x!r} and {y!r} are in the range of degrees: confirm EPSG:4326 or choose a system."
        )
        return x, y, None
    if x.lower() in _GRID and sample.within(x, 0, 700_000) and sample.within(y, 0, 1_300_000):
        reasons.append(f"Columns {x!r} and {y!r} fit the British National Grid: confirm EPSG:27700.")
        return x, y, "EPSG:27700"
    if _DUTCH & _words(x) and sample.within(x, -7_000, 300_000) and sample.within(y, 289_000, 629_000):
        reasons.append(f"Columns {x!r} and {y!r} fit the Dutch grid: confirm EPSG:28992.")
        return x, y, "EPSG:28992"
    reasons.append(f"Columns {x!r} and {y!r} are projected coordinates: state their EPSG code.")
    return x, y, None


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", name[: guess_names.LONGEST_NAME].lower())) - {""}


def _paired(sample: _Sample) -> tuple[str | None, str | None]:
    """Find the columns of easting and northing, also by names that differ in one word: "x_rd",
    "y_rd"."""
    by_name = {bare(name): name for name in reversed(sample.numeric)}
    for east, north in PAIRS:
        if east in by_name and north in by_name:
            return by_name[east], by_name[north]
    by_words = {frozenset(_words(name)): name for name in reversed(sample.numeric)}
    for east, north in PAIRS:
        for words, x in by_words.items():
            y = by_words.get(words - {east} | {north})
            if east in words and y is not None and y != x:
                return x, y
    return None, None


def _value(sample: _Sample, used: tuple[str | None, ...]) -> str | None:
    free = [
        name
        for name in sample.numeric
        if name.strip()  # a column without a name counts rows
        and name not in used
        and not is_place(name)
        and not guess_names.names_owner(name)
        and not _NO_VALUE.search(name[: guess_names.LONGEST_NAME].strip().lower())
    ]
    likely = [name for name in free if _VALUE.search(name.lower())]
    counting = [name for name in free if _runs(sample.numbers.get(name))]
    return next(iter(likely or [name for name in free if name not in counting]), None)


def _runs(numbers: np.ndarray | None) -> bool:
    """Whether (n,) numbers are row numbers: each is one more than the number before."""
    return numbers is not None and numbers.size >= FEWEST_RUNNING and bool(np.all(np.diff(numbers) == 1.0))


def _suspects(values: np.ndarray) -> tuple[float, ...]:
    """Return possible codes for a missing value in a sample; 0 is one if hardly a number is near
    it."""
    return tuple(dict.fromkeys((*((0.0,) if zeros_alone(values) else ()), *suspects(values))))


def _findings(shape: Shape, used: tuple[str | None, ...]) -> tuple[Finding, ...]:
    positions = [at for at, name in enumerate(shape.called) if name in used]
    qualifiers = Qualifiers(shape.called, positions, owner=False, identifier=False)
    qualifiers.add({at: pa.array(shape.column(at), pa.string()) for at in qualifiers.columns})
    return tuple(qualifiers.findings())


def _rounded(sample: _Sample, x: str | None, y: str | None, crs: str | None) -> tuple[Finding, ...]:
    """Report rounded places; the remedy is larger hexagons or a stated number of metres."""
    if x not in sample.numbers or y not in sample.numbers:
        return ()
    places = sample.numbers[x], sample.numbers[y]
    degrees = crs == "EPSG:4326"
    metres = None if places[0].size != places[1].size else rounded_to(*places, degrees=degrees)
    if metres is None:
        return ()
    deviation = f"{metres / 12**0.5:.0f}"
    sentence = (
        f"Places in {x!r} and {y!r} are rounded to about {metres:,.0f} metres: take hexagons that are "
        f"larger, or say so with `place_sd` (--place-sd {deviation})."
    )
    return (Finding("place_sd", deviation, sentence),)


def _beyond(entries: list[str], decimal: Decimal) -> bool:
    column = pa.array(entries, pa.string())
    censored = parse_censored(column, parse_numbers(column, decimal), decimal, USUAL)
    return bool(censored.below.any() or censored.above.any())


def _choices(shape: Shape, used: tuple[str | None, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the columns with few distinct entries (species, year, type), by which a person may
    filter."""
    choices: list[tuple[str, tuple[str, ...]]] = []
    for position, name in enumerate(shape.called):
        entries = {entry for entry in shape.column(position) if entry}
        plain = all(re.fullmatch(r"[^.,]*", entry) for entry in entries)
        if name not in used and plain and 1 <= len(entries) <= min(MAX_CHOICES, len(shape.sample) // 4):
            choices.append((name, tuple(sorted(entries))))
    return tuple(choices)
