"""Strategies: the features of a release and their powers, chosen by public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # loads its parts on first use: scipy.optimize takes long to import

from dpgp_core._checks import non_negative, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.features.gridded import Features
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints


@dataclass(frozen=True, eq=False)
class StrategyFacts:
    """The input of every strategy."""

    nodes: Nodes  # the domain
    pairs: Eigenpairs  # leading eigenpairs of the prior correlation on the nodes
    lengthscale: float  # range of that prior, metres; plane waves have no eigenpairs and use it directly
    # exponent a of the prior's spectrum (1 + (lengthscale w)^2)^-a, for plane waves: 1.5 for an
    # exponential correlation in the plane, 2.5 for Matern 3/2, 1 for a conditional autoregression
    decay: float
    density: float  # public (or guessed) number of records per cell, c = n/N > 0
    deviation: float  # standard deviation lambda > 0 of the field, response units
    # standard deviation r lambda >= 0 of one record around its cell's value, response units
    record_noise: float
    noise: float  # standard deviation s > 0 of the noise on the released sums
    # (M,) public parent labels of the nodes, coarsest level first, for the parent tree; may be
    # empty
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
        """Variance of the records' own noise in a direction of unit length: `c r^2 lambda^2`, per
        node."""
        # A sum of c independent records has c times the variance of one, along any unit vector.
        return self.per_node * self.record_noise**2

    def signal(self, eigenvalue: Floats) -> Floats:
        """Signal variance `c^2 lambda^2 kappa` of Q directions of the plain sums per node, (Q,)."""
        # The field counts c times in a sum of c records, so its variance c^2 times: signal grows
        # faster in the number of records than their scatter does.
        return np.asarray((self.per_node * self.deviation) ** 2 * np.maximum(eigenvalue, 0.0))


_STEPS = 200


def water_filling(signal: Floats, record_noise: float, noise: float, total: float) -> Floats:
    """Powers l >= 0 with sum `total` that minimise the summed posterior variance of independent
    directions.

    A direction of signal variance S is observed with noise variance d + s^2/l, where d is the
    variance of the records' own scatter and s the deviation of the privacy noise on a sum of power
    1. Its posterior variance is S (d + s^2/l) / (S + d + s^2/l), whose derivative in l is -S^2 s^2
    / ((S + d) l + s^2)^2. Equal derivatives where l > 0 give l = max(0, t s S - s^2) / (S + d); t
    follows from the sum by bisection. Returns (Q,), zero for directions that are not released; the
    total is the number of cells whose features have unit length. Raises InvalidValue for numbers
    out of range, or if no direction has any signal.
    """
    strength = np.asarray(signal, dtype=np.float64)
    d, s, total = (
        non_negative("record_noise", record_noise),
        positive("noise", noise),
        positive("total", total),
    )
    if strength.ndim != 1 or not np.all(np.isfinite(strength) & (strength >= 0)) or not np.any(strength > 0):
        raise InvalidValue("signal variances must be finite, not negative, and not all zero.")

    def powers(t: float) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            raised = np.maximum(0.0, t * s * strength - s * s) / (strength + d)
        return np.where(strength > 0, raised, 0.0)

    # At t = s / max S no direction has power yet; the sum of powers increases in t without bound,
    # so doubling brackets the root. Bisection stops when no double lies between the two ends.
    low, high = 0.0, s / float(strength.max())
    while powers(high).sum() < total:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if powers(middle).sum() < total else (low, middle)
    return powers(high)


def tree_rows(facts: StrategyFacts) -> Floats:
    """(M, p) features `a_l [node in group g of level l]`, with `sum_l a_l^2 = 1` over the levels.

    The levels are those of the public hierarchy, coarsest first, and the nodes themselves as the
    finest. All inner products are sums of some a_l^2, so they are >= 0 and kappa is 0.

    With groups of equal size the eigenvectors of K are the contrasts between a level's groups and
    their parents, and all contrasts of level l share the eigenvalue `sum over m >= l of a_m^2
    size_m`. Water-filling takes these contrasts as directions, with the prior's mean variance along
    them. Eigenvalues decrease towards finer levels, so powers that would increase are averaged.
    With unequal groups, as at the rim, the weights are no longer optimal; the price is still exact,
    as it is computed from the features.
    """
    levels = [*(np.unique(labels, return_inverse=True)[1].ravel() for labels in facts.hierarchy)]
    levels.append(np.arange(facts.nodes.size))
    counts = np.array([int(labels.max()) + 1 for labels in levels])
    explained = np.array([_explained(facts, labels) for labels in levels])
    new = np.diff(counts, prepend=0)
    # A level with as many groups as its parent has no contrasts, and would divide by 0 below.
    useful = np.flatnonzero(new > 0)
    levels, counts, new = [levels[k] for k in useful], counts[useful], new[useful]
    variance = np.maximum(np.diff(explained[useful], prepend=0.0) / new, 0.0)
    powers = water_filling(
        facts.signal(np.repeat(variance, new)), facts.scatter, facts.noise, float(facts.nodes.size)
    )
    first = powers[np.cumsum(new) - new]
    # The eigenvalue of level l is a sum over the finer levels, so it cannot increase; the weights
    # are the numbers of contrasts, which keeps the total power.
    mean = scipy.optimize.isotonic_regression(first, weights=new.astype(np.float64), increasing=False).x
    # Differences of successive eigenvalues are a_l^2 size_l, and size_l = M / count_l.
    squares = np.maximum(-np.diff(mean, append=0.0), 0.0) * counts / facts.nodes.size
    squares /= squares.sum()
    positive_levels = [
        (labels, weight) for labels, weight in zip(levels, np.sqrt(squares), strict=True) if weight > 0
    ]
    blocks = []
    for labels, weight in positive_levels:
        block = np.zeros((facts.nodes.size, int(labels.max()) + 1))
        block[np.arange(labels.size), labels] = weight
        blocks.append(block)
    return np.hstack(blocks)


def _explained(facts: StrategyFacts, labels: Ints) -> float:
    """Trace of the prior correlation projected on the groups' means, from its leading
    eigenpairs."""
    # The variance outside the leading eigenpairs counts as independent between nodes, so each
    # group's share of it is a mean over the group.
    groups = int(labels.max()) + 1
    size = np.bincount(labels, minlength=groups)
    sums = np.zeros((groups, facts.pairs.values.size))
    np.add.at(sums, labels, facts.pairs.vectors * np.sqrt(facts.pairs.values))
    remainder = np.maximum(facts.pairs.variance - np.square(facts.pairs.vectors) @ facts.pairs.values, 0.0)
    return float((np.square(sums).sum(axis=1) / size + np.bincount(labels, remainder, groups) / size).sum())


MOST_WAVES = 1_500  # largest number of frequencies, longest waves first; each makes two features
MARGIN = 0.5
"""Padding of the periodic box, as a share of its extent, so that opposite rims are not
neighbours."""


def wave_rows(facts: StrategyFacts) -> Floats:
    """(M, p) features `a_w cos(w.x), a_w sin(w.x)` with `sum a_w^2 = 1`, so every row has length 1.

    The frequencies are those of a periodic box around the domain; their weights are water-filled
    for the prior's spectrum `(1 + (lengthscale w)^2)^-decay`. Power spent outside an irregular
    domain is lost.
    """
    centres = facts.nodes.lattice.domain_centres
    low, extent = centres.min(axis=0), np.ptp(centres, axis=0)
    box = np.maximum(extent, facts.nodes.lattice.spacing) * (1.0 + MARGIN)
    reach = int(np.ceil(np.sqrt(MOST_WAVES * box.max() / box.min()))) + 1
    first, second = (axis.ravel() for axis in np.meshgrid(*2 * [np.arange(-reach, reach + 1)], indexing="ij"))
    # w and -w are the same wave: half of the plane of frequencies covers all of them.
    half = (first > 0) | ((first == 0) & (second >= 0))
    omega = 2.0 * np.pi * np.stack([first[half], second[half]], axis=1) / box
    size = np.linalg.norm(omega, axis=1)
    order = np.argsort(size, kind="stable")[:MOST_WAVES]
    omega, size = omega[order], size[order]
    # A wave has two directions, cosine and sine; the constant has one.
    twice = np.where(size > 0, 2.0, 1.0)
    spectrum = (1.0 + np.square(facts.lengthscale * size)) ** -facts.decay
    # The variances of all directions sum to the number of nodes, so that a node's mean variance is
    # 1.
    spectrum *= facts.nodes.size / float(twice @ spectrum)
    directions = np.repeat(spectrum, twice.astype(np.int64))
    powers = water_filling(facts.signal(directions), facts.scatter, facts.noise, float(facts.nodes.size))
    first_of = np.cumsum(twice.astype(np.int64)) - twice.astype(np.int64)
    # `water_filling` returned one power per direction; both directions of a wave have the same.
    share = twice * powers[first_of] / facts.nodes.size
    released = share > 0
    phase = (centres - low) @ omega[released].T
    weight = np.sqrt(share[released])
    sines = weight * np.sin(phase)
    return np.hstack([weight * np.cos(phase), sines[:, size[released] > 0]])


_SOURCE = "docs/spectral-statistics.md, section 3"


@dataclass(frozen=True)
class Strategy:
    """A method of computing features."""

    name: str  # key in `STRATEGIES`
    title: str  # in words, for a screen
    source: str  # paper or document that describes it
    # public facts to rows (M, p) of any length; each row is then divided by its length
    rows: Callable[[StrategyFacts], Floats]
    needs_hierarchy: bool = False  # whether it reads `StrategyFacts.hierarchy`


def _identity(facts: StrategyFacts) -> Floats:
    return np.eye(facts.nodes.size)


def _coloured(facts: StrategyFacts) -> Floats:
    return np.asarray(facts.pairs.vectors * np.sqrt(facts.pairs.values))


def _water_filled(facts: StrategyFacts) -> Floats:
    pairs = facts.pairs
    # At the rim the diagonal of the correlation falls short of 1: scale the eigenvalues to mean
    # variance 1.
    values = pairs.values * (pairs.size / float(pairs.variance.sum()))
    powers = water_filling(facts.signal(values), facts.scatter, facts.noise, float(pairs.size))
    released = powers > 0
    return np.asarray(pairs.vectors[:, released] * np.sqrt(powers[released]))


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("water-filled", "Water-filled eigenfunctions", _SOURCE, _water_filled),
        Strategy("coloured", "Noise in the prior's own colour", "Hall, Rinaldo, Wasserman 2013", _coloured),
        Strategy("plane-waves", "Plane waves", _SOURCE, wave_rows),
        Strategy("parent-tree", "Tree of parent cells", "Hay et al. 2010", tree_rows, needs_hierarchy=True),
        Strategy("identity", "One number per cell", "docs/mathematics.md, section 11", _identity),
    )
}


def make_features(strategy: str, facts: StrategyFacts) -> Features:
    """The features of a strategy; InvalidValue for an unknown name or a missing hierarchy."""
    if strategy not in STRATEGIES:
        raise InvalidValue(f"unknown strategy {strategy!r}: choose one of {', '.join(STRATEGIES)}.")
    method = STRATEGIES[strategy]
    if method.needs_hierarchy and not facts.hierarchy:
        raise InvalidValue(
            f"the strategy {strategy!r} needs a public hierarchy of parents: pass `hierarchy`."
        )
    return Features.of(strategy, method.rows(facts))
