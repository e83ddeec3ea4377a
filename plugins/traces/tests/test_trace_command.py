"""The command `trace`: from a file to files, its progress, and one sentence for whatever it cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from hexcursion.cli import main
from hexcursion.ledger import open_ledger
from hexcursion_traces.loading import load_traces
from plugins.traces.tests.trips import START, write_trip
from tests.hexcursion.cli import test_bad_words as laws


def run(*arguments: str) -> int:
    return main(["trace", *arguments])


def test_the_command_from_gpx_to_gpx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trip, out = write_trip(tmp_path), tmp_path / "out"
    wanted = ["--stops", "5", "--error", "200", "--every", "60", "--out", str(out)]
    assert run(str(trip), *wanted, "--dry-run") == 0
    assert not out.exists()
    assert run(str(trip), *wanted) == 0
    said = capsys.readouterr().out
    assert "1 secret in 60 records" in said
    assert "uniform" in said
    assert sorted(path.name for path in out.iterdir()) == [
        "places.csv",
        "statement.json",
        "trace.geojson",
        "trace.gpx",
    ]
    assert load_traces(out / "trace.gpx")[0][0].time[0] == START.timestamp()
    assert main(["ledger", "verify"]) == 0
    assert main(["ledger", "show"]) == 0
    assert "conditional inferential privacy" in capsys.readouterr().out


def test_a_place_that_cannot_be_new_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["trace", "x.gpx", "--error", "20"]
    laws.test_a_place_that_cannot_be_new_is_refused_before_anything_is_read(tmp_path, capsys, words)


def test_the_command_takes_a_generated_trip_or_a_file_and_says_which_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--out", str(tmp_path / "out"), "--stops", "10", "--error", "200", "--every", "60", "--dry-run")
    assert run("--generated", *asked) == 0
    said = capsys.readouterr().out
    assert said.startswith("Generated: an invented trip.\n")
    assert said.endswith("Nothing was charged or drawn.\n")
    for given in ((), ("--generated", str(tmp_path / "trip.gpx"))):
        assert run(*given, *asked) == 2
        found = capsys.readouterr()
        assert (found.out, found.err) == (
            "",
            "error: A trip comes from FILE or from --generated: name one of the two.\n",
        )


def test_the_command_says_how_far_it_is_and_can_be_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trip, out = str(write_trip(tmp_path)), str(tmp_path / "out")
    wanted = (trip, "--stops", "5", "--error", "200", "--every", "120", "--out", out)
    assert run(*wanted, "--dry-run") == 0
    assert "Shaping the noise" not in capsys.readouterr().err  # no terminal, no progress
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(*wanted, "--dry-run") == 0
    assert " %  Shaping the noise" in capsys.readouterr().err

    def stop(fraction: float, text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hexcursion_traces.command.progress", stop)
    assert run(*wanted) == 7
    assert "error: Stopped; nothing was released." in capsys.readouterr().err
    assert not Path(out).exists()
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis"]


BAD = {
    "no secret": (["--error", "200"], "no secret was named"),
    "bad window": (["--error", "200", "--secret", "noon"], "cannot be read"),
    "backwards": (["--error", "200", "--secret", "2026-05-02/2026-05-01"], "ends after it begins"),
    "negative": (
        ["--error", "-1", "--stops", "5"],
        "(--error or --interval) must be a number of metres above 0 and below 1,000,000, not -1.0",
    ),
    "scale": (["--error", "9", "--stops", "5", "--lengthscale", "soon"], "number of seconds or 'fit'"),
    "scale 0": (["--error", "9", "--stops", "5", "--lengthscale", "0"], "must be a positive number"),
    "scale 1e-300": (["--error", "9", "--stops", "5", "--lengthscale", "1e-300"], "at least 0.001"),
    "amplitude 1e300": (["--error", "9", "--stops", "5", "--amplitude", "1e300"], "below 1,000,000,000"),
    "table": (["--error", "9", "--stops", "5", "--readings", "x.csv"], "belong together"),
    "readings": (
        ["--error", "9", "--stops", "5", "--readings", "x.csv", "--table", "t"],
        "x.csv cannot be read",
    ),
    "resolution": (["--error", "9", "--stops", "5", "--resolution", "99"], "from 0 to 15"),
    "trace": (["--error", "9", "--stops", "5", "--trace", "7"], "from 1 to 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_no_charge(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, words = BAD[name]
    assert run(str(write_trip(tmp_path)), "--out", str(tmp_path / "out"), *options) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_readings_that_cannot_be_placed_cost_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table's place, and whether any reading falls into the trip, are looked at before the charge."""
    trip, readings, table = str(write_trip(tmp_path)), tmp_path / "no2.csv", tmp_path / "table.csv"
    readings.write_text("time,no2\n2027-01-01T12:00:00Z,21\n")
    given = ["--stops", "5", "--error", "200", "--every", "60", "--readings", str(readings)]

    def refused(place: Path) -> str:
        out = tmp_path / "out"
        assert run(trip, *given, "--out", str(out), "--table", str(place)) == 2
        assert not out.exists()
        assert [entry.kind for entry in open_ledger().entries()] in ([], ["genesis"])
        return capsys.readouterr().err

    assert "No reading was made during the trip" in refused(table)
    assert f"There is no folder {tmp_path / 'none'}: make it" in refused(tmp_path / "none" / "table.csv")
    assert "--out and --table name the same place" in refused(tmp_path / "out")
    table.write_text("mine")
    assert "table.csv exists already" in refused(table)
    assert table.read_text() == "mine"


def test_the_order_of_dates_is_asked_of_the_trip_the_secret_and_the_readings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trip, readings = tmp_path / "trip.csv", tmp_path / "no2.csv"
    rows = [f"3/4/2018 12:{minute:02d} PM,{51.5 + minute / 1000},-0.1\n" for minute in range(30)]
    trip.write_text("time,lat,lon\n" + "".join(rows))
    readings.write_text("time,no2\n3/4/2018 12:05 PM,21\n")
    secret = ["--secret", "3.4.2018 12:10 PM/3.4.2018 12:15 PM"]
    given = [
        str(trip),
        *secret,
        "--out",
        str(tmp_path / "out"),
        "--error",
        "200",
        "--every",
        "60",
        "--dry-run",
    ]
    with_readings = [*given, "--readings", str(readings), "--table", str(tmp_path / "table.csv")]
    question = (
        "ates such as 3/4/2018 do not tell whether the day or the month comes first: say which (--day-first "
        "or --no-day-first on the command line), or write dates as 2024-05-01.\n"
    )
    assert run(*given) == 2
    assert capsys.readouterr().err == f"error: D{question}"
    assert run(*with_readings) == 2
    assert capsys.readouterr().err == f"error: no2.csv: d{question}"
    for order, word in (("--day-first", "day"), ("--no-day-first", "month")):
        assert run(*with_readings, order) == 0
        assert f"Dates such as 3/4/2018 were read with the {word} first." in capsys.readouterr().out
    readings.write_text("time,no2\n14/3/2018 12:05 PM,21\n")
    assert run(*with_readings, "--no-day-first") == 2
    assert "no2.csv: some dates have the day first" in capsys.readouterr().err
    trip.write_text("time,lat,lon\n" + "".join(rows).replace("3/4/", "3/14/"))
    assert run(*given) == 2
    assert "The secret '3.4.2018 12:10 PM/3.4.2018 12:15 PM': dates such as" in capsys.readouterr().err


def test_a_fitted_lengthscale_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--stops", "5", "--error", "200", "--every", "60", "--lengthscale", "fit", "--dry-run"]
    assert run(str(write_trip(tmp_path)), "--out", str(tmp_path / "out"), *wanted) == 0
    assert "Warning: the lengthscale was fitted to the private trace" in capsys.readouterr().out
