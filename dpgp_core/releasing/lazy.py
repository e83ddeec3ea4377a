"""A released posterior path, answered between its hexagons: one path, from what is released and nothing else.

The path is a draw of a Gaussian process over the whole plane. Records lie at the centres of hexagons, where
the path is released; given its values there, its law everywhere else is that of the prior and does not
mention the records any more. Answers are therefore post-processing: no private number is needed for them, and
any number of them costs nothing (docs/mathematics.md, section 15).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.noise import Entropy
from dpgp_core.priors.registry import DensePrior
from dpgp_core.releasing.released import to_grid

MOST_PLACES = 6_000
"""Places that one path answers at most: their covariance is then factored in half a minute."""

APART = 1e-8
"""Share of the path's variance that no two places have in common: far below what is rounded away."""


class LazyPath:
    """A path whose law, given its values at the hexagons, is that of `N(0, deviation^2 k)`; and its answers.

    The prior's kernel must be defined between any two places. `deviation` is that of a path at one place,
    response units: for `N(m_D, scale^2 k_D + noise_scale^2 k)` the root of `scale^2 + noise_scale^2`. The
    values at all places that hold records are given by `learn`, first of all. Nothing here is private.
    """

    def __init__(self, prior: DensePrior, deviation: float) -> None:
        self._prior, self._deviation = prior, positive("deviation", deviation)
        self.places: Floats = np.empty((0, 2))
        """(A, 2) places answered so far, metres, in their order."""
        self.values: Floats = np.empty(0)
        """(A,) the answers, response units, on the public grid."""
        self._root: Floats = np.empty((0, 0))
        self._white: Floats = np.empty(0)

    def ask(self, places: Floats, entropy: Entropy) -> Floats:
        """Return the path (B,), response units on the public grid, at places (B, 2), metres.

        Places that were asked before have the value of then. Raises InvalidValue, and draws nothing, if a
        place is no pair of finite numbers or there are too many.
        """
        asked = self._checked(places)
        new = self._new(asked)
        if new.size:
            link, root = self._given(new)
            drawn = link @ self._white + root @ entropy.normal(len(new))
            self._keep(new, to_grid(drawn), link, root)
        known = {place.tobytes(): value for place, value in zip(self.places, self.values, strict=True)}
        return np.array([known[place.tobytes()] for place in asked])

    def learn(self, places: Floats, values: Floats) -> None:
        """Take over what this path has shown already, (B, 2) and (B,), in its order.

        Raises InvalidValue as `ask`, and for a place that has been answered, or values that are not finite.
        """
        asked = self._checked(places)
        if len(self._new(asked)) != len(asked) or values.shape != asked.shape[:1]:
            raise InvalidValue("answers are taken over once, with one value for each place.")
        if not np.all(np.isfinite(values)):
            raise InvalidValue("answers must be finite.")
        self._keep(asked, values, *self._given(asked))

    def _keep(self, new: Floats, values: Floats, link: Floats, root: Floats) -> None:
        white = solve_lower(root, values - link @ self._white)
        top = np.hstack([self._root, np.zeros((self._white.size, white.size))])
        self._root = np.vstack([top, np.hstack([link, root])])
        self._white = np.concatenate([self._white, white])
        self.places, self.values = np.vstack([self.places, new]), np.concatenate([self.values, values])

    def _given(self, new: Floats) -> tuple[Floats, Floats]:
        """Link (B, A) to what was shown before, and lower root (B, B) of the rest."""
        before = self._covariance(self.places, new)
        link = solve_lower(self._root, before).T if self._white.size else np.empty((len(new), 0))
        rest = self._covariance(new, new) - link @ link.T
        rest[np.diag_indices_from(rest)] += APART * self._deviation**2
        return link, cholesky(rest, "the covariance of the asked places", "ask for places farther apart")

    def _covariance(self, one: Floats, other: Floats) -> Floats:
        distance = cdist(one, other)
        shared = (1.0 - self._prior.nugget) * self._prior.kernel(distance / self._prior.lengthscale)
        return np.asarray(self._deviation**2 * np.where(distance == 0.0, 1.0, shared))

    def _checked(self, places: Floats) -> Floats:
        asked = np.ascontiguousarray(places, dtype=np.float64) + 0.0  # -0.0 is 0.0
        if asked.ndim != 2 or asked.shape[1] != 2 or not np.all(np.isfinite(asked)):
            raise InvalidValue("places must be pairs of finite coordinates in metres.")
        if len(self.places) + len(asked) > MOST_PLACES:
            raise InvalidValue(f"one path answers at most {MOST_PLACES:,} places: ask for fewer.")
        return asked

    def _new(self, asked: Floats) -> Floats:
        """Those that have not been answered, once each, in their order."""
        known = {place.tobytes() for place in self.places}
        fresh = {place.tobytes(): place for place in asked if place.tobytes() not in known}
        return np.array(list(fresh.values())).reshape(-1, 2)
