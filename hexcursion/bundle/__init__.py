"""The bundle: the files of a release that leave the building, written whole and read without trust."""

from __future__ import annotations

from hexcursion.bundle.products import CONFIDENCE, Products, products_at, supports
from hexcursion.bundle.read import Bundle, read_bundle
from hexcursion.bundle.untrusted import BundleError, neutral_cell
from hexcursion.bundle.write import BundlePaths, write_bundle

__all__ = [
    "CONFIDENCE",
    "Bundle",
    "BundleError",
    "BundlePaths",
    "Products",
    "neutral_cell",
    "products_at",
    "read_bundle",
    "supports",
    "write_bundle",
]
