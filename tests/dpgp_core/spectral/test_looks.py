"""Two looks: their joint price under attack, their reading, and what the second may depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.accounting.composition import merged_mu
from dpgp_core.errors import DesignError, InvalidValue
from dpgp_core.linalg import Ints
from dpgp_core.mechanisms import questions, spectral_release
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import PreparedLooks, prepared_plan
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Relation
from dpgp_core.simulation import World
from dpgp_core.spectral.cost import exchange_mu
from dpgp_core.spectral.looks import Look, expected, linear_laws
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import SUM_UNIT, ExactNoise, SpectralSums, exact_sums
from tests.dpgp_core.hexmap import disk

LATTICE = disk(3, padding=1)
DESIGN = SpectralStatisticsDesign(
    "water-filled", "exponential", 1600.0, 0.5, 0.0, 0.4, 1.0, 1.0, 0.8, common=0.3, cutoff_from="release",
    first=0.3,
)  # fmt: skip
MECHANISM = SpectralStatistics()


def records(seed: int, n: int = 400) -> CollapsedRecords:
    entropy = SimulationEntropy(seed)
    cells = np.floor(LATTICE.size * entropy.uniform(n) ** 2).astype(np.int64)
    high = np.where(LATTICE.domain_centres[cells, 0] > 0, 0.4, -0.3)
    return CollapsedRecords.from_records(cells, np.clip(high + 0.4 * entropy.normal(n), -1.0, 1.0))


def looked(
    relation: Relation = "replace-one", *, public: bool = False, seed: int = 1
) -> tuple[PreparedLooks, SpectralSums, Look, SpectralSums]:
    facts = PublicFacts(LATTICE, 400, relation, places_public=public)
    prepared = MECHANISM.prepare(DESIGN, facts, records(seed))
    assert isinstance(prepared, PreparedLooks)
    return prepared, *prepared.looks(ExactNoise(SimulationEntropy(seed + 10)))


def largest_of_all_pairs(looks: tuple[Look, Look], relation: Relation, *, public: bool) -> float:
    """mu of the worst pair of neighbours at both looks together, given what the first has released.

    Over all pairs of hexagons, and values on a grid that holds the corners and the edges of both clips.
    """
    values = np.array([-1.0, -0.6, -0.2, 0.0, 0.3, 0.7, 1.0])
    told = [look.responses(np.tile(values, (LATTICE.size, 1))) for look in looks]
    worst = 0.0
    for a in range(values.size):
        for b in range(values.size):
            total = np.zeros((LATTICE.size, LATTICE.size))
            for look, response in zip(looks, told, strict=True):
                phi, noise = look.features.values, look.noise
                one, other = response[:, a, None] * phi, response[:, b, None] * phi
                if relation == "add-or-remove":
                    other, gone = np.zeros_like(phi), np.zeros_like(phi)
                else:
                    gone = phi
                total += ((one[:, None] - other[None]) ** 2).sum(axis=2) / noise.sums**2
                if noise.counts is not None:
                    total += ((phi[:, None] - gone[None]) ** 2).sum(axis=2) / noise.counts**2
            worst = max(worst, float((total.diagonal() if public else total).max()))
    return float(np.sqrt(worst))


@pytest.mark.parametrize(
    ("relation", "public"), [("replace-one", False), ("add-or-remove", False), ("replace-one", True)]
)
def test_no_pair_at_both_looks_costs_more_than_is_charged(relation: Relation, public: bool) -> None:
    """Whatever the first has released; charging one look alone would be found out.

    Corollary 4 of docs/spectral-statistics.md.
    """
    for seed in (1, 2):
        prepared, _, look, _ = looked(relation, public=public, seed=seed)
        facts = PublicFacts(LATTICE, 400, relation, places_public=public)
        charged = MECHANISM.guarantee(DESIGN, facts).exact_gaussian_mu
        assert charged is not None
        found = largest_of_all_pairs((Look.first(prepared.plan), look), relation, public=public)
        assert 0.99 * charged < found <= charged * (1.0 + 1e-12)
        assert found > 1.1 * max(DESIGN.looks)  # the control: one look's price is too little
    assert charged == pytest.approx(DESIGN.mu, rel=1e-9)


def test_nor_does_an_exchange_cost_more_than_is_said_beside_one_record_more_or_less() -> None:
    """Of the first look its own price; of the second, whose features are not known, twice its price."""
    facts = PublicFacts(LATTICE, 400, "add-or-remove")
    priced = MECHANISM.guarantee(DESIGN, facts).exchange_mu
    plan = prepared_plan(DESIGN, facts)
    first = exchange_mu(plan.products, plan.noise, "add-or-remove")
    assert priced is not None
    assert first is not None
    assert priced**2 - first**2 == pytest.approx(4.0 * 0.7 * 0.64, rel=1e-9)
    for seed in (1, 2):
        prepared, _, look, _ = looked("add-or-remove", seed=seed)
        found = largest_of_all_pairs((Look.first(prepared.plan), look), "replace-one", public=False)
        assert 1.1 * DESIGN.mu < found <= priced


def test_whole_sums_of_neighbours_move_by_no_more_than_is_charged() -> None:
    """The very integers that are noised, of random neighbours, and of pairs that were climbed to."""
    prepared, _, look, _ = looked()
    nodes, first = prepared.plan.nodes, Look.first(prepared.plan)
    entropy, n = SimulationEntropy(3), 40
    cells = np.floor(LATTICE.size * entropy.uniform(n)).astype(np.int64)
    values = np.round((2.0 * entropy.uniform(n) - 1.0) * 1024) / 1024

    def sums(cell: Ints, value: np.ndarray) -> list[np.ndarray]:
        held = CollapsedRecords.from_records(cell, value)
        assert held.singles is not None
        found = []
        for each in (first, look):
            seen = each.records(nodes, held.index, held.count, held.singles.astype(np.int64))
            totals, counts = exact_sums(each.features, nodes, seen)
            assert each.noise.counts is not None
            found += [totals * SUM_UNIT / each.noise.sums, counts * 2.0**-20 / each.noise.counts]
        return found

    plain, best = sums(cells, values), 0.0
    place, value = 0, 0.0
    for _ in range(150):
        near = entropy.uniform(3)
        place_now = int(near[0] * LATTICE.size) if near[2] < 0.5 else place
        value_now = float(np.clip(value + 2.0 * near[1] - 1.0, -1.0, 1.0))
        other, another = cells.copy(), values.copy()
        other[0], another[0] = place_now, value_now
        moved = sum(float(np.sum((a - b) ** 2)) for a, b in zip(plain, sums(other, another), strict=True))
        if moved > best:
            best, place, value = moved, place_now, value_now
    assert 0.3 * DESIGN.mu < np.sqrt(best) <= DESIGN.mu


class Forced:
    """Noise that turns the first release of any records into the same numbers."""

    def __init__(self, target: list[Ints], totals: list[Ints]) -> None:
        self._noise = [want - have for want, have in zip(target, totals, strict=True)]

    def rounded_normal(self, scale: float, size: int) -> Ints:
        return self._noise.pop(0) if self._noise else np.zeros(size, dtype=np.int64)


def test_the_second_look_depends_on_what_the_first_released_and_on_nothing_else() -> None:
    one, other = (looked(seed=seed)[0] for seed in (1, 2))
    assert one.records.units.tolist() != other.records.units.tolist()
    target = [np.full(one.plan.features.size, 1 << 28), np.full(one.plan.features.size, 1 << 22)]
    found = []
    for prepared in (one, other):
        seen = prepared.released_records
        totals = list(exact_sums(prepared.plan.features, prepared.plan.nodes, seen))
        found.append(prepared.looks(Forced(target, totals)))
    (first, look, second), (again, same, different) = found
    np.testing.assert_array_equal(first.sums, again.sums)
    np.testing.assert_array_equal(look.features.scaled, same.features.scaled)
    np.testing.assert_array_equal(look.centre, same.centre)
    assert (look.bound, look.noise) == (same.bound, same.noise)
    assert np.abs(second.sums - different.sums).max() > 1.0


def test_responses_made_linear_have_the_moments_of_draws() -> None:
    law, entropy = PublicPrior(0.1, 0.5, 0.8), SimulationEntropy(6)
    prepared, _, look, _ = looked()
    looks = (Look.first(prepared.plan), look)
    value, deviation = 0.3 * look.centre + 0.2, np.full(LATTICE.size, 0.35)
    found = linear_laws(law, looks, value, deviation)
    for node in (0, 20):
        field = value[node] + 0.35 * entropy.normal(60_000)
        record = field + law.scatter * entropy.normal(60_000)
        told = [each.responses(np.tile(record, (LATTICE.size, 1)))[node] for each in looks]
        rest = []
        for number, response in enumerate(told):
            slope = np.cov(response, field)[0, 1] / field.var()
            assert found.slope[number, node] == pytest.approx(slope, abs=0.03)
            rest.append(response - found.start[number, node] - found.slope[number, node] * field)
            assert rest[-1].mean() == pytest.approx(0.0, abs=0.01)
        assert found.left[0, 1, node] == pytest.approx(float(np.mean(rest[0] * rest[1])), abs=0.01)
        assert found.left[1, 1, node] == pytest.approx(float(np.var(rest[1])), abs=0.01)


def test_two_looks_err_less_than_one_and_say_how_much_they_err() -> None:
    facts, entropy = PublicFacts(LATTICE, 400), SimulationEntropy(8)
    covariance = 0.16 * (0.7 * facts.prior("exponential", 1600.0).correlation() + 0.3)
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(LATTICE.size))
    errors = {0.0: 0.0, 0.3: 0.0}
    far = []
    for _ in range(10):
        field = root @ entropy.normal(LATTICE.size)
        cells = np.floor(LATTICE.size * entropy.uniform(400) ** 1.5).astype(np.int64)
        values = np.clip(field[cells] + 0.4 * entropy.normal(400), -1.0, 1.0)
        held = CollapsedRecords.from_records(cells, values)
        for first in errors:
            design = replace(DESIGN, first=first)
            found = MECHANISM.prepare(design, facts, held).draw(entropy)
            assert found.mean is not None
            assert found.sd is not None
            errors[first] += float(np.mean((found.mean - field) ** 2))
            if first:
                far.append((found.mean - field) / found.sd)
    assert errors[0.3] < 0.95 * errors[0.0]
    assert 0.8 < float(np.sqrt(np.mean(np.square(far)))) < 1.2
    assert 0.85 < float(np.mean(np.abs(far) < 1.645)) < 0.96


def test_prices_and_refusals() -> None:
    assert merged_mu(DESIGN.looks) == pytest.approx(0.8, rel=1e-9)
    assert DESIGN.looks[0] ** 2 == pytest.approx(0.3 * 0.64)
    assert questions.least_cost(DESIGN).gaussian_mu == pytest.approx(0.8, rel=1e-9)
    guarantee = MECHANISM.guarantee(DESIGN, PublicFacts(LATTICE, 400, "add-or-remove"))
    assert guarantee.exchange_mu is not None
    assert 0.8 < guarantee.exchange_mu <= 1.6
    assert "two looks, the first for 30 % of mu squared" in MECHANISM.describe(DESIGN)
    assert "two looks" not in MECHANISM.describe(replace(DESIGN, first=0.0))
    with pytest.raises(DesignError, match="first must be at least 0"):
        replace(DESIGN, first=1.0)
    with pytest.raises(DesignError, match="two looks are for amounts"):
        replace(DESIGN, drift=True)
    plan = prepared_plan(DESIGN, PublicFacts(LATTICE, 400))
    held = CollapsedRecords(np.array([1]), np.array([2]), np.array([0.5]))
    with pytest.raises(InvalidValue, match="a second look needs the response of every record"):
        PreparedLooks(DESIGN, plan, PublicCounts("unknown", 400.0), held)


def test_simulated_releases_of_two_looks_are_read_each_by_itself() -> None:
    """What a search tells of the fixed design with two looks comes from releases of two looks."""
    held = records(1)
    facts = PublicFacts(LATTICE, held.n)
    zeros = np.zeros(LATTICE.size)
    world = World(
        facts,
        held,
        held,
        np.array([0]),
        np.array([True]),
        0.1,
        "above",
        zeros,
        baseline=LATTICE.domain_centres[:, 0] > 0,
    )
    design = replace(DESIGN, mu=4.0)
    sets = questions.simulate(design, world)
    assert sets.shape == (3, LATTICE.size)
    assert world.agreement(sets).iou > 0.7
    few = replace(design, mu=0.05)
    assert world.agreement(questions.simulate(few, world)).iou < world.agreement(sets).iou


def test_where_a_second_look_looks() -> None:
    """Its bound, its noise and its features, for one first release: numbers of this machine's own."""
    prepared, first, look, _ = looked()
    assert look.bound == pytest.approx(0.38576, abs=2e-4)
    assert look.noise.sums == pytest.approx(2.9878, abs=2e-3)
    assert look.noise.counts == pytest.approx(3.1909, abs=2e-3)
    phi = look.features.values
    assert float(phi[0] @ phi[5]) == pytest.approx(-0.02812, abs=1e-3)
    counts = prepared.plan.counts(PublicCounts("unknown", 400.0, None, False), first.counts)
    assert expected(prepared.plan, counts).sum() == pytest.approx(1.15 * counts.mean.sum(), rel=1e-12)


def test_what_is_left_of_a_value_is_the_value_less_the_centre() -> None:
    """By hand: .5 is .1 above the centre of its node, half of the bound; what lies beyond is cut."""
    plan = looked()[0].plan
    centre = np.full(plan.nodes.size, 0.4)
    look = Look(plan.features, plan.noise, centre, 0.2)
    value = np.tile([0.5, 0.35, 2.0, -2.0], (plan.nodes.size, 1))
    assert look.responses(value)[0] == pytest.approx([0.5, -0.25, 1.0, -1.0])
    for side in (-1.0, 1.0):  # beyond 1 a value is cut before the centre is taken off
        edge = Look(plan.features, plan.noise, np.full(plan.nodes.size, 0.9 * side), 0.5)
        assert edge.responses(np.full((plan.nodes.size, 1), 3.0 * side))[0] == pytest.approx([0.2 * side])
    cells, counts = np.array([0, 3]), np.array([1, 2])
    made = look.records(
        plan.nodes, cells, counts, np.array([512, 358, 1024])
    )  # .5; .35 and 1 in units of 2^-10
    assert made.total / 2.0**10 == pytest.approx([0.5, -0.252 + 1.0], abs=2e-3)


def test_the_centre_of_a_second_look_is_a_response() -> None:
    facts = PublicFacts(LATTICE, 400)
    prepared = MECHANISM.prepare(replace(DESIGN, spread=3.0), facts, records(0))
    assert isinstance(prepared, PreparedLooks)
    look = prepared.looks(ExactNoise(SimulationEntropy(0)))[1]
    assert (look.centre.min(), look.centre.max()) == (-1.0, 1.0)
    assert look.bound == 1.0, "a larger bound would say that responses may be larger"


def test_two_looks_are_made_of_a_thousand_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Model:
        def __init__(self, _: object, patterns: int) -> None:
            asked.append(patterns)

        def prepare(self, *_: object) -> None:
            return None

    monkeypatch.setattr(spectral_release, "spectral_model", Model)
    prepared_plan(DESIGN, PublicFacts(LATTICE, 401))
    assert asked == [1000]
