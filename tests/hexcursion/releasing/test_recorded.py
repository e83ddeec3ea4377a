"""Plans and trial releases of a hamlet of 16 hexagons, as they were found right: every fact and sentence.

After a change that is meant: `RECORD=1 python -m pytest tests/hexcursion/releasing/test_recorded.py -n 0`,
then read the difference.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.releasing.once import read_release, try_draw
from hexcursion.releasing.transaction import Plan, _release, plan_release
from hexcursion.search.choice import given_choice
from hexcursion.search.tuning import tune
from tests.records import agrees, recorded_lines, short
from tests.town import Town

PLACE = Path(__file__).with_name("recorded.txt")
STATISTICS, SPECTRAL = ("noisy-cell-statistics",), ("spectral-statistics",)
BY_HAND: dict[str, Any] = {"lengthscale": 2_000.0, "ridge": 3.0, "mechanisms": STATISTICS}
OWNED: dict[str, Any] = {**BY_HAND, "owner": "person"}
ALONE: dict[str, Any] = {"reference": None, "reference_public": False}
OWN: dict[str, Any] = {**ALONE, "centre": 30.0, "clip": 15.0}
FIXED: dict[str, Any] = {**ALONE, "mechanisms": SPECTRAL, "priors": None}
ASKED: dict[str, dict[str, Any]] = {
    "posterior sampling": {"lengthscale": 2_000.0, "ridge": 3.0},
    "twelve paths": {"lengthscale": 2_000.0, "ridge": 20.0, "paths": 12, "cutoff": 0.3},
    "statistics": BY_HAND,
    "spectral, set aside": {"mechanisms": SPECTRAL, "reference_public": False},
    "below, without reference data": {**OWN, **BY_HAND, "direction": "below"},
    "of hexagons": {"unit": "cell", "lengthscale": 2_000.0, "ridge": 3.0, "population": "all stations"},
    "public places": {**BY_HAND, "places_public": True, "title": "Where air is bad"},
    "one more or less": {"relation": "add-or-remove", "records_about": 2000, "mechanisms": SPECTRAL},
    "one of an owner": {**OWNED, "records_per_owner": 1, "owner_once_per_hexagon": True},
    "three of an owner": {**OWNED, "records_per_owner": 3, "owner_once_per_hexagon": True},
    "three of an owner anywhere": {**OWNED, "records_per_owner": 3},
    "answers": {**FIXED, "values": "yes-no", "yes_above": 30.0, "threshold": 50.0},
    "counts": {**FIXED, "values": "count", "threshold": 20.0, "value_unit": ""},
    "much noise": {**BY_HAND, "ridge": 1e3, "epsilon": 0.01},
    "a budget": {**BY_HAND, "budget": 5.0},
}


def planned(town: Town, folder: Path, **changes: Any) -> Plan:
    settings = town.settings(**{"resolution": 7, "priors": ("car",), **changes})
    if "owner" in changes:
        rows = town.private.read_text(encoding="utf-8").splitlines()
        named = [f"{rows[0]},person", *(f"{row},p{number % 400}" for number, row in enumerate(rows[1:]))]
        (folder / "owned.csv").write_text("\n".join(named) + "\n", encoding="utf-8")
        settings = settings.with_changes(data=replace(settings.data, path=str(folder / "owned.csv")))
    project = load_project(settings)
    choice = tune(project).choice if settings.lengthscale is None else given_choice(project)
    return plan_release(project, choice, open_ledger())


def told(plan: Plan) -> list[str]:
    shown = [f"{'! ' if line.warning else ''}{line.topic}: {line.text}" for line in plan.receipt]
    shown += [f"privacy {one.name} {short(getattr(plan.privacy, one.name))}" for one in fields(plan.privacy)]
    charge = plan.charge
    return [*shown, f"charge {charge.unit} {charge.accepts_weaker} {charge.same_as} {short(charge.facts)}"]


@pytest.mark.parametrize("name", ASKED)
def test_a_plan_and_its_release_say_what_they_said(town: Town, tmp_path: Path, name: str) -> None:
    plan = planned(town, tmp_path, **ASKED[name])
    drawn = try_draw(plan.prepared)
    reading = read_release(plan.choice.design, plan.facts, plan.records, drawn, trial=True)
    release = _release(plan, "an id", drawn, reading, "17:a:b")
    unless = {one.name: one.default for one in fields(release)}
    elsewhere = ("receipt", "privacy", "created", "region")
    held = {one: getattr(release, one) for one in unless if one not in elsewhere}
    shown = [f"release {one} {short(value)}" for one, value in held.items() if value is not unless[one]]
    agrees(PLACE, ASKED, name, [*told(plan), *shown])


def test_nothing_is_kept_that_no_test_shows() -> None:
    assert set(recorded_lines(PLACE)) == set(ASKED)
