"""Downloads against a server on this machine that can resume, refuse to, break off, change and lie."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from data_loaders import CODE_POINT_OPEN, ONSPD_INSTRUCTIONS, DataError, PublicFile, fetch, price_paid_file
from data_loaders.house_prices import download
from tests.data_loaders.material import refused
from tests.patience import HANG

BODY = bytes(range(256)) * 20_000  # 5 MB


class Server(ThreadingHTTPServer):
    """Serves `body`; the switches below make it behave like servers one meets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = BODY
        self.etag = '"first"'
        self.ranges = True
        self.length = True
        self.break_after: list[int] = []  # bytes after which each coming answer breaks off
        self.requests: list[str | None] = []  # Range header of each request

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that stops mid-way is what these tests are about, not worth a traceback."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/pp-2018.csv"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.requests.append(asked)
        if self.path == "/gone":
            self.send_error(404)
            return
        if self.path == "/broken":
            self.send_error(503)
            return
        body, start = self.server.body, 0
        match = re.fullmatch(r"bytes=(\d+)-", asked or "")
        if match and self.server.ranges and self.headers.get("If-Range") == self.server.etag:
            start = int(match.group(1))
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if self.server.length:
            self.send_header("Content-Length", str(len(body) - start))
        self.send_header("ETag", self.server.etag)
        self.end_headers()
        end = len(body)
        if self.server.break_after:
            end = min(end, start + self.server.break_after.pop(0))
        self.wfile.write(body[start:end])
        self.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def at(address: str, **changes: object) -> PublicFile:
    return replace(price_paid_file(2018), address=address, **changes)  # type: ignore[arg-type]


def left_in(folder: Path) -> list[str]:
    """The files of a folder, without the locks of downloads."""
    return sorted(item.name for item in folder.iterdir() if not item.name.endswith(".lock"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_download_with_progress_and_a_noted_checksum(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = fetch(at(server.address), tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "pp-2018.csv"
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert seen == sorted(seen)
    assert (tmp_path / "pp-2018.csv.sha256").read_text() == digest(BODY)
    assert left_in(tmp_path) == ["pp-2018.csv", "pp-2018.csv.sha256"]


def test_what_is_there_is_not_fetched_again_unless_damaged_or_asked_for(
    server: Server, tmp_path: Path
) -> None:
    path = fetch(at(server.address), tmp_path)
    fetch(at(server.address), tmp_path)
    assert len(server.requests) == 1
    path.write_bytes(BODY[:-1])
    assert fetch(at(server.address), tmp_path).read_bytes() == BODY
    assert len(server.requests) == 2
    server.body = b"a corrected edition"
    assert fetch(at(server.address), tmp_path, refresh=True).read_bytes() == server.body
    assert (tmp_path / "pp-2018.csv.sha256").read_text() == digest(server.body)


def test_a_refresh_that_fails_keeps_the_edition_that_is_there(server: Server, tmp_path: Path) -> None:
    path = fetch(at(server.address), tmp_path)
    missing = server.address.replace("pp-2018.csv", "gone")
    assert "not at its public address" in refused(lambda: fetch(at(missing), tmp_path, refresh=True))
    assert path.read_bytes() == BODY
    assert left_in(tmp_path) == ["pp-2018.csv", "pp-2018.csv.sha256"]


def test_a_connection_that_breaks_off_is_resumed_at_once(server: Server, tmp_path: Path) -> None:
    server.break_after = [1_000_000, 2_000_000]
    assert fetch(at(server.address), tmp_path).read_bytes() == BODY
    assert server.requests[0] is None
    starts = [int(asked[6:-1]) for asked in server.requests[1:] if asked]
    assert len(starts) == 2
    assert 0 < starts[0] <= 1_000_000 < starts[1] <= 3_000_000


def test_a_stopped_download_goes_on_later_from_where_it_was(server: Server, tmp_path: Path) -> None:
    said = refused(lambda: fetch(at(server.address), tmp_path, progress=lambda done, _: done < 2_000_000))
    assert "goes on from there" in said
    held = (tmp_path / "pp-2018.csv.part").stat().st_size
    assert 2_000_000 <= held < len(BODY)
    assert not (tmp_path / "pp-2018.csv").exists()
    assert fetch(at(server.address), tmp_path).read_bytes() == BODY
    assert server.requests[-1] == f"bytes={held}-"


def test_two_downloads_of_one_file_take_turns(server: Server, tmp_path: Path) -> None:
    waiting, go_on = threading.Event(), threading.Event()
    paths: list[Path] = []

    def first(done: int, total: int | None) -> None:
        waiting.set()
        assert go_on.wait(HANG)

    def second(done: int, total: int | None) -> None:
        go_on.set()  # it is asked while it waits for its turn

    threads = [
        threading.Thread(target=lambda: paths.append(fetch(at(server.address), tmp_path, progress=first))),
        threading.Thread(target=lambda: paths.append(fetch(at(server.address), tmp_path, progress=second))),
    ]
    threads[0].start()
    assert waiting.wait(HANG)
    threads[1].start()
    for thread in threads:
        thread.join(HANG)
    assert paths == [tmp_path / "pp-2018.csv"] * 2
    assert paths[0].read_bytes() == BODY
    assert len(server.requests) == 1, "the second one found the file of the first"


def test_a_download_that_waits_for_its_turn_can_be_stopped(server: Server, tmp_path: Path) -> None:
    def first(done: int, total: int | None) -> bool:
        said.append(refused(lambda: fetch(at(server.address), tmp_path, progress=lambda *_: False)))
        return False

    said: list[str] = []
    refused(lambda: fetch(at(server.address), tmp_path, progress=first))
    assert "stopped" in said[0]
    assert len(server.requests) == 1


def test_two_editions_are_never_joined(server: Server, tmp_path: Path) -> None:
    refused(lambda: fetch(at(server.address), tmp_path, progress=lambda done, _: done < 2_000_000))
    server.body, server.etag = BODY[::-1], '"second"'
    assert fetch(at(server.address), tmp_path).read_bytes() == BODY[::-1]


def test_a_server_without_ranges_or_tags_is_asked_from_the_beginning(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.break_after = [1_000_000]
    assert fetch(at(server.address), tmp_path / "a").read_bytes() == BODY
    server.etag = 'W/"weak"'
    server.break_after = [1_000_000]
    assert fetch(at(server.address), tmp_path / "b").read_bytes() == BODY
    assert all(asked is None for asked in server.requests[2:]), "a weak tag proves no edition"


def test_a_part_file_that_is_already_complete_is_begun_anew(server: Server, tmp_path: Path) -> None:
    refused(lambda: fetch(at(server.address), tmp_path, progress=lambda done, _: done < len(BODY)))
    assert (tmp_path / "pp-2018.csv.part").stat().st_size == len(BODY)
    assert fetch(at(server.address), tmp_path).read_bytes() == BODY


def test_an_answer_without_a_length_is_taken_as_it_comes(server: Server, tmp_path: Path) -> None:
    server.length = False
    totals: set[int | None] = set()
    path = fetch(at(server.address), tmp_path, progress=lambda _, total: totals.add(total))
    assert path.read_bytes() == BODY
    assert totals == {None}


def test_limits_on_size(server: Server, tmp_path: Path) -> None:
    for length in (True, False):
        server.length = length
        said = refused(lambda: fetch(at(server.address), tmp_path, max_bytes=1_000_000))
        assert "larger than" in said
        assert not (tmp_path / "pp-2018.csv").exists()


def test_too_little_room_is_noticed_before_it_is_used(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    assert "folder with room" in refused(lambda: fetch(at(server.address), tmp_path))
    assert not (tmp_path / "pp-2018.csv.part").exists()


def test_no_way_there_is_told_with_what_to_do(server: Server, tmp_path: Path) -> None:
    gone = server.address.replace("pp-2018.csv", "gone")
    assert "not at its public address" in refused(lambda: fetch(at(gone), tmp_path))
    for address in (server.address.replace("pp-2018.csv", "broken"), "http://127.0.0.1:9/x", "http://"):
        said = refused(lambda address=address: fetch(at(address), tmp_path))  # type: ignore[misc]
        assert "machine with internet" in said
        assert f"{tmp_path} as pp-2018.csv" in said
        assert "gov.uk" in said


def test_a_folder_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "another folder" in refused(lambda: fetch(at(server.address), tmp_path / "file" / "below"))


def test_the_register_of_public_files() -> None:
    names = {price_paid_file(word).file_name for word in (1995, "2018", "complete", "monthly")}
    assert names == {"pp-1995.csv", "pp-2018.csv", "pp-complete.csv", "pp-monthly-update-new-version.csv"}
    for file in (price_paid_file(2018), CODE_POINT_OPEN):
        assert file.address.startswith("https://")
        assert file.page.startswith("https://")
        assert file.attribution
        assert file.megabytes > 0
    assert "geoportal" in ONSPD_INSTRUCTIONS
    for wrong in (1994, "20x8", ""):
        with pytest.raises(DataError, match="1995"):
            price_paid_file(wrong)
