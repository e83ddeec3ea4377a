"""Releases of spectral sums, ready for the noise: of one look, or of two that are read together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.sums.beliefs import read_sums, unseen_by
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing.released import Released
from dpgp_core.spectral.kept import KeptSums
from dpgp_core.spectral.looks import Look, second_look
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.sums import ExactNoise, GridRecords, RoundedNoise, SpectralSums, release_sums

LEAST_DRAWS = 50  # of the map without privacy, from which its mean and deviation are taken
NO_RECORDS = "a second look needs the response of every record, and these are means of hexagons."


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSums:
    """The exact integer sums' makers, ready for the noise."""

    design: SpectralStatisticsDesign
    plan: Prepared
    records: GridRecords
    known: PublicCounts
    field: PublicField | None

    def released(self, source: RoundedNoise) -> tuple[SpectralSums, ...]:
        """What leaves the curator's hands, once."""
        plan = self.plan
        return (release_sums(plan.features, plan.nodes, self.records, plan.noise, source),)

    def draw(self, entropy: Entropy) -> Released:
        (released,) = self.released(ExactNoise(entropy))
        kept = KeptSums.of(released, self.plan.features, self.known.cells, self.field)
        if self.field is not None:
            reader = DriftReader.of(self.plan, self.known, released.counts, self.field)
            read = reader.read(released.sums, max(self.design.paths, LEAST_DRAWS), entropy)
            found, records = read.field, reader.counts.at_cells(self.plan.nodes)
            drawn = found.draws[: self.design.paths]
            return Released(
                drawn,
                found.mean,
                found.sd,
                released.parts,
                read.map_sd,
                read.map_mean,
                records,
                kept,
                reader.check(released.sums),
            )
        read_by = partial(unseen_by, self.design)
        found_by = read_sums(self.plan, released, self.known, read_by, self.design.paths, entropy)
        return replace(found_by, sums=kept)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedLooks:
    """Two looks at some records, ready for the noise."""

    # design, plan, known: of the release, and of its first look
    design: SpectralStatisticsDesign
    plan: Prepared
    known: PublicCounts
    records: CollapsedRecords  # private

    def __post_init__(self) -> None:
        if self.records.singles is None:
            raise InvalidValue(NO_RECORDS)

    @property
    def released_records(self) -> GridRecords:
        """What the first look sums."""
        return GridRecords(self.records.index, self.records.count, self.records.units)

    def looks(self, source: RoundedNoise) -> tuple[SpectralSums, Look, SpectralSums]:
        """Release the first look's sums, plan the second look from them, and release its sums.

        The plan depends only on public facts and the first look's released numbers: given them, the second
        look is a Gaussian mechanism.
        """
        plan, held, singles = self.plan, self.records, self.records.singles
        assert singles is not None
        first = release_sums(plan.features, plan.nodes, self.released_records, plan.noise, source)
        look = second_look(plan, first, self.known, self.design.looks[1], self.design.tight)
        seen = look.records(plan.nodes, held.index, held.count, singles.astype(np.int64))
        return first, look, release_sums(look.features, plan.nodes, seen, look.noise, source)

    def released(self, source: RoundedNoise) -> tuple[SpectralSums, ...]:
        """What leaves the curator's hands, once."""
        first, _, second = self.looks(source)
        return first, second

    def draw(self, entropy: Entropy) -> Released:
        return self._read(*self.looks(ExactNoise(entropy)), entropy)

    def _read(self, first: SpectralSums, look: Look, second: SpectralSums, entropy: Entropy) -> Released:
        design, plan = self.design, self.plan
        read_by = partial(unseen_by, design)
        found = read_sums(plan, first, self.known, read_by, design.paths, entropy, (look, second))
        more = KeptSums.of(second, look.features)
        return replace(found, sums=KeptSums.of(first, plan.features, self.known.cells, None, more))
