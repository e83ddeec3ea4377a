"""The field's prior in few numbers: leading eigenfunctions, what they leave out, and public columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.linalg import Floats

MOST_COLUMNS = 8
"""More columns than these are refused: each takes its part of the noise's budget."""

REACH = 3.0
"""Deviations from the mean: a number further away counts as this far, or one odd cell would be all."""

SHARE = 0.25
"""Share of the variance that columns are believed to explain together, if they explain anything."""


@dataclass(frozen=True, eq=False)
class FieldBasis:
    """A field of mean variance 1: `rows @ z + sqrt(rest) e`, z (Q,) and e (M,) standard normal.

    Its variance is 1 at every node, but for what public columns add where they are far from their mean.
    """

    rows: Floats  # (M, Q) scaled eigenfunctions, then columns that the field's mean depends on
    rest: Floats  # (M,) variance of what they leave out, in [0, 1]; treated as independent from node to node

    @classmethod
    def of(cls, pairs: Eigenpairs, count: int | None = None) -> FieldBasis:
        """From the `count` leading eigenpairs (all by default), each node's variance scaled to 1."""
        kept = slice(None if count is None else max(1, count))
        rows = pairs.vectors[:, kept] * np.sqrt(pairs.values[kept])
        rows = rows / np.sqrt(pairs.variance)[:, None]
        rest = 1.0 - np.einsum("ij,ij->i", rows, rows)
        return cls(rows, np.clip(rest, 0.0, 1.0))

    def with_common(self, share: float) -> FieldBasis:
        """The same where nodes have a share of the variance in common: the field's mean is not known exactly.

        A last column is added to the rows.
        """
        return self.with_columns(np.ones((self.rest.size, 1)), share)

    def with_own(self, share: float) -> FieldBasis:
        """The same where neighbours share so much of the variance, in [0, 1]; the rest is each node's own."""
        rows = self.rows if share else self.rows[:, :1]
        return FieldBasis(np.sqrt(share) * rows, 1.0 - share + share * self.rest)

    def with_columns(self, columns: Floats, share: float) -> FieldBasis:
        """The same with columns (M, k) of mean square 1 in the field's mean, their weights normal of mean 0.

        `share`, in [0, 1), is the part of the mean variance that all columns together explain, equally.
        """
        added = np.sqrt(share / columns.shape[1]) * columns
        return FieldBasis(np.hstack([np.sqrt(1.0 - share) * self.rows, added]), (1.0 - share) * self.rest)

    def following(self, weight: Floats, count: int) -> FieldBasis:
        """The same in the `count` functions along which it varies most where the nodes have weight (M,) >= 0.

        What they leave out counts as independent from node to node.
        """
        if self.rows.shape[1] <= count:
            return self
        values, turned = np.linalg.eigh((self.rows * weight[:, None]).T @ self.rows)
        kept = turned[:, np.argsort(-values)[:count]]
        signs = np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(count)])  # the same on every machine
        rows = self.rows @ (kept * signs)
        left = self.variance - np.einsum("ij,ij->i", rows, rows)
        return FieldBasis(rows, np.maximum(left, 0.0))

    @cached_property
    def variance(self) -> Floats:
        """(M,) variance of the field at each node."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows) + self.rest)


def standardised(columns: Floats) -> Floats:
    """Scale public columns (N, k) to mean 0 and mean square 1, cut off beyond REACH deviations.

    Raises InvalidValue for no column or too many, a number that is not finite, or a constant column.
    """
    found = np.asarray(columns, dtype=np.float64)
    if found.ndim != 2 or not 1 <= found.shape[1] <= MOST_COLUMNS:
        raise InvalidValue(f"between 1 and {MOST_COLUMNS} covariates can be read together.")
    if not np.all(np.isfinite(found)):
        raise InvalidValue("every number of a covariate must be finite.")
    largest = np.abs(found).max(axis=0)
    found = found / np.where(largest > 0, largest, 1.0)  # squares of very large numbers would overflow
    for _ in range(2):
        found = found - found.mean(axis=0)
        deviation = found.std(axis=0)
        if not np.all(deviation > 1e-12):
            raise InvalidValue("a covariate is the same everywhere: leave it out.")
        found = np.clip(found / deviation, -REACH, REACH)
    return np.asarray(np.clip(found / np.sqrt(np.square(found).mean(axis=0)), -REACH, REACH))
