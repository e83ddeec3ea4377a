"""The gate: requests under a foreign name, and pages of other origins, are turned away before the app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse

from pages.shared.server.access_rules import is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CORE = "/_stcore/"
HEALTH = f"{CORE}health"  # says "ok" and nothing else; asked by supervisors under any name
OPEN = ("health", "host-config", "stream", "upload_file", "bidi-components")
"""What browsers need of Streamlit's own addresses; the others (metrics, for example) are for nobody here."""
MISDIRECTED, POLICY_VIOLATION = 421, 1008
REFUSAL = b"This app does not answer under this name. Its operator can add the name to HEXCURSION_HOSTS.\n"


def is_open(path: str) -> bool:
    """Whether an address is none of those that Streamlit has for its operators or for other programs."""
    _, core, own = path.partition(CORE)
    return not core or own.split("/", 1)[0] in OPEN


def host_name(header: str | None) -> str | None:
    """The name in a Host header, in lower case and without port; None for what is not one name."""
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
    what it then asks: only its name tells that it is foreign.
    """
    name = host_name(header)
    if name is None:
        return False
    return any(name.endswith(host[1:]) if host.startswith("*.") else name == host for host in hosts)


def origin_allowed(origin: str | None, host: str | None) -> bool:
    """Whether a connection comes from the app's own page, or from a program that is no browser.

    Parameters
    ----------
    origin
        The Origin header; browsers always send it with a WebSocket.
    host
        The Host header, with its port. The scheme is not compared: TLS may end at a proxy.
    """
    if origin is None:
        return True
    try:
        return bool(host) and urlsplit(origin).netloc.lower() == str(host).lower()
    except ValueError:
        return False


class Gate:
    """ASGI middleware that lets only those requests pass that were meant for this app.

    Parameters
    ----------
    app
        The application behind the gate.
    hosts
        Names under which it answers; "*.example.org" stands for any subdomain.
    loopback_only
        Whether only this machine may connect, however the server was started: where nobody has to sign in.
    """

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
        meant = host_allowed(host, self.hosts) and (not self.loopback_only or _arrived_here(scope))
        if kind == "websocket":
            if meant and origin_allowed(origin, host):
                await self.app(scope, receive, send)
                return
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        elif meant:
            await self.app(scope, receive, send)
        else:
            headers = [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(REFUSAL)).encode()),
            ]
            await send({"type": "http.response.start", "status": MISDIRECTED, "headers": headers})
            await send({"type": "http.response.body", "body": REFUSAL})


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
