"""Disguises of released data: `python -m studies.scale.disguises`.

Three tables (samples at distinct places; stations with hourly readings; sales at postcodes with round prices)
are charged to a ledger once, changed, and planned again. For each change the output states whether the ledger
follows the records (`followed`: the earlier releases count), warns the curator that the data are alike
(`warned`), or notices nothing (`not found`). As a control, other records of the same area must not be
`followed`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from dpgp_core.accounting.composition import Cost
from geo import to_lonlat
from hexcursion.ledger import Charge, Ledger, open_ledger
from hexcursion.ledger.places import HOME_VARIABLE, WITNESS_VARIABLE
from hexcursion.project.load import load_source
from hexcursion.project.model import keys_of
from hexcursion.settings.data_settings import SourceSettings

SEED, MU, DELTA = 20, 0.26805112321129176, 1e-5
HOUR = pd.Timedelta(hours=1)
S, T, P = "samples", "stations", "sales"
Outcome = Literal["followed", "warned", "not found"]
Table = pd.DataFrame
Change = Callable[[Table, np.random.Generator], Table]
NAMED = {"value": "no2", "identifier": "sample", "time": "time"}
TIMED = {"value": "no2", "time": "time"}
BARE = {"value": "no2"}
BOTTLED = NAMED | {"identifier": "bottle"}
SOLD = {"value": "price", "identifier": "sale", "time": "time"}
NUMBERED = {"value": "no2", "identifier": "number"}


@dataclass(frozen=True)
class Disguise:
    """A table that is charged with `first`, changed, and planned again with `then`.

    Parameters
    ----------
    data
        name of the table in `TABLES`
    how
        the change in words
    first, then
        columns named at first, and afterwards
    change
        of the table; None leaves the file as it is
    separator
        between the columns of the changed file
    """

    data: str
    how: str
    first: dict[str, object]
    then: dict[str, object]
    change: Change | None = None
    separator: str = ","


@dataclass
class Found:
    """The ledger's answer to one disguise."""

    disguise: Disguise
    outcome: Outcome
    shared: int
    records: int
    facts: str = field(default="")


def samples(rng: np.random.Generator, n: int = 300, start: str = "2024-03-01") -> Table:
    """Soil samples: a place, two values, a time, and two columns that name each."""
    return Table(
        {
            "sample": [f"S{number:04d}" for number in range(n)],
            "bottle": [f"B{number:04d}" for number in rng.permutation(n)],
            "lon": rng.uniform(-0.20, -0.05, n).round(6),
            "lat": rng.uniform(51.45, 51.55, n).round(6),
            "no2": rng.normal(30, 8, n).round(2),
            "pm10": rng.normal(200, 5, n).round(2),
            "time": pd.Timestamp(start) + HOUR * np.arange(n),
            "east": rng.uniform(-0.20, -0.05, n).round(6),
            "half": np.where(np.arange(n) % 2, "odd", "even"),
        }
    )


def stations(rng: np.random.Generator, start: str = "2024-03-01", hours: int = 48) -> Table:
    """Twenty stations that read every hour, with one decimal; their places are the same in every table."""
    places = np.random.default_rng(1).uniform([-0.20, 51.45], [-0.05, 51.55], (20, 2)).round(6)
    at = np.repeat(np.arange(20), hours)
    return Table(
        {
            "lon": places[at, 0],
            "lat": places[at, 1],
            "no2": rng.normal(30, 8, at.size).round(1),
            "pm10": rng.normal(200, 5, at.size).round(1),
            "time": pd.Timestamp(start) + HOUR * np.tile(np.arange(hours), 20),
            "half": np.where(np.arange(at.size) % 2, "odd", "even"),
        }
    )


def sales(rng: np.random.Generator, year: int = 2023, n: int = 400) -> Table:
    """Sales at 500 postcodes, with prices in steps of 500 pounds and a date."""
    places = np.random.default_rng(2).uniform([-0.20, 51.45], [-0.05, 51.55], (500, 2)).round(6)
    at = rng.integers(0, 500, n)
    return Table(
        {
            "sale": [f"{year}-{number:05d}" for number in range(n)],
            "lon": places[at, 0],
            "lat": places[at, 1],
            "price": 500 * np.round(rng.lognormal(13, 0.4, n) / 500),
            "time": pd.Timestamp(f"{year}-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D"),
            "half": np.where(np.arange(n) % 2, "flat", "house"),
        }
    )


def numbered(table: Table) -> Table:
    """With the numbers of its rows, as many programs write them."""
    return table.assign(number=np.arange(len(table)))


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {S: samples, T: stations, P: sales}


def half(table: Table, rng: np.random.Generator) -> Table:
    """Half of the rows."""
    return table.iloc[np.sort(rng.choice(len(table), len(table) // 2, replace=False))]


def edited(table: Table, rng: np.random.Generator) -> Table:
    """One value changed."""
    name = "price" if "price" in table else "no2"
    return table.assign(**{name: table[name].where(np.arange(len(table)) != 7, table[name] + 1)})


def later(offset: pd.Timedelta) -> Change:
    """Another clock."""
    return lambda table, rng: table.assign(time=table.time + offset)


def times(factor: float, name: str = "no2") -> Change:
    """Another unit of measure."""
    return lambda table, rng: table.assign(**{name: table[name] * factor})


def moved(degrees: float) -> Change:
    """Move each place by `degrees` in a random direction."""

    def change(table: Table, rng: np.random.Generator) -> Table:
        angle = rng.uniform(0, 2 * np.pi, len(table))
        return table.assign(lon=table.lon + degrees * np.cos(angle), lat=table.lat + degrees * np.sin(angle))

    return change


def rounded(digits: int, *names: str) -> Change:
    """Columns with fewer digits."""
    return lambda table, rng: table.round(dict.fromkeys(names, digits))


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(table: Table, rng: np.random.Generator) -> Table:
        for step in changes:
            table = step(table, rng)
        return table

    return change


def among(others: int, own: int) -> Change:
    """Put `own` of the rows among `others` other ones with new names."""

    def change(table: Table, rng: np.random.Generator) -> Table:
        other_rows = samples(rng, others, "2024-06-01")
        other_rows = other_rows.assign(sample="N" + other_rows["sample"], bottle="N" + other_rows["bottle"])
        return pd.concat([table.head(own), other_rows])

    return change


def projected(table: Table, rng: np.random.Generator) -> Table:
    """Places on the British grid, by the inverse conversion to a tenth of a millimetre."""
    from pyproj import Transformer

    east, north = Transformer.from_crs(4326, 27700, always_xy=True).transform(table.lon, table.lat)
    assert np.allclose(to_lonlat(east, north, "EPSG:27700")[0], table.lon)
    return table.assign(lon=np.round(east, 4), lat=np.round(north, 4))


def by_square(table: Table, rng: np.random.Generator) -> Table:
    """Medians by squares of about a kilometre."""
    squares = table.assign(lon=table.lon.round(2), lat=table.lat.round(2))
    return squares.groupby(["lon", "lat"], as_index=False)[["no2"]].median()


def by_day(table: Table, rng: np.random.Generator) -> Table:
    """Means of each day."""
    days = table.assign(time=table.time.dt.floor("D"))
    return days.groupby(["lon", "lat", "time"], as_index=False)[["no2"]].mean()


def anew(make: Callable[[np.random.Generator], Table], prefix: str = "") -> Change:
    """Other records altogether."""

    def change(table: Table, rng: np.random.Generator) -> Table:
        records = make(rng)
        return records.assign(sample=prefix + records["sample"]) if prefix else records

    return change


def elsewhere(table: Table, rng: np.random.Generator) -> Table:
    """Other values at the places of the samples, a year later, under other names."""
    other = samples(rng, len(table), "2025-03-01")
    return other.assign(lon=table.lon, lat=table.lat, sample="T" + other["sample"])


def april(rng: np.random.Generator) -> Table:
    """The same stations a month later."""
    return stations(rng, "2024-04-01")


def next_year(rng: np.random.Generator) -> Table:
    """Sales of the year after, at the same postcodes."""
    return sales(rng, 2024)


def shuffled(table: Table, rng: np.random.Generator) -> Table:
    """Another order."""
    return table.iloc[rng.permutation(len(table))]


TWO, HALF = 2 * HOUR, 0.5 * HOUR
COARSE = rounded(0, "no2")
DISGUISES = (
    Disguise(S, "nothing", NAMED, NAMED),
    Disguise(S, "another order", NAMED, NAMED, shuffled),
    Disguise(S, "half of the rows", NAMED, NAMED, half),
    Disguise(S, "one value edited", NAMED, NAMED, edited),
    Disguise(S, "one row left out", NAMED, NAMED, lambda t, r: t.drop(index=7)),
    Disguise(S, "a filter on the same file", NAMED, NAMED | {"where": (("half", "odd"),)}),
    Disguise(S, "semicolons for commas", NAMED, NAMED, lambda t, r: t, ";"),
    Disguise(S, "30 rows among 270 others", NAMED, NAMED, among(270, 30)),
    Disguise(S, "values and places by 1e-9, no names", TIMED, BARE, both(times(1 + 1e-9), moved(1e-9))),
    Disguise(S, "the British grid for degrees, no names", BARE, BARE | {"crs": "EPSG:27700"}, projected),
    Disguise(S, "places rounded to 5 digits, no names", BARE, BARE, rounded(5, "lon", "lat")),
    Disguise(S, "names in small letters with braces", NAMED, NAMED,
             lambda t, r: edited(t, r).assign(sample="{" + t["sample"].str.lower() + "}")),
    Disguise(S, "another column is the name, one value edited", NAMED, BOTTLED, edited),
    Disguise(S, "another column is the name, one value edited, times not named",
             {"value": "no2", "identifier": "sample"}, {"value": "no2", "identifier": "bottle"}, edited),
    Disguise(S, "names not given any more, one value edited", NAMED, BARE, edited),
    Disguise(S, "names given for the first time, one value edited", BARE, NAMED, edited),
    Disguise(S, "times given for the first time, half of the rows", BARE, TIMED, half),
    Disguise(S, "half of the rows, clock two hours off", TIMED, TIMED, both(half, later(TWO))),
    Disguise(S, "half of the rows, clock two hours off, other names", NAMED, BOTTLED,
             both(half, later(TWO))),
    Disguise(S, "clock a year off, other names", NAMED, BOTTLED, later(365 * 24 * HOUR)),
    Disguise(S, "times cut to days", TIMED, TIMED, lambda t, r: t.assign(time=t.time.dt.floor("D"))),
    Disguise(S, "another value column of the file", BARE, {"value": "pm10"}),
    Disguise(S, "another value column, named by time", TIMED, {"value": "pm10", "time": "time"}, edited),
    Disguise(S, "another value column, one value edited, nothing named", BARE, {"value": "pm10"}, edited),
    Disguise(S, "values times 1.17, names kept", NAMED, NAMED, times(1.17)),
    Disguise(S, "values times 1.17, times kept", TIMED, TIMED, times(1.17)),
    Disguise(S, "values times 1.17, nothing named", BARE, BARE, times(1.17)),
    Disguise(S, "values rounded to whole numbers, nothing named", BARE, BARE, COARSE),
    Disguise(S, "values times 1.17, half of the rows, clock two hours off", TIMED, TIMED,
             both(times(1.17), half, later(TWO))),
    Disguise(S, "another column for the longitude, in the same file", BARE, BARE | {"x": "east"}),
    Disguise(S, "places moved by 100 m, names kept", NAMED, NAMED, moved(1e-3)),
    Disguise(S, "places moved by 100 m, times kept", TIMED, TIMED, moved(1e-3)),
    Disguise(S, "places rounded to 3 digits, nothing named", BARE, BARE, rounded(3, "lon", "lat")),
    Disguise(S, "20 rows among 980 others, clock two hours off, other names", NAMED,
             BOTTLED, both(later(TWO), among(980, 20))),
    Disguise(S, "medians by squares", BARE, BARE, by_square),
    Disguise(S, "numbers for names, half of the rows, one value edited", NUMBERED, NUMBERED,
             both(half, edited)),
    Disguise(S, "numbers for names, values times 1.17", NUMBERED, NUMBERED, times(1.17)),
    Disguise(S, "numbers for names, places moved by 100 m", NUMBERED, NUMBERED, moved(1e-3)),
    Disguise(S, "numbers for names, values times 1.17, places moved by 100 m", NUMBERED, NUMBERED,
             both(times(1.17), moved(1e-3))),
    Disguise(T, "half of the rows, clock two hours off", TIMED, TIMED, both(half, later(TWO))),
    Disguise(T, "half of the rows, clock half an hour off", TIMED, TIMED, both(half, later(HALF))),
    Disguise(T, "another value column, one value edited", TIMED, {"value": "pm10", "time": "time"}, edited),
    Disguise(T, "values times 1.88", TIMED, TIMED, times(1.88)),
    Disguise(T, "values times 1.88, clock half an hour off", TIMED, TIMED,
             both(times(1.88), later(HALF))),
    Disguise(T, "whole numbers, clock half an hour off", TIMED, TIMED, both(COARSE, later(HALF))),
    Disguise(T, "means of each day", TIMED, TIMED, by_day),
    Disguise(T, "places moved by 30 m, clock half an hour off", TIMED, TIMED,
             both(moved(3e-4), later(HALF))),
    Disguise(P, "half of the rows, other names", SOLD, SOLD,
             lambda t, r: half(t, r).assign(sale=lambda u: "X" + u["sale"])),
    Disguise(P, "names not given any more, one price edited", SOLD, {"value": "price"}, edited),
    Disguise(P, "prices 3 % up, other names", SOLD, SOLD,
             lambda t, r: times(1.03, "price")(t, r).assign(sale="X" + t["sale"])),
    Disguise(P, "prices 3 % up, no names, no dates", SOLD, {"value": "price"}, times(1.03, "price")),
)  # fmt: skip
"""The same records in other words."""
OTHERS = (
    Disguise(S, "other samples of the area", NAMED, NAMED, anew(samples, "N")),
    Disguise(S, "other samples of the area, nothing named", BARE, BARE, anew(samples)),
    Disguise(S, "other samples at the same places a year later", NAMED, NAMED, elsewhere),
    Disguise(S, "the other half of the same file", BARE | {"where": (("half", "odd"),)},
             BARE | {"where": (("half", "even"),)}),
    Disguise(S, "other samples of the area, both numbered", NUMBERED, NUMBERED, anew(samples)),
    Disguise(S, "other samples of the area, both numbered, whole numbers of values",
             NUMBERED | {"value": "whole"}, NUMBERED | {"value": "whole"}, anew(samples)),
    Disguise(S, "other samples taken at the same times, both numbered", NUMBERED | {"time": "time"},
             NUMBERED | {"time": "time"}, anew(samples)),
    Disguise(T, "the same stations a month later", TIMED, TIMED, anew(april)),
    Disguise(T, "the same stations a month later, both numbered", TIMED | NUMBERED, TIMED | NUMBERED,
             anew(april)),
    Disguise(T, "the same stations a month later, whole numbers", TIMED | {"value": "whole"},
             TIMED | {"value": "whole"}, anew(april)),
    Disguise(P, "sales of the next year at the same postcodes", SOLD, SOLD, anew(next_year)),
    Disguise(P, "sales of the next year, known by date", SOLD, {"value": "price", "time": "time"},
             anew(next_year)),
    Disguise(P, "sales of the next year, both numbered", SOLD | {"identifier": "number"},
             SOLD | {"identifier": "number"}, anew(next_year)),
    Disguise(P, "houses after flats of one file", SOLD | {"where": (("half", "flat"),)},
             SOLD | {"where": (("half", "house"),)}),
)  # fmt: skip
"""Other records: the ledger must not follow them, but may warn of common places or a common file."""


def look(folder: Path, disguise: Disguise, number: int) -> Found:
    """Charge the table, change it and plan it again; only the first charge enters the ledger."""
    rng = np.random.default_rng([SEED, number])
    table = numbered(TABLES[disguise.data](rng))
    ledger = open_ledger(folder / f"{number}.sqlite")
    first = _charge(ledger, folder / f"{number}-first.csv", table, disguise.first)
    ledger.set_budget(first.dataset, "point", 10.0, DELTA)
    ledger.reserve(first)
    path, changed = folder / f"{number}-first.csv", None
    if disguise.change is not None:
        path, changed = folder / f"{number}-then.csv", disguise.change(table, rng)
    then = _charge(ledger, path, changed, disguise.then, disguise.separator)
    preview = ledger.preview(then, DELTA)
    outcome: Outcome = "followed" if preview.before > 0 else "warned" if preview.alike else "not found"
    assert preview.standing is not None
    facts = ", ".join(
        word
        for alike in preview.alike
        for word, true in ((f"{alike.places:.0%} of places", alike.places >= 0.8), ("file", alike.file))
        if true
    )
    return Found(disguise, outcome, preview.standing.shared, preview.standing.n, facts)


def looks() -> Iterator[Found]:
    """The ledger's answers to every disguise, then to the other records."""
    with tempfile.TemporaryDirectory() as folder:
        previous = {name: os.environ.get(name) for name in (HOME_VARIABLE, WITNESS_VARIABLE)}
        os.environ.update({HOME_VARIABLE: f"{folder}/home", WITNESS_VARIABLE: f"{folder}/witness"})
        try:
            for number, disguise in enumerate((*DISGUISES, *OTHERS)):
                yield look(Path(folder), disguise, number)
        finally:
            for name, value in previous.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def _charge(
    ledger: Ledger, path: Path, table: Table | None, columns: dict[str, object], separator: str = ","
) -> Charge:
    if table is not None:
        if "no2" in table:
            table = table.assign(whole=table.no2.round())
        if "number" not in table:
            table = numbered(table)
        table.to_csv(path, index=False, sep=separator)
    source = SourceSettings(str(path), **({"x": "lon", "y": "lat"} | columns))  # type: ignore[arg-type]
    records, _ = load_source(source, "ug/m3")
    return Charge(
        ledger.fingerprint(records.x, records.y, records.value),
        "point",
        Cost.gaussian(MU),
        {"title": "first"},
        keys_of(records, source, ledger),
    )


def main() -> None:
    print(f"Seed {SEED}. Each table is charged once and planned again.\n")
    counts: dict[str, int] = {}
    for number, answer in enumerate(looks()):
        if number in (0, len(DISGUISES)):
            print("The same records in other words" if number == 0 else "\nOther records", end="\n\n")
        disguise = answer.disguise
        about = answer.facts or f"{answer.shared:,} of {answer.records:,} records"
        print(f"  {disguise.data:<9} {disguise.how:<67} {answer.outcome:<10} {about}")
        key = f"{'same' if number < len(DISGUISES) else 'other'} records {answer.outcome}"
        counts[key] = counts.get(key, 0) + 1
    print("\n" + ", ".join(f"{key}: {count}" for key, count in counts.items()) + ".")


if __name__ == "__main__":
    main()
