"""The label, one A4 page: what a release is, costs and protects, with its picture as a small SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, shape

from dpgp_core.numbers import upper
from geo import dissolve
from geo.colours import colour
from geo.context.own_layers import Named, OwnLayer
from geo.domains.hexagons import multipolygon, rings, simplified
from geo.maps.painting import Mark, legend
from hexcursion import words
from hexcursion.bundle.products import Products, counted, paint_classes, threshold_words
from hexcursion.bundle.statement.designs import design_line
from hexcursion.bundle.statement.expected import how_right
from hexcursion.bundle.statement.receipt_check import publishers_notes, publishers_own
from hexcursion.bundle.untrusted import source_of

WIDTH = 920.0  # SVG units; a unit is a tenth of a millimetre on paper
MAX_VERTICES = 6_000
INK = "#12191b"
LETTERS = 58  # of a line of the legend


def picture_svg(
    cells: Sequence[str],
    region: Mapping[str, Any],
    products: Products,
    threshold: str,
    own: Sequence[OwnLayer] = (),
) -> str:
    """Draw the domain, its boundary and the classes of the release as an SVG with a legend below. Dots and
    rings are a second channel beside colour; `own` layers are drawn over it with as many names as find room.
    """
    boundary = multipolygon(shape(dict(region)))
    whole = dissolve(cells)
    west, south, east, north = boundary.union(whole).bounds
    stretch = math.cos(math.radians((south + north) / 2))
    scale = WIDTH / max((east - west) * stretch, 1e-9)
    height = min((north - south) * scale, 1.4 * WIDTH)
    scale = min(scale, height / max(north - south, 1e-9))
    tolerance = 0.5 / scale

    def path(area: MultiPolygon) -> str:
        drawn = simplified(area, MAX_VERTICES, tolerance)
        parts = []
        for ring in rings(drawn):
            points = np.column_stack(
                [(ring[:-1, 0] - west) * stretch * scale, (north - ring[:-1, 1]) * scale]
            )
            parts.append("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) + "Z")
        return "".join(parts)

    painting = paint_classes(products, threshold, "")
    layers, entries = [f'<path d="{path(whole)}" fill="{colour("outside")}"/>'], []
    for place, entry in enumerate(legend(painting)):
        fill = f"url(#{entry.mark})" if entry.mark else entry.colour
        entries.append((fill, f"{entry.cells:,}: {entry.label}"))
        if entry.cells:
            chosen = [cells[at] for at in np.flatnonzero(painting.classes == place).tolist()]
            layers.append(f'<path d="{path(dissolve(chosen))}" fill="{fill}" fill-rule="evenodd"/>')
    layers.append(f'<path d="{path(boundary)}" fill="none" stroke="{colour("line")}" stroke-width="3"/>')
    layers.append(own_svg(own, (west, south, east, north), stretch, scale))
    total = f"{len(cells):,} hexagons in all"
    title = f"Map of the release. {'. '.join(said for _, said in entries)}. {total}."
    body = "\n".join(layers)
    lines, foot = _legend(entries, total, height)
    return f"""<svg viewBox="-4 -4 {WIDTH + 8:.0f} {height + foot + 8:.0f}" role="img" \
aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg">
<defs>{_pattern("dots")}{_pattern("rings")}</defs>
{body}
{lines}
</svg>"""


def _pattern(mark: Mark) -> str:
    """Dots or rings over the colour that both their classes have."""
    drawn = (
        f'r="2.6" fill="{INK}"'
        if mark == "dots"
        else f'r="3.6" fill="none" stroke="{INK}" stroke-width="1.4"'
    )
    return (
        f'<pattern id="{mark}" width="16" height="16" patternUnits="userSpaceOnUse">'
        f'<rect width="16" height="16" fill="{colour("unsure")}"/><circle cx="8" cy="8" {drawn}/></pattern>'
    )


def _legend(entries: Sequence[tuple[str, str]], total: str, top: float) -> tuple[str, float]:
    """The legend's SVG under the map, with a last line on all of it, and its height; long lines run on."""
    step, lines, y = 42.0, [], top + 22.0
    for fill, said in entries:
        lines.append(
            f'<rect x="0" y="{y:.0f}" width="30" height="30" fill="{fill}" stroke="{INK}" stroke-width="2"/>'
        )
        for line in wrap(said, LETTERS):
            lines.append(_text(44, y + 24, line))
            y += 32.0
        y += step - 32.0
    lines.append(_text(0, y + 24, total))
    return "\n".join(lines), y + step - top


def _text(x: float, y: float, said: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="24" fill="{INK}">{escape(said)}</text>'


NAMES = 40
SIZE = 24.0  # height of letters, SVG units
LETTER = 0.56  # width of a letter over its height, on average
CORNERS = 4_000

UNITS = 1.4  # SVG units of a pixel of a line's width

Lines = list[NDArray[np.float64]]
Box = tuple[float, float, float, float]


def own_svg(layers: Sequence[OwnLayer], frame: Box, stretch: float, scale: float) -> str:
    """SVG elements of the layers; "" where there are none. `frame`: west, south, east and north, degrees;
    `stretch`: length of a degree of longitude over one of latitude; `scale`: SVG units of a degree of
    latitude."""
    if not layers:
        return ""
    west, south, east, north = frame
    middle = (west + east) / 2.0

    def placed(points: NDArray[np.float64]) -> NDArray[np.float64]:
        lon = points[:, 0] - 360.0 * np.round((points[:, 0] - middle) / 360.0)
        return np.column_stack([(lon - west) * stretch * scale, (north - points[:, 1]) * scale])

    width, height = (east - west) * stretch * scale, (north - south) * scale
    made = []
    cut = _cut([[placed(line) for line in layer.lines] for layer in layers], width, height)
    for layer, lines in zip(layers, cut, strict=True):
        ink, wide = layer.colour or colour("line"), UNITS * layer.stroke
        if path := "".join(map(_path, lines)):
            for stroke, size in ((colour("halo"), wide + 3.2), (ink, wide)):
                made.append(f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{size:.2g}"/>')
        made += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.625 * layer.dot:g}" fill="{ink}" '
            f'stroke="{colour("halo")}"/>'
            for x, y in placed(layer.points).tolist()
            if 0 <= x <= width and 0 <= y <= height
        ]
    names = [one for layer in layers for one in layer.labels]
    spots = placed(np.array([one.at for one in names])) if names else np.empty((0, 2))
    return "\n".join([*made, *_names(names, spots, width, height)])


def _cut(layers: Sequence[Lines], width: float, height: float) -> list[Lines]:
    """The parts of the layers' lines inside the frame, as exact as few enough corners allow."""
    exact = 0.5
    while True:
        found = [[part for line in lines for part in _inside(line, exact, width, height)] for lines in layers]
        if sum(len(part) for parts in found for part in parts) <= CORNERS or exact > width:
            return found
        exact *= 1.6


def _inside(line: NDArray[np.float64], exact: float, width: float, height: float) -> Lines:
    simple = shapely.simplify(shapely.LineString(line), exact)
    parts = shapely.get_parts(shapely.clip_by_rect(simple, 0, 0, width, height))
    return [part for part in map(shapely.get_coordinates, parts) if len(part) > 1]


def _path(line: NDArray[np.float64]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in line)


def _names(names: Sequence[Named], spots: NDArray[np.float64], width: float, height: float) -> list[str]:
    """Names that find room, none over another."""
    taken: list[Box] = []
    written = []
    for one, (x, y) in zip(names, spots.tolist(), strict=True):
        half = LETTER * SIZE * len(one.name) / 2.0
        box = (x - half, y - SIZE / 2, x + half, y + SIZE / 2)
        if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height:
            continue
        if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            continue
        taken.append(box)
        written.append(
            f'<text x="{x:.1f}" y="{y + 0.35 * SIZE:.1f}" font-size="{SIZE:g}" text-anchor="middle" '
            f'fill="{colour("line")}" stroke="{colour("halo")}" stroke-width="4" paint-order="stroke">'
            f"{escape(one.name)}</text>"
        )
        if len(written) == NAMES:
            break
    return written


# Characters of receipt, attribution and notes that fit one page in the usual and in the smaller type.
ROOMY, FULL = 1_300, 2_400
MAX_CREDITS = 900
STYLE_PATH = Path(__file__).parents[1] / "resources" / "label.css"
# The receipt's own lines that the label says elsewhere, larger.
SHOWN_ELSEWHERE = frozenset(
    {"Unit of protection", "This release", "In words", "Group", "Records", "Mechanism", "Data", "Randomness"}
)


def label_html(
    statement: Mapping[str, Any],
    cells: Sequence[str],
    region: Mapping[str, Any],
    products: Products,
    picture: str | None = None,
    layers: Sequence[OwnLayer] = (),
) -> str:
    """Return one HTML page without scripts or outside requests, every text of the release escaped. It is made
    from the statement and the released paths alone, so a viewer makes it anew from any bundle. `cells`: N H3
    indices; `region`: GeoJSON, WGS 84; `picture`: its SVG where that was drawn already."""
    style = _style()
    title = statement["release"]["title"] or words.named(statement["subject"])
    question = words.asked(statement["subject"], statement["guarantee"]["unit_word"])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{source_of(style)}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Privacy facts: {escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main class="sheet{_density(statement)}">
<h1>Privacy facts</h1>
<p class="title">{escape(question)}</p>
<p class="answer">{escape(counted(products))}</p>
<p class="question">{escape(f"{title}. {words.covered(statement)}")}</p>
<p class="small own">Title, name of the value, what is measured and what is marked *: {words.PUBLISHERS}.</p>
{_flags(statement)}
<div class="bar"></div>
<div class="top">
<section class="map">
{picture or picture_svg(cells, region, products, threshold_words(statement), layers)}
<h2 class="next">Does not protect</h2>
<div class="small">{_list(words.limits(statement))}</div>
</section>
<section>
<h2>Protects</h2>
<p class="protects">{escape(statement["guarantee"]["protected"])}</p>
{_amounts(statement)}
<p class="words">{escape(statement["guarantee"]["in_words"])}</p>
<h2 class="next">How right</h2>
{"".join(f'<p class="words">{escape(text)}</p>' for text in how_right(statement, products))}
</section>
</div>
<div class="bar"></div>
<section class="rows">
<h2>For specialists</h2>
<table>
{_rows(statement)}
</table>
</section>
<footer class="foot">
{_foot(statement)}
</footer>
</main>
</body>
</html>
"""


@cache
def _style() -> str:
    return STYLE_PATH.read_text(encoding="utf-8")


def _density(statement: Mapping[str, Any]) -> str:
    """A smaller type where much is to be said: the label stays one page."""
    said = [text for _, text, _ in _lines(statement)]
    length = sum(len(text) + 40 for text in said) + sum(map(len, _credits(statement)))
    return "" if length < ROOMY else " dense" if length < FULL else " dense tiny"


def _flags(statement: Mapping[str, Any]) -> str:
    flags = []
    if statement["release"]["simulation"]:
        flags.append(("hard", "Simulation with a fixed seed: this is not a private release."))
    if statement["release"]["generated"]:
        flags.append(("", "Generated demo data: no real person is described."))
    if not statement["tuning"]["accounted"]:
        flags.append(("hard", "Tuning not accounted: the true privacy loss is larger than stated."))
    return "\n".join(f'<p class="flag {kind}">{escape(text)}</p>' for kind, text in flags)


def _amounts(statement: Mapping[str, Any]) -> str:
    guarantee = statement["guarantee"]
    epsilon, delta = upper(guarantee["epsilon"]), upper(guarantee["delta"], 3)
    times = escape(words.times(guarantee["epsilon"]))
    return f"""<div class="amount"><span>epsilon</span><b>{epsilon}</b></div>
<div class="amount small"><span>delta ({escape(words.one_in(guarantee["delta"]))})</span><b>{delta}</b></div>
<div class="amount small"><span>odds up to (but for delta)</span><b>{times}</b></div>"""


def _rows(statement: Mapping[str, Any]) -> str:
    rows = []
    for topic, text, warning in _lines(statement):
        mark = ' class="warning"' if warning else ""
        rows.append(f"<tr{mark}><th>{escape(topic)}</th><td>{escape(text)}</td></tr>")
    return "\n".join(rows)


def _lines(statement: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """(topic, text, warning) of the table: what is not said elsewhere of the receipt, groups, design."""
    lines = [
        (
            line["topic"],
            f"{line['text']} *" if publishers_own(line, statement) else line["text"],
            line["warning"],
        )
        for line in statement["receipt"]
        if line["topic"] not in SHOWN_ELSEWHERE
    ]
    domain, tuning = statement["subject"]["domain"], statement["tuning"]
    topics = {topic for topic, _, _ in lines}
    if "Domain" not in topics:
        lines.insert(
            0, ("Domain", f"{domain['cells']:,} H3 cells of resolution {domain['resolution']}.", False)
        )
    if "Tuning" not in topics:
        lines.append(("Tuning", f"{tuning['kind']}: {tuning['detail']}", not tuning["accounted"]))
    groups = [line["in_words"] for line in statement["guarantee"]["groups"]]
    lines.append(("Several records", " ".join(groups) or "No group guarantee is stated.", False))
    lines.append(
        ("Design", f"{statement['design']['mechanism']}: {design_line(statement['design'])}.", False)
    )
    return lines


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _foot(statement: Mapping[str, Any]) -> str:
    release, software = statement["release"], statement["software"]
    entry = statement["ledger"]["entry"] or "none"
    lines = [
        f"Release <code>{escape(release['id'])}</code>, {escape(release['created'])}. "
        f"Ledger entry <code>{escape(entry)}</code>. "
        f"Made with {escape(software['name'])} {escape(software['version'])}.",
        "The released paths may be thresholded, smoothed and redrawn freely: that costs no more privacy.",
        *(escape(text) for text in _credits(statement)),
    ]
    return "\n".join(f"<p>{line}</p>" for line in lines)


def _credits(statement: Mapping[str, Any]) -> list[str]:
    """Attribution and notes; where they are too long for the page, the file that holds them in full."""
    given = [*statement["attribution"], *publishers_notes(statement)]
    trip = [statement["trip"]["in_words"]] if "trip" in statement else []
    if sum(map(len, given)) <= MAX_CREDITS:
        return [*trip, *(f"{text} *" for text in given)]
    return [*trip, "Credits and licences of the data: ATTRIBUTION.txt. Notes: statement.json."]
