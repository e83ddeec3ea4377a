"""Places for uploads: a browser that asks where to put a file is answered even when a run begins meanwhile.

Streamlit 1.67 empties its queue of messages at the beginning of every run and keeps only those that speak of
runs: an answer to an upload widget that lies there is lost, the widget waits for it for ever, and a person
who gave the file sees nothing happen.
"""

from __future__ import annotations

from contextlib import suppress

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs, FileURLsRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shared.server.gate import Application, Message, Receive, Scope, Send


def answered(session: str, request: FileURLsRequest) -> bytes:
    """What Streamlit answers to an upload widget: a fresh place for each of its files."""
    message = ForwardMsg()
    message.file_urls_response.response_id = request.request_id
    for place in runtime.get_instance().uploaded_file_mgr.get_upload_urls(session, request.file_names):
        message.file_urls_response.file_urls.append(
            FileURLs(file_id=place.file_id, upload_url=place.upload_url, delete_url=place.delete_url)
        )
    return bytes(message.SerializeToString())


class Places:
    """ASGI middleware that answers, at the beginning of a run, what is still unanswered.

    A second answer to the same question does no harm: the browser leaves it.
    """

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, and listen to both sides."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        unanswered: dict[str, FileURLsRequest] = {}

        async def receiving() -> Message:
            message = await receive()
            with suppress(DecodeError):  # Streamlit says what is wrong with it
                said = BackMsg.FromString(message.get("bytes") or b"")
                if said.WhichOneof("type") == "file_urls_request":
                    unanswered[said.file_urls_request.request_id] = said.file_urls_request
            return message

        async def sending(message: Message) -> None:
            await send(message)
            if not unanswered or not message.get("bytes"):
                return
            said = ForwardMsg.FromString(message["bytes"])
            if said.WhichOneof("type") == "file_urls_response":
                unanswered.pop(said.file_urls_response.response_id, None)
            elif said.WhichOneof("type") == "new_session":
                for request in unanswered.values():
                    payload = answered(said.new_session.initialize.session_id, request)
                    await send({"type": "websocket.send", "bytes": payload})
                unanswered.clear()

        await self.app(scope, receiving, sending)
