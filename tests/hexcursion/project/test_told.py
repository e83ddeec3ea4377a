"""What a project says of itself: units, sentences, what it shows, how far its loading is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data_loaders import LoadReport, Observations
from geo import Domain
from hexcursion.errors import WorkflowError
from hexcursion.project import load
from hexcursion.project.load import load_project
from hexcursion.project.model import Loaded, Project, answers_of, area_facts
from hexcursion.project.public_numbers import Exposure, even_exposure
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.project.trip import TripProtection
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.hexcursion.project.conftest import BOX
from tests.town import Town

SOURCE = SourceSettings("/a.csv", value="v", x="x", y="y", crs="EPSG:4326")
SETTINGS = ReleaseSettings(data=SOURCE, threshold=5.0, bbox=BOX)
COUNTS = SETTINGS.with_changes(values="count")
ANSWERS = SETTINGS.with_changes(values="yes-no", threshold=30.0)
SCALE = ResponseScale("identity", 10.0, 4.0, "")


def rows(lon: Any, value: Any) -> Observations:
    lon = np.asarray(lon, dtype=float)
    return Observations(
        lon, np.full(lon.size, 50.0), "EPSG:4326", np.asarray(value, float), "m", "reading", ""
    )


@pytest.mark.parametrize(
    ("name", "limit", "unit", "yes"),
    [
        ("lead", 50.0, "ug/l", "lead above 50 ug/l"),
        ("lead", None, "ug/l", "lead"),
        *((name, None, "", "a yes") for name in ("value", "Values", "answer", "answers", "YES", "y")),
    ],
)
def test_what_a_yes_is_called(name: str, limit: float | None, unit: str, yes: str) -> None:
    found = answers_of(ANSWERS.with_changes(value_name=name, yes_above=limit, value_unit=unit))
    assert found is not None
    assert (found.yes, found.yes_above) == (yes, limit)
    assert answers_of(SETTINGS) is None


def project(**held: Any) -> Project:
    """A project as far as its words and numbers look at it."""
    made = Project.__new__(Project)
    placed = PlacedObservations(np.arange(40), np.full(40, 75.0), 42, 2)
    report = LoadReport("a.csv", 45, 42, (("too old", 3),), ())
    given = {
        "settings": SETTINGS,
        "exposure": None,
        "relative": None,
        "pilot": None,
        "response": SCALE,
        "private": Loaded(report, placed, rows([10.0], [1.0])),
        "reference": placed,
        **held,
    }
    for name, value in given.items():
        object.__setattr__(made, name, value)
    return made


def test_a_project_says_its_unit_and_what_it_shows(domain: Domain) -> None:
    people = Exposure("population", "n", np.ones(2))
    for held, unit, shown in (
        ({"settings": SETTINGS.with_changes(value_name="NO2", value_unit="ppb")}, "ppb", "NO2"),
        ({"settings": SETTINGS.with_changes(value_name="NO2")}, "m", "NO2"),
        ({"settings": ANSWERS.with_changes(value_name="lead")}, "%", "share of readings with lead"),
        (
            {"exposure": people, "settings": COUNTS.with_changes(record_word="fire")},
            "times the average",
            "risk of a fire",
        ),
        (
            {"exposure": even_exposure(domain, 3), "settings": COUNTS.with_changes(record_word="fire")},
            "per km²",
            "density of fires",
        ),
    ):
        made = project(**held)
        assert (made.unit, made.value_name) == (unit, shown)


def test_numbers_of_a_project() -> None:
    made = project()
    assert (made.public_n, made.level) == (40, -1.25)
    assert project(settings=SETTINGS.with_changes(relation="add-or-remove", records_about=7)).public_n == 7
    assert project(settings=SETTINGS.with_changes(delta=0.001)).delta == 0.001
    answers = ANSWERS.with_changes(reference=SOURCE, reference_public=True)
    assert project(settings=answers).usual_answer == 0.5
    assert project(settings=ANSWERS).usual_answer == 0.0


@pytest.mark.parametrize(
    ("delta", "accepted", "refused"), [(0.025, False, True), (0.0249, False, False), (0.025, True, False)]
)
def test_a_delta_of_one_in_the_records_needs_a_word(delta: float, accepted: bool, refused: bool) -> None:
    made = project(settings=SETTINGS.with_changes(delta=delta, accept_large_delta=accepted))
    if not refused:
        made.refuse_large_delta()
        return
    with pytest.raises(WorkflowError) as said:
        made.refuse_large_delta()
    assert str(said.value) == (
        "delta 0.025 is at least one in the number of records, 40 records, so even publishing a whole record "
        "would keep the promise: choose delta 1e-05 or less, or set `accept_large_delta` to release "
        "anyway."
    )


def test_what_was_read_is_said_in_sentences() -> None:
    made = project().private
    assert made.sentences()[-2:] == [
        "2 rows lie outside the domain and were dropped.",
        "40 rows lie inside the domain.",
    ]
    sure = replace(made, placed=replace(made.placed, outside=0, sure=0.876))
    assert sure.sentences()[-2:] == [
        "40 rows lie inside the domain.",
        "Places carry known noise: each row counts in its likeliest hexagon, which is right with probability "
        "88% on average. Larger hexagons are surer.",
    ]
    assert made.with_note("So.").with_note("And so.").report.notes == ("So.", "And so.")


@pytest.mark.parametrize(
    ("kind", "simulated", "tried"),
    [
        ("simulated", True, "simulated fields"),
        ("reference data", False, "the reference data"),
        ("private selection", False, "what the pilot showed"),
    ],
)
def test_what_designs_are_tried_on(kind: Any, simulated: bool, tried: str) -> None:
    made = project(reference_kind=kind)
    assert (made.simulated, made.tried_on) == (simulated, tried)


def test_the_ledger_knows_an_area_by_its_hexagons(domain: Domain) -> None:
    facts = area_facts(project(domain=domain))
    assert facts["cells"] == 32
    assert len(str(facts["area"])) == 16
    fewer = SimpleNamespace(cells=domain.cells[:-1])
    assert area_facts(project(domain=fewer))["area"] != facts["area"]


@pytest.mark.parametrize(
    ("moments", "many"), [(1, "1 secret moment of it is hidden"), (1_200, "1,200 secret moments of it are")]
)
def test_a_trips_protection_stands_beside_and_in_no_sum(moments: int, many: str) -> None:
    made = TripProtection("0123456789abcdef", moments, 0.5, 100.0)
    assert many in made.in_words
    assert "(two hypotheses up to 100 m apart are told apart by mu at most 0.5)" in made.in_words
    block = made.block()
    assert block["is_differential_privacy"] is False
    assert TripProtection.of_block(block) == made
    assert {**block, "in_words": ""} == {
        "protection": "conditional inferential privacy of a location trace",
        "is_differential_privacy": False,
        "unit_of_protection": "a secret moment of one trace, not a person's records in a map",
        "release_id": "0123456789abcdef",
        "secret_moments": moments,
        "mu_at_most": 0.5,
        "radius_m": 100.0,
        "in_words": "",
    }


def test_loading_says_how_far_it_is(town: Town) -> None:
    told: list[tuple[float, str]] = []
    made = load_project(town.settings(resolution=6), lambda share, text: told.append((round(share, 3), text)))
    stops = {text: share for share, text in told}
    assert (told[0], told[-1]) == ((0.0, "Filling the region with hexagons"), (1.0, "Loaded"))
    private = [share for share, text in told if text.startswith("Reading the private data")]
    assert (private[0], private[-1], stops["Reading the reference data"]) == (0.2, 0.59, 0.6)
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert (made.reference_kind, made.generated, made.reference_origin) == (
        "public reference data",
        False,
        "",
    )
    assert made.private.observations.size == 3_000


def test_more_hexagons_with_records_than_there_are_cannot_be_stated(town: Town) -> None:
    small = town.settings(
        resolution=6,
        unit="cell",
        relation="add-or-remove",
        records_about=1,
        reference=None,
        reference_public=False,
        centre=30.0,
        clip=15.0,
        mechanisms=("spectral-statistics",),
    )
    size = load.build_domain(small).size
    for about, refused in ((size, False), (size + 1, True)):
        asked = small.with_changes(records_about=about)
        if not refused:
            assert load_project(asked).public_n == size
            continue
        with pytest.raises(WorkflowError, match=f"of which not {about} can hold records: state a smaller"):
            load_project(asked)
