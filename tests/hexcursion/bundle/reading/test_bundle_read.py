"""Reading: a bundle can come from anybody, so every tampering is one sentence and nothing is ever run."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgp_core.releasing import GRID
from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.layout import REQUIRED, sums_text
from hexcursion.bundle.read import bundle_from_contents
from tests.hexcursion.bundle.bundle_samples import set_at

Contents = dict[str, bytes]


def zipped(contents: Contents, folder: str = "london/") -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(folder + name, content)
    return sink.getvalue()


def resealed(contents: Contents, **changed: bytes) -> bytes:
    """A zip with changed files and right checksums: what a forger would make."""
    made = {**contents, **{name.replace("__", "."): content for name, content in changed.items()}}
    made["SHA256SUMS"] = sums_text({n: c for n, c in made.items() if n != "SHA256SUMS"}).encode()
    return zipped(made)


def refused(source: Any) -> str:
    """The sentence with which a source is refused."""
    with pytest.raises(BundleError) as caught:
        read_bundle(source)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


def edited(contents: Contents, edit: Callable[[dict[str, Any]], None], name: str = "statement.json") -> bytes:
    value = json.loads(contents[name])
    edit(value)
    return json.dumps(value).encode()


def test_a_resealed_but_unchanged_bundle_is_accepted(contents: Contents) -> None:
    assert read_bundle(resealed(contents)).threshold == 442_413.0
    assert read_bundle(zipped(contents, folder="")).threshold == 442_413.0
    assert read_bundle(io.BytesIO(zipped(contents))).threshold == 442_413.0


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_changed_byte_is_noticed(contents: Contents, name: str) -> None:
    content = bytearray(contents[name])
    content[len(content) // 2] ^= 0x01
    assert name in refused(zipped({**contents, name: bytes(content)})) or name == "SHA256SUMS"


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_missing_file_is_noticed(contents: Contents, name: str) -> None:
    assert name in refused(zipped({n: c for n, c in contents.items() if n != name}))


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("guarantee.epsilon", 0.5, "smaller than what its own cost proves"),
        ("guarantee.epsilon", -1.0, "guarantee.epsilon"),
        ("guarantee.epsilon", "1", "guarantee.epsilon"),
        ("guarantee.delta", 0.0, "guarantee.delta"),
        ("guarantee.delta", 1.0, "guarantee.delta"),
        ("guarantee.proved", False, "guarantee.proved"),
        ("guarantee.n_is_public", False, "contradicts itself about its number"),
        ("guarantee.unit", "person", "does not know"),
        ("guarantee.groups.0.epsilon", 0.1, "group line"),
        ("guarantee.curve.orders", [3.0, 2.0], "RDP curve"),
        ("guarantee.curve.values", [], "RDP curve"),
        ("schema", "hexcursion-statement-3", "schema"),
        ("design.ridge", 0.0, "impossible design: ridge"),
        ("design.cutoff", 0.7, "contradicts itself"),
        ("design.paths", 13, "contradicts itself"),
        ("design.smoothing", 2, "contradicts itself"),
        ("paths.count", 13, "contradicts itself"),
        ("paths.grid", 0.5, "paths.grid"),
        ("subject.threshold", 400_000.0, "two different thresholds"),
        ("subject.threshold", -1.0, "makes no sense"),
        ("subject.threshold_response", 0.0, "two different thresholds"),
        ("subject.direction", "sideways", "subject.direction"),
        ("subject.direction", "below", "does not follow from the paths"),
        ("subject.domain.cells", 3, "'Domain' does not follow"),
        ("subject.domain.resolution", 9, "'Domain' does not follow"),
        ("response.clip", 0.0, "response.clip"),
        ("response.centre", 10**17, "two different thresholds"),
        ("release.title", "<b>" * 100, "release.title"),
        ("release.id", "other", "disagree about the release"),
        ("products.confidence", 0.5, "contradicts itself about its products"),
        ("receipt", "none", "receipt"),
        ("unknown", 1, "the statement"),
    ],
    ids=str,
)
def test_a_forged_statement_is_refused(contents: Contents, path: str, value: object, sentence: str) -> None:
    forged = resealed(contents, statement__json=edited(contents, set_at(path, value)))
    assert sentence in refused(forged)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b'{"schema": NaN}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"schema": 1e999}',
        b'{"schema": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe\x00",
        pickle.dumps({"schema": "hexcursion-statement-2"}),
    ],
    ids=["empty", "list", "null", "nan", "twice", "deep", "huge float", "huge int", "not utf-8", "pickle"],
)
def test_a_statement_that_is_no_statement(contents: Contents, content: bytes) -> None:
    refused(resealed(contents, statement__json=content))


def parquet(columns: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_forged_paths_are_refused(contents: Contents) -> None:
    table = pq.read_table(io.BytesIO(contents["paths.parquet"]))
    columns = {name: table.column(name) for name in table.column_names}
    values = table.column("path_1").to_pylist()
    cases = {
        "columns h3": {**columns, "count": pa.array([1] * len(values))},
        "numbers in its paths": {**columns, "path_1": pa.array(["a"] * len(values))},
        "not finite": {**columns, "path_1": pa.array([float("nan"), *values[1:]])},
        "published grid": {**columns, "path_1": pa.array([values[0] + GRID / 3, *values[1:]])},
        "does not follow": {**columns, "path_1": pa.array([-value for value in values])},
        "lacks values": {**columns, "h3": pa.array([None, *table.column("h3").to_pylist()[1:]], pa.string())},
        "not sorted": {**columns, "h3": pa.array(table.column("h3").to_pylist()[::-1])},
        "not valid": {**columns, "h3": pa.array(sorted(f"cell{k:04d}" for k in range(len(values))))},
        "disagree": {name: column.slice(0, 5) for name, column in columns.items()},
    }
    for sentence, changed in cases.items():
        assert sentence in refused(resealed(contents, paths__parquet=parquet(changed)))
    assert "damaged" in refused(resealed(contents, paths__parquet=b"PAR1" + b"\0" * 50 + b"PAR1"))


def test_geojson_must_follow_from_the_paths(contents: Contents) -> None:
    for name, path, value in (
        ("cells.geojson", "features.0.properties.vote_fraction", 0.9),
        ("cells.geojson", "features.3.properties.in_set", True),
        ("cells.geojson", "release.epsilon", 0.1),
        ("cells.geojson", "features.3.properties.h3", "88195da49bfffff"),
        ("cells.geojson", "features", {}),
        ("regions.geojson", "features.0.properties.cells", 1_000),
        ("regions.geojson", "release.release_id", "x"),
        ("boundary.geojson", "release.title", "x"),
        ("boundary.geojson", "features.0.geometry", None),
        ("boundary.geojson", "features.0.geometry", {"type": "Point", "coordinates": [0.0, 51.0]}),
    ):
        forged = edited(contents, set_at(path, value), name)
        refused(resealed(contents, **{name.replace(".", "__"): forged}))


NAMES = ("../statement.json", "/etc/statement.json", "a/b/statement.json", "a\\statement.json", "..")
MORE_NAMES = ("./statement.json", "C:/x/statement.json", "evil.py", "statement.json\0.py")


@pytest.mark.parametrize("name", NAMES + MORE_NAMES)
def test_names_that_would_leave_the_folder(contents: Contents, name: str) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for other, content in contents.items():
            if other != "statement.json":
                archive.writestr(f"london/{other}", content)
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        archive.writestr(entry, contents["statement.json"])
    refused(sink.getvalue())


def test_links_and_doubles_in_a_zip(contents: Contents) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFLNK | 0o777 if name == "map.png" else stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content)
    assert "link" in refused(sink.getvalue())
    for double in ("README.txt", "other/README.txt"):
        sink = io.BytesIO()
        with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(sink, "w") as archive:
            for name in (*contents, double):
                archive.writestr(name, contents[name.removeprefix("other/")])
        refused(sink.getvalue())


def test_zip_bombs(contents: Contents) -> None:
    bomb = zipped({**contents, "README.txt": b"\0" * 50_000_000})
    assert len(bomb) < 1_000_000
    assert "README.txt is larger" in refused(bomb)
    swollen = zipped({**contents, "cells.geojson": b" " * 100_000_000})
    assert "swells" in refused(swollen)
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for k in range(5_000):
            archive.writestr(f"{k}", b"")
    assert "more files" in refused(many.getvalue())
    lying = bytearray(zipped(contents))
    start = lying.rindex(b"PK\x01\x02")
    lying[start + 24 : start + 28] = struct.pack("<I", 10)  # states a size of ten bytes
    refused(bytes(lying))


def test_encrypted_and_broken_zips(contents: Contents) -> None:
    whole = bytearray(zipped(contents))
    for at in range(len(whole) - 4):
        if whole[at : at + 4] in (b"PK\x01\x02", b"PK\x03\x04"):
            whole[at + (8 if whole[at + 2] == 1 else 6)] |= 1
    assert "encrypted" in refused(bytes(whole))
    good = zipped(contents)
    for cut in (0, 1, 100, len(good) // 2, len(good) - 10):
        refused(good[:cut])
    refused(b"not a zip at all")


def test_folders_with_links_devices_and_strangers(contents: Contents, tmp_path: Path) -> None:
    def folder(name: str) -> Path:
        made = tmp_path / name
        made.mkdir()
        for file, content in contents.items():
            (made / file).write_bytes(content)
        return made

    linked = folder("linked")
    (linked / "README.txt").unlink()
    (linked / "README.txt").symlink_to("/etc/hostname")
    assert "link" in refused(linked)
    piped = folder("piped")
    (piped / "README.txt").unlink()
    os.mkfifo(piped / "README.txt")
    assert "not a plain file" in refused(piped)
    strange = folder("strange")
    (strange / "baseline.geojson").write_text("{}")
    assert "SHA256SUMS does not list: baseline.geojson" in refused(strange)
    (strange / "baseline.geojson").rename(strange / "baseline.html")
    assert "no file named 'baseline.html'" in refused(strange)
    for number in range(30):
        (strange / f"{number}.csv").touch()
    assert "more files than a bundle has" in refused(strange)
    nested = folder("nested")
    (nested / "README.txt").unlink()
    (nested / "README.txt").mkdir()
    refused(nested)
    assert "name a bundle's folder or zip" in refused(tmp_path / "absent.zip")


def test_checksums_must_name_every_file_once(contents: Contents) -> None:
    sums = contents["SHA256SUMS"].decode()
    for wrong in (
        "",
        sums + sums.splitlines()[0] + "\n",
        sums + hashlib.sha256(b"").hexdigest() + "  baseline.csv\n",
        sums.replace("  ", " *"),
        sums + "rubbish\n",
    ):
        refused(zipped({**contents, "SHA256SUMS": wrong.encode()}))


def test_the_label_of_a_stranger_is_made_anew(contents: Contents) -> None:
    evil = contents["label.html"].replace(b"</main>", b"<script>alert(1)</script></main>")
    bundle = read_bundle(resealed(contents, label__html=evil))
    assert "<script" not in bundle.label_html
    assert bundle.label_html.encode() == contents["label.html"]


@settings(max_examples=60)
@given(st.data())
def test_no_damage_gets_past_the_reader(contents: Contents, data: st.DataObject) -> None:
    _damage(contents, data)


@pytest.mark.slow
@settings(max_examples=1_500)
@given(st.data())
def test_no_damage_gets_past_the_reader_at_length(contents: Contents, data: st.DataObject) -> None:
    _damage(contents, data)


def _damage(contents: Contents, data: st.DataObject) -> None:
    """Any damage to one small file, resealed with right checksums, is read or refused in one sentence."""
    name = data.draw(
        st.sampled_from(["statement.json", "boundary.geojson", "paths.parquet", "SHA256SUMS", "map.png"])
    )
    content = bytearray(contents[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        replacement = data.draw(st.binary(max_size=6))
        content[at : at + data.draw(st.integers(0, 6))] = replacement
    made = {**contents, name: bytes(content)}
    if name != "SHA256SUMS":
        made["SHA256SUMS"] = sums_text({n: c for n, c in made.items() if n != "SHA256SUMS"}).encode()
    try:
        bundle = bundle_from_contents(made)
    except BundleError as error:
        sentence = str(error)
    else:
        sentence = ""
        assert bundle.statement["guarantee"]["proved"] is True
        assert bundle.paths.shape == (bundle.statement["paths"]["count"], bundle.domain.size)
    assert "\n" not in sentence


@settings(max_examples=200)
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_refused_in_one_sentence(noise: bytes, like_a_zip: bool) -> None:
    refused(b"PK\x03\x04" + noise + b"PK\x05\x06" + noise[:18].ljust(18, b"\0") if like_a_zip else noise)
