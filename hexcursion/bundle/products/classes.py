"""The classes of a release in words, counts and colours: one rule for every screen, picture and file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from geo.colours import Role
from geo.maps.painting import NO_RECORD, Entry, Mark, Painting
from hexcursion import words
from hexcursion.bundle.products.at_threshold import LIKELY, UNLIKELY, Products

LOOKS: tuple[tuple[Role, Mark], ...] = (
    ("above", ""), ("unsure", "dots"), ("below", ""), ("unsure", "rings"),
)  # fmt: skip
"""Colour and second channel of likely, open, likely not, and no record expected."""


def class_values(products: Products) -> tuple[str, str, str, str]:
    """What the column `class` calls the four classes, in their order."""
    side = products.direction
    return (side, "open", f"not {side}", "no record expected")


def class_column(products: Products) -> list[str]:
    """N values of the column `class`."""
    named = class_values(products)
    return [named[place] for place in products.classes.tolist()]


def class_labels(products: Products, threshold: str) -> tuple[str, ...]:
    """The classes that this release can have as lines of a legend, in their order. `threshold`: in words, or
    what stands for it in a text that is filled in later."""
    what = f"{words.side_words(products.direction)} {threshold}"
    most, least = f"{100 * LIKELY:.0f} %", f"{100 * UNLIKELY:.0f} %"
    if products.graded:
        before, after = ("chance ", "") if products.probability is not None else ("", " of the paths")
        of = f"{before}of " if before else ""
        labels = (
            f"likely {what} ({of}at least {most}{after})",
            f"open ({before}between {100 * UNLIKELY:.0f} and {most}{after})",
            f"likely not {what} ({of}at most {least}{after})",
        )
    else:
        labels = (f"{what} on the released path", "open: only several paths can say", f"not {what} on it")
    return labels if products.empty is None else (*labels, NO_RECORD)


def paint_classes(products: Products, threshold: str, title: str) -> Painting:
    """The default map of a release: its classes, with dots for open and rings for no record expected."""
    labels = class_labels(products, threshold)
    entries = tuple(Entry(label, *look) for label, look in zip(labels, LOOKS, strict=False))
    notes = tuple(f"Released: {labels[place]}" for place in products.classes.tolist())
    return Painting(products.classes, entries, notes, title)


def counted(products: Products) -> str:
    """How many hexagons are in each class, in one or two sentences."""
    total, side = products.classes.size, words.side_words(products.direction)
    above, unsure, below, empty = np.bincount(products.classes, minlength=4).tolist()
    said = f"{above:,} of {total:,} hexagons ({part_of(above, total)}) {'is' if above == 1 else 'are'}"
    if products.graded:
        said += f" likely {side} the threshold, {unsure:,} open, {below:,} likely not {side} it."
    else:
        said += f" {side} the threshold on the released path."
    return said if products.empty is None else f"{said} In {empty:,} no record is expected."


def part_of(count: float, total: float) -> str:
    """A share of hexagons: "13 %", and "under 1 %" rather than 0."""
    share = 100.0 * count / total
    if 0 < share < 1:
        return "under 1 %"
    if 99 < share < 100:
        return "over 99 %"
    return f"{np.rint(share):.0f} %"


def about(share: str) -> str:
    """A share in words as an estimate.

    Examples
    --------
    >>> about("96 %"), about("over 99 %")
    ('about 96 %', 'over 99 %')
    """
    return share if share.startswith(("over", "under")) else f"about {share}"


def threshold_words(statement: Mapping[str, Any]) -> str:
    """The published threshold of a statement with its unit: "£442,413"."""
    subject = statement["subject"]
    return words.quantity(subject["threshold"], subject["unit"])


def column_words(statement: Mapping[str, Any]) -> dict[str, str]:
    """What every column means, with its unit, as one sentence each."""
    subject = statement["subject"]
    side = words.side_words(subject["direction"])
    limit = words.quantity(subject["threshold"], subject["unit"])
    value, unit = subject["value"] or "value", subject["unit"] or "the data's own unit"
    cutoff = f"{100 * statement['products']['cutoff']:.0f} %"
    return {
        "h3": "Index of the H3 hexagon.",
        "class": f"Whether the {value} is likely {side} {limit}: yes from a chance of {100 * LIKELY:.0f} % "
        f"on, no up to {100 * UNLIKELY:.0f} %, open between.",
        "probability": f"Chance that the {value} is {side} {limit}, given the release; 0 to 1.",
        "value_mean": f"Expected {value} given the release, in {unit}.",
        "value_sd": f"Standard deviation of the {value} given the release, in {unit}.",
        "value_median": f"Middle {value} given the release: as likely above as below; in {unit}.",
        "log_mean": f"Expected natural logarithm of the {value} in {unit}, given the release.",
        "log_sd": f"Standard deviation of the natural logarithm of the {value}, given the release.",
        "in_set": f"For specialists: in the set at the cutoff, from a chance of {cutoff} on.",
        "vote_fraction": "For specialists: share of the released paths that pass the threshold; 0 to 1.",
        "excursion_function": "For specialists: largest confidence at which the hexagon and all surer ones "
        "lie in the set together; 0 to 1.",
        "expected_records": "Number of records to expect in the hexagon, given the release.",
    }
