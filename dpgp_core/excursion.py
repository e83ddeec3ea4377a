"""Excursion sets of released fields: sets, shares of areas, scores and the cutoff of a map."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.noise import Entropy

Direction = Literal["above", "below"]

ROUNDING = 1e-9
"""Slack in comparisons of fractions (0.1 + 0.2 is not 0.3)."""


def excursion(paths: Floats, level: Floats | float, direction: Direction = "above") -> Bools:
    """Where paths (..., N) exceed a level, one or (N,), or do not (`below`); else InvalidValue."""
    if direction not in ("above", "below"):
        raise InvalidValue(f"direction must be 'above' or 'below', got {direction!r}.")
    values = np.asarray(paths, dtype=np.float64)
    if not (np.all(np.isfinite(level)) and np.all(np.isfinite(values))):
        raise InvalidValue("paths and level must be finite.")
    above = values > level
    return above if direction == "above" else ~above


def sign_of(direction: Direction) -> float:
    """1 for above, -1 for below: a question "below" is the question "above" for values times -1."""
    return 1.0 if direction == "above" else -1.0


def vote_fraction(paths: Floats, level: Floats | float, direction: Direction = "above") -> Floats:
    """(N,) share of the L paths (L, N) whose excursion set contains each cell: multiples of 1/L."""
    return np.asarray(np.mean(excursion(np.atleast_2d(paths), level, direction), axis=0))


def agreed(share: Floats, cutoff: float) -> Bools:
    """Where vote fractions or exceedance probabilities, of any shape, are at least `cutoff`; ties
    are inside.

    Every map of this program is cut by this rule. Raises InvalidValue for a cutoff outside (0, 1].
    """
    if not 0 < cutoff <= 1:
        raise InvalidValue(f"the cutoff must be in (0, 1], got {cutoff!r}.")
    return np.asarray(share >= cutoff - ROUNDING)


def agreed_each(share: Floats, cutoffs: Floats) -> Bools:
    """`agreed` for several maps (R, N), each with its own cutoff (R,)."""
    return np.stack([agreed(row, float(cutoff)) for row, cutoff in zip(share, cutoffs, strict=True)])


def released_set(
    paths: Floats, level: Floats | float, cutoff: float = 0.5, direction: Direction = "above"
) -> Bools:
    """(N,) cells whose vote fraction is at least `cutoff`, in (0, 1]; arguments as for
    `vote_fraction`."""
    return agreed(vote_fraction(paths, level, direction), cutoff)


def vorobev_set(paths: Floats, level: Floats | float, direction: Direction = "above") -> Bools:
    """(N,) Vorob'ev expectation: the vote-fraction set whose area comes closest from above to the
    mean area.

    The smallest set `{vote fraction >= t}` with at least as many cells as the paths' sets have on
    average (Molchanov 2005, section 2.2.2). Areas are numbers of cells: H3 cells of a city differ
    by under 1 %.
    """
    votes = vote_fraction(paths, level, direction)
    mean_area = float(votes.sum())
    if mean_area <= ROUNDING:
        return np.zeros(votes.shape, dtype=bool)
    ranked = np.sort(votes)[::-1]
    needed = max(1, int(np.ceil(mean_area - ROUNDING * votes.size)))
    return agreed(votes, float(ranked[needed - 1]))


def inner_set(
    paths: Floats, level: Floats | float, confidence: float, direction: Direction = "above"
) -> Bools:
    """(N,) cells that are all in the excursion set at once, in at least a share `confidence` of the
    paths.

    The largest set `{vote fraction >= t}` that a share >= confidence of the L paths contain as a
    whole: the one-parameter family of Bolin and Lindgren (2015, doi 10.1111/rssb.12055), with
    simulated paths. L paths support confidences in steps of 1/L, and a confidence above 1 - 1/L
    means "in every path". The set is chosen and judged on the same paths;
    `dpgp_core.audit.coverage` simulates its coverage. Raises InvalidValue for a confidence outside
    (0, 1].
    """
    inside = excursion(np.atleast_2d(paths), level, direction)
    if not 0 < confidence <= 1:
        raise InvalidValue(f"the confidence must be in (0, 1], got {confidence!r}.")
    votes = inside.mean(axis=0)
    order = np.argsort(-votes, kind="stable")
    outside = ~inside[:, order]
    first_miss = np.where(outside.any(axis=1), outside.argmax(axis=1), order.size)
    # A path contains the first j cells of the order if its first miss is at or after j.
    sizes = np.arange(1, order.size + 1)
    containing = np.mean(first_miss[:, None] >= sizes[None, np.flatnonzero(_ends(votes[order]))], axis=0)
    sizes_allowed = sizes[np.flatnonzero(_ends(votes[order]))][agreed(containing, confidence)]
    result = np.zeros(order.size, dtype=bool)
    result[order[: int(sizes_allowed.max(initial=0))]] = True
    return result


def outer_set(
    paths: Floats, level: Floats | float, confidence: float, direction: Direction = "above"
) -> Bools:
    """(N,) cells outside of which no cell is in the excursion set, in a share `confidence` of the
    paths."""
    return ~inner_set(paths, level, confidence, "below" if direction == "above" else "above")


def three_way(paths: Floats, level: Floats | float, confidence: float) -> NDArray[np.int8]:
    """(N,) +1 surely above, -1 surely below, 0 undecided: inner sets of both directions, from paths
    (L, N).

    Either statement holds for all its cells at once in a share `confidence`, in (0, 1], of the
    paths. The level is one number or (N,), response units. Raises InvalidValue for another
    confidence, or numbers that are not finite.
    """
    above = inner_set(paths, level, confidence, "above")
    below = inner_set(paths, level, confidence, "below")
    return told(above, below)


def told(above: Bools, below: Bools) -> NDArray[np.int8]:
    """(N,) +1 surely above, -1 surely below, 0 undecided, from the inner sets of both sides, (N,)
    each.

    With a confidence of at most one half both sets may contain a cell: then it is undecided.
    """
    return np.asarray(above.astype(np.int8) - below.astype(np.int8), dtype=np.int8)


def excursion_function(excursions: Iterable[Bools], order: Ints) -> Floats:
    """(N,) largest confidence at which each cell is in the inner set; L excursion sets in batches
    (b, N).

    It is the share of the sets that contain the cell and all surer ones (`order`, surest first), in
    steps of 1/L: cells of at least 1 - a all exceed the level at once with probability 1 - a (Bolin
    and Lindgren 2015, doi 10.1111/rssb.12055, with simulated sets). Raises InvalidValue without a
    set.
    """
    first_miss: list[Ints] = []
    for batch in excursions:
        outside = ~batch[:, order]
        first_miss.append(np.where(outside.any(axis=1), outside.argmax(axis=1), order.size))
    misses = np.concatenate(first_miss) if first_miss else np.zeros(0, dtype=np.int64)
    if misses.size == 0:
        raise InvalidValue("at least one excursion set is needed.")
    holding = misses.size - np.cumsum(np.bincount(misses, minlength=order.size + 1))[:-1]
    result = np.empty(order.size)
    result[order] = holding / misses.size
    return result


def _ends(ranked: Floats) -> Bools:
    """Mark the last cell of each run of equal vote fractions: a vote-fraction set can end only
    there."""
    return np.append(np.diff(ranked) < 0, True)


BATCH = 200


@dataclass(frozen=True, eq=False)
class JointField:
    """A normal field given a release, response units; the joint draws supply its correlation only."""

    mean: Floats  # (N,)
    sd: Floats  # (N,)
    draws: Floats  # (J, N)


def joint_excursions(
    field: JointField, level: Floats | float, direction: Direction, count: int, entropy: Entropy
) -> Iterator[Bools]:
    """Draw `count` excursion sets, (<= BATCH, N) at a time, of a normal field.

    `level`, one number or (N,), is in response units. A set is that of `mean + sd (weights .
    standardised draws)` with independent normal weights of variance 1/J, a field whose correlation
    is that of the draws. So a few draws give any number of sets, whose marginals agree with `mean`
    and `sd`. The entropy may be seeded: all inputs are already published.
    """
    draws = field.draws
    centred = draws - draws.mean(axis=0)
    spread = np.sqrt(np.square(centred).mean(axis=0))
    alike = spread < 1e-12  # equal draws carry no information on the correlation of this cell
    unit = np.where(alike, 0.0, centred / np.where(alike, 1.0, spread))
    size = 1.0 / np.sqrt(draws.shape[0])
    for start in range(0, count, BATCH):
        weights = size * entropy.normal((min(BATCH, count - start), draws.shape[0]))
        yield excursion(field.mean + field.sd * (weights @ unit), level, direction)


PROBABILITY_FLOOR = 1e-6
"""Least distance of probabilities from 0 and 1 in the cross-entropy: one cell must not make it
infinite."""


def iou(one: Bools, other: Bools) -> float:
    """Intersection over union of two sets of cells, (N,) each; NaN, undefined, for two empty sets.

    Raises InvalidValue for sets of different size.
    """
    one, other = np.asarray(one, dtype=bool), np.asarray(other, dtype=bool)
    if one.shape != other.shape:
        raise InvalidValue("two sets of cells must be over the same domain.")
    union = np.count_nonzero(one | other)
    return math.nan if union == 0 else np.count_nonzero(one & other) / union


def ious(sets: Bools, truth: Bools) -> Floats:
    """IoU (S,) of sets (S, N) with `truth` (N,), NaN as for `iou`; InvalidValue for another
    size."""
    sets, truth = np.atleast_2d(np.asarray(sets, dtype=bool)), np.asarray(truth, dtype=bool)
    if sets.shape[1] != truth.size:
        raise InvalidValue("two sets of cells must be over the same domain.")
    common = np.count_nonzero(sets & truth, axis=1)
    union = np.count_nonzero(sets, axis=1) + np.count_nonzero(truth) - common
    return np.where(union == 0, np.nan, common / np.maximum(union, 1))


def bce(probability: Floats, label: Bools) -> float:
    """Mean binary cross-entropy, nats a cell, of probabilities (N,) against labels (N,).

    Raises InvalidValue if the two are of different shape.
    """
    p = np.clip(np.asarray(probability, dtype=np.float64), PROBABILITY_FLOOR, 1.0 - PROBABILITY_FLOOR)
    inside = np.asarray(label, dtype=bool)
    if p.shape != inside.shape:
        raise InvalidValue("probabilities and labels must be over the same cells.")
    return float(-np.mean(np.where(inside, np.log(p), np.log1p(-p))))


def exceedance_probability(
    mean: Floats, sd: Floats, level: Floats | float, direction: Direction = "above"
) -> Floats:
    """Probability that each normal value is above `level` (or at or below it), in [0, 1].

    Mean, deviation and level are in response units and broadcast to the shape of the result, (N,)
    for one value per cell.
    """
    return np.asarray(ndtr(sign_of(direction) * (mean - level) / np.maximum(sd, 1e-12)))


@dataclass(frozen=True)
class StatedScores:
    """Expected scores of a map that is cut from probabilities; NaN for an undefined number."""

    # expected intersection over expected union of the shown set and the unknown true set
    agreement: float
    right: float  # expected share of the shown cells that belong to the true set
    found: float  # expected share of the true set that is shown


def stated_scores(probability: Floats, inside: Bools) -> StatedScores:
    """Return the expected scores of a shown set (N,), given the chance (N,) that each cell truly
    belongs.

    With S the shown cells and q the probabilities: `sum_S q / (|S| + sum_outside q)`, which is a
    ratio of expectations, `sum_S q / |S|` and `sum_S q / sum q`. Nothing is simulated. Raises
    InvalidValue for different shapes.
    """
    q, shown_cells = np.asarray(probability, dtype=np.float64), np.asarray(inside, dtype=bool)
    if q.shape != shown_cells.shape:
        raise InvalidValue("probabilities and shown cells must be over the same cells.")
    common, everything, count = (
        float(q[shown_cells].sum()),
        float(q.sum()),
        int(np.count_nonzero(shown_cells)),
    )
    union = count + everything - common

    def ratio(part: float, total: float) -> float:
        return part / total if total > 0 else math.nan

    return StatedScores(ratio(common, union), ratio(common, count), ratio(common, everything))


RANGE_DRAWS = 100  # number of draws for a range of agreements
RANGE_ENDS = (0.1, 0.9)  # quantiles at the ends of that range


def agreement_range(
    field: JointField, level: Floats | float, direction: Direction, inside: Bools
) -> tuple[float, float] | None:
    """Return the range that contains the agreement (IoU) of a shown set with an unknown map in 80 %
    of draws.

    `field` is that map given the release, `level` one number or (N,), `inside` (N,) the set. The
    joint draws are shifted and scaled to mean and deviation. None for an empty set.
    """
    if not inside.any():
        return None
    mean, sd, draws = field.mean, field.sd, field.draws
    centre, spread = draws.mean(axis=0), draws.std(axis=0)
    alike = spread < 1e-12  # equal draws carry no information on the correlation of this cell
    scale = np.where(alike, 0.0, sd / np.where(alike, 1.0, spread))
    agreements = [iou(excursion(mean + scale * (draw - centre), level, direction), inside) for draw in draws]
    low, high = np.quantile(agreements, RANGE_ENDS)
    return float(low), float(high)


OWN_CUTOFFS = tuple(round(0.01 * step, 2) for step in range(5, 96))
"""Candidate cutoffs of a release that chooses its own: hundredths from 0.05 to 0.95."""


def cutoff_for_map(probability: Floats, shown: Floats) -> float:
    """Choose the cutoff on `probability` (N,) whose set has the best expected agreement with an
    unknown map.

    `shown` (N,) is the probability that the map shows the cell inside. Returns the cutoff of
    `OWN_CUTOFFS` with the largest expected intersection over expected union; among equals the one
    nearest to 1/2.
    """
    order = np.argsort(-probability, kind="stable")
    inside = np.searchsorted(-probability[order], ROUNDING - np.array(OWN_CUTOFFS), side="right")
    common = np.concatenate([[0.0], np.cumsum(shown[order])])[inside]
    union = inside + float(shown.sum()) - common
    ratio = np.round(common / np.maximum(union, 1e-12), 12)
    return OWN_CUTOFFS[int(np.lexsort((np.abs(np.array(OWN_CUTOFFS) - 0.5), -ratio))[0])]


@dataclass(frozen=True)
class AreaShare:
    """Share of an area above the threshold: posterior mean, and a credible interval."""

    mean: float
    low: float
    high: float
    confidence: float


def area_shares(excursions: Iterable[Bools], weights: Floats, confidence: float = 0.9) -> list[AreaShare]:
    """Return the share of each area above the threshold, from posterior excursion sets in batches
    (b, N).

    `weights` (A, N) are the sizes of the parts of cells in each area. A thousand sets give ends to
    about a hundredth. The interval is the shortest that contains `confidence` of the sets' shares;
    one with equal tails would contain too much for an area that is probably wholly above or below.
    Cells of one area are correlated, which sets include and marginal probabilities do not. Raises
    InvalidValue without a set, for an empty area, and for a confidence outside (0, 1).
    """
    if not 0.0 < confidence < 1.0:
        raise InvalidValue(f"the confidence must lie strictly between 0 and 1, got {confidence!r}.")
    sizes = np.asarray(weights, dtype=np.float64)
    total = sizes.sum(axis=1)
    if np.any(sizes < 0) or not np.all(total > 0):
        raise InvalidValue("every area must hold part of a cell, and no part may be negative.")
    # Rounding makes the share of a whole area exactly 1 for any order of summation.
    parts = [np.round(batch @ sizes.T / total, 12) for batch in excursions]
    if not parts:
        raise InvalidValue("at least one excursion set is needed.")
    shares = np.concatenate(parts)
    ranked = np.sort(shares, axis=0)
    number = min(shares.shape[0], math.ceil(confidence * shares.shape[0]))
    widths = ranked[number - 1 :] - ranked[: shares.shape[0] - number + 1]
    start = widths.argmin(axis=0)
    areas = np.arange(total.size)
    low, high = ranked[start, areas], ranked[start + number - 1, areas]
    return [
        AreaShare(float(mean), float(a), float(b), confidence)
        for mean, a, b in zip(shares.mean(axis=0), low, high, strict=True)
    ]
