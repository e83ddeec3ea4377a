"""A server of public files on this machine, so that no test asks the real hosts."""

from __future__ import annotations

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from data_loaders import CODE_POINT_OPEN, price_paid_file
from pages.data import public_files as public_data
from tests.patience import HANG

BODY = bytes(range(256)) * 8_000  # 2 MB
FIRST_PART = 1 << 20


class Server(ThreadingHTTPServer):
    """Serves `files` by name and BODY for all others; `silent`: it falls silent after its first megabyte."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None]] = []
        self.files: dict[str, bytes] = {}
        self.silent = False
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that stops mid-way is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.requests.append((self.path, asked))
        body = self.server.files.get(self.path, BODY)
        start = int(asked[6:-1]) if asked else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.send_header("ETag", '"one"')
        self.end_headers()
        if self.server.silent:
            self.wfile.write(body[start:FIRST_PART])
            self.wfile.flush()
            self.server.over.wait(HANG)
            self.close_connection = True
            return
        self.wfile.write(body[start:])


def place_files_at(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    """Let the public addresses be those of a server on this machine."""

    def sales(year: int):
        return replace(price_paid_file(year), address=f"{base}/pp-{year}.csv", megabytes=2)

    monkeypatch.setattr(public_data, "price_paid_file", sales)
    monkeypatch.setattr(
        public_data, "CODE_POINT_OPEN", replace(CODE_POINT_OPEN, address=f"{base}/codes", megabytes=2)
    )
