"""What a map tells and what records left out say of it: some are released, the rest judge the release.

Command: `python -m studies.left_out [FOLDER] [--only NAME] [--keep SHARE]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Of the records a share is released; the others ask: is this record on the side that the map shows at its
place? All figures are about the judged hexagons. Held is the share of the left-out records in them. What is
told of hexagons (sure, orange, finds, ECE) is compared with the chances that the map without privacy gives
of all records: `reached`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from dataclasses import replace

import numpy as np

from dpgp_core.yardstick import Sides, promise_of
from hexcursion.bundle.products import likely
from hexcursion.bundle.statement.promise import FEWEST_PROMISED, tempered
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline, free_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.release_guard import objections
from hexcursion.search.tuning import tune
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.panel import judged, rows, simulated
from studies.material.real_files import real_files_parser

SEED, RELEASES, KEEP = 7, 8, 0.5
WANTED = (
    "London flats 2017, 442,413", "Lucas 1993, 80,000", "Lucas 1997, 80,000", "Arsenic", "Meuse lead",
    "Jura cadmium",
)  # fmt: skip
HEAD = (
    f"{'row':34}     n  held  right colour public   gain   sure reached orange reached  finds reached    ECE"
    "  stopped"
)


def main() -> None:
    """Print one line a row."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--only", default="", help="rows whose names hold this; a few by default")
    parser.add_argument("--keep", type=float, default=KEEP, help=f"share released, default {KEEP:g}")
    asked = parser.parse_args()
    try:
        every = rows(asked.folder)
    except WorkflowError as error:
        print(error)
        return
    names = [name for name in every if _wanted(name, asked.only)]
    print(f"{RELEASES} simulated releases of a share of {asked.keep:g} of the records, seed {SEED}.")
    print(HEAD)
    for name in names:
        print(f"{name:34} {line(every[name], asked.keep)}", flush=True)


def _wanted(name: str, only: str) -> bool:
    if only:
        return only in name
    return any(name.startswith(each) for each in WANTED) and not name.endswith(", .5")


def thinned(project: Project, keep: float) -> tuple[Project, Sides]:
    """The project with a share of its records, and on which side the others lie."""
    placed, settings = project.private.placed, project.settings
    kept = np.random.default_rng(SEED).uniform(size=placed.value.size) < keep
    inside = placed.value[~kept] > settings.threshold
    sides = Sides.of(placed.index[~kept], inside, project.domain.size)
    return replace(project, private=replace(project.private, placed=placed.part(kept))), sides


def line(settings: ReleaseSettings, keep: float) -> str:
    """What is told and what is reached, means of simulated releases, as the columns of `HEAD`."""
    whole = load_project(settings)
    project, sides = thinned(whole, keep)
    tuned = tune(project, beside=())
    choice, model = tuned.choice, tuned.result.model
    known = None if tuned.free_agreement is None else free_map(project, model)
    stop = objections(choice.expected, choice.yardsticks, choice.level(settings.threshold))
    count, truth = sides.inside + sides.outside, fit_baseline(whole, model).probability
    found = []
    for drawn, region, chance in simulated(project, choice, RELEASES, SEED):
        assert drawn.records is not None
        there = judged(drawn)
        shown = (likely(chance) == 1) & there
        said = chance if choice.public_map is None else tempered(chance)
        told = promise_of(said, shown, there, drawn.records)
        came = promise_of(truth, shown, there, drawn.records)
        weight = np.where(there, drawn.records, 0.0)
        sure = float(weight @ np.where(region, truth, 1.0 - truth)) / float(weight.sum())
        public = np.nan if known is None else sides.right(known, there)
        right, colour = sides.right(region, there), sides.one_colour(there)
        held = float(count[there].sum() / count.sum())
        shares = (held, right, colour, public, right - float(np.fmax(colour, public)))
        error = error_of(said[there], truth[there])
        found.append((*shares, told.right, sure, told.orange, came.orange, told.finds, came.finds, error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is orange, or there is no public map
        means = np.nanmean(np.array(found), axis=0).tolist()
    few = " too few" if project.public_n < FEWEST_PROMISED and choice.public_map is None else ""
    shares_told = " ".join(f"{value:6.2f}" for value in means)
    return f"{project.public_n:5}{shares_told}  {'yes' if stop else 'no'}{few}"


def error_of(chance: np.ndarray, truth: np.ndarray) -> float:
    """Expected calibration error of (M,) chances, in ten bins, against the (M,) chances that are reached."""
    bins = np.minimum((10 * chance).astype(int), 9)
    return float(sum(abs((chance - truth)[bins == number].sum()) for number in range(10))) / chance.size


if __name__ == "__main__":
    main()
