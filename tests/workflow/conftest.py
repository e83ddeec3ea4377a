"""What the workflow's tests share: one town, loaded and tuned once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflow.town import Town, write_town
from workflow.project import Project, load_project
from workflow.tuning import Tuned, tune


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return write_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def project(town: Town) -> Project:
    return load_project(town.settings())


@pytest.fixture(scope="session")
def tuned(project: Project) -> Tuned:
    return tune(project)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bundle"
