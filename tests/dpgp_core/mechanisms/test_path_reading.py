"""The field behind released paths: probabilities that come true, from one path and public facts alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import exceedance_probability
from dpgp_core.mechanisms import paths as reading
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Reading, mixed, shares
from dpgp_core.mechanisms.paths import PathReader, PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import GRID, PublicFacts
from tests.dpgp_core.hexmap import disk

LATTICE = disk(4, 3)
EACH = 20


def world(seed: int, deviation: float = 0.5) -> tuple[np.ndarray, CollapsedRecords, PublicFacts]:
    """A field on 61 cells and twenty records in each."""
    facts = PublicFacts(LATTICE, EACH * LATTICE.size)
    generator, prior = np.random.default_rng(seed), facts.prior("exponential", 2_000.0)
    field = deviation * prior.colour(generator.standard_normal((prior.white_size, 1)))[:, 0]
    cells = np.repeat(np.arange(LATTICE.size), EACH)
    values = np.clip(field[cells] + 0.5 * generator.standard_normal(cells.size), -1.0, 1.0)
    return field, CollapsedRecords.from_records(cells, values), facts


def paths_of(design: PosteriorSamplingDesign, records: CollapsedRecords, facts: PublicFacts) -> np.ndarray:
    posterior = fit(facts.prior(design.prior, design.lengthscale), records, design.ridge)
    return posterior.draw(design.scale, design.paths, SimulationEntropy(4), design.noise_scale)


@pytest.mark.parametrize("prior", ["car", "exponential"])
@pytest.mark.parametrize("extra", [0.0, 0.001])
def test_sums_behind_a_path_are_the_records_sums(prior: str, extra: float) -> None:
    """With hardly any noise, what is read off a path is what the records' sums over the features are."""
    _, records, facts = world(1)
    design = PosteriorSamplingDesign(prior, 1_500.0, 3.0, 0.001, noise_scale=extra)
    parts = PathReader(design, facts, np.full(LATTICE.size, float(EACH))).parts
    path = paths_of(design, records, facts)[0]
    error = parts.sums.T @ path - parts.loadings.T @ (records.mean * records.count)
    expected = np.sqrt(parts.noise.diagonal())
    assert np.abs(error / expected).max() < 4.5
    assert 0.7 < float(np.sqrt(np.mean(np.square(error / expected)))) < 1.3


def test_a_path_with_hardly_any_noise_gives_the_field() -> None:
    field, records, facts = world(2)
    design = PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.01)
    known = np.full(LATTICE.size, float(EACH))
    found = PathReader(design, facts, known).read(paths_of(design, records, facts), 40, SimulationEntropy(5))
    assert np.corrcoef(found.mean, field)[0, 1] > 0.9
    assert found.draws.shape == (40, LATTICE.size)
    assert 0.1 < float(np.mean(np.square((found.mean - field) / found.sd))) < 1.6


def test_more_noise_leaves_more_doubt() -> None:
    _, records, facts = world(3)
    sure, unsure = (
        PathReader(design, facts).read(paths_of(design, records, facts), 2, SimulationEntropy(6)).sd.mean()
        for design in (
            PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.02),
            PosteriorSamplingDesign("car", 1_500.0, 3.0, 2.0),
        )
    )
    assert sure < 0.75 * unsure


def test_what_is_read_depends_on_the_paths_and_public_facts_alone() -> None:
    """The same path gives the same reading whatever the records were."""
    _, first, facts = world(7)
    second = CollapsedRecords(first.index[:3], np.array([9, 1, 1]), np.zeros(3))
    design = PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3)
    path = paths_of(design, first, facts)
    one, other = (
        questions.read(design, facts, records, path, SimulationEntropy(8)) for records in (first, second)
    )
    assert np.array_equal(one.mean, other.mean)
    assert np.array_equal(one.draws, other.draws)
    assert np.all(one.sd * 2.0**20 == np.round(one.sd * 2.0**20))
    assert np.all(one.draws * 2.0**10 == np.round(one.draws * 2.0**10))


def test_draws_have_the_stated_mean_and_deviation() -> None:
    _, records, facts = world(9)
    design = PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.2)
    found = PathReader(design, facts).read(paths_of(design, records, facts), 600, SimulationEntropy(10))
    assert np.abs((found.draws.mean(axis=0) - found.mean) / found.sd).max() < 0.35
    assert (found.draws.std(axis=0) / found.sd).mean() == pytest.approx(1.0, abs=0.12)


def test_probabilities_from_one_path_come_true() -> None:
    """Forty worlds whose counts are as uneven as the reading believes, and not known to it."""
    stated, true = [], []
    design = PosteriorSamplingDesign("car", 2_000.0, 4.0, 0.3)
    facts = PublicFacts(LATTICE, EACH * LATTICE.size)
    reader, prior = PathReader(design, facts), facts.prior("exponential", 2_500.0)
    generator = np.random.default_rng(11)
    for _ in range(40):
        field = (
            generator.choice([0.25, 0.6])
            * prior.colour(generator.standard_normal((prior.white_size, 1)))[:, 0]
        )
        density = np.exp(0.7 * prior.colour(generator.standard_normal((prior.white_size, 1)))[:, 0])
        cells = generator.choice(LATTICE.size, facts.n, p=density / density.sum())
        values = np.clip(field[cells] + 0.5 * generator.standard_normal(cells.size), -1.0, 1.0)
        records = CollapsedRecords.from_records(cells, values)
        posterior = fit(facts.prior("car", 2_000.0), records, 4.0)
        path = posterior.draw(0.3, 1, SimulationEntropy(int(generator.integers(1 << 30))))
        found = reader.read(path, 0, SimulationEntropy(12))
        stated.append(exceedance_probability(found.mean, found.sd, 0.0))
        true.append(field > 0.0)
    probability, inside = np.concatenate(stated), np.concatenate(true)
    fifth = np.minimum((5 * probability).astype(int), 4)
    gaps = [float(inside[fifth == k].mean() - probability[fifth == k].mean()) for k in range(5)]
    assert max(map(abs, gaps)) < 0.1
    assert float(np.mean(np.square(probability - inside))) < 0.2  # a coin has .25


def test_a_mixture_has_its_mean_and_the_width_of_its_own_interval() -> None:
    """Nine in ten of one quarter N(0, 1) and three quarters N(2, 3^2) lie within 1.645 deviations of 1.5."""
    readings = [
        Reading(np.array([0.0]), np.array([1.0]), np.zeros((2, 1))),
        Reading(np.array([2.0]), np.array([3.0]), np.ones((6, 1))),
    ]
    found = mixed(readings, np.array([0.25, 0.75]))
    assert found.mean.tolist() == [1.5]
    drawn = np.random.default_rng(3).standard_normal(400_000)
    drawn[100_000:] = 2.0 + 3.0 * drawn[100_000:]
    assert np.mean(np.abs(drawn - 1.5) < 1.6449 * found.sd[0]) == pytest.approx(0.9, abs=0.002)
    assert found.draws.sum() == 6.0


def test_a_reading_goes_onto_its_grids_and_a_public_mean_is_added_to_all_of_it_but_its_width() -> None:
    """Draws to 1/1024, means to 2^-20, deviations upwards."""
    reading = Reading(np.array([0.3 * GRID, 1.0]), np.array([1.1 * GRID, 0.0]), np.array([[0.3, -2.0004]]))
    made = reading.on_grid()
    assert made.mean.tolist() == [0.0, 1.0]
    assert made.sd.tolist() == [2 * GRID, 0.0]
    assert made.draws.tolist() == [[307 / 1024, -2.0]]
    moved = made.shifted(np.array([0.5, -0.25]))
    assert moved.mean.tolist() == [0.5, 0.75]
    assert moved.sd.tolist() == [2 * GRID, 0.0]
    assert moved.draws.tolist() == [[819 / 1024, -2.25]]
    assert made.shifted(None) is made


def test_one_reading_is_its_own_mixture() -> None:
    reading = Reading(np.array([0.3, -1.0]), np.array([0.5, 2.0]), np.zeros((1, 2)))
    found = mixed([reading], np.array([1.0]))
    assert found.mean.tolist() == [0.3, -1.0]
    assert found.sd.tolist() == [0.5, 2.0]


def test_a_wide_belief_that_is_unlikely_widens_little() -> None:
    """Four to one for the deviation 1 against 4: variance says 2, nine in ten lie within less."""
    readings = [Reading(np.zeros(1), np.array([sd]), np.zeros((1, 1))) for sd in (1.0, 4.0)]
    assert mixed(readings, np.array([0.8, 0.2])).sd[0] == pytest.approx(1.71, abs=0.01)


def test_errors_of_believed_counts_sum_to_zero() -> None:
    """n is public: what is not known is where the records are, not how many."""
    _, _, facts = world(1)
    counts = PathReader(PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3), facts).counts
    assert counts.relative is not None
    assert counts.mean.sum() == pytest.approx(facts.n)
    assert np.abs(counts.mean @ counts.relative).max() < 1e-9 * facts.n


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_mechanism_offers_a_probability(name: str) -> None:
    """By its own release or by a reading of its paths: a mechanism has one or the other."""
    mechanism = MECHANISMS[name]
    reads = questions.read.dispatch(mechanism.design_type) is not questions.read.dispatch(object)
    assert reads != mechanism.free_paths  # paths that are free are draws of the field themselves


def test_the_beliefs_that_paths_weigh() -> None:
    """Deviations in response units; scatters and ranges as parts of the deviation and of the lengthscale."""
    assert reading.DEVIATIONS == (0.2, 0.4, 0.8)
    assert reading.SCATTERS == (0.7, 2.0)
    assert reading.RANGES == (0.7, 1.6, 4.0)
    assert (reading.PATTERNS, reading.CONSTANT, reading.LEAST_WEIGHT) == (128, 0.2, 0.02)


@pytest.mark.parametrize("prior", ["car", "exponential"])
@pytest.mark.parametrize(("noise", "paths"), [(0.0, 1), (0.0, 4), (0.2, 4)])
def test_the_sums_behind_paths_have_exactly_the_stated_law(prior: str, noise: float, paths: int) -> None:
    """On dense matrices of 61 cells, a node each: the records' sums, and the noise that is left on them."""
    _, records, facts = world(1)
    design = PosteriorSamplingDesign(prior, 1_500.0, 3.0, 0.3, noise_scale=noise, paths=paths)
    parts = PathReader(design, facts, np.full(LATTICE.size, float(EACH))).parts
    covariance = facts.prior(prior, 1_500.0).correlation()
    posterior = np.linalg.inv(np.linalg.inv(covariance) + EACH / 9.0 * np.eye(LATTICE.size))
    law = (0.09 * posterior + noise**2 * covariance) / paths
    np.testing.assert_allclose(parts.noise, parts.sums.T @ law @ parts.sums, atol=2e-8)
    assert parts.noise.diagonal() == pytest.approx(np.full(61, (1.0 + 1e-9) / paths), rel=1e-12)
    mean = posterior @ (EACH / 9.0 * records.mean)
    np.testing.assert_allclose(parts.sums.T @ mean, parts.loadings.T @ (EACH * records.mean), atol=1e-6)
    np.testing.assert_allclose(parts.within @ parts.within.T, posterior, atol=1e-6)


def test_errors_of_believed_counts_add_what_they_do_to_the_sums() -> None:
    """By the published formula, with dense matrices, for paths and for the field of each range."""
    _, _, facts = world(1)
    design = PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3, noise_scale=0.2, paths=4)
    reader = PathReader(design, facts)
    counts, parts = reader.counts, reader.parts
    assert counts.relative is not None
    shared = counts.mean[:, None] * counts.relative
    errors = shared @ shared.T + np.diag(counts.white)
    posterior = parts.within @ parts.within.T
    by_paths, by_field = reader.from_counts
    law = errors * posterior * (0.09 + 0.04) / 4.0
    np.testing.assert_allclose(by_paths, parts.loadings.T @ law @ parts.loadings, rtol=1e-9, atol=1e-12)
    assert len(by_field) == 3
    for factor, found in zip((0.7, 1.6, 4.0), by_field, strict=True):
        rows = reader._basis(factor).rows
        left = rows - posterior @ (counts.mean[:, None] / 9.0 * rows)
        law = errors * (left @ left.T)
        np.testing.assert_allclose(found, parts.loadings.T @ law @ parts.loadings, rtol=1e-9, atol=1e-12)


def test_a_field_has_twice_as_many_patterns_as_are_read_and_a_constant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "PATTERNS", 3)
    reader = PathReader(PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3), world(1)[2])
    assert reader._basis(1.0).rows.shape == (61, 7)
    assert reader.parts.sums.shape == (61, 3)


def test_ranges_of_the_field_are_times_the_designs_lengthscale(monkeypatch: pytest.MonkeyPatch) -> None:
    """.7, 1.6 and 4 times 1,500 m, and 1.6 times for the counts."""
    reader = PathReader(PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3), world(1)[2])
    asked, real = [], reader.model.smooth_pairs

    def pairs(name: str, lengthscale: float) -> object:
        asked.append((name, round(lengthscale, 6)))
        return real(name, lengthscale)

    monkeypatch.setattr(reader.model, "smooth_pairs", pairs)
    assert reader.counts.relative is not None
    reader.from_counts  # noqa: B018 - looked at so that it is made
    assert asked == [("exponential", each) for each in (2400.0, 1050.0, 2400.0, 6000.0)]


def test_draws_are_shared_out_by_weight_and_add_up() -> None:
    """Ends of the shares 2.5, 5, 10 are rounded to even; none is lost."""
    assert shares(np.array([0.25, 0.25, 0.5]), 10) == [2, 3, 5]
    assert shares(np.array([0.999, 0.001]), 10) == [10, 0]


def test_a_reading_weighs_all_beliefs_and_leaves_the_unlikely_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three beliefs with evidence log 98, 0 and log 1.9: the last two have 1.0 % and 1.9 %."""
    reader = PathReader(PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3), world(1)[2])
    assert [tuple(each) for each in reader._beliefs()] == [
        (place, deviation, scatter)
        for place in (0, 1, 2)
        for deviation in (0.2, 0.4, 0.8)
        for scatter in (0.7, 2.0)
    ]
    real, made = reader._posterior, []

    def posterior(self: PathReader, sums: np.ndarray, *belief: float) -> object:
        made.append(belief)
        return real(sums, *belief)  # type: ignore[arg-type]

    evidence = iter(np.log([98.0, 1.0, 1.9]))
    monkeypatch.setattr(PathReader, "_beliefs", lambda self: [(0, 0.2, 0.7), (1, 0.4, 0.7), (2, 0.8, 2.0)])
    monkeypatch.setattr(PathReader, "_posterior", posterior)
    monkeypatch.setattr(reading.FieldReader, "log_evidence", lambda *_: next(evidence))
    weights: list[list[float]] = []

    def mixture(readings: list[Reading], weight: np.ndarray) -> Reading:
        weights.append(weight.tolist())
        assert [each.draws.shape for each in readings] == [(10, 61)]
        return mixed(readings, weight)

    monkeypatch.setattr(reading, "mixed", mixture)
    path = np.random.default_rng(1).normal(size=(2, 61))
    found = reader.read(path, 10, SimulationEntropy(1))
    assert made == [(0, 0.2, 0.7), (1, 0.4, 0.7), (2, 0.8, 2.0)]
    assert weights == [[1.0]]
    assert found.draws.shape == (10, 61)


def test_public_counts_and_known_places_are_believed_as_they_are() -> None:
    """Known places leave no doubt; counts that are publicly expected are the prior's own."""
    _, _, facts = world(1)
    design, known = PosteriorSamplingDesign("car", 1_500.0, 3.0, 0.3), np.arange(61.0)
    counts = PathReader(design, facts, known).counts
    assert counts.relative is None
    assert counts.white.tolist() == 61 * [0.0]
    assert counts.mean.tolist() == [1e-9, *range(1, 61)]
    expected = PathReader(design, PublicFacts(LATTICE, 1830, counts=known)).counts
    np.testing.assert_allclose(expected.mean.sum(), 1830.0, rtol=1e-9)
    assert np.corrcoef(expected.mean, known)[0, 1] > 0.99


@pytest.mark.parametrize(
    ("mean", "sd", "draws", "said"),
    [
        (np.zeros(2), np.ones(3), np.zeros((4, 2)), "one number per cell"),
        (np.zeros(2), np.ones(2), np.zeros((2, 3)), "one number per cell"),
        (np.array([0.0, np.nan]), np.ones(2), np.zeros((4, 2)), "must be finite"),
        (np.zeros(2), np.array([1.0, np.inf]), np.zeros((4, 2)), "must be finite"),
        (np.zeros(2), np.ones(2), np.full((4, 2), np.nan), "must be finite"),
        (np.zeros(2), np.array([0.0, -1e-9]), np.zeros((4, 2)), "must not be negative"),
    ],
)
def test_a_reading_that_cannot_be_does_not_exist(
    mean: np.ndarray, sd: np.ndarray, draws: np.ndarray, said: str
) -> None:
    with pytest.raises(InvalidValue, match=said):
        Reading(mean, sd, draws)
    assert Reading(np.zeros(2), np.zeros(2), np.zeros((0, 2))).draws.shape == (0, 2)


def test_a_mixture_of_readings_finds_its_width_to_a_part_in_sixty_thousand() -> None:
    """Two equal beliefs of deviation 0 at -1 and 1: nine tenths need 1/1.6449, and never a bit less."""
    sure = [Reading(np.array([place]), np.zeros(1), np.zeros((1, 1))) for place in (-1.0, 1.0)]
    width = mixed(sure, np.array([0.5, 0.5])).sd[0]
    assert 0.0 <= width * 1.6448536269514722 - 1.0 < 1e-4
    assert mixed([sure[0], sure[0]], np.array([0.5, 0.5])).sd[0] == pytest.approx(1e-12)
