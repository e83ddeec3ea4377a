"""Headers: what every answer tells the browser to refuse, so that a mistake elsewhere stays harmless."""

from __future__ import annotations

import base64
import hashlib
import re

from geo.maps.layers import BASEMAP_HOST
from pages.shared.server.gate import Application, Message, Receive, Scope, Send

_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_BASEMAP = f"https://{BASEMAP_HOST} https://*.{BASEMAP_HOST}"


def security_policy(front_page: bytes) -> str:
    """The Content-Security-Policy of every page.

    Parameters
    ----------
    front_page
        The HTML that Streamlit serves; its inline scripts are allowed by their hashes.

    Notes
    -----
    `connect-src` and `img-src` are what keeps a page from telling others anything: this app, and the host
    of the street map, which is asked only when a reader switches streets on. Tables are decoded
    by WebAssembly and small components are loaded as blobs, hence 'wasm-unsafe-eval' and blob: for scripts;
    Streamlit styles its elements inline. Nobody may frame the app: a click on Release could be stolen.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in _INLINE.findall(front_page))
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
