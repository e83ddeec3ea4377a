"""Releases of spectral sums to bundle: of generated records, with simulated noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from geo import Domain
from hexcursion.project.load import build_lattice
from hexcursion.record import Expected, Release
from tests.hexcursion.bundle.bundle_samples import groups_of, guarded, make_release

DESIGN = SpectralStatisticsDesign(
    "water-filled", "exponential", 2500.0, 0.5, 0.0, 0.5, 1.0, 1.28, 2.0, common=0.3, paths=4, cutoff=0.4
)
MU = 2.0


def spectral_release(
    domain: Domain,
    seed: int = 3,
    rise: float = 0.0,
    public_mean: bool = True,
    first: float = 0.0,
    ranged: bool = False,
    **changes: Any,
) -> Release:
    """2,000 records whose values rise to the east, and by `rise` response units where the west is.

    Parameters
    ----------
    domain
        The cells.
    seed
        Of records and noise.
    rise
        Added to all records of the western half.
    public_mean
        Whether a public mean, .1 everywhere, was taken off.
    first
        Of the design.
    ranged
        Whether it tells its agreement with a range.
    changes
        Fields of the release.
    """
    design = replace(DESIGN, first=first)
    facts = PublicFacts(build_lattice(domain), 2000)
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, domain.size, 2000)
    east = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()
    values = 0.5 * east[cells] + rise * (east[cells] < 0) + 0.4 * generator.normal(size=2000)
    mean = np.full(domain.size, 0.1) if public_mean else None
    shift = 0.1 if public_mean else 0.0
    records = CollapsedRecords.from_records(cells, np.clip(values - shift, -1.0, 1.0))
    drawn = draw_release(
        SpectralStatistics().prepare(design, facts, records), SimulationEntropy(seed), simulation=True
    ).shifted(mean)
    if ranged:
        changes |= {"shown_map": drawn.shown_map, "map_draws": drawn.map_draws}
    cost = Cost.gaussian(MU, 2.0**-150)
    privacy = replace(
        guarded(),
        epsilon=gaussian_epsilon(MU, 1e-5),
        order=None,
        bound="gaussian-mechanism",
        n=2000,
        rdp_orders=tuple(ORDERS.tolist()),
        rdp_values=tuple(cost.curve.values.tolist()),
        gaussian_mu=MU,
        cost=cost,
        group=groups_of(cost),
        bound_source=SpectralStatistics.source,
    )
    return make_release(
        domain, paths=4, design=design, privacy=privacy,
        mean=drawn.mean, sd=drawn.sd, sums=drawn.sums, model_check=drawn.model_check, prior_mean=mean,
        expected=Expected(0.734, 0.051, 0.862, "public reference data"), **changes,
    )  # fmt: skip
