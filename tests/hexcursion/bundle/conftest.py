"""One small bundle, written once, for all tests of this folder; its pictures have all their dots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from geo import Domain
from geo.maps.static_map import draw_map
from hexcursion.bundle import write_bundle
from hexcursion.bundle.page import papers
from hexcursion.record import Release
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.remembered import once


@pytest.fixture(autouse=True, scope="package")
def _true_pictures() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(papers, "draw_map", once(draw_map, 200))
        yield


@pytest.fixture(scope="session")
def domain() -> Domain:
    return small_domain()


@pytest.fixture(scope="session")
def release(domain: Domain) -> Release:
    return make_release(domain)


@pytest.fixture(scope="package")
def bundle_folder(release: Release, _true_pictures: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle written once and only read by the tests; the zip lies beside it."""
    return write_bundle(release, tmp_path_factory.mktemp("bundles") / "london").directory


@pytest.fixture(scope="package")
def contents(bundle_folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in bundle_folder.iterdir()}
