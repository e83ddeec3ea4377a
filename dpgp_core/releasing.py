"""Public facts, and what leaves a mechanism: drawn releases, and paths that are asked place by place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as made
from pathlib import Path
from typing import Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from scipy.spatial.distance import cdist

from dpgp_core._checks import positive, whole
from dpgp_core.accounting.composition import Neighbours
from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import Direction, cutoff_for_map, exceedance_probability
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.noise import Entropy, SystemEntropy
from dpgp_core.posterior.ridge_family import Cache
from dpgp_core.priors.dense import DensePrior
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.spectral.model_check import ModelCheck
from dpgp_core.spectral.prior import Law
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.sums import KeptSums

Relation = Literal["replace-one", "add-or-remove"]
"""Which datasets are neighbours: one record exchanged (n public), or one more or less (n not public)."""


@dataclass(frozen=True)
class Owner:
    """Whose records belong together: neighbours then differ in all records of one sensor or person.

    Where nobody knows how many records there are, an owner's may be there, be gone or be others.
    Raises `InvalidValue` if q is no whole number from 1 on.
    """

    records: int  # q: an owner has at most so many
    apart: bool = False  # whether no two records of an owner lie in one cell

    def __post_init__(self) -> None:
        whole("records of an owner", self.records)


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """What is public about a release; nothing here may come from the private records but their number.

    Raises `InvalidValue` if n is no whole number from 1 on, or counts or covariates are not one row for each
    cell.
    """

    lattice: Lattice  # the public domain as priors see it, N cells
    n: int  # number of private records, public under "replace-one"; under "add-or-remove" a public guess
    relation: Relation = "replace-one"  # which datasets are neighbours
    owner: Owner | None = None  # whom a release protects as a whole; None where that is a single record
    # whether the records' cells are public, so that only their values are protected
    places_public: bool = False
    # (N,) publicly expected records per cell, for instance from public reference data; None if unknown
    counts: Floats | None = None
    single: bool = False  # whether a cell holds at most one record (cell records)
    # public coarser cells: for each level, finest first, (N,) the number of each cell's ancestor
    parents: tuple[Ints, ...] = ()
    # (N, k) public numbers per cell that may explain the field, in any units; None where none are named
    covariates: Floats | None = None
    # what published reference records say of the field, which the release starts from; None where it starts
    # from nothing
    field: PublicField | None = None
    # of a record's response: "amount"; "yes-no", an answer of -1 or 1; or "rate" and "density", where records
    # are counted and each response is 1
    law: Law = "amount"
    # folder in which public eigenpairs of the domain are kept between runs; None keeps nothing
    store: Path | None = None
    # priors and other public work shared by designs; not part of the facts
    cache: Cache = made(default=None, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or self.n != int(self.n) or self.n < 1:
            raise InvalidValue(f"n must be a whole number of records >= 1, got {self.n!r}.")
        if self.counts is not None and self.counts.shape != (self.lattice.size,):
            raise InvalidValue("the public counts need one number per cell of the domain.")
        if self.covariates is not None and self.covariates.shape[:1] != (self.lattice.size,):
            raise InvalidValue("the covariates need one row of numbers per cell of the domain.")
        if self.cache is None:
            object.__setattr__(self, "cache", Cache(self.lattice))

    @property
    def neighbours(self) -> Neighbours:
        """What a release under these facts promises to hide: public places leave the values alone."""
        if self.places_public and self.relation == "replace-one":
            return "values-only"
        return self.relation

    def prior(self, name: str, lengthscale: float) -> Prior:
        """The prior of a family at a lengthscale in metres, made once and shared."""
        return self.cache.prior(name, lengthscale)


GRID = 2.0**-20
"""Released numbers are rounded to multiples of this public step, about a millionth of a response unit.

The low bits of a normal deviate computed in floating point can betray the value it was added to (Mironov
2012, CCS); a fixed grid, far coarser than the spacing of the numbers, removes them. Multiples of a power of
two are exact, so that every reader thresholds the same numbers.
"""


def to_grid(values: Floats) -> Floats:
    """The nearest multiples of the public step `GRID`, for values of any shape."""
    return np.round(values / GRID) * GRID


def up_to_grid(values: Floats) -> Floats:
    """The least multiples of `GRID` not below the values, of any shape: for deviations, never understated."""
    return np.asarray(np.ceil(values / GRID) * GRID)


@dataclass(frozen=True, eq=False)
class Released:
    """What left a mechanism: nothing in it is private any more, everything computed from it is free."""

    paths: Floats  # (L, N) response units, on the public grid `GRID`; smoothing is applied later
    # mean, sd: (N,) mean and standard deviation of the field given the release, response units, where the
    # mechanism has them: exceedance probabilities then exist at every threshold. None otherwise.
    mean: Floats | None = None
    sd: Floats | None = None
    raw: tuple[Floats, ...] = ()  # the released numbers behind them, where these are not the paths themselves
    # (N,) standard deviation, given the release, of what a map of the same records without privacy noise
    # shows, response units. None where that is not known.
    map_sd: Floats | None = None
    # (N,) its mean, where that is not the field's own: the published set is then cut by that map
    map_mean: Floats | None = None
    # (N,) expected number of records, >= 0, given the release and what is public of their places. None where
    # the mechanism does not know it.
    records: Floats | None = None
    # the released sums in whole numbers, from which readers compute mean and deviation again. None where the
    # mechanism releases no sums.
    sums: KeptSums | None = None
    # how the released sums compare with draws of the model that reads them; None where not known
    model_check: ModelCheck | None = None
    # (J, N) joint draws of how far the map without privacy lies from its mean, by a public seed: every reader
    # of the sums makes them again. None where not known.
    map_draws: Floats | None = None

    def __post_init__(self) -> None:
        if self.paths.ndim != 2 or not np.all(np.isfinite(self.paths)):
            raise InvalidValue("released paths must be finite, one row per path.")
        if (self.mean is None) != (self.sd is None):
            raise InvalidValue("a released mean and its standard deviation come together.")
        if self.mean is not None and self.sd is not None:
            shape = self.paths.shape[1:]
            if self.mean.shape != shape or self.sd.shape != shape:
                raise InvalidValue("the released mean and deviation need one number per cell.")
            if not (np.all(np.isfinite(self.mean)) and np.all(np.isfinite(self.sd)) and np.all(self.sd >= 0)):
                raise InvalidValue(
                    "the released mean and deviation must be finite, the deviation not negative."
                )

    def on_grid(self) -> Released:
        """The same on the public grid; deviations are rounded up to it."""
        mean = None if self.mean is None else to_grid(self.mean)
        sd = None if self.sd is None else up_to_grid(self.sd)
        records = None if self.records is None else to_grid(self.records)
        return replace(self, paths=to_grid(self.paths), mean=mean, sd=sd, records=records)

    def shifted(self, prior_mean: Floats | None) -> Released:
        """With a public prior mean (N,), response units, added back to the field."""
        if prior_mean is None:
            return self
        mean = None if self.mean is None else self.mean + prior_mean
        shown = None if self.map_mean is None else self.map_mean + prior_mean
        return replace(self, paths=self.paths + prior_mean, mean=mean, map_mean=shown)

    @property
    def shown_map(self) -> tuple[Floats, Floats] | None:
        """Mean and deviation, (N,) each, of what the map without privacy shows; None where not known."""
        mean = self.mean if self.map_mean is None else self.map_mean
        return None if mean is None or self.map_sd is None else (mean, self.map_sd)

    def probability(self, level: Floats | float, direction: Direction = "above") -> Floats | None:
        """(N,) probability that the field lies on the asked side of `level`, None where there is none."""
        if self.mean is None or self.sd is None:
            return None
        return exceedance_probability(self.mean, self.sd, level, direction)

    def set_chance(self, level: Floats | float, direction: Direction = "above") -> Floats | None:
        """(N,) chance by which cells enter the published set; None where there is none.

        With `map_mean`, it is the chance that the map of the same records without privacy noise shows the
        cell inside: the set that this chance cuts agrees best with that map, above all where no record lies.
        Without it, it is `probability`.
        """
        if self.map_mean is None or self.map_sd is None:
            return self.probability(level, direction)
        return exceedance_probability(self.map_mean, self.map_sd, level, direction)

    def own_cutoff(self, level: Floats | float, direction: Direction = "above") -> float:
        """The cutoff, of `OWN_CUTOFFS`, that should agree best with the map without privacy noise.

        The level is a number or (N,), response units. Raises InvalidValue if the release does not say how
        sure the map is.
        """
        found, shown = self.set_chance(level, direction), self.shown_map
        if found is None or shown is None:
            raise InvalidValue("this release does not say how sure the map is: take the design's cutoff.")
        return cutoff_for_map(found, exceedance_probability(*shown, level, direction))


class Rounded(Protocol):
    """What is put on the public grid before it leaves."""

    def on_grid(self) -> Self: ...


Drawn = TypeVar("Drawn", bound=Rounded, covariant=True)


class Ready(Protocol[Drawn]):
    """A release of one map or of several that is ready to be drawn: all that can fail has been tried."""

    def draw(self, entropy: Entropy) -> Drawn:
        """One release; every call draws anew."""
        ...


Prepared: TypeAlias = Ready[Released]


def draw_release(prepared: Ready[Drawn], entropy: Entropy, *, simulation: bool = False) -> Drawn:
    """Draw a prepared release once, on the public grid, after its charge stands in the ledger.

    Parameters
    ----------
    prepared
        From `Mechanism.prepare`; it holds PRIVATE numbers.
    entropy
        The source of the noise: `SystemEntropy` for a release.
    simulation
        Whether another source is allowed, for reference data, simulations and tests.

    Raises
    ------
    InvalidValue
        For another source without `simulation`.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue("a release must draw from SystemEntropy; a seeded source is for simulations only.")
    return prepared.draw(entropy).on_grid()


MOST_PLACES = 6_000
"""Places that one path answers at most: their covariance is then factored in half a minute."""

APART = 1e-8  # share of the path's variance that no two places have in common: far below what is rounded away


class LazyPath:
    """A path whose law, given its values at the hexagons, is that of `N(0, deviation^2 k)`; and its answers.

    The prior's kernel must be defined between any two places. `deviation` is that of a path at one place,
    response units: for `N(m_D, scale^2 k_D + noise_scale^2 k)` the root of `scale^2 + noise_scale^2`. The
    values at all places that hold records are given by `learn`, first of all. Given these the law elsewhere
    does not mention the records: answers are post-processing, nothing here is private, and any number of them
    costs nothing (docs/mathematics.md, section 15).
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
