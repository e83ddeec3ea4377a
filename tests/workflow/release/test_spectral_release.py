"""A release of spectral statistics: charged, drawn, stored and read again with its own words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.town import Town, write_town
from workflow.bundle import read_bundle
from workflow.ledger import Ledger, open_ledger
from workflow.project.baseline import compare, fit_baseline
from workflow.project.load import load_project
from workflow.release.transaction import plan_release, publish
from workflow.search.tuning import tune


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return write_town(tmp_path_factory.mktemp("town"), n=1500)


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger()


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_a_bundle_holds_the_design_and_proves_its_own_epsilon(
    town: Town, ledger: Ledger, tmp_path: Path, relation: str
) -> None:
    project = load_project(
        town.settings(mechanisms=("spectral-statistics",), relation=relation, epsilon=1.0, focus="threshold")
    )
    tuned = tune(project)
    plan = plan_release(project, tuned.choice, ledger)
    published = publish(plan, ledger, tmp_path / "bundle")
    bundle = read_bundle(tmp_path / "bundle")
    guarantee = bundle.statement["guarantee"]
    assert guarantee["relation"] == relation
    assert 0.99 < guarantee["epsilon"] <= 1.0
    private, public = project.private.placed.index.size, project.reference.index.size
    assert private != public
    assert guarantee["n"] == (private if relation == "replace-one" else public)
    assert guarantee["n_is_public"] == (relation == "replace-one")
    assert published.release.paths.shape[0] == 100
    truth = fit_baseline(project, tuned.result.model).inside
    found = compare(bundle.published.vote_set, truth)
    assert found.agree_in / (found.agree_in + found.falsely_in + found.falsely_out) > 0.4  # a true draw
    shown = bundle.statement["design"]
    assert shown["mechanism"] == "spectral-statistics"
    assert shown["mu"] == tuned.choice.design.mu
    assert np.isfinite(shown["amplitude"])
