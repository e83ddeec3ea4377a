"""The RDP curve: what a release costs at every order, the one thing that is stored and added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import positive, whole
from dpgp_core.accounting.conversion import EpsilonBound, epsilon_from_rdp
from dpgp_core.accounting.orders import ORDERS
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats


@dataclass(frozen=True, eq=False)
class RdpCurve:
    """Upper bounds on the Renyi divergence between neighbouring outputs, one per order of `ORDERS`.

    Adding curves composes releases (adaptively chosen ones too), order by order (Mironov 2017, Prop. 1).

    Parameters
    ----------
    values
        (len(ORDERS),) float64, >= 0, `inf` where nothing is proved; never negative, never NaN.
    """

    values: Floats

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.shape != ORDERS.shape:
            raise InvalidValue(f"a curve has one value for each of the {ORDERS.size} public orders.")
        if np.any(np.isnan(values) | (values < 0.0)):
            raise InvalidValue("a curve has no negative and no NaN value: divergences are never negative.")
        values = values + 0.0  # no negative zero, so that equal curves have equal bytes
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __add__(self, other: RdpCurve) -> RdpCurve:
        return RdpCurve(self.values + other.values) if isinstance(other, RdpCurve) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RdpCurve) and bool(np.array_equal(self.values, other.values))

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __reduce__(self) -> tuple[type[RdpCurve], tuple[Floats]]:
        return RdpCurve, (self.values,)  # checked again, and read-only again, wherever it is unpickled

    def times(self, count: int) -> RdpCurve:
        """The cost of `count` >= 1 releases of this one's kind."""
        return RdpCurve(whole("count", count) * self.values)

    def epsilon(self, delta: float) -> EpsilonBound:
        """Upper bound on epsilon at `delta` in (0, 1); `inf` where nothing is proved."""
        return epsilon_from_rdp(ORDERS, self.values, delta)

    @classmethod
    def zero(cls) -> RdpCurve:
        """The cost of releasing nothing: the neutral element of addition."""
        return cls(np.zeros(ORDERS.shape))

    @classmethod
    def gaussian(cls, mu: float) -> RdpCurve:
        """alpha mu^2/2: a Gaussian mechanism with L2 sensitivity mu > 0 in units of its noise."""
        mu = positive("mu", mu)
        with np.errstate(over="ignore"):  # what overflows is inf: nothing is proved there
            return cls(0.5 * ORDERS * mu * mu * (1.0 + 1e-15))
