"""One posterior path, answered at places asked for one after the other, with the law as if drawn at once.

The path is a draw of a Gaussian process over the whole plane. Its values at new places are drawn given all
values that were answered before, so any set of places, in any order and chosen by whatever was answered, has
the law of one draw at their union. Whoever asks learns a part of one path: its proved cost is that of the
path at every place (docs/mathematics.md, section 15), so asking again costs nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from dpgp_core._checks import non_negative, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats, cholesky, solve_lower
from dpgp_core.noise.entropy import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.kernels import DensePrior
from dpgp_core.releasing.released import to_grid

MOST_PLACES = 6_000
"""Places that one path answers at most: their covariance is then factored in half a minute."""

APART = 1e-8
"""Share of the path's variance that no two places have in common: far below what is rounded away."""


class LazyPath:
    """A posterior path `N(m_D, scale^2 k_D + noise_scale^2 k)` of a kernel prior, and what it has answered.

    Parameters
    ----------
    prior : DensePrior
        Its kernel is defined between any two places.
    records : CollapsedRecords
        PRIVATE; at the centres of the prior's cells.
    ridge, scale, noise_scale : float
        Of the design; `scale` and `noise_scale` in response units, one of them positive.

    Notes
    -----
    Holds private records: it stays with the curator. Its answers are public.
    """

    def __init__(
        self, prior: DensePrior, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float = 0
    ) -> None:
        positive("ridge", ridge)
        if not non_negative("scale", scale) + non_negative("noise_scale", noise_scale):
            raise InvalidValue("scale and noise_scale are both 0: that is no draw.")
        records.refuse_outside(prior.size)
        self._prior, self._scales = prior, (scale, noise_scale)
        self._seen = prior.lattice.domain_centres[records.index]
        covariance = self._correlation(self._seen, self._seen) + np.diag(ridge**2 / records.count)
        self._data = cholesky(covariance, "the covariance of the records", "use a larger ridge")
        self._weights = solve_lower(self._data, solve_lower(self._data, records.mean), transposed=True)
        self.places: Floats = np.empty((0, 2))
        """(A, 2) places answered so far, metres, in their order."""
        self.values: Floats = np.empty(0)
        """(A,) the answers, response units, on the public grid."""
        self._root: Floats = np.empty((0, 0))
        self._white: Floats = np.empty(0)

    def ask(self, places: Floats, entropy: Entropy) -> Floats:
        """Return the path at places (B, 2), metres; those that were asked before have the value of then.

        Returns
        -------
        ndarray, shape (B,)
            Response units, on the public grid.

        Raises
        ------
        InvalidValue
            If a place is no pair of finite numbers, or there are too many; nothing is drawn then.
        """
        asked = self._checked(places)
        new = self._new(asked)
        if new.size:
            mean, link, root = self._given(new)
            drawn = mean + link @ self._white + root @ entropy.normal(len(new))
            self._keep(new, to_grid(drawn), mean, link, root)
        known = {place.tobytes(): value for place, value in zip(self.places, self.values, strict=True)}
        return np.array([known[place.tobytes()] for place in asked])

    def learn(self, places: Floats, values: Floats) -> None:
        """Take over answers that this path has given already, (B, 2) and (B,), in their order.

        Raises
        ------
        InvalidValue
            As `ask`, and for a place that has been answered, or values that are not finite.
        """
        asked = self._checked(places)
        if len(self._new(asked)) != len(asked) or values.shape != asked.shape[:1]:
            raise InvalidValue("answers are taken over once, with one value for each place.")
        if not np.all(np.isfinite(values)):
            raise InvalidValue("answers must be finite.")
        self._keep(asked, values, *self._given(asked))

    def _keep(self, new: Floats, values: Floats, mean: Floats, link: Floats, root: Floats) -> None:
        white = solve_lower(root, values - mean - link @ self._white)
        top = np.hstack([self._root, np.zeros((self._white.size, white.size))])
        self._root = np.vstack([top, np.hstack([link, root])])
        self._white = np.concatenate([self._white, white])
        self.places, self.values = np.vstack([self.places, new]), np.concatenate([self.values, values])

    def _given(self, new: Floats) -> tuple[Floats, Floats, Floats]:
        """Posterior mean (B,), link (B, A) to what was drawn before, and lower root (B, B) of the rest."""
        mean = self._correlation(new, self._seen) @ self._weights
        before = self._covariance(self.places, new)
        link = solve_lower(self._root, before).T if self._white.size else np.empty((len(new), 0))
        rest = self._covariance(new, new) - link @ link.T
        rest[np.diag_indices_from(rest)] += APART * sum(scale**2 for scale in self._scales)
        what = "the covariance of the asked places"
        return mean, link, cholesky(rest, what, "ask for places farther apart")

    def _covariance(self, one: Floats, other: Floats) -> Floats:
        scale, noise = self._scales
        prior = self._correlation(one, other)
        explained = [solve_lower(self._data, self._correlation(self._seen, each)) for each in (one, other)]
        return np.asarray((scale**2 + noise**2) * prior - scale**2 * explained[0].T @ explained[1])

    def _correlation(self, one: Floats, other: Floats) -> Floats:
        distance = cdist(one, other)
        shared = (1.0 - self._prior.nugget) * self._prior.kernel(distance / self._prior.lengthscale)
        return np.asarray(np.where(distance == 0.0, 1.0, shared))

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
