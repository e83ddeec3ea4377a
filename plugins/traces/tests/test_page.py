"""The traces screen in the test harness and its view model: from an upload to a release, drawn once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from data_loaders import DataError
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion_traces.command import window
from hexcursion_traces.loading import load_traces
from hexcursion_traces.loading.instants import OrderWanted
from hexcursion_traces.page.maps import recorded_deck, released_deck
from hexcursion_traces.page.picking import picked_records, picked_stretch, span_of_records, span_of_stretch
from hexcursion_traces.page.screen import TRACES
from hexcursion_traces.page.view import comparison_rows, curve_points, moment, next_record, trip_of, window_of
from hexcursion_traces.page.work import TraceWork
from hexcursion_traces.plan import TracePlan
from hexcursion_traces.release import PublishedTrace, release_trace
from hexcursion_traces.settings import TraceSettings
from hexcursion_traces.shelf import trips, trips_folder
from pages.shared.subprocess_job import in_subprocess
from plugins.traces.tests.trips import write_trip
from tests.pages.conftest import press, texts
from tests.patience import HANG

STOP = "2026-05-01T12:25/2026-05-01T12:34:30"


@pytest.fixture(autouse=True)
def _planned_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are made in the test's own process: one test shows that the screen makes them in another."""

    def here(report: Callable[[float, str], None], work: Callable[..., TracePlan], *given: Any) -> TracePlan:
        return work(report, *given)

    monkeypatch.setattr("hexcursion_traces.page.work.in_subprocess", here)


@pytest.fixture
def work(tmp_path: Path) -> TraceWork:
    made = TraceWork()
    made.read_upload("1", "trip.gpx", write_trip(tmp_path).read_bytes())
    return made


def planned(work: TraceWork) -> TraceWork:
    work.begin(work.traces[0], TraceSettings(windows=(window(STOP),), every=60.0))
    assert work.job is not None
    assert work.job.wait(HANG)
    work.finish()
    assert work.note == ""
    return work


def test_a_trip_in_words(work: TraceWork) -> None:
    assert trip_of(work.traces[0]).sentence.startswith(
        "120 records over 60 minutes, one every 30 s (median)."
    )
    assert work.lines == ("trip.gpx: 120 rows read, 120 kept.",)


def test_a_broken_upload_changes_nothing(work: TraceWork) -> None:
    with pytest.raises(DataError):
        work.read_upload("2", "broken.gpx", b"<gpx>")
    assert work.upload == "1"
    assert work.traces[0].size == 120


@pytest.mark.slow
def test_a_generated_trip_is_said_to_be_one_and_can_be_released_each_time() -> None:
    work, stop = TraceWork(), "2024-05-01T12:25/2024-05-01T12:30"
    for entries in (2, 3):  # the ledger's beginning, and a trip each
        work.take_generated()
        assert work.generated
        assert work.lines[0].startswith("generated-demo-trip.gpx: ")
        work.begin(work.traces[0], TraceSettings(windows=(window(stop),), every=120.0))
        assert work.job is not None
        assert work.job.wait(HANG)
        work.finish()
        work.release()
        assert work.note == ""
        assert work.published is not None
        assert len(open_ledger().entries()) == entries


def test_a_file_of_ones_own_takes_the_place_of_a_generated_trip(work: TraceWork, tmp_path: Path) -> None:
    work.take_generated()
    assert work.generated
    work.read_upload("2", "trip.gpx", write_trip(tmp_path).read_bytes())
    assert not work.generated
    assert work.lines == ("trip.gpx: 120 rows read, 120 kept.",)


def test_who_has_no_file_tries_a_generated_trip(open_app: Callable[..., AppTest]) -> None:
    app = press(open_app(TRACES.path), "Use a generated trip")
    assert not app.exception
    assert "one every 30 s (median)" in texts(app)
    assert [button.label for button in app.button if button.label == "Use a generated trip"] == []


def test_slider_times_are_utc() -> None:
    found = window_of(*(__import__("datetime").datetime(2026, 5, 1, hour) for hour in (12, 13)))
    assert (found.start, found.end) == (1_777_636_800.0, 1_777_640_400.0)


def test_a_second_click_draws_nothing(work: TraceWork) -> None:
    planned(work)
    work.release()
    first = work.published
    assert first is not None
    work.release()
    assert work.published is first
    work.published = None  # the other thread of a double click, before it sees the first one's result
    work.release()
    assert work.published is None
    assert work.note == "The release is under way from your first click."
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis", "trace"]


def test_two_clicks_at_once_are_one_release(work: TraceWork, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the first, and finds it done: no word of something under way."""
    planned(work)
    begun, go_on, real = Event(), Event(), release_trace

    def slow(*given: Any, **named: Any) -> PublishedTrace:
        begun.set()
        assert go_on.wait(HANG)
        return real(*given, **named)

    monkeypatch.setattr("hexcursion_traces.page.work.release_trace", slow)
    clicks = [Thread(target=work.release) for _ in range(2)]
    for click in clicks:
        click.start()
        assert begun.wait(HANG)
    go_on.set()
    for click in clicks:
        click.join(HANG)
    assert work.published is not None
    assert work.note == ""
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis", "trace"]


def test_a_click_after_a_failed_one_neither_draws_nor_hides_why(
    work: TraceWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(work)
    tried: list[int] = []

    def broken(*_: Any, **__: Any) -> None:
        tried.append(1)
        raise WorkflowError("The release broke off after it was charged.")

    monkeypatch.setattr("hexcursion_traces.page.work.release_trace", broken)
    work.release()
    work.release()
    assert (len(tried), work.note) == (1, "The release broke off after it was charged.")
    assert work.published is None


@pytest.mark.slow
def test_a_trip_that_was_released_is_refused_before_the_button(work: TraceWork) -> None:
    planned(work).release()
    work.begin(work.traces[0], TraceSettings(windows=(window(STOP),), every=60.0))
    assert work.job is not None
    assert work.job.wait(HANG)
    work.finish()
    assert "were released before, as entry 1" in work.note


def test_what_is_compared_and_played(work: TraceWork) -> None:
    planned(work).release()
    plan, published = work.plan, work.published
    assert plan is not None
    assert published is not None
    (row,) = comparison_rows(plan)
    assert row["Secret"] == "2026-05-01 12:25:00 to 12:34:00 UTC"
    assert list(row) == ["Secret", "Before", "This noise", "Uniform", "Concentrated"]
    points = curve_points(work.adversaries(0))
    assert len(points) == 54
    middle = {str(p["noise"]): float(p["metres"]) for p in points if p["lengthscale"] == 120.0}
    assert middle["this noise"] > 1.9 * max(middle["uniform"], middle["concentrated"])
    assert middle["nothing released"] > middle["best for the stated lengthscale"]
    assert middle["best for the stated lengthscale"] > middle["this noise"] > middle["the paper's"]
    worst = {kind: min(float(p["metres"]) for p in points if p["noise"] == kind) for kind in middle}
    assert worst["this noise"] > worst["best for the stated lengthscale"]
    now = moment(plan, published, 30)
    assert now.secret
    assert not moment(plan, published, 0).secret
    assert now.sentence.startswith("12:30:00 UTC, a secret moment: noise of ")
    ids = [layer.id for layer in released_deck(plan, published, now, "light", private=False).layers]
    assert ids == ["now", "released", "noise"]
    shown = released_deck(plan, published, None, "dark", private=True).layers
    assert [layer.id for layer in shown] == ["secrets", "recorded", "released", "noise"]
    recorded = recorded_deck(plan.trace, None, "light").layers
    assert [(layer.id, getattr(layer, "pickable", None)) for layer in recorded] == [
        ("records", True),
        ("recorded", None),
    ]
    assert recorded[0].data[7]["i"] == 7


def at(hour: int, minute: int, second: int = 0) -> datetime:
    return datetime(2026, 5, 1, hour, minute, second)


def test_clicked_records_mean_a_span(work: TraceWork) -> None:
    """Records 50 to 69 are the stop, at 30 s each from noon; one click means the stay it belongs to."""
    trace = work.traces[0]
    start, end = span_of_records(trace, [60])
    # Two records on either side are within 100 m of the stop: 40 m apart.
    assert at(12, 23, 30) <= start <= at(12, 25)
    assert at(12, 34, 30) <= end <= at(12, 36)
    assert span_of_records(trace, [20, 10]) == (at(12, 5), at(12, 10))
    assert span_of_stretch(trace, 1_777_637_100_400.0, 1_777_637_000_000.0) == (at(12, 3, 20), at(12, 5, 1))
    assert span_of_stretch(trace, 0.0, 1e15) == (at(12, 0), at(12, 59, 30))


def test_what_a_browser_sends_is_not_believed() -> None:
    def sent(*records: object) -> dict[str, object]:
        return {"selection": {"objects": {"records": [{"i": record} for record in records]}}}

    assert picked_records(sent(3, 1, 1), 10) == [1, 3]
    assert picked_records(sent(10, -1, "2", None), 10) == []
    assert picked_records({"selection": {"objects": {}}}, 10) == []
    assert picked_records(None, 10) == []
    assert picked_stretch({"selection": {"stretch": {"time": [1, 2]}}}) == (1.0, 2.0)
    assert picked_stretch({"selection": {"stretch": {}}}) is None
    assert picked_stretch({"selection": {"stretch": {"time": [1, float("nan")]}}}) is None


def test_an_upload_is_asked_for_the_order_of_its_dates_and_read_once_it_is_said(work: TraceWork) -> None:
    work.windows.append(window(STOP))
    upload = ("2", "trip.csv", b"time,lat,lon\n3/4/2018 8:30 PM,51.5,-0.1\n")
    with pytest.raises(OrderWanted):
        work.read_upload(*upload)
    assert (work.order_wanted, work.upload, len(work.windows)) == ("2", "1", 1)
    times = []
    for order in (False, True):
        work.read_upload(*upload, None, order)
        times += work.traces[0].time.tolist()
    assert times == [1_520_195_400.0, 1_522_787_400.0]  # the fourth of March, the third of April
    assert work.windows == []


def test_a_trip_is_played_in_sixty_steps() -> None:
    assert next_record(1, 120) == 3
    assert next_record(119, 120) == 120
    assert next_record(1, 30) == 2


def test_another_trip_of_the_file_has_its_own_secrets(work: TraceWork) -> None:
    work.windows.append(window(STOP))
    work.turn_to(0)
    assert len(work.windows) == 1
    work.turn_to(1)
    assert work.windows == []


def test_the_screen_from_file_to_release(open_app: Callable[..., AppTest], tmp_path: Path) -> None:
    app = open_app(TRACES.path)
    assert "Choose a file, or try a generated trip." in texts(app)
    assert not app.session_state["workspace"].at_risk
    app.file_uploader[0].set_value(
        ("trip.gpx", write_trip(tmp_path).read_bytes(), "application/gpx+xml")
    ).run()
    assert not app.exception
    assert "120 rows read, 120 kept" in texts(app)
    next(one for one in app.number_input if one.label.startswith("Stops longer")).set_value(5.0)
    next(one for one in app.number_input if one.label.startswith("One record")).set_value(60.0)
    press(app, "Shape the noise")
    work = app.session_state["traces"]
    if work.job is not None:
        assert work.job.wait(HANG)
    app.run()
    assert not app.exception
    assert "This is not differential privacy" in texts(app)
    press(app, "Release this trip …")
    assert "**1 secret in 60 records**, μ at most " in texts(app)
    assert app.session_state["traces"].published is None
    press(app, "Go back")
    assert not [button for button in app.button if button.label == "Release now"]
    press(press(app, "Release this trip …"), "Release now")
    assert "Released." in texts(app)
    assert not app.session_state["workspace"].at_risk  # what was released is kept
    assert not [button for button in app.button if button.label == "Release now"]
    assert app.session_state["trace_record"] == 1
    press(app, "Play")
    assert app.session_state["trace_record"] == 2
    press(app, "Pause")
    assert app.session_state["trace_record"] == 2
    published = app.session_state["traces"].published
    assert load_traces(published.files["trace.gpx"].encode())[0][0].size == 60
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis", "trace"]
    later = open_app(TRACES.path)  # another visit, on the same machine
    [shelved] = [one for one in later.selectbox if one.label.startswith("They are on this machine")]
    name = published.released.release_id
    assert [title.split(" UTC, ")[1] for title in shelved.options] == [f"60 records, 1 secret, {name}"]
    shelved.select_index(0).run()
    assert not later.exception
    assert [button.label for button in later.get("download_button")] == [
        "Download trace.gpx",
        "Download trace.geojson",
        "Download places.csv",
        "Download statement.json",
    ]
    assert trips()[0].files == published.files


def test_only_whole_trips_lie_on_the_shelf(work: TraceWork) -> None:
    assert trips() == ()
    planned(work).release()
    [trip] = trips()
    assert [path.name for path in trips_folder().iterdir()] == [trip.name]  # no working folder is left
    (trips_folder() / "notes").mkdir()
    (trip.folder / "statement.json").write_text("[]")
    assert [one.title.split(" UTC, ")[1] for one in trips()] == [f"its statement cannot be read, {trip.name}"]
    (trip.folder / "places.csv").unlink()
    assert trips() == ()


def test_the_latest_trips_come_first_and_older_ones_stay_unread(work: TraceWork) -> None:
    planned(work).release()
    [first] = trips()
    for number, seconds in enumerate((100, 300, 200)):  # seconds since 1970
        copy = trips_folder() / f"{number:016x}"
        shutil.copytree(first.folder, copy)
        os.utime(copy, (seconds, seconds))
    os.utime(first.folder, (50, 50))
    assert [one.name[-1] for one in trips(2)] == ["1", "2"]
    assert [one.name for one in trips()][2:] == [f"{0:016x}", first.name]


def test_a_shelf_that_cannot_be_made_stops_before_the_charge(work: TraceWork, tmp_path: Path) -> None:
    planned(work)
    trips_folder().parent.mkdir(parents=True, exist_ok=True)
    trips_folder().write_text("a file")
    work.release()
    assert work.note.endswith("(File exists): name another home by HEXCURSION_HOME.")
    assert work.published is None
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis"]


def test_a_plan_runs_in_a_process_of_its_own_that_ends_with_a_cancel(
    work: TraceWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own interpreter shapes nothing, and nobody waits for a cancelled plan."""

    def here(*_: Any) -> None:
        raise AssertionError("a plan was made in the server's process")

    monkeypatch.setattr("hexcursion_traces.page.work.in_subprocess", in_subprocess)
    monkeypatch.setattr("hexcursion_traces.page.work.plan_trace", here)
    work.begin(work.traces[0], TraceSettings(windows=(window(STOP),), every=0.0))
    job = work.job
    assert job is not None
    work.forget_plan()
    assert job.wait(HANG)
    assert job.state.state == "cancelled"
    planned(work)
    assert work.plan is not None


def test_odds_above_a_hundred_wait_for_a_word(work: TraceWork) -> None:
    work.begin(work.traces[0], TraceSettings(windows=(window(STOP),), every=60.0, metres=100.0))
    assert work.job is not None
    assert work.job.wait(HANG)
    work.finish()
    work.release()
    assert "is stopped, and nothing was charged" in work.note
    work.note = ""
    work.accept_odds(True)
    work.release()
    assert work.published is not None
    assert work.published.statement["large_odds_accepted"] is True
