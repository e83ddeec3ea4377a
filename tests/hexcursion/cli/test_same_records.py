"""The command line on records released before in other words, and on records listed several times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hexcursion.cli.main import main
from hexcursion.ledger import open_ledger


def table(path: Path, factor: float = 1.0, times: int = 1) -> Path:
    rng = np.random.default_rng(4)
    rows = [
        f"S{k},{lon:.5f},{lat:.5f},{value:.2f}"
        for k, (lon, lat, value) in enumerate(
            zip(
                rng.uniform(-0.19, -0.06, 60),
                rng.uniform(51.46, 51.54, 60),
                factor * rng.normal(20, 5, 60),
                strict=True,
            )
        )
    ]
    path.write_text("\n".join(("sample,lon,lat,value", *(times * rows), "")))
    return path


def release(data: Path, out: Path, *more: str) -> int:
    asked = (
        f"release --data {data} --value value --value-unit ug/m3 --lon lon --lat lat --threshold 20 "
        "--bbox -0.20 51.45 -0.05 51.55 --resolution 8 --centre 20 --clip 20 --priors car --ridge 3 "
        f"--mechanisms posterior-sampling --lengthscale 500 --budget 500 --epsilon 20 --delta 1e-5 "
        f"--accept-low-agreement --out {out}"
    )
    return main([*asked.split(), *more])


def test_a_sample_listed_three_times_is_released_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = table(tmp_path / "a.csv", times=3)
    assert release(data, tmp_path / "out", "--identifier", "sample", "--dry-run") == 0
    said, curators = capsys.readouterr()
    assert "180 rows read, 60 kept." in curators
    assert "120 dropped: lists a record again that an earlier row lists, by its identifier." in curators
    assert "60 readings" in said
    assert "180 readings" not in said


def test_alike_data_are_told_of_and_joined_by_a_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(table(tmp_path / "a.csv"), tmp_path / "one") == 0
    charged = next(entry for entry in open_ledger().entries() if entry.kind == "reserve")
    capsys.readouterr()
    euros, out = table(tmp_path / "b.csv", 1.17), tmp_path / "two"
    assert release(euros, out, "--dry-run") == 0
    said, curators = capsys.readouterr()
    assert "shares 100% of its places with these data, but no record was recognised" in curators
    assert f"--same-records-as {charged.number} does that." in curators
    assert "Earlier releases" not in said
    entries = open_ledger().entries()
    joined = ("--same-records-as", str(charged.number))
    assert release(euros, out, "--dry-run", *joined) == 0
    assert "Earlier releases" in capsys.readouterr().out
    assert open_ledger().entries() == entries, "a dry run writes no decision"
    assert release(euros, out, *joined) == 0
    assert [entry.kind for entry in open_ledger().entries()[len(entries) :]].count("link") == 1
    assert "Curator only" not in capsys.readouterr().out
    for file in out.rglob("*"):
        assert not file.is_file() or b"no record was recognised" not in file.read_bytes()
    assert release(euros, tmp_path / "three", "--same-records-as", "0", "--dry-run") == 2
    assert "Entry 0 is not a charge" in capsys.readouterr().err
