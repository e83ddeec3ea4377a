"""A browser that asks where to put a file is answered, although a run of the script begins meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from pages.shared.server.gate import Message
from pages.shared.server.places import Places
from tests.finished import finished

BEGUN, ANSWERED = ForwardMsg(), ForwardMsg()
BEGUN.new_session.initialize.session_id = "s1"
ANSWERED.file_urls_response.response_id = "r1"


def test_streamlit_forgets_an_answer_when_a_run_begins() -> None:
    """Why `Places` is there: once this fails, it can go."""
    queue = ForwardMsgQueue()
    queue.enqueue(ANSWERED)
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.flush() == []


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the browser hears when it asked for places of two files, and Streamlit said those messages."""
    manager = MemoryUploadedFileManager("/_stcore/upload_file")
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager))

    def heard(*messages: ForwardMsg, question: bytes | None = None) -> list[ForwardMsg]:
        asked = BackMsg()
        asked.file_urls_request.request_id = "r1"
        asked.file_urls_request.file_names.extend(["a.csv", "b.csv"])
        sent: list[ForwardMsg] = []

        async def streamlit(_scope: Message, receive: Any, send: Any) -> None:
            await receive()
            for message in messages:
                await send({"type": "websocket.send", "bytes": message.SerializeToString()})

        async def receive() -> Message:
            payload = asked.SerializeToString() if question is None else question
            return {"type": "websocket.receive", "bytes": payload}

        async def send(message: Message) -> None:
            sent.append(ForwardMsg.FromString(message["bytes"]))

        finished(Places(streamlit)({"type": "websocket"}, receive, send))
        return sent

    return heard


def test_who_was_not_answered_before_a_run_is_answered_once_at_its_beginning(said: Any) -> None:
    first, answer, second = said(BEGUN, BEGUN)
    assert first == second == BEGUN
    assert answer.file_urls_response.response_id == "r1"
    found = answer.file_urls_response.file_urls
    assert len({place.file_id for place in found}) == len(found) == 2
    for place in found:
        assert place.upload_url == place.delete_url == f"/_stcore/upload_file/s1/{place.file_id}"


def test_who_was_answered_hears_nothing_more(said: Any) -> None:
    assert said(ANSWERED, BEGUN) == [ANSWERED, BEGUN]


@pytest.mark.parametrize("question", [b"", b"\xff\xff", BackMsg(clear_cache=True).SerializeToString()])
def test_who_asked_for_no_place_hears_of_none(said: Any, question: bytes) -> None:
    assert said(BEGUN, question=question) == [BEGUN]
