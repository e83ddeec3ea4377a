"""What map.html draws: the hexagons in whole numbers, and what each says at a row of thresholds."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgp_core.excursion import ROUNDING, exceedance_probability, vote_fraction
from dpgp_core.priors.lattice import smooth
from dpgp_core.yardstick import LIKELY
from geo import Domain
from geo.colours import colour, steps
from geo.context.surroundings import Place, Surroundings
from geo.crs import project
from geo.domains.hexagons import boundary, parents, rings
from geo.domains.view import region_box
from geo.maps.detail import FEWEST
from geo.maps.painting import SHARE_LIMITS
from hexcursion import words
from hexcursion.bundle.density import Density
from hexcursion.bundle.products import (
    LOOKS,
    UNLIKELY,
    Bools,
    Floats,
    Products,
    class_labels,
    class_words,
    graded_labels,
    graded_words,
    likely,
)
from hexcursion.project.response import ResponseScale

# Bytes before base64 that the hexagons and their shares may take: the whole page stays below 3 MB.
MOST_BYTES = 2_000_000
STOPS = 41
DENSITIES = 16  # most further numbers of records per square kilometre
OWN_CORNERS = 40_000  # of more hexagons neighbours share one outline: a page holds no more
RUN = 64  # hexagons that share one, one after the other
THRESHOLD = "{}"  # where the script writes the threshold it shows
SPAN = 60_000  # whole numbers along the longer side of the map
CORNERS = 6
NAMES = 120  # places, the largest near the region first
SHOWN_ASIDE = 0.3  # of the region's width: so far aside of it the page draws shores
OWN_NAMES = 200  # besides: of the curator's own layers
OWN_LINE_CORNERS = 8_000  # of these layers, together
EMPTY = 128  # the bit that says: no record expected there; the other seven hold the share in per cent


@dataclass(frozen=True, eq=False)
class Released:
    """What of a release the page draws."""

    statement: Mapping[str, Any]  # the checked statement
    domain: Domain  # the hexagons and the public region
    paths: Floats  # (L, N) released paths, response units, before smoothing
    # (N,) mean and standard deviation, response units, where the mechanism has them
    field: tuple[Floats, Floats] | None
    # coast, borders, named places and the curator's own layers, drawn under and over the hexagons
    around: Surroundings = dataclasses.field(default_factory=Surroundings)
    # (J, N) joint draws of the field, response units, where the paths are no draws
    draws: Floats | None = None
    density: Density | None = None  # of its records, where it holds their counts
    most_stops: int = STOPS  # thresholds at most: a page of several layers has less room for each


def drawing(released: Released, products: Products) -> dict[str, Any]:
    """Everything the page's script needs, as JSON values; texts in it are not yet escaped."""
    return {**shape_of(released.domain, released.around), **told_of(released, products)}


def told_of(released: Released, products: Products) -> dict[str, Any]:
    """What the script shows of a release, apart from the shapes of its hexagons."""
    stops, start = thresholds(released)
    subject = released.statement["subject"]
    labels = class_labels(products)
    return {
        "stops": [words.quantity(stop, subject["unit"]) for stop in stops],
        "start": start,
        "share": "probability" if released.field is not None else "share of the released maps",
        "graded": products.graded,
        "threshold": THRESHOLD,
        "classes": labels,
        "words": class_words(products, THRESHOLD),
        "limits": [round(100 * UNLIKELY), round(100 * LIKELY)],
        "cube": text_of(cube(released, stops, products.empty)),
        "colours": colours_of(len(labels)),
        **_density(released),
    }


def _density(released: Released) -> dict[str, Any]:
    """What the script shows of the density of records, under the names that it has for the value;
    empty without a density. It begins at the largest number that the average reaches."""
    density, levels = released.density, densities(released)
    if density is None or not levels:
        return {}
    average = density.mean.sum() / density.domain.areas.sum()
    rows = [cents_of(dataclasses.replace(density, above=above).probability) for above in levels]
    return {
        "density": {
            "stops": [_asked_words(density, above) for above in levels],
            "start": max(0, int(np.searchsorted(levels, average, side="right")) - 1),
            "startSaid": "",
            "share": "probability",
            "graded": True,
            "classes": graded_labels("more"),
            "words": graded_words(f"more than {THRESHOLD}"),
            "dense": text_of(np.array(rows, dtype=np.uint8)),
        }
    }


def _asked_words(density: Density, above: float) -> str:
    what = density.record if above == 1 else density.many
    return words.quantity(above, f"{what} per square kilometre")


def densities(released: Released) -> list[float]:
    """Increasing numbers of records per square kilometre, 1, 2 or 5 times a power of ten: from one that any
    record exceeds to the largest that is expected. The largest of them where a page has little room."""
    density, most_levels = released.density, min(DENSITIES, _room(released) // 4)
    if density is None or most_levels < 1:
        return []
    every = [float(f"{digit}e{power}") for power in range(-9, 10) for digit in (1, 2, 5)]
    areas = density.domain.areas
    first = max(number for number in every if number <= 1.0 / areas.max())
    last = max(first, float((density.mean / areas).max()))
    return [number for number in every if first <= number <= last][-most_levels:]


def colours_of(count: int) -> dict[str, dict[str, Any]]:
    """Colours of the first `count` classes and of shares, in either theme."""
    return {
        theme: {
            "classes": [colour(role, theme) for role in LOOKS[:count]],
            "shares": [colour(role, theme) for role in steps("votes", 6)],
            "line": colour("line", theme),
            "ground": colour("ground", theme),
        }
        for theme in ("light", "dark")
    }


def thresholds(released: Released) -> tuple[list[float], int]:
    """Increasing thresholds in the data's unit, the published one among them, and its position. They
    cover the middle 96 % of the released values, evenly in response units, rounded to three digits. Fewer
    where there are very many hexagons."""
    published = float(released.statement["subject"]["threshold"])
    room = _room(released) - len(densities(released))
    response = released.statement["response"]
    scale = ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"])
    values = released.paths if released.field is None else released.field[0]
    low, high = np.clip(np.quantile(values, (0.02, 0.98)), -1.5, 1.5)
    many = max(1, min(released.most_stops, room)) - 1
    with np.errstate(over="ignore"):
        scale_values = scale.value(np.linspace(low, high, many)).tolist() if many else []
    usable = {float(f"{value:.3g}") for value in scale_values if math.isfinite(value)} - {published}
    if scale.transform == "log":
        usable = {value for value in usable if value > 0}
    elif scale.transform == "probit":
        usable = {value for value in usable if 0 < value < 100}
    stops = sorted({*usable, published})
    return stops, stops.index(published)


def _room(released: Released) -> int:
    """How many numbers for each hexagon the page has room for."""
    count = released.domain.size
    return (MOST_BYTES - _bytes_of_shape(count, len(_families(released.domain)))) // count


def cube(released: Released, stops: Sequence[float], empty: Bools | None = None) -> NDArray[np.uint8]:
    """(K, N) what each hexagon says at each threshold: its share in per cent, and `EMPTY`. A share that is
    neither none nor all is at least 1 and at most 99, and none is rounded into another class. `empty`: (N,)
    hexagons in which no record is expected."""
    products, subject = released.statement["products"], released.statement["subject"]
    response = released.statement["response"]
    scale = ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"])
    voted = released.field is None
    smoothed = smooth(released.domain.adjacency, released.paths, products["smoothing"]) if voted else None
    bit = np.where(np.zeros(released.domain.size, dtype=bool) if empty is None else empty, EMPTY, 0)
    cents = np.empty((len(stops), released.domain.size), dtype=np.uint8)
    for row, stop in enumerate(stops):
        published = stop == float(subject["threshold"])
        level = subject["threshold_response"] if published else float(scale.forward(stop))
        if released.field is not None:
            share = exceedance_probability(*released.field, level, subject["direction"])
        else:
            assert smoothed is not None
            share = vote_fraction(smoothed, level, subject["direction"])
        cents[row] = (cents_of(share) + bit).astype(np.uint8)
    return cents


def cents_of(share: Floats) -> NDArray[np.int64]:
    """Whole per cent of shares of any shape, none on the other side of a limit that it was not on itself."""
    between = (share > 0) & (share < 1)
    cent = np.where(between, np.clip(np.rint(100 * share), 1, 99), 100 * share)
    for limit in SHARE_LIMITS:
        limit_cent = round(100 * limit)
        cent = np.where(
            share > limit + ROUNDING, np.maximum(cent, limit_cent + 1), np.minimum(cent, limit_cent)
        )
    way, (low, high) = likely(share), (round(100 * UNLIKELY), round(100 * LIKELY))
    open_ = np.clip(cent, low + 1, high - 1)
    return np.where(way > 0, np.maximum(cent, high), np.where(way < 0, np.minimum(cent, low), open_)).astype(
        int
    )


def shape_of(domain: Domain, near: Surroundings) -> dict[str, Any]:
    """Centres, corners, the public outline and its surroundings in whole numbers, y downwards."""
    outlines = [_six(boundary(cell)[:-1]) for cell in domain.cells]
    corners = project(np.vstack(outlines), domain.crs).reshape(-1, CORNERS, 2)
    outline = [project(ring, domain.crs) for ring in rings(domain.drawn_outline)]
    everything = corners.reshape(-1, 2)  # an outline may have rings far away
    low, high = everything.min(axis=0), everything.max(axis=0)
    scale = SPAN / float((high - low).max())

    def placed(points: Floats) -> Floats:
        return np.column_stack([(points[:, 0] - low[0]) * scale, (high[1] - points[:, 1]) * scale])

    centres = np.rint(placed(corners.mean(axis=1)))
    around = placed(corners.reshape(-1, 2)).reshape(-1, CORNERS, 2) - centres[:, None, :]
    run = _run(domain.size)
    if run > 1:
        around = _shared(around, run)
    step = max(1.0, float(np.abs(around).max()) / 127.0)
    return {
        "size": domain.size,
        "width": int(np.ceil((high[0] - low[0]) * scale)),
        "height": int(np.ceil((high[1] - low[1]) * scale)),
        "metre": scale,
        "centres": text_of(centres.astype("<u2")),
        "corners": text_of(np.rint(around / step).astype(np.int8)),
        "step": step,
        "run": run,
        "families": text_of(_families(domain)),
        "outline": [_whole(placed(ring)) for ring in outline],
        "own": [
            {
                "lines": [_whole(placed(project(line, domain.crs))) for line in lines],
                "points": _whole(placed(project(layer.points, domain.crs))) if layer.points.size else [],
                "colour": layer.colour,
                "width": layer.stroke,
                "dot": layer.dot,
            }
            for layer, lines in zip(near.own, own_lines(near), strict=True)
        ],
        "around": [_whole(placed(project(line, domain.crs))) for line in _lines_near(domain, near)],
        "names": [
            [
                named_place.name,
                *_whole(placed(project([(named_place.longitude, named_place.latitude)], domain.crs))),
            ]
            for named_place in _names(near)
        ],
        "ownNames": len(near.own_names[:OWN_NAMES]),
    }


def _lines_near(domain: Domain, near: Surroundings) -> list[Floats]:
    """Shores, rivers and borders as far as the page shows them."""
    west, south, east, north = region_box(domain)
    wide, high = SHOWN_ASIDE * (east - west), 0.5 * SHOWN_ASIDE * (north - south)
    lines = [shapely.LineString(line) for line in (*near.coast, *near.rivers, *near.borders)]
    parts = shapely.clip_by_rect(lines, west - wide, south - high, east + wide, north + high)
    return [shapely.get_coordinates(part) for part in shapely.get_parts(parts) if len(part.coords) > 1]


def _names(near: Surroundings) -> tuple[Place, ...]:
    return (*near.own_names[:OWN_NAMES], *near.other_names[:NAMES])


def own_lines(near: Surroundings) -> list[list[Floats]]:
    """The (k, 2) outlines and lines of each own layer, degrees, simplified. All of them together have at most
    `OWN_LINE_CORNERS` corners, unless a tolerance of a degree leaves more."""
    exact = 1e-5
    layer_lines = [[*layer.lines] for layer in near.own]
    while sum(len(line) for lines in layer_lines for line in lines) > OWN_LINE_CORNERS and exact < 1.0:
        layer_lines = [[_simpler(line, exact) for line in layer.lines] for layer in near.own]
        exact *= 1.6
    return layer_lines


def _simpler(line: Floats, exact: float) -> Floats:
    return np.asarray(shapely.get_coordinates(shapely.simplify(shapely.LineString(line), exact)))


def _six(ring: Floats) -> Floats:
    """A hexagon's own six corners: further ones are on an edge of it, and a pentagon's last is repeated."""
    if len(ring) > CORNERS:
        turns = np.abs(_turns(ring))
        keep = np.sort(np.argsort(-turns, kind="stable")[:CORNERS])
        return ring[keep]
    return np.vstack([ring, np.repeat(ring[-1:], CORNERS - len(ring), axis=0)])


def _turns(ring: Floats) -> Floats:
    incoming, outgoing = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    return incoming[:, 0] * outgoing[:, 1] - incoming[:, 1] * outgoing[:, 0]


def _whole(points: Floats) -> list[int]:
    return [int(number) for number in np.rint(points).ravel()]


def _run(count: int) -> int:
    return 1 if count <= OWN_CORNERS else RUN


def _shared(outlines: Floats, run: int) -> Floats:
    """The mean of each `run` outlines, (N, 6, 2), begun at the corner that is nearest to the first one's."""
    first = np.repeat(outlines[::run], run, axis=0)[: len(outlines)]
    turned = np.stack([np.roll(outlines, turns, axis=1) for turns in range(CORNERS)])
    best = ((turned - first) ** 2).sum(axis=(2, 3)).argmin(axis=0)
    alike = turned[best, np.arange(len(outlines))]
    starts = np.arange(0, len(outlines), run)
    counts = np.diff([*starts, len(outlines)])
    return np.asarray(np.add.reduceat(alike, starts, axis=0) / counts[:, None, None])


def _families(domain: Domain) -> NDArray[np.uint8]:
    """How many hexagons each next coarser one has, in order; none where there is but one way to draw."""
    if domain.size < FEWEST or domain.resolution == 0:
        return np.empty(0, dtype=np.uint8)
    return np.unique(parents(domain.cells), return_counts=True)[1].astype(np.uint8)


def _bytes_of_shape(count: int, families: int) -> int:
    return 4 * count + 2 * CORNERS * math.ceil(count / _run(count)) + families


def text_of(numbers: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode("ascii")
