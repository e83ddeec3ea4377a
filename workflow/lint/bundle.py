"""The lint of a written bundle: what its statement admits, and what its files hold beyond it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from geo import GeoError, domain_from_geojson, geometry_dict
from geo.geojson import rfc7946_findings
from workflow.bundle import Bundle, layout
from workflow.bundle.archive import contents_of
from workflow.bundle.maps import cell_properties
from workflow.bundle.read import bundle_from_contents
from workflow.bundle.schema_check import strict_json
from workflow.bundle.statement import facts
from workflow.bundle.write import REDRAW_PATH
from workflow.lint.checks import LEAK, NOTE, SEVERITIES, WARNING, Finding, lint
from workflow.lint.plan import CHOICES, NOT_STATED, PlannedRelease

READERS = "everyone who gets the files"
TEXTS = (layout.STATEMENT, layout.REGISTRY, layout.LABEL, layout.README, layout.ATTRIBUTION)
_SEED = re.compile(r"\bseed\b[\"'\s:=]{1,4}\d", re.IGNORECASE)
_ACTIVE = re.compile(
    r"<\s*(script|iframe|object|embed|link|img|form)\b|\bon\w+\s*=|javascript:|https?://", re.I
)
# Cells whose centre lies on the rounded outline of the region may fall either way.
EDGE_SHARE = 0.005


def lint_bundle(source: str | Path | bytes | BinaryIO) -> list[Finding]:
    """Findings about a bundle's folder or zip; BundleError with one sentence if it is not a valid bundle."""
    contents = contents_of(source)
    bundle = bundle_from_contents(contents)
    found = lint(plan_from_bundle(bundle))
    for check in (_attributes, _texts, _active_content, _script, _geojson):
        found += check(contents, bundle)
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def plan_from_bundle(bundle: Bundle) -> PlannedRelease:
    """What a bundle shows of how its release was made; what cannot be seen in it counts as done right."""
    statement, protection = bundle.statement, bundle.statement["protection"]
    tuning = statement["tuning"]["kind"]
    origin = "public" if statement["response"]["origin"] else NOT_STATED
    return PlannedRelease(
        name=statement["release"]["title"],
        unit=protection["unit"],
        epsilon=protection["epsilon"] or None,
        delta=protection["delta"],
        delta_rule="given",
        n=protection["n"],
        n_handling="taken as public",
        domain=_domain_origin(bundle),
        mask="none",
        scaling="public",
        selection="public",
        centre=origin,
        clip=origin,
        threshold="public",
        legend="released paths",
        prior_mean="public reference data" if statement["prior_mean_used"] else "none",
        tuning=tuning if tuning in CHOICES["tuning"] else NOT_STATED,
        seed="fixed" if statement["release"]["simulation"] else "operating system",
        draws="once",
        bound="proved",
        ledger="before the result is shown" if statement["ledger"]["entry"] else "none",
        group_stated=bool(protection["group"]),
        records_per_person=2,
    )


def _domain_origin(bundle: Bundle) -> str:
    """Whether the cells fill the public region; a region with gaps looks like a mask of occupied cells."""
    try:
        filled = domain_from_geojson(geometry_dict(bundle.domain.region), bundle.domain.resolution).cells
    except GeoError:
        return NOT_STATED
    missing = set(filled) - set(bundle.domain.cells)
    return "occupied cells" if len(missing) > max(2, EDGE_SHARE * len(filled)) else "public"


def _attributes(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[Finding]:
    """Properties of features that no release writes: the place where counts and medians would hide."""
    stated = set(facts(dict(bundle.statement)))
    expected = {
        layout.CELLS: {"h3", *cell_properties(bundle.published)} | stated,
        layout.REGIONS: {"product", "path", "cells"} | stated,
        layout.BOUNDARY: {"product"} | stated,
    }
    for name, known in expected.items():
        collection: dict[str, Any] = strict_json(contents[name], name)
        features = collection["features"]
        extra = {key for feature in features for key in feature.get("properties") or {}} - known
        extra |= {key for feature in features for key in feature} - {"type", "id", "properties", "geometry"}
        extra |= set(collection) - {"type", "bbox", "features"}
        for key in sorted(extra):
            yield Finding(
                "attribute-not-released",
                f"{key[:60]!r} in {name}: it is not computed from the released paths.",
                READERS,
                "Publish the bundle as it was written; never join other columns to it.",
                LEAK,
            )


def _texts(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[Finding]:
    for name in TEXTS:
        if _SEED.search(contents[name].decode("utf-8", "replace")):
            yield Finding(
                "seed-in-text",
                f"What looks like a random seed, in {name}.",
                READERS,
                "Remove it; if a release was drawn from it, treat that release as not private.",
                LEAK,
            )


def _active_content(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[Finding]:
    page = contents[layout.LABEL].decode("utf-8", "replace").replace("http://www.w3.org/2000/svg", "")
    body = page.partition("</head>")[2]
    if _ACTIVE.search(re.sub(r">[^<]*<", "><", body)):
        yield Finding(
            "label-not-still",
            f"Who opens {layout.LABEL}, and when: the page holds a script or asks another machine.",
            "whoever that machine belongs to",
            "Make the label anew from the statement.",
            LEAK,
        )


def _script(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[Finding]:
    if contents[layout.REDRAW] != REDRAW_PATH.read_bytes():
        yield Finding(
            "script-changed",
            f"Unknown: {layout.REDRAW} is not the script of this version, and people run it.",
            "whoever runs it",
            "Compare it with the published program before running it.",
            WARNING,
        )


def _geojson(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[Finding]:
    for name in (layout.CELLS, layout.REGIONS, layout.BOUNDARY):
        for problem in rfc7946_findings(strict_json(contents[name], name))[:1]:
            yield Finding(
                "geojson-not-rfc7946",
                f"Nothing; but {name} is not RFC 7946: {problem}",
                "readers whose program refuses it",
                "Write the bundle again.",
                NOTE,
            )
