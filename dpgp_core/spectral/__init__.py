"""Spectral statistics: noisy sums of public features, what they cost, and how they are read."""

from __future__ import annotations

from dpgp_core.excursion import AreaShare, area_shares
from dpgp_core.spectral.basis import FieldBasis
from dpgp_core.spectral.clipped import ClippedPrior, PublicPrior
from dpgp_core.spectral.cost import Relation, SpectralNoise, free_weight, noise_for, release_mu
from dpgp_core.spectral.counts import (
    CountPrior,
    NodeCounts,
    estimated_number,
    prior_from_reference,
    prior_of_unknown,
    read_counts,
)
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.reading import FieldPosterior, FieldReader
from dpgp_core.spectral.shared import SharedReadings
from dpgp_core.spectral.sums import (
    ExactNoise,
    GridRecords,
    RoundedNoise,
    SpectralSums,
    exact_sums,
    release_sums,
)

__all__ = [
    "AreaShare",
    "ClippedPrior",
    "CountPrior",
    "ExactNoise",
    "FieldBasis",
    "FieldPosterior",
    "FieldReader",
    "GridRecords",
    "NodeCounts",
    "Prepared",
    "PublicCounts",
    "PublicPrior",
    "Relation",
    "RoundedNoise",
    "SharedReadings",
    "SpectralModel",
    "SpectralNoise",
    "SpectralPlan",
    "SpectralSums",
    "area_shares",
    "estimated_number",
    "exact_sums",
    "free_weight",
    "noise_for",
    "prior_from_reference",
    "prior_of_unknown",
    "read_counts",
    "release_mu",
    "release_sums",
]
