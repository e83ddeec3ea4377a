"""The privacy statement of a release, from public facts alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpgp_core.mechanisms.design import Design
from dpgp_core.numbers import upper
from dpgp_core.releasing import GRID
from dpgp_core.yardstick import JUDGED_SHARE
from hexcursion import promises, words
from hexcursion.bundle import layout
from hexcursion.bundle.layers import MAX_PATH_REGIONS
from hexcursion.bundle.products import BY_MAP, CONFIDENCE, MEANINGS, SURE, ProductName, supports
from hexcursion.bundle.statement.designs import design_line, plain_design
from hexcursion.bundle.statement.expected import expected_block, expected_said
from hexcursion.bundle.statement.guarantee import guarantee_block
from hexcursion.bundle.statement.receipt import drawn_exactly
from hexcursion.bundle.sums import sums_block
from hexcursion.bundle.tables import covariates_block, relative_block
from hexcursion.bundle.untrusted import clean, neutral_cell
from hexcursion.project.public_numbers import Exposure
from hexcursion.project.response import Answers
from hexcursion.record import ReceiptLine, Release, promises_nothing
from hexcursion.settings.privacy_settings import LONGEST, UNSAID, Scope, StatedFacts
from hexcursion.version import NAME, VERSION


def products_block(
    design: Design, draws: int | None = None, *, ranked: bool = False, cut_by_map: bool = False
) -> dict[str, Any]:
    """The block follows from the design and the number of joint draws beside the paths (None where the paths
    are such draws). `ranked`: whether there are probabilities that order cells; `cut_by_map`: whether the set
    at the cutoff is cut by the chance that the map without privacy shows a cell in it."""
    count = design.paths
    joint = supports(count if draws is None else draws, CONFIDENCE)
    meanings = {name: text for name, text in MEANINGS.items() if joint or name not in ("inner", "outer")}
    left_out = []
    if not joint:
        needed = round(1.0 / (1.0 - CONFIDENCE))
        left_out.append(
            f"Inner and outer sets and 'cannot tell' at confidence {CONFIDENCE:g} need {needed} paths; "
            f"this release has {count}."
        )
    if cut_by_map:
        meanings["vote-set"] = BY_MAP
    if count > MAX_PATH_REGIONS:
        left_out.append(
            f"Dissolved regions of single paths are written for the first {MAX_PATH_REGIONS} paths."
        )
    return {
        "cutoff": float(design.cutoff),
        "judged": JUDGED_SHARE,
        "smoothing": int(design.smoothing),
        "confidence": CONFIDENCE if joint else None,
        "vote_step": 1.0 / count,
        "meanings": {name: _said(name, text, draws) for name, text in meanings.items()}
        | ({"excursion_function": _said("inner", SURE, draws)} if ranked and joint else {}),
        "left_out": left_out,
        **({"excursion_function": joint} if ranked else {}),
        **({"cut_by_map": True} if cut_by_map else {}),
    }


def _said(name: ProductName, meaning: str, draws: int | None) -> str:
    """Joint statements rest on the draws of the field where the release has such draws."""
    if draws is None or name not in ("inner", "outer"):
        return meaning
    return meaning.replace("of the paths", f"of {draws} draws of the field")


FRAMEWORK = "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025)"
# What only the curator knows, by the field of the settings; in the order of the statement.
STATED = (
    "trust_model",
    "actors",
    "collection",
    "retention",
    "access",
    "further_releases",
    "justification",
    "contact",
)
SYSTEM = "Every random number came from the operating system's generator; no seed exists and none was kept."
SEEDED = "Simulation: random numbers came from a fixed seed, so that this is not a private release."
ON_GRID = (
    "Everything released is a multiple of 2^-20 response units, so that the low digits of a number tell "
    "nothing."
)
EXACT = "The proof covers the numbers as a computer draws them."
DOUBLE = "The proof is for real numbers; the noise itself is drawn in double precision."
BIAS = (
    "Errors are not spread evenly: where records are few, the map follows its model more than the records, "
    "so that sparse places are less often right than dense ones, and small groups of hexagons tend to be "
    "smoothed away."
)


def evaluation_block(statement: Mapping[str, Any], curators: StatedFacts) -> dict[str, Any]:
    """The block: what follows from the rest of the statement, and what the curator states or does not."""
    curators_texts = {name: getattr(curators, name) for name in STATED}
    return following(statement) | {
        name: UNSAID if text is None else clean(text, LONGEST, f"What is stated as {name}")
        for name, text in curators_texts.items()
    }


def following(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that follow from the rest of the statement."""
    guarantee, release = statement["guarantee"], statement["release"]
    exact = drawn_exactly(statement["design"]["mechanism"], guarantee["cost"]["distance"])
    return {
        "framework": FRAMEWORK,
        "parameters": (
            f"epsilon {upper(guarantee['epsilon'])} and delta {upper(guarantee['delta'], 3)} for "
            f"one {promises.protected_word(guarantee)}"
        ),
        "unit": guarantee["protected"],
        "variant": guarantee["variant"],
        "neighbours": guarantee["neighbours"],
        "randomness": SEEDED if release["simulation"] else SYSTEM,
        "floating_point": f"{ON_GRID} {EXACT if exact else DOUBLE}",
        "utility": expected_said(statement),
        "bias": BIAS,
    }


VERSION_ID = "hexcursion-statement-2"

FORMULA = {
    "log": "value = exp(centre + clip * response)",
    "identity": "value = centre + clip * response",
    "probit": "value = 100 * Phi(centre + clip * response), Phi the standard normal distribution function",
}
ROUNDING_NOTE = (
    "Each value is rounded to a multiple of 2^-20 response units, deviations upwards. Paths are as drawn, "
    "before smoothing."
)


DRAWS_NOTE = (
    "Joint draws of the field given the released paths and public facts, rounded to multiples of 2^-10 "
    "response units: further noise on what was released, at no cost."
)


def build_statement(release: Release) -> dict[str, Any]:
    """The statement of a release. It holds public facts only, because a `Release` holds nothing else. Text is
    cleaned of control and direction characters. Raise `BundleError` for text that is too long, and a
    guarantee that is not proved."""
    count = None if release.draws is None else int(release.draws.shape[0])
    too_few = promises_nothing(release.privacy.n, public=release.prior_mean is not None)
    statement = {
        "schema": VERSION_ID,
        "release": {
            "id": clean(release.release_id, 100, "The release id"),
            "created": clean(release.created, 40, "The date of creation"),
            "title": clean(release.title, 200, "The title"),
            "generated": bool(release.generated),
            "simulation": bool(release.simulation),
            "notes": [clean(note, 1000, "A note") for note in release.notes],
        },
        "software": {"name": NAME, "version": VERSION},
        "subject": _subject_block(release),
        "guarantee": guarantee_block(release),
        "design": plain_design(release.design),
        "response": {
            "transform": release.response.transform,
            "centre": float(release.response.centre),
            "clip": float(release.response.clip),
            "origin": clean(release.response.origin, 1000, "The origin of centre and clip bound"),
            "formula": FORMULA[release.response.transform],
        },
        "prior_mean_used": release.prior_mean is not None,
        "tuning": {
            "kind": clean(release.tuning.kind, 60, "The kind of tuning"),
            "detail": clean(release.tuning.detail, 2000, "The description of the tuning"),
            "accounted": release.tuning.accounted,
        },
        "expected": expected_block(release.expected, too_few=too_few),
        "evaluation": {},
        "products": products_block(
            release.design, count, ranked=release.mean is not None, cut_by_map=release.cut_by_map
        ),
        "paths": _paths_block(release, count),
        "ledger": {"entry": clean(release.ledger_entry, 200, "The ledger entry")},
        "receipt": [_plain_line(line) for line in release.receipt],
        "attribution": [clean(text, 4000, "An attribution") for text in release.attribution],
    }
    statement |= {} if release.trip is None else {"trip": release.trip.block()}
    statement |= covariates_block(release.covariates)
    statement |= sums_block(release)
    return {**statement, "evaluation": evaluation_block(statement, release.stated)}


def _paths_block(release: Release, draws: int | None) -> dict[str, Any]:
    """The files of released paths and, where there are any, of joint draws."""
    block: dict[str, Any] = {
        "file": layout.PATHS,
        "field": release.mean is not None,
        "count": int(release.design.paths),
        "unit": "response units",
        "grid": GRID,
        "note": ROUNDING_NOTE,
    }
    if release.records is not None:
        block["records"] = True
    if draws is not None:
        block["draws"] = {"file": layout.DRAWS, "count": draws, "note": DRAWS_NOTE}
    return block


def _plain_line(line: ReceiptLine) -> dict[str, Any]:
    return {
        "topic": clean(line.topic, 100, "A topic of the receipt"),
        "text": clean(line.text, 2000, "A line of the receipt"),
        "warning": bool(line.warning),
    }


def _subject_block(release: Release) -> dict[str, Any]:
    """The subject of the map: the value, its threshold and the domain."""
    return (
        {
            "value": clean(release.value_name, 100, "The name of the value"),
            "unit": clean(release.value_unit, 60, "The unit of the value"),
            "threshold": float(release.threshold),
            "direction": release.direction,
            "threshold_response": release.level,
            "domain": {
                "cells": len(release.cells),
                "resolution": int(release.resolution),
                "origin": clean(release.domain_origin, 1000, "The origin of the domain"),
            },
        }
        | relative_block(release)
        | ({} if release.answers is None else {"answers": _plain_answers(release.answers)})
        | ({} if release.exposure is None else {"counts": _plain_counts(release.exposure)})
        | _scope_block(release.scope)
    )


def _plain_answers(answers: Answers) -> dict[str, Any]:
    """What a yes is, cleaned."""
    return answers.block() | {"yes": clean(answers.yes, 200, "What a yes is")}


def _plain_counts(exposure: Exposure) -> dict[str, Any]:
    """What records are counted over, cleaned."""
    return exposure.block() | {"origin": clean(exposure.origin, 200, "The origin of the population")}


def _scope_block(scope: Scope) -> dict[str, Any]:
    """What the values are of, when, under which filters and by whom; nothing where nothing is said."""
    if scope == Scope():
        return {}
    return {
        "scope": {
            "population": clean(scope.population, 100, "What the values are of"),
            "period": clean(scope.period, 60, "The period of the records"),
            "filters": [
                clean(record_filter, 500, "A filter of the records") for record_filter in scope.filters
            ],
            "source": clean(scope.source, 200, "The source of the records"),
            **({"since": clean(scope.since, 60, "The year of the public map")} if scope.since else {}),
        }
    }


def facts(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The key facts that every GeoJSON collection has once, flat. Text is neutralised for spreadsheets:
    attribute tables end in them."""
    guarantee, subject, design = statement["guarantee"], statement["subject"], statement["design"]
    key_facts = {
        "release_id": statement["release"]["id"],
        "title": statement["release"]["title"],
        "value": subject["value"],
        "threshold": subject["threshold"],
        "threshold_unit": subject["unit"],
        "direction": subject["direction"],
        "epsilon": guarantee["epsilon"],
        "delta": guarantee["delta"],
        "unit_of_protection": f"one {promises.protected_word(guarantee)} ({guarantee['unit']} record)",
        "mechanism": design["mechanism"],
        "design": design_line(design),
        "bound": f"{guarantee['bound']} (proved)",
        "tuning": statement["tuning"]["kind"],
        "expected": expected_said(statement),
        "generated": statement["release"]["generated"],
        "simulation": statement["release"]["simulation"],
    }
    if "scope" in subject:
        key_facts |= {
            "question": words.asked(subject, guarantee["unit_word"]),
            "covers": words.covered(statement),
        }
    return {
        name: neutral_cell(value) if isinstance(value, str) else value for name, value in key_facts.items()
    }


def statement_text(statement: Mapping[str, Any]) -> str:
    """A statement as its file holds it: JSON with a line for each entry, neither NaN nor infinity."""
    return json.dumps(statement, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
