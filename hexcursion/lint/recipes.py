"""Described plans: the paper's London recipe, which the lint must find fault with, and a clean one."""

from __future__ import annotations

from hexcursion.lint.plan import PlannedRelease

# Maciazek, arXiv:2606.17995 (2026), appendix D.2 and the author's published scripts: median log price per
# non-empty hexagon, centred at the threshold, hexagon centres normalised to the unit square, hyperparameters
# chosen on 2017 sales, epsilon at delta = n^-1.1 with n non-empty hexagons, paths from a fixed seed, only the
# non-empty hexagons drawn, the generic sensitivity with a constant that has no proof. n is about 600 there.
PAPER_RECORDS = 600
PAPER_LONDON_RECIPE = PlannedRelease(
    name="The paper's London recipe",
    unit="cell",
    epsilon=10.0,
    delta=PAPER_RECORDS**-1.1,
    delta_rule="function of n",
    n=PAPER_RECORDS,
    n_handling="taken as public",
    domain="public",
    mask="occupied cells",
    scaling="extent of the private data",
    selection="public",
    centre="threshold",
    clip="not stated",
    threshold="public",
    legend="public",
    prior_mean="none",
    tuning="reference data",
    seed="fixed",
    draws="once",
    bound="not proved",
    ledger="none",
    tooltips=(),
    exports=("regions",),
)

# What Hexcursion's own release transaction does with point records: nothing to find but that n is public.
CLEAN_RECIPE = PlannedRelease(
    name="A release of point records as the app makes it",
    unit="point",
    epsilon=1.0,
    delta=1e-7,
    delta_rule="given",
    n=20_000,
    n_handling="public by nature",
    domain="public",
    mask="none",
    scaling="public",
    selection="public",
    centre="public reference data",
    clip="public reference data",
    threshold="public",
    legend="released paths",
    prior_mean="public reference data",
    tuning="public reference data",
    seed="operating system",
    draws="once",
    bound="proved",
    ledger="before the result is shown",
    tooltips=("vote fraction",),
    exports=("released paths", "regions", "statement", "label"),
    records_per_person=10,
    group_stated=True,
)
