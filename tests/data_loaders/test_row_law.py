"""Whatever one row holds, the others are read as without it.

Every reader takes tables of sixty rows, and one odd row more, first, in the middle and last. The records of
the others must be among what is read then, or the file is refused. An exchange is one row less and one more.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_loaders import DataError, load_postcodes, load_sales
from data_loaders.house_prices.postcodes import PostcodeTable
from geo import DomainError, GeoError, domain_from_bbox
from geo.context.covariates import table_totals, totals
from tests.data_loaders.material import POSTCODES, load_sensors, sale
from tests.data_loaders.workbooks import geojson, geopackage, workbook
from tests.patience import LONG

ROWS = 60
Records = Counter[tuple[Any, ...]]


def everyday(cases: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """All cases with the long tests, otherwise every third: each kind and each odd row stays among them."""
    return list(cases) if LONG else list(cases)[::3]


def law(
    base: Sequence[Any], odd: Any, read: Callable[[Sequence[Any]], Records], before: Records | None = None
) -> int:
    """Check one odd row at three places; return at how many the file was read.

    What was read `before`, of the base alone, is read here unless it is given.
    """
    before, accepted = read(base) if before is None else before, 0
    for at in (0, len(base) // 2, len(base)):
        try:
            after = read([*base[:at], odd, *base[at:]])
        except (DataError, GeoError):
            continue
        accepted += 1
        lost, new = before - after, after - before
        assert not lost, f"{sum(lost.values())} records of other rows changed by {odd!r} at {at}"
        assert sum(new.values()) <= 1, f"{odd!r} at {at}"
    return accepted


def records(data: bytes | str, **said: Any) -> Records:
    source = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    given = {"value": "v", "x": "lon", "y": "lat", "unit": "u", "missing": ("none",), **said}
    made, _ = load_sensors(source, **given)
    rows = np.arange(made.size)
    names = made.identifier if made.identifier is not None else np.full(made.size, b"")
    times = made.time.astype(str) if made.time is not None else np.full(made.size, "")
    return Counter(
        (float(made.x[k]), float(made.y[k]), float(made.value[k]), str(times[k]), bytes(names[k]))
        for k in rows
    )


Row = Callable[[int], list[str]]
# ruff: noqa: E501
KINDS: dict[str, tuple[str, str, Row, dict[str, Any]]] = {
    "plain": (",", "lon,lat,v,name,when", lambda k: [f"{k / 100}", "51.5", f"{k}.25", f"a{k}", "2023-05-01"], {}),
    "semicolons and commas": (
        ";", "lon;lat;v;name;when",
        lambda k: [f"{k / 100}".replace(".", ","), "51,5", f"{k},25", f"a{k}", "1.5.2023"], {},
    ),
    "American dates": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k / 100}", "51.5", f"{k % 3}", "a", f"{1 + k % 12}/{13 + k % 12}/2023"], {"time": "when"},
    ),
    "two American dates": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k / 100}", "51.5", "7", "a", "3/14/2023" if k < 2 else f"3/{1 + k % 12}/2023"],
        {"time": "when"},
    ),
    "open dates": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k % 5}.5", "51.5", f"{k % 2}", "a", f"{1 + k % 12}/{1 + k // 12}/2023"], {"time": "when"},
    ),
    "months": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k % 5}.5", "51.5", "7", "a", f"20{10 + k // 12}-{1 + k % 12:02d}"], {"time": "when"},
    ),
    "times in no known form": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k % 5}.5", "51.5", "7", "a", f"shift {k}"], {"time": "when"},
    ),
    "a delimiter behind each row": (
        ",", "lon,lat,v,name,when", lambda k: [f"{k / 100}", "51.5", f"{k}", "a", "2023-05-01", ""], {},
    ),
    "a delimiter behind every second row": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k / 100}", "51.5", f"{k}", "a", "2023-05-01", *([""] if k % 2 else [])], {},
    ),
    "a delimiter behind the header": (
        ",", "lon,lat,v,name,when,", lambda k: [f"{k / 100}", "51.5", f"{k}", "a", "2023-05-01"], {},
    ),
    "letters in four of five rows": (
        ",", "lon,lat,v,name,when,ns,ew",
        lambda k: [f"{k / 100}", "51.5", f"{k}", "a", "2023-05-01", "N", "E"], {},
    ),
    "titles and units": (
        ",", "Report\n\nlon,lat,v,name,when\ndeg,deg,u,,", lambda k: [f"{k / 100}", "51.5", f"{k}", "a", "x"], {},
    ),
    "quoted texts": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k / 100}", "51.5", f'"{k},100.5"', f'"a, {k}"', '"2023-05-01"'], {"identifier": "name"},
    ),
    "Western letters": (
        ",", "lon,lat,v,name,when",
        lambda k: [f"{k / 100}", "51.5", f"{k}", f"Z\udcfcrich {k}", "x"], {"identifier": "name"},
    ),
    "German prices": (
        ";", "lon;lat;v;name;when",
        lambda k: [f"{k / 100}".replace(".", ","), "51,5", f"{245 + k}.000", "a", "x"], {"decimal": ","},
    ),
}  # fmt: skip
ODD: dict[str, Callable[[list[str], str], str]] = {
    "words": lambda row, d: d.join(["east", "north", "much", "b", "never"][: len(row)]),
    "an open quote": lambda row, d: d.join([*row[:3], '"oops', *row[4:]]),
    "an open quote at the end": lambda row, d: d.join([*row[:4], '"oops']),
    "inches": lambda row, d: d.join([*row[:3], '5" pipe', *row[4:]]),
    "two cells": lambda row, d: d.join(row[:2]),
    "three cells more": lambda row, d: d.join([*row, "x", "y", "z"]),
    "one cell more": lambda row, d: d.join([*row[:5], "x"]),
    "no further delimiter": lambda row, d: d.join(row[:5]),
    "a further delimiter": lambda row, d: d.join([*row[:5], ""]),
    "a decimal comma": lambda row, d: d.join([*row[:2], '"1,5"', *row[3:]]),
    "groups by points": lambda row, d: d.join([*row[:2], '"1.234,5"', *row[3:]]),
    "groups by commas": lambda row, d: d.join([*row[:2], '"1,234.5"', *row[3:]]),
    "the day first": lambda row, d: d.join([*row[:4], "25/3/2023", *row[5:]]),
    "the month first": lambda row, d: d.join([*row[:4], "3/25/2023", *row[5:]]),
    "no time": lambda row, d: d.join([*row[:4], "whenever", *row[5:]]),
    "blanks": lambda row, d: d * (len(row) - 1),
    "a comment": lambda row, d: "# " + d.join(row),
    "other bytes": lambda row, d: d.join([*row[:3], "\udcff\udc81\udc8d\udcfe", *row[4:]]),
    "Japanese": lambda row, d: d.join(
        [*row[:3], "東京測定局".encode("cp932").decode("utf-8", "surrogateescape"), *row[4:]]
    ),
    "no letters": lambda row, d: d.join([*row[:5], *["?"] * (len(row) - 5)]),
    "a long cell": lambda row, d: d.join([*row[:3], "long " * 20_000, *row[4:]]),
    "semicolons": lambda row, d: ";".join(row),
    "tabs": lambda row, d: "\t".join(row),
}


def read_as(kind: str, rows: Sequence[str]) -> Records:
    _, head, _, said = KINDS[kind]
    return records("\n".join([head, *rows]) + "\n", **said)


@cache
def unharmed(kind: str) -> tuple[list[str], Records]:
    """The sixty rows of a kind, and their records."""
    delimiter, _, row, _ = KINDS[kind]
    base = [row(k) for k in range(ROWS)]
    if kind == "letters in four of five rows":
        base = [[*cells[:5], *(cells[5:] if k % 5 else ["-", "-"])] for k, cells in enumerate(base)]
    lines = [delimiter.join(cells) for cells in base]
    if kind == "letters in four of five rows":  # one row alone decides, so that is asked about
        with pytest.raises(DataError, match="--sides"):
            read_as(kind, lines)
        lines = lines[1:]
    return lines, read_as(kind, lines)


@pytest.mark.parametrize(("kind", "odd"), everyday(product(KINDS, ODD)))
def test_delimited_text(kind: str, odd: str) -> None:
    """Lemma 4 of docs/proofs/owners.md; Lemma (raw rows) of docs/report."""
    delimiter, _, row, _ = KINDS[kind]
    lines, before = unharmed(kind)
    law(lines, ODD[odd](["9.75", *row(7)[1:]], delimiter), partial(read_as, kind), before)


@pytest.mark.parametrize("kind", ["months", "times in no known form", "American dates", "two American dates"])
def test_no_unread_time_and_no_month_makes_rows_equal(kind: str) -> None:
    _, head, row, said = KINDS[kind]
    lines = [",".join(row(k)) for k in range(ROWS)]
    assert sum(records("\n".join([head, *lines]), **said).values()) == ROWS


def test_most_odd_rows_do_not_stop_a_file() -> None:
    """A law that refused everything would hold too."""
    base = [",".join(KINDS["plain"][2](k)) for k in range(ROWS)]

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon,lat,v,name,when", *rows]))

    taken = {odd: law(base, ODD[odd](KINDS["plain"][2](99), ","), read) for odd in ODD}
    assert {odd for odd, count in taken.items() if count < 3} == {"an open quote", "an open quote at the end"}


CELLS: list[list[Any]] = [[f"{k / 100}", "51.5", k + 0.25, f"a{k}", "2023-05-01"] for k in range(ROWS)]
ODD_CELLS: list[list[Any]] = [
    ["9.75", "51.5", '"oops', 'say "', "5/25/2023"],
    ["9,75", "51,5", "1,5", "", ""],
    ["east", "north", "much", "b", "never"],
    ["", "", "", "", ""],
    ["9.75", "51.5", "1.234.567,5", "a\nb", "13/13/2023"],
]


@pytest.mark.parametrize("odd", ODD_CELLS, ids=str)
def test_workbooks(odd: list[Any]) -> None:
    head = ["lon", "lat", "v", "name", "when"]
    law(CELLS, odd, lambda rows: records(workbook([head, *rows]), time="when"))  # type: ignore[arg-type,list-item]


@pytest.mark.parametrize(
    "odd", [{"v": "much"}, {"v": None}, {"v": 1.5, "name": 7}, {"other": [1, 2]}, {"v": True}]
)
def test_geojson(odd: dict[str, Any]) -> None:
    rows: list[Any] = [{"v": k + 0.25, "name": f"a{k}"} for k in range(ROWS)]

    def read(given: Sequence[Any]) -> Records:
        points = [(1 + int(str(row.get("name", "a99"))[1:] or 0) / 100, 51.5) for row in given]
        return records(geojson(points, list(given)), x=None, y=None)

    law(rows, odd, read)


SCALES: tuple[Row, ...] = (
    lambda k: [f"{k / 100}", "51.5", f"{k}.25", "mg/kg"],
    lambda k: [f"{k / 100}", "51.5", f"{k}.25", "mg/kg" if k % 2 else ""],
)


@pytest.mark.parametrize("odd", ["9.75,51.5,1.5,x", "9.75,51.5,1.5," + 50 * "y", "9.75,51.5,,-"])
@pytest.mark.parametrize("row", SCALES)
def test_units_of_other_rows_stay_known(row: Row, odd: str) -> None:
    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon,lat,v,scale", *rows]), unit="ug/kg")

    base = [",".join(row(k)) for k in range(ROWS)]
    assert max(value for _, _, value, *_ in read(base)) == 59_250.0
    law(base, odd, read)


@pytest.mark.parametrize("odd", ["9.75,51.5,1.5,E,,", "9.75,51.5,1.5,,N,", "9.75,51.5,1.5,,,mg/kg"])
@pytest.mark.parametrize("size", [ROWS, 999, 1000, 1001])
def test_one_entry_in_a_blank_column(size: int, odd: str) -> None:
    """The sample ends after 1,000 rows."""

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon,lat,v,ew,lat_ref,scale", *rows]), unit="ug/kg")

    base = [f"{1 + k / 1000},51.5,{k}.25,,," for k in range(size)]
    assert sum(read(base).values()) == size
    assert law(base, odd, read) == int(size >= 1000), "beyond the sample the row alone is read"


@pytest.mark.parametrize("odd", ["9.75,51.5,1.5,E", "9.75,51.5,1.5,"])
def test_letters_at_the_end_of_the_sample(odd: str) -> None:
    """The odd row moves the last row of the sample out of it."""
    base = [f"{1 + k / 1000},51.5,{k}.25,{'E' * (k >= 998)}" for k in range(1050)]

    with pytest.raises(DataError, match="--sides"):
        records("\n".join(["lon,lat,v,ew", *base]))
    with pytest.raises(DataError, match="--sides"):
        records("\n".join(["lon,lat,v,ew", odd, *base]))


def test_one_entry_in_a_blank_column_of_a_sheet_or_of_points() -> None:
    head = ["lon", "lat", "v", "scale", "ew"]
    sheet: list[Any] = [[1 + k / 100, 51.5, k + 0.25, "mg/kg", None] for k in range(ROWS)]
    for odd in ("x", None), ("mg/kg", "E"):
        law(sheet, [9.75, 51.5, 1.5, *odd], lambda rows: records(workbook([head, *rows]), unit="ug/kg"))
    points: list[Any] = [{"v": k + 0.25} for k in range(ROWS)]

    def read(rows: Sequence[Any]) -> Records:
        return records(geojson([(1 + row["v"] / 100, 51.5) for row in rows], list(rows)), x=None, y=None)

    assert law(points, {"v": 1.5, "ew": "W"}, read) == 0


@pytest.mark.parametrize("odd", ["9.75,51.5,1.5,z,x,", "9.75,51.5,1.5,z,x", "9.75,51.5,1.5,z,x,note"])
@pytest.mark.parametrize("ends", [("", ","), (",",), (",", ",note"), ("", ",note"), ("",)])
def test_blank_name_at_the_end_of_a_header(ends: tuple[str, ...], odd: str) -> None:
    base = [f"{k / 100},51.5,{k},a,b{ends[k % len(ends)]}" for k in range(ROWS)]

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon,lat,v,name,when,", *rows]))

    assert sum(read(base).values()) == (ROWS // 2 if ends == ("", ",note") else ROWS)
    one_decides = ends == ("", ",note") and odd.endswith("note")
    assert law(base, odd, read) == (0 if one_decides else 3)


def test_one_row_that_decides_whether_a_blank_name_is_a_column() -> None:
    rows = [f"{k / 100},51.5,{k},a,b{',note' * (k < 31)}" for k in range(ROWS)]
    with pytest.raises(DataError, match="blank name at the end of its header"):
        records("\n".join(["lon,lat,v,name,when,", *rows]))
    rows = [f"{k / 1000},51.5,{k},a,b{',note' * (k < 1)}" for k in range(1100)]
    with pytest.raises(DataError, match="blank name at the end of its header"):
        records("\n".join(["lon,lat,v,name,when,", rows[0], *[f"{row}," for row in rows[1:]]]))


@pytest.mark.parametrize("end", ["", "quoted"])
@pytest.mark.parametrize("quoting", ["line", "lines"])
def test_longest_cells(end: str, quoting: str) -> None:
    """The limit of the standard library; longer cells were the end of the sample."""
    base = [f"{k / 100:.2f};51.5;{k},25;a{k}".replace(".", ",") for k in range(ROWS)]

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon;lat;v;name", *rows]), quoting=quoting, delimiter=";")

    for size in (131_072, 131_073):
        cell = f'"{"y" * (size - 1)};"' if end else "y" * size
        accepted = law(base, f"9,75;51,5;1,5;{cell}", read)
        assert accepted == (3 if size == 131_072 else 0)


def test_long_cells_of_points_and_below_the_sample() -> None:
    points: list[Any] = [{"v": k + 0.25} for k in range(ROWS)]

    def read(rows: Sequence[Any]) -> Records:
        return records(geojson([(1 + row["v"] / 100, 51.5) for row in rows], list(rows)), x=None, y=None)

    assert law(points, {"v": 1.5, "a": "y" * 140_000}, read) == 0
    rows = [f"{k / 1000},51.5,{k}" for k in range(1400)]
    for long in ("9.75,51.5," + "y" * 140_000 + ",", "9.75," + "y" * 140_000 + ",5,"):
        with pytest.raises(DataError, match="a cell of more than 131,072 letters"):
            records("\n".join(["lon,lat,v", *rows, long]))


def test_points_without_a_place(tmp_path: Path) -> None:
    base = [(150_000.0 + k, 400_000.0) for k in range(ROWS)]
    number = iter(range(100))

    def read(points: Sequence[Any]) -> Records:
        path = tmp_path / f"{next(number)}.gpkg"
        geopackage(path, points, [1.5] * len(points), ["a"] * len(points))
        return records(path, value="value", x=None, y=None)  # type: ignore[arg-type]

    assert law(base, (float("nan"), float("nan")), read) == 3


@pytest.mark.parametrize("odd", [(1e30, "x"), (float("inf"), ""), (-999.0, 'say "')])
def test_geopackages(odd: tuple[float, str], tmp_path: Path) -> None:
    base = [(k + 0.25, f"a{k}") for k in range(ROWS)]
    number = iter(range(100))

    def read(given: Sequence[Any]) -> Records:
        points = [(150_000.0 + 100 * abs(hash(name) % 1000), 400_000.0) for _, name in given]
        path = tmp_path / f"{next(number)}.gpkg"
        geopackage(path, points, [value for value, _ in given], [name for _, name in given])
        return records(path, value="value", x=None, y=None)  # type: ignore[arg-type]

    law(base, odd, read)


SALES = [sale(k, f"{200_000 + k}") for k in range(ROWS)]
TOWN: PostcodeTable = load_postcodes(POSTCODES)[0]


@pytest.mark.parametrize(
    "odd",
    [
        sale(99, "1,234"), sale(99, "much"), sale(99, date="13/25/2018"), sale(99, status="X"),
        sale(99).replace('"HIGH STREET"', '"HIGH STREET'), sale(99).replace('"LONDON"', "LON\udcffDON"),
        "x,y\n", sale(99).rstrip() + ",\n", "\n",
    ],
    ids=str,
)  # fmt: skip
def test_price_paid(odd: str) -> None:
    def read(lines: Sequence[str]) -> Records:
        made, _ = load_sales("".join(lines).encode("utf-8", "surrogateescape"), TOWN)
        assert made.identifier is not None
        return Counter(zip(made.x.tolist(), made.value.tolist(), made.identifier.tolist(), strict=True))

    law(SALES, odd, read)


@pytest.mark.parametrize(
    "odd", ['"E9 9ZZ,1,2\n', "E9 9ZZ,1\n", "E9 9ZZ,1,2,\n", "?,?,?\n", 'E9 9ZZ,"1,5",x\n']
)
def test_postcodes(odd: str) -> None:
    base = [f"E{1 + k % 9} {k % 9}A{chr(65 + k % 20)},{51.5 + k / 1000:.3f},-0.1\n" for k in range(ROWS)]

    def read(lines: Sequence[str]) -> Records:
        made, _ = load_postcodes("".join(["pcds,lat,long\n", *lines]).encode())
        return Counter(zip(made.keys.tolist(), made.x.tolist(), made.y.tolist(), strict=True))

    law(sorted(set(base)), odd, read)


DOMAIN = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)


@pytest.mark.parametrize("odd", ['"9,9,5\n', "9,9,5\n", "9\n", "x,y,z\n", '9,9,"5"x\n'])
def test_tables_of_public_numbers(odd: str, tmp_path: Path) -> None:
    base = [f"{lon},{lat},{1 + k}\n" for k, (lon, lat) in enumerate(DOMAIN.centres_lonlat)]

    def read(lines: Sequence[str]) -> Records:
        path = tmp_path / "people.csv"
        path.write_text("".join(["lon,lat,people\n", *lines]))
        return Counter(enumerate(table_totals(path, DOMAIN, "people").tolist()))

    try:
        law(base, odd, read)
    except DomainError:
        pytest.fail("the table itself is read")


@pytest.mark.parametrize("odd", [3.5, 0, "much", None])
def test_population_of_points(odd: Any) -> None:
    base: list[Any] = [1 + k for k in range(min(ROWS, len(DOMAIN.cells)))]
    far = [0.09, 51.59]

    def read(numbers: Sequence[Any]) -> Records:
        places = iter(DOMAIN.centres_lonlat.tolist())
        shapes = [
            {
                "type": "Feature",
                "properties": {"people": number},
                "geometry": {"type": "Point", "coordinates": far if number is odd else next(places)},
            }
            for number in numbers
        ]
        text = json.dumps({"type": "FeatureCollection", "features": shapes})
        found = totals(text.encode(), DOMAIN, "people", "people")
        away = int(DOMAIN.locate(np.array([far[0]]), np.array([far[1]]))[0])
        return Counter((at, value) for at, value in enumerate(found.tolist()) if at != away)

    law(base, odd, read)
