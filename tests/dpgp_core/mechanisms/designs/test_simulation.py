"""What a search simulates and an attack sees, done again step by step from the parts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.excursion import bce, exceedance_probability
from dpgp_core.mechanisms import posterior_sampling, questions
from dpgp_core.mechanisms.cell_sums import release_statistics
from dpgp_core.mechanisms.noisy_cell_statistics import noise_aware_posterior
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import smooth
from dpgp_core.releasing import PublicFacts, Released, draw_release
from dpgp_core.simulation import SEED, World
from tests.dpgp_core.hexmap import disk
from tests.dpgp_core.mechanisms.beside import table
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS

LATTICE = disk(3, padding=1)
OFFSET = np.linspace(-0.2, 0.4, 37)
HELD, LABELS, LEVEL = np.array([3, 17, 30]), np.array([True, False, True]), 0.1
RAW = sorted(set(DESIGNS) - {"posterior-sampling", *table("SEEN_AS_PATHS")})
SEEDS = {"bin-means": 6, **table("SEEDS")}
MAPS = list(SEEDS)  # read as mean and deviation
SAMPLING: Any = MECHANISMS["posterior-sampling"]
PATHS = PosteriorSamplingDesign("car", 900.0, 1.5, 0.4, 0.2, paths=3)


def records(seed: int, n: int = 150) -> CollapsedRecords:
    generator = np.random.default_rng(seed)
    return CollapsedRecords.from_records(generator.integers(0, 37, n), generator.uniform(-1.0, 1.0, n))


def world(name: str) -> World:
    """150 records, 120 of others to train on, three cells held out, and a public mean of -.2 to .4."""
    public = MECHANISMS[name].protection.what == "values"
    facts = PublicFacts(LATTICE, 150, places_public=public)
    return World(facts, records(1), records(2, 120), HELD, LABELS, LEVEL, "above", OFFSET)


def probability(released: Released) -> np.ndarray:
    assert released.mean is not None
    assert released.sd is not None
    return exceedance_probability(released.mean + OFFSET, released.sd, LEVEL)


def maps(name: str, made: World, held: CollapsedRecords, seed: int, releases: int) -> list[Released]:
    """Simulated releases, all from one stream of noise."""
    prepared: Any = MECHANISMS[name].prepare(DESIGNS[name], made.facts, held)
    found: list[Released] = prepared.without_paths(SimulationEntropy(SEED + seed), releases)
    return found


@pytest.mark.parametrize(("name", "seed"), list(SEEDS.items()))
def test_twelve_releases_of_all_records_are_simulated_and_cut(name: str, seed: int) -> None:
    """Every cutoff cuts the same probabilities, from noise that no other simulation has."""
    made = world(name)
    expected = np.array([probability(each) for each in maps(name, made, made.records, seed, 12)])
    for cutoff in (0.5, 0.3):
        found = questions.simulate(replace(DESIGNS[name], cutoff=cutoff), made)
        np.testing.assert_array_equal(found, expected >= cutoff)


@pytest.mark.parametrize("name", MAPS)
def test_held_out_cells_are_judged_by_three_releases_of_the_training_records(name: str) -> None:
    made = world(name)
    each = [bce(probability(one)[HELD], LABELS) for one in maps(name, made, made.training, 4, 3)]
    found = questions.held_out(DESIGNS[name], made)
    assert found.bce == pytest.approx(sum(each) / 3, rel=1e-9)
    assert np.isnan(found.effective_dimension)


@pytest.mark.parametrize("name", MAPS)
def test_as_many_sets_as_are_asked_for_are_published_of_the_given_records(name: str) -> None:
    made, design = world(name), replace(DESIGNS[name], cutoff=0.4)
    expected = [probability(one) >= 0.4 for one in maps(name, made, made.training, 50, 2)]
    found = questions.simulated_sets(design, made, made.training, 2, SimulationEntropy(SEED + 50))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("cutoff", [0.5, 0.3])
def test_four_releases_of_cell_statistics_are_simulated_read_and_cut(cutoff: float) -> None:
    made, name = world("noisy-cell-statistics"), "noisy-cell-statistics"
    design = replace(DESIGNS[name], cutoff=cutoff)

    def read(held: CollapsedRecords, seed: int, releases: int) -> list[Released]:
        entropy, found = SimulationEntropy(seed), []
        for _ in range(releases):
            noisy = release_statistics(held, 37, 2.0, entropy)
            posterior = noise_aware_posterior(noisy, made.facts.prior("car", 900.0), 1.5, 0.4)
            found.append(Released(np.zeros((1, 37)), posterior.mean, 0.4 * np.sqrt(posterior.variance)))
        return found

    drawn = read(made.records, SEED + 2, 4)
    expected = np.array([probability(each) >= cutoff for each in drawn])
    np.testing.assert_array_equal(questions.simulate(design, made), expected)
    np.testing.assert_array_equal(questions.simulate(design, made, quick=True), expected)
    each = [bce(probability(one)[HELD], LABELS) for one in drawn]
    assert questions.held_out(design, made).bce == pytest.approx(sum(each) / 4, rel=1e-9)
    found = questions.simulated_sets(design, made, made.training, 3, SimulationEntropy(9))
    np.testing.assert_array_equal(found, [probability(one) >= cutoff for one in read(made.training, 9, 3)])


@pytest.mark.parametrize(("draws", "releases"), [(2, 12), (1, 8)])
def test_spectral_simulations_have_twelve_releases_of_two_counts_and_a_glance_eight_of_one(
    draws: int, releases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with noise of its own."""
    seen: list[tuple[int, int]] = []
    module = "dpgp_core.mechanisms.spectral_statistics"
    real: Any = __import__(module, fromlist=["SharedReadings"]).SharedReadings

    def readings(*given: Any, **named: Any) -> Any:
        seen.append((given[3], given[5]))
        assert np.array_equal(given[4].normal((4,)), SimulationEntropy(SEED + 5 + draws).normal((4,)))
        return real(*given, **named)

    monkeypatch.setattr(f"{module}.SharedReadings", readings)
    made = world("spectral-statistics")
    found = questions.simulate(DESIGNS["spectral-statistics"], made, quick=draws == 1)
    assert found.shape == (releases, 37)
    assert seen == [(releases, draws)]


@pytest.mark.parametrize(
    ("design", "count"),
    [
        (replace(PATHS, paths=1), 12),
        (PATHS, 4),
        (replace(PATHS, paths=30), 4),
        (replace(DESIGNS["bin-means"], paths=30), 12),
        *((DESIGNS[name], 12) for name in table("SEEDS")),
    ],
)
def test_twelve_sets_are_simulated_or_fewer_where_paths_cost_work(
    design: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held-out cells by releases of the training records; the simulation that every mechanism inherits."""
    seen: list[tuple[Any, Any, Any, int, float]] = []

    def sets(given: Any, made: Any, held: Any, releases: int, entropy: Any) -> str:
        seen.append((given, made, held, releases, float(entropy.normal((1,))[0])))
        return "sets"

    monkeypatch.setattr(questions, "simulated_sets", sets)
    made = world(design.mechanism)
    assert questions.simulate_held_out(design, made) == "sets"
    assert questions.simulate.dispatch(object)(design, made, quick=True) == "sets"
    first, second = (float(SimulationEntropy(SEED + more).normal((1,))[0]) for more in (3, 0))
    assert seen == [
        (design, made, made.training, count, first),
        (design, made, made.records, count, second),
    ]


def test_the_inherited_sets_and_held_out_cells_come_from_releases_of_their_own() -> None:
    """Paths of posterior sampling, whose probabilities are their shares of votes."""
    made = world("posterior-sampling")
    prepared = SAMPLING.prepare(PATHS, made.facts, made.training)
    entropy = SimulationEntropy(9)
    expected = [made.published(draw_release(prepared, entropy, simulation=True), PATHS) for _ in range(2)]
    found = questions.simulated_sets.dispatch(object)(PATHS, made, made.training, 2, SimulationEntropy(9))
    np.testing.assert_array_equal(found, expected)
    released = draw_release(prepared, SimulationEntropy(SEED + 4), simulation=True)
    share = np.mean(released.paths + OFFSET >= LEVEL, axis=0)
    judged = questions.held_out.dispatch(object)(PATHS, made)
    assert judged.bce == pytest.approx(bce(share[HELD], LABELS), rel=1e-9)


def test_paths_vote_in_simulations_and_prior_noise_is_added_to_them() -> None:
    """Two releases of two paths over three cells, after two rounds of smoothing."""
    mean = np.array([0.0, 0.2, -1.0])
    paths = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, 0.0, 4.0]])
    noise = np.array([[0.0, 0.0, 0.0], [-4.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    kept = {"posterior sampling": {2: (mean, paths)}, "prior noise": {2: noise}}
    sizes: list[tuple[str, int]] = []

    def keep(kind: str, _key: Any, _make: Any, most: int) -> Any:
        sizes.append((kind, most))
        return kept[kind]

    made: Any = SimpleNamespace(
        key=0,
        cache=SimpleNamespace(keep=keep),
        releases=lambda paths: 2,
        level=0.0,
        direction="above",
        facts=SimpleNamespace(prior=None),
    )
    design = PosteriorSamplingDesign("car", 900.0, 1.5, 0.5, paths=2, smoothing=2, cutoff=1.0)
    # Votes of .5 paths + mean: (1, .5, 0), (.5, .5, .5); with a quarter of the noise (.5, .5, 0), (.5, 0, .5)
    assert questions.simulate(design, made).tolist() == [[True, False, False], [False, False, False]]
    half = replace(design, cutoff=0.5)
    assert questions.simulate(half, made).tolist() == [[True, True, False], [True, True, True]]
    noisy = replace(half, noise_scale=0.25)
    assert questions.simulate(noisy, made).tolist() == [[True, True, False], [True, False, True]]
    assert questions.simulate(replace(noisy, cutoff=1.0), made).tolist() == 2 * [3 * [False]]
    assert sizes[:3] == [("posterior sampling", 2), ("posterior sampling", 2), ("posterior sampling", 2)]
    assert sizes[3] == ("prior noise", 2)


def test_simulated_paths_are_the_worlds_posteriors_smoothed_in_turn() -> None:
    """After 0, 2, 6 and 15 rounds; the public mean belongs to the mean alone."""
    made = world("posterior-sampling")
    parts = dict(posterior_sampling._smoothed_parts(PATHS, made, 12))
    state = made.family("car", 900.0, 12).at(1.5)
    assert list(parts) == [0, 2, 6, 15]
    for rounds, (mean, paths) in parts.items():
        expected = smooth(LATTICE, state.mean + OFFSET, rounds) if rounds else state.mean + OFFSET
        np.testing.assert_allclose(mean, expected, atol=1e-12)
        np.testing.assert_allclose(paths, smooth(LATTICE, state.residual_paths, rounds), atol=1e-12)
    prior = made.facts.prior("car", 900.0)
    noise = posterior_sampling._prior_noise(PATHS, made, 12)
    drawn = prior.colour(SimulationEntropy(SEED + 1).normal((prior.white_size, 12))).T
    for rounds, each in noise.items():
        np.testing.assert_allclose(each, smooth(LATTICE, drawn, rounds), atol=1e-12)


def test_paths_are_judged_on_held_out_cells_by_their_exact_law() -> None:
    """Deviation sqrt(.16 V + .04) about the posterior mean; the dimension is that of all records."""
    made = world("posterior-sampling")
    posterior = fit(made.facts.prior("car", 900.0), made.training, 1.5)
    sd = np.sqrt(0.16 * posterior.variance[HELD] + 0.04)
    found = questions.held_out(PATHS, made)
    expected = bce(exceedance_probability(posterior.mean[HELD] + OFFSET[HELD], sd, LEVEL), LABELS)
    assert found.bce == pytest.approx(expected, rel=1e-9)
    cells = np.repeat(made.records.index, made.records.count)
    covariance = made.facts.prior("car", 900.0).correlation()[np.ix_(cells, cells)]
    dimension = np.trace(covariance @ np.linalg.inv(covariance + 2.25 * np.eye(150)))
    assert found.effective_dimension == pytest.approx(dimension, rel=1e-9)


@pytest.mark.parametrize("name", RAW)
def test_an_attack_sees_what_is_released_wherever_it_looks(name: str) -> None:
    """All numbers of the first release, then of the second; of cell statistics those of its cells."""
    mechanism, made, cells = MECHANISMS[name], world(name), list(range(37))
    prepared = mechanism.prepare(DESIGNS[name], made.facts, made.records)
    raw = draw_release(prepared, SimulationEntropy(1), simulation=True).raw
    found = questions.seen(
        DESIGNS[name], made.facts, made.records, cells, questions.Draws(3, SimulationEntropy(1))
    )
    assert found.shape == (3, 1, sum(part.size for part in raw))
    np.testing.assert_array_equal(found[0, 0], np.concatenate(raw))
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[1], found[2])
    if name == "noisy-cell-statistics":
        few = questions.seen(
            DESIGNS[name], made.facts, made.records, [5, 2], questions.Draws(3, SimulationEntropy(1))
        )
        np.testing.assert_array_equal(few, found[:, :, [5, 2, 42, 39]])


def test_an_attack_on_known_places_sees_sums_alone_of_spectral_statistics() -> None:
    held = records(1)
    facts, design = PublicFacts(LATTICE, 150, places_public=True), DESIGNS["spectral-statistics"]
    mechanism = MECHANISMS["spectral-statistics"]
    prepared = mechanism.prepare(design, facts, held)
    (sums,) = draw_release(prepared, SimulationEntropy(1), simulation=True).raw
    found = questions.seen(design, facts, held, [0], questions.Draws(2, SimulationEntropy(1)))
    assert found.shape == (2, 1, sums.size)
    np.testing.assert_array_equal(found[0, 0], sums)


@pytest.mark.parametrize(("chunk", "portions"), [(222, [2, 2, 1]), (4_000_000, [5]), (1, [1, 1, 1, 1, 1])])
def test_many_releases_of_paths_are_drawn_in_portions(
    chunk: int, portions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three paths of 37 numbers each: 222 numbers are two releases."""
    monkeypatch.setattr(posterior_sampling, "CHUNK", chunk)
    made, entropy = world("posterior-sampling"), SimulationEntropy(1)
    posterior = fit(made.facts.prior("car", 900.0), made.records, 1.5)
    drawn = [posterior.draw(0.4, 3 * each, entropy, 0.2)[:, [5, 2]].reshape(each, 3, 2) for each in portions]
    found = questions.seen(PATHS, made.facts, made.records, [5, 2], questions.Draws(5, SimulationEntropy(1)))
    assert found.shape == (5, 3, 2)
    np.testing.assert_allclose(found, np.concatenate(drawn), atol=2.0**-20)


def test_the_law_of_a_path_at_the_cells_of_its_records() -> None:
    """Four records of sum 2 in the first of two cells of correlation 1/2, ridge 2, by hand."""
    design = PosteriorSamplingDesign("car", 900.0, 2.0, 0.4, 0.3)
    covariance = np.array([[1.0, 0.5], [0.5, 1.0]])
    count, pull = np.array([4.0, 0.0]), np.array([2.0, 0.0])
    mean, law = questions.law(design, covariance, count, pull, [0, 1])
    np.testing.assert_allclose(mean, [0.25, 0.125], rtol=1e-12)
    np.testing.assert_allclose(law, [[0.17, 0.085], [0.085, 0.23]], rtol=1e-12)
    mean, law = questions.law(design, covariance, count, pull, [1])
    np.testing.assert_allclose(mean, [0.125], rtol=1e-12)
    np.testing.assert_allclose(law, [[0.23]], rtol=1e-12)


def test_the_law_of_cell_statistics_is_their_sums_and_counts_with_the_noise() -> None:
    mean, law = questions.law(
        replace(DESIGNS["noisy-cell-statistics"], statistic_noise=3.0),
        np.eye(2),
        np.array([4.0, 1.0]),
        np.array([2.0, -0.5]),
        [0, 1],
    )
    assert mean.tolist() == [2.0, -0.5, 4.0, 1.0]
    assert law.tolist() == (9.0 * np.eye(4)).tolist()
    for name in sorted(set(DESIGNS) - {"posterior-sampling", "noisy-cell-statistics"}):
        assert questions.law(DESIGNS[name], np.eye(2), np.ones(2), np.ones(2), [0]) is None
