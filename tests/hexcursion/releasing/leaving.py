"""What leaves a release, byte by byte, with noise, clock and released numbers held fixed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import dpgp_core.atlas.release as atlas_release
import dpgp_core.mechanisms.cell_sums as cell_sums
import dpgp_core.mechanisms.label_sums as label_sums
import dpgp_core.mechanisms.posterior_sampling as posterior_sampling
import dpgp_core.mechanisms.spectral_release as prepared
import hexcursion.releasing.transaction as transaction
import hexcursion.search.pilot as pilot
from hexcursion.cli.main import main
from hexcursion.ledger import open_ledger
from hexcursion.ledger.places import home
from tests.dpgp_core.mechanisms.beside import table
from tests.town import BOX
from tests.town import field as true_value

Row = tuple[float, float, float]
Run = Literal["dry run", "release"]
RELEASES = {
    "posterior-sampling": (posterior_sampling._PreparedPaths, "draw"),
    "noisy-cell-statistics": (cell_sums, "noisy_totals"),
    "spectral-statistics": (prepared, "release_sums"),
    "bin-means": (label_sums.PreparedSums, "draw"),
    **table("TAPED"),
}
"""Where each mechanism turns private numbers into released ones: all that comes after is post-processing."""


@dataclass
class Tape:
    """The numbers that were released for one dataset, in order, which its neighbour is given too."""

    kept: list[Any] = field(default_factory=list)
    at: int | None = None
    drawing: bool = False

    def held(self, release: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its results kept, or replaced by those kept, while something is drawn."""

        def hold(*given: Any, **named: Any) -> Any:
            made = release(*given, **named)
            if not self.drawing:
                return made
            if self.at is None:
                self.kept.append(made)
                return made
            self.at += 1
            return self.kept[self.at - 1]

        return hold

    def while_drawing(self, draw: Callable[..., Any]) -> Callable[..., Any]:
        """The function, during which the tape runs: searches and simulations are not held."""

        def run(*given: Any, **named: Any) -> Any:
            self.drawing = True
            try:
                return draw(*given, **named)
            finally:
                self.drawing = False

        return run


class _Noon:
    @staticmethod
    def now(_: Any) -> datetime:
        return datetime(2026, 6, 18, 12, tzinfo=UTC)


@contextmanager
def held(tape: Tape | None) -> Iterator[None]:
    """Fixed random bits, a clock that stands, seals without the hash of private bytes; and the tape."""
    calls = iter(range(1 << 40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", lambda size: hashlib.shake_256(f"{next(calls)}".encode()).digest(size))
        patch.setattr(transaction, "datetime", _Noon)
        # A seal's hash hides the records computationally, by the ledger's key: the number is what is left.
        patch.setattr(
            "hexcursion.ledger.chain.seal_of", lambda entry, _: f"{entry.number}:{'0' * 64}:{'0' * 16}"
        )
        patch.setenv("HEXCURSION_READ_BEFORE", "off")
        if tape is not None:
            places = {*RELEASES.values(), (atlas_release, "release_sums")}
            for place, name in places - {(label_sums.PreparedSums, "draw")}:
                patch.setattr(place, name, tape.held(getattr(place, name)))
            drawn = label_sums.PreparedSums.draw
            patch.setattr(
                label_sums.PreparedSums,
                "draw",
                lambda self, entropy: drawn(replace(self, noisy=tape.held(self.noisy)), entropy),
            )
            patch.setattr(transaction, "draw_release", tape.while_drawing(transaction.draw_release))
            patch.setattr(pilot, "release_statistics", tape.while_drawing(pilot.release_statistics))
        yield


def rows_of(n: int, seed: int = 5) -> list[Row]:
    """n readings in the western two thirds of the town's box."""
    rng = np.random.default_rng(seed)
    west, south, east, north = BOX
    lon, lat = rng.uniform(west, west + 0.6 * (east - west), n), rng.uniform(south, north, n)
    value = true_value(lon, lat) + 4.0 * rng.standard_normal(n)
    return list(zip(lon.tolist(), lat.tolist(), value.tolist(), strict=True))


def written(path: Path, rows: Sequence[Row | str]) -> Path:
    """A sensor table of rows, each three numbers or a line as it stands; the first may be a header."""
    header = [] if isinstance(rows[0], str) and rows[0].startswith("lon,") else ["lon,lat,no2"]
    lines = [row if isinstance(row, str) else "{:.6f},{:.6f},{:.4f}".format(*row) for row in rows]
    path.write_text("\n".join([*header, *lines]) + "\n", encoding="utf-8")
    return path


def leaving(
    folder: Path,
    rows: Sequence[Row | str],
    options: Sequence[str],
    capsys: pytest.CaptureFixture[str],
    *,
    tape: Tape | None = None,
    runs: Sequence[Run] = ("release",),
) -> dict[str, bytes]:
    """Everything that leaves runs of the command on rows: by name, as bytes.

    Files of the bundle, its zip, standard output, exit status, refusal, facts of the ledger and public work.
    What is said on standard error beside a refusal is for the curator alone. Neighbours are released from one
    folder, one after the other.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    said: dict[str, bytes] = {}
    with held(tape), pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXCURSION_HOME", str(folder / "home"))
        patch.setenv("HEXCURSION_WITNESS", str(folder / "witness"))
        command = ["release", "--data", str(written(folder / "private.csv", rows)), *options]
        command += ["--out", str(folder / "bundle")]
        for name in runs:
            capsys.readouterr()
            status = main([*command, *(["--dry-run"] if name == "dry run" else [])])
            printed = capsys.readouterr()
            refused = [line for line in printed.err.splitlines() if line.startswith("error:")]
            said[f"{name}: output"] = printed.out.encode()
            said[f"{name}: status and refusal"] = "\n".join([f"{status}", *refused]).encode()
        for place in sorted((folder / "bundle").rglob("*")):
            said[f"bundle: {place.name}"] = place.read_bytes()
        if (folder / "bundle.zip").exists():
            said["zip"] = (folder / "bundle.zip").read_bytes()
            said["ledger"] = _facts_of_the_ledger()
        for place in sorted((home() / "public").rglob("*")):
            said[f"public work: {place.name}"] = place.read_bytes() if place.is_file() else b""
    if tape is not None:
        assert tape.at in (None, len(tape.kept)), "the neighbour drew another number of times"
        tape.at = 0
    return said


def _facts_of_the_ledger() -> bytes:
    return json.dumps(
        [
            [entry.kind, entry.unit, entry.curve, json.loads(entry.body).get("facts")]
            for entry in open_ledger().entries()
        ],
        indent=1,
    ).encode()


def told_apart(one: dict[str, bytes], other: dict[str, bytes]) -> dict[str, str]:
    """The names of what differs, each with the first place where it does."""
    found = {}
    for name in sorted({*one, *other}):
        here, there = one.get(name, b"nothing"), other.get(name, b"nothing")
        if here != there:
            at = next((i for i, pair in enumerate(zip(here, there)) if pair[0] != pair[1]), 0)  # noqa: B905
            found[name] = f"{here[max(at - 60, 0) : at + 60]!r} against {there[max(at - 60, 0) : at + 60]!r}"
    return found
