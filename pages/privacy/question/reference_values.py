"""The public reference values in bars and words: where a threshold lies among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.numbers import significant
from geo.measures import format_value
from hexcursion.words import quantity
from pages.shared.session.previews import Preview

BARS = 32
TAIL = 0.005  # of the values on each side that the bars leave out
NEARLY = 0.02  # a share this close to none or all makes a map of one colour


@dataclass(frozen=True)
class Bar:
    """One bar: from a value to a value, and the share of the reference values between them."""

    low: float
    high: float
    share: float


def share_above(quantiles: tuple[float, ...], threshold: float) -> float:
    """Share of the reference values above a threshold, from their even quantiles."""
    return 1.0 - float(np.searchsorted(np.array(quantiles), threshold, side="right")) / len(quantiles)


def bars(quantiles: tuple[float, ...]) -> tuple[Bar, ...]:
    """A histogram of the middle of the values; none where they do not vary."""
    low, high = (quantiles[round(at * (len(quantiles) - 1))] for at in (TAIL, 1.0 - TAIL))
    if not high > low:
        return ()
    edges = np.linspace(low, high, BARS + 1)
    counts, _ = np.histogram(np.array(quantiles), edges)
    return tuple(
        Bar(float(a), float(b), float(count) / len(quantiles))
        for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )


def sentences(seen: Preview, unit: str, threshold: float | None) -> tuple[str, ...]:
    """The quantiles in words, the share above the threshold, a warning where nearly all or none are."""
    tenth, quarter, middle, upper, ninth = (
        format_value(seen.quantiles[round(at * (len(seen.quantiles) - 1))], unit)
        for at in (0.1, 0.25, 0.5, 0.75, 0.9)
    )
    said = [
        f"Public reference, {seen.size:,} values: half lie below {middle}, the middle half between {quarter} "
        f"and {upper}, a tenth below {tenth} and a tenth above {ninth}."
    ]
    if threshold is None:
        return tuple(said)
    share = share_above(seen.quantiles, threshold)
    said.append(f"About {significant(100 * share, 2)} % of them lie above {quantity(threshold, unit)}.")
    if share < NEARLY or share > 1.0 - NEARLY:
        hint = "lower" if share < NEARLY else "higher"
        said.append(f"Nearly the whole map would be one colour: a {hint} threshold tells more.")
    return tuple(said)
