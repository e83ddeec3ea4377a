"""A draft entry for OpenDP's Deployments Registry, with its open points said in comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from hexcursion import words
from hexcursion.bundle.products.classes import threshold_words
from hexcursion.bundle.statement.designs import design_line
from hexcursion.settings.stated import UNSAID

# The registry's own record schema (opendp/deployments-registry-data, schemas/deployments-schema.yaml) as it
# stood at this commit; its field names changed several times before.
SCHEMA_COMMIT = "057e5d81cf60150dd3307e0cf4504b957802fb3b"
SCHEMA_DATE = "2026-11-21"
FILL_IN = "FILL IN"

HEADER = f"""\
# Draft entry for OpenDP's Differential Privacy Deployments Registry.
# Field names, required fields and fixed choices follow schemas/deployments-schema.yaml of
# opendp/deployments-registry-data at commit {SCHEMA_COMMIT[:12]}, as of {SCHEMA_DATE}.
# Not checked: later versions of that schema, the registry's link check, and its board's review.
# Before submitting it, a person must complete every line that says "{FILL_IN}", choose data_curator_type
# (Government, Industry or Nonprofit: the draft's "Nonprofit" is a placeholder), and may add
# data_product_sector (Technology, Healthcare, Education, Government, Energy or Finance).
"""


def _dumper() -> Any:
    """A safe dumper with block style for text of several lines: the registry refuses folded text."""
    dumper: Any = type("RegistryDumper", (yaml.SafeDumper,), {})

    def text(target: Any, value: str) -> Any:
        style = "|" if "\n" in value else None
        return target.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    dumper.add_representer(str, text)
    return dumper


def registry_yaml(statement: Mapping[str, Any]) -> str:
    """The draft as YAML text. Public facts only; what the statement does not know is left to a person."""
    entry = registry_entry(statement)
    return HEADER + str(
        yaml.dump(entry, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=100_000)
    )


def registry_entry(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The draft as plain values under the registry's field names."""
    return {
        "url_slug": _slug(statement["release"]["id"]),
        "deployment": {
            "basic": _basic(statement),
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": _data_domain(statement),
                "unprotected_quantities": _unprotected(statement),
            },
            "privacy_loss": _privacy_loss(statement),
            "deployment_model": _model(statement),
            "implementation": _implementation(statement),
            "administrative": {
                "status": "Draft",
                "registry_authors": [f"{FILL_IN}: author of this entry"],
                "tier": 3,
            },
        },
    }


def _basic(statement: Mapping[str, Any]) -> dict[str, Any]:
    origin = statement["subject"]["domain"]["origin"]
    return {
        "name": statement["release"]["title"] or f"{FILL_IN}: name of the map",
        "data_curators": [
            {"data_curator_name": f"{FILL_IN}: who publishes", "data_curator_type": "Nonprofit"}
        ],
        "description": _description(statement),
        "intended_use": f"{FILL_IN}: what the map is for",
        "data_product_type": "Dataset",
        "data_product_region": f"{FILL_IN}: name of the region ({origin})",
        "publication_date": statement["release"]["created"][:10],
    }


def _privacy_loss(statement: Mapping[str, Any]) -> dict[str, Any]:
    guarantee = statement["guarantee"]
    return {
        "privacy_unit": f"One {guarantee['unit_word']}",
        "privacy_unit_details": f"{guarantee['neighbours']} {guarantee['protected']}",
        "number_of_privacy_units": guarantee["n"],
        "privacy_parameters": {"epsilon": guarantee["epsilon"], "delta": guarantee["delta"]},
        "privacy_parameters_details": _parameters(statement),
    }


def _stated(statement: Mapping[str, Any], name: str, otherwise: str) -> str:
    """What the curator stated, or something for a person to fill in or to confirm."""
    said = str(statement["evaluation"][name])
    return otherwise if said == UNSAID else said


def _model(statement: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": "A trusted curator holds the records and publishes the paths.",
        "trust_assumptions": _stated(
            statement,
            "trust_model",
            "The curator is trusted with the records; readers of the map are not.",
        ),
        "actors": _stated(
            statement,
            "actors",
            "The curator, who sees the records and the non-private map; and everybody else, who sees the "
            "published files and may know anything about other records.",
        ),
        "release_type": "One release",
        "release_type_details": _stated(
            statement,
            "further_releases",
            f"{FILL_IN}: further releases of the same records, if any are planned.",
        ),
        "data_source_type": "Static",
        "data_source_type_details": _stated(statement, "collection", "A fixed table of records."),
        "access_type": "Non-interactive",
        "access_type_details": "Readers move the threshold on the published paths: post-processing.",
    }


def _implementation(statement: Mapping[str, Any]) -> dict[str, Any]:
    rounds = words.plural(statement["design"]["smoothing"], "round")
    release = statement["release"]
    return {
        "preprocessing_and_hyperparameter_tuning": _tuning(statement),
        "mechanisms": _mechanism(statement),
        "composition": "Renyi differential privacy adds over paths and releases, order by order, and is "
        "converted to (epsilon, delta) once; a ledger composes all releases of the records. "
        f"Ledger entry: {statement['ledger']['entry'] or 'none'}.",
        "post_processing": f"Rounding to a public grid, smoothing over neighbouring cells ({rounds}), "
        "thresholding, dissolving to polygons, summaries over paths.",
        "justification": _stated(
            statement,
            "justification",
            f"{FILL_IN}: why this epsilon, unit and threshold. The scale of the noise is the least that "
            "meets the budget under the stated bound.",
        ),
        "utility": _utility(statement),
        "additional_information": " ".join((*release["notes"], *statement["attribution"])) or "None.",
    }


def _utility(statement: Mapping[str, Any]) -> str:
    if statement["expected"] is None:
        return (
            f"{FILL_IN}: agreement with a non-private map, measured on reference or simulated data (never on "
            f"the private records). {statement['evaluation']['bias']}"
        )
    return f"{statement['evaluation']['utility']} {statement['evaluation']['bias']}"


def _slug(text: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part) or "hexcursion-release"


def _description(statement: Mapping[str, Any]) -> str:
    subject, release = statement["subject"], statement["release"]
    value = subject["value"] or "a measured value"
    text = (
        f"Map of where {value} is {words.side_words(subject['direction'])} {threshold_words(statement)}, "
        f"on {subject['domain']['cells']:,} hexagons (H3 resolution {subject['domain']['resolution']}), with "
        f"{words.plural(statement['paths']['count'], 'released path')} of the field."
    )
    if release["generated"]:
        text += " Generated demo data: no real person is described."
    if release["simulation"]:
        text += " Simulation with a fixed seed: not a private release."
    return text


def _data_domain(statement: Mapping[str, Any]) -> str:
    origin = statement["response"]["origin"] or "origin not stated"
    return (
        f"Tables of {statement['guarantee']['n']:,} records, each a place in the public domain and a value; "
        f"values are mapped to [-1, 1] by a public centre and clip bound ({origin})."
    )


def _unprotected(statement: Mapping[str, Any]) -> str:
    return "\n".join(f"- {text}" for text in statement["guarantee"]["not_protected"]) + "\n"


def _parameters(statement: Mapping[str, Any]) -> str:
    guarantee = statement["guarantee"]
    lines = [f"Bound: {guarantee['bound']} ({guarantee['bound_source']}), proved.", guarantee["in_words"]]
    lines += [line["in_words"] for line in guarantee["groups"]]
    return "\n".join(f"- {line}" for line in lines) + "\n"


def _tuning(statement: Mapping[str, Any]) -> str:
    tuning = statement["tuning"]
    accounted = (
        "No privacy loss is left unaccounted."
        if tuning["accounted"]
        else "The privacy loss of the tuning is NOT accounted for."
    )
    return (
        f"- Domain: {statement['subject']['domain']['origin'] or 'origin not stated'}\n"
        f"- Centre and clip bound: {statement['response']['origin'] or 'origin not stated'}\n"
        f"- Tuning of the design: {tuning['kind']}. {tuning['detail']} {accounted}\n"
    )


def _mechanism(statement: Mapping[str, Any]) -> str:
    software, evaluation = statement["software"], statement["evaluation"]
    access = _stated(
        statement, "access", f"{FILL_IN}: security and access controls of the underlying records."
    )
    return (
        f"- {statement['design']['mechanism']}: {design_line(statement['design'])}.\n"
        f"- Implemented in {software['name']} {software['version']}.\n"
        f"- {evaluation['randomness']}\n"
        f"- {evaluation['floating_point']}\n"
        "- Non-interactive: no timing channel is offered to readers.\n"
        f"- {access}\n"
    )
