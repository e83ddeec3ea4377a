"""Overlaps through the whole program: segments and areas of one file, from the loader to the statement."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from data_loaders import load_sales
from hexcursion.bundle import read_bundle
from hexcursion.ledger import BudgetExceeded, Ledger, open_ledger
from hexcursion.ledger.cli import add_ledger_commands, show
from hexcursion.ledger.sentences import shared_text
from hexcursion.project.example import example_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import given_choice
from hexcursion.settings.model import ReleaseSettings
from pages.ledger.view import view_ledger
from tests.hexcursion.ledger.places import charge_for, recognised, release
from tests.town import Town


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSettings:
    """The generated example with a typed design: nothing is searched."""
    settings = example_settings(tmp_path_factory.mktemp("market"))
    return settings.with_changes(
        lengthscale=3000.0,
        ridge=20.0,
        priors=("car",),
        resolution=6,
        prior_mean=False,
        epsilon=1.0,
        budget=5.0,
    )


def segment(settings: ReleaseSettings, name: str) -> Project:
    return load_project(
        settings.with_changes(data=type(settings.data)(settings.data.path, settings.data.postcodes, name))
    )


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger()


def test_segments_of_one_file_are_charged_together(
    market: ReleaseSettings, ledger: Ledger, tmp_path: Path
) -> None:
    """The finding: 11,953 flats were in three datasets, each with a fresh budget and "epsilon 0 before"."""
    flats, homes, everything = (
        segment(market, name) for name in ("existing-leasehold-flats", "existing-homes", "all")
    )
    sizes = [project.private.observations.size for project in (flats, homes, everything)]
    first = publish(plan_release(flats, given_choice(flats), ledger), ledger, tmp_path / "flats")
    plan = plan_release(homes, given_choice(homes), ledger)
    assert plan.preview.before == pytest.approx(first.release.privacy.epsilon, rel=1e-9)
    lines = {line.topic: line.text for line in plan.receipt}
    assert lines["Earlier releases"].startswith("Some or all of these records were part of releases that")
    assert plan.preview.standing is not None
    assert shared_text(plan.preview.standing).startswith(f"{sizes[0]:,} of these {sizes[1]:,} records were")
    publish(plan, ledger, tmp_path / "homes")
    last = plan_release(everything, given_choice(everything), ledger)
    assert last.charge.records is not None
    shared = recognised(ledger, last.charge.records)
    assert sorted(each.count for each in shared.values()) == sorted(sizes[:2])
    assert last.preview.after > plan.preview.after > first.release.privacy.epsilon
    stated = read_bundle(tmp_path / "homes").statement
    assert lines["Earlier releases"] in [line["text"] for line in stated["receipt"]]
    for file in (tmp_path / "homes").iterdir():  # no file counts what is shared, or lies outside the area
        if file.suffix in (".json", ".txt", ".yaml", ".html"):
            assert f"{sizes[0]:,} of these" not in file.read_text("utf-8"), file.name
    assert "within the area and the filters of this release" in str(stated["receipt"])


@pytest.mark.slow
def test_the_budget_of_one_segment_stops_the_others(
    market: ReleaseSettings, ledger: Ledger, tmp_path: Path
) -> None:
    flats = segment(market.with_changes(budget=1.0), "existing-leasehold-flats")
    publish(plan_release(flats, given_choice(flats), ledger), ledger, tmp_path / "flats")
    homes = segment(market.with_changes(budget=50.0), "existing-homes")
    plan = plan_release(homes, given_choice(homes), ledger)
    assert not plan.preview.fits
    with pytest.raises(BudgetExceeded, match="holds some of the same records"):
        publish(plan, ledger, tmp_path / "homes")
    assert not (tmp_path / "homes").exists()


def test_sales_are_named_by_their_transactions(market: ReleaseSettings) -> None:
    observations, _ = load_sales(market.data.path, market.data.postcodes, segment="existing-leasehold-flats")  # type: ignore[arg-type]
    assert observations.identifier is not None
    assert np.unique(observations.identifier).size == observations.size


def test_nested_areas_are_said_to_reveal_the_strip(town: Town, ledger: Ledger, tmp_path: Path) -> None:
    west, south, east, north = town.settings().bbox or (0.0, 0.0, 0.0, 0.0)
    typed = town.settings(lengthscale=3000.0, ridge=20.0, priors=("car",), budget=9.0)
    outer = load_project(typed)
    inner = load_project(typed.with_changes(bbox=(west, south, east - 0.01, north)))
    first = publish(plan_release(outer, given_choice(outer), ledger), ledger, tmp_path / "outer")
    same = {line.topic for line in plan_release(outer, given_choice(outer), ledger).receipt}
    assert "Other numbers" not in same
    plan = plan_release(inner, given_choice(inner), ledger)
    lines = {line.topic: line for line in plan.receipt}
    assert f"stated {first.release.privacy.n:,} records" in lines["Other numbers"].text
    assert lines["Other numbers"].warning
    assert plan.privacy.n < first.release.privacy.n
    cell = load_project(typed.with_changes(unit="cell"))
    other = {line.topic: line.text for line in plan_release(cell, given_choice(cell), ledger).receipt}
    assert other["Other unit"].startswith("1 release of these data protected single observations, at epsilon")


# The command line and the curator's screen


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., int]:
    def call(*words: str) -> int:
        parser = argparse.ArgumentParser()
        add_ledger_commands(parser.add_subparsers(required=True))
        chosen = parser.parse_args(["ledger", *words])
        status: int = chosen.run(chosen)
        return status

    return call


def test_data_are_joined_and_kept_apart_on_the_command_line(
    run: Callable[..., int], ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two")]
    for name in names:
        ledger.set_budget(name, "point", 5.0, 1e-5)
        release(ledger, charge_for(name, 0.1), name[:8])
    alone = ledger.account(names[0], "point").spent
    assert run("join", names[0][:8], names[1][:8], "--reason", "one register", "--person", "Ada") == 0
    assert "The two datasets are joined" in capsys.readouterr().out
    account = ledger.account(names[0], "point")
    assert account.spent > alone
    text = show(ledger)
    assert "in 2 charges, composed" in text
    assert f"joined with {names[1][:12]}  (Ada: one register)" in text
    view = view_ledger()
    assert view is not None
    assert view.entries[-1]["Details"] == f"joined with {names[1][:10]}: one register (Ada)"
    assert run("apart", names[0], names[1], "--reason", "two towns", "--person", "Ada") == 0
    assert ledger.account(names[0], "point").spent == alone
    assert run("apart", names[0], names[1], "--reason", " ", "--person", "Ada") == 2
    assert "give both" in capsys.readouterr().err
    assert run("join", names[0], "nobody", "--reason", "r", "--person", "p") == 2
    assert run("show", "--json") == 0
    capsys.readouterr()
    run("join", names[0], names[1], "--reason", "one register", "--person", "Ada")
    capsys.readouterr()
    run("show", "--json")
    first = json.loads(capsys.readouterr().out)["accounts"][0]
    assert first["shares"] == [names[1]]
    assert first["others"] == list(ledger.account(names[0], "point").others)
    assert len(first["others"]) == 1
