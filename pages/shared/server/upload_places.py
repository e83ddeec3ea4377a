"""Take uploads only at the places given to a browser, and within bounds.

Streamlit 1.67 empties its queue of messages at the beginning of every run and keeps only those that speak of
runs: an answer to an upload widget that lies there is lost, and the widget waits for ever. It also takes a
file under any name that a request makes up, and as many of them as a visitor sends.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from hexcursion.bundle.layout import MEGABYTE
from hexcursion.estimates.model import memory_limit
from pages.shared.server.access_rules import Locked, Mode
from pages.shared.server.middleware import Application, Message, Receive, Scope, Send
from pages.shared.server.undocumented import (
    BackMsg,
    FileURLsRequest,
    ForwardMsg,
    Uploads,
    is_active,
    widget_types,
)

VARIABLE = "HEXCURSION_UPLOADS_MB"
"""Environment variable: megabytes of uploads that a server holds, of all its sessions together."""

PATH = "/_stcore/upload_file/"
MOST_FILES = 32  # the most files for which a widget asks for places at once
MOST_PLACES = 128  # of a session: the oldest are given up first
BESIDE = 2_000  # bytes that a file takes in addition to its content: its record, its name and its type
SHARE = 8  # at most an eighth of the machine's memory holds uploads
VIEWER_SESSION = 100 * MEGABYTE  # a zipped bundle, with room to spare
FULL = "The uploads of this visit take too much room: remove a file, or reload the page, and try again."
ALL_FULL = "The server holds as many uploads as it can: try again in a few minutes."
NO_PLACE = "No upload widget of this visit has such a place: reload the page, and choose the file again."
UPLOADS = Uploads()
NO_LENGTH = "An upload has to say how long it is (Content-Length)."


@dataclass(frozen=True)
class Bounds:
    """How many bytes of uploads are held: for one session, and for all of them together."""

    session: int
    together: int


def bounds_of(mode: Mode, largest: int) -> Bounds:
    """Return what a server holds at most; a viewer's visitor brings one bundle, a curator several files of
    `largest` bytes.

    `Locked` where the environment names no whole number of megabytes above 0."""
    value = os.environ.get(VARIABLE, "").strip()
    if value and not (value.isascii() and value.isdigit() and int(value) > 0):
        raise Locked(
            f"{VARIABLE} is {value[:20]!r}: it must be a whole number of megabytes above 0, or unset."
        )
    session = min(largest, VIEWER_SESSION) if mode == "viewer" else 4 * largest
    memory = memory_limit()
    together = 4 * session if memory is None else min(4 * session, memory // SHARE)
    together = int(value) * MEGABYTE if value else together
    return Bounds(min(session, together), together)


def answered(session: str, request: FileURLsRequest) -> bytes:
    """What Streamlit answers to an upload widget: a fresh place for each of its files."""
    message = ForwardMsg()
    message.file_urls_response.response_id = request.request_id
    message.file_urls_response.file_urls.extend(UPLOADS.places(session, request.file_names))
    return bytes(message.SerializeToString())


def has_uploader(session: str) -> bool:
    """Whether a screen of this session ever showed an upload widget."""
    return "file_uploader_state_value" in widget_types(session)


class Places:
    """ASGI middleware that says where uploads may be put, and keeps them within bounds.

    At the beginning of a run it answers the open requests; the browser ignores a second answer."""

    def __init__(self, app: Application, bounds: Bounds) -> None:
        self.app = app
        self.bounds = bounds
        self._places: dict[str, deque[str]] = {}
        self._arriving: Counter[str] = Counter()  # bytes under way, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, and listen to both sides."""
        if scope["type"] == "websocket":
            await self._listen(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "PUT" and PATH in scope["path"]:
            await self._take(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        unanswered: dict[str, FileURLsRequest] = {}

        async def receiving() -> Message:
            while True:
                message = await receive()
                with suppress(DecodeError):  # Streamlit reports the fault
                    question = BackMsg.FromString(message.get("bytes") or b"")
                    if question.WhichOneof("type") == "file_urls_request":
                        if len(question.file_urls_request.file_names) > MOST_FILES:
                            continue  # no widget of ours asks so; the question is not passed on
                        unanswered[question.file_urls_request.request_id] = question.file_urls_request
                        while len(unanswered) > MOST_FILES:
                            unanswered.pop(next(iter(unanswered)))
                return message

        async def sending(message: Message) -> None:
            if unanswered and message.get("bytes"):
                answer = ForwardMsg.FromString(message["bytes"])
                if answer.WhichOneof("type") == "file_urls_response":
                    unanswered.pop(answer.file_urls_response.response_id, None)
                    self._hand_out(answer)
            else:
                answer = ForwardMsg()
            await send(message)
            if answer.WhichOneof("type") == "new_session":
                for request in unanswered.values():
                    payload = answered(answer.new_session.initialize.session_id, request)
                    self._hand_out(ForwardMsg.FromString(payload))
                    await send({"type": "websocket.send", "bytes": payload})
                unanswered.clear()

        await self.app(scope, receiving, sending)

    def _hand_out(self, answer: ForwardMsg) -> None:
        """Note the places that a browser learns, and forget those of sessions that have ended."""
        self._places = {session: places for session, places in self._places.items() if is_active(session)}
        for place in answer.file_urls_response.file_urls:
            session, name = place.upload_url.split("/")[-2:]
            self._places.setdefault(session, deque(maxlen=MOST_PLACES)).append(name)

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one file in, or say why not before its bytes are read."""
        session, _, name = scope["path"].rsplit(PATH, 1)[1].partition("/")
        length = next((value for key, value in scope["headers"] if key.lower() == b"content-length"), b"")
        if name not in self._places.get(session, ()) or not has_uploader(session):
            refused: tuple[int, str] | None = (404, NO_PLACE)
        elif not length.isdigit():
            refused = (411, NO_LENGTH)
        else:
            refused = self._lacking(session, name, int(length))
        if refused is not None:
            await PlainTextResponse(refused[1], refused[0], {"Connection": "close"})(scope, receive, send)
            return
        arrived = 0

        async def counting() -> Message:
            nonlocal arrived
            message = await receive()
            length = len(message.get("body", b""))
            if length and (lacking := self._lacking(session, name, length)) is not None:
                raise HTTPException(*lacking)
            arrived += length
            self._arriving[session] += length
            return message

        try:
            await self.app(scope, counting, send)
        finally:
            self._arriving[session] -= arrived
            self._arriving = +self._arriving  # only sessions with bytes under way are kept
            UPLOADS.remove_talkative(session, name, BESIDE)
            # Streamlit asks for the session before the bytes, and not again after them.
            UPLOADS.forget_ended()

    def _lacking(self, session: str, name: str, arriving: int) -> tuple[int, str] | None:
        """Why `arriving` bytes are not taken, None where there is room; a file may be put anew."""
        files = {place: size + BESIDE for place, size in UPLOADS.sizes(session).items()}
        replaced = files.pop(name, 0)
        if sum(files.values()) + self._arriving[session] + arriving + BESIDE > self.bounds.session:
            return 413, FULL
        size, number = UPLOADS.together
        size_held = size + BESIDE * number - replaced
        if size_held + self._arriving.total() + arriving + BESIDE > self.bounds.together:
            return 503, ALL_FULL
        return None
