"""What a plan says besides its price: the unit of the values, and a best order at the edge of the grid."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

import hexcursion.releasing.transaction as release_module
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.errors import BoundRefused, InvalidValue
from dpgp_core.mechanisms.design import Protection
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.releasing import PublicFacts
from hexcursion.bundle.workplace import Workplace
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from hexcursion.ledger import LedgerError, open_ledger
from hexcursion.ledger.places import home
from hexcursion.project.model import Project
from hexcursion.record import Release
from hexcursion.releasing import once
from hexcursion.releasing.once import Order
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.tuning import Choice, Tuned

SEAL = re.compile(r"\d+:[0-9a-f]{64}:[0-9a-f]{16}")


def receipt(project: Project, choice: Choice) -> dict[str, str]:
    """Topic -> text of a plan's receipt."""
    return {line.topic: line.text for line in plan_release(project, choice, open_ledger()).receipt}


def test_an_order_at_the_edge_is_said_and_one_inside_is_not(hamlet: Project, hamlet_tuned: Tuned) -> None:
    """Ridge and scale of a thousand cost next to nothing, and the largest order of the grid is the best."""
    choice = hamlet_tuned.choice
    assert "Orders" not in receipt(hamlet, choice)
    quiet = replace(choice.design, ridge=1e3, scale=1e3)
    plan = plan_release(hamlet, replace(choice, design=quiet), open_ledger())
    said = {line.topic: line.text for line in plan.receipt}
    assert said["Orders"].startswith("The best Renyi order lies at the edge")
    assert plan.privacy.order == 100_001.0


def test_a_release_that_its_delta_pays_for_begins_the_budget_that_was_asked_for(
    hamlet: Project, hamlet_tuned: Tuned, tmp_path: Path
) -> None:
    """A budget of 0 is none: publishing ended with that sentence."""
    ledger, quiet = open_ledger(), replace(hamlet_tuned.choice.design, ridge=1e3, scale=1e3)
    plan = plan_release(hamlet, replace(hamlet_tuned.choice, design=quiet), ledger)
    assert (plan.preview.asked, hamlet.settings.epsilon) == (0.0, 2.0)
    publish(plan, ledger, tmp_path / "out")
    account = ledger.account(plan.charge.dataset, plan.charge.unit)
    assert account.budget is not None
    assert account.budget.epsilon == 2.0


def test_the_unit_of_the_values_is_the_settings_or_else_the_datas(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    loaded = replace(hamlet.private, observations=replace(hamlet.private.observations, unit="ppm"))
    named = replace(hamlet, private=loaded)
    unnamed = replace(named, settings=named.settings.with_changes(value_unit=""))
    choice = hamlet_tuned.choice
    for project, unit in ((named, "ug/m3"), (unnamed, "ppm")):
        plan = plan_release(project, choice, open_ledger())
        assert plan.charge.facts["title"] == f"NO2 above 30 {unit}"
        text = " ".join(line.text for line in plan.receipt)
        assert f" {unit}" in text
        assert (" ppm" in text) is (unit == "ppm")


def test_no_release_is_planned_beyond_the_protection_whatever_its_price_says(
    hamlet: Project, hamlet_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package may set its `guarantee` after its class was made, where nothing asks for the protection."""
    mechanism = type(mechanism_of(hamlet_tuned.choice.design))
    monkeypatch.setattr(mechanism, "protection", Protection("values", ("point",)))
    monkeypatch.setattr(mechanism, "guarantee", lambda *_: pytest.fail("a price was asked for"))
    with pytest.raises(BoundRefused, match="hides values only and shows where the records are"):
        plan_release(hamlet, hamlet_tuned.choice, open_ledger())


def test_a_title_of_no_ones_own_has_the_whole_threshold(hamlet: Project, hamlet_tuned: Tuned) -> None:
    asked = replace(hamlet, settings=hamlet.settings.with_changes(threshold=30.1234567))
    facts = plan_release(asked, hamlet_tuned.choice, open_ledger()).charge.facts
    assert facts["title"] == "NO2 above 30.1234567 ug/m3"


def test_the_rehearsed_bundle_names_a_ledger_entry_of_the_form_of_the_real_one(
    hamlet: Project, hamlet_tuned: Tuned, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def watched(release: Release, public: PublicFacts) -> dict[str, bytes]:
        seen.append(release.ledger_entry)
        return bundle_contents(release, public)

    monkeypatch.setattr(release_module, "bundle_contents", watched)
    ledger = open_ledger()
    published = publish(plan_release(hamlet, hamlet_tuned.choice, ledger), ledger, out)
    for entry in (*seen, published.release.ledger_entry):
        assert SEAL.fullmatch(entry)
    assert len(seen) == 1


def test_who_stops_while_the_work_folder_is_deleted_is_told_that_the_release_stands(
    hamlet: Project, hamlet_tuned: Tuned, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, remove = open_ledger(), Workplace.remove

    def stop(work: Workplace) -> None:
        remove(work)
        if out.exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(Workplace, "remove", stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        publish(plan_release(hamlet, hamlet_tuned.choice, ledger), ledger, out)
    (name,) = ledger.committed()
    assert stopped.value.__notes__ == [f"The release {name} is charged; its bundle is in {out}."]


def test_the_curators_own_layers_go_with_the_release(
    hamlet: Project, hamlet_tuned: Tuned, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def watched(release: Release, public: PublicFacts) -> dict[str, bytes]:
        seen.append(release.layers)
        raise WorkflowError("seen")

    monkeypatch.setattr(release_module, "bundle_contents", watched)
    ledger = open_ledger()
    layered = replace(hamlet, layers=("a layer",))  # type: ignore[arg-type]
    with pytest.raises(WorkflowError, match="seen"):
        publish(plan_release(layered, hamlet_tuned.choice, ledger), ledger, out)
    assert seen == [("a layer",)]


def test_a_session_asks_for_the_same_plan_by_one_name_and_whoever_names_none_by_another_each_time(
    hamlet: Project, hamlet_tuned: Tuned, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def named(ledger: object, order: Order, *_: object) -> None:
        names.append(order.request)
        raise WorkflowError("named")

    monkeypatch.setattr(release_module, "release_once", named)
    monkeypatch.setattr(release_module, "bundle_contents", lambda *_: {})
    monkeypatch.setattr(release_module, "rehearse_writing", lambda *_: None)
    ledger = open_ledger()
    plan = plan_release(hamlet, hamlet_tuned.choice, ledger)
    other = replace(hamlet, settings=hamlet.settings.with_changes(threshold=31.0))
    changed = plan_release(other, hamlet_tuned.choice, ledger)
    for one, session in ((plan, "a"), (plan, "a"), (plan, "b"), (plan, ""), (plan, ""), (changed, "a")):
        with pytest.raises(WorkflowError, match=r"^named$"):
            publish(one, ledger, out, session)
    assert names[0] == names[1]
    assert len(set(names)) == 5


@pytest.mark.parametrize(
    "error",
    [InvalidValue("too far."), OverflowError("too large"), np.linalg.LinAlgError("too large")],
    ids=repr,
)
def test_whatever_cannot_be_made_ready_tried_or_read_is_said_before_the_charge(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has to be read again after the charge raises its own error."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    given: Any = SimpleNamespace(prepare=fail, paths=None)
    monkeypatch.setattr(once, "mechanism_of", lambda _: given)
    monkeypatch.setattr(once, "draw_release", fail)
    monkeypatch.setattr(once.questions, "read", fail)
    for step in (
        lambda: once.prepare_draw(given, given, given),
        lambda: once.try_draw(given),
        lambda: once.read_release(given, given, given, given, trial=True),
    ):
        with pytest.raises(WorkflowError, match=r"cannot be drawn \(too (far|large)\): nothing was"):
            step()
    with pytest.raises(type(error), match=r"^too"):
        once.read_release(given, given, given, given)


def test_a_plan_is_made_again_under_the_same_name_and_prints_no_records(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    ledger = open_ledger()
    plan = plan_release(hamlet, hamlet_tuned.choice, ledger)
    assert plan.again(ledger).wish == plan.wish
    assert repr(plan).startswith("<")


def test_a_design_without_a_finite_epsilon_is_refused(
    hamlet: Project, hamlet_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Guarantee(RdpCurve(np.full(ORDERS.shape, np.inf)), "made up", "nowhere", True)
    mechanism = type(mechanism_of(hamlet_tuned.choice.design))
    monkeypatch.setattr(mechanism, "guarantee", lambda *_: endless)
    with pytest.raises(WorkflowError, match=r"^No finite epsilon is proved .* at delta 1e-05"):
        plan_release(hamlet, hamlet_tuned.choice, open_ledger())


def test_a_bundle_waits_where_it_was_committed_or_may_have_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger()
    assert once.waits(tmp_path, ledger) is False  # no note
    once.note_pending(tmp_path, once.Pending("name", "bundle", "ab" * 32, ledger.identity))
    assert once.waits(tmp_path, ledger) is False  # no bundle
    (tmp_path / "bundle").mkdir()
    for known, found in (({}, False), ({"name": "cd" * 32}, False), ({"name": "ab" * 32}, True)):
        monkeypatch.setattr(ledger, "committed", lambda known=known: known)
        assert once.waits(tmp_path, ledger) is found

    def lost() -> NoReturn:
        raise LedgerError("The database is gone.")

    monkeypatch.setattr(ledger, "committed", lost)
    assert once.waits(tmp_path, ledger) is True


def test_without_a_named_folder_a_release_lies_among_those_of_the_installation(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    ledger = open_ledger()
    published = publish(plan_release(hamlet, hamlet_tuned.choice, ledger), ledger)
    assert published.folder == home() / "releases" / published.release.release_id
    assert published.folder.is_dir()
