"""Certified one-dimensional suprema: Phi_n in closed form, Theorem A by monotone factors on cells."""

from __future__ import annotations

import numpy as np

from dpgp_core._checks import Floats

_UP = 1.0 + 1e-13  # outward slack; each formula below loses less than 1e-14
_CELLS = 128
_ROUNDS = 3


def root_phi(r2: Floats, variance: Floats) -> Floats:
    """Upper bound on sqrt(Phi_n) = max over 0 < v <= V of sqrt(v)/(v + r^2), for r^2 and V of one shape.

    1/(2r) if V >= r^2, else sqrt(V)/(V + r^2); docs/mathematics.md, section 1.
    """
    return np.where(variance >= r2, 0.5 / np.sqrt(r2), np.sqrt(variance) / (variance + r2)) * _UP


def _separate_cells(low: Floats, high: Floats, r2: Floats, growth: Floats) -> Floats:
    """Theorem A's objective on cells low <= v <= high, from above: each unimodal factor at its largest."""
    weight = np.where((low < r2) & (r2 < high), 0.5 / np.sqrt(r2), 0.0)
    weight = np.maximum(weight, np.maximum(np.sqrt(low) / (low + r2), np.sqrt(high) / (high + r2)))
    spread = np.maximum(low * (1.0 - low), high * (1.0 - high))
    spread = np.where((low < 0.5) & (high > 0.5), 0.25, spread)
    return (1.0 + growth * np.sqrt(spread)) * weight


def separate_supremum(others: float, r2: Floats, variance: Floats) -> Floats:
    """(B,) upper bounds on sup over 0 < v <= V of (1 + sqrt(others v (1-v))/r) sqrt(v)/(v + r^2).

    A partition of (0, V] in log v whose cells are bounded from above; those that can still hold the
    supremum are partitioned again. The returned number lies above the supremum, by less than 0.01 %.

    Parameters
    ----------
    others
        n - 1, the number of core records
    r2, variance
        (B,) squared ridges and bounds V_n.
    """
    r2, variance = r2[:, None], variance[:, None]
    growth = np.sqrt(others / r2)
    floor = np.minimum(r2, variance) * 1e-12
    steps = np.linspace(0.0, 1.0, _CELLS + 1)
    edges = floor * (variance / floor) ** steps
    edges[:, -1:] = variance
    # Below the floor both factors increase on (0, r^2), so one cell covers it.
    tail = _separate_cells(np.zeros_like(floor), floor, r2, growth)[:, 0]
    best = np.max(_separate_cells(edges, edges, r2, growth), axis=1)
    for _ in range(_ROUNDS):
        upper = _separate_cells(edges[:, :-1], edges[:, 1:], r2, growth)
        alive = upper >= best[:, None]
        # The alive cells need not touch, but their hull is a valid and simple next range.
        first, last = alive.argmax(axis=1), _CELLS - alive[:, ::-1].argmax(axis=1)
        rows = np.arange(edges.shape[0])
        low, high = edges[rows, first][:, None], edges[rows, last][:, None]
        edges = low * (high / low) ** steps
        edges[:, :1], edges[:, -1:] = low, high
        best = np.maximum(best, np.max(_separate_cells(edges, edges, r2, growth), axis=1))
    upper = _separate_cells(edges[:, :-1], edges[:, 1:], r2, growth)
    return np.asarray(np.maximum(np.maximum(np.max(upper, axis=1), best), tail) * _UP)
