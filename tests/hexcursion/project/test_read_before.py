"""A large file is read once: then its rows come from a signed store that only the curator can read."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from geo import domain_from_bbox
from hexcursion.ledger import open_ledger
from hexcursion.project import record_store
from hexcursion.project.load import load_source
from hexcursion.project.records import located
from hexcursion.settings.data_settings import SourceSettings

ROWS = [
    "name,when,who,lon,lat,value",
    *(f"n{i},2024-01-{i:02d},s{i % 3},-0.1{i},51.5{i},{i}" for i in range(1, 9)),
]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceSettings:
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(record_store, "LARGE", 1)
    path = tmp_path / "sensors.csv"
    path.write_text("\n".join(ROWS) + "\n")
    return SourceSettings(str(path), value="value", x="lon", y="lat", identifier="name", time="when")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files were read in full."""
    seen: list[str] = []
    real = record_store.read_or_remembered

    def counted(source, unit, owner, read):
        def noted():
            seen.append(Path(source.path).name)
            return read()

        return real(source, unit, owner, noted)

    monkeypatch.setattr("hexcursion.project.load.read_or_remembered", counted)
    return seen


def tables(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home" / "read-before").glob("*.parquet"))


def test_a_second_look_reads_nothing_and_gives_the_same(
    source: SourceSettings, reads: list[str], tmp_path: Path
) -> None:
    first, report = load_source(source, "m", "who")
    again, said = load_source(source, "m", "who")
    assert reads == ["sensors.csv"]
    assert said == report
    assert again.value.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert again.owner is not None
    assert again.owner.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    for name in ("x", "y", "identifier", "time"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert getattr(first, name).dtype == getattr(again, name).dtype
    assert (again.crs, again.unit, again.title, again.owner_word) == ("EPSG:4326", "m", "value (m)", "sensor")


def test_the_ledger_knows_records_from_the_store_again(
    source: SourceSettings, reads: list[str], tmp_path: Path
) -> None:
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    keys = []
    for _ in range(2):
        rows, _ = load_source(source, "m")
        keys.append(
            ledger.record_keys(
                rows.x, rows.y, rows.value, time=rows.time, identity=rows.identifier.astype(str)
            )
        )
    assert reads == ["sensors.csv"]
    assert sorted(keys[0].hashes) == ["identity", "moment", "occasion", "place", "reading"]
    assert all(np.array_equal(keys[0].hashes[kind], keys[1].hashes[kind]) for kind in keys[0].hashes)


def test_another_setting_unit_owner_or_content_is_another_table(
    source: SourceSettings, reads: list[str], tmp_path: Path
) -> None:
    load_source(source, "m")
    load_source(source, "km")
    load_source(source, "m", "who")
    load_source(replace(source, where=(("who", "s1"),)), "m")
    Path(source.path).write_text("\n".join(ROWS).replace("n8,", "n9,") + "\n")
    load_source(source, "m")
    assert len(reads) == len(tables(tmp_path)) == 5


@pytest.mark.parametrize("where", [10, -100, -1])
def test_what_another_hand_changed_is_read_again(
    source: SourceSettings, reads: list[str], tmp_path: Path, where: int
) -> None:
    load_source(source, "m")
    (table,) = tables(tmp_path)
    data = bytearray(table.read_bytes())
    data[where] ^= 1
    table.write_bytes(data)
    rows, _ = load_source(source, "m")
    assert len(reads) == 2
    assert rows.size == 8
    load_source(source, "m")
    assert len(reads) == 2


def test_one_table_does_not_pass_for_another(
    source: SourceSettings, reads: list[str], tmp_path: Path
) -> None:
    load_source(source, "m")
    load_source(source, "km")
    first, second = tables(tmp_path)
    first.write_bytes(second.read_bytes())
    units = [load_source(source, unit)[0].unit for unit in ("m", "km")]
    assert units == ["m", "km"]
    assert len(reads) == 3


def test_only_the_curator_can_read_it_and_its_name_tells_nothing(
    source: SourceSettings, tmp_path: Path
) -> None:
    load_source(source, "m")
    folder = tmp_path / "home" / "read-before"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for each in folder.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    (name,) = [each.stem for each in tables(tmp_path)]
    (folder / "store.key").unlink()
    load_source(source, "m")
    assert len(tables(tmp_path)) == 2  # another key, another name
    assert len(name) == 64


def test_what_is_small_uploaded_or_switched_off_is_not_kept(
    source: SourceSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = Path(source.path).stat().st_size
    monkeypatch.setattr(record_store, "LARGE", size + 1)
    assert not record_store.is_kept(source)
    monkeypatch.setattr(record_store, "LARGE", size)
    assert record_store.is_kept(source)
    uploaded = tmp_path / "hexcursion-uploads-x" / "ab" / "sensors.csv"
    uploaded.parent.mkdir(parents=True)
    uploaded.write_text(Path(source.path).read_text())
    assert not record_store.is_kept(replace(source, path=str(uploaded)))
    beside = tmp_path / "sensors.shp"
    beside.write_text(Path(source.path).read_text())
    assert not record_store.is_kept(replace(source, path=str(beside)))
    monkeypatch.setenv("HEXCURSION_READ_BEFORE", "off")
    assert not record_store.is_kept(source)
    assert record_store.name_of("rows") is None


def test_hexagons_are_remembered_for_their_own_area(
    source: SourceSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, narrow = (domain_from_bbox(-0.3, 51.4, east, 51.7, 6) for east in (0.0, -0.15))
    rows, _ = load_source(source, "m")
    found = [located(rows, domain)[0] for domain in (wide, narrow)]
    assert len(tables(tmp_path)) == 3
    assert (found[0] >= 0).all()
    assert (found[1] < 0).any()
    monkeypatch.setattr("hexcursion.project.records._cells", lambda *given: pytest.fail("placed again"))
    rows, _ = load_source(source, "m")
    for domain, cells in zip((wide, narrow), found, strict=True):
        assert np.array_equal(located(rows, domain)[0], cells)


def test_the_tables_used_longest_ago_make_room(
    source: SourceSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_source(source, "m")
    load_source(source, "km")
    old = tables(tmp_path)
    for age, table in enumerate(old):
        os.utime(table, (1000 - age, 1000 - age))
    monkeypatch.setattr(record_store, "MOST_BYTES", sum(table.stat().st_size for table in old) + 100)
    load_source(source, "mm")
    left = tables(tmp_path)
    assert len(left) == 2
    assert old[0] in left
    assert old[1] not in left


def test_a_table_that_is_read_again_is_the_last_to_make_room(source: SourceSettings, tmp_path: Path) -> None:
    load_source(source, "m")
    (table,) = tables(tmp_path)
    os.utime(table, (1000, 1000))
    load_source(source, "m")
    assert table.stat().st_mtime > 1_000_000.0


def test_without_room_for_the_store_files_are_read_all_the_same(
    source: SourceSettings, reads: list[str], tmp_path: Path
) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    assert load_source(source, "m")[0].size == 8
    assert load_source(source, "m")[0].size == 8
    assert len(reads) == 2
