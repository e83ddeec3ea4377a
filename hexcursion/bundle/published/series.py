"""Released sums as the reading over time takes them: which releases it reads, their periods and the prior."""

from __future__ import annotations

from collections.abc import Sequence

from dpgp_core.mechanisms.spectral_release import prepared_plan, public_counts_of, spectral_model
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.series import SeriesPrior
from dpgp_core.spectral.series_states import Period
from hexcursion.bundle.again import stored_sums, sums_design
from hexcursion.bundle.products import Floats
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.untrusted import BundleError

LEVEL, SHIFT = 1.0, 0.1
"""Deviations of what all cells have in common, and of its change from period to period, over the field's."""

ABOUT_A_MAP = 0.5
"""Deviation of the field about a public map, over the field's own: the releases choose near it."""


def refuse_unreadable(bundle: Bundle, *, reference: bool = False) -> None:
    """Refuse a release that does not tell values themselves, for a series or as a `reference`. Raise
    `BundleError`, one sentence."""
    design = sums_design(bundle.statement)
    for applies, what, instead in (
        (
            design.law != "amount" or "answers" in bundle.statement["subject"],
            "Answers of yes and no, and counts,",
            "release amounts",
        ),
        (
            bool(getattr(design, "reaches", ())),
            "Atlases with answers or weights",
            "release amounts of one weight",
        ),
        (bool(design.first), "Releases of two looks", "release with one look"),
        (
            "relative" in bundle.statement["subject"],
            "Releases relative to a public field",
            "release plain values",
        ),
    ):
        if applies and reference:
            raise BundleError(f"{what} cannot stand in for reference data yet: name another reference.")
        if applies:
            raise BundleError(f"{what} are not read together yet: {instead}.")


def periods_of(
    bundles: Sequence[Bundle], facts: Sequence[PublicFacts], times: Sequence[float]
) -> tuple[list[Period], SpectralModel]:
    """Each release as the reading takes it, and the domain's model, which all share."""
    periods = []
    for bundle, public_facts, time in zip(bundles, facts, times, strict=True):
        stored, response = stored_sums(bundle), bundle.response
        plan = prepared_plan(sums_design(bundle.statement), public_facts)
        mean = stored.public_mean
        nodes = plan.nodes
        at_nodes = None if mean is None else nodes.gather(mean) / nodes.cells_per_node
        periods.append(
            Period(
                time,
                plan,
                stored.kept.again(plan.features),
                public_counts_of(public_facts, stored.kept),
                response.centre,
                response.clip,
                at_nodes,
            )
        )
    return periods, spectral_model(facts[0])


def prior_of(bundles: Sequence[Bundle], model: SpectralModel) -> tuple[SeriesPrior, Floats | None]:
    """The prior of the newest release's design in the unit of values, and the oldest one's map, (M,)."""
    last, first = bundles[-1], bundles[0]
    design, response, stored = sums_design(last.statement), last.response, stored_sums(last)
    field, nodes = stored.kept.field, model.nodes
    if field is None:
        deviation = response.clip * design.spread * design.amplitude
        scatter, lengthscale = design.ridge * deviation, design.lengthscale
    else:
        deviation, scatter = response.clip * field.deviation, response.clip * field.scatter
        lengthscale = field.lengthscale
    mean = stored_sums(first).public_mean
    if mean is not None:
        around = first.response.centre + first.response.clip * nodes.gather(mean) / nodes.cells_per_node
        own_sd = ABOUT_A_MAP * deviation
        return SeriesPrior(
            design.prior, lengthscale, 0.0, own_sd, scatter, level=LEVEL * own_sd, shift=SHIFT * deviation
        ), around
    middle = response.centre + response.clip * design.middle
    return SeriesPrior(
        design.prior,
        lengthscale,
        middle,
        deviation,
        scatter,
        level=LEVEL * deviation,
        shift=SHIFT * deviation,
    ), None
