"""Private rows are found again in reference data, whatever coordinate system both are written in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_loaders import Observations, load_sales
from geo import project
from hexcursion.errors import WorkflowError
from hexcursion.project.copies import refuse_overlap, shared_rows
from hexcursion.project.load import load_project
from tests.data_loaders.material import load_sensors
from tests.town import Town

RNG = np.random.default_rng(11)
LONLAT = np.column_stack([RNG.uniform(-0.4, 0.2, 400), RNG.uniform(51.3, 51.7, 400)])
VALUE = RNG.uniform(5.0, 60.0, 400)


def readings(
    lonlat: np.ndarray = LONLAT, value: np.ndarray = VALUE, crs: str = "EPSG:4326", kind: str = "reading"
) -> Observations:
    x, y = (lonlat if crs == "EPSG:4326" else project(lonlat, crs)).T
    return Observations(x, y, crs, value, "ug/m3", kind, "test")  # type: ignore[arg-type]


def mixed(shared: int, crs: str = "EPSG:27700") -> Observations:
    """400 rows of which the first `shared` are private ones."""
    lonlat, value = LONLAT + 1.0, VALUE + 0.5
    lonlat[:shared], value[:shared] = LONLAT[:shared], VALUE[:shared]
    return readings(lonlat, value, crs)


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:27700", "EPSG:3857", "EPSG:25830"])
@pytest.mark.parametrize("kind", ["reading", "sale"])
def test_399_of_400_private_rows_in_another_system_are_refused(crs: str, kind: str) -> None:
    other = replace(mixed(399, crs), kind=kind)
    private = readings(kind=kind)
    assert shared_rows(private, other) == 399 / 400
    with pytest.raises(WorkflowError, match="hold the private records themselves"):
        refuse_overlap(private, other)
    with pytest.raises(WorkflowError, match="hold the private records themselves"):
        refuse_overlap(replace(other, kind=kind), private)


@pytest.mark.parametrize(("shared", "answer"), [(0, None), (4, None), (5, "warned"), (80, "warned")])
def test_few_are_let_pass_and_some_are_warned_of(shared: int, answer: str | None) -> None:
    """4 of 400 are 1 %, 80 are 20 %: neither more than is let pass."""
    said = refuse_overlap(readings(), mixed(shared))
    if answer is None:
        assert said is None
    else:
        assert said == (
            f"{shared} private readings of 400 agree with the reference data in place and value: make sure "
            "that the two are not copies of one another."
        )


def test_more_than_a_fifth_is_refused() -> None:
    with pytest.raises(WorkflowError, match="other years"):
        refuse_overlap(readings(), mixed(81))


@pytest.mark.parametrize(
    ("kept", "rare", "refused"),
    [
        (1.0, 2, True),
        (0.98, 2, True),
        (0.9, 2, False),
        (0.0, 2, False),
        (0.0, 50, False),
        (0.0, 150, False),
    ],
)
def test_answers_at_the_same_places_may_agree_as_often_as_chance_has_it(
    kept: float, rare: int, refused: bool
) -> None:
    """A share of the answers is what it was, the others are those of other places; one in `rare` is a yes."""
    draws = np.random.default_rng(3)
    yes = (draws.random(400) < 1.0 / rare).astype(float)
    other = np.where(draws.random(400) < kept, yes, (draws.random(400) < 1.0 / rare).astype(float))
    if refused:
        with pytest.raises(WorkflowError, match="hold the private records themselves"):
            refuse_overlap(readings(value=yes), readings(value=other, crs="EPSG:27700"), answers=True)
    else:
        said = refuse_overlap(readings(value=yes), readings(value=other, crs="EPSG:27700"), answers=True)
        assert said is not None


@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_a_copy_of_answers_that_are_all_the_same_is_refused(answer: float) -> None:
    """Chance alone has them agree, but the places are those of the private records."""
    same = readings(value=np.full(400, answer))
    with pytest.raises(WorkflowError, match="hold the private records themselves"):
        refuse_overlap(same, readings(value=same.value, crs="EPSG:27700"), answers=True)
    other = np.full(400, answer)
    other[0] = 1.0 - answer
    assert refuse_overlap(readings(value=other), same, answers=True) is not None


def test_answers_of_other_places_are_no_copies() -> None:
    """A fifth of the places at most: whether these agree is no matter."""
    yes = (VALUE > 30.0).astype(float)
    far = LONLAT + np.array([1.0, 0.0])
    for shared, refused in ((80, False), (81, True)):
        other = readings(np.vstack([LONLAT[:shared], far[shared:]]), yes)
        if refused:
            with pytest.raises(WorkflowError, match="other years"):
                refuse_overlap(readings(value=yes), other, answers=True)
        else:
            assert refuse_overlap(readings(value=yes), other, answers=True) is not None


def test_the_private_rows_count_and_not_those_of_the_reference() -> None:
    """One private row among many of the reference is all that there is to protect."""
    one = readings(LONLAT[:1], VALUE[:1])
    with pytest.raises(WorkflowError, match="other years"):
        refuse_overlap(one, mixed(1))
    many = readings(np.vstack([LONLAT, LONLAT[:100]]), np.append(VALUE, VALUE[:100]))
    assert shared_rows(many, mixed(100)) == 200 / 500, "each of two equal rows counts"


def test_a_little_less_precision_hides_nothing() -> None:
    moved = LONLAT + np.array([4e-5, 4e-5])  # 5 m: a conversion without its grid file
    assert shared_rows(readings(), readings(moved)) == 1.0
    assert shared_rows(readings(), readings(value=VALUE * (1 + 1e-9))) == 1.0
    assert shared_rows(readings(), readings(value=VALUE.astype(np.float32).astype(float))) == 1.0


def test_another_place_or_another_value_is_another_row() -> None:
    assert shared_rows(readings(), readings(LONLAT + np.array([3e-4, 0.0]))) == 0.0  # 20 m east
    assert shared_rows(readings(), readings(value=VALUE * (1 + 1e-4))) == 0.0
    assert shared_rows(readings(), readings(value=-VALUE)) == 0.0
    assert shared_rows(readings(value=np.zeros(400)), readings(value=np.zeros(400))) == 1.0


def test_a_station_with_many_equal_readings_is_no_trap() -> None:
    """100,000 rows at one place on either side: compared as the few different rows they are."""
    place = np.repeat(LONLAT[:1], 100_000, axis=0)
    value = np.tile(np.arange(50.0), 2_000)
    assert shared_rows(readings(place, value), readings(place, value + 25)) == 0.5


def test_rows_without_a_place_agree_with_none() -> None:
    nowhere = Observations(np.full(3, 9e9), np.full(3, 9e9), "EPSG:27700", np.ones(3), "u", "reading", "t")
    assert shared_rows(nowhere, nowhere) == 0.0
    assert shared_rows(readings(), nowhere) == 0.0


def test_a_project_is_refused_or_warned(town: Town) -> None:
    settings = town.settings()
    with pytest.raises(WorkflowError, match="hold the private records"):
        load_project(settings.with_changes(reference=settings.data))
    assert not any("copies of one another" in line for line in load_project(settings).private.sentences())


def test_the_curator_is_told_of_a_small_overlap(town: Town, tmp_path: Path) -> None:
    """A tenth of the private rows, copied into the reference file."""
    settings = town.settings()
    assert settings.reference is not None
    private, reference = (Path(source.path).read_text() for source in (settings.data, settings.reference))
    rows = private.splitlines()[1:]
    path = tmp_path / "reference.csv"
    path.write_text(reference.rstrip("\n") + "\n" + "\n".join(rows[: len(rows) // 10]) + "\n")
    changed = settings.with_changes(reference=replace(settings.reference, path=str(path)))
    said = [line for line in load_project(changed).private.sentences() if "copies of one another" in line]
    assert len(said) == 1
    assert said[0].startswith(f"{len(rows) // 10} private readings of ")


def test_two_real_years_of_sales_and_of_stations_pass(shared_data: Path) -> None:
    table = shared_data / "postcodes/london_postcodes_nspl_style.csv.gz"
    sales = (shared_data / f"price_paid/pp-{year}-london-15boroughs.csv.gz" for year in (2017, 2018))
    flats = [load_sales(path, table, segment="existing-flats")[0] for path in sales]
    assert shared_rows(flats[1], flats[0]) < 0.05
    air = [
        load_sensors(
            shared_data / "sensors/london_laqn_annual_means_2022_2024.csv",
            value="annual_mean",
            x="Longitude",
            y="Latitude",
            unit="ug/m3",
            where={"species": "NO2", "year": year},
        )[0]
        for year in (2022, 2023)
    ]
    assert refuse_overlap(air[1], air[0]) is None


def sales(values: list[int]) -> Observations:
    value = np.array(values, dtype=np.float64)
    return Observations(10 * value, 20 * value, "EPSG:27700", value, "GBP", "sale", "made")


PRIVATE = sales(list(range(100, 110)))


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_up_to_two_in_ten_sales_may_stand_in_the_reference(shared: int) -> None:
    refuse_overlap(PRIVATE, sales([*range(100, 100 + shared), *range(500, 540)]))


@pytest.mark.parametrize("shared", [3, 5, 8, 9, 10])
def test_three_in_ten_are_refused(shared: int) -> None:
    with pytest.raises(WorkflowError, match="hold the private records themselves"):
        refuse_overlap(PRIVATE, sales([*range(100, 100 + shared), *range(500, 540)]))
