"""What is said of an estimate, and the refusal of what cannot fit into memory, with what would."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.numbers import significant
from hexcursion.errors import WorkflowError
from hexcursion.estimates.asked import asked_of, dense_priors
from hexcursion.estimates.machine import memory_limit, own_speed
from hexcursion.estimates.model import (
    Asked,
    Estimate,
    reading_estimate,
    release_estimate,
    search_estimate,
    study_estimate,
)
from hexcursion.project.model import Project
from hexcursion.project.record_store import is_kept
from hexcursion.project.simulated import QUICK_WORLDS, WORLDS
from hexcursion.settings.data_settings import SourceSettings

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


def duration(seconds: float) -> str:
    """A forecast in words, no finer than it can be.

    >>> duration(3), duration(44), duration(200), duration(9000)
    ('5 s', '40 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        step = 5 if seconds < 30 else 10
        return f"{max(step, round(seconds / step) * step):d} s"
    return f"{round(seconds / 60):d} min" if seconds < 5400 else f"{round(seconds / 1800) / 2:g} h"


def memory(megabytes: float) -> str:
    """Megabytes in words.

    >>> memory(512.3), memory(1234.0), memory(96_000.0)
    ('510 MB', '1.2 GB', '96 GB')
    """
    if megabytes < 995.0:
        return f"{significant(megabytes, 2)} MB"
    return f"{significant(megabytes / 1000.0, 2)} GB"


def expected(estimate: Estimate, processes: int = 1) -> str:
    """What a step takes where nothing else runs; shared out among so many processes."""
    each = f" in each of {processes} processes" if processes > 1 else ""
    return f"about {duration(estimate.seconds / processes)} and {memory(estimate.megabytes)} of memory{each}"


def expected_of(project: Project, processes: int = 1, *, alone: bool = False) -> str:
    """What search and release of a loaded project will take, as a sentence; `alone` as in `Asked`."""
    return expected_of_search(asked_of(project, alone), processes)


def expected_of_search(asked: Asked, processes: int = 1) -> str:
    """The same of what is known before anything is loaded."""
    search = search_estimate(asked, own_speed())
    release = release_estimate(asked.cells, own_speed())
    said = (
        f"Expected where nothing else runs: {expected(search, processes)} for the "
        f"{'simulated releases' if asked.fixed else 'search'}, {duration(release.seconds)} for the release."
    )
    if asked.fixed or search.seconds / processes < LONG:
        return said
    return " ".join([said, *filter(None, [_quicker(asked, search, processes)])])


def _quicker(asked: Asked, search: Estimate, processes: int) -> str:
    """What takes clearly less time than a search, as a sentence; "" where nothing does."""
    fields = asked.fields if asked.reference else max(1, asked.fields * QUICK_WORLDS // WORLDS)
    others = {"a quick search": replace(asked, quick=True, fields=fields)}
    for mechanism in MECHANISMS.values():
        if mechanism.quick and mechanism.name in asked.mechanisms:
            alone = replace(asked, mechanisms=(mechanism.name,))
            others[f"a search of {mechanism.title.lower()} alone"] = alone
    found = {
        name: search_estimate(each, own_speed()).seconds for name, each in others.items() if each != asked
    }
    parts = [
        f"{name} about {duration(seconds / processes)}"
        for name, seconds in found.items()
        if seconds <= CLEARLY * search.seconds
    ]
    return f"Quicker: {', '.join(parts)}." if parts else ""


def expected_release(project: Project) -> str | None:
    """What a release of a loaded project will take, as a sentence; None where it is not worth saying."""
    found = release_estimate(project.domain.size, own_speed())
    if found.seconds < WORTH_SAYING:
        return None
    return f"Expected where nothing else runs: {expected(found)} for the release."


def expected_study(name: str) -> str | None:
    """What the quick run of a study will take, as a sentence; None where that was not measured."""
    found = study_estimate(name, own_speed())
    return None if found is None else f"Expected where nothing else runs: {expected(found)}."


def expected_reading(*sources: SourceSettings) -> str | None:
    """What reading one source after the other will take, as a sentence; None where it is not worth saying."""
    each = [reading_estimate(_megabytes(source), own_speed()) for source in sources]
    found = Estimate(sum(one.seconds for one in each), max(one.megabytes for one in each))
    if found.seconds < WORTH_SAYING:
        return None
    first = " for the first time; a second look is quicker" if any(map(is_kept, sources)) else ""
    return f"Expected where nothing else runs: {expected(found)} for reading the data{first}."


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
