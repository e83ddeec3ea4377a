"""Streaming: every row counted, blocks of bounded size, sniffing of delimiter and encoding."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_loaders.files import codings
from data_loaders.files.blocks import MAX_COLUMNS, RowLayout, blocks, sniff_delimiter, text
from data_loaders.files.codings import Utf8Stream, decode
from data_loaders.files.guarded import HEAD
from data_loaders.files.sources import open_tables
from tests.data_loaders.material import refused


def streamed(
    data: bytes, width: int, wanted: dict[str, int], header: tuple[str, ...] | None = None
) -> tuple[dict[str, list[str]], int]:
    (table,) = open_tables(data)
    columns: dict[str, list[str]] = {name: [] for name in wanted}
    malformed = 0
    for block in blocks(table, wanted, RowLayout(width, header)):
        malformed += block.malformed
        for name, column in block.columns.items():
            assert len(column) == block.rows
            columns[name] += text(column).to_pylist()
    return columns, malformed


def test_rows_of_another_width_are_counted_and_left_out() -> None:
    columns, malformed = streamed(b"1,2,3\n1,2\n4,5,6,7\n\n8,9,10\n1,2", 3, {"first": 0, "last": 2})
    assert columns == {"first": ["1", "8"], "last": ["3", "10"]}
    assert malformed == 3


@pytest.mark.parametrize("agreed", [5, 4])
def test_five_of_seven_groups_of_lines_tell_a_coding(monkeypatch: pytest.MonkeyPatch, agreed: int) -> None:
    answers = iter(["big5"] * agreed + [None] * (7 - agreed))
    monkeypatch.setattr(codings, "_guess", lambda group: next(answers))
    lines = b"\n".join(b"%d,\xa7\xda\xa7\xda\xa7\xda" % number for number in range(100))
    if agreed == 5:
        assert codings.coding_of(lines, "the table") == "big5"
    else:
        assert "state the encoding" in refused(lambda: codings.coding_of(lines, "the table"))


def test_one_column_may_be_asked_for_under_two_names() -> None:
    assert streamed(b"a,b\n1,2\n", 2, {"x": 1, "y": 1}, ("a", "b"))[0] == {"x": ["2"], "y": ["2"]}


def test_quotes_line_ends_and_a_byte_order_mark() -> None:
    data = b'\xef\xbb\xbfa,b\r\n"x, y","say ""no"""\r\n"two lines",2\r\n'
    columns, malformed = streamed(data, 2, {"a": 0, "b": 1}, ("a", "b"))
    assert columns == {"a": ["x, y", "two lines"], "b": ['say "no"', "2"]}
    assert malformed == 0


def test_many_blocks_give_every_row_once() -> None:
    rows = 300_000
    data = b"".join(b"%d,some text to fill the block\n" % i for i in range(rows))
    columns, malformed = streamed(data, 2, {"i": 0})
    assert columns["i"] == [str(i) for i in range(rows)]
    assert malformed == 0


def test_entries_that_are_not_utf8_are_read_as_windows_1252_alone() -> None:
    """Also where the row is left out for its width, which pyarrow would otherwise print about."""
    data = "Orléans,1\n".encode() + "Orléans €,2\nOrléans\n".encode("cp1252")
    columns, malformed = streamed(data, 2, {"town": 0})
    assert columns["town"] == ["Orléans", "Orléans €"]
    assert malformed == 1


@given(st.text(), st.integers(1, 7))
def test_valid_utf8_passes_unchanged_however_it_is_cut(written: str, size: int) -> None:
    class Slow(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            return super().read(size)

    data = written.encode("utf-8", "ignore")
    ends = data.removeprefix("\ufeff".encode()).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert Utf8Stream(Slow(data)).read() == ends  # type: ignore[arg-type]


@given(st.binary())
def test_any_bytes_become_valid_utf8_and_ascii_stays(data: bytes) -> None:
    made = Utf8Stream(io.BytesIO(data)).read().decode()  # type: ignore[arg-type,union-attr]
    ends = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removeprefix(b"\xef\xbb\xbf")
    assert [c for c in made if c.isascii()] == [chr(b) for b in ends if b < 128]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", 0),
        (b"\n", 0),
        (b"a", 1),
        (b"a\n", 1),
        (b"\n\na", 1),
        (b"a\n\n\nb\n", 2),
        (b"a\r\n\r\nb\r\nc", 3),
        (b"\ra\rb\r\r", 2),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 99])
def test_lines_that_are_not_empty_are_counted_however_they_are_cut(
    data: bytes, lines: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codings, "_CHUNK", size)
    stream = Utf8Stream(io.BytesIO(data))  # type: ignore[arg-type]
    stream.read()
    assert stream.lines == lines


def test_a_row_without_end_is_refused() -> None:
    said = refused(lambda: streamed(b"1,2\n" + b"x" * (9 << 20), 2, {"a": 0}))
    assert "never ends" in said


def test_a_header_that_two_parsers_read_differently_is_refused() -> None:
    assert "first row" in refused(lambda: streamed(b"1,2\n3,4\n", 2, {"a": 0}, ("a", "b")))


def test_too_many_columns_are_refused() -> None:
    width = MAX_COLUMNS + 1
    assert "columns" in refused(lambda: streamed(b",".join([b"1"] * width), width, {"a": 0}))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_sniffed(delimiter: str) -> None:
    rows = [["site", "value (a;b,c)"], ["A, B", "1"], ["C", "2"]]
    quoted = "\n".join(delimiter.join(f'"{field}"' for field in row) for row in rows)
    assert sniff_delimiter(quoted) == delimiter


def test_the_head_is_decoded_as_the_stream_is() -> None:
    assert decode("é".encode()) == decode(b"\xef\xbb\xbf" + "é".encode()) == "é"
    assert decode("é €".encode("cp1252")) == "é €"
    cut = ("x" * (HEAD - 1) + "é").encode()[:HEAD]
    assert decode(cut) == "x" * (HEAD - 1), "a letter cut by the block's end is none"
    assert decode("緯度\r\nа".encode("cp932"), "shift_jis") == "緯度\nа"
