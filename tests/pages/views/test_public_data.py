"""Public files in the background, from a server of this machine: progress, cancel, resume, no way there."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from data_loaders.house_prices import download
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.releasing.allowed_paths import public_folder
from hexcursion.search.executors import Run
from pages.data import public_files as public_data
from pages.data.public_files import by_hand, download_job, public_offers
from pages.shared.session.workspace import Fetched
from pages.shared.subprocess_job import Job
from tests.pages.views.public_server import BODY, FIRST_PART, Server, place_files_at
from tests.patience import HANG


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    with Server() as running:
        place_files_at(monkeypatch, f"http://127.0.0.1:{running.server_address[1]}")
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


def wait_until_held(job: Job[Fetched], size: int) -> None:
    """Wait until that many bytes of the first file are on disk; no claim about speed."""
    part = public_folder() / "pp-2018.csv.part"
    while not (part.is_file() and part.stat().st_size >= size):
        assert job.state.state == "running"
        time.sleep(0.05)


def test_all_files_are_fetched_once_and_stay_for_everybody(server: Server) -> None:
    assert [offer.here for offer in public_offers(2018, 2017)] == [False] * 3
    job = download_job(2018, 2017)
    assert job.wait(HANG)
    fetched = job.result()
    assert [Path(path).read_bytes() for path in vars(fetched).values()] == [BODY] * 3
    assert Path(fetched.sales) == public_folder() / "pp-2018.csv"
    assert Path(str(fetched.reference)).name == "pp-2017.csv"
    assert Path(fetched.postcodes).name == "code-point-open.zip"
    assert [path for path, _ in server.requests] == ["/pp-2018.csv", "/pp-2017.csv", "/codes"]
    assert [offer.here for offer in public_offers(2018, 2017)] == [True] * 3
    again = download_job(2018)
    assert again.wait(HANG)
    assert again.result().reference is None
    assert len(server.requests) == 3
    fresh = download_job(2018, refresh=True)
    assert fresh.wait(HANG)
    assert len(server.requests) == 5


def test_a_cancel_does_not_wait_for_a_silent_server_and_the_next_one_goes_on(server: Server) -> None:
    server.silent = True
    job = download_job(2018)
    wait_until_held(job, FIRST_PART - (1 << 16))
    job.cancel()
    assert job.wait(HANG)  # while the server still holds its answer back
    assert not server.over.is_set()
    with pytest.raises(Cancelled):
        job.result()
    assert public_offers(2018)[0].held == 0 or public_offers(2018)[0].held == 1
    server.silent = False
    server.over.set()
    resumed = download_job(2018)
    assert resumed.wait(HANG)
    assert Path(resumed.result().sales).read_bytes() == BODY
    starts = [int(asked[6:-1]) for path, asked in server.requests if path == "/pp-2018.csv" and asked]
    assert starts
    assert min(starts) >= FIRST_PART - (1 << 16)


def test_progress_never_falls_and_says_what_is_on_its_way(server: Server) -> None:
    seen: list[tuple[float, str]] = []
    file = public_data.price_paid_file(2018)
    tell = Run(lambda fraction, text: seen.append((fraction, text))).part(0.25, 0.25).report
    path = public_data._followed(file, public_folder(), False, tell, 2e6)
    assert path.read_bytes() == BODY
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert all(0.25 <= fraction <= 0.5 for fraction in fractions)
    assert all(text.startswith("Price Paid Data 2018: ") for _, text in seen)


def test_without_a_way_there_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    place_files_at(monkeypatch, "http://127.0.0.1:9")
    job = download_job(2018)
    assert job.wait(HANG)
    with pytest.raises(WorkflowError) as said:
        job.result()
    for word in ("127.0.0.1 cannot be reached", "www.gov.uk", str(public_folder()), "pp-2018.csv"):
        assert word in str(said.value)


def test_a_file_that_was_put_there_by_hand_is_taken(server: Server) -> None:
    public_folder().mkdir(parents=True)
    (public_folder() / "pp-2018.csv").write_bytes(b"by hand")
    job = download_job(2018)
    assert job.wait(HANG)
    assert Path(job.result().sales).read_bytes() == b"by hand"
    assert [path for path, _ in server.requests] == ["/codes"]


def test_the_way_by_hand_names_pages_files_and_the_folder() -> None:
    said = "\n".join(by_hand(2018, 2017))
    for word in (
        "www.gov.uk",
        "osdatahub.os.uk",
        "pp-2018.csv, pp-2017.csv, code-point-open.zip",
        "geoportal",
    ):
        assert word in said
    assert str(public_folder()) in said
    assert [offer.file.host for offer in public_offers(2018)] == [
        "price-paid-data.publicdata.landregistry.gov.uk",
        "api.os.uk",
    ]
    with pytest.raises(WorkflowError, match="1995"):
        public_offers(1994)
