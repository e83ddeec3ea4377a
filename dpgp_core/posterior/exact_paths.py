"""Exact posterior paths: floats propose, whole numbers prove which multiple of 2^-20 is nearest.

What is returned is the correctly rounded ideal path, a function of it and so post-processing. Every number of
the proof is a whole number of Python's; a bound on an error is rounded up. Source: docs/exact-paths.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import BandedCholesky, Floats, Ints, cholesky, solve_lower
from dpgp_core.noise import Deviates, WordSource
from dpgp_core.posterior.records import RESPONSE_BITS, CollapsedRecords
from dpgp_core.priors.dense import ENTRY_BITS
from dpgp_core.priors.held import ROOT_BITS, HeldDense, HeldGraph, Whole, held
from dpgp_core.priors.lattice import Prior

GRID_BITS = 20  # paths are released as multiples of 2^-20, `releasing.GRID`
RIDGE_BITS = 20  # ridges are whole multiples of 2^-20
SCALE_BITS = 30  # scales are whole multiples of 2^-30
FIRST, MORE = 128, 64  # digits that are read of every deviate, and how many more where two integers are left
SURE = 30  # bits of error that are left for the digits' own: refinement ends there
STEPS = 4  # refinement ends after a quarter as many steps as digits
LARGEST = 800  # bits of the largest number that a proposal in floats takes
# powers of 2 by which the equations are multiplied, so that every term is a whole number
WHOLE = 2 * RIDGE_BITS + 2 * ROOT_BITS + SCALE_BITS
DENSE = ENTRY_BITS + SCALE_BITS
LIMB = 13  # bits of a part of a number by which a matrix of floats is multiplied


def up(value: float, bits: int) -> int:
    """The least whole number w with `w 2^-bits >= value`, for a value >= 0 taken as an exact number."""
    top, bottom = value.as_integer_ratio()
    return -((-top << bits) // bottom)


class Enclosure(NamedTuple):
    """What is proved of the ideal path: `abs(f_i - centre_i 2^-bits) <= error_i 2^-bits` for N cells."""

    centre: Whole  # (N,)
    error: Whole  # (N,) >= 0
    bits: int


class Digits(NamedTuple):
    """The first digits of one path's deviates: whole multiples of 2^-places."""

    prior: Whole  # xi, one for every row of the prior's root
    records: Whole  # (k,) zeta, one for every occupied cell
    noise: Whole | None  # xi' of the prior noise; None where there is none
    places: int


class PathDeviates:
    """The deviates behind one path."""

    def __init__(self, source: WordSource, prior: int, records: int, noise: bool, width: int = 64) -> None:
        self._prior = Deviates(source, prior, width)
        self._records = Deviates(source, records, width)
        self._noise = Deviates(source, prior, width) if noise else None

    def digits(self, places: int) -> Digits:
        noise = None if self._noise is None else self._noise.digits(places)
        return Digits(self._prior.digits(places), self._records.digits(places), noise, places)


class ExactPaths(ABC):
    """Paths of `N(m_D, sigma^2 k_D + eta^2 k)` for PRIVATE records; a draw cannot fail where
    `held.refuse_unsolvable` passed."""

    def __init__(self, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float) -> None:
        """`ridge` in multiples of 2^-20, scales in multiples of 2^-30, response units: rounded up here.

        Raises InvalidValue for two scales of 0, under which the mean itself would leave.
        """
        self.ridge, self.scale, self.noise = (
            up(ridge, RIDGE_BITS),
            up(scale, SCALE_BITS),
            up(noise_scale, SCALE_BITS),
        )
        if self.scale == self.noise == 0:
            raise InvalidValue(
                "scale and noise_scale are both 0: that is the exact posterior mean, not a draw; add noise."
            )
        self.index, self.count = records.index, records.count.astype(object)
        self.total = records.units.astype(object)

    @property
    @abstractmethod
    def white(self) -> int:
        """Number of deviates behind one draw of the prior."""

    @abstractmethod
    def enclosed(self, digits: Digits) -> Enclosure:
        """The path that these digits belong to, as far as they tell; whatever floats do, it is true."""

    def draw(self, paths: int, source: WordSource) -> Ints:
        """(paths, N) independent paths, in units of 2^-20 response units."""
        deviates = (PathDeviates(source, self.white, self.index.size, self.noise > 0) for _ in range(paths))
        return np.array([self.rounded(one) for one in deviates])

    def rounded(self, deviates: PathDeviates, places: int = FIRST) -> Ints:
        """(N,) the ideal path of these deviates, every value rounded to the nearest multiple of 2^-20."""
        while True:
            centre, error, bits = self.enclosed(deviates.digits(places))
            half, step = 1 << (bits - GRID_BITS - 1), bits - GRID_BITS
            low, high = ((end + half) >> step for end in (centre - error, centre + error))
            if np.array_equal(low, high):
                return np.asarray(low, dtype=np.int64)
            places += MORE

    def _scattered(self, digits: Digits) -> tuple[Whole, Whole]:
        """(k,) `2^p M^(1/2) zeta` in whole numbers, and how far off these are at most."""
        p = digits.places
        root = np.array([math.isqrt(m << 2 * p) for m in self.count], dtype=object)
        error = np.array([131 + math.isqrt(m) for m in self.count], dtype=object)
        return (root * digits.records) >> p, error


class GraphPaths(ExactPaths):
    """With a sparse precision: `(r^2 A + M) f = S + sigma r (r B^T xi + M^(1/2) zeta)`, `A g = B^T xi'`."""

    def __init__(
        self, prior: HeldGraph, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float
    ) -> None:
        super().__init__(records, ridge, scale, noise_scale)
        self.prior = prior
        self.cells = prior.inside[self.index]
        self._square = (self.ridge * 2.0**-RIDGE_BITS) ** 2
        weight = np.zeros(prior.loss.size)
        weight[self.cells] = records.count / self._square
        self._factor = BandedCholesky.factor(prior.floats, prior.ordering, extra=weight)
        self._own = BandedCholesky.factor(prior.floats, prior.ordering) if self.noise else None
        # M times 2^(2 * 20 + 2 * 32), as r^2 A is in whole numbers
        self._counts = np.zeros(prior.loss.size, dtype=object)
        self._counts[self.cells] = self.count << 2 * (RIDGE_BITS + ROOT_BITS)
        # H 1 = r^2 s^2 + m > 0, times 2^134
        self._sums = (self.ridge**2 * prior.loss**2 + self._counts) << SCALE_BITS

    @property
    def white(self) -> int:
        return self.prior.white

    def enclosed(self, digits: Digits) -> Enclosure:
        p, inside = digits.places, self.prior.inside
        path, error = self._solved(*self._right(digits), p)
        centre, bits = path[inside], p
        if digits.noise is not None:
            own, wide = self._drawn(digits.noise, p)
            centre = (centre << SCALE_BITS) + self.noise * own[inside]
            error = (error << SCALE_BITS) + self.noise * wide
            bits += SCALE_BITS
        return Enclosure(centre, np.full(centre.shape, error, dtype=object), bits)

    def _right(self, digits: Digits) -> tuple[Whole, Whole]:
        """(P,) the right side of the path's equation times `2^(p + 134)`, and how far off it is at most."""
        noise = self.scale * self.ridge
        scattered, off = self._scattered(digits)
        right = (noise * self.ridge * self.prior.transposed(digits.prior)) << ROOT_BITS
        error = (noise * self.ridge * self.prior.spread) << ROOT_BITS
        beside = WHOLE - SCALE_BITS - RIDGE_BITS
        total = self.total << (WHOLE - RESPONSE_BITS + digits.places)
        right[self.cells] += total + ((noise * scattered) << beside)
        error[self.cells] += (noise * off) << beside
        return right, error

    def _solved(self, right: Whole, off: Whole, places: int) -> tuple[Whole, int]:
        """(P,) the path in units of 2^-p, and how far off it is at most: `max (rest + off)/(H 1)`."""

        def residual(values: Whole) -> tuple[Whole, Whole]:
            product = self.ridge**2 * self.prior.times(values) + self._counts * values
            return right - (product << SCALE_BITS), values

        return _refined(
            residual,
            lambda rest: _largest(abs(rest) + off, self._sums),
            lambda rest: _scaled(rest, WHOLE, lambda x: self._factor.solve(x) / self._square),
            1 << SURE,
            np.zeros(right.size, dtype=object),
            places,
        )

    def _drawn(self, white: Whole, places: int) -> tuple[Whole, int]:
        """(P,) the prior draw `A g = B^T xi'` in units of 2^-p, and how far off it is at most."""
        factor, prior = self._own, self.prior
        assert factor is not None
        right, off = prior.transposed(white) << ROOT_BITS, prior.spread << ROOT_BITS
        return _refined(
            lambda values: (right - prior.times(values), values),
            lambda rest: _largest(abs(rest) + off, prior.loss**2),
            lambda rest: _scaled(rest, 2 * ROOT_BITS, factor.solve),
            1 << SURE,
            np.zeros(right.size, dtype=object),
            places,
        )


class DensePaths(ExactPaths):
    """With a correlation: `f = sigma Lambda xi + K_.c M u`.

    Here `H u = S - sigma (M Lambda_c xi + r M^(1/2) zeta)` for `H = M K_cc M + r^2 M`;
    prior noise adds `eta Lambda xi'`.
    """

    def __init__(
        self, prior: HeldDense, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float
    ) -> None:
        super().__init__(records, ridge, scale, noise_scale)
        self.prior = prior
        self._deviation = np.sqrt(records.count.astype(np.float64))
        rows = prior.root[self.index]
        matrix = np.asfortranarray(rows @ rows.T)  # sums of whole numbers below 2^53: exact in any order
        del rows
        matrix *= self._deviation * 4.0**-ENTRY_BITS
        matrix *= self._deviation[:, None]
        matrix[np.diag_indices_from(matrix)] += (self.ridge * 2.0**-RIDGE_BITS) ** 2
        what = "the covariance of the records"
        self._factor = cholesky(matrix, what, "use a larger ridge", overwrite=True)

    @property
    def white(self) -> int:
        return self.prior.white

    def enclosed(self, digits: Digits) -> Enclosure:
        p, root, k = digits.places, self.prior.root, self.index
        drawn, spread = limb_product(root, digits.prior), self.prior.spread
        scattered, off = self._scattered(digits)
        # the equation's right side times 2^(p + 56), and how far off it is at most
        right = (self.total << (p + DENSE - RESPONSE_BITS)) - self.scale * (
            self.count * drawn[k] + ((self.ridge * scattered) << DENSE - SCALE_BITS - RIDGE_BITS)
        )
        error = self.scale * (
            self.count * spread[k] + ((self.ridge * off) << DENSE - SCALE_BITS - RIDGE_BITS)
        )

        def residual(values: Whole) -> tuple[Whole, Whole]:
            """The rest, and K_.c M u."""
            weighed = np.zeros(root.shape[0], dtype=object)
            weighed[k] = self.count * values
            pulled = limb_product(root, limb_product(root.T, weighed)) << DENSE - 2 * ENTRY_BITS
            kept = (self.ridge**2 * weighed[k]) << DENSE - 2 * RIDGE_BITS
            return right - self.count * pulled[k] - kept, pulled

        pulled, width = _refined(
            residual,
            lambda rest: self._width(abs(rest) + error),
            lambda rest: _scaled(rest, DENSE, self._proposed),
            1 << SURE + DENSE,
            np.zeros(k.size, dtype=object),
            p,
        )
        centre, bound = self.scale * drawn + pulled, self.scale * spread + width
        if digits.noise is not None:
            centre = centre + self.noise * limb_product(root, digits.noise)
            bound = bound + self.noise * spread
        return Enclosure(centre, bound, p + DENSE)

    def _width(self, rest: Whole) -> int:
        """`sqrt(sum rest^2/(r^2 m))` in units of 2^-(p + 56), rounded up: the error of `K_.c M u`."""
        square = (-(-(rest * rest) // self.count)).sum()
        return -(-((math.isqrt(square) + 1) << RIDGE_BITS) // self.ridge)

    def _proposed(self, rest: Floats) -> Floats:
        half = solve_lower(self._factor, rest / self._deviation)
        return np.asarray(solve_lower(self._factor, half, transposed=True) / self._deviation)


def exact_paths(
    prior: Prior, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float = 0.0
) -> ExactPaths:
    """Exact paths of PRIVATE records, ready to be drawn; call `held.refuse_unsolvable` first."""
    holding = held(prior)
    if isinstance(holding, HeldGraph):
        return GraphPaths(holding, records, ridge, scale, noise_scale)
    return DensePaths(holding, records, ridge, scale, noise_scale)


def limb_product(matrix: Floats, values: Whole) -> Whole:
    """`matrix @ values` exactly: a matrix (m, n) of whole numbers up to 2^26 in size, whole numbers (n,).

    Numbers are cut into limbs of 13 bits, so that every sum of a float product stays below 2^53, where floats
    are whole numbers and exact in any order. Raises InvalidValue for more than 2^14 columns.
    """
    if matrix.shape[1] << ENTRY_BITS + LIMB > 1 << 53:
        raise InvalidValue(
            f"a product in floats is exact for at most 16,384 columns, not {matrix.shape[1]:,}."
        )
    size, minus = abs(values), values < 0
    longest = max((int(one).bit_length() for one in size), default=0)
    shifts = range(0, max(longest, 1), LIMB)
    limbs = np.stack([((size >> shift) & ((1 << LIMB) - 1)).astype(np.float64) for shift in shifts], axis=1)
    limbs[minus.astype(bool)] *= -1.0
    product = (matrix @ limbs).astype(np.int64).astype(object)
    found: Whole = np.zeros(matrix.shape[0], dtype=object)
    for place, shift in enumerate(shifts):
        found = found + (product[:, place] << shift)
    return found


def _refined(
    residual: Callable[[Whole], tuple[Whole, Whole]],
    error: Callable[[Whole], int],
    propose: Callable[[Whole], Whole],
    enough: int,
    values: Whole,
    places: int,
) -> tuple[Whole, int]:
    """Refine until the proved error is at most `enough`, or a number of steps: any error is valid.

    `residual` gives the exact rest and what is wanted at the values; `propose` may be any function.
    """
    for _ in range(places // STEPS):
        rest, wanted = residual(values)
        width = error(rest)
        if width <= enough:
            return wanted, width
        values = values + propose(rest)
    rest, wanted = residual(values)
    return wanted, error(rest)


def _scaled(rest: Whole, bits: int, solve: Callable[[Floats], Floats]) -> Whole:
    """A proposal in floats: `solve(rest 2^-bits)` in whole numbers; what does not fit a float is cut off."""
    longest = max((int(one).bit_length() for one in abs(rest)), default=0)
    less = max(0, longest - LARGEST)
    solved = np.rint(solve((rest >> less).astype(np.float64)) * 2.0**-bits)
    whole: Whole = np.array([int(one) for one in solved], dtype=object)
    return np.asarray(whole << less, dtype=object)


def _largest(top: Whole, bottom: Whole) -> int:
    """The largest ratio, rounded up."""
    return int((-(-top // bottom)).max())
