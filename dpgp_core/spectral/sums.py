"""The released sums of features: exact sums, their noise, and the stored sums that readers
recompute from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import GRID_BITS, Features
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints
from dpgp_core.noise import WordSource, rounded_normal
from dpgp_core.posterior.records import RESPONSE_BITS
from dpgp_core.spectral.ball import ONE_COLUMN, Ball
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.public_field import PublicField

_RESPONSE = 1 << RESPONSE_BITS
SUM_UNIT = 2.0 ** -(GRID_BITS + RESPONSE_BITS)
"""Released sums are whole multiples of SUM_UNIT, released counts of COUNT_UNIT."""
COUNT_UNIT = 2.0**-GRID_BITS
_MOST_RECORDS = 1 << 31  # times 2^30 stays below 2^62


class RoundedNoise(Protocol):
    """Independent deviates of a normal distribution times `scale`, each rounded to the nearest
    integer."""

    def rounded_normal(self, scale: float, size: int) -> Ints:
        """Whole numbers (n,)."""
        ...


@dataclass(frozen=True)
class ExactNoise:
    """Exactly rounded normal noise from a source of words: what a release adds."""

    source: WordSource

    def rounded_normal(self, scale: float, size: int) -> Ints:
        """Whole numbers (n,)."""
        return rounded_normal(scale, size, self.source)


@dataclass(frozen=True, eq=False)
class GridRecords:
    """Records summed per cell in whole numbers: the same for every order of the records."""

    cell: Ints  # (k,) occupied cells, strictly increasing
    count: Ints  # (k,) records of each, >= 1
    # sum of the responses of each in units of 2^-10, at most 2^10 count in size: (k,), or (k, c) of
    # c columns
    total: Ints
    present: Ints | None = None  # (k, c) records of each that have the column; None if not summed
    ball: Ball = ONE_COLUMN  # the ball to which the records' vectors were cut

    def __post_init__(self) -> None:
        if not (self.cell.ndim == 1 and self.cell.shape == self.count.shape == self.total.shape[:1]):
            raise InvalidValue("cell, count and total must be one-dimensional and of equal length.")
        shape = self.cell.shape if self.ball == ONE_COLUMN else (self.cell.size, self.ball.columns)
        if self.total.shape != shape or (self.present is None) == self.ball.presence:
            raise InvalidValue(
                "every column needs one total for each cell, and its presence where it is summed."
            )
        if self.present is not None and (
            self.present.shape != shape or np.any((self.present < 0) | (self.present > self.count[:, None]))
        ):
            raise InvalidValue("a column is present in none to all records of each cell.")
        if self.cell.size == 0:
            raise InvalidValue("there are no records: at least one record must lie inside the domain.")
        if self.cell[0] < 0 or np.any(np.diff(self.cell) <= 0) or np.any(self.count < 1):
            raise InvalidValue("cells must increase strictly and hold at least one record each.")
        if np.any(self.count * _RESPONSE < np.abs(self.total).T):
            raise InvalidValue("responses must be clipped to [-1, 1].")
        if int(self.count.sum()) >= _MOST_RECORDS:
            raise InvalidValue("there are too many records for sums of 62 bits: split them over domains.")

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.count.sum())

    @classmethod
    def of(cls, cell: ArrayLike, response: ArrayLike) -> GridRecords:
        """Sum the responses (n,) of records, clipped to [-1, 1] and rounded, by their cells (n,).

        Each record is rounded by itself, so replacing one record changes one record's integers
        only. Raises InvalidValue if lengths differ, or a response is not finite.
        """
        cells = np.asarray(cell, dtype=np.int64)
        values = np.asarray(response, dtype=np.float64)
        if cells.ndim != 1 or cells.shape != values.shape:
            raise InvalidValue("every record needs one cell and one response.")
        if not np.all(np.isfinite(values)):
            raise InvalidValue("responses must be finite.")
        rounded = np.rint(np.clip(values, -1.0, 1.0) * _RESPONSE).astype(np.int64)
        occupied, inverse, count = np.unique(cells, return_inverse=True, return_counts=True)
        total = np.zeros(occupied.size, dtype=np.int64)
        np.add.at(total, inverse.ravel(), rounded)
        return cls(occupied, count.astype(np.int64), total)

    @classmethod
    def of_vectors(cls, cell: ArrayLike, responses: ArrayLike, ball: Ball) -> GridRecords:
        """Sum vectors of responses (n, c), cut to the ball; NaN marks a missing response.

        A missing response adds 0. For one column of radius 1 the result is that of `of`. Raises
        InvalidValue if lengths differ, or a response is infinite.
        """
        cells, values = np.asarray(cell, dtype=np.int64), np.asarray(responses, dtype=np.float64)
        if cells.ndim != 1 or cells.shape != values.shape[:1]:
            raise InvalidValue("every record needs one cell and one vector of responses.")
        cut, present_columns = ball.cut(values)
        occupied, inverse, count = np.unique(cells, return_inverse=True, return_counts=True)
        total, present = np.zeros((2, occupied.size, ball.columns), dtype=np.int64)
        np.add.at(total, inverse.ravel(), cut)
        np.add.at(present, inverse.ravel(), present_columns)
        return cls(
            occupied,
            count.astype(np.int64),
            total[:, 0] if ball == ONE_COLUMN else total,
            present if ball.presence else None,
            ball,
        )


@dataclass(frozen=True, eq=False)
class SpectralSums:
    """The noisy sums of a release: nothing in them is private any more."""

    sums: Floats  # (p,) `sum y phi` plus noise, or (c, p) of c columns
    # `sum phi` plus noise: (p,), or (c, p) of the records that have each column; None if places are
    # public
    counts: Floats | None
    noise: SpectralNoise  # the standard deviations

    @property
    def parts(self) -> tuple[Floats, ...]:
        """The sums, (p,) or (c, p), and the counts if they were released."""
        return (self.sums,) if self.counts is None else (self.sums, self.counts)

    def layer(self, column: int) -> SpectralSums:
        """Sums and counts (p,) of one of several columns, in the form of a release of it alone."""
        counts = self.counts if self.counts is None or self.counts.ndim == 1 else self.counts[column]
        return SpectralSums(self.sums[column], counts, self.noise)

    def in_reach(self, column: int) -> SpectralSums:
        """The sums of such a layer in units of the column's reach, as it is read."""
        noise = self.noise.of_layer(column)
        return self if noise is self.noise else SpectralSums(self.sums / noise.unit, self.counts, noise)

    def __post_init__(self) -> None:
        if self.sums.ndim not in (1, 2) or self.sums.size == 0 or not np.all(np.isfinite(self.sums)):
            raise InvalidValue("released sums must be a finite vector for each column.")
        if (self.counts is None) != (self.noise.counts is None):
            raise InvalidValue("released counts and their noise come together or not at all.")
        if self.counts is not None and (
            self.counts.shape not in (self.sums.shape, self.sums.shape[-1:])
            or not np.all(np.isfinite(self.counts))
        ):
            raise InvalidValue("released counts must be finite, one for each sum.")


def exact_sums(features: Features, nodes: Nodes, records: GridRecords) -> tuple[Ints, Ints]:
    """`sum y phi` in units of 2^-30 and `sum phi` in units of 2^-20, (p,) each: exact, and private.

    For c columns the sums are (c, p), and so are the counts if presence is summed.

    Raises InvalidValue if the features are of another domain, or a record is outside it.
    """
    if features.nodes != nodes.size:
        raise InvalidValue("the features and the nodes must be of the same domain.")
    if records.cell[-1] >= nodes.cells:
        raise InvalidValue("a record lies outside the domain.")
    presence = records.count if records.present is None else records.present
    node, sums = nodes.place[records.cell], []
    for part in (records.total, presence):
        summed = np.zeros((nodes.size, *part.shape[1:]), dtype=np.int64)
        np.add.at(summed, node, part)
        # At most n 2^30 < 2^61 in size, and so is every partial sum: no overflow, so no dependence
        # on order.
        sums.append(summed.T @ features.whole)
    return sums[0], sums[1]


def release_sums(
    features: Features, nodes: Nodes, records: GridRecords, noise: SpectralNoise, source: RoundedNoise
) -> SpectralSums:
    """Release the sums once: a Gaussian mechanism of parameter
    `release_mu(inner_products(features), noise)`.

    Records are private; the source must be operating-system bits for anything that leaves the
    curator's hands. As the exact sums T are integers, `T + round(s w) = round(T + s w)`: rounding
    is post-processing of the ideal Gaussian mechanism, whose mu is computed from the very integers
    that are summed here. Raises InvalidValue for records that were cut to another ball than the one
    that the noise is priced for.
    """
    # Theorem C and Theorem D (docs/spectral-statistics.md, section 2) price shifts of records
    # inside the ball only: a vector from a larger ball would shift the sums further than the noise
    # allows for.
    if records.ball != noise.ball:
        raise InvalidValue("these records were cut to another ball than the one that the noise is made for.")
    totals, counts = exact_sums(features, nodes, records)
    sums = totals + source.rounded_normal(noise.sums / SUM_UNIT, totals.size).reshape(totals.shape)
    if noise.counts is None:
        return SpectralSums(_times(sums, SUM_UNIT), None, noise)
    noisy = counts + source.rounded_normal(noise.counts / COUNT_UNIT, counts.size).reshape(counts.shape)
    return SpectralSums(_times(sums, SUM_UNIT), _times(noisy, COUNT_UNIT), noise)


def mean_and_noise(
    features: Features, nodes: Nodes, records: GridRecords, noise: SpectralNoise
) -> tuple[Floats, Floats]:
    """Private means and public deviations of all released sums, then all counts, (q,) each: for
    audits."""
    # An audit compares two neighbouring datasets: normal laws with these means and the same
    # deviations.
    totals, counts = exact_sums(features, nodes, records)
    sums, wide = _times(totals, SUM_UNIT).ravel(), np.full(totals.size, noise.sums)
    if noise.counts is None:
        return sums, wide
    means = np.concatenate([sums, _times(counts, COUNT_UNIT).ravel()])
    return means, np.concatenate([wide, np.full(counts.size, noise.counts)])


def _times(integers: Ints, unit: float) -> Floats:
    """Multiply integers by the public unit."""
    return np.asarray(integers.astype(np.float64) * unit)


@dataclass(frozen=True, eq=False)
class KeptField:
    """The numbers that define a `PublicField`, for storage."""

    # count, mean: (M,) number of public records at each node, and the mean of their responses; both
    # are 0 at nodes without public records
    count: Floats
    mean: Floats
    # local (M,), deviation, scatter, lengthscale: as in `PublicField`
    local: Floats
    deviation: float
    scatter: float
    lengthscale: float
    covariates: float = 0.0  # share of the field's variance that public columns explain

    @classmethod
    def of(cls, field: PublicField) -> KeptField:
        """Read the numbers of a field."""
        count, mean = np.zeros(field.nodes.size), np.zeros(field.nodes.size)
        count[field.index], mean[field.index] = field.count, field.mean
        local = np.broadcast_to(field.local, field.nodes.size)
        return cls(count, mean, local, field.deviation, field.scatter, field.lengthscale, field.covariates)

    def at(self, nodes: Nodes, columns: Floats | None = None) -> PublicField:
        """Rebuild the field on the nodes of its domain with their public columns (M, k), if it has
        any.

        Raises InvalidValue if the nodes or the columns do not fit.
        """
        if (columns is None) != (self.covariates == 0.0):
            raise InvalidValue("the public columns of the records kept with the sums are not those read.")
        index = np.flatnonzero(self.count > 0)
        shapes = {array.shape for array in (self.count, self.mean, self.local)}
        if shapes != {(nodes.size,)} or index.size == 0 or not np.all(self.local > 0):
            raise InvalidValue("the public records kept with the sums are not those of this domain.")
        return PublicField(
            nodes,
            index,
            self.count[index],
            self.mean[index],
            self.deviation,
            self.scatter,
            self.lengthscale,
            columns=columns,
            covariates=self.covariates,
            local=self.local,
        )


def same_field(field: KeptField | None, other: KeptField | None) -> bool:
    """Whether two public fields have the same numbers, up to rounding on different machines."""
    if field is None or other is None:
        return field is other
    pairs = ((getattr(field, item.name), getattr(other, item.name)) for item in fields(KeptField))
    return all(np.shape(m) == np.shape(t) and np.allclose(m, t, atol=1e-9) for m, t in pairs)


@dataclass(frozen=True, eq=False)
class KeptSums:
    """Released sums in whole numbers, and everything but the design that their reading needs: all
    public."""

    sums: Ints  # (p,) released `sum y phi` in units of 2^-30
    counts: Ints | None  # (p,) released `sum phi` in units of 2^-20; None if places are public
    features: str  # SHA-256 of the features (`features_digest`)
    noise: SpectralNoise  # the standard deviations
    # (N,) public counts: those of another period, or the true ones if places are public
    public_counts: Floats | None = None
    # public field from which the reading starts, if any
    field: KeptField | None = None
    # the sums of a second look, without public counts and field; None for a single look
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
        """Round released sums back to whole numbers; `public_counts` (N,) or None."""
        # Released sums are whole multiples of their units, so this loses nothing: a reader on
        # another machine recomputes the reading from exactly these integers.
        counts = None if released.counts is None else _whole(released.counts, COUNT_UNIT)
        return cls(
            _whole(released.sums, SUM_UNIT),
            counts,
            features_digest(features),
            released.noise,
            public_counts,
            None if field is None else KeptField.of(field),
            second,
        )

    def again(self, features: Features) -> SpectralSums:
        """Rebuild the release for recomputed features; InvalidValue if the sums belong to
        others."""
        # A sum means nothing without its features: the digest proves that this machine computed,
        # from public facts, the same features as the curator.
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
    """Released numbers as whole multiples of their unit."""
    return np.asarray(np.rint(values / unit).astype(np.int64))
