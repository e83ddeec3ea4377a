"""Serving: check the operator's wishes, then start the Streamlit server on the app's script."""

from __future__ import annotations

import asyncio
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
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.starlette import App
from streamlit.web import bootstrap, cli

from geo import GeoError
from hexcursion.bundle.signing.signature import SIGNERS_VARIABLE, operators_signers
from hexcursion.errors import WorkflowError
from pages.shared.server import access, basemap_files
from pages.shared.server.access_rules import VIEWER_ARGUMENT, Access, Locked
from pages.shared.server.gate import Application, Gate, Receive, Scope, Send
from pages.shared.server.headers import Headers, security_headers
from pages.shared.server.idle import IdleSessions
from pages.shared.server.places import Places, bounds_of
from pages.shared.server.unsaid import Unsaid
from pages.shared.server.watch import Connections, Watch, keep_little
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
