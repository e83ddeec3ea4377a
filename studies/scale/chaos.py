"""Releases that break off at any moment: losses, doubles and half-written files after the next start.

python -m studies.scale.chaos [--tries 10]                              SQLite
source .ci/postgres.sh && python -m studies.scale.chaos [--tries 10]    SQLite and PostgreSQL

Each try releases a generated town in a separate process and breaks it off: killed or interrupted at a random
moment, on a disk that fills up at a random byte, by a database that drops its connections, or together with a
second process that releases the same plan. The next start then recovers as usual.
Seeds fix the moments; the noise of the releases is never repeated.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pandas as pd
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

import hexcursion
from dpgp_core.noise import random_name
from hexcursion.bundle.read import read_bundle
from hexcursion.bundle.write import recover
from hexcursion.door.pipeline import Planned, publish_planned
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from studies.material.home import home
from studies.scale.ledger import places

SEED = 58
AREA = (10.0, 50.0, 10.06, 50.04)
RECORDS = (10.01, 50.008, 10.05, 50.032)  # well inside, so that hexagons of the area cover all of them
PROCESSES = multiprocessing.get_context("fork")
COLUMNS = ("broke off", "released", "lost", "doubled", "half written", "left over")
Fault = Callable[[Planned, Path, float, np.random.Generator], None]


def town(seed: int) -> pd.DataFrame:
    """Return 400 generated readings (lon, lat, value), with a hill in the west."""
    chance = np.random.default_rng(seed)
    lon, lat = chance.uniform(*RECORDS[::2], 400), chance.uniform(*RECORDS[1::2], 400)
    value = 20.0 + 25.0 * np.exp(-(((lon - 10.02) / 0.02) ** 2)) + chance.normal(0.0, 4.0, 400)
    return pd.DataFrame({"lon": lon, "lat": lat, "value": value})


def planned(address: str) -> Planned:
    """Return a plan of a fixed design, so that a try costs little more than its release."""
    fixed = {"lengthscale": 500.0, "ridge": 12.0, "priors": ("car",), "accept_low_agreement": True}
    public = {"centre": 30.0, "clip": 20.0, "threshold": 30.0, "resolution": 8}
    columns = {
        "value": "value",
        "value_unit": "ug/m3",
        "lon": "lon",
        "lat": "lat",
        "mechanisms": ("posterior-sampling",),
    }
    spent = {"epsilon": 0.5, "budget": 1e4, "ledger": address}
    return hexcursion.plan(town(SEED), area=AREA, **columns, **public, **fixed, **spent)


def child(plan: Planned, folder: Path, most_bytes: int | None = None) -> BaseProcess:
    """Start a process that releases into `folder`; no file of it grows beyond `most_bytes`."""

    def work() -> None:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        publish_planned(plan, folder, aged=True)

    process = PROCESSES.Process(target=work)
    process.start()
    return process


def signalled(number: int) -> Fault:
    """A fault: a signal at a random moment of the release."""

    def fault(plan: Planned, folder: Path, seconds: float, chance: np.random.Generator) -> None:
        process = child(plan, folder)
        time.sleep(chance.uniform(0.0, 2.0 * seconds))
        if process.is_alive() and process.pid is not None:
            os.kill(process.pid, number)
        process.join()

    return fault


def disk_full(plan: Planned, folder: Path, seconds: float, chance: np.random.Generator) -> None:
    """A fault: no file, the ledger's included, takes more than a random number of bytes."""
    child(plan, folder, int(10.0 ** chance.uniform(3.0, 7.0))).join()


def two_at_once(plan: Planned, folder: Path, seconds: float, chance: np.random.Generator) -> None:
    """A fault: two processes release one plan into one folder, a random moment apart."""
    first = child(plan, folder)
    time.sleep(chance.uniform(0.0, 0.5 * seconds))
    second = child(plan, folder)
    first.join()
    second.join()


def database_lost(address: str) -> Fault:
    """A fault: from a random moment on the server ends all connections for a tenth of a second."""
    server = create_engine(
        make_url(address).difference_update_query(["options"]), isolation_level="AUTOCOMMIT"
    )
    end = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def fault(plan: Planned, folder: Path, seconds: float, chance: np.random.Generator) -> None:
        process = child(plan, folder)
        time.sleep(chance.uniform(0.0, 1.5 * seconds))
        with server.connect() as connection:
            for _ in range(20):
                connection.execute(end)
                time.sleep(0.005)
        process.join()

    return fault


def whole(folder: Path) -> bool:
    """Whether a bundle can be read and agrees with its statement."""
    try:
        read_bundle(folder)
    except WorkflowError:
        return False
    return True


def counted(address: str, fault: Fault, tries: int, seconds: float, seed: int) -> Counter[str]:
    """Count the outcomes of `tries` releases with one fault each."""
    count: Counter[str] = Counter()
    chance = np.random.default_rng(seed)
    plan = planned(address)
    for _ in range(tries):
        with tempfile.TemporaryDirectory(prefix="chaos-") as place:
            parent = Path(place)
            earlier = set(open_ledger(address).committed())
            fault(replace(plan, session=random_name()), parent / "map", seconds, chance)
            ledger = open_ledger(address)  # the next start: it verifies the chain
            recover(parent, ledger.identity, ledger.committed)
            released = len(set(ledger.committed()) - earlier)
            bundles = [path for path in parent.iterdir() if path.is_dir() and path.name == "map"]
            count["broke off"] += released == 0
            count["released"] += released
            count["lost"] += released > len(bundles)
            count["doubled"] += released > 1
            count["half written"] += bool(ledger.verify()) or not all(map(whole, bundles))
            count["left over"] += len({path.name for path in parent.iterdir()} - {"map", "map.zip"}) > 0
    return count


def main() -> None:
    """Print one row per database and fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=10, help="releases per fault")
    tries = parser.parse_args().tries
    print(f"{'':28}{'tries':>7}" + "".join(f"{name:>14}" for name in COLUMNS))
    with home() as place:
        for number, (database, address) in enumerate(places(place).items()):
            plan = planned(address)
            child(plan, place / "first").join()
            began = time.perf_counter()
            child(replace(plan, session=random_name()), place / "second").join()
            seconds = time.perf_counter() - began
            faults = {
                "killed": signalled(signal.SIGKILL), "interrupted": signalled(signal.SIGINT),
                "disk full": disk_full, "two at once": two_at_once,
            }  # fmt: skip
            if database == "PostgreSQL":
                faults["database lost"] = database_lost(address)
            for name, fault in faults.items():
                count = counted(address, fault, tries, seconds, SEED + number)
                cells = "".join(f"{count[column]:>14}" for column in COLUMNS)
                print(f"{f'{database}, {name}':28}{tries:>7}{cells}", flush=True)
    print(f"Seed {SEED} for the moments; the noise of releases is never repeated.")


if __name__ == "__main__":
    main()
