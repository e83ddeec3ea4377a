"""The field's prior in few numbers: its leading eigenfunctions on the nodes, and what they leave out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.linalg.numerics import Floats


@dataclass(frozen=True, eq=False)
class FieldBasis:
    """A field of variance 1 at every node: `rows @ z + sqrt(rest) e`, z (Q,) and e (M,) standard normal.

    Parameters
    ----------
    rows
        (M, Q) scaled eigenfunctions, of length at most 1
    rest
        (M,) variance of what they leave out, in [0, 1]; treated as independent from node to node
    """

    rows: Floats
    rest: Floats

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
        even = np.full((self.rest.size, 1), np.sqrt(share))
        return FieldBasis(np.hstack([np.sqrt(1.0 - share) * self.rows, even]), (1.0 - share) * self.rest)
