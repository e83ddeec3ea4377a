"""The water-filled plan: sums of spectral statistics, whose reading a network corrects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import Features, InnerProducts
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import SpectralSums
from hexcursion_peers.neural.corrected import CORRECTION, Correction, context_of, read_twice
from hexcursion_peers.neural.plan import PublicInputs
from hexcursion_peers.neural.weights import STORED_CORRECTION, network

SHORTEST, LONGEST = 0.1, 1.5
"""Ranges of the prior that the network was trained for, window units."""

SIGNAL = 0.5  # clipped response units: decides how many sums are worth their noise
BLANK = PublicPrior(0.0, 0.4, 1.0)  # features and noise depend on no belief


@dataclass(frozen=True, eq=False)
class WaterFilledPlan:
    """Everything public that depends on the domain, on the prior's range and on the budget.

    `way`: to the network's lattice and back. `scale`: range of the exponential prior, metres. `mu`:
    price of the release, which decides which sums are worth their noise. `density`: public records of a
    hexagon. `reference` (N,): public numbers of records of another period. `single`: whether a hexagon
    holds one record at most."""

    model: SpectralModel
    way: Correction
    scale: float
    mu: float
    density: float
    reference: Floats | None = None
    single: bool = False

    def __post_init__(self) -> None:
        half = self.way.window.half
        if not SHORTEST <= self.scale / half <= LONGEST:
            raise InvalidValue(
                f"the range of water-filled sums must lie between {SHORTEST * half:,.0f} and "
                f"{LONGEST * half:,.0f} m on this domain, got {self.scale:,.0f} m."
            )

    def prepared(self, belief: PublicPrior = BLANK) -> Prepared:
        """The plan of spectral statistics under a belief."""
        return self.model.prepare(
            SpectralPlan(
                "water-filled", "exponential", self.scale, belief, self.mu, self.density, signal=SIGNAL
            )
        )

    @cached_property
    def nodes(self) -> Nodes:
        """Of the domain."""
        return self.model.nodes

    @cached_property
    def features(self) -> Features:
        """The summed features."""
        return self.prepared().features

    @cached_property
    def products(self) -> InnerProducts:
        """Extremes by which a release is priced."""
        return self.prepared().products

    def field(
        self,
        sums: Floats,
        counts: Floats,
        noise: SpectralNoise,
        read: PublicInputs,
    ) -> tuple[Floats, Floats]:
        """As `EncoderPlan.field`: the reading of spectral statistics, corrected; (R, N) mean and
        deviation."""
        prepared, public_counts = self._believed(noise, read)
        readings = [
            read_twice(self.model, prepared, SpectralSums(row, other, noise), public_counts)
            for row, other in zip(sums, counts, strict=True)
        ]
        context = context_of(prepared, float(read.number), self.way.window.half)
        return self.way.apply(
            network(STORED_CORRECTION, CORRECTION), readings, context, read.middle, read.spread
        )

    def deviates(self, released: SpectralSums, read: PublicInputs, paths: int, entropy: Entropy) -> Floats:
        """(paths, N) deviates of variance 1 that vary together as under the posterior that is corrected:
        multiples of the field's deviation at the cells."""
        prepared, public_counts = self._believed(released.noise, read)
        reader = prepared.reader(prepared.counts(public_counts, released.counts))
        apart = reader.draw(released.sums, paths, entropy) - self.nodes.spread(reader.mean(released.sums))
        return apart / self.nodes.spread(reader.deviation())

    def _believed(self, noise: SpectralNoise, read: PublicInputs) -> tuple[Prepared, PublicCounts]:
        """The plan under a belief, at the noise that was added, and the known counts."""
        prepared = replace(self.prepared(PublicPrior(read.middle, read.spread, read.ridge)), noise=noise)
        kind: Literal["unknown", "reference"] = "unknown" if self.reference is None else "reference"
        return prepared, PublicCounts(kind, float(read.number), self.reference, self.single)
