"""Idle sessions: when each was last used, and which of them are due to be freed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

LEAVE_SECONDS = 120.0  # a closed tab is kept so long, for a reader whose network fails for a moment


@dataclass
class _Seen:
    heard: float
    left: float | None = None


class IdleSessions:
    """The sessions of this process and their last signs of life.

    Parameters
    ----------
    limit
        Seconds without a word from the browser after which a session with an open tab is freed.
    clock
        Seconds that only grow.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.leave = min(limit, LEAVE_SECONDS)
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    @property
    def every(self) -> float:
        """Seconds between two looks: a session is freed at most a quarter later than it is due."""
        return self.leave / 4.0

    def knows(self, session: str) -> bool:
        """Whether a session was heard of, and is not freed."""
        return session in self._seen

    def heard(self, session: str) -> None:
        """Note that the browser of a session said something."""
        self._seen[session] = _Seen(self._clock())

    def left(self, session: str) -> None:
        """Note that the connection of a session ended."""
        seen = self._seen.get(session)
        if seen is not None:
            seen.left = self._clock()

    def due(self) -> tuple[str, ...]:
        """The sessions to free now; they are forgotten here."""
        now = self._clock()
        due = tuple(
            session
            for session, seen in self._seen.items()
            if now - seen.heard >= self.limit or (seen.left is not None and now - seen.left >= self.leave)
        )
        for session in due:
            del self._seen[session]
        return due
