"""What is said of an estimate before a step begins, what would fit into memory, and a proposed resolution."""

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
from hexcursion.project.area import region_of
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
"""Seconds from which a step is said to be long."""

PACKED = {".zip": 5.0, ".gz": 5.0}
"""Bytes of text in a byte of a packed table, about."""

LONG = 1200.0
"""Seconds from which a search is announced with quicker ones."""

CLEARLY = 0.5
"""Share of a search's time that a quicker one takes at most, to be named."""

FINER = 7
"""Hexagons of one resolution in one of the next coarser."""


def pace() -> float:
    """CPU seconds of the function `speed`, times what this machine's present load makes of them."""
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
    """What a step takes; shared out among so many processes."""
    each = f" in each of {processes} processes" if processes > 1 else ""
    return f"about {duration(estimate.seconds / processes)} and {memory(estimate.megabytes)} of memory{each}"


def expected_of(project: Project, processes: int = 1, *, alone: bool = False) -> str:
    """What search and release of a loaded project will take, as a sentence; `alone` as in `Asked`."""
    return expected_of_search(asked_of(project, alone), processes)


def expected_of_search(asked: Asked, processes: int = 1) -> str:
    """The same of what is known before anything is loaded."""
    search = search_estimate(asked, pace())
    release = release_estimate(asked.cells, pace())
    text = (
        f"Expected now: {expected(search, processes)} for the "
        f"{'simulated releases' if asked.fixed else 'search'}, {duration(release.seconds)} for the release."
    )
    if asked.fixed or search.seconds / processes < LONG:
        return text
    return " ".join([text, *filter(None, [_quicker(asked, search, processes)])])


def _quicker(asked: Asked, search: Estimate, processes: int) -> str:
    """What takes clearly less time than a search, as a sentence; "" where nothing does."""
    fields = asked.fields if asked.reference else max(1, asked.fields * QUICK_WORLDS // WORLDS)
    others = {"a quick search": replace(asked, quick=True, fields=fields)}
    for mechanism in MECHANISMS.values():
        if mechanism.search.quick and mechanism.name in asked.mechanisms:
            alone = replace(asked, mechanisms=(mechanism.name,))
            others[f"a search of {mechanism.title.lower()} alone"] = alone
    found = {name: search_estimate(each, pace()).seconds for name, each in others.items() if each != asked}
    parts = [
        f"{name} about {duration(seconds / processes)}"
        for name, seconds in found.items()
        if seconds <= CLEARLY * search.seconds
    ]
    return f"Quicker: {', '.join(parts)}." if parts else ""


def expected_release(project: Project) -> str | None:
    """What a release of a loaded project will take, as a sentence; None where it is not worth saying."""
    found = release_estimate(project.domain.size, pace())
    if found.seconds < WORTH_SAYING:
        return None
    return f"Expected now: {expected(found)} for the release."


def expected_study(name: str) -> str | None:
    """What the quick run of a study will take, as a sentence; None where that was not measured."""
    found = study_estimate(name, pace())
    return None if found is None else f"Expected now: {expected(found)}."


def expected_reading(*sources: SourceSettings) -> str | None:
    """What reading one source after the other will take, as a sentence; None where it is not worth saying."""
    each = [reading_estimate(_megabytes(source), pace()) for source in sources]
    found = Estimate(sum(one.seconds for one in each), max(one.megabytes for one in each))
    if found.seconds < WORTH_SAYING:
        return None
    first = " for the first time; a second look is quicker" if any(map(is_kept, sources)) else ""
    return f"Expected now: {expected(found)} for reading the data{first}."


def _megabytes(source: SourceSettings) -> float:
    """Of the text in a source's files, postcodes included."""
    total = 0.0
    for name in (source.path, source.postcodes):
        path = Path(name) if name else None
        if path is not None and os.path.isfile(path):
            total += path.stat().st_size / 1e6 * PACKED.get(path.suffix.lower(), 1.0)
    return total


def refuse_what_cannot_fit(project: Project, processes: int = 1) -> None:
    """Raise `WorkflowError`, naming what would fit, if so many processes beside each other lack memory."""
    if project.settings.executor == "dask":  # its workers may be larger machines
        return
    asked, limit = asked_of(project), memory_limit(processes)
    names = dense_priors(project.settings, asked.cells)
    sentence = None if limit is None else refusal(asked, limit, project.settings.resolution, names)
    if sentence is not None:
        raise WorkflowError(sentence)


def refusal(asked: Asked, limit: int, resolution: int, dense: Sequence[str] = ()) -> str | None:
    """Say why a search does not fit into `limit` bytes, and what would; None where it fits.

    `dense` names the priors that `asked.dense` counts.
    """

    def fits(other: Asked) -> bool:
        return search_estimate(other, 1.0).megabytes * 1e6 <= limit

    if fits(asked):
        return None
    remedies = []
    if asked.dense and fits(replace(asked, dense=0)):
        remedies.append(
            f"leave out the prior {' and '.join(dense)}, since the lattice prior car needs no dense matrix"
        )
    for step in range(1, resolution + 1):
        coarser = replace(asked, cells=max(1, asked.cells // FINER**step))
        if fits(coarser):
            remedies.append(f"choose resolution {resolution - step}, with about {coarser.cells:,} hexagons")
            break
    needed = search_estimate(asked, 1.0).megabytes
    return (
        f"The search of {asked.cells:,} hexagons needs about {memory(needed)} of memory, more than the "
        f"{memory(limit / 1e6)} that a process can have here: "
        f"{', or '.join(remedies or ['take fewer rows, or a machine with more memory'])}."
    )


def asked_of(project: Project, alone: bool = False) -> Asked:
    """What the search of a loaded project is asked; `alone` as in `Asked`."""
    return planned(project.settings, project.domain.size, private_n(project), alone)


def planned(settings: ReleaseSettings, cells: int, records: int, alone: bool = False) -> Asked:
    """What the search of settings will be asked on so many hexagons and records."""
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
    """Priors with a dense matrix that are tried, asked for or usual on so many hexagons, and can be made."""
    tried = settings.priors or default_priors(cells)
    return tuple(name for name in tried if not PRIORS[name].sparse and can_make(name, cells))


RECORDS_EACH = 3
"""Records for each hexagon that are aimed at: a rule of thumb, for resolutions seven times apart."""

FEWEST, MOST = 200, 20_000
"""Hexagons to aim at: at least, so that a map has a shape, and at most, so that a search ends soon."""

USUAL = 1_000
"""Hexagons to aim at where no number of records is stated."""

COARSEST, FINEST = 4, 10
"""Resolutions on offer; a settings file may name others."""


@dataclass(frozen=True)
class Proposal:
    """A resolution, about how many hexagons it gives, and the stated number of records, None for none."""

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
    """Find the resolution whose number of hexagons is nearest, as a ratio, to what so many records fill.

    There are never more hexagons than records: most of them would expect none.

    `shape` is in WGS 84 degrees, `records` known publicly; without them aim at USUAL hexagons. The records
    may not be counted: how many lie in an area of hexagons is public only once it is known which hexagons,
    and how many lie around it is never public.
    """
    wanted = USUAL if records is None else min(max(records / RECORDS_EACH, FEWEST), MOST)
    cells = [expected_cells(shape, resolution) for resolution in range(FINEST + 1)]
    most = records or math.inf
    filled = [resolution for resolution in range(FINEST + 1) if cells[resolution] <= most] or [0]
    best = min(filled, key=lambda resolution: abs(math.log(cells[resolution] / wanted)))
    return Proposal(best, cells[best], records)


def propose_resolution(settings: ReleaseSettings, records: int | None) -> Proposal:
    """Propose a resolution by the area of the settings alone.

    Raise `WorkflowError`, `DataError` or `GeoError` for an area that cannot be read.
    """
    return propose(region_of(settings).shape, records)
