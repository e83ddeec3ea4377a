"""Whether a statement is valid: against its JSON Schema, and against itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import group_cost
from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.spectral_design import SPREADS_OF_COUNTS
from dpgp_core.priors.registry import PRIORS
from hexcursion.bundle.statement.build import DRAWS_NOTE, FORMULA, ROUNDING_NOTE, products_block
from hexcursion.bundle.statement.build import following as evaluated
from hexcursion.bundle.statement.designs import (
    check_schema,
    design_from,
    proved_bounds,
    todays_schema,
    values_of,
)
from hexcursion.bundle.statement.expected import expected_words
from hexcursion.bundle.statement.former import in_todays_words
from hexcursion.bundle.statement.guarantee import SLACK, check_guarantee, check_noise, stated_owner
from hexcursion.bundle.statement.promise import says_nothing, without_figures
from hexcursion.bundle.statement.receipt_check import checked_receipt
from hexcursion.bundle.sums import NOTE as SUMS_NOTE
from hexcursion.bundle.untrusted import BundleError
from hexcursion.project.public_numbers import UNITS
from hexcursion.project.response import ResponseScale
from hexcursion.project.trip import TripProtection
from hexcursion.record import GROUPS


def check_statement(statement: Any, schema: bytes | None = None, *, earlier: bool = False) -> dict[str, Any]:
    """Return a valid statement. Raise `BundleError`, saying what is wrong
    first. Beyond the schema: the design is valid, the threshold maps to the stated response, cutoff and
    numbers of paths agree, and the guarantee promises nothing that does not follow from the cost it states.

    `schema`: its file, by default today's. Only a schema that an earlier version wrote allows the
    words of earlier versions, which are then said in today's; the version that a statement names is its
    publisher's word and allows nothing. `earlier`: of a layer, whether the schema of its atlas is such a one.
    """
    check_schema(statement)
    checked: dict[str, Any] = statement
    today = not earlier and (schema is None or todays_schema(schema, checked["design"]["mechanism"]))
    check_design(checked)
    check_threshold(checked)
    values = values_of(design_from(checked["design"]))
    if not today:
        checked = in_todays_words(checked, values=values)
    check_guarantee(checked["guarantee"], values=values, complete=today)
    if today and [line["records"] for line in checked["guarantee"]["groups"]] != list(GROUPS):
        raise BundleError(
            f"The privacy statement needs a group line for {', '.join(map(str, GROUPS))} records, each once."
        )
    check_noise(checked["guarantee"], least_cost(checked), complete=today)
    _check_bound(checked)
    _check_texts(checked)
    if today:
        _check_notes(checked)
    _check_trip(checked)
    expected = checked["expected"]
    if expected is not None and expected["in_words"] not in _expectations(checked, today=today):
        raise BundleError("The privacy statement's words about its expected agreement do not follow from it.")
    if expected is not None and says_nothing(checked):  # earlier files hold figures that no word says
        checked = {**checked, "expected": without_figures(expected)}
    receipt = checked_receipt(checked, strict=today)
    return {**checked, "receipt": receipt}


def _expectations(statement: Mapping[str, Any], *, today: bool) -> tuple[str, ...]:
    """What may be said of an expectation; earlier versions said figures of too few records too."""
    expected = statement["expected"]
    sentence = expected_words(expected, too_few=says_nothing(statement))
    return (sentence,) if today else (sentence, expected_words(expected))


def least_cost(statement: dict[str, Any]) -> Cost | None:
    """What the noise of a statement's design costs at least those whom its guarantee is about."""
    design, owner = design_from(statement["design"]), stated_owner(statement["guarantee"])
    noise_cost = questions.least_cost(design)
    if noise_cost is None or owner is None:
        return noise_cost
    if noise_cost.gaussian_mu is None:
        return group_cost(noise_cost, owner.records)
    apart = mechanism_of(design).apart_mu(design, owner.records) if owner.apart else None
    mu = owner.records * noise_cost.gaussian_mu
    return Cost.gaussian(mu if apart is None else min(mu, apart), noise_cost.distance)


def check_design(statement: dict[str, Any]) -> None:
    """Raise BundleError for a design that is impossible or disagrees with the products and the guarantee."""
    design = design_from(statement["design"])
    if statement["design"].get("prior", "car") not in PRIORS:
        raise BundleError("The privacy statement names a prior that this program does not know.")
    if statement["paths"]["count"] != design.paths or statement["products"]["cutoff"] != design.cutoff:
        raise BundleError("The privacy statement contradicts itself about its paths or its cutoff.")
    if statement["products"]["smoothing"] != design.smoothing:
        raise BundleError("The privacy statement contradicts itself about its smoothing.")
    if getattr(design, "bound", statement["guarantee"]["bound"]) != statement["guarantee"]["bound"]:
        raise BundleError("The privacy statement contradicts itself about its bound.")


def check_threshold(statement: dict[str, Any]) -> None:
    """Raise BundleError unless the threshold in the data's unit is the one in response units."""
    response, subject = statement["response"], statement["subject"]
    try:
        scale = ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"])
        level = float(scale.forward(subject["threshold"]))
    except (ValueError, OverflowError) as error:
        raise BundleError(f"The privacy statement's threshold makes no sense: {error}") from error
    stated_level = subject["threshold_response"]
    if not math.isfinite(level) or abs(level - stated_level) > SLACK * max(1.0, abs(level)):
        raise BundleError("The privacy statement gives two different thresholds.")


def _check_bound(statement: dict[str, Any]) -> None:
    """The bound is one of the closed list, and pairs of Gaussians are as many as the paths."""
    guarantee, design = statement["guarantee"], statement["design"]
    if guarantee["bound"] not in proved_bounds(design["mechanism"]):
        raise BundleError("The privacy statement rests on a bound that is not one of the proved ones.")
    if guarantee["unit"] not in mechanism_of(design_from(design)).protection.units:
        raise BundleError("The privacy statement protects another unit than its mechanism can.")
    cost = guarantee["cost"]
    pairs = [part["paths"] for part in (cost, *cost.get("parts", ())) if "paths" in part]
    if any(paths != design["paths"] for paths in pairs):
        raise BundleError("The privacy statement contradicts itself about the paths that its cost covers.")


def _check_texts(statement: dict[str, Any]) -> None:
    """Whatever follows from other fields is said as it follows: products, formula, evaluation."""
    design = design_from(statement["design"])
    draws = statement["paths"].get("draws", {}).get("count")
    by_map = statement["products"].get("cut_by_map", False)
    products_again = products_block(design, draws, ranked=statement["paths"]["field"], cut_by_map=by_map)
    if "judged" not in statement["products"]:  # an earlier version, which judged other hexagons
        del products_again["judged"]
    if statement["products"] != products_again:
        raise BundleError("The privacy statement contradicts itself about its products.")
    if statement["response"]["formula"] != FORMULA[statement["response"]["transform"]]:
        raise BundleError("The privacy statement contradicts itself about its response.")
    answers = {
        "answers" in statement["subject"],
        statement["response"]["transform"] == "probit",
        # An atlas has answers among amounts: which they are is compared with all of its layers.
        *([] if isinstance(design, AtlasDesign) else [getattr(design, "law", "amount") == "yes-no"]),
    }
    if len(answers) > 1 or (True in answers and statement["subject"]["unit"] != "%"):
        raise BundleError("The privacy statement contradicts itself about answers of yes and no.")
    _check_counts(statement, getattr(design, "law", "amount"))
    if any(statement["evaluation"][name] != text for name, text in evaluated(statement).items()):
        raise BundleError("The privacy statement's evaluation does not follow from its other fields.")


def _check_notes(statement: dict[str, Any]) -> None:
    """Notes with the numbers of the files are the program's own."""
    paths, sums = statement["paths"], statement.get("sums", {})
    for part, note in ((paths, ROUNDING_NOTE), (paths.get("draws", {}), DRAWS_NOTE), (sums, SUMS_NOTE)):
        if part and part["note"] != note:
            raise BundleError("The privacy statement says something else of its files than this program.")


def _check_counts(statement: dict[str, Any], law: str) -> None:
    """Counted records have their law, their unit, their scale and one kind of sums."""
    per = statement["subject"].get("counts", {}).get("per")
    laws = {None: "", "population": "rate", "area": "density"}
    if laws[per] != (law if law in SPREADS_OF_COUNTS else ""):
        raise BundleError("The privacy statement contradicts itself about what its records are counted over.")
    if per is None:
        return
    response, guarantee, sums = statement["response"], statement["guarantee"], statement.get("sums", {})
    scaled = response["transform"] == "log" and response["clip"] == 1.0
    if (
        not scaled
        or statement["subject"]["unit"] != UNITS[per]
        or (per == "population" and response["centre"] != 0.0)
        or guarantee["protects"] == "values"
        or guarantee["unit"] != "point"
        or "public_counts" not in sums.get("columns", ("public_counts",))
        or "counts" in sums.get("columns", ())
    ):
        raise BundleError("The privacy statement contradicts itself about the records that it counts.")


def _check_trip(statement: dict[str, Any]) -> None:
    """The words about a sanitised trip follow from its numbers, and are where a reader meets them."""
    trip = statement.get("trip")
    if trip is None:
        return
    sentence = TripProtection.of_block(trip).in_words
    if trip["in_words"] != sentence or sentence not in statement["release"]["notes"]:
        raise BundleError("The privacy statement contradicts itself about the trip that tells its places.")
