"""Answers of yes and no, and weights, in the ball: their price is attacked, their reading is one column's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpgp_core import Lattice, release_atlas
from dpgp_core.atlas.design import atlas_design
from dpgp_core.atlas.release import calibrated, prepare_atlas, read_atlas_again
from dpgp_core.errors import CoreError
from dpgp_core.features.gridded import inner_products
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.ball import Ball
from dpgp_core.spectral.cost import Relation, SpectralNoise, noise_for, release_mu
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import exact_sums
from tests.dpgp_core.atlas.test_price import RELATIONS, features_of, largest, moved

Floats = np.ndarray
SQUARE = Lattice.grid(rows=14, columns=14, spacing=1_000.0)
HALF = Ball(2, 1.0, reaches=(0.5, 1.0), answers=(0,))
ROW = np.array([[0.0, 1.0]]), [0], SQUARE
BALLS = {
    "one and one": atlas_design(1.0, 2, 500, answers=(1,)).ball,
    "two and one": atlas_design(1.0, 3, 500, answers=(0,)).ball,
    "answers alone": atlas_design(1.0, 3, 500, answers=(0, 1, 2)).ball,
    "weights": atlas_design(1.0, 3, 500, answers=(1,), weights=(1.0, 3.0, 2.0)).ball,
    "amounts of weights": atlas_design(1.0, 3, 500, weights=(1.0, 3.0, 2.0)).ball,
}


def records(ball: Ball, generator: np.random.Generator) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """Presence and the vector of records as the ball cuts them: all answers, amounts at their bounds, along
    the axes and at random, and with presence sums all patterns of gaps."""
    whole = (1,) * ball.columns
    for pattern in itertools.product((0, 1), repeat=ball.columns) if ball.presence else (whole,):
        for yes in itertools.product((-1.0, 1.0), repeat=len(ball.answers)):
            axes = np.vstack([np.eye(ball.columns), -np.eye(ball.columns)])
            tried = np.vstack([axes, generator.choice([-1.0, 1.0], (4, ball.columns)),
                               generator.normal(0.0, 0.5, (4, ball.columns))])  # fmt: skip
            tried[:, list(ball.answers)] = yes
            tried[:, [not there for there in pattern]] = np.nan
            for vector in ball.cut(tried)[0] / 1024.0:
                yield pattern, vector


def worst(phi: Floats, noise: SpectralNoise, relation: Relation) -> float:
    """The largest mu over all pairs of cells and such records."""
    held = list(records(noise.ball, np.random.default_rng(3)))
    rows = [
        (cell, moved(phi, noise, cell, vector, there)) for cell in range(len(phi)) for there, vector in held
    ]
    return largest(rows, relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("ball", BALLS.values(), ids=BALLS)
def test_no_pair_of_answers_and_amounts_exceeds_the_declared_mu(
    ball: Ball, presence: bool, relation: Relation
) -> None:
    if presence and ball == BALLS["weights"]:
        with pytest.raises(CoreError, match="longer than the radius"):
            replace(ball, presence=True)
        return
    for seed in range(3):
        features = features_of(seed, 4)
        products = inner_products(features)
        noise = noise_for(0.8, products, relation, ball=replace(ball, presence=presence))
        declared, found = release_mu(products, noise, relation), worst(features.values, noise, relation)
        assert found <= declared <= 0.8
        assert found >= declared * (1.0 - 3e-3)  # whole numbers are a little shorter than the radius


def test_answers_that_are_left_out_of_the_radius_would_promise_too_much() -> None:
    """Noise for the amounts of two columns alone: their answer moves the sums too."""
    features = features_of(4)
    products, ball = inner_products(features), BALLS["two and one"]
    short = noise_for(0.5, products, ball=Ball(2, math.sqrt(0.5)))
    forged = SpectralNoise(short.sums, short.counts, ball)
    assert worst(features.values, forged, "replace-one") > 0.6
    assert release_mu(products, forged) > 0.6


def test_answers_keep_their_size_and_amounts_what_is_left() -> None:
    """Radius 1 and one answer of 1/2: two amounts have the root of 3/4 left, so (1, 1) is 627 each."""
    ball = Ball(3, 1.0, reaches=(1.0, 0.5, 1.0), answers=(1,))
    found, _ = ball.cut(np.array([[1.0, -1.0, 1.0], [0.25, 1.0, 0.0], [np.nan, 1.0, 2.0]]))
    assert found.tolist() == [[627, -512, 627], [256, 512, 0], [0, 512, 886]]
    assert Ball(2, 1.0, reaches=(1.0, 0.25)).cut(np.array([[0.5, 3.0]]))[0].tolist() == [[512, 256]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: HALF.cut(np.array([[0.5, 0.0]])), "must be 1 and -1"),
        (lambda: Ball(2, 1.0, reaches=(0.5,)), "every column needs its reach"),
        (lambda: Ball(2, 1.0, reaches=(1.0, 0.3)), "multiple of 2"),
        (lambda: Ball(2, 1.0, reaches=(1.0, 1.5)), "at most 1"),
        (lambda: Ball(2, 1.0, answers=(1, 0)), "each once and in order"),
        (lambda: Ball(2, 1.0, answers=(2,)), "each once and in order"),
        (lambda: Ball(3, 1.0, answers=(0, 1)), "longer than the radius"),
        (lambda: Ball(2, 1.0, answers=(0,)), "leave nothing to the amounts"),
        (lambda: Ball(2, 1.0, True, (1.0, 0.75), (1,)), "longer than the radius"),
        (lambda: replace(atlas_design(1.0, 2, 9, answers=(1,)), reading="likelier"), "read apart"),
        (lambda: release_atlas(*ROW, 1.0, 1e-5, weights=(1.0, 0.0)), "one weight above 0"),
        (lambda: release_atlas(*ROW, 1.0, 1e-5, weights=(1.0,)), "one weight above 0"),
    ],
)  # fmt: skip
def test_what_is_no_ball_is_refused(make: object, said: str) -> None:
    with pytest.raises(CoreError, match=said):
        make()  # type: ignore[operator]


def town(n: int = 2_500) -> tuple[Floats, Floats, Floats]:
    """Cells, a share of yes of .15 in the north and .6 in the south, and an amount that rises eastward."""
    generator = np.random.default_rng(4)
    cells = generator.integers(0, SQUARE.size, n)
    share = np.where(cells // 14 < 7, 0.15, 0.6)
    yes = np.where(generator.random(n) < share, 1.0, -1.0)
    return cells, yes, np.where(cells % 14 < 7, -0.5, 0.5) + generator.normal(0.0, 0.4, n)


def test_the_sums_of_answers_are_those_of_one_column_times_their_reach() -> None:
    cells, yes, amount = town()
    design, facts = (
        atlas_design(SQUARE.spacing, 2, cells.size, answers=(1,)),
        PublicFacts(SQUARE, n=cells.size),
    )
    ready = prepare_atlas(design, facts, cells, np.column_stack([3.0 * amount, yes]))
    sums = exact_sums(ready.plan.features, ready.plan.nodes, ready.records)[0]
    one = MECHANISMS["spectral-statistics"].prepare(
        replace(fixed_design(SQUARE.spacing), mu=design.mu), facts, CollapsedRecords.from_records(cells, yes)
    )
    alone = exact_sums(ready.plan.features, ready.plan.nodes, one.records)[0]  # type: ignore[attr-defined]
    assert np.array_equal(sums[1] * 1024, alone * 787)  # .7685546875 = 787/1024
    assert design.reaches == (1.0, 787 / 1024)


@pytest.mark.parametrize("presence", [False, True])
def test_a_map_of_answers_is_about_that_of_one_column_with_this_noise(presence: bool) -> None:
    """Shares of .15 and .6 are found on both sides, and a reader finds the same again."""
    cells, yes, amount = town()
    facts = PublicFacts(SQUARE, n=cells.size)
    design = atlas_design(SQUARE.spacing, 3, cells.size, presence, answers=(1,))
    design = calibrated(replace(design, paths=1), facts, Budget(6.0, 1e-5))
    ready = prepare_atlas(design, facts, cells, np.column_stack([amount, yes, -amount]))
    released = draw_release(ready, SimulationEntropy(3), simulation=True)
    mean = released.layers[1].mean
    assert mean is not None
    south = np.arange(SQUARE.size) // 14 >= 7
    assert ndtr(mean[~south].mean()) == pytest.approx(0.15, abs=0.06)
    assert ndtr(mean[south].mean()) == pytest.approx(0.6, abs=0.08)
    again = read_atlas_again(design, facts, [layer.sums for layer in released.layers])  # type: ignore[misc]
    for made, layer in zip(again, released.layers, strict=True):
        assert np.allclose(made.mean, layer.mean, atol=2e-6)  # type: ignore[arg-type]
        assert np.allclose(made.sd, layer.sd, atol=2e-6)  # type: ignore[arg-type]
    shorter = replace(design, reaches=(1.0, design.reaches[1] - 0.25, 1.0))
    with pytest.raises(CoreError, match="noise of these sums is not that of their design"):
        read_atlas_again(shorter, facts, [layer.sums for layer in released.layers])  # type: ignore[misc]
    chance = released.layers[1].probability(float(ndtri(0.35)))
    assert chance[south].mean() > 0.9
    assert chance[~south].mean() < 0.1


def test_twice_the_weight_is_half_the_noise() -> None:
    """Weights 2, 1, 1: the longest vector is .5 sqrt(1.5), and a response of 1 is .5 of the first's."""
    design = atlas_design(1.0, 3, 500, weights=(2.0, 1.0, 1.0))
    assert design.reaches == (1.0, 0.5, 0.5)
    assert design.radius == pytest.approx(0.5 * math.sqrt(1.5))
    noise = SpectralNoise(1.0, 2.0, design.ball)
    assert [noise.of_layer(column).sums for column in range(3)] == [1.0, 2.0, 2.0]
    assert {noise.of_layer(column).weight for column in range(3)} == {noise.weight}
    assert atlas_design(1.0, 3, 500, weights=(3.0, 3.0, 3.0)) == atlas_design(1.0, 3, 500)


@pytest.mark.parametrize("column", [0, 2])
def test_what_the_ball_leaves_of_weighted_amounts_is_what_their_law_says(column: int) -> None:
    """Half a million simulated records of an answer and three amounts, at two field values."""
    ball = Ball(4, 0.9, reaches=(1.0, 0.5, 0.5, 0.625), answers=(1,))
    law = PublicPrior(0.0, 0.4, 1.25, ball=ball, column=column)
    generator = np.random.default_rng(12)
    values = generator.normal(0.0, math.hypot(0.4, 0.5), (500_000, 4))
    values[:, 1] = generator.choice([-1.0, 1.0], 500_000)
    for field in (0.3, -0.9):
        values[:, column] = field + generator.normal(0.0, 0.5, 500_000)
        found = ball.cut(values)[0][:, column] / 1024.0 / ball.reach(column)
        first, second = law.moments(np.array(field))
        assert float(first) == pytest.approx(found.mean(), abs=0.003)
        assert float(second) == pytest.approx(np.square(found).mean(), abs=0.003)


def test_amounts_beside_answers_lend_each_other_strength() -> None:
    """Two amounts of one field and an answer: the amounts are read beside each other, and found again."""
    cells, yes, amount = town()
    generator, facts = np.random.default_rng(9), PublicFacts(SQUARE, n=cells.size)
    design = atlas_design(SQUARE.spacing, 3, cells.size, answers=(0,))
    design = calibrated(replace(design, paths=1, reading="likelier"), facts, Budget(3.0, 1e-5))
    other = amount + generator.normal(0.0, 0.2, cells.size)
    ready = prepare_atlas(design, facts, cells, np.column_stack([yes, amount, other]))
    layers = draw_release(ready, SimulationEntropy(3), simulation=True).layers
    assert [layer.map_mean is not None for layer in layers] == [False, True, True]
    apart = replace(ready, design=replace(design, reading="apart"))
    alone = draw_release(apart, SimulationEntropy(3), simulation=True).layers
    assert np.array_equal(layers[0].mean, alone[0].mean)  # type: ignore[arg-type]
    assert layers[1].sd.mean() < 0.95 * alone[1].sd.mean()  # type: ignore[union-attr]
    again = read_atlas_again(design, facts, [layer.sums for layer in layers])  # type: ignore[misc]
    for made, layer in zip(again, layers, strict=True):
        assert np.allclose(made.mean, layer.mean, atol=2e-6)  # type: ignore[arg-type]
