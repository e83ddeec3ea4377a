"""The words of an estimate before a step begins, the limit of memory, and a proposed resolution."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shapely.geometry import MultiPolygon

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.numbers import significant
from dpgp_core.priors.registry import PRIORS, can_make
from geo.domains.hexagons import average_area, expected_cells
from hexcursion.errors import WorkflowError
from hexcursion.estimates.model import (
    Asked,
    Estimate,
    crowding,
    memory_limit,
    own_speed,
    reading_estimate,
    release_estimate,
    search_estimate,
    study_estimate,
)
from hexcursion.project.area import NamedArea
from hexcursion.project.model import Project
from hexcursion.project.record_store import is_kept
from hexcursion.project.simulated import QUICK_WORLDS, WORLDS, simulated_worlds
from hexcursion.search.scenes import private_n
from hexcursion.search.score import takes_fixed
from hexcursion.search.tuning import CLIP_FACTORS, FOCUSED_FACTORS
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import default_priors
from hexcursion.words import plural

WORTH_SAYING = 10.0
"""Seconds from which a step gets a forecast."""

PACKED = {".zip": 5.0, ".gz": 5.0}
"""About how many bytes of text a byte of a packed table holds."""

LONG = 1200.0
"""Seconds from which a search is announced with quicker ones."""

CLEARLY = 0.5
"""Share of a search's time that a quicker search must stay below to be proposed."""

FINER = 7
"""Hexagons of one resolution in one of the next coarser."""


def pace() -> float:
    """CPU seconds of the function `speed`, times the slowdown by this machine's present load."""
    return own_speed() * crowding()


def duration(seconds: float) -> str:
    """A forecast in words, no finer than it can be.

    Examples
    --------
    >>> duration(3), duration(44), duration(200), duration(9000)
    ('5 s', '40 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        step = 5 if seconds < 30 else 10
        return f"{max(step, round(seconds / step) * step):d} s"
    return f"{round(seconds / 60):d} min" if seconds < 5400 else f"{round(seconds / 1800) / 2:g} h"


def memory(megabytes: float) -> str:
    """Megabytes in words.

    Examples
    --------
    >>> memory(512.3), memory(1234.0), memory(96_000.0)
    ('510 MB', '1.2 GB', '96 GB')
    """
    if megabytes < 995.0:
        return f"{significant(megabytes, 2)} MB"
    return f"{significant(megabytes / 1000.0, 2)} GB"


def expected(estimate: Estimate, processes: int = 1) -> str:
    """What a step takes when it is divided among `processes`."""
    share = f" in each of {processes} processes" if processes > 1 else ""
    return f"about {duration(estimate.seconds / processes)} and {memory(estimate.megabytes)} of memory{share}"


def expected_of(project: Project, processes: int = 1, *, alone: bool = False) -> str:
    """A sentence on the time of search and release of a loaded project; `alone` as in `Asked`."""
    return expected_of_search(asked_of(project, alone), processes)


def expected_of_search(task: Asked, processes: int = 1) -> str:
    """The same sentence from public facts, before anything is loaded."""
    search = search_estimate(task, pace())
    release = release_estimate(task.cells, pace())
    text = (
        f"Expected now: {expected(search, processes)} for the "
        f"{'simulated releases' if task.fixed else 'search'}, {duration(release.seconds)} for the release."
    )
    if task.fixed or search.seconds / processes < LONG:
        return text
    return " ".join([text, *filter(None, [_quicker(task, search, processes)])])


def _quicker(task: Asked, search: Estimate, processes: int) -> str:
    """A sentence on alternatives that take clearly less time than a search; "" without any."""
    fields = task.fields if task.reference else max(1, task.fields * QUICK_WORLDS // WORLDS)
    alternatives = {"a quick search": replace(task, quick=True, fields=fields)}
    for mechanism in MECHANISMS.values():
        if mechanism.search.quick and mechanism.name in task.mechanisms:
            alone = replace(task, mechanisms=(mechanism.name,))
            alternatives[f"a search of {mechanism.title.lower()} alone"] = alone
    times = {
        name: search_estimate(quicker, pace()).seconds
        for name, quicker in alternatives.items()
        if quicker != task
    }
    parts = [
        f"{name} about {duration(seconds / processes)}"
        for name, seconds in times.items()
        if seconds <= CLEARLY * search.seconds
    ]
    return f"Quicker: {', '.join(parts)}." if parts else ""


def expected_release(project: Project) -> str | None:
    """A sentence on the time of releasing a loaded project; None for a short release."""
    estimate = release_estimate(project.domain.size, pace())
    if estimate.seconds < WORTH_SAYING:
        return None
    return f"The release takes about {duration(estimate.seconds)} now."


def expected_study(name: str) -> str | None:
    """A sentence on the time of a study's quick run; None if it was not measured."""
    estimate = study_estimate(name, pace())
    return None if estimate is None else f"Expected now: {expected(estimate)}."


def expected_reading(*sources: SourceSettings) -> str | None:
    """A sentence on the time of reading all sources in turn; None for a short reading."""
    parts = [reading_estimate(_megabytes(source), pace()) for source in sources]
    total = Estimate(sum(part.seconds for part in parts), max(part.megabytes for part in parts))
    if total.seconds < WORTH_SAYING:
        return None
    first = " for the first time; a second look is quicker" if any(map(is_kept, sources)) else ""
    return f"Expected now: {expected(total)} for reading the data{first}."


def _megabytes(source: SourceSettings) -> float:
    """Megabytes of text in a source's files, postcodes included."""
    total = 0.0
    for name in (source.path, source.postcodes):
        path = Path(name) if name else None
        if path is not None and os.path.isfile(path):
            total += path.stat().st_size / 1e6 * PACKED.get(path.suffix.lower(), 1.0)
    return total


def refuse_what_cannot_fit(project: Project, processes: int = 1) -> None:
    """Raise `WorkflowError`, naming what would fit, if this number of parallel processes lacks
    memory."""
    if project.settings.executor == "dask":  # its workers may be larger machines
        return
    task, limit = asked_of(project), memory_limit(processes)
    names = dense_priors(project.settings, task.cells)
    sentence = None if limit is None else refusal(task, limit, project.settings.resolution, names)
    if sentence is not None:
        raise WorkflowError(sentence)


def refusal(task: Asked, limit: int, resolution: int, dense: Sequence[str] = ()) -> str | None:
    """Say why a search does not fit into `limit` bytes, and what would fit; None if it fits.

    `dense` names the priors that `task.dense` counts.
    """

    def fits(other: Asked) -> bool:
        return search_estimate(other, 1.0).megabytes * 1e6 <= limit

    if fits(task):
        return None
    remedies = []
    if task.dense and fits(replace(task, dense=0)):
        remedies.append(
            f"leave out the prior {' and '.join(dense)}, since the lattice prior car needs no dense matrix"
        )
    for step in range(1, resolution + 1):
        coarser = replace(task, cells=max(1, task.cells // FINER**step))
        if fits(coarser):
            remedies.append(f"choose resolution {resolution - step}, with about {coarser.cells:,} hexagons")
            break
    needed = search_estimate(task, 1.0).megabytes
    return (
        f"The search of {task.cells:,} hexagons needs about {memory(needed)} of memory, more than the "
        f"{memory(limit / 1e6)} that a process can have here: "
        f"{', or '.join(remedies or ['take fewer rows, or a machine with more memory'])}."
    )


def asked_of(project: Project, alone: bool = False) -> Asked:
    """The task of searching for a loaded project; `alone` as in `Asked`."""
    return planned(project.settings, project.domain.size, private_n(project), alone)


def planned(settings: ReleaseSettings, cells: int, records: int, alone: bool = False) -> Asked:
    """The task of a search with these settings, for a number of hexagons and of records."""
    if settings.values != "amount":  # one scale, and the mechanisms that read such values
        scales = 1
    elif settings.focus == "threshold":
        scales = 1 + len(FOCUSED_FACTORS[: 3 if settings.quick else None])
    else:
        scales = 1 if settings.clip is not None else len(CLIP_FACTORS[: 2 if settings.quick else None])
    simulated = settings.reference is None and settings.pilot is None
    fixed = takes_fixed(settings)
    worlds = simulated_worlds(settings, fixed)
    return Asked(
        cells=cells,
        records=records,
        fields=worlds if fixed else scales * (worlds if simulated else 1),
        fixed=fixed,
        quick=settings.quick,
        mechanisms=tuple(
            name
            for name in settings.mechanisms
            if settings.values == "amount" or "values" in MECHANISMS[name].reads
        ),
        dense=len(dense_priors(settings, cells)),
        starts=2 if settings.tries_public_map and not settings.weighs_drift else 1,
        reference=settings.reference is not None,
        alone=alone,
        counted=settings.values == "count",
        looks=settings.looks,
    )


def dense_priors(settings: ReleaseSettings, cells: int) -> tuple[str, ...]:
    """Priors with a dense matrix that the search tries: those of the settings or the default, if
    the number of hexagons allows them."""
    names = settings.priors or default_priors(cells)
    return tuple(name for name in names if not PRIORS[name].sparse and can_make(name, cells))


RECORDS_EACH = 3
"""Records for each hexagon that a proposal aims at: a rule of thumb, as resolutions differ by a
factor of seven."""

FEWEST, MOST = 200, 20_000
"""Limits of the number of hexagons: enough to give a map a shape, few enough for a short search."""

USUAL = 1_000
"""Hexagons of a proposal if no number of records is stated."""

COARSEST, FINEST = 4, 10
"""Resolutions on offer; a settings file may name others."""


@dataclass(frozen=True)
class Proposal:
    """A resolution, its approximate number of hexagons, and the stated number of records or
    None."""

    resolution: int
    cells: float
    records: int | None

    @property
    def sentence(self) -> str:
        """The proposal in words."""
        area = significant(average_area(self.resolution) / 1e6, 2)
        number = "" if self.records is None else f" and about {plural(self.records, 'record')}"
        return (
            f"resolution {self.resolution}, about {significant(self.cells, 2)} hexagons of {area} km², suits "
            f"this area{number}"
        )


def propose(shape: MultiPolygon, records: int | None = None) -> Proposal:
    """Find the resolution whose number of hexagons is nearest, as a ratio, to the number that the
    records fill.

    There are never more hexagons than records: most hexagons would be empty.

    `shape` is in WGS 84 degrees. `records` is a public number; without it the proposal aims at
    USUAL hexagons. A count of the private records cannot serve: the number inside the hexagons is
    public only once the hexagons are fixed, and the number around them is never public.
    """
    target = USUAL if records is None else min(max(records / RECORDS_EACH, FEWEST), MOST)
    cells = [expected_cells(shape, resolution) for resolution in range(FINEST + 1)]
    limit = records or math.inf
    candidates = [resolution for resolution in range(FINEST + 1) if cells[resolution] <= limit] or [0]
    best = min(candidates, key=lambda resolution: abs(math.log(cells[resolution] / target)))
    return Proposal(best, cells[best], records)


def propose_resolution(settings: ReleaseSettings, records: int | None) -> Proposal:
    """Propose a resolution by the area of the settings alone.

    Raise `WorkflowError`, `DataError` or `GeoError` for an area that cannot be read.
    """
    return propose(NamedArea.of(settings).outline().shape, records)
