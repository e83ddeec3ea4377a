"""The stand-ins that a pilot leaves: as scattered as records, as rough as a field, not smooth means."""

from __future__ import annotations

import numpy as np

from dpgp_core.mechanisms.cell_sums import release_statistics
from dpgp_core.mechanisms.noisy_cell_statistics import noise_aware_posterior
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.pilot import stand_ins

RIDGE, SCALE, NOISE = 1.5, 0.5, 20.0


def test_a_private_number_of_records_is_read_from_the_noisy_counts(project: Project) -> None:
    """Exactly known to every reader, it would cost nothing and tell everything."""
    cells = project.domain.size
    records = CollapsedRecords(np.arange(cells), np.full(cells, 40), np.full(cells, 0.1))
    public = release_statistics(records, cells, NOISE, SimulationEntropy(4))
    private = release_statistics(records, cells, NOISE, SimulationEntropy(4), n_is_public=False)
    assert np.array_equal(public.counts, private.counts)
    assert public.n == records.n == 40 * cells
    assert private.n == round(float(public.counts.sum())) != records.n
    assert abs(private.n - records.n) < 5 * NOISE * np.sqrt(cells)
    one = CollapsedRecords(np.array([0]), np.array([1]), np.array([0.1]))
    drowned = [
        release_statistics(one, cells, 1e4, SimulationEntropy(seed), n_is_public=False) for seed in range(8)
    ]
    assert min(float(each.counts.sum()) for each in drowned) < 0.0
    assert min(each.n for each in drowned) == 1, "a number of records, however large the noise"


def test_they_scatter_like_records_around_a_draw_of_the_field(project: Project) -> None:
    cells = project.domain.size
    records = CollapsedRecords(np.arange(cells), np.full(cells, 40), np.full(cells, 0.1))
    statistics = release_statistics(records, cells, NOISE, SimulationEntropy(4))
    prior = make_prior("car", project.lattice, 3000.0)
    response = ResponseScale("identity", 10.0, 2.0, "")
    placed = stand_ins(statistics, prior, RIDGE, SCALE, response)
    value = (placed.value - 10.0) / 2.0
    count = np.bincount(placed.index, minlength=cells)
    mean = np.bincount(placed.index, value, cells) / np.maximum(count, 1)
    scatter = float(np.std(value - mean[placed.index]))
    assert 0.70 < scatter < 0.78  # ridge times scale is .75; a cell's own mean takes a little of it
    smooth = noise_aware_posterior(statistics, prior, RIDGE, SCALE)
    crowded = count > 20
    apart = float(np.std(mean[crowded] - smooth.mean[crowded]))
    doubt = SCALE * float(np.sqrt(smooth.variance[crowded].mean()))
    assert doubt > 0.06
    assert 0.6 * doubt < apart < 2.5 * doubt
