"""Fits and checks what the program says of time and memory: `python -m studies.scale.estimates [--check]`.

Searches and releases of generated readings (those of `studies.scale.cells`) at several sizes, each in a
process of its own. A search tells how far it is; so one run gives the time of every part of it. What is
fitted goes to hexcursion/estimates/measured.json; then sizes and settings between and beyond the fitted ones
are run and held against the estimate. Seconds are CPU seconds of one thread, and `speed` those of a small
fixed task in the same process, by which an estimate is carried to another machine or a busier one. `--check`
fits nothing.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import math
import resource
import subprocess
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
from hexcursion.search.task import FRONTIER_EPSILONS
from hexcursion.search.tuning import tune
from hexcursion.settings.data_settings import SourceSettings
from studies.registry import STUDIES
from studies.scale.cells import RECORDS, SEED, settings_of
from studies.scale.rows import Held, write_postcodes, write_sales

FITTED = 300, 1_000, 3_000, 10_000  # hexagons of quick searches
FULL_AT = 1_000
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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"HEXCURSION_HOME": str(folder / "home"), "HEXCURSION_WITNESS": str(folder / "witness")}
        settings = settings_of(cells, folder, kind == "quick")
        if kind == REFERENCE:
            (folder / "before").mkdir()
            before = settings_of(cells, folder / "before", False, SEED + 1).data
            settings = settings.with_changes(reference=before, reference_public=False, clip=None)
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

        tuned = tune(project, tell, beside=() if kind == ALONE else FRONTIER_EPSILONS)
        tell(1.0, "")
        peak = _peak()
        start = time.process_time()
        ledger = open_ledger(None)
        publish(plan_release(project, tuned.choice, ledger), ledger, folder / "bundle")
        found = {"cells": project.domain.size, "parts": spent, "peak": peak, "bare": bare}
        found |= {"release": time.process_time() - start, "released": _peak()}
        found |= {"speed": min(fast, speed()), "asked": vars(asked_of(project))}
    print(json.dumps(found))


def _part_of(fraction: float, names: tuple[str, ...]) -> str:
    """The part that a search has just done a piece of when it says how far it is."""
    if fraction <= 0.2:
        return names[0]
    number = 1 + int((fraction - 0.2 - 1e-9) / 0.75 * (len(names) - 2))
    return names[min(number, len(names) - 1)]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run(kind: Measured, cells: int, priors: str = "") -> dict[str, Any]:
    command = [sys.executable, "-m", "studies.scale.estimates", "--measure", kind, str(cells), priors]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _fit(searches_only: bool) -> None:
    """Run the fitted sizes and store what they took, in units of the small fixed task."""
    runs = [_said("quick", _run("quick", size, PLAIN_PRIOR)) for size in FITTED]
    full = _said("full", _run("full", FULL_AT))
    before = _before()
    if searches_only:
        store(runs, full, before["dense"], before["reading"])
    else:
        store(runs, full, _dense(), _reading())
    _store(_before() | _shares())


def _dense() -> dict[str, list[list[float]]]:
    """What a dense prior adds to quick searches: the difference of two runs of each size."""
    work, held = [], []
    for size in DENSE:
        without, with_it = (
            _said("dense", _run("quick", size, priors)) for priors in (PLAIN_PRIOR, DENSE_PRIOR)
        )
        more = [sum(run["parts"].values()) / run["speed"] for run in (without, with_it)]
        work.append([with_it["cells"], round(max(more[1] - more[0], 0.1), 2)])
        held.append([with_it["cells"], round(max(with_it["peak"] - without["peak"], 0.1), 2)])
    return {"work": work, "held": held}


def _shares() -> dict[str, float]:
    """What full searches of two kinds take, in units of what the tables alone say."""
    found = {}
    for kind in (REFERENCE, ALONE):
        logs = []
        for size in SHARES_AT:
            run = _said(kind, _run(kind, size))
            plain = search_estimate(Asked(**run["asked"] | {"reference": False}), run["speed"]).seconds
            logs.append(math.log(sum(run["parts"].values()) / plain))
        found[kind] = round(math.exp(sum(logs) / len(logs)), 2)
    return found


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
    """What a full search takes, part by part, for each unit of a quick one on as many hexagons."""
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
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        postcodes = write_postcodes(folder)
        for rows in READ:
            sales = write_sales(folder, rows)
            command = [
                sys.executable,
                "-m",
                "studies.scale.estimates",
                "--read",
                str(sales),
                str(postcodes),
            ]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "TMPDIR": name, "HEXCURSION_READ_BEFORE": "off"},
            )
            read = json.loads(done.stdout)
            size = (sales.stat().st_size + postcodes.stat().st_size) / 1e6
            print(f"reading {size:.0f} MB: {read}", flush=True)
            found.append((size, read["seconds"] / read["speed"], read["peak"]))
    (low, fast, less), (high, slow, more) = found
    each = (slow - fast) / (high - low)
    return {
        "start": round(max(fast - each * low, 0.0), 3),
        "each": round(each, 3),
        "memory": [[round(low), round(less)], [round(high), round(more)]],
    }


def _studies() -> dict[str, list[float]]:
    """What the quick run of each study takes, and the megabytes of its process at most."""
    found = {}
    for name in STUDIES:
        command = [sys.executable, "-m", "studies.scale.estimates", "--study", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        run = json.loads(done.stdout.splitlines()[-1])
        print(f"study {name}: {run}", flush=True)
        found[name] = [round(run["seconds"] / run["speed"], 1), round(run["peak"])]
    return found


def _study(name: str) -> None:
    before, start = speed(), _spent()
    STUDIES[name].quick(None)
    spent = _spent() - start
    peak = max(_peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    print(json.dumps({"seconds": spent, "peak": peak, "speed": min(before, speed())}))


def _spent() -> float:
    """CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _read(sales: str, postcodes: str) -> None:
    held, before = Held(), speed()
    start = time.process_time()
    load_source(SourceSettings(sales, postcodes=postcodes, segment="standard"))
    spent = time.process_time() - start
    print(json.dumps({"seconds": spent, "peak": held.most, "speed": min(before, speed())}))


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
    asked = parser.parse_args()
    if asked.read:
        _read(*asked.read)
        return
    if asked.study:
        _study(asked.study)
        return
    if asked.studies:
        _store(_before() | {"studies": _studies()})
        return
    if asked.measure:
        _measure(asked.measure[0], int(asked.measure[1]), asked.measure[2])
        return
    if asked.reading:
        _store(_before() | {"reading": _reading()})
        return
    if asked.dense:
        _store(_before() | {"dense": _dense()})
        return
    if asked.shares:
        _store(_before() | _shares())
        return
    if asked.full:
        stored = _before()
        _store(stored | {"full": _factors(_said("full", _run("full", FULL_AT)), stored)})
        return
    start = time.monotonic()
    if not asked.check:
        _fit(asked.searches)
    print("\n  what   cells   search s   expected  ratio       MB   expected  ratio")
    for kind, size, priors in CHECKED:
        run = _run(kind, size, priors)
        said = search_estimate(Asked(**run["asked"]), run["speed"])
        took = sum(run["parts"].values())
        print(
            f"{kind:>6} {run['cells']:>7,} {took:>10.1f} {said.seconds:>10.1f} {said.seconds / took:>6.2f} "
            f"{run['peak']:>8.0f} {said.megabytes:>10.0f} {said.megabytes / run['peak']:>6.2f}  {priors}",
            flush=True,
        )
    print(f"Seed {SEED} of {RECORDS:,} generated readings; every size once, CPU seconds of one thread.")
    print(f"The whole benchmark took {time.monotonic() - start:.0f} s.")


if __name__ == "__main__":
    main()
