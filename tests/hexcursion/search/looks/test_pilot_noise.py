"""A design keeps its share of prior noise when its noise is solved anew beside a pilot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hexcursion.search.tuning as tuning_module
from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.paths import path_guarantee
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.priors.lattice import Prior
from dpgp_core.priors.registry import make_prior
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.ledger.errors import RequestTaken
from hexcursion.project.load import load_project
from hexcursion.project.model import Pilot, Project
from hexcursion.search.pilot import _charge, _charged, beside_pilot, pilot_warning, run_pilot, with_pilot
from hexcursion.search.scenes import private_n
from hexcursion.search.tuning import Tuned, search_task, tune
from tests.town import Town

PILOT = Pilot(Cost.gaussian(0.2), 0.85, "1:x")


@pytest.mark.parametrize(("noise_in_scales", "share"), [(0.0, 0.0), (0.75, 0.36), (1.0, 0.5)])
def test_the_prior_noise_keeps_its_share_beside_a_pilot(
    hamlet: Project,
    hamlet_tuned: Tuned,
    monkeypatch: pytest.MonkeyPatch,
    noise_in_scales: float,
    share: float,
) -> None:
    """The search's answer has prior noise of 0, 3/4 or 1 times its scale; so has the release's design."""
    chosen = hamlet_tuned.result.chosen
    noisy = replace(chosen.design, noise_scale=noise_in_scales * chosen.design.scale)
    result = replace(hamlet_tuned.result, chosen=replace(chosen, design=noisy))
    monkeypatch.setattr(tuning_module, "search", lambda task, run: result)
    design = tune(replace(hamlet, pilot=PILOT)).choice.design
    variance = design.scale**2 + design.noise_scale**2
    assert design.noise_scale**2 / variance == pytest.approx(share, abs=1e-9)
    prior = make_prior(design.prior, hamlet.lattice, design.lengthscale)
    own = path_guarantee(design, private_n(hamlet), prior)
    assert 1.999 < epsilon(with_pilot(own.cost, PILOT), 1e-5).epsilon <= 2.0
    assert own.epsilon(1e-5).epsilon < 1.9, "the pilot has a part of the budget"


def test_reference_data_have_a_control_and_the_stand_ins_of_a_pilot_none(hamlet: Project) -> None:
    assert [len(scene.controls) for scene in search_task(hamlet).scenes] == [1]
    paid = replace(hamlet, pilot=PILOT, reference_kind="private selection")
    assert [scene.controls for scene in search_task(paid).scenes] == [()]


def test_a_pilot_is_read_by_nine_models_at_each_lengthscale(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ridges and scales are written down here; what fails on them is said before a charge."""
    seen: list[tuple[float, float, float]] = []

    def note(_: object, models: list[tuple[Prior, float, float]]) -> None:
        seen.extend((prior.lengthscale, ridge, scale) for prior, ridge, scale in models)
        raise ValueError("seen")

    monkeypatch.setattr("hexcursion.search.pilot._best", note)
    project = load_project(
        town.settings(
            reference=None,
            reference_public=False,
            centre=25.0,
            clip=15.0,
            priors=("car",),
            epsilon=2.0,
            pilot=0.3,
        )
    )
    with pytest.raises(WorkflowError, match=r"^A pilot could not be read \(seen\): nothing was charged\.$"):
        run_pilot(project, open_ledger(str(tmp_path / "ledger.sqlite"), tmp_path / "key"))
    of_one = [(ridge, scale) for ridge in (0.7, 1.5, 3.0) for scale in (0.25, 0.5, 1.0)]
    assert [(ridge, scale) for _, ridge, scale in seen] == of_one * 3
    assert len({lengthscale for lengthscale, _, _ in seen}) == 3


def test_a_pilot_too_noisy_to_show_a_record_says_that_it_is_paid_for(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty(*_: object) -> None:
        raise ValueError("no record")

    monkeypatch.setattr("hexcursion.search.pilot._best", lambda *_: ())
    monkeypatch.setattr("hexcursion.search.pilot.stand_ins", empty)
    project = load_project(
        town.settings(
            reference=None,
            reference_public=False,
            centre=25.0,
            clip=15.0,
            priors=("car",),
            epsilon=2.0,
            pilot=0.3,
        )
    )
    with pytest.raises(WorkflowError, match=r"paid for\) is too noisy to show any record: raise `pilot`"):
        run_pilot(project, open_ledger(str(tmp_path / "ledger.sqlite"), tmp_path / "key"))


@pytest.mark.parametrize(("noise", "warned"), [(132.9, False), (133.1, True)])
def test_a_pilot_is_warned_of_from_half_the_strength_down(
    hamlet: Project, monkeypatch: pytest.MonkeyPatch, noise: float, warned: bool
) -> None:
    """2,659 records on 16 hexagons: a strength of one half is reached at a noise of 132.95."""
    monkeypatch.setattr("hexcursion.search.pilot.statistic_noise_for", lambda *_: noise)
    asked = replace(
        hamlet, settings=hamlet.settings.with_changes(pilot=0.3, reference=None, reference_public=False)
    )
    said = (
        "This pilot would show next to nothing: noise of 130 on each hexagon's count, where 170 records lie "
        "on average. Nothing was charged: raise `pilot` or epsilon, take larger hexagons, or tune on a "
        "simulated field."
    )
    assert pilot_warning(asked) == (said if warned else "")
    assert pilot_warning(hamlet) == "", "where none is asked for"


def test_a_baseline_that_an_earlier_search_found_is_handed_on(hamlet: Project, hamlet_tuned: Tuned) -> None:
    known = hamlet_tuned.result.unconstrained
    assert tuning_module.search_task(hamlet, unconstrained=known).unconstrained is known


def test_too_small_a_budget_is_raised_until_a_design_fits_beside_the_pilot(
    hamlet: Project, hamlet_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism that serves no epsilon below 1.5: half of 2 is tried first, and is not the end."""
    chosen = hamlet_tuned.result.chosen
    mechanism, tried = mechanism_of(chosen.design), []

    def calibrate(design: Any, facts: Any, budget: Budget) -> Any:
        tried.append(budget.epsilon)
        return None if budget.epsilon < 1.5 else type(mechanism).calibrate(mechanism, design, facts, budget)

    monkeypatch.setattr(mechanism, "calibrate", calibrate, raising=False)
    found = beside_pilot(hamlet, chosen, PILOT)
    assert tried[0] < 1.5 < tried[1]
    assert 1.999 < found.epsilon <= 2.0


def test_a_session_pays_for_a_look_once_in_whatever_order_its_facts_stand(hamlet: Project) -> None:
    """Another session pays for its own, as does whoever names none."""
    ledger = open_ledger()
    facts = {"noise": 2.0, "kind": "pilot"}
    for session, known, again in (
        ("one", facts, False),
        ("one", dict(reversed(facts.items())), True),
        ("two", facts, False),
        ("", facts, False),
        ("", facts, False),
        ("one", {**facts, "noise": 3.0}, False),
    ):
        charge = _charge(hamlet, ledger, Cost.gaussian(0.01), known)
        if again:
            with pytest.raises(RequestTaken), _charged(hamlet, ledger, charge, session):
                pass
        else:
            with _charged(hamlet, ledger, charge, session) as reservation:
                reservation.commit(f"look {reservation.number}", "0" * 64)
    assert [entry.kind for entry in ledger.entries()].count("draw") == 5
