"""Every setting is described once: help, limits, words and defaults that other rooms can ask for."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.priors.registry import PRIORS
from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings, StatedFacts, catalogue, default_delta, field
from hexcursion.settings.catalogue import reference_page
from hexcursion.settings.names import that_can_serve
from hexcursion.settings.privacy_settings import Scope

SENSORS = SourceSettings("s.csv", value="no2", x="lon", y="lat")
SALES = SourceSettings("pp.csv", "codes.csv")


def settings(**changes: object) -> ReleaseSettings:
    base: dict[str, object] = {"data": SENSORS, "threshold": 20.0, "bbox": (0.0, 51.0, 1.0, 52.0)}
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


def test_screens_can_ask_for_help_and_limits() -> None:
    epsilon, paths = field("epsilon"), field("paths")
    assert epsilon.help == "Privacy budget of this release."
    assert (epsilon.minimum, epsilon.open_below, epsilon.maximum) == (0, True, None)
    assert (paths.minimum, paths.open_below, paths.maximum, paths.open_above) == (1, False, 1000, False)
    assert (paths.default, paths.kind, paths.group) == (1, "whole number", "privacy")
    assert field("lengthscale").measure == "metres"
    assert field("unit").choices == ("point", "cell")
    assert field("direction").choices == ("above", "below")
    assert field("relation").choices == ("replace-one", "add-or-remove")
    assert field("focus").choices == ("threshold", "all")
    assert field("executor").choices == ("serial", "processes", "dask")
    assert "paper-code" not in field("bound").choices
    assert "joint-sharp" in field("bound").choices
    assert field("stated.contact").help == "Whom a reader may ask about the release."
    with pytest.raises(KeyError, match="epsilom"):
        field("epsilom")


@pytest.mark.parametrize("name", list(catalogue()))
def test_a_setting_has_one_plain_sentence_and_a_valid_default(name: str) -> None:
    item = catalogue()[name]
    assert re.fullmatch(r"[A-Z][^\n|]*\.", item.help)
    assert len(item.help) <= 140
    if not item.required:
        assert item.check(item.default) == item.default
    if item.default in (None, ()) or item.required:
        assert item.required or item.setting.otherwise, "what holds without it?"


def test_today_s_defaults() -> None:
    made = settings()
    expected = {
        "focus": "all", "relation": "replace-one", "places_public": False, "public_counts": None,
        "executor": "serial", "dask": None, "owner": None, "records_per_owner": None, "cutoff": None,
        "accept_low_agreement": False, "accept_large_delta": False, "stated": StatedFacts(), "unit": "point",
        "epsilon": 1.0, "delta": None, "paths": 1, "resolution": 8, "direction": "above",
        "priors": None, "objective": "iou", "quick": False,
    }  # fmt: skip
    assert {name: getattr(made, name) for name in expected} == expected


def test_public_counts_follow_published_reference_data_unless_told_otherwise() -> None:
    published = {"reference": SENSORS, "reference_public": True}
    assert not settings().uses_public_counts
    assert not settings(reference=SENSORS).uses_public_counts
    assert not settings(reference_public=True).uses_public_counts
    assert settings(**published).uses_public_counts
    assert not settings(**published, public_counts=False).uses_public_counts
    assert settings(**published, public_counts=True).uses_public_counts


def test_settings_are_frozen_plain_dataclasses() -> None:
    made = settings()
    with pytest.raises(FrozenInstanceError):
        made.epsilon = 2.0  # type: ignore[misc]
    assert replace(made, epsilon=2.0) == made.with_changes(epsilon=2) != made
    with pytest.raises(WorkflowError):
        replace(made, epsilon=0.0)
    assert hash(made) == hash(settings())


def test_numbers_of_other_libraries_become_plain() -> None:
    made = settings(
        epsilon=np.float32(0.5),
        paths=np.int64(3),
        bbox=[0, 51, 1, 52],
        resolution=8.0,
        mechanisms=("posterior-sampling",),
    )
    assert (made.epsilon, made.paths, made.bbox, made.resolution) == (0.5, 3, (0.0, 51.0, 1.0, 52.0), 8)
    assert type(made.epsilon) is float
    assert type(made.paths) is type(made.resolution) is int


def test_names_are_looked_up_in_the_registries_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkflowError):
        settings(priors=("guest",))
    monkeypatch.setitem(PRIORS, "guest", PRIORS["car"])
    monkeypatch.setitem(MECHANISMS, "guest", MECHANISMS["posterior-sampling"])
    assert settings(priors=("guest",), mechanisms=("guest",)).mechanisms == ("guest",)
    assert field("priors").choices[-1] == "guest"


def test_mechanisms_that_cannot_serve_the_unit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    both = ("noisy-cell-statistics", "posterior-sampling")
    assert settings(mechanisms=both).mechanisms == both
    assert settings(mechanisms=both, unit="cell").mechanisms == ("posterior-sampling",)
    assert that_can_serve(both, "point", "add-or-remove") == ()
    with pytest.raises(
        WorkflowError,
        match=r"relation 'add-or-remove': choose relation 'replace-one' or spectral-statistics\.$",
    ):
        settings(mechanisms=both, relation="add-or-remove")


def guest(what: str, unit: str, relation: str) -> Any:
    protection = SimpleNamespace(what=what, units=(unit,), relations=(relation,))
    search = SimpleNamespace(fixed=lambda spacing: None)  # it is searched for
    return SimpleNamespace(protection=protection, reads=(), search=search)


def test_a_mechanism_speaks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, "guest", guest("values and places", "cell", "add-or-remove"))
    made = settings(mechanisms=("guest",), unit="cell", relation="add-or-remove", records_about=9)
    assert made.mechanisms == ("guest",)
    with pytest.raises(WorkflowError, match="cannot protect records of unit 'point'"):
        made.with_changes(unit="point")


def test_what_shows_places_needs_them_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, "guest", guest("values", "point", "replace-one"))
    assert settings(mechanisms=("guest",), places_public=True).mechanisms == ("guest",)
    assert settings(mechanisms=("guest", "posterior-sampling")).mechanisms == ("posterior-sampling",)
    with pytest.raises(WorkflowError, match="declare the places of the records public with `places_public`"):
        settings(mechanisms=("guest",))


def test_unit_word_and_scale_follow_the_data() -> None:
    assert settings().unit_word == "reading", "a sensor may have many"
    assert settings(owner="station", records_per_owner=2).unit_word == "reading"
    assert settings(owner="station", records_per_owner=1).unit_word == "sensor"
    assert settings(owner="participant id", records_per_owner=1).unit_word == "person"
    assert settings(unit="cell").unit_word == "cell"
    assert settings(data=SALES).unit_word == "sale"
    assert settings(data=SALES).uses_log
    assert not settings(data=SALES, transform="identity").uses_log
    assert not settings().uses_log


@pytest.mark.parametrize(
    ("n", "delta"),
    [(1, 0.1), (2, 0.01), (10, 0.01), (11, 1e-3), (999, 1e-4), (1000, 1e-4), (1001, 1e-5), (11_953, 1e-6),
     (171_000, 1e-7), (10**12, 1e-13)],
)  # fmt: skip
def test_delta_is_at_most_a_tenth_of_one_in_n_rounded_down_to_a_power_of_ten(n: int, delta: float) -> None:
    assert default_delta(n) == delta


@pytest.mark.parametrize("n", [0, -3])
def test_delta_needs_a_record(n: int) -> None:
    with pytest.raises(WorkflowError, match="at least 1"):
        default_delta(n)


def test_choices_of_which_nothing_comes_are_refused_in_one_sentence() -> None:
    spectral, sampling = ("spectral-statistics",), ("posterior-sampling",)
    asked = {"priors": ("matern32",), "paths": 5, "bound": "triangle"}
    with pytest.raises(WorkflowError) as error:
        settings(mechanisms=spectral, **asked)
    assert str(error.value) == (
        "Nothing is done with `priors` and `paths` and `bound` where the fixed design of "
        "spectral-statistics is released without a search: leave that out, or choose `mechanisms` without "
        "spectral-statistics."
    )
    with pytest.raises(WorkflowError) as error:
        settings(mechanisms=spectral, reference=SENSORS, **asked)
    assert str(error.value) == (
        "Nothing is done with `paths` and `bound` by spectral-statistics: leave that out, or choose a "
        "mechanism that reads it: posterior-sampling."
    )
    assert settings(focus="threshold").focus == "threshold"
    with pytest.raises(WorkflowError, match="Nothing is done with `objective` where the fixed design"):
        settings(objective="bce")
    with pytest.raises(WorkflowError, match="Nothing is done with `focus` where the fixed design"):
        settings(focus="threshold", values="yes-no", yes_above=30.0, threshold=20.0)
    with pytest.raises(WorkflowError, match="A second look is centred by the first: leave `focus` out"):
        settings(focus="threshold", looks=2)
    for name, value in (("focus", "threshold"), ("objective", "bce")):
        with pytest.raises(WorkflowError, match=f"`{name}` where a design of posterior-sampling is given by"):
            settings(mechanisms=sampling, lengthscale=900.0, ridge=3.0, **{name: value})
        assert getattr(settings(reference=SENSORS, **{name: value}), name) == value
        assert getattr(settings(pilot=0.3, **{name: value}), name) == value
    assert settings(mechanisms=sampling, **asked).paths == 5
    assert settings(mechanisms=(*sampling, "noisy-cell-statistics"), **asked).bound == "triangle"


@pytest.mark.parametrize(
    ("years", "period"),
    [((), ""), ((2018,), "2018"), ((2018, 2016, 2017), "2016 to 2018"), ((2018, 2012), "2012, 2018")],
)
def test_segment_years_and_filters_say_what_a_map_is_of(years: tuple[int, ...], period: str) -> None:
    sales = SourceSettings("pp.csv", "postcodes.csv", "existing-flats", years)
    assert settings(data=sales).scope == Scope("existing flats", period, (), "")
    wells = SourceSettings("wells.csv", value="as", x="x", y="y", where=(("depth", "deep"),))
    named = settings(data=wells, population="wells", period=period, record_word="well")
    assert named.scope == Scope("wells", period, ("depth = deep",), "")
    assert named.unit_word == "well"


@pytest.mark.parametrize(
    ("reference", "public", "since"),
    [
        (SourceSettings("r.csv", value="v", x="x", y="y", where=(("year", "1993"),)), True, "1993"),
        (SourceSettings("r.csv", value="v", x="x", y="y", where=(("year", "1993"),)), False, ""),
        (SourceSettings("r.csv", value="v", x="x", y="y", where=(("depth", "deep"),)), True, ""),
        (SourceSettings("r.csv", value="v", x="x", y="y", where=(("y", "1993"), ("y", "1994"))), True, ""),
        (SourceSettings("pp.csv", "postcodes.csv", "existing-flats", (2017,)), True, "2017"),
        (SourceSettings("pp.csv", "postcodes.csv", "existing-flats", (2016, 2017)), True, ""),
    ],
)
def test_a_change_is_told_since_the_one_year_of_a_public_reference(
    reference: SourceSettings, public: bool, since: str
) -> None:
    made = settings(reference=reference, reference_public=public, resolution=8)
    assert made.scope.since == since
    assert settings().scope.since == ""


def test_a_record_is_one_in_letters() -> None:
    wells = SourceSettings("wells.csv", value="as", x="x", y="y")
    named = settings(data=wells, record_word="well")
    with pytest.raises(WorkflowError, match="`record_word` is one record in letters"):
        named.with_changes(record_word="2 wells")


def test_settings_are_given_by_their_names_alone() -> None:
    """A further setting in their middle must not move the others."""
    assert [item.name for item in fields(ReleaseSettings) if not item.kw_only] == []
    with pytest.raises(TypeError):
        ReleaseSettings(SENSORS)  # type: ignore[misc]


def test_the_reference_page_has_its_headings() -> None:
    assert [line for line in reference_page().splitlines() if line.startswith("## ")] == [
        "## Private data",
        "## Reference data (public or set aside; the design is tuned on them)",
        "## Public geography",
        "## Privacy",
        "## Excursion set",
        "## Design",
        "## Running and keeping",
        "## Title, and what the curator states (components of NIST SP 800-226)",
        "## Several columns (an atlas)",
    ]


@pytest.mark.parametrize(
    ("centre", "clip", "transform", "refused"),
    [
        (None, 300.0, "log", False),
        (None, 300.1, "log", True),
        (0.0, 300.0, "log", False),
        (200.0, 100.0, "log", False),
        (200.0, 100.1, "log", True),
        (-200.0, 100.1, "log", True),
        (301.0, None, "log", True),
        (300.0, None, "log", False),
        (301.0, 100.0, None, False),
    ],
)
def test_logarithms_stay_below_three_hundred(
    centre: float | None, clip: float | None, transform: str | None, refused: bool
) -> None:
    given = {"centre": centre, "clip": clip, "transform": transform, "reference": SENSORS}
    given |= {"reference_public": True}
    if not refused:
        assert settings(**given).clip == clip
        return
    with pytest.raises(WorkflowError) as said:
        settings(**given)
    assert str(said.value) == (
        "On the log scale `centre` and `clip` are natural logarithms, such as 13 for 442,413: choose a "
        "smaller one, so that both together reach at most 300."
    )


@pytest.mark.parametrize(
    ("words", "refused"), [(("-99", "9,5"), False), (("none",), False), (("x",), True), (("none", "9"), True)]
)
def test_what_stands_for_a_missing_value_is_a_number_or_none(words: tuple[str, ...], refused: bool) -> None:
    if not refused:
        assert replace(SENSORS, missing=words).missing == words
        return
    with pytest.raises(WorkflowError, match="are written as -99 or 9999, or `none` alone"):
        replace(SENSORS, missing=words)
