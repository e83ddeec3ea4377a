"""Places for connections: a silent one gives way, one that asks keeps its own; uvicorn's real protocol."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http import auto

from pages.shared.server import sockets
from pages.shared.server.sockets import Held, bounded
from tests.finished import finished

ASKED = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


ended: list[str] = []


def entered(held: Held, *names: str, shared: bool = False) -> tuple[list[bool], list[str]]:
    """Whether each got a place ("address-number"), and who was ended for it."""
    ended.clear()
    taken = [
        held.enter(name.split("-")[0], name, partial(ended.append, name), shared=shared) for name in names
    ]
    return taken, [*ended]


def test_the_longest_silent_of_an_address_gives_way() -> None:
    held = Held(limit=10, of_one=2)
    assert entered(held, "a-1", "a-2", "b-1", "a-3", "a-4") == ([True] * 5, ["a-1", "a-2"])
    assert len(held) == 3


def test_who_asks_keeps_the_place_and_the_newcomer_is_refused() -> None:
    held = Held(limit=10, of_one=2)
    entered(held, "a-1", "a-2")
    held.speaks("a-1")
    assert entered(held, "a-3") == ([True], ["a-2"])
    held.speaks("a-3")
    assert entered(held, "a-4", "b-1") == ([False, True], [])
    held.silent("a-3", lambda: None)
    assert entered(held, "a-4") == ([True], [])  # a-3 is ended by what it said last
    held.leave("a-1")
    held.leave("a-4")
    assert entered(held, "a-5", "a-6") == ([True, True], [])
    assert len(held) == 3
    for name in ("a-5", "a-6", "b-1"):
        held.leave(name)
    assert (len(held), held._silent, held._of) == (0, {}, {})  # nothing is kept of who has left


def test_where_all_places_are_taken_the_largest_silent_crowd_gives_one() -> None:
    held = Held(limit=4, of_one=3)
    entered(held, "a-1", "b-1", "b-2", "b-3")
    assert entered(held, "c-1", "d-1") == ([True, True], ["b-1", "b-2"])
    for name in ("a-1", "b-3", "c-1", "d-1"):
        held.speaks(name)
    assert entered(held, "e-1") == ([False], [])
    assert len(held) == 4


def test_an_address_that_speaks_for_many_is_held_to_the_limit_of_all() -> None:
    held = Held(limit=4, of_one=2)
    assert entered(held, "a-1", "a-2", "a-3", "a-4", "a-5", shared=True) == ([True] * 5, ["a-1"])


@pytest.mark.parametrize(
    ("trusted", "address", "many"),
    [
        ("", "127.0.0.1", True),
        ("", "::1", True),
        ("", "192.0.2.1", False),
        ("*", "192.0.2.1", True),
        ("192.0.2.7, 192.0.2.1", "192.0.2.1", True),
        ("192.0.2.7", "192.0.2.1", False),
    ],
)
def test_proxies_speak_for_many(
    monkeypatch: pytest.MonkeyPatch, trusted: str, address: str, many: bool
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
    assert sockets.many_speak_through(address) is many


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer any request; "/wait" only after the end of its connection."""
    if scope["path"] == "/wait":
        scope["state"]["asked"].set()
        await receive()
        await receive()
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def _served(held: Held, told: Callable[[int, asyncio.Event], Any]) -> Any:
    """What `told` makes of a port on which uvicorn answers within the limits."""
    config = uvicorn.Config(_answer, lifespan="off", log_level="critical", timeout_keep_alive=600)
    config.load()
    state = uvicorn.Server(config).server_state
    protocol = bounded(auto.AutoHTTPProtocol, held)
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    server = await loop.create_server(
        lambda: protocol(config=config, server_state=state, app_state={"asked": asked}), "127.0.0.1", 0
    )
    try:
        return await told(server.sockets[0].getsockname()[1], asked)
    finally:
        server.close()


@pytest.mark.parametrize(
    "words",
    [b"", b"GET / HTTP/1.1\r\nHost:", ASKED, ASKED + b"GET / HTTP/1.1\r\n"],
    ids=["silent", "half a request", "between two requests", "half a second request"],
)
def test_a_silent_socket_is_ended(monkeypatch: pytest.MonkeyPatch, words: bytes) -> None:
    monkeypatch.setattr(sockets, "SILENT_SECONDS", 0.05)
    held = Held(9, 9)

    async def told(port: int, _asked: asyncio.Event) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(words)
        answer = b""
        try:
            while part := await reader.read(4096):
                answer += part
        except ConnectionResetError:
            pass
        writer.close()
        return answer

    answer = finished(_served(held, told))
    assert answer.startswith(b"HTTP/1.1 200 OK") is (ASKED in words)
    assert len(held) == 0


def test_a_request_may_take_its_time_and_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "SILENT_SECONDS", 0.02)
    held = Held(1, 1)

    async def told(port: int, asked: asyncio.Event) -> list[bool]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /wait HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await asked.wait()
        # A second one waits longer than silence may last, and is refused for want of a place.
        other, writing = await asyncio.open_connection("127.0.0.1", port)
        refused = False
        try:
            refused = await other.read(1) == b""
        except ConnectionResetError:
            refused = True
        for _ in range(5):
            await asyncio.sleep(0.01)
        writing.close()
        alive = not reader.at_eof() and len(held) == 1
        writer.close()
        return [refused, alive]

    assert finished(_served(held, told)) == [True, True]


def test_the_process_may_hold_as_many_files_as_it_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (1024, 3000))
    monkeypatch.setattr(resource, "setrlimit", lambda _what, limits: asked.append(limits))
    monkeypatch.setattr(auto, "AutoHTTPProtocol", auto.AutoHTTPProtocol)
    monkeypatch.setattr(sockets, "Held", lambda most, of_one: made.append((most, of_one)))
    sockets.bound()
    sockets.bound()  # a second start in one process bounds what is not bounded
    assert asked == [(3000, 3000)] * 2
    assert made == [(1500, 100)] * 2
    assert [kind.__name__ for kind in auto.AutoHTTPProtocol.__mro__].count("Bounded") == 1
