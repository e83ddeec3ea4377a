"""Rows: `PEER_PYTHON=/path/to/python python -m studies.scale.rows [--millions 1 3 10 30] [--runs N]`.

A generated Price Paid file, with an identifier for each row and one million postcodes all over England, is
read, filtered, joined and binned into hexagons; a second process reads it again. DuckDB does the same, in
this interpreter or in the one that PEER_PYTHON names: it reads the same files, keeps the last row of each
identifier, joins, and takes counts and medians of squares, since it has no hexagons. `same s` adds to DuckDB
what makes our second reading quick: it hashes both files (SHA-256), writes the rows with identifier and date
as Parquet (zstd), and counts from there. Then as many readings of 2,000 sensors, to one median each. Of
several runs the one with the least CPU seconds counts, since other work of the machine only adds to them.
Every run has one process and one thread.
`MB held` is the peak of the anonymous memory of a process, sampled every 20 ms; `MB mapped` counts pages of
files too, which the system takes back when it needs them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal

import numpy as np

from studies.reporting.measures import growth, run_child

Table = Literal["sales", "readings"]
POSTCODES, SENSORS = 1_000_000, 2_000
SEED = 11
CHUNK = 200_000
BOX = -5.5, 50.2, 1.6, 55.6  # of the postcodes, degrees
RESOLUTION = 7
PEER_PYTHON = "PEER_PYTHON"
NO_PEER = f"DuckDB was not measured: install duckdb, or name a Python that has it with {PEER_PYTHON}"
PEER = """
import hashlib, json, resource, sys, time, duckdb
prices, postcodes, folder, kept_table = sys.argv[1:]
start, worked = time.perf_counter(), time.process_time()
duckdb.sql("SET threads = 1"); duckdb.sql("SET memory_limit = '1GB'")
duckdb.sql(f"SET temp_directory = '{folder}/duckdb'")
columns = {name: "VARCHAR" for name in (
    "id price date postcode type new tenure paon saon street locality town district county category status"
).split()}
also = (", CAST(date AS TIMESTAMP)", ", id, last[3] AS date") if kept_table else ("", "")
placed = f'''
    WITH sales AS (
        SELECT id, arg_max(
            (replace(postcode, ' ', ''), CAST(price AS DOUBLE){also[0]}), row_number
        ) AS last FROM (
            SELECT *, row_number() OVER () AS row_number
            FROM read_csv('{prices}', header = false, columns = {columns})
        ) WHERE status <> 'D' AND category = 'A' GROUP BY id
    ) SELECT lat, long, last[2] AS price{also[1]} FROM sales
    JOIN (
        SELECT replace(pcds, ' ', '') AS postcode, lat, long FROM read_csv('{postcodes}', header = true)
    ) AS p ON sales.last[1] = p.postcode'''
if kept_table:
    for path in (prices, postcodes):
        with open(path, "rb") as file:
            hashlib.file_digest(file, "sha256")
    duckdb.sql(f"COPY ({placed}) TO '{kept_table}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)")
    placed = f"SELECT * FROM '{kept_table}'"
kept = duckdb.sql(f'''
    SELECT sum(n) FROM (
        SELECT count(*) AS n, median(price) FROM ({placed}) GROUP BY floor(lat * 40), floor(long * 25)
    )''').fetchall()[0][0]
print(json.dumps({
    "kept": int(kept), "seconds": time.perf_counter() - start, "cpu": time.process_time() - worked,
    "mapped": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def postcode(number: np.ndarray) -> list[str]:
    """Invented postcodes: none in Britain begins with Q."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    units = [f"{a}{b}" for a in letters for b in letters]
    sectors = [f"Q{a}{b} {c}" for a in letters for b in range(100) for c in range(10)]
    return [f"{sectors[n // 676]}{units[n % 676]}" for n in number.tolist()]


def write_postcodes(folder: Path) -> Path:
    """A lookup with the columns of ONSPD that are read."""
    generator = np.random.default_rng(SEED)
    west, south, east, north = BOX
    places = generator.uniform((south, west), (north, east), (POSTCODES, 2))
    path = folder / "generated-postcodes.csv"
    with path.open("w") as file:
        file.write("pcds,lat,long\n")
        for name, (lat, long) in zip(postcode(np.arange(POSTCODES)), places.tolist(), strict=True):
            file.write(f"{name},{lat:.6f},{long:.6f}\n")
    return path


def write_sales(folder: Path, rows: int) -> Path:
    """A file of the shape of the complete Price Paid file."""
    generator = np.random.default_rng(SEED + rows)
    path = folder / "generated-pp-complete.csv"
    ending = (
        '"F","N","L","12","FLAT 3","GENERATED STREET","GENERATED PLACE","GENERATED TOWN",'
        '"GENERATED DISTRICT","GENERATED COUNTY","A","A"\n'
    )
    with path.open("w") as file:
        for start in range(0, rows, CHUNK):
            size = min(CHUNK, rows - start)
            where = postcode(generator.integers(0, POSTCODES, size))
            price = generator.integers(50_000, 900_000, size).tolist()
            day = (np.datetime64("1995-01-01") + generator.integers(0, 11_000, size)).astype(str).tolist()
            file.writelines(
                f'"{{GENERATED-{start + i:026d}}}","{price[i]}","{day[i]} 00:00","{where[i]}",{ending}'
                for i in range(size)
            )
    return path


def write_readings(folder: Path, rows: int) -> Path:
    """Readings of sensors at fixed places."""
    generator = np.random.default_rng(SEED)
    west, south, east, north = BOX
    places = [
        f"s{i},{lon:.5f},{lat:.5f}"
        for i, (lon, lat) in enumerate(generator.uniform((west, south), (east, north), (SENSORS, 2)).tolist())
    ]
    path = folder / "generated-readings.csv"
    with path.open("w") as file:
        file.write("sensor,lon,lat,time,value\n")
        for start in range(0, rows, CHUNK):
            size = min(CHUNK, rows - start)
            who = generator.integers(0, SENSORS, size).tolist()
            value = generator.normal(20.0, 5.0, size).tolist()
            minute = (np.datetime64("2024-01-01T00:00") + np.arange(start, start + size) // 40).astype(str)
            file.writelines(
                f"{places[k]},{at},{v:.2f}\n" for k, at, v in zip(who, minute.tolist(), value, strict=True)
            )
    return path


class Held:
    """The peak of the anonymous memory of this process, in MB."""

    def __init__(self) -> None:
        self.most = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text()
            line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.most = max(self.most, int(line.split()[1]) / 1024)
            time.sleep(0.02)


def _measure(what: Table, path: str, postcodes: str) -> None:
    import pandas as pd

    from geo import domain_from_bbox
    from hexcursion.project.load import load_source
    from hexcursion.project.records import cell_medians, place
    from hexcursion.settings.data_settings import SourceSettings

    memory = Held()
    domain = domain_from_bbox(BOX[0] - 0.2, BOX[1] - 0.2, BOX[2] + 0.2, BOX[3] + 0.2, RESOLUTION)
    start, worked = time.perf_counter(), time.process_time()
    if what == "sales":
        observations, _ = load_source(SourceSettings(path, postcodes=postcodes, segment="standard"))
        records = place(observations, domain)
        binned = time.perf_counter(), time.process_time()
        cell_medians(records)
    else:
        source = SourceSettings(path, value="value", x="lon", y="lat", time="time")
        observations, _ = load_source(source, "ug/m3", "sensor")
        pd.Series(observations.value).groupby(observations.owner).median()
        first = np.unique(observations.owner, return_index=True)[1]
        records = place(observations.take(first), domain)
        binned = time.perf_counter(), time.process_time()
    peak = memory.most
    figures = {"kept": records.index.size, "seconds": binned[0] - start, "cpu": binned[1] - worked}
    figures |= {"held": peak, "mapped": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    figures["medians"] = time.process_time() - binned[1]
    print(json.dumps(figures))


def _run(command: list[str], folder: Path) -> dict[str, float]:
    return run_child(command, HEXCURSION_HOME=str(folder / "home"), TMPDIR=str(folder))


def peer_python() -> str:
    """The interpreter that has DuckDB: the one in PEER_PYTHON, else this one; "" for none."""
    interpreter = os.environ.get(PEER_PYTHON)
    if interpreter is not None:
        return interpreter
    return sys.executable if importlib.util.find_spec("duckdb") is not None else ""


def _compared(folder: Path, rows: int, runs: int) -> tuple[list[str], float]:
    """One line of the table of sales, and the CPU seconds of the first look."""
    prices, postcodes = str(write_sales(folder, rows)), str(write_postcodes(folder))
    looks, peers = [], []
    for _ in range(runs):
        shutil.rmtree(folder / "home", ignore_errors=True)
        looks.append([_ours("sales", folder, prices, postcodes) for _ in range(2)])
        if python := peer_python():
            command = [python, "-c", PEER, prices, postcodes, str(folder)]
            peers.append([_run([*command, path], folder) for path in ("", str(folder / "kept.parquet"))])
    first, again = (min(same, key=_cpu) for same in zip(*looks, strict=True))
    cells = [f"{rows / 1e6:.0f}", f"{Path(prices).stat().st_size / 1e6:.0f}"]
    cells += [f"{first['seconds']:.1f}", f"{first['cpu']:.1f}"]
    cells += [f"{first['held']:.0f}", f"{first['mapped']:.0f}", f"{again['cpu']:.1f}"]
    for same in zip(*peers, strict=True):
        peer = min(same, key=_cpu)
        if peer["kept"] != first["kept"]:
            raise SystemExit(f"DuckDB kept {peer['kept']:,} rows, we {first['kept']:,}.")
        ratio = (first["cpu"] + first["medians"]) / peer["cpu"]
        cells += [f"{peer['cpu']:.1f}", f"{peer['mapped']:.0f}", f"{ratio:.2f}"]
    Path(prices).unlink()
    return cells, first["cpu"]


def _cpu(run: dict[str, float]) -> float:
    return run["cpu"]


def _ours(what: Table, folder: Path, path: str, postcodes: str = "") -> dict[str, float]:
    return _run([sys.executable, "-m", "studies.scale.rows", "--measure", what, path, postcodes], folder)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line; an empty PEER_PYTHON names no interpreter."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 3], help="of rows (default 1 3)")
    parser.add_argument("--runs", type=int, default=3, help="of sales, of which the least counts (default 3)")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if min(options.millions) < 1:
        parser.error("--millions takes whole numbers above 0.")
    if options.runs < 1:
        parser.error("--runs takes a whole number above 0.")
    python = os.environ.get(PEER_PYTHON)
    if python and not options.measure and not _has_duckdb(python):
        parser.error(f"{PEER_PYTHON}={python} starts no Python that has duckdb: name one, or leave it empty.")
    return options


def _has_duckdb(python: str) -> bool:
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0


def main() -> None:
    options = arguments()
    if options.measure:
        _measure(*options.measure)
        return
    heads = [
        "rows M",
        "file MB",
        "seconds",
        "CPU s",
        "MB held",
        "MB mapped",
        "again s",
        *("DuckDB s", "its MB", "ratio"),
        *("same s", "its MB", "ratio"),
    ]
    print(" ".join(f"{head:>9}" for head in heads), flush=True)
    times, sensors = [], []
    for millions in options.millions:
        with tempfile.TemporaryDirectory() as name:
            cells, spent = _compared(Path(name), millions * 1_000_000, options.runs)
            print(" ".join(f"{cell:>9}" for cell in cells), flush=True)
            times.append(spent)
            readings = write_readings(Path(name), millions * 1_000_000)
            sensors.append(_ours("readings", Path(name), str(readings)))
    print(f"\nreadings of {SENSORS:,} sensors, to one median each")
    for millions, reading in zip(options.millions, sensors, strict=True):
        figures = [f"{reading['seconds']:.1f}", f"{reading['cpu']:.1f}"]
        figures += [f"{reading['held']:.0f}", f"{reading['mapped']:.0f}"]
        print(" ".join(f"{cell:>9}" for cell in (f"{millions}", "", *figures)), flush=True)
    if len(times) > 1:
        of_sales = growth(options.millions, times)
        of_readings = growth(options.millions, [reading["cpu"] for reading in sensors])
        print(f"CPU time grows like rows^{of_sales:.2f} of sales and rows^{of_readings:.2f} of readings")
    print(
        f"Seed {SEED} of the generated files; least of {options.runs} runs of sales, readings once. `again` "
        "and DuckDB in CPU seconds; the ratios are of CPU seconds, our medians of hexagons included."
    )
    if not peer_python():
        print(f"{NO_PEER}.")


if __name__ == "__main__":
    main()
