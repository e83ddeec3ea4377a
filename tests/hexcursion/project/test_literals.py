"""Numbers of simulated stand-ins, public scales, smoothed maps and copies, and both sides of each limit."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_loaders import Observations
from dpgp_core.priors.lattice import Lattice
from geo import Domain
from hexcursion.errors import WorkflowError
from hexcursion.project import copies, public_numbers, record_store
from hexcursion.project.load import change_response, choose_response
from hexcursion.project.public_numbers import Exposure, even_exposure, relative_field, smooth_map
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.project.simulated import StandIns, simulated_worlds
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.hexcursion.project.conftest import BOX

SOURCE = SourceSettings("/a.csv", value="v", x="x", y="y", crs="EPSG:4326")
SETTINGS = ReleaseSettings(data=SOURCE, threshold=5.0, bbox=BOX)
COUNTS = SETTINGS.with_changes(values="count")
ANSWERS = SETTINGS.with_changes(values="yes-no", threshold=30.0)
HEXAGONS = SETTINGS.with_changes(unit="cell")
SCALE = ResponseScale("identity", 10.0, 4.0, "")
SHARES = ResponseScale("probit", 0.0, 1.0, "")


def columns(size: int) -> np.ndarray:
    return np.column_stack([np.arange(size) % 5, np.arange(size) % 3]).astype(float)


Drawn = tuple[int, list[int], list[float], float, int]


@pytest.mark.parametrize(
    ("settings", "scale", "n", "given", "drawn"),
    [
        (SETTINGS, SCALE, 40, {}, (40, [14, 1, 1, 11, 26], [7.6981, 12.3562, 12.6692], 412.41, 583)),
        (SETTINGS, SCALE, 40, {"number": 4}, (40, [12, 3, 13, 1, 13], [9.3225, 9.9451, 8.8526], 387.56, 487)),
        (
            SETTINGS,
            SCALE,
            40,
            {"number": 13},
            (40, [12, 3, 13, 1, 13], [11.1009, 10.0892, 11.8646], 420.21, 487),
        ),
        (HEXAGONS, SCALE, 12, {"number": 1}, (12, [13, 17, 16, 1, 28], [9.0786, 6.8114, 7.7767], 92.74, 170)),
        (
            SETTINGS,
            SCALE,
            4,
            {"number": 2, "places": np.array([3, 3, 7])},
            (3, [3, 3, 7], [11.007, 10.3636, 10.3424], 31.71, 13),
        ),
        (
            HEXAGONS,
            SCALE,
            4,
            {"number": 2, "places": np.array([7, 3, 3])},
            (2, [3, 7], [11.007, 9.672], 20.68, 10),
        ),
        (
            SETTINGS,
            SCALE,
            40,
            {"number": 1, "columns": columns(32)},
            (40, [17, 20, 7, 3, 12], [8.8778, 6.5051, 7.3207], 313.13, 555),
        ),
        (
            SETTINGS,
            SCALE,
            40,
            {"number": 3, "columns": columns(32)},
            (40, [30, 21, 20, 19, 30], [11.276, 10.8473, 9.0839], 360.92, 897),
        ),
        (ANSWERS, SHARES, 40, {"number": 1}, (40, [17, 20, 7, 3, 12], [0.0, 0.0, 0.0], 400.0, 555)),
    ],
)
def test_a_stand_in_is_these_records(
    lattice: Lattice, settings: ReleaseSettings, scale: ResponseScale, n: int, given: Any, drawn: Drawn
) -> None:
    named = dict(given)
    number = named.pop("number", 0)
    found = StandIns(settings, lattice, scale, n, **named).draw(number)
    check(found, drawn)


def check(found: PlacedObservations, drawn: Drawn) -> None:
    size, index, value, total, places = drawn
    assert (found.index.size, found.read, found.outside) == (size, size, 0)
    assert found.index[: len(index)].tolist() == index
    assert found.value[: len(value)].tolist() == pytest.approx(value, abs=6e-5)
    assert float(found.value.sum()) == pytest.approx(total, abs=6e-3)
    assert int(found.index.sum()) == places


def test_counted_stand_ins_are_these_records(domain: Domain, lattice: Lattice) -> None:
    even = even_exposure(domain, 40)
    people = Exposure("population", "n", 1.0 + np.arange(domain.size, dtype=float))
    density = StandIns(COUNTS, lattice, even.scale, 40, exposure=even).draw(2)
    check(density, (40, [10, 1, 15, 6, 14], [5.1571, 5.1571, 5.1571], 206.28, 625))
    risk = StandIns(COUNTS, lattice, people.scale, 40, exposure=people, columns=columns(domain.size)).draw(1)
    check(risk, (40, [21, 21, 9, 23, 8], [2.7183, 2.7183, 2.7183], 108.73, 824))


@pytest.mark.parametrize(
    ("values", "quick", "fixed", "worlds"),
    [
        ("amount", False, False, 9),
        ("amount", False, True, 18),
        ("count", False, True, 9),
        ("amount", True, True, 3),
        ("count", True, False, 3),
    ],
)
def test_in_how_many_worlds_designs_are_tried(values: Any, quick: bool, fixed: bool, worlds: int) -> None:
    assert simulated_worlds(SETTINGS.with_changes(values=values, quick=quick), fixed) == worlds


CELLS = np.array([0, 3, 6, 9, 13, 16, 20, 23, 27, 30])
VALUES = np.array([1.0, 2, 4, 3, 5, 7, 6, 8, 9, 2])


@pytest.mark.parametrize(
    ("cells", "values", "smoothed"),
    [
        (CELLS, VALUES, [4.20546, 4.54795, 4.56396, 4.51354, 4.49455]),
        (CELLS[:7], VALUES[:7], [2.85644, 4.39731, 3.69831, 4.12285, 4.13825]),
        (CELLS[:8], 10.0 * np.sin(np.arange(8)), [-0.48086, -0.67023, 3.82175, -0.27739, -0.71164]),
    ],
)
def test_a_public_map_is_smoothed_to_these_values(
    lattice: Lattice, cells: np.ndarray, values: np.ndarray, smoothed: list[float]
) -> None:
    found = smooth_map(lattice, cells, values)
    assert found[[0, 5, 11, 21, 31]].tolist() == pytest.approx(smoothed, abs=2e-5)


REFERENCE = PlacedObservations(
    np.array([0, 0, 3, 6, 9, 13, 16, 20, 23, 27, 30]), np.array([1.0, 3, 2, 4, 3, 5, 7, 6, 8, 9, 2]), 11, 0
)
CHANGE = {"change": True, "reference": SOURCE, "reference_public": True}


@pytest.mark.parametrize(
    ("threshold", "changes", "scale"),
    [
        (5.0, {}, ("identity", 4.5, 3.5)),
        (20.0, {}, ("identity", 4.5, 19.375)),
        (5.0, {"centre": 3.0}, ("identity", 3.0, 5.0)),
        (20.0, {"centre": 3.0}, ("identity", 3.0, 21.25)),
        (20.0, {"clip": 2.0}, ("identity", 4.5, 2.0)),
        (5.0, {"transform": "log"}, ("log", 1.4979, 0.8048)),
        (20.0, {"transform": "log"}, ("log", 1.4979, 1.8723)),
    ],
)
def test_a_scale_is_taken_from_the_reference(threshold: float, changes: Any, scale: Any) -> None:
    found = choose_response(SETTINGS.with_changes(threshold=threshold, **changes), REFERENCE)
    assert (found.transform, found.centre, found.clip) == scale
    assert found.origin == "from the reference data"


def test_a_scale_that_is_given_is_taken_as_it_is_and_answers_have_one() -> None:
    given = choose_response(SETTINGS.with_changes(centre=3.0, clip=2.0), REFERENCE)
    assert (given.centre, given.clip, given.origin) == (3.0, 2.0, "given by the curator as public")
    answers = choose_response(ANSWERS, None)
    assert (answers.transform, answers.centre, answers.clip) == ("probit", 0.0, 1.0)
    assert answers.origin == "the same for all answers of yes and no"
    for transform, unit in (("log", "log units"), (None, "the data unit")):
        with pytest.raises(WorkflowError) as said:
            choose_response(SETTINGS.with_changes(transform=transform, centre=3.0), None)
        assert str(said.value) == (
            "Without reference data the public centre and clip bound must be given: set `centre` and `clip` "
            f"in {unit}, or name `reference` data."
        )
    flat = replace(REFERENCE, value=np.full(11, 5.0))
    with pytest.raises(WorkflowError, match="The reference values do not vary: give a public `clip` bound"):
        choose_response(SETTINGS, flat)
    assert choose_response(SETTINGS.with_changes(clip=1.0), flat).clip == 1.0


@pytest.mark.parametrize(
    ("threshold", "transform", "field", "spread", "clip"),
    [
        (5.0, "log", [4.16024, 4.43121], 0.741011, 2.012),
        (20.0, "log", [4.16024, 4.43121], 0.741011, 3.745),
        (1.0, None, [4.30381, 4.55641], 3.303813, 3.304),
        (5.0, None, [4.30381, 4.55641], 3.303813, 6.25),
    ],
)
def test_a_change_has_its_public_map_spread_and_scale(
    domain: Domain, lattice: Lattice, threshold: float, transform: Any, field: Any, spread: float, clip: float
) -> None:
    settings = SETTINGS.with_changes(threshold=threshold, transform=transform, **CHANGE)
    found = relative_field(settings, domain, lattice, REFERENCE)
    assert found is not None
    assert found.clip is not None
    assert found.field[[0, 5]].tolist() == pytest.approx(field, abs=2e-5)
    assert (found.ratio, found.kind) == (transform == "log", "public map")
    assert found.origin == "the smoothed map of the published reference data's median values"
    assert found.clip == pytest.approx(spread, abs=2e-6)
    scale = change_response(settings, found.clip)
    assert (scale.centre, scale.clip) == (0.0, clip)
    assert scale.origin == "from the reference data around their own map"
    assert relative_field(settings.with_changes(change=False), domain, lattice, REFERENCE) is None
    assert relative_field(settings, domain, lattice, None) is None


def rows(lon: Any, value: Any) -> Observations:
    lon = np.asarray(lon, dtype=float)
    return Observations(
        lon, np.full(lon.size, 50.0), "EPSG:4326", np.asarray(value, float), "m", "reading", ""
    )


METRE = 1.0 / 111_195.0 / np.cos(np.radians(50.0))  # degrees of longitude at 50 degrees north


@pytest.mark.parametrize(
    ("metres", "factor", "same"),
    [
        (0.0, 1.0, 1.0),
        (9.9, 1.0, 1.0),
        (10.1, 1.0, 0.0),
        (0.0, 1.0 + 0.9e-6, 1.0),
        (0.0, 1.0 + 1.1e-6, 0.0),
        (0.0, -1.0, 0.0),
    ],
)
def test_a_row_is_the_same_within_ten_metres_and_a_millionth(
    metres: float, factor: float, same: float
) -> None:
    assert copies.shared_rows(rows([10.0], [7.0]), rows([10.0 + metres * METRE], [7.0 * factor])) == same


@pytest.mark.parametrize(("shared", "said"), [(1, None), (2, "2 private readings of 100"), (20, "20 priv")])
def test_more_than_one_in_a_hundred_is_warned_of(shared: int, said: str | None) -> None:
    own, other = np.arange(100.0), np.concatenate([np.arange(shared), np.full(50, -5.0)])
    found = copies.refuse_overlap(rows(own / 10.0, own), rows(other / 10.0, other))
    if said is None:
        assert found is None
        return
    assert found is not None
    assert found.startswith(said)
    assert found.endswith(
        "agree with the reference data in place and value: make sure that the two are not copies of one "
        "another."
    )


@pytest.mark.parametrize(("named", "shown", "refused"), [(80, 80, False), (81, 80, True), (80, 81, True)])
def test_names_of_a_population_have_eighty_characters(
    domain: Domain, tmp_path: Path, named: int, shown: int, refused: bool
) -> None:
    column, path = "n" * named, tmp_path / ("f" * (shown - 4) + ".csv")
    cells = "".join(f"{cell},{3 + number}\n" for number, cell in enumerate(domain.cells))
    path.write_text(f"h3,{column}\n{cells}", encoding="utf-8")
    if refused:
        with pytest.raises(WorkflowError, match="have at most 80 characters"):
            public_numbers.load_population(str(path), column, domain)
        return
    found = public_numbers.load_population(str(path), column, domain)
    assert (found.per, found.origin) == ("population", f"{column}, a column of {path.name}")
    assert found.values.tolist() == [3.0 + number for number in range(domain.size)]
    assert found.average == 1.0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (lambda k: -1 if k == 4 else 5, "is negative somewhere in the area: name another file or column."),
        (lambda k: 0, "is 0 in every hexagon of the area: name another file or column."),
    ],
)
def test_a_population_is_positive_somewhere_and_negative_nowhere(
    domain: Domain, tmp_path: Path, values: Callable[[int], int], said: str
) -> None:
    path = tmp_path / "people.csv"
    text = "".join(f"{cell},{values(number)}\n" for number, cell in enumerate(domain.cells))
    path.write_text(f"h3,population\n{text}", encoding="utf-8")
    with pytest.raises(WorkflowError) as found:
        public_numbers.load_population(str(path), "", domain)
    assert str(found.value) == f"The population of people.csv {said}"


def test_a_hexagon_without_people_has_a_five_hundredth_of_the_mean(domain: Domain, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    text = "".join(f"{cell},{0 if number == 0 else 32}\n" for number, cell in enumerate(domain.cells))
    path.write_text(f"h3,population\n{text}", encoding="utf-8")
    found = public_numbers.load_population(str(path), "", domain)
    assert found.values[:2].tolist() == pytest.approx([0.002 * 31.0, 32.0])


@pytest.mark.parametrize(
    ("size", "name", "loader", "kept"),
    [
        (64 << 20, "a.csv", None, True),
        ((64 << 20) - 1, "a.csv", None, False),
        *((64 << 20, f"a{end}", None, True) for end in (".tsv", ".txt", ".CSV", ".csv.gz", ".zip")),
        (64 << 20, "a.xlsx", None, False),
        (64 << 20, "a.shp", None, False),
    ],
)
def test_rows_of_large_files_of_ones_own_are_kept(
    tmp_path: Path, size: int, name: str, loader: str | None, kept: bool
) -> None:
    path = tmp_path / name
    path.touch()
    os.truncate(path, size)
    assert record_store.is_kept(replace(SOURCE, path=str(path), loader=loader)) is kept
    uploads = tmp_path / "hexcursion-uploads-1"
    uploads.mkdir()
    moved = path.rename(uploads / name)
    assert record_store.is_kept(replace(SOURCE, path=str(moved), loader=loader)) is False
    assert record_store.is_kept(replace(SOURCE, path=str(path), loader=loader)) is False, "it is gone"


def test_the_oldest_tables_make_room_and_no_more_than_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert record_store.MOST_BYTES == 20 * 2**30
    monkeypatch.setattr(record_store, "MOST_BYTES", 30)
    monkeypatch.setattr(record_store, "_folder", lambda: tmp_path)
    for number in range(3):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(b"x" * 10)
        os.utime(path, (number, number))

    def left() -> list[str]:
        return sorted(path.stem for path in tmp_path.glob("*.parquet"))

    record_store._make_room(0)
    assert left() == ["0", "1", "2"]
    record_store._make_room(1)
    assert left() == ["1", "2"]
    record_store._make_room(30)
    assert left() == []
