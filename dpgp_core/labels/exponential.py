"""The exponential mechanism on whole numbers, drawn exactly from fair bits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.labels.discrete_laplace import FairBits, WordSource, exponential_coin


def exponential_choice(errors: Sequence[int], sensitivity: int, epsilon: float, source: WordSource) -> int:
    """One place in a list, with probability proportional to `exp(-epsilon error/(2 sensitivity))`, exactly.

    Parameters
    ----------
    errors : sequence of int
        Of the public candidates, PRIVATE; whole numbers of any size.
    sensitivity : int
        How far one record can move any error, > 0: public, in the same units.
    epsilon : float
        Its double is taken as an exact number.
    source : WordSource
        `SystemEntropy` for a release.

    Returns
    -------
    int
        (epsilon, 0)-DP, and of bounded range epsilon: nothing is rounded between errors and choice.

    Raises
    ------
    InvalidValue
        If there is no candidate, or the sensitivity or epsilon is not positive.

    Notes
    -----
    McSherry and Talwar 2007. A candidate is proposed at random and kept by a coin of probability
    `exp(-epsilon (error - least)/(2 sensitivity))`; the coins are exact (Canonne, Kamath and Steinke 2020).
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
