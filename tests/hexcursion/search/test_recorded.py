"""Searches of a hamlet of 16 hexagons, as they were found right: designs, figures, remarks, progress.

After a change that is meant: `RECORD=1 python -m pytest tests/hexcursion/search/test_recorded.py -n 0`, then
read the difference.
"""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search import pilot
from hexcursion.search.bench import Bench, coverage_of, simulated_release, smallest_epsilon, sweep
from hexcursion.search.choice import given_choice, typed_choice
from hexcursion.search.limit import losses, why_no_limit
from hexcursion.search.results import as_searched, at_budget, moved_to, settle_on, settle_on_typed
from hexcursion.search.task import Scored
from hexcursion.search.tuning import Tuned, tune
from tests.records import agrees, hash_of, recorded_lines
from tests.town import Town

PLACE = Path(__file__).with_name("recorded.txt")
STATISTICS, SPECTRAL = ("noisy-cell-statistics",), ("spectral-statistics",)
OWN: dict[str, Any] = {"reference": None, "reference_public": False, "centre": 30.0, "clip": 15.0}
FIXED: dict[str, Any] = {**OWN, "mechanisms": SPECTRAL, "priors": None}
NO_SCALE: dict[str, Any] = {**FIXED, "centre": None, "clip": None}
ASKED: dict[str, dict[str, Any]] = {
    "posterior sampling": {},
    "statistics": {"mechanisms": STATISTICS},
    "for one threshold": {"focus": "threshold", "mechanisms": STATISTICS},
    "cross-entropy": {"objective": "bce", "mechanisms": STATISTICS},
    "both starts": {"prior_mean": None, "mechanisms": STATISTICS},
    "spectral": {"mechanisms": SPECTRAL},
    "below": {"direction": "below", "mechanisms": STATISTICS},
    "set aside": {"reference_public": False, "mechanisms": STATISTICS},
    "given clip": {"clip": 12.0, "mechanisms": STATISTICS},
    "no reference": {**OWN, "mechanisms": STATISTICS},
    "no reference, fixed": FIXED,
    "answers": {**NO_SCALE, "values": "yes-no", "yes_above": 30.0, "threshold": 50.0},
    "counts": {**NO_SCALE, "values": "count", "threshold": 20.0, "value_unit": ""},
    "answers beside others": {
        "mechanisms": SPECTRAL, "priors": None, "values": "yes-no", "yes_above": 30.0, "threshold": 50.0,
        "prior_mean": None,
    },
    "from the public map": {"prior_mean": True, "mechanisms": SPECTRAL, "priors": None, "direction": "below"},
    "a cutoff": {"cutoff": 0.35, "mechanisms": STATISTICS},
}  # fmt: skip


def number(value: Any) -> str:
    """Numbers to five digits, collections with them."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.5g}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(number, value))})"
    if isinstance(value, dict):
        return ", ".join(f"{name} {number(one)}" for name, one in value.items())
    return str(value)


def scored(found: Scored) -> str:
    scale = found.response
    return (
        f"{number(found.design.to_mapping())} | ε {number(found.epsilon)} | {scale.transform} "
        f"{number((scale.centre, scale.clip))} {scale.origin} | {number(astuple(found.utility))}"
    )


def told(tuned: Tuned) -> list[str]:
    result, choice = tuned.result, tuned.choice
    return [
        f"free {number(result.unconstrained.design.to_mapping())} | {number(result.unconstrained.epsilon)} | "
        f"{number(astuple(result.unconstrained.utility))}",
        f"chosen {scored(result.chosen)}",
        *(f"frontier {number(one.epsilon)} {scored(one.scored)}" for one in result.frontier),
        *(f"cutoff {scored(one)}" for one in result.cutoffs),
        f"baseline {int(result.baseline.sum())} of {result.baseline.size}, {result.evaluated} designs, "
        f"{result.objective} {result.fixed} {result.public_mean} {number(result.one_colour)}",
        f"left early {number([astuple(one) for one in result.left_early])} edges {result.on_edge} "
        f"further {number(result.further)} worlds {number(result.free_worlds)}",
        f"choice {number(choice.design.to_mapping())} {choice.tuning} "
        f"public map {choice.public_map is not None}",
        f"expected {None if choice.expected is None else number(astuple(choice.expected))} "
        f"yardsticks {None if choice.yardsticks is None else number(astuple(choice.yardsticks))}",
        f"free {number(tuned.free_agreement)} {tuned.free_basis} {tuned.starts} {tuned.left_out} "
        f"{tuned.tried_on}",
        *tuned.remarks(),
    ]


def hamlet_of(town: Town, **changes: Any) -> Project:
    return load_project(town.settings(**{"resolution": 7, "priors": ("car",), **changes}))


@pytest.mark.parametrize("name", ASKED)
def test_a_search_finds_what_it_found(town: Town, name: str) -> None:
    steps: list[str] = []
    tuned = tune(
        hamlet_of(town, **ASKED[name]),
        lambda share, text: steps.append(f"{share:.3f} {text}"),
        beside=(0.5, 4.0),
    )
    progress = f"{len(steps)} steps, {steps[0]} … {steps[-1]} {hash_of(' '.join(steps))}"
    agrees(PLACE, ORDER, name, [*told(tuned), progress])


def sentence(call: Any) -> str:
    try:
        return str(call())
    except WorkflowError as error:
        return f"refused: {error}"


def test_what_is_done_with_a_search_does_as_before(hamlet: Project, hamlet_tuned: Tuned) -> None:
    tuned, steps = hamlet_tuned, list[str]()

    def tell(share: float, text: str) -> None:
        steps.append(f"{share:.3f} {text}")

    bench = Bench(hamlet, tuned.result)
    chosen = tuned.result.chosen
    shown = [f"price {number(bench.price(chosen.design)[1])}"]
    for one in sweep(bench, chosen, tell):
        points = [(p.value, p.epsilon, p.agreement, p.spread) for p in one.points]
        shown.append(f"vary {one.parameter.name} {number(one.current)} {number(points)}")
    found = coverage_of(bench, replace(chosen, design=replace(chosen.design, paths=12)), tell, releases=5)
    seen = found.coverage
    shown.append(f"coverage {found.confidence} {number((seen.told, seen.told_right, seen.simulations))}")
    shown.append(f"coverage {number(astuple(seen.inner))} {number(astuple(seen.outer))}")
    drawn = simulated_release(hamlet, tuned.result, chosen)
    shown.append(f"drawn {drawn.released.astype(int).tolist()} {number(drawn.iou)}")
    point = smallest_epsilon(hamlet, tuned, 0.7, tell)
    shown.append(f"smallest {None if point is None else scored(point.scored)}")
    for wanted in (0.0, 1.01):
        shown.append(sentence(lambda wanted=wanted: smallest_epsilon(hamlet, tuned, wanted)))
    lost = [astuple(one)[3:] for one in losses(hamlet, tuned.result, tell)]
    shown.append(f"limit {why_no_limit(hamlet)!r} {number(lost)}")
    here = at_budget(tuned, 2.0)
    shown.append(f"at 2 {here and scored(here.scored)}; at 3.3 {at_budget(tuned, 3.3)}")
    last = tuned.result.frontier[-1]
    project, moved = moved_to(hamlet, tuned, last)
    shown += [f"moved {project.settings.epsilon} {line}" for line in told(moved)[-6:]]
    settled, choice = settle_on(hamlet, tuned, last)
    assert choice.yardsticks is not None
    own = f"{choice.tuning} {number(astuple(choice.yardsticks))}"
    shown.append(f"settled {settled.settings.epsilon} {settled.settings.paths} {own}")
    typed = replace(chosen, design=replace(chosen.design, paths=3))
    settled, choice = settle_on_typed(hamlet, tuned, typed)
    shown.append(f"typed {settled.settings.paths} {choice.tuning}")
    shown.append(f"searched {as_searched(settled, tuned).settings.paths}")
    shown.append(sentence(lambda: typed_choice(hamlet, tuned.result, replace(chosen, epsilon=2.0001))))
    shown.append(f"{len(steps)} {hash_of(' '.join(steps))} {steps[0]} {steps[-1]}")
    agrees(PLACE, ORDER, "what is done with a search", shown)


@pytest.mark.parametrize(
    "changes",
    [
        {"lengthscale": 2_000.0, "ridge": 3.0},
        {"lengthscale": 2_000.0, "ridge": 0.01, "epsilon": 0.1},
        {"lengthscale": 2_000.0, "ridge": 3.0, "looked": True},
        {},
        {"lengthscale": 2_000.0, "ridge": 3.0, "mechanisms": STATISTICS},
    ],
)
def test_a_design_by_hand_is_as_before(town: Town, changes: dict[str, Any]) -> None:
    project = hamlet_of(town, **changes)

    def made() -> str:
        choice = given_choice(project)
        return f"{number(choice.design.to_mapping())} {choice.tuning} {choice.expected} {choice.yardsticks}"

    agrees(PLACE, ORDER, f"by hand {changes}", [sentence(made)])


def test_looks_are_priced_and_paid_as_before(town: Town) -> None:
    shown = [
        f"{n} {cells} {noise} {number(pilot.pilot_strength(n, cells, noise))}"
        for n, cells, noise in ((1_000, 100, 2.0), (50, 400, 5.0), (3_000, 16, 8.0))
    ]
    ledger = open_ledger()
    for name, changes in (
        ("a pilot", {**OWN, "pilot": 0.3}),
        ("a weak pilot", {**OWN, "pilot": 0.1, "epsilon": 0.01}),
        ("neither", {}),
    ):
        project = hamlet_of(town, **changes)
        warning = pilot.pilot_warning(project)
        shown.append(f"{name}: {warning!r} {sentence(lambda p=project: look(p, ledger))}")
    agrees(PLACE, ORDER, "looks", shown)


def look(project: Project, ledger: Any) -> str:
    """What is paid for a look, which is drawn from the system's own noise."""
    paid = pilot.run_pilot(project, ledger)
    assert paid.pilot is not None
    again = sentence(lambda: pilot.run_pilot(paid, ledger))
    left = number(pilot.left_for_release(project.settings.epsilon, paid.pilot))
    return (
        f"{number(paid.pilot.epsilon)} {paid.reference_kind} {left} {paid.reference.index.size > 0} {again}"
    )


ORDER = (
    *ASKED,
    "what is done with a search",
    *(
        f"by hand {changes}"
        for changes in (
            {"lengthscale": 2_000.0, "ridge": 3.0},
            {"lengthscale": 2_000.0, "ridge": 0.01, "epsilon": 0.1},
            {"lengthscale": 2_000.0, "ridge": 3.0, "looked": True},
            {},
            {"lengthscale": 2_000.0, "ridge": 3.0, "mechanisms": STATISTICS},
        )
    ),
    "looks",
)


def test_nothing_is_kept_that_no_test_shows() -> None:
    assert set(recorded_lines(PLACE)) == set(ORDER)
