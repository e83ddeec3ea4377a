"""The finished example as shipped: it is what the program makes and accepts, and it is nobody's release."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_loaders import DEMO_SEED, write_demo
from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.bundle.published.shelf import shelf
from hexcursion.bundle.statement.designs import design_from
from hexcursion.errors import WorkflowError
from hexcursion.ledger import LedgerError, open_ledger
from hexcursion.ledger.storage.places import home
from hexcursion.lint import LEAK, lint_bundle
from hexcursion.search.decision.stored import text_of, tuned_from
from hexcursion.search.decision.tuning import tune
from hexcursion.search.problem.facts import public_facts
from pages.privacy.designs.designs import BUDGETS
from pages.shared.shipped import BUNDLE, CITY, FILES, is_shipped, shelved, viewer_of
from pages.start.finished import SEARCH, Finished, finished_example


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    with pytest.MonkeyPatch.context() as patch:  # a fixture of a module has no home of a test's own
        patch.setenv("HEXCURSION_HOME", str(tmp_path_factory.mktemp("home")))
        return finished_example()


def contents(folder: Path) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {name: gzip.decompress(held) if name.endswith(".gz") else held for name, held in files.items()}


def test_the_city_is_the_generated_one(tmp_path: Path) -> None:
    write_demo(tmp_path, seed=DEMO_SEED, changed=True)
    assert contents(CITY) == contents(tmp_path)


def test_opening_it_draws_and_charges_nothing() -> None:
    opened = finished_example()
    assert opened.project.settings.data.path.startswith(str(home()))
    assert shelf() == ()
    with pytest.raises(LedgerError):
        open_ledger(create=False)
    name = opened.viewer.bundle.statement["release"]["id"]
    assert is_shipped(name)
    assert viewer_of(name) is opened.viewer
    assert not is_shipped("fedcba9876543210")
    assert not is_shipped(None)


def test_it_is_read_once_and_its_files_are_put_back() -> None:
    opened = finished_example()
    shutil.rmtree(Path(opened.project.settings.data.path).parent)
    assert finished_example() is opened
    assert Path(opened.project.settings.data.path).is_file()


def test_it_says_that_it_is_generated(opened: Finished) -> None:
    assert opened.viewer.bundle.statement["release"]["generated"] is True
    assert opened.project.generated
    assert shelved().title == (
        "Generated example of a change: flats above 450,000 pounds (shipped with the program)"
    )


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
    assert rising == sorted(rising)
    assert rising[-1] - rising[0] > 0.1


def test_the_release_is_expected_to_beat_the_free_map_clearly(opened: Finished) -> None:
    tuned = opened.tuned
    assert tuned.free_agreement is not None
    assert tuned.choice.expected is not None
    assert tuned.choice.expected.agreement is not None
    assert tuned.choice.expected.agreement > tuned.free_agreement + 0.05


def test_what_is_written_is_read_back_to_the_last_digit(opened: Finished) -> None:
    assert text_of(opened.project, opened.tuned) == SEARCH.read_text(encoding="utf-8")


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
    assert sum(path.stat().st_size for path in FILES.rglob("*") if path.is_file()) < 2_700_000


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


def test_the_shipped_map_holds_against_the_truth_that_ships_with_it(opened: Finished) -> None:
    """Intervals of the districts, certainty classes, and what the release tells of itself."""
    told = json.loads((FILES / "tour.json").read_text(encoding="utf-8"))
    truth = np.array([each == "1" for each in told["truth"]])
    district = np.array(told["district"])
    bundle = opened.viewer.bundle
    published, stated = bundle.published, bundle.statement["told"]["field"]
    inside = bundle.paths > published.level
    held = 0
    for number in range(len(told["districts"])):
        shares = inside[:, district == number].mean(axis=1)
        low, high = np.quantile(shares, [0.05, 0.95])
        held += low <= truth[district == number].mean() <= high
    assert held >= 11, "of 12 intervals that should hold nine times in ten"
    probability, shown = published.probability, published.vote_set
    assert probability is not None
    assert truth[probability >= 0.8].mean() >= 0.8
    assert truth[probability <= 0.2].mean() <= 0.2
    assert truth[shown].mean() >= stated["right"] - 0.05
    assert float((truth & shown).sum() / (truth | shown).sum()) >= stated["agreement"] - 0.05
    public = np.array([each == "1" for each in told["public_map"]])
    assert float((truth & public).sum() / (truth | public).sum()) < 0.5
