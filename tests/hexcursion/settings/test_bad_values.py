"""What may not stand in a setting is refused with one sentence of ours, written out here in full."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgp_core import MECHANISMS, PRIORS
from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings, StatedFacts, field, settings_from_toml

SENSORS = SourceSettings("s.csv", value="no2", x="lon", y="lat")
NAMES = ", ".join(PRIORS)
"""All names, in the registry's order: a new prior is in the sentences by itself."""
TWO_AREAS = (
    "Name the area once: a polygon (`region`, --region FILE), or a box (`bbox`, --bbox W S E N; "
    "--place NAME with --reach KM makes one)."
)

FOR_CELLS = " or ".join(
    name
    for name, one in MECHANISMS.items()
    if "cell" in one.protection.units
    and one.protection.what == "values and places"
    and "replace-one" in one.protection.relations
)


def settings(**changes: object) -> ReleaseSettings:
    base: dict[str, object] = {"data": SENSORS, "threshold": 20.0, "bbox": (0.0, 51.0, 1.0, 52.0)}
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


def refusal(**changes: object) -> str:
    with pytest.raises(WorkflowError) as error:
        settings(**changes)
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": 0.0}, "epsilon must be a positive finite number, not 0.0: try 1."),
        ({"epsilon": math.nan}, "epsilon must be a positive finite number, not nan: try 1."),
        ({"epsilon": "one"}, "epsilon must be a positive finite number, not 'one': try 1."),
        ({"epsilon": True}, "epsilon must be a positive finite number, not True: try 1."),
        ({"delta": 1.0}, "delta must be a number strictly between 0 and 1, not 1.0: try 1e-5."),
        ({"paths": ""}, "paths must be a whole number from 1 to 1000, not '': try 1."),
        ({"paths": 0}, "paths must be a whole number from 1 to 1000, not 0: try 1."),
        ({"paths": 1001}, "paths must be a whole number from 1 to 1000, not 1001: try 1."),
        ({"paths": 1.5}, "paths must be a whole number from 1 to 1000, not 1.5: try 1."),
        ({"paths": True}, "paths must be a whole number from 1 to 1000, not True: try 1."),
        ({"resolution": -1}, "resolution must be a whole number from 0 to 15, not -1: try 8."),
        (
            {"centre": math.nan},
            "centre must be a finite number in transformed units, not nan: name a public value near the "
            "middle of the data.",
        ),
        ({"clip": -1.0}, "clip must be a positive finite number in transformed units, not -1.0."),
        ({"lengthscale": math.inf}, "lengthscale must be a positive finite number in metres, not inf."),
        ({"threshold": math.inf}, "threshold must be a finite number in the data's own unit, not inf."),
        ({"pilot": 1.0}, "pilot must be a number strictly between 0 and 1, not 1.0: try 0.3."),
        ({"cutoff": 0}, "cutoff must be a number above 0 and at most 1, not 0.0: try 0.5."),
        ({"cutoff": 1.5}, "cutoff must be a number above 0 and at most 1, not 1.5: try 0.5."),
        (
            {"clip": 1e-320},
            "clip must be of a size from 1e-50 to 1e+50, not 9.99989e-321: choose a less extreme number.",
        ),
        (
            {"centre": -1e308},
            "centre must be of a size from 1e-50 to 1e+50, not -1e+308: choose a less extreme number.",
        ),
        (
            {"bbox": (0.0, 51.0, 5e-324, 52.0)},
            "bbox must be of a size from 1e-50 to 1e+50, not 4.94066e-324: choose a less extreme number.",
        ),
        (
            {"transform": "log", "centre": 442413.0},
            "On the log scale `centre` and `clip` are natural logarithms, such as 13 for 442,413: choose a "
            "smaller one, so that both together reach at most 300.",
        ),
        (
            {"transform": "log", "centre": -13.0, "clip": 288.0},
            "On the log scale `centre` and `clip` are natural logarithms, such as 13 for 442,413: choose a "
            "smaller one, so that both together reach at most 300.",
        ),
        (
            {"value_unit": "ug\nm3"},
            "value_unit must be one line without control characters, not 'ug\\nm3': leave them out.",
        ),
        (
            {"value_name": "a\x1b[1m"},
            "value_name must be one line without control characters, not 'a\\x1b[1m': leave them out.",
        ),
        (
            {"title": "first\u2028second"},
            "title must be one line without control characters, not 'first\\u2028second': leave them out.",
        ),
        (
            {"region": "a\0b", "bbox": None},
            "region must be a text without NUL characters, not 'a\\x00b': leave them out.",
        ),
        (
            {"layers": ("a.geojson", "a\0b")},
            "layers must be a text without NUL characters, not 'a\\x00b': leave them out.",
        ),
        ({"budget": 0.0}, "budget must be a positive finite number, not 0.0: try 3."),
        ({"objective": "luck"}, "objective must be 'iou' or 'bce', not 'luck'."),
        ({"bbox": None}, TWO_AREAS),
        ({"region": "r.json"}, TWO_AREAS),
        (
            {"priors": ("car", "cubic")},
            f"priors must be a list of at least one name among {NAMES}, not 'cubic'.",
        ),
        ({"priors": "car"}, f"priors must be a list of at least one name among {NAMES}, not 'car'."),
        ({"priors": ()}, f"priors must be a list of at least one name among {NAMES}, not ()."),
        ({"unit": "person"}, "unit must be 'point' or 'cell', not 'person'."),
        ({"direction": "up"}, "direction must be 'above' or 'below', not 'up'."),
        ({"focus": "one"}, "focus must be 'threshold' or 'all', not 'one'."),
        ({"relation": "swap"}, "relation must be 'replace-one' or 'add-or-remove', not 'swap'."),
        ({"executor": "threads"}, "executor must be one of serial, processes, dask, not 'threads'."),
        ({"transform": 3}, "transform must be 'log' or 'identity', not 3."),
        ({"quick": "yes"}, "quick must be true or false, not 'yes'."),
        ({"accept_large_delta": 1}, "accept_large_delta must be true or false, not 1."),
        ({"title": 3}, "title must be a text of at most 200 characters in quotation marks, not 3."),
        ({"region": "", "bbox": None}, "region must be a non-empty text in quotation marks, not ''."),
        ({"notes": "one"}, "notes must be a list of texts, not 'one'."),
        (
            {"bbox": (0.0, 51.0, 1.0)},
            "bbox must be four numbers in degrees: west, south, east, north, not (0.0, 51.0, 1.0).",
        ),
        (
            {"bbox": (0.0, 51.0, 1.0, math.nan)},
            "bbox must be four numbers in degrees: west, south, east, north, not nan.",
        ),
        ({"stated": {"contact": "x"}}, "stated must be a table of texts, not {'contact': 'x'}."),
        ({"data": "s.csv"}, "data must be a table with at least a `path`, not 's.csv'."),
        (
            {"records_per_owner": 3},
            "Give owner and records_per_owner together: whose records belong together, and how many of them "
            "may count.",
        ),
        (
            {"owner": "station", "records_per_owner": 0},
            "records_per_owner must be a whole number of at least 1, not 0: try 1.",
        ),
        (
            {"owner": "station", "records_per_owner": 3, "unit": "cell"},
            "An owner's records are protected together as points: choose unit 'point', or leave `owner` out.",
        ),
        (
            {"dask": "tcp://192.0.2.1:8786"},
            "The address 'tcp://192.0.2.1:8786' is for the executor 'dask', not 'serial': set `executor` to "
            "'dask', or leave `dask` out.",
        ),
        (
            {"public_counts": True},
            "Public counts come from published data: name `reference` data and declare them public with "
            "`reference_public`.",
        ),
        (
            {"public_counts": True, "reference": SENSORS},
            "Public counts come from published data: name `reference` data and declare them public with "
            "`reference_public`.",
        ),
        (
            {"prior_mean": True, "reference": SENSORS},
            "A prior mean must be public: name `reference` data and declare them public with "
            "`reference_public`.",
        ),
        (
            {"prior_mean": True, "reference_public": True},
            "A prior mean must be public: name `reference` data and declare them public with "
            "`reference_public`.",
        ),
        (
            {"pilot": 0.3, "reference": SENSORS},
            "A pilot is for tuning without reference data: leave one of the two out.",
        ),
        (
            {"pilot": 0.3, "lengthscale": 800.0, "ridge": 2.0},
            "A pilot is for tuning without reference data: leave one of the two out.",
        ),
        (
            {"ridge": 2.0},
            "Give lengthscale and ridge together, or neither and let the search choose.",
        ),
        (
            {"lengthscale": 800.0},
            "Give lengthscale and ridge together, or neither and let the search choose.",
        ),
        (
            {"transform": "log", "threshold": 0.0},
            "The log transform needs a positive threshold in the data's own unit.",
        ),
        (
            {"unit": "cell", "mechanisms": ("noisy-cell-statistics",)},
            "noisy-cell-statistics cannot protect records of unit 'cell' under the relation 'replace-one': "
            f"choose unit 'point' or {FOR_CELLS}.",
        ),
    ],
)
def test_one_sentence_says_what_it_must_be(changes: dict[str, object], sentence: str) -> None:
    assert refusal(**changes) == sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"years": (18,)}, "years must be a list of whole numbers from 1995 to 2100, not 18."),
        ({"years": 2018}, "years must be a list of whole numbers from 1995 to 2100, not 2018."),
        (
            {"postcodes": None, "value": "no2", "y": "lat"},
            "A sensor table needs its coordinate columns (longitude and latitude, or easting and northing "
            "with `crs`): set `x` and `y` in a settings file, or give --lon and --lat on the command line.",
        ),
        ({"path": 3}, "path must be a text in quotation marks, not 3."),
        (
            {"segment": "castles"},
            "segment must be one of all, existing-leasehold-flats, existing-flats, existing-freehold-houses, "
            "existing-homes, new-homes, standard, not 'castles'.",
        ),
        (
            {"where": (("year", 2023),)},
            "where must be a table of columns and the entry, or list of entries, that each should have, not "
            "2023.",
        ),
        (
            {"where": (("year", "2023"),), "time": "date"},
            "Nothing is done with `where` and `time` where the data are Price Paid sales with a postcode "
            "lookup: leave that out and choose sales with `segment` and `years`.",
        ),
        (
            {"value": "no2", "x": "lon", "y": "lat", "postcodes": None, "years": (2018,)},
            "Nothing is done with `years` where the data are a table of readings with a column for each "
            "coordinate: leave that out and choose rows with `where`.",
        ),
    ],
)
def test_a_source_is_held_to_its_fields(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(WorkflowError) as error:
        SourceSettings(**{"path": "pp.csv", "postcodes": "codes.csv", **changes})  # type: ignore[arg-type]
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [("clip", 1e-50), ("clip", 1e50), ("centre", -1e50), ("centre", -0.0), ("notes", ("two\nlines",)),
     ("paths", 1), ("paths", 1000), ("resolution", 0), ("resolution", 15), ("cutoff", 1.0), ("delta", 0.5)],
)  # fmt: skip
def test_a_limit_that_is_allowed_may_be_reached(name: str, value: object) -> None:
    made = settings(**{name: value}, mechanisms=("posterior-sampling",))
    assert getattr(made, name) == value


def test_centre_and_clip_may_fill_the_log_scale() -> None:
    assert settings(transform="log", centre=-13.0, clip=287.0).clip == 287.0


def test_sales_have_no_owner() -> None:
    sales = SourceSettings("pp.csv", "codes.csv")
    assert refusal(data=sales, owner="buyer", records_per_owner=1) == (
        "Sales name no owner: leave `owner` out, it is a column of a sensor table."
    )


def test_what_the_curator_states_is_a_text_of_bounded_length() -> None:
    assert StatedFacts(contact="x" * 1000).contact == "x" * 1000
    for wrong in ("", "x" * 1001):
        with pytest.raises(WorkflowError, match=r"^contact must be a text of 1 to 1,000 characters in quot"):
            StatedFacts(contact=wrong)


def test_a_long_or_broken_value_is_shown_short_and_on_one_line() -> None:
    assert refusal(epsilon="a\nb" * 200).count("\n") == 0
    assert refusal(paths=np.arange(100)).count("\n") == 0
    assert refusal(paths="1" * 200) == (
        f"paths must be a whole number from 1 to 1000, not '{'1' * 55} ...: try 1."
    )
    assert refusal(paths=10**5000) == (
        "paths must be a whole number from 1 to 1000, not a number of thousands of digits: try 1."
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('paths = ""', "paths must be a whole number from 1 to 1000, not '': try 1."),
        ("centre = nan", None),
        ("epsilon = 2024-01-01", "epsilon must be a positive finite number, not 2024-01-01: try 1."),
        ("title = 2024-01-01T07:00:00",
         "title must be a text of at most 200 characters in quotation marks, not 2024-01-01T07:00:00."),
        ("epsilom = 1.0", "Unknown settings key 'epsilom': did you mean 'epsilon'?"),
        ("reference = 3", "reference must be a table with at least a `path`, not 3."),
        ("stated = { kontact = 'x' }", "Unknown stated key 'kontact': did you mean 'contact'?"),
        ("stated = { contact = 3 }",
         "stated.contact must be a text of 1 to 1,000 characters in quotation marks, not 3."),
        ("reference = { path = 'b.csv', years = ['x'] }",
         "reference.years must be a list of whole numbers from 1995 to 2100, not 'x'."),
        ("reference = { years = [2018] }", "The [reference] table lacks `path`: name its file."),
        ("reference = { path = 'b.csv', where = { a = [[1]] } }",
         "reference.where must be a table of columns and the entry, or list of entries, that each should "
         "have, not {'a': [[1]]}."),
        ("reference = { path = 'b.csv', where = { a = [] } }",
         "reference.where must be a table of columns and the entry, or list of entries, that each should "
         "have, not {'a': []}."),
        ("paths = = 1", None),
        ("x = " + "[" * 5000, None),
        ("paths = " + "1" * 5000, None),
    ],
)  # fmt: skip
def test_a_settings_file_is_refused_with_one_sentence(line: str, sentence: str | None) -> None:
    table = '\n[data]\npath = "s.csv"\nvalue = "v"\nx = "a"\ny = "b"\n'
    with pytest.raises(WorkflowError) as error:
        settings_from_toml(f"threshold = 20.0\nbbox = [0, 51, 1, 52]\n{line}{table}")
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    assert sentence is None or text == sentence


def test_a_missing_key_is_named_with_its_meaning() -> None:
    with pytest.raises(WorkflowError) as error:
        settings_from_toml('region = "r"\n[data]\npath = "a"\npostcodes = "b"\n')
    assert str(error.value) == (
        "The settings lack `threshold`: Threshold of the excursion set, for example 442413."
    )


@pytest.mark.parametrize(("name", "most"), [("title", 200), ("value_name", 100), ("value_unit", 60)])
def test_a_text_that_no_statement_can_hold_is_refused_before_anything_is_computed(
    name: str, most: int
) -> None:
    assert field(name).check("x" * most) == "x" * most
    with pytest.raises(
        WorkflowError, match=f"^{name} must be a text of at most {most} characters in quotation"
    ):
        field(name).check("x" * (most + 1))


def test_a_name_given_twice_counts_once() -> None:
    twice = ["spectral-statistics", "posterior-sampling", "spectral-statistics"]
    assert field("mechanisms").check(twice) == ("spectral-statistics", "posterior-sampling")
    assert field("priors").check(["car", "car"]) == ("car",)


@pytest.mark.parametrize(
    ("length", "shown"), [(58, f"'{'a' * 58}'"), (59, f"'{'a' * 55} ...")], ids=["sixty", "one more"]
)
def test_sixty_letters_of_a_value_are_shown_whole(length: int, shown: str) -> None:
    assert f"not {shown}" in refusal(unit="a" * length)
