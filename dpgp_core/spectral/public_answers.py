"""The probit of the share of yes given published answers, as a `PublicField`."""

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

# Candidate deviations of the field; an answer scatters by 1 around it.
SPREADS = (0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.3)
TERMS = 5  # of the series for the covariance of two answers
LEAST = 1e-3  # least number of records that a node counts for


def field_of_answers(nodes: Nodes, cell: Ints, answer: Floats, columns: Floats | None = None) -> PublicField:
    """Choose the range and deviation that make public answers likeliest, and read the field with
    them.

    `cell`, `answer` (n,) are the records' cells and their answers, -1 or 1. The field is the probit
    of the share of yes, around which an answer scatters by 1. Only means and covariances of answers
    enter, which are exact for a normal field. Given range and deviation, each node's answers count
    as a number of records with a normal value, by the law linearised around the posterior of all
    answers. Public `columns` (N, k) are used if answers are likelier with them. Raises InvalidValue
    for answers that are all alike.
    """
    place = nodes.place[cell]
    count = np.bincount(place, minlength=nodes.size).astype(np.float64)
    index = np.flatnonzero(count)
    total = np.bincount(place, weights=answer, minlength=nodes.size)
    count, mean = count[index], total[index] / count[index]
    usual = float(np.average(mean, weights=count)) if index.size else 1.0
    if not abs(usual) < 1.0:
        raise InvalidValue("the public answers are all alike: name reference data with both.")
    node_columns = None if columns is None else at_nodes(nodes, columns)
    sample = np.unique(np.linspace(0, index.size - 1, min(MOST, index.size)).astype(np.int64))
    candidates = []
    for steps, (part, odd) in product(RANGES, column_shares(node_columns).items()):
        shape = _shape(nodes, index[sample], steps, part, node_columns)
        for spread in SPREADS:
            evidence = _evidence(shape, usual, spread, count[sample], mean[sample])
            candidates.append((evidence + odd, steps, spread, part))
    _, steps, spread, part = max(candidates)
    kernel = spread**2 * _shape(nodes, index, steps, part, node_columns)
    worth, value = _linear(kernel, _start(usual, spread), count, mean)
    return PublicField(
        nodes,
        index,
        worth,
        value,
        spread,
        1.0,
        steps * nodes.lattice.spacing,
        columns=node_columns if part else None,
        covariates=part,
    )


def _start(usual: float, spread: float) -> float:
    """Mean of a field of this deviation if the mean of answers is `usual`."""
    # The share of yes is E Phi(u) = Phi(mean / sqrt(1 + spread^2)) = (1 + usual) / 2 for u ~
    # N(mean, spread^2).
    return float(ndtri(0.5 + 0.5 * usual) * np.hypot(1.0, spread))


def _shape(nodes: Nodes, index: Ints, steps: float, part: float, columns: Floats | None) -> Floats:
    """(k, k) correlation of the field at nodes."""
    centres = nodes.lattice.domain_centres[index]
    shape = np.exp(-cdist(centres, centres) / (steps * nodes.lattice.spacing))
    if not part or columns is None:
        return np.asarray(shape)
    return np.asarray((1.0 - part) * shape + part * alike(columns[index], columns[index]))


def _evidence(shape: Floats, usual: float, spread: float, count: Floats, mean: Floats) -> float:
    """Log density of means of answers, as normal numbers with the exact moments for such a
    field."""
    start = _start(usual, spread)
    law = ClippedPrior.of(PublicPrior(start, spread, 1.0 / spread, "yes-no"))
    covariance = covariance_of_answers(shape, start, spread)
    return evidence_of_means(covariance, 1.0, law.record_noise**2, count, mean)


def covariance_of_answers(shape: Floats, start: float, spread: float) -> Floats:
    """Covariance of `share of yes - share of no` of two records whose fields have correlations
    `shape`.

    The field is `N(start, spread^2)`. This is the Hermite series of `2 ndtr(field) - 1`.
    """
    # By Mehler's formula Cov(g(u), g(u')) = sum of c_n^2 rho^n / n! for normal u, u' of correlation
    # rho, with c_n = spread^n E g^(n)(u). All derivatives of g are Hermite polynomials times a
    # normal density, so the recurrence of He_(n-1)(at) gives c_n; signs vanish in the square.
    wide = np.hypot(1.0, spread)
    at, ratio = start / wide, spread / wide
    slope = 2.0 * np.exp(-0.5 * at**2) / np.sqrt(2.0 * np.pi)
    covariance, previous, polynomial = np.zeros(shape.shape), 0.0, 1.0
    for term in range(1, TERMS + 1):
        covariance += (slope * polynomial * ratio**term) ** 2 / factorial(term) * shape**term
        previous, polynomial = polynomial, at * polynomial - (term - 1) * previous
    return covariance


def _linear(kernel: Floats, start: float, count: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """(k,) records that each node counts for, and their mean value, for a field of covariance
    `kernel`."""

    def as_records(value: Floats, deviation: Floats) -> Floats:
        around = np.clip(value, -REACH, REACH)  # beyond REACH shares are nearly 0 or 1
        law = LinearLaw.about(around, around, deviation)
        # A mean of `count` answers with noise rho^2/count and slope b observes the field with
        # variance (rho/b)^2/count: as b^2/rho^2 times as many records of scatter 1 would.
        worth = np.maximum(count * np.square(law.deviation / law.record_noise), LEAST)
        return np.array([worth, worth * (around + (mean - law.mean) / law.deviation)])

    def read(records: Floats) -> Floats:
        worth, observed = records[0], records[1] / records[0]
        covariance = kernel.copy()
        covariance[np.diag_indices_from(covariance)] += 1.0 / worth
        root = cholesky(covariance, "the covariance of the public answers", "use other reference data")
        ones, half = solve_lower(root, np.ones(mean.size)), solve_lower(root, kernel)
        information = float(ones @ ones)
        level = float(ones @ solve_lower(root, observed)) / information
        value = level + half.T @ solve_lower(root, observed - level)
        left = kernel.diagonal() - np.square(half).sum(axis=0)
        left += np.square(1.0 - half.T @ ones) / information
        return as_records(value, np.sqrt(np.maximum(left, 1e-12)))

    worth, pull = settled(read, as_records(np.full(mean.size, start), np.sqrt(kernel.diagonal())))
    return worth, pull / worth
