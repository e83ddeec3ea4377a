"""The closed list of proved bounds: a release rests on one of them, whatever its statement calls it."""

from __future__ import annotations

from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.mechanisms.registry import mechanism_named

# Theorems that hold for a kind of noise, whatever is released with it; "rkhs" rests on an assumption that its
# source states.
GENERAL = (
    "gaussian-mechanism", "discrete-gaussian-mechanism", "laplace-mechanism", "discrete-laplace-mechanism",
    "exponential-mechanism", "randomised-response", "rkhs",
)  # fmt: skip


def proved_bounds(mechanism: str) -> frozenset[str]:
    """Names of the proved bounds that can back a release of a mechanism, its own `bounds` among them."""
    own = mechanism_named(mechanism).bounds
    return frozenset({*GENERAL, *own, *(name for name, bound in BOUNDS.items() if bound.proved)})
