"""The invented city of the demo data: its outline, river, wards, densities and true price field."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Open sea: the Dogger Bank. No basemap can suggest that the city is real.
ORIGIN_LON, ORIGIN_LAT = 2.20, 54.75
_KM_PER_LAT = 111.3
_KM_PER_LON = _KM_PER_LAT * float(np.cos(np.radians(ORIGIN_LAT)))
CITY = "DOGGER CITY (GENERATED)"
COUNTY = "GENERATED, NOT REAL"
WARDS: tuple[tuple[str, float, float], ...] = (  # name, centre in km east and north of the origin
    ("OLD HARBOUR", 0.5, 1.0), ("WEST QUAY", -3.5, 1.5), ("SANDHILL", -8.5, 3.0), ("AMBER REACH", 7.0, -0.5),
    ("NORTH DEEP", 1.0, 6.5), ("SOUTH SHOAL", -0.5, -5.5), ("CORMORANT", 5.5, 8.5), ("LONGSHORE", -6.0, 9.5),
    ("TIDEWAY", 12.5, 2.0), ("KITTIWAKE", 7.5, -8.0), ("GREY SEAL", -7.0, -7.5), ("WESTERLAND", -13.5, -1.0),
)  # fmt: skip


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
    """Return how far, in kilometres, the outline is from the origin in (n,) directions, radians from east."""
    a = np.asarray(angle, dtype=np.float64)
    return 15.5 * (
        1 + 0.13 * np.cos(2 * a) + 0.07 * np.sin(3 * a + 0.7) + 0.045 * np.cos(5 * a + 2.0)
        + 0.015 * np.sin(11 * a + 1.0)
    )  # fmt: skip


def outline(vertices: int = 180) -> list[list[float]]:
    """Return the city's outline as a closed counter-clockwise ring of [lon, lat], five decimals of a
    degree."""
    angle = np.linspace(0.0, 2 * np.pi, vertices, endpoint=False)
    lon, lat = to_lonlat(radius(angle) * np.cos(angle), radius(angle) * np.sin(angle))
    ring = [[round(float(a), 5), round(float(b), 5)] for a, b in zip(lon, lat, strict=True)]
    return [*ring, ring[0]]


def inside(east: Array, north: Array) -> NDArray[np.bool_]:
    """Tell which points, in kilometres from the origin, lie in the city."""
    return np.asarray(np.hypot(east, north) < radius(np.arctan2(north, east)))


def river_north(east: ArrayLike) -> Array:
    """Return how far north the river runs, in kilometres, at kilometres east of the origin."""
    e = np.asarray(east, dtype=np.float64)
    return -0.6 + 1.5 * np.sin(e / 2.6 + 0.4) + 0.05 * e


def river_distance(east: Array, north: Array) -> Array:
    """Return the approximate distance to the river's middle in kilometres."""
    slope = 1.5 / 2.6 * np.cos(east / 2.6 + 0.4) + 0.05
    return np.asarray(np.abs(north - river_north(east)) / np.sqrt(1 + slope**2))


def density(east: Array, north: Array) -> Array:
    """Return the relative density of postcodes: most in the middle and around ward centres, none in the
    river."""
    total = 0.05 + np.exp(-np.hypot(east + 0.5, north - 0.5) / 6.0)
    for _, e, n in WARDS:
        total = total + 0.35 * np.exp(-(((east - e) ** 2 + (north - n) ** 2) / (2 * 1.1**2)))
    parks = (np.hypot(east + 5.5, north - 4.6) < 0.9) | (np.hypot(east - 3.4, north - 4.0) < 0.7)
    return np.where((river_distance(east, north) < 0.12) | parks, 0.0, total)


def ward_of(east: Array, north: Array) -> NDArray[np.int64]:
    """Return the position in WARDS of the ward centre nearest to each point, in kilometres."""
    centres = np.array([(e, n) for _, e, n in WARDS])
    distance = np.hypot(east[:, None] - centres[:, 0], north[:, None] - centres[:, 1])
    return np.asarray(np.argmin(distance, axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class DemoField:
    """The true field: median price in pounds of an existing leasehold flat, by place and year. Two expensive
    areas, west of the middle and down the river, a premium along the river, a slow fall towards the
    outskirts, and seeded roughness of a few kilometres' wavelength. Every generated sale is this field times
    a factor for its kind times log-normal noise, so the field is what maps should find."""

    seed: int
    last_year: int  # the year whose prices are the field without growth
    growth: float = 0.03  # of the logarithm of prices in a year
    # whether the last year has a new expensive quarter in the north, where nobody who knows the year before
    # looks for one, and a fall down the river, where there was the second peak
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
        """Return the logarithm of the median price in pounds at (n,) degrees, in the last year unless
        given."""
        east, north = to_km(lon, lat)
        west_end = np.exp(-(((east + 2.6) / 5.6) ** 2 + ((north - 1.9) / 3.7) ** 2))
        docks_north = float(river_north(7.2))
        docks = np.exp(-(((east - 7.2) / 3.0) ** 2 + ((north - docks_north) / 2.3) ** 2))
        bank = np.exp(-((river_distance(east, north) / 1.0) ** 2))
        turn = east[..., None] * self._wave[0] + north[..., None] * self._wave[1] + self._wave[2]
        rough = np.cos(turn).sum(axis=-1) * np.sqrt(2 / 16)
        base = 12.85 - 0.015 * np.hypot(east, north)
        growth = self.growth * ((year or self.last_year) - self.last_year)
        before = base + 0.95 * west_end + 0.62 * docks + 0.10 * bank + 0.085 * rough + growth
        if not self.changed or (year or self.last_year) != self.last_year:
            return np.asarray(before)
        quarter = np.exp(-(((east - 0.5) / 3.2) ** 2 + ((north - 8.2) / 2.6) ** 2))
        fallen = np.exp(-(((east - 7.2) / 3.4) ** 2 + ((north - docks_north) / 2.8) ** 2))
        return np.asarray(before + 0.62 * quarter - 0.50 * fallen)
