"""Middleware of the app: it refuses foreign requests, adds headers to answers and serves basemaps."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse
from starlette.routing import Route
from streamlit import config

from geo.basemap import SUFFIX, read_basemap
from geo.maps.layers import BASEMAP_HOST
from hexcursion.bundle.published.readings import of_each
from pages.shared.server.access_rules import is_loopback
from pages.shared.server.undocumented import ForwardMsg

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CORE = "/_stcore/"
HEALTH = f"{CORE}health"  # says "ok" and nothing else; asked by supervisors under any name
OPEN = ("health", "host-config", "stream", "upload_file", "bidi-components")
"""What browsers need of Streamlit's own addresses; the others (metrics, for example) are closed."""
MISDIRECTED, POLICY_VIOLATION = 421, 1008
REFUSAL = "This app does not answer under this name. Its operator can add the name to HEXCURSION_HOSTS.\n"


def is_open(path: str) -> bool:
    """Whether an address is not one of those that Streamlit has for its operators or for other programs."""
    _, core, address = path.partition(CORE)
    return not core or address.split("/", 1)[0] in OPEN


def host_name(header: str | None) -> str | None:
    """The name in a Host header, in lower case and without port; None unless it is one name."""
    if not header:
        return None
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises for a port that is no number
    except ValueError:
        return None
    extra = parts.username or parts.password or parts.path or parts.query or parts.fragment
    return None if extra or not parts.hostname else parts.hostname.rstrip(".")


def host_allowed(header: str | None, hosts: tuple[str, ...]) -> bool:
    """Whether a request's Host header is one of the names under which the app answers.

    A page of a foreign name that its owner points at this machine (DNS rebinding) is of the same origin as
    what it then asks: only its name tells that it is foreign."""
    name = host_name(header)
    if name is None:
        return False
    return any(name.endswith(host[1:]) if host.startswith("*.") else name == host for host in hosts)


def origin_allowed(origin: str | None, host: str | None) -> bool:
    """Whether a WebSocket's Origin is the app's own Host, port included, or absent, as from a program that is
    no browser; the scheme is not compared: TLS may end at a proxy."""
    if origin is None:
        return True
    try:
        return bool(host) and urlsplit(origin).netloc.lower() == str(host).lower()
    except ValueError:
        return False


class Gate:
    """ASGI middleware that passes only requests for one of its `hosts` ("*.example.org" stands for any
    subdomain) and, if `loopback_only`, from this machine, however the server was started: where nobody has to
    sign in."""

    def __init__(self, app: Application, hosts: tuple[str, ...], *, loopback_only: bool) -> None:
        self.app = app
        self.hosts = hosts
        self.loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or turn it away."""
        kind = scope["type"]
        if kind not in ("http", "websocket") or (kind == "http" and scope["path"] == HEALTH):
            await self.app(scope, receive, send)
            return
        if not is_open(scope["path"]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        host, origin = _header(scope, b"host"), _header(scope, b"origin")
        host_fits = host_allowed(host, self.hosts) and (not self.loopback_only or _arrived_here(scope))
        if kind == "websocket":
            if host_fits and origin_allowed(origin, host):
                await self.app(scope, receive, send)
                return
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        elif host_fits:
            await self.app(scope, receive, send)
        else:
            await PlainTextResponse(REFUSAL, MISDIRECTED)(scope, receive, send)


def _header(scope: Scope, name: bytes) -> str | None:
    """The header of that name, None without one; two of them are "", which nothing allows."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    if not values:
        return None
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _arrived_here(scope: Scope) -> bool:
    """Whether the connection came in on a loopback address of this machine."""
    server = scope.get("server")
    return server is not None and is_loopback(server[0])


PACKED = (".js", ".css")


class GzipScripts:
    """Middleware: scripts and styles leave compressed, at a third; Streamlit packs other answers."""

    def __init__(self, app: Application) -> None:
        self._plain = app
        self._packed = GZipMiddleware(app, minimum_size=1024, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        packs = scope["type"] == "http" and str(scope["path"]).endswith(PACKED)
        await (self._packed if packs else self._plain)(scope, receive, send)


BROKEN = "This page could not be read; the server's log says why."


def without_place(payload: bytes, folder: bytes) -> bytes:
    """Return a serialised `ForwardMsg` without the script's folder, which Streamlit puts into every new run
    and into the traceback of a page that does not compile. Other messages stay: a curator's own screens may
    name a file."""
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


class ScrubPaths:
    """ASGI middleware that takes the script's place out of messages to browsers."""

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
    """Return the Content-Security-Policy; inline scripts of Streamlit's front page, and of the pages that the
    viewer shows, pass by their hashes.

    `connect-src` and `img-src` keep a page from telling others anything: this app, and the host of the street
    map, which is asked only when a reader switches streets on. Tables are decoded by WebAssembly and small
    components are loaded as blobs, hence 'wasm-unsafe-eval' and blob: for scripts; Streamlit styles its
    elements inline. Nobody may frame the app: a click on Release could be stolen."""
    scripts, _ = of_each(lambda reading: reading.script().encode())  # the viewer says which are damaged
    ours = [*_INLINE.findall(front_page), *scripts]
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
        # Streamlit lets pages of any origin read the app's static files; no page needs to.
        dropped = {name for name, _ in self.headers} | {b"access-control-allow-origin"}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (key, value) for key, value in message.get("headers", ()) if key.lower() not in dropped
                ]
                headers = [(key, _secured(key, value) if secure else value) for key, value in headers]
                message = {**message, "headers": [*headers, *self.headers]}
            await send(message)

        await self.app(scope, receive, sending)


def _secured(key: bytes, value: bytes) -> bytes:
    if key.lower() != b"set-cookie" or b"; secure" in value.lower():
        return value
    return value + b"; Secure"


def _digest(script: bytes) -> str:
    return base64.b64encode(hashlib.sha256(script).digest()).decode()


BASEMAP_VARIABLE = "HEXCURSION_BASEMAP"
BASEMAP_FOLDER = "basemap"
_NAMES: dict[tuple[Path, int, int], str] = {}  # by chance: nobody can tell an address from a path
_OFFERED: dict[str, Path] = {}


def check_the_operators_basemap() -> None:
    """Try the file in HEXCURSION_BASEMAP, where one is named; `GeoError` with one sentence for a bad one."""
    if path := os.environ.get(BASEMAP_VARIABLE):
        read_basemap(path)


def basemap_address(path: Path) -> str:
    """The address at which browsers read a file in parts; it does not show the file's folder."""
    place = path.resolve()
    facts = place.stat()
    name = _NAMES.setdefault((place, facts.st_size, facts.st_mtime_ns), uuid4().hex)
    _OFFERED[name] = place
    return f"{_base()}/{BASEMAP_FOLDER}/{name}.{SUFFIX}"


def basemap_route() -> Route:
    """Where the server answers for the files offered; whole or in parts (HTTP ranges)."""
    return Route(f"{_base()}/{BASEMAP_FOLDER}/{{name}}.{SUFFIX}", _basemap_answer, methods=["GET", "HEAD"])


async def _basemap_answer(request: Request) -> Any:
    path = _OFFERED.get(request.path_params["name"])
    if path is None or not path.is_file():
        raise HTTPException(404)
    # Never compressed on the way: a part of a file has no meaning inside a compressed answer.
    headers = {"cache-control": "private, max-age=3600", "content-encoding": "identity"}
    return FileResponse(path, media_type="application/vnd.pmtiles", headers=headers)


def _base() -> str:
    stripped = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{stripped}" if stripped else ""
