"""A private choice of a field's law: what one record can move, what is found, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.composition import selection_curve
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.registry import make_prior
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger, open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.simulated import world_model
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search import block_choice
from hexcursion.search.block_choice import CERTAINTY, LAWS, belief, blocks_of, choose_law, strength
from hexcursion.search.pilot import pilot_warning, run_pilot
from hexcursion.search.tuning import tune
from hexcursion.settings.model import ReleaseSettings
from studies.material.disk import SPACING, disk
from tests.town import Town


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return open_ledger(str(tmp_path / "ledger.sqlite"), tmp_path / "key")


WORLDS = [world_model(SPACING, number) for number in range(LAWS)]


def test_eighteen_laws_differ() -> None:
    assert len(set(WORLDS)) == LAWS == 18


@pytest.mark.parametrize(
    ("n", "epsilon", "blocks", "odds"),
    [(6_400, 1.0, 50, 25.0), (6_400, 0.3, 134, 20.1), (1_600, 0.3, 40, 6.0), (30, 1.0, 1, 0.5)],
)
def test_blocks_are_public(n: int, epsilon: float, blocks: int, odds: float) -> None:
    assert blocks_of(n, epsilon) == blocks
    assert strength(n, epsilon) == pytest.approx(odds)


def scores(
    places: np.ndarray, responses: np.ndarray, monkeypatch: pytest.MonkeyPatch, blocks: int = 12
) -> np.ndarray:
    seen: list[list[int]] = []
    monkeypatch.setattr(
        block_choice,
        "exponential_choice",
        lambda errors, sensitivity, epsilon, source: seen.append([sensitivity, *errors]) or 0,
    )
    choose_law(WORLDS, SPACING, places, responses, blocks, 1.0, SimulationEntropy(3))
    assert seen[0][0] == CERTAINTY
    return -np.array(seen[0][1:])


def test_one_record_moves_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 13 of docs/mathematics.md: d in [-1, 1] for an exchange, and for one record more."""
    rng = np.random.default_rng(1)
    places, responses = rng.uniform(0, 8_000, (60, 2)), rng.uniform(-1, 1, 60)
    before = scores(places, responses, monkeypatch)
    assert 12 * CERTAINTY - 12 * LAWS <= before.sum() <= 12 * CERTAINTY
    moved = []
    for place, value in ((places[7], -responses[7]), (places[11], 1.0), (np.zeros(2), -1.0)):
        other = places.copy(), responses.copy()
        other[0][7], other[1][7] = place, value
        moved.append(scores(*other, monkeypatch) - before)
        more = np.vstack([places, place]), np.append(responses, value)
        moved.append(scores(*more, monkeypatch) - before)
    widest = max(int(np.ptp(each)) for each in moved)
    assert 0.01 * CERTAINTY < widest <= 2 * CERTAINTY
    assert all(abs(int(each.sum())) <= LAWS for each in moved), "blocks beside it keep what they say"


def test_a_block_believes_in_the_law_that_drew_it() -> None:
    """The share of scatter and the spread, from 200 records of one field; the range is harder."""
    rng, lattice = SimulationEntropy(8), disk(1200)
    for number in (4, 16):
        law = WORLDS[number]
        prior = make_prior("car", lattice, law.lengthscale)
        field = prior.colour(rng.normal((prior.white_size, 1)))[: lattice.size, 0] * law.spread
        index = (rng.uniform(200) * lattice.size).astype(int)
        said = belief(
            WORLDS, SPACING, lattice.domain_centres[index], field[index] + law.scatter * rng.normal(200)
        )
        spread = [np.hypot(each.spread, each.scatter) for each in WORLDS]
        mine = np.isclose(spread, np.hypot(law.spread, law.scatter))
        assert said[mine].sum() > 0.9 * CERTAINTY


def test_many_records_of_a_block_are_not_all_read() -> None:
    """A public guess of n that is far too low costs no memory, and no more epsilon."""
    rng = np.random.default_rng(2)
    chosen = choose_law(
        WORLDS,
        SPACING,
        rng.uniform(0, 9e3, (3_000, 2)),
        rng.uniform(-1, 1, 3_000),
        1,
        1.0,
        SimulationEntropy(1),
    )
    assert chosen in WORLDS


def test_the_order_of_the_rows_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block holds more records than are read: which ones they are is no matter of their rows."""
    rng = np.random.default_rng(5)
    places, responses = rng.uniform(0, 8_000, (300, 2)), rng.uniform(-1, 1, 300)
    monkeypatch.setattr(block_choice, "MANY", 20)
    rows = rng.permutation(300)
    assert scores(places, responses, monkeypatch, blocks=1).tolist() == (
        scores(places[rows], responses[rows], monkeypatch, blocks=1).tolist()
    )


def choosing(town: Town, **changes: Any) -> ReleaseSettings:
    given: dict[str, Any] = {
        "reference": None,
        "reference_public": False,
        "centre": 25.0,
        "clip": 15.0,
        "priors": ("car",),
    }
    return town.settings(**{**given, "pilot": 0.3, "pilot_by": "choice", **changes})


def test_a_choice_is_charged_and_part_of_the_stated_epsilon(town: Town, ledger: Ledger, out: Path) -> None:
    settings = choosing(town, epsilon=3.0)
    project = run_pilot(load_project(settings), ledger)
    assert project.pilot is not None
    assert project.pilot.law in [world_model(project.lattice.spacing, number) for number in range(LAWS)]
    assert project.pilot.cost.pure_epsilon == pytest.approx(0.9)
    assert np.allclose(project.pilot.cost.curve.values, selection_curve(0.9).values, rtol=1e-12)
    assert project.reference.index.size == project.public_n
    plan = plan_release(project, tune(project).choice, ledger)
    assert 0.98 * 3.0 < plan.privacy.epsilon <= 3.0
    publish(plan, ledger, out)
    account = ledger.account(plan.charge.dataset, "point")
    assert len(account.charged) == 2
    assert account.spent <= 3.0 * (1 + 1e-9)


def test_a_choice_left_to_chance_is_refused_before_the_charge(town: Town, ledger: Ledger) -> None:
    project = load_project(choosing(town, epsilon=0.3))
    assert pilot_warning(project).startswith(
        "This choice would be left to chance: 2,885 records at epsilon 0.09 make 72 blocks"
    )
    with pytest.raises(WorkflowError, match=r"too few to outweigh its coins\. Nothing was charged"):
        run_pilot(project, ledger)
    assert not list(ledger.entries()) or all(entry.kind != "reserve" for entry in ledger.entries())


def test_what_a_pilot_buys_needs_a_pilot(town: Town) -> None:
    with pytest.raises(WorkflowError, match="asked with its share: give `pilot`"):
        choosing(town, pilot=None)
