"""Statements of version 1: checked as they were, then said in the words of version 2."""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from dpgp_core.accounting.conversion import epsilon_from_rdp, group_privacy
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.numbers import significant
from hexcursion import words
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.statement.build import facts
from hexcursion.bundle.statement.designs import proved_bounds
from hexcursion.bundle.statement.evaluation import evaluation_block
from hexcursion.bundle.statement.guarantee import VARIANT, with_words
from hexcursion.bundle.statement.receipt_check import checked_receipt
from hexcursion.bundle.statement.recomputed import SLACK, check_noise
from hexcursion.bundle.statement.schema_check import check_design, check_threshold, least_cost
from hexcursion.bundle.statement.schemas import check_schema
from hexcursion.bundle.untrusted.text import neutral_cell
from hexcursion.settings.stated import NOTHING_STATED

# Filled with 0 for the mechanisms that have none.
_PADDED = ("noise_scale", "statistic_noise", "bound")


def upgraded(statement: Any) -> dict[str, Any]:
    """A checked statement of version 1 as one of version 2.

    Nothing is added that it did not say: the expected agreement is null, the cost beside the curve is mu
    where that follows from the curve of a Gaussian mechanism. Texts that follow from facts are made anew.

    Raises
    ------
    BundleError
        If it is not valid, or promises more than follows from what it states.
    """
    check_schema(statement, 1)
    protection = statement["protection"]
    design, gaussian = _design(statement["design"])
    if protection["bound"] not in proved_bounds(design["mechanism"]) | {design["mechanism"]}:
        raise BundleError("The privacy statement rests on a bound that is not one of the proved ones.")
    mu = _checked_mu(protection, gaussian)
    stated = {
        **{name: protection[name] for name in ("unit", "unit_word", "n", "epsilon", "delta", "order")},
        **{name: protection[name] for name in ("bound", "bound_source", "proved")},
        "protects": "values and places",
        "relation": "replace-one",
        "n_is_public": True,
        "variant": VARIANT,
        "groups": [
            {name: line[name] for name in ("records", "epsilon", "delta")} for line in protection["group"]
        ],
        "curve": protection["rdp"] if protection["rdp"]["orders"] else None,
        "cost": {"distance": 0.0} | ({} if mu is None else {"gaussian_mu": mu}),
    }
    rest = {name: part for name, part in statement.items() if name != "protection"}
    made = {
        **rest,
        "guarantee": with_words(stated),
        "design": design,
        "expected": None,
        "paths": {"field": False, **statement["paths"]},
    }
    made["evaluation"] = evaluation_block(made, NOTHING_STATED)
    check_design({**made, "guarantee": {"bound": design.get("bound", "")}})
    check_noise(made["guarantee"], least_cost(design))
    check_threshold(made)
    return {**made, "receipt": checked_receipt(made, strict=False)}


def _design(raw: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The mechanism's own fields, and whether its release is one of a Gaussian mechanism."""
    try:
        mechanism = mechanism_named(raw["mechanism"])
    except DesignError as error:
        raise BundleError(f"The privacy statement describes an impossible design: {error}") from error
    known = {item.name for item in fields(mechanism.design_type)}
    own = {name: value for name, value in raw.items() if name in known or name == "mechanism"}
    strange = [name for name in set(raw) - set(own) - set(_PADDED) if raw[name]]
    if strange:
        raise BundleError("The privacy statement describes a design that is none of its mechanism.")
    # Version 1 knows two mechanisms. One adds Gaussian noise and draws its paths from that; the other draws
    # from the posterior, which is Gaussian noise where no scale widens it.
    return own, mechanism.free_paths or raw["scale"] == 0.0


def _checked_mu(protection: dict[str, Any], gaussian: bool) -> float | None:
    """The least mu that a Gaussian mechanism's curve proves, None for others; epsilon follows."""
    orders, values = np.array(protection["rdp"]["orders"]), np.array(protection["rdp"]["values"])
    if orders.size != values.size or not orders.size or any(b <= a for a, b in pairwise(orders.tolist())):
        raise BundleError("The privacy statement's RDP curve is damaged.")
    proved = epsilon_from_rdp(orders, values, protection["delta"]).epsilon
    mu = None
    if gaussian and protection["order"] is None:
        mu = math.sqrt(float(np.min(2.0 * values / orders)))
        proved = min(proved, gaussian_epsilon(mu, protection["delta"])) if mu > 0.0 else 0.0
    if protection["epsilon"] < proved * (1.0 - SLACK) - SLACK:
        raise BundleError(
            "The privacy statement's epsilon is smaller than what its own RDP curve proves: do not trust it."
        )
    for line in protection["group"]:
        epsilon, delta = group_privacy(protection["epsilon"], protection["delta"], line["records"])
        if line["epsilon"] < epsilon * (1.0 - SLACK) or line["delta"] < min(1.0, delta) * (1.0 - SLACK):
            raise BundleError(
                "A group line of the privacy statement promises more than follows from epsilon."
            )
    return mu


def facts_of_format1(statement: dict[str, Any]) -> dict[str, Any]:
    """The facts that format 1 repeats on every feature, from the upgraded statement."""
    known = {name: value for name, value in facts(statement).items() if name != "expected"}
    return {**known, "design": neutral_cell(_design_line(statement["design"]))}


def _design_line(design: dict[str, Any]) -> str:
    parts = [
        f"prior {design['prior']}",
        f"range {significant(design['lengthscale'], 6)} m",
        f"ridge {significant(design['ridge'], 6)}",
        f"scale {significant(design['scale'], 6)}",
    ]
    if design.get("noise_scale"):
        parts.append(f"prior noise {significant(design['noise_scale'], 6)}")
    if design.get("statistic_noise"):
        parts.append(f"statistic noise {significant(design['statistic_noise'], 6)}")
    parts += [
        words.plural(design["paths"], "path"),
        f"smoothing {words.plural(design['smoothing'], 'round')}",
        f"cutoff {significant(design['cutoff'], 4)}",
    ]
    return ", ".join(parts)
