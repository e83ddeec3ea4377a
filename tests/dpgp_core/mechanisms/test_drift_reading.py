"""The reading with a published reference: against dense algebra, and honest about worlds of its own prior."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import Direction, exceedance_probability
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import drift_reading
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit_cells
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.prior import at_nodes, standardised
from dpgp_core.spectral.public_field import MapModel, PublicField
from tests.dpgp_core.hexmap import disk

LATTICE = disk(3)
NODES = Nodes.of(LATTICE)
SIZE = LATTICE.size
SPACING = LATTICE.spacing
MODEL = MapModel("exponential", 3 * SPACING, 0.7, 0.0, 4.0)


def field_of(deviation: float = 0.02, scatter: float = 0.02, records: int = 12) -> PublicField:
    """A public field from records at some nodes; so small that clipping to 1 does nothing."""
    rng = np.random.default_rng(5)
    index = np.sort(rng.permutation(SIZE)[:records])
    count = rng.integers(1, 5, records).astype(np.float64)
    mean = deviation * rng.standard_normal(records)
    return PublicField(NODES, index, count, mean, deviation, scatter, 4 * SPACING, MODEL)


def uneven(field: PublicField) -> PublicField:
    """The same where records scatter more in one half."""
    return replace(field, local=np.where(np.arange(SIZE) % 2 == 0, 0.7, 1.6))


def features(size: int = 9) -> Floats:
    rng = np.random.default_rng(8)
    return rng.standard_normal((SIZE, size)) / np.sqrt(size * SIZE)


def known_counts(size: int = 9) -> NodeCounts:
    rng = np.random.default_rng(9)
    return NodeCounts.known(rng.integers(0, 4, SIZE).astype(np.float64), size)


def test_a_public_field_is_the_posterior_of_its_records_with_an_unknown_mean() -> None:
    """Against a Gaussian process whose constant mean has a very wide prior."""
    field = field_of()
    centres = NODES.lattice.domain_centres
    kernel = 0.02**2 * np.exp(-cdist(centres, centres) / (4 * SPACING)) + 1e4 * 0.02**2
    inner = kernel[np.ix_(field.index, field.index)] + np.diag(0.02**2 / field.count)
    weights = np.linalg.solve(inner, kernel[field.index])
    assert field.at_cells(centres) == pytest.approx(weights.T @ field.mean, abs=1e-5)
    assert field.covariance == pytest.approx(kernel - kernel[field.index].T @ weights, abs=1e-6)
    assert field.bound == pytest.approx(2.5 * 0.02 * np.sqrt(1.25))


def test_columns_of_a_public_field_have_normal_weights() -> None:
    """Against a dense Gaussian process, at nodes of one cell each and of several."""
    column = standardised(LATTICE.domain_centres[:, :1])
    field = replace(field_of(), columns=column, covariates=0.6)
    centres = NODES.lattice.domain_centres
    kernel = 0.4 * np.exp(-cdist(centres, centres) / (4 * SPACING)) + 0.6 * column @ column.T
    kernel = 0.02**2 * (kernel + 1e4)
    inner = kernel[np.ix_(field.index, field.index)] + np.diag(0.02**2 / field.count)
    weights = np.linalg.solve(inner, kernel[field.index])
    assert field.at_cells(centres) == pytest.approx(weights.T @ field.mean, abs=1e-5)
    assert field.covariance == pytest.approx(kernel - kernel[field.index].T @ weights, abs=1e-6)
    plain = replace(field, columns=None, covariates=0.0)
    more = field.drift - plain.drift - 0.25 * (
        np.outer(each := field.at_nodes - np.average(field.at_nodes[field.index], weights=field.count), each)
        - np.outer(other := plain.at_nodes - np.average(plain.at_nodes[plain.index], weights=plain.count),
                   other)
    )  # fmt: skip
    assert more == pytest.approx(0.12 * 0.02**2 * column @ column.T, abs=1e-9)
    coarse = Nodes.of(disk(7), 60)
    shared = PublicField(coarse, np.array([0, 9]), np.ones(2), np.array([1.0, -1.0]), 1.0, 0.5, 900.0)
    along = at_nodes(coarse, disk(7).domain_centres[:, :1])
    told = replace(shared, columns=along, covariates=0.9).at_cells(disk(7).domain_centres)
    assert np.abs(np.corrcoef(told, along[coarse.place, 0])[0, 1]) > 0.9


@pytest.mark.parametrize(("slope", "kept"), [(0.7, 0.6), (0.0, 0.0)])
def test_public_columns_are_kept_where_they_make_records_likelier(slope: float, kept: float) -> None:
    rng = np.random.default_rng(3)
    cell, column = rng.integers(0, SIZE, 150), standardised(LATTICE.domain_centres[:, :1])
    response = slope * column[cell, 0] + 0.3 * rng.standard_normal(150)
    found = PublicField.of(NODES, cell, response, LATTICE.domain_centres[:, :1])
    assert found.covariates == kept
    assert (found.columns is None) is (kept == 0.0)


def test_evidence_finds_range_and_share_of_a_field_that_was_drawn() -> None:
    big = Nodes.of(disk(12))
    centres, rng = big.lattice.domain_centres, np.random.default_rng(2)
    kernel = np.exp(-cdist(centres, centres) / (8 * big.lattice.spacing))
    drawn = np.linalg.cholesky(kernel + 1e-9 * np.eye(big.size)) @ rng.standard_normal(big.size)
    cell = np.repeat(np.arange(big.size), 3)
    response = 3.0 + drawn[cell] + 0.7 * rng.standard_normal(cell.size)
    found = PublicField.of(big, cell, response)
    assert found.lengthscale / big.lattice.spacing in (4.0, 8.0, 16.0)
    assert found.scatter == pytest.approx(0.7, abs=0.12)
    assert np.corrcoef(found.at_cells(centres), drawn)[0, 1] > 0.85
    moved = found.rescaled(1.0, 2.0)
    assert moved.at_cells(centres) == pytest.approx((found.at_cells(centres) - 1.0) / 2.0)
    assert moved.covariance == pytest.approx(found.covariance / 4.0)
    with pytest.raises(InvalidValue, match="do not differ"):
        PublicField.of(big, cell, np.ones(cell.size))


def test_local_scatter_is_found_where_records_scatter_more() -> None:
    """Twice as much in the east; one outlier changes little, and cells of one record say nothing."""
    big, rng = Nodes.of(disk(12)), np.random.default_rng(3)
    cell = np.repeat(np.arange(big.size), 8)
    east = big.lattice.domain_centres[:, 0] > 0.0
    response = np.where(east, 1.0, 0.5)[cell] * rng.standard_normal(cell.size)
    local = np.asarray(PublicField.of(big, cell, response).local)
    far = np.abs(big.lattice.domain_centres[:, 0]) > 5 * big.lattice.spacing
    assert local[far & east].mean() / local[far & ~east].mean() == pytest.approx(2.0, abs=0.25)
    response[0] = 100.0
    assert np.all(np.asarray(PublicField.of(big, cell, response).local) < 2.0)
    single = PublicField.of(big, np.arange(big.size), response[: big.size])
    assert single.local == pytest.approx(np.ones(big.size))


def test_where_records_scatter_more_the_field_is_rougher() -> None:
    field, local = field_of(), np.asarray(uneven(field_of()).local)
    assert uneven(field).covariance == pytest.approx(field.covariance * np.outer(local, local))
    assert uneven(field).scatters == pytest.approx(0.02 * local)
    assert field.scatters == pytest.approx(np.full(SIZE, 0.02))


def test_sums_vary_with_counts_that_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """V against 40,000 worlds: counts off their means, a field that changes from node to node, scatter."""
    monkeypatch.setattr(drift_reading, "DRIFTS", (1e-7,))
    monkeypatch.setattr(drift_reading, "TRUSTS", (1.0,))
    field, a, m, rng = uneven(field_of()), features(4), np.full(SIZE, 9.0), np.random.default_rng(3)
    counts = replace(NodeCounts.known(m, 4), growth=0.4)
    (belief,) = DriftReader(field, a, counts, 1e-5).beliefs
    drawn = field.roots[0] @ rng.standard_normal((SIZE, 40_000))
    number = 9.0 + np.sqrt(0.4 * 81.0 + 2.0 * 9.0) * rng.standard_normal(drawn.shape)
    scatter = 3.0 * field.scatters[:, None] * rng.standard_normal(drawn.shape)
    sums = a.T @ (number * drawn + scatter)
    assert (belief.root @ belief.root.T).diagonal() == pytest.approx(np.var(sums, axis=1), rel=0.03)


def test_what_is_made_anew_does_not_travel() -> None:
    field = field_of()
    covariance = field.covariance
    again = pickle.loads(pickle.dumps(field))
    assert "covariance" not in vars(again)
    assert np.array_equal(again.covariance, covariance)


def test_the_covariance_of_a_drift_is_a_shift_smooth_change_and_a_change_of_scale() -> None:
    field = field_of()
    contrast = field.at_cells(NODES.lattice.domain_centres)
    contrast = contrast - np.average(contrast[field.index], weights=field.count)
    assert field.drift.diagonal() == pytest.approx(0.02**2 * 2.37 + 0.25 * contrast**2)


def test_without_drift_the_reading_is_the_posterior_of_reference_and_release_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All numbers in one Gaussian system: the public records and the noisy sums of the private ones."""
    monkeypatch.setattr(drift_reading, "DRIFTS", (1e-7,))
    monkeypatch.setattr(drift_reading, "TRUSTS", (1.0,))
    field, a, counts, noise = field_of(), features(), known_counts(), 0.004
    (belief,) = DriftReader(field, a, counts, noise, places_known=True).beliefs
    rng = np.random.default_rng(4)
    sums = 0.01 * rng.standard_normal(a.shape[1])
    centres = NODES.lattice.domain_centres
    kernel = 0.02**2 * np.exp(-cdist(centres, centres) / (4 * SPACING)) + 1e4 * 0.02**2
    public = field.at_cells(centres)
    loaded = counts.mean[:, None] * a
    seen = np.vstack([np.eye(SIZE)[field.index], loaded.T])
    error = np.zeros((len(seen), len(seen)))
    k = field.index.size
    error[:k, :k] = np.diag(0.02**2 / field.count)
    error[k:, k:] = 0.02**2 * a.T @ loaded + noise**2 * np.eye(a.shape[1])
    inner = seen @ kernel @ seen.T + error
    # The release sums residuals from the public map: its records' values are known up to that map.
    given = np.concatenate([field.mean, sums + loaded.T @ public])
    weights = np.linalg.solve(inner, seen @ kernel)
    assert public + belief.mean(sums) == pytest.approx(weights.T @ given, abs=2e-5)
    left = kernel.diagonal() - np.einsum("ij,ij->j", seen @ kernel, weights)
    assert belief.deviation == pytest.approx(np.sqrt(left), rel=2e-3)


def test_the_map_without_privacy_has_the_mean_and_deviation_of_dense_algebra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cov(node means, sums) = link + slope scatter^2 features; the map is their public linear smoother."""
    monkeypatch.setattr(drift_reading, "DRIFTS", (0.4,))
    monkeypatch.setattr(drift_reading, "TRUSTS", (1.0,))
    field, a, counts, noise = uneven(field_of()), features(), known_counts(), 0.004
    reader = DriftReader(field, a, counts, noise, places_known=True)
    (belief,) = reader.beliefs
    sums = 0.01 * np.random.default_rng(4).standard_normal(a.shape[1])
    read = reader.read(sums, 3000, SimulationEntropy(3))
    place = np.flatnonzero(counts.mean)
    together = field.covariance + 0.16 * field.drift
    of_means = together[np.ix_(place, place)] + np.diag(np.square(field.scatters[place]) / counts.mean[place])
    link = (belief.link + belief.slope * np.square(field.scatters)[:, None] * a)[place]
    left = of_means - link @ belief.corrected(link.T)
    prior = make_prior("exponential", LATTICE, 3 * SPACING)
    smoother = fit_cells(prior, place, np.zeros(place.size), 0.49 / counts.mean[place]).mean_of(
        np.eye(place.size)
    )
    public = field.at_cells(LATTICE.domain_centres)
    mean = smoother @ (public[place] + link @ belief.corrected(sums)) - public
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", smoother, left, smoother))
    assert np.abs(read.map_mean - mean).max() < 5.0 * deviation.max() / np.sqrt(3000)
    assert read.map_sd == pytest.approx(deviation, rel=0.1)


def test_weights_find_the_drift() -> None:
    """Sums of records that moved by four deviations are read with the largest drift; none without a move."""
    field, size = field_of(0.05, 0.05, 25), 9
    a = np.abs(features(size))
    reader = DriftReader(field, a, NodeCounts.known(np.full(SIZE, 6.0), size), 0.002, places_known=True)
    drifts = np.array([belief.drift for belief in reader.beliefs])
    still = reader.weights(np.zeros(size))
    moved = reader.weights(a.T @ np.full(SIZE, 6.0 * 0.2))
    assert drifts.tolist() == [0.05, 0.15, 0.15, 0.4, 0.4, 1.0, 1.0]
    assert [belief.trust for belief in reader.beliefs] == [1.0, 1.0, 2.5, 1.0, 2.5, 1.0, 2.5]
    assert [belief.odds for belief in reader.beliefs] == [2, 1, 1, 1, 1, 1, 1]
    evidence = np.array([belief.log_evidence(np.zeros(size)) for belief in reader.beliefs])
    assert still[0] / still[1] == pytest.approx(2.0 * np.exp(evidence[0] - evidence[1]))
    assert still @ (drifts <= 0.15) > 0.8
    assert moved @ (drifts == 1.0) > 0.9
    assert still.sum() == pytest.approx(1.0)


def test_a_change_that_no_drift_explains_is_doubted() -> None:
    """Sums of the likeliest belief are as usual as draws of it; one 30 deviations away is not."""
    reader = DriftReader(field_of(), features(), known_counts(), 0.004, places_known=True)
    root, rng = reader.beliefs[0].root, np.random.default_rng(7)
    usual = [reader.check(root @ rng.standard_normal(9)) for _ in range(20)]
    assert np.sum([check.chance <= 0.05 for check in usual if check is not None]) <= 4
    assert np.median([check.chance for check in usual if check is not None]) > 0.2
    odd = reader.check(root @ np.append(rng.standard_normal(8), 30.0))
    assert odd is not None
    assert odd.chance <= 0.02
    assert DriftReader(field_of(), features(7), known_counts(7), 0.004).check(np.zeros(7)) is None


def test_clipping_weakens_what_sums_say_of_the_field() -> None:
    """Covariance of the field with sums of clipped records in 20,000 worlds, where it is largest."""
    field, a, m = field_of(0.5, 0.7, 20), features(), np.full(SIZE, 4.0)
    reader = DriftReader(field, a, NodeCounts.known(m, a.shape[1]), 0.1, places_known=True)
    belief, rng = reader.beliefs[5], np.random.default_rng(6)
    assert (belief.drift, belief.trust) == (1.0, 1.0)
    own, drifted = field.roots
    drawn = own @ rng.standard_normal((SIZE, 20_000)) + drifted @ rng.standard_normal((SIZE, 20_000))
    sums = sum(np.clip(drawn + 0.7 * rng.standard_normal(drawn.shape), -1.0, 1.0) for _ in range(4))
    seen = drawn @ (a.T @ sums).T / 20_000
    node, number = np.unravel_index(np.abs(seen).argmax(), seen.shape)
    assert belief.slope < 0.75
    assert belief.link[node, number] == pytest.approx(seen[node, number], rel=0.1)


def test_draws_between_nodes_scatter_as_is_stated() -> None:
    nodes = Nodes.of(disk(7), 60)
    assert not nodes.one_to_one
    rng = np.random.default_rng(5)
    cell = rng.integers(0, nodes.cells, 200)
    field = PublicField.of(nodes, cell, 0.05 * rng.standard_normal(200)).rescaled(0.0, 1.0, MODEL)
    a = rng.standard_normal((nodes.size, 7)) / nodes.size
    reader = DriftReader(field, a, NodeCounts.known(np.full(nodes.size, 3.0), 7), 0.01, places_known=True)
    read = reader.read(np.zeros(7), 600, SimulationEntropy(2))
    assert read.field.draws.shape == (600, nodes.cells)
    ratio = read.field.draws.std(axis=0) / read.field.sd
    assert 0.85 < float(np.median(ratio)) < 1.15
    assert float(ratio.min()) > 0.7


@pytest.mark.slow
def test_worlds_of_the_prior_are_called_honestly() -> None:
    """Ten bins of p and of q over 600 worlds, drifts of all sizes: observed within .05 of stated."""
    rng, entropy = np.random.default_rng(12), SimulationEntropy(21)
    field = field_of(0.3, 0.4, 20)
    a, m, level = features(12) * 3.0, np.full(SIZE, 5.0), 0.1
    own, drifted = field.roots
    stated, true, shown, seen = [], [], [], []
    reader = DriftReader(field, a, NodeCounts.known(m, 12), 0.2, places_known=True)
    public = field.at_cells(LATTICE.domain_centres)
    smoother = fit_cells(field.smoother, np.arange(SIZE), np.zeros(SIZE), 0.49 / m)
    for number in range(600):
        belief = reader.beliefs[number % 7]
        change = np.sqrt(belief.trust) * (own @ rng.standard_normal(SIZE))
        change += belief.drift * (drifted @ rng.standard_normal(SIZE))
        values = change[:, None] + 0.4 * rng.standard_normal((SIZE, 5))
        sums = a.T @ np.clip(values, -1.0, 1.0).sum(axis=1) + 0.2 * rng.standard_normal(12)
        read = reader.read(sums, 60, entropy)
        stated.append(exceedance_probability(read.field.mean, read.field.sd, level - public))
        true.append(change > level - public)
        shown.append(exceedance_probability(read.map_mean, read.map_sd, level - public))
        raw = np.clip((public[:, None] + values) / 4.0, -1.0, 1.0).mean(axis=1)
        seen.append(4.0 * smoother.mean_of(raw) > level)
    for told, came in ((np.array(stated), np.array(true)), (np.array(shown), np.array(seen))):
        bins = np.minimum((10 * told).astype(int), 9)
        for number in range(10):
            mine = bins == number
            if mine.sum() >= 200:
                assert abs(told[mine].mean() - came[mine].mean()) < 0.05, number


DESIGN = SpectralStatisticsDesign(
    "water-filled", "exponential", 8 * SPACING, 0.5, 0.0, 1.0, 1.0, 1.28, 1.0,
    cutoff_from="release", drift=True, paths=10,
)  # fmt: skip
RECORDS = CollapsedRecords(np.arange(SIZE), np.full(SIZE, 2), np.linspace(-0.5, 0.5, SIZE))


def test_a_design_that_weighs_drift_needs_a_public_field_and_then_reads_by_it() -> None:
    mechanism, n = SpectralStatistics(), 2 * SIZE
    with pytest.raises(InvalidValue, match="starts from a published reference: name it"):
        mechanism.prepare(DESIGN, PublicFacts(LATTICE, n), RECORDS)
    facts = PublicFacts(LATTICE, n, field=field_of(0.3, 0.3))
    released = mechanism.prepare(DESIGN, facts, RECORDS).draw(SimulationEntropy(7))
    assert released.paths.shape == (10, SIZE)
    assert released.map_mean is not None
    assert released.map_sd is not None
    assert np.all(released.map_sd > 0)
    moved = released.shifted(np.full(SIZE, 2.0))
    assert moved.map_mean == pytest.approx(released.map_mean + 2.0)
    (only,) = mechanism.search.grid(facts, ask=None)  # type: ignore[arg-type]
    assert only.drift
    assert only.lengthscale == pytest.approx(8 * SPACING, rel=1e-5)
    assert mechanism.search.refinement((only,), facts, ask=None) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_simulated_release_is_cut_as_a_real_one_by_the_map_without_privacy(sign: float) -> None:
    reader = DriftReader(field_of(0.3, 0.4, 20), features(), known_counts(), 0.2, places_known=True)
    level = 0.1 - field_of(0.3, 0.4, 20).at_cells(LATTICE.domain_centres)
    exact = 3.0 * np.linspace(-1.0, 1.0, 9)
    stated, shown, cuts = reader.simulated(exact, 2, level, sign, SimulationEntropy(4))
    entropy = SimulationEntropy(4)
    for probability, of_map, cut in zip(stated, shown, cuts, strict=True):
        read = reader.read(exact + 0.2 * entropy.normal(9), drift_reading.MAPS, entropy)
        paths = np.zeros((1, SIZE))
        released = Released(paths, read.field.mean, read.field.sd, map_sd=read.map_sd, map_mean=read.map_mean)
        side: Direction = "above" if sign > 0 else "below"
        assert released.probability(level, side) == pytest.approx(probability)
        assert released.set_chance(level, side) == pytest.approx(of_map)
        assert released.own_cutoff(level, side) == cut
    assert np.abs(stated - shown).max() > 0.1, "else nothing tells the two apart"


def test_a_release_cuts_by_the_map_without_privacy_where_that_is_known() -> None:
    """Cells likely inside by the field; that map shows the last alone, which no cutoff on the field does."""
    mean, sd = np.array([1.0, 0.3, 0.1, -2.0]), np.ones(4)
    released = Released(
        np.zeros((1, 4)), mean, sd, map_sd=np.full(4, 0.01), map_mean=np.array([-1.0, -1, -1, 1])
    )
    chance = released.set_chance(0.0)
    assert chance is not None
    assert (chance >= released.own_cutoff(0.0)).tolist() == [False, False, False, True]
    below = released.set_chance(0.0, "below")
    assert below is not None
    assert below == pytest.approx([1.0, 1.0, 1.0, 0.0])
    plain = Released(np.zeros((1, 4)), mean, sd, map_sd=np.full(4, 0.01))
    assert plain.set_chance(0.0) == pytest.approx([0.8413447, 0.6179114, 0.5398278, 0.0227501319])
    assert plain.own_cutoff(0.0) < 0.54


@pytest.mark.parametrize(
    ("change", "least", "most"), [(0.0, 0.06, 0.14), (0.02, 0.75, 0.85), (-0.02, 0.75, 0.85)], ids=str
)
def test_of_unchanged_fields_a_tenth_is_called_unlike_the_public_map(
    change: float, least: float, most: float
) -> None:
    """Sums of 400 worlds, made record by record, of which the test knows only the public map's own error."""
    field, rng = uneven(field_of()), np.random.default_rng(11)
    counts, a, noise = known_counts(), features(), 0.004
    reader = DriftReader(field, a, counts, noise, places_known=True)
    values = change + field.roots[0] @ rng.standard_normal((SIZE, 400))
    scatter = field.scatters * np.sqrt(counts.mean)
    sums = a.T @ (counts.mean[:, None] * values + scatter[:, None] * rng.standard_normal((SIZE, 400)))
    sums += noise * rng.standard_normal(sums.shape)
    chances = np.array([reader.unchanged(each) for each in sums.T])
    assert least < np.mean(chances <= 0.1) < most


def test_without_a_change_a_sum_has_the_variance_of_map_records_and_noise() -> None:
    """Two deviations of one sum, by dense algebra: no drift is in it, however small."""
    field, counts, a, noise = uneven(field_of()), known_counts(1), features(1), 0.004
    reader = DriftReader(field, a, counts, noise, places_known=True)
    loaded = counts.mean * a[:, 0]
    variance = loaded @ field.covariance @ loaded + noise**2
    variance += np.sum(counts.mean * np.square(field.scatters * a[:, 0]))
    found = reader.unchanged(np.array([-2.0 * np.sqrt(variance)]))
    assert found == pytest.approx(0.0455002639, abs=1e-6)


def test_the_stated_error_of_the_mean_change_is_that_of_a_world_of_its_prior() -> None:
    """Against the spread of its posterior draws, which know nothing of the formula."""
    field, counts, a = field_of(), known_counts(), features()
    reader = DriftReader(field, a, counts, 0.004, places_known=True)
    sums = a.T @ (0.04 * counts.mean)
    check = reader.check(sums)
    assert check is not None
    assert check.change is not None
    paths = reader.read(sums, 2_000, SimulationEntropy(3)).field.draws
    drawn = paths @ counts.mean / counts.mean.sum()
    assert check.change.level_sd == pytest.approx(drawn.std(), rel=0.15)
    assert check.change.level == pytest.approx(drawn.mean(), abs=0.1 * drawn.std())
