"""A range chosen privately: charged first, part of the stated epsilon, and proved again by a reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from dpgp_core.mechanisms.grids import FieldModel
from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.statement.guarantee import check_guarantee, stated_cost
from hexcursion.errors import WorkflowError
from hexcursion.ledger import BudgetExceeded, Ledger, RequestTaken, open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.simulated import simulate_reference
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.pilot import choice_warning, look_warning, paid_look, run_range_choice
from hexcursion.search.tuning import tune
from tests.town import Town

MECHANISMS = ("bin-means",)


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger()


def asked(town: Town, **changes: object) -> Project:
    base: dict[str, object] = {
        "reference": None, "reference_public": False, "centre": 30.0, "clip": 15.0, "priors": ("car",),
        "places_public": True, "mechanisms": MECHANISMS, "epsilon": 3.0, "range_choice": 0.4, "resolution": 7,
    }  # fmt: skip
    return load_project(town.settings(**{**base, **changes}))


def charged(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()][1:]


def test_a_chosen_range_is_paid_for_stated_and_read_again(town: Town, ledger: Ledger, out: Path) -> None:
    project = paid_look(asked(town), ledger)
    assert charged(ledger) == ["budget", "records", "reserve", "draw", "commit"]
    assert project.pilot is not None
    assert project.pilot.model is not None
    assert (project.pilot.epsilon, project.reference_kind) == (pytest.approx(1.2), "private selection")
    tuned = tune(project)
    design = tuned.choice.design
    assert design.mechanism in MECHANISMS
    assert (design.lengthscale, design.ridge) == (project.pilot.model.lengthscale, project.pilot.model.ridge)
    plan = plan_release(project, tuned.choice, ledger)
    assert 2.99 < plan.privacy.epsilon <= 3.0
    said = next(line.text for line in plan.receipt if line.topic == "Tuning")
    assert "a private choice of range" in said
    assert "that cost epsilon 1.2 (ledger entry 3), which is part of the stated epsilon; " in said
    assert "this price of the choice is a proved bound, and loose" in said
    publish(plan, ledger, out)
    account = ledger.account(plan.charge.dataset, "point")
    assert (len(account.charged), account.spent <= 3.0 * (1 + 1e-9)) == (2, True)
    guarantee = read_bundle(out).statement["guarantee"]
    parts = guarantee["cost"]["parts"]
    assert [part.get("pure_epsilon") for part in parts].count(pytest.approx(1.2)) == 1
    assert len(stated_cost(guarantee).parts) == 2
    for forged in (0.4, 0.0):
        false = json.loads(json.dumps(guarantee))
        part = next(each for each in false["cost"]["parts"] if each.get("pure_epsilon"))
        part["pure_epsilon"] = forged
        with pytest.raises(BundleError):
            check_guarantee(false)
    small = json.loads(json.dumps(guarantee))
    small["epsilon"] = 2.9
    with pytest.raises(BundleError, match="smaller than what its own cost proves"):
        check_guarantee(small)
    with pytest.raises(BudgetExceeded):
        run_range_choice(asked(town), ledger)


def test_it_is_paid_for_once_in_a_session_and_not_when_it_would_be_chance(town: Town, ledger: Ledger) -> None:
    weak = asked(town, epsilon=0.2)
    with pytest.raises(
        WorkflowError, match=r"next to chance: two ranges must differ by 0\.\d+ .* Nothing was"
    ):
        run_range_choice(weak, ledger)
    assert charged(ledger) == []
    assert look_warning(weak) == choice_warning(weak) != ""
    run_range_choice(asked(town), ledger, "a session")
    with pytest.raises(RequestTaken):
        run_range_choice(asked(town), ledger, "a session")
    assert charged(ledger).count("draw") == 1


def test_the_warning_and_what_can_fail_know_no_value(
    town: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = asked(town)
    placed = project.private.placed
    other = replace(project, private=replace(project.private, placed=replace(placed, value=-placed.value)))
    assert choice_warning(project) == choice_warning(other) == ""
    assert choice_warning(asked(town, range_choice=None)) == ""

    def fail(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("dpgp_core.mechanisms.grids.place_folds", fail)
    with pytest.raises(WorkflowError, match=r"No range can be chosen \(singular\): nothing was charged"):
        run_range_choice(project, ledger)
    assert charged(ledger) == []


def test_fields_are_simulated_with_the_chosen_range_and_scatter(town: Town) -> None:
    """Scatter, and roughness of the cells' means, of forty records each: a shorter range is rougher."""
    project = asked(town)
    size, spacing, rough = project.lattice.size, project.lattice.spacing, []
    known = np.repeat(np.arange(size), 40)
    near = cKDTree(project.lattice.domain_centres).query_pairs(1.2 * spacing, output_type="ndarray")
    for ranges, ridge, scatter in ((2.0, 0.1, 0.0398), (20.0, 0.1, 0.0398), (20.0, 2.0, 0.3578)):
        placed = simulate_reference(
            project.settings,
            project.lattice,
            project.response,
            known.size,
            known,
            model=FieldModel(ranges * spacing, ridge),
        )
        value = project.response.forward(placed.value).reshape(size, 40)
        assert float(np.sqrt(value.var(axis=1, ddof=1).mean())) == pytest.approx(scatter, rel=0.05)
        assert np.array_equal(placed.index, known)
        field = value.mean(axis=1)
        rough.append(float(np.std(field[near[:, 0]] - field[near[:, 1]])))
    assert rough[0] > 1.3 * rough[1]


def test_without_a_share_nothing_is_chosen(town: Town, ledger: Ledger) -> None:
    with pytest.raises(WorkflowError, match="set `range_choice`"):
        run_range_choice(asked(town, range_choice=None), ledger)
    paid = run_range_choice(asked(town), ledger)
    with pytest.raises(WorkflowError, match="paid for already"):
        run_range_choice(paid, ledger)
    assert charged(ledger).count("draw") == 1
