"""What stands around the app in the server: hosts, limits and layers, and why it does not start."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import config
from uvicorn.protocols.websockets import websockets_sansio_impl
from websockets.exceptions import PayloadTooBig
from websockets.server import ServerProtocol

from geo import GeoError
from hexcursion.errors import WorkflowError
from pages.shared.server import access_rules, serve
from pages.shared.server.access_rules import Locked

ASKED = (
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SCRIPT = str(Path(serve.__file__).parents[3] / "app.py")


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Streamlit's options as they are set here, of nobody else."""
    held: dict[str, Any] = {"server.maxUploadSize": 200, "server.address": "", "server.port": 8501}
    monkeypatch.setattr(config, "get_option", held.get)
    monkeypatch.setattr(config, "set_option", held.__setitem__)
    return held


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> SimpleNamespace:
    access = SimpleNamespace(hosts=("a.example", "b.example"), idle_minutes=2.0, mode="curator", alone=True)
    monkeypatch.setattr(serve, "_checked", lambda: access)
    monkeypatch.setattr(serve, "keep_little", lambda: None)
    monkeypatch.setattr(websockets_sansio_impl, "ServerProtocol", ServerProtocol)
    return access


def test_hosts_idle_minutes_and_layers_are_the_operators(
    granted: SimpleNamespace, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    bounds: list[tuple[str, int]] = []
    monkeypatch.setattr(serve, "IdleSessions", limits.append)
    monkeypatch.setattr(serve, "bounds_of", lambda mode, most: bounds.append((mode, most)))
    made = serve.around(SCRIPT)
    assert options["server.allowedHosts"] == ["a.example", "b.example"]
    assert limits == [120.0], "seconds"
    assert bounds == [("curator", 200 * 1024 * 1024)]
    assert [layer.cls.__name__ for layer in made["middleware"]] == [
        "Headers",
        "Gate",
        "Watch",
        "Places",
        "GzipScripts",
        "ScrubPaths",
    ]
    gate = made["middleware"][1]
    assert gate.args == (("a.example", "b.example"),)
    assert gate.kwargs == {"loopback_only": True}
    assert len(made["routes"]) == 1
    assert made["middleware"][5].args == (Path(SCRIPT).parent,)


@pytest.mark.parametrize(("size", "taken"), [(1_000_000, True), (1_000_001, False)])
def test_a_long_message_of_a_browser_is_cut_off_as_it_begins(
    granted: SimpleNamespace, size: int, taken: bool
) -> None:
    """Streamlit would gather 200 MB of each stranger's: ten of them fill a viewer of 2 GB."""
    serve.around(SCRIPT)
    connection = vars(websockets_sansio_impl)["ServerProtocol"](max_size=200_000_000)
    connection.receive_data(ASKED)
    (request,) = connection.events_received()
    connection.send_response(connection.accept(request))
    connection.receive_data(b"\x82\xff" + size.to_bytes(8, "big") + bytes(4))  # a frame's head, no content
    assert isinstance(connection.parser_exc, PayloadTooBig) is not taken


@pytest.mark.parametrize(("mode", "alone"), [("viewer", True), ("curator", False)])
def test_others_reach_what_is_no_curators_own_machine(
    granted: SimpleNamespace, mode: str, alone: bool
) -> None:
    granted.mode, granted.alone = mode, alone
    assert serve.around(SCRIPT)["middleware"][1].kwargs == {"loopback_only": False}


@pytest.mark.parametrize(
    ("where", "error", "said"),
    [
        ("middleware.check_the_operators_basemap", GeoError("No file."), "HEXCURSION_BASEMAP: No file."),
        ("operators_signers", WorkflowError("No key."), "HEXCURSION_SIGNERS: No key."),
        ("bounds_of", Locked("Too large."), "Too large."),
    ],
)
def test_it_does_not_start_in_doubt(
    granted: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception, said: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(f"pages.shared.server.serve.{where}", fails)
    with pytest.raises(SystemExit) as ended:
        serve.around(SCRIPT)
    assert str(ended.value) == f"Hexcursion does not start. {said}"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("::1", "[::1]"),
        ("a.example", "a.example"),
    ],
)
def test_the_address_is_shown_as_it_is_typed(options: dict[str, Any], address: str, shown: str) -> None:
    options["server.address"] = address
    assert serve._shown() == shown


def test_what_was_not_granted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked() -> None:
        raise Locked("Set a password.")

    monkeypatch.setattr(serve.access, "granted_at_start", locked)
    with pytest.raises(SystemExit) as ended:
        serve._checked()
    assert str(ended.value) == "Hexcursion does not start. Set a password."


def test_an_option_that_is_none_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        serve._flags("app.py", ["--server.prot", "1"])
    assert ended.value.code == 2
    flags, further = serve._flags("app.py", ["--server.port", "8502", "--", "--mine"])
    assert flags["server_port"] == 8502
    assert further == ("--mine",)
    assert "target" not in flags
    assert "args" not in flags


def test_the_viewers_folder_is_that_of_the_bundles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", "before")
    assert access_rules.with_folder(["--viewer", "--server.port", "1"]) == ["--viewer", "--server.port", "1"]
    assert access_rules.with_folder(["--server.port", "1"]) == ["--server.port", "1"]
    assert os.environ["HEXCURSION_BUNDLES"] == "before"
    asked = ["--server.port", "1", "--viewer", str(tmp_path)]
    assert access_rules.with_folder(asked) == ["--server.port", "1", "--viewer"]
    assert os.environ["HEXCURSION_BUNDLES"] == str(tmp_path)
    with pytest.raises(SystemExit, match="There is no folder of bundles at /nowhere"):
        access_rules.with_folder(["--viewer", "/nowhere"])
    with pytest.raises(SystemExit) as ended:
        serve.start(SCRIPT, ["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: python app.py [--viewer [FOLDER]]")
