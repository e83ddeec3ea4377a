"""What is left unsaid: where the program lies on its machine reaches no browser."""

from __future__ import annotations

from pathlib import Path

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shared.server.gate import Application, Message, Receive, Scope, Send

BROKEN = "This page could not be read; the server's log says why."


def without_place(payload: bytes, folder: bytes) -> bytes:
    """A message to the browser without the script's place.

    Parameters
    ----------
    payload
        A serialised `ForwardMsg`; Streamlit puts the script's absolute path into every new run, and the
        traceback into what it says about a page that does not compile.
    folder
        The script's folder, in UTF-8.

    Returns
    -------
    bytes
        The same bytes where the folder does not occur. Other messages are left alone: a curator's own
        screens may well name a file of this machine.
    """
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


class Unsaid:
    """ASGI middleware that takes the script's place out of what is sent to browsers."""

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
