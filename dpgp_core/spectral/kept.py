"""What a release of spectral sums leaves behind: whole numbers, and what is public in their reading."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import Features
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.sums import COUNT_UNIT, SUM_UNIT, SpectralSums


@dataclass(frozen=True, eq=False)
class KeptField:
    """A `PublicField` in the numbers that make it."""

    # count, mean: (M,) public records of each node, 0 where there are none, and the mean of their responses
    count: Floats
    mean: Floats
    # deviation, scatter, lengthscale: as in `PublicField`
    deviation: float
    scatter: float
    lengthscale: float

    @classmethod
    def of(cls, field: PublicField) -> KeptField:
        """The numbers of a field."""
        count, mean = np.zeros(field.nodes.size), np.zeros(field.nodes.size)
        count[field.index], mean[field.index] = field.count, field.mean
        return cls(count, mean, field.deviation, field.scatter, field.lengthscale)

    def at(self, nodes: Nodes) -> PublicField:
        """The field again, on the nodes of its domain; raises InvalidValue if they are not its nodes."""
        index = np.flatnonzero(self.count > 0)
        if self.count.shape != (nodes.size,) or self.mean.shape != (nodes.size,) or index.size == 0:
            raise InvalidValue("the public records kept with the sums are not those of this domain.")
        return PublicField(
            nodes, index, self.count[index], self.mean[index], self.deviation, self.scatter, self.lengthscale
        )


@dataclass(frozen=True, eq=False)
class KeptSums:
    """Released sums in whole numbers, with what else their reading needs beside the design: all public."""

    sums: Ints  # (p,) released `sum y phi` in units of 2^-30
    counts: Ints | None  # (p,) released `sum phi` in units of 2^-20; None where places are public
    features: str  # SHA-256 of the features (`features_digest`)
    noise: SpectralNoise  # the standard deviations
    # (N,) what is public of the counts: of another period, or the true ones where places are public
    public_counts: Floats | None = None
    # what public records the reading starts from, None where it starts from none
    field: KeptField | None = None
    # the same of a second look, without what is public; None where there was one look
    second: KeptSums | None = None

    @classmethod
    def of(
        cls,
        released: SpectralSums,
        features: Features,
        public_counts: Floats | None = None,
        field: PublicField | None = None,
        second: KeptSums | None = None,
    ) -> KeptSums:
        """What is kept of a release; `public_counts` (N,) or None."""
        counts = None if released.counts is None else _whole(released.counts, COUNT_UNIT)
        return cls(
            _whole(released.sums, SUM_UNIT), counts, features_digest(features), released.noise, public_counts,
            None if field is None else KeptField.of(field), second,
        )  # fmt: skip

    def again(self, features: Features) -> SpectralSums:
        """The release, for features made anew; raises InvalidValue if the sums were made with others."""
        if self.sums.shape != (features.size,) or self.features != features_digest(features):
            raise InvalidValue(
                "the features of these sums are not those that this machine makes from their design."
            )
        counts = None if self.counts is None else self.counts.astype(np.float64) * COUNT_UNIT
        return SpectralSums(self.sums.astype(np.float64) * SUM_UNIT, counts, self.noise)


def features_digest(features: Features) -> str:
    """SHA-256, hex, of features: their shape, then row by row the whole multiples of 2^-20."""
    digest = hashlib.sha256(f"features {features.nodes} {features.size}\n".encode())
    digest.update(np.ascontiguousarray(features.scaled.astype("<i4")).tobytes())
    return digest.hexdigest()


def _whole(values: Floats, unit: float) -> Ints:
    """Released numbers in their unit, whole."""
    return np.asarray(np.rint(values / unit).astype(np.int64))
