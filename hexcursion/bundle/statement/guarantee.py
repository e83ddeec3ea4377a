"""The guarantee of a statement: written from the cost of a release, and recomputed from its stated
numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core.accounting.composition import Cost, Neighbours, compose, epsilon, pure_curve
from dpgp_core.accounting.guarantee import group_epsilon, together
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, epsilon_from_rdp, group_privacy
from dpgp_core.accounting.tails import GaussianPairs
from dpgp_core.mechanisms.design import Unit
from dpgp_core.numbers import upper
from dpgp_core.releasing import Owner, Relation
from hexcursion import promises, words
from hexcursion.bundle.statement.designs import values_of
from hexcursion.bundle.untrusted import BundleError, clean
from hexcursion.record import PrivacyFacts, Release
from hexcursion.words import UnitWord

VARIANT = "(epsilon, delta)-differential privacy, also called approximate differential privacy"


def neighbours_text(protected: promises.Protected) -> str:
    """What two neighbouring datasets are, in one sentence."""
    owner, places = protected.owner, protected.protects == "values and places"
    if owner is not None and (owner["records"] > 1 or protected.relation == "add-or-remove"):
        return _owners_text(protected, owner)
    noun = "record of a cell" if protected.unit == "cell" else "record"
    many = "sets of cell records" if protected.unit == "cell" else "datasets"
    if protected.relation == "add-or-remove":
        return (
            f"Two {many} that differ in one {noun}, which one of them has and the other has not, within the "
            "area and the filters of the release."
        )
    place = "cell" if protected.unit == "cell" else "place"
    what = f"in {protected.of_record} only; its {place} stays"
    if not protected.values:
        what = f"in its {place}"
    elif places:
        what = f"in {protected.of_record}, its {place} or both"
    return (
        f"Two {many} of the same size that differ in one {noun}, exchanged for another within the area and "
        f"the filters of the release: {what}."
    )


def _owners_text(protected: promises.Protected, owner: Mapping[str, Any]) -> str:
    records = f"the records of one {owner['word']}, at most {owner['records']:,}"
    if protected.relation == "add-or-remove":
        return (
            f"Two datasets that differ in {records}, which may be there, be "
            "gone or be others, within the area and the filters of the release."
        )
    what = "values only; the places stay"
    if not protected.values:
        what = "places"
    elif protected.protects == "values and places":
        what = "values and places"
    return (
        f"Two datasets of the same size that differ in {records}, exchanged "
        f"for others within the area and the filters of the release: in their {what}."
    )


def guarantee_block(release: Release) -> dict[str, Any]:
    """The block of a statement. Raise `BundleError` for an unknown unit of protection,
    a bound that is not proved, or text that is too long."""
    privacy = release.privacy
    if privacy.unit not in get_args(Unit):
        units = ", ".join(get_args(Unit))
        raise BundleError(f"The unit of protection must be one of {units}, not {privacy.unit!r}.")
    if not privacy.proved:
        raise BundleError(f"The bound {privacy.bound!r} is not proved: a release cannot rest on it.")
    block: dict[str, Any] = {
        "unit": privacy.unit,
        "unit_word": clean(privacy.unit_word, 40, "The word for the unit of protection"),
        "protects": release.protects,
        "relation": release.relation,
        "n": int(privacy.n),
        "n_is_public": release.relation == "replace-one",
        **({"equal_rows": "each"} if privacy.each_row else {}),
        **({} if (owner := owner_block(privacy)) is None else {"owner": owner}),
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
    }
    block["cost"] = _cost(privacy, promised_neighbours(block))
    return with_words(block, values=values_of(release.design))


def owner_block(privacy: PrivacyFacts) -> dict[str, Any] | None:
    """Whom a guarantee is about where a column names the owner of a record, as a statement says
    it."""
    if privacy.owner is None:
        return None
    word = clean(privacy.owner_word or "", 40, "The word for the owner of a record")
    return {"word": word, "records": privacy.owner.records, "apart": privacy.owner.apart}


def stated_owner(guarantee: Mapping[str, Any]) -> Owner | None:
    """Whom a stated guarantee is about, None for a single record."""
    owner = guarantee.get("owner")
    return None if owner is None else Owner(owner["records"], owner["apart"])


def with_words(guarantee: Mapping[str, Any], *, values: int = 1) -> dict[str, Any]:
    """The block with every text that follows from its facts, for records with a number of `values`."""
    protected, n = promises.Protected.by(guarantee, values), guarantee["n"]
    epsilon, delta, chance = guarantee["epsilon"], guarantee["delta"], surest_of(guarantee)
    each_row = "equal_rows" in guarantee
    return {
        **guarantee,
        "neighbours": neighbours_text(protected),
        "in_words": promises.epsilon_sentence(protected, epsilon, delta, n, chance=chance),
        "times_more_likely": words.times(epsilon),
        "protected": promises.protected_text(protected, n),
        "not_protected": list(promises.not_protected_texts(protected, each_row=each_row)),
        "groups": [{**line, "in_words": _group_words(line, protected.one)} for line in guarantee["groups"]],
    }


def surest_of(guarantee: Mapping[str, Any]) -> float:
    """The chance of a right guess at even odds that a guarantee leaves, by its epsilon or its
    stated mu."""
    return words.surest(
        guarantee["epsilon"],
        guarantee["delta"],
        guarantee["relation"],
        guarantee["cost"].get("gaussian_mu"),
        guarantee["cost"]["distance"],
    )


def together_text(guarantees: Sequence[Mapping[str, Any]]) -> str:
    """What several releases promise together to whoever is in all of them, "" for one release.

    Their stated costs are composed exactly, at the smallest of their deltas and for what all of
    them hide.
    """
    if len(guarantees) < 2:
        return ""
    cost, delta = together(map(stated_cost, guarantees)), min(guarantee["delta"] for guarantee in guarantees)
    nouns = {promises.protected_word(guarantee) for guarantee in guarantees}
    noun = nouns.pop() if len(nouns) == 1 else "record"
    return (
        f"Releases of the same records promise less together: one {noun} that is in all {len(guarantees):,} "
        f"is protected at epsilon {upper(epsilon(cost, delta).epsilon)} at delta {words.slack(delta)}"
        f"{together_guess(guarantees)}."
    )


def together_guess(guarantees: Sequence[Mapping[str, Any]]) -> str:
    """The bound on a guess about a person in all of the releases, as the end of a
    sentence; "" where a delta allows a whole record to be published."""
    if any(guarantee["n"] * guarantee["delta"] >= 1.0 for guarantee in guarantees):
        return ""
    cost, delta = together(map(stated_cost, guarantees)), min(guarantee["delta"] for guarantee in guarantees)
    relation: Relation = "add-or-remove" if cost.neighbours == "add-or-remove" else "replace-one"
    bound = epsilon(cost, delta).epsilon
    chance = words.surest(bound, delta, relation, cost.gaussian_mu, cost.distance)
    return f", and a 50:50 guess becomes at most {words.even_odds(chance)}"


def _group_words(line: Mapping[str, Any], unit_word: UnitWord) -> str:
    epsilon = math.inf if line["epsilon"] is None else line["epsilon"]
    return promises.group_sentence(line["records"], epsilon, line["delta"], unit_word)


def _curve(orders: ArrayLike, values: ArrayLike) -> dict[str, Any] | None:
    """Orders without a finite bound are left out: a missing order means "no bound", never 0."""
    finite = np.isfinite(np.asarray(values))
    if not finite.any():
        return None
    return {"orders": np.asarray(orders)[finite].tolist(), "values": np.asarray(values)[finite].tolist()}


def _cost(privacy: PrivacyFacts, neighbours: Neighbours) -> dict[str, Any]:
    """Bounds besides the curve, each where the statement has it."""
    if privacy.cost is None:
        mu = {} if privacy.gaussian_mu is None else {"gaussian_mu": float(privacy.gaussian_mu)}
        return {**mu, "distance": 0.0, "neighbours": neighbours}
    orders = ORDERS.tolist()
    parts = [
        {**_own(part), "curve": None if part.gaussian_mu else _curve(orders, part.curve.values)}
        for part in privacy.cost.parts
    ]
    return {**_own(privacy.cost), **({"parts": parts} if parts else {})}


def _own(cost: Cost) -> dict[str, Any]:
    block: dict[str, Any] = {"distance": float(cost.distance), "neighbours": cost.neighbours}
    if cost.exchange_mu is not None:
        block["exchange_mu"] = float(cost.exchange_mu)
    if cost.pairs is not None:
        block |= {"leverage": float(cost.pairs.leverage), "paths": int(cost.pairs.paths)}
    if cost.gaussian_mu is not None:
        block["gaussian_mu"] = float(cost.gaussian_mu)
    if cost.pure_epsilon is not None:
        block["pure_epsilon"] = float(cost.pure_epsilon)
    return block


# A number that was rounded on its way through JSON or another machine's logarithm is still the
# same.
SLACK = 1e-9
# The public orders are powers of ten: the last digits depend on the machine.
ORDER_SLACK = 1e-12


def stated_cost(guarantee: Mapping[str, Any]) -> Cost:
    """The cost that a guarantee states, composed anew where it states parts. Raise `BundleError` if
    its parts contradict each other, or the curve is damaged."""
    hidden = promised_neighbours(guarantee)
    cost = _one_cost(guarantee["curve"], guarantee["cost"], hidden)
    parts = guarantee["cost"].get("parts")
    if parts is None:
        return cost
    composed = compose(_one_cost(part.get("curve"), part, hidden) for part in parts)
    for amount, follows in (
        (cost.curve.values, composed.curve.values),
        (cost.gaussian_mu, composed.gaussian_mu),
        (cost.pure_epsilon, composed.pure_epsilon),
        (cost.distance, composed.distance),
    ):
        if amount is not None and (
            follows is None or np.any(np.asarray(amount) < np.asarray(follows) * (1.0 - SLACK))
        ):
            raise BundleError("The privacy statement's cost is smaller than its parts together.")
    return composed


def promised_neighbours(guarantee: Mapping[str, Any]) -> Neighbours:
    """The datasets that a guarantee's relation and what it protects compare."""
    if guarantee["relation"] == "add-or-remove":
        return "add-or-remove"
    return "values-only" if guarantee["protects"] == "values" else "replace-one"


def _one_cost(
    stated_curve: Mapping[str, Any] | None, cost: Mapping[str, Any], neighbours: Neighbours
) -> Cost:
    if cost.get("neighbours", neighbours) != neighbours:  # unnamed until November 2026
        raise BundleError(
            "The privacy statement's cost is for other neighbours than its promise: they do not add."
        )
    exchange = cost.get("exchange_mu")
    if exchange is not None and neighbours != "add-or-remove":
        raise BundleError("The privacy statement prices an exchange beside a promise about one.")
    mu, pure, leverage = cost.get("gaussian_mu"), cost.get("pure_epsilon"), cost.get("leverage")
    curve = _read_curve(stated_curve)
    if curve is None:
        if mu is not None and mu > 0.0:
            curve = RdpCurve.gaussian(mu)
        elif pure is not None and pure > 0.0:
            curve = pure_curve(pure)
        else:
            raise BundleError(
                "The privacy statement states no cost: neither a curve, nor mu, nor a pure epsilon."
            )
    finite = np.isfinite(curve.values)
    if mu is not None and mu * mu < float(np.min(2.0 * curve.values / ORDERS)) * (1.0 - SLACK):
        raise BundleError("The privacy statement's mu is smaller than what its own RDP curve proves.")
    if pure is not None and pure < float(np.max(curve.values[finite])) * (1.0 - SLACK):
        raise BundleError("The privacy statement's pure epsilon is smaller than its own RDP curve.")
    if leverage is not None and (mu is not None or pure is not None):
        raise BundleError(
            "The privacy statement's cost contradicts itself: a leverage beside mu or a pure epsilon."
        )
    pairs = None if leverage is None else GaussianPairs(leverage, cost["paths"])
    return Cost(curve, mu, pure, pairs, cost["distance"], (), neighbours, exchange)


def check_noise(guarantee: Mapping[str, Any], noise_cost: Cost | None, *, complete: bool = False) -> None:
    """Raise BundleError if the stated cost is below `noise_cost`, what the design's own noise costs,
    where that is known. A pilot or anything else besides the release makes the stated cost larger,
    never smaller. A `complete` statement, of today's schema, lacks no price that is known."""
    if noise_cost is None:
        return
    cost = stated_cost(guarantee)
    if complete and noise_cost.exchange_mu is not None and cost.exchange_mu is None:
        raise BundleError("The privacy statement lacks the price of an exchanged record: it is not whole.")
    pairs = [
        (getattr(cost, name), getattr(noise_cost, name))
        for name in ("gaussian_mu", "exchange_mu", "pure_epsilon", "distance")
    ]
    lower_curve = np.any(cost.curve.values < noise_cost.curve.values * (1.0 - SLACK))
    if lower_curve or any(
        amount is not None and needed is not None and amount < needed * (1.0 - SLACK)
        for amount, needed in pairs
    ):
        raise BundleError(
            "The privacy statement's cost is smaller than what the noise of its design costs: do not trust "
            "it."
        )


def check_guarantee(guarantee: Mapping[str, Any], *, values: int = 1, complete: bool = False) -> None:
    """Raise BundleError, naming the first promise or sentence that does not follow from the stated
    cost. A `complete` statement, of today's schema, says for which neighbours each cost holds."""
    if guarantee["unit"] not in get_args(Unit):
        raise BundleError("The privacy statement names a unit of protection that this program does not know.")
    if guarantee["n_is_public"] != (guarantee["relation"] == "replace-one"):
        raise BundleError("The privacy statement contradicts itself about its number of records.")
    if guarantee["unit"] == "cell" and guarantee["unit_word"] != "cell":
        raise BundleError("The privacy statement calls its hexagons something else.")
    if "owner" in guarantee and guarantee["unit"] == "cell":
        raise BundleError("The privacy statement names owners where its records are hexagons.")
    if "equal_rows" in guarantee and guarantee["unit"] == "cell":
        raise BundleError("The privacy statement counts equal rows where its records are hexagons.")
    cost = stated_cost(guarantee)
    parts = (guarantee["cost"], *guarantee["cost"].get("parts", ()))
    if complete and any("neighbours" not in part for part in parts):
        raise BundleError("The privacy statement's cost does not say for which neighbours it holds.")
    order = guarantee["order"]
    if order is not None and not np.any(np.abs(ORDERS - order) <= ORDER_SLACK * ORDERS):
        raise BundleError("The privacy statement names an order that is not one of the public orders.")
    proved = epsilon(cost, guarantee["delta"]).epsilon
    if not guarantee["epsilon"] >= proved * (1.0 - SLACK) - SLACK:
        raise BundleError(
            "The privacy statement's epsilon is smaller than what its own cost proves: do not trust it."
        )
    if order is not None:
        at = np.abs(ORDERS - order) <= ORDER_SLACK * ORDERS
        epsilon_at_order = epsilon_from_rdp(ORDERS[at], cost.curve.values[at], guarantee["delta"]).epsilon
        if epsilon_at_order > guarantee["epsilon"] * (1.0 + SLACK) + SLACK:
            raise BundleError("The privacy statement names an order that does not give its epsilon.")
    _check_groups(guarantee, cost)
    _check_words(guarantee, values)


def _read_curve(curve: Mapping[str, Any] | None) -> RdpCurve | None:
    """The curve on all public orders, without a bound at those that are not stated."""
    if curve is None:
        return None
    orders, values = np.array(curve["orders"]), np.array(curve["values"])
    if orders.size != values.size or not orders.size or any(b <= a for a, b in pairwise(curve["orders"])):
        raise BundleError("The privacy statement's RDP curve is damaged.")
    places = np.searchsorted(ORDERS, orders * (1.0 - ORDER_SLACK)).clip(max=ORDERS.size - 1)
    if np.any(np.abs(ORDERS[places] - orders) > ORDER_SLACK * orders):
        raise BundleError("The privacy statement's RDP curve is not on the public orders.")
    full = np.full(ORDERS.shape, np.inf)
    full[places] = values
    return RdpCurve(full)


def _check_groups(guarantee: Mapping[str, Any], cost: Cost) -> None:
    """Each line must follow from epsilon by the usual rule, or from the cost itself."""
    for line in guarantee["groups"]:
        if line["epsilon"] is None or line["delta"] >= 1.0:
            continue  # nothing is promised
        by_rule, delta = group_privacy(guarantee["epsilon"], guarantee["delta"], line["records"])
        if line["epsilon"] >= by_rule * (1.0 - SLACK) and line["delta"] >= delta * (1.0 - SLACK):
            continue
        least_epsilon = group_epsilon(cost, line["records"], line["delta"]).epsilon
        if not line["epsilon"] >= least_epsilon * (1.0 - SLACK) - SLACK:
            raise BundleError(
                "A group line of the privacy statement promises more than follows from its cost."
            )


def _check_words(guarantee: Mapping[str, Any], values: int) -> None:
    follows = with_words(guarantee, values=values)
    for name in ("neighbours", "in_words", "times_more_likely", "protected", "not_protected", "groups"):
        if guarantee[name] != follows[name]:
            raise BundleError(f"The privacy statement's words do not follow from its numbers: {name}.")
