"""All records of one owner together: what is promised covers every exact pair, and calibration spends it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import InvalidValue
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, Design, SearchSpec
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import Owner, PublicFacts, Relation

LATTICE = Lattice.grid(3, 3, 500.0)
BUDGET = Budget(1.0, 1e-5)
OTHERS = [(cell, (-1.0) ** cell * 0.5) for cell in range(9) for _ in range(3)]
WORST = [(0, 0), (0, 1), (0, 8), (4, 4)]  # cells of an owner's rows before and after


def made(name: str, relation: Relation, owner: Owner) -> tuple[Design, PublicFacts]:
    mechanism = MECHANISMS[name]
    hidden = mechanism.protection.what == "values"
    facts = PublicFacts(LATTICE, 40, relation=relation, places_public=hidden, owner=owner)
    ask = SearchSpec(("car",))
    shape = mechanism.search.given(facts, ask, 2000.0, 30.0) or mechanism.search.grid(facts, ask)[0]
    design = mechanism.calibrate(shape, facts, BUDGET)
    assert design is not None
    return design, facts


def moved(
    design: Design, facts: PublicFacts, before: list[tuple[int, float]], after: list[tuple[int, float]]
) -> float:
    """Exact mu of two datasets that agree in all other records."""
    sides = []
    for own in (before, after):
        cells, values = zip(*OTHERS, *own, strict=True)
        records = CollapsedRecords.from_records(cells, values)
        found = questions.mean_and_noise(design, facts, records, list(range(9)))
        if found is None:  # sums and counts by cell, with noise of one deviation
            assert isinstance(design, NoisyCellStatisticsDesign)
            totals = np.bincount(cells, values, 9), np.bincount(cells, minlength=9)
            found = np.concatenate(totals), np.full(18, design.statistic_noise)
        sides.append(found)
    (one, deviation), (other, _) = sides
    return float(np.linalg.norm((one - other) / deviation))


def pairs(q: int) -> list[tuple[list[tuple[int, float]], list[tuple[int, float]]]]:
    """An owner's rows in one hexagon, all exchanged for others there or elsewhere."""
    signs = itertools.product((-1.0, 1.0), repeat=2)
    return [([(a, s)] * q, [(b, t)] * q) for (a, b), (s, t) in itertools.product(WORST, signs)]


@pytest.mark.parametrize("q", [1, 2, 5, 10])
@pytest.mark.parametrize("name", ["noisy-cell-statistics", "spectral-statistics"])
def test_every_exact_pair_of_owners_keeps_the_promise(name: str, q: int) -> None:
    """Epsilon 1 was promised to one reading: five of one owner cost 6.17."""
    design, facts = made(name, "replace-one", Owner(q))
    promised = MECHANISMS[name].guarantee(design, facts)
    worst = max(moved(design, facts, before, after) for before, after in pairs(q))
    assert worst <= promised.exact_gaussian_mu  # type: ignore[operator]
    assert worst >= 0.99 * promised.exact_gaussian_mu  # type: ignore[operator]
    assert promised.exact_gaussian_mu == pytest.approx(0.268051, abs=1e-6)


@pytest.mark.parametrize("q", [1, 2, 5, 10])
def test_an_owner_who_stays_and_reports_otherwise_is_priced(q: int) -> None:
    """Where one record more or less is hidden, an exchange costs up to sqrt 2 times as much.

    Proposition 5 of docs/proofs/owners.md.
    """
    design, facts = made("spectral-statistics", "add-or-remove", Owner(q))
    promised = MECHANISMS[design.mechanism].guarantee(design, facts).exact_gaussian_mu
    assert promised is not None
    worst = max(moved(design, facts, before, after) for before, after in pairs(q))
    assert 0.99 * promised <= worst <= promised
    assert moved(design, facts, [], [(0, 1.0)] * q) <= promised
    single = MECHANISMS[design.mechanism].guarantee(design, replace(facts, owner=None))
    assert worst > 1.3 * q * single.exact_gaussian_mu  # type: ignore[operator]


@pytest.mark.parametrize("q", [1, 2, 5, 10])
@pytest.mark.parametrize(
    ("name", "relation"),
    [(name, relation) for name, each in MECHANISMS.items() for relation in each.protection.relations],
)
def test_calibration_spends_the_budget_of_an_owner(name: str, relation: Relation, q: int) -> None:
    design, facts = made(name, relation, Owner(q))
    guarantee = MECHANISMS[name].guarantee(design, facts)
    assert 1.0 - 1e-4 < guarantee.epsilon(1e-5).epsilon <= 1.0
    single = MECHANISMS[name].guarantee(design, replace(facts, owner=None)).epsilon(1e-5).epsilon
    if q > 1:
        assert gaussian_mu(single, 1e-5) < 1.1 * gaussian_mu(1.0, 1e-5) / np.sqrt(q)


def test_rows_in_different_cells_cost_the_square_root() -> None:
    design, facts = made("noisy-cell-statistics", "replace-one", Owner(4, apart=True))
    promised = MECHANISMS[design.mechanism].guarantee(design, facts).exact_gaussian_mu
    assert promised == pytest.approx(0.268051, abs=1e-6)
    rows: Any = [(cell, 1.0) for cell in (0, 3, 5, 7)]
    assert moved(design, facts, rows, [(cell, -1.0) for cell, _ in rows]) == pytest.approx(promised, rel=1e-5)
    assert moved(design, facts, rows, [(0, -1.0)] * 4) > 1.2 * promised  # so hexagons must be kept apart


@pytest.mark.parametrize("records", [0, 1.5])
def test_an_owner_has_a_whole_number_of_records(records: Any) -> None:
    with pytest.raises(InvalidValue):
        Owner(records)


@pytest.mark.parametrize(("q", "steps"), [(1, 2), (2, 4), (3, 6)])
def test_without_mu_an_owner_who_may_be_there_or_not_costs_two_steps_a_record(q: int, steps: int) -> None:
    """Each of q records is taken away and another one is added."""
    one = Guarantee.pure(0.25, "laplace-mechanism", "a proof", "add-or-remove")
    assert one.of_owner(q).pure_epsilon == pytest.approx(0.25 * steps)
    exchanged = Guarantee.pure(0.25, "laplace-mechanism", "a proof", "replace-one")
    assert exchanged.of_owner(q).pure_epsilon == pytest.approx(0.25 * q)
