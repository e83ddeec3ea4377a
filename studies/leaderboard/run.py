"""The leaderboard's table: every mechanism on every map at equal epsilon, delta, unit and protection."""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from dpgp_core.excursion import iou
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_named
from dpgp_core.noise import SimulationEntropy
from dpgp_core.yardstick import promise_of, tempered
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import Choice
from hexcursion.search.judging import shown_releases
from hexcursion.search.optimise import search
from hexcursion.search.scenes import protects
from hexcursion.search.task import Unconstrained
from hexcursion.search.tuning import concluded, search_task
from studies.excursions.fields import Bools, Floats
from studies.leaderboard.adaptive_grid import AdaptiveGrid
from studies.leaderboard.fields import Contest, contests
from studies.leaderboard.quadtree import Quadtree
from studies.london.study import released_world
from studies.prices import limit
from studies.reporting.figures import slug
from studies.reporting.judged_rows import sides_of
from studies.reporting.measures import calibration_error, standard_error
from studies.reporting.tables import Cell, Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

HIDING_PLACES = (
    "posterior-sampling",
    "noisy-cell-statistics",
    "spectral-statistics",
    "sparse-gp",
    "convcnp",
    "adaptive-grid",
    "quadtree",
)
"""All contestants; those of a plugin only if it is installed."""
SHOWING_PLACES = ("spectral-statistics", "cloaking", "functional", "bin-means")
COLUMNS = (
    "data", "hides", "unit", "epsilon", "delta", "place", "mechanism", "right", "standard error", "told",
    "gain", "orange", "came", "finds", "found", "ECE", "IoU", "stopped", "releases", "search", "CPU s", "n",
    "cells", "design",
)  # fmt: skip
WORLDS = 40
"""Fields drawn for the table of the limit, each released once by each design."""
PLAIN = "one colour"
SECONDS_OF = "seconds_of"
"""Among a result's settings: CPU seconds of each part that was run."""

TITLE = "records on the side that the map shows, best first within a block"


@dataclass(frozen=True)
class LeaderboardSettings:
    """The leaderboard.

    Parameters
    ----------
    folder
        of the real files; empty leaves them out
    epsilons, delta
        the budgets, all at one delta
    releases, most_seconds
        simulated per design, and CPU seconds after which a design gets no further ones
    mechanisms
        names; empty for all
    data
        beginnings of titles; empty for all
    quick_search
        whether all grids are coarse
    coarse, coarse_maps
        slow mechanisms, whose grids are coarse on large maps, and beginnings of the titles of these maps
    coarse_simulated
        mechanisms whose grids are coarse where designs are judged by simulated fields
    """

    folder: str = ""
    epsilons: tuple[float, ...] = (1.0, 3.0)
    delta: float = 1e-5
    releases: int = 20
    most_seconds: float = 20.0
    mechanisms: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    quick_search: bool = False
    coarse: tuple[str, ...] = ("sparse-gp", "cloaking", "functional")
    coarse_simulated: tuple[str, ...] = ("convcnp",)
    coarse_maps: tuple[str, ...] = ("Generated", "London")
    seed: int = 60
    preset: Preset = "full"

    @staticmethod
    def quick() -> LeaderboardSettings:
        """Under a minute: the plumes, one budget, coarse grids."""
        return LeaderboardSettings(
            epsilons=(1.0,),
            releases=20,
            mechanisms=(*HIDING_PLACES[1:3], *HIDING_PLACES[4:]),
            data=("plumes",),
            quick_search=True,
            preset="quick",
        )


@contextmanager
def entered(*guests: Mechanism) -> Iterator[None]:
    """Register mechanisms of a benchmark while it runs, in a process that serves nothing else."""
    MECHANISMS.update({guest.name: guest for guest in guests})
    try:
        yield
    finally:
        for guest in guests:
            del MECHANISMS[guest.name]


def run(
    settings: LeaderboardSettings,
    report: Report | None = None,
    peer_map: Callable[[Project], Bools] | None = None,
    guests: tuple[Mechanism, ...] = (),
    keep: Callable[[StudyResult], None] | None = None,
) -> StudyResult:
    """Contest every map.

    Parameters
    ----------
    report
        Called with (fraction, text); may raise to cancel.
    peer_map
        (N,) another program's map of a survey's records; without it the surveys are left out.
    guests
        Further mechanisms, which enter where their protection holds.
    keep
        Called with the result so far after every map.
    """
    tell = report or quiet
    rows: list[dict[str, Cell]] = []
    spent: dict[str, float] = {}
    folder = Path(settings.folder) if settings.folder and peer_map is not None else None
    with entered(AdaptiveGrid(), Quadtree(), *guests), tempfile.TemporaryDirectory() as scratch:
        every_map = contests(folder, Path(scratch), peer_map or _none)
        titles = tuple(entry.lower() for entry in settings.data)
        selected = [entry for entry in every_map if not titles or entry[0].lower().startswith(titles)]
        limits: tuple[StudyTable, ...] = ()
        if not settings.mechanisms and (not titles or limit.TITLE.lower().startswith(titles)):
            tell(0.0, f"{limit.TITLE}: what no mechanism can beat")
            clock = Stopwatch()
            limits = (limit.table(limit.Worlds.draw(WORLDS)),)
            spent[limit.TITLE] = clock.seconds
        for number, (title, make) in enumerate(selected):
            low, share = number / len(selected), 1.0 / len(selected)
            clock = Stopwatch()
            tell(low, f"{title}: the map to be reached")
            for contest in make():
                rows += _contested(settings, contest, guests, partial(tell, low))
            spent[title] = clock.seconds
            if keep is not None:
                keep(_result(settings, rows, spent, limits))
            tell(low + share, f"{title} is done")
    result = _result(settings, rows, spent, limits)
    if keep is not None and limits and not selected:
        keep(result)
    return result


def _result(
    settings: LeaderboardSettings,
    rows: list[dict[str, Cell]],
    spent: dict[str, float],
    limits: tuple[StudyTable, ...],
) -> StudyResult:
    return StudyResult(
        "leaderboard",
        settings.preset,
        {
            **asdict(replace(settings, folder="real files" if settings.folder else "")),
            SECONDS_OF: dict(spent),
        },
        (settings.seed,),
        f"{settings.releases} simulated releases per design, fewer where the table says so",
        round(sum(spent.values()), 1),
        (*tables_of(ranked(rows)), *limits),
        NOTES,
    )


NOTES = (
    "Every mechanism gets the same search of its own grid, on reference data or simulated fields only, and "
    "is then released, in simulation, on the data themselves. All is about the hexagons that a release "
    "judges.",
    "'right' is the share of records on the side that the map shows, 'told' what the release says of it, "
    "'gain' what it adds to the better of one colour and the public map it starts from. 'orange' and "
    "'finds' are told of hexagons shown above, 'came' and 'found' are so by the map to be reached; 'ECE' is "
    "the calibration error of the chances against that map, 'IoU' the agreement with it. 'stopped': whether "
    "the program would stop before such a release.",
    "Sales: tuned on the year before, judged by the map without privacy of the released year. Surveys and "
    "plumes: tuned on simulated fields that know nothing but the number of records (and, where public, the "
    "places); judged by another program's Gaussian process on the same records, or by the true field.",
    "Rows that hide different things stand in blocks of their own: equal epsilons promise different things, "
    "and no place in one block says anything about another.",
    "A coarse search tries fewer designs, on one simulated field in place of five, and serves its mechanism "
    "worse than a full one would; each row says which it was.",
    f"'{PLAIN}' is the better map of one colour; a mechanism below it draws no useful map.",
    "In worlds of the prior the field is known, and so is a limit: docs/limit.md proves that no mechanism of "
    "the privacy curve of Gaussian noise leaves less of the field's variance. It bounds no agreement (IoU).",
    "Adaptive grid and quadtree are rivals without a Gaussian process; they exist in this benchmark only.",
)


def tables_of(rows: tuple[tuple[Cell, ...], ...]) -> tuple[StudyTable, ...]:
    """One table for each map, in the order of the rows."""
    return tuple(
        StudyTable(
            slug(str(data)),
            f"{data}: {TITLE}",
            COLUMNS,
            tuple(row for row in rows if row[0] == data),
        )
        for data in dict.fromkeys(row[0] for row in rows)
    )


def ranked(rows: list[dict[str, Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows in blocks of equal data, protection and budget, best first, with their place in the block.

    A mechanism whose mean is within two standard errors of the difference to the best shares its place.
    """
    blocks: dict[tuple[Cell, ...], list[dict[str, Cell]]] = {}
    for row in rows:
        blocks.setdefault((row["data"], row["hides"], row["epsilon"]), []).append(row)
    result: list[tuple[Cell, ...]] = []
    for block in blocks.values():
        block.sort(key=lambda row: -float(row["right"] or 0.0))
        entrants = [row for row in block if row["mechanism"] != PLAIN and row["right"] is not None]
        for number, row in enumerate(entrants):
            best = entrants[0]
            gap = float(best["right"] or 0.0) - float(row["right"] or 0.0)
            noise = math.hypot(float(best["standard error"] or 0.0), float(row["standard error"] or 0.0))
            row["place"] = 1 if gap <= 2.0 * noise else number + 1
        result += [tuple(row.get(name) for name in COLUMNS) for row in block]
    return tuple(result)


def _contested(
    settings: LeaderboardSettings,
    contest: Contest,
    guests: tuple[Mechanism, ...],
    tell: Callable[[str], None],
) -> Iterator[dict[str, Cell]]:
    """All rows of one map."""
    extra = tuple(guest.name for guest in guests)
    for public, names in ((False, HIDING_PLACES), (True, SHOWING_PLACES)):
        base = replace(
            contest.project,
            settings=contest.project.settings.with_changes(places_public=public, delta=settings.delta),
        )
        selected = [
            name
            for name in (*names, *extra)
            if name in MECHANISMS and (not settings.mechanisms or name in (*settings.mechanisms, *extra))
        ]
        selected = [
            n for n in selected if public or mechanism_named(n).protection.what == "values and places"
        ]
        if not selected:
            continue
        project = load_project(base.settings) if public and base.reference_kind == "simulated" else base
        common: dict[str, Cell] = {
            "data": contest.title,
            "hides": protects(project),
            "unit": project.settings.unit,
            "delta": settings.delta,
            "n": int(project.private.placed.index.size),
            "cells": project.domain.size,
        }
        free, everywhere = contest.free, np.ones(project.domain.size, dtype=bool)
        sides = sides_of(project)
        assert sides is not None  # no map asks about answers
        colour = sides.one_colour(everywhere)
        for epsilon in settings.epsilons:
            yield {
                **common, "epsilon": epsilon, "mechanism": PLAIN, "design": contest.aim,
                "right": rounded(colour), "IoU": rounded(float(contest.truth.mean())),
            }  # fmt: skip
            for name in selected:
                tell(f"{contest.title}, {protects(project)}, epsilon {epsilon:g}: {name}")
                row, free = _row(settings, project, contest.title, contest.truth, name, epsilon, free)
                yield {**common, "epsilon": epsilon, "mechanism": mechanism_named(name).title, **row}


def _row(
    settings: LeaderboardSettings,
    project: Project,
    title: str,
    truth: Bools,
    name: str,
    epsilon: float,
    free: Unconstrained | None,
) -> tuple[dict[str, Cell], Unconstrained | None]:
    """One mechanism at one budget, and the design of the baseline for the next one."""
    slow = (name in settings.coarse and title.startswith(settings.coarse_maps)) or (
        name in settings.coarse_simulated and project.reference_kind == "simulated"
    )
    coarse = project.settings.quick or settings.quick_search or slow
    wanted_settings = project.settings.with_changes(epsilon=epsilon, mechanisms=(name,), quick=coarse)
    project_of_row = replace(project, settings=wanted_settings)
    clock = Stopwatch()
    try:
        result = search(replace(search_task(project_of_row, unconstrained=free), frontier=()))
    except WorkflowError as error:
        return {"design": str(error), "CPU s": clock.seconds}, free
    candidate, mechanism = result.chosen, mechanism_named(name)
    tuned = concluded(project_of_row, result, None)
    scored = _scored(settings, project_of_row, tuned.choice, truth)
    right = scored[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is shown above in any release
        means = [rounded(float(each)) if np.isfinite(each) else None for each in np.nanmean(scored, axis=0)]
    against = objections(
        tuned.choice.expected, tuned.choice.yardsticks, tuned.choice.level(wanted_settings.threshold)
    )
    return {
        **dict(zip(SCORES, means, strict=True)),
        "standard error": rounded(standard_error(right)),
        "stopped": "yes" if against else "no",
        "releases": int(right.size),
        "search": "coarse" if coarse else "full",
        "CPU s": clock.seconds,
        "design": mechanism.describe(candidate.design),
    }, result.unconstrained


SCORES = ("right", "told", "gain", "orange", "came", "finds", "found", "ECE", "IoU")


def _scored(settings: LeaderboardSettings, project: Project, choice: Choice, truth: Bools) -> Floats:
    """(releases, 9) the figures of `SCORES` of simulated releases; NaN where undefined."""
    world, sides = released_world(project, choice), sides_of(project)
    assert sides is not None
    free, true = world.public_side, truth.astype(np.float64)
    rows, start = list[list[float]](), time.thread_time()
    for release in shown_releases(world, choice.design, SimulationEntropy(settings.seed), settings.releases):
        judged = release.judged
        chance = release.chance if free is None else tempered(release.chance)
        promise, outcome = (
            promise_of(each, release.side, judged, release.records) for each in (chance, true)
        )
        right, colour = sides.right(release.side, judged), sides.one_colour(judged)
        gain = right - max(colour, -1.0 if free is None else sides.right(free, judged))
        error = calibration_error(chance[judged], true[judged])
        stated = [promise.right, promise.orange, promise.finds, error] if release.told else [math.nan] * 4
        agreement = iou(release.side, truth & judged)
        rows.append(
            [
                right,
                stated[0],
                gain,
                stated[1],
                outcome.orange,
                stated[2],
                outcome.finds,
                stated[3],
                agreement,
            ]
        )
        if len(rows) > 1 and time.thread_time() - start > settings.most_seconds:
            break
    return np.array(rows)


def _none(project: Project) -> Bools:
    raise WorkflowError("The surveys need a map to be reached: run the benchmark's command.")
