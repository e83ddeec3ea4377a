"""The guarantee: the proved cost of one release, whatever mechanism it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpgp_core.accounting.composition import Cost, Neighbours, epsilon, pure_curve
from dpgp_core.accounting.conversion import EpsilonBound
from dpgp_core.accounting.curve import RdpCurve
from dpgp_core.accounting.groups import group_epsilon
from dpgp_core.accounting.orders import ORDERS
from dpgp_core.accounting.pairs import GaussianPairs
from dpgp_core.errors import BoundRefused


class PriorFacts(Protocol):
    """What the accountant must know of a prior; every field is public."""

    @property
    def name(self) -> str: ...

    @property
    def kappa(self) -> float:
        """Lower bound on the prior correlation between any two cells, in [0, 1]."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the bounds that hold for this prior."""


@dataclass(frozen=True)
class Guarantee:
    """The proved cost of one release.

    Parameters
    ----------
    curve
        RDP curve, what the ledger stores
    bound
        name of the bound that priced it
    source
        where its proof stands
    proved
        always True: an unproved guarantee does not exist
    exact_gaussian_mu
        mu if the release is a plain Gaussian mechanism, else None
    assumption
        what is assumed beyond its neighbours and clipped responses, "" if nothing
    pairs
        leverage and paths of posterior sampling, whose curve converts more sharply; or None
    distance
        total variation, at most, between what a computer releases and what the rest describes
    pure_epsilon
        epsilon if the release is (epsilon, 0)-DP, as with Laplace noise, else None
    neighbours
        the datasets that the cost compares
    exchange_mu
        mu for one exchanged record, where the neighbours differ in one record more or less and it is known
    """

    curve: RdpCurve
    bound: str
    source: str
    proved: bool
    exact_gaussian_mu: float | None = None
    assumption: str = ""
    pairs: GaussianPairs | None = None
    distance: float = 0.0
    pure_epsilon: float | None = None
    neighbours: Neighbours = "replace-one"
    exchange_mu: float | None = None

    def __post_init__(self) -> None:
        if not self.proved:
            raise BoundRefused(f"the bound {self.bound!r} is not proved and cannot back a release.")

    @classmethod
    def gaussian(cls, cost: Cost, source: str) -> Guarantee:
        """Of a Gaussian mechanism with this cost, proved in `source`."""
        return cls(
            cost.curve, "gaussian-mechanism", source, True, cost.gaussian_mu, distance=cost.distance,
            neighbours=cost.neighbours, exchange_mu=cost.exchange_mu,
        )  # fmt: skip

    @classmethod
    def pure(
        cls, epsilon: float, bound: str, source: str, neighbours: Neighbours = "replace-one"
    ) -> Guarantee:
        """Of a pure epsilon-DP mechanism, named `bound` and proved in `source`.

        >>> Guarantee.pure(1.0, "laplace-mechanism", "Dwork et al. 2006").epsilon(1e-9).epsilon <= 1.0
        True
        """
        return cls(pure_curve(epsilon), bound, source, True, pure_epsilon=epsilon, neighbours=neighbours)

    @property
    def cost(self) -> Cost:
        """Everything that is proved about the release, for composition with others and for groups."""
        mu = self.exact_gaussian_mu
        pairs = None if mu is not None else self.pairs
        return Cost(
            self.curve, mu, self.pure_epsilon, pairs, self.distance, neighbours=self.neighbours,
            exchange_mu=self.exchange_mu,
        )  # fmt: skip

    def epsilon(self, delta: float) -> EpsilonBound:
        """The least proved epsilon at `delta`, rounded upwards: never above what the curve alone proves.

        Exact for a Gaussian mechanism and a pure one; for posterior sampling by the sharper conversion of its
        pairs; else from the curve. `order` is the Renyi order that gave it, None where none did.
        """
        found = epsilon(self.cost, delta)
        if found.method == "renyi" and self.distance == 0.0:
            return self.curve.epsilon(delta)
        finite = ORDERS[np.isfinite(self.curve.values)]
        edge = found.order is not None and found.order in (finite[0], finite[-1])
        return EpsilonBound(found.epsilon, found.order, edge)

    def group(self, delta: float, q: int) -> EpsilonBound:
        """The least proved epsilon at the same `delta` for a person with up to `q` records."""
        return EpsilonBound(group_epsilon(self.cost, q, delta).epsilon, None, False)
