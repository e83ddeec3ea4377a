"""Releases of one dataset that promise different things, from the plan to the bundle that is read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpgp_core.accounting.guarantee import priced_for
from hexcursion.bundle import read_bundle
from hexcursion.ledger import open_ledger
from hexcursion.ledger.errors import PromiseBroken
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import Plan, plan_release, publish
from hexcursion.search.choice import given_choice
from hexcursion.search.pilot import run_pilot
from tests.town import Town, write_town


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return write_town(tmp_path_factory.mktemp("town"), n=1500)


def asked(town: Town, **changes: object) -> Project:
    by_hand: dict[str, object] = {"lengthscale": 3000.0, "ridge": 5.0, "priors": ("car",), "budget": 9.0}
    return load_project(town.settings(**{**by_hand, **changes}))


def planned(project: Project) -> Plan:
    return plan_release(project, given_choice(project), open_ledger())


def receipt(plan: Plan, topic: str) -> list[str]:
    return [line.text for line in plan.receipt if line.topic == topic]


def test_public_places_after_private_ones_are_agreed_to_and_said(town: Town, tmp_path: Path) -> None:
    ledger = open_ledger()
    first = planned(asked(town, mechanisms=("posterior-sampling",)))
    assert first.charge.cost.neighbours == "replace-one"
    publish(first, ledger, tmp_path / "first")
    entries = len(ledger.entries())
    second = asked(town, mechanisms=("posterior-sampling",), places_public=True)
    with pytest.raises(PromiseBroken, match="takes the places of the records as public"):
        publish(planned(second), ledger, tmp_path / "second")
    assert len(ledger.entries()) == entries
    assert not (tmp_path / "second").exists()
    agreed = replace(second, settings=second.settings.with_changes(accept_weaker_promise=True))
    plan = planned(agreed)
    assert plan.charge.cost.neighbours == plan.privacy.cost.neighbours == "values-only"  # type: ignore[union-attr]
    assert "in its value only" in receipt(plan, "Neighbours")[0]
    publish(plan, ledger, tmp_path / "second")
    statement = read_bundle(tmp_path / "second").statement
    assert statement["guarantee"]["cost"]["neighbours"] == "values-only"
    texts = [line["text"] for line in statement["receipt"] if line["topic"] == "Earlier releases"]
    assert any("also hides the value and the place of a record" in text for text in texts)


def test_a_promise_of_places_does_not_reach_back_to_public_ones(town: Town, tmp_path: Path) -> None:
    publish(planned(asked(town, places_public=True)), open_ledger(), tmp_path / "first")
    plan = planned(asked(town))
    assert plan.preview.neighbours == "values-only"
    assert receipt(plan, "Ledger")[0].endswith("They hide the value of a record and no more.")
    assert "also hides the value and the place" in receipt(plan, "Earlier releases")[-1]
    publish(plan, open_ledger(), tmp_path / "second")
    assert read_bundle(tmp_path / "second").statement["guarantee"]["protects"] == "values and places"


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_a_pilot_costs_for_the_neighbours_of_its_release(town: Town, relation: str) -> None:
    project = run_pilot(
        load_project(
            town.settings(
                reference=None,
                reference_public=False,
                centre=25.0,
                clip=15.0,
                pilot=0.3,
                relation=relation,
                mechanisms=("spectral-statistics",),
                records_about=3000 if relation == "add-or-remove" else None,
            )
        ),
        open_ledger(),
    )
    assert project.pilot is not None
    cost = project.pilot.cost
    assert cost.neighbours == relation
    assert priced_for(cost, "replace-one").gaussian_mu == cost.gaussian_mu
