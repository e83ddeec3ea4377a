"""The report as a PDF: `python -m studies.report` draws its figures from stored results and compiles it.

`make report` installs the compiler first. Everything is written to out/report; nothing is measured anew.
`--pictures` draws the contours of London in docs/pictures instead, from the stored study.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from studies.london.paper_map import map_svg, paper_maps
from studies.registry import RESULTS, STUDIES
from studies.reporting.figures import points, svg
from studies.reporting.pictures import PICTURES
from studies.reporting.tables import load_result

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "docs" / "report" / "report.typ"
OUT = ROOT / "out" / "report"


def figures_of(text: str) -> tuple[str, ...]:
    """Return the names, STUDY-FIGURE, of the figures that the report shows."""
    return tuple(re.findall(r'"/out/report/([\w-]+)\.svg"', text))


def drawn(name: str) -> str:
    """Return one figure as SVG, from the stored result of its study.

    Raises
    ------
    LookupError
        If no study has a figure of that name, or its result is not stored.
    """
    study, _, figure = name.partition("-")
    wanted_figure = next(
        (candidate for candidate in STUDIES[study].figures if candidate.name == figure), None
    )
    result = load_result(STUDIES[study].folder / STUDIES[study].stored[0])
    if wanted_figure is None or result is None:
        raise LookupError(f"The report shows {name}, which no stored study draws.")
    return svg(wanted_figure, points(wanted_figure, result))


def contours() -> dict[str, str]:
    """Return the pictures of the main paper's figure 4 by name, as SVG, from the stored sales of London."""
    result = load_result(RESULTS / "london-real.json")
    if result is None:
        raise LookupError("The study of London's real sales is not stored.")
    titles = {
        "map-paper": "By the published recipe, not proved: one-path releases at epsilon 10, cell records",
        "map": "By this program: one-path releases at epsilon 1, point records",
    }
    return {
        f"london-{paper_map.table}": map_svg(replace(paper_map, title=titles[paper_map.table]))
        for paper_map in paper_maps(result)
    }


def main() -> int:
    if sys.argv[1:] == ["--pictures"]:
        for name, drawing in contours().items():
            (PICTURES / f"{name}.svg").write_text(drawing, encoding="utf-8")
        return 0
    try:
        typst = import_module("typst")
    except ModuleNotFoundError:
        print("The report is compiled by typst: run `make report`, which installs it.", file=sys.stderr)
        return 1
    OUT.mkdir(parents=True, exist_ok=True)
    for name in figures_of(SOURCE.read_text(encoding="utf-8")):
        (OUT / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
    typst.compile(str(SOURCE), output=str(OUT / "report.pdf"), root=str(ROOT))
    print(OUT / "report.pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
