"""Nothing in the house imports what lies above it."""

from __future__ import annotations

from pathlib import Path

from tests.architecture import structure
from tests.architecture.code import ROOT, Code


def small(folder: Path, files: dict[str, str]) -> Code:
    """A house of a few lines, from its files' texts."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Code(folder, ("pages", "hexcursion", "dpgp_core"))


def test_nothing_climbs() -> None:
    assert len(list(structure.imports(code := Code()))) > 100
    assert structure.climbing(code) == []


def test_every_room_of_the_workflow_has_a_floor() -> None:
    inner = {f"hexcursion.{path.parent.name}" for path in (ROOT / "hexcursion").glob("*/__init__.py")}
    assert inner - structure.LEVEL.keys() == set(), "give it a floor in structure.FLOORS"


def test_an_import_that_climbs_is_found(tmp_path: Path) -> None:
    code = small(
        tmp_path,
        {
            "hexcursion/cli/run": "from hexcursion.search.tuning import tune\n",
            "hexcursion/search/tuning": "def tune(settings):\n    from pages import panel\n",
            "pages/panel": "from hexcursion.cli import run\n",
        },
    )
    assert structure.climbing(code) == [
        "hexcursion.search.tuning:2 reaches up from hexcursion.search to pages: pages.panel",
    ]


def test_rooms_on_one_floor_know_nothing_of_each_other() -> None:
    assert structure.Arrow("dpgp_core", "geo", "dpgp_core.priors:3", "geo.Domain").climbs
    assert structure.Arrow("geo", "hexcursion", "geo.domains.domain:3", "hexcursion.words").climbs
    assert not structure.Arrow("hexcursion", "geo", "hexcursion.words:3", "geo.Domain").climbs
    assert not structure.Arrow("app", "pages", "app:3", "pages.shared").climbs


def test_the_paper_s_experiments_are_reached_from_their_own_page_only() -> None:
    arrow = structure.Arrow("pages", "studies", "pages.studies.page:3", "studies.registry")
    assert not arrow.climbs
    assert structure.Arrow("pages", "studies", "pages.start.page:3", "studies.registry").climbs
    assert structure.Arrow("hexcursion", "studies", "hexcursion.words:3", "studies.registry").climbs
    assert structure.Arrow("studies", "pages", "studies.london:3", "pages.shared.computing.jobs").climbs
    assert not structure.Arrow("studies", "hexcursion", "studies.london:3", "hexcursion.words").climbs
