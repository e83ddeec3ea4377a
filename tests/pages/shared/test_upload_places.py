"""A browser that asks where to put a file is answered in any case; a file is taken there, within bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.shared.server import upload_places
from pages.shared.server.access_rules import Locked
from pages.shared.server.middleware import Message
from pages.shared.server.upload_places import BESIDE, Bounds, Places, bounds_of
from tests.finished import finished

BEGUN, ANSWERED = ForwardMsg(), ForwardMsg()
BEGUN.new_session.initialize.session_id = "s1"
ANSWERED.file_urls_response.response_id = "r1"
ROOMY = Bounds(session=10_000, together=15_000)
UPLOADER = SimpleNamespace(value_type="file_uploader_state_value")


def test_streamlit_forgets_an_answer_when_a_run_begins() -> None:
    """Why `Places` answers again: once this fails, that can go."""
    queue = ForwardMsgQueue()
    queue.enqueue(ANSWERED)
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.flush() == []


def test_streamlit_takes_a_file_under_a_name_that_nobody_was_told() -> None:
    """Why `Places` stands before it: once this fails, that can go."""
    manager = MemoryUploadedFileManager("/_stcore/upload_file")
    manager.add_file("s1", UploadedFileRec("made-up", "a.csv", "text/csv", b"12"))
    assert [file.data for file in manager.get_files("s1", ["made-up"])] == [b"12"]


class Server:
    """`Places` before an application that keeps whatever is put, as Streamlit does."""

    def __init__(self, bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
        self.manager = MemoryUploadedFileManager("/_stcore/upload_file")
        self.active = {"s1", "s2"}
        self.waiting: set[str] = set()
        self.closed_meanwhile = ""
        self.widgets: list[object] = [UPLOADER]
        self.file_name = "a.csv"
        state = SimpleNamespace(_new_widget_state=SimpleNamespace(widget_metadata={}))
        state._new_widget_state.widget_metadata = _Shown(self)
        instance = SimpleNamespace(
            uploaded_file_mgr=self.manager,
            _session_mgr=SimpleNamespace(
                get_session_info=lambda session: session if session in self.active | self.waiting else None
            ),
            is_active_session=lambda session: session in self.active,
            get_app_session=lambda session: (
                SimpleNamespace(session_state=state) if session in self.active else None
            ),
        )
        monkeypatch.setattr(runtime, "get_instance", lambda: instance)
        monkeypatch.setattr(runtime, "exists", lambda: True)
        self._kept = Starlette(
            routes=[Route("/_stcore/upload_file/{session}/{name}", self._keep, methods=["PUT"])]
        )
        self.messages: list[ForwardMsg] = []
        self.places = Places(self._inner, bounds)

    async def _inner(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._kept(scope, receive, send)
            return
        await receive()
        for message in self.messages:
            await send({"type": "websocket.send", "bytes": message.SerializeToString()})

    async def _keep(self, request: Request) -> Response:
        data = await request.body()
        self.active.discard(self.closed_meanwhile)
        session, name = request.path_params["session"], request.path_params["name"]
        self.manager.add_file(session, UploadedFileRec(name, self.file_name, "text/csv", data))
        return Response(status_code=204)

    def heard(self, *messages: ForwardMsg, question: bytes) -> list[ForwardMsg]:
        """What a browser hears that asks something, while Streamlit says these messages."""
        self.messages = [*messages]
        asked = [question]
        sent: list[ForwardMsg] = []

        async def receive() -> Message:
            if not asked:
                return {"type": "websocket.disconnect"}
            return {"type": "websocket.receive", "bytes": asked.pop()}

        async def send(message: Message) -> None:
            sent.append(ForwardMsg.FromString(message["bytes"]))

        finished(self.places({"type": "websocket"}, receive, send))
        return sent

    def told(self, session: str, files: int = 1) -> list[str]:
        """Ask for places of so many files, as a widget of a session does; their names."""
        begun = ForwardMsg()
        begun.new_session.initialize.session_id = session
        answers = [one for one in self.heard(begun, question=wish(files)) if one != begun]
        return [place.file_id for one in answers for place in one.file_urls_response.file_urls]

    def put(self, session: str, name: str, data: bytes, length: str | None = "", path: str = "") -> int:
        """The status of an upload, sent in pieces of 1,000 bytes."""
        pieces = [data[at : at + 1000] for at in range(0, len(data), 1000)] or [b""]
        sent: list[Message] = []

        async def receive() -> Message:
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        async def send(message: Message) -> None:
            sent.append(message)

        said = str(len(data)) if length == "" else length
        scope = {
            "type": "http",
            "method": "PUT",
            "path": path or f"/_stcore/upload_file/{session}/{name}",
            "headers": [] if said is None else [(b"content-length", said.encode())],
            "query_string": b"",
        }
        finished(self.places(scope, receive, send))
        return int(sent[0]["status"])

    def held(self, session: str) -> list[int]:
        return [len(file.data) for file in self.manager.file_storage.get(session, {}).values()]


class _Shown(dict[str, object]):
    """The widgets that a session shows now."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server

    def values(self) -> Any:
        return self.server.widgets


def wish(files: int) -> bytes:
    """A browser's question for places of so many files."""
    asked = BackMsg()
    asked.file_urls_request.request_id = "r1"
    asked.file_urls_request.file_names.extend([f"{number}.csv" for number in range(files)])
    return bytes(asked.SerializeToString())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(ROOMY, monkeypatch)


def test_who_was_not_answered_before_a_run_is_answered_once_at_its_beginning(server: Server) -> None:
    first, answer, second = server.heard(BEGUN, BEGUN, question=wish(2))
    assert first == second == BEGUN
    assert answer.file_urls_response.response_id == "r1"
    found = answer.file_urls_response.file_urls
    assert len({place.file_id for place in found}) == len(found) == 2
    for place in found:
        assert place.upload_url == place.delete_url == f"/_stcore/upload_file/s1/{place.file_id}"


def test_who_was_answered_hears_nothing_more(server: Server) -> None:
    assert server.heard(ANSWERED, BEGUN, question=wish(2)) == [ANSWERED, BEGUN]


@pytest.mark.parametrize("question", [b"", b"\xff\xff", BackMsg(clear_cache=True).SerializeToString()])
def test_who_asked_for_no_place_hears_of_none(server: Server, question: bytes) -> None:
    assert server.heard(BEGUN, question=question) == [BEGUN]


def test_a_question_for_more_places_than_a_widget_asks_is_not_passed_on(server: Server) -> None:
    assert len(server.told("s1", 32)) == 32
    assert server.told("s1", 33) == []


def test_a_file_is_taken_at_a_place_that_this_session_was_told(server: Server) -> None:
    (name,) = server.told("s1")
    assert server.put("s1", name, b"x" * 3000) == 204
    assert server.held("s1") == [3000]


def test_a_place_that_streamlit_told_itself_counts_too(server: Server) -> None:
    answer = ForwardMsg()
    answer.CopyFrom(ANSWERED)
    answer.file_urls_response.file_urls.add(file_id="f1", upload_url="/_stcore/upload_file/s1/f1")
    assert server.heard(answer, question=wish(1)) == [answer]
    assert server.put("s1", "f1", b"12") == 204


@pytest.mark.parametrize("session", ["s1", "s2", "made-up"])
def test_a_made_up_name_is_refused_in_every_session(server: Server, session: str) -> None:
    server.told("s1")
    for name in ("made-up", "", "a/b"):
        assert server.put(session, name, b"12") == 404
    assert server.held(session) == []


def test_a_place_of_another_session_is_none_of_ones_own(server: Server) -> None:
    (name,) = server.told("s1")
    assert server.put("s2", name, b"12") == 404
    assert server.put("", "", b"12", path=f"/maps/_stcore/upload_file/s2/{name}") == 404
    assert server.put("", "", b"12", path=f"/_stcore/upload_file/s2/_stcore/upload_file/s2/{name}") == 404
    assert (server.held("s1"), server.held("s2")) == ([], [])


def test_a_session_that_shows_no_upload_widget_takes_nothing(server: Server) -> None:
    (name,) = server.told("s1")
    server.widgets = [SimpleNamespace(value_type="trigger_value")]
    assert server.put("s1", name, b"12") == 404
    server.widgets = [SimpleNamespace(value_type="trigger_value"), UPLOADER]
    assert server.put("s1", name, b"12") == 204


def test_places_of_a_session_that_ended_are_forgotten(server: Server) -> None:
    (name,) = server.told("s1")
    server.active = {"s2"}
    server.told("s2")
    server.active = {"s1", "s2"}
    assert server.put("s1", name, b"12") == 404


def test_only_the_newest_places_of_a_session_are_kept(server: Server) -> None:
    names = [name for _ in range(5) for name in server.told("s1", 32)]
    assert server.put("s1", names[31], b"12") == 404
    assert server.put("s1", names[32], b"12") == 204


@pytest.mark.parametrize("length", [None, "", "-1", "ten"])
def test_an_upload_says_how_long_it_is(server: Server, length: str | None) -> None:
    (name,) = server.told("s1")
    assert server.put("s1", name, b"12", length=None if length == "" else length) == 411


def test_a_sessions_bytes_are_bounded_to_the_byte(server: Server) -> None:
    first, second, third = server.told("s1", 3)
    assert server.put("s1", first, b"x" * (5000 - BESIDE)) == 204
    assert server.put("s1", second, b"x" * (5001 - BESIDE)) == 413
    assert server.put("s1", second, b"x" * (5000 - BESIDE)) == 204
    assert server.put("s1", third, b"") == 413
    assert server.held("s1") == [3000, 3000]
    assert server.put("s1", second, b"x" * (5000 - BESIDE)) == 204  # in place of the same file
    server.manager.remove_file("s1", first)
    assert server.put("s1", third, b"x" * (5000 - BESIDE)) == 204


def test_all_sessions_together_are_bounded_to_the_byte(server: Server) -> None:
    (first,), (second,) = server.told("s1"), server.told("s2")
    assert server.put("s1", first, b"x" * (10_000 - BESIDE)) == 204
    assert server.put("s2", second, b"x" * (5001 - BESIDE)) == 503
    assert server.put("s2", second, b"x" * (5000 - BESIDE)) == 204
    assert server.put("s1", first, b"x" * (10_000 - BESIDE)) == 204  # in place of the same file


def test_what_is_longer_than_it_says_is_cut_off_at_the_bound(server: Server) -> None:
    first, second = server.told("s1", 2)
    assert server.put("s1", first, b"x" * 9000, length="10") == 413
    assert server.held("s1") == []
    assert server.put("s1", second, b"x" * 8000) == 204  # nothing of the broken one is counted any more


def test_a_file_with_an_endless_name_is_let_go(server: Server) -> None:
    first, second = server.told("s1", 2)
    server.file_name = "x" * (BESIDE + 1)
    assert server.put("s1", first, b"12") == 204
    server.file_name = "x" * 255
    assert server.put("s1", second, b"12") == 204
    assert list(server.manager.file_storage["s1"]) == [second]


@pytest.mark.parametrize(
    ("mode", "memory", "said", "expected"),
    [
        ("viewer", 64_000_000_000, "", Bounds(100_000_000, 400_000_000)),
        ("curator", 64_000_000_000, "", Bounds(1_200_000_000, 4_800_000_000)),
        ("curator", 8_000_000_000, "", Bounds(1_000_000_000, 1_000_000_000)),
        ("viewer", 1_600_000_000, "", Bounds(100_000_000, 200_000_000)),
        ("viewer", None, "", Bounds(100_000_000, 400_000_000)),
        ("viewer", 1_600_000_000, "250", Bounds(100_000_000, 250_000_000)),
        ("viewer", 1_600_000_000, "30", Bounds(30_000_000, 30_000_000)),
    ],
)
def test_how_much_is_held(
    mode: Any, memory: int | None, said: str, expected: Bounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_places, "memory_limit", lambda: memory)
    monkeypatch.setenv("HEXCURSION_UPLOADS_MB", said)
    assert bounds_of(mode, 300_000_000) == expected


@pytest.mark.parametrize("said", ["0", "-5", "lots", "1.5", "²"])
def test_a_bound_that_is_no_number_locks_the_app(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXCURSION_UPLOADS_MB", said)
    with pytest.raises(Locked, match="HEXCURSION_UPLOADS_MB"):
        bounds_of("viewer", 300_000_000)


def test_a_file_that_arrives_after_its_session_ended_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would count against the bound of all sessions for as long as the server runs."""
    server = Server(Bounds(5_000, 6_000), monkeypatch)
    (place,) = server.told("s1")
    server.closed_meanwhile = "s1"
    assert server.put("s1", place, b"x" * 3_000) == 204
    assert server.held("s1") == []
    server.active, server.closed_meanwhile = {"s1", "s2"}, ""
    (place,) = server.told("s1")
    server.waiting, server.closed_meanwhile = {"s1"}, "s1"  # its browser may come back
    assert server.put("s1", place, b"x" * 3_000) == 204
    assert server.held("s1") == [3_000]
