"""The price of every strategy is attacked: with all pairs of cells, optimised pairs, and forged facts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpgp_core.features.gridded import Features, InnerProducts, inner_products
from dpgp_core.features.strategies import STRATEGIES
from dpgp_core.spectral.cost import Relation, SpectralNoise, free_weight, noise_for, release_mu
from dpgp_core.spectral.model import Prepared
from dpgp_core.spectral.sums import GridRecords, exact_sums
from tests.dpgp_core.features.worlds import model_on, plan_for, prepared

Record = tuple[int, float]
CORNERS = tuple(itertools.product((-1.0, 1.0), repeat=2))


def exact_mu(phi: np.ndarray, noise: SpectralNoise, one: Record, other: Record) -> float:
    """mu of this one pair of neighbours: length of the shift over the noise."""
    (i, y), (j, z) = one, other
    square = float(np.sum((y * phi[i] - z * phi[j]) ** 2)) / noise.sums**2
    if noise.counts is not None:
        square += float(np.sum((phi[i] - phi[j]) ** 2)) / noise.counts**2
    return math.sqrt(square)


def largest_of_all_pairs(phi: np.ndarray, noise: SpectralNoise) -> float:
    """The largest mu over all pairs of nodes, a node with itself included, responses at the corners."""
    squares = np.sum(phi**2, axis=1)
    products = phi @ phi.T
    apart = squares[:, None] + squares[None, :] - 2.0 * products
    found = 0.0
    for y, z in CORNERS:
        shift = y**2 * squares[:, None] + z**2 * squares[None, :] - 2.0 * y * z * products
        total = shift / noise.sums**2
        if noise.counts is not None:
            total = total + apart / noise.counts**2
        found = max(found, float(total.max()))
    return math.sqrt(found)


def climb(phi: np.ndarray, noise: SpectralNoise, generator: np.random.Generator) -> float:
    """The best pair found by hill climbing from a random one: cells by trial, responses in small steps."""
    size = phi.shape[0]
    i, j = (int(k) for k in generator.integers(0, size, 2))
    y, z = (float(v) for v in generator.uniform(-1.0, 1.0, 2))
    best = exact_mu(phi, noise, (i, y), (j, z))
    for _ in range(400):
        a, b = (int(generator.integers(0, size)), j) if generator.random() < 0.5 else (i, j)
        b = int(generator.integers(0, size)) if generator.random() < 0.3 else b
        u, v = np.clip(np.array([y, z]) + generator.normal(0.0, 0.3, 2), -1.0, 1.0)
        value = exact_mu(phi, noise, (a, float(u)), (b, float(v)))
        if value > best:
            best, i, j, y, z = value, a, b, float(u), float(v)
    return best


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("mu", [0.3, 1.5])
def test_no_pair_of_cells_exceeds_the_declared_mu_and_one_attains_it(strategy: str, mu: float) -> None:
    """Theorem C of docs/spectral-statistics.md; Theorem (C: exact cost) of docs/report."""
    made = prepared(strategy, mu=mu)
    declared = release_mu(made.products, made.noise)
    assert mu * (1 - 1e-9) <= declared <= mu
    largest = largest_of_all_pairs(made.features.values, made.noise)
    assert largest <= declared
    assert largest >= declared * (1 - 1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_optimised_pair_exceeds_the_declared_mu(strategy: str) -> None:
    made = prepared(strategy, radius=3, mu=0.7)
    generator = np.random.default_rng(11)
    found = [climb(made.features.values, made.noise, generator) for _ in range(6)]
    assert max(found) <= release_mu(made.products, made.noise)
    assert max(found) >= 0.6


Record = tuple[int, int]  # a cell, and a response in units of 2^-10


def shift_of(made: Prepared, core: GridRecords, one: Record, other: Record) -> float:
    """mu of two neighbouring datasets, from the integers that are really released."""
    datasets = [
        GridRecords.of(
            np.append(np.repeat(core.cell, core.count), cell),
            np.append(np.repeat(core.total / (1024.0 * core.count), core.count), response),
        )
        for cell, response in (one, other)
    ]
    (sums, counts), (others, other_counts) = (
        exact_sums(made.features, made.nodes, data) for data in datasets
    )
    square = float(np.sum(((sums - others) / 2.0**30) ** 2)) / made.noise.sums**2
    if made.noise.counts is not None:
        square += float(np.sum(((counts - other_counts) / 2.0**20) ** 2)) / made.noise.counts**2
    return math.sqrt(square)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_neighbouring_datasets_differ_by_at_most_mu_in_the_released_integers(strategy: str) -> None:
    made = prepared(strategy, mu=0.9)
    generator = np.random.default_rng(3)
    core = GridRecords.of(np.arange(20), np.where(np.arange(20) % 2 == 0, 1.0, -0.5))
    found = []
    for _ in range(25):
        i, j = generator.integers(0, made.nodes.cells, 2)
        y, z = generator.choice([-1.0, 1.0], 2)
        found.append(shift_of(made, core, (int(i), float(y)), (int(j), float(z))))
    assert max(found) <= 0.9
    assert shift_of(made, core, (7, 1.0), (7, -1.0)) == pytest.approx(0.9, abs=1e-4)


def test_a_negative_entry_that_was_overlooked_is_caught() -> None:
    """Counts at full weight need kappa = 0: with forged facts the attack finds a pair beyond the price."""
    made = prepared("plane-waves", mu=0.5)
    assert made.products.least < -0.05
    forged = InnerProducts(made.products.largest_square, 0.0, 2.0 * made.products.largest_square)
    noise = noise_for(0.5, forged)
    assert noise.weight == pytest.approx(1.0, abs=1e-9)
    assert release_mu(forged, noise) <= 0.5
    assert largest_of_all_pairs(made.features.values, noise) > 0.505
    assert release_mu(made.products, noise) > 0.505


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_add_or_remove_and_values_only_are_attained_too(strategy: str) -> None:
    """Corollary 2 of docs/spectral-statistics.md; Corollary 3 of docs/spectral-statistics.md."""
    model = model_on(4)
    phi = model.prepare(plan_for(strategy, mu=0.4)).features
    products = inner_products(phi)
    squares = np.sum(phi.values**2, axis=1)
    removed = noise_for(0.4, products, "add-or-remove")
    one = np.sqrt(squares * (1.0 / removed.sums**2 + 1.0 / removed.counts**2))  # type: ignore[operator]
    assert float(one.max()) <= 0.4
    assert float(one.max()) >= 0.4 * (1 - 1e-9)
    values = noise_for(0.4, products, "values-only")
    turned = 2.0 * np.sqrt(squares) / values.sums
    assert float(turned.max()) <= 0.4
    assert float(turned.max()) >= 0.4 * (1 - 1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("block", [1, 7, 512])
def test_kappa_agrees_with_whole_number_arithmetic(strategy: str, block: int) -> None:
    features = prepared(strategy, radius=2, mu=0.8).features
    rows = [[int(v) for v in row] for row in features.whole]
    products = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    nodes = range(len(rows))
    widest = max(products[i][i] + products[j][j] - 2 * products[i][j] for i in nodes for j in nodes)
    found = inner_products(features, block)
    assert found.largest_square == max(products[i][i] for i in nodes) / 2**40
    assert found.least == min(map(min, products)) / 2**40
    assert found.widest_square == widest / 2**40


@pytest.mark.parametrize("block", [1, 2, 3, 4, 10])
@pytest.mark.parametrize("pair", list(itertools.combinations(range(5), 2)))
def test_one_negative_entry_is_found_wherever_it_is(pair: tuple[int, int], block: int) -> None:
    rows = np.eye(5)
    i, j = pair
    rows[j] = 0.0
    rows[j, i], rows[j, j] = -0.5, 0.75
    features = Features("identity", rows * 2.0**20)
    found = inner_products(features, block)
    assert found.least == -0.5
    assert found.kappa == 0.5
    assert found.widest_square == 1.0 + 0.25 + 0.5625 + 1.0


RELATIONS: tuple[Relation, ...] = ("replace-one", "add-or-remove", "values-only")


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_price_of_random_features_is_never_passed(relation: Relation) -> None:
    """Arbitrary features, of arbitrary lengths, with opposite ones among them."""
    generator = np.random.default_rng(5)
    for trial in range(30):
        rows = generator.normal(size=(12, 1 + trial % 4))
        rows *= generator.uniform(0.2, 1.0, (12, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
        features = Features("identity", np.trunc(rows * 2.0**20))
        products = inner_products(features)
        noise = SpectralNoise(1.3, None if relation == "values-only" else 1.3 / generator.uniform(0.2, 1.0))
        declared = release_mu(products, noise, relation)
        phi = features.values
        squares = np.sum(phi**2, axis=1)
        if relation == "replace-one":
            found = largest_of_all_pairs(phi, noise)
        elif relation == "values-only":
            found = float(2.0 * np.sqrt(squares.max()) / noise.sums)
        else:
            found = math.sqrt(float(squares.max()) * (1 / noise.sums**2 + 1 / noise.counts**2))  # type: ignore[operator]
        assert found <= declared * (1 + 1e-15)
        assert found >= declared * (1 - 1e-9)


def test_free_weight_is_the_largest_that_costs_nothing() -> None:
    """Corollary 1 of docs/spectral-statistics.md; Corollary (counts are free) of docs/report."""
    made = prepared("water-filled", mu=0.5)
    weight = free_weight(made.products)
    assert 0.7 < weight < 1.0
    sums = made.noise.sums
    assert release_mu(made.products, SpectralNoise(sums, sums / weight)) <= 0.5
    assert release_mu(made.products, SpectralNoise(sums, sums / (weight * 1.01))) > 0.5
