"""What a reader proves for itself: the cost that a guarantee states, and that no more is promised."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from dpgp_core.accounting.composition import Cost, Neighbours, compose, epsilon, pure_curve
from dpgp_core.accounting.guarantee import group_epsilon
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, group_privacy
from dpgp_core.accounting.tails import GaussianPairs
from dpgp_core.mechanisms.terms import Unit
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.statement.guarantee import promised_before, with_words

# A number that was rounded on its way through JSON or another machine's logarithm is still the same.
SLACK = 1e-9
# The public orders are powers of ten: the last digits depend on the machine.
ORDER_SLACK = 1e-12


def stated_cost(guarantee: Mapping[str, Any]) -> Cost:
    """The cost that a guarantee states, composed anew where it states parts. Raise `BundleError` if its parts
    contradict each other, or the curve is damaged."""
    hidden = promised_neighbours(guarantee)
    whole = _one_cost(guarantee["curve"], guarantee["cost"], hidden)
    parts = guarantee["cost"].get("parts")
    if parts is None:
        return whole
    composed = compose(_one_cost(part.get("curve"), part, hidden) for part in parts)
    for stated, follows in (
        (whole.curve.values, composed.curve.values),
        (whole.gaussian_mu, composed.gaussian_mu),
        (whole.pure_epsilon, composed.pure_epsilon),
        (whole.distance, composed.distance),
    ):
        if stated is not None and (
            follows is None or np.any(np.asarray(stated) < np.asarray(follows) * (1.0 - SLACK))
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
    curve = _curve(stated_curve)
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


def check_noise(guarantee: Mapping[str, Any], least: Cost | None) -> None:
    """Raise BundleError if the stated cost is below `least`, what the design's own noise costs, where that is
    known. A pilot or anything else beside the release makes the stated cost larger, never smaller."""
    if least is None:
        return
    cost = stated_cost(guarantee)
    stated, needed = cost.gaussian_mu, least.gaussian_mu
    if np.any(cost.curve.values < least.curve.values * (1.0 - SLACK)) or (
        stated is not None and needed is not None and stated < needed * (1.0 - SLACK)
    ):
        raise BundleError(
            "The privacy statement's cost is smaller than what the noise of its design costs: do not trust "
            "it."
        )


def check_guarantee(guarantee: Mapping[str, Any]) -> None:
    """Raise BundleError, naming the first promise or sentence that does not follow from the stated cost."""
    if guarantee["unit"] not in get_args(Unit):
        raise BundleError("The privacy statement names a unit of protection that this program does not know.")
    if guarantee["n_is_public"] != (guarantee["relation"] == "replace-one"):
        raise BundleError("The privacy statement contradicts itself about its number of records.")
    cost = stated_cost(guarantee)
    order = guarantee["order"]
    if order is not None and not np.any(np.abs(ORDERS - order) <= ORDER_SLACK * ORDERS):
        raise BundleError("The privacy statement names an order that is not one of the public orders.")
    proved = epsilon(cost, guarantee["delta"]).epsilon
    if not guarantee["epsilon"] >= proved * (1.0 - SLACK) - SLACK:
        raise BundleError(
            "The privacy statement's epsilon is smaller than what its own cost proves: do not trust it."
        )
    _check_groups(guarantee, cost)
    _check_words(guarantee)


def _curve(stated: Mapping[str, Any] | None) -> RdpCurve | None:
    """The curve on all public orders, without a bound at those that are not stated."""
    if stated is None:
        return None
    orders, values = np.array(stated["orders"]), np.array(stated["values"])
    if orders.size != values.size or not orders.size or any(b <= a for a, b in pairwise(stated["orders"])):
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
        least = group_epsilon(cost, line["records"], line["delta"]).epsilon
        if not line["epsilon"] >= least * (1.0 - SLACK) - SLACK:
            raise BundleError(
                "A group line of the privacy statement promises more than follows from its cost."
            )


def _check_words(guarantee: Mapping[str, Any]) -> None:
    said = with_words(guarantee)
    if guarantee["in_words"] == promised_before(guarantee):
        said["in_words"] = guarantee["in_words"]
    for name in ("neighbours", "in_words", "times_more_likely", "protected", "not_protected", "groups"):
        if guarantee[name] != said[name]:
            raise BundleError(f"The privacy statement's words do not follow from its numbers: {name}.")
