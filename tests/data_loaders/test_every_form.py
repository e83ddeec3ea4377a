"""Format x coding x form of number x form of place x form of time: each table is read back equal, or refused
with the cause named, and then read back equal by the answer that the sentence asks for."""

from __future__ import annotations

import csv
import io
import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyproj import Transformer

from data_loaders import DataError
from tests.data_loaders.material import load_sensors
from tests.data_loaders.workbooks import workbook

ROWS, RUN, PARTS = 24, 2_400, 8

Rng = random.Random


@dataclass(frozen=True)
class Number:
    """How the values of a table are written."""

    write: Callable[[float], str]
    unit: str = "u"
    mark: str = "."  # the decimal mark, for who is asked
    values: Callable[[Rng], float] = lambda rng: round(rng.uniform(2, 90), 2)
    limit: bool = False  # every third stands below a limit, and counts as it
    lost: str = ""  # why such values are left out, as the report says it


def grouped(mark: str, group: str, decimals: int = 2) -> Callable[[float], str]:
    def write(value: float) -> str:
        return f"{value:,.{decimals}f}".translate(str.maketrans({",": group, ".": mark}))

    return write


def plain(value: float) -> str:
    return f"{value:.2f}"


def price(rng: Rng) -> float:
    return round(rng.uniform(1_000, 900_000), 2)


def whole(rng: Rng) -> float:
    return float(rng.randrange(100_000, 900_000))


WIDE = str.maketrans("0123456789.", "０１２３４５６７８９．")
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
NUMBERS: dict[str, Number] = {
    "a point": Number(plain),
    "a comma": Number(lambda value: plain(value).replace(".", ","), mark=","),
    "no fraction": Number(lambda value: f"{value:.0f}", values=whole),
    "groups by commas": Number(grouped(".", ","), values=price),
    "groups by points": Number(grouped(",", "."), mark=",", values=price),
    "groups by blanks": Number(grouped(",", " "), mark=",", values=price),
    "groups by no-break blanks": Number(grouped(",", "\u00a0"), mark=",", values=price),
    "groups by thin blanks": Number(grouped(",", "\u202f"), mark=",", values=price),
    "groups by apostrophes": Number(grouped(".", "'"), values=price),
    "groups by typeset apostrophes": Number(grouped(".", "’"), values=price),
    "whole groups by commas": Number(grouped(".", ",", 0), values=whole),
    "whole groups by points": Number(grouped(",", ".", 0), mark=",", values=whole),
    "whole groups by blanks": Number(grouped(".", " ", 0), values=whole),
    "an exponent": Number(
        lambda value: f"{value:.3E}", values=lambda rng: float(f"{rng.uniform(1, 900):.3E}")
    ),
    "a plus": Number(lambda value: f"+{value:.2f}"),
    "a typeset minus": Number(
        lambda value: plain(value).replace("-", "−"), values=lambda rng: round(rng.uniform(-40, 40), 2)
    ),
    "a currency before": Number(lambda value: f"€{value:,.2f}", unit="EUR", values=price),
    "a currency behind": Number(
        lambda value: f"{grouped(',', '.')(value)} €", unit="EUR", mark=",", values=price
    ),
    "a currency's code": Number(lambda value: f"GBP {value:,.2f}", unit="GBP", values=price),
    "dollars": Number(lambda value: f"$ {value:,.0f}", unit="USD", values=whole),
    "złoty": Number(lambda value: f"{grouped(',', ' ')(value)} zł", unit="PLN", mark=",", values=price),
    "francs without centimes": Number(
        lambda value: "CHF " + grouped(".", "'", 0)(value) + ".--", unit="CHF", values=whole
    ),
    "thousands behind": Number(
        lambda value: f"{value / 1000:.0f}K", unit="USD", values=lambda rng: 1000.0 * rng.randrange(100, 900)
    ),
    "millions behind": Number(
        lambda value: f"{value / 1e6:.2f} Mio. €".replace(".", ",", 1),
        unit="EUR",
        mark=",",
        values=lambda rng: 1e4 * rng.randrange(100, 900),
    ),
    "groups of India": Number(
        lambda value: f"{value // 100_000:.0f},{value // 1000 % 100:02.0f},{value % 1000:03.0f}",
        unit="INR",
        values=whole,
    ),
    "a unit behind": Number(lambda value: f"{value:.2f} ug/m3", unit="ug/m3"),
    "a letter behind": Number(lambda value: f"{value:.2f} J", unit="mg/kg"),
    "stars": Number(lambda value: f"{value:.2f}*"),
    "a bound behind": Number(lambda value: f"{value:.2f} ± 0.30"),
    "wide digits": Number(lambda value: plain(value).translate(WIDE)),
    "Arabic digits": Number(lambda value: plain(value).translate(ARABIC)),
    "limits": Number(plain, limit=True),
    "per cent": Number(lambda value: f"{value:.2f} %", unit="%"),
    "per cent of another unit": Number(lambda value: f"{value:.2f}%", lost="state % as its unit"),
    "brackets": Number(lambda value: f"({value:.2f})", lost="brackets"),
    "words": Number(lambda value: f"about {value:.2f}", lost="`word 9.9`|not a number"),
}


@dataclass(frozen=True)
class Place:
    """How the places of a table are written: the cells of a row by the names of their columns."""

    write: Callable[[float, float], dict[str, str]]
    said: dict[str, Any]
    near: tuple[float, float] = (-0.12, 51.5)
    off: float = 1e-6  # degrees that may be lost
    lost: str = ""


def columns(x: str = "lon", y: str = "lat", **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, **more}


ONE = {"place_column": "where"}
UTM = Transformer.from_crs(4326, 32630, always_xy=True)
BRITISH = Transformer.from_crs(4326, 27700, always_xy=True)
IRISH = Transformer.from_crs(4326, 29903, always_xy=True)
LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
BASE32, PLUS = "0123456789bcdefghjkmnpqrstuvwxyz", "23456789CFGHJMPQRVWX"


def degrees(value: float, sides: str) -> str:
    seconds = round(abs(value) * 3600, 3)
    return f"{int(seconds // 3600)}°{int(seconds % 3600 // 60)}'{seconds % 60:.3f}\" {sides[value < 0]}"


def british(lon: float, lat: float) -> str:
    east, north = BRITISH.transform(lon, lat)
    column, row = int(east // 500_000), int(north // 500_000)
    first = LETTERS[(3 - row) * 5 + column + 2]
    second = LETTERS[(4 - int(north % 500_000 // 100_000)) * 5 + int(east % 500_000 // 100_000)]
    return f"{first}{second} {int(east % 100_000):05d} {int(north % 100_000):05d}"


def irish(lon: float, lat: float) -> str:
    east, north = IRISH.transform(lon, lat)
    letter = LETTERS[(4 - int(north // 100_000)) * 5 + int(east // 100_000)]
    return f"{letter} {int(east % 100_000):05d} {int(north % 100_000):05d}"


def military(lon: float, lat: float) -> str:
    east, north = UTM.transform(lon, lat)  # zone 30, whose columns begin with S and rows with F
    column = "STUVWXYZ"[int(east // 100_000) - 1]
    row = "ABCDEFGHJKLMNPQRSTUV"[(int(north // 100_000) + 5) % 20]
    return f"30U{column}{row}{int(east % 100_000):05d}{int(north % 100_000):05d}"


def geohash(lon: float, lat: float) -> str:
    size, found = 40, ""
    x, y = int((lon + 180) / 360 * 2**20), int((lat + 90) / 180 * 2**20)
    bits = [(x >> (19 - at // 2)) & 1 if at % 2 == 0 else (y >> (19 - at // 2)) & 1 for at in range(size)]
    for at in range(0, size, 5):
        found += BASE32[int("".join(map(str, bits[at : at + 5])), 2)]
    return found


def plus_code(lon: float, lat: float) -> str:
    x, y, code = lon + 180, lat + 90, ""
    for step in (20.0, 1.0, 0.05, 0.0025, 0.000125):
        code += PLUS[int(y / step)] + PLUS[int(x / step)]
        x, y = x % step, y % step
    return f"{code[:8]}+{code[8:]}"


def mesh(lon: float, lat: float) -> str:
    a, b = int(lat * 1.5), int(lon - 100)
    y, x = lat * 1.5 - a, lon - 100 - b
    return f"{a}{b}{int(y * 8)}{int(x * 8)}{int(y * 8 % 1 * 10)}{int(x * 8 % 1 * 10)}"


def well_known_binary(lon: float, lat: float) -> str:
    return struct.pack("<BIdd", 1, 1, lon, lat).hex().upper()


def pair(lon: float, lat: float, mark: str = ".") -> dict[str, str]:
    return {"lon": f"{lon:.6f}".replace(".", mark), "lat": f"{lat:.6f}".replace(".", mark)}


PLACES: dict[str, Place] = {
    "degrees": Place(pair, columns()),
    "degrees with commas": Place(lambda lon, lat: pair(lon, lat, ","), columns()),
    "degrees, minutes, seconds": Place(
        lambda lon, lat: {"lon": degrees(lon, "EW"), "lat": degrees(lat, "NS")}, columns()
    ),
    "letters in columns": Place(
        lambda lon, lat: {**pair(abs(lon), abs(lat)), "ew": "EW"[lon < 0], "ns": "NS"[lat < 0]}, columns()
    ),
    "to 360": Place(lambda lon, lat: pair(lon % 360, lat), columns()),
    "times ten millions": Place(
        lambda lon, lat: {"longitudeE7": f"{lon * 1e7:.0f}", "latitudeE7": f"{lat * 1e7:.0f}"},
        columns("longitudeE7", "latitudeE7"),
    ),
    "a grid": Place(
        lambda lon, lat: dict(
            zip(("easting", "northing"), (f"{one:.2f}" for one in BRITISH.transform(lon, lat)), strict=True)
        ),
        columns("easting", "northing", crs="EPSG:27700"),
    ),
    "zones": Place(
        lambda lon, lat: {
            **dict(zip(("e", "n"), (f"{one:.2f}" for one in UTM.transform(lon, lat)), strict=True)),
            "zone": "30U",
        },
        columns("e", "n", zone_column="zone"),
    ),
    "latitude, longitude": Place(lambda lon, lat: {"where": f"({lat:.6f}, {lon:.6f})"}, ONE),
    "latitude longitude": Place(lambda lon, lat: {"where": f"{lat:.6f} {lon:.6f}"}, ONE),
    "POINT": Place(lambda lon, lat: {"where": f"POINT ({lon:.6f} {lat:.6f})"}, ONE),
    "SRID=4326;POINT": Place(lambda lon, lat: {"where": f"SRID=4326;POINT({lon:.6f} {lat:.6f})"}, ONE),
    "well-known binary": Place(lambda lon, lat: {"where": well_known_binary(lon, lat)}, ONE),
    "H3": Place(lambda lon, lat: {"where": h3.latlng_to_cell(lat, lon, 11)}, ONE, off=6e-4),
    "geohashes": Place(lambda lon, lat: {"where": geohash(lon, lat)}, ONE, off=2e-4),
    "plus codes": Place(lambda lon, lat: {"where": plus_code(lon, lat)}, ONE, off=7e-5),
    "British letters": Place(lambda lon, lat: {"where": british(lon, lat)}, ONE, off=2e-5),
    "Irish letters": Place(lambda lon, lat: {"where": irish(lon, lat)}, ONE, (-6.5, 53.3), off=2e-5),
    "military letters": Place(lambda lon, lat: {"where": military(lon, lat)}, ONE, (-2.5, 51.5), off=2e-5),
    "mesh codes": Place(lambda lon, lat: {"where": mesh(lon, lat)}, ONE, (139.5, 35.5), off=7e-3),
    "packed": Place(
        lambda lon, lat: {
            one: f"{int(value)}{int(value * 60 % 60):02d}{int(value * 3600 % 60):02d}"
            for one, value in (("lon", lon), ("lat", lat))
        },
        columns(), (13.4, 52.5), lost="degrees, minutes and seconds in one number",
    ),
    "lost marks": Place(
        lambda lon, lat: {"lon": f"{lon * 1e5:.0f}", "lat": f"{lat * 1e5:.0f}"}, columns(), (13.4, 52.5),
        lost="decimal marks were lost",
    ),
    "metres as degrees": Place(
        lambda lon, lat: dict(
            zip(("lon", "lat"), (f"{one:.2f}" for one in UTM.transform(lon, lat)), strict=True)
        ),
        columns(), (-2.5, 51.5), lost="not degrees but projected coordinates",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Time:
    """How the times of a table are written, and what becomes of a moment when it is read."""

    write: Callable[[datetime], str]
    read: Callable[[datetime], datetime | None] = lambda moment: moment
    step: timedelta = timedelta(days=1, hours=3, minutes=17)
    answer: tuple[tuple[str, Any], ...] = ()  # what a person says where the order of a date is asked about
    form: str = ""  # what the report says of times that are not read


def day(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, moment.day)


def month(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1)


MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
EPOCH = datetime(1970, 1, 1)
TIMES: dict[str, Time] = {
    "no time": Time(lambda moment: ""),
    "days": Time(lambda moment: f"{moment:%Y-%m-%d}", day),
    "minutes": Time(lambda moment: f"{moment:%Y-%m-%d %H:%M}", lambda moment: moment.replace(second=0)),
    "with a zone": Time(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}Z"),
    "day first": Time(lambda moment: f"{moment:%d/%m/%Y}", day, answer=(("day_first", True),)),
    "month first": Time(lambda moment: f"{moment:%m/%d/%Y}", day, answer=(("day_first", False),)),
    "half days": Time(
        lambda moment: f"{moment:%m/%d/%Y %I:%M:%S %p}", answer=(("day_first", False),)
    ),
    "points": Time(
        lambda moment: f"{moment.day}.{moment.month}.{moment.year}", day, answer=(("day_first", True),)
    ),
    "names of months": Time(lambda moment: f"{moment.day:02d}-{MONTHS[moment.month - 1]}-{moment.year}", day),
    "German months": Time(lambda moment: f"{moment.day}. {GERMAN[moment.month - 1]} {moment.year}", day),
    "compact": Time(lambda moment: f"{moment:%Y%m%d%H%M%S}"),
    "short years": Time(lambda moment: f"{moment:%y%m%d%H%M%S}"),
    "compact days": Time(lambda moment: f"{moment:%Y%m%d}", day),
    "seconds": Time(lambda moment: f"{(moment - EPOCH).total_seconds():.0f}"),
    "milliseconds": Time(lambda moment: f"{1000 * (moment - EPOCH).total_seconds():.0f}"),
    "Excel's days": Time(lambda moment: f"{(moment - datetime(1899, 12, 30)).total_seconds() / 86_400:.9f}"),
    "days of a year": Time(lambda moment: f"{moment:%Y-%j}", day),
    "months": Time(lambda moment: f"{moment:%Y-%m}", month, timedelta(days=32)),
    "months behind": Time(lambda moment: f"{moment:%m/%Y}", month, timedelta(days=32)),
    "quarters": Time(
        lambda moment: f"{moment.year}-Q{(moment.month + 2) // 3}",
        lambda moment: datetime(moment.year, 3 * ((moment.month + 2) // 3) - 2, 1), timedelta(days=95),
    ),
    "weeks": Time(
        lambda moment: "{}-W{:02d}".format(*moment.isocalendar()[:2]),
        lambda moment: datetime.fromisocalendar(*moment.isocalendar()[:2], 1), timedelta(days=8),
    ),
    "years": Time(
        lambda moment: f"{moment.year}", lambda moment: datetime(moment.year, 1, 1), timedelta(days=370)
    ),
    "shifts": Time(lambda moment: f"{moment:%Y-%m-%d} late{moment:%H%M}", day),
    "unknown": Time(lambda moment: f"campaign {moment:%d%m%H%M}", lambda moment: None, form="`word 9`"),
    "years of two digits": Time(lambda moment: f"{moment:%d.%m.%y}", lambda moment: None, form="`9.9.9`"),
}  # fmt: skip

# Of each coding, words in its letters: the first is the name of the column of stations.
WORDS: dict[str, tuple[str, ...]] = {
    "utf-8": ("Messstelle", "Łódź", "Żabia 7", "Été", "東京", "Київ"),
    "utf-8-sig": ("Название", "Киев", "Ñuñoa"),
    "utf-16": ("Station", "Überlingen", "東京"),
    "windows-1252": ("Größe", "Zürich", "Málaga", "naïve €"),
    "windows-1250": ("Měřicí místo", "Plzeň", "Žďár nad Sázavou", "Příbram", "České Budějovice"),
    "windows-1251": ("Название станции", "Новосибирск", "Екатеринбург", "Нижний Новгород", "Волгоград"),
    "koi8-r": ("Название станции", "Новосибирск", "Екатеринбург", "Нижний Новгород", "Волгоград"),
    "shift_jis": ("測定局名称", "東京都千代田区", "大阪市北区", "名古屋市中区", "札幌市中央区"),
    "euc-jp": ("測定局名称", "東京都千代田区", "大阪市北区", "名古屋市中区", "札幌市中央区"),
    "cp949": ("측정소 이름", "서울특별시 종로구", "부산광역시 해운대구", "대구광역시 수성구"),
    "gb18030": ("监测站名称", "北京市朝阳区", "上海市浦东新区", "广州市天河区"),
    "big5": ("測站名稱", "臺北市中正區", "高雄市前鎮區", "臺中市西屯區"),
}
FORMATS = (",", ";", "\t", "|", "Excel", "Parquet")


def encoded(text: str, coding: str) -> bytes:
    """The text in a coding, "?" for letters that it lacks."""
    name = {"shift_jis": "cp932", "windows-1252": "cp1252"}.get(coding, coding)
    return text.encode(name, "replace")


def fits(number: Number, place: Place, time: Time, coding: str, sample: str) -> bool:
    """Whether a coding has the letters of a table."""
    name = {"shift_jis": "cp932"}.get(coding, coding)
    try:
        sample.encode(name)
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Table:
    data: bytes
    said: dict[str, Any]
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    times: list[datetime | None]


def made(rng: Rng, form: str, coding: str, number: Number, place: Place, time: Time) -> Table | None:
    """A table of `ROWS` rows, of which the first two differ in their time alone; None where the coding lacks
    its letters."""
    lon0, lat0 = place.near
    spots = [(round(lon0 + rng.uniform(-0.09, 0.09), 6), round(lat0 + rng.uniform(-0.09, 0.09), 6))
             for _ in range(ROWS)]  # fmt: skip
    values = [number.values(rng) for _ in range(ROWS)]
    if time is not TIMES["no time"]:
        spots[1], values[1] = spots[0], values[0]
    start = datetime(2013, 1, 13, 13, 5, 9) + timedelta(minutes=rng.randrange(3_000))
    moments = [start + time.step * at for at in range(ROWS)]
    texts = [number.write(value) for value in values]
    if number.limit:
        texts = [f"<{text}" if at % 3 == 2 else text for at, text in enumerate(texts)]
    names, *stations = WORDS[coding]
    rows = [
        {"value": texts[at], names: stations[at % len(stations)], **place.write(*spots[at]),
         **({} if time is TIMES["no time"] else {"when": time.write(moments[at])})}
        for at in range(ROWS)
    ]  # fmt: skip
    head = list(rows[0])
    rng.shuffle(head)
    cells = [head, *([row[name] for name in head] for row in rows)]
    if form == "Excel":
        data = workbook(cells)  # type: ignore[arg-type]
    elif form == "Parquet":
        held = io.BytesIO()
        parquet.write_table(pa.table({name: [row[name] for row in rows] for name in head}), held)
        data = held.getvalue()
    else:
        written = io.StringIO()
        csv.writer(written, delimiter=form, lineterminator=rng.choice(("\n", "\r\n"))).writerows(cells)
        text = written.getvalue()
        if not fits(number, place, time, coding, text):
            return None
        data = encoded(text, coding)
    said = {"value": "value", "unit": number.unit, "sensor": names, **place.said}
    if time is not TIMES["no time"]:
        said["time"] = "when"
    x, y = np.array(spots).T
    read = [time.read(moment) for moment in moments]
    return Table(data, said, x, y, np.array(values), read)


def answers(number: Number, time: Time, form: str, coding: str) -> dict[str, tuple[str, Any]]:
    """What a person answers, by the option that a sentence names."""
    return {
        "--decimal": ("decimal", number.mark),
        "--encoding": ("encoding", {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(coding, coding)),
        "--delimiter": ("delimiter", form),
        "--day-first": time.answer[0] if time.answer else ("day_first", True),
        "--missing": ("missing", ("none",)),
        "--header-row": ("header_row", 1),
    }


def read(table: Table, told: dict[str, tuple[str, Any]]) -> tuple[Any, Any]:
    """Read a table; what is asked is answered, each thing once."""
    said = dict(table.said)
    for _ in range(4):
        try:
            return load_sensors(table.data, **said)
        except DataError as error:
            named = [option for option in told if option in str(error) and told[option][0] not in said]
            if not named:
                raise
            said[told[named[0]][0]] = told[named[0]][1]
    raise AssertionError("a table is asked about again and again")


def check(rng: Rng, form: str, coding: str, number: str, place: str, time: str) -> bool:
    """Check one table; whether there is one."""
    how, where, when = NUMBERS[number], PLACES[place], TIMES[time]
    table = made(rng, form, coding, how, where, when)
    if table is None:
        return False
    open_cells = form == "Excel" and number == "whole groups by points"
    lost = "|".join(filter(None, (where.lost, how.lost, "let the sheet hold numbers" if open_cells else "")))
    try:
        found, report = read(table, answers(how, when, form, coding))
    except DataError as error:
        said = str(error)
        assert lost, said
        assert any(word in said for word in lost.split("|")), said
        return True
    assert not lost, f"{lost}: read as {found.value[:3]} at {found.x[:2]}, {found.y[:2]}"
    assert (found.size, report.rows_read) == (ROWS, ROWS), report.lines()
    assert found.owners == len(WORDS[coding]) - 1
    np.testing.assert_allclose(found.value, table.values, rtol=0, atol=1e-9)
    if found.crs != "EPSG:4326":
        turn = Transformer.from_crs(found.crs, 4326, always_xy=True)
        x, y = turn.transform(found.x, found.y)
    else:
        x, y = found.x, found.y
    assert np.abs(y - table.y).max() <= where.off
    assert np.abs(x - table.x).max() <= where.off / math.cos(math.radians(where.near[1]))
    if found.time is not None:
        expected = np.array(table.times, dtype="M8[s]")
        assert np.array_equal(found.time, expected, equal_nan=True), (found.time[:3], expected[:3])
        assert bool(when.form) == any("could not be read" in note for note in report.notes)
        assert not when.form or any(when.form in note for note in report.notes), report.notes
    return True


def drawn(part: int, count: int) -> Sequence[tuple[int, tuple[str, ...]]]:
    """Combinations of a part, seeded: every form of everything occurs as often as any other."""
    rng = Rng(20_260 + part)
    kinds = (FORMATS, tuple(WORDS), tuple(NUMBERS), tuple(PLACES), tuple(TIMES))
    return [(rng.randrange(1 << 30), tuple(rng.choice(kind) for kind in kinds)) for _ in range(count)]


@pytest.mark.parametrize("part", [0, *(pytest.param(at, marks=pytest.mark.slow) for at in range(1, PARTS))])
def test_every_table_is_read_back_equal_or_refused_with_its_cause(part: int) -> None:
    """Together at least 2,000 tables; letters that a coding lacks make none."""
    wrong: list[str] = []
    done = 0
    for seed, combination in drawn(part, 10 * RUN):
        try:
            done += check(Rng(seed), *combination)
        except Exception as error:
            wrong.append(f"{' | '.join(map(repr, combination))}: {type(error).__name__} {error}")
            done += 1
        if done * PARTS >= RUN:
            break
    assert done * PARTS >= RUN
    assert not wrong, f"{len(wrong)} of {done}:\n" + "\n".join(wrong[:30])
