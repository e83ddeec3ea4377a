"""Turns: how many long computations a server does at once, one of a session, the others in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hexcursion.errors import WorkflowError
from hexcursion.words import plural

VARIABLE = "HEXCURSION_AT_ONCE"
"""Environment variable: how many computations run at once; as many as the cores can do without it."""

LOOKS = 0.2
"""Seconds between two looks at whether it is one's turn, or the person has cancelled."""


@dataclass(eq=False)
class _Ticket:
    """One computation in the line: whose it is; None for nobody's in particular."""

    owner: Hashable


class Turns:
    """A line of computations: first come, first served, but nobody has two turns at once.

    Parameters
    ----------
    at_once
        How many run at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._running: list[_Ticket] = []

    @contextmanager
    def turn(self, owner: Hashable, tell: Callable[[str], None]) -> Iterator[None]:
        """Wait for a turn and hold it.

        Parameters
        ----------
        owner
            Whose computation it is.
        tell
            Told again and again why it waits; what it raises takes the computation out of the line.
        """
        mine = _Ticket(owner)
        with self._changed:
            self._waiting.append(mine)
        try:
            while (why := self._begin(mine)) is not None:
                tell(why)
                with self._changed:
                    self._changed.wait(LOOKS)
            yield
        finally:
            with self._changed:
                for line in (self._waiting, self._running):
                    if mine in line:
                        line.remove(mine)
                self._changed.notify_all()

    def _begin(self, mine: _Ticket) -> str | None:
        """Go from waiting to running if it is this one's turn; otherwise why not, in words."""
        with self._changed:
            if self._has_turn(mine):
                return "Waiting for another computation of yours to end"
            able = [each for each in self._waiting if not self._has_turn(each)]
            ahead = _first_of_each(able).index(mine) if mine in _first_of_each(able) else None
            if ahead is None:
                return "Waiting for another computation of yours to begin"
            free = self.at_once - len(self._running)
            if ahead < free:
                self._waiting.remove(mine)
                self._running.append(mine)
                return None
            before = ahead - max(free, 0)
            if before == 0:
                return "Waiting for a computation of somebody else to end; yours is next"
            return f"Waiting for computations of others to end; {plural(before, 'computation')} before yours"

    def _has_turn(self, ticket: _Ticket) -> bool:
        return ticket.owner is not None and any(each.owner == ticket.owner for each in self._running)


def _first_of_each(tickets: list[_Ticket]) -> list[_Ticket]:
    """Of each owner's tickets the first; all of nobody's."""
    seen: set[Hashable] = set()
    first = []
    for each in tickets:
        if each.owner is None or each.owner not in seen:
            first.append(each)
            seen.add(each.owner)
    return first


def at_once(cores: int, workers: int) -> int:
    """How many computations run at once: as the environment says, otherwise as the cores can do.

    Parameters
    ----------
    cores
        Of this machine.
    workers
        Processes of one search.

    Raises
    ------
    WorkflowError
        Where the environment says something else than a whole number above 0.
    """
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return max(1, cores // workers)
    if not said.isascii() or not said.isdigit() or int(said) < 1:
        raise WorkflowError(f"{VARIABLE} is a whole number of computations, at least 1, not {said[:20]!r}.")
    return int(said)
