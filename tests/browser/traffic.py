"""What a page and its Streamlit server say to each other: how a test knows that a click was answered."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from playwright.sync_api import Page, Request, WebSocket

from pages.shared.server.undocumented import BackMsg, ForwardMsg

SMALL = 20_000  # bytes: messages of a run's beginning and end are smaller, those of its maps are not parsed


class Traffic:
    """Whether a page still waits: for a run of its script (asked for, begun, ended), or for an upload."""

    def __init__(self, page: Page) -> None:
        self._asked = self._begun = False
        self._places: set[str] = set()  # asked for, to put files there
        self._uploads = 0  # on their way
        page.on("websocket", self._follow)
        page.on("request", lambda request: self._uploading(request, 1))
        page.on("requestfinished", lambda request: self._uploading(request, -1))
        page.on("requestfailed", lambda request: self._uploading(request, -1))

    @property
    def waiting(self) -> bool:
        """Whether a run that the page asked for has not ended, or a file that it was given is on its way."""
        return self._asked or self._begun or bool(self._places) or self._uploads > 0

    def _uploading(self, request: Request, change: int) -> None:
        if request.method == "PUT" and "/_stcore/upload_file/" in request.url:
            self._uploads += change

    def _follow(self, socket: WebSocket) -> None:
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)
        socket.on("close", self._closed)

    def _sent(self, frame: str | bytes) -> None:
        if not isinstance(frame, bytes):
            return
        message = BackMsg.FromString(frame)
        match message.WhichOneof("type"):
            case "rerun_script":
                self._asked = True
            case "file_urls_request":
                self._places.add(message.file_urls_request.request_id)

    def _received(self, frame: str | bytes) -> None:
        if not isinstance(frame, bytes) or len(frame) > SMALL:
            return
        message = ForwardMsg.FromString(frame)
        match message.WhichOneof("type"):
            case "new_session":
                self._asked, self._begun = False, True
            case "file_urls_response":
                self._places.discard(message.file_urls_response.response_id)
            case "script_finished":
                self._begun = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def _closed(self, _: WebSocket) -> None:
        self._asked = self._begun = False  # a new connection asks for a run of its own
        self._places.clear()  # and nobody answers what the old one asked for


_LISTENING: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()


def listen(page: Page) -> None:
    """Follow what a page says from now on; before its address is opened."""
    if page not in _LISTENING:
        _LISTENING[page] = Traffic(page)


def waiting(page: Page) -> bool:
    """Whether a page that is listened to waits for its script."""
    return page in _LISTENING and _LISTENING[page].waiting
