"""The check of a release against its model: false alarms as often as said, wrong models noticed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign, fixed_design
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.model_check import (
    ModelCheck,
    _chances,
    _ranks,
    _regions,
    _statistics,
    chance_above,
    chance_unchanged,
    check_model,
    compared,
)
from dpgp_core.spectral.reading import FieldReader
from tests.dpgp_core.hexmap import disk

LATTICE = disk(7, padding=2)
N, RECORDS = 169, 2_000
FACTS = PublicFacts(LATTICE, RECORDS)


@cache
def design() -> SpectralStatisticsDesign:
    found = mechanism_of(fixed_design(400.0)).calibrate(fixed_design(400.0), FACTS, Budget(4.0, 1e-5))
    assert isinstance(found, SpectralStatisticsDesign)
    return found


@cache
def root(share: float) -> np.ndarray:
    """Of the covariance of a field whose range is this share of the design's."""
    prior = make_prior("exponential", LATTICE, share * design().lengthscale)
    return np.linalg.cholesky(prior.correlation() + 1e-9 * np.eye(N))


def checked(seed: int, share: float = 1.0, spread: float = 0.5, outliers: bool = False) -> ModelCheck:
    """The check of one release of a simulated world: clipped records at unknown places, noise and all."""
    generator, plan = np.random.default_rng(seed), prepared_plan(design(), FACTS)
    common = np.sqrt(0.3) * generator.standard_normal()
    field = spread * (np.sqrt(0.7) * (root(share) @ generator.standard_normal(N)) + common)
    cell = generator.integers(0, N, RECORDS)
    value = field[cell] + 0.64 * generator.standard_normal(RECORDS)
    if outliers:
        cell[:200], value[:200] = 84, 9.0
    counts, totals = np.bincount(cell, minlength=N), np.bincount(cell, np.clip(value, -1.0, 1.0), N)
    loadings, noise = plan.features.values, plan.noise
    assert noise.counts is not None
    sums = loadings.T @ totals + noise.sums * generator.standard_normal(loadings.shape[1])
    ones = loadings.T @ counts + noise.counts * generator.standard_normal(loadings.shape[1])
    known = plan.counts(PublicCounts("unknown", float(RECORDS)), ones)
    return check_model(plan.reader(known, paths=False), sums)


def test_a_true_model_is_doubted_about_one_time_in_twenty() -> None:
    """Of 30 worlds at most 6 are doubted at 5 % (more: probability below .002), and not one at a half."""
    chances = np.array([checked(seed).chance for seed in range(30)])
    assert (chances <= 0.05).sum() <= 6
    assert 5 <= (chances <= 0.5).sum() <= 25
    assert chances.min() > 0.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"share": 0.25},
            ("middle patterns vary more", "finest patterns vary more", "widest patterns vary more"),
        ),
        ({"spread": 0.1}, ("rougher", "vary less", "more regions")),
        ({"outliers": True}, ("far stronger", "vary more", "one place is far")),
    ],
    ids=["range off by four", "field too flat", "heavy outliers"],
)
def test_a_wrong_model_is_noticed(change: dict[str, float], said: tuple[str, ...]) -> None:
    """In six worlds of ten, where one in twenty of a true model would be."""
    found = [checked(seed, **change) for seed in range(100, 160)]  # type: ignore[arg-type]
    noticed = [each.about for each in found if each.chance <= 0.05]
    assert len(noticed) >= 36
    fitting = [about for about in noticed if any(word in about for word in said)]
    assert len(fitting) >= len(noticed) - 1


def reader() -> FieldReader:
    plan = prepared_plan(design(), FACTS)
    known = plan.counts(PublicCounts("known", float(RECORDS), np.full(N, RECORDS / N)), None)
    return plan.reader(known, paths=False)


def test_columns_of_one_reader_are_compared_as_each_alone_less_the_mean_of_its_sums() -> None:
    """The replicates are drawn for the first column; 40 standard deviations of mean are no surprise."""
    made, random = reader(), np.random.default_rng(3)
    mean = 40.0 * made.root.diagonal()
    one = replace(made, offset=mean)
    for _ in range(2):
        left = made.root @ random.standard_normal(mean.size)
        alone = compared(LATTICE, made.basis.rows @ made.half.T, made.root, left)
        found = check_model(one, mean + left)
        assert (found.chance, found.about) == (pytest.approx(alone.chance), alone.about)
        assert found.chance > 0.01


def test_a_chance_counts_the_release_itself() -> None:
    """Sums beyond all replicates: ten of the statistics' ranks can tie with the least, so 1/500 to 12/500."""
    assert 0.002 <= check_model(reader(), reader().offset + 1e4).chance <= 0.024


def test_of_exchangeable_rows_no_more_are_doubted_than_said() -> None:
    """Proposition (calibration of the check) of docs/report: any statistics, tied ones too."""
    random = np.random.default_rng(8)
    for statistics in (random.standard_normal((60, 12)), random.integers(0, 4, (60, 12)).astype(float)):
        chances = _chances(_ranks(statistics))
        for level in (1 / 60, 0.05, 0.1, 0.5):
            assert np.mean(chances <= level) <= level
    assert np.mean(_chances(_ranks(random.standard_normal((60, 1)))) <= 0.05) == 0.05


def test_one_place_or_pattern_is_extreme_on_either_side() -> None:
    """The last two statistics, of sums and of their mirror image."""
    white = np.random.default_rng(9).standard_normal((4, reader().root.shape[0]))
    white[0, 3] = -40.0
    link = reader().basis.rows @ reader().half.T
    one, mirrored = (_statistics(LATTICE, link, turned)[:, -2:] for turned in (white, -white))
    assert one == pytest.approx(mirrored, rel=1e-12)
    assert np.all(one[0] > one[1:].max(axis=0))


def test_regions_are_counted_as_connected_parts() -> None:
    """On a disk of 7 hexagons: nothing, one hexagon, all, and two that do not touch."""
    ring = disk(1)
    middle = int(np.argmin(np.linalg.norm(ring.domain_centres, axis=1)))
    outer = [number for number in range(7) if number != middle]
    touching = np.asarray(ring.adjacency.todense())[np.ix_(ring.inside, ring.inside)]
    apart = next(other for other in outer if other != outer[0] and not touching[outer[0], other])
    sets = np.zeros((4, 7), dtype=bool)
    sets[1, middle], sets[2], sets[3, [outer[0], apart]] = True, True, True
    assert _regions(ring, sets).tolist() == [0.0, 1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "value", "chance"),
    [
        ([1.0], 3.841458820694124, 0.05),
        ([1.0, 1.0], 9.210340371976182, 0.01),
        ([3.0, 3.0, 0.0], 27.631021115928547, 0.01),
        ([1.0, 1.0, 0.5, 0.5], 10.0, 0.0134304941),  # 2 e^(-q/2) - e^-q
        ([1.0] * 400, 468.7244983740365, 0.01),
        ([1.0] * 100, 77.92946516501726, 0.95),
        ([1.0], 1e-12, 0.9999992021154),  # one weight, below the mean
        # a few large weights and many small ones, about the mean, below and above it: of k weights w < 1
        # beside two of 1, P(w B > q) + e^(-q/2) (1 - w)^(-k/2) P(w B < (1 - w) q), B chi-squared of k
        ([1.0] * 2 + [0.01] * 1000, 12.0, 0.377254991),
        ([1.0] * 2 + [0.01] * 1000, 8.4, 0.999996398),
        ([1.0] * 2 + [0.01] * 1000, 4.0, 1.0),
        ([1.0] * 2 + [0.002] * 2000, 12.0, 0.0183523558),
        ([1.0] * 2 + [0.05] * 1000, 15.6, 1.0),
        ([0.0], 3.0, 1.0),
        ([1.0], 0.0, 1.0),
        ([1.0], 1e-300, 1.0),
        ([1.0, 1e-9], 1e300, 0.0),
    ],
)
def test_the_law_of_weighted_squares_is_exact(weights: list[float], value: float, chance: float) -> None:
    assert chance_above(np.array(weights), value) == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize(
    ("sums", "unchanged", "drift", "chance"),
    [
        ([4.0], [4.0], [1.0], 0.0455002639),  # two deviations
        ([-4.0], [4.0], [9.0], 0.0455002639),
        ([1.0, 50.0], [1.0, 1.0], [1.0, 0.0], 0.3173105079),  # what no change moves does not count
        ([1.0, 2.0], [1.0, 1.0], [1.0, 1.0], 0.0820849986),  # e^-2.5
        ([1.0, 2.0], [1.0, 1.0], [4.0, 1.0], 0.1189186208),
        ([2.0, 1.0], [1.0, 1.0], [4.0, 1.0], 0.0590853378),
    ],
)
def test_a_difference_counts_where_a_change_would_be_seen(
    sums: list[float], unchanged: list[float], drift: list[float], chance: float
) -> None:
    found = chance_unchanged(np.array(sums), np.diag(unchanged), np.diag(drift), (0.1, 1.0))
    assert found == pytest.approx(chance, abs=1e-6)
