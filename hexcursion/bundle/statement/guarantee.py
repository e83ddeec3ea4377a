"""The statement's guarantee: what is promised to whom, at which cost, and the words that follow from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.mechanisms.terms import Protects, Unit
from dpgp_core.releasing.facts import Relation
from hexcursion import words
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.untrusted import clean
from hexcursion.record import Guarded, Release
from hexcursion.words import UnitWord

VARIANT = "(epsilon, delta)-differential privacy, also called approximate differential privacy"


def neighbours_text(unit: Unit, relation: Relation, protects: Protects) -> str:
    """What two neighbouring datasets are, in one sentence."""
    one = "record of a cell" if unit == "cell" else "record"
    many = "sets of cell records" if unit == "cell" else "datasets"
    if relation == "add-or-remove":
        return (
            f"Two {many} that differ in one {one}, which one of them has and the other has not, within the "
            "area and the filters of the release."
        )
    place = "cell" if unit == "cell" else "place"
    what = (
        f"in its value, its {place} or both"
        if protects == "values and places"
        else f"in its value only; its {place} stays"
    )
    return (
        f"Two {many} of the same size that differ in one {one}, exchanged for another within the area and "
        f"the filters of the release: {what}."
    )


def guarantee_block(release: Release) -> dict[str, Any]:
    """The block as it stands in a statement. Raise `BundleError` for an unknown unit of protection, a bound
    that is not proved, or text that is too long."""
    privacy = release.privacy
    if privacy.unit not in get_args(Unit):
        known = ", ".join(get_args(Unit))
        raise BundleError(f"The unit of protection must be one of {known}, not {privacy.unit!r}.")
    if not privacy.proved:
        raise BundleError(f"The bound {privacy.bound!r} is not proved: a release cannot rest on it.")
    stated: dict[str, Any] = {
        "unit": privacy.unit,
        "unit_word": clean(privacy.unit_word, 40, "The word for the unit of protection"),
        "protects": release.protects,
        "relation": release.relation,
        "n": int(privacy.n),
        "n_is_public": release.relation == "replace-one",
        "variant": VARIANT,
        "epsilon": float(privacy.epsilon),
        "delta": float(privacy.delta),
        "order": None if privacy.order is None else float(privacy.order),
        "bound": clean(privacy.bound, 100, "The name of the bound"),
        "bound_source": clean(privacy.bound_source, 500, "The source of the bound"),
        "proved": True,
        "groups": [
            {
                "records": int(records),
                "epsilon": float(epsilon) if math.isfinite(epsilon) else None,
                "delta": min(1.0, float(delta)),
            }
            for records, epsilon, delta in privacy.group
        ],
        "curve": _curve(privacy.rdp_orders, privacy.rdp_values),
        "cost": _cost(privacy),
    }
    return with_words(stated)


def with_words(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The block with every text that follows from its facts, made anew."""
    unit, word, n = stated["unit"], stated["unit_word"], stated["n"]
    protects, relation = stated["protects"], stated["relation"]
    epsilon, delta = stated["epsilon"], stated["delta"]
    return {
        **stated,
        "neighbours": neighbours_text(unit, relation, protects),
        "in_words": words.epsilon_sentence(epsilon, delta, word, relation, n),
        "times_more_likely": words.times(epsilon),
        "protected": words.protected_text(unit, word, n, protects, relation),
        "not_protected": list(words.not_protected_texts(unit, word, protects, relation)),
        "groups": [{**line, "in_words": _group_words(line, word)} for line in stated["groups"]],
    }


def promised_before(stated: Mapping[str, Any]) -> str:
    """The promise in the words of bundles written until November 2026; they still open."""
    return words.epsilon_sentence(
        stated["epsilon"], stated["delta"], stated["unit_word"], stated["relation"], stated["n"],
        as_before=True,
    )  # fmt: skip


def _group_words(line: Mapping[str, Any], unit_word: UnitWord) -> str:
    epsilon = math.inf if line["epsilon"] is None else line["epsilon"]
    return words.group_sentence(line["records"], epsilon, line["delta"], unit_word)


def _curve(orders: ArrayLike, values: ArrayLike) -> dict[str, Any] | None:
    """Orders without a finite bound are left out: a missing order means "no bound", never 0."""
    finite = np.isfinite(np.asarray(values))
    if not finite.any():
        return None
    return {"orders": np.asarray(orders)[finite].tolist(), "values": np.asarray(values)[finite].tolist()}


def _cost(privacy: Guarded) -> dict[str, Any]:
    """What is proved beside the curve, each as far as it is stated."""
    if privacy.cost is None:
        mu = privacy.gaussian_mu
        return {**({} if mu is None else {"gaussian_mu": float(mu)}), "distance": 0.0}
    orders = ORDERS.tolist()
    parts = [
        {
            **_own(part),
            "curve": None if part.gaussian_mu else _curve(orders, part.curve.values),
        }
        for part in privacy.cost.parts
    ]
    return {**_own(privacy.cost), **({"parts": parts} if parts else {})}


def _own(cost: Cost) -> dict[str, Any]:
    stated: dict[str, Any] = {"distance": float(cost.distance), "neighbours": cost.neighbours}
    if cost.exchange_mu is not None:
        stated["exchange_mu"] = float(cost.exchange_mu)
    if cost.pairs is not None:
        stated |= {"leverage": float(cost.pairs.leverage), "paths": int(cost.pairs.paths)}
    if cost.gaussian_mu is not None:
        stated["gaussian_mu"] = float(cost.gaussian_mu)
    if cost.pure_epsilon is not None:
        stated["pure_epsilon"] = float(cost.pure_epsilon)
    return stated
