"""Simulated stand-ins for reference data: fields and records that depend on no person's data."""

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
from hexcursion.project.model import Loaded, WorldModel
from hexcursion.project.public_numbers import Exposure
from hexcursion.project.records import PlacedObservations, public_n, public_places
from hexcursion.project.response import ResponseScale
from hexcursion.settings.model import ReleaseSettings

SIMULATION_SEED = 20260617
WORLD_RANGES = (4.0, 8.0, 16.0)  # of simulated fields, in spacings of the hexagons
WORLD_SHARES = (0.5, 0.25, 0.8)  # of the field in the variance of the values
WORLD_SPREADS = (0.4, 0.65)  # standard deviation of the values, in clip bounds
# share of the field's variance in the mean of the map, whose distance is unknown
WORLD_COMMON = 0.3
WORLDS = 9  # for a search without reference data
JUDGED_WORLDS = 2 * WORLDS  # for judging one fixed design: these and their mirror images
QUICK_WORLDS = 3
WORLD_MEANS = (4, 6, 2, 0, 5, 7, 8, 1, 3)
"""The ninth of the law of the mean for each world: every range and every share has one of each
third."""
# the centre of simulated shares of yes, as a part of the way from even odds to the question's
ASKED = 0.5
SIMULATED_CROWDS = 5.0  # number of clusters of simulated records across the area


SPREADS_OF_COUNTS = {"population": (0.35, 0.65), "area": (0.8, 1.4)}  # of the logarithm of a rate
SPREADS_OF_ANSWERS = (0.8, 1.4)  # standard deviation of the probit of the share of yes
IDLE = 3  # one of this number of simulated fields does not depend on public columns


def world_model(spacing: float, number: int) -> WorldModel:
    """Return the law of a simulated world (from 0); the worlds have all ranges and shares in turn.

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
    """Return the number of worlds for a search, or for judging one fixed design.

    Counts have no free mean that mirror images would balance, and their reading is slow.
    """
    if settings.quick:
        return QUICK_WORLDS
    return JUDGED_WORLDS if fixed and settings.values != "count" else WORLDS


@dataclass(frozen=True, eq=False)
class StandIns:
    """Simulated stand-ins for reference data, each a field with noise and `n` records in clusters.

    They are public by construction: they depend only on the domain, the response scale, the
    public number of records and what else is public. For the unit "cell" each of the n records has
    a different cell. Public columns explain a part of two fields of three, since their relevance is
    unknown. Records are counted over an exposure where there is one.
    """

    settings: ReleaseSettings
    lattice: Lattice  # N cells
    response: ResponseScale
    n: int
    places: NDArray[np.int64] | None = None  # (m,) cells, where they are public
    columns: NDArray[np.float64] | None = None  # (N, k) public columns
    exposure: Exposure | None = None
    # the lattice's priors by name and lengthscale (metres), which it may cache
    prior_of: Callable[[str, float], Prior] | None = None

    def draw(self, number: int = 0, law: WorldModel | None = None) -> PlacedObservations:
        """Draw the records of a simulated field, by a `law` that was paid for, or that of `world_model`.

        The means of nine fields come from the nine ninths of their law, and the next nine mirror
        them about the centre, with the other spread, because otherwise many could be on one side by
        chance. The centre of answers is between even odds and the share in the question. Places
        come in clusters, as uneven as the reading assumes, or from the field if records are counted
        over an exposure.
        """
        settings, lattice = self.settings, self.lattice
        prior_of = self.prior_of or cache(lambda name, lengthscale: make_prior(name, lattice, lengthscale))
        sign, centre = (-1.0 if number // WORLDS % 2 else 1.0), 0.0
        entropy = SimulationEntropy(SIMULATION_SEED + number - (WORLDS if sign < 0 else 0))
        law = law or world_model(lattice.spacing, number)
        if settings.values == "yes-no":
            law = replace(law, spread=SPREADS_OF_ANSWERS[number % len(SPREADS_OF_ANSWERS)], scatter=1.0)
            centre = ASKED * float(self.response.forward(settings.threshold))
        if self.exposure is not None:
            return self._counted(self.exposure, number, entropy, prior_of("car", law.lengthscale))
        prior = prior_of("car", law.lengthscale)
        field: NDArray[np.float64] = prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
        field *= law.spread * math.sqrt(1.0 - WORLD_COMMON)
        density = _crowds(lattice, prior_of, entropy)
        cells = settings.unit == "cell"
        if self.places is not None:
            index = np.unique(self.places) if cells else self.places
        else:
            index = _drawn_places(density, self.n, entropy, one_each=cells)
        mean = _mean(law, number, entropy)
        field = self._following_columns(field, number, law.spread, entropy)
        responses = centre + sign * (mean + field[index] + law.scatter * entropy.normal(index.size))
        answers = settings.values == "yes-no"
        value = np.where(responses > 0, 100.0, 0.0) if answers else self.response.value(responses)
        return PlacedObservations(index, value, index.size, 0)

    def _counted(
        self, exposure: Exposure, number: int, entropy: SimulationEntropy, prior: Prior
    ) -> PlacedObservations:
        """Draw n records over public numbers, with a field as the logarithm of their rate."""
        spreads = SPREADS_OF_COUNTS[exposure.per]
        spread = spreads[number % len(spreads)]
        field: NDArray[np.float64] = spread * prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
        field = self._following_columns(field, number, spread, entropy)
        rate = np.cumsum(exposure.values * np.exp(field))
        index = np.minimum(np.searchsorted(rate, entropy.uniform(self.n) * rate[-1]), rate.size - 1)
        return exposure.ones(PlacedObservations(index.astype(np.int64), np.ones(self.n), self.n, 0))

    def _following_columns(
        self, field: NDArray[np.float64], number: int, spread: float, entropy: SimulationEntropy
    ) -> NDArray[np.float64]:
        """The field, (N,), with a part that follows the public columns, in two fields of three."""
        if self.columns is None or not number % IDLE:
            return field
        deviation = spread * math.sqrt(SHARE / (1.0 - SHARE) / self.columns.shape[1])
        return field + standardised(self.columns) @ (deviation * entropy.normal(self.columns.shape[1]))


def _mean(law: WorldModel, number: int, entropy: SimulationEntropy) -> float:
    """Draw the mean of a field, from the ninth of its law that belongs to its number."""
    quantile = (WORLD_MEANS[number % WORLDS] + float(entropy.uniform(1)[0])) / WORLDS
    return law.spread * math.sqrt(WORLD_COMMON) * float(ndtri(quantile))


def _crowds(
    lattice: Lattice, prior_of: Callable[[str, float], Prior], entropy: SimulationEntropy
) -> NDArray[np.float64]:
    """Draw an uneven density of places, (N,)."""
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    crowd = prior_of("car", max(extent / SIMULATED_CROWDS, 2.0 * lattice.spacing))
    white = entropy.normal((crowd.white_size, 1))
    return np.asarray(np.exp(np.sqrt(np.log1p(UNEVEN)) * crowd.colour(white)[:, 0]))


def _drawn_places(
    density: NDArray[np.float64], n: int, entropy: SimulationEntropy, *, one_each: bool
) -> NDArray[np.int64]:
    """Draw the cells, (n,), of records by their density, (N,); `one_each`: no two in one cell."""
    if one_each:  # with a higher probability in dense cells
        wait = -np.log(np.maximum(entropy.uniform(density.size), 1e-300)) / density
        return np.argsort(wait, kind="stable")[:n].astype(np.int64)
    index = np.searchsorted(np.cumsum(density), entropy.uniform(n) * density.sum())
    return np.asarray(np.minimum(index, density.size - 1), dtype=np.int64)


def stand_in(
    settings: ReleaseSettings,
    lattice: Lattice,
    response: ResponseScale,
    private: Loaded,
    exposure: Exposure | None = None,
) -> PlacedObservations:
    """Simulate observations in the public number of private records."""
    n = settings.records_about or public_n(private.placed, settings.unit)
    places = public_places(private.placed) if settings.places_public else None
    return StandIns(settings, lattice, response, n, places, exposure=exposure).draw()
