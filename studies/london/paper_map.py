"""The paper's figure 4 from a stored result: its hexagons and sets, and the boundaries as SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from xml.sax.saxutils import escape

import numpy as np

from dpgp_core.excursion import iou
from geo import Domain, dissolve, domain_from_cells
from geo.domains.hexagons import interface, rings
from studies.excursions.fields import Bools, Floats
from studies.reporting.tables import StudyResult, StudyTable

BASELINE, CELL = "without privacy", "h3"
COLUMNS = (CELL, "longitude", "latitude", BASELINE, "path 1", "path 2", "path 3")
WIDTH, MARGIN, ROW = 760, 16, 22
LINES = ("#0072b2", "#d55e00", "#009e73")
DASHES = ("", "7 3", "2 3")  # second channel beyond colour
GROUND = "#8c8c8c"


@dataclass(frozen=True, eq=False)
class PaperMap:
    """Sets of cells on a public domain.

    Parameters
    ----------
    table
        the name of the stored table
    title
        in words
    baseline
        (N,) the set without privacy
    paths
        (N,) the set of each private path
    """

    table: str
    title: str
    domain: Domain
    baseline: Bools
    paths: tuple[Bools, ...]

    @property
    def agreement(self) -> tuple[float, ...]:
        """IoU of each path's set with the set without privacy."""
        return tuple(float(iou(path, self.baseline)) for path in self.paths)

    @property
    def words(self) -> str:
        """The map in a sentence, as its text alternative."""
        agreement = ", ".join(f"{value:.2f}" for value in self.agreement)
        return (
            f"Boundary of the set without privacy, {int(self.baseline.sum()):,} of {self.domain.size:,} "
            f"hexagons, and of {len(self.paths)} private paths; IoU of their sets with it: {agreement}."
        )


def paper_maps(result: StudyResult) -> tuple[PaperMap, ...]:
    """Every map that a result holds."""
    return tuple(_read(table) for table in result.tables if table.columns == COLUMNS and table.rows)


@lru_cache(maxsize=8)  # public tables only; outlining a domain takes half a second
def _read(table: StudyTable) -> PaperMap:
    cells = [str(cell) for cell in table.column(CELL)]
    domain = domain_from_cells(cells)
    place = {cell: row for row, cell in enumerate(cells)}
    order = np.array([place[cell] for cell in domain.cells])

    def inside(name: str) -> Bools:
        members = table.column(name)
        return np.array([members[row] == 1 for row in order], dtype=np.bool_)

    return PaperMap(
        table.name,
        table.title,
        domain,
        inside(BASELINE),
        tuple(inside(name) for name in COLUMNS[COLUMNS.index(BASELINE) + 1 :]),
    )


def map_svg(drawn: PaperMap) -> str:
    """The map as self-contained SVG: the domain's ground, a wide boundary without privacy, one per path."""
    outline = rings(dissolve(drawn.domain.cells))
    ends = np.concatenate(outline)
    low, high = ends.min(axis=0), ends.max(axis=0)
    stretch = np.array([math.cos(math.radians(float(low[1] + high[1]) / 2.0)), 1.0])
    zoom = (WIDTH - 2 * MARGIN) / float((high - low)[0] * stretch[0])
    top = MARGIN + 24
    bottom = top + zoom * float((high - low)[1])
    entries = ["boundary without privacy"]
    entries += [f"private path {k + 1}, IoU {value:.2f}" for k, value in enumerate(drawn.agreement)]
    height = math.ceil(bottom + MARGIN + ROW * len(entries))

    def path(line: Floats) -> str:
        places = (line - [low[0], high[1]]) * stretch * [zoom, -zoom] + [MARGIN, top]
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)

    ground = "".join(path(ring) + "Z" for ring in outline)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="#222"><title>{escape(drawn.title)}</title>'
        f"<desc>{escape(drawn.words)}</desc>"
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        f'<text x="{MARGIN}" y="{MARGIN + 6}" font-weight="bold" font-size="12">{escape(drawn.title)}</text>'
        f'<path d="{ground}" fill="#f2f2f2" fill-rule="evenodd" stroke="#bbb" stroke-width="0.8"/>'
    ]
    styles = [f'stroke="{GROUND}" stroke-width="5"']
    styles += [
        f'stroke="{LINES[k % len(LINES)]}" stroke-width="1.8" stroke-dasharray="{DASHES[k % len(DASHES)]}"'
        for k in range(len(drawn.paths))
    ]
    for number, (mask, style, words) in enumerate(
        zip((drawn.baseline, *drawn.paths), styles, entries, strict=True)
    ):
        lines = "".join(map(path, interface(drawn.domain.cells, mask)))
        parts.append(f'<path class="boundary" d="{lines}" fill="none" stroke-linejoin="round" {style}/>')
        row = bottom + MARGIN + ROW * number
        parts.append(f'<path d="M{MARGIN} {row:.1f}h30" {style}/>')
        parts.append(f'<text x="{MARGIN + 40}" y="{row + 4:.1f}">{escape(words)}</text>')
    return "".join([*parts, "</svg>\n"])
