"""Start the Streamlit server as the operator wishes, watch its connections and free idle sessions."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
import time
import types
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import streamlit
from starlette.middleware import Middleware
from streamlit import config
from streamlit.starlette import App
from uvicorn.protocols.websockets import websockets_sansio_impl
from websockets.server import ServerProtocol

from geo import GeoError
from hexcursion.bundle.signature import SIGNERS_VARIABLE, operators_signers
from hexcursion.errors import WorkflowError
from pages.shared.server import access, middleware, sockets
from pages.shared.server.access_rules import HELP, VIEWER_ARGUMENT, Access, Locked, with_folder
from pages.shared.server.middleware import (
    Application,
    Gate,
    GzipScripts,
    Headers,
    Message,
    Receive,
    Scope,
    ScrubPaths,
    Send,
    security_headers,
)
from pages.shared.server.undocumented import (
    ForwardMsg,
    SessionState,
    bootstrap,
    clear_state,
    cli,
    close_session,
    session_of_script,
    session_state,
    use_navigation_only,
)
from pages.shared.server.upload_places import Places, bounds_of
from pages.shared.uploads import sweep_uploads

MEBIBYTE = 1 << 20
MOST_SAID = 1_000_000  # bytes of a message from a browser: a longer one is cut off as it comes
FRONT_PAGE = Path(streamlit.__file__).parent / "static" / "index.html"


def running() -> bool:
    """Whether the script is being run by a Streamlit server (or by its test harness) already."""
    return session_of_script() is not None


def start(script: str, arguments: list[str]) -> None:
    """Start the server and do not return; `--viewer` is passed on to the script, the rest to Streamlit.

    `SystemExit` with one sentence, before anything listens, where the operator's wishes are in doubt."""
    if {"-h", "--help"} & set(arguments):
        print(HELP)
        sys.exit(0)
    arguments = with_folder(arguments)
    ours = [argument for argument in arguments if argument == VIEWER_ARGUMENT]
    theirs = [argument for argument in arguments if argument != VIEWER_ARGUMENT]
    App(script)  # from now on Streamlit also looks for its settings in the script's folder
    flags, further = _flags(script, theirs)
    bootstrap.load_config_options(flags)
    sys.argv = [script, *ours, *further]
    _checked()
    sys.argv = ["streamlit", "run", str(Path(script).resolve()), *theirs, "--", *ours]
    cli.main()


def around(script: str) -> dict[str, Any]:
    """Return the middleware of the app in the server, as arguments of Streamlit's `App`, the same in `python
    app.py` and in `streamlit run app.py`. `SystemExit` like `start`."""
    granted = _checked()
    keep_little()
    sockets.bound()
    try:
        middleware.check_the_operators_basemap()
    except GeoError as error:
        sys.exit(f"Hexcursion does not start. {middleware.BASEMAP_VARIABLE}: {error}")
    try:
        operators_signers()
    except WorkflowError as error:
        sys.exit(f"Hexcursion does not start. {SIGNERS_VARIABLE}: {error}")
    # Until a script first calls `st.navigation`, Streamlit takes a folder `pages/` next to it for its older
    # page discovery and answers the first deep link after a start with "Page not found".
    use_navigation_only()
    config.set_option("server.allowedHosts", list(granted.hosts))  # what Streamlit itself checks
    websockets_sansio_impl.ServerProtocol = Brief  # type: ignore[attr-defined]
    connections = Connections(IdleSessions(60.0 * granted.idle_minutes))
    try:
        bounds = bounds_of(granted.mode, config.get_option("server.maxUploadSize") * MEBIBYTE)
    except Locked as error:
        sys.exit(f"Hexcursion does not start. {error}")

    @asynccontextmanager
    async def lifespan(_app: App) -> AsyncIterator[None]:
        sweep_uploads()
        print(f"Hexcursion is at http://{_shown()}:{config.get_option('server.port')}", flush=True)
        freeing = asyncio.create_task(connections.keep_freeing())
        try:
            yield
        finally:
            freeing.cancel()
            with suppress(asyncio.CancelledError):
                await freeing

    return {
        "lifespan": lifespan,
        "routes": [middleware.basemap_route()],
        "middleware": [
            Middleware(Headers, security_headers(FRONT_PAGE.read_bytes())),
            Middleware(Gate, granted.hosts, loopback_only=granted.mode == "curator" and granted.alone),
            Middleware(Watch, connections),
            Middleware(Places, bounds),
            Middleware(GzipScripts),
            Middleware(ScrubPaths, Path(script).resolve().parent),
        ],
    }


def _shown() -> str:
    """The server's address as a person types it."""
    address = config.get_option("server.address") or ""
    return "127.0.0.1" if address in ("", "0.0.0.0", "::") else f"[{address}]" if ":" in address else address


def _checked() -> Access:
    """The granted rights, or the end of the program with the reason."""
    try:
        return access.granted_at_start()
    except Locked as error:
        sys.exit(f"Hexcursion does not start. {error}")


def _flags(script: str, arguments: list[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The server's options as Streamlit's own command line reads them, and what it would hand on."""
    try:
        context = cli.main_run.make_context("app.py", [script, *arguments])
    except click.exceptions.Exit as done:  # after --help
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    flags = {name: value for name, value in context.params.items() if name not in ("target", "args")}
    return flags, tuple(context.params["args"])


LEAVE_SECONDS = 120.0  # a closed tab is kept so long, for a reader whose network fails for a moment


@dataclass
class _Seen:
    heard: float
    left: float | None = None


class IdleSessions:
    """The sessions of this process and their last signs of life; one with an open tab is freed `limit`
    seconds after the browser's last word."""

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
        visit = self._seen.get(session)
        if visit is not None:
            visit.left = self._clock()

    def due(self) -> tuple[str, ...]:
        """The sessions to free now; they are forgotten here."""
        now = self._clock()
        due = tuple(
            session
            for session, visit in self._seen.items()
            if now - visit.heard >= self.limit or (visit.left is not None and now - visit.left >= self.leave)
        )
        for session in due:
            del self._seen[session]
        return due


GOING_AWAY, TRY_AGAIN_LATER = 1001, 1013


class Brief(ServerProtocol):
    """A connection that takes short messages: Streamlit gathers 200 MB of each stranger's before it looks."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "max_size": MOST_SAID})


class Connections:
    """The open connections and the sessions they belong to; `free` frees a session by its id."""

    def __init__(self, idle: IdleSessions, free: Callable[[str], None] | None = None) -> None:
        self.idle = idle
        self._free = free or self._free_in_runtime
        self._ends: dict[str, asyncio.Event] = {}
        self._states: dict[str, SessionState] = {}
        self.held = sockets.Held(sockets.MOST_OPEN, sockets.MOST_OPEN_OF_ONE)

    def opened(self, session: str, end: asyncio.Event) -> None:
        """Note a connection; setting `end` ends it."""
        self._ends[session] = end
        self.idle.heard(session)
        state = session_state(session)
        if state is not None:
            self._states[session] = state

    def closed(self, session: str, end: asyncio.Event) -> None:
        """Note that a connection ended; a newer one of the same session stays."""
        if self._ends.get(session) is end:
            del self._ends[session]
            self.idle.left(session)

    async def keep_freeing(self) -> None:
        """Free due resources, for as long as the server runs.

        A tab that is still open loses its connection, connects again, and says that its content is gone."""
        while True:
            await asyncio.sleep(self.idle.every)
            for session in self.idle.due():
                self._free(session)
                end = self._ends.get(session)
                if end is not None:
                    end.set()

    def _free_in_runtime(self, session: str) -> None:
        close_session(session)
        state = self._states.pop(session, None)
        if state is not None:
            forget(state)


def forget(state: SessionState) -> None:
    """Let go of everything in a session's state: private records, results, uploads.

    Closing the session is not enough: Streamlit's loop remembers the last session it served, and the names
    of the last script that ran stay in `__main__` until another one runs."""
    clear_state(state)
    sys.modules["__main__"] = types.ModuleType("__main__")
    gc.collect()  # what refers to itself
    give_back()


class Watch:
    """ASGI middleware that tells `Connections` what happens."""

    def __init__(self, app: Application, connections: Connections) -> None:
        self.app = app
        self.connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on until either side ends it, or until it is to be freed."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        end = asyncio.Event()
        address = str((scope.get("client") or ("",))[0])  # of the reader, where a trusted proxy names it
        if not self.connections.held.enter(address, end, end.set):
            await receive()
            await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})  # uvicorn says HTTP 403 for it
            return
        try:
            await self._watch(end, scope, receive, send)
        finally:
            self.connections.held.leave(end)

    async def _watch(self, end: asyncio.Event, scope: Scope, receive: Receive, send: Send) -> None:
        # A browser that connects anew names its session; where nothing was going on, no run begins by that.
        protocols = scope.get("subprotocols") or ()
        session: str | None = next((name for name in protocols if self.connections.idle.knows(name)), None)
        has_asked = begun = over = False
        if session is not None:
            self.connections.opened(session, end)
            self.connections.held.speaks(end)

        def unheard() -> None:
            if session is None and not has_asked:  # nothing was asked for: the place is for another reader
                end.set()

        def unbegun() -> None:
            if session is None:
                end.set()

        later = asyncio.get_running_loop().call_later
        waited = (later(sockets.SILENT_SECONDS, unheard), later(LEAVE_SECONDS, unbegun))

        async def receiving() -> Message:
            nonlocal has_asked
            message = await _first(receive, end)
            if message["type"] == "websocket.receive":
                has_asked = True
                self.connections.held.speaks(end)
                if session is not None:
                    self.connections.idle.heard(session)
            return message

        async def sending(message: Message) -> None:
            nonlocal session, begun, over
            over = over or message["type"] == "websocket.close"
            first = session_of(message["bytes"]) if not begun and message.get("bytes") else None
            if first is not None:
                begun = True
                if session not in (None, first):  # what the browser named was gone already
                    self.connections.closed(session, end)
                session = first
                self.connections.opened(session, end)
            await send(message)

        try:
            await self.app(scope, receiving, sending)
        finally:
            for timer in waited:
                timer.cancel()
            if session is not None:
                self.connections.closed(session, end)
        if end.is_set() and not over:
            await send({"type": "websocket.close", "code": GOING_AWAY})


def session_of(payload: bytes) -> str | None:
    """The id of the session that a message to the browser begins, None for any other message."""
    message = ForwardMsg()
    message.ParseFromString(payload)
    if message.WhichOneof("type") != "new_session":
        return None
    return message.new_session.initialize.session_id or None


async def _first(receive: Receive, end: asyncio.Event) -> Message:
    """The next message from the browser, or the end of the connection if that comes first."""
    incoming = asyncio.ensure_future(receive())
    ending = asyncio.ensure_future(end.wait())
    try:
        await asyncio.wait({incoming, ending}, return_when=asyncio.FIRST_COMPLETED)
        if incoming.done():
            return incoming.result()
        return {"type": "websocket.disconnect", "code": GOING_AWAY}
    finally:
        for task in (incoming, ending):
            task.cancel()  # changes nothing for the one that is done


_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of mallopt(3)
ARENAS = 2
LARGE = 1 << 20  # bytes from which a block has its pages to itself and gives them back at once


def keep_little() -> None:
    """Let all threads share few heaps (glibc): every session has threads, each would have its own."""
    with suppress(AttributeError, OSError, TypeError):  # another C library may do as it likes
        library = ctypes.CDLL(None)
        library.mallopt(_ARENA_MAX, ARENAS)
        library.mallopt(_MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Give back empty pages of memory, after a session was forgotten."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
