"""The lint of a written bundle: its statement, and whatever its files hold beyond the statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from geo import GeoError, domain_from_geojson, geometry_dict, rfc7946_findings
from hexcursion.bundle import Bundle, again, layout
from hexcursion.bundle.atlas.page import atlas_papers
from hexcursion.bundle.atlas.read import atlas_doubts, atlas_facts, atlas_from_contents
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layers import cell_properties
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.page.label import label_html
from hexcursion.bundle.page.papers import attribution_text, picture_frame, readme_text, without_picture
from hexcursion.bundle.published.bundle_store import is_page_of, page_of
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.build import facts
from hexcursion.bundle.untrusted import strict_json
from hexcursion.lint import checks

READERS = "everyone who gets the files"
TEXTS = (layout.STATEMENT, layout.LABEL, layout.README, layout.ATTRIBUTION)
_SEED = re.compile(r"\bseed\b[\"'\s:=]{1,4}\d", re.IGNORECASE)
_ACTIVE = re.compile(
    r"<\s*(script|iframe|object|embed|link|img(?! src=\"data:image/png;base64,)|form)\b"
    r"|\bon\w+\s*=|javascript:|https?://",
    re.I,
)
# Share of cells with a centre on the rounded outline of the region, which may be in or out.
EDGE_SHARE = 0.005


def lint_bundle(source: str | Path | bytes | BinaryIO) -> list[checks.Finding]:
    """Return findings about a bundle's folder or zip, the gravest first; `BundleError` if it is
    not valid."""
    contents = contents_of(source)
    if layout.is_atlas(contents):
        return _lint_atlas(contents)
    bundle = bundle_from_contents(contents)
    doubts = again.doubts(bundle)
    findings = checks.lint(plan_from_bundle(bundle))
    for check in (_attributes, _texts, _papers, _active_content, _geojson, _unknown):
        findings += check(contents, bundle)
    findings += map(_doubted, doubts)
    return sorted(findings, key=lambda finding: checks.SEVERITIES.index(finding.severity))


def _lint_atlas(contents: Mapping[str, bytes]) -> list[checks.Finding]:
    """Findings about an atlas: those of each layer as a bundle of its column, and those of the
    papers of all layers."""
    atlas = atlas_from_contents(contents)
    doubts = atlas_doubts(atlas)
    findings = checks.lint(plan_from_bundle(atlas.layers[0]))
    for number, bundle in enumerate(atlas.layers, 1):
        files = {name: contents[layout.of_layer(name, number)] for name in layout.LAYER_FILES}
        label = label_html(bundle.statement, bundle.published, picture_frame(bundle.published))
        paper = layout.of_layer(layout.LABEL, number)
        findings += _features(files, bundle, {layout.CELLS, layout.REGIONS}, f" of layer {number}")
        findings += _differing(paper, contents[paper], label.encode())
        findings += _active_content(files, bundle)
    boundary = {layout.BOUNDARY: contents[layout.BOUNDARY]}
    findings += _features(boundary, atlas.layers[0], {layout.BOUNDARY}, "", atlas_facts(atlas.statement))
    findings += _texts(contents, atlas.layers[0])
    for name, text in atlas_papers(atlas).items():
        findings += _differing(name, contents[name], text)
    findings += map(_doubted, doubts)
    return sorted(findings, key=lambda finding: checks.SEVERITIES.index(finding.severity))


def plan_from_bundle(bundle: Bundle) -> checks.PlannedRelease:
    """The plan of a bundle's release, as far as the bundle shows it; the rest is `UNSEEN`."""
    statement, protection = bundle.statement, bundle.statement["guarantee"]
    tuning = statement["tuning"]["kind"]
    origin: checks.Origin = "public" if statement["response"]["origin"] else checks.NOT_STATED
    return checks.PlannedRelease(
        name=statement["release"]["title"],
        unit=protection["unit"],
        epsilon=protection["epsilon"] or None,
        delta=protection["delta"],
        delta_rule=checks.UNSEEN,
        n=protection["n"],
        n_handling="taken as public" if protection["n_is_public"] else "accounted",
        domain=_domain_origin(bundle),
        mask=checks.UNSEEN,
        scaling=checks.UNSEEN,
        selection=checks.UNSEEN,
        centre=origin,
        clip=origin,
        threshold=checks.UNSEEN,
        legend=checks.UNSEEN,
        prior_mean="public reference data" if statement["prior_mean_used"] else "none",
        tuning=tuning if tuning in checks.CHOICES["tuning"] else checks.NOT_STATED,
        seed="fixed" if statement["release"]["simulation"] else checks.UNSEEN,
        draws=checks.UNSEEN,
        bound="proved",
        ledger="before the result is shown" if statement["ledger"]["entry"] else "none",
        group_stated=bool(protection["groups"]),
        records_per_person=2,  # unknown, so the statement must give the group guarantee
    )


def _domain_origin(bundle: Bundle) -> checks.Cells:
    """Whether the cells fill the public region; gaps look like a mask of occupied cells."""
    try:
        filled = domain_from_geojson(geometry_dict(bundle.domain.region), bundle.domain.resolution).cells
    except GeoError:
        return checks.NOT_STATED
    missing = set(filled) - set(bundle.domain.cells)
    return "occupied cells" if len(missing) > max(2, EDGE_SHARE * len(filled)) else "public"


def _attributes(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[checks.Finding]:
    """Properties of features that no release writes: counts and medians would hide there."""
    return _features(contents, bundle, {layout.CELLS, layout.REGIONS, layout.BOUNDARY})


def _features(
    contents: Mapping[str, bytes],
    bundle: Bundle,
    names: Collection[str],
    of: str = "",
    about: Mapping[str, Any] | None = None,
) -> Iterator[checks.Finding]:
    """The same findings for some files of a bundle, `of` one layer; `about` are the facts of its
    release, by default those of the bundle's statement."""
    expected = {
        layout.CELLS: {"h3", *cell_properties(bundle.published)},
        layout.REGIONS: {"product", "path", "cells"},
        layout.BOUNDARY: {"product"},
    }
    stated_facts = set(facts(bundle.statement) if about is None else about)
    for name in sorted(names):
        collection: dict[str, Any] = strict_json(contents[name], name)
        features = collection["features"]
        extra = {key for feature in features for key in feature.get("properties") or {}}
        extra -= expected[name]
        extra |= {key for feature in features for key in feature} - {"type", "id", "properties", "geometry"}
        extra |= set(collection) - {"type", "bbox", "features", "release"}
        release = collection.get("release")
        extra |= set(release) - stated_facts if isinstance(release, dict) else set()
        for key in sorted(extra):
            yield checks.Finding(
                "attribute-not-released",
                f"{key[:60]!r} in {name}{of}: it is not computed from the released paths.",
                READERS,
                "Publish the bundle as it was written; never join other columns to it.",
                checks.LEAK,
            )


def _unknown(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[checks.Finding]:
    """Files of formats that only another installation knows: this one cannot check them."""
    for name in layout.added_files(contents):
        if name not in EXPORTS:
            yield checks.Finding(
                "format-not-known",
                f"{name}: this program does not know its format, so nothing says that it holds no more than "
                "the released paths.",
                READERS,
                "Install the package that wrote it and look again, or publish the bundle without it.",
                checks.WARNING,
            )


def _texts(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[checks.Finding]:
    for name in TEXTS:
        if _SEED.search(contents[name].decode("utf-8", "replace")):
            yield checks.Finding(
                "seed-in-text",
                f"What looks like a random seed, in {name}.",
                READERS,
                "Remove it; if a release was drawn from it, treat that release as not private.",
                checks.LEAK,
            )


def _papers(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[checks.Finding]:
    """Papers that differ from the statement; another version of this program may word them anew."""
    statement = dict(bundle.statement)
    if not bundle.is_complete:
        yield checks.Finding(
            "papers-not-compared",
            "Unknown: an earlier version wrote this bundle, so its papers are not compared here.",
            "everyone who reads them instead of the statement",
            "Read the statement or the viewer, which are checked.",
            checks.NOTE,
        )
        return
    papers = {
        layout.README: readme_text(statement, bundle.published).encode(),
        layout.ATTRIBUTION: attribution_text(statement).encode(),
        layout.LABEL: label_html(statement, bundle.published, picture_frame(bundle.published)).encode(),
    }
    page = contents.get(layout.PAGE)
    if page is not None and not is_page_of(page, bundle):
        papers[layout.PAGE] = page_of(bundle)
    for name, text in papers.items():
        yield from _differing(name, contents[name], text)


def _differing(name: str, content: bytes, expected: bytes) -> Iterator[checks.Finding]:
    """A paper that differs, apart from its picture, from the one `expected` by the statement."""
    if without_picture(content) != without_picture(expected):
        yield checks.Finding(
            "paper-changed",
            f"Unknown: {name} does not say what the checked statement says.",
            "everyone who reads it instead of the statement",
            "Read the statement or the viewer; ask the curator if a person completed the file.",
            checks.WARNING,
        )


def _doubted(doubt: str) -> checks.Finding:
    """A map that does not follow from its bundle's sums, or that this machine cannot recompute."""
    return checks.Finding(
        "sums-not-followed",
        f"Unknown: {doubt}",
        "everyone who reads this release together with others",
        "Get the bundle again from where it was published; compute on the machine that wrote it.",
        checks.WARNING,
    )


def _active_content(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[checks.Finding]:
    page = without_picture(contents[layout.LABEL]).replace("http://www.w3.org/2000/svg", "")
    body = page.partition("</head>")[2]
    if _ACTIVE.search(re.sub(r">[^<]*<", "><", body)):
        yield checks.Finding(
            "label-not-still",
            f"Who opens {layout.LABEL}, and when: the page holds a script or asks another machine.",
            "whoever that machine belongs to",
            "Make the label anew from the statement.",
            checks.LEAK,
        )


def _geojson(contents: Mapping[str, bytes], bundle: Bundle) -> Iterator[checks.Finding]:
    for name in (layout.CELLS, layout.REGIONS, layout.BOUNDARY):
        for problem in rfc7946_findings(strict_json(contents[name], name))[:1]:
            yield checks.Finding(
                "geojson-not-rfc7946",
                f"Nothing; but {name} is not RFC 7946: {problem}",
                "readers whose program refuses it",
                "Write the bundle again.",
                checks.NOTE,
            )
