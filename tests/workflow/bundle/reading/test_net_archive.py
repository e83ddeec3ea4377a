"""A small zip may hold a million bytes unpacked, and not one more."""

from __future__ import annotations

import io
import zipfile

import pytest

from workflow.bundle import BundleError, read_bundle


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
