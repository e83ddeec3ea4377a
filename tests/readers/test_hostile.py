"""A small file that unfolds to a large one is one sentence, within little memory; so are damaged ones."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.archives import archive, vector_tile
from tests.data_loaders.workbooks import geopackage
from tests.patience import HANG
from tests.readers import hostile
from tests.readers.registry import PLUGINS, READERS, corpus_of, outcome

CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).resolve().parents[2]
MEMORY = 3 << 30  # bytes of addresses of the process that reads all of them, with all its libraries
BOX = (-0.1, 51.45, 0.0, 51.5)


def files(folder: Path) -> dict[str, tuple[str, Path, str]]:
    """Of each hostile file its reader, its place, and part of the sentence that it must get."""
    made: dict[str, tuple[str, Path, str]] = {}

    def put(name: str, reader: str, content: bytes, said: str) -> None:
        (folder / name).write_bytes(content)
        made[name] = reader, folder / name, said

    nested = gzip.compress(b"x,y,v\n" + b"1,2,3\n" * 20_000_000, 9)
    put("packed.csv.gz", "table", nested, "possible zip bomb")
    put("zipped.zip", "table", hostile.zipped({"a.csv": b"1,2,3\n" * 20_000_000}), "possible zip bomb")
    put("entries.zip", "table", hostile.many_entries(200_000), "holds too many files")
    put("entries-of-a-bundle.zip", "bundle", hostile.many_entries(200_000), "no zip of a bundle")
    put("members.tar.gz", "table", hostile.many_members(300_000), "holds more than 5,000 files")
    put("repeated.xlsx", "table", hostile.repeated_text(20_000, 30_000), "bytes of text: split it")
    put("wide.xlsx", "table", hostile.wide_sheet(20_000), "too many rows and columns: save it as CSV")
    for part in ("root", "metadata"):
        plain = archive(folder / f"{part}.pmtiles", vector_tile(), BOX, zooms=[0])
        made[part] = "basemap", hostile.pmtiles_with(plain, part, 500_000_000), "is damaged or was cut off"
    grid = folder / "unfolding.gpkg"
    geopackage(grid, [(-0.1, 51.5), (-0.1, 51.4)], [1.0, 2.0], ["a", "b"])
    layer = hostile.feature_table(grid)
    hostile.unfolding_geopackage(grid, layer)
    made["gpkg"] = "table", grid, "is damaged or no GeoPackage"
    made["gpkg of shapes"] = "shapes", grid, "is damaged or no GeoPackage"
    cells = folder / "cells.gpkg"
    cells.write_bytes((CORPUS / "export-release.gpkg" / "seed").read_bytes())
    made["gpkg of a bundle"] = (
        "export-release.gpkg",
        hostile.unfolding_geopackage(cells, "cells"),
        "is damaged",
    )
    names = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), ["x" * 1_000_000])
    pq.write_table(
        pa.table({"h3": names, "path_1": [1.0] * 50_000}), folder / "long.parquet", store_schema=False
    )
    made["parquet"] = "paths", folder / "long.parquet", "names of cells or classes that are longer than any"
    for plugin in PLUGINS:
        plugin.hostile(put)
    put("deep.toml", "settings", b"a = " + b"[" * 100_000, "is not valid TOML")
    put("deep.json", "polygons", b"[" * 100_000, "")
    return made


@pytest.mark.slow
def test_files_that_unfold_are_one_sentence_within_bounded_memory(tmp_path: Path) -> None:
    """All in one process, whose addresses are limited: what unpacks beyond all bounds ends it."""
    given = files(tmp_path)
    asked = [[name, reader, str(path)] for name, (reader, path, _) in given.items()]
    process = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-m", "tests.readers.test_hostile"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=HANG,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.returncode == 0, process.stderr[-2000:]
    said = json.loads(process.stdout)
    assert said.keys() == given.keys()
    for name, (_, _, part) in given.items():
        assert part in said[name], f"{name}: {said[name]}"


def main() -> None:
    """Read the files that standard input lists, within `MEMORY`; say what was said of each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    said = {name: outcome(reader, Path(path).read_bytes()) for name, reader, path in json.load(sys.stdin)}
    json.dump(said, sys.stdout)


@pytest.mark.parametrize("reader", READERS)
def test_the_corpus_and_its_halves_are_read_or_refused_in_one_sentence(reader: str) -> None:
    """What the fuzzer begins with, cut off at places and with bytes exchanged."""
    seeds = sorted(corpus_of(reader).iterdir())
    assert seeds
    for content in (seed.read_bytes() for seed in seeds):
        outcome(reader, content)
        for step in range(1, 8):
            cut = len(content) * step // 8
            outcome(reader, content[:cut])
            outcome(reader, content[:cut] + bytes([content[cut] ^ 0xFF]) + content[cut + 1 :])


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="atheris is built for Linux on x86-64"
)
def test_the_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """A hundred inputs and more for each reader; a defect's input is printed in hexadecimal.

    `tests.readers.fuzz` runs longer.
    """
    found = tmp_path / "found"
    # Coverage would measure every line a second time, beside the fuzzer, in a process that ends without it.
    measured = ("COV_CORE_", "COVERAGE_")
    process = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-m", "tests.readers.fuzz", "--runs", "120", "--seconds", "3",
         "--grown", str(tmp_path / "grown"), "--found", str(found)],
        capture_output=True, text=True, timeout=HANG, cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith(measured)},
    )  # fmt: skip
    bad = {str(path.relative_to(found)): path.read_bytes().hex() for path in found.glob("*/*")}
    assert (process.returncode, bad) == (0, {}), process.stderr[-3000:]
    assert process.stdout.splitlines() == [f"{reader}: nothing found" for reader in READERS]
    assert process.stderr.count("number_of_executed_units") == len(READERS), "a fuzzer ran no input"


if __name__ == "__main__":
    main()
