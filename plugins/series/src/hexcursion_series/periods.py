"""`python -m hexcursion periods`: a budget divided among periods, and what each part will show."""

from __future__ import annotations

import argparse
import math
from typing import Any

from dpgp_core.numbers import lower, upper
from hexcursion.bundle.published.earlier import load_with_earlier
from hexcursion.cli.options import add_release_options, settings_from_options, shorten_help, with_resolution
from hexcursion.cli.run import end_progress, progress
from hexcursion.door.pipeline import search_design
from hexcursion.errors import WorkflowError
from hexcursion.search.executors import Workers
from hexcursion.search.tuning import Tuned
from hexcursion.settings import ReleaseSettings
from hexcursion.words import records_words


def add_periods_command(commands: Any) -> None:
    """Add the subcommand with the options of a release."""
    text = "divide a budget among the periods of a series and say what each will show; releases nothing"
    usage = "%(prog)s --data FILE --threshold NUMBER --periods N --budget EPSILON --delta DELTA [OPTION ...]"
    parser = commands.add_parser("periods", help=text, description=text, usage=usage)
    add_release_options(parser)
    shorten_help(parser)
    parser.set_defaults(run=run_periods)


def run_periods(options: argparse.Namespace) -> int:
    """Search at the parts of the budget, and at the total, and print the table.

    Raise `WorkflowError` for bad input.
    """
    settings = with_resolution(settings_from_options(options), options)
    parts = settings.parts_of_periods
    if settings.budget is None or not parts:
        raise WorkflowError(
            "Say how many periods there are with --periods, and --budget and --delta for all."
        )
    epsilons = tuple(dict.fromkeys((*parts, settings.budget)))
    project = load_with_earlier(settings.with_changes(epsilon=settings.budget))
    tuned = search_design(project, progress, Workers(settings.executor), beside=epsilons)
    end_progress()
    shown = {epsilon: _shown(tuned, epsilon) for epsilon in epsilons}
    for line in (*period_lines(settings, shown), *filter(None, [tuned.few])):
        print(line)
    return 0


def _shown(tuned: Tuned, epsilon: float) -> str:
    """The records that the best design at an epsilon is expected to show on their right side, in words; none
    of too few records."""
    if tuned.few:
        return "not told"
    points = [point.scored.utility for point in tuned.result.frontier if point.epsilon == epsilon]
    if not points:
        return "not known"
    known = [utility.records for utility in points if math.isfinite(utility.records)]
    return records_words(max(known)) if known else "not known"


def period_lines(settings: ReleaseSettings, shown: dict[float, str]) -> list[str]:
    """The table: a line for periods of equal parts, one for all, and notes on records of one
    period.

    `shown` says, at each part of the budget and at the total, how many records will lie on the side that the
    map shows.
    Parts are rounded down, so that epsilons typed from the table cost no more than the total.
    """
    parts, word = settings.parts_of_periods, settings.unit_word
    assert settings.budget is not None
    lines, first = [f"{'period':10} {'epsilon':>9}  expected on their right side"], 0
    for place, epsilon in enumerate(parts):
        if place + 1 < len(parts) and parts[place + 1] == epsilon:
            continue
        label = f"{first + 1}" if first == place else f"{first + 1} to {place + 1}"
        lines.append(f"{label:10} {lower(epsilon):>9}  {shown[epsilon]}")
        first = place + 1
    total, whole = upper(settings.budget), shown[settings.budget]
    together = "one release of it: counts are not read together yet"
    if settings.values == "amount":
        together = "read together, if nothing changes"
    lines.append(f"{'all':10} {total:>9}  {whole} ({together})")
    lines.append(
        f"A {word} that is in every period: epsilon {total} for all {len(parts)} releases together, if they "
        "have Gaussian noise; the ledger counts what they cost."
    )
    lines.append(
        f"A {word} that is in one period alone, as a sale is, pays once: each may then take the whole, "
        f"--epsilon {total}, which shows {whole} right; leave --periods out."
    )
    return lines
