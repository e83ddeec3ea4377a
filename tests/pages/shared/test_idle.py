"""Idle sessions, by a clock that is set by hand: who is due, and that a due one is let go of."""

from __future__ import annotations

import asyncio
import sys
import types
import weakref
from collections.abc import MutableMapping
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.state import SessionState

from pages.shared.server import serve, sockets
from pages.shared.server.serve import Connections, IdleSessions, Watch, forget, session_of
from tests.finished import finished

Message = MutableMapping[str, Any]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    "story",
    [
        "0 heard a, 3599 due -, 3600 due a, 3600 due -",
        "0 heard a, 0 heard b, 3000 heard a, 3700 due b, 6600 due a",
        "0 heard a, 1000 left a, 1119 due -, 1120 due a",
        "0 heard a, 0 left a, 100 heard a, 3000 due -, 3000 left unknown, 9000 due a",
    ],
    ids=[
        "an open tab once after an hour",
        "every word anew",
        "a closed tab after 2 minutes",
        "who comes back",
    ],
)
def test_who_is_due_for_freeing(clock: Clock, story: str) -> None:
    idle = IdleSessions(3600.0, clock)
    for step in story.split(", "):
        at, what, session = step.split()
        clock.now = float(at)
        if what == "due":
            assert idle.due() == (() if session == "-" else (session,)), step
        else:
            getattr(idle, what)(session)


@pytest.mark.parametrize(("limit", "leave", "every"), [(3600.0, 120.0, 30.0), (8.0, 8.0, 2.0)])
def test_a_closed_tab_never_waits_longer_than_an_open_one(limit: float, leave: float, every: float) -> None:
    idle = IdleSessions(limit, lambda: 0.0)
    assert (idle.leave, idle.every) == (leave, every)


def beginning(session: str) -> bytes:
    message = ForwardMsg()
    message.new_session.initialize.session_id = session
    return message.SerializeToString()


def test_a_session_is_known_by_the_message_that_begins_it() -> None:
    other = ForwardMsg()
    other.delta.new_element.markdown.body = "words"
    assert session_of(beginning("s1")) == "s1"
    assert session_of(other.SerializeToString()) is None


async def _streamlit(scope: Message, receive: Any, send: Any) -> None:
    """As Streamlit's own handler does: begin a session, take messages until the connection ends."""
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "bytes": beginning("s1")})
    while (await receive())["type"] != "websocket.disconnect":
        pass


def test_a_due_session_is_freed_and_its_connection_ended(clock: Clock) -> None:
    async def tried() -> tuple[list[str], list[str]]:
        idle = IdleSessions(0.04, clock)  # the real pause between two looks is a quarter of it
        freed: list[str] = []
        sent: list[str] = []
        connections = Connections(idle, freed.append)
        silent: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

        async def receive() -> Message:
            return await asyncio.shield(silent)

        async def send(message: Message) -> None:
            sent.append(message["type"])

        freeing = asyncio.create_task(connections.keep_freeing())
        connection = asyncio.create_task(Watch(_streamlit, connections)({"type": "websocket"}, receive, send))
        while "websocket.send" not in sent:
            await asyncio.sleep(0)
        assert freed == []
        clock.now = 0.04
        await connection
        freeing.cancel()
        return freed, sent

    freed, sent = finished(tried())
    assert freed == ["s1"]
    assert sent == ["websocket.accept", "websocket.send", "websocket.close"]


def test_what_a_session_held_is_let_go_of_although_somebody_remembers_the_session() -> None:
    class Records:
        """Something private."""

    state = SessionState()
    records = Records()
    state["work"] = records
    main = types.ModuleType("__main__")
    main.work = records  # type: ignore[attr-defined]
    before = sys.modules["__main__"]
    sys.modules["__main__"] = main
    gone = weakref.ref(records)
    del main, records
    try:
        forget(state)
        assert gone() is None
        assert "work" not in state
    finally:
        sys.modules["__main__"] = before


def test_a_connection_that_the_reader_ends_leaves_the_session_for_a_while(clock: Clock) -> None:
    async def tried(idle: IdleSessions) -> list[str]:
        sent: list[str] = []
        words = [{"type": "websocket.receive"}, {"type": "websocket.disconnect"}]

        async def receive() -> Message:
            clock.now += 10.0
            return words.pop(0)

        async def send(message: Message) -> None:
            sent.append(message["type"])

        await Watch(_streamlit, Connections(idle))({"type": "websocket"}, receive, send)
        return sent

    idle = IdleSessions(3600.0, clock)
    assert finished(tried(idle)) == ["websocket.accept", "websocket.send"]  # nothing is closed twice
    clock.now = 20.0 + 119.0
    assert idle.due() == ()
    clock.now = 20.0 + 120.0
    assert idle.due() == ("s1",)


async def _resumed(scope: Message, receive: Any, send: Any) -> None:
    """As Streamlit does where a browser connects anew and no run is due: nothing is said."""
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        pass


@pytest.mark.parametrize(
    ("app", "due"), [(_resumed, "s0"), (_streamlit, "s1")], ids=["resumed", "begun anew"]
)
def test_who_connects_anew_and_only_reads_keeps_the_session(clock: Clock, app: Any, due: str) -> None:
    idle = IdleSessions(3600.0, clock)
    idle.heard("s0")
    idle.left("s0")
    words = [{"type": "websocket.disconnect"}]
    seen: list[tuple[str, ...]] = []

    async def receive() -> Message:
        clock.now = 300.0  # long after the first connection ended
        seen.append(idle.due())
        return words.pop(0)

    async def send(message: Message) -> None:
        pass

    scope = {"type": "websocket", "subprotocols": ["streamlit", "token", "s0"]}
    clock.now = 100.0
    finished(Watch(app, Connections(idle))(scope, receive, send))
    assert seen == [() if due == "s0" else ("s0",)]
    clock.now = 300.0 + 120.0
    assert idle.due() == (due,)


def test_more_connections_than_a_server_holds_are_refused_until_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "MOST_OPEN", 2)
    connections = Connections(IdleSessions(3600.0))

    async def tried() -> list[list[str]]:
        ends = [asyncio.Event() for _ in range(4)]
        heard: list[list[str]] = [[] for _ in ends]

        async def connect(number: int) -> None:
            words = [{"type": "websocket.receive"}]

            async def receive() -> Message:
                if words:
                    return words.pop()
                await ends[number].wait()
                return {"type": "websocket.disconnect"}

            async def send(message: Message) -> None:
                heard[number].append(f"{message['type']} {message.get('code', '')}".strip())

            await Watch(_resumed, connections)({"type": "websocket"}, receive, send)

        first, second = (asyncio.create_task(connect(number)) for number in (0, 1))
        for _ in range(20):
            await asyncio.sleep(0)
        ends[2].set()
        await connect(2)
        ends[0].set()
        await first
        ends[3].set()
        await connect(3)
        ends[1].set()
        await second
        return heard

    accepted = ["websocket.accept"]
    assert finished(tried()) == [accepted, accepted, ["websocket.close 1013"], accepted]


@pytest.mark.parametrize(
    ("app", "session", "limit", "said", "ended"),
    [
        (_resumed, None, "SILENT_SECONDS", False, True),
        (_resumed, None, "SILENT_SECONDS", True, False),
        (_resumed, None, "LEAVE_SECONDS", True, True),
        (_resumed, "s0", "LEAVE_SECONDS", False, False),
        (_streamlit, None, "LEAVE_SECONDS", False, False),
    ],
    ids=["silent", "asks", "asks for nothing", "resumed", "begun"],
)
def test_a_connection_that_never_begins_a_session_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch, app: Any, session: str | None, limit: str, said: bool, ended: bool
) -> None:
    wait = 0.2 if said and not ended else 0.0  # time to ask in
    monkeypatch.setattr(serve if limit == "LEAVE_SECONDS" else sockets, limit, wait)
    idle = IdleSessions(3600.0)
    if session is not None:
        idle.heard(session)
    connections = Connections(idle)
    counts: list[int] = []

    async def tried() -> list[str]:
        gone = asyncio.Event()
        heard: list[str] = []
        words = [{"type": "websocket.receive"}] if said else []

        async def receive() -> Message:
            if words:
                return words.pop()
            await gone.wait()
            return {"type": "websocket.disconnect"}

        async def send(message: Message) -> None:
            heard.append(f"{message['type']} {message.get('code', '')}".strip())

        scope = {"type": "websocket", "subprotocols": [session] if session else []}
        connection = asyncio.create_task(Watch(app, connections)(scope, receive, send))
        for _ in range(20):
            await asyncio.sleep(wait / 10)
        counts.append(len(connections.held))
        gone.set()
        await connection
        return heard

    assert (finished(tried())[-1] == "websocket.close 1001") is ended
    assert counts == [0 if ended else 1]


def test_the_server_asks_for_two_heaps_and_gives_back_blocks_of_a_mebibyte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    library = types.SimpleNamespace(
        mallopt=lambda *words: asked.append(words), malloc_trim=lambda rest: asked.append((rest,))
    )
    monkeypatch.setattr(serve.ctypes, "CDLL", lambda name: library)
    serve.keep_little()
    serve.give_back()
    assert asked == [(-8, 2), (-3, 1_048_576), (0,)]
