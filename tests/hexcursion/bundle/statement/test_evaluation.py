"""The evaluation of NIST SP 800-226: each component has a field that is filled or says that it is not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.write import bundle_contents
from hexcursion.settings.privacy_settings import StatedFacts
from tests.hexcursion.bundle.bundle_samples import make_release

UNSAID = "not stated by the curator"
STATED = StatedFacts(
    trust_model="The land registry alone.",
    actors="Sellers; the registry; readers.",
    collection="By law.",
    retention="For ever.",
    access="Two people, logged.",
    further_releases="One a year.",
    justification="A price is no secret.",
    contact="maps@example.org",
)


def test_what_is_not_stated_says_so(domain: Domain) -> None:
    found = build_statement(make_release(domain))["evaluation"]
    assert found == {
        "framework": "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025)",
        "parameters": "epsilon 2.397 and delta 1e-5 for one sale",
        "unit": "One sale: its value and its place, among 30,123 sales.",
        "variant": "(epsilon, delta)-differential privacy, also called approximate differential privacy",
        "neighbours": "Two datasets of the same size that differ in one record, exchanged for another within "
        "the area and the filters of the release: in its value, its place or both.",
        "randomness": "Every random number came from the operating system's generator; no seed exists and "
        "none was kept.",
        "floating_point": "Everything released is a multiple of 2^-20 response units, so that the low digits "
        "of a number tell nothing. The proof is for real numbers; the noise itself is drawn in double "
        "precision.",
        "utility": "How right this map is was not estimated before it was drawn.",
        "bias": "Errors are not spread evenly: where records are few, the map follows its model more than "
        "the records, so that sparse places are less often right than dense ones, and small groups of "
        "hexagons tend to be smoothed away.",
        "trust_model": UNSAID,
        "actors": UNSAID,
        "collection": UNSAID,
        "retention": UNSAID,
        "access": UNSAID,
        "further_releases": UNSAID,
        "justification": UNSAID,
        "contact": UNSAID,
    }


def test_what_is_stated_reaches_statement_and_readme(domain: Domain) -> None:
    contents = bundle_contents(make_release(domain, stated=STATED))
    found = bundle_from_contents(contents).statement["evaluation"]
    for name in ("trust_model", "actors", "collection", "retention", "access", "further_releases",
                 "justification", "contact"):  # fmt: skip
        assert found[name] == getattr(STATED, name)
        assert f"{name.replace('_', ' ')}: {getattr(STATED, name)}" in contents["README.txt"].decode()
    assert "maps@example.org" in contents["statement.json"].decode()


def test_hidden_characters_in_what_is_stated_are_taken_out(domain: Domain) -> None:
    stated = StatedFacts(contact="a\u202eb\nc")
    assert build_statement(make_release(domain, stated=stated))["evaluation"]["contact"] == "ab c"


FOLLOW = ["parameters", "unit", "variant", "neighbours", "randomness", "floating_point", "utility", "bias"]


@pytest.mark.parametrize("name", FOLLOW)
def test_what_follows_cannot_be_stated_otherwise(domain: Domain, name: str) -> None:
    statement = json.loads(json.dumps(build_statement(make_release(domain))))
    statement["evaluation"][name] = "Everybody is safe."
    with pytest.raises(BundleError, match="evaluation does not follow"):
        check_statement(statement)


def test_a_simulation_and_an_exact_mechanism_say_so(domain: Domain) -> None:
    seeded = build_statement(replace(make_release(domain), simulation=True))["evaluation"]["randomness"]
    assert seeded == (
        "Simulation: random numbers came from a fixed seed, so that this is not a private release."
    )
