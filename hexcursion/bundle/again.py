"""Compute the field of a bundle and the density of its records again from the released sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.guarantee import priced_for
from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import read_again, records_again
from dpgp_core.releasing import GRID, PublicFacts
from dpgp_core.releasing import Released as FieldAgain
from dpgp_core.spectral.model_check import ModelCheck
from dpgp_core.spectral.prior import Law
from geo.context.surroundings import Surroundings
from hexcursion.bundle import layout
from hexcursion.bundle.density import Density
from hexcursion.bundle.page.drawn import Released
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.statement.change import change_block, change_follows
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.statement.expected import map_block, map_follows
from hexcursion.bundle.statement.guarantee import SLACK, check_noise, stated_owner
from hexcursion.bundle.sums import StoredSums
from hexcursion.bundle.tables import rounded_field
from hexcursion.bundle.untrusted import BundleError
from hexcursion.project.load import build_lattice

Floats = NDArray[np.float64]

TOLERANCE = 16.0 * GRID  # response units: far above what machines differ by
RELATIVE = 1e-4  # of a cell's deviation, likewise
# Of a chance that is a share of 400 replicates, a few of which may tie elsewhere
CHANCE_TOLERANCE = 0.02


NOT_COMPUTED = (
    "Not computed again here: what the release costs on its hexagons, and its map from the released sums. "
    "The command `hexcursion lint` does both."
)
LACKING = (
    f"The privacy statement tells nothing of {{what}}, which follows from {layout.RELEASED_SUMS}: ask the "
    "publisher for the bundle as this program wrote it."
)
NO_SUMS = "{title!r} holds no released sums: {why}."
TOO_OLD = "it was written by an earlier version of this program"
NO_MECHANISM = "its mechanism, {name}, releases none"


def stored_sums(bundle: Bundle) -> StoredSums:
    """The released sums of a bundle. Raise `BundleError` if it holds none: it says why."""
    if bundle.sums is None:
        name = bundle.statement["design"]["mechanism"]
        spectral = name == SpectralStatisticsDesign.mechanism
        why = TOO_OLD if spectral else NO_MECHANISM.format(name=name)
        raise BundleError(NO_SUMS.format(title=bundle.statement["release"]["title"], why=why))
    return bundle.sums


def sums_design(statement: Mapping[str, Any]) -> SpectralStatisticsDesign:
    """The design of a release that keeps sums. Raise `BundleError` if its mechanism releases
    none."""
    design = design_from(statement["design"])
    if not isinstance(design, SpectralStatisticsDesign):
        raise BundleError(f"{layout.RELEASED_SUMS} belongs to no release of {design.mechanism}.")
    return design


def sums_facts(bundle: Bundle, shared: PublicFacts | None = None) -> PublicFacts:
    """The public facts by which the sums of a bundle were made and are read. `shared`: those of a
    plan or of another bundle of the same cells, whose work is used again."""
    return _facts(bundle, sums_design(bundle.statement).law, shared)


def _facts(bundle: Bundle, law: Law, shared: PublicFacts | None = None) -> PublicFacts:
    guarantee = bundle.statement["guarantee"]
    lattice = build_lattice(bundle.domain) if shared is None else shared.lattice
    return PublicFacts(
        lattice,
        guarantee["n"],
        guarantee["relation"],
        places_public=guarantee["protects"] == "values",
        single=guarantee["unit"] == "cell",
        covariates=bundle.covariates,
        law=law,
        cache=None if shared is None else shared.cache,  # type: ignore[arg-type]
    )


def doubts(bundle: Bundle) -> tuple[str, ...]:
    """What makes a reader doubt a bundle whose files fit together: a sentence where its map does
    not follow from its released sums, or this machine cannot compute that. Raise `BundleError` as
    `check_price`."""
    facts = check_price(bundle)
    if bundle.sums is None:
        return ()
    try:
        check_again(bundle, facts)
    except BundleError as error:
        return (str(error),)
    return ()


def check_price(bundle: Bundle) -> PublicFacts:
    """Refuse a bundle that states a smaller cost than its design has on these hexagons. Return the
    facts.

    The cost is proved again from the design, the hexagons and the number of records: of paths also
    their leverage. So are the name and the source of the bound. Raise `BundleError`.
    """
    design, guarantee = design_from(bundle.statement["design"]), bundle.statement["guarantee"]
    facts = _facts(bundle, getattr(design, "law", "amount"))
    owned = replace(facts, owner=stated_owner(guarantee))
    try:
        proof = mechanism_of(design).guarantee(design, owned)
    except CoreError as error:
        raise BundleError(f"What is stated of the release has no proved price: {error}") from error
    proved = priced_for(proof.cost, owned.neighbours)
    if isinstance(design, PosteriorSamplingDesign) and guarantee["cost"]["distance"] == 0.0:
        # drawn in floating point, as before exact paths: the receipt says that no proof covers that
        proved = replace(proved, distance=0.0)
    check_noise(guarantee, proved, complete=bundle.is_complete)
    if bundle.is_complete and (guarantee["bound"], guarantee["bound_source"]) != (
        proof.bound,
        proof.source,
    ):
        raise BundleError("The privacy statement rests its cost on another bound than its mechanism does.")
    pairs = [part["leverage"] for part in _parts(guarantee["cost"]) if "leverage" in part]
    if proved.pairs is not None and pairs and min(pairs) < proved.pairs.leverage * (1.0 - SLACK):
        raise BundleError(
            "The privacy statement's leverage is smaller than that of its design on these hexagons: do not "
            "trust it."
        )
    return facts


def _parts(cost: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return cost.get("parts") or (cost,)


def field_again(bundle: Bundle, facts: PublicFacts | None = None) -> FieldAgain:
    """The field in response units, its check, and draws of the map without privacy, from released
    sums. `facts`: as `sums_facts` makes them, where they are at hand. Raise `BundleError` if there
    are no sums, if they are not those of the statement's design, or if this machine makes other
    features from it."""
    stored, design = stored_sums(bundle), sums_design(bundle.statement)
    try:
        read = read_again(design, sums_facts(bundle) if facts is None else facts, stored.kept)
    except (CoreError, ArithmeticError) as error:
        raise BundleError(
            f"{layout.RELEASED_SUMS} cannot be read again: {str(error).rstrip('.')}."
        ) from error
    return read.shifted(stored.public_mean)


def check_again(bundle: Bundle, facts: PublicFacts | None = None) -> None:
    """Refuse a bundle whose published field does not follow from its released sums. Raise
    `BundleError` as `field_again`, and if the computed numbers differ from the published ones."""
    check_follows(bundle, field_again(bundle, facts))


def check_follows(bundle: Bundle, follows: FieldAgain) -> None:
    """Refuse (`BundleError`) a bundle that publishes something else than what `follows` from its
    sums."""
    if (
        bundle.field is None
        or follows.mean is None
        or follows.sd is None
        or not all(
            # NaN does not follow
            np.all(np.abs(again - stated_values) <= TOLERANCE + RELATIVE * bundle.field[1])
            for again, stated_values in zip((follows.mean, follows.sd), bundle.field, strict=True)
        )
    ):
        raise BundleError(
            f"The map does not follow from {layout.RELEASED_SUMS}: one of them was changed, or an earlier "
            "version of this program read the sums otherwise."
        )
    _check_records(bundle.records, follows.records)
    _check_range(bundle, follows)
    _check_model(bundle, bundle.statement.get("told") or {}, follows.model_check)


def _check_model(bundle: Bundle, verdict: Mapping[str, Any], check: ModelCheck | None) -> None:
    """Refuse a statement whose model check or change differs from `check`, or that omits what it
    holds."""
    stated_check, changed = verdict.get("model"), verdict.get("change")
    if stated_check is None and check is not None and bundle.is_complete:
        raise BundleError(LACKING.format(what="its model"))
    if stated_check is not None and (
        check is None or abs(stated_check["chance"] - check.chance) > CHANCE_TOLERANCE
    ):
        raise BundleError(f"The stated check of the model does not follow from {layout.RELEASED_SUMS}.")
    change, records = None if check is None else check.change, bundle.records
    if changed is None:
        if change is not None and bundle.is_complete:
            raise BundleError(LACKING.format(what="a change since the public map"))
        return
    if change is None or records is None:
        raise BundleError(f"{layout.RELEASED_SUMS} says nothing of a change, and the statement does.")
    _check_records(records, change.records)
    change_again = change_block(change, bundle.response, bundle.statement["subject"])
    if not change_follows(changed, change_again):
        raise BundleError(f"The stated change does not follow from {layout.RELEASED_SUMS}.")


def _check_records(records: Floats | None, again: Floats | None) -> None:
    """Refuse expected numbers of records (N,) that are not those made from the sums, where both are
    there."""
    if records is None or again is None:
        return
    if not np.all(np.abs(records - again) <= TOLERANCE + RELATIVE * again):
        raise BundleError(f"The expected numbers of records do not follow from {layout.RELEASED_SUMS}.")


def _check_range(bundle: Bundle, follows: FieldAgain) -> None:
    """Refuse a statement whose agreement or range differs from what `follows` from the sums, or
    that omits one of them."""
    verdict = bundle.statement.get("told") or {}
    stated_map = verdict.get("map")
    ranged = stated_map is not None and "low" in stated_map
    if not verdict or not (ranged or bundle.is_complete):
        return
    judged = ("agreement", "right", "found")
    shown_map = None if follows.shown_map is None else rounded_field(*follows.shown_map)
    map_again = map_block(bundle.published, shown_map, follows.map_draws) or {}
    if stated_map is None:
        if map_again:
            raise BundleError(LACKING.format(what="its agreement"))
        return
    if ranged and not map_follows(stated_map, map_again):
        raise BundleError(f"The stated agreement does not follow from {layout.RELEASED_SUMS}.")
    if not ranged and map_again and not map_follows(stated_map, map_again, judged):
        raise BundleError(f"The stated agreement does not follow from {layout.RELEASED_SUMS}.")
    # A single path has no chances
    if not ranged and "low" in map_again and sums_design(bundle.statement).paths > 1:
        raise BundleError(LACKING.format(what="the range of its agreement"))


def holds_counts(bundle: Bundle) -> bool:
    """Whether a bundle can be asked where there are many records, besides its own question: it holds sums
    of single records, and is no density of them already, which would be stated twice
    and differently."""
    counts = bundle.statement["subject"].get("counts") or {}
    single = bundle.sums is not None and bundle.statement["guarantee"]["unit"] != "cell"
    return single and counts.get("per") != "area"


def density_if_any(bundle: Bundle, shared: PublicFacts | None = None) -> Density | None:
    """The density of a bundle's records, about one per square kilometre; None where it holds no
    counts, or none that can be read: `density_of` says why. `shared` as in `sums_facts`."""
    if not holds_counts(bundle):
        return None
    try:
        return density_of(bundle, 1.0, shared)
    except BundleError:  # a release is not lost for this: its page then shows the value alone
        return None


def released_of(bundle: Bundle, near: Surroundings, shared: PublicFacts | None = None) -> Released:
    """What the page draws of a bundle and its surroundings; `shared` as in `sums_facts`."""
    return Released(
        bundle.statement,
        bundle.domain,
        bundle.paths,
        bundle.field,
        near,
        bundle.draws,
        density_if_any(bundle, shared),
    )


def density_of(bundle: Bundle, above: float, shared: PublicFacts | None = None) -> Density:
    """Where there are more than `above` records per square kilometre, from the released counts of a
    bundle.

    `bundle`: checked; `above`: records per square kilometre, > 0; `shared` as in `sums_facts`.
    Raise `BundleError`, one sentence: for no density, and for a bundle without released counts of
    single records.
    """
    number = isinstance(above, Real) and not isinstance(above, bool)
    if not (number and math.isfinite(above) and above > 0):
        raise BundleError(
            "A density is a number of records per square kilometre, above 0: ask about another."
        )
    stored, design, guarantee = (
        stored_sums(bundle),
        sums_design(bundle.statement),
        bundle.statement["guarantee"],
    )
    if guarantee["unit"] == "cell":
        raise BundleError(
            "The records of this release are hexagons, so they have no density: ask about places."
        )
    try:
        mean, sd = records_again(design, sums_facts(bundle, shared), stored.kept)
    except (CoreError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise BundleError(
            f"{layout.RELEASED_SUMS} cannot be read again: {str(error).rstrip('.')}."
        ) from error
    return Density(bundle.domain, float(above), mean, sd, guarantee["unit_word"])
