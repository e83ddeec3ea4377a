"""Plane waves on the bounding box: features without an eigenproblem, of unit length everywhere."""

from __future__ import annotations

import numpy as np

from dpgp_core.features.facts import PublicFacts
from dpgp_core.features.powers import water_filling
from dpgp_core.linalg import Floats

MOST_WAVES = 1_500
"""Frequencies considered, longest waves first; each makes two features."""

MARGIN = 0.5
"""Share of its extent added to each side of the box together, so that opposite rims are not neighbours."""


def wave_rows(facts: PublicFacts) -> Floats:
    """(M, p) features `a_w cos(w.x), a_w sin(w.x)` with `sum a_w^2 = 1`, so every row has length 1.

    The frequencies are those of a periodic box around the domain; their weights are water-filled for the
    prior's spectrum `(1 + (lengthscale w)^2)^-decay`. Power spent outside an irregular domain is lost.
    """
    centres = facts.nodes.lattice.domain_centres
    low, extent = centres.min(axis=0), np.ptp(centres, axis=0)
    box = np.maximum(extent, facts.nodes.lattice.spacing) * (1.0 + MARGIN)
    reach = int(np.ceil(np.sqrt(MOST_WAVES * box.max() / box.min()))) + 1
    first, second = (axis.ravel() for axis in np.meshgrid(*2 * [np.arange(-reach, reach + 1)], indexing="ij"))
    half = (first > 0) | ((first == 0) & (second >= 0))  # w and -w are the same wave
    omega = 2.0 * np.pi * np.stack([first[half], second[half]], axis=1) / box
    size = np.linalg.norm(omega, axis=1)
    order = np.argsort(size, kind="stable")[:MOST_WAVES]
    omega, size = omega[order], size[order]
    twice = np.where(size > 0, 2.0, 1.0)  # a wave spends its power on two directions, the constant on one
    spectrum = (1.0 + np.square(facts.lengthscale * size)) ** -facts.decay
    spectrum *= facts.nodes.size / float(twice @ spectrum)  # mean variance 1 on as many directions as nodes
    directions = np.repeat(spectrum, twice.astype(np.int64))
    powers = water_filling(facts.signal(directions), facts.scatter, facts.noise, float(facts.nodes.size))
    first_of = np.cumsum(twice.astype(np.int64)) - twice.astype(np.int64)
    share = twice * powers[first_of] / facts.nodes.size
    kept = share > 0
    phase = (centres - low) @ omega[kept].T
    weight = np.sqrt(share[kept])
    sines = weight * np.sin(phase)
    return np.hstack([weight * np.cos(phase), sines[:, size[kept] > 0]])
