"""The finished example as shipped: it is what the program makes and accepts, and it is nobody's release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_loaders import DEMO_SEED, DEMO_YEARS, DemoField
from data_loaders.demo_data import to_km, ward_of
from data_loaders.lucas_county import SALES
from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.page.facts import heading_of
from hexcursion.bundle.published.bundle_store import stored_bundles
from hexcursion.bundle.statement.designs import design_from
from hexcursion.door.remedies import BUDGETS
from hexcursion.errors import WorkflowError
from hexcursion.ledger import LedgerError, open_ledger
from hexcursion.lint.bundle import lint_bundle
from hexcursion.lint.checks import LEAK
from hexcursion.project.baseline import free_map
from hexcursion.project.example import changed_settings
from hexcursion.project.load import load_project
from hexcursion.search.results import text_of, tuned_from
from hexcursion.search.scenes import public_facts
from hexcursion.search.tuning import tune
from pages.privacy.frontier import promise_of
from pages.release.releasing import plan
from pages.shared.session.outcome import SearchOutcome
from pages.shared.shipped import BUNDLE, FILES, SEARCH, is_shipped, shelved, viewer_of
from pages.start.finished import Finished, finished_example
from studies.agreement.panel import simulated


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    with pytest.MonkeyPatch.context() as patch:  # a fixture of a module has no home of a test's own
        patch.setenv("HEXCURSION_HOME", str(tmp_path_factory.mktemp("home")))
        return finished_example()


def test_opening_it_draws_and_charges_nothing() -> None:
    opened = finished_example()
    assert stored_bundles() == ()
    with pytest.raises(LedgerError):
        open_ledger(create=False)
    name = opened.viewer.bundle.statement["release"]["id"]
    assert is_shipped(name)
    assert viewer_of(name) is opened.viewer
    assert not is_shipped("fedcba9876543210")
    assert not is_shipped(None)


def test_it_is_read_once_and_its_sales_are_those_that_ship() -> None:
    opened = finished_example()
    assert finished_example() is opened
    assert opened.project.settings.data.path == str(SALES)
    assert (opened.private.size, opened.reference.size) == (4_378, 3_260)


def test_it_says_whose_sales_these_are_and_that_they_are_real(opened: Finished) -> None:
    statement = opened.viewer.bundle.statement
    assert statement["release"]["generated"] is False
    assert heading_of(statement) == "Where did houses in Lucas County sell for more than $80,000 in 1998?"
    assert statement["subject"]["scope"]["source"].startswith("Lucas County auditor, by J. P. LeSage's")
    assert "published long ago" in str(statement["evaluation"])
    credits = contents_of(BUNDLE)["ATTRIBUTION.txt"].decode()
    assert credits.startswith("Source of the data: Lucas County auditor, by J. P. LeSage's")
    assert shelved().title == "House sales of Lucas County, Ohio: an example (shipped with the program)"


def test_the_bundle_is_what_the_search_proposed_and_passes_the_lint(opened: Finished) -> None:
    statement = opened.viewer.bundle.statement
    drawn, proposed = design_from(statement["design"]), opened.tuned.choice.design
    assert replace(drawn, cutoff=0.5) == proposed, "the release chooses its own cutoff"
    assert 0.2 < drawn.cutoff < 0.8
    assert opened.viewer.domain.cells == opened.project.domain.cells
    assert [finding for finding in lint_bundle(BUNDLE) if finding.severity == LEAK] == []


def test_every_price_on_the_frontier_holds_and_the_frontier_rises(opened: Finished) -> None:
    facts, delta = public_facts(opened.project), opened.project.delta
    best: dict[float, float] = {}
    for point in opened.tuned.result.frontier:
        design, agreement = point.scored.design, point.scored.utility.agreement
        price = mechanism_of(design).guarantee(design, facts).epsilon(delta).epsilon
        assert price <= point.epsilon * (1 + 1e-9)
        best[point.epsilon] = max(best.get(point.epsilon, 0.0), agreement)
    assert set(BUDGETS) <= set(best)
    rising = [best[epsilon] for epsilon in sorted(best)]
    assert all(more > less - 0.002 for less, more in pairwise(rising)), "but for errors of simulation"
    assert rising[-1] - rising[0] > 0.1


def test_the_release_is_expected_to_beat_the_free_map_clearly(opened: Finished) -> None:
    tuned = opened.tuned
    assert tuned.free_agreement is not None
    assert tuned.choice.expected is not None
    assert tuned.choice.expected.agreement is not None
    assert tuned.choice.expected.agreement > tuned.free_agreement + 0.05


def test_a_design_promises_on_screen_what_its_release_promises(opened: Finished) -> None:
    said = promise_of(opened.project, opened.tuned.choice.design, 1.0)
    assert "A 50:50 guess about one sale becomes at most 56:44." in said
    assert said == opened.viewer.bundle.statement["guarantee"]["in_words"]


def test_what_is_written_is_read_back_to_the_last_digit(opened: Finished) -> None:
    assert text_of(opened.project, opened.tuned) == SEARCH.read_text(encoding="utf-8")


def test_another_release_of_it_can_be_planned(opened: Finished) -> None:
    """The search tried both starts, and the design that it kept reads the public map."""
    planned = plan(SearchOutcome(opened.project, opened.tuned, opened.tuned.choice))
    assert opened.tuned.result.public_mean is True
    assert opened.tuned.choice.public_map is not None
    assert planned.preview.asked == pytest.approx(1.0, abs=1e-6)


def test_a_search_of_another_question_is_refused(opened: Finished) -> None:
    told = json.loads(SEARCH.read_text(encoding="utf-8"))
    with pytest.raises(WorkflowError, match="answers another question: search for the design anew"):
        tuned_from(opened.project, json.dumps(told | {"question": "0" * 64}))
    with pytest.raises(WorkflowError, match="damaged: search for the design anew"):
        tuned_from(opened.project, json.dumps(told | {"chosen": {}}))
    other = {**told["unconstrained"], "design": {"mechanism": "functional", "noise": 1.0}}
    with pytest.raises(WorkflowError, match="damaged: search for the design anew"):
        tuned_from(opened.project, json.dumps(told | {"unconstrained": other}))


def test_what_is_shipped_is_small() -> None:
    assert sum(path.stat().st_size for path in FILES.rglob("*") if path.is_file()) < 1_500_000


@pytest.mark.slow
def test_the_search_is_the_one_that_the_program_makes(opened: Finished) -> None:
    again = tune(opened.project, walked=BUDGETS)
    shipped, made = opened.tuned.result, again.result
    assert made.chosen.design.mechanism == shipped.chosen.design.mechanism
    assert made.evaluated == shipped.evaluated
    assert np.array_equal(made.baseline, shipped.baseline)
    found, told = ([point.scored.utility.agreement for point in one.frontier] for one in (made, shipped))
    # Another processor adds in another order: the search may keep another design of nearly equal agreement.
    assert found == pytest.approx(told, abs=0.03)


def truth_of(told: Mapping[str, Any]) -> np.ndarray:
    return np.array([letter == "1" for letter in told["truth"]])


def test_the_map_of_all_sales_that_ships_is_the_one_without_privacy(opened: Finished) -> None:
    told = json.loads((FILES / "tour.json").read_text(encoding="utf-8"))
    assert np.array_equal(truth_of(told), opened.baseline.inside)


def test_the_shipped_map_holds_against_the_map_of_all_sales(opened: Finished) -> None:
    """Certainty classes, and what the release tells of itself; of this place no other truth is known."""
    truth = truth_of(json.loads((FILES / "tour.json").read_text(encoding="utf-8")))
    bundle = opened.viewer.bundle
    published, stated = bundle.published, bundle.statement["told"]["map"]
    probability, shown = published.probability, published.in_set
    assert probability is not None
    truth &= published.judged
    assert truth[published.classes == 0].mean() >= 0.8
    assert truth[published.classes == 2].mean() <= 0.2
    assert truth[(probability >= 0.8) & published.judged].mean() >= 0.8
    assert truth[probability <= 0.2].mean() <= 0.2
    assert truth[shown].mean() >= stated["right"] - 0.05
    assert float((truth & shown).sum() / (truth | shown).sum()) >= stated["agreement"] - 0.05


@pytest.mark.slow
def test_a_release_of_the_generated_city_holds_against_its_truth(tmp_path: Path) -> None:
    """Intervals of the districts, certainty classes and the set, where the field itself is known."""
    project = load_project(changed_settings(tmp_path))
    tuned = tune(project, frontier=())
    lon, lat = project.domain.centres_lonlat.T
    truth = DemoField(DEMO_SEED, DEMO_YEARS[1], changed=True).log_price(lon, lat) > np.log(450_000)
    district = ward_of(*to_km(lon, lat))
    held = 0
    for drawn, shown, probability in simulated(project, tuned.choice, 4, 2024):
        inside = drawn.paths > tuned.choice.response.forward(450_000.0)
        for number in np.unique(district):
            low, high = np.quantile(inside[:, district == number].mean(axis=1), [0.05, 0.95])
            held += low <= truth[district == number].mean() <= high
        assert truth[probability >= 0.8].mean() >= 0.8
        assert truth[probability <= 0.2].mean() <= 0.2
        assert float((truth & shown).sum() / (truth | shown).sum()) >= 0.75
    assert held >= 41, "of 48 intervals that should hold nine times in ten"
    public = free_map(project, tuned.result.model)
    assert float((truth & public).sum() / (truth | public).sum()) < 0.5
