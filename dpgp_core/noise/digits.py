"""Uniform real numbers whose binary digits are drawn only when something depends on them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

WORD = 64


class WordSource(Protocol):
    """Where fair bits come from; `SystemEntropy` and `SimulationEntropy` are such sources."""

    def words(self, shape: int) -> Words: ...


class Uniforms:
    """`size` independent uniform numbers on (0, 1), exact: every digit that was ever used is kept.

    A number is the sum of digit_i 2^(-width (i+1)) over its levels i = 0, 1, 2, ... A level is drawn for all
    numbers at once, at the first question that the levels before cannot answer.

    Parameters
    ----------
    source : WordSource
        Fair bits.
    size : int
        How many numbers.
    width : int
        Bits of one digit, 1 to 64. With 64 a second level is needed with probability 2^-64 per comparison;
        tests use small widths, where it is needed all the time.
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

    def first_bit(self) -> Mask:
        """(size,) whether each number is at least one half."""
        return np.asarray((self.level(0) >> np.uint64(self.width - 1)).astype(bool))

    def take(self, index: Any) -> Uniforms:
        """The chosen numbers with the digits they have. The originals must not be asked again: two owners
        of one number would draw different further digits for it."""
        chosen = Uniforms(self._source, 0, self.width)
        chosen._levels = [digits[index] for digits in self._levels]
        chosen.size = int(chosen._levels[0].size)
        return chosen


def less(a: Uniforms, at: Index, b: Uniforms, bt: Index) -> Mask:
    """Whether `a[at] < b[bt]`, entry by entry and exactly; equal numbers have probability zero."""
    answer = np.zeros(at.size, dtype=bool)
    open_ = np.arange(at.size)
    number = 0
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
