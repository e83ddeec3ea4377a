"""A small zip may hold a million bytes unpacked, and not one more."""

from __future__ import annotations

import io
import zipfile

import pytest

from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.layout import zip_bytes_to


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
