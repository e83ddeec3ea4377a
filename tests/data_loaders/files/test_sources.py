"""Opening: by content and not by name, bounded, and with a sentence for everything that is no CSV."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from data_loaders.files.guarded import Limits
from data_loaders.files.sources import as_sources, open_tables, source_name
from tests.data_loaders.material import packed, packed_tar, packed_zip, refused

TEXT = b"a,b\n1,2\n"


def contents(source: object, **limits: float) -> dict[str, bytes]:
    chosen = Limits(**limits)  # type: ignore[arg-type]
    return {t.name: t.stream.read() for t in open_tables(source, chosen)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        packed(TEXT),
        packed_zip({"t.csv": TEXT}),
        packed_tar({"t.csv": TEXT}),
        packed_tar({"t.csv": TEXT}, "w"),
    ],
    ids=["plain", "gzip", "zip", "tar.gz", "tar"],
)
def test_the_same_text_in_every_packing_and_from_every_kind_of_source(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "no-telling-suffix"
    path.write_bytes(data)

    class Pipe(io.RawIOBase):
        """A file that cannot seek, such as standard input."""

        def __init__(self) -> None:
            self._inner = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            return self._inner.readinto(buffer)  # type: ignore[arg-type]

    for source in (data, path, str(path), io.BytesIO(data), Pipe()):
        assert list(contents(source).values()) == [TEXT]


def test_an_open_file_is_read_from_its_beginning_every_time() -> None:
    handle = io.BytesIO(TEXT)
    handle.read()
    assert list(contents(handle).values()) == list(contents(handle).values()) == [TEXT]


def test_a_folder_and_an_archive_give_their_tables_in_order_of_name(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.csv", "a.csv", "notes.pdf"):
        (tmp_path / "sub" / name).write_bytes(TEXT)
    assert [table.name for table in open_tables(tmp_path, folders=True)] == ["a.csv", "b.csv"]
    archive = packed_zip({"b.csv": TEXT, "a.csv": TEXT, "readme.md": b"x", "__MACOSX/._a.csv": b"x"})
    assert list(contents(archive)) == ["a.csv", "b.csv"]


def test_a_folder_with_several_tables_is_not_merged_in_silence(tmp_path: Path) -> None:
    """Somebody who gives a folder for a file would release whatever else lies below it."""
    (tmp_path / "air" / "old").mkdir(parents=True)
    (tmp_path / "air" / "old" / "a.csv").write_bytes(TEXT)
    assert list(contents(tmp_path / "air")) == ["a.csv"]
    (tmp_path / "air" / "b.csv").write_bytes(TEXT)
    assert refused(lambda: contents(tmp_path / "air")) == (
        "air is a folder with 2 CSV files: name the one to read, or pack those that belong together into a "
        ".zip file."
    )
    (tmp_path / "none").mkdir()
    assert refused(lambda: contents(tmp_path / "none")) == (
        "none holds no CSV file: choose the file with the table."
    )


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"\n \r\n", "empty"),
        (packed(b""), "empty"),
        (b"%PDF-1.7 ...", "PDF"),
        (packed_zip({"[Content_Types].xml": b"<x/>", "xl/sheet1.xml": b"<x/>"}), "Excel"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel"),
        (b"PAR1....", "damaged or not the Parquet file"),
        (b"\x00\x00\x27\x0a....", "one part of a Shapefile"),
        (packed_zip({"p.SHP": b"x", "p.dbf": b"x"}), "damaged or not the Shapefile"),
        (b"\x89PNG\r\n", "picture"),
        (b"<!DOCTYPE html><p>404", "web page"),
        (b'{"a": 1}', "JSON"),
        (b"a,b\n\x00\x01", "binary"),
        (packed(packed(TEXT)), "inside another archive"),
        (packed_zip({"t.csv": packed_zip({"u.csv": TEXT})}), "inside another archive"),
        (packed_zip({"readme.md": b"x"}), "no CSV file"),
        (packed_zip({}), "no CSV file"),
        (packed_tar({"readme.md": b"x"}), "no CSV file"),
        (packed(TEXT * 1000)[:-20], "cut short"),
        (packed(TEXT * 1000)[:-4] + b"abcd", "damaged"),
        (b"\x1f\x8bnothing of the kind", "damaged"),
        (b"PK\x03\x04nothing of the kind", "damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "bytes",  # an archive's bytes hold the time
)
def test_what_is_no_csv_is_called_by_its_name(data: bytes, word: str) -> None:
    assert word in refused(lambda: contents(data))


def test_a_member_without_a_name_is_passed_over() -> None:
    """Found by damaging files: the standard library asks for the last letter of its name."""
    data = packed_zip({"t.csv": TEXT, "?": b"x", "folder.csv/": b""})
    # The length of the name "?", then that of what follows it: the name becomes part of the latter.
    nameless = data.replace(b"\1\0\0\0?", b"\0\0\1\0?").replace(b"\1\0\0\0\0\0\0\0", b"\0\0\1\0\0\0\0\0")
    with zipfile.ZipFile(io.BytesIO(nameless)) as archive:
        assert archive.namelist() == ["t.csv", "", "folder.csv/"]
    assert list(contents(nameless)) == ["t.csv"]


def test_a_damaged_tar_and_a_damaged_zip_member_are_refused() -> None:
    tar = bytearray(packed_tar({"t.csv": TEXT * 500, "u.csv": TEXT * 500}, "w"))
    assert "damaged" in refused(lambda: contents(bytes(tar[:300])))
    damaged = bytearray(packed_zip({"t.csv": bytes(range(1, 250)) * 40}))
    damaged[60] ^= 0xFF
    assert "damaged" in refused(lambda: contents(bytes(damaged)))


def test_a_missing_path_is_named_without_its_folder(tmp_path: Path) -> None:
    said = refused(lambda: contents(tmp_path / "private-folder" / "missing.csv"))
    assert "missing.csv" in said
    assert "private-folder" not in said
    assert "cannot be opened" in refused(lambda: contents("a\0b"))


def test_text_handles_and_foreign_objects_are_refused() -> None:
    assert "binary mode" in refused(lambda: contents(io.StringIO("a,b")))
    assert "file path, bytes" in refused(lambda: contents(3))
    assert "file path, bytes" in refused(lambda: as_sources(3))  # type: ignore[arg-type]
    assert "No file" in refused(lambda: as_sources([]))


def test_a_zip_bomb_is_stopped_long_before_it_has_unpacked() -> None:
    bomb = packed(b"a,b\n" + b"1" * (8 << 20))
    assert "zip bomb" in refused(lambda: contents(bomb, free_bytes=1 << 20))
    bomb = packed_zip({"t.csv": b"a,b\n" + b"1" * (8 << 20)})
    assert "zip bomb" in refused(lambda: contents(bomb, free_bytes=1 << 20))
    bomb = packed_tar({"t.csv": b"a,b\n" + b"1" * (8 << 20)})
    assert "zip bomb" in refused(lambda: contents(bomb, free_bytes=1 << 20))
    assert len(contents(bomb)["t.csv"]) > 8 << 20, "with the usual allowance so small a file passes"


def test_a_zip_whose_directory_lies_about_the_size_is_stopped() -> None:
    data = bytearray(packed_zip({"t.csv": b"a,b\n" + b"1" * (4 << 20)}))
    real = (4 + (4 << 20)).to_bytes(4, "little")
    lied = data.replace(real, (100).to_bytes(4, "little"))
    assert lied != data
    assert "damaged" in refused(lambda: contents(bytes(lied)))


def test_size_and_number_of_files_are_bounded() -> None:
    assert "more than 100 bytes" in refused(lambda: contents(b"a,b\n" * 50, max_bytes=100))
    both = packed_zip({"a.csv": b"a,b\n" * 20, "b.csv": b"a,b\n" * 20})
    assert "more than 100 bytes" in refused(lambda: contents(both, max_bytes=100)), "counted over all tables"
    assert "more than 1 files" in refused(lambda: contents(both, max_members=1))


def test_a_password_is_named_as_the_reason() -> None:
    data = bytearray(packed_zip({"t.csv": TEXT}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1  # the "encrypted" bit
    assert "password" in refused(lambda: contents(bytes(data)))


def test_names_in_archives_are_never_paths() -> None:
    hostile = packed_zip({"../../etc/t.csv": TEXT})
    assert list(contents(hostile)) == ["t.csv"]
    assert list(contents(packed_tar({"/etc/../t.csv": TEXT}))) == ["t.csv"]


def test_a_source_is_called_by_its_file_name() -> None:
    upload = io.BytesIO(TEXT)
    upload.name = "C/some/where/pp.csv"  # type: ignore[attr-defined]
    assert source_name(upload) == "pp.csv"
    assert source_name(TEXT) == "the table"
    assert source_name(Path("/home/someone/pp.csv")) == "pp.csv"


def test_the_first_bytes_are_not_lost_to_the_reader() -> None:
    long = b"a,b\n" + b"1,2\n" * 100_000
    for data in (long, gzip.compress(long), packed_zip({"t.csv": long})):
        for table in open_tables(data):
            assert table.head == long[: 1 << 16]
            assert table.stream.read() == long


def test_zip_methods_beyond_deflate_work_or_are_refused_in_words() -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", method) as archive:
            archive.writestr("t.csv", TEXT)
        assert contents(held.getvalue()) == {"t.csv": TEXT}
