"""Releases under way on this server, by the token of who asked: a page loaded anew finds its own again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST = 1_000  # that are remembered: the oldest are forgotten first
BROKE_OFF = (
    "The release that you asked for did not complete. If it was charged, the charge stands until a person "
    "voids it on the Ledger screen."
)


@dataclass
class Asked:
    """A release that somebody asked for.

    Parameters
    ----------
    running
        Whether it is under way.
    release_id
        What was released, once it was.
    text
        Why nothing was, in one sentence.
    """

    running: bool = True
    release_id: str | None = None
    text: str = BROKE_OFF


_LOCK = threading.Lock()
_ASKED: dict[str, Asked] = {}


@contextmanager
def noted(token: str) -> Iterator[Asked]:
    """Remember a release from its beginning to its end, however that comes; the body says what came of it."""
    asked = Asked()
    with _LOCK:
        _ASKED.pop(token, None)
        _ASKED[token] = asked
        while len(_ASKED) > MOST:
            del _ASKED[next(iter(_ASKED))]
    try:
        yield asked
    finally:
        asked.running = False


def of(token: str) -> Asked | None:
    """The last release that was asked for with a token, None where there was none."""
    with _LOCK:
        return _ASKED.get(token)
