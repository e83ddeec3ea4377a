"""The certified supremum of Theorem A+ (interim: Theorem A's supremum, which lies above it)."""

from __future__ import annotations

from dpgp_core._checks import Floats
from dpgp_core.suprema import separate_supremum


def sharp_supremum(others: float, r2: Floats, variance: Floats) -> Floats:
    """(B,) upper bounds on the supremum of Theorem A+ for response bound 1."""
    return 2.0 * separate_supremum(others, r2, variance)
