"""Randomness and exactly rounded Gaussian noise on integers: a proof for real numbers holds on a computer.

All randomness comes from this module: `SystemEntropy` reads the operating system, for releases; seeds are for
simulations. The rounded normal distribution uses no floating-point number: a normal deviate is an integer k
plus a uniform fraction x whose digits are drawn on demand, accepted and rejected by coins of exactly the
right probabilities, and its product with sigma is rounded by integer arithmetic. Source: C. F. F. Karney,
Sampling exactly from the normal distribution, ACM Transactions on Mathematical Software 42(1), 2016,
Algorithm N; the probabilities are proved again in docs/accounting.md, section 6.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats, Ints

Words = NDArray[np.uint64]
Shape = int | tuple[int, ...]


class Entropy(Protocol):
    """A source of independent random numbers.

    A release must use `SystemEntropy`: whoever can repeat the numbers can subtract the noise.
    """

    def normal(self, shape: Shape) -> Floats:
        """Independent standard normal numbers of the given shape."""
        ...

    def uniform(self, shape: Shape) -> Floats:
        """Independent uniform numbers strictly inside (0, 1), of the given shape."""
        ...

    def words(self, shape: Shape) -> Words:
        """Independent 64-bit words of the given shape, each bit a fair coin: for exact samplers."""
        ...


class SystemEntropy:
    """Numbers straight from the operating system's generator; there is no seed and no state to leak.

    The top bit of a 64-bit word is a normal number's sign, the others give the tail probability `u = (word +
    1/2) 2^-64` below 1/2, inverted: exact to 2^-65 (9.2 deviations), within total variation 2^-64 of a normal
    number.
    """

    __slots__ = ()

    def normal(self, shape: Shape) -> Floats:
        """Independent standard normal numbers of the given shape."""
        word = _words(shape)
        tail = ((word & np.uint64((1 << 63) - 1)).astype(np.float64) + 0.5) * 2.0**-64
        return np.asarray(np.where(word >> np.uint64(63), -1.0, 1.0) * ndtri(tail))

    def uniform(self, shape: Shape) -> Floats:
        """Independent uniform numbers strictly inside (0, 1), of the given shape."""
        # 52 bits and a half step: the largest value, 1 - 2^-53, is still representable below 1.
        return ((_words(shape) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def words(self, shape: Shape) -> Words:
        return _words(shape)


class SimulationEntropy:
    """Repeatable numbers from a seed >= 0; never for a release.

    They serve searches on reference data, simulations and tests.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def normal(self, shape: Shape) -> Floats:
        """Independent standard normal numbers of the given shape."""
        return self._generator.standard_normal(shape)

    def uniform(self, shape: Shape) -> Floats:
        """Independent uniform numbers strictly inside (0, 1), of the given shape."""
        return (self._generator.integers(0, 1 << 52, size=shape).astype(np.float64) + 0.5) * 2.0**-52

    def words(self, shape: Shape) -> Words:
        return self._generator.integers(0, 1 << 64, size=shape, dtype=np.uint64)


def _words(shape: Shape) -> Words:
    size = math.prod(shape) if isinstance(shape, tuple) else int(shape)
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64).reshape(shape)


def random_name() -> str:
    """16 hex digits from the operating system: a release's public name, independent of everything else."""
    return os.urandom(8).hex()


Index = NDArray[np.intp]

WORD = 64


class WordSource(Protocol):
    """Where fair bits come from; `SystemEntropy` and `SimulationEntropy` are such sources."""

    def words(self, shape: Shape) -> Words: ...


class Uniforms:
    """`size` independent uniform numbers on (0, 1), exact: every digit that was ever used is kept.

    A number is the sum of digit_i 2^(-width (i+1)) over its levels i = 0, 1, 2, ... A level is drawn for all
    numbers at once, at the first question that the levels before cannot answer. With a width of 64 bits a
    second level is needed with probability 2^-64 per comparison; tests use small widths, where it is needed
    all the time.
    """

    __slots__ = ("_levels", "_source", "size", "width")

    def __init__(self, source: WordSource, size: int, width: int = WORD) -> None:
        self._source, self.size, self.width = source, size, width
        self._levels: list[Words] = []

    def level(self, number: int) -> Words:
        """(size,) digits of level `number`, each in [0, 2^width)."""
        while len(self._levels) <= number:
            self._levels.append(self._source.words(self.size) >> np.uint64(WORD - self.width))
        return self._levels[number]

    def first_bit(self) -> Bools:
        """(n,) whether each number is at least one half."""
        return np.asarray((self.level(0) >> np.uint64(self.width - 1)).astype(bool))

    def take(self, index: Any) -> Uniforms:
        """The chosen numbers with the digits they have.

        The originals must not be read again: two owners of one number would draw different further digits for
        it.
        """
        subset = Uniforms(self._source, 0, self.width)
        subset._levels = [digits[index] for digits in self._levels]
        subset.size = int(subset._levels[0].size)
        return subset


def less(a: Uniforms, at: Index, b: Uniforms, bt: Index) -> Bools:
    """(n,) whether `a[at] < b[bt]`, entry by entry, exactly; equal numbers have probability zero."""
    if at.size == 0:  # no digit is drawn for no question
        return np.zeros(0, dtype=bool)
    left, right = a.level(0)[at], b.level(0)[bt]
    answer: Bools = left < right
    open_, number = np.flatnonzero(left == right), 1
    while open_.size:
        left, right = a.level(number)[at[open_]], b.level(number)[bt[open_]]
        answer[open_] = left < right
        open_ = open_[left == right]
        number += 1
    return answer


def below(source: WordSource, limit: int, size: int) -> Words:
    """(size,) independent whole numbers, exactly uniform on 0 .. limit - 1 (by rejection; limit <= 2^32).

    One limit for all entries: callers group their entries by limit.
    """
    top = (1 << WORD) // limit * limit  # a multiple of limit; words at or above it are drawn again
    words = source.words(size)
    while top < 1 << WORD:
        late = np.flatnonzero(words >= np.uint64(top))
        if late.size == 0:
            break
        words = words.copy()
        words[late] = source.words(late.size)
    return np.asarray(words % np.uint64(limit))


NUMBER_DISTANCE = 2.0**-200
"""Upper bound on the total variation between one number of `rounded_normal` and the rounded ideal deviate.

The algorithm is exact; the distance comes only from the refusal of deviates beyond 128 standard deviations.
"""

RELEASE_DISTANCE = 2.0**-150
"""Upper bound on the total variation of a whole release of at most 2^50 such numbers."""

LARGEST_SIGMA = 2.0**55
_LARGEST_K = 127  # P(|w| >= 128) < e^(-128^2/2) < 2^-11000; so products with sigma stay below 2^62
_BATCH = 1 << 16


def rounded_normal(sigma: float, size: int, source: WordSource, width: int = WORD) -> Ints:
    """Independent copies (n,) of round(sigma w), w a true normal deviate of mean 0 and variance 1.

    Sigma is in units of the grid, > 0 and at most 2^55; its double is taken as an exact number. Each is
    within total variation `NUMBER_DISTANCE` of the ideal, whatever sigma is, and `RELEASE_DISTANCE` holds for
    at most 2^50. Any width gives the same law. Ties cannot occur: a boundary m + 1/2 has probability zero. So
    the result is symmetric around 0. Raises InvalidValue for another sigma.
    """
    sigma = positive("sigma", sigma)
    if sigma > LARGEST_SIGMA:
        raise InvalidValue(
            f"sigma must be at most 2^55 units of the grid, got {sigma!r}: use a coarser grid."
        )
    parts = [_rounded(sigma, *accepted, source) for accepted in _accepted(source, size, width)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


class Deviates:
    """`size` independent true normal deviates, of which ever more digits can be read; none is drawn twice.

    Digits that were not read yet are uniform and independent of everything else. Each deviate is within total
    variation `NUMBER_DISTANCE` of the ideal. Any width gives the same law.
    """

    __slots__ = ("_minus", "_parts", "size")

    def __init__(self, source: WordSource, size: int, width: int = WORD) -> None:
        self.size = size
        self._parts = list(_accepted(source, size, width))
        self._minus = (source.words(size) >> np.uint64(WORD - 1)).astype(bool)

    def digits(self, places: int) -> NDArray[np.object_]:
        """(n,) Python's whole numbers X, each with `abs(deviate - X 2^-places) <= 2^-places`.

        They are cut off, not rounded, so that further digits do not change the first ones.
        """
        values = np.zeros(self.size, dtype=object)
        start = 0
        for integer, fraction in self._parts:
            value = integer.astype(object)
            levels = -(-places // fraction.width)
            for number in range(levels):
                value = (value << fraction.width) | fraction.level(number).astype(object)
            values[start : start + integer.size] = value >> (levels * fraction.width - places)
            start += integer.size
        return np.where(self._minus, -values, values)


def _accepted(source: WordSource, size: int, width: int) -> Iterator[tuple[Ints, Uniforms]]:
    """Integer parts and fractions of the absolute values of `size` deviates, in portions."""
    missing = size
    while missing > 0:
        integer, fraction = _candidates(source, min(_BATCH, 2 * missing + 64), width)
        keep = np.arange(min(missing, integer.size))
        if keep.size:
            yield integer[keep], fraction.take(keep)
            missing -= keep.size


def _candidates(source: WordSource, size: int, width: int) -> tuple[Ints, Uniforms]:
    """Integer parts k and fractions x of |w| for the accepted among `size` candidates."""
    integer = np.zeros(size, dtype=np.int64)  # step 1: P(k) = e^(-k/2) (1 - e^(-1/2))
    active = np.arange(size)
    while active.size:
        active = active[_half_coin(source, active.size, width)]
        integer[active] += 1
    trials = integer * (integer - 1)  # step 2: accept k with probability e^(-k(k-1)/2)
    alive = integer <= _LARGEST_K
    while True:
        active = np.flatnonzero(alive & (trials > 0))
        if active.size == 0:
            break
        alive[active] = _half_coin(source, active.size, width)
        trials[active] -= 1
    integer = integer[alive]
    fraction = Uniforms(source, integer.size, width)
    fraction.level(0)
    alive = np.ones(integer.size, dtype=bool)  # steps 3 and 4: accept x with probability e^(-x(2k+x)/2)
    for round_ in range(int(integer.max(initial=-1)) + 1):
        active = np.flatnonzero(alive & (integer >= round_))
        alive[active] = _fraction_coin(source, integer[active], fraction, active)
    return integer[alive], fraction.take(alive)


def _half_coin(source: WordSource, size: int, width: int) -> Bools:
    """(size,) coins of probability e^(-1/2): whether a run 1/2 > u_1 > u_2 > ... > u_n ends at an even n."""
    previous = Uniforms(source, size, width)
    even = np.ones(size, dtype=bool)
    active = np.flatnonzero(~previous.first_bit())
    previous = previous.take(active)
    while active.size:
        even[active] = ~even[active]
        following = Uniforms(source, active.size, width)
        same = np.arange(active.size)
        on = less(following, same, previous, same)
        active, previous = active[on], following.take(on)
    return even


def _fraction_coin(source: WordSource, integer: Ints, fraction: Uniforms, at: Index) -> Bools:
    """Coins of probability e^(-x (2k+x)/(2k+2)) for x = fraction[at].

    Whether a run x > z_1 > z_2 > ... > z_n, each step of which must also win a coin of probability
    (2k+x)/(2k+2), ends at an even n.
    """
    even = np.ones(at.size, dtype=bool)
    active = np.arange(at.size)
    previous, place = fraction, at
    while active.size:
        following = Uniforms(source, active.size, fraction.width)
        on = less(following, np.arange(active.size), previous, place)
        on[on] = _share_coin(source, integer[active[on]], fraction, at[active[on]])
        active, previous = active[on], following.take(on)
        place = np.arange(active.size)
        even[active] = ~even[active]
    return even


def _share_coin(source: WordSource, integer: Ints, fraction: Uniforms, at: Index) -> Bools:
    """Coins of probability (2k+x)/(2k+2): among 2k+2 equal chances 2k win, and one more with chance x."""
    won = np.zeros(integer.size, dtype=bool)
    for k in np.unique(integer).tolist():
        of_k = np.flatnonzero(integer == k)
        chance = below(source, 2 * k + 2, of_k.size).astype(np.int64)
        won[of_k] = chance < 2 * k
        undecided = of_k[chance == 2 * k]
        fresh = Uniforms(source, undecided.size, fraction.width)
        won[undecided] = less(fresh, np.arange(undecided.size), fraction, at[undecided])
    return won


def _rounded(sigma: float, integer: Ints, fraction: Uniforms, source: WordSource) -> Ints:
    """round(+-sigma (k + x)): the digits of x are read until both ends of the interval agree."""
    top, bottom = sigma.as_integer_ratio()  # bottom is a power of two
    value = np.zeros(integer.size, dtype=np.int64)
    digits = [int(k) for k in integer]
    scale, number = 1, 0
    active = np.arange(integer.size)
    while active.size:
        level = fraction.level(number)
        scale <<= fraction.width
        number += 1
        undecided: list[int] = []
        for i in active.tolist():
            digits[i] = (digits[i] << fraction.width) | int(level[i])
            low = _nearest(top * digits[i], bottom * scale)
            if low == _nearest(top * (digits[i] + 1), bottom * scale):
                value[i] = low
            else:
                undecided.append(i)
        active = np.array(undecided, dtype=np.intp)
    minus = (source.words(integer.size) >> np.uint64(WORD - 1)).astype(bool)
    return np.where(minus, -value, value)


def _nearest(top: int, bottom: int) -> int:
    """floor(top/bottom + 1/2)."""
    return (2 * top + bottom) // (2 * bottom)


def distance_of(count: int) -> float:
    """Total variation to the ideal of a release of `count` numbers: at most `RELEASE_DISTANCE`.

    Raises InvalidValue for more than 2^50 numbers, for which the constant is not proved.
    """
    if not 0 <= count <= 1 << 50:
        raise InvalidValue(f"a release has at most 2^50 noisy numbers, got {count!r}: use fewer cells.")
    return 0.0 if count == 0 else math.ldexp(1.0, -150)


_LIMIT = 1 << 62


def simulated_integers(totals: Ints, noise: float, unit: float, entropy: Entropy) -> Ints:
    """As `noisy_integers`, of any shape, in floating point and a hundred times faster: for simulations."""
    deviates = entropy.normal(totals.shape)
    return totals + np.rint(positive("noise", noise) / positive("unit", unit) * deviates).astype(np.int64)


def noisy_integers(
    totals: Ints, noise: float, unit: float, entropy: Entropy, *, simulation: bool = False
) -> Ints:
    """totals + round(noise w / unit), w independent true normal deviates: a Gaussian mechanism on integers.

    Totals (p,) are exact, PRIVATE, in units of the grid; one step is `unit`, a power of two, in the noise's
    unit of measure. As totals are integers, this is round(totals + z): a function of the ideal mechanism's
    output, so its mu holds exactly, apart from `RELEASE_DISTANCE` in total variation. Raises InvalidValue for
    another source than `SystemEntropy` unless `simulation=True`, or numbers that do not fit the grid.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue("a release must draw from SystemEntropy; a seed is for simulations only.")
    noise, unit = positive("noise", noise), positive("unit", unit)
    if math.frexp(unit)[0] != 0.5:
        raise InvalidValue(f"the unit of the grid must be a power of two, got {unit!r}.")
    if np.any(np.abs(totals) >= _LIMIT):
        raise InvalidValue("the sums do not fit 62 bits: use a coarser grid.")
    sigma = noise / unit  # exact: unit is a power of two
    if sigma > LARGEST_SIGMA:
        raise InvalidValue("the noise does not fit the grid: use a coarser grid.")
    return totals + rounded_normal(sigma, totals.size, entropy).reshape(totals.shape)
