"""The released sums of features: exact sums, their noise, and the kept sums from which readers recompute."""

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
"""Released sums are whole multiples of it; released counts are of `COUNT_UNIT`."""
COUNT_UNIT = 2.0**-GRID_BITS
_MOST_RECORDS = 1 << 31  # times 2^30 stays below 2^62


class RoundedNoise(Protocol):
    """Independent deviates of a normal distribution times `scale`, each rounded to the nearest integer."""

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
    # sum of the responses of each in units of 2^-10, at most 2^10 count in size: (k,), or (k, c) of c columns
    total: Ints
    present: Ints | None = None  # (k, c) records of each that have the column; None where that is not summed
    ball: Ball = ONE_COLUMN  # which the records' vectors were cut to

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
        """From the cell and the response of each record (n,), clipped to [-1, 1] and rounded.

        Each record is rounded by itself, so replacing one record changes one record's integers only. Raises
        InvalidValue if lengths differ, or a response is not finite.
        """
        cells = np.asarray(cell, dtype=np.int64)
        values = np.asarray(response, dtype=np.float64)
        if cells.ndim != 1 or cells.shape != values.shape:
            raise InvalidValue("every record needs one cell and one response.")
        if not np.all(np.isfinite(values)):
            raise InvalidValue("responses must be finite.")
        whole = np.rint(np.clip(values, -1.0, 1.0) * _RESPONSE).astype(np.int64)
        occupied, inverse, count = np.unique(cells, return_inverse=True, return_counts=True)
        total = np.zeros(occupied.size, dtype=np.int64)
        np.add.at(total, inverse.ravel(), whole)
        return cls(occupied, count.astype(np.int64), total)

    @classmethod
    def of_vectors(cls, cell: ArrayLike, responses: ArrayLike, ball: Ball) -> GridRecords:
        """The same from the responses (n, c) of each record, cut to the ball; NaN where one is missing.

        A missing response adds 0. Of one column of radius 1 these are the records of `of`. Raises
        InvalidValue if lengths differ, or a response is infinite.
        """
        cells, values = np.asarray(cell, dtype=np.int64), np.asarray(responses, dtype=np.float64)
        if cells.ndim != 1 or cells.shape != values.shape[:1]:
            raise InvalidValue("every record needs one cell and one vector of responses.")
        whole, there = ball.cut(values)
        occupied, inverse, count = np.unique(cells, return_inverse=True, return_counts=True)
        total, present = np.zeros((2, occupied.size, ball.columns), dtype=np.int64)
        np.add.at(total, inverse.ravel(), whole)
        np.add.at(present, inverse.ravel(), there)
        return cls(
            occupied, count.astype(np.int64), total[:, 0] if ball == ONE_COLUMN else total,
            present if ball.presence else None, ball,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SpectralSums:
    """What is released: nothing in it is private any more."""

    sums: Floats  # (p,) `sum y phi` plus noise, or (c, p) of c columns
    # `sum phi` plus noise: (p,), or (c, p) of the records that have each column; None where places are public
    counts: Floats | None
    noise: SpectralNoise  # the standard deviations

    @property
    def parts(self) -> tuple[Floats, ...]:
        """The sums, (p,) or (c, p), and the counts where they were released."""
        return (self.sums,) if self.counts is None else (self.sums, self.counts)

    def layer(self, column: int) -> SpectralSums:
        """What was released of one of several columns: sums and counts (p,) as of a release of it alone."""
        counts = self.counts if self.counts is None or self.counts.ndim == 1 else self.counts[column]
        return SpectralSums(self.sums[column], counts, self.noise)

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

    Of c columns the sums are (c, p), and so are the counts where presence is summed.

    Raises InvalidValue if the features are of another domain, or a record lies outside it.
    """
    if features.nodes != nodes.size:
        raise InvalidValue("the features and the nodes must be of the same domain.")
    if records.cell[-1] >= nodes.cells:
        raise InvalidValue("a record lies outside the domain.")
    there = records.count if records.present is None else records.present
    at, made = nodes.place[records.cell], []
    for part in (records.total, there):
        summed = np.zeros((nodes.size, *part.shape[1:]), dtype=np.int64)
        np.add.at(summed, at, part)
        # At most n 2^30 < 2^61 in size, and so is every partial sum: no overflow, so no dependence on order.
        made.append(summed.T @ features.whole)
    return made[0], made[1]


def release_sums(
    features: Features, nodes: Nodes, records: GridRecords, noise: SpectralNoise, source: RoundedNoise
) -> SpectralSums:
    """Release the sums once: a Gaussian mechanism of parameter `release_mu(inner_products(features), noise)`.

    Records are private; the source must be operating-system bits for anything that leaves the curator's
    hands. As the exact sums T are integers, `T + round(s w) = round(T + s w)`: rounding is post-processing of
    the ideal Gaussian mechanism, whose mu is computed from the very integers that are summed here. Raises
    InvalidValue for records that were cut to another ball than the one that the noise is priced for.
    """
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
    """Private means and public deviations of all released sums, then all counts, (q,) each: for audits."""
    totals, counts = exact_sums(features, nodes, records)
    sums, wide = _times(totals, SUM_UNIT).ravel(), np.full(totals.size, noise.sums)
    if noise.counts is None:
        return sums, wide
    both = np.concatenate([sums, _times(counts, COUNT_UNIT).ravel()])
    return both, np.concatenate([wide, np.full(counts.size, noise.counts)])


def _times(whole: Ints, unit: float) -> Floats:
    """Integers as numbers: multiples of the public unit."""
    return np.asarray(whole.astype(np.float64) * unit)


@dataclass(frozen=True, eq=False)
class KeptField:
    """A `PublicField` in the numbers that make it."""

    # count, mean: (M,) public records of each node, 0 where there are none, and the mean of their responses
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
        """The numbers of a field."""
        count, mean = np.zeros(field.nodes.size), np.zeros(field.nodes.size)
        count[field.index], mean[field.index] = field.count, field.mean
        local = np.broadcast_to(field.local, field.nodes.size)
        return cls(count, mean, local, field.deviation, field.scatter, field.lengthscale, field.covariates)

    def at(self, nodes: Nodes, columns: Floats | None = None) -> PublicField:
        """The field again, on the nodes of its domain with their public columns (M, k), if it has any; raises
        InvalidValue if they are not its nodes.
        """
        if (columns is None) != (self.covariates == 0.0):
            raise InvalidValue("the public columns of the records kept with the sums are not those read.")
        index = np.flatnonzero(self.count > 0)
        shapes = {each.shape for each in (self.count, self.mean, self.local)}
        if shapes != {(nodes.size,)} or index.size == 0 or not np.all(self.local > 0):
            raise InvalidValue("the public records kept with the sums are not those of this domain.")
        return PublicField(
            nodes, index, self.count[index], self.mean[index], self.deviation, self.scatter, self.lengthscale,
            columns=columns, covariates=self.covariates, local=self.local,
        )  # fmt: skip


def same_field(one: KeptField | None, other: KeptField | None) -> bool:
    """Whether two public starts are the same numbers, but for what machines differ by."""
    if one is None or other is None:
        return one is other
    pairs = ((getattr(one, each.name), getattr(other, each.name)) for each in fields(KeptField))
    return all(np.shape(m) == np.shape(t) and np.allclose(m, t, atol=1e-9) for m, t in pairs)


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
            _whole(released.sums, SUM_UNIT),
            counts,
            features_digest(features),
            released.noise,
            public_counts,
            None if field is None else KeptField.of(field),
            second,
        )

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
