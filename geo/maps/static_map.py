"""The printed map: a painting as PNG or PDF with legend, scale bar, north arrow, outline and
attribution."""

from __future__ import annotations

import io
import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from geo.colours import colour
from geo.context.surroundings import Surroundings
from geo.crs import project
from geo.domains.domain import Domain
from geo.domains.hexagons import boundary, rings
from geo.maps.painting import LegendEntry, Painting, legend

MOST_NAMES = 30
SIDE = 0.25  # inches on both sides of the map
FINER = 2  # factor by which shapes are drawn larger than the picture, for smooth edges
FAINT = 110  # of 255: opacity of shores and rivers over the hexagons
BESIDE = 7.9  # least width in inches of a picture with its legend left of the scale bar, not below
_POINTS_PER_INCH = 72.0
_POINTS_PER_PIXEL = 0.46  # of lines: readers are nearer to a printed map than to a screen
_FONTS = "mpl-data/fonts/ttf"  # DejaVu Sans, a part of matplotlib

Floats = NDArray[np.float64]


def draw_map(
    domain: Domain,
    painting: Painting,
    *,
    subtitle: str = "",
    attribution: Sequence[str] = (),
    around: Surroundings | None = None,
    width: float = 8.27,
    dpi: int = 150,
    kind: Literal["png", "pdf"] = "png",
    colours: int | None = None,
) -> bytes:
    """Print a painting as a picture in the domain's equal-area projection, north up at its middle.

    `subtitle` has the privacy facts, `attribution` a line for each source; `around` are sea,
    borders and names around and over the cells, with a further line for their source. `width` is in
    inches, A4 by default; the height follows the region's shape. Few `colours` make a small PNG.
    The same input gives the same bytes, without machine or time. Raise `ValueError` if painting and
    domain differ in their number of cells.
    """
    if painting.classes.size != domain.size:
        raise ValueError(f"the painting has {painting.classes.size} cells, the domain {domain.size}.")
    around = around or Surroundings()
    polygons = _cells(domain)
    outline = [project(ring, domain.crs) for ring in rings(domain.drawn_outline)]
    corners = np.vstack(polygons)  # an outline may have rings far away
    low, high = corners.min(axis=0), corners.max(axis=0)
    pad = (0.04 if around.source else 0.01) * float(np.max(high - low))

    shape = float(np.clip((high - low)[1] / (high - low)[0], 0.3, 1.5))
    wide, tall = width - 2 * SIDE, (width - 2 * SIDE) * shape
    words = _Words.of(painting, subtitle, [*attribution, *([around.source] if around.source else [])], width)
    page = _Sheet.of(width, words.top + tall + words.foot, dpi, colour("ground"))
    sheet = _MapSheet.showing(low - pad, high + pad, page.at(wide, tall), dpi, colour("ground"))
    sheet.ground(around, domain.crs)
    sheet.cells(painting, polygons)
    sheet.water(around, domain.crs)
    sheet.lines(outline, colour("halo"), 2.4)
    sheet.lines(outline, colour("line"), 0.9)
    sheet.own(around, domain.crs)
    picture = sheet.reduced()
    picture.names(around, domain.crs)
    page.image.paste(picture.image, page.at(SIDE, words.top))
    end = words.top + tall
    _scale_and_north(page, sheet.metres_per_inch, wide, width - SIDE, end + 0.22, colour("line"))
    words.write(page, end, colour("line"))
    return page.saved(kind, dpi, colours)


@dataclass(frozen=True)
class _Words:
    """The lines above and below a printed map, and their height in inches."""

    heading: list[str]
    below: list[str]  # the subtitle
    keys: list[tuple[LegendEntry, list[str]]]
    drop: float  # inches between the scale bar and the legend below it
    sources: list[str]

    @classmethod
    def of(cls, painting: Painting, subtitle: str, sources: Sequence[str], width: float) -> _Words:
        """Wrap the words for a page, `width` in inches."""
        drop = 0.0 if width >= BESIDE else 0.42
        keys: list[tuple[LegendEntry, list[str]]] = []
        for key in legend(painting):
            text = f"{key.label}: {key.cells:,}"
            room = _letters(text, width - 2 * SIDE - 0.35, 9) if drop else 10.0 * width
            keys.append((key, _wrapped(text, room)))
        return cls(
            _wrapped(painting.title, 8.0 * width),
            _wrapped(subtitle, 12.5 * width),
            keys,
            drop,
            [part for line in sources for part in _wrapped(line, 16.0 * width)],
        )

    @property
    def top(self) -> float:
        """Inches above the map."""
        return 0.3 + 0.26 * len(self.heading) + 0.18 * len(self.below)

    @property
    def foot(self) -> float:
        """Inches below the map."""
        return 0.35 + self.drop + 0.21 * sum(len(lines) for _, lines in self.keys) + 0.16 * len(self.sources)

    def write(self, page: _Sheet, y: float, ink: str) -> None:
        """Write all lines onto a page with a map that ends `y` inches below the upper edge."""
        for row, line in enumerate(self.heading):
            page.write(SIDE, 0.2 + 0.26 * row, line, ink, 13, bold=True)
        for row, line in enumerate(self.below):
            page.write(SIDE, 0.24 + 0.26 * len(self.heading) + 0.18 * row, line, ink, 9)
        middle = y + self.drop + 0.12
        for key, lines in self.keys:
            page.key(SIDE, middle, key.colour, ink)
            for line in lines:
                page.write(SIDE + 0.35, middle, line, ink, 9, anchor="lm")
                middle += 0.21
        for row, line in enumerate(self.sources):
            page.write(SIDE, y + self.foot - 0.16 * (len(self.sources) - row), line, ink, 7)


def round_length(longest: float) -> float:
    """Round a positive length down to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(longest))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= longest * (1 + 1e-9))


def _cells(domain: Domain) -> list[Floats]:
    """Projected outlines of all cells, metres, unbroken across the antimeridian."""
    outlines = [boundary(cell) for cell in domain.cells]
    projected = project(np.vstack(outlines), domain.crs)
    return np.split(projected, np.cumsum([len(outline) for outline in outlines])[:-1])


@cache
def _font(pixels: float, bold: bool = False) -> ImageFont.FreeTypeFont:
    package = find_spec("matplotlib")  # importing it takes longer than the drawing
    assert package is not None  # the program requires it
    assert package.origin is not None
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(package.origin).parent / _FONTS / name, pixels)


class _Sheet:
    """A picture, `dpi` dots an inch; places are in inches from its upper left corner."""

    def __init__(self, image: Image.Image, dpi: float) -> None:
        self.image, self.dpi, self.pen = image, dpi, ImageDraw.Draw(image)

    @classmethod
    def of(cls, width: float, height: float, dpi: float, ground: str) -> _Sheet:
        return cls(Image.new("RGB", (round(width * dpi), round(height * dpi)), ground), dpi)

    def at(self, x: float, y: float) -> tuple[int, int]:
        return round(x * self.dpi), round(y * self.dpi)

    def points(self, size: float) -> float:
        """Pixels of a size in points."""
        return size * self.dpi / _POINTS_PER_INCH

    def write(
        self, x: float, y: float, text: str, ink: str, size: float, *, bold: bool = False, anchor: str = "la"
    ) -> None:
        """One line of text, `size` in points."""
        self.pen.text(self.at(x, y), text, ink, _font(self.points(size), bold), anchor=anchor)

    def key(self, x: float, middle: float, face: str, edge: str) -> None:
        """The patch of a legend's line."""
        box = [self.at(x, middle - 0.05), self.at(x + 0.25, middle + 0.05)]
        self.pen.rectangle(box, face, edge)

    def dot(self, x: float, y: float, across: float, ink: str) -> None:
        """A dot, pixels."""
        self.pen.ellipse((x - across / 2, y - across / 2, x + across / 2, y + across / 2), ink)

    def saved(self, kind: Literal["png", "pdf"], dpi: int, colours: int | None) -> bytes:
        """The file, without its time or producer."""
        buffer = io.BytesIO()
        if colours is not None:
            self.image.quantize(colours).save(buffer, "PNG")
        elif kind == "png":
            self.image.save(buffer, "PNG")
        else:
            never = {"producer": None, "creationDate": None, "modDate": None}
            self.image.save(buffer, "PDF", resolution=dpi, quality=95, **never)
        return buffer.getvalue()


class _MapSheet(_Sheet):
    """The map on the page, with a place for metres of its projection."""

    corner: Floats  # (2,) metres at the upper left corner
    scale: float  # pixels of a metre

    @classmethod
    def showing(cls, low: Floats, high: Floats, size: tuple[int, int], dpi: int, ground: str) -> _MapSheet:
        """Metres from `low` to `high`, (2,) each, in the middle of a picture of `size` pixels,
        drawn `FINER` times as large."""
        sheet = cls(Image.new("RGB", (FINER * size[0], FINER * size[1]), ground), FINER * dpi)
        extent, pixels = high - low, np.array(sheet.image.size)
        sheet.scale = float(np.min(pixels / extent))
        over = (pixels / sheet.scale - extent) / 2.0
        sheet.corner = np.array([low[0] - over[0], high[1] + over[1]])
        return sheet

    @property
    def metres_per_inch(self) -> float:
        return self.dpi / self.scale

    def reduced(self) -> _MapSheet:
        """The map in the size of the picture."""
        sheet = _MapSheet(self.image.reduce(FINER), self.dpi / FINER)
        sheet.corner, sheet.scale = self.corner, self.scale / FINER
        return sheet

    def placed(self, metres: Floats) -> Floats:
        """(K, 2) pixels of (K, 2) metres."""
        return np.asarray((metres - self.corner) * (self.scale, -self.scale))

    def polygons(self, shapes: Iterable[Floats], face: str) -> None:
        """Areas, (k, 2) metres each, with their edges, which leave no hair-lines between areas."""
        for shape in shapes:
            self.pen.polygon(self.placed(shape).ravel().tolist(), face, face)

    def lines(self, shapes: Iterable[Floats], ink: str | int, points: float) -> None:
        wide = max(1, round(self.points(points)))
        for shape in shapes:
            self.pen.line(self.placed(shape).ravel().tolist(), ink, wide, "curve")

    def ground(self, around: Surroundings, crs: str) -> None:
        """Sea, land, shores and borders."""
        if not around.source:
            return
        self.image.paste(colour("water"), (0, 0, *self.image.size))
        self.polygons((project(ring, crs) for ring in around.land), colour("ground"))
        self.polygons((project(ring, crs) for ring in around.lakes), colour("water"))
        self.polygons((project(ring, crs) for ring in around.isles), colour("ground"))
        self.lines((project(line, crs) for line in around.borders), colour("border"), 0.7)
        self.lines((project(line, crs) for line in (*around.rivers, *around.coast)), colour("shore"), 0.7)

    def water(self, around: Surroundings, crs: str) -> None:
        """Faint shores and rivers over the hexagons, by which readers recognise a place."""
        faint = _MapSheet(Image.new("L", self.image.size), self.dpi)
        faint.corner, faint.scale = self.corner, self.scale
        faint.lines((project(line, crs) for line in (*around.rivers, *around.coast)), FAINT, 0.6)
        self.image.paste(colour("line"), (0, 0, *self.image.size), faint.image)

    def cells(self, painting: Painting, polygons: list[Floats]) -> None:
        """The hexagons, (k, 2) metres."""
        for index, entry in enumerate(painting.entries):
            members = np.flatnonzero(painting.classes == index)
            self.polygons((polygons[k] for k in members.tolist()), colour(entry.role))

    def own(self, around: Surroundings, crs: str) -> None:
        """The curator's layers, over the cells."""
        halo = colour("halo")
        for layer in around.own:
            ink, wide = layer.colour or colour("line"), _POINTS_PER_PIXEL * layer.stroke
            lines = [project(line, crs) for line in layer.lines]
            self.lines(lines, halo, wide + 1.0)
            self.lines(lines, ink, wide)
            if layer.points.size:
                for x, y in self.placed(project(layer.points, crs)).tolist():
                    self.dot(x, y, self.points(0.33 * layer.dot + 1.0), halo)
                    self.dot(x, y, self.points(0.33 * layer.dot), ink)

    def names(self, around: Surroundings, crs: str) -> tuple[str, ...]:
        """Write names of places without overlap, the more important first; return these names."""
        if not around.named:
            return ()
        at = project(np.array([(place.longitude, place.latitude) for place in around.named]), crs)
        boxes: list[tuple[float, float, float, float]] = []
        names: list[str] = []
        for place, spot in zip(around.named, self.placed(at).tolist(), strict=True):
            if not _printable(place.name):
                continue
            size = 8.5 if place.population >= 500_000 else 7.5 if place.population >= 50_000 else 6.5
            font, halo = _font(self.points(size)), max(1, round(self.points(1.0)))
            half = font.getlength(place.name) / 2.0 + 0.3 * font.size, 0.65 * font.size
            box = (spot[0] - half[0], spot[1] - half[1], spot[0] + half[0], spot[1] + half[1])
            if box[0] < 0 or box[1] < 0 or box[2] > self.image.width or box[3] > self.image.height:
                continue
            if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in boxes):
                continue
            boxes.append(box)
            names.append(place.name)
            self.pen.text(
                spot,
                place.name,
                colour("line"),
                font,
                anchor="mm",
                stroke_width=halo,
                stroke_fill=colour("halo"),
            )
            if len(names) == MOST_NAMES:
                break
        return tuple(names)


def _scale_and_north(
    page: _Sheet, metres_per_inch: float, wide: float, right: float, level: float, ink: str
) -> None:
    """A scale bar of at most a quarter of the map, and a north arrow, at the right below the map;
    inches."""
    length = round_length(wide * metres_per_inch / 4.0)
    share = length / metres_per_inch
    left = right - share
    page.pen.line([page.at(left, level), page.at(right, level)], ink, max(1, round(page.points(2.0))))
    text = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    page.write(right - share / 2, level + 0.05, text, ink, 8, anchor="ma")
    page.write(left - 0.25, level, "↑", ink, 12, anchor="mm")
    page.write(left - 0.25, level + 0.11, "N", ink, 8, anchor="ma")


def _letters(text: str, inches: float, points: float) -> float:
    """Number of letters of a text's mean width that fit into a width in inches."""
    return 0.97 * len(text) * inches * _POINTS_PER_INCH / (points * _font(100).getlength(text) / 100)


def _wrapped(text: str, characters: float) -> list[str]:
    return [part for line in text.splitlines() for part in textwrap.wrap(line, max(20, int(characters)))]


def _printable(name: str) -> bool:
    """Whether the font has every letter for certain: Latin letters with any accents."""
    return all(ord(letter) < 0x250 for letter in unicodedata.normalize("NFC", name))
