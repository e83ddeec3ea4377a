"""The plan of an atlas by its layers: poor maps, its title, its charge and its name."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hexcursion
from hexcursion.door import pipeline
from hexcursion.ledger import Ledger, open_ledger
from hexcursion.project.atlas import AtlasProject
from hexcursion.record import Expected, ReceiptLine
from hexcursion.releasing import atlas as atlas_module
from hexcursion.releasing.atlas import AtlasPlan, atlas_title, plan_atlas, whole_receipt
from hexcursion.releasing.once import Stamp
from hexcursion.releasing.release_guard import LowAgreement
from hexcursion.search import judging
from hexcursion.search.atlas import AtlasChoice, choose_atlas
from hexcursion.search.tuning import tune
from tests.hexcursion.atlas.village import COLUMNS, PLAN, village

NEVER = (
    "no value can lie beyond its threshold, as values are cut to the usual ones (centre and clip): "
    "take a threshold inside of them, or a larger clip"
)
ANYWAY = "The curator released it anyway."


@pytest.fixture(scope="module")
def given() -> tuple[AtlasProject, AtlasChoice, Ledger]:
    """What the door hands to `plan_atlas` for three columns, o3 with too high a threshold."""
    kept: list[Any] = []

    def watched(*given: Any) -> AtlasPlan:
        kept.append(given)
        return plan_atlas(*given)

    changed = {**PLAN, "threshold": {**PLAN["threshold"], "o3": 500.0}, "accept_dropped": True}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(pipeline, "plan_atlas", watched)
        hexcursion.plan(village(), **changed)
    project, choice, _ = kept[0]
    return project, choice, open_ledger()


def test_columns_share_their_simulated_releases_and_each_is_judged_as_if_alone(
    given: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three worlds and three with exchanged values are drawn once, however many columns there are."""
    drawn, draw = [], judging.draw_release

    def counted(*asked: Any, **said: Any) -> Any:
        drawn.append(asked)
        return draw(*asked, **said)

    monkeypatch.setattr(judging, "draw_release", counted)
    found = choose_atlas(given[0])
    assert len(drawn) == 6
    for layer, choice, epsilon in zip(given[0].layers, found.layers, found.alone, strict=True):
        alone = tune(replace(layer, settings=layer.settings.with_changes(epsilon=epsilon)), frontier=())
        assert alone.choice.expected == choice.expected
    assert len(drawn) == 6 + 18


def test_the_poor_map_of_a_column_that_was_accepted_says_so(given: tuple[Any, ...]) -> None:
    plan = plan_atlas(*given)
    assert [(line.topic, line.text) for line in plan.receipt if line.warning] == [
        ("Low agreement", f"o3: Expected to be a poor map: {NEVER}. {ANYWAY}"),
    ]
    assert (plan.names, plan.title) == (COLUMNS, "3 maps of the same records: no2, o3 and pm")
    assert len(plan.layers) == 3
    assert plan.charge.facts["columns"] == "no2, o3, pm"
    assert plan.charge.facts["title"] == plan.title
    assert plan.project is given[0].first
    assert plan.choice is given[1].layers[0]
    assert "value" not in repr(plan), "private values are not printed"


def test_an_atlas_is_planned_anew_under_the_same_name(given: tuple[Any, ...]) -> None:
    plan = plan_atlas(*given)
    again = plan.again(given[2])
    assert isinstance(again, AtlasPlan)
    assert again.wish == plan.wish
    for lost in ({"atlas": None}, {"chosen": None}):
        with pytest.raises(AssertionError):
            replace(plan, **lost).again(given[2])
    assert replace(plan, names=("no2", "o3", "dust")).wish != plan.wish
    assert replace(plan, layers=plan.layers[:2]).wish != plan.wish


@dataclass(frozen=True)
class OfOne:
    """What the release of one column is given."""

    stamp: Stamp
    layer: str
    reading: None


def test_a_released_atlas_has_a_layer_for_each_that_was_drawn_and_its_derived_maps(
    given: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_atlas(*given)
    monkeypatch.setattr(atlas_module, "release_of", lambda _, *given: OfOne(*given))
    monkeypatch.setattr(atlas_module, "AtlasRelease", lambda *given: given)
    monkeypatch.setattr(atlas_module, "now", lambda: "now")
    drawn = SimpleNamespace(layers=("a", "b", "c"))
    made: Any = plan.released("id", drawn, "seal")
    assert made[0] == tuple(OfOne(Stamp("id", "now", "seal"), layer, None) for layer in "abc")
    assert made[1:] == (COLUMNS, plan.title, given[0].settings.derived)
    assert len(given[0].settings.derived) == 2
    assert replace(plan, atlas=None).released("id", drawn, "seal")[3] == ()  # type: ignore[index]
    with pytest.raises(ValueError, match="shorter"):
        plan.released("id", SimpleNamespace(layers=("a", "b")), "seal")


def test_how_the_first_map_was_chosen_and_equal_rows_stand_for_all(given: tuple[Any, ...]) -> None:
    project, choice, ledger = given
    first, *others = choice.layers
    looked = replace(first.tuning, kind="not accounted")
    layers = (first, *(replace(each, tuning=looked) for each in others))
    mixed = replace(choice, layers=layers)
    assert plan_atlas(project, mixed, ledger).charge.facts["tuning"] == first.tuning.kind == "fixed"
    assert not plan_atlas(*given).privacy.each_row
    each = replace(project, settings=replace(project.settings, equal_rows="each", title="Air"))
    plan = plan_atlas(each, choice, ledger)
    assert plan.privacy.each_row
    assert plan.layers[1].privacy.each_row
    assert plan.title == "Air"


def column(level: Any, expected: Expected | None = None) -> Any:
    """The choice of a column whose threshold lies at this level."""
    return SimpleNamespace(expected=expected, yardsticks=None, level=lambda _: level)


@pytest.mark.parametrize(
    ("levels", "remedy"),
    [
        ((0.0, 1.0, 0.0), r"o3: no value .*clip\. Leave out o3, which gives the other 2 less"),
        ((2.0, 1.0, 0.0), r"no2: no .*; o3: no .* Leave out no2 and o3, which gives the other 1 "),
        ((2.0, 1.0, -1.0), r"; pm: no .*clip\. Take coarser hexagons or a larger epsilon"),
    ],
)
def test_columns_that_would_be_poor_are_named(levels: tuple[float, ...], remedy: str) -> None:
    layers = [SimpleNamespace(settings=SimpleNamespace(threshold=0.0))] * 3
    settings = SimpleNamespace(names=COLUMNS, accept_low_agreement=False)
    chosen = [column(at) for at in levels]
    project: Any = SimpleNamespace(settings=settings, layers=layers)
    with pytest.raises(LowAgreement, match=remedy):
        atlas_module._refuse_poor(project, SimpleNamespace(layers=chosen))  # type: ignore[arg-type]
    settings.accept_low_agreement = True
    atlas_module._refuse_poor(project, SimpleNamespace(layers=chosen))  # type: ignore[arg-type]
    good = [column(np.array([0.5, 1.5]))] * 3
    settings.accept_low_agreement = False
    atlas_module._refuse_poor(project, SimpleNamespace(layers=good))  # type: ignore[arg-type]


def test_several_objections_to_a_column_are_one_text() -> None:
    poor = Expected(0.4, 0.1, 0.9, "simulated", records=0.7, gain=-0.1)
    chosen = column(0.0, poor)
    layer = SimpleNamespace(settings=SimpleNamespace(threshold=0.0))
    settings = SimpleNamespace(names=("no2",), accept_low_agreement=False)
    project: Any = SimpleNamespace(settings=settings, layers=[layer])
    choice: Any = SimpleNamespace(layers=[chosen])
    with pytest.raises(LowAgreement, match=r"no2: a map of one colour would show .* side\. Take"):
        atlas_module._refuse_poor(project, choice)


def test_a_title_has_200_letters_at_most() -> None:
    assert atlas_title(["no2", "o3"]) == "2 maps of the same records: no2 and o3"
    assert len(atlas_title(["x" * 100] * 3)) == 200


def test_lines_that_all_layers_share_come_once_and_first() -> None:
    shared, one = ReceiptLine("a", "same"), ReceiptLine("b", "1")
    other = ReceiptLine("b", "2", True)
    assert whole_receipt(("x", "y"), ((one, shared), (shared, other))) == (
        shared,
        replace(one, text="x: 1"),
        replace(other, text="y: 2"),
    )
