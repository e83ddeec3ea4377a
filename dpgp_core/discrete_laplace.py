"""Exact draws from fair bits: the discrete Laplace law, coins of probability exp(-u), a private choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpgp_core._checks import positive, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Ints
from dpgp_core.noise import WORD, WordSource

_MOST = 1 << 52


def discrete_laplace(scale: float, size: int, source: WordSource) -> Ints:
    """Draw independent whole numbers (n,) with probability proportional to `exp(-|z|/scale)`, exact in law.

    The scale is in units of the grid; its double is taken as an exact number. Added to whole numbers that
    change by at most D, the sum is (D/scale)-DP. Raises InvalidValue for a scale that is not in (0, 2^52).
    Canonne, Kamath and Steinke 2020, Algorithm 2: a fraction accepted by coins of probability exp(-u), whole
    multiples by coins of probability exp(-1), a sign, and no second zero. All coins are exact.
    """
    exact = Fraction(positive("scale", scale))
    if exact >= _MOST:
        raise InvalidValue("the noise does not fit the grid: use a coarser grid or a larger epsilon.")
    bits = FairBits(source)
    return np.array([_one(exact, bits) for _ in range(whole("size", size))], dtype=np.int64)


class FairBits:
    """Uniform whole numbers below any bound, from words."""

    def __init__(self, source: WordSource) -> None:
        self._source = source
        self._words: list[int] = []

    def below(self, bound: int) -> int:
        """A uniform whole number in [0, bound), by rejection."""
        length = (bound - 1).bit_length()
        while True:
            value = 0
            for _ in range(-(-length // WORD)):
                if not self._words:
                    self._words = [int(word) for word in self._source.words(256)]
                value = (value << WORD) | self._words.pop()
            value &= (1 << length) - 1
            if value < bound:
                return value

    def coin(self, top: int, bottom: int) -> bool:
        """True with probability top/bottom <= 1."""
        return self.below(bottom) < top


def exponential_coin(top: int, bottom: int, bits: FairBits) -> bool:
    """True with probability exp(-top/bottom), whole numbers top >= 0 and bottom >= 1, exactly.

    A whole unit at a time by coins of exp(-1); for the rest a run of coins rest/(bottom k) ends at odd k.
    """
    while top > bottom:
        if not exponential_coin(1, 1, bits):
            return False
        top -= bottom
    k = 1
    while bits.coin(top, bottom * k):
        k += 1
    return k % 2 == 1


def exponential_choice(errors: Sequence[int], sensitivity: int, epsilon: float, source: WordSource) -> int:
    """One place in a list, with probability proportional to `exp(-epsilon error/(2 sensitivity))`, exactly.

    Errors are PRIVATE whole numbers of any size; `sensitivity`, public, is how far one record can move any of
    them. (epsilon, 0)-DP, epsilon's double taken as an exact number, and of bounded range epsilon: nothing is
    rounded between errors and choice.

    McSherry and Talwar 2007. A candidate is proposed at random and kept by a coin of probability
    `exp(-epsilon (error - least)/(2 sensitivity))`; the coins are exact (Canonne, Kamath and Steinke 2020).
    Raises InvalidValue without a candidate, or for a sensitivity or epsilon that is not positive.
    """
    if not errors or sensitivity < 1:
        raise InvalidValue("a choice needs at least one candidate, and a positive sensitivity.")
    tempered = Fraction(positive("epsilon", epsilon)) / (2 * sensitivity)
    bits, least = FairBits(source), min(errors)
    while True:
        index = bits.below(len(errors))
        gap = tempered * (errors[index] - least)
        if exponential_coin(gap.numerator, gap.denominator, bits):
            return index


def _one(scale: Fraction, bits: FairBits) -> int:
    top, bottom = scale.numerator, scale.denominator
    common = math.gcd(top, bottom)
    top, bottom = top // common, bottom // common
    while True:
        fraction = bits.below(top)
        if not exponential_coin(fraction, top, bits):
            continue
        multiple = 0
        while exponential_coin(1, 1, bits):
            multiple += 1
        size = (fraction + top * multiple) // bottom
        negative = bits.coin(1, 2)
        if not (negative and size == 0):
            return -size if negative else size
