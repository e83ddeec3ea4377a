"""The charged part of a release: reserve, draw, stage, commit, put in place, and what breaks it off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hexcursion.bundle.writing.recovery import Pending, note_pending, read_note, recover
from hexcursion.bundle.writing.workplace import Workplace
from hexcursion.bundle.writing.write import BundlePaths, Staged, stage_bundle
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Charge, Ledger, LedgerError, Reservation
from hexcursion.ledger.unreleased import Unreleased, charge_stands
from hexcursion.record import Release


@contextmanager
def working_beside(target: Path, ledger: Ledger) -> Iterator[Workplace]:
    """A work folder beside a bundle's place, after what dead processes left there was finished or deleted.

    It is deleted at the end, unless it holds a bundle whose commit is in doubt or whose place is taken: that
    one is finished at the next start.
    """
    recover(target.parent, ledger.identity, ledger.committed)
    ledger.check_room()
    with Workplace.make(target) as work:
        try:
            yield work
        finally:
            if not waits(work.folder, ledger):
                work.remove()


def release_once(
    ledger: Ledger,
    charge: Charge,
    request: str,
    release_id: str,
    draw: Callable[[Reservation], Release],
    target: Path,
    work: Path,
) -> tuple[Release, BundlePaths]:
    """Charge, draw once, stage, commit, and only then put the bundle in its place.

    Parameters
    ----------
    charge, request
        As for `Ledger.reserve`.
    draw : callable
        Draws the private paths and makes the release that quotes the reservation's seal. Called once.
    target, work : Path
        The bundle's place, and a work folder beside it.

    Raises
    ------
    BudgetExceeded, NoBudget, RequestTaken
        Before anything was charged.
    Unreleased
        If it broke off after that: the charge stands, nothing lies in the bundle's place.
    """
    with charge_stands(ledger, charge, request) as reservation:
        reservation.begin_draw(target)
        release = draw(reservation)
        staged = stage_bundle(release, target, work, rehearsed=True)
        note_pending(work, Pending(release_id, target.name, staged.digest, ledger.identity))
        _commit(ledger, reservation, release_id, staged)
    try:
        return release, staged.place()
    except WorkflowError as error:
        raise Unreleased(
            reservation.number,
            f"The release was committed as entry {reservation.number}, but {error} It is put there by itself "
            "at the next start, once the place is free.",
        ) from error


def _commit(ledger: Ledger, reservation: Reservation, release_id: str, staged: Staged) -> None:
    """Commit; an error after the database had committed is none."""
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
        return True  # it cannot be asked now: the next start asks again
