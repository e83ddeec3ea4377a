"""A bundle opened to ask it anew: other thresholds, other cutoffs, areas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import Direction
from dpgp_core.priors.lattice import smooth
from geo import Domain, GeoError, never_negative
from geo.domains.areas import Areas, named_areas
from geo.errors import Progress, part_of, silent
from geo.region import Source
from hexcursion import words
from hexcursion.bundle import Bundle, Products, products_at, supports
from hexcursion.bundle.areas import AreaAnswer, judged_part, shares_of
from hexcursion.bundle.atlas.page import atlas_label_html
from hexcursion.bundle.atlas.read import AtlasBundle
from hexcursion.bundle.products import CONFIDENCE, counted, least_paths
from hexcursion.bundle.read import earlier_rules
from hexcursion.bundle.statement.expected import how_right
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import WorkflowError

MAX_ROUNDS = 20


class Viewer:
    """Products of one bundle, or of one layer of an atlas, at free settings. All post-processing:
    no call costs any privacy."""

    def __init__(self, bundle: Bundle, atlas: AtlasBundle | None = None) -> None:
        self.bundle, self.atlas = bundle, atlas
        self._smoothed: dict[int, NDArray[np.float64]] = {0: bundle.paths}

    @cached_property
    def layers(self) -> Mapping[str, Viewer]:
        """The layers of an atlas by their columns, this one among them; none of a map of one
        column."""
        bundles = {} if self.atlas is None else self.atlas.by_name
        return {
            name: self if bundle is self.bundle else Viewer(bundle, self.atlas)
            for name, bundle in bundles.items()
        }

    @property
    def whole(self) -> Mapping[str, Any]:
        """The statement of the release: of all layers of an atlas."""
        return self.bundle.statement if self.atlas is None else self.atlas.statement

    @property
    def key(self) -> str:
        """What tells this map from all others: the release's id, and of an atlas the layer's
        number."""
        number = "" if self.atlas is None else f"-{1 + self.atlas.layers.index(self.bundle)}"
        return f"{self.whole['release']['id']}{number}"

    @property
    def whole_label(self) -> str:
        """The one page on the whole release, made anew: of all layers of an atlas."""
        if self.atlas is None:
            return self.bundle.label_html
        return atlas_label_html(self.atlas.statement, self.atlas.layers)

    @property
    def domain(self) -> Domain:
        """The cells and the public region."""
        return self.bundle.domain

    @property
    def count(self) -> int:
        """Number L of released paths; they support statements in steps of 1/L."""
        return int(self.bundle.paths.shape[0])

    @property
    def draws(self) -> int:
        """Number of joint draws of the field that joint statements rest on: the paths, or draws
        beside."""
        return self.count if self.bundle.draws is None else int(self.bundle.draws.shape[0])

    @property
    def unit(self) -> str:
        """Unit of the threshold."""
        return str(self.bundle.statement["subject"]["unit"])

    @property
    def direction(self) -> Direction:
        """The published side of the threshold."""
        return "below" if self.bundle.statement["subject"]["direction"] == "below" else "above"

    @cached_property
    def thresholds(self) -> tuple[float, float]:
        """Sensible ends of a threshold slider, data's unit: where nearly all or nearly no path
        value exceeds. From the released paths, widened to hold the published threshold."""
        low, high = np.quantile(self.bundle.paths, (0.005, 0.995))
        with np.errstate(over="ignore"):
            ends = self.bundle.response.value(np.array([low, high]))
        # A path far outside the clip bound can leave the numbers altogether: then the clip bound is
        # the end.
        bounds = self.bundle.response.value(np.array([-1.0, 1.0]))
        start, end = (
            a if math.isfinite(a) else b for a, b in zip(ends.tolist(), bounds.tolist(), strict=True)
        )
        floor = 0.0 if never_negative(self.unit) else -math.inf  # noise reaches below what can be
        return min(max(start, floor), self.bundle.threshold), max(end, self.bundle.threshold)

    @property
    def confidences(self) -> tuple[float, ...]:
        """Confidences that this number of paths supports, of the usual ones; empty for a few
        paths."""
        return tuple(c for c in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99) if supports(self.draws, c))

    def at(self, threshold: float | None = None, *, smoothing: int | None = None) -> Products:
        """Return all products at a threshold, in the data's unit, after `smoothing` rounds.

        The default is the published value. Raise `WorkflowError` as `level` and `smoothed` do.
        """
        published = self.bundle.statement["products"]
        paths = self.smoothed(published["smoothing"] if smoothing is None else smoothing)
        return products_at(
            replace(self.bundle.values, paths=paths),
            self.level(threshold),
            self.direction,
            cutoff=published["cutoff"],
            confidence=published["confidence"] or CONFIDENCE,
            earlier=earlier_rules(self.bundle.statement),
        )

    def level(self, threshold: float | None) -> float:
        """A threshold in the data's own unit as response units; None for the published one. Raise
        `WorkflowError` for a threshold that is not finite, or not positive on a log scale."""
        if threshold is None:
            return float(self.bundle.statement["subject"]["threshold_response"])
        if not math.isfinite(threshold):
            raise WorkflowError("The threshold must be a finite number.")
        if self.bundle.response.transform == "log" and not threshold > 0:
            raise WorkflowError("The threshold must be positive: the release is on a logarithmic scale.")
        if self.bundle.response.transform == "probit" and not 0 < threshold < 100:
            raise WorkflowError("The threshold is a share: it must be above 0 and below 100 per cent.")
        return float(self.bundle.response.forward(threshold))

    def smoothed(self, rounds: int) -> NDArray[np.float64]:
        """(L, N) paths after `rounds` rounds of neighbour averaging; each round is computed once.
        Raise `WorkflowError` for anything but 0 to `MAX_ROUNDS` rounds."""
        if isinstance(rounds, bool) or rounds != int(rounds) or not 0 <= rounds <= MAX_ROUNDS:
            raise WorkflowError(f"Smoothing takes 0 to {MAX_ROUNDS} rounds.")
        rounds = int(rounds)
        if rounds not in self._smoothed:
            nearest = max(rounds_done for rounds_done in self._smoothed if rounds_done < rounds)
            self._smoothed[rounds] = smooth(self.domain.adjacency, self._smoothed[nearest], rounds - nearest)
        return self._smoothed[rounds]

    def sentences(self, products: Products) -> tuple[str, ...]:
        """What the products say, in words, with the limits of so few paths, and how right it is."""
        first, *later = self.in_short(products)
        one_colour = 0 if self._one_colour(products) is None else 1
        return (first, *later[:one_colour], *self.for_specialists(products), *later[one_colour:])

    def in_short(self, products: Products) -> tuple[str, ...]:
        """What every reader wants to know: how many hexagons are likely above, and how right the
        map is."""
        relative = self.bundle.statement["subject"].get("relative")
        about = None if relative is None else f"Relative to a public field: {relative['origin']}."
        return (
            counted(products),
            *filter(None, [self._one_colour(products), about]),
            f"As published: {' '.join(how_right(self.bundle.statement, self.bundle.published))}",
        )

    def _one_colour(self, products: Products) -> str | None:
        total, inside = int(products.judged.sum()), int(products.in_set.sum())
        if inside not in (0, total):
            return None
        what = f"{'every' if inside else 'no'} hexagon is {words.side_words(products.direction)}"
        return f"The whole map is one colour: {what} the threshold. Another threshold tells more."

    def for_specialists(self, products: Products) -> tuple[str, ...]:
        """The set at the cutoff, the sure sets at the products' confidence, and the limits of so
        few paths."""
        total, inside = int(products.judged.sum()), int(products.vote_set.sum())
        side, paths = words.side_words(products.direction), words.plural(self.count, "path")
        voted = products.probability is None or self.bundle.draws is not None
        if self.count == 1 and self.draws == 1 and voted:
            return (
                f"{inside:,} of {total:,} hexagons are {side} the threshold on the released path.",
                "One path says in or out; how sure that is, only several paths can say.",
            )
        kind = "probability" if products.shown is None else "probability on the map without privacy noise"
        where = (
            "on the released path."
            if self.count == 1 and voted
            else f"in at least {products.cutoff * 100:.0f} % of the {paths}."
            if voted
            else f"with a {kind} of at least {products.cutoff * 100:.0f} %, given the release."
        )
        sentences = [f"{inside:,} of {total:,} hexagons are {side} the threshold {where}"]
        if voted and products.probability is not None:
            likely = int(products.in_set.sum())
            sentences.append(
                f"Given the release, {likely:,} hexagons are {side} it with a probability of at least 50 %."
            )
        sure = f"{products.confidence * 100:.0f} %"
        if products.three_way is None:
            needed = least_paths(products.confidence)
            path_words = paths if self.bundle.draws is None else words.plural(self.draws, "draw")
            sentences.append(
                f"{path_words} cannot support statements at {sure} confidence: that takes {needed}."
            )
        else:
            above, below = int((products.three_way > 0).sum()), int((products.three_way < 0).sum())
            unsure = total - above - below
            sentences.append(
                f"At {sure}: {words.plural(above, 'hexagon')} surely above the threshold, {below:,} surely "
                f"at most that, {unsure:,} stay open at this privacy."
            )
        sentences.append(f"Frequencies come in steps of 1/{self.draws}; nothing finer is supported.")
        return tuple(sentences)


def answers_from(
    viewer: Viewer,
    source: Source,
    *,
    threshold: float | None = None,
    confidence: float = CONFIDENCE,
    name: str = "",
    progress: Progress = silent,
) -> tuple[Areas, list[AreaAnswer]]:
    """The areas of a GeoJSON file and one answer for each; free, as all of it is published.
    `threshold`: in the data's own unit, else as published; `name`: property that names the areas;
    `progress`: called with the share done; what it raises ends the work. Raise `BundleError` for areas
    that cannot be read or a release that cannot answer."""
    if not 0.0 < confidence < 1.0:
        raise BundleError("The confidence must lie strictly between 0 and 1.")
    try:
        areas = named_areas(source, viewer.domain, name, part_of(progress, 0.0, 0.8))
    except GeoError as error:
        raise BundleError(f"The areas cannot be read: {error}") from error
    progress(0.8, "Reading the shares off the release")
    return areas, area_answers(viewer, areas, threshold=threshold, confidence=confidence)


def area_answers(
    viewer: Viewer, areas: Areas, *, threshold: float | None = None, confidence: float = CONFIDENCE
) -> list[AreaAnswer]:
    """One answer for each of the areas; parameters as of `answers_from`. Raise `BundleError` for a
    release with too few draws."""
    bundle, level = viewer.bundle, viewer.level(threshold)
    areas = judged_part(areas, bundle.published.judged)
    return shares_of(areas, bundle.values, level, viewer.direction, confidence)


def question_words(viewer: Viewer, answers: Sequence[AreaAnswer], threshold: float | None) -> str:
    """One sentence above a table of answers; `threshold` as for `answers_from`."""
    value = viewer.bundle.threshold if threshold is None else threshold
    side = f"{words.side_words(viewer.direction)} {words.quantity(value, viewer.unit)}"
    share = f"{answers[0].confidence * 100:.0f} %" if answers else ""
    return (
        f"Share of each area that lies {side}, and the interval that holds it with {share} confidence, given "
        "the release."
    )
