"""A session with a running app over its WebSocket, without a browser: as readers and strangers open one."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection, connect

from pages.shared.server.undocumented import BackMsg, ForwardMsg
from tests.browser.harness import RunningApp

MEGABYTE = 1_000_000
PIECE = b"x" * MEGABYTE
PATIENCE = 120.0  # seconds for one answer


class Session:
    """A session with the server over its WebSocket, without a browser."""

    def __init__(self, app: RunningApp, socket: ClientConnection, token: str, path: str) -> None:
        self.app, self._socket, self._token, self.path = app, socket, token, path
        self.name = ""

    def run(self) -> None:
        """Run the page's script and wait for its end."""
        request = BackMsg()
        request.rerun_script.query_string = ""
        request.rerun_script.page_name = self.path
        self._socket.send(request.SerializeToString())
        while True:
            message = ForwardMsg.FromString(self._heard())
            if message.WhichOneof("type") == "new_session":
                self.name = message.new_session.initialize.session_id
            if message.WhichOneof("type") == "script_finished":
                return

    def places(self, many: int) -> list[str]:
        """Addresses for `many` files, as an upload widget requests them; empty if the server refuses."""
        request = BackMsg()
        request.file_urls_request.request_id = f"{time.monotonic()}"
        request.file_urls_request.file_names.extend(["bundle.zip"] * many)
        self._socket.send(request.SerializeToString())
        while True:
            message = ForwardMsg.FromString(self._heard())
            if message.WhichOneof("type") == "file_urls_response":
                return [place.upload_url for place in message.file_urls_response.file_urls]

    def put(self, path: str, size: int, said: int | None) -> str:
        """Upload `size` bytes, state `said` bytes or no length (None), and return the answer."""
        edge = b"--edge\r\n"
        head = edge + b'Content-Disposition: form-data; name="f"; filename="f.zip"\r\n\r\n'
        tail = b"\r\n--edge--\r\n"
        connection = http.client.HTTPConnection("127.0.0.1", urlsplit(self.app.url).port, timeout=PATIENCE)
        headers = {
            "Content-Type": "multipart/form-data; boundary=edge",
            "X-Xsrftoken": self._token,
            "Cookie": f"_streamlit_xsrf={self._token}",
        }
        if said is None:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = str(len(head) + said + len(tail))

        def pieces() -> Iterator[bytes]:
            yield head
            for at in range(0, size, MEGABYTE):
                yield PIECE[: size - at]
            yield tail

        try:
            connection.request("PUT", path, pieces(), headers, encode_chunked=said is None)
            return str(connection.getresponse().status)
        except (OSError, http.client.HTTPException):
            return "cut off"  # the server answered before everything was sent
        finally:
            connection.close()

    def _heard(self) -> bytes:
        heard = self._socket.recv(timeout=PATIENCE)
        return heard if isinstance(heard, bytes) else heard.encode()


@contextmanager
def session(app: RunningApp, path: str = "") -> Iterator[Session]:
    """Open a session and run a page once ("" is the start page)."""
    host = app.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    connection.request("GET", "/_stcore/health")
    cookie = connection.getresponse().getheader("Set-Cookie") or ""
    connection.close()
    token = cookie.partition("_streamlit_xsrf=")[2].partition(";")[0]
    with connect(
        f"ws://{host}/_stcore/stream",
        origin=app.url,  # type: ignore[arg-type]
        subprotocols=["streamlit"],  # type: ignore[list-item]
        open_timeout=PATIENCE,
        max_size=None,
        close_timeout=1,
        ping_interval=None,  # a busy machine answers late: a reader waits
    ) as socket:
        opened = Session(app, socket, token, path)
        opened.run()
        yield opened
