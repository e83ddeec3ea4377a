"""A line of computations: a few at once, first come first served, in turn by the places they come from."""

from __future__ import annotations

import os
import threading
from collections import Counter
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
    """One computation in the line: whose it is, None for nobody's in particular; and the address it comes
    from, or a substitute for it."""

    owner: Hashable
    crowd: Hashable


class Turns:
    """A line of computations, `at_once` of them at a time; nobody has two turns at once. First come, first
    served among crowds: the second of one address begins after the first of every other, so that many
    visits from one address hold up no readers at others."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._running: list[_Ticket] = []
        self._turn = 0
        self._latest: dict[Hashable, int] = {}  # crowd -> its latest turn, while it is in the line

    @contextmanager
    def turn(self, owner: Hashable, tell: Callable[[str], None], crowd: Hashable = None) -> Iterator[None]:
        """Wait for a turn of `owner` and hold it; `tell` hears why it waits, and what it raises ends the
        waiting. `crowd`: the address the owner comes from; without it each owner is a crowd."""
        mine = _Ticket(owner, owner if crowd is None else crowd)
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
                if mine.crowd not in {ticket.crowd for ticket in (*self._waiting, *self._running)}:
                    self._latest.pop(mine.crowd, None)
                self._changed.notify_all()

    def _begin(self, mine: _Ticket) -> str | None:
        """Go from waiting to running if it is this one's turn; otherwise why not, in words."""
        with self._changed:
            if self._has_turn(mine):
                return "Waiting for another computation of yours to end"
            able = [ticket for ticket in self._waiting if not self._has_turn(ticket)]
            line = self._in_turn(_first_of_each(able))
            ahead = line.index(mine) if mine in line else None
            if ahead is None:
                return "Waiting for another computation of yours to begin"
            free = self.at_once - len(self._running)
            if ahead < free:
                self._waiting.remove(mine)
                self._running.append(mine)
                self._turn += 1
                self._latest[mine.crowd] = self._turn
                return None
            count = ahead - max(free, 0)
            if count == 0:
                return "Waiting for a computation of somebody else to end; yours is next"
            return f"Waiting for computations of others to end; {plural(count, 'computation')} before yours"

    def _in_turn(self, tickets: list[_Ticket]) -> list[_Ticket]:
        """Order as they will begin: a crowd's second after the first of every other crowd."""
        rounds: Counter[Hashable] = Counter()
        keys = {}
        for place, ticket in enumerate(tickets):
            keys[id(ticket)] = (rounds[ticket.crowd], self._latest.get(ticket.crowd, 0), place)
            rounds[ticket.crowd] += 1
        return sorted(tickets, key=lambda ticket: keys[id(ticket)])

    def _has_turn(self, ticket: _Ticket) -> bool:
        return ticket.owner is not None and any(active.owner == ticket.owner for active in self._running)


def _first_of_each(tickets: list[_Ticket]) -> list[_Ticket]:
    """Of each owner's tickets the first; all of nobody's."""
    owners: set[Hashable] = set()
    first = []
    for ticket in tickets:
        if ticket.owner is None or ticket.owner not in owners:
            first.append(ticket)
            owners.add(ticket.owner)
    return first


def at_once(cores: int, workers: int) -> int:
    """Return how many computations run at once: as the environment says, otherwise as the cores can do.

    `WorkflowError` where the environment says something else than a whole number above 0."""
    value = os.environ.get(VARIABLE, "").strip()
    if not value:
        return max(1, cores // workers)
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise WorkflowError(f"{VARIABLE} is a whole number of computations, at least 1, not {value[:20]!r}.")
    return int(value)
