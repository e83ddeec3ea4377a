"""Scripts and styles leave the server compressed, a third of their size; Streamlit packs other answers."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware

from pages.shared.server.gate import Application, Receive, Scope, Send

ENDINGS = (".js", ".css")


class Packed:
    """Middleware around the whole app."""

    def __init__(self, app: Application) -> None:
        self._plain = app
        self._packed = GZipMiddleware(app, minimum_size=1024, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        packs = scope["type"] == "http" and str(scope["path"]).endswith(ENDINGS)
        await (self._packed if packs else self._plain)(scope, receive, send)
