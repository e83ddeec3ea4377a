"""A release of spectral statistics: charged, drawn, stored and read again with its own words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpgp_core.excursion import OWN_CUTOFFS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from hexcursion.bundle import read_bundle
from hexcursion.ledger import Ledger, open_ledger
from hexcursion.project.baseline import compare, fit_baseline
from hexcursion.project.load import load_project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.tuning import tune
from tests.town import Town, write_town


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
    about = None if relation == "replace-one" else 1400
    project = load_project(
        town.settings(
            mechanisms=("spectral-statistics",),
            relation=relation,
            epsilon=1.0,
            focus="threshold",
            records_about=about,
        )
    )
    tuned = tune(project)
    plan = plan_release(project, tuned.choice, ledger)
    published = publish(plan, ledger, tmp_path / "bundle")
    bundle = read_bundle(tmp_path / "bundle")
    guarantee = bundle.statement["guarantee"]
    assert guarantee["relation"] == relation
    assert 0.99 < guarantee["epsilon"] <= 1.0
    assert guarantee["n"] == (about or project.private.placed.index.size)
    assert guarantee["n_is_public"] == (relation == "replace-one")
    assert published.release.paths.shape[0] == 100
    truth = fit_baseline(project, tuned.result.model).inside
    found = compare(bundle.published.vote_set, truth)
    assert found.agree_in / (found.agree_in + found.falsely_in + found.falsely_out) > 0.4  # a true draw
    shown = bundle.statement["design"]
    assert shown["mechanism"] == "spectral-statistics"
    assert shown["mu"] == tuned.choice.design.mu
    assert np.isfinite(shown["amplitude"])


def test_a_bundle_keeps_the_cutoff_that_the_release_chose(town: Town, ledger: Ledger, tmp_path: Path) -> None:
    """Without reference data: the design leaves it open, the statement names it, a reader cuts there."""
    project = load_project(
        town.settings(
            mechanisms=("spectral-statistics",),
            epsilon=3.0,
            reference=None,
            reference_public=False,
            centre=28.0,
            clip=15.0,
            resolution=7,
            accept_low_agreement=True,
        )
    )
    tuned = tune(project)
    assert isinstance(tuned.choice.design, SpectralStatisticsDesign)
    assert tuned.choice.design.cutoff_from == "release"
    assert tuned.remarks()[1].startswith(
        "No reference data: one fixed design of spectral statistics, nothing was searched. In simulated "
        "worlds, with ranges of 4, 8, 16 hexagons, its agreement (IoU) with the map without privacy, in "
        "judged hexagons, is "
    )
    published = publish(plan_release(project, tuned.choice, ledger), ledger, tmp_path / "bundle")
    bundle = read_bundle(tmp_path / "bundle")
    design, products = bundle.statement["design"], bundle.statement["products"]
    assert design["cutoff_from"] == "release"
    assert products["cutoff"] == design["cutoff"] == published.release.design.cutoff
    assert products["cutoff"] in OWN_CUTOFFS
    probability = bundle.published.probability
    assert probability is not None
    assert np.array_equal(bundle.published.vote_set, probability >= products["cutoff"] - 1e-9)
