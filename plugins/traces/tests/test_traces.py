"""A trace from file to file: secrets, plan, charge before the draw, statement, refusals."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hexcursion.errors import WorkflowError
from hexcursion.ledger import LedgerError, RequestTaken, open_ledger
from hexcursion.ledger.ledger import trace_marks
from hexcursion_traces import release
from hexcursion_traces.command import window
from hexcursion_traces.loading import Trace, load_traces
from hexcursion_traces.mathematics.loss import Certificate
from hexcursion_traces.mathematics.secret import Secret
from hexcursion_traces.mathematics.windows import Standing, TraceNoise
from hexcursion_traces.plan import TracePlan, compare, on_a_plane, plan_trace
from hexcursion_traces.readings import joined_table, read_readings, readings_at
from hexcursion_traces.release import release_trace
from hexcursion_traces.settings import TraceSettings, Window
from hexcursion_traces.statement import _times, accepted, objection, rounded_down, rounded_up, sentences
from hexcursion_traces.stops import chosen_secrets
from plugins.traces.tests.trips import START, STOP, write_trip

SETTINGS = TraceSettings(windows=(window(STOP),), every=60.0)


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    (trace,), _ = load_traces(write_trip(tmp_path_factory.mktemp("trip")))
    return trace


@pytest.fixture(scope="module")
def plan(trip: Trace) -> TracePlan:
    return plan_trace(trip, SETTINGS)


def test_windows_and_stops_that_overlap_are_one_secret() -> None:
    time = np.arange(10.0)
    windows, found = (Window(2.0, 4.0), Window(8.0, 8.0)), (Window(4.0, 5.5), Window(6.2, 6.8))
    assert chosen_secrets(time, windows, found, "together") == (Secret((2, 3, 4, 5)), Secret((8,)))
    assert chosen_secrets(time, (), (), "together") == ()
    with pytest.raises(WorkflowError, match="holds no record"):
        chosen_secrets(time, (Window(20.0, 30.0),), (), "together")


def test_a_trip_without_a_secret_is_refused_with_what_nearly_is_one(trip: Trace) -> None:
    with pytest.raises(WorkflowError, match=r"no secret was named.*1 stay of 1[0-3] minutes is not"):
        plan_trace(trip, TraceSettings())
    with pytest.raises(WorkflowError, match=r"no stop of 15 minutes or more.*1 stay of 1[0-3] minutes"):
        plan_trace(trip, TraceSettings(stops=15.0))


def test_odds_above_a_hundred_are_stopped_before_the_charge(trip: Trace) -> None:
    settings = TraceSettings(windows=(window(STOP),), every=60.0, metres=100.0)
    weak, ledger = plan_trace(trip, settings), open_ledger()
    assert 100.0 < weak.worst.certificate.odds(1e-5) < 1000.0
    with pytest.raises(WorkflowError, match=r"is stopped, and nothing was charged.*--accept-large-odds"):
        release_trace(weak, ledger)
    assert [entry.kind for entry in ledger.entries()] in ([], ["genesis"])
    taken = replace(weak, settings=replace(settings, accept_large_odds=True))
    facts = release_trace(taken, ledger).statement
    assert facts["large_odds_accepted"] is True
    assert "The curator accepted these odds" in " ".join(facts["in_words"])


def test_odds_up_to_a_hundred_need_no_word(plan: TracePlan) -> None:
    assert 10.0 < plan.worst.certificate.odds(1e-5) < 100.0
    at = Certificate(0.9422, 200.0)
    assert at.odds(1e-5) == pytest.approx(100.0, rel=0.01)
    for mu, stopped in ((0.94, False), (0.945, True)):
        one = replace(plan, standings=(Standing(Certificate(mu, 200.0), 200.0),))
        assert bool(objection(one)) is stopped
    assert accepted(replace(plan, settings=replace(plan.settings, accept_large_odds=True))) is False


def test_a_plan_keeps_its_budget_and_beats_uniform_and_concentrated_noise(plan: TracePlan) -> None:
    assert plan.trace.size == 60
    assert [secret.records for secret in plan.secrets] == [tuple(range(25, 35))]
    assert plan.root_mean_square == pytest.approx(200.0, rel=1e-6)
    found = compare(plan)[0]
    assert found.designed == pytest.approx(plan.worst.interval, rel=1e-6)
    assert found.designed > 3.0 * found.uniform
    assert found.designed > 1.8 * found.concentrated
    assert found.before > found.designed
    assert plan.worst.certificate.mu < 1.3


def test_a_wanted_interval_is_reached(trip: Trace) -> None:
    found = plan_trace(
        trip, TraceSettings(windows=(window(STOP),), every=60.0, goal="interval", metres=200.0)
    )
    assert 200.0 <= found.worst.interval <= 210.0
    with pytest.raises(WorkflowError, match="before the release"):
        plan_trace(trip, TraceSettings(windows=(window(STOP),), every=60.0, goal="interval", metres=999.0))


def still(*seconds: float) -> Trace:
    """A trace that never moves."""
    n = len(seconds)
    return Trace("still", START.timestamp() + np.array(seconds), np.full(n, 13.4), np.full(n, 52.5))


@pytest.mark.parametrize(
    ("seconds", "secrets"),
    [
        ((0.0, 600.0), 1),  # two records
        (tuple(60.0 * k for k in range(20)), 1),  # all places equal
        ((0.0, 60.0, 120.0, 86_400.0, 86_460.0, 86_520.0), 1),  # a receiver that was off for a day
    ],
)
def test_traces_that_are_hardly_traces_are_planned(seconds: tuple[float, ...], secrets: int) -> None:
    found = plan_trace(still(*seconds), TraceSettings(stops=5.0))
    assert len(found.secrets) == secrets
    assert found.root_mean_square == pytest.approx(200.0, rel=1e-6)
    assert 0.0 < found.worst.certificate.mu < 10.0
    assert found.worst.interval > 20.0


def test_one_record_is_no_trip() -> None:
    with pytest.raises(WorkflowError, match="at least two records"):
        plan_trace(still(0.0), TraceSettings(stops=5.0))
    with pytest.raises(WorkflowError, match="at least two records"):
        plan_trace(still(0.0, 10.0), TraceSettings(stops=5.0))  # thinned to one record every 30 s


def test_metres_on_the_plane_are_metres_on_the_ground(trip: Trace) -> None:
    """40 m east per record: not the 0.64 m of a metre that a spherical shortcut gives."""
    _, places = on_a_plane(trip)
    assert np.diff(places[:40, 0]) == pytest.approx(40.0, abs=15.0)
    assert float(np.diff(places[:40, 0]).mean()) == pytest.approx(40.0, abs=0.5)
    wide = Trace("w", np.array([0.0, 1.0]), np.array([0.0, 15.0]), np.array([0.0, 0.0]))
    with pytest.raises(WorkflowError, match=r"wider than 1,000 km"):
        on_a_plane(wide)
    across = Trace("a", np.array([0.0, 1.0]), np.array([179.999, -179.999]), np.array([0.0, 0.0]))
    assert abs(float(np.diff(on_a_plane(across)[1][:, 0])[0])) == pytest.approx(222.6, abs=1.0)


def test_a_release_is_charged_first_and_drawn_once(plan: TracePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger()
    drawn: list[int] = []
    whole = TraceNoise.draw

    def watched(self: TraceNoise, entropy: object) -> np.ndarray:
        drawn.append(len(ledger.entries()))
        return whole(self, entropy)  # type: ignore[arg-type]

    monkeypatch.setattr(TraceNoise, "draw", watched)
    published = release_trace(plan, ledger, "click")
    assert drawn == [2]  # genesis and the trace's own entry stood when the noise was drawn
    with pytest.raises(RequestTaken, match="charged already, as entry 1"):
        release_trace(plan, ledger, "click")
    with pytest.raises(LedgerError, match="released before, as entry 1"):
        release_trace(plan, ledger, "another click")
    assert drawn == [2]
    assert ledger.verify([published.statement["ledger_seal"]]) == []
    entry = ledger.entries()[1]
    assert entry.kind == "trace"
    assert ledger.accounts() == ()  # in no sum with epsilon
    assert entry.facts["facts"]["mu"] == published.statement["mu"]


def test_half_of_a_released_trip_is_recognised(plan: TracePlan, trip: Trace) -> None:
    ledger = open_ledger()
    release_trace(plan, ledger, "one")
    part = Trace("part", trip.time[60:], trip.longitude[60:], trip.latitude[60:])
    later = plan_trace(
        part, TraceSettings(windows=(window("2026-05-01T12:45/2026-05-01T12:50"),), every=60.0)
    )
    with pytest.raises(LedgerError, match="as entry 1"):
        release_trace(later, ledger, "two")
    many = trace_marks(ledger, np.arange(3000.0), np.zeros(3000), np.zeros(3000))
    assert len(many) == 2_000


def test_the_release_is_the_trace_with_the_certified_noise(plan: TracePlan) -> None:
    published = release_trace(plan, open_ledger())
    (again,), report = load_traces(published.files["trace.gpx"].encode())
    assert report.kept == 60
    assert again.longitude == pytest.approx(published.released.longitude)
    noise = on_a_plane(again)[1] - plan.places
    # Whitened by the certified covariance, the squares of 60 places on two axes are chi-squared with 120
    # degrees of freedom, of standard deviation 15.5: a sound draw lies outside once in 10^7 runs.
    whitened = np.linalg.solve(np.linalg.cholesky(plan.noise.dense()), noise)
    assert 45.0 < float(np.sum(whitened**2)) < 230.0
    assert not np.any(noise == 0.0)
    line = load_traces(published.files["trace.geojson"].encode())[0][0]
    assert line.latitude == pytest.approx(again.latitude)
    facts = json.loads(published.files["statement.json"])
    assert facts["is_differential_privacy"] is False
    assert facts["secret_moments"][0]["from"] == "2026-05-01T12:25:00Z"
    assert facts["mu"] >= plan.worst.certificate.mu
    assert facts["secret_moments"][0]["interval_68_m_at_least"] <= plan.worst.interval
    assert "This is not differential privacy." in " ".join(facts["in_words"])
    table = published.files["places.csv"].splitlines()
    assert table[0] == "time,lon,lat,sd_m"
    assert len(table) == 61


def test_a_break_after_the_charge_is_said(
    plan: TracePlan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(release, "_drawn", broken)
    with pytest.raises(WorkflowError, match=r"charged as entry 1 .the disk is full.: the entry remains"):
        release_trace(plan, open_ledger(), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_numbers_said_at_most_and_at_least() -> None:
    assert rounded_up(1.23401) == 1.235
    assert rounded_down(272.99) == 272.0
    assert rounded_down(12_399.0) == 12_300.0
    assert [rounded_down(value) for value in (0.7, 0.07, 1.1, 70.0)] == [0.7, 0.07, 1.1, 70.0]
    assert [rounded_down(value) for value in (0.6999, 0.70149)] == [0.699, 0.701]
    assert [rounded_down(value) for value in (0.0, -1.0, math.inf, math.nan)] == [0.0] * 4


def test_words_name_the_worst(plan: TracePlan) -> None:
    said = " ".join(sentences(plan))
    assert "1 secret in 60 records" in said
    assert "60, 90, 120, 150, 180 s" in said
    assert f"{plan.settings.radius:g} m" in said


def test_readings_find_their_places_by_time() -> None:
    axis = np.array([0.0, 1.0])
    lon, lat = readings_at(np.array([100.0, 200.0]), (axis, axis + 1.0), np.array([150.0, 99.0]))
    assert (lon[0], lat[0]) == (0.5, 1.5)
    assert math.isnan(lon[1])


def test_readings_become_a_table_of_sensors(tmp_path: Path) -> None:
    places = "time,lon,lat,sd_m\n2026-05-01T12:00:00Z,13.4,52.5,10\n2026-05-01T12:10:00Z,13.5,52.5,10\n"
    readings = tmp_path / "no2.csv"
    readings.write_text("time,no2 (ug/m3)\n2026-05-01T12:05:00Z,21\n2026-05-01T13:00:00Z,22\nsoon,23\n")
    table, said = joined_table(places, read_readings(readings), 8)
    assert table.splitlines()[0] == "lon,lat,sd_m,no2 (ug/m3),h3,probability"
    assert table.splitlines()[1].startswith("13.450000,52.500000,10.0,21,88")
    assert len(table.splitlines()) == 2
    assert said.startswith("1 of 2 readings found a place; at resolution 8")
    readings.write_text("time,no2\n2026-05-01T13:00:00Z,22\n")
    with pytest.raises(WorkflowError, match="No reading was made during the trip"):
        joined_table(places, read_readings(readings), 8)
    readings.write_text("when,no2\n2026-05-01T13:00:00Z,22\n")
    with pytest.raises(WorkflowError, match="needs two columns"):
        joined_table(places, read_readings(readings), 8)


def test_large_numbers_are_numbers_in_a_statement(trip: Trace) -> None:
    """A trip with next to no noise: mu 80 and epsilon 3,000 have a thousands separator in words only."""
    assert rounded_up(12_345.6) == 12_350.0
    settings = TraceSettings(
        windows=(window(STOP),), every=60.0, metres=1.5, error=1.0, accept_large_odds=True
    )
    published = release_trace(plan_trace(trip, settings), open_ledger())
    assert published.statement["secret_moments"][0]["epsilon_at_most"] > 1000.0
    assert published.statement["mu"] > 30.0


def test_the_odds_are_said_with_the_factor_that_their_probability_is_of(plan: TracePlan) -> None:
    """Of the worst secret, rounded up; the epsilon of the same mu stands beside it by its own name."""
    worst, delta = plan.worst.certificate, plan.settings.delta
    said = sentences(plan)[1]
    found = re.fullmatch(
        r"That changes the odds of the two at most ([0-9,.]+) times, except with probability ([0-9e.-]+)\. "
        r"As ε at a slack δ of ([0-9e.-]+) it is ([0-9.]+)\.",
        said,
    )
    assert found is not None, said
    factor, probability, slack, epsilon = (float(part.replace(",", "")) for part in found.groups())
    assert (probability, slack) == (delta, delta)
    assert worst.odds(delta) <= factor <= 1.01 * worst.odds(delta)
    assert worst.epsilon(delta) <= epsilon < math.log(factor)


@pytest.mark.parametrize(
    ("odds", "words"),
    [
        (26.73, "at most 26.8 times"),
        (999_999.0, "at most 1,000,000 times"),
        (1e6, "possibly more than a million times, which is no protection in practice"),
        (math.inf, "possibly more than a million times, which is no protection in practice"),
    ],
)
def test_odds_without_an_end_are_said_to_protect_nobody(odds: float, words: str) -> None:
    assert _times(odds) == words
