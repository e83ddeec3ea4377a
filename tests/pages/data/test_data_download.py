"""Public files on the Data screen: what a click on the download says, asks and leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.errors import WorkflowError
from hexcursion.releasing.allowed_paths import public_folder
from hexcursion.settings import ReleaseSettings
from pages.data import public_files
from pages.shared.session.workspace import Fetched
from pages.shared.steps import DATA
from pages.shared.subprocess_job import Job
from tests.pages.conftest import press, texts
from tests.pages.data_steps import OpenApp, errors, kind, work_of
from tests.pages.views.public_server import Server, place_files_at
from tests.patience import HANG


class TestDownload:
    """The public files by a click; what a click does is replaced, since no test asks the real hosts."""

    def test_before_the_click_it_says_whom_it_asks_how_much_and_under_which_licence(
        self, open_app: OpenApp
    ) -> None:
        app = kind(open_app(DATA.path), "sales")
        said = texts(app)
        for word in (
            "price-paid-data.publicdata.landregistry.gov.uk",
            "api.os.uk",
            "about 170 MB",
            "Open Government Licence v3.0",
            str(public_folder()),
            "pp-2",
        ):
            assert word in said
        assert work_of(app).download is None

    def test_what_was_fetched_is_put_into_the_path_widgets(
        self, open_app: OpenApp, example: ReleaseSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert example.reference is not None
        fetched = Fetched(example.data.path, example.reference.path, str(example.data.postcodes))
        app = begun(open_app, monkeypatch, lambda report: fetched)
        assert "their paths are filled in below" in texts(app)
        assert app.segmented_control(key="sales_where").value == "path"
        assert app.text_input(key="sales_postcodes_path").value == fetched.postcodes
        press(app, "Read the data")
        assert work_of(app).kind == "sales"
        assert work_of(app).reference is not None

    def test_from_the_click_to_the_sales_that_were_read(
        self, open_app: OpenApp, example: ReleaseSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert example.reference is not None
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        app = kind(open_app(DATA.path), "sales")
        app.selectbox(key="public_year").set_value(2018).run()
        with Server() as server:
            place_files_at(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}")
            for name, path in (
                ("/pp-2018.csv", example.data.path),
                ("/pp-2017.csv", example.reference.path),
                ("/codes", str(example.data.postcodes)),
            ):
                server.files[name] = Path(path).read_bytes()
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            [button] = [each for each in app.button if each.label.startswith("Download from")]
            button.click().run()
            job = work_of(app).download
            assert job is None or job.wait(HANG)
            app.run()
            server.shutdown()
        assert not errors(app)
        assert app.text_input(key="sales_private_path").value == str(public_folder() / "pp-2018.csv")
        assert app.text_input(key="sales_reference_path").value == str(public_folder() / "pp-2017.csv")
        assert "already here" in texts(app)
        press(app, "Read the data")
        assert work_of(app).kind == "sales"
        assert work_of(app).private.size > 100  # type: ignore[union-attr]

    def test_no_way_there_is_one_sentence(self, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
        def offline(report: object) -> Fetched:
            raise WorkflowError("The host cannot be reached from here: download it elsewhere.")

        app = begun(open_app, monkeypatch, offline)
        assert errors(app) == ["The host cannot be reached from here: download it elsewhere."]
        assert "www.gov.uk" in texts(app)
        assert [button for button in app.button if button.label.startswith("Download from")]

    def test_a_cancel_says_that_nothing_is_lost(
        self, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def slow(report: Callable[[float, str], None]) -> Fetched:
            while True:
                report(0.3, "Price Paid Data 2024: 50 of about 170 MB")

        app = kind(open_app(DATA.path), "sales")
        jobs: list[Job[Fetched]] = []
        monkeypatch.setattr(public_files, "download_job", lambda *_, **__: jobs.append(Job(slow)) or jobs[-1])
        next(button for button in app.button if button.label.startswith("Download from")).click().run()
        assert not app.exception
        jobs[0].cancel()
        assert jobs[0].wait(HANG)
        app.run()
        assert "Cancelled. The next download goes on from there." in texts(app)


def begun(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, work: Callable[..., Fetched]) -> AppTest:
    """The screen after a click on the download whose job has ended."""

    def job(*_: object, **__: object) -> Job[Fetched]:
        made = Job(work)
        assert made.wait(HANG)
        return made

    app = kind(open_app(DATA.path), "sales")
    monkeypatch.setattr(public_files, "download_job", job)
    next(button for button in app.button if button.label.startswith("Download from")).click().run()
    assert not app.exception
    return app
