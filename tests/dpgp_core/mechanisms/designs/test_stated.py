"""What every mechanism that ships states about itself, as the screens and the search read it."""

from __future__ import annotations

from typing import Any

import pytest

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.bin_means import BinMeansDesign
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from tests.dpgp_core.mechanisms.beside import rows, table

DESIGNS: dict[str, Any] = {
    "posterior-sampling": PosteriorSamplingDesign("car", 900.0, 1.5, 0.4, paths=3),
    "noisy-cell-statistics": NoisyCellStatisticsDesign("car", 900.0, 1.5, 0.4, 2.0, paths=3),
    "spectral-statistics": SpectralStatisticsDesign(
        "water-filled", "exponential", 900.0, 0.5, 0.0, 0.5, 1.0, 1.2, 2.0, paths=3
    ),
    "bin-means": BinMeansDesign("car", 900.0, 1.5, 0.4, 900.0, 2.0, paths=3),
    **table("DESIGNS"),
}
BOTH, HIDDEN = ("point", "cell"), "values and places"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("posterior-sampling", "lengthscale/lengthscale/length ridge/ridge/positive scale/scale/positive"),
        (
            "noisy-cell-statistics",
            "lengthscale/lengthscale/length ridge/ridge/positive statistic_noise/statistic_noise/positive "
            "scale/model_scale/positive",
        ),
        (
            "spectral-statistics",
            "lengthscale/lengthscale/length ridge/ridge/positive amplitude/model_scale/positive "
            "mu/mu/positive",
        ),
        (
            "bin-means",
            "lengthscale/lengthscale/length ridge/ridge/positive scale/model_scale/positive "
            "width/bin_width/length pure_epsilon/pure_epsilon/positive",
        ),
        *rows("PARAMETERS"),
    ],
)
def test_the_numbers_that_a_person_may_vary_with_their_words_and_kinds(name: str, parameters: str) -> None:
    """The number of paths is the last of them everywhere."""
    said = [f"{each.name}/{each.term}/{each.kind}" for each in MECHANISMS[name].parameters]
    assert said == [*parameters.split(), "paths/paths/count"]
    assert all(hasattr(DESIGNS[name], each.name) for each in MECHANISMS[name].parameters)


@pytest.mark.parametrize(
    ("name", "what", "units", "relations"),
    [
        ("posterior-sampling", HIDDEN, BOTH, ("replace-one",)),
        ("noisy-cell-statistics", HIDDEN, ("point",), ("replace-one",)),
        ("spectral-statistics", HIDDEN, BOTH, ("replace-one", "add-or-remove")),
        ("bin-means", "values", BOTH, ("replace-one",)),
        *rows("PROTECTIONS"),
    ],
)
def test_whom_a_mechanism_protects(
    name: str, what: str, units: tuple[str, ...], relations: tuple[str, ...]
) -> None:
    protection = MECHANISMS[name].protection
    assert (protection.what, protection.units, protection.relations) == (what, units, relations)
    places = ("the places of all records",) if what == "values" else ()
    assert protection.public == ("the number of records", *places)


@pytest.mark.parametrize(
    ("switch", "names"),
    [
        ("free_paths", set(DESIGNS) - {"posterior-sampling"}),
        ("exact_on_a_computer", set(DESIGNS)),
        ("usual", {"posterior-sampling", "noisy-cell-statistics", "spectral-statistics"}),
    ],
)
def test_the_switches_of_mechanisms_that_ship(switch: str, names: set[str]) -> None:
    assert {name for name in DESIGNS if getattr(MECHANISMS[name], switch)} == names
    assert not getattr(Mechanism, switch)


def test_a_search_looks_around_once_but_three_times_and_quickly_with_spectral_statistics() -> None:
    stages = {name: (MECHANISMS[name].search.stages, MECHANISMS[name].search.quick) for name in DESIGNS}
    assert stages == {**dict.fromkeys(DESIGNS, (1, False)), "spectral-statistics": (3, True)}


@pytest.mark.parametrize("name", sorted(set(DESIGNS) - {"posterior-sampling"}))
def test_a_receipt_says_how_many_paths_and_that_they_are_free(name: str) -> None:
    said = dict(questions.receipt_lines(DESIGNS[name]))
    assert said["Paths"] == "3 paths, drawn after the noise: their number costs nothing."
    assert said["Mechanism"].startswith(f"{MECHANISMS[name].title}, ")


@pytest.mark.parametrize(("paths", "number"), [(1, "1 path"), (2, "2 paths"), (1200, "1,200 paths")])
def test_a_receipt_of_paths_that_cost_something_says_that_all_are_covered(paths: int, number: str) -> None:
    design = PosteriorSamplingDesign("car", 900.0, 1.5, 0.4, paths=paths)
    assert questions.receipt_lines(design) == (
        ("Mechanism", "Posterior sampling, ridge 1.5, scale 0.4; prior car, range 900 m."),
        ("Paths", f"{number}; the stated epsilon covers all of them together."),
    )


@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_a_mapping_that_names_no_possible_design_is_refused_in_a_sentence(name: str) -> None:
    """A value of no number, one left out, one unknown: never a `TypeError` of the interpreter."""
    design = DESIGNS[name]
    mapping = design.to_mapping()
    assert type(design).from_mapping(mapping) == design
    first = next(each for each in MECHANISMS[name].parameters if each.kind == "length").name
    for wrong in ({**mapping, first: "wide"}, {k: v for k, v in mapping.items() if k != first}):
        with pytest.raises(DesignError, match=f"^A design of {name} has missing or impossible values: "):
            type(design).from_mapping(wrong)
    with pytest.raises(DesignError, match=f"^{name} has no parameter 'colour': it has .*cutoff, .*paths"):
        type(design).from_mapping({**mapping, "colour": 1.0})


@pytest.mark.parametrize(
    "change",
    [{"paths": 0}, {"paths": True}, {"paths": 1.5}, {"smoothing": -1}, {"smoothing": True},
     {"smoothing": 0.5}, {"cutoff": 0.0}, {"cutoff": 1.001}],
)  # fmt: skip
def test_every_design_has_whole_paths_and_rounds_and_a_cutoff_that_can_be_met(
    change: dict[str, float],
) -> None:
    values = DESIGNS["posterior-sampling"].to_mapping()
    with pytest.raises(DesignError, match=next(iter(change))):
        PosteriorSamplingDesign.from_mapping({**values, **change})


def test_the_least_and_the_largest_that_a_design_may_have() -> None:
    design = PosteriorSamplingDesign("car", 900.0, 1.5, 0.0, paths=1, smoothing=0, cutoff=1.0)
    assert (design.paths, design.smoothing, design.cutoff, design.scale) == (1, 0, 1.0, 0.0)


@pytest.mark.parametrize("name", sorted(DESIGNS))
@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_a_number_that_must_be_positive_is(name: str, value: float) -> None:
    """Every parameter that a person may vary; the scale of released paths alone may be 0."""
    for parameter in MECHANISMS[name].parameters:
        if parameter.kind == "count" or (name, parameter.name, value) == ("posterior-sampling", "scale", 0.0):
            continue
        with pytest.raises(DesignError, match=f"^{parameter.name} must be a "):
            type(DESIGNS[name]).from_mapping({**DESIGNS[name].to_mapping(), parameter.name: value})


def test_a_varied_count_is_whole_and_everything_else_a_number() -> None:
    mechanism, design = MECHANISMS["bin-means"], DESIGNS["bin-means"]
    found: Any = mechanism.search.varied(design, "paths", 7.0)
    assert (found.paths, type(found.paths)) == (7, int)
    assert mechanism.search.varied(design, "width", 700.5).width == 700.5  # type: ignore[attr-defined]
