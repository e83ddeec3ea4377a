"""One small bundle, written once, for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo import Domain
from hexcursion.bundle import write_bundle
from hexcursion.record import Release
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain


@pytest.fixture(scope="session")
def domain() -> Domain:
    return small_domain()


@pytest.fixture(scope="session")
def release(domain: Domain) -> Release:
    return make_release(domain)


@pytest.fixture(scope="session")
def bundle_folder(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle written once and only read by the tests; the zip lies beside it."""
    return write_bundle(release, tmp_path_factory.mktemp("bundles") / "london").directory


@pytest.fixture(scope="session")
def contents(bundle_folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in bundle_folder.iterdir()}
