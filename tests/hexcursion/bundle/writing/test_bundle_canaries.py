"""Nothing private leaves: canaries planted around a release are searched in everything that is written."""

from __future__ import annotations

import base64
import bz2
import getpass
import gzip
import json
import math
import os
import socket
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hexcursion.bundle import write_bundle
from hexcursion.record import Release
from tests.hexcursion.bundle.bundle_samples import retold
from tests.hexcursion.bundle.scan import scan_for

PRICE, EASTING, SEED = 731_849.27, 530_268.134, 918_273_645
TEXTS = ("ZZ9Z 7QX", "{4C1D2A0E-77AA-4F6B-9D5E-CANARY000001}", "Rue du Canari 17")


@pytest.fixture(scope="module")
def surrounded(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a release that was made amid private things, all of them within its reach."""
    planted = retold(release, prior_mean=np.full(len(release.cells), 0.618033988))
    for name, value in {
        "baseline": np.full(len(release.cells), PRICE),
        "raw_records": [(PRICE, EASTING, TEXTS[0])],
        "counts": np.full(len(release.cells), 90_817_263),
        "seed": SEED,
        "ids": TEXTS,
    }.items():
        object.__setattr__(planted, name, value)
    place = tmp_path_factory.mktemp("canary")
    os.environ["HEXCURSION_CANARY"] = TEXTS[1]
    try:
        write_bundle(planted, place / "bundle")
    finally:
        del os.environ["HEXCURSION_CANARY"]
    return place


def test_no_canary_is_in_the_bundle_or_its_zip(surrounded: Path) -> None:
    assert scan_for([PRICE, EASTING, SEED, 90_817_263, 0.618033988, *TEXTS], surrounded) == []


def test_nothing_of_the_machine_is_in_the_bundle(surrounded: Path) -> None:
    machine = {socket.gethostname(), str(surrounded), str(Path.home()), f"user {getpass.getuser()}"}
    long_enough = [text for text in machine if sum(map(str.isalnum, text)) >= 5]
    assert long_enough
    assert scan_for(long_enough, surrounded) == []


def test_what_is_public_is_found_in_the_same_files(surrounded: Path, release: Release) -> None:
    """The scanner sees these files: published facts turn up in every one that should hold them."""
    found = {hit.file.rpartition("!")[2].rpartition("/")[2] for hit in scan_for([release.title], surrounded)}
    assert {"cells.geojson", "statement.json", "label.html", "README.txt"} <= found
    packed = {hit.file for hit in scan_for([release.title], surrounded)}
    assert any(name.startswith("bundle.zip!") for name in packed)


SPELLINGS = {
    "plain": lambda value: str(value).encode(),
    "rounded": lambda value: f"{value:.0f}".encode(),
    "cut off": lambda value: f"{math.floor(value * 10) / 10}".encode(),
    "thousands": lambda value: f'"{value:,.2f}"'.encode(),
    "blanks": lambda value: f"{value:,.0f}".replace(",", " ").encode(),
    "scientific": lambda value: f"{value:.9e}".encode(),
    "list": lambda value: json.dumps([1, value, 2]).encode(),
    "adjacent": lambda value: f"51.5,{value},0.1".encode(),
    "logarithm": lambda value: f"x={math.log(value):.6f}".encode(),
    "log10": lambda value: f"{math.log10(value):.8f}".encode(),
    "double": lambda value: b"abc" + struct.pack("<d", value),
    "double, big end": lambda value: struct.pack(">d", value) + b"z",
    "float": lambda value: b"abc" + struct.pack("<f", value),
    "base64": lambda value: base64.b64encode(b"k=" + repr(value).encode() + b";"),
    "gzip": lambda value: gzip.compress(str(value).encode()),
    "bz2": lambda value: bz2.compress(str(value).encode()),
    "zlib in something": lambda value: b"IDAT" + zlib.compress(f"{value}; {value}".encode()) + b"end",
}


# Spellings that leave fewer than six digits of a small number.
COARSE = {"rounded", "cut off", "thousands", "blanks"}
CASES = [(PRICE, name) for name in SPELLINGS] + [(731_849, name) for name in SPELLINGS]
CASES += [(51.51234567, name) for name in SPELLINGS if name not in COARSE]


@pytest.mark.parametrize(("value", "spelling"), CASES)
def test_numbers_are_found_in_every_spelling(tmp_path: Path, value: float, spelling: str) -> None:
    (tmp_path / "file.bin").write_bytes(SPELLINGS[spelling](value))
    assert scan_for([value], tmp_path)
    assert scan_for([612_345.678], tmp_path) == []


def test_binary_whole_numbers_are_found(tmp_path: Path) -> None:
    for kind in ("<i", ">i", "<q", ">q"):
        (tmp_path / "file.bin").write_bytes(b"abc" + struct.pack(kind, SEED))
        assert scan_for([SEED], tmp_path), kind


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_found_in_every_encoding(tmp_path: Path, text: str) -> None:
    spelt = {
        "utf-8": text.encode(),
        "utf-16": text.encode("utf-16"),
        "utf-32": text.encode("utf-32-be"),
        "lower": text.lower().encode(),
        "no blanks": text.replace(" ", "").lower().encode(),
        "other blanks": text.replace(" ", "-").encode(),
        "html": "".join(f"&#{ord(c)};" for c in text).encode(),
        "url": text.replace(" ", "%20").replace("{", "%7B").replace("}", "%7D").encode(),
        "hex": text.encode().hex().encode(),
        "base64, 0": base64.b64encode(text.encode()),
        "base64, 1": base64.b64encode(b"x" + text.encode() + b"yz"),
        "base64, 2": base64.b64encode(b"xy" + text.encode() + b"z"),
    }
    for name, content in spelt.items():
        (tmp_path / "file.dat").write_bytes(b"before " + content + b" after")
        assert scan_for([text], tmp_path), name
    (tmp_path / "file.dat").write_bytes(b"nothing of the kind")
    assert scan_for([text], tmp_path) == []


def test_archives_tables_databases_and_names_are_searched(tmp_path: Path) -> None:
    pq.write_table(pa.table({"value": [1.0, PRICE]}), tmp_path / "a.parquet", compression="zstd")
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({"who": TEXTS[0]}), tmp_path / "b.parquet")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "a.parquet", "inner/a.parquet")
        archive.comment = TEXTS[2].encode()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as database:
        database.execute("create table t (v real, w text)")
        database.execute("insert into t values (?, ?)", (EASTING, TEXTS[1]))
    (tmp_path / f"{SEED}.txt").write_text("")
    found = {(hit.value, hit.file) for hit in scan_for([PRICE, EASTING, SEED, *TEXTS], tmp_path)}
    assert {
        (PRICE, "a.parquet!parquet"),
        (TEXTS[0], "b.parquet!parquet"),
        (PRICE, "outer.zip!inner/a.parquet!parquet"),
        (TEXTS[2], "outer.zip!zip comment"),
        (EASTING, "ledger.sqlite"),
        (TEXTS[1], "ledger.sqlite"),
        (SEED, f"{SEED}.txt"),
    } <= found


@pytest.mark.parametrize("value", ["ab 1", 42, 1.5, True, float("inf")])
def test_canaries_that_chance_could_plant_are_refused(tmp_path: Path, value: float | str) -> None:
    with pytest.raises(ValueError, match="canary"):
        scan_for([value], tmp_path)
