"""Each public fact of a project arrives in its release, and each fact that is missing is marked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy, SimulationEntropy, SystemEntropy
from hexcursion.bundle.statement.receipt import BudgetLine
from hexcursion.ledger import open_ledger
from hexcursion.project.model import Project
from hexcursion.releasing.once import Stamp, read_release, try_draw
from hexcursion.releasing.transaction import plan_release, priced, release_of
from hexcursion.search.scenes import public_facts
from hexcursion.search.tuning import Tuned

NOON = "2026-06-18T12:00:00Z"


def test_a_release_holds_the_facts_of_its_project(hamlet: Project, hamlet_tuned: Tuned) -> None:
    """Each one differs from what a release says where nothing is said."""
    plan = plan_release(hamlet, hamlet_tuned.choice, open_ledger())
    settings = hamlet.settings.with_changes(
        relation="add-or-remove", mechanisms=("spectral-statistics",), records_about=2000
    )
    project = replace(hamlet, settings=settings, attribution=("By A.",), generated=True)
    drawn = try_draw(plan.prepared)
    made = release_of(replace(plan, project=project), Stamp("an id", NOON, "17:a:b"), drawn, None)
    assert (made.relation, made.attribution, made.generated) == ("add-or-remove", ("By A.",), True)
    assert (made.release_id, made.created) == ("an id", NOON)
    assert (made.ledger_entry, made.draws) == ("17:a:b", None)
    assert made.domain_origin == hamlet.domain.origin != ""
    assert made.expected == hamlet_tuned.choice.expected is not None
    assert (made.simulation, made.notes, made.trip) == (False, (), None)
    assert not made.cut_by_map
    shows = replace(drawn, map_mean=drawn.paths[0] + 0.5, map_sd=np.full(hamlet.domain.size, 0.25))
    mapped = release_of(plan, Stamp("an id", NOON, ""), shows, None)
    assert mapped.cut_by_map
    assert mapped.shown_map is not None
    assert np.array_equal(mapped.shown_map[0], mapped.paths[0] + 0.5)
    known = replace(hamlet, settings=hamlet.settings.with_changes(places_public=True))
    assert (
        release_of(replace(plan, project=known), Stamp("an id", NOON, ""), drawn, None).protects == "values"
    )
    assert release_of(plan, Stamp("an id", NOON, ""), drawn, None).protects == "values and places"


def test_the_privacy_facts_of_a_plan_are_those_that_were_proved(hamlet: Project, hamlet_tuned: Tuned) -> None:
    plan = plan_release(hamlet, hamlet_tuned.choice, open_ledger())
    found, proved = (
        plan.privacy,
        mechanism_of(plan.choice.design).guarantee(plan.choice.design, public_facts(hamlet)),
    )
    assert (found.unit, found.unit_word, found.n, found.delta) == ("point", "reading", 2659, 1e-5)
    assert (found.bound, found.bound_source, found.proved) == (proved.bound, proved.source, True)
    assert (plan.charge.unit, plan.charge.facts["n"], plan.charge.facts["file"]) == (
        "point",
        2659,
        "private.csv",
    )
    lines = {line.topic: line for line in plan.receipt}
    assert lines["Domain"].text.startswith("16 H3 cells of resolution 7: ")


def test_equal_rows_are_stated_where_each_is_a_record(hamlet: Project, hamlet_tuned: Tuned) -> None:
    """Of hexagons' medians they are not: equal rows lie in one hexagon."""
    for equal, unit, stated in ((None, "point", False), ("once", "point", False), ("each", "point", True)):
        data = replace(hamlet.settings.data, equal_rows=equal)
        project = replace(hamlet, settings=hamlet.settings.with_changes(data=data, unit=unit))
        assert plan_release(project, hamlet_tuned.choice, open_ledger()).privacy.each_row is stated
    cells = replace(project, settings=project.settings.with_changes(unit="cell"))
    choice = hamlet_tuned.choice
    assert not priced(cells, choice.design, choice.facts(hamlet)).privacy.each_row


def test_a_value_is_called_as_the_settings_say_or_else_as_its_column(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    unnamed = replace(hamlet, settings=hamlet.settings.with_changes(value_name=""))
    for project, name, title in (
        (hamlet, "NO2", "NO2 above 30 ug/m3"),
        (unnamed, "no2", "No2 above 30 ug/m3"),
    ):
        plan = plan_release(project, hamlet_tuned.choice, open_ledger())
        made = release_of(plan, Stamp("an id", NOON, ""), try_draw(plan.prepared), None)
        assert (made.value_name, made.title, plan.charge.facts["title"]) == (name, title, title)
    titled = replace(hamlet, settings=hamlet.settings.with_changes(title="A title"))
    assert plan_release(titled, hamlet_tuned.choice, open_ledger()).charge.facts["title"] == "A title"


@pytest.mark.parametrize(
    ("after", "budget", "left"), [(1.5, 2.0, 0.5), (2.0, 2.0, 0.0), (3.0, 2.0, 0.0), (1.5, None, None)]
)
def test_what_is_left_of_a_budget_is_never_below_nothing(
    after: float, budget: float | None, left: float | None
) -> None:
    assert BudgetLine(1.0, after, budget).left == left


def test_a_field_is_read_with_repeatable_noise_in_a_trial_and_with_the_systems_in_a_release(
    hamlet: Project, hamlet_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial's noise is another one than that of its draw."""
    plan = plan_release(hamlet, hamlet_tuned.choice, open_ledger())
    design, facts, drawn = plan.choice.design, public_facts(hamlet), try_draw(plan.prepared)
    seen: list[Entropy] = []

    def read(*given: Any) -> None:
        seen.append(given[-1])

    monkeypatch.setattr(questions, "read", read)
    for trial in (True, False):
        read_release(design, facts, plan.records, drawn, trial=trial)
    assert [type(entropy) for entropy in seen] == [SimulationEntropy, SystemEntropy]
    assert seen[0].normal(3).tolist() == SimulationEntropy(20260619).normal(3).tolist()
