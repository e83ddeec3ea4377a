"""Simulated stand-ins for reference data: fields and records that nobody's data have touched."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.counts import UNEVEN
from dpgp_core.spectral.prior import SHARE, standardised
from hexcursion.project.public_numbers import Exposure
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.settings.model import ReleaseSettings

SIMULATION_SEED = 20260617
WORLD_RANGES = (4.0, 8.0, 16.0)  # of simulated fields, in spacings of the hexagons
WORLD_SHARES = (0.5, 0.25, 0.8)  # of the variance of the values that belongs to the field, not to one record
WORLD_SPREADS = (0.4, 0.65)  # standard deviation of the values, in clip bounds
WORLD_COMMON = 0.3  # of the field's variance that moves the whole map: nobody knows how far from the centre
WORLDS = 9  # in which designs are searched where there are no reference data
JUDGED_WORLDS = 2 * WORLDS  # in which one fixed design is judged: these and their mirror images
QUICK_WORLDS = 3
WORLD_MEANS = (4, 6, 2, 0, 5, 7, 8, 1, 3)
"""Ninth of the law of the mean, of each world: every range and every share has one of each third."""
ASKED = 0.5  # of the way from even odds to the asked share: there simulated shares of yes have their centre
SIMULATED_CROWDS = 5.0  # clusters of simulated records: so many of them fit across the area


SPREADS_OF_COUNTS = {"population": (0.35, 0.65), "area": (0.8, 1.4)}  # of the logarithm of a rate
SPREADS_OF_ANSWERS = (0.8, 1.4)  # standard deviation of the probit of the share of yes
IDLE = 3  # of so many simulated fields one does not depend on public columns


@dataclass(frozen=True)
class WorldModel:
    """The law behind one simulated world."""

    lengthscale: float  # range of the field, metres
    spread: float  # standard deviation of the field, in clip bounds
    scatter: float  # of a record around it, in clip bounds


def world_model(spacing: float, number: int) -> WorldModel:
    """The law of one of the simulated worlds (from 0), which have all ranges and shares in turn.

    `spacing` of the hexagons is in metres.

    Examples
    --------
    >>> world_model(100.0, 0)
    WorldModel(lengthscale=400.0, spread=0.28284271247461906, scatter=0.28284271247461906)
    """
    total = WORLD_SPREADS[number % len(WORLD_SPREADS)]
    share = WORLD_SHARES[number // len(WORLD_RANGES) % len(WORLD_SHARES)]
    lengthscale = WORLD_RANGES[number % len(WORLD_RANGES)] * spacing
    return WorldModel(lengthscale, total * math.sqrt(share), total * math.sqrt(1.0 - share))


def simulated_worlds(settings: ReleaseSettings, fixed: bool) -> int:
    """In how many worlds designs are searched, or one fixed design is judged.

    Counts have no free mean, which mirror images would balance, and take long to read.
    """
    if settings.quick:
        return QUICK_WORLDS
    return JUDGED_WORLDS if fixed and settings.values != "count" else WORLDS


def simulate_reference(
    settings: ReleaseSettings,
    lattice: Lattice,
    response: ResponseScale,
    n: int,
    places: NDArray[np.int64] | None = None,
    number: int = 0,
    prior_of: Callable[[str, float], Prior] | None = None,
    columns: NDArray[np.float64] | None = None,
    exposure: Exposure | None = None,
) -> PlacedObservations:
    """Draw a simulated stand-in for reference data: a field with noise, `n` records in clusters.

    Public by construction: only the domain, the response scale, the public number of records and public
    places, (m,) cells, enter. For the unit "cell" each of the n records has another cell. Field `number`
    has the range, spread and scatter of `world_model`. The means of nine fields are one from each ninth of
    their law, and the next nine mirror them about the centre, with the other spread, or many would lie on one
    side by luck. The centre of answers lies between even odds and the share that is asked for. Places come in
    clusters, as unevenly as the reading believes, or from the field itself where records are counted over an
    exposure. Public columns, (N, k), explain a part of two fields of three: nobody knows whether they matter.
    `prior_of` makes the lattice's priors by name and lengthscale (metres), or has kept them.
    """
    prior_of = prior_of or cache(lambda name, lengthscale: make_prior(name, lattice, lengthscale))
    sign, centre = (-1.0 if number // WORLDS % 2 else 1.0), 0.0
    entropy = SimulationEntropy(SIMULATION_SEED + number - (WORLDS if sign < 0 else 0))
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    law = world_model(lattice.spacing, number)
    if settings.values == "yes-no":
        law = replace(law, spread=SPREADS_OF_ANSWERS[number % len(SPREADS_OF_ANSWERS)], scatter=1.0)
        centre = ASKED * float(response.forward(settings.threshold))
    if exposure is not None:
        return _counted(exposure, n, law, number, entropy, prior_of("car", law.lengthscale), columns)
    prior = prior_of("car", law.lengthscale)
    field: NDArray[np.float64] = prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
    field *= law.spread * math.sqrt(1.0 - WORLD_COMMON)
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
    place = (WORLD_MEANS[number % WORLDS] + float(entropy.uniform(1)[0])) / WORLDS
    mean = law.spread * math.sqrt(WORLD_COMMON) * float(ndtri(place))
    if columns is not None and number % IDLE:
        each = law.spread * math.sqrt(SHARE / (1.0 - SHARE) / columns.shape[1])
        field = field + standardised(columns) @ (each * entropy.normal(columns.shape[1]))
    drawn = centre + sign * (mean + field[index] + law.scatter * entropy.normal(index.size))
    value = np.where(drawn > 0, 100.0, 0.0) if settings.values == "yes-no" else response.value(drawn)
    return PlacedObservations(index, value, index.size, 0)


def _counted(
    exposure: Exposure,
    n: int,
    law: WorldModel,
    number: int,
    entropy: SimulationEntropy,
    prior: Prior,
    columns: NDArray[np.float64] | None,
) -> PlacedObservations:
    """Draw n records over public numbers, where the logarithm of their rate is a field."""
    spreads = SPREADS_OF_COUNTS[exposure.per]
    spread = spreads[number % len(spreads)]
    field: NDArray[np.float64] = spread * prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
    if columns is not None and number % IDLE:
        each = spread * math.sqrt(SHARE / (1.0 - SHARE) / columns.shape[1])
        field = field + standardised(columns) @ (each * entropy.normal(columns.shape[1]))
    rate = np.cumsum(exposure.values * np.exp(field))
    index = np.minimum(np.searchsorted(rate, entropy.uniform(n) * rate[-1]), rate.size - 1).astype(np.int64)
    return exposure.ones(PlacedObservations(index, np.ones(n), n, 0))
