"""Picture, README and sizes of a bundle: what is drawn, how it is set, and how large a file may be."""

from __future__ import annotations

import re

import numpy as np
import pytest

from geo import Domain, domain_from_bbox, geometry_dict
from hexcursion.bundle.layout import MAX_BYTES
from hexcursion.bundle.page.label import picture_svg
from hexcursion.bundle.page.papers import readme_text
from hexcursion.bundle.products import products_at
from hexcursion.bundle.published.bundle_store import open_bundle
from hexcursion.bundle.read import published_products
from hexcursion.bundle.statement.build import build_statement
from pages.shared.shipped import BUNDLE
from tests.hexcursion.bundle.bundle_samples import make_release


def test_the_picture_draws_the_domain_the_set_and_the_boundary(domain: Domain) -> None:
    """Every path has points, and the widest of them reaches from 0 to 920 units."""
    release = make_release(domain)
    products = published_products(build_statement(release), domain, release.paths)
    paths = re.findall(
        r'<path d="([^"]*)" fill', picture_svg(domain.cells, release.region, products, "£442,413")
    )
    assert len(paths) >= 3
    extents = []
    for path in paths:
        points = np.array([pair.split(",") for pair in re.findall(r"[-\d.]+,[-\d.]+", path)], dtype=float)
        assert points.shape[0] >= 4
        extents += [points[:, 0].min(), points[:, 0].max()]
    assert min(extents) == 0.0
    assert max(extents) == 920.0


def test_the_picture_is_as_high_as_the_domain_is_and_its_legend_stands_below() -> None:
    """920 units wide; where a place is higher than 1.4 times its width, 1,288 high and narrower."""
    for box, width, height in (((-0.2, 51.45, 0.0, 51.51), 920, 478), ((-0.05, 51.3, 0.0, 51.5), 244, 1_288)):
        domain = domain_from_bbox(*box, 8)
        release = make_release(domain)
        products = published_products(build_statement(release), domain, release.paths)
        drawn = picture_svg(domain.cells, release.region, products, "£442,413")
        path = re.search(r'<path d="([^"]*)" fill', drawn)
        assert path is not None
        points = np.array([pair.split(",") for pair in re.findall(r"[-\d.]+,[-\d.]+", path[1])], dtype=float)
        assert np.ptp(points, axis=0).tolist() == pytest.approx([width, height], abs=1.0)
        assert points.min() >= 0.0
        below = re.search(r'viewBox="-4 -4 928 (\d+)"', drawn)
        assert below is not None
        assert height + 20 < int(below[1]) < height + 240


def test_the_lines_of_the_legend_are_no_wider_than_the_picture() -> None:
    """In the widest of the label's fonts a letter is 0.62 of the size on the mean; longer lines are cut."""
    bundle = open_bundle(BUNDLE).bundle
    drawn = picture_svg(
        bundle.domain.cells, geometry_dict(bundle.domain.region), bundle.published, "£442,413"
    )
    lines = re.findall(r'<text x="(\d+)" y="\d+" font-size="24"[^>]*>([^<]*)</text>', drawn)
    assert [words for _, words in lines] == [
        "165: likely above £442,413 (chance of at least 80 %)",
        "92: open (chance between 20 and 80 %)",
        "172: likely not above £442,413 (chance of at most 20 %)",
        "459: no record expected there",
        "888 hexagons in all",
    ]
    for left, words in lines:
        assert int(left) + 0.62 * 24 * len(words) < 924


def test_the_readme_indents_what_runs_on_below_its_column(domain: Domain) -> None:
    """File names stand in a column of 24 characters; lines that run on begin below the text."""
    release = make_release(domain)
    products = products_at(release.paths, release.level, "above", cutoff=0.5)
    lines = readme_text(build_statement(release), products).splitlines()
    at = lines.index("Files")
    listed = lines[at + 1 : lines.index("", at)]
    assert len([line for line in listed if not line.startswith(" ")]) >= 12
    assert any(line.startswith(" ") for line in listed)
    for line in listed:
        assert line[23] == " ", line
        assert line[24] != " ", line


def test_the_largest_size_of_every_file() -> None:
    """Megabytes of 1,000,000 bytes."""
    sizes = {name: size / 1_000_000 for name, size in MAX_BYTES.items()}
    assert {name: size for name, size in sizes.items() if size != 1} == {
        "cells.geojson": 300, "regions.geojson": 300, "boundary.geojson": 50, "paths.parquet": 400,
        "draws.parquet": 200, "sums.parquet": 20, "public_field.csv": 20, "covariates.csv": 60,
        "layers.geojson": 3,
        "statement.json": 2, "label.html": 10, "map.png": 30, "map.html": 3, "SHA256SUMS.sig": 0.001,
    }  # fmt: skip
