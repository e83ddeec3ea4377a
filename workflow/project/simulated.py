"""Simulated stand-ins for reference data: fields and records that nobody's data have touched."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpgp_core.labels.ranges import FieldModel
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import Prior, make_prior
from dpgp_core.spectral.counts import UNEVEN
from workflow.project.records import PlacedObservations
from workflow.project.response import ResponseScale
from workflow.settings.model import ReleaseSettings

SIMULATION_SEED = 20260617
SIMULATED_RANGES = (5.0, 10.0, 20.0, 10.0, 20.0)  # of simulated fields: so many of them fit across the area
SIMULATED_SCATTER = (0.5, 0.5, 0.5, 0.8, 0.8)  # of one record around its field, in clip bounds
SIMULATED_OFFSETS = (0.0, -0.2, 0.0, -0.2, 0.2)  # of their mean from the centre, in clip bounds
SIMULATED_SKEW = 0.6  # of the values themselves: the growth of a step of one clip bound, per step
SIMULATED_SKEWED = (1, 3)  # the fields with a long upper tail, as levels and concentrations often have
SIMULATED_CROWDS = 5.0  # clusters of simulated records: so many of them fit across the area
SIMULATED_SPREAD = 0.5  # of a simulated field around the centre, in clip bounds


def simulate_reference(
    settings: ReleaseSettings,
    lattice: Lattice,
    response: ResponseScale,
    n: int,
    places: NDArray[np.int64] | None = None,
) -> PlacedObservations:
    """A simulated stand-in for reference data: a drawn field with noise, `n` records in clusters.

    Public by construction: only the domain, the response scale, the public number of records and public
    places enter. For the unit "cell" each of the n records has a cell of its own.

    Parameters
    ----------
    n
        public number of records
    places
        (m,) the cell of each observation, where places are public: the simulated ones lie there
    """
    return simulate_field(settings, lattice, response, n, places)[0]


def simulate_field(
    settings: ReleaseSettings,
    lattice: Lattice,
    response: ResponseScale,
    n: int,
    places: NDArray[np.int64] | None = None,
    number: int = 0,
    model: FieldModel | None = None,
    prior_of: Callable[[str, float], Prior] | None = None,
) -> tuple[PlacedObservations, NDArray[np.float64]]:
    """Simulated observations and the map (N,), response units, that they show: `number` tells fields apart.

    Fields of several ranges, scatters and means: a design made for one of them may fail where the truth is
    rougher, or where little of the area lies above the threshold. Places come in clusters, as unevenly as the
    reading believes. The map is the posterior mean under the field's own law, with the records' mean: what a
    release without noise would show. Far from all records that is their mean and not the field.

    Parameters
    ----------
    n
        public number of records
    places
        (m,) as for `simulate_reference`
    number
        from 0
    model
        gives range and scatter, where there is one
    prior_of
        makes the lattice's priors by name and lengthscale (metres), or has kept them: fields and their crowds
        share a few
    """
    prior_of = prior_of or cache(lambda name, lengthscale: make_prior(name, lattice, lengthscale))
    entropy = SimulationEntropy(SIMULATION_SEED + number)
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    across = SIMULATED_RANGES[number % len(SIMULATED_RANGES)]
    scatter = SIMULATED_SCATTER[number % len(SIMULATED_SCATTER)]
    lengthscale = max(extent / across, 2.0 * lattice.spacing)
    if model is not None:
        lengthscale, scatter = model.lengthscale, model.ridge * SIMULATED_SPREAD
    prior = prior_of("car", lengthscale)
    field: NDArray[np.float64] = SIMULATED_SPREAD * prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
    field += SIMULATED_OFFSETS[number % len(SIMULATED_OFFSETS)]
    crowd = prior_of("car", max(extent / SIMULATED_CROWDS, 2.0 * lattice.spacing))
    density = np.exp(np.sqrt(np.log1p(UNEVEN)) * crowd.colour(entropy.normal((crowd.white_size, 1)))[:, 0])
    if places is not None:
        index = np.unique(places) if settings.unit == "cell" else places
    elif settings.unit == "cell":  # one record a cell, likelier where many are
        wait = -np.log(np.maximum(entropy.uniform(lattice.size), 1e-300)) / density
        index = np.argsort(wait, kind="stable")[:n].astype(np.int64)
    else:
        index = np.searchsorted(np.cumsum(density), entropy.uniform(n) * density.sum())
        index = np.minimum(index, lattice.size - 1).astype(np.int64)
    drawn = field[index] + scatter * entropy.normal(index.size)
    middle = float(drawn.mean())
    if response.transform == "identity" and number in SIMULATED_SKEWED:
        drawn = np.expm1(SIMULATED_SKEW * drawn) / SIMULATED_SKEW
        drawn += middle - float(drawn.mean())  # its mean beside the threshold is another matter
    records = CollapsedRecords.from_records(index, drawn - middle)
    shown = middle + fit(prior, records, scatter / SIMULATED_SPREAD).mean
    return PlacedObservations(index, response.value(drawn), index.size, 0), shown
