"""Layers derived from an atlas at no cost: ratio, difference or sum of two, all or any of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from geo.maps.painting import FEW_RECORDS, NO_RECORDS
from hexcursion.bundle.atlas.statement import read_together
from hexcursion.bundle.page.drawn import EMPTY, THRESHOLD, cents_of, text_of
from hexcursion.bundle.products import CONFIDENCE, SHARE_DECIMALS, graded_labels, graded_words, likely
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import WorkflowError
from hexcursion.settings.derived import OF_TWO, Derived
from hexcursion.words import listed, quantity, side_words

Floats = NDArray[np.float64]
Layers = Mapping[str, Bundle]
NODES = 64  # of a normal law: chances are exact to four digits for fields that are not known to a point
SIGNS = {"ratio": "/", "difference": "-", "sum": "+"}


def chance_of(layers: Layers, derived: Derived) -> Floats:
    """(N,) chance in each hexagon that the derived layer is on its asked side, given the release.

    Columns that are read apart are independent given the released sums, in the model of the release: the
    joint law of two is the product of theirs. A ratio, a difference and a sum are above their threshold.
    Raise `BundleError` for columns that the atlas does not have, that were read together, and for a ratio
    whose second column may be 0.
    """
    parts = [_part(layers, name) for name in derived.of]
    if any(read_together(part.statement) for part in parts):
        raise BundleError(
            "The columns of this atlas were read together, so that their errors are not independent: derive "
            "layers from columns that are read apart (reading = apart)."
        )
    if derived.kind == "both":
        return np.asarray(np.prod([part.published.chance for part in parts], axis=0))
    if derived.kind == "any":
        return np.asarray(1.0 - np.prod([1.0 - part.published.chance for part in parts], axis=0))
    return _above(derived, *parts)


def _part(layers: Layers, name: str) -> Bundle:
    if name not in layers:
        raise BundleError(f"This atlas has no layer {name[:60]!r}: name one of {', '.join(layers)}.")
    return layers[name]


def _above(derived: Derived, layer: Bundle, other: Bundle) -> Floats:
    """(N,) chance that a ratio, a difference or a sum is above its threshold: by quadrature over one
    column, exactly over the other."""
    if derived.kind == "ratio" and other.response.transform != "log":
        raise BundleError(
            f"A ratio needs a second column whose values are above 0: {derived.of[1]!r} is modelled without "
            "logarithms, so ask about a difference."
        )
    if len({part.response.transform == "probit" for part in (layer, other)}) > 1:
        raise BundleError(
            f"{derived.of[0]!r} and {derived.of[1]!r} are a share of answers and an amount: ask for both or "
            "any of them."
        )
    threshold = derived.threshold
    assert threshold is not None
    if derived.kind == "ratio" and not threshold > 0:
        raise BundleError("The threshold of a ratio is above 0: ask about a difference instead.")
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    mean, sd = _field(layer)
    value = layer.response.value(mean[:, None] + sd[:, None] * points)  # (N, J)
    if derived.kind == "sum":
        chance = 1.0 - _below(other, threshold - value)
    elif derived.kind == "difference":
        chance = _below(other, value - threshold)
    else:
        chance = _below(other, value / threshold)
    return np.asarray(np.clip(chance @ weights / weights.sum(), 0.0, 1.0))


def _below(layer: Bundle, value: Floats) -> Floats:
    """(N, J) chance that a column is below values (N, J) in its own unit."""
    mean, sd = _field(layer)
    if layer.response.transform == "log":
        positive = value > 0
        level = np.where(positive, layer.response.forward(np.where(positive, value, 1.0)), -np.inf)
    else:
        level = layer.response.forward(value)
        if layer.response.transform == "probit":  # whose forward knows no share beyond .13 and 99.87 %
            level = np.where(value <= 0.0, -np.inf, np.where(value >= 100.0, np.inf, level))
    return np.asarray(ndtr((level - mean[:, None]) / np.maximum(sd[:, None], 1e-12)))


def _field(layer: Bundle) -> tuple[Floats, Floats]:
    """(N,) mean and deviation of a column given the release, response units."""
    if layer.field is None:
        raise BundleError("This layer holds no field, so nothing is derived from it.")
    return layer.field


def name_of(layers: Layers, derived: Derived) -> str:
    """What a derived layer asks, in words."""
    subjects = [_part(layers, name).statement["subject"] for name in derived.of]
    if derived.kind in OF_TWO:
        assert derived.threshold is not None
        unit = "" if derived.kind == "ratio" else str(subjects[0]["unit"])
        values = f" {SIGNS[derived.kind]} ".join(subject["value"] for subject in subjects)
        return f"{values} above {quantity(derived.threshold, unit)}"
    questions = [
        f"{subject['value']} {side_words(subject['direction'])} "
        f"{quantity(subject['threshold'], subject['unit'])}"
        for subject in subjects
    ]
    return f"{'all of' if derived.kind == 'both' else 'any of'} {listed(questions)}"


def derived_words(layers: Layers, derived: Derived) -> str:
    """What a derived layer says of the judged hexagons, in one sentence."""
    chance, judged = chance_of(layers, derived), _judged(layers, derived)
    way = likely(chance)[judged]
    sure = int((chance[judged] >= CONFIDENCE).sum())
    return (
        f"{name_of(layers, derived)}: {int((way > 0).sum()):,} of {way.size:,} hexagons likely, "
        f"{int((way == 0).sum()):,} it cannot tell, {int((way < 0).sum()):,} likely not; {sure:,} with a "
        f"chance of at least {CONFIDENCE * 100:.0f} %."
    )


def derived_columns(layers: Layers, derived: Derived) -> dict[str, list[Any]]:
    """A table of a derived layer: the hexagons and their chances, to four digits."""
    chance = np.round(chance_of(layers, derived), SHARE_DECIMALS)
    return {"h3": list(_part(layers, derived.of[0]).domain.cells), "probability": chance.tolist()}


def derived_block(layers: Layers, derived: Derived) -> dict[str, Any]:
    """A derived layer as a statement says it."""
    return {
        "kind": derived.kind,
        "of": list(derived.of),
        "threshold": derived.threshold,
        "in_words": derived_words(layers, derived),
    }


def stated_derived(statement: Mapping[str, Any], layers: Layers) -> tuple[Derived, ...]:
    """The derived layers that a statement names; `BundleError` where its words do not follow."""
    layers_derived = []
    for block in statement.get("derived", ()):
        try:
            derived = Derived(block["kind"], tuple(block["of"]), block["threshold"])
        except WorkflowError as error:
            raise BundleError(f"The privacy statement names an impossible derived layer: {error}") from error
        if block != derived_block(layers, derived):
            raise BundleError("The words about a derived layer do not follow from the maps of the atlas.")
        layers_derived.append(derived)
    return tuple(layers_derived)


def derived_drawing(layers: Layers, derived: Derived) -> dict[str, Any]:
    """What the script of the page shows of a derived layer: one stop, with classes and chances."""
    empty = ~_judged(layers, derived)
    cents = cents_of(np.round(chance_of(layers, derived), SHARE_DECIMALS)) + np.where(empty, EMPTY, 0)
    any_empty = empty.any()
    return {
        "stops": [name_of(layers, derived)],
        "start": 0,
        "share": "probability",
        "graded": True,
        "classes": [*graded_labels(), *([NO_RECORDS] if any_empty else [])],
        "words": [*graded_words(THRESHOLD), *([FEW_RECORDS] if any_empty else [])],
        "cube": text_of(cents.astype(np.uint8)[None]),
    }


def _judged(layers: Layers, derived: Derived) -> NDArray[np.bool_]:
    """(N,) hexagons that are judged in all of the columns."""
    return np.asarray(np.all([_part(layers, name).published.judged for name in derived.of], axis=0))
