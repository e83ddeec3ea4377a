"""The field's posterior: mean, variance, evidence and paths against dense algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.reading import FieldPosterior, FieldReader, map_variance, variance_given_records
from dpgp_core.spectral.sums import release_sums
from tests.dpgp_core.features.worlds import FakeNoise, dense_posterior, model_on, plan_for
from tests.dpgp_core.hexmap import drawn_law
from tests.oracles.readings import exceedance, excursions, read


def dense(made: Prepared, counts: NodeCounts, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior mean and covariance of the field at the nodes, and the covariance of the sums."""
    a, m, prior = made.features.values, counts.mean, made.prior
    covariance = prior.deviation**2 * (made.basis.rows @ made.basis.rows.T + np.diag(made.basis.rest))
    link = a.T * m
    own = a.T @ np.diag(m * prior.record_noise**2) @ a
    noise = own + (prior.deviation**2 + prior.mean**2) * counts.error
    noise += made.noise.sums**2 * np.eye(made.features.size)
    mean, left = dense_posterior(np.full(m.size, prior.mean), covariance, link, noise, sums)
    return mean, left, link @ covariance @ link.T + noise


def case(radius: int = 3) -> tuple[Prepared, NodeCounts, np.ndarray]:
    made = model_on(radius).prepare(plan_for(field=PublicPrior(-0.3, 0.7, 0.9), density=6.0, mu=1.0))
    generator = np.random.default_rng(6)
    size = made.features.size
    half = generator.normal(size=(size, size))
    counts = NodeCounts(generator.uniform(0.0, 12.0, made.nodes.size), half @ half.T / size)
    return made, counts, generator.normal(0.0, 6.0, size)


def test_mean_variance_and_evidence_are_those_of_dense_algebra() -> None:
    made, counts, sums = case()
    mean, covariance, spread = dense(made, counts, sums)
    reader = made.reader(counts)
    seen = made.basis.rest.max() < 1e-9  # all eigenpairs are kept: nothing is left out
    assert seen
    assert np.allclose(reader.mean(sums), mean, atol=1e-9)
    assert np.allclose(reader.deviation(), np.sqrt(np.diag(covariance)), atol=1e-7)
    offset = made.features.values.T @ (counts.mean * made.prior.mean)
    assert reader.log_evidence(sums) == pytest.approx(
        multivariate_normal(offset, spread).logpdf(sums), rel=1e-9
    )
    many = np.stack([sums, 2.0 * sums], axis=1)
    assert np.allclose(reader.mean(many)[0], mean, atol=1e-9)


def test_paths_have_the_posterior_law() -> None:
    made, counts, sums = case()
    mean, covariance, _ = dense(made, counts, sums)
    reader = made.reader(counts)
    numbers = made.basis.rows.shape[1] + made.features.size + made.nodes.size
    found_mean, found = drawn_law(lambda paths, entropy: reader.draw(sums, paths, entropy), numbers)
    assert np.allclose(found_mean, mean, atol=1e-8)
    assert np.allclose(found, covariance, atol=1e-7)


def test_a_reader_without_paths_says_so() -> None:
    made, counts, sums = case(2)
    with pytest.raises(ValueError, match="without paths"):
        made.reader(counts, paths=False).draw(sums, 1, SimulationEntropy(1))


def test_what_the_basis_leaves_out_stays_in_the_variance() -> None:
    """With few eigenpairs the leading ones explain less, and no cell's prior variance falls below 1."""
    model = model_on(4, pairs=8)
    made = model.prepare(plan_for(density=5.0))
    assert float(made.basis.rest.min()) > 0.05
    assert np.allclose(np.square(made.basis.rows).sum(axis=1) + made.basis.rest, 1.0)
    reader = made.reader(NodeCounts.known(np.zeros(made.nodes.size), made.features.size))
    assert np.allclose(reader.deviation(), made.prior.deviation)
    numbers = made.basis.rows.shape[1] + made.features.size + made.nodes.size
    sums = np.zeros(made.features.size)
    _, found = drawn_law(lambda paths, entropy: reader.draw(sums, paths, entropy), numbers)
    assert np.allclose(np.sqrt(np.diag(found)), made.prior.deviation)


def test_variance_given_records_is_the_textbook_one() -> None:
    made, counts, _ = case()
    few = np.where(np.arange(made.nodes.size) % 3 == 0, 0.0, np.round(counts.mean))
    seen = few > 0
    prior = made.prior
    covariance = prior.deviation**2 * (made.basis.rows @ made.basis.rows.T)
    noise = np.diag(prior.record_noise**2 / few[seen])
    _, left = dense_posterior(
        np.zeros(few.size), covariance, np.eye(few.size)[seen], noise, np.zeros(int(seen.sum()))
    )
    found = variance_given_records(made.basis, prior, few)
    assert np.allclose(found, np.diag(left), atol=1e-6)


def test_probabilities_look_at_the_right_side() -> None:
    made, counts, sums = case()
    posterior = FieldPosterior(made.reader(counts), sums)
    above = exceedance(posterior, 0.1)
    assert np.allclose(above + exceedance(posterior, 0.1, -1.0), 1.0)
    assert np.all(exceedance(posterior, 0.3) < above)
    share = posterior.deviation() / made.prior.deviation
    level = made.prior.level(0.1, share)
    assert np.allclose(above, norm.sf((level - posterior.mean()) / posterior.deviation()), atol=1e-12)
    steps = np.linspace(-0.2, 0.23, made.nodes.cells)
    assert np.all((exceedance(posterior, steps) > above) == (steps < 0.1))


def test_the_map_itself_is_surer_than_the_field() -> None:
    made, counts, sums = case()
    posterior = FieldPosterior(made.reader(counts), sums)
    assert np.all(posterior.map_deviation(counts) < posterior.deviation())


@pytest.mark.parametrize("unseen", [0.0, 0.3])
def test_draws_of_the_map_have_its_deviation_and_covariance(unseen: float) -> None:
    made, counts, sums = case()
    posterior = FieldPosterior(made.reader(counts), sums)
    drawn = posterior.map_draws(counts, 4000, SimulationEntropy(1), unseen)
    stated, found = posterior.map_deviation(counts, unseen), drawn.std(axis=0)
    assert np.abs(found / stated - 1.0).max() < 0.06
    assert np.abs(drawn.mean(axis=0)).max() < 0.06 * stated.max()
    prior, rows = made.prior, made.basis.rows
    hidden = unseen * variance_given_records(made.basis, prior, counts.mean) / prior.deviation**2
    weight = counts.mean / (prior.record_noise**2 + counts.mean * prior.deviation**2 * made.basis.rest)
    records = np.linalg.inv(np.eye(rows.shape[1]) + prior.deviation**2 * (rows.T * weight) @ rows)
    half = posterior.reader.half
    left = np.eye(rows.shape[1]) - half.T @ half - records
    exact = prior.deviation**2 * rows @ left @ rows.T + np.outer(hidden, hidden)
    assert np.abs(np.cov(drawn.T) - exact).max() < 0.08 * exact.max()


def test_what_clipping_hides_of_the_mean_counts_far_from_all_records() -> None:
    released, private = np.array([0.5, 0.5, 1.0]), np.array([0.1, 0.5, 1.0])
    found = map_variance(released, private, 1.0, 0.3)
    assert found == pytest.approx([0.4 + 0.0009, 5e-5 + 0.0225, 1e-4 + 0.09])
    assert map_variance(released, private, 1.0) == pytest.approx([0.4, 5e-5, 1e-4])
    assert map_variance(released, private, 2.0, 0.3) == pytest.approx(
        [0.4 + 0.0009 / 16, 5e-5 + 0.0225 / 16, 1e-4 + 0.09 / 16]
    )


@pytest.mark.parametrize("kind", ["unknown", "reference", "known"])
def test_a_whole_release_finds_a_clear_field(kind: str) -> None:
    """Half of the disk high, half low, 3,000 records: hardly a cell is told wrongly."""
    relation = "values-only" if kind == "known" else "replace-one"
    made = model_on(5).prepare(
        plan_for(mu=1.0, density=33.0, relation=relation, field=PublicPrior(0.0, 0.6, 0.8))  # type: ignore[arg-type]
    )
    from dpgp_core.spectral.sums import GridRecords

    generator = np.random.default_rng(9)
    high = made.nodes.lattice.domain_centres[:, 0] > 0
    cells = generator.integers(0, 91, 3_000)
    records = GridRecords.of(cells, np.where(high[cells], 0.5, -0.5) + 0.4 * generator.normal(size=3_000))
    released = release_sums(made.features, made.nodes, records, made.noise, FakeNoise(3))
    counts = None if kind == "unknown" else np.bincount(cells, minlength=91).astype(float)
    posterior = read(made, released, PublicCounts(kind, 3_000.0, counts))
    told = exceedance(posterior, 0.0) > 0.5
    assert float(np.mean(told == high)) > 0.93
    paths = posterior.paths(300, SimulationEntropy(4))
    assert paths.shape == (300, 91)
    assert np.allclose(paths.mean(axis=0), posterior.mean(), atol=0.12)


def test_cells_of_one_node_are_read_between_nodes() -> None:
    """A domain of 331 cells on at most 60 nodes: the same release path, interpolated values."""
    model = model_on(10, most_nodes=60)
    assert model.nodes.size <= 60
    made = model.prepare(plan_for(mu=2.0, density=20.0, lengthscale=4_000.0))
    from dpgp_core.spectral.sums import GridRecords

    generator = np.random.default_rng(2)
    centres = np.zeros((331, 2))
    centres[:] = model_on(10).nodes.lattice.domain_centres
    field = np.sin(centres[:, 0] / 2_500.0)
    cells = generator.integers(0, 331, 6_000)
    records = GridRecords.of(cells, 0.8 * field[cells] + 0.3 * generator.normal(size=6_000))
    released = release_sums(made.features, made.nodes, records, made.noise, FakeNoise(5))
    posterior = read(made, released, PublicCounts("unknown", 6_000.0))
    assert posterior.mean().shape == (331,)
    assert float(np.corrcoef(posterior.mean(), field)[0, 1]) > 0.97
    # What paths scatter is what is stated of each cell; interpolated between nodes it was half of that.
    paths = posterior.paths(4_000, SimulationEntropy(7))
    assert np.allclose(paths.mean(axis=0), posterior.mean(), atol=0.03)
    ratio = np.var(paths, axis=0) / np.square(posterior.deviation())
    assert ratio.min() > 0.9
    assert ratio.max() < 1.1
    stated = exceedance(posterior, 0.3)
    drawn = np.concatenate(list(excursions(posterior, 0.3, 4_000, SimulationEntropy(8)))).mean(axis=0)
    assert np.abs(drawn - stated).max() < 0.03  # it was 0.09


def test_the_reader_is_made_of_public_things_and_the_counts() -> None:
    made, counts, _ = case(2)
    reader = FieldReader.of(
        made.nodes, made.basis, made.prior, made.features.values, counts, made.noise.sums, paths=False
    )
    assert reader.error_root is None
    assert np.allclose(reader.offset, made.prior.mean * (made.features.values.T @ counts.mean))


def test_a_common_part_takes_the_mean_far_away_from_the_records() -> None:
    """All records on one cell: at the other end a field of known mean keeps it, one of unknown mean moves."""
    model = model_on(5)
    centres = model.nodes.lattice.domain_centres
    here, far = int(np.argmin(centres[:, 0])), int(np.argmax(centres[:, 0]))
    held = np.zeros(model.nodes.size)
    held[here] = 400.0
    found = {}
    for share in (0.0, 0.3):
        plan = replace(plan_for(mu=50.0, lengthscale=700.0), common=share)
        made = model.prepare(plan)
        assert np.allclose(np.square(made.basis.rows).sum(axis=1) + made.basis.rest, 1.0)
        assert made.basis.rows.shape[1] == made.shape.rows.shape[1] + (share > 0)
        reader = made.reader(NodeCounts.known(held, made.features.size), paths=False)
        mean = reader.mean(made.features.values.T @ (0.5 * held))
        assert mean[here] == pytest.approx(0.5, abs=0.05)
        found[share] = float(mean[far])
    assert found[0.0] == pytest.approx(0.0, abs=0.02)
    assert found[0.3] == pytest.approx(0.3 * 0.5, abs=0.03)
    with pytest.raises(ValueError, match="below 1"):
        replace(plan_for(), common=1.0)
