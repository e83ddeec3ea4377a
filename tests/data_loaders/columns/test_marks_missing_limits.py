"""Decimal marks of each column, codes for no value in any spelling, and measurements beyond a limit."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import guess_columns
from data_loaders.columns.numbers import suspects
from data_loaders.observations import LoadReport, Observations
from tests.data_loaders.material import load_sensors, reasons, refused

READINGS = [str(10 + k / 2) for k in range(12)]


def table(values: list[str], delimiter: str = ";", more: str = "", entries: list[str] | None = None) -> bytes:
    """A table of these values at places in degrees, with another column where one is named."""
    names = ["lon", "lat", "value", *([more] if more else [])]
    rows = [
        [f"{0.1 + k / 1000:.3f}", f"{51.1 + k / 1000:.3f}", value, *([entries[k]] if entries else [])]
        for k, value in enumerate(values)
    ]
    return "\n".join(delimiter.join(row) for row in [names, *rows]).encode()


def load(data: bytes, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "x": "lon", "y": "lat", "unit": "ug/m3"} | changes
    return load_sensors(data, **given)  # type: ignore[arg-type]


def test_a_coordinate_is_no_evidence_for_values() -> None:
    made, report = load(table(["0,682", "0,524", "12,345"]))
    assert made.value.tolist() == [0.682, 0.524, 12.345]
    assert (made.x[0], made.y[0]) == (0.1, 51.1)
    assert "decimal comma in 'value' and decimal point elsewhere" in report.notes[0]
    assert "state the decimal mark" in refused(lambda: load(table(["1,234", "12,345"])))
    assert guess_columns(table(["1,234", "12,345"])).decimal is None


def test_one_record_never_changes_what_the_others_mean() -> None:
    """With 0,5 beside them 1,234 would be 1.234, with 0.5 beside them 1234."""
    many = ["1,234"] * 20
    for one in ("0,5", "0.5"):
        assert "state the decimal mark" in refused(lambda one=one: load(table([*many, one])))  # type: ignore[misc]
    assert load(table([*many, "0,5", "0,25"]))[0].value[0] == 1.234
    assert load(table([*many, "0.5", "0.25"]))[0].value[0] == 1234.0
    late = ["12"] * 3000 + ["1,234", "0,5"]  # beyond the sample
    assert "state the decimal mark" in refused(lambda: load(table(late)))
    assert load(table(late), decimal=".")[1].dropped == (("value is not a number", 1),)


def test_thousands_apart_by_spaces_that_do_not_break_and_a_typeset_minus_are_read() -> None:
    written = ["1\u00a0234.5", "12\u202f345", "1\u2009234\u00a0567.0", "\u22123.5", "1\u00a023"]
    made, report = load(table([*READINGS, *written]), decimal=".")
    assert made.value[-4:].tolist() == [1234.5, 12345.0, 1234567.0, -3.5]
    assert report.dropped == (("value is not a number", 1),)


def test_degrees_are_never_grouped() -> None:
    data = b"lon;lat;value\n0,123;51,123;5\n1,234;51,234;6\n"
    made, _ = load(data)
    assert made.x.tolist() == [0.123, 1.234]
    assert made.y.tolist() == [51.123, 51.234]
    assert load(data, decimal=".")[0].y.tolist() == [51.123, 51.234]  # the mark of the values alone


def test_codes_are_missing_by_value_whatever_their_spelling() -> None:
    codes = [
        "-999",
        "-999.0",
        "-999.00",
        "-9999.0",
        "-9.999e3",
        "1e31",
        "-32768",
        "-3.4e38",
        "-99999.0",
        "..",
        "n.a.",
    ]
    made, report = load(table([*READINGS, *codes]))
    assert made.size == 12
    assert reasons(report) == {"value missing": 11}


@pytest.mark.parametrize("code", ["-99", "-99.9", "9999", "999.9", "5000", "-1"])
def test_other_codes_are_asked_about_and_answered(code: str) -> None:
    data = table([*READINGS, *[code] * 10, "21.25"])
    said = refused(lambda: load(data))
    assert "missing value" in said
    assert "--missing" in said
    assert code not in said.replace("-99 or 9999", "").replace("--missing -99 9999", "").split()
    made, report = load(data, missing=(code,))
    assert (made.value.max(), reasons(report)) == (21.25, {"value missing": 10})
    whole, report = load(data, missing=("none",))
    assert float(code) in whole.value
    assert report.dropped == (("equal to an earlier row in place and value", 0),) or report.dropped == ()


def test_a_record_or_two_far_from_all_others_are_said_and_stop_nothing() -> None:
    for many in (1, 9):
        made, report = load(table([*READINGS, *["5000"] * many]))
        assert made.value.max() == 5000.0
        assert any("lies far from all others" in note and "5000" not in note for note in report.notes)


def test_a_person_may_say_that_every_number_is_a_measurement() -> None:
    assert load(table([*READINGS, "-999.0"]), missing=("none",))[0].value.min() == -999.0
    assert "written as -99" in refused(lambda: load(table(READINGS), missing=("none", "5")))
    assert "written as -99" in refused(lambda: load(table(READINGS), missing=("inf",)))


def test_what_lies_apart_is_suspect_and_a_long_tail_is_not() -> None:
    values = 10.0 + np.arange(30) / 2
    assert suspects(values) == ()
    assert suspects(np.r_[values, -99.9, -99, 9999]) == (-99.9, -99.0, 9999.0)
    assert suspects(np.r_[values, 70, 70]) == (70.0,)  # 3.1 spreads of 14.5 above
    assert suspects(np.r_[values, 67, 67]) == ()
    assert suspects(np.r_[values, 1470]) == ()
    assert suspects(np.r_[values, 1500]) == (1500.0,)
    assert suspects(np.r_[values, -1]) == ()
    assert suspects(np.r_[values - 12, -1, -1]) == ()  # others are negative too
    assert suspects(np.array([1.0, 2.0, 9999.0])) == ()  # too few to tell
    assert suspects(np.exp(1.5 * np.random.default_rng(1).normal(size=100_000))) == ()


def test_readings_beyond_a_limit_count_by_a_public_rule() -> None:
    values = ["5.5", "<0.5", "< 0.25", "≤1", "> 200", "0.125 U", "7.5"]
    for rule, expected in (
        ("limit", [5.5, 0.5, 0.25, 1.0, 200.0, 0.125, 7.5]),
        ("half", [5.5, 0.25, 0.125, 0.5, 200.0, 0.0625, 7.5]),
        ("drop", [5.5, 7.5]),
    ):
        made, report = load(table(values), censored=rule)
        assert made.value.tolist() == expected
        if rule == "drop":
            assert reasons(report) == {"below or above a limit": 5}
        else:
            assert any(
                note.startswith("4 readings lie below a detection limit and 1 above") for note in report.notes
            )


@pytest.mark.parametrize("word", ["ND", "n.d.", "BDL", "<LOD", "< MDL", "Not Detected", "non-detect", "u"])
def test_a_limit_that_is_not_named_is_asked_for(word: str) -> None:
    data = table(["5.5", word, "6.5"])
    said = refused(lambda: load(data))
    assert "below a detection limit" in said
    assert "--detection-limit" in said
    assert load(data, detection_limit=0.5)[0].value.tolist() == [5.5, 0.5, 6.5]
    assert load(data, detection_limit=0.5, censored="half")[0].value.tolist() == [5.5, 0.25, 6.5]
    assert load(data, censored="drop")[0].value.tolist() == [5.5, 6.5]


def test_a_column_may_hold_the_limits_of_what_was_not_detected() -> None:
    data = table(["5.5", "ND", "<LOD", "<4", "ND"], more="mdl", entries=["9", "0.5", "1.5", "9", ""])
    assert "name the column that holds it" in refused(lambda: load(data))
    assert "--detection-limit" in refused(lambda: load(data, limit_column="mdl"))  # the last names none
    told = load(data, limit_column="mdl", detection_limit=0.25)[0]
    assert told.value.tolist() == [5.5, 0.5, 1.5, 4.0, 0.25]
    half = load(data, limit_column="mdl", detection_limit=0.25, censored="half")[0]
    assert half.value.tolist() == [5.5, 0.25, 0.75, 2.0, 0.125]


def test_words_that_say_nothing_of_a_limit_stay_unreadable() -> None:
    made, report = load(table(["5.5", "broken", "nothing", "6.5"]))
    assert (made.size, reasons(report)) == (2, {"value is not a number": 2})


def test_another_column_may_say_which_readings_are_beyond_a_limit() -> None:
    told = ["", "<", "Not Detected", "> ", "Present Above Quantification Limit"]
    data = table(["5.5", "0.5", "", "200", "6.5"], more="remark", entries=told)
    said = next(note for note in load(data)[1].notes if "'remark' may say the status of a row" in note)
    assert "blank in 1 row, < in 1 row, > in 1 row, Present Above Quantification Limit in 1 row." in said
    assert "`condition`" in said
    assert "--detection-limit" in refused(lambda: load(data, condition="remark"))
    made, report = load(data, condition="remark", detection_limit=0.25, censored="half")
    assert made.value.tolist() == [5.5, 0.25, 0.125, 200.0, 6.5]
    assert any(note.startswith("2 readings lie below a detection limit and 2 above") for note in report.notes)


def test_a_column_of_limits_is_measured_and_a_station_is_not() -> None:
    head = "station,lon,lat,altitude,{}\n"
    rows = [f"{at},{at / 100},51.{at:02d},{at * 3},{'ND' if at % 3 else at / 8}" for at in range(12)]
    for name in ("no2", "PM2.5", "Ozone", "o3 8h"):
        guess = guess_columns((head.format(name) + "\n".join(rows)).encode())
        assert (guess.value, guess.beyond, guess.owner) == (name, True, "station")
    flags = [row.rsplit(",", 1)[0] + (",ND" if at else ",0.5") for at, row in enumerate(rows)]
    assert guess_columns((head.format("no2") + "\n".join(flags)).encode()).value is None
