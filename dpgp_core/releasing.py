"""Public facts, drawn releases, and paths that answer at one place after another."""

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
# "map": all but the comparison of the numbers with draws of their model (`Released.model_check`);
# "field": the field's mean and deviation and the records alone, without paths or the map without
# privacy of the same records
Reads = Literal["all", "map", "field"]
"""Neighbouring relation: one record exchanged (n public), or one more or less (n private)."""


@dataclass(frozen=True)
class Owner:
    """An owner of several records: neighbours then differ in all records of one sensor or person.

    If the number of records is private, an owner's records may be present, absent or others.
    Raises `InvalidValue` unless q is a whole number >= 1.
    """

    records: int  # q: largest number of records of an owner
    apart: bool = False  # whether the records of an owner are in different cells

    def __post_init__(self) -> None:
        whole("records of an owner", self.records)


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """Public facts of a release; only the number of records may come from the private records.

    Raises `InvalidValue` unless n is a whole number >= 1, and counts and covariates have one row
    per cell.
    """

    lattice: Lattice  # the public domain as a lattice for priors, N cells
    n: int  # number of private records, public under "replace-one"; under "add-or-remove" a public guess
    relation: Relation = "replace-one"  # neighbouring relation
    owner: Owner | None = None  # owner whose records are protected together; None for single records
    # whether the records' cells are public, so that only their values are protected
    places_public: bool = False
    # (N,) publicly expected records per cell, for instance from public reference data; None if
    # unknown
    counts: Floats | None = None
    single: bool = False  # whether a cell holds at most one record (cell records)
    # public coarser cells: for each level, finest first, (N,) the number of each cell's ancestor
    parents: tuple[Ints, ...] = ()
    # (N, k) public numbers per cell that may explain the field, in any units; None without columns
    covariates: Floats | None = None
    # the field given published reference records, as the prior of the reading; None without a
    # reference
    field: PublicField | None = None
    # kind of a record's response: "amount"; "yes-no", an answer of -1 or 1; or "rate" and "density"
    # for counted records, whose responses are 1
    law: Law = "amount"
    # folder that stores public eigenpairs of the domain between runs; None stores nothing
    store: Path | None = None
    # the reading of a release's numbers, which are the same; simulations of a search need less
    reads: Reads = "all"
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
        """Neighbouring relation of the guarantee: with public places only values are protected."""
        if self.places_public and self.relation == "replace-one":
            return "values-only"
        return self.relation

    def prior(self, name: str, lengthscale: float) -> Prior:
        """The prior of a family at a lengthscale in metres, cached."""
        return self.cache.prior(name, lengthscale)


GRID = 2.0**-20
"""Released numbers are rounded to multiples of this public step, about a millionth of a response
unit.

The low bits of a normal deviate computed in floating point can betray the value it was added to
(Mironov 2012, CCS); a fixed grid, far coarser than the spacing of the numbers, removes them.
Multiples of a power of two are exact, so that every reader thresholds the same numbers.
"""


def to_grid(values: Floats) -> Floats:
    """The nearest multiples of the public step `GRID`, for values of any shape."""
    return np.round(values / GRID) * GRID


def up_to_grid(values: Floats) -> Floats:
    """The least multiples of `GRID` not below the values, of any shape, so deviations are not
    understated."""
    return np.asarray(np.ceil(values / GRID) * GRID)


@dataclass(frozen=True, eq=False)
class Released:
    """The output of a mechanism: no longer private, and free for any computation."""

    paths: Floats  # (L, N) response units, on the public grid `GRID`; smoothing is applied later
    # mean, sd: (N,) mean and standard deviation of the field given the release, response units;
    # with them exceedance probabilities exist at every threshold. None if the mechanism has none.
    mean: Floats | None = None
    sd: Floats | None = None
    raw: tuple[Floats, ...] = ()  # the released numbers behind them, if these are not the paths
    # (N,) standard deviation, given the release, of a map of the same records without privacy
    # noise, response units. None if unknown.
    map_sd: Floats | None = None
    # (N,) mean of that map, if it differs from the field's mean: that map then cuts the published
    # set
    map_mean: Floats | None = None
    # (N,) expected number of records, >= 0, given the release and the public facts on their places.
    # None if the mechanism does not estimate it.
    records: Floats | None = None
    # the released sums in whole numbers, from which readers recompute mean and deviation. None if
    # the mechanism releases no sums.
    sums: KeptSums | None = None
    # comparison of the released sums with draws of the model that reads them; None if unknown
    model_check: ModelCheck | None = None
    # (J, N) joint draws of the map without privacy less its mean, by a public seed: every reader of
    # the sums can recompute them. None if unknown.
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
        """Round to the public grid; deviations are rounded up."""
        mean = None if self.mean is None else to_grid(self.mean)
        sd = None if self.sd is None else up_to_grid(self.sd)
        records = None if self.records is None else to_grid(self.records)
        return replace(self, paths=to_grid(self.paths), mean=mean, sd=sd, records=records)

    def shifted(self, prior_mean: Floats | None) -> Released:
        """Add a public prior mean (N,), response units, back to the field."""
        if prior_mean is None:
            return self
        mean = None if self.mean is None else self.mean + prior_mean
        map_mean = None if self.map_mean is None else self.map_mean + prior_mean
        return replace(self, paths=self.paths + prior_mean, mean=mean, map_mean=map_mean)

    @property
    def shown_map(self) -> tuple[Floats, Floats] | None:
        """Mean and deviation, (N,) each, of the map without privacy; None if unknown."""
        mean = self.mean if self.map_mean is None else self.map_mean
        return None if mean is None or self.map_sd is None else (mean, self.map_sd)

    def probability(self, level: Floats | float, direction: Direction = "above") -> Floats | None:
        """(N,) probability that the field is on the given side of `level`; None without mean and
        sd."""
        if self.mean is None or self.sd is None:
            return None
        return exceedance_probability(self.mean, self.sd, level, direction)

    def set_chance(self, level: Floats | float, direction: Direction = "above") -> Floats | None:
        """(N,) chance that decides whether a cell enters the published set; None if unknown.

        With `map_mean`, it is the chance that the map of the same records without privacy noise
        shows the cell inside: the set cut by this chance agrees best with that map, above all far
        from all records. Without it, it is `probability`.
        """
        if self.map_mean is None or self.map_sd is None:
            return self.probability(level, direction)
        return exceedance_probability(self.map_mean, self.map_sd, level, direction)

    def own_cutoff(self, level: Floats | float, direction: Direction = "above") -> float:
        """The cutoff of `OWN_CUTOFFS` with the best expected agreement with the map without privacy
        noise.

        The level is a number or (N,), response units. Raises InvalidValue if the release has no
        deviation of the map.
        """
        chance, shown_map = self.set_chance(level, direction), self.shown_map
        if chance is None or shown_map is None:
            raise InvalidValue("this release does not say how sure the map is: take the design's cutoff.")
        return cutoff_for_map(chance, exceedance_probability(*shown_map, level, direction))


class Rounded(Protocol):
    """A result that can be rounded to the public grid."""

    def on_grid(self) -> Self: ...


Drawn = TypeVar("Drawn", bound=Rounded, covariant=True)


class Ready(Protocol[Drawn]):
    """A release of one map or of several, ready for the draw: every step that can fail is done."""

    def draw(self, entropy: Entropy) -> Drawn:
        """Draw one release; every call draws anew."""
        ...


Prepared: TypeAlias = Ready[Released]


def draw_release(prepared: Ready[Drawn], entropy: Entropy, *, simulation: bool = False) -> Drawn:
    """Draw a prepared release once, on the public grid, after the ledger has recorded its charge.

    Parameters
    ----------
    prepared
        Result of `Mechanism.prepare`; it contains PRIVATE numbers.
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
"""Largest number of places of one path: factoring their covariance takes half a minute."""

APART = 1e-8  # independent share of the path's variance at each place: far below the rounding step


class LazyPath:
    """A path with the law of `N(0, deviation^2 k)` given its values at the hexagons; and its
    answers.

    The prior's kernel must be defined between any two places. `deviation` is that of a path at one
    place, response units: for `N(m_D, scale^2 k_D + noise_scale^2 k)` the root of `scale^2 +
    noise_scale^2`. The first call is `learn`, with the values at all places that have records.
    Given these the law elsewhere does not depend on the records: answers are post-processing,
    nothing here is private, and any number of answers is free (docs/mathematics.md, section 15).
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

        Places of earlier questions have their earlier values. Raises InvalidValue, and draws
        nothing, if a place is not a pair of finite numbers or there are too many.
        """
        questions = self._checked(places)
        new = self._new(questions)
        if new.size:
            link, root = self._given(new)
            answers = link @ self._white + root @ entropy.normal(len(new))
            self._keep(new, to_grid(answers), link, root)
        values = {place.tobytes(): value for place, value in zip(self.places, self.values, strict=True)}
        return np.array([values[place.tobytes()] for place in questions])

    def learn(self, places: Floats, values: Floats) -> None:
        """Take over the earlier answers of this path, places (B, 2) and values (B,), in their
        order.

        Raises InvalidValue as `ask`, and for a place with an answer, or values that are not finite.
        """
        answered = self._checked(places)
        if len(self._new(answered)) != len(answered) or values.shape != answered.shape[:1]:
            raise InvalidValue("answers are taken over once, with one value for each place.")
        if not np.all(np.isfinite(values)):
            raise InvalidValue("answers must be finite.")
        self._keep(answered, values, *self._given(answered))

    def _keep(self, new: Floats, values: Floats, link: Floats, root: Floats) -> None:
        # The Cholesky factor of all answers grows by a block row; `white` is that factor's inverse
        # times the values, so the next conditional mean is `link @ white`.
        white = solve_lower(root, values - link @ self._white)
        top = np.hstack([self._root, np.zeros((self._white.size, white.size))])
        self._root = np.vstack([top, np.hstack([link, root])])
        self._white = np.concatenate([self._white, white])
        self.places, self.values = np.vstack([self.places, new]), np.concatenate([self.values, values])

    def _given(self, new: Floats) -> tuple[Floats, Floats]:
        """Link (B, A) to the earlier answers, and lower root (B, B) of the remaining covariance."""
        shared = self._covariance(self.places, new)
        link = solve_lower(self._root, shared).T if self._white.size else np.empty((len(new), 0))
        remainder = self._covariance(new, new) - link @ link.T
        remainder[np.diag_indices_from(remainder)] += APART * self._deviation**2
        return link, cholesky(remainder, "the covariance of the asked places", "ask for places farther apart")

    def _covariance(self, first: Floats, second: Floats) -> Floats:
        distance = cdist(first, second)
        shared = (1.0 - self._prior.nugget) * self._prior.kernel(distance / self._prior.lengthscale)
        return np.asarray(self._deviation**2 * np.where(distance == 0.0, 1.0, shared))

    def _checked(self, places: Floats) -> Floats:
        questions = np.ascontiguousarray(places, dtype=np.float64) + 0.0  # -0.0 is 0.0
        if questions.ndim != 2 or questions.shape[1] != 2 or not np.all(np.isfinite(questions)):
            raise InvalidValue("places must be pairs of finite coordinates in metres.")
        if len(self.places) + len(questions) > MOST_PLACES:
            raise InvalidValue(f"one path answers at most {MOST_PLACES:,} places: ask for fewer.")
        return questions

    def _new(self, questions: Floats) -> Floats:
        """Places without an answer, without repetition, in their order."""
        answered = {place.tobytes() for place in self.places}
        fresh = {place.tobytes(): place for place in questions if place.tobytes() not in answered}
        return np.array(list(fresh.values())).reshape(-1, 2)
