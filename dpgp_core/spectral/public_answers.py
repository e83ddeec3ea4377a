"""What published answers of yes and no say of the probit of their share, as a `PublicField`."""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from dpgp_core.errors import InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.spectral.prior import REACH, ClippedPrior, LinearLaw, PublicPrior, at_nodes
from dpgp_core.spectral.public_field import MOST, RANGES, PublicField, alike, column_shares, evidence_of_means
from dpgp_core.spectral.settled import settled

# Deviations of the field that are tried; an answer scatters by 1 around it.
SPREADS = (0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.3)
TERMS = 5  # of the series for the covariance of two answers
LEAST = 1e-3  # records that a node counts for at least


def field_of_answers(nodes: Nodes, cell: Ints, answer: Floats, columns: Floats | None = None) -> PublicField:
    """Find the range and deviation that make public answers likeliest, and what they say of the field.

    `cell`, `answer` (n,): where records lie, and -1 or 1. The field is the probit of the share of yes, around
    which an answer scatters by 1. Of answers only means and covariances enter, which are exact for a normal
    field. Given range and deviation, each node's answers count as some records with a normal value: those of
    the law that is linear around what all of them say. Public `columns` (N, k) are kept if answers are
    likelier with them. Raises InvalidValue for answers that are all alike.
    """
    place = nodes.place[cell]
    count = np.bincount(place, minlength=nodes.size).astype(np.float64)
    index = np.flatnonzero(count)
    total = np.bincount(place, weights=answer, minlength=nodes.size)
    count, mean = count[index], total[index] / count[index]
    usual = float(np.average(mean, weights=count)) if index.size else 1.0
    if not abs(usual) < 1.0:
        raise InvalidValue("the public answers are all alike: name reference data with both.")
    known = None if columns is None else at_nodes(nodes, columns)
    some = np.unique(np.linspace(0, index.size - 1, min(MOST, index.size)).astype(np.int64))
    tried = []
    for steps, (part, odd) in product(RANGES, column_shares(known).items()):
        shape = _shape(nodes, index[some], steps, part, known)
        for spread in SPREADS:
            found = _evidence(shape, usual, spread, count[some], mean[some])
            tried.append((found + odd, steps, spread, part))
    _, steps, spread, part = max(tried)
    kernel = spread**2 * _shape(nodes, index, steps, part, known)
    worth, value = _linear(kernel, _start(usual, spread), count, mean)
    return PublicField(
        nodes,
        index,
        worth,
        value,
        spread,
        1.0,
        steps * nodes.lattice.spacing,
        columns=known if part else None,
        covariates=part,
    )


def _start(usual: float, spread: float) -> float:
    """Mean of a field of this deviation where the mean of answers is `usual`."""
    return float(ndtri(0.5 + 0.5 * usual) * np.hypot(1.0, spread))


def _shape(nodes: Nodes, index: Ints, steps: float, part: float, columns: Floats | None) -> Floats:
    """(k, k) correlation of the field at nodes."""
    centres = nodes.lattice.domain_centres[index]
    shape = np.exp(-cdist(centres, centres) / (steps * nodes.lattice.spacing))
    if not part or columns is None:
        return np.asarray(shape)
    return np.asarray((1.0 - part) * shape + part * alike(columns[index], columns[index]))


def _evidence(shape: Floats, usual: float, spread: float, count: Floats, mean: Floats) -> float:
    """Log density of means of answers with the moments that a field of this deviation gives them."""
    start = _start(usual, spread)
    law = ClippedPrior.of(PublicPrior(start, spread, 1.0 / spread, "yes-no"))
    covariance = covariance_of_answers(shape, start, spread)
    return evidence_of_means(covariance, 1.0, law.record_noise**2, count, mean)


def covariance_of_answers(shape: Floats, start: float, spread: float) -> Floats:
    """Covariance of the shares, less those of no, of two records whose fields have correlations `shape`.

    The field is `N(start, spread^2)`. This is the Hermite series of `2 ndtr(field) - 1`.
    """
    wide = np.hypot(1.0, spread)
    at, ratio = start / wide, spread / wide
    slope = 2.0 * np.exp(-0.5 * at**2) / np.sqrt(2.0 * np.pi)
    found, before, polynomial = np.zeros(shape.shape), 0.0, 1.0
    for term in range(1, TERMS + 1):
        found += (slope * polynomial * ratio**term) ** 2 / factorial(term) * shape**term
        before, polynomial = polynomial, at * polynomial - (term - 1) * before
    return found


def _linear(kernel: Floats, start: float, count: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """(k,) records that each node counts for, and their mean value, for a field of covariance `kernel`."""

    def told(value: Floats, deviation: Floats) -> Floats:
        around = np.clip(value, -REACH, REACH)  # where nearly all say the same, answers say little more
        law = LinearLaw.about(around, around, deviation)
        worth = np.maximum(count * np.square(law.deviation / law.record_noise), LEAST)
        return np.array([worth, worth * (around + (mean - law.mean) / law.deviation)])

    def read(found: Floats) -> Floats:
        worth, seen = found[0], found[1] / found[0]
        covariance = kernel.copy()
        covariance[np.diag_indices_from(covariance)] += 1.0 / worth
        root = cholesky(covariance, "the covariance of the public answers", "use other reference data")
        ones, half = solve_lower(root, np.ones(mean.size)), solve_lower(root, kernel)
        information = float(ones @ ones)
        level = float(ones @ solve_lower(root, seen)) / information
        value = level + half.T @ solve_lower(root, seen - level)
        left = kernel.diagonal() - np.square(half).sum(axis=0)
        left += np.square(1.0 - half.T @ ones) / information
        return told(value, np.sqrt(np.maximum(left, 1e-12)))

    worth, pull = settled(read, told(np.full(mean.size, start), np.sqrt(kernel.diagonal())))
    return worth, pull / worth
