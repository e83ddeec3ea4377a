"""Generated data of an invented city in the real file formats: sales, postcodes, a region.

The city has an outline, a river, wards and a true price field, with which maps can be compared.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely.geometry import MultiPoint, Polygon

Array = NDArray[np.float64]

# Open sea: the Dogger Bank. No basemap can suggest that the city is real.
ORIGIN_LON, ORIGIN_LAT = 2.20, 54.75
_KM_PER_LAT = 111.3
_KM_PER_LON = _KM_PER_LAT * float(np.cos(np.radians(ORIGIN_LAT)))
CITY = "DOGGER CITY (GENERATED)"
COUNTY = "GENERATED, NOT REAL"
_WARDS = tomllib.loads((files("data_loaders") / "demo_wards.toml").read_text(encoding="utf-8"))
WARDS: tuple[tuple[str, float, float], ...] = tuple(  # name, centre in km east and north of the origin
    (ward, east, north) for ward, (east, north) in _WARDS.items()
)

DEMO_SEED = 20
DEMO_YEARS = (2023, 2024)
GROWTH = 0.03  # of the logarithm of prices in a year
NOISE = 0.35  # standard deviation of log price around the true field
_POSTCODES = 7000
# No British postcode begins with Q, so none of these can be real.
_AREA = "QH"
_LETTERS = np.array(list("ABDEFGHJLNPQRSTUWXYZ"))
_FAR = 60.0  # kilometres: well outside the city


def to_km(lon: ArrayLike, lat: ArrayLike) -> tuple[Array, Array]:
    """Convert (n,) degrees to kilometres east and north of the invented city's origin."""
    east = (np.asarray(lon, dtype=np.float64) - ORIGIN_LON) * _KM_PER_LON
    north = (np.asarray(lat, dtype=np.float64) - ORIGIN_LAT) * _KM_PER_LAT
    return east, north


def to_lonlat(east: ArrayLike, north: ArrayLike) -> tuple[Array, Array]:
    """Convert (n,) kilometres from the invented city's origin to degrees."""
    lon = np.asarray(east, dtype=np.float64) / _KM_PER_LON + ORIGIN_LON
    lat = np.asarray(north, dtype=np.float64) / _KM_PER_LAT + ORIGIN_LAT
    return lon, lat


def radius(angle: ArrayLike) -> Array:
    """Return the distance in km of the outline from the origin, in (n,) radians from east."""
    a = np.asarray(angle, dtype=np.float64)
    return 15.5 * (
        1
        + 0.13 * np.cos(2 * a)
        + 0.07 * np.sin(3 * a + 0.7)
        + 0.045 * np.cos(5 * a + 2.0)
        + 0.015 * np.sin(11 * a + 1.0)
    )


def outline() -> list[list[float]]:
    """Return the city's outline as a closed counter-clockwise ring of [lon, lat], five decimals of
    a degree."""
    angle = np.linspace(0.0, 2 * np.pi, 180, endpoint=False)
    lon, lat = to_lonlat(radius(angle) * np.cos(angle), radius(angle) * np.sin(angle))
    ring = [[round(float(a), 5), round(float(b), 5)] for a, b in zip(lon, lat, strict=True)]
    return [*ring, ring[0]]


def inside(east: Array, north: Array) -> NDArray[np.bool_]:
    """Return whether each of (n,) points, in kilometres from the origin, is in the city."""
    return np.asarray(np.hypot(east, north) < radius(np.arctan2(north, east)))


def river_north(east: ArrayLike) -> Array:
    """Return the northing of the river, in kilometres, at (n,) kilometres east of the origin."""
    e = np.asarray(east, dtype=np.float64)
    return -0.6 + 1.5 * np.sin(e / 2.6 + 0.4) + 0.05 * e


def river_distance(east: Array, north: Array) -> Array:
    """Return the approximate distance to the river's middle in kilometres."""
    slope = 1.5 / 2.6 * np.cos(east / 2.6 + 0.4) + 0.05
    return np.asarray(np.abs(north - river_north(east)) / np.sqrt(1 + slope**2))


def density(east: Array, north: Array) -> Array:
    """Return the relative density of postcodes: highest in the middle and around ward centres, zero
    in the river."""
    total = 0.05 + np.exp(-np.hypot(east + 0.5, north - 0.5) / 6.0)
    for _, e, n in WARDS:
        total = total + 0.35 * np.exp(-(((east - e) ** 2 + (north - n) ** 2) / (2 * 1.1**2)))
    parks = (np.hypot(east + 5.5, north - 4.6) < 0.9) | (np.hypot(east - 3.4, north - 4.0) < 0.7)
    return np.where((river_distance(east, north) < 0.12) | parks, 0.0, total)


def ward_of(east: Array, north: Array) -> NDArray[np.int64]:
    """Return the position in WARDS of the centre nearest to each of (n,) points, in kilometres."""
    centres = np.array([(e, n) for _, e, n in WARDS])
    distance = np.hypot(east[:, None] - centres[:, 0], north[:, None] - centres[:, 1])
    return np.asarray(np.argmin(distance, axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class DemoField:
    """The true field: median price in pounds of an existing leasehold flat, by place and year. Two
    expensive areas, west of the middle and down the river, a premium along the river, a slow fall
    towards the outskirts, and seeded roughness of a few kilometres' wavelength. Every generated
    price is this field times a factor for its kind times log-normal noise, so maps should recover
    the field."""

    seed: int
    last_year: int  # the year whose prices are the field without growth
    # whether the last year has a new expensive quarter in the north, which the year before does not
    # suggest, and a fall down the river, at the second peak of the year before
    changed: bool = False
    _wave: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 1])
        angle = rng.uniform(0, 2 * np.pi, 16)
        number = 2 * np.pi / rng.uniform(4.5, 11.0, 16)
        phase = rng.uniform(0, 2 * np.pi, 16)
        wave = np.stack([number * np.cos(angle), number * np.sin(angle), phase])
        wave.setflags(write=False)
        object.__setattr__(self, "_wave", wave)

    def log_price(self, lon: ArrayLike, lat: ArrayLike, year: int | None = None) -> Array:
        """Return the logarithm of the median price in pounds at (n,) degrees; `year` defaults to
        the last year."""
        east, north = to_km(lon, lat)
        west_end = np.exp(-(((east + 2.6) / 5.6) ** 2 + ((north - 1.9) / 3.7) ** 2))
        docks_north = float(river_north(7.2))
        docks = np.exp(-(((east - 7.2) / 3.0) ** 2 + ((north - docks_north) / 2.3) ** 2))
        bank = np.exp(-((river_distance(east, north) / 1.0) ** 2))
        turn = east[..., None] * self._wave[0] + north[..., None] * self._wave[1] + self._wave[2]
        rough = np.cos(turn).sum(axis=-1) * np.sqrt(2 / 16)
        base = 12.85 - 0.015 * np.hypot(east, north)
        growth = GROWTH * ((year or self.last_year) - self.last_year)
        unchanged = base + 0.95 * west_end + 0.62 * docks + 0.10 * bank + 0.085 * rough + growth
        if not self.changed or (year or self.last_year) != self.last_year:
            return np.asarray(unchanged)
        quarter = np.exp(-(((east - 0.5) / 3.2) ** 2 + ((north - 8.2) / 2.6) ** 2))
        decline = np.exp(-(((east - 7.2) / 3.4) ** 2 + ((north - docks_north) / 2.8) ** 2))
        return np.asarray(unchanged + 0.62 * quarter - 0.50 * decline)


@dataclass(frozen=True)
class _Kind:
    """A kind of sale: its codes, sales per year, log price above the true field, and centrality."""

    property_type: Literal["D", "S", "T", "F", "O"]
    new_build: Literal["Y", "N"]
    tenure: Literal["F", "L"]
    category: Literal["A", "B"]
    per_year: int
    offset: float
    central: float


_KINDS = (
    _Kind("F", "N", "L", "A", 11_500, 0.0, 1.0),
    _Kind("F", "Y", "L", "A", 2_400, 0.22, 1.0),
    _Kind("T", "N", "F", "A", 5_200, 0.25, -0.4),
    _Kind("S", "N", "F", "A", 2_400, 0.35, -0.8),
    _Kind("D", "N", "F", "A", 700, 0.75, -1.0),
    _Kind("T", "Y", "L", "A", 300, 0.30, -0.4),
    _Kind("F", "N", "L", "B", 500, 0.0, 1.0),
    _Kind("O", "N", "F", "B", 300, 0.60, 0.3),
)


@dataclass(frozen=True)
class DemoFiles:
    """Where the generated files are, and the field they were drawn from."""

    price_paid_previous: Path  # Price Paid format (16 columns, no header)
    price_paid: Path
    postcodes: Path  # NSPL-style table with latitude and longitude
    region: Path  # GeoJSON polygon of the invented city
    districts: Path  # GeoJSON polygons of its districts, with their names
    truth: DemoField


def write_demo(
    directory: str | os.PathLike[str], *, seed: int = DEMO_SEED, changed: bool = False
) -> DemoFiles:
    """Write the demo files into a folder, creating it if absent; equal seeds give equal bytes. With
    `changed` the later year differs in kind from the earlier one (`DemoField`). All data are
    invented, as file names, transaction identifiers, town, county and region state. Each year has
    23,300 sales with about 12,000 existing leasehold flats, as in a large city."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    first, last = DEMO_YEARS
    truth = DemoField(seed, last, changed=changed)
    places = _Places.drawn(np.random.default_rng([seed, 2]))
    files = DemoFiles(
        folder / f"generated-demo-pp-{first}.csv.gz",
        folder / f"generated-demo-pp-{last}.csv.gz",
        folder / "generated-demo-postcodes.csv.gz",
        folder / "generated-demo-region.geojson",
        folder / "generated-demo-districts.geojson",
        truth,
    )
    for year, path in ((first, files.price_paid_previous), (last, files.price_paid)):
        _write_packed(path, _sales(truth, places, year, np.random.default_rng([seed, year])))
    _write_packed(files.postcodes, _postcode_rows(places))
    _write(files.region, json.dumps(_region(), indent=1).encode())
    _write(files.districts, json.dumps(districts()).encode())
    return files


@dataclass(frozen=True, eq=False)
class _Places:
    """The city's postcodes: text, coordinates, ward, and relative centrality."""

    postcode: NDArray[np.str_]
    lon: Array
    lat: Array
    ward: NDArray[np.int64]
    central: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> _Places:
        """Postcodes scattered as densely as the city is built."""
        east, north = rng.uniform(-19, 19, (2, 40 * _POSTCODES))
        dense = np.where(inside(east, north), density(east, north), 0.0)
        picks = np.flatnonzero(rng.uniform(0, 1.6, dense.size) < dense)[:_POSTCODES]
        east, north, dense = east[picks], north[picks], dense[picks]
        lon, lat = to_lonlat(east, north)
        ward = ward_of(east, north)
        return cls(_names(ward, east, north), np.round(lon, 6), np.round(lat, 6), ward, np.log(dense))


def _names(ward: NDArray[np.int64], east: Array, north: Array) -> NDArray[np.str_]:
    """Name postcodes by ward (district) and place (sector, unit), so that neighbours look alike."""
    names = np.empty(ward.size, dtype="U8")
    for index, (_, e, n) in enumerate(WARDS):
        members = np.flatnonzero(ward == index)
        turn = np.arctan2(north[members] - n, east[members] - e)
        members = members[np.argsort(turn)]
        sector = np.arange(members.size) * 10 // max(members.size, 1)
        for digit in range(10):
            unit = members[sector == digit]
            serial = np.arange(unit.size)
            first, second = _LETTERS[serial // _LETTERS.size], _LETTERS[serial % _LETTERS.size]
            names[unit] = [f"{_AREA}{index + 1} {digit}{a}{b}" for a, b in zip(first, second, strict=True)]
    return names


def _sales(truth: DemoField, places: _Places, year: int, rng: np.random.Generator) -> list[list[str]]:
    """One year of sales as rows of the 16 Price Paid columns, in order of date."""
    counts = [kind.per_year for kind in _KINDS]
    kinds = np.repeat(np.arange(len(_KINDS)), counts)
    where = np.concatenate(
        [
            rng.choice(
                places.lon.size, kind.per_year, p=_chances(np.exp(kind.central * places.central * 0.5))
            )
            for kind in _KINDS
        ]
    )
    offset = np.array([kind.offset for kind in _KINDS])[kinds]
    level = truth.log_price(places.lon, places.lat, year)[where]
    price = np.exp(level + offset + NOISE * rng.standard_normal(kinds.size))
    pounds = np.maximum(np.round(price / 500) * 500, 500).astype(np.int64)
    day = np.sort(rng.integers(0, 365, kinds.size)).astype("timedelta64[D]") + np.datetime64(f"{year}-01-01")
    number = rng.integers(1, 180, kinds.size)
    flat = rng.integers(1, 60, kinds.size)
    # A few rows without a postcode or with one that no table lists, as in the real files.
    oddity = rng.uniform(0, 1, kinds.size)
    rows: list[list[str]] = []
    for serial, at in enumerate(rng.permutation(kinds.size)):
        kind, place = _KINDS[kinds[at]], where[at]
        postcode = str(places.postcode[place])
        if oddity[at] < 0.002:
            postcode = ""
        elif oddity[at] < 0.004:
            postcode = f"{_AREA}99 9ZZ"
        rows.append(
            [
                f"{{GENERATED-{year}-{serial + 1:08d}}}",
                str(pounds[at]),
                f"{day[serial]} 00:00",
                postcode,
                kind.property_type,
                kind.new_build,
                kind.tenure,
                str(number[at]),
                f"FLAT {flat[at]}" if kind.property_type == "F" else "",
                "GENERATED STREET",
                "",
                CITY,
                f"{WARDS[places.ward[place]][0]} (GENERATED)",
                COUNTY,
                kind.category,
                "A",
            ]
        )
    return rows


def _chances(weight: Array) -> Array:
    return np.asarray(weight / weight.sum())


def _postcode_rows(places: _Places) -> list[list[str]]:
    rows = [["pcds", "dointr", "doterm", "osgrdind", "oslaua", "lat", "long"]]
    order = np.argsort(places.postcode)
    for at in order:
        code = f"GEN{places.ward[at] + 1:06d}"
        rows.append(
            [
                str(places.postcode[at]),
                "202001",
                "",
                "1",
                code,
                f"{places.lat[at]:.6f}",
                f"{places.lon[at]:.6f}",
            ]
        )
    # ONS marks postcodes without a place like this.
    rows.append([f"{_AREA}98 9ZZ", "202001", "202206", "9", "GEN000000", "99.999999", "0.000000"])
    return rows


def _region() -> dict[str, object]:
    ring = outline()
    lon, lat = [point[0] for point in ring], [point[1] for point in ring]
    return {
        "type": "FeatureCollection",
        "bbox": [min(lon), min(lat), max(lon), max(lat)],
        "features": [
            {
                "type": "Feature",
                "properties": {
                    "name": "Dogger City (generated, not a real place)",
                    "generated": True,
                    "attribution": "Generated by Hexcursion; not a real place.",
                },
                "geometry": {"type": "Polygon", "coordinates": [ring]},
            }
        ],
    }


def _write_packed(path: Path, rows: list[list[str]]) -> None:
    """Quote every field, as the Land Registry does, and omit the time: equal data, equal bytes."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    _write(path, gzip.compress(text.getvalue().encode(), compresslevel=6, mtime=0))


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically, so that a reader never sees half of it."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)


def districts() -> dict[str, Any]:
    """Return a GeoJSON collection of one polygon in degrees for each ward, with its name."""
    city = Polygon(outline())
    centres = MultiPoint([(east, north) for _, east, north in WARDS])
    nearest = shapely.voronoi_polygons(centres, extend_to=shapely.box(-_FAR, -_FAR, _FAR, _FAR))
    features = []
    for cell in nearest.geoms:
        inner = cell.representative_point()
        name = WARDS[int(ward_of(np.array([inner.x]), np.array([inner.y]))[0])][0]
        lon, lat = to_lonlat(*np.asarray(cell.exterior.coords).T)
        part = Polygon(np.column_stack([lon, lat])).intersection(city)
        largest = max(shapely.get_parts(part), key=lambda piece: piece.area)
        features.append(
            {
                "type": "Feature",
                "properties": {"name": name.title(), "generated": True},
                "geometry": shapely.geometry.mapping(
                    shapely.set_precision(shapely.geometry.polygon.orient(largest), 1e-5)
                ),
            }
        )
    return {"type": "FeatureCollection", "features": sorted(features, key=_name)}


def _name(feature: dict[str, Any]) -> str:
    return str(feature["properties"]["name"])
