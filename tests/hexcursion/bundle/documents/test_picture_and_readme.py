"""Picture, README and sizes of a bundle: what is drawn, how it is set, and how large a file may be."""

from __future__ import annotations

import io
import re
from base64 import b64decode

import numpy as np
from PIL import Image

from geo import Domain
from geo.colours import rgb
from hexcursion.bundle.layout import MAX_BYTES
from hexcursion.bundle.page.papers import picture_html, readme_text, without_picture
from hexcursion.bundle.products import MapValues, counted, products_at
from hexcursion.bundle.read import published_products
from hexcursion.bundle.statement.build import build_statement
from tests.hexcursion.bundle.bundle_samples import make_release


def test_the_picture_of_label_and_page_shows_every_class_and_its_legend(domain: Domain) -> None:
    """624 pixels wide, 32 colours at most, and in words how many hexagons each class has."""
    release = make_release(domain)
    products = published_products(build_statement(release), domain, MapValues(release.paths))
    drawn = picture_html(build_statement(release), domain, products)
    found = re.fullmatch(r'<img src="data:image/png;base64,([^"]+)" alt="([^"]+)">', drawn)
    assert found is not None
    assert found[2] == f"Map of the release. {counted(products)}"
    with Image.open(io.BytesIO(b64decode(found[1]))) as image:
        assert image.width == 624
        colours = image.convert("RGB").getcolors(32)
    assert colours is not None
    for role in ("above", "unsure", "below"):
        near = [many for many, ink in colours if max(np.abs(np.subtract(ink, rgb(role)))) <= 12]
        assert sum(near) > 300, role


def test_only_the_bytes_of_a_picture_are_passed_over() -> None:
    page = b'<p>a</p><img src="data:image/png;base64,AAAA" alt="Map">'
    assert without_picture(page) == '<p>a</p><img src="data:image/png;base64," alt="Map">'


def test_the_readme_indents_what_runs_on_below_its_column(domain: Domain) -> None:
    """File names stand in a column of 24 characters; lines that run on begin below the text."""
    release = make_release(domain)
    products = products_at(MapValues(release.paths), release.level, "above", cutoff=0.5)
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
