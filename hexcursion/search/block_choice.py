"""A private choice of range, scatter and spread: the exponential mechanism on what blocks of records say."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import k0, softmax

from dpgp_core.discrete_laplace import FairBits, exponential_choice
from dpgp_core.linalg import Floats
from dpgp_core.noise import WordSource
from hexcursion.project.model import WorldModel

LAWS = 18  # of the simulated worlds: every range, share and spread
FEW, MANY = 40, 256  # records of a block: the least number meant, the most that are read
STRENGTH = 20.0  # odds of a law in which all blocks believe, as a logarithm, that more blocks need not raise
LEAST_ODDS = 8.0
NEAR = 0.16  # the graph's correlation is K_0 of a distance that is cut off so near, in spacings
CENTRE = 0.5  # standard deviation of the unknown mean of a block, response units
CERTAINTY = 1 << 20  # a block's belief in one law, if it has no doubt


def blocks_of(n: int, epsilon: float) -> int:
    """Return the public number of blocks for about n records: as few, and so as large, as epsilon allows."""
    return max(1, min(n // FEW, max(math.ceil(2.0 * STRENGTH / epsilon), 2 * n // MANY)))


def strength(n: int, epsilon: float) -> float:
    """Return the logarithm of the odds between a law in which all blocks believe, and another one."""
    return 0.5 * epsilon * blocks_of(n, epsilon)


def choose_law(
    laws: Sequence[WorldModel],
    spacing: float,
    places: Floats,
    responses: Floats,
    blocks: int,
    epsilon: float,
    source: WordSource,
) -> WorldModel:
    """Choose one of the public laws of a field, so that one exchanged record costs epsilon, and no delta.

    `places`, (n, 2) in metres, and `responses`, (n,) in [-1, 1], are PRIVATE. Each record is
    assigned to a block at random, independently of the others. A block's score for a law is its posterior
    probability, all laws being equally likely before; the blocks' scores are added, and the exponential
    mechanism chooses. One record exchanged, added or removed changes one block, so every sum by at most 1:
    docs/mathematics.md, section 13. Scores are whole numbers and the choice is exact, so the guarantee
    holds for what a computer draws.
    """
    bits = FairBits(source)
    block = np.array([bits.below(blocks) for _ in range(responses.size)], dtype=np.int64)
    order = np.argsort(block, kind="stable")
    ends = np.cumsum(np.bincount(block, minlength=blocks))
    doubts = np.zeros(len(laws), dtype=np.int64)
    for part in np.split(order, ends[:-1]):
        # By place and response, so that the order of the rows decides nothing.
        read = part[np.lexsort((responses[part], *places[part].T))][:MANY]
        doubts -= belief(laws, spacing, places[read], responses[read])
    return laws[exponential_choice([int(doubt) for doubt in doubts], CERTAINTY, epsilon, source)]


def belief(
    laws: Sequence[WorldModel], spacing: float, places: Floats, responses: Floats
) -> NDArray[np.int64]:
    """Return the posterior probabilities of the laws given one block, (J,), in parts of `CERTAINTY`.

    The field is a Gaussian process with nearly the neighbour graph's correlations, around an unknown mean.
    PRIVATE.
    """
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    covariances = np.array(
        [
            law.spread**2 * _graph(apart, law.lengthscale, spacing)
            + law.scatter**2 * np.eye(responses.size)
            + CENTRE**2
            for law in laws
        ]
    )
    factors = np.linalg.cholesky(covariances)
    white = np.linalg.solve(factors, np.broadcast_to(responses[:, None], (len(laws), responses.size, 1)))
    halves = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    evidence = -0.5 * np.sum(white[..., 0] ** 2, axis=1) - halves
    return np.asarray(np.floor(softmax(evidence) * CERTAINTY), dtype=np.int64)


def _graph(distance: Floats, lengthscale: float, spacing: float) -> Floats:
    """Return about the correlation that the neighbour graph gives two cells at a distance, all in metres."""
    near = NEAR * spacing
    return np.asarray(k0(np.hypot(distance, near) / lengthscale) / k0(near / lengthscale))
