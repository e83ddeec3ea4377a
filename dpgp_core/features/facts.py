"""What a strategy may know when it makes features: public geography and public numbers, no records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import non_negative, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """Everything a strategy reads."""

    nodes: Nodes  # the domain
    pairs: Eigenpairs  # leading eigenpairs of the prior correlation on the nodes
    lengthscale: float  # range of that prior, metres; plane waves have no eigenpairs and use it directly
    # exponent a of the prior's spectrum (1 + (lengthscale w)^2)^-a, for plane waves: 1.5 for an exponential
    # correlation in the plane, 2.5 for Matern 3/2, 1 for a conditional autoregression
    decay: float
    density: float  # public (or guessed) number of records per cell, c = n/N > 0
    deviation: float  # standard deviation lambda > 0 of the field, response units
    # standard deviation r lambda >= 0 of one record around its cell's value, response units
    record_noise: float
    noise: float  # standard deviation s > 0 of the noise on the released sums
    # (M,) public parent labels of the nodes, coarsest level first, for the parent tree; may be empty
    hierarchy: tuple[Ints, ...] = ()

    def __post_init__(self) -> None:
        for name in ("lengthscale", "decay", "density", "deviation", "noise"):
            positive(name, getattr(self, name))
        non_negative("record_noise", self.record_noise)
        if self.pairs.size != self.nodes.size:
            raise InvalidValue("the eigenpairs and the nodes must be of the same domain.")
        for labels in self.hierarchy:
            if labels.shape != (self.nodes.size,):
                raise InvalidValue("every level of the hierarchy needs one parent label per node.")

    @property
    def per_node(self) -> float:
        """Expected number of records per node."""
        return self.density * self.nodes.cells / self.nodes.size

    @property
    def scatter(self) -> float:
        """Variance of the records' own noise in a direction of unit length: `c r^2 lambda^2`, per node."""
        return self.per_node * self.record_noise**2

    def signal(self, eigenvalue: Floats) -> Floats:
        """Signal variance `c^2 lambda^2 kappa` of Q directions of the plain sums per node, (Q,)."""
        return np.asarray((self.per_node * self.deviation) ** 2 * np.maximum(eigenvalue, 0.0))
