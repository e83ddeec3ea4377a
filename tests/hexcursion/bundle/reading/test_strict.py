"""JSON and zips of strangers: what Python's own readers let through is refused in one sentence."""

from __future__ import annotations

import io
import zipfile

import pytest

from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.untrusted import strict_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, -2.5, null, true, "x"]}', {"a": [1, -2.5, None, True, "x"]}),
        (b"999999999999999999", 999_999_999_999_999_999),
        (b"1.7e308", 1.7e308),
    ],
)
def test_what_json_allows_is_read(text: bytes, value: object) -> None:
    assert strict_json(text, "a.json") == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[NaN]", "a.json holds NaN, which is not JSON."),
        (b"[-Infinity]", "a.json holds -Infinity, which is not JSON."),
        (b'{"a": 1, "a": 2}', "a.json gives a key twice."),
        (b"[1e309]", "a.json holds a number too large to read."),
        (b"[1000000000000000000]", "a.json holds a number too large to read."),
        (b"[" * 100_000, "a.json is damaged: it cannot be read as JSON."),
        (b'"\xff"', "a.json is damaged: it cannot be read as JSON."),
        (b"{", "a.json is damaged: it cannot be read as JSON."),
    ],
)
def test_what_it_does_not_is_one_sentence(text: bytes, said: str) -> None:
    with pytest.raises(BundleError) as raised:
        strict_json(text, "a.json")
    assert str(raised.value) == said


def test_a_zip_tells_no_time_and_holds_plain_files() -> None:
    """Its files are of the first moment that a zip can say, so the same contents are the same bytes."""
    sink = io.BytesIO()
    zip_bytes_to(sink, "made", {"b.txt": b"2", "a.txt": b"1"})
    with zipfile.ZipFile(sink) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == ["made/a.txt", "made/b.txt"]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {oct(entry.external_attr >> 16) for entry in entries} == {"0o100644"}


@pytest.mark.parametrize(("size", "swells"), [(1_000_000, False), (1_000_001, True)])
def test_the_bound_on_what_a_small_zip_unpacks_to(size: int, swells: bool) -> None:
    """Zeros deflate a thousandfold: a zip of a few thousand bytes is allowed a million."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("made/statement.json", bytes(size))
    assert len(sink.getvalue()) < 5_000
    with pytest.raises(BundleError) as refused:
        read_bundle(sink.getvalue())
    assert ("swells" in str(refused.value)) is swells
