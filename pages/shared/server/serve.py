"""Serving: check the operator's wishes, then start the Streamlit server on the app's script.

Around it stand the headers of every answer, and what keeps the places of files out of what is said.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import click
import streamlit
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.starlette import App
from streamlit.web import bootstrap, cli

from geo import GeoError
from geo.maps.layers import BASEMAP_HOST
from hexcursion.bundle.page.html import series_script_text
from hexcursion.bundle.signing.signature import SIGNERS_VARIABLE, operators_signers
from hexcursion.errors import WorkflowError
from pages.shared.server import access, basemap_files
from pages.shared.server.access_rules import VIEWER_ARGUMENT, Access, Locked
from pages.shared.server.gate import Application, Gate, Message, Receive, Scope, Send
from pages.shared.server.places import Places, bounds_of
from pages.shared.server.watch import Connections, IdleSessions, Watch, keep_little
from pages.shared.uploads import sweep_uploads

MEBIBYTE = 1 << 20
PACKED = (".js", ".css")
FRONT_PAGE = Path(streamlit.__file__).parent / "static" / "index.html"


def running() -> bool:
    """Whether the script is being run by a Streamlit server (or by its test harness) already."""
    return get_script_run_ctx(suppress_warning=True) is not None


def start(script: str, arguments: list[str]) -> None:
    """Start the server and do not return; `--viewer` is passed on to the script, the rest to Streamlit.

    Raises
    ------
    SystemExit
        With one sentence, before anything listens, where the operator's wishes are in doubt.
    """
    ours = [argument for argument in arguments if argument == VIEWER_ARGUMENT]
    theirs = [argument for argument in arguments if argument != VIEWER_ARGUMENT]
    App(script)  # from now on Streamlit looks for its settings beside the script, too
    flags, further = _flags(script, theirs)
    bootstrap.load_config_options(flags)
    sys.argv = [script, *ours, *further]
    _checked()
    sys.argv = ["streamlit", "run", str(Path(script).resolve()), *theirs, "--", *ours]
    cli.main()


def around(script: str) -> dict[str, Any]:
    """What stands around the app in the server, as arguments of Streamlit's `App`.

    The same in `python app.py` and in `streamlit run app.py`: the gate, the headers, what is left unsaid,
    and the watch that frees idle sessions. Raises `SystemExit` like `start`.
    """
    granted = _checked()
    keep_little()
    try:
        basemap_files.check_the_operators()
    except GeoError as error:
        sys.exit(f"Hexcursion does not start. {basemap_files.VARIABLE}: {error}")
    try:
        operators_signers()
    except WorkflowError as error:
        sys.exit(f"Hexcursion does not start. {SIGNERS_VARIABLE}: {error}")
    # Until a script first calls `st.navigation`, Streamlit takes a folder `pages/` beside it for its older
    # page discovery and answers the first deep link after a start with "Page not found".
    PagesManager.uses_pages_directory = False
    config.set_option("server.allowedHosts", list(granted.hosts))  # what Streamlit itself checks
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
        "routes": [basemap_files.route()],
        "middleware": [
            Middleware(Headers, security_headers(FRONT_PAGE.read_bytes())),
            Middleware(Gate, granted.hosts, loopback_only=granted.mode == "curator" and granted.alone),
            Middleware(Watch, connections),
            Middleware(Places, bounds),
            Middleware(Packed),
            Middleware(Unsaid, Path(script).resolve().parent),
        ],
    }


def _shown() -> str:
    """The server's address as a person types it."""
    address = config.get_option("server.address") or ""
    return "127.0.0.1" if address in ("", "0.0.0.0", "::") else f"[{address}]" if ":" in address else address


def _checked() -> Access:
    """What was granted, or the end of the program with the reason."""
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


class Packed:
    """Middleware: scripts and styles leave compressed, at a third; Streamlit packs other answers."""

    def __init__(self, app: Application) -> None:
        self._plain = app
        self._packed = GZipMiddleware(app, minimum_size=1024, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        packs = scope["type"] == "http" and str(scope["path"]).endswith(PACKED)
        await (self._packed if packs else self._plain)(scope, receive, send)


BROKEN = "This page could not be read; the server's log says why."


def without_place(payload: bytes, folder: bytes) -> bytes:
    """A message to the browser without the script's place.

    Parameters
    ----------
    payload
        A serialised `ForwardMsg`; Streamlit puts the script's absolute path into every new run, and the
        traceback into what it says about a page that does not compile.
    folder
        The script's folder, in UTF-8.

    Returns
    -------
    bytes
        The same bytes where the folder does not occur. Other messages are left alone: a curator's own
        screens may well name a file of this machine.
    """
    if folder not in payload:
        return payload
    message = ForwardMsg()
    message.ParseFromString(payload)
    kind = message.WhichOneof("type")
    if kind == "new_session":
        session = message.new_session
        session.main_script_path = Path(session.main_script_path).name
    elif kind == "session_event":
        failed = message.session_event.script_compilation_exception
        failed.message, failed.stack_trace[:] = BROKEN, []
    else:
        return payload
    return bytes(message.SerializeToString())


class Unsaid:
    """ASGI middleware that takes the script's place out of what is sent to browsers."""

    def __init__(self, app: Application, folder: Path) -> None:
        self.app = app
        self.folder = str(folder).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, with its messages cleaned."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            payload = message.get("bytes")
            if message["type"] == "websocket.send" and payload is not None:
                message = {**message, "bytes": without_place(payload, self.folder)}
            await send(message)

        await self.app(scope, receive, sending)


_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_BASEMAP = f"https://{BASEMAP_HOST} https://*.{BASEMAP_HOST}"


def security_policy(front_page: bytes) -> str:
    """The Content-Security-Policy of every page.

    Parameters
    ----------
    front_page
        The HTML that Streamlit serves; its inline scripts are allowed by their hashes, and so is that of the
        page of a series, which the viewer shows in a frame of its own.

    Notes
    -----
    `connect-src` and `img-src` are what keeps a page from telling others anything: this app, and the host
    of the street map, which is asked only when a reader switches streets on. Tables are decoded
    by WebAssembly and small components are loaded as blobs, hence 'wasm-unsafe-eval' and blob: for scripts;
    Streamlit styles its elements inline. Nobody may frame the app: a click on Release could be stolen.
    """
    ours = [*_INLINE.findall(front_page), series_script_text().encode()]
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in ours)
    rules = {
        "default-src": "'self'",
        "script-src": f"'self' 'wasm-unsafe-eval' blob: {hashes}".strip(),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": f"'self' data: blob: {_BASEMAP}",
        "font-src": "'self' data:",
        "connect-src": f"'self' data: blob: {_BASEMAP}",
        "worker-src": "'self' blob:",
        "frame-src": "'self' data:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def security_headers(front_page: bytes) -> dict[str, str]:
    """The headers that every answer carries, by name in lower case."""
    return {
        "content-security-policy": security_policy(front_page),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }


class Headers:
    """ASGI middleware that adds the headers, and marks cookies as secure where the reader came by https."""

    def __init__(self, app: Application, headers: dict[str, str]) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        secure = scope.get("scheme") == "https"
        # Streamlit lets pages of any origin read the app's static files; nobody's page needs to.
        dropped = {name for name, _ in self.headers} | {b"access-control-allow-origin"}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [
                    (key, value) for key, value in message.get("headers", ()) if key.lower() not in dropped
                ]
                given = [(key, _secured(key, value) if secure else value) for key, value in given]
                message = {**message, "headers": [*given, *self.headers]}
            await send(message)

        await self.app(scope, receive, sending)


def _secured(key: bytes, value: bytes) -> bytes:
    if key.lower() != b"set-cookie" or b"; secure" in value.lower():
        return value
    return value + b"; Secure"


def _digest(script: bytes) -> str:
    return base64.b64encode(hashlib.sha256(script).digest()).decode()
