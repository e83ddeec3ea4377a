"""Public places from settings to bundle: refused undeclared, charged, written, read, and said everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.bundle import read_bundle
from hexcursion.bundle.published.view import Viewer
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import given_choice
from hexcursion.search.tuning import tune
from tests.dpgp_core.mechanisms.beside import table
from tests.town import Town

BOUNDS = {
    "bin-means": "laplace-mechanism",
    **table("BOUNDS"),
}
PLAIN = {"priors": ("exponential",), "resolution": 7}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in table("LONG"))) for name in sorted(BOUNDS)],
)
def test_a_peer_goes_from_search_to_bundle_and_back(town: Town, out: Path, name: str) -> None:
    public = MECHANISMS[name].protection.what == "values"
    project = load_project(town.settings(mechanisms=(name,), places_public=public, **PLAIN))
    tuned = tune(project)
    assert tuned.choice.design.mechanism == name
    ledger = open_ledger()
    plan = plan_release(project, tuned.choice, ledger)
    assert plan.privacy.epsilon <= 2.0
    assert plan.privacy.bound == BOUNDS[name]
    told = [line for line in plan.receipt if line.topic == "Places"]
    assert bool(told) == public
    assert all("are not protected" in line.text and line.warning for line in told)
    published = publish(plan, ledger, out)
    assert ledger.verify(seen=[published.release.ledger_entry]) == []
    bundle = read_bundle(out)
    guarantee = bundle.statement["guarantee"]
    assert guarantee["protects"] == ("values" if public else "values and places")
    assert ("Its place is public." in guarantee["protected"]) == public
    assert (
        any("places of the readings are treated as public" in line for line in guarantee["not_protected"])
        == public
    )
    assert bundle.statement["design"]["mechanism"] == name
    viewer = Viewer(bundle)
    assert viewer.sentences(viewer.at(None))


def test_a_typed_design_is_released_without_a_search(town: Town) -> None:
    project = load_project(
        town.settings(mechanisms=("bin-means",), places_public=True, lengthscale=2000.0, ridge=1.0, **PLAIN)
    )
    design = given_choice(project).design
    assert (design.mechanism, design.lengthscale, design.ridge) == ("bin-means", 2000.0, 1.0)  # type: ignore[attr-defined]
    assert plan_release(project, given_choice(project), open_ledger()).privacy.epsilon <= 2.0


def test_every_release_of_public_places_says_so_as_its_design_may_rest_on_them(town: Town, out: Path) -> None:
    project = load_project(town.settings(mechanisms=("posterior-sampling",), places_public=True, **PLAIN))
    ledger = open_ledger()
    publish(plan_release(project, tune(project).choice, ledger), ledger, out)
    statement = read_bundle(out).statement
    assert statement["design"]["mechanism"] == "posterior-sampling"
    assert statement["guarantee"]["protects"] == "values"


def test_without_the_declaration_it_is_refused_in_one_sentence(town: Town) -> None:
    with pytest.raises(WorkflowError, match="declare the places of the records public with `places_public`"):
        town.settings(mechanisms=("bin-means",))
