"""The drawing in CONTRIBUTING.md is the house as it stands, and nothing in it climbs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import structure
from tests.architecture.calls import Body, reachable
from tests.architecture.code import ROOT, Code


@pytest.fixture(scope="module")
def house() -> Code:
    return Code()


def small(folder: Path, files: dict[str, str]) -> Code:
    """A house of a few lines, from its files' texts."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Code(folder, ("pages", "hexcursion", "dpgp_core"))


SETTINGS = "class Settings:\n    epsilon: float\n"
CLI = """
from hexcursion.settings.model import Settings
from hexcursion.search.tuning import tune
def run_release(settings: Settings) -> None:
    tune(settings)
"""


def test_contributing_shows_the_house_as_it_is(house: Code) -> None:
    text = structure.CONTRIBUTING.read_text(encoding="utf-8")
    assert text == structure.redrawn(text, house), "the drawing is not today's: run `make structure`"


def test_nothing_climbs(house: Code) -> None:
    assert structure.climbing(house) == []


def test_every_room_of_the_workflow_has_a_floor() -> None:
    inner = {f"hexcursion.{path.parent.name}" for path in (ROOT / "hexcursion").glob("*/__init__.py")}
    assert inner - structure.LEVEL.keys() == set(), "give it a floor in structure.FLOORS"


def test_epsilon_and_the_records_pass_all_stations(house: Code) -> None:
    """Nothing below would climb if nothing were found."""
    for value in ("epsilon", "records"):
        arrows = structure.travels(house, value)
        passed = {name for arrow in arrows for name in (arrow.start, arrow.end)}
        assert structure.STATIONS.keys() - passed == (
            {"hexcursion.settings"} if value == "records" else set()
        )
        assert any(arrow.what.endswith("publish") for arrow in arrows if arrow.start == "hexcursion.door")
        assert any(
            arrow.what.startswith("Ledger.") for arrow in arrows if arrow.start == "hexcursion.releasing"
        )


def test_a_setting_handed_upstairs_is_found_by_its_call(tmp_path: Path) -> None:
    code = small(
        tmp_path,
        {
            "hexcursion/settings/model": SETTINGS,
            "hexcursion/cli/run": CLI,
            "hexcursion/search/tuning": """
from pages import panel
def tune(settings):
    panel.show(epsilon=settings.epsilon)
""",
            "pages/panel": "def show(epsilon: float) -> None: ...\n",
        },
    )
    assert structure.climbing(code) == [
        "hexcursion.search.tuning.tune:4 reaches up from hexcursion.search to pages: show",
        "hexcursion.search.tuning:2 reaches up from hexcursion.search to pages: pages.panel",
    ]


def test_within_the_workflow_a_search_that_releases_climbs(tmp_path: Path) -> None:
    code = small(
        tmp_path,
        {
            "hexcursion/settings/model": SETTINGS,
            "hexcursion/cli/run": CLI,
            "hexcursion/search/tuning": """
from hexcursion.releasing.transaction import publish
from hexcursion.settings.model import Settings
class Task:
    settings: Settings
def tune(settings: Settings) -> None:
    publish(Task())
""",
            "hexcursion/releasing/transaction": """
from hexcursion.search.tuning import Task
def publish(task: Task) -> None: ...
""",
        },
    )
    assert structure.climbing(code) == [
        "hexcursion.search.tuning.tune:7 reaches up from hexcursion.search to hexcursion.releasing: publish",
        "hexcursion.search.tuning:2 reaches up from hexcursion.search to hexcursion.releasing: "
        "hexcursion.releasing.transaction.publish",
    ]


def test_rooms_on_one_floor_know_nothing_of_each_other() -> None:
    assert structure.Arrow("dpgp_core", "geo", "dpgp_core.priors:3", "geo.Domain").climbs
    assert structure.Arrow("geo", "hexcursion", "geo.domains.domain:3", "hexcursion.words").climbs
    assert not structure.Arrow("hexcursion", "geo", "hexcursion.words:3", "geo.Domain").climbs
    assert not structure.Arrow("app", "pages", "app:3", "pages.shared").climbs


def test_a_value_is_held_by_heirs_and_by_those_who_have_them_in_a_field(tmp_path: Path) -> None:
    code = small(
        tmp_path,
        {
            "hexcursion/settings/promise": SETTINGS,
            "hexcursion/settings/model": """
from hexcursion.settings.promise import Settings
class All(Settings): ...
""",
            "hexcursion/project/load": """
from hexcursion.settings.model import All
class Project:
    settings: dict[str, All]
class Other:
    epsilon: float
""",
        },
    )
    assert structure.carriers(code, "epsilon") == {
        "hexcursion.settings.promise.Settings", "hexcursion.settings.model.All",
        "hexcursion.project.load.Project",
        structure.CHARGE,
    }  # fmt: skip


def test_the_paper_s_experiments_are_reached_from_their_own_page_only(tmp_path: Path) -> None:
    arrow = structure.Arrow("pages", "studies", "pages.studies.page:3", "studies.registry")
    assert not arrow.climbs
    assert structure.Arrow("pages", "studies", "pages.start.page:3", "studies.registry").climbs
    assert structure.Arrow("hexcursion", "studies", "hexcursion.words:3", "studies.registry").climbs
    assert structure.Arrow("studies", "pages", "studies.london:3", "pages.shared.computing.jobs").climbs
    assert not structure.Arrow("studies", "hexcursion", "studies.london:3", "hexcursion.words").climbs


def test_calls_are_followed_through_packages_fields_properties_and_overriding_methods(tmp_path: Path) -> None:
    code = small(
        tmp_path,
        {
            "dpgp_core/__init__": "from dpgp_core.base import Way\n",
            "dpgp_core/base": """
class Way:
    def draw(self) -> None: ...
class Other(Way):
    def draw(self) -> None:
        helper()
def helper() -> None: ...
""",
            "hexcursion/plan": """
from dpgp_core import Way
class Plan:
    way: Way | None
    @property
    def same(self) -> "Plan":
        return self
def publish(plan: Plan) -> None:
    for each in [plan]:
        chosen = each.same.way
        chosen.draw()
""",
        },
    )
    body = Body(code, code.functions["hexcursion.plan.publish"])
    assert list(body.calls()) == [(11, "dpgp_core.base.Other.draw"), (11, "dpgp_core.base.Way.draw")]
    assert list(reachable(code, "hexcursion.plan.publish")) == [
        "hexcursion.plan.publish", "dpgp_core.base.Way.draw", "dpgp_core.base.Other.draw",
        "dpgp_core.base.helper",
    ]  # fmt: skip


def test_redrawing_leaves_the_rest_of_the_page_alone(tmp_path: Path) -> None:
    code = small(tmp_path, {"hexcursion/cli/run": "def run_release(): ...\n"})
    text = f"# Before\n{structure.BEGIN}\nold\n{structure.END}\nAfter.\n"
    new = structure.redrawn(text, code)
    assert new.startswith(f"# Before\n{structure.BEGIN}\n\n```mermaid\nflowchart TB\n```")
    assert new.endswith(f"{structure.END}\nAfter.\n")
    assert structure.redrawn(new, code) == new
