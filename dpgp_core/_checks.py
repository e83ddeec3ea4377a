"""Argument checks shared by the accounting modules: a bad number stops here with one clear sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats


def positive(name: str, value: float) -> float:
    """`value` as a float if it is finite and > 0, else `InvalidValue`."""
    value = float(value)
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidValue(f"{name} must be a positive finite number, got {value!r}.")
    return value


def non_negative(name: str, value: float) -> float:
    """`value` as a float if it is finite and >= 0, else `InvalidValue`."""
    value = float(value)
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidValue(f"{name} must be a finite number >= 0, got {value!r}.")
    return value


def open_unit(name: str, value: float) -> float:
    """`value` as a float if 0 < value < 1, else `InvalidValue` (NaN included)."""
    value = float(value)
    if not 0.0 < value < 1.0:
        raise InvalidValue(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return value


def refuse_bad_call(index: NDArray[Any], records: int, each: str, cells: int, epsilon: float) -> None:
    """Raise `InvalidValue` for an epsilon or for record cells that a release in one call cannot take.

    `index`, (n,), needs one position from 0 to `cells` - 1 for each of `records` records; `each` names one.
    """
    if index.shape != (records,) or index.dtype.kind not in "iu":
        raise InvalidValue(f"cells must be whole numbers, one for each {each}.")
    if index.size and not (index.min() >= 0 and index.max() < cells):
        raise InvalidValue(f"cells must lie from 0 to {cells - 1}: leave other records out.")
    if not 0 < epsilon < np.inf:
        raise InvalidValue(f"epsilon must be a finite number above 0, got {epsilon!r}.")


def whole(name: str, value: Any, least: int = 1) -> int:
    """`value` as an int if it is a whole number >= least, else `InvalidValue`."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} must be a whole number >= {least}, got {value!r}.") from None
    if isinstance(value, bool) or number != value or number < least:
        raise InvalidValue(f"{name} must be a whole number >= {least}, got {value!r}.")
    return number


def positive_array(name: str, value: ArrayLike) -> Floats:
    """`value`, of any shape, as a float64 array whose entries are all finite and > 0, else `InvalidValue`."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all(np.isfinite(array) & (array > 0.0)):
        raise InvalidValue(f"{name} must be positive and finite.")
    return array


def ridge_array(value: ArrayLike) -> Floats:
    """Effective ridges r, of any shape, as a float64 array, each in [1e-6, 1e9], else `InvalidValue`.

    Outside of it r^2 next to 1 is lost to rounding and no bound would mean anything.
    """
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= 1e-6) & (array <= 1e9)):
        raise InvalidValue("the ridge must lie between 1e-6 and 1e9.")
    return array


def variance_array(value: ArrayLike) -> Floats:
    """`value`, of any shape, as a float64 array in (0, 1], the range of the variance bound V_n."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array > 0.0) & (array <= 1.0)):
        raise InvalidValue("the variance must lie in (0, 1]: priors are scaled to variance at most 1.")
    return array


def renyi_orders(orders: ArrayLike) -> Floats:
    """`orders`, a scalar or (K,), as a float64 array (K,) of finite entries > 1, else `InvalidValue`."""
    array = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array) & (array > 1.0)):
        raise InvalidValue("orders must be a non-empty list of finite Renyi orders > 1.")
    return array
