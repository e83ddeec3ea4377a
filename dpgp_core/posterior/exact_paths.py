"""Exact posterior paths: floats propose, whole numbers prove which multiple of 2^-20 is nearest.

The result is the correctly rounded ideal path, a function of it and so post-processing. Every
number of the proof is a Python integer; a bound on an error is rounded up. Source:
docs/exact-paths.md.
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
# Binary digits read of every deviate, and further digits if two integers remain possible.
FIRST, MORE = 128, 64
SURE = 30  # bits of error reserved for the digits: refinement ends there
STEPS = 4  # refinement ends after a quarter as many steps as digits
LARGEST = 800  # bits of the largest number for a proposal in floats
# powers of 2 by which the equations are multiplied, so that every term is a whole number
WHOLE = 2 * RIDGE_BITS + 2 * ROOT_BITS + SCALE_BITS
DENSE = ENTRY_BITS + SCALE_BITS
TOGETHER = 4096  # deviates drawn at once: of a small map those of many paths, of a large one those of one
LIMB = 13  # bits of a part of a number by which a matrix of floats is multiplied


def up(value: float, bits: int) -> int:
    """The least whole number w with `w 2^-bits >= value`, for a value >= 0 taken as exact."""
    top, bottom = value.as_integer_ratio()
    return -((-top << bits) // bottom)


class Enclosure(NamedTuple):
    """Proved enclosure of the ideal path: `abs(f_i - centre_i 2^-bits) <= error_i 2^-bits`."""

    centre: Whole  # (N,)
    error: Whole  # (N,) >= 0
    bits: int


class Digits(NamedTuple):
    """The first digits of one path's deviates: whole multiples of 2^-places."""

    prior: Whole  # xi, one for every row of the prior's root
    records: Whole  # (k,) zeta, one for every occupied cell
    noise: Whole | None  # xi' of the prior noise, if any
    places: int


class PathDeviates:
    """The deviates behind paths that are drawn at once: each path reads its own and no others."""

    def __init__(self, source: WordSource, prior: int, records: int, noise: bool, paths: int = 1) -> None:
        self._ends, self._noise = [prior, prior + records], noise
        self._paths = paths
        self._all = Deviates(source, paths * (prior + records + noise * prior))
        self._places, self._read = 0, np.zeros((paths, 0), dtype=object)

    def digits(self, places: int, path: int = 0) -> Digits:
        if places != self._places:
            self._places, self._read = places, self._all.digits(places).reshape(self._paths, -1)
        prior, records, noise = np.split(self._read[path], self._ends)
        return Digits(prior, records, noise if self._noise else None, places)


class ExactPaths(ABC):
    """Paths of `N(m_D, sigma^2 k_D + eta^2 k)` for PRIVATE records.

    A draw cannot fail if `held.refuse_unsolvable` passed.
    """

    def __init__(self, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float) -> None:
        """Round the ridge up to multiples of 2^-20 and the scales to those of 2^-30.

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
        """Enclosure of the path of these digits, valid whatever floating-point arithmetic does."""

    def draw(self, paths: int, source: WordSource) -> Ints:
        """(paths, N) independent paths, in units of 2^-20 response units."""
        noise, drawn = self.noise > 0, []
        at_once = max(1, TOGETHER // (self.white + self.index.size + noise * self.white))
        for first in range(0, paths, at_once):
            number = min(at_once, paths - first)
            deviates = PathDeviates(source, self.white, self.index.size, noise, number)
            drawn += [self.rounded(deviates, path=path) for path in range(number)]
        return np.array(drawn)

    def rounded(self, deviates: PathDeviates, places: int = FIRST, path: int = 0) -> Ints:
        """(N,) the ideal path of its deviates, rounded to the nearest multiples of 2^-20."""
        # If both ends of the enclosure round to the same number, so does the ideal path. Otherwise
        # further digits narrow it; a tie has probability 0.
        while True:
            centre, error, bits = self.enclosed(deviates.digits(places, path))
            half, step = 1 << (bits - GRID_BITS - 1), bits - GRID_BITS
            low, high = ((end + half) >> step for end in (centre - error, centre + error))
            if np.array_equal(low, high):
                return np.asarray(low, dtype=np.int64)
            places += MORE

    def _scattered(self, digits: Digits) -> tuple[Whole, Whole]:
        """(k,) `2^p M^(1/2) zeta` in whole numbers, and bounds on their errors."""
        p = digits.places
        root = np.array([math.isqrt(m << 2 * p) for m in self.count], dtype=object)
        error = np.array([131 + math.isqrt(m) for m in self.count], dtype=object)
        return (root * digits.records) >> p, error


class GraphPaths(ExactPaths):
    """With a sparse precision: `(r^2 A + M) f = S + sigma r (r B^T xi + M^(1/2) zeta)`.

    Prior noise adds eta g with `A g = B^T xi'`.
    """

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
            noise_draw, wide = self._drawn(digits.noise, p)
            centre = (centre << SCALE_BITS) + self.noise * noise_draw[inside]
            error = (error << SCALE_BITS) + self.noise * wide
            bits += SCALE_BITS
        return Enclosure(centre, np.full(centre.shape, error, dtype=object), bits)

    def _right(self, digits: Digits) -> tuple[Whole, Whole]:
        """(P,) the right side of the path's equation times `2^(p + 134)`, and its error bounds."""
        noise = self.scale * self.ridge
        scattered, off = self._scattered(digits)
        right = (noise * self.ridge * self.prior.transposed(digits.prior)) << ROOT_BITS
        error = (noise * self.ridge * self.prior.spread) << ROOT_BITS
        shift = WHOLE - SCALE_BITS - RIDGE_BITS
        total = self.total << (WHOLE - RESPONSE_BITS + digits.places)
        right[self.cells] += total + ((noise * scattered) << shift)
        error[self.cells] += (noise * off) << shift
        return right, error

    def _solved(self, right: Whole, off: Whole, places: int) -> tuple[Whole, int]:
        """(P,) the path in units of 2^-p, and a bound on its error: `max (rest + off)/(H 1)`."""

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
        """(P,) the prior draw `A g = B^T xi'` in units of 2^-p, and a bound on its error."""
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
        # Sums of whole numbers below 2^53 are exact in any order.
        matrix = np.asfortranarray(rows @ rows.T)
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
        prior_draw, spread = limb_product(root, digits.prior), self.prior.spread
        scattered, off = self._scattered(digits)
        # The equation's right side times 2^(p + 56), and bounds on its error.
        right = (self.total << (p + DENSE - RESPONSE_BITS)) - self.scale * (
            self.count * prior_draw[k] + ((self.ridge * scattered) << DENSE - SCALE_BITS - RIDGE_BITS)
        )
        error = self.scale * (
            self.count * spread[k] + ((self.ridge * off) << DENSE - SCALE_BITS - RIDGE_BITS)
        )

        def residual(values: Whole) -> tuple[Whole, Whole]:
            """The rest, and K_.c M u."""
            weighed = np.zeros(root.shape[0], dtype=object)
            weighed[k] = self.count * values
            pulled = limb_product(root, limb_product(root.T, weighed)) << DENSE - 2 * ENTRY_BITS
            diagonal = (self.ridge**2 * weighed[k]) << DENSE - 2 * RIDGE_BITS
            return right - self.count * pulled[k] - diagonal, pulled

        pulled, width = _refined(
            residual,
            lambda rest: self._width(abs(rest) + error),
            lambda rest: _scaled(rest, DENSE, self._proposed),
            1 << SURE + DENSE,
            np.zeros(k.size, dtype=object),
            p,
        )
        centre, bound = self.scale * prior_draw + pulled, self.scale * spread + width
        if digits.noise is not None:
            centre = centre + self.noise * limb_product(root, digits.noise)
            bound = bound + self.noise * spread
        return Enclosure(centre, bound, p + DENSE)

    def _width(self, remainder: Whole) -> int:
        """The error of `K_.c M u`: `sqrt(sum rest^2/(r^2 m))`, units of 2^-(p + 56), rounded up."""
        square = (-(-(remainder * remainder) // self.count)).sum()
        return -(-((math.isqrt(square) + 1) << RIDGE_BITS) // self.ridge)

    def _proposed(self, remainder: Floats) -> Floats:
        half = solve_lower(self._factor, remainder / self._deviation)
        return np.asarray(solve_lower(self._factor, half, transposed=True) / self._deviation)


def exact_paths(
    prior: Prior, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float = 0.0
) -> ExactPaths:
    """Exact paths of PRIVATE records, ready for the draw; call `held.refuse_unsolvable` first."""
    holding = held(prior)
    if isinstance(holding, HeldGraph):
        return GraphPaths(holding, records, ridge, scale, noise_scale)
    return DensePaths(holding, records, ridge, scale, noise_scale)


def limb_product(matrix: Floats, values: Whole) -> Whole:
    """`matrix @ values` exactly, for whole numbers (m, n) up to 2^26 and whole numbers (n,).

    Numbers are cut into limbs of 13 bits, so that every sum of a float product stays below 2^53,
    where floats are whole numbers and exact in any order. Raises InvalidValue for more than 2^14
    columns.
    """
    if matrix.shape[1] << ENTRY_BITS + LIMB > 1 << 53:
        raise InvalidValue(
            f"a product in floats is exact for at most 16,384 columns, not {matrix.shape[1]:,}."
        )
    size, minus = abs(values), values < 0
    longest = max((int(number).bit_length() for number in size), default=0)
    shifts = range(0, max(longest, 1), LIMB)
    limbs = np.stack([((size >> shift) & ((1 << LIMB) - 1)).astype(np.float64) for shift in shifts], axis=1)
    limbs[minus.astype(bool)] *= -1.0
    product = (matrix @ limbs).astype(np.int64).astype(object)
    result: Whole = np.zeros(matrix.shape[0], dtype=object)
    for place, shift in enumerate(shifts):
        result = result + (product[:, place] << shift)
    return result


def _refined(
    residual: Callable[[Whole], tuple[Whole, Whole]],
    error: Callable[[Whole], int],
    propose: Callable[[Whole], Whole],
    enough: int,
    values: Whole,
    places: int,
) -> tuple[Whole, int]:
    """Refine until the proved error is at most `enough`, or a number of steps: any error is valid.

    `residual` returns the exact residual and the result at the values; `propose` may be any
    function.
    """
    for _ in range(places // STEPS):
        remainder, result = residual(values)
        width = error(remainder)
        if width <= enough:
            return result, width
        values = values + propose(remainder)
    remainder, result = residual(values)
    return result, error(remainder)


def _scaled(remainder: Whole, bits: int, solve: Callable[[Floats], Floats]) -> Whole:
    """A proposal `solve(rest 2^-bits)` by floats, in whole numbers."""
    # Bits beyond a float's range are cut: a proposal need not be exact.
    longest = max((int(number).bit_length() for number in abs(remainder)), default=0)
    less = max(0, longest - LARGEST)
    solved = np.rint(solve((remainder >> less).astype(np.float64)) * 2.0**-bits)
    rounded: Whole = np.array([int(number) for number in solved], dtype=object)
    return np.asarray(rounded << less, dtype=object)


def _largest(top: Whole, bottom: Whole) -> int:
    """The largest ratio, rounded up."""
    return int((-(-top // bottom)).max())
