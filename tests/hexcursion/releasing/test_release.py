"""The release transaction: charged before it is drawn, drawn once, stored whole, silent about the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pytest

import hexcursion.releasing.transaction as release_module
from dpgp_core.excursion import ious
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.mechanisms.paths import path_guarantee
from dpgp_core.noise import Entropy, SimulationEntropy, SystemEntropy
from dpgp_core.priors.car import CarPrior
from dpgp_core.priors.lattice import smooth
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import Prepared, Released, draw_release
from geo import rfc7946_findings
from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.untrusted import strict_json
from hexcursion.bundle.write import recover
from hexcursion.ledger import BudgetExceeded, Ledger, open_ledger
from hexcursion.ledger.errors import LedgerError, Unreleased
from hexcursion.project.baseline import compare, fit_baseline, free_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing import once as transaction
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import given_choice
from hexcursion.search.pilot import run_pilot
from hexcursion.search.tuning import Tuned, tune
from tests.dpgp_core.drawing import draw_paths
from tests.hexcursion.bundle.scan import scan_for
from tests.town import Town


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger()


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def test_a_plan_draws_and_charges_nothing(project: Project, tuned: Tuned, ledger: Ledger) -> None:
    plan = plan_release(project, tuned.choice, ledger)
    assert kinds(ledger) == ["genesis"]
    assert plan.privacy.epsilon <= 2.0
    topics = [line.topic for line in plan.receipt]
    assert {"Unit of protection", "Records", "Tuning", "Bound", "Ledger", "Group"} <= set(topics)


def test_a_release_is_charged_stored_and_committed(
    project: Project, tuned: Tuned, ledger: Ledger, out: Path
) -> None:
    published = publish(plan_release(project, tuned.choice, ledger), ledger, out)
    assert kinds(ledger) == ["genesis", "budget", "records", "reserve", "draw", "commit"]
    assert ledger.verify(seen=[published.release.ledger_entry]) == []
    bundle = read_bundle(out)
    assert bundle.statement["guarantee"]["epsilon"] == pytest.approx(published.release.privacy.epsilon)
    baseline = fit_baseline(project, tuned.result.unconstrained.design)
    found = compare(bundle.published.vote_set, baseline.inside)
    assert found.agree_in + found.falsely_out == int(baseline.inside.sum())
    assert found.agree_in + found.falsely_in == int(bundle.published.vote_set.sum())


def test_the_released_sets_resemble_the_baseline(project: Project, tuned: Tuned, ledger: Ledger) -> None:
    """Mean IoU of 40 simulated releases, from a fixed seed; a coin per cell would reach about .2."""
    plan, design = plan_release(project, tuned.choice, ledger), tuned.choice.design
    prior = make_prior(design.prior, project.lattice, design.lengthscale)
    entropy = SimulationEntropy(11)
    paths = [draw_paths(design, prior, plan.records, entropy, simulation=True)[0] for _ in range(40)]
    level = float(tuned.choice.response.forward(project.settings.threshold))
    sets = smooth(project.lattice, np.array(paths), design.smoothing) > level
    free = tuned.result.unconstrained.design
    assert np.mean(ious(sets, fit_baseline(project, free).inside)) > 0.4
    assert free_map(project, free).shape == (project.domain.size,)


def test_the_exported_files_open_elsewhere(project: Project, tuned: Tuned, ledger: Ledger, out: Path) -> None:
    publish(plan_release(project, tuned.choice, ledger), ledger, out)
    cells = geopandas.read_file(out / "cells.geojson")
    assert len(cells) == project.domain.size
    assert {"h3", "vote_fraction", "in_set"} <= set(cells.columns)
    table = geopandas.read_file(out / "release.gpkg", layer="boundary")
    assert {"epsilon", "delta", "threshold"} <= set(table.columns)
    assert cells.crs == "EPSG:4326"
    for name in ("cells.geojson", "regions.geojson"):
        assert rfc7946_findings(strict_json((out / name).read_bytes(), name)) == []
    regions = geopandas.read_file(out / "regions.geojson")
    inside = cells[cells["in_set"].astype(bool)].union_all()
    assert regions.union_all().area >= inside.area * (1 - 1e-6)


def test_the_budget_is_spent_once(project: Project, tuned: Tuned, ledger: Ledger, tmp_path: Path) -> None:
    publish(plan_release(project, tuned.choice, ledger), ledger, tmp_path / "one")
    again = plan_release(project, tuned.choice, ledger)
    assert not again.preview.fits
    with pytest.raises(BudgetExceeded):
        publish(again, ledger, tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert kinds(ledger)[-1] == "commit"


def test_an_existing_folder_is_refused_before_anything_is_charged(
    project: Project, tuned: Tuned, ledger: Ledger, out: Path
) -> None:
    out.mkdir()
    with pytest.raises(BundleError, match="exists already"):
        publish(plan_release(project, tuned.choice, ledger), ledger, out)
    assert kinds(ledger) == ["genesis"]


def test_a_failure_after_the_draw_stays_charged(
    project: Project, tuned: Tuned, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(transaction, "stage_bundle", fail)
    with pytest.raises(Unreleased, match=r"disk full.*Entry 3 stays in the ledger.*ledger void 3"):
        publish(plan_release(project, tuned.choice, ledger), ledger, out)
    assert kinds(ledger)[-2:] == ["reserve", "draw"]
    assert not out.exists()
    assert plan_release(project, tuned.choice, ledger).preview.before > 0


def test_a_database_lost_after_the_commit_leaves_the_release_to_the_next_start(
    project: Project, tuned: Tuned, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = ledger.commit

    def lost(*_: object) -> None:
        raise LedgerError("The database is gone.")

    def commit_and_lose(number: int, release_id: str, digest: str) -> None:
        commit(number, release_id, digest)
        monkeypatch.setattr(ledger, "committed", lost)
        monkeypatch.setattr(ledger, "outcome", lost)
        lost()

    plan = plan_release(project, tuned.choice, ledger)
    monkeypatch.setattr(ledger, "commit", commit_and_lose)
    with pytest.raises(Unreleased) as error:
        publish(plan, ledger, out)
    assert "If entry 3 was committed, the next start publishes its release" in str(error.value)
    assert "void" not in str(error.value)
    assert not out.exists()
    monkeypatch.undo()
    recover(out.parent, ledger.identity, ledger.committed)
    assert read_bundle(out).domain.size == project.domain.size


def test_a_seeded_source_cannot_stand_behind_a_release(
    project: Project, tuned: Tuned, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_module, "SystemEntropy", lambda: SimulationEntropy(1))
    with pytest.raises(Unreleased, match="SystemEntropy"):
        publish(plan_release(project, tuned.choice, ledger), ledger, out)
    assert not out.exists()


def test_two_releases_of_one_design_differ(
    project: Project, tuned: Tuned, ledger: Ledger, tmp_path: Path
) -> None:
    settings = project.settings.with_changes(budget=10.0)
    rich = type(project)(**{**vars(project), "settings": settings})
    first, second = (
        publish(plan_release(rich, tuned.choice, ledger), ledger, tmp_path / name).release.paths
        for name in "ab"
    )
    assert np.mean(first == second) < 0.01


def test_what_is_drawn_is_what_is_charged_and_stated(
    town: Town, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three paths: one draw of exactly the design, records and source that the stated guarantee is about."""
    project = load_project(town.settings(lengthscale=3000.0, ridge=20.0, priors=("car",), paths=3))
    plan = plan_release(project, given_choice(project), ledger)
    drawn: list[tuple[Prepared, object]] = []

    def watched(prepared: Prepared, entropy: Entropy) -> Released:
        drawn.append((prepared, entropy))
        return draw_release(prepared, entropy)

    monkeypatch.setattr(release_module, "draw_release", watched)
    published = publish(plan, ledger, out)
    ((prepared, entropy),) = drawn
    design, prior = plan.choice.design, prepared.posterior.prior  # type: ignore[attr-defined]
    records = plan.records
    assert prepared is plan.prepared
    assert prepared.design == design  # type: ignore[attr-defined]
    assert isinstance(design, Design)
    assert isinstance(prior, CarPrior)
    assert type(entropy) is SystemEntropy
    assert published.release.paths.shape == (3, project.domain.size) == (design.paths, prior.size)
    # what the exact draw adds to the price of the ideal paths: total variation
    proved = replace(path_guarantee(design, records.n, prior), distance=2.0**-150)
    assert plan.charge.cost == proved.cost
    assert plan.privacy.epsilon == proved.epsilon(project.delta).epsilon
    assert 0.99 * project.settings.epsilon < plan.privacy.epsilon <= project.settings.epsilon
    assert published.release.design == design


def test_nothing_private_leaves(
    town: Town, tuned: Tuned, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Canaries in every private field: none of them in the bundle, the ledger's files or the log.

    Thousands of released numbers may agree with one of them by chance; what leaks does so in every release.
    """
    lines = town.private.read_text(encoding="utf-8").splitlines()
    planted = tmp_path / "planted.csv"
    canary = {"lon": 10.0613579, "lat": 50.0424681, "value": 37.91357913}
    planted.write_text(
        "\n".join([f"{lines[0]},site", *(f"{line},s{i}" for i, line in enumerate(lines[1:]))])
        + f"\n{canary['lon']},{canary['lat']},{canary['value']},CANARYSITE77\n",
        encoding="utf-8",
    )
    settings = town.settings()
    project = load_project(
        settings.with_changes(data=type(settings.data)(str(planted), value="no2", x="lon", y="lat"))
    )
    baseline = fit_baseline(project, tuned.result.unconstrained.design)
    secrets = [*canary.values(), "CANARYSITE77", *(float(v) for v in baseline.mean[:5])]
    secrets += [float(np.median(project.private.placed.value)), float(project.private.placed.value.mean())]

    def found(folder: Path) -> set[object]:
        ledger = open_ledger(folder / "ledger" / "ledger.sqlite")
        publish(plan_release(project, tuned.choice, ledger), ledger, folder / "out")
        return {hit.value for hit in scan_for(secrets, folder)}

    once = found(tmp_path / "first")
    assert not once or not once & found(tmp_path / "second")
    assert "CANARYSITE77" not in caplog.text
    assert scan_for(["CANARYSITE77"], planted) != []  # the scanner can see


def test_a_pilot_is_charged_and_part_of_the_stated_epsilon(town: Town, ledger: Ledger, out: Path) -> None:
    settings = town.settings(
        reference=None, reference_public=False, centre=25.0, clip=15.0, pilot=0.3, priors=("car",)
    )
    project = run_pilot(load_project(settings), ledger)
    assert project.reference_kind == "private selection"
    assert kinds(ledger) == ["genesis", "budget", "records", "reserve", "draw", "commit"]
    plan = plan_release(project, tune(project).choice, ledger)
    assert project.pilot is not None
    assert 0.99 * settings.epsilon < plan.privacy.epsilon <= settings.epsilon
    assert plan.preview.before > 0
    assert any("pilot" in line.text for line in plan.receipt if line.topic == "Tuning")
    published = publish(plan, ledger, out)
    account = ledger.account(plan.charge.dataset, "point")
    assert account.spent <= settings.epsilon * (1 + 1e-9)
    assert len(account.charged) == 2
    assert published.release.tuning.kind == "private selection"
    with pytest.raises(BudgetExceeded):
        run_pilot(load_project(settings), ledger)


def test_a_design_chosen_by_looking_is_marked(town: Town, ledger: Ledger) -> None:
    project = load_project(town.settings(looked=True))
    plan = plan_release(project, tune(project).choice, ledger)
    assert plan.choice.tuning.kind == "not accounted"
    assert [line.warning for line in plan.receipt if line.topic == "Tuning"] == [True]
    assert any("NOT ACCOUNTED" in line.text for line in plan.receipt)
