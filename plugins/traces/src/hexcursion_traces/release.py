"""The release of a trace: charged, drawn once from system entropy, put in place whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.noise import Entropy, SystemEntropy, random_name
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger
from hexcursion.ledger.book import TraceMarks
from hexcursion.ledger.ledger import charge_trace, check_trace, trace_marks
from hexcursion.ledger.places import HOME_VARIABLE
from hexcursion.new_place import new_place
from hexcursion_traces.exports import FILES, ReleasedTrace, geojson_text, gpx_text, places_text
from hexcursion_traces.mathematics.posterior import estimate
from hexcursion_traces.plan import TracePlan, degrees
from hexcursion_traces.statement import public_facts, statement, stop_large_odds

_TOGETHER = 1500  # records up to which every estimate uses all records


@dataclass(frozen=True, eq=False)
class PublishedTrace:
    """A released trace, its statement as plain JSON, and the text of every file, by name."""

    released: ReleasedTrace
    statement: dict[str, Any]
    files: dict[str, str]


def marks_of(plan: TracePlan, ledger: Ledger) -> TraceMarks:
    """The ledger's keyed marks of all recorded places and times."""
    recorded = plan.recorded
    return trace_marks(ledger, recorded.time, recorded.longitude, recorded.latitude)


def check_release(plan: TracePlan, ledger: Ledger) -> None:
    """Raise LedgerError if some of the records were released before; write nothing."""
    check_trace(ledger, marks_of(plan, ledger))


def release_trace(
    plan: TracePlan,
    ledger: Ledger,
    session: str = "",
    *,
    out: Path | None = None,
    shelf: Path | None = None,
) -> PublishedTrace:
    """Charge and draw a trace's release, once.

    `session` identifies the work on one plan, so that a second click is no second release. `out` is a
    new folder for the files; without it `shelf` is the parent of a new folder with the release's id.
    Raise `LedgerError` or `RequestTaken` before any charge; `WorkflowError` for large odds that the
    curator did not accept, and for a folder that exists or cannot be written, before any charge; for a
    failure after the charge, with the entry's number."""
    stop_large_odds(plan)
    ledger.check_room()
    release_id = random_name()
    if out is None and shelf is not None:
        out = _made(shelf) / release_id
    work = None if out is None else _work_folder(out)
    try:
        marks = marks_of(plan, ledger)
        request = ledger.request("trace", session or release_id, *marks)
        entry = charge_trace(ledger, marks, {**public_facts(plan), "release_id": release_id}, request)
        try:
            published = _drawn(plan, release_id, ledger.seal(entry), SystemEntropy())
            if work is not None and out is not None:
                for name, text in published.files.items():
                    (work / name).write_text(text, encoding="utf-8")
                os.rename(work, out)
        except Exception as error:
            raise WorkflowError(
                f"The release broke off after it was charged as entry {entry.number} "
                f"({str(error).rstrip('.')}): the entry remains, and nothing was published."
            ) from error
        return published
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)


def _made(shelf: Path) -> Path:
    try:
        shelf.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkflowError(
            f"The folder {shelf} for released trips cannot be made ({error.strerror}): name another home by "
            f"{HOME_VARIABLE}."
        ) from None
    return shelf


def _work_folder(out: Path) -> Path:
    new_place(out)
    try:
        return Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.absolute().parent))
    except OSError as error:
        raise WorkflowError(
            f"The folder for {out.name} cannot be written: {error.strerror or 'choose another place'}."
        ) from None


def _drawn(plan: TracePlan, release_id: str, seal: str, entropy: Entropy) -> PublishedTrace:
    noisy = plan.places + plan.noise.draw(entropy).T
    lon, lat = degrees(plan, noisy)
    released = ReleasedTrace(release_id, plan.trace.time, lon, lat, np.sqrt(plan.noise.variance))
    facts = statement(plan, release_id, seal)
    places, deviation = estimated_places(plan, noisy)
    texts = (
        gpx_text(released),
        geojson_text(released, facts),
        places_text(released, *degrees(plan, places), deviation),
        json.dumps(facts, indent=2, ensure_ascii=False) + "\n",
    )
    return PublishedTrace(released, facts, dict(zip(FILES, texts, strict=True)))


def estimated_places(
    plan: TracePlan, noisy: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate places (n, 2) and deviations (n,) from their noisy release (n, 2), metres of the plan's
    projection, under the stated prior; nothing private is read. Beyond 1,500 records by the noise of the
    record alone."""
    if plan.trace.size > _TOGETHER:
        return noisy, np.sqrt(plan.noise.variance)
    covariance, noise = plan.settings.prior.covariance(plan.times), plan.noise.dense()
    axes = [estimate(noisy[:, axis], covariance, noise) for axis in (0, 1)]
    deviation = np.sqrt(np.maximum(np.diag(axes[0].covariance), 0.0))
    return np.column_stack([axis.mean for axis in axes]), deviation
