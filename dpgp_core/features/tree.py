"""The parent tree: one feature for each group of a public hierarchy, weighted by level."""

from __future__ import annotations

import numpy as np
import scipy  # whose parts are loaded when they are asked for: scipy.optimize takes long

from dpgp_core.features.facts import PublicFacts
from dpgp_core.features.powers import water_filling
from dpgp_core.linalg import Floats, Ints


def tree_rows(facts: PublicFacts) -> Floats:
    """(M, p) features `a_l [node in group g of level l]`, with `sum_l a_l^2 = 1` over the levels.

    The levels are those of the public hierarchy, coarsest first, and the nodes themselves as the finest. All
    inner products are sums of some a_l^2, so they are >= 0 and kappa is 0.

    With groups of equal size the eigenvectors of K are the contrasts between a level's groups and their
    parents, and all contrasts of level l share the eigenvalue `sum over m >= l of a_m^2 size_m`. The prior's
    mean variance along these contrasts makes them directions for water-filling; powers must not increase
    towards finer levels, so they are averaged where they would. Unequal groups, as at the rim, make the
    weights less than best and nothing else: features are priced by what they are.
    """
    levels = [*(np.unique(labels, return_inverse=True)[1].ravel() for labels in facts.hierarchy)]
    levels.append(np.arange(facts.nodes.size))
    counts = np.array([int(labels.max()) + 1 for labels in levels])
    explained = np.array([_explained(facts, labels) for labels in levels])
    new = np.diff(counts, prepend=0)
    useful = np.flatnonzero(new > 0)  # a level that splits nothing adds nothing
    levels, counts, new = [levels[k] for k in useful], counts[useful], new[useful]
    variance = np.maximum(np.diff(explained[useful], prepend=0.0) / new, 0.0)
    powers = water_filling(
        facts.signal(np.repeat(variance, new)), facts.scatter, facts.noise, float(facts.nodes.size)
    )
    first = powers[np.cumsum(new) - new]
    mean = scipy.optimize.isotonic_regression(first, weights=new.astype(np.float64), increasing=False).x
    squares = np.maximum(-np.diff(mean, append=0.0), 0.0) * counts / facts.nodes.size
    squares /= squares.sum()
    kept = [(labels, weight) for labels, weight in zip(levels, np.sqrt(squares), strict=True) if weight > 0]
    blocks = []
    for labels, weight in kept:
        block = np.zeros((facts.nodes.size, int(labels.max()) + 1))
        block[np.arange(labels.size), labels] = weight
        blocks.append(block)
    return np.hstack(blocks)


def _explained(facts: PublicFacts, labels: Ints) -> float:
    """Trace of the prior correlation projected on the groups' means, from its leading eigenpairs."""
    groups = int(labels.max()) + 1
    size = np.bincount(labels, minlength=groups)
    sums = np.zeros((groups, facts.pairs.values.size))
    np.add.at(sums, labels, facts.pairs.vectors * np.sqrt(facts.pairs.values))
    rest = np.maximum(facts.pairs.variance - np.square(facts.pairs.vectors) @ facts.pairs.values, 0.0)
    return float((np.square(sums).sum(axis=1) / size + np.bincount(labels, rest, groups) / size).sum())
