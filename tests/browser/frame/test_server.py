"""The started server: it refuses what is in doubt, answers its own name, and says nothing of its place."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page
from playwright.sync_api import WebSocket as Socket

from hexcursion.bundle import write_bundle
from pages.shared.steps import SCREENS
from studies.scale import uploads
from tests.browser.harness import (
    HANDSHAKE,
    PATIENCE,
    ROOT,
    RunningApp,
    answer_of,
    open_screen,
    running_app,
    server_memory,
    settle,
)
from tests.browser.sessions import session
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain

pytestmark = pytest.mark.flat_maps

AUTH = """
[auth]
redirect_uri = "http://localhost:{port}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "x"
client_secret = "x"
server_metadata_url = "https://idp.invalid/.well-known/openid-configuration"
"""
TABLE = b"lon,lat,no2\n13.40,52.50,41\n13.41,52.51,39\n13.42,52.52,44\n"


def refused(*command: str, secrets: str | None, folder: Path, **environment: str) -> tuple[int, str]:
    """Exit status and output of a start that must fail."""
    arguments = list(command)
    if secrets is not None:
        (folder / "secrets.toml").write_text(secrets)
        arguments += ["--secrets.files", str(folder / "secrets.toml")]
    done = subprocess.run(
        [sys.executable, *arguments, "--server.port", "0"],
        cwd=ROOT,
        env={**os.environ, "HEXCURSION_HOME": str(folder), "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).strip()


@pytest.mark.parametrize(
    ("arguments", "secrets", "mode", "said"),
    [
        ((), "[auth\n", "", "The secrets cannot be read, so it is not known who may curate: secrets.toml"),
        ((), None, "veiwer", "HEXCURSION_MODE is 'veiwer'"),
        (("--server.address", "0.0.0.0"), None, "", "would listen on 0.0.0.0 and let anybody curate"),
    ],
)
def test_a_doubtful_setup_does_not_start(
    tmp_path: Path, arguments: tuple[str, ...], secrets: str | None, mode: str, said: str
) -> None:
    """By secrets, environment and argument; `tests/pages/shared/test_access_rules.py` has all doubts."""
    status, output = refused("app.py", *arguments, secrets=secrets, folder=tmp_path, HEXCURSION_MODE=mode)
    assert status != 0
    assert output.startswith("Hexcursion does not start. ")
    assert said in output
    assert "\n" not in output
    assert str(tmp_path) not in output


@pytest.mark.parametrize(
    ("content", "said", "viewer"),
    [
        (None, "The list of signers 'signers.toml' cannot be read", ()),
        ("Office", "The list of signers is not valid TOML", ()),
        (
            f'"Office" = "{"A" * 43}="',
            "gives for 'Office' a key that is no point of the curve",
            ("--viewer",),
        ),
    ],
    ids=["missing", "no TOML", "a weak key"],
)
def test_a_broken_list_of_signers_does_not_start(
    tmp_path: Path, content: str | None, said: str, viewer: tuple[str, ...]
) -> None:
    place = tmp_path / "signers.toml"
    if content is not None:
        place.write_text(content)
    status, output = refused("app.py", *viewer, secrets=None, folder=tmp_path, HEXCURSION_SIGNERS=str(place))
    assert status != 0
    assert output.startswith("Hexcursion does not start. HEXCURSION_SIGNERS: ")
    assert said in output
    assert "\n" not in output
    assert str(tmp_path) not in output


def test_nor_does_it_start_through_streamlit_run(tmp_path: Path) -> None:
    command = ("-m", "streamlit", "run", "app.py", "--server.address", "0.0.0.0")
    status, output = refused(*command, secrets=None, folder=tmp_path)
    assert status != 0
    assert output.startswith("Hexcursion does not start. The server would listen on 0.0.0.0")


def test_secrets_that_break_while_it_runs_lock_it(page: Page, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(AUTH)
    with running_app(tmp_path / "home", "--secrets.files", str(secrets)) as app:
        open_screen(page, app)
        assert page.get_by_role("heading", level=1).inner_text() == "For curators"  # nobody has signed in
        secrets.write_text("[auth\n" + AUTH)
        deadline = time.monotonic() + PATIENCE
        while (shown := page.get_by_role("heading", level=1).inner_text()) != "Locked":
            assert shown == "For curators"  # never a curator's screen
            assert time.monotonic() < deadline
            page.wait_for_timeout(300)
            open_screen(page, app)
        assert page.get_by_text("was not set up safely").count() == 1
        assert page.get_by_test_id("stSidebarNav").count() == 0
        secrets.unlink()
        page.wait_for_timeout(2500)  # the watcher looks every second; whatever it found, nothing opens
        open_screen(page, app)
        assert page.get_by_role("heading", level=1).inner_text() == "Locked"


def asked(app: RunningApp, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one request; a Host header among `headers` is sent as it stands."""
    connection = http.client.HTTPConnection("127.0.0.1", int(app.url.rsplit(":", 1)[1]), timeout=PATIENCE)
    status, given, body = answer_of(connection, path, "GET", None, headers)
    return status, dict(given), body


def socket_status(app: RunningApp, host: str, origin: str) -> int:
    """The status of a WebSocket handshake: 101 where it is accepted."""
    return asked(
        app,
        "/_stcore/stream",
        Host=host,
        Origin=origin,
        **HANDSHAKE,
    )[0]


def test_scripts_travel_compressed_where_the_reader_unpacks_them(app: RunningApp) -> None:
    own = app.url.removeprefix("http://")
    page = asked(app, "/", Host=own)[2]
    found = re.search(rb'src="\.?(/static/js/[^"]+\.js)"', page)
    assert found is not None
    path = found[1].decode()
    _, plain, whole = asked(app, path, Host=own)
    status, packed, body = asked(app, path, Host=own, Accept_Encoding="gzip")
    assert (status, plain.get("content-encoding"), packed["content-encoding"]) == (200, None, "gzip")
    assert gzip.decompress(body) == whole
    assert len(body) < 0.5 * len(whole)
    assert packed["content-security-policy"] == plain["content-security-policy"]


def test_a_page_of_a_rebound_name_gets_nothing(app: RunningApp) -> None:
    """A foreign name that its owner points at 127.0.0.1 sends its own name in Host and Origin alike."""
    port = app.url.rsplit(":", 1)[1]
    own, rebound = f"127.0.0.1:{port}", f"rebound.example:{port}"
    assert socket_status(app, own, f"http://{own}") == 101
    assert socket_status(app, rebound, f"http://{rebound}") == 403
    assert socket_status(app, own, f"http://{rebound}") == 403
    assert socket_status(app, own, "http://127.0.0.1:1") == 403  # another program's page on this machine
    assert socket_status(app, rebound, f"http://{own}") == 403
    for path in ("/", "/_stcore/host-config", "/app/static/logo.svg", "/static/js/none.js"):
        status, _, body = asked(app, path, Host=rebound)
        assert (status, b"HEXCURSION_HOSTS" in body) == (421, True)
    assert asked(app, "/", Host=own)[0] == 200
    assert asked(app, "/_stcore/health", Host=rebound)[0] == 200


@pytest.mark.parametrize("path", ["/", "/_stcore/host-config", "/app/static/logo.svg", "/_stcore/none"])
def test_every_answer_forbids_frames_and_foreign_calls(app: RunningApp, path: str) -> None:
    _, headers, _ = asked(app, path, Host=app.url.removeprefix("http://"))
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers


class Overheard:
    """Everything that a browser is sent: answers and WebSocket messages, as bytes."""

    def __init__(self, page: Page) -> None:
        self.pieces: list[bytes] = []
        page.on("websocket", self._listen)
        page.on("requestfinished", self._keep)

    def _listen(self, socket: Socket) -> None:
        socket.on("framereceived", lambda piece: self.pieces.append(_bytes(piece)))

    def _keep(self, request: object) -> None:
        answer = request.response()  # type: ignore[attr-defined]
        if answer is not None and answer.request.resource_type in ("document", "fetch", "xhr"):
            self.pieces.append(answer.body())


def _bytes(piece: bytes | str) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode()


def test_the_place_of_the_program_reaches_no_reader(page: Page, tmp_path: Path) -> None:
    bundles = tmp_path / "bundles"
    (bundles / "0123456789abcdef").mkdir(parents=True)
    overheard = Overheard(page)
    with running_app(tmp_path / "home", "--viewer", HEXCURSION_BUNDLES=str(bundles)) as viewer:
        for screen in SCREENS:
            if not screen.curator:
                open_screen(page, viewer, f"{screen.address}?release=ffffffffffffffff")
        page.get_by_test_id("stTopNavLink").filter(has_text="Viewer").click()
        settle(page)
        page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
            {"name": "x.zip", "mimeType": "application/zip", "buffer": b"no zip"}
        )
        settle(page)
        # A shelf that cannot be read is an error of the program: its traceback stays in the log.
        (bundles / "0123456789abcdef.zip").symlink_to(bundles / "gone")
        open_screen(page, viewer, "viewer")
        page.get_by_test_id("stException").wait_for(timeout=PATIENCE * 1000)
        assert "FileNotFoundError" in viewer.log.read_text()
    everything = b"\n".join(overheard.pieces)
    assert len(overheard.pieces) > 10
    assert b"app.py" in everything  # the frames were heard, and say which script runs
    for place in (ROOT, tmp_path, Path(sys.prefix), Path.home()):
        assert str(place).encode() not in everything


def test_a_hostile_uploader_beside_readers_fills_no_memory(tmp_path: Path) -> None:
    """A short `studies.scale.uploads`: nothing is taken at places made up, and little in all."""
    write_bundle(make_release(small_domain()), tmp_path / "bundles" / "london")
    bundles = str(tmp_path / "bundles")
    with running_app(
        tmp_path / "home", "--viewer", HEXCURSION_BUNDLES=bundles, HEXCURSION_UPLOADS_MB="100"
    ) as app:
        with session(app):
            before = server_memory(app)
        met = uploads.beside(app, 2, 20.0)
    assert len(met.seconds) >= 2
    assert met.answers.total() >= 20
    taken = {wish for wish in met.answers if wish.endswith(": 204")}
    assert taken <= {"told: 204", "empty: 204"}
    assert max(met.memory) - before < 100.0 + 150.0  # MB: what it may hold, and what is on its way


def test_uploads_of_a_killed_process_are_swept_at_the_next_start(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "OPENBLAS_NUM_THREADS": "1"}
    code = (
        "import sys, time; from pages.shared.uploads import PrivateFolder; f = PrivateFolder(); "
        "print(f.keep('private.csv', b'secret'), flush=True); time.sleep(1000)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        upload = Path(process.stdout.readline().strip())
        with running_app(tmp_path / "one", TMPDIR=str(temporary)):
            assert upload.read_bytes() == b"secret"  # of a process that lives
        process.kill()
    assert upload.exists()
    with running_app(tmp_path / "two", TMPDIR=str(temporary)):
        pass
    assert not upload.exists()
    assert list(temporary.glob("hexcursion-*")) == []


def test_a_closed_tab_and_an_unused_one_let_go_of_their_uploads(
    new_page: Callable[..., Page], tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def uploads() -> list[Path]:
        return [path for path in temporary.rglob("*.csv") if path.is_file()]

    with running_app(tmp_path / "home", TMPDIR=str(temporary), HEXCURSION_IDLE_MINUTES="0.3") as app:
        for close in (True, False):
            page = new_page()
            deadline = time.monotonic() + PATIENCE
            while not uploads():  # a slow machine may find the page idle before it got so far
                assert time.monotonic() < deadline
                open_screen(page, app, "data")
                page.get_by_role("radio", name="Your own table").click()
                settle(page)
                page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
                    {"name": "stations.csv", "mimeType": "text/csv", "buffer": TABLE}
                )
                settle(page)
            if close:
                page.close()
            while uploads():
                assert time.monotonic() < deadline
                time.sleep(0.2)
            if not close:  # it connects anew, to a session that knows nothing
                open_screen(page, app, "data")
                assert page.get_by_text("stations.csv").count() == 0
