"""What follows from released paths at a threshold, free of charge: sets, chances, classes and their
words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import (
    ROUNDING,
    Direction,
    agreed,
    exceedance_probability,
    excursion,
    excursion_function,
    inner_set,
    outer_set,
    sign_of,
    three_way,
    told,
    vorobev_set,
    vote_fraction,
)
from dpgp_core.yardstick import LIKELY, judged_domain, shown_side
from geo.colours import Role
from geo.maps.painting import CANNOT_TELL, NO_RECORDS, Entry, Painting
from geo.maps.painting import FEW_RECORDS as FEW_WORDS
from hexcursion import words

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONFIDENCE = 0.9
UNLIKELY = 0.2
"""The chance up to which a cell is likely not in the set; open between it and `LIKELY`."""
SHARE_DECIMALS = 4
"""Decimals of a share: far finer than any release can say, far coarser than one machine's last
digit."""
EARLIER_FEW = 0.5
"""Expected number of records below which bundles of earlier versions left a cell out."""
NO_RECORD_CLASS = 3
ClassName = Literal["likely", "open", "likely-not"]
CLASSES: tuple[ClassName, ...] = ("likely", "open", "likely-not")
"""The classes of cells in the order of their numbers, without that of no record expected."""
ProductName = Literal[ClassName, "path", "vote-set", "vorobev", "inner", "outer"]

MEANINGS: dict[ProductName, str] = {
    "likely": "Cells that are likely on the asked side: with a chance of at least 0.8.",
    "open": "Cells of which neither is likely: with a chance between 0.2 and 0.8.",
    "likely-not": "Cells that are likely not on the asked side: with a chance of at most 0.2.",
    "path": "The excursion set of one released path.",
    "vote-set": "The set at the cutoff: judged cells whose probability, or share of paths, is at least that.",
    "vorobev": "Vorob'ev set: the vote-fraction set whose area is the paths' mean area.",
    "inner": "Cells that lie in the excursion set all at once, in at least the stated share of the paths.",
    "outer": "Cells outside of which, in at least the stated share of the paths, nothing lies in the set.",
}
BY_MAP = (
    "The set at the cutoff: cells that the map of the same records without privacy noise shows in the set "
    "with a chance, given the release, that is at least that."
)
SURE = (
    "Of every cell, the largest confidence at which it belongs to the inner set: the share of the paths that "
    "hold it and every surer cell."
)


@dataclass(frozen=True, eq=False)
class MapValues:
    """The released numbers of one map of N cells, response units."""

    paths: Floats  # (L, N) released paths
    # (N,) mean and standard deviation of the field given the release, where its mechanism has them
    field: tuple[Floats, Floats] | None = None
    # (J, N) joint draws of the field given the release, where the paths are no draws
    draws: Floats | None = None
    # (N,) expected number of records given the release, where its mechanism knows it
    records: Floats | None = None
    # (N,) mean and deviation of the map without privacy, where the published set is cut by it
    shown: tuple[Floats, Floats] | None = None

    @property
    def joint(self) -> Floats:
        """(J, N) joint draws of the field: the paths where there are no others."""
        return self.paths if self.draws is None else self.draws


@dataclass(frozen=True, eq=False)
class Products:
    """What L paths say about one threshold, over the N cells of the domain."""

    level: Floats | float  # the threshold, response units; (N,) where it varies
    direction: Direction  # the side of it that is the set
    cutoff: float  # share or probability from which a cell is in `vote_set`
    confidence: float  # of `inner`, `outer` and `three_way`
    votes: Floats  # (N,) share of the paths whose excursion set has the cell, in steps of 1/L
    # (N,) exceedance probability given the release, where its mechanism has one
    probability: Floats | None
    paths: Bools  # (L, N) excursion set of each path
    # (N,) the published set: cells with `shown` >= cutoff, with probability >= cutoff where there
    # is no `shown`, and with votes >= cutoff where there is neither
    vote_set: Bools
    vorobev: Bools  # (N,) Vorob'ev set
    # (N,) inner and outer set at `confidence`, and +1 above / -1 below / 0 cannot tell; None when L
    # paths cannot support that confidence (see `supports`)
    inner: Bools | None
    outer: Bools | None
    three_way: NDArray[np.int8] | None
    # (N,) excursion function: of each cell the largest confidence at which it is in the inner set;
    # None where the draws cannot support a confidence, or there is no probability
    surely: Floats | None = None
    draws: int = 1  # number of joint draws of the field that the sets rest on
    # (N,) expected number of records given the release, where its mechanism knows it
    records: Floats | None = None
    # (N,) cells that are judged: no number counts another and no set holds one; None where all are
    judged_cells: Bools | None = None
    # Whether an earlier version wrote them: then `in_set` is the set at the cutoff
    earlier: bool = False
    # (N,) chance that the map of the same records without privacy shows the cell in the set, where
    # the published set is cut by it
    shown: Floats | None = None

    @property
    def judged(self) -> Bools:
        """(N,) cells that are judged."""
        return np.ones(self.votes.shape, dtype=bool) if self.judged_cells is None else self.judged_cells

    @property
    def empty(self) -> Bools | None:
        """(N,) cells that are not judged, as they hold few records or none; None where all are."""
        return None if self.judged_cells is None else ~self.judged_cells

    @cached_property
    def in_set(self) -> Bools:
        """(N,) judged cells with a chance of at least one half."""
        return self.vote_set if self.earlier else shown_side(self.chance, self.judged)

    @property
    def chance(self) -> Floats:
        """(N,) exceedance probability of each cell, or else its share of paths."""
        return self.votes if self.probability is None else self.probability

    @property
    def graded(self) -> bool:
        """Whether a cell's chance can be anything else than none or all."""
        return self.probability is not None or self.paths.shape[0] > 1

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """(N,) class of each cell: 0 likely in the set, 1 open, 2 likely not, 3 not judged."""
        classes = 1 - likely(self.chance)
        return classes if self.empty is None else np.where(self.empty, NO_RECORD_CLASS, classes)

    def sets(self) -> dict[ProductName, Bools]:
        """The (N,) sets that summarise all paths, by product, without those that are not
        supported."""
        optional_sets: dict[ProductName, Bools | None] = {
            "vote-set": self.vote_set,
            "vorobev": self.vorobev,
            "inner": self.inner,
            "outer": self.outer,
        }
        return {name: cells for name, cells in optional_sets.items() if cells is not None}


def likely(chance: Floats) -> NDArray[np.int64]:
    """+1 where a chance is at least `LIKELY`, -1 where it is at most `UNLIKELY`, 0 between; of any
    shape. Chances are taken as the files write them: so a reader finds the class again from the
    column beside it."""
    rounded = np.round(chance, SHARE_DECIMALS)
    return agreed(rounded, LIKELY).astype(np.int64) - (rounded <= UNLIKELY + ROUNDING)


def least_paths(confidence: float) -> int:
    """How many paths it takes to speak of `confidence`: it must leave out at least one of them.
    With fewer, "in 90 % of the paths" would only say "in all of these few"."""
    return math.ceil(1.0 / (1.0 - confidence) - ROUNDING)


def supports(count: int, confidence: float) -> bool:
    """Whether `count` paths can speak of `confidence`."""
    return count >= least_paths(confidence)


def _joint_sets(
    joint: Floats,
    level: Floats | float,
    direction: Direction,
    confidence: float,
    field: tuple[Floats, Floats] | None,
) -> tuple[Floats | None, Bools | None, Bools | None, NDArray[np.int8] | None]:
    """The excursion function, inner and outer set and classes, each (N,), of (J, N) joint draws; None
    where so few draws support no such set."""
    if not supports(joint.shape[0], confidence):
        return None, None, None, None
    if field is None:
        inner = inner_set(joint, level, confidence, direction)
        outer = outer_set(joint, level, confidence, direction)
        return None, inner, outer, three_way(joint, level, confidence)
    other: Direction = "below" if direction == "above" else "above"
    function = certainty(joint, level, direction, field)
    inner = agreed(function, confidence)
    outside = agreed(certainty(joint, level, other, field), confidence)
    ways = told(inner, outside) if direction == "above" else told(outside, inner)
    return function, inner, ~outside, ways


def products_at(
    values: MapValues,
    level: Floats | float,
    direction: Direction,
    *,
    cutoff: float,
    confidence: float = CONFIDENCE,
    earlier: bool = False,
) -> Products:
    """All products of smoothed paths at a level (a number, or (N,)) in response units. Cells are
    published from a share of paths, or a probability, of `cutoff` on: by the map without privacy where
    there is one, by the paths where there are joint draws. `earlier`: whether to follow the rules of
    earlier versions, which judged cells of half a record or more, and kept the others in all sets but
    the classes."""
    paths, field, draws, records = values.paths, values.field, values.draws, values.records
    probability = None if field is None else exceedance_probability(*field, level, direction)
    votes = vote_fraction(paths, level, direction)
    share = votes if probability is None or draws is not None else probability
    of_map = None if values.shown is None else exceedance_probability(*values.shown, level, direction)
    share = share if of_map is None else of_map
    joint = values.joint
    function, inner, outer, ways = _joint_sets(joint, level, direction, confidence, field)
    judged = None if records is None else records >= EARLIER_FEW if earlier else judged_domain(records)
    if judged is not None and not earlier:
        inner, outer = (None if members is None else members & judged for members in (inner, outer))
        ways = None if ways is None else np.where(judged, ways, 0).astype(np.int8)
    published_cells = np.ones(len(share), dtype=bool) if judged is None or earlier else judged
    return Products(
        level=level,
        direction=direction,
        cutoff=cutoff,
        confidence=confidence,
        votes=votes,
        probability=probability,
        paths=excursion(paths, level, direction) & published_cells,
        vote_set=agreed(share, cutoff) & published_cells,
        vorobev=vorobev_set(paths, level, direction) & published_cells,
        inner=inner,
        outer=outer,
        three_way=ways,
        surely=function,
        draws=joint.shape[0],
        records=records,
        shown=of_map,
        judged_cells=judged,
        earlier=earlier,
    )


def certainty(
    draws: Floats, level: Floats | float, direction: Direction, field: tuple[Floats, Floats]
) -> Floats:
    """(N,) excursion function: the largest confidence at which a cell belongs to the inner set
    (Bolin and Lindgren 2015, doi 10.1111/rssb.12055). `draws`: (J, N) joint draws of the field;
    `field`: (N,) mean and deviation: cells are ordered by exceedance probability, ties by the mean;
    the order of `(mean - level)/sd` is that of the probability and does not end at 1."""
    mean, sd = field
    sign = sign_of(direction)
    score = sign * (mean - level) / np.maximum(sd, 1e-12)
    order = np.lexsort((-sign * mean, -score)).astype(np.int64)
    return excursion_function([excursion(draws, level, direction)], order)


LOOKS: tuple[Role, ...] = ("above", "unsure", "below", "empty")
"""Colours of likely, open, likely not, and no record expected."""


def class_values(products: Products) -> tuple[str, str, str, str]:
    """What the column `class` calls the four classes, in their order."""
    side = products.direction
    return (side, "open", f"not {side}", "no record expected")


def class_column(products: Products) -> list[str]:
    """N values of the column `class`."""
    class_names = class_values(products)
    return [class_names[place] for place in products.classes.tolist()]


def class_labels(products: Products) -> tuple[str, ...]:
    """The classes that this release can have as lines of a legend, in their order: a few plain
    words."""
    side = products.direction
    labels = graded_labels(side) if products.graded else (f"{side} on this path", CANNOT_TELL, f"not {side}")
    return labels if products.empty is None else (*labels, NO_RECORDS)


def graded_labels(side: str = "") -> tuple[str, str, str]:
    """Likely, open and likely not, as lines of a legend."""
    return (f"likely {side}".rstrip(), CANNOT_TELL, "likely not")


def class_words(products: Products, threshold: str) -> tuple[str, ...]:
    """The sentence about one hexagon of each class. `threshold`: in words, or its placeholder in
    a text that is filled in later."""
    what = f"{words.side_words(products.direction)} {threshold}"
    sentences = graded_words(what) if products.graded else (what, CANNOT_TELL, f"not {what}")
    return sentences if products.empty is None else (*sentences, FEW_WORDS)


def graded_words(what: str) -> tuple[str, str, str]:
    """The sentence about one hexagon that is likely `what`, open, or likely not."""
    return (f"likely {what}", CANNOT_TELL, f"likely not {what}")


def paint_classes(products: Products, threshold: str, title: str) -> Painting:
    """The default map of a release: its classes."""
    labels = zip(class_labels(products), LOOKS, strict=False)
    sentences = class_words(products, threshold)
    notes = tuple(f"Released: {sentences[place]}" for place in products.classes.tolist())
    return Painting(products.classes, tuple(Entry(*look) for look in labels), notes, title)


def paint_previewed(classes: NDArray[np.int64], what: str, title: str, *, sure: bool = False) -> Painting:
    """Paint (N,) classes of a map that is not released yet as those of a release; `what` says what a likely
    cell is; `sure`: of a map without privacy, which is."""
    likely_word = "" if sure else "likely "
    labels = (f"{likely_word}{what}", CANNOT_TELL, f"{likely_word}not {what}", NO_RECORDS)
    entries = tuple(Entry(*label_and_look) for label_and_look in zip(labels, LOOKS, strict=True))
    return Painting(
        classes, entries, tuple(f"Released: {labels[place]}" for place in classes.tolist()), title
    )


def counted(products: Products) -> str:
    """How many of the judged hexagons are in each class, in one or two sentences."""
    total, side = int(products.judged.sum()), words.side_words(products.direction)
    above, unsure, below, empty = np.bincount(products.classes, minlength=4).tolist()
    text = f"{above:,} of {total:,} hexagons ({part_of(above, total)}) {'is' if above == 1 else 'are'}"
    if products.graded:
        text += f" likely {side} the threshold, {unsure:,} it cannot tell, {below:,} likely not {side} it."
    else:
        text += f" {side} the threshold on the released path."
    return f"{text} {empty:,} with few records or none are left out." if empty else text


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
        "in_set": f"Whether the {value} is more likely {side} {limit} than not, where the map is judged.",
        "vote_fraction": "For specialists: share of the released paths that pass the threshold; 0 to 1.",
        "excursion_function": "For specialists: largest confidence at which the hexagon and all surer ones "
        "lie in the set together; 0 to 1.",
        "expected_records": "Number of records to expect in the hexagon, given the release.",
    }
