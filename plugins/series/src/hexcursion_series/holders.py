"""Bundles of several holders of records, read as one map: their released sums and noises are
added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import ADDED, add_sums
from dpgp_core.releasing import PublicFacts
from dpgp_core.releasing import Released as FieldAgain
from dpgp_core.spectral.cost import SpectralNoise
from geo import Domain
from hexcursion.bundle.again import check_again, stored_sums, sums_design, sums_facts
from hexcursion.bundle.products import MapValues, Products, products_at
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.untrusted import BundleError
from hexcursion_series.together import open_bundles

SAME_SUBJECT = ("value", "unit", "direction")
SAME_GUARANTEE = ("unit", "relation", "protects")


@dataclass(frozen=True, eq=False)
class Holders:
    """Bundles of one shared design and the map of all their records.

    The field and everything below it follow from the added sums, so they cost no privacy.
    """

    bundles: tuple[Bundle, ...]  # one for each holder, in the order of the sources
    digests: tuple[str, ...]  # SHA-256 of each bundle's SHA256SUMS
    threshold: float  # in the data's unit
    records: int  # number of records that the holders state together
    design: SpectralStatisticsDesign  # of the added sums: its mu is that of the added noise
    noise: SpectralNoise  # standard deviations of the added noise
    reading: FieldAgain  # the field given the added sums, response units
    products: Products  # of the field at the threshold

    @property
    def first(self) -> Bundle:
        """The bundle that provides title, question and layers."""
        return self.bundles[0]

    @property
    def domain(self) -> Domain:
        """The hexagons that all bundles cover."""
        return self.first.domain


def read_holders(
    sources: Sequence[str | Path | bytes],
    *,
    threshold: float | None = None,
    checked: bool = True,
) -> Holders:
    """Read the bundles of several holders as one map. Nothing private is read and nothing is charged.

    The added sums are those of all records with Gaussian noise of the added variances. The promise of
    each holder is that of the holder's bundle. `sources` are folder or zip of each, at least two;
    `threshold` is in the data's unit, that of the first bundle by default; `checked` says whether each
    bundle's map is first computed again from its sums. Raise `BundleError`, one sentence, for a bundle
    that cannot be read, holds no sums or has another design."""
    if len(sources) < 2:
        raise BundleError("Name the bundles of at least two holders.")
    opened, digests = open_bundles(sources)
    bundles = tuple(opened)
    for bundle in bundles[1:]:
        _refuse_other_design(bundles[0], bundle)
    refuse_unaddable(bundles[0])
    if len({stored_sums(bundle).kept.sums.tobytes() for bundle in bundles}) < len(bundles):
        raise BundleError("Two of these bundles are one release under two names: name each release once.")
    facts = sums_facts(bundles[0])
    if checked:
        for bundle in bundles:
            check_again(bundle, sums_facts(bundle, facts))
    level = bundles[0].threshold if threshold is None else float(threshold)
    response = bundles[0].response
    if not math.isfinite(level) or (response.transform == "log" and level <= 0):
        raise BundleError(f"A threshold must be a finite number in the data's unit, not {level:g}.")
    return _added(bundles, tuple(digests), level, facts)


def _added(
    bundles: tuple[Bundle, ...], digests: tuple[str, ...], threshold: float, facts: PublicFacts
) -> Holders:
    """Add the sums of bundles of one design, and read the field from them."""
    records = sum(int(bundle.statement["guarantee"]["n"]) for bundle in bundles)
    try:
        total = add_sums(
            [sums_design(bundle.statement) for bundle in bundles],
            [stored_sums(bundle).kept for bundle in bundles],
            replace(facts, n=records),
        )
    except (CoreError, ArithmeticError) as error:
        raise BundleError(f"These bundles cannot be added: {str(error).rstrip('.')}.") from error
    reading = total.reading.shifted(stored_sums(bundles[0]).public_mean)
    assert reading.mean is not None
    assert reading.sd is not None
    field = (reading.mean, reading.sd)
    products = products_at(
        MapValues(reading.mean[None, :], field, reading.map_draws, total.expected, reading.shown_map),
        float(bundles[0].response.forward(threshold)),
        bundles[0].statement["subject"]["direction"],
        cutoff=0.5,
    )
    return Holders(bundles, digests, threshold, records, total.design, total.noise, reading, products)


def refuse_unaddable(bundle: Bundle) -> None:
    """Raise `BundleError` for a release whose sums do not add, in one sentence."""
    design = sums_design(bundle.statement)
    reasons = (
        (not design.pool_mu, "A release without a shared design", "make one with `hexcursion design`"),
        (bool(design.first), "A release of two looks", "release with one look"),
        (
            bundle.statement["guarantee"]["unit"] != "point",
            "A release of hexagons' medians",
            "protect single records",
        ),
    )
    for refused, what, remedy in reasons:
        if refused:
            raise BundleError(f"{what} cannot be added to those of other holders: {remedy}.")


def _refuse_other_design(first: Bundle, other: Bundle) -> None:
    """Raise `BundleError` unless two bundles are of one public design and question."""
    title = repr(other.statement["release"]["title"])
    remedy = "release with the first holder's design file"
    if other.domain.cells != first.domain.cells:
        raise BundleError(f"{title} covers other hexagons than the first bundle: {remedy}.")
    scales = [(b.response.transform, b.response.centre, b.response.clip) for b in (first, other)]
    if scales[0] != scales[1]:
        raise BundleError(f"{title} clips or transforms values otherwise: {remedy}.")
    for part, names in (("subject", SAME_SUBJECT), ("guarantee", SAME_GUARANTEE)):
        for name in names:
            mine, theirs = first.statement[part][name], other.statement[part][name]
            if mine != theirs:
                raise BundleError(f"{title} has {name} {theirs!r}, the first bundle {mine!r}: {remedy}.")
    mine, theirs = (stored_sums(bundle).public_mean for bundle in (first, other))
    if mine is not theirs and (mine is None or theirs is None or not np.allclose(mine, theirs, atol=ADDED)):
        raise BundleError(f"{title} starts from another published map: {remedy}.")
    designs = [replace(sums_design(b.statement), mu=1.0, cutoff=0.5) for b in (first, other)]
    same_features = stored_sums(first).kept.features == stored_sums(other).kept.features
    if designs[0] != designs[1] or not same_features:
        raise BundleError(f"{title} releases sums of another design than the first bundle: {remedy}.")
