"""`python -m hexcursion lint`: the leak lint on a plan, a bundle, or the paper's own recipe."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hexcursion.lint import checks
from hexcursion.lint.bundle import lint_bundle
from hexcursion.search.score import takes_fixed
from hexcursion.settings.model import ReleaseSettings, read_toml
from hexcursion.settings.names import usual_delta
from hexcursion.words import plural

# Maciazek, arXiv:2606.17995 (2026), appendix D.2 and the author's published scripts: median log
# price per non-empty hexagon, centred at the threshold, hexagon centres normalised to the unit
# square, hyperparameters chosen on 2017 sales, epsilon at delta = n^-1.1 with n non-empty hexagons,
# paths from a fixed seed, only the non-empty hexagons drawn, the generic sensitivity with a
# constant that has no proof. n is about 600 there.
PAPER_RECORDS = 600
PAPER_LONDON_RECIPE = checks.PlannedRelease(
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

# The release transaction of Hexcursion with point records: its only finding is that n is public.
CLEAN_RECIPE = checks.PlannedRelease(
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


def plan_from_settings(
    settings: ReleaseSettings, *, n: int | None = None, tuning: checks.TuningOrigin | None = None
) -> checks.PlannedRelease:
    """Describe the release that these settings would make.

    Domain, lattice, entropy and ledger are those of the program (`CLEAN_RECIPE`); centre, clip,
    tuning and prior mean follow from the settings. `n` is taken as public; `records_about` replaces
    it. `tuning` overrides the choice of the design that the settings describe, e.g. "not
    accounted".
    """
    about = settings.records_about  # stated if the true number is private
    n = n if about is None else about
    source: checks.Origin = "not stated"
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


def _tuned(settings: ReleaseSettings) -> checks.TuningOrigin:
    if settings.looked:
        return "not accounted"
    if settings.lengthscale is not None:
        return "given"
    if settings.reference is None:
        if settings.pilot is not None:
            return "private selection"
        return "fixed" if takes_fixed(settings) else "simulated"
    return "public reference data" if settings.reference_public else "reference data"


def add_lint_command(subparsers: Any) -> None:
    """Add `lint` to the command line; its `run` takes the parsed arguments and returns the exit
    code."""
    parser = subparsers.add_parser(
        "lint",
        help="look for leaks in a planned release or a bundle",
        description="Look for leaks outside the mechanism: in a planned release (a TOML file that says\n"
        "where each part comes from), in a bundle (folder or zip), or in the paper's London\n"
        "recipe. Ends with exit code 1 when something leaks.",
        epilog=_words(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument(
        "source", nargs="?", metavar="PLAN.toml|BUNDLE", help="plan, bundle folder or bundle zip"
    )
    subject.add_argument(
        "--paper", action="store_true", help="lint a description of the paper's London recipe"
    )
    parser.set_defaults(run=run_lint)


def run_lint(options: argparse.Namespace) -> int:
    """Print the findings; 1 if anything leaks, else 0."""
    if options.paper:
        title, findings = PAPER_LONDON_RECIPE.name, checks.lint(PAPER_LONDON_RECIPE)
    elif options.source.endswith(".toml"):
        plan = checks.plan_from_mapping(read_toml(options.source, "plan"))
        title, findings = options.source, checks.lint(plan)
    else:
        title, findings = options.source, lint_bundle(options.source)
    print(report(title, findings))
    return 1 if any(finding.severity == checks.LEAK for finding in findings) else 0


def report(title: str, findings: Sequence[checks.Finding]) -> str:
    """Findings as text for a terminal: what leaks, to whom, and the remedy."""
    if not findings:
        return f"{title}: nothing found."
    counts = [plural(sum(f.severity == kind for f in findings), kind) for kind in checks.SEVERITIES]
    lines = [f"{title}: {', '.join(counts)}"]
    for finding in findings:
        lines.append(f"\n{finding.severity.upper():<8}{finding.code}")
        for name, text in (
            ("leaks", finding.leaks),
            ("to whom", finding.to_whom),
            ("remedy", finding.remedy),
        ):
            lines.append(textwrap.fill(text, 98, initial_indent=f"  {name:<9}", subsequent_indent=" " * 11))
    return "\n".join(lines)


def _words() -> str:
    lines = [
        textwrap.fill(", ".join(choices), 98, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)
        for name, choices in checks.CHOICES.items()
    ]
    return "\n".join(["words a plan may use:", *lines])
