"""The fixed public grid of Renyi orders on which every curve of the program lives."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from dpgp_core.linalg import Floats

_PER_DECADE = 75
_LOWEST, _HIGHEST = -3, 5  # decimal exponents of alpha - 1


def _grid() -> Floats:
    """Decimal powers: those of numpy differ in the last bit from processor to processor, and ledgers move."""
    steps = range((_HIGHEST - _LOWEST) * _PER_DECADE + 1)
    with localcontext(prec=30):
        powers = [float(Decimal(10) ** Decimal(_LOWEST + step / _PER_DECADE)) for step in steps]
    grid: Floats = 1.0 + np.array(powers)
    grid.setflags(write=False)
    return grid


ORDERS: Floats = _grid()
"""(601,) orders, log-spaced in alpha - 1 from 1e-3 to 1e5. Public and fixed: curves on it can be added.

Any subset of valid orders gives a valid epsilon (docs/mathematics.md, section 5), so the spacing only costs
tightness: neighbouring points differ by 3.1 % in alpha - 1, which costs about 0.1 % of epsilon at most.
"""
