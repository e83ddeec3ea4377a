"""The trial draw, and the charged part: reserve, draw, stage, commit, put in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Reading
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import Drawn, Prepared, PublicFacts, Ready, Released, draw_release
from hexcursion.bundle.workplace import Workplace
from hexcursion.bundle.write import (
    BundlePaths,
    Pending,
    Staged,
    note_pending,
    read_note,
    recover,
    stage_bundle,
)
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Charge, Ledger, LedgerError, Reservation
from hexcursion.ledger.errors import Unreleased
from hexcursion.ledger.ledger import charge_stands, standing_text
from hexcursion.record import AnyRelease

SEED = 20260618


def prepare_draw(design: Design, facts: PublicFacts, records: CollapsedRecords) -> Prepared:
    """Do every factorisation of the draw; raise `WorkflowError` if the design cannot be drawn."""
    try:
        return mechanism_of(design).prepare(design, facts, records)
    except (ValueError, ArithmeticError) as error:
        raise _impossible(error) from error


def try_draw(prepared: Ready[Drawn]) -> Drawn:
    """Make a trial draw of a release's size, so that a failure (`WorkflowError`) costs no charge.

    The noise is repeatable, so the trial is as private as the records. It stays in memory.
    """
    try:
        return draw_release(prepared, SimulationEntropy(SEED), simulation=True)
    except (ValueError, ArithmeticError) as error:
        raise _impossible(error) from error


def read_release(
    design: Design, facts: PublicFacts, records: CollapsedRecords, released: Released, *, trial: bool = False
) -> Reading | None:
    """Return the field given the release, for a mechanism whose paths are no draws of it; free.

    A `trial` is read before a charge, with repeatable noise, and raises `WorkflowError`; later
    errors pass.
    """
    entropy = SimulationEntropy(SEED + 1) if trial else SystemEntropy()
    try:
        return questions.read(design, facts, records, released.paths, entropy)
    except (ValueError, ArithmeticError) as error:
        if trial:
            raise _impossible(error) from error
        raise


def _impossible(error: Exception) -> WorkflowError:
    return WorkflowError(
        f"This design cannot be drawn ({str(error).rstrip('.')}): nothing was charged. Choose another range, "
        "ridge or prior."
    )


@contextmanager
def working_beside(target: Path, ledger: Ledger) -> Iterator[Workplace]:
    """Make a work folder next to a bundle's place, after finishing or deleting the folders that
    dead processes left there.

    It is deleted at the end, unless it holds a bundle whose commit is in doubt or whose place is
    taken: the next start finishes such a bundle.
    """
    recover(target.parent, ledger.identity, ledger.committed)
    ledger.check_room()
    with Workplace.make(target) as work:
        try:
            yield work
        finally:
            if not waits(work.folder, ledger):
                work.remove()


class Stamp(NamedTuple):
    """The marks of one release: its id, its date and time, and its entry in the ledger."""

    release_id: str
    created: str
    seal: str


class Order(NamedTuple):
    """A release that is asked for: its charge, the name of the request, its id, and its bundle's place."""

    charge: Charge
    request: str
    release_id: str
    target: Path


def release_once(
    ledger: Ledger,
    order: Order,
    draw: Callable[[Reservation], AnyRelease],
    work: Path,
    facts: PublicFacts | None = None,
) -> tuple[AnyRelease, BundlePaths]:
    """Charge, call `draw` once, stage, commit, and only then put the bundle in its place.

    `draw` makes the release that quotes the reservation's seal; `work` is a folder next to
    the bundle's place; `facts` are the plan's, whose work on the domain is used again. Raise
    `BudgetExceeded`, `NoBudget`, `RequestTaken` before any charge; `Unreleased` after it, when the
    charge remains and the bundle's place is empty.
    """
    release_id, target = order.release_id, order.target
    with charge_stands(ledger, order.charge, order.request) as reservation:
        reservation.begin_draw(target)
        release = draw(reservation)
        staged = stage_bundle(release, target, work, facts, rehearsed=True)
        note_pending(work, Pending(release_id, target.name, staged.digest, ledger.identity))
        _commit(ledger, reservation, release_id, staged)
    try:
        return release, staged.place()
    except KeyboardInterrupt as stop:
        waiting = (work / target.name).exists()
        note = standing_text(reservation.number, stop, ledger) if waiting else _placed(release_id, target)
        stop.add_note(note)
        raise
    except WorkflowError as error:
        raise Unreleased(
            reservation.number,
            f"The release was committed as entry {reservation.number}, but {error} It is put there by itself "
            "at the next start, once the place is free.",
        ) from error


@contextmanager
def told_that_it_stands(release_id: str, folder: Path) -> Iterator[None]:
    """Note on an interrupt that the release was made and charged."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(_placed(release_id, folder))
        raise


def _placed(release_id: str, folder: Path) -> str:
    return f"The release {release_id} is charged; its bundle is in {folder}."


def _commit(ledger: Ledger, reservation: Reservation, release_id: str, staged: Staged) -> None:
    """Commit; ignore an error that came after the database had committed."""
    try:
        reservation.commit(release_id, staged.digest)
    except Exception:
        if ledger.committed().get(release_id) != staged.digest:
            raise


def waits(work: Path, ledger: Ledger) -> bool:
    """Whether a work folder holds a bundle that was committed, or may have been."""
    pending = read_note(work)
    if pending is None or not (work / pending.name).exists():
        return False
    try:
        return ledger.committed().get(pending.release_id) == pending.digest
    except LedgerError:
        return True  # the ledger cannot be read now: the next start tries again
