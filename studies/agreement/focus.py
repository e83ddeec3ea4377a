"""Designs for one threshold, and two looks, where no reference data tell designs apart.

Command: `python -m studies.agreement.focus [FOLDER] [--only NAME] [--keep SHARE]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Half of the records of each survey are released at epsilon 1 without reference data, and the others judge the
map. `all`: the usual fixed design, read at any threshold. `one`: the design for this
threshold alone, whose clip bound simulated worlds choose. `two`: two looks. `before` is the share of records
that simulated worlds expect on the side shown, `right` the share reached on the records left out; beside it
are those of the better map of one colour and of a release of shuffled values. `told` and `sure`: records in
hexagons on the side shown, as the release tells and by the map without privacy, whose values are cut as the
release cuts them; ECE is that of its chances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.project.model import Project
from hexcursion.search.choice import expected_of
from hexcursion.search.judging import judged_utility
from hexcursion.search.score import fixed_of
from hexcursion.search.tuning import Tuned, search_task
from hexcursion.settings.model import ReleaseSettings
from studies.agreement import panel
from studies.agreement.spectral_sensors import SURVEYS, survey_settings
from studies.material.real_files import real_files_parser

RELEASES, KEPT = 4, 0.5
FACTOR = 4.0  # public guess: most prices lie within this factor of a usual one
FIGURES = ("right", "colour", "mixed", "told", "sure", "ECE")


def rows(folder: Path) -> dict[str, ReleaseSettings]:
    """The settings of each row: sales about a public centre, and wells."""
    known = panel.rows(folder)
    sales = (
        ("Lucas", "Lucas 1993, 80,000", 80_000.0, (80_000.0, 130_000.0)),
        ("London flats", "London flats 2017, 442,413", 442_413.0, (442_413.0, 700_000.0)),
    )
    found = {
        f"{title} {level:,.0f}": known[row].with_changes(
            reference=None, reference_public=False, prior_mean=None, threshold=level, transform="log",
            centre=math.log(centre), clip=math.log(FACTOR),
        )
        for title, row, centre, levels in sales
        for level in levels
    }  # fmt: skip
    wells = next(each for each in SURVEYS if each.title == "arsenic wells")
    return {**found, "wells 10": survey_settings(wells, folder)}


def two_looks(project: Project) -> Tuned:
    """The usual design with two looks, and what simulated worlds expect of it."""
    tuned, task = panel.best(project), search_task(project)
    shape = fixed_of(task.mechanisms, task.facts.lattice.spacing, 2)
    assert shape is not None
    design = mechanism_of(shape).calibrate(shape, task.facts, task.budget)
    assert design is not None
    scene, chosen = replace(task.scenes[0], controls=()), tuned.result.chosen
    scored = replace(chosen, design=design, utility=judged_utility(scene, design, chosen.utility))
    choice = replace(tuned.choice, design=design, expected=expected_of(project, scored))
    return replace(tuned, choice=choice)


def lines(name: str, settings: ReleaseSettings, share: float, releases: int) -> Iterator[str]:
    """One line for each way of releasing a share of a survey."""
    alone = settings.with_changes(focus="threshold")
    ways = (("all", settings, panel.best), ("one", alone, panel.best), ("two", settings, two_looks))
    for way, asked, choose in ways:
        row = panel.measured(name, asked, share, releases, choose)
        figures = "  ".join(f"{row.figures[each]:6.3f}" for each in FIGURES)
        yield f"{name:22} {row.records:6}  {way:4}  {row.before:6.3f}  {figures}"


def main() -> None:
    """Print three lines for each survey."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--only", default="", help="rows whose names hold this")
    parser.add_argument("--keep", type=float, default=KEPT, help=f"share released, default {KEPT:g}")
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    options = parser.parse_args()
    every = panel.rows_named(options.only, rows, options.folder)
    if every is None:
        return
    print(f"Seed {panel.SEED}; means of {options.releases} simulated releases.")
    print(f"{'survey':22}      n  way   before  " + "  ".join(f"{name:>6}" for name in FIGURES))
    for name, settings in every.items():
        for line in lines(name, settings, options.keep, options.releases):
            print(line, flush=True)


if __name__ == "__main__":
    main()
