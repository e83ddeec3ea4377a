"""What a release tells about its own map: computed from it, published, and checked by every reader."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import StatedScores, exceedance_probability, stated_scores
from dpgp_core.spectral.model_check import Change, ModelCheck
from geo import Domain
from hexcursion.bundle.layout import sums_text
from hexcursion.bundle.page.facts import three_facts
from hexcursion.bundle.products import MapValues, Products, counted, products_at
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents, read_bundle
from hexcursion.bundle.statement.build import statement_text
from hexcursion.bundle.statement.change import change_block, change_sentence, change_words
from hexcursion.bundle.statement.expected import (
    agreement_sentence,
    check_verdict,
    contradiction,
    how_right,
    map_block,
    shown_words,
    verdict_block,
    verdict_words,
)
from hexcursion.bundle.tables import paths_bytes, read_paths, rounded
from hexcursion.bundle.untrusted import BundleError
from hexcursion.bundle.write import bundle_contents, write_bundle
from hexcursion.errors import WorkflowError
from hexcursion.project.response import FOCUSED, ResponseScale
from tests.hexcursion.bundle.bundle_samples import make_release

STATEMENT = {"prior_mean_used": False, "guarantee": {"n": 4_206}}
FIELD = (np.array([2.0, 0.5, -0.5, -3.0]), np.ones(4))


def shown(cutoff: float = 0.5) -> Products:
    return products_at(MapValues(FIELD[0][None], FIELD), 0.0, "above", cutoff=cutoff)


def test_what_probabilities_say_of_a_shown_set() -> None:
    assert stated_scores(np.array([0.9, 0.6, 0.5]), np.array([True, True, False])) == StatedScores(
        1.5 / 2.5, 0.75, 0.75
    )
    nothing = stated_scores(np.array([0.2, 0.2]), np.array([False, False]))
    assert (nothing.agreement, nothing.found) == (0.0, 0.0)
    assert math.isnan(nothing.right)
    with pytest.raises(InvalidValue, match="over the same cells"):
        stated_scores(np.array([0.2]), np.array([True, False]))


def test_the_field_and_the_map_without_privacy_have_numbers_of_their_own() -> None:
    told = verdict_block(shown(), STATEMENT, map_block(shown(), (FIELD[0], np.full(4, 0.25))))
    assert told is not None
    assert told["field"] == {"agreement": 0.722421, "right": 0.834356, "found": 0.84338}
    assert told["map"] == {"agreement": 0.977506, "right": 0.988625, "found": 0.988625}
    assert "about 83 % are on the asked side" in told["in_words"]
    assert "it holds about 84 %" in told["in_words"]
    assert "It agrees to about 0.98 (intersection over union)" in told["in_words"]


def test_a_map_says_of_what_it_shows_as_likely_how_much_is_true() -> None:
    """Chances .977, .691, .309 and .001: one hexagon is shown, and 1.979 are expected to be above."""
    assert shown_words(shown(), STATEMENT) == (
        "Orange is right about 98 times in 100. It shows about 5 in 10 of the places that are above."
    )
    without = with_records(np.array([0.0, 0.5, 7.0, 0.0]))
    assert shown_words(without, STATEMENT) == "No hexagon is likely above the threshold."
    assert shown_words(products_at(MapValues(FIELD[0][None]), 0.0, "above", cutoff=0.5), STATEMENT) == ""


FOUND = "It shows about 5 in 10 of the places that are above."


@pytest.mark.parametrize(
    ("n", "public", "said"),
    [
        (149, False, "Too few records to say how right this map is."),
        (150, False, f"Orange is right about 98 times in 100. {FOUND}"),
        (20, True, f"Orange is right about 92 times in 100. {FOUND}"),
    ],
)
def test_few_records_promise_nothing_without_a_public_map_and_less_with_one(
    n: int, public: bool, said: str
) -> None:
    """The logit of .977 times .65 is that of .920."""
    statement = {"prior_mean_used": public, "guarantee": {"n": n}}
    assert shown_words(shown(), statement) == said
    told = verdict_block(shown(), statement)
    assert told is not None
    assert told["judged"]["cells"] == 4
    assert (told["judged"]["orange"] is None) == (n == 149)
    check_verdict({**statement, "told": told}, shown())
    with pytest.raises(BundleError, match="does not follow from the release"):
        check_verdict({**statement, "told": told, "prior_mean_used": not public}, shown())


@pytest.mark.parametrize(
    ("origin", "basis", "times"),
    [(FOCUSED, "simulated", 92), (FOCUSED, "reference data", 98), ("given by the curator", "simulated", 98)],
)
def test_a_scale_made_for_one_threshold_in_simulated_worlds_promises_less(
    origin: str, basis: str, times: int
) -> None:
    statement = {**STATEMENT, "response": {"origin": origin}, "expected": {"basis": basis}}
    assert shown_words(shown(), statement) == f"Orange is right about {times} times in 100. {FOUND}"


def test_of_too_few_records_no_other_figure_is_said() -> None:
    """Neither what the release tells of its agreement, nor what was expected, nor that they differ."""
    expected = {"basis": "simulated", "agreement": 0.2, "right": 0.5, "low": 0.1, "high": 0.3, "little": True}
    of_map = {"agreement": 0.9, "right": 0.95, "found": 0.95, "low": 0.8, "high": 0.95}
    told = {"expected": expected, "told": {"map": of_map}}
    few, many = (
        how_right({"prior_mean_used": False, "guarantee": {"n": n}, **told}, shown()) for n in (149, 150)
    )
    assert few == ("Too few records to say how right this map is.",)
    assert len(many) == 4
    assert "0.90 (intersection over union)" in many[1]
    assert "an agreement of 0.2" in many[2]
    assert "instead of 0.20" in many[3]


def test_without_probabilities_nothing_is_told_and_an_unknown_map_is_left_out() -> None:
    told = verdict_block(shown(), STATEMENT)
    assert told is not None
    assert told["map"] is None
    assert "without privacy" not in told["in_words"]
    bare = products_at(MapValues(FIELD[0][None]), 0.0, "above", cutoff=0.5)
    assert verdict_block(bare, STATEMENT) is None


def test_a_told_range_holds_the_told_agreement_and_needs_sums() -> None:
    """All draws agree, so the map is the set: a range of 1 alone, widened to the .98 that is told."""
    shown_map = (FIELD[0], np.full(4, 0.25))
    told = verdict_block(shown(), STATEMENT, map_block(shown(), shown_map, np.zeros((3, 4))))
    assert told is not None
    assert told["map"] == {
        "agreement": 0.977506, "right": 0.988625, "found": 0.988625, "low": 0.977506, "high": 1.0,
    }  # fmt: skip
    assert "0.98 (intersection over union), between 0.98 and 1.00 with a chance of 80 %" in told["in_words"]
    check_verdict({**STATEMENT, "told": told}, shown(), sums=True)
    with pytest.raises(BundleError, match="cannot be its own"):
        check_verdict({**STATEMENT, "told": told}, shown())
    with pytest.raises(BundleError, match="cannot be its own"):
        check_verdict(
            {**STATEMENT, "told": {**told, "map": {**told["map"], "low": 0.98}}}, shown(), sums=True
        )
    with pytest.raises(BundleError, match="cannot be its own"):
        check_verdict(
            {**STATEMENT, "told": {**told, "map": {**told["map"], "high": 0.97}}}, shown(), sums=True
        )
    assert agreement_sentence(verdict_block(shown(), STATEMENT, map_block(shown(), shown_map))) == ""
    assert agreement_sentence(None) == ""


@pytest.mark.parametrize("name", ["agreement", "right"])
@pytest.mark.parametrize("between", [{}, {"low": 0.0, "high": 1.0}])
def test_an_agreement_that_nobody_states_is_refused_of_a_set(name: str, between: dict[str, float]) -> None:
    told = verdict_block(shown(), STATEMENT, map_block(shown(), (FIELD[0], np.full(4, 0.25))))
    assert told is not None
    forged = {**told, "map": {**told["map"], **between, name: None}}
    with pytest.raises(BundleError, match="cannot be its own" if between else "does not follow from the"):
        check_verdict({**STATEMENT, "told": forged}, shown(), sums=True)


@pytest.mark.parametrize(("name", "by"), [("right", 0.01), ("agreement", 0.01), ("found", -0.01)])
def test_a_reader_refuses_what_does_not_follow_from_the_release(name: str, by: float) -> None:
    told = verdict_block(shown(), STATEMENT)
    assert told is not None
    check_verdict({**STATEMENT, "told": told}, shown())
    forged = {**told, "field": {**told["field"], name: told["field"][name] + by}}
    forged["in_words"] = verdict_words(forged)
    with pytest.raises(BundleError, match="does not follow from the release"):
        check_verdict({**STATEMENT, "told": forged}, shown())
    with pytest.raises(BundleError, match="words about its map"):
        check_verdict({**STATEMENT, "told": {**told, "in_words": "It is right."}}, shown())
    with pytest.raises(BundleError, match="does not follow from the release"):
        check_verdict(
            {**STATEMENT, "told": told},
            products_at(MapValues(FIELD[0][None], FIELD), 0.2, "above", cutoff=0.5),
        )


@pytest.mark.parametrize(
    ("before", "after", "which"),
    [(0.98, 0.55, "less"), (0.5, 0.64, ""), (0.5, 0.65, "more"), (0.7, 0.56, ""), (None, 0.5, "")],
)
def test_a_release_that_contradicts_its_rehearsal_says_so(
    before: float | None, after: float, which: str
) -> None:
    expected = {"agreement": before, "area_error": 0.1, "right": 0.9, "basis": "reference data"}
    told: dict[str, Any] = {
        "map": {"agreement": after, "right": 0.6, "found": 0.7},
        "field": {"agreement": 0.5, "right": 0.6, "found": 0.7},
    }
    said = contradiction(expected, told)
    if not which:
        assert said == ""
        return
    assert said.startswith(f"The release tells {which} than was expected from reference data that were set")
    assert f"of about {after:.2f} instead of {before:.2f}" in said
    assert how_right({**STATEMENT, "expected": expected, "told": told}, shown())[-1] == said
    assert len(how_right({**STATEMENT, "expected": expected}, shown())) == 2


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (None, "The private values may differ from these"),
        (0.01, "The private values differ from these"),
        (0.011, "It does not show that the private values differ from these"),
    ],
)
def test_a_contradiction_says_what_the_sums_say_of_the_values(chance: float | None, said: str) -> None:
    change = {} if chance is None else {"change": {"chance": chance}}
    told = {"map": {"agreement": 0.55}, **change}
    text = contradiction({"agreement": 0.9, "basis": "public reference data"}, told)
    assert text.endswith(f"instead of 0.90. {said} by more than the noise explains.")


@pytest.mark.parametrize(
    ("scale", "unit", "words", "fell", "numbers"),
    [
        (
            ResponseScale("log", 6.0, 0.5, "public"), "£", "between +4.4 % and +23 %",
            "price fell by about 12 %", (13.3148, 4.36769, 23.029),
        ),
        (
            ResponseScale("identity", 20.0, 4.0, "public"), "ug/m3",
            "between +0.34 ug/m3 and +1.7 ug/m3", "price fell by about 1 ug/m3", (1.0, 0.342, 1.658),
        ),
        (
            ResponseScale("probit", 0.0, 1.0, "public"), "%",
            "between +8.6 percentage points and +41 percentage points",
            "share fell by about 25 percentage points", (25.0, 8.55, 41.45),
        ),
    ],
)  # fmt: skip
def test_a_change_is_said_on_average_over_the_records(
    scale: ResponseScale, unit: str, words: str, fell: str, numbers: tuple[float, ...]
) -> None:
    """Of logarithms the mean is a geometric one: a factor."""
    subject = {"value": "price", "unit": unit, "scope": {"since": "1993"}}
    change = change_block(Change(0.02, 0.25, 0.1), scale, subject)
    assert tuple(change[name] for name in ("higher", "low", "high")) == numbers
    assert change["in_words"] == f"It is not sure whether there was a change since 1993 ({words})."
    other = change_block(Change(0.01, -0.25, 0.1), scale, subject)
    assert other["in_words"] == f"On average the {fell} since 1993; that is not chance."
    assert other["higher"] < 0.0
    about = {**STATEMENT, "expected": None, "told": {"change": other, "map": None}}
    about |= {"response": {"transform": scale.transform}, "subject": subject}
    assert how_right(about, shown())[-1] == change_sentence(about) == other["in_words"]


@pytest.mark.parametrize(("chance", "doubted"), [(0.0501, False), (0.05, True), (0.004, True)])
def test_a_map_unlike_its_model_is_said_to_be_so(chance: float, doubted: bool) -> None:
    about = "it is rougher than the model expects"
    told = verdict_block(shown(), STATEMENT, None, ModelCheck(chance, about))
    assert told is not None
    assert told["model"] == {"chance": chance, "about": about}
    check_verdict({**STATEMENT, "told": told}, shown())
    said = how_right({**STATEMENT, "expected": None, "told": told}, shown())[-1]
    assert (about in said) == doubted
    assert not doubted or said.endswith(
        "so unusual a map had a chance of 5 %; stated chances rest on that model."
        if chance == 0.05
        else "so unusual a map had a chance of under 1 %; stated chances rest on that model."
    )
    with pytest.raises(BundleError, match="nothing that was looked at"):
        check_verdict(
            {**STATEMENT, "told": {**told, "model": {"chance": chance, "about": "<b>all is well</b>"}}},
            shown(),
        )


@pytest.mark.parametrize(("after", "which"), [(0.04, "less"), (0.06, ""), (0.82, ""), (0.84, "more")])
def test_a_release_within_the_range_of_a_guess_contradicts_nothing(after: float, which: str) -> None:
    guess = {"agreement": 0.37, "basis": "simulated", "low": 0.05, "high": 0.83, "little": True}
    told: dict[str, Any] = {"map": {"agreement": after, "right": 0.6, "found": 0.7}}
    said = contradiction(guess, told)
    assert (said.split()[3] if said else "") == which


def test_the_statement_of_a_release_with_probabilities_tells_and_a_forged_one_is_refused(
    domain: Domain,
) -> None:
    release = make_release(domain)
    field = {"mean": release.paths.mean(axis=0), "sd": release.paths.std(axis=0) + 0.1}
    contents = bundle_contents(replace(release, **field, shown_map=(field["mean"], field["sd"] / 2.0)))
    statement = json.loads(contents["statement.json"])
    told = statement["told"]
    assert told["map"]["agreement"] > told["field"]["agreement"] > 0.0
    products = bundle_from_contents(contents).published
    said = shown_words(products, statement)
    assert said in " ".join(contents["README.txt"].decode().split())
    assert said in contents["label.html"].decode()
    sure = three_facts(statement, products)[0]
    assert sure.lead == "Orange is right about 85 times in 100"
    assert sure.text.startswith(said)
    assert not sure.warning
    expected = {"agreement": 0.99, "area_error": 0.1, "right": 0.99, "basis": "simulated", "records": 0.99}
    later = three_facts({**statement, "expected": expected}, products)[0]
    assert not later.warning
    assert later.text.count("Expected beforehand, from simulated data: 99 of 100 records") == 1
    told["field"]["found"] = 1.0
    told["in_words"] = verdict_words(told)
    contents["statement.json"] = statement_text(statement).encode()
    del contents["SHA256SUMS"]
    contents["SHA256SUMS"] = sums_text(contents).encode()
    with pytest.raises(BundleError, match="does not follow from the release"):
        bundle_from_contents(contents)
    assert json.loads(bundle_contents(release)["statement.json"])["told"] is None


def test_a_set_that_is_cut_by_the_map_is_found_again_and_its_told_agreement_is_checked(
    domain: Domain, tmp_path: Path
) -> None:
    """The set follows the chances of the map without privacy, in every reader and at other thresholds."""
    release = make_release(domain)
    mean, sd = release.paths.mean(axis=0), release.paths.std(axis=0) + 0.1
    shown_map = (np.roll(mean, 40), 0.3 * sd)
    cut = replace(release, mean=mean, sd=sd, shown_map=shown_map, cut_by_map=True)
    written = write_bundle(cut, tmp_path / "bundle")
    bundle = read_bundle(written.directory)
    by_map = exceedance_probability(*shown_map, release.response.forward(442_413.0)) >= 0.5
    assert bundle.published.vote_set.tolist() == by_map.tolist()
    by_field = bundle_from_contents(bundle_contents(replace(cut, cut_by_map=False))).published.vote_set
    assert by_field.tolist() != by_map.tolist()
    assert (
        "map of the same records without privacy noise"
        in bundle.statement["products"]["meanings"]["vote-set"]
    )
    higher = exceedance_probability(*shown_map, release.response.forward(600_000.0)) >= 0.5
    assert Viewer(bundle).at(600_000.0).vote_set.tolist() == higher.tolist()
    done = subprocess.run(
        [sys.executable, "-I", written.directory / "redraw.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    told = bundle.statement["told"]
    forged = {**told, "map": {**told["map"], "agreement": 0.999}}
    with pytest.raises(BundleError, match="does not follow from the release"):
        check_verdict(
            {**bundle.statement, "told": {**forged, "in_words": verdict_words(forged)}}, bundle.published
        )


RECORDS = np.array([0.25, 0.5, 7.0, 0.0])  # of 7.75 the two in the middle hold 97 %


def with_records(records: np.ndarray = RECORDS) -> Products:
    return products_at(MapValues(FIELD[0][None], FIELD, records=records), 0.0, "above", cutoff=0.5)


def test_hexagons_outside_the_judged_ones_are_counted_apart() -> None:
    products = with_records()
    assert products.judged.tolist() == [False, True, True, False]
    assert products.classes.tolist() == [3, 1, 1, 3]
    assert shown().empty is None
    assert counted(products) == (
        "0 of 2 hexagons (0 %) are likely above the threshold, 2 it cannot tell, 0 likely not above it. 2 "
        "with few records or none are left out."
    )
    assert "records" not in counted(with_records(np.full(4, 9.0))), "where there is none, nothing is said"
    told = verdict_block(products, STATEMENT)
    assert told is not None
    assert told["field"] == {"agreement": 0.528424, "right": 0.691462, "found": 0.691462}
    assert told["judged"] == {
        "cells": 2, "orange": None, "finds": 0.0, "right": 0.691462,
        "in_words": "No hexagon is likely above the threshold.",
    }  # fmt: skip
    check_verdict({**STATEMENT, "told": told}, products)
    for forged in (
        {**told, "judged": {**told["judged"], "cells": 4}},
        {**told, "judged": {**told["judged"], "orange": 0.9}},
        {**told, "judged": {**told["judged"], "in_words": "Orange is right about 99 times in 100."}},
        {name: part for name, part in told.items() if name != "judged"},
    ):
        forged["in_words"] = verdict_words(forged)
        with pytest.raises(BundleError, match="does not follow from the release"):
            check_verdict({**STATEMENT, "told": forged}, products)


def test_bundles_of_earlier_versions_keep_their_rules() -> None:
    """Half a record or more, a set at the cutoff over all hexagons, and no promise."""
    products = products_at(
        MapValues(FIELD[0][None], FIELD, records=RECORDS), 0.0, "above", cutoff=0.3, earlier=True
    )
    assert products.classes.tolist() == [3, 1, 1, 3]
    assert products.in_set.tolist() == [True, True, True, False]
    told = verdict_block(products, STATEMENT)
    assert told is not None
    assert "judged" not in told
    assert told["recorded"] == {
        "cells": 2, "shown_without": 1, "agreement": 0.5, "right": 0.5, "found": 1.0
    }  # fmt: skip
    assert "In 1 of the hexagons that it holds the release expects no record" in told["in_words"]
    check_verdict({**STATEMENT, "told": told}, products)


def test_expected_records_travel_with_the_bundle(domain: Domain) -> None:
    release = make_release(domain)
    size = len(release.cells)
    field = {"mean": release.paths.mean(axis=0), "sd": release.paths.std(axis=0) + 0.1}
    records = np.where(np.arange(size) % 2 == 0, 0.125, 3.0)
    contents = bundle_contents(replace(release, **field, records=records))
    bundle = bundle_from_contents(contents)
    assert bundle.records is not None
    assert bundle.records.tolist() == records.tolist()
    assert bundle.statement["told"]["judged"]["cells"] == size // 2
    cells = json.loads(contents["cells.geojson"])["features"]
    assert [each["properties"]["expected_records"] for each in cells] == records.tolist()
    assert f"{size - size // 2:,} with few records or none are left out." in contents["label.html"].decode()
    assert bundle_from_contents(bundle_contents(replace(release, **field))).records is None
    with pytest.raises(WorkflowError, match="need a mean of the field"):
        replace(release, records=records)
    stored = paths_bytes(release.cells, MapValues(rounded(release.paths), records=-np.ones(size)))
    with pytest.raises(BundleError, match="negative number of records"):
        read_paths(stored, records=True)


@pytest.mark.parametrize(
    ("change", "transform", "said"),
    [
        ((0.001, 20.3, 18.0, 22.0), "log",
         "On average the price rose by about 20 % since the public map; that is not chance."),
        ((0.01, -3.4, -5.0, -2.0), "identity",
         "On average the price fell by about £3.4 since the public map; that is not chance."),
        ((0.001, 25.0, 20.0, 30.0), "probit",
         "On average the share rose by about 25 percentage points since the public map; that is not chance."),
        ((0.9, 0.1, -3.0, 3.0), "log", "No change seen since the public map (between -3 % and +3 %)."),
        ((0.01, 0.1, -3.0, 3.0), "log",
         "The price changed in places by more than chance, on average not since the public map (between -3 % "
         "and +3 %)."),
        ((0.9, 0.0, -0.002, 0.003), "identity",
         "No change seen since the public map (between -£0.002 and +£0.003)."),
        ((0.02, 13.0, 4.4, 23.0), "log",
         "It is not sure whether there was a change since the public map (between +4.4 % and +23 %)."),
    ],
)  # fmt: skip
def test_a_change_is_one_plain_sentence_for_readers(
    change: tuple[float, float, float, float], transform: str, said: str
) -> None:
    numbers = dict(zip(("chance", "higher", "low", "high"), change, strict=True))
    assert change_words(numbers, transform, {"value": "price", "unit": "£"}) == said
    assert change_sentence({"told": None}) == ""
