"""How right a published map is: as expected beforehand, and as its own release tells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import (
    JointField,
    StatedScores,
    agreement_range,
    exceedance_probability,
    stated_scores,
)
from dpgp_core.spectral.model_check import ABOUT, ModelCheck
from hexcursion.bundle.products import Products, about
from hexcursion.bundle.statement.change import CHANGED, change_sentence
from hexcursion.bundle.statement.promise import FIGURES, TOO_FEW, promise_block, says_nothing, without_figures
from hexcursion.bundle.untrusted import BundleError, clean
from hexcursion.record import Expected
from hexcursion.words import error_words, per_cent, range_words, ratio_words, records_words, right_words

Floats = NDArray[np.float64]

DIFFERS = 0.15
"""Gap between the stated and the expected agreement from which a reader is warned: wider than the
error of a release about itself on real data, so that the rehearsal is what failed."""

UNUSUAL = 0.05
"""Chance, under the model, of sums that are said to be unusual: of true models one in twenty is
doubted."""

SLACK = 1e-6  # of a stated number that a reader recomputes
# From sums
MAP_SLACKS = {"agreement": 1e-3, "right": 1e-3, "found": 1e-3, "low": 0.01, "high": 0.01}

NOT_KNOWN = "How right this map is was not estimated before it was drawn."
BASES = {
    "simulated": "simulated data",
    "reference data": "reference data that were set aside",
    "public reference data": "public reference data",
    "private selection": "the private records, at a cost that is inside epsilon",
}


def basis_of(expected: Mapping[str, Any]) -> str:
    """The data of the expectation, in words."""
    return BASES.get(expected["basis"], str(expected["basis"]))


def expected_block(expected: Expected | None, *, too_few: bool = False) -> dict[str, Any] | None:
    """The block of a statement; None where no agreement was estimated. `too_few`: see `expected_words`."""
    if expected is None:
        return None
    numbers: dict[str, Any] = {name: _known(getattr(expected, name)) for name in FIGURES}
    if expected.low is not None and expected.high is not None:
        numbers |= {"low": expected.low, "high": expected.high, "little": expected.little}
    if expected.records is not None and expected.gain is not None:
        numbers |= {"records": round(expected.records, 6), "gain": round(expected.gain, 6)}
    block = {**numbers, "basis": clean(expected.basis, 60, "What the expected agreement rests on")}
    block["in_words"] = expected_words(block, too_few=too_few)
    return without_figures(block) if too_few else block


def expected_words(block: Mapping[str, Any] | None, *, too_few: bool = False) -> str:
    """One sentence or two: agreement, area, share of right hexagons, and what they rest on; no
    figure where records are `too_few` for one."""
    if block is None:
        return NOT_KNOWN
    if too_few:
        return TOO_FEW
    basis = basis_of(block)
    if "records" in block:
        return _records_words(block)
    parts = []
    if block["agreement"] is not None:
        parts.append(
            f"agreement (intersection over union) {ratio_words(block['agreement'])} with the map without "
            "privacy"
        )
    if "low" in block:
        parts.append(range_words(block["low"], block["high"], little=block["little"]))
    if block["area_error"] is not None:
        parts.append(f"area wrong by {error_words(block['area_error'])}")
    if block["right"] is not None:
        parts.append(f"{right_words(block['right'])} of the shown hexagons right")
    if not parts:
        return f"Expected agreement: undefined, because the map of {basis} has one side only."
    return f"Expected, from {basis}: {', '.join(parts)}."


def expected_said(statement: Mapping[str, Any]) -> str:
    """What a statement says of its expectation."""
    expected = statement["expected"]
    return NOT_KNOWN if expected is None else str(expected["in_words"])


def _records_words(expected: Mapping[str, Any]) -> str:
    return (
        f"Expected beforehand, from {basis_of(expected)}: {records_words(expected['records'])} on the side "
        "that the map shows."
    )


def verdict_block(
    products: Products,
    statement: Mapping[str, Any],
    of_map: Mapping[str, Any] | None = None,
    check: ModelCheck | None = None,
    change: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """What the release says about its own map; None where its mechanism gives no probabilities.
    `statement`: the rest of the statement, for its number of records and whether it starts from a
    public map; `of_map`: a `map_block`; `check`: how the released sums compare with their model;
    `change`: a `change_block`."""
    if products.probability is None:
        return None
    verdict: dict[str, Any] = {"map": of_map, **_of_field(products, products.probability, statement)}
    if check is not None:
        verdict["model"] = {"chance": round(check.chance, 4), "about": check.about}
    if change is not None:
        verdict["change"] = dict(change)
    return {**verdict, "in_words": verdict_words(verdict)}


def map_block(
    products: Products, shown_map: tuple[Floats, Floats] | None, draws: Floats | None = None
) -> dict[str, Any] | None:
    """Statements on the map of the same records without privacy, over the judged hexagons, and
    the range of its agreement with a chance of 80 %, never without a stated agreement; None without
    a map. `shown_map`: its (N,) mean and deviation given the release, in response units; `draws`:
    (J, N) joint draws of it, where readers can make them again."""
    if shown_map is None:
        return None
    block = _of_map(products, exceedance_probability(*shown_map, products.level, products.direction))
    if draws is None or block["agreement"] is None:
        return block
    judged = _there(products)
    level = products.level if np.ndim(products.level) == 0 else np.asarray(products.level)[judged]
    mean, sd = shown_map
    field = JointField(mean[judged], sd[judged], draws[:, judged])
    ends = agreement_range(field, level, products.direction, products.in_set[judged])
    if ends is None:
        return block
    low, high = min(ends[0], block["agreement"]), max(ends[1], block["agreement"])
    return {**block, "low": round(low, 6), "high": round(high, 6)}


def _there(products: Products) -> NDArray[np.bool_]:
    """(N,) hexagons that the stated numbers are about: all in earlier versions."""
    return np.ones_like(products.judged) if products.earlier else products.judged


def _of_map(products: Products, chances: Floats) -> dict[str, Any]:
    """Against the map of the same records without privacy, which shows cells with these (N,)
    chances."""
    judged = _there(products)
    return _numbers(stated_scores(chances[judged], products.in_set[judged]))


def _of_field(products: Products, probability: Floats, statement: Mapping[str, Any]) -> dict[str, Any]:
    """Against the true values, over the judged hexagons; and the two numbers that a map
    promises."""
    judged = _there(products)
    blocks: dict[str, Any] = {"field": _numbers(stated_scores(probability[judged], products.in_set[judged]))}
    if not products.earlier:
        return {**blocks, "judged": promise_block(products, statement)}
    if products.empty is not None:
        judged = products.judged
        blocks["recorded"] = {
            "cells": int(judged.sum()),
            "shown_without": int((products.in_set & products.empty).sum()),
            **_numbers(stated_scores(probability[judged], products.in_set[judged])),
        }
    return blocks


def shown_words(products: Products, statement: Mapping[str, Any]) -> str:
    """How right the map is, in the two numbers that it promises, or that records are too few to
    say; "" where nothing can be said."""
    if says_nothing(statement):
        return TOO_FEW
    block = promise_block(products, statement)
    return "" if block is None else str(block["in_words"])


def verdict_words(verdict: Mapping[str, Any] | None) -> str:
    """What a map promises, how right its set is for the true values, and for the map without
    privacy; no figure of too few records."""
    if verdict is None:
        return "The release itself does not say how right its map is."
    judged = verdict.get("judged")
    return TOO_FEW if judged is not None and judged["in_words"] == TOO_FEW else verdict_figures(verdict)


def verdict_figures(verdict: Mapping[str, Any]) -> str:
    """`verdict_words` of records that are enough."""
    field, of_map, judged = verdict["field"], verdict["map"], verdict.get("judged")
    text = "" if judged is None else f"{judged['in_words']} "
    if field["right"] is None:
        return f"{text}The release shows no hexagon on the asked side of the threshold."
    # As an earlier version said it
    of = "in_set" if judged is not None else "the set at the cutoff (in_set)"
    text += (
        f"Computed from the release: of the hexagons in {of}, {about(per_cent(field['right']))} "
        f"are on the asked side of the threshold; of all hexagons that are, it holds "
        f"{about(per_cent(field['found']))}."
    )
    recorded = verdict.get("recorded")
    if recorded is not None and recorded["shown_without"]:
        number = recorded["shown_without"]
        text += (
            f" In {number:,} of the hexagons that it holds the release expects no record: there the map "
            "follows from what lies around."
        )
    if of_map is None:
        return text
    between = agreement_between(of_map)
    return (
        f"{text} It agrees to about {of_map['agreement']:.2f} (intersection over union){between} with the "
        f"map that the same records give without privacy, where {about(per_cent(of_map['right']))} of the "
        "shown hexagons are shown too."
    )


def agreement_between(of_map: Mapping[str, Any]) -> str:
    """The range of the stated agreement, to follow its number; "" without one."""
    if "low" not in of_map:
        return ""
    ends = f"between {of_map['low']:.2f} and {of_map['high']:.2f}"
    return f", {ends} with a chance of 80 % if its model is right,"


def agreement_sentence(verdict: Mapping[str, Any] | None) -> str:
    """The stated agreement with its range, as a sentence; "" without a range."""
    of_map = None if verdict is None else verdict.get("map")
    if of_map is None or "low" not in of_map:
        return ""
    return (
        f"By the release itself its set agrees to about {of_map['agreement']:.2f} "
        f"(intersection over union){agreement_between(of_map)} with the map that the same records give "
        "without privacy."
    )


def how_right(statement: Mapping[str, Any], products: Products) -> tuple[str, ...]:
    """Sentences of label and README: computed from the release, expected beforehand, where these
    differ."""
    expected, promise = statement["expected"], shown_words(products, statement)
    beforehand = () if promise else (expected_words(expected),)
    return (
        *filter(None, (promise, *figures_beside(statement, promise), *beforehand)),
        *doubts_of(statement, promise),
        *filter(None, (change_sentence(statement),)),
    )


def figures_beside(statement: Mapping[str, Any], promise: str) -> tuple[str, ...]:
    """The stated agreement, and the expected one where a map promises something (`shown_words`).

    Where records are too few to promise anything no other figure says how right the map is.
    """
    if promise == TOO_FEW:
        return ()
    beforehand = beforehand_words(statement["expected"]) if promise else ""
    return tuple(filter(None, (agreement_sentence(statement.get("told")), beforehand)))


def doubts_of(statement: Mapping[str, Any], promise: str) -> tuple[str, ...]:
    """What speaks against a release or its model; see `figures_beside`."""
    verdict = statement.get("told")
    against = "" if promise == TOO_FEW else contradiction(statement["expected"], verdict)
    return tuple(filter(None, (against, model_doubt(verdict))))


def beforehand_words(expected: Mapping[str, Any] | None) -> str:
    """The expectation as a sentence; "" without one. Earlier versions expected an agreement."""
    if expected is not None and "records" in expected:
        return _records_words(expected)
    if expected is None or expected["agreement"] is None:
        return ""
    basis = basis_of(expected)
    text = f"Expected beforehand, from {basis}: an agreement of {ratio_words(expected['agreement'])}"
    return f"{text}{range_of(expected)}."


def range_of(expected: Mapping[str, Any]) -> str:
    """The range of the expected agreement as the end of a sentence; "" without a range."""
    if "low" not in expected:
        return ""
    return f", {range_words(expected['low'], expected['high'], little=expected['little'])}"


def contradiction(expected: Mapping[str, Any] | None, verdict: Mapping[str, Any] | None) -> str:
    """A sentence where the release tells much more, or much less, than was expected; "" where it
    does not."""
    if expected is None or verdict is None or verdict.get("map") is None or "judged" in verdict:
        # Chances are stated over judged hexagons, and records were expected: these do not compare
        return ""
    guess, agreement = expected["agreement"], verdict["map"]["agreement"]
    if guess is None or agreement is None or abs(agreement - guess) < DIFFERS:
        return ""
    if expected.get("low", 1.0) <= agreement <= expected.get("high", 0.0):  # the guess allowed for it
        return ""
    basis, change = basis_of(expected), verdict.get("change")
    which = "less" if agreement < guess else "more"
    differ = "The private values may differ"  # nothing compares them
    if change is not None:
        sure = change["chance"] <= CHANGED
        differ = "The private values differ" if sure else "It does not show that the private values differ"
    return (
        f"The release tells {which} than was expected from {basis}: an agreement of about {agreement:.2f} "
        f"instead of {guess:.2f}. {differ} from these by more than the noise explains."
    )


def model_doubt(verdict: Mapping[str, Any] | None) -> str:
    """A sentence where the released sums are unusual for the model that reads them; "" where they
    are not."""
    model = None if verdict is None else verdict.get("model")
    if model is None or model["chance"] > UNUSUAL:
        return ""
    return (
        f"The released map does not look like one of its model: {model['about']}. If the model were right, "
        f"so unusual a map had a chance of {per_cent(model['chance'])}; stated chances rest on that model."
    )


def map_follows(
    block: Mapping[str, Any], computed: Mapping[str, Any], names: Sequence[str] = tuple(MAP_SLACKS)
) -> bool:
    """Whether an agreement, its shares and range are what a reader computes, but for what machines
    differ."""
    return all(name in computed and _same(block[name], computed[name], MAP_SLACKS[name]) for name in names)


def check_verdict(
    statement: Mapping[str, Any], products: Products, *, sums: bool = False, complete: bool = False
) -> None:
    """Refuse what a statement tells about its map where it does not follow from the release. Raise
    `BundleError` if numbers against the true values differ from those recomputed, or words from the
    numbers; or if it tells a range without released `sums`, or nothing although today's schema
    makes it `complete`. Whether that range and the model's chance follow is seen where the sums are
    read again (`check_again`)."""
    verdict: Mapping[str, Any] | None = statement.get("told")
    if verdict is None:
        if complete and products.probability is not None:
            raise BundleError(
                "The privacy statement tells nothing of its map, although its chances are published: ask the "
                "publisher for the bundle as this program wrote it."
            )
        return
    probability = products.probability
    follows = {} if probability is None else _of_field(products, probability, statement)
    names = ["field", "recorded", "judged"]
    if products.shown is not None:
        follows["map"] = _of_map(products, products.shown)
        names.append("map")
    of_map = verdict.get("map") or {}
    between = {name: of_map[name] for name in ("low", "high") if name in of_map}
    if between and follows.get("map") is not None:
        follows["map"] = {**follows["map"], **between}
    unknown = bool(of_map) and None in (of_map["agreement"], of_map["right"])
    if between and (unknown or not (sums and between["low"] <= of_map["agreement"] <= between["high"])):
        raise BundleError("The range that the privacy statement tells of its agreement cannot be its own.")
    unknown &= verdict["field"]["right"] is not None  # of a set that holds a hexagon both are known
    if not follows or unknown or any(not _same_numbers(verdict.get(of), follows.get(of)) for of in names):
        raise BundleError("What the privacy statement tells about its map does not follow from the release.")
    if "model" in verdict and verdict["model"]["about"] not in ABOUT:
        raise BundleError("What the privacy statement tells about its model is nothing that was looked at.")
    if verdict["in_words"] != verdict_words(verdict):
        raise BundleError("The privacy statement's words about its map do not follow from its numbers.")


def _numbers(scores: StatedScores) -> dict[str, float | None]:
    return {name: _known(round(value, 6)) for name, value in asdict(scores).items()}


def _same_numbers(block: Mapping[str, Any] | None, follows: Mapping[str, Any] | None) -> bool:
    if block is None or follows is None:
        return block is follows
    return block.keys() == follows.keys() and all(_same(block[name], follows[name]) for name in follows)


def _same(number: float | str | None, follows: float | str | None, slack: float = SLACK) -> bool:
    if not isinstance(number, float | int) or not isinstance(follows, float | int):
        return number == follows
    return abs(number - follows) <= slack


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
