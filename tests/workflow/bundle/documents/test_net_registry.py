"""Small rules of the papers: names for an address, dates, lines inside a picture, columns of a text."""

from __future__ import annotations

import numpy as np
import pytest

from geo import Domain
from tests.workflow.bundle.bundle_samples import make_release
from workflow.bundle.documents.papers import readme_text
from workflow.bundle.documents.picture_layers import _inside
from workflow.bundle.documents.registry import _slug, registry_entry
from workflow.bundle.statement.build import build_statement
from workflow.bundle.statement.designs import design_line


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("hx-20261121-7f3a", "hx-20261121-7f3a"),
        ("Größe & Straße 9", "gr-e-stra-e-9"),
        ("--A  b--", "a-b"),
        ("ß²", "hexcursion-release"),
        ("", "hexcursion-release"),
    ],
)
def test_an_address_has_letters_and_digits_that_everybody_can_type(text: str, slug: str) -> None:
    assert _slug(text) == slug


def test_the_draft_says_the_day_and_the_numbers_of_the_release(domain: Domain) -> None:
    """Created at 2026-11-21T09:30:00Z."""
    entry = registry_entry(build_statement(make_release(domain)))
    deployment = entry["deployment"]
    assert deployment["basic"]["publication_date"] == "2026-11-21"
    assert deployment["privacy_loss"]["number_of_privacy_units"] == 30_123
    assert deployment["privacy_loss"]["privacy_parameters"]["delta"] == 1e-5
    assert deployment["administrative"]["tier"] == 3
    assert deployment["dp_variant"]["data_domain"].startswith("Tables of 30,123 records, each a place in")
    said = deployment["basic"]["description"]
    assert "on 122 hexagons (H3 resolution 8), with 12 released paths of the field." in said
    assert "Generated" not in said
    assert "Simulation" not in said


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ([(2, -3), (2, 20)], [[[2, 0], [2, 8]]]),
        ([(-3, 2), (20, 2)], [[[0, 2], [10, 2]]]),
        ([(1, 0.5), (9, 0.5)], [[[1, 0.5], [9, 0.5]]]),
        ([(0.5, 1), (0.5, 7)], [[[0.5, 1], [0.5, 7]]]),
        ([(11, 2), (20, 2)], []),
        ([(2, 4), (30, 4), (30, 6), (2, 6)], [[[2, 4], [10, 4]], [[10, 6], [2, 6]]]),
    ],
)
def test_a_line_is_drawn_as_far_as_the_frame_goes(
    line: list[tuple[float, float]], parts: list[list[list[float]]]
) -> None:
    """A frame of 10 by 8 units."""
    found = _inside(np.array(line, dtype=float), 0.1, 10.0, 8.0)
    assert [part.tolist() for part in found] == parts


def test_the_readme_indents_its_products_below_their_column(domain: Domain) -> None:
    """Names of products stand in a column of 10 characters."""
    lines = readme_text(build_statement(make_release(domain))).splitlines()
    at = lines.index("Products in regions.geojson")
    listed = lines[at + 1 : lines.index("", at)]
    assert [line[:10].rstrip() for line in listed if line[0] != " "] == [
        "path", "vote-set", "vorobev", "inner", "outer",
    ]  # fmt: skip
    assert any(line.startswith(" ") for line in listed)
    assert {(line[9], line[10] == " ") for line in listed} == {(" ", False)}


def test_a_design_says_its_cutoff_in_four_digits(domain: Domain) -> None:
    design = build_statement(make_release(domain))["design"] | {"cutoff": 0.123456}
    assert design_line(design).endswith(", 12 paths, smoothing 1 round, cutoff 0.1235")
