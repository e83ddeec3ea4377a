"""The plan that the program itself would carry out for some settings."""

from __future__ import annotations

from workflow.lint.plan import PlannedRelease
from workflow.settings import ReleaseSettings


def plan_from_settings(
    settings: ReleaseSettings, *, n: int | None = None, tuning: str | None = None
) -> PlannedRelease:
    """What a release with these settings would do.

    n       number of records, where it may be known (it counts as public)
    tuning  how the design was chosen, if it differs from what the settings say, e.g. "not accounted"

    Domain, lattice, entropy and ledger are as the program makes them; centre, clip, tuning and prior mean
    follow from the settings.
    """
    if settings.reference is None:
        reference = "simulated"
    else:
        reference = "public reference data" if settings.reference_public else "reference data"
    source = "not stated" if settings.reference is None else reference
    by_hand = settings.lengthscale is not None
    return PlannedRelease(
        name=settings.title,
        unit=settings.unit,
        epsilon=settings.epsilon,
        delta=settings.delta,
        delta_rule="given",
        n=n,
        n_handling="taken as public",
        domain="public",
        mask="none",
        scaling="public",
        selection="public",
        centre=source if settings.centre is None else "public",
        clip=source if settings.clip is None else "public",
        threshold="public",
        legend="released paths",
        prior_mean="public reference data" if settings.prior_mean else "none",
        tuning=tuning or ("not accounted" if settings.looked else "given" if by_hand else reference),
        seed="operating system",
        draws="once",
        bound="proved",
        ledger="before the result is shown",
        tooltips=("vote fraction",),
        exports=("released paths", "regions", "statement", "label"),
        records_per_person=2,
        group_stated=True,
    )
