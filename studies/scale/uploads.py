"""Readers beside a hostile uploader: `python -m studies.scale.uploads [--sessions 10] [--minutes 5]`.

A viewer of its own on 127.0.0.1, so many readers who open one published map again and again, and beside them
somebody who uploads whatever he can: large files at places that he was told, at made-up places, without a
length, from many sessions at once. At the end: how long readers waited, what the uploader heard, and the
memory of the server, which may grow by `--most`. It asks nothing but its own server, and stops by itself.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import http.client
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from hexcursion.bundle import write_bundle
from tests.browser.harness import RunningApp, running_app, server_memory
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain

MEGABYTE = 1_000_000
LARGE = 90 * MEGABYTE  # of one file: just below what a session may hold
PIECE = b"x" * MEGABYTE
PATIENCE = 120.0  # seconds for one answer
MOST_REQUESTS = 5_000
GUESTS = 8  # sessions that the uploader holds at once
PAUSE = 0.2  # seconds between two visits of a reader


@dataclass
class Met:
    """What all of them met."""

    seconds: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


class Session:
    """A session as a browser has it, without a browser."""

    def __init__(self, app: RunningApp, socket: ClientConnection, token: str) -> None:
        self.app, self._socket, self._token = app, socket, token
        self.name = ""

    def run(self) -> None:
        """Ask for a run of the script and hear it to its end."""
        asked = BackMsg()
        asked.rerun_script.query_string = ""
        self._socket.send(asked.SerializeToString())
        while True:
            said = ForwardMsg.FromString(self._heard())
            if said.WhichOneof("type") == "new_session":
                self.name = said.new_session.initialize.session_id
            if said.WhichOneof("type") == "script_finished":
                return

    def places(self, many: int) -> list[str]:
        """Addresses for so many files, as an upload widget asks for them; none where it gets none."""
        asked = BackMsg()
        asked.file_urls_request.request_id = f"{time.monotonic()}"
        asked.file_urls_request.file_names.extend(["bundle.zip"] * many)
        self._socket.send(asked.SerializeToString())
        while True:
            said = ForwardMsg.FromString(self._heard())
            if said.WhichOneof("type") == "file_urls_response":
                return [place.upload_url for place in said.file_urls_response.file_urls]

    def put(self, path: str, size: int, said: int | None) -> str:
        """Upload so many bytes and say that they are others, or say nothing (None); what comes back."""
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
            return "cut off"  # it was answered before everything was sent
        finally:
            connection.close()

    def _heard(self) -> bytes:
        heard = self._socket.recv(timeout=PATIENCE)
        return heard if isinstance(heard, bytes) else heard.encode()


@contextmanager
def session(app: RunningApp) -> Iterator[Session]:
    """A session of its own, run once."""
    host = app.url.removeprefix("http://")
    asked = http.client.HTTPConnection(host, timeout=PATIENCE)
    asked.request("GET", "/_stcore/health")
    cookie = asked.getresponse().getheader("Set-Cookie") or ""
    asked.close()
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
        found = Session(app, socket, token)
        found.run()
        yield found


def read(app: RunningApp, met: Met) -> None:
    """Open the viewer again and again, as ever new readers."""
    while not met.over.is_set():
        start = time.perf_counter()
        try:
            with session(app) as reader:
                reader.run()
            met.seconds.append(time.perf_counter() - start)
        except (OSError, TimeoutError, ConnectionClosed) as error:
            met.faults.append(f"a reader: {type(error).__name__} {error}")
        met.over.wait(PAUSE)


def upload(app: RunningApp, met: Met) -> None:
    """Upload whatever the server takes."""
    while not met.over.is_set():
        try:
            with session(app) as guest:
                *told, other = guest.places(8)
                for path in told:
                    if met.over.is_set() or met.answers.total() > MOST_REQUESTS:
                        return
                    for wish, put in (
                        ("told", (path, LARGE, LARGE)),
                        ("made up", (f"/_stcore/upload_file/{guest.name}/made-up", LARGE, LARGE)),
                        ("without a length", (path, LARGE, None)),
                        ("too large", (path, 250 * MEGABYTE, 250 * MEGABYTE)),
                        ("empty", (other, 0, 0)),
                    ):
                        met.answers[f"{wish}: {guest.put(*put)}"] += 1
        except (OSError, TimeoutError, ConnectionClosed) as error:
            met.faults.append(f"the uploader: {type(error).__name__} {error}")
            met.over.wait(PAUSE)


def beside(app: RunningApp, sessions: int, seconds: float) -> Met:
    """Readers and the uploader's sessions side by side for so long; memory of the server twice a second."""
    met = Met()
    at_work = [threading.Thread(target=read, args=(app, met)) for _ in range(sessions)]
    at_work += [threading.Thread(target=upload, args=(app, met)) for _ in range(GUESTS)]
    until = time.monotonic() + seconds
    for thread in at_work:
        thread.start()
    while time.monotonic() < until:
        met.memory.append(server_memory(app))
        time.sleep(0.5)
    met.over.set()
    for thread in at_work:
        thread.join()
    met.memory.append(server_memory(app))
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--uploads", type=int, default=200, help="MB that the server holds for all together")
    parser.add_argument("--most", type=float, default=1_000.0, help="MB that the server's memory may grow by")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(make_release(small_domain()), Path(folder) / "bundles" / "london")
        places = {
            "HEXCURSION_BUNDLES": str(Path(folder) / "bundles"),
            "HEXCURSION_UPLOADS_MB": str(asked.uploads),
        }
        with running_app(Path(folder) / "home", "--viewer", **places) as app:
            with session(app):
                before = server_memory(app)
            met = beside(app, asked.sessions, 60.0 * asked.minutes)
    waited = sorted(met.seconds) or [float("nan")]
    print(f"{asked.sessions} readers and {GUESTS} sessions of an uploader for {asked.minutes:g} minutes")
    print(
        f"visits of readers       {len(met.seconds):,}, half of them within {waited[len(waited) // 2]:.1f} s"
    )
    print(
        f"memory of the server    {before:,.0f} MB before, at most {max(met.memory):,.0f} MB, "
        f"{met.memory[-1]:,.0f} MB at the end"
    )
    print("No random numbers: what is uploaded is one letter again and again.")
    for wish, times in sorted(met.answers.items()):
        print(f"upload {wish:30} {times:,}")
    for fault in met.faults[:10]:
        print(f"fault: {fault}")
    grown = max(met.memory) - before
    print(
        f"grown by at most        {grown:,.0f} MB of {asked.most:,.0f} MB allowed; {len(met.faults)} faults"
    )
    return 1 if grown > asked.most or not met.seconds else 0


if __name__ == "__main__":
    raise SystemExit(main())
