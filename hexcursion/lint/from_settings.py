"""The plan that the program itself would carry out for some settings."""

from __future__ import annotations

from dataclasses import replace

from hexcursion.lint.plan import Origin, PlannedRelease, TuningOrigin
from hexcursion.lint.recipes import CLEAN_RECIPE
from hexcursion.search.optimisation.unsearched import takes_fixed
from hexcursion.settings.defaults import usual_delta
from hexcursion.settings.model import ReleaseSettings


def plan_from_settings(
    settings: ReleaseSettings, *, n: int | None = None, tuning: TuningOrigin | None = None
) -> PlannedRelease:
    """What a release with these settings would do.

    Domain, lattice, entropy and ledger are as the program makes them (`CLEAN_RECIPE`); centre, clip, tuning
    and prior mean follow from the settings.

    Parameters
    ----------
    n
        number of records, where it may be known (it counts as public); `records_about` stands for it
    tuning
        how the design was chosen, if it differs from what the settings say, e.g. "not accounted"
    """
    about = settings.records_about  # stated where the true number is private
    n = n if about is None else about
    source: Origin = "not stated"
    if settings.reference is not None:
        source = "public reference data" if settings.reference_public else "reference data"
    return replace(
        CLEAN_RECIPE,
        name=settings.title,
        unit=settings.unit,
        epsilon=settings.epsilon,
        delta=usual_delta(n) if settings.delta is None and n is not None else settings.delta,
        n=n,
        n_handling="taken as public" if about is None else "public by nature",
        centre=source if settings.centre is None else "public",
        clip=source if settings.clip is None else "public",
        prior_mean="public reference data" if settings.prior_mean or settings.tries_public_map else "none",
        tuning=tuning or _tuned(settings),
        records_per_person=2,
    )


def _tuned(settings: ReleaseSettings) -> TuningOrigin:
    if settings.looked:
        return "not accounted"
    if settings.lengthscale is not None:
        return "given"
    if settings.reference is None:
        if settings.pays_for_a_look:
            return "private selection"
        return "fixed" if takes_fixed(settings) else "simulated"
    return "public reference data" if settings.reference_public else "reference data"
