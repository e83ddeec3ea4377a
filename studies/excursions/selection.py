"""Coarse-to-fine choice of hyperparameters by mean loss over simulated worlds, as the paper does it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpgp_core.bounds.registry import smallest_scale_for
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.mechanisms.paths import path_guarantee
from hexcursion.errors import WorkflowError
from studies.excursions.fields import Bools, Spectrum, losses, probability

Floats = NDArray[np.float64]
Key = TypeVar("Key")
Losses = Callable[[float, Floats, Floats], Floats]
"""(lengthscale, ridges (R,), scales (R, S)) -> mean loss (R, S); `inf` where the scale is not finite."""

FREE_SCALES = np.geomspace(0.03, 3.0, 20)  # unconstrained posterior scales
ABOVE = np.array([1.0, 1.2, 1.5, 2.0, 3.0])  # private scales, as multiples of the least that is feasible
TOP = 3  # candidates refined around
STEPS = (1.25, 1.12)  # ratios of the two refinement rounds
LIMIT_NOTE = (
    "The shorter range of ridges is the published one. In large ridges a private path nears a limit, a "
    "smoothed sum of the responses plus prior noise, where the bounds and hence the maps differ little. The "
    "longer range reaches it."
)


@dataclass(frozen=True)
class Chosen:
    """The best hyperparameters found and their mean loss; lengths in units of the domain's side."""

    lengthscale: float
    ridge: float
    scale: float
    loss: float


@dataclass(frozen=True)
class Accounting:
    """The accountant of a design of the exponential kernel on [0, 1]^dimension.

    Parameters
    ----------
    n
        records
    delta
        at which epsilon is stated
    bound
        name of a proved bound, of `BOUNDS`
    dimension
        1 or 2
    """

    n: int
    delta: float
    bound: str
    dimension: int

    def kappa(self, lengthscale: float) -> float:
        """The least correlation on the domain (paper, Prop. 3)."""
        return math.exp(-math.sqrt(self.dimension) / lengthscale)

    def epsilon(self, chosen: Chosen, paths: int = 1) -> float:
        """Upper bound on epsilon at delta, or inf."""
        design = Design(
            "exponential", chosen.lengthscale, chosen.ridge, chosen.scale, paths=paths, bound=self.bound
        )
        facts = SimpleNamespace(
            name="exponential", kappa=self.kappa(chosen.lengthscale), bounds=(self.bound,)
        )
        return path_guarantee(design, self.n, facts).epsilon(self.delta).epsilon

    def least_scales(self, lengthscale: float, ridges: Floats, epsilon: float) -> Floats:
        """(R,) least scales that meet the budget, inf where none does."""
        solved = smallest_scale_for(
            self.bound, epsilon, self.delta, n=self.n, ridge=ridges, kappa=self.kappa(lengthscale)
        )
        return np.atleast_1d(np.asarray(solved.scale, dtype=np.float64))


def judged(
    spectra: Iterable[Spectrum], response: Floats, chosen: Chosen, truth: Bools, weight: Floats
) -> tuple[Floats, Floats, Floats]:
    """Per world: excursion probabilities (W, G), BCE (W,) and effective dimension (W,).

    `spectra` and `response` (W, n) are of the worlds, `truth` (W, G) their sets, `weight` (G,) sums to 1.
    """
    ridges, scales = np.array([chosen.ridge]), np.array([[chosen.scale]])
    chances, loss, dimension = [], [], []
    for world, spectrum in enumerate(spectra):
        mean, variance = spectrum.mean(response[world], ridges), spectrum.variance(ridges)
        chances.append(probability(mean[:, 0], variance[:, 0], chosen.scale))
        loss.append(losses(mean, variance, scales, truth[world], weight)[0, 0])
        dimension.append(spectrum.effective_dimension(chosen.ridge))
    return np.array(chances), np.array(loss), np.array(dimension)


def free_scales(lengthscale: float, ridges: Floats) -> Floats:
    """(R, S) scales of the unconstrained search."""
    return np.asarray(np.broadcast_to(FREE_SCALES, (ridges.size, FREE_SCALES.size)))


def private_scales(accounting: Accounting, epsilon: float) -> Callable[[float, Floats], Floats]:
    """The (R, S) feasible scales of the constrained search: from the least feasible one upwards."""

    def scales(lengthscale: float, ridges: Floats) -> Floats:
        return np.asarray(accounting.least_scales(lengthscale, ridges, epsilon)[:, None] * ABOVE)

    return scales


@dataclass(frozen=True)
class Search:
    """What one search minimises, the scales it may try, and its coarse grid."""

    losses: Losses
    scales: Callable[[float, Floats], Floats]
    lengthscales: tuple[float, ...]
    ridges: tuple[float, ...]


def choose(
    searches: Mapping[Key, Search],
    tell: Callable[[float], None] = lambda fraction: None,
    refinements: int = 2,
) -> dict[Key, Chosen]:
    """For each search the least mean loss over its coarse grid and rounds of refinement around the best few.

    All searches take one lengthscale after the other, so that they share its spectra. Refinement stays below
    the largest ridge. `tell` may raise to cancel.

    Raises
    ------
    WorkflowError
        If no candidate of a search is feasible.
    """
    scored: dict[Key, dict[tuple[float, float], Chosen]] = {key: {} for key in searches}
    for part in range(refinements + 1):
        groups: dict[float, dict[Key, list[float]]] = {}
        for key, search in searches.items():
            for lengthscale, ridge in _candidates(search, scored[key], part):
                groups.setdefault(lengthscale, {}).setdefault(key, []).append(ridge)
        for step, (lengthscale, ridges_of) in enumerate(sorted(groups.items())):
            tell((part + step / len(groups)) / (refinements + 1))
            for key, ridges in ridges_of.items():
                _score(searches[key], lengthscale, ridges, scored[key])
    winners = {
        key: min(candidates.values(), key=lambda item: item.loss) for key, candidates in scored.items()
    }
    if not all(math.isfinite(winner.loss) for winner in winners.values()):
        raise WorkflowError("No design on the study's grid meets the privacy budget: raise epsilon.")
    return winners


def _candidates(
    search: Search, scored: dict[tuple[float, float], Chosen], part: int
) -> list[tuple[float, float]]:
    """The coarse grid first, then untried neighbours of the best few."""
    if part == 0:
        return [(a, b) for a in search.lengthscales for b in search.ridges]
    ratio, largest = STEPS[min(part, len(STEPS)) - 1], max(search.ridges)
    factors = (1.0 / ratio, 1.0, ratio)
    best = sorted(scored.values(), key=lambda item: item.loss)[:TOP]
    neighbours = [
        (round(item.lengthscale * a, 5), min(round(item.ridge * b, 5), largest))
        for item in best
        for a in factors
        for b in factors
    ]
    return [pair for pair in dict.fromkeys(neighbours) if pair not in scored]


def _score(
    search: Search, lengthscale: float, group: list[float], scored: dict[tuple[float, float], Chosen]
) -> None:
    ridges = np.array(group)
    scales = search.scales(lengthscale, ridges)
    loss = search.losses(lengthscale, ridges, scales)
    for row, ridge in enumerate(group):
        column = int(np.argmin(loss[row]))
        scored[lengthscale, ridge] = Chosen(
            lengthscale, ridge, float(scales[row, column]), float(loss[row, column])
        )
