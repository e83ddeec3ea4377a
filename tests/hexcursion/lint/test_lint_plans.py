"""The leak lint on plans: the paper's recipe, a clean one, and a law over every rule."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.lint.checks import (
    CHOICES,
    LEAK,
    NOT_STATED,
    PRIVATE_CONTENTS,
    RULES,
    SEVERITIES,
    WARNING,
    PlannedRelease,
    lint,
    plan_from_mapping,
)
from hexcursion.lint.command import CLEAN_RECIPE, PAPER_LONDON_RECIPE, add_lint_command, plan_from_settings
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings


def codes(plan: PlannedRelease) -> set[str]:
    return {finding.code for finding in lint(plan)}


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_lint_command(parser.add_subparsers())
    options = parser.parse_args(["lint", *arguments])
    return int(options.run(options))


def test_the_papers_recipe_leaks_where_it_is_known_to() -> None:
    found = codes(PAPER_LONDON_RECIPE)
    assert {
        "mask-occupied-cells",
        "scaling-from-data",
        "n-taken-as-public",
        "delta-function-of-n",
        "delta-close-to-1/n",
        "seed-fixed",
    } <= found
    assert PAPER_LONDON_RECIPE.delta == pytest.approx(600**-1.1)


def test_a_clean_recipe_has_no_finding() -> None:
    assert lint(CLEAN_RECIPE) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.finding.code)
def test_each_rule_finds_its_answer_and_nothing_else(rule: object) -> None:
    assert rule.value in CHOICES[rule.field]  # type: ignore[attr-defined]
    spoilt = replace(CLEAN_RECIPE, **{rule.field: rule.value})  # type: ignore[attr-defined]
    assert codes(spoilt) == {rule.finding.code}  # type: ignore[attr-defined]


def test_every_answer_that_names_private_data_leaks() -> None:
    for name, choices in CHOICES.items():
        for value in choices:
            if "private data" in value:
                found = lint(replace(CLEAN_RECIPE, **{name: value}))  # type: ignore[arg-type]
                assert [finding.severity for finding in found] == [LEAK], (name, value)


def test_rules_are_unique_and_complete_sentences() -> None:
    names = [rule.finding.code for rule in RULES]
    assert len(names) == len(set(names))
    for rule in RULES:
        for text in (rule.finding.leaks, rule.finding.remedy):
            assert text[0].isupper() or text.startswith("n ")
            assert text.endswith(".")
            assert "  " not in text


@pytest.mark.parametrize("content", sorted(PRIVATE_CONTENTS))
def test_private_contents_leak_wherever_they_are_shown(content: str) -> None:
    assert "tooltip-private" in codes(replace(CLEAN_RECIPE, tooltips=(content,)))
    assert "export-private" in codes(replace(CLEAN_RECIPE, exports=("regions", content)))


@pytest.mark.parametrize(
    ("n", "delta", "code"),
    [
        (100, 1e-5, None),
        (1_000, 1e-5, None),
        (1_001, 1e-5, "delta-close-to-1/n"),
        (99_999, 1e-5, "delta-close-to-1/n"),
        (100_000, 1e-5, "delta-not-below-1/n"),
        (600, 600**-1.1, "delta-close-to-1/n"),
        (10, 0.5, "delta-not-below-1/n"),
    ],
)
def test_delta_against_n(n: int, delta: float, code: str | None) -> None:
    found = [finding.code for finding in lint(replace(CLEAN_RECIPE, n=n, delta=delta))]
    assert found == ([] if code is None else [code])


def test_findings_come_worst_first() -> None:
    order = [SEVERITIES.index(finding.severity) for finding in lint(PAPER_LONDON_RECIPE)]
    assert order == sorted(order)
    assert len(set(order)) == 3


def test_what_is_not_said_is_itself_a_finding() -> None:
    (finding,) = lint(PlannedRelease())
    assert finding.code == "not-stated"
    for item in fields(PlannedRelease):
        if item.default == NOT_STATED:
            assert item.name in finding.leaks


def test_group_guarantee_is_asked_for() -> None:
    assert "group-not-stated" in codes(replace(CLEAN_RECIPE, group_stated=False))
    assert codes(replace(CLEAN_RECIPE, group_stated=False, records_per_person=1)) == set()


@pytest.mark.parametrize(
    "raw",
    [
        {"domian": "public"},
        {"domain": "wherever"},
        {"domain": 3},
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"delta": 1.0},
        {"n": 0},
        {"n": 2.5},
        {"n": True},
        {"exports": "counts"},
        {"exports": [1]},
        {"tooltips": ["the lot"]},
    ],
    ids=str,
)
def test_a_wrong_plan_is_one_sentence(raw: dict[str, object]) -> None:
    with pytest.raises(WorkflowError) as caught:
        plan_from_mapping(raw)
    assert "\n" not in str(caught.value)


def settings(**changes: object) -> ReleaseSettings:
    base = ReleaseSettings(
        data=SourceSettings(path="a.csv", value="no2", x="lon", y="lat"),
        threshold=20.0,
        bbox=(-0.5, 51.2, 0.3, 51.7),
    )
    return base.with_changes(**changes)


def test_a_private_number_of_records_is_planned_as_it_is_stated() -> None:
    hidden = {"relation": "add-or-remove", "mechanisms": ("spectral-statistics",), "records_about": 20_000}
    plan = plan_from_settings(settings(**hidden), n=700)
    assert (plan.n, plan.n_handling, plan.delta) == (20_000, "public by nature", 1e-6)
    assert plan_from_settings(settings(), n=700).n_handling == "taken as public"


def test_plans_of_the_programs_own_releases() -> None:
    reference = SourceSettings(path="b.csv", value="no2", x="lon", y="lat")
    public = plan_from_settings(settings(reference=reference, reference_public=True, delta=1e-7), n=1_000)
    assert codes(public) == {"n-taken-as-public"}
    aside = plan_from_settings(settings(reference=reference))
    assert {"tuning-on-set-aside", "centre-from-set-aside", "clip-from-set-aside"} <= codes(aside)
    by_eye = plan_from_settings(settings(centre=20.0, clip=10.0), tuning="not accounted")
    assert "tuning-not-accounted" in codes(by_eye)
    for plan in (public, aside):
        assert not any(finding.severity == LEAK for finding in lint(plan))


def test_the_command_prints_what_to_whom_and_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--paper") == 1
    said = capsys.readouterr().out
    assert said.startswith("The paper's London recipe: 5 leaks, 4 warnings, 3 notes\n")
    for wanted in ("mask-occupied-cells", "to whom", "remedy", "LEAK", "WARNING"):
        assert wanted in said
    plan = tmp_path / "plan.toml"
    plan.write_text('unit = "point"\nn = 30000\ndelta = 1e-5\nn_handling = "taken as public"\n')
    assert run(str(plan)) == 0
    assert f"{WARNING.upper()} delta-close-to-1/n" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"not = = toml", b"\xff", b"unit = 7", b"x" * 1_000_001])
def test_a_plan_that_cannot_be_read_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_bytes(content)
    with pytest.raises(WorkflowError):
        run(str(plan))
    with pytest.raises(WorkflowError):
        run(str(tmp_path / "absent.toml"))
    with pytest.raises(WorkflowError):
        run(str(tmp_path))
