"""Fits and checks what the program says of time and memory: `python -m studies.scale.estimates [--check]`.

Searches and releases of generated readings (those of `studies.scale.cells`) run at several sizes, each in a
separate process. A search reports its progress, so one run gives the time of every part. The fit goes to
hexcursion/estimates/measured.json; then sizes and settings between and beyond the fitted ones are run and
compared with the estimate. Seconds are CPU seconds of one thread, and `speed` those of a small fixed task in
the same process, which transfers an estimate to another or a busier machine. `--check` fits nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

from dpgp_core.mechanisms.registry import mechanism_named
from hexcursion.estimates.forecasts import asked_of
from hexcursion.estimates.model import FIRST, LAST, MEASURED, MEMORY, Asked, at, search_estimate, speed
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project, load_source
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.executors import Run
from hexcursion.search.task import FRONTIER_EPSILONS
from hexcursion.search.tuning import tune
from hexcursion.settings.data_settings import SourceSettings
from studies.material.home import home
from studies.registry import STUDIES
from studies.reporting.measures import run_child
from studies.scale.cells import RECORDS, SEED, settings_of
from studies.scale.rows import Held, write_postcodes, write_sales

FITTED = 300, 1_000, 3_000, 10_000  # hexagons of quick searches
FULL_AT = 1_000
SELF = [sys.executable, "-m", "studies.scale.estimates"]
DENSE = 300, 600, 1_400  # of quick searches with a dense prior and without
PLAIN_PRIOR, DENSE_PRIOR = "car", "car,exponential"
READ = 200_000, 2_000_000  # sales
Measured = Literal["quick", "full", "dense", "reference", "alone"]
REFERENCE: Final = "reference"  # a full search on reference data
ALONE: Final = "alone"  # a full search of one budget
SHARES_AT = 1_000, 3_000
CHECKED: tuple[tuple[Measured, int, str], ...] = (
    ("quick", 600, ""),
    ("quick", 1_800, ""),
    ("quick", 5_000, ""),
    ("full", 600, ""),
    (REFERENCE, 600, DENSE_PRIOR),
    (REFERENCE, 1_800, DENSE_PRIOR),
)


def _measure(kind: Measured, cells: int, priors: str) -> None:
    with home() as folder:
        settings = settings_of(cells, folder, kind == "quick")
        if kind == REFERENCE:
            (folder / "before").mkdir()
            reference = settings_of(cells, folder / "before", False, SEED + 1).data
            settings = settings.with_changes(reference=reference, reference_public=False, clip=None)
        if priors:
            settings = settings.with_changes(priors=tuple(priors.split(",")))
        fast = speed()
        project = load_project(settings)
        bare = _peak()
        in_turn = sorted(settings.mechanisms, key=lambda name: not mechanism_named(name).search.quick)
        names = (FIRST, *in_turn, LAST)
        spent = dict.fromkeys(names, 0.0)
        last = [time.process_time()]

        def tell(fraction: float, _text: str) -> None:
            now = time.process_time()
            spent[_part_of(fraction, names)] += now - last[0]
            last[0] = now

        tuned = tune(project, Run(tell), frontier=() if kind == ALONE else FRONTIER_EPSILONS)
        tell(1.0, "")
        peak = _peak()
        start = time.process_time()
        ledger = open_ledger(None)
        publish(plan_release(project, tuned.choice, ledger), ledger, folder / "bundle")
        figures = {"cells": project.domain.size, "parts": spent, "peak": peak, "bare": bare}
        figures |= {"release": time.process_time() - start, "released": _peak()}
        figures |= {"speed": min(fast, speed()), "asked": vars(asked_of(project))}
    print(json.dumps(figures))


def _part_of(fraction: float, names: tuple[str, ...]) -> str:
    """The part of a search that its reported fraction belongs to."""
    if fraction <= 0.2:
        return names[0]
    number = 1 + int((fraction - 0.2 - 1e-9) / 0.75 * (len(names) - 2))
    return names[min(number, len(names) - 1)]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run(kind: Measured, cells: int, priors: str = "") -> dict[str, Any]:
    return run_child([*SELF, "--measure", kind, str(cells), priors])


def _fit(searches_only: bool) -> None:
    """Run the fitted sizes and store their costs in units of the small fixed task."""
    runs = [_said("quick", _run("quick", size, PLAIN_PRIOR)) for size in FITTED]
    full = _said("full", _run("full", FULL_AT))
    stored = _before()
    if searches_only:
        store(runs, full, stored["dense"], stored["reading"])
    else:
        store(runs, full, _dense(), _reading())
    _store(_before() | _shares())


def _dense() -> dict[str, list[list[float]]]:
    """Extra cost of a dense prior in quick searches: the difference of two runs of each size."""
    work, memory = [], []
    for size in DENSE:
        without, with_it = (
            _said("dense", _run("quick", size, priors)) for priors in (PLAIN_PRIOR, DENSE_PRIOR)
        )
        costs = [sum(run["parts"].values()) / run["speed"] for run in (without, with_it)]
        work.append([with_it["cells"], round(max(costs[1] - costs[0], 0.1), 2)])
        memory.append([with_it["cells"], round(max(with_it["peak"] - without["peak"], 0.1), 2)])
    return {"work": work, "held": memory}


def _shares() -> dict[str, float]:
    """Costs of full searches of two kinds, in units of the tables' forecast."""
    factors = {}
    for kind in (REFERENCE, ALONE):
        logs = []
        for size in SHARES_AT:
            run = _said(kind, _run(kind, size))
            plain = search_estimate(Asked(**run["asked"] | {"reference": False}), run["speed"]).seconds
            logs.append(math.log(sum(run["parts"].values()) / plain))
        factors[kind] = round(math.exp(sum(logs) / len(logs)), 2)
    return factors


def store(
    runs: list[dict[str, Any]], full: dict[str, Any], dense: dict[str, Any], reading: dict[str, Any]
) -> None:
    """Write the estimates' file from quick searches, a full one, dense priors, and reading."""
    search = {
        part: _table(runs, lambda run, of=part: run["parts"][of] / run["speed"]) for part in full["parts"]
    }
    memory = _table(runs, lambda run: run["peak"])
    of_quick = {"search": search, "memory": {"search": memory}}

    stored = {
        "search": search,
        "full": _factors(full, of_quick),
        REFERENCE: 1.0,
        ALONE: 1.0,
        "memory": {"search": memory, "release": _table(runs, lambda run: run["released"])},
        "release": _table(runs, lambda run: run["release"] / run["speed"]),
        "dense": dense,
        "reading": reading,
        "studies": _before()["studies"],
    }
    _store(stored)


def _factors(full: dict[str, Any], quick: dict[str, Any]) -> dict[str, float]:
    """Costs of a full search, part by part, in units of a quick one on as many hexagons."""
    factors = {
        part: round(took / full["speed"] / at(quick["search"][part], full["cells"], (1.0, 2.0)), 2)
        for part, took in full["parts"].items()
    }
    factors[MEMORY] = round(full["peak"] / at(quick["memory"]["search"], full["cells"], (0.0, 1.0)), 2)
    return factors


def _store(stored: dict[str, Any]) -> None:
    MEASURED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def _before() -> dict[str, Any]:
    return dict(json.loads(MEASURED.read_text(encoding="utf-8")))


def _table(runs: list[dict[str, Any]], figure: Callable[[dict[str, Any]], float]) -> list[list[float]]:
    """Hexagons and a figure of each run, above 0."""
    return [[run["cells"], round(max(figure(run), 0.1), 2)] for run in runs]


def _reading() -> dict[str, Any]:
    """Two sizes of a file of sales: a line through their seconds, and their megabytes."""
    sizes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        postcodes = write_postcodes(folder)
        for rows in READ:
            sales = write_sales(folder, rows)
            command = [*SELF, "--read", str(sales), str(postcodes)]
            read = run_child(command, TMPDIR=name, HEXCURSION_READ_BEFORE="off")
            size = (sales.stat().st_size + postcodes.stat().st_size) / 1e6
            print(f"reading {size:.0f} MB: {read}", flush=True)
            sizes.append((size, read["seconds"] / read["speed"], read["peak"]))
    (low, fast, small_memory), (high, slow, large_memory) = sizes
    per_megabyte = (slow - fast) / (high - low)
    return {
        "start": round(max(fast - per_megabyte * low, 0.0), 3),
        "each": round(per_megabyte, 3),
        "memory": [[round(low), round(small_memory)], [round(high), round(large_memory)]],
    }


def _studies() -> dict[str, list[float]]:
    """CPU time of the quick run of each study, and the peak of its process in megabytes."""
    costs = {}
    for name in STUDIES:
        run = run_child([*SELF, "--study", name])
        print(f"study {name}: {run}", flush=True)
        costs[name] = [round(run["seconds"] / run["speed"], 1), round(run["peak"])]
    return costs


def _study(name: str) -> None:
    speed_before, start = speed(), _spent()
    STUDIES[name].quick(None)
    spent = _spent() - start
    peak = max(_peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    print(json.dumps({"seconds": spent, "peak": peak, "speed": min(speed_before, speed())}))


def _spent() -> float:
    """CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _read(sales: str, postcodes: str) -> None:
    memory, speed_before = Held(), speed()
    start = time.process_time()
    load_source(SourceSettings(sales, postcodes=postcodes, segment="standard"))
    spent = time.process_time() - start
    print(json.dumps({"seconds": spent, "peak": memory.most, "speed": min(speed_before, speed())}))


def _said(kind: Measured, run: dict[str, Any]) -> dict[str, Any]:
    parts = " ".join(f"{part} {seconds:.1f}" for part, seconds in run["parts"].items())
    print(
        f"{kind:>6} {run['cells']:>7,} {sum(run['parts'].values()):8.1f} s {run['peak']:7.0f} MB; release "
        f"{run['release']:.1f} s, {run['released']:.0f} MB; speed {run['speed']:.3f}; {parts}",
        flush=True,
    )
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="hold the stored estimates against new runs")
    parser.add_argument(
        "--searches", action="store_true", help="fit anew searches and releases, but those with dense priors"
    )
    parser.add_argument("--reading", action="store_true", help="fit anew what reading takes, and that alone")
    parser.add_argument(
        "--full", action="store_true", help="fit anew what a full search takes, and that alone"
    )
    parser.add_argument(
        "--shares",
        action="store_true",
        help="fit anew what reference data and a single budget save",
    )
    parser.add_argument("--dense", action="store_true", help="fit anew what dense priors add, and that alone")
    parser.add_argument("--studies", action="store_true", help="measure quick studies, and nothing else")
    parser.add_argument("--study", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        _read(*options.read)
        return
    if options.study:
        _study(options.study)
        return
    if options.studies:
        _store(_before() | {"studies": _studies()})
        return
    if options.measure:
        _measure(options.measure[0], int(options.measure[1]), options.measure[2])
        return
    if options.reading:
        _store(_before() | {"reading": _reading()})
        return
    if options.dense:
        _store(_before() | {"dense": _dense()})
        return
    if options.shares:
        _store(_before() | _shares())
        return
    if options.full:
        stored = _before()
        _store(stored | {"full": _factors(_said("full", _run("full", FULL_AT)), stored)})
        return
    start = time.monotonic()
    if not options.check:
        _fit(options.searches)
    print("\n  what   cells   search s   expected  ratio       MB   expected  ratio")
    for kind, size, priors in CHECKED:
        run = _run(kind, size, priors)
        guess = search_estimate(Asked(**run["asked"]), run["speed"])
        took = sum(run["parts"].values())
        print(
            f"{kind:>6} {run['cells']:>7,} {took:>10.1f} {guess.seconds:>10.1f} {guess.seconds / took:>6.2f} "
            f"{run['peak']:>8.0f} {guess.megabytes:>10.0f} {guess.megabytes / run['peak']:>6.2f}  {priors}",
            flush=True,
        )
    print(f"Seed {SEED} of {RECORDS:,} generated readings; every size once, CPU seconds of one thread.")
    print(f"The whole benchmark took {time.monotonic() - start:.0f} s.")


if __name__ == "__main__":
    main()
