"""The leaderboard's table: every mechanism on every map at equal epsilon, delta, unit and protection."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from dpgp_core.excursion import ious
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_named
from dpgp_core.noise import SimulationEntropy
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.optimise import search
from hexcursion.search.scenes import protects
from hexcursion.search.task import Unconstrained
from hexcursion.search.tuning import search_task
from studies.excursions.fields import Bools
from studies.leaderboard.adaptive_grid import AdaptiveGrid
from studies.leaderboard.fields import Contest, contests
from studies.leaderboard.quadtree import Quadtree
from studies.london.study import released_sets
from studies.prices import limit
from studies.reporting.figures import slug
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
"""All that are contested; of those of a plugin, the ones that are installed."""
SHOWING_PLACES = ("spectral-statistics", "cloaking", "functional", "bin-means")
COLUMNS = (
    "data", "hides", "unit", "epsilon", "delta", "place", "mechanism", "IoU", "standard error", "IoU SD",
    "expected", "area error", "releases", "search", "CPU s", "n", "cells", "design",
)  # fmt: skip
WORLDS = 40
"""Fields drawn for the table of the limit, each released once by each design."""
PLAIN = "everything shown"
SECONDS_OF = "seconds_of"
"""Among a result's settings: CPU seconds of each part that was run."""

TITLE = "agreement with the map to be reached, best first within a block"


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
        simulated per design, and CPU seconds after which fewer must do
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
    releases: int = 60
    most_seconds: float = 40.0
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
    """Mechanisms of a benchmark, registered while it runs: a process that serves nobody else."""
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
        Told (fraction, text); may raise to cancel.
    peer_map
        (N,) another program's map of a survey's records; without it the surveys are left out.
    guests
        Further mechanisms, which enter where their protection holds.
    keep
        Told the result so far after every map.
    """
    tell = report or quiet
    rows: list[dict[str, Cell]] = []
    spent: dict[str, float] = {}
    folder = Path(settings.folder) if settings.folder and peer_map is not None else None
    with entered(AdaptiveGrid(), Quadtree(), *guests), tempfile.TemporaryDirectory() as scratch:
        made = contests(folder, Path(scratch), peer_map or _none)
        asked = tuple(each.lower() for each in settings.data)
        wanted = [each for each in made if not asked or each[0].lower().startswith(asked)]
        more: tuple[StudyTable, ...] = ()
        if not settings.mechanisms and (not asked or limit.TITLE.lower().startswith(asked)):
            tell(0.0, f"{limit.TITLE}: what no mechanism can beat")
            clock = Stopwatch()
            more = (limit.table(limit.Worlds.draw(WORLDS)),)
            spent[limit.TITLE] = clock.seconds
        for number, (title, make) in enumerate(wanted):
            low, share = number / len(wanted), 1.0 / len(wanted)
            clock = Stopwatch()
            tell(low, f"{title}: the map to be reached")
            for contest in make():
                rows += _contested(settings, contest, guests, partial(tell, low))
            spent[title] = clock.seconds
            if keep is not None:
                keep(_result(settings, rows, spent, more))
            tell(low + share, f"{title} is done")
    result = _result(settings, rows, spent, more)
    if keep is not None and more and not wanted:
        keep(result)
    return result


def _result(
    settings: LeaderboardSettings,
    rows: list[dict[str, Cell]],
    spent: dict[str, float],
    more: tuple[StudyTable, ...],
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
        (*tables_of(ranked(rows)), *more),
        NOTES,
    )


NOTES = (
    "Every mechanism gets the same search of its own grid, on reference data or simulated fields only, and "
    "is then released, in simulation, on the data themselves. 'expected' is what the search promised.",
    "Sales: tuned on the year before, judged by the map without privacy of the released year. Surveys and "
    "plumes: tuned on simulated fields that know nothing but the number of records (and, where public, the "
    "places); judged by another program's Gaussian process on the same records, or by the true field.",
    "Rows that hide different things stand in blocks of their own: equal epsilons promise different things, "
    "and no place in one block says anything about another.",
    "A coarse search tries fewer designs, on one simulated field in place of five, and serves its mechanism "
    "worse than a full one would; each row says which it was.",
    f"'{PLAIN}' is what a map scores that shows every hexagon; a mechanism below it draws no useful map.",
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

    A mechanism whose mean lies within two standard errors of the difference to the best shares its place.
    """
    blocks: dict[tuple[Cell, ...], list[dict[str, Cell]]] = {}
    for row in rows:
        blocks.setdefault((row["data"], row["hides"], row["epsilon"]), []).append(row)
    found: list[tuple[Cell, ...]] = []
    for block in blocks.values():
        block.sort(key=lambda row: -float(row["IoU"] or 0.0))
        entrants = [row for row in block if row["mechanism"] != PLAIN and row["IoU"] is not None]
        for number, row in enumerate(entrants):
            best = entrants[0]
            gap = float(best["IoU"] or 0.0) - float(row["IoU"] or 0.0)
            noise = math.hypot(float(best["standard error"] or 0.0), float(row["standard error"] or 0.0))
            row["place"] = 1 if gap <= 2.0 * noise else number + 1
        found += [tuple(row.get(name) for name in COLUMNS) for row in block]
    return tuple(found)


def _contested(
    settings: LeaderboardSettings,
    contest: Contest,
    guests: tuple[Mechanism, ...],
    tell: Callable[[str], None],
) -> Iterator[dict[str, Cell]]:
    """All rows of one map."""
    extra = tuple(guest.name for guest in guests)
    for public, names in ((False, HIDING_PLACES), (True, SHOWING_PLACES)):
        own = replace(
            contest.project,
            settings=contest.project.settings.with_changes(places_public=public, delta=settings.delta),
        )
        wanted = [
            name
            for name in (*names, *extra)
            if name in MECHANISMS and (not settings.mechanisms or name in (*settings.mechanisms, *extra))
        ]
        wanted = [n for n in wanted if public or mechanism_named(n).protection.what == "values and places"]
        if not wanted:
            continue
        project = load_project(own.settings) if public and own.reference_kind == "simulated" else own
        shown: dict[str, Cell] = {
            "data": contest.title,
            "hides": protects(project),
            "unit": project.settings.unit,
            "delta": settings.delta,
            "n": int(project.private.placed.index.size),
            "cells": project.domain.size,
        }
        free = contest.free
        for epsilon in settings.epsilons:
            plain = rounded(float(contest.truth.mean()))
            yield {**shown, "epsilon": epsilon, "mechanism": PLAIN, "IoU": plain, "design": contest.aim}
            for name in wanted:
                tell(f"{contest.title}, {protects(project)}, epsilon {epsilon:g}: {name}")
                row, free = _row(settings, project, contest.title, contest.truth, name, epsilon, free)
                yield {**shown, "epsilon": epsilon, "mechanism": mechanism_named(name).title, **row}


def _row(
    settings: LeaderboardSettings,
    project: Project,
    title: str,
    truth: Bools,
    name: str,
    epsilon: float,
    free: Unconstrained | None,
) -> tuple[dict[str, Cell], Unconstrained | None]:
    """One mechanism at one budget; the baseline's design is handed on."""
    slow = (name in settings.coarse and title.startswith(settings.coarse_maps)) or (
        name in settings.coarse_simulated and project.reference_kind == "simulated"
    )
    coarse = project.settings.quick or settings.quick_search or slow
    asked = project.settings.with_changes(epsilon=epsilon, mechanisms=(name,), quick=coarse)
    made = replace(project, settings=asked)
    clock = Stopwatch()
    try:
        found = search(replace(search_task(made, None, free), frontier=()))
    except WorkflowError as error:
        return {"design": str(error), "CPU s": clock.seconds}, free
    chosen, mechanism = found.chosen, mechanism_named(name)
    choice = Choice(chosen.design, chosen.response, tuning_of(made, made.reference_kind, ""))
    values: list[float] = []
    areas: list[float] = []
    start = time.thread_time()
    entropy = SimulationEntropy(settings.seed)
    while len(values) < settings.releases:
        count = min(10, settings.releases - len(values))
        sets = released_sets(made, choice, count, entropy)
        values += list(ious(sets, truth))
        areas += list(np.abs(sets.sum(axis=1) - truth.sum()) / max(int(truth.sum()), 1))
        if time.thread_time() - start > settings.most_seconds:
            break
    spread = float(np.std(values, ddof=1))
    return {
        "IoU": rounded(float(np.mean(values))),
        "IoU SD": rounded(spread),
        "standard error": rounded(spread / math.sqrt(len(values))),
        "expected": rounded(chosen.utility.agreement),
        "area error": rounded(float(np.mean(areas))),
        "releases": len(values),
        "search": "coarse" if coarse else "full",
        "CPU s": clock.seconds,
        "design": mechanism.describe(chosen.design),
    }, found.unconstrained


def _none(project: Project) -> Bools:
    raise WorkflowError("The surveys need a map to be reached: run the benchmark's command.")
