"""How right a map is expected to be stands on everything that is published, rounded to the cautious side."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.expected import NOT_KNOWN, expected_block, expected_words
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.write import bundle_contents
from hexcursion.record import Expected
from tests.hexcursion.bundle.bundle_samples import make_release

SAID = (
    "Expected, from public reference data: agreement (intersection over union) 0.73 with the map without "
    "privacy, area wrong by 5.2 %, 86 % of the shown hexagons right."
)


def test_it_stands_on_everything_that_is_published(domain: Domain) -> None:
    release = make_release(domain, expected=Expected(0.7399, 0.0511, 0.8699, "public reference data"))
    contents = bundle_contents(release)
    statement = json.loads(contents["statement.json"])
    assert statement["expected"] == {
        "agreement": 0.7399,
        "area_error": 0.0511,
        "right": 0.8699,
        "basis": "public reference data",
        "in_words": SAID,
    }
    assert SAID in " ".join(contents["README.txt"].decode().split())
    assert SAID in contents["label.html"].decode()
    assert json.loads(contents["cells.geojson"])["release"]["expected"] == SAID
    viewer = Viewer(bundle_from_contents(contents))
    assert viewer.sentences(viewer.at())[-1] == f"As published: {SAID}"
    forged = {**statement, "expected": {**statement["expected"], "agreement": 0.9}}
    with pytest.raises(BundleError, match="evaluation does not follow"):
        check_statement(forged)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (None, NOT_KNOWN),
        (
            Expected(None, None, 0.0, "simulated"),
            "Expected, from simulated data: 0 % of the shown hexagons right.",
        ),
        (
            Expected(math.nan, None, None, "simulated"),
            "Expected agreement: undefined, because the map of simulated data has one side only.",
        ),
        (
            Expected(0.5, math.inf, None, "private selection"),
            "Expected, from the private records, at a cost that is inside epsilon: agreement (intersection "
            "over union) 0.5 with the map without privacy.",
        ),
    ],
)
def test_what_is_undefined_is_not_said_as_a_number(expected: Expected | None, said: str) -> None:
    assert expected_words(expected_block(expected)) == said


def test_a_guess_without_reference_data_stands_with_its_range_and_needs_no_warning(domain: Domain) -> None:
    """It gains over one colour: that is no poor map, whatever its agreement, and a reader checks it so."""
    guess = Expected(0.371, 2.5, 0.48, "simulated", 0.05, 0.834, little=True)
    contents = bundle_contents(make_release(domain, expected=guess))
    statement = json.loads(contents["statement.json"])
    assert statement["expected"] == {
        "agreement": 0.371,
        "area_error": 2.5,
        "right": 0.48,
        "low": 0.05,
        "high": 0.834,
        "little": True,
        "basis": "simulated",
        "in_words": "Expected, from simulated data: agreement (intersection over union) 0.37 with the map "
        "without privacy, between 0.05 and 0.83 with a chance of 80 %, so little can be told, "
        "area wrong by 250 %, 48 % of the shown hexagons right.",
    }
    check_statement(statement)
    bundle_from_contents(contents)
    poor = json.loads(
        bundle_contents(make_release(domain, expected=replace(guess, records=0.7, gain=-0.1)))[
            "statement.json"
        ]
    )
    assert poor["expected"]["records"] == 0.7
    assert poor["expected"]["in_words"] == (
        "Expected beforehand, from simulated data: 70 of 100 records on the side that the map shows."
    )
    check_statement(poor)
    assert poor["receipt"][-1]["text"] == (
        "Expected to be a poor map: a map of one colour would show as many records or more on their right "
        "side. The curator released it anyway."
    )
    with pytest.raises(BundleError, match="lacks the line 'Low agreement'"):
        check_statement({**poor, "receipt": poor["receipt"][:-1]})
    half = {name: value for name, value in statement["expected"].items() if name != "high"}
    with pytest.raises(BundleError, match="not valid at expected"):
        check_statement({**statement, "expected": half})


def test_a_release_without_it_says_so(domain: Domain) -> None:
    contents = bundle_contents(replace(make_release(domain), expected=None))
    assert json.loads(contents["statement.json"])["expected"] is None
    assert NOT_KNOWN in contents["label.html"].decode()
    assert NOT_KNOWN in contents["README.txt"].decode()
