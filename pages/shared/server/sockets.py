"""How many sockets one address and all of them together may hold, and when a silent one ends."""

from __future__ import annotations

import asyncio
import os
import resource
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http import auto

from pages.shared.server.access_rules import is_loopback

SILENT_SECONDS = 10.0  # a browser asks at once for what it wants
MOST_OPEN, MOST_OPEN_OF_ONE = 1_000, 200  # WebSockets: a tab has one
MOST_ASKING, MOST_ASKING_OF_ONE = 2_000, 100  # connections before they are WebSockets: a tab has six at most
MOST_FILES = 65_536
PROXIES = "FORWARDED_ALLOW_IPS"  # uvicorn's own: who may say for whom they ask


class Held:
    """Which connections each address holds.

    Where no place is left, a newcomer takes that of the longest silent connection: of its own address, or,
    where all places are taken, of the address with the most silent ones. Who asks for something keeps its
    place, so a crowd of silent sockets locks no reader out, not even one of the same address.

    Parameters
    ----------
    most, of_one
        connections at once, of all addresses together and of one
    """

    def __init__(self, limit: int, of_one: int) -> None:
        self._most, self._of_one = limit, of_one
        self._places: dict[Hashable, str] = {}
        self._of: Counter[str] = Counter()
        self._silent: dict[str, dict[Hashable, Callable[[], None]]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def enter(
        self, address: str, connection: Hashable, end: Callable[[], None], *, shared: bool = False
    ) -> bool:
        """Give a silent connection a place; False where nothing silent can be ended for it.

        `shared` says that an address speaks for many readers: the limit of one does not hold for it."""
        if not shared and self._of[address] >= self._of_one:
            crowd = address
        elif len(self._places) >= self._most:
            crowd = max(self._silent, key=lambda other: len(self._silent[other]), default=address)
        else:
            crowd = None
        if crowd is not None:
            oldest = next(iter(self._silent.get(crowd, {})), None)
            if oldest is None:
                return False
            stop = self._silent[crowd][oldest]
            self.leave(oldest)
            stop()
        self._places[connection] = address
        self._of[address] += 1
        self.silent(connection, end)
        return True

    def silent(self, connection: Hashable, end: Callable[[], None]) -> None:
        """Note that a connection asks for nothing; `end` ends it."""
        address = self._places.get(connection)
        if address is not None:
            self._silent.setdefault(address, {}).setdefault(connection, end)

    def speaks(self, connection: Hashable) -> None:
        """Note that a connection asks for something: it keeps its place."""
        address = self._places.get(connection)
        ends = self._silent.get(address, {}) if address is not None else {}
        ends.pop(connection, None)
        if address is not None and not ends:
            self._silent.pop(address, None)

    def leave(self, connection: Hashable) -> None:
        """Give the place back."""
        self.speaks(connection)
        address = self._places.pop(connection, None)
        if address is not None:
            self._of[address] -= 1
            if not self._of[address]:
                del self._of[address]


def many_speak_through(address: str) -> bool:
    """Whether a proxy asks from this address for its readers, whom it counts itself."""
    trusted = [name.strip() for name in os.environ.get(PROXIES, "").split(",")]
    return is_loopback(address) or "*" in trusted or address in trusted


def bounded(protocol: type[Any], places: Held) -> type[Any]:
    """Return uvicorn's HTTP protocol with the limits of `places`, and an end to silence.

    uvicorn waits for the first request of a connection, and for the rest of any, as long as it takes."""

    class Bounded(protocol):  # type: ignore[misc]
        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            address = str((transport.get_extra_info("peername") or ("",))[0])
            if places.enter(address, self, transport.abort, shared=many_speak_through(address)):
                self._look()
            else:
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self._let_go()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._look()

        def _look(self) -> None:
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                self._let_go()  # what became a WebSocket has its place there
            elif self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
                places.speaks(self)
            else:
                places.silent(self, self.transport.abort)
                if self._waiting is None:
                    self._waiting = self.loop.call_later(SILENT_SECONDS, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _let_go(self) -> None:
            self._stop_waiting()
            places.leave(self)

    return Bounded


def bound() -> None:
    """Let uvicorn bound its connections from the next server on, and let this process hold that many."""
    files = MOST_ASKING
    with suppress(ValueError, OSError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = max(soft, min(hard, MOST_FILES))
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    base = getattr(auto.AutoHTTPProtocol, "_unbounded", auto.AutoHTTPProtocol)
    places = Held(min(MOST_ASKING, files // 2), MOST_ASKING_OF_ONE)
    auto.AutoHTTPProtocol = bounded(base, places)
    auto.AutoHTTPProtocol._unbounded = base
