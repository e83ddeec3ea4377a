"""Time and memory of loading: `python -m studies.speed.loading [--rows 1000000]`.

Writes a generated Price Paid file of that many rows (and a postcode table of 2.6 million, as large as ONSPD)
into a temporary folder and loads it in fresh processes, so that each peak of memory is its own.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from data_loaders import DEMO_SEED, load_postcodes, load_sales, write_demo

POSTCODES = 2_600_000


def write_sales(folder: Path, rows: int) -> Path:
    """A Price Paid file of `rows` rows: the demo's rows again and again, each with its own identifier."""
    demo = write_demo(folder)
    with gzip.open(demo.price_paid, "rt", newline="") as text:
        year = list(csv.reader(text))
    path = folder / "generated-pp-large.csv"
    with path.open("w", newline="") as text:
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for serial in range(rows):
            writer.writerow([f"{{GENERATED-0000-{serial:025d}}}", *year[serial % len(year)][1:]])
    with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb", compresslevel=3) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)
    return path


def write_postcodes(folder: Path) -> Path:
    """A table as long as ONSPD and with as many columns."""
    letters = "ABDEFGHJLN"
    units = ["".join(pair) for pair in itertools.product(letters, letters)]

    def rows() -> Iterator[str]:
        yield "pcd,pcds,dointr,doterm," + ",".join(f"c{i}" for i in range(40)) + ",osgrdind,lat,long\n"
        rest = "," * 40
        for i in range(POSTCODES):
            outward, inward = i // 1000, i % 1000
            area = letters[outward // 260 % 10] + letters[outward // 26 % 10]
            postcode = f"{area}{outward % 26 + 1} {inward // 100}{units[inward % 100]}"
            yield f"{postcode},{postcode},198001,{rest},1,{50 + i * 1e-6:.6f},{-i * 1e-6:.6f}\n"

    path = folder / "generated-postcodes-large.csv"
    with path.open("w") as text:
        text.writelines(rows())
    return path


def measured(what: str, *paths: str) -> dict[str, float]:
    """Run one load in a process of its own."""
    command = [sys.executable, "-m", "studies.speed.loading", "--measure", what, *paths]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(answer.stdout))


def _measure(what: str, paths: list[str]) -> None:
    before = _peak()
    start, worked = time.perf_counter(), time.process_time()
    if what == "postcodes":
        kept = load_postcodes(paths[0])[1].kept
    else:
        kept = load_sales(paths[0], paths[1], segment=what)[1].kept
    found = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - worked}
    print(json.dumps(found | {"imports": before, "peak": _peak(), "kept": kept}))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        _measure(given.measure[0], given.measure[1:])
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write_sales(folder, given.rows)
        table = folder / "generated-demo-postcodes.csv.gz"
        print(f"{given.rows:,} Price Paid rows, {path.stat().st_size / 1e6:,.0f} MB")
        heads = ("load", "seconds", "CPU s", "peak MB", "imports", "kept")
        print("{:52s} {:>8s} {:>7s} {:>8s} {:>8s} {:>10s}".format(*heads))
        for source in (path, Path(f"{path}.gz")):
            for segment in ("existing-leasehold-flats", "all"):
                found = measured(segment, str(source), str(table))
                _show(f"{source.name}, {segment}", found)
        _show(f"{POSTCODES:,} postcodes", measured("postcodes", str(write_postcodes(folder))))
        print(
            f"Seed {DEMO_SEED} of the generated sales; each load once, in a process of its own. `imports` is "
            "the peak memory before the load."
        )


def _show(what: str, found: dict[str, float]) -> None:
    print(
        f"{what:52s} {found['seconds']:8.2f} {found['cpu']:7.2f} {found['peak']:8.0f} "
        f"{found['imports']:8.0f} {int(found['kept']):10,}"
    )


if __name__ == "__main__":
    main()
