"""`python -m hexcursion trace`: from a recorded trip to a released one with its statement."""

from __future__ import annotations

import argparse
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from data_loaders.errors import DataError
from data_loaders.files.sources import Source
from dpgp_core.errors import CoreError
from dpgp_core.noise import random_name
from hexcursion.cli.run import end_progress, progress
from hexcursion.errors import WorkflowError
from hexcursion.ledger import begin, ledger_to_plan
from hexcursion.new_place import made_whole, new_place
from hexcursion_traces.loading import Trace, load_traces
from hexcursion_traces.loading.demo_trip import generated_trip
from hexcursion_traces.loading.instants import read_instants, time_zone
from hexcursion_traces.mathematics.fitting import fitted_prior
from hexcursion_traces.mathematics.secret import MOVES
from hexcursion_traces.plan import TracePlan, compare, on_a_plane, plan_trace
from hexcursion_traces.readings import (
    Readings,
    check_times,
    checked_resolution,
    joined_table,
    read_readings,
)
from hexcursion_traces.release import check_release, release_trace
from hexcursion_traces.settings import MODES, TraceSettings, Window
from hexcursion_traces.statement import objection, sentences, stop_large_odds

NUMBER: Final[dict[str, Any]] = {"type": float, "metavar": "NUMBER"}
DEFAULTS = TraceSettings()
_FITTED = (
    "Warning: the lengthscale was fitted to the private trace; publishing it reveals something of the "
    "trip that no guarantee covers."
)


def add_trace_command(commands: Any) -> None:
    """Add the subcommand and its options to the subparsers of the program."""
    text = "hide chosen moments of a location trace, keep the trip; not differential privacy"
    parser = commands.add_parser("trace", help=text, description=text)
    _add_trip_options(parser)
    _add_secret_options(parser)
    _add_noise_options(parser)
    _add_output_options(parser)
    parser.set_defaults(run=run_trace)


def _add_trip_options(parser: argparse.ArgumentParser) -> None:
    """Options of the file and its times."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="GPX, TCX, FIT, GeoLife .plt, CSV, or GeoJSON line with times",
    )
    parser.add_argument(
        "--generated",
        action="store_true",
        help="in place of FILE: a generated trip, another one each time",
    )
    parser.add_argument(
        "--trace",
        metavar="NAME",
        help="which trace of a file with several: its name or number from 1",
    )
    parser.add_argument(
        "--time-zone",
        metavar="ZONE",
        help="of times that name none, in the files and in --secret, as Europe/London (default UTC)",
    )
    parser.add_argument(
        "--day-first",
        action=argparse.BooleanOptionalAction,
        help="dates such as 3/4/2018 have the day first, or with --no-day-first the month, in the files "
        "and in --secret (default: as a date such as 14/3/2018 shows)",
    )


def _add_secret_options(parser: argparse.ArgumentParser) -> None:
    """Options of the secrets and the hypotheses about them."""
    parser.add_argument(
        "--secret",
        metavar="FROM/TO",
        action="append",
        default=[],
        help="a secret span of time in UTC, as 2026-05-01T12:00/2026-05-01T12:45; may be repeated",
    )
    parser.add_argument(
        "--stops", **NUMBER, default=0.0, help="minutes from which every stop is secret (default 0: no stop)"
    )
    parser.add_argument(
        "--stop-radius",
        **NUMBER,
        default=DEFAULTS.stop_radius,
        help="metres around the middle of a stop (default 100)",
    )
    parser.add_argument(
        "--moves",
        choices=MOVES,
        default=DEFAULTS.moves,
        help="hypotheses about a secret to confuse: all records shifted alike (default), or each by itself",
    )
    parser.add_argument(
        "--radius",
        **NUMBER,
        default=DEFAULTS.radius,
        help="metres that hypotheses may differ by (default 200)",
    )


def _add_noise_options(parser: argparse.ArgumentParser) -> None:
    """Options of the noise and the adversary's prior."""
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--error", **NUMBER, help="root mean squared error per axis around secrets, metres")
    goal.add_argument("--interval", **NUMBER, help="width of the adversary's 68 %% interval, metres")
    parser.add_argument(
        "--lengthscale",
        metavar="SECONDS",
        default="120",
        help="over which places stay alike, from public knowledge (default 120), or 'fit'",
    )
    parser.add_argument(
        "--amplitude",
        **NUMBER,
        default=DEFAULTS.amplitude,
        help="metres over which a mover roams (default 500)",
    )
    parser.add_argument(
        "--receiver", **NUMBER, default=DEFAULTS.error, help="error of the receiver, metres (default 3)"
    )
    parser.add_argument(
        "--every",
        **NUMBER,
        default=DEFAULTS.every,
        help="seconds between released records (default 30; 0: all)",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=DEFAULTS.mode,
        help="robust over lengthscales (default), or exact",
    )
    parser.add_argument(
        "--delta", **NUMBER, default=DEFAULTS.delta, help="at which epsilon and odds are stated"
    )
    parser.add_argument(
        "--accept-large-odds",
        action="store_true",
        help="release although the odds of two places may change more than 100 times",
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    """Options of the written files, the readings and the ledger."""
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="new folder for GPX, GeoJSON and statement"
    )
    parser.add_argument(
        "--readings", metavar="FILE", help="CSV with 'time' and the values of a mobile sensor, for a map"
    )
    parser.add_argument(
        "--table",
        metavar="FILE",
        help="private table of the readings with their estimated places",
    )
    parser.add_argument("--resolution", type=int, default=8, help="of that map's hexagons (default 8)")
    parser.add_argument("--ledger", metavar="URL|FILE", help="ledger database")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what the release would protect; draw and charge nothing",
    )


def run_trace(options: argparse.Namespace) -> int:
    """Print what a release would protect, then charge, draw and write it unless it is a dry run. Raise
    `WorkflowError` for unsuitable options, files and traces."""
    out = new_place(options.out)
    if (options.readings is None) != (options.table is None):
        raise WorkflowError("--readings and --table belong together: name the values, and where they go.")
    level = checked_resolution(options.resolution)
    # Errors of the readings or their table come before any charge.
    clock = {"zone": options.time_zone, "day_first": options.day_first}
    readings = None if options.readings is None else read_readings(options.readings, **clock)
    if options.table is not None and new_place(options.table, "file").resolve() == out.resolve():
        raise WorkflowError("--out and --table name the same place: give the table another name.")
    traces, report = load_traces(_source(options), **clock)
    trace = chosen_trace(traces, options.trace)
    print("\n".join(report.lines()))
    settings = _settings(trace, options)
    if readings is not None:
        check_times(readings, trace.time)
    plan = _planned(trace, settings)
    _print_plan(plan)
    ledger = ledger_to_plan(options.ledger)
    check_release(plan, ledger)
    if options.dry_run:
        if objection(plan) and not settings.accept_large_odds:
            print(f"Attention: this would be stopped without --accept-large-odds, since {objection(plan)}.")
        print("Nothing was charged or drawn.")
        return 0
    stop_large_odds(plan)
    published = release_trace(plan, begin(ledger), out=out)
    print(f"Released as {published.released.release_id}, in {out}.")
    if readings is not None:
        _write_readings(Path(options.table), published.files["places.csv"], readings, level)
    return 0


def _settings(trace: Trace, options: argparse.Namespace) -> TraceSettings:
    """The settings of the options; a lengthscale may be fitted to the trace."""
    zone, day_first = options.time_zone, options.day_first
    scale = fitted(trace, options) if options.lengthscale == "fit" else _number(options.lengthscale)
    return TraceSettings(
        lengthscale=scale,
        amplitude=options.amplitude,
        error=options.receiver,
        windows=tuple(window(text, zone, day_first) for text in options.secret),
        stops=options.stops,
        stop_radius=options.stop_radius,
        moves=options.moves,
        radius=options.radius,
        goal="error" if options.interval is None else "interval",
        metres=options.error if options.interval is None else options.interval,
        every=options.every,
        mode=options.mode,
        delta=options.delta,
        accept_large_odds=options.accept_large_odds,
    )


def _print_plan(plan: TracePlan) -> None:
    """Print the guarantee, the adversary's intervals, and warnings for the curator."""
    print("\n".join(sentences(plan)))
    for number, widths in enumerate(compare(plan), start=1):
        print(
            f"Secret {number}: the adversary's interval is {widths.before:,.0f} m before the release; "
            f"after it {widths.designed:,.0f} m with this noise, {widths.uniform:,.0f} m with uniform and "
            f"{widths.concentrated:,.0f} m with concentrated noise of the same size."
        )
    for line in plan.left:
        print(f"Attention: {line}")


def _write_readings(path: Path, places: str, readings: Readings, level: int) -> None:
    """Write the private table of readings at the released places; `level` is its resolution."""
    table, summary = joined_table(places, readings, level)
    try:
        with made_whole(path) as file:
            file.write_text(table, encoding="utf-8")
    except WorkflowError as error:
        raise WorkflowError(f"The trip was released, but {error}") from None
    print(f"{summary} {path.name} holds the readings: it is private, for the release of a map.")


def _source(options: argparse.Namespace) -> Source:
    """The file of the options, or a generated trip, which is new to every ledger."""
    if options.generated == (options.file is not None):
        raise WorkflowError("A trip comes from FILE or from --generated: name one of the two.")
    if not options.generated:
        path: str = options.file
        return path
    print("Generated: an invented trip.")
    return generated_trip(int(random_name(), 16))


def _planned(trace: Trace, settings: TraceSettings) -> TracePlan:
    """Plan with progress on the terminal; Ctrl-C stops it before any charge."""
    try:
        return plan_trace(trace, settings, progress)
    finally:
        end_progress()


def chosen_trace(traces: tuple[Trace, ...], name: str | None) -> Trace:
    """One trace of a file, by its name or its number from 1. Raise `WorkflowError` for several traces
    without a name, or a name that no trace has."""
    if name is None:
        if len(traces) == 1:
            return traces[0]
        raise WorkflowError(
            f"The file holds {len(traces)} traces: name one with --trace, by its number from 1."
        )
    namesakes = [trace for trace in traces if trace.name == name]
    if len(namesakes) == 1:
        return namesakes[0]
    numbered = {str(number): trace for number, trace in enumerate(traces, start=1)}
    if name in numbered:
        return numbered[name]
    raise WorkflowError(f"The file holds no such trace: --trace takes a number from 1 to {len(traces)}.")


def window(text: str, zone: str | None = None, day_first: bool | None = None) -> Window:
    """A span of time from the command line, "FROM/TO", in UTC unless a zone is named.

    `zone` is that of times that name none; `day_first` whether dates such as 3.4.2018 have the day
    first, by default the two dates decide. Raise `WorkflowError` if it cannot be read."""
    start, slash, end = text.partition("/")
    try:
        read = read_instants([start, end], day_first)
    except DataError as error:
        raise WorkflowError(f"The secret {text!r}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    # Of two equal hours at the end of summer time the span takes both.
    first, last = (_moment(float(read.seconds[at]), bool(read.zoned[at]), zone, at) for at in (0, 1))
    if not slash or not math.isfinite(first + last):
        raise WorkflowError(
            f"The secret {text!r} cannot be read: write FROM/TO, e.g. 2026-05-01T12:00/2026-05-01T12:45, "
            f"in UTC."
        )
    return Window(first, last)


def _moment(seconds: float, zoned: bool, zone: str | None, fold: int) -> float:
    if zone is None or zoned or not math.isfinite(seconds):
        return seconds
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=time_zone(zone), fold=fold).timestamp()


def fitted(trace: Trace, options: argparse.Namespace) -> float:
    """The lengthscale that fits the private trace, seconds; prints a warning. Raise `WorkflowError` if
    none fits."""
    thin = trace.thinned(options.every)
    try:
        places = on_a_plane(thin)[1]
        scale = fitted_prior(thin.time - thin.time[0], places.T, options.receiver).lengthscale
    except CoreError as error:
        raise WorkflowError(f"{str(error)[:1].upper()}{str(error)[1:]}") from None
    print(_FITTED)
    print(f"Fitted lengthscale: {scale:.3g} s.")
    return scale


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WorkflowError(f"The lengthscale is a number of seconds or 'fit', not {text!r}.") from None
