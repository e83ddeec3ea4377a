"""The guests at the door: registered for one test, through the public registries and nothing else."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from data_loaders import LOADERS
from dpgp_core import MECHANISMS, PRIORS
from hexcursion.bundle.exports.registry import EXPORTS
from tests.guest.guests import LINES, PLATEAU, TRIPLES, Stripes
from tests.town import Town


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest mechanism, a guest prior, a guest loader and a guest export."""
    monkeypatch.setitem(MECHANISMS, Stripes.name, Stripes())
    monkeypatch.setitem(PRIORS, PLATEAU.name, PLATEAU)
    monkeypatch.setitem(LOADERS, TRIPLES.name, TRIPLES)
    monkeypatch.setitem(EXPORTS, LINES.file, LINES)


@pytest.fixture
def triples(town: Town, tmp_path: Path) -> tuple[Path, Path]:
    """The town's private and reference readings in the guest loader's form, with one line that is no row."""
    made = []
    for source in (town.private, town.reference):
        with source.open(encoding="utf-8", newline="") as stream:
            rows = [";".join((row["lon"], row["lat"], row["no2"])) for row in csv.DictReader(stream)]
        path = tmp_path / f"{source.stem}.triples"
        path.write_text("\n".join(["no row", *rows]) + "\n", encoding="utf-8")
        made.append(path)
    return made[0], made[1]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bundle"
