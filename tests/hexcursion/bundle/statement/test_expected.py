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
from hexcursion.bundle.statement.expected import NOT_KNOWN, expected_block, expected_words, verdict_figures
from hexcursion.bundle.statement.promise import TOO_FEW
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.write import bundle_contents
from hexcursion.record import Expected, Release
from hexcursion.releasing.release_guard import stop_or_state
from tests.hexcursion.bundle.bundle_samples import guarded, make_release, retold
from tests.hexcursion.bundle.spectral_samples import spectral_release

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
    with pytest.raises(BundleError, match="words about its expected agreement do not follow"):
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


SPOKEN = ("of 100 records", "agreement (intersection", "Computed from the release", "Orange is right",
          "An agreement", "agreement of", "of the region right", "hexagons right")  # fmt: skip
"""How each sentence about a figure of how right a map is begins or ends."""


def few_of(domain: Domain, n: int, *, field: bool) -> Release:
    """A release of `n` records without a public map, with probabilities of a field or of paths alone."""
    expected = Expected(0.371, 2.5, 0.48, "simulated", 0.05, 0.834, little=True, records=0.7, gain=0.1)
    if not field:
        return retold(make_release(domain), privacy=replace(guarded(), n=n), expected=expected)
    made = spectral_release(domain, public_mean=False, ranged=True)
    return retold(made, privacy=replace(made.privacy, n=n), expected=expected)


@pytest.mark.parametrize("field", [True, False])
@pytest.mark.parametrize("n", [149, 150])
def test_of_too_few_records_no_product_says_a_figure(domain: Domain, n: int, *, field: bool) -> None:
    """Statement, README, label, page, layers and viewer, by which a map of 150 records says some."""
    contents = bundle_contents(few_of(domain, n, field=field))
    statement = json.loads(contents["statement.json"])
    expected, told = statement["expected"], statement["told"]
    bundle = bundle_from_contents(contents)
    viewer = Viewer(bundle)
    products = {
        "statement": " ".join([expected["in_words"], statement["evaluation"]["utility"], str(told)]),
        "viewer": " ".join(viewer.sentences(viewer.at())),
        "layer": json.loads(contents["cells.geojson"])["release"]["expected"],
        **{
            name: " ".join(contents[name].decode().split())
            for name in ("README.txt", "label.html", "map.html")
        },
    }
    for name, text in products.items():
        found = [spoken for spoken in SPOKEN if spoken in text]
        assert (found == []) == (n == 149), (name, found)
        assert (TOO_FEW in text) == (n == 149), name
    check_statement(statement)
    figures = {name for name, value in expected.items() if isinstance(value, float)}
    known = {"agreement", "area_error", "right", "low", "high", "records", "gain"}
    assert figures == (set() if n == 149 else known)
    assert "little" not in expected or n == 150
    forged = "Expected beforehand, from simulated data: 70 of 100 records on the side that the map shows."
    assert (forged == expected["in_words"]) == (n == 150)
    statement["expected"]["in_words"] = forged if n == 149 else TOO_FEW
    statement["evaluation"]["utility"] = statement["expected"]["in_words"]
    with pytest.raises(BundleError, match="words about its expected agreement do not follow"):
        check_statement(statement)


def test_figures_of_too_few_records_in_an_earlier_file_are_not_read(domain: Domain) -> None:
    """Simulated worlds gave them, and the map's own words say that none holds."""
    statement = json.loads(bundle_contents(few_of(domain, 149, field=True))["statement.json"])
    today = statement["expected"]
    assert expected_block(few_of(domain, 149, field=True).expected, too_few=True) == today
    older = {**today, "agreement": 0.371, "area_error": 2.5, "right": 0.48, "records": 0.7, "gain": -0.1}
    assert check_statement({**statement, "expected": older})["expected"] == today
    enough = {**statement, "expected": older, "prior_mean_used": True}
    with pytest.raises(BundleError, match="words about its expected agreement do not follow"):
        check_statement(enough)


def test_a_poor_map_of_few_records_carries_its_line_without_a_figure(domain: Domain) -> None:
    """That it was expected to lose against one colour is said; by how much is not."""
    release = few_of(domain, 149, field=True)
    assert release.expected is not None
    poor = stop_or_state(replace(release.expected, gain=-0.1), None, accepted=True)
    contents = bundle_contents(replace(release, receipt=(*release.receipt, *poor)))
    statement = json.loads(contents["statement.json"])
    assert statement["receipt"][-1]["text"].endswith("The curator released it anyway.")
    assert statement["expected"]["agreement"] is None
    bundle_from_contents(contents)


def test_what_earlier_versions_said_of_too_few_records_is_read_and_not_said_again(domain: Domain) -> None:
    """An earlier schema allows their words; of what the release tells only today's are kept."""
    release = few_of(domain, 149, field=True)
    statement = json.loads(bundle_contents(release)["statement.json"])
    statement["expected"] = expected_block(release.expected)
    statement["evaluation"]["utility"] = statement["expected"]["in_words"]
    assert statement["evaluation"]["utility"] == (
        "Expected beforehand, from simulated data: 70 of 100 records on the side that the map shows."
    )
    statement["told"]["in_words"] = verdict_figures(statement["told"])
    assert "Computed from the release" in statement["told"]["in_words"]
    assert check_statement(statement, earlier=True)["told"]["in_words"] == TOO_FEW
    statement["told"]["in_words"] += " All of it is right."
    assert check_statement(statement, earlier=True)["told"]["in_words"] != TOO_FEW  # for others to refuse


def test_a_release_without_it_says_so(domain: Domain) -> None:
    contents = bundle_contents(replace(make_release(domain), expected=None))
    assert json.loads(contents["statement.json"])["expected"] is None
    assert NOT_KNOWN in contents["label.html"].decode()
    assert NOT_KNOWN in contents["README.txt"].decode()
