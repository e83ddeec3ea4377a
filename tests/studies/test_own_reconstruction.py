"""The attack on one's own design of sums: it asks what the release hides, and stays under the bound."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.releasing import PublicFacts
from studies.attacks.reconstruction import reconstruct_choice
from tests.dpgp_core.hexmap import disk

FACTS = PublicFacts(disk(2, padding=1), 60)


def attacked(facts: PublicFacts, design: Any = None) -> Any:
    made = design
    if made is None:
        made = mechanism_of(fixed_design(400.0)).calibrate(fixed_design(400.0), facts, Budget(4.0, 1e-5))
    choice: Any = SimpleNamespace(design=made, facts=lambda project: facts)
    project: Any = SimpleNamespace(delta=1e-5, settings=SimpleNamespace(epsilon=4.0))
    return reconstruct_choice(project, choice, trials=60)


def test_the_default_design_is_attacked_and_stays_under_its_bound() -> None:
    rows = attacked(FACTS).table("reconstruction").records()
    assert [row["guessed"] for row in rows] == [
        "yes or no",
        "value within .1",
        "place",
        "place and yes or no",
    ]
    assert {row["alarm"] for row in rows} == {"none"}
    assert all(row["chance"] < row["best possible"] < row["bound"] * 1.05 for row in rows)


def test_only_what_a_release_hides_is_guessed() -> None:
    public = attacked(replace(FACTS, places_public=True)).table("reconstruction").records()
    assert [row["guessed"] for row in public] == ["yes or no", "value within .1"]


def test_a_design_of_paths_is_left_to_the_audit() -> None:

    assert attacked(FACTS, PosteriorSamplingDesign("car", 600.0, 12.0, 1.0)) is None
