"""Remedies of a poor plan: what else could be chosen, the option that sets it, and what simulations say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hexcursion.cli import run
from hexcursion.door import remedies as remedying
from hexcursion.door.remedies import (
    Tried,
    lacks_reference,
    nearer_threshold,
    remedies,
    try_remedies,
    try_remedy,
    weak,
)
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.project.model import Pilot, Project
from hexcursion.record import Expected
from hexcursion.releasing.release_guard import LowAgreement
from hexcursion.search.executors import Run
from hexcursion.search.tuning import Tuned
from tests.town import Town


def test_remedies_are_only_what_is_not_chosen_yet(town: Town) -> None:
    names = [remedy.name for remedy in remedies(town.settings())]
    assert names == ["mean", "coarser", "mechanisms", "epsilon"]
    used = town.settings(prior_mean=True, resolution=4, epsilon=10.0)
    assert [remedy.name for remedy in remedies(used)] == ["mechanisms"]
    finer = [
        remedy.changes for remedy in remedies(used.with_changes(resolution=5)) if remedy.name == "coarser"
    ]
    assert finer == [{"resolution": 4}]


def test_each_remedy_names_the_option_that_sets_it(town: Town) -> None:
    flags = {remedy.name: remedy.flags for remedy in remedies(town.settings())}
    assert flags["mean"] == "--prior-mean"
    assert flags["coarser"] == "--resolution 7"
    assert flags["epsilon"] == "--epsilon 3"
    assert flags["mechanisms"].startswith("--mechanisms posterior-sampling noisy-cell-statistics ")


def at_level(project: Project, level: float) -> Project:
    """The same with the public scale 10 ug/m3 wide and its threshold so far from the middle."""
    response = replace(project.response, transform="identity", centre=30.0, clip=10.0)
    settings = project.settings.with_changes(threshold=30.0 + 10.0 * level)
    return replace(project, settings=settings, response=response)


def test_a_threshold_far_from_the_middle_moves_half_the_way(project: Project) -> None:
    assert nearer_threshold(at_level(project, 0.8)) == 34.0
    assert nearer_threshold(at_level(project, -0.8)) == 26.0
    assert nearer_threshold(at_level(project, 0.29)) is None


def expected(agreement: float, little: bool = False) -> Expected:
    return Expected(agreement, 0.1, 0.9, "reference data", little=little)


def test_what_a_remedy_reaches_is_a_clause(town: Town) -> None:
    (remedy, *_) = remedies(town.settings())
    assert Tried(remedy, expected(0.719), stopped=False).says == "agreement 0.71 expected; not stopped"
    assert Tried(remedy, expected(0.31)).says == "agreement 0.31 expected; still poor"
    assert Tried(remedy).says == "no agreement can be expected of it either"
    assert Tried(remedy, expected(0.5), few=True).says == "still too few records to tell where values lie"
    assert Tried(remedy, expected(0.5), stopped=False, few=True).says == (
        "not stopped; too few records to say how right its map will be"
    )
    judged = replace(expected(0.5), records=0.6, gain=-0.1)
    assert (
        Tried(remedy, judged, few=True).says == "still poor; too few records to say how right its map will be"
    )
    assert Tried(remedy, note="too large.").says == "cannot be tried: too large"
    guessed = Expected(0.6, 0.1, 0.9, "simulated", 0.2, 0.8, little=True)
    assert "between 0.2 and 0.8 with a chance of 80 %" in Tried(remedy, guessed).says


def test_a_coarser_map_says_how_many_rows_it_leaves_out(
    project: Project, tuned: Tuned, asked: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fewer(settings: Any, *_: Any) -> Project:
        placed = replace(project.private.placed, outside=34)
        return replace(project, settings=settings, private=replace(project.private, placed=placed))

    now = replace(project.private.placed, outside=22)
    full = replace(project, private=replace(project.private, placed=now))
    monkeypatch.setattr(remedying, "load_project", fewer)
    found = {tried.remedy.name: tried for tried in try_remedies(full, tuned)}
    assert found["coarser"].loses == "; leaves 34 rows outside the hexagons instead of 22"
    assert found["epsilon"].loses == ""
    assert "34" not in found["coarser"].says
    assert Tried(found["coarser"].remedy, outside=(34, 34)).loses == ""


def test_reference_data_help_where_there_are_none(town: Town) -> None:
    assert not lacks_reference(town.settings())
    alone = town.settings(reference=None, reference_public=False, prior_mean=None, centre=25.0, clip=20.0)
    assert lacks_reference(alone)
    answers = alone.with_changes(
        values="yes-no", yes_above=30.0, centre=None, clip=None, mechanisms=("spectral-statistics",)
    )
    assert lacks_reference(answers)
    assert not lacks_reference(SimpleNamespace(reference=None, values="count"))  # type: ignore[arg-type]


def test_little_to_tell_is_weak() -> None:
    assert weak(expected(0.9, little=True))
    assert not weak(expected(0.9))
    assert not weak(None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, project: Project, tuned: Tuned) -> list[Project]:
    """The projects that simulations are asked for; data are not read again, every search is worth 0.9."""
    seen: list[Project] = []

    def tune(changed: Project, *arguments: Any, **options: Any) -> Tuned:
        seen.append(changed)
        if changed.settings.prior_mean:
            raise WorkflowError("no")
        return replace(tuned, choice=replace(tuned.choice, expected=expected(0.9), yardsticks=None))

    monkeypatch.setattr(remedying, "tune", tune)
    monkeypatch.setattr(remedying, "load_project", lambda settings, *_: replace(project, settings=settings))
    return seen


def test_each_remedy_is_tried_with_that_one_choice_changed(
    project: Project, tuned: Tuned, asked: list[Project]
) -> None:
    full = replace(project, settings=project.settings.with_changes(quick=False))
    found = {tried.remedy.name: tried for tried in try_remedies(full, tuned)}
    assert found["mean"].note == "no"
    assert not found["coarser"].stopped
    tried = [each.settings for each in asked]
    assert tried == [full.settings.with_changes(**each.remedy.changes, quick=True) for each in found.values()]


def test_a_budget_that_the_search_has_looked_at_is_not_searched_again(
    project: Project, tuned: Tuned, asked: list[Project]
) -> None:
    point = tuned.result.frontier[0]
    poor = replace(point.scored, utility=replace(point.scored.utility, judged_iou=0.3))
    known = replace(tuned.result, frontier=(replace(point, epsilon=3.0, scored=poor),))
    *_, last = try_remedies(project, replace(tuned, result=known))
    assert last.remedy.changes == {"epsilon": 3.0}
    assert last.expected is not None
    assert last.expected.agreement == 0.3
    assert last.stopped
    assert all(each.settings.epsilon == 2.0 for each in asked)


def test_what_was_paid_for_is_not_tried_again(project: Project, tuned: Tuned, asked: list[Project]) -> None:
    paid = replace(project, pilot=Pilot(None, 0.1, "1:a"))  # type: ignore[arg-type]
    assert list(try_remedies(paid, tuned)) == []
    assert asked == []


def test_a_remedy_that_takes_too_long_is_given_up(
    project: Project, tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    larger = next(each for each in remedies(project.settings, project) if each.name == "epsilon")

    def slow(changed: Project, run: Run, **options: Any) -> Tuned:
        for _ in range(3):
            now[0] += 4.0
            run.report(0.5, "")
        return tuned

    monkeypatch.setattr(remedying, "tune", slow)
    late = try_remedy(project, tuned, larger, seconds=11.0, clock=lambda: now[0])
    assert late.says == "cannot be tried: it takes more than 11 s to try"
    assert try_remedy(project, tuned, larger, seconds=12.0, clock=lambda: now[0]).note == ""


def test_trying_can_be_stopped(project: Project, tuned: Tuned, asked: list[Project]) -> None:
    def stop(fraction: float, text: str) -> None:
        if fraction > 0:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        list(try_remedies(project, tuned, stop))


def test_a_stopped_release_says_on_the_command_line_what_helps(
    project: Project,
    tuned: Tuned,
    asked: list[Project],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    tmp_path: Path,
) -> None:
    def planned(settings: Any, place: Any, told: Any, **_: Any) -> None:
        told.project, told.tuned = project, tuned
        raise LowAgreement("This release is stopped.")

    monkeypatch.setattr(run, "plan_settings", planned)
    with pytest.raises(LowAgreement, match="stopped"):
        run._release(project.settings, tmp_path / "out", None, dry=True, baseline=False)
    said = capsys.readouterr()
    assert "  Coarser hexagons (--resolution 7): agreement 0.9 expected; not stopped.\n" in said.err
    assert said.out == ""
