"""The privacy statement: everything a reader must know about a release, as plain JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from workflow import words
from workflow.bundle import layout
from workflow.bundle.errors import BundleError
from workflow.bundle.paths import GRID
from workflow.bundle.products import CONFIDENCE, MEANINGS, supports
from workflow.bundle.text import clean, neutral_cell
from workflow.released import Release
from workflow.version import NAME, VERSION

VERSION_ID = "hexcursion-statement-1"
# A dissolved region is written for this many paths; all paths are in the Parquet file.
MAX_PATH_REGIONS = 50

NEIGHBOURS = {
    "point": "Two datasets of the same size that differ in one record: in its value, its place or both.",
    "cell": "Two sets of cell records of the same size that differ in one: in its value, its cell or both.",
}
FORMULA = {
    "log": "value = exp(centre + clip * response)",
    "identity": "value = centre + clip * response",
}
ROUNDING_NOTE = (
    "Each value is rounded to a multiple of 2^-20 response units. Paths are as drawn, before smoothing."
)


def build_statement(release: Release) -> dict[str, Any]:
    """The statement of a release. It holds public facts only, because a `Release` holds nothing else.

    Text is cleaned of control and direction characters. Raises BundleError for text that is too long.
    """
    privacy = release.privacy
    unit_word = clean(privacy.unit_word, 40, "The word for the unit of protection")
    return {
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
        "subject": {
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
        },
        "protection": _protection(release, unit_word),
        "design": asdict(release.design),
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
        "products": _products(release),
        "paths": {
            "file": layout.PATHS,
            "count": int(release.design.paths),
            "unit": "response units",
            "grid": GRID,
            "note": ROUNDING_NOTE,
        },
        "ledger": {"entry": clean(release.ledger_entry, 200, "The ledger entry")},
        "receipt": [
            {
                "topic": clean(line.topic, 100, "A topic of the receipt"),
                "text": clean(line.text, 2000, "A line of the receipt"),
                "warning": bool(line.warning),
            }
            for line in release.receipt
        ],
        "attribution": [clean(text, 4000, "An attribution") for text in release.attribution],
    }


def _protection(release: Release, unit_word: str) -> dict[str, Any]:
    privacy = release.privacy
    if privacy.unit not in NEIGHBOURS:
        raise BundleError(f"The unit of protection must be 'point' or 'cell', not {privacy.unit!r}.")
    if not privacy.proved:
        raise BundleError(f"The bound {privacy.bound!r} is not proved: a release cannot rest on it.")
    orders, values = np.asarray(privacy.rdp_orders), np.asarray(privacy.rdp_values)
    finite = np.isfinite(values)
    return {
        "unit": privacy.unit,
        "unit_word": unit_word,
        "neighbours": NEIGHBOURS[privacy.unit],
        "n": int(privacy.n),
        "n_is_public": True,
        "epsilon": float(privacy.epsilon),
        "delta": float(privacy.delta),
        "order": None if privacy.order is None else float(privacy.order),
        "bound": clean(privacy.bound, 100, "The name of the bound"),
        "bound_source": clean(privacy.bound_source, 500, "The source of the bound"),
        "proved": True,
        "in_words": words.epsilon_sentence(privacy.epsilon, privacy.delta, unit_word),
        "times_more_likely": words.times(privacy.epsilon),
        "protected": words.protected_text(privacy.unit, unit_word, privacy.n),
        "not_protected": list(words.not_protected_texts(privacy.unit, unit_word)),
        "group": [
            {
                "records": int(records),
                "epsilon": float(epsilon),
                "delta": min(1.0, float(delta)),
                "in_words": words.group_sentence(records, epsilon, delta, unit_word),
            }
            for records, epsilon, delta in privacy.group
        ],
        # Orders without a finite bound are left out: a missing order means "no bound", never 0.
        "rdp": {"orders": orders[finite].tolist(), "values": values[finite].tolist()},
    }


def _products(release: Release) -> dict[str, Any]:
    count = release.design.paths
    joint = supports(count, CONFIDENCE)
    names = [name for name in MEANINGS if joint or name not in ("inner", "outer")]
    left_out = []
    if not joint:
        needed = round(1.0 / (1.0 - CONFIDENCE))
        left_out.append(
            f"Inner and outer sets and 'cannot tell' at confidence {CONFIDENCE:g} need {needed} paths; "
            f"this release has {count}."
        )
    if count > MAX_PATH_REGIONS:
        left_out.append(
            f"Dissolved regions of single paths are written for the first {MAX_PATH_REGIONS} paths."
        )
    return {
        "cutoff": float(release.design.cutoff),
        "smoothing": int(release.design.smoothing),
        "confidence": CONFIDENCE if joint else None,
        "vote_step": 1.0 / count,
        "meanings": {name: MEANINGS[name] for name in names},
        "left_out": left_out,
    }


def facts(statement: dict[str, Any]) -> dict[str, Any]:
    """The key facts repeated on every GeoJSON feature, flat, since many readers drop foreign members.

    Text is neutralised for spreadsheets: attribute tables end in them.
    """
    protection, subject, design = statement["protection"], statement["subject"], statement["design"]
    named = {
        "release_id": statement["release"]["id"],
        "title": statement["release"]["title"],
        "value": subject["value"],
        "threshold": subject["threshold"],
        "threshold_unit": subject["unit"],
        "direction": subject["direction"],
        "epsilon": protection["epsilon"],
        "delta": protection["delta"],
        "unit_of_protection": f"one {protection['unit_word']} ({protection['unit']} record)",
        "mechanism": design["mechanism"],
        "design": design_line(design),
        "bound": f"{protection['bound']} (proved)",
        "tuning": statement["tuning"]["kind"],
        "generated": statement["release"]["generated"],
        "simulation": statement["release"]["simulation"],
    }
    return {name: neutral_cell(value) if isinstance(value, str) else value for name, value in named.items()}


def design_line(design: dict[str, Any]) -> str:
    """The design in one line of words and numbers."""
    parts = [
        f"prior {design['prior']}",
        f"range {words.significant(design['lengthscale'], 6)} m",
        f"ridge {words.significant(design['ridge'], 6)}",
        f"scale {words.significant(design['scale'], 6)}",
    ]
    if design["noise_scale"]:
        parts.append(f"prior noise {words.significant(design['noise_scale'], 6)}")
    if design["statistic_noise"]:
        parts.append(f"statistic noise {words.significant(design['statistic_noise'], 6)}")
    parts += [
        words.plural(design["paths"], "path"),
        f"smoothing {words.plural(design['smoothing'], 'round')}",
        f"cutoff {words.significant(design['cutoff'], 4)}",
    ]
    return ", ".join(parts)
