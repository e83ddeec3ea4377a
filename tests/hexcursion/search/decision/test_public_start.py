"""With or without the public map, against the free map: what the search says beforehand comes true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.excursion import iou, ious
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.noise import SimulationEntropy
from hexcursion.project.baseline import fit_baseline, free_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.search.bench import Bench
from hexcursion.search.public_map import last_year, starting_point, two_parts
from hexcursion.search.results import settle_on
from hexcursion.search.scenes import project_scene, public_facts, shuffled
from hexcursion.search.score import baseline_set
from hexcursion.search.task import FrontierPoint
from hexcursion.search.tuning import Tuned, _starting_scenes, better_start, tune
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.london.study import released_sets
from tests.town import BOX, Town, write_town

YEARLY = 1200


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))


def yearly(folder: Path, name: str, hills: dict[int, float]) -> Path:
    """A table of YEARLY readings a year, each year with one hill, at a place from west (0) to east (1)."""
    rows = ["when,lon,lat,no2"]
    for year, place in hills.items():
        rng = np.random.default_rng([7, year])
        x, y = rng.uniform(size=(2, YEARLY))
        value = 20.0 + 25.0 * np.exp(-((x - place) ** 2 + (y - 0.5) ** 2) / 0.06)
        value += 4.0 * rng.standard_normal(YEARLY)
        west, south, east, north = BOX
        rows += [
            f"{year}-06-01,{west + a * (east - west):.6f},{south + b * (north - south):.6f},{c:.4f}"
            for a, b, c in zip(x, y, value, strict=True)
        ]
    path = folder / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def project_of(folder: Path, hills: tuple[float, float, float], **changes: object) -> Project:
    """Private data of 2018, public ones of 2016 and 2017."""
    first, second, third = hills
    columns = {"value": "no2", "x": "lon", "y": "lat", "time": "when"}
    source = SourceSettings(str(yearly(folder, "now.csv", {2018: third})), **columns)
    before = SourceSettings(str(yearly(folder, "before.csv", {2016: first, 2017: second})), **columns)
    return load_project(
        ReleaseSettings(
            data=source,
            reference=before,
            reference_public=True,
            bbox=BOX,
            resolution=8,
            threshold=30.0,
            value_unit="ug/m3",
            quick=True,
            mechanisms=("spectral-statistics",),
            **{"prior_mean": False, **changes},  # type: ignore[arg-type]
        )
    )


def shown(project: Project, tuned: Tuned) -> tuple[float, float]:
    """Mean IoU of simulated releases, and IoU of the free map, with this year's map without privacy."""
    truth = fit_baseline(project, tuned.result.model).inside
    sets = released_sets(project, tuned.choice, 8, SimulationEntropy(11))
    return float(ious(sets, truth).mean()), iou(free_map(project, tuned.result.model), truth)


@pytest.mark.parametrize(
    ("hills", "epsilon", "beats"),
    [((0.3, 0.3, 0.3), 0.05, False), ((0.2, 0.5, 0.8), 2.0, True)],
    ids=["still", "moving"],
)
def test_whether_a_release_beats_the_free_map_is_said_beforehand_and_comes_true(
    tmp_path: Path, hills: tuple[float, float, float], epsilon: float, beats: bool
) -> None:
    project = project_of(tmp_path, hills, epsilon=epsilon)
    tuned = tune(project, frontier=())
    assert any("not expected to add" in each for each in tuned.remarks()) is not beats
    assert any(", by 2017 against the years before." in each for each in tuned.remarks())
    released, free = shown(project, tuned)
    assert bool(released > free) is beats


def test_two_years_are_split_by_year_and_one_year_in_halves() -> None:
    one = PlacedObservations(np.arange(40), np.zeros(40), 40, 0)
    two = replace(one, year=np.repeat([2016, 2017], 20))
    assert last_year(one) is None
    assert last_year(two) == 2017
    assert last_year(replace(one, year=np.repeat([2016, 2017], [38, 2]))) is None
    earlier, later = two_parts(two)
    assert earlier.index.tolist() == list(range(20))
    assert later.index.tolist() == list(range(20, 40))
    halves = two_parts(one)
    assert sorted(np.concatenate([part.index for part in halves]).tolist()) == list(range(40))
    many = two_parts(PlacedObservations(np.arange(4_000), np.zeros(4_000), 4_000, 0))
    assert 1_900 < many[0].index.size < 2_100


def test_a_published_reference_is_where_the_default_release_starts(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    town: Town = write_town(tmp_path_factory.mktemp("town"), n=1200)
    project = load_project(town.settings(mechanisms=("spectral-statistics",), epsilon=0.5, prior_mean=None))
    tuned = tune(project, frontier=(1.0,))
    chosen = tuned.result.chosen
    assert tuned.starts == ""
    assert isinstance(chosen.design, SpectralStatisticsDesign)
    assert chosen.design.drift
    assert any("the mean over small and large changes since." in each for each in tuned.remarks())
    assert tuned.choice.public_map is not None
    assert tuned.result.public_mean
    seen = Bench(project, tuned.result).judged(chosen.design, chosen.response)
    assert seen.records == pytest.approx(chosen.utility.records)
    assert seen.judged_iou == pytest.approx(chosen.utility.judged_iou)
    assert settle_on(project, tuned, tuned.result.frontier[0])[1].public_map is not None
    better = replace(chosen.utility, agreement=chosen.utility.agreement + 0.01)
    plain = replace(tuned, result=replace(tuned.result, public_mean=False))
    assert better_start(plain, tuned).result.public_mean is False  # level: without
    ahead = replace(tuned, result=replace(tuned.result, chosen=replace(chosen, utility=better)))
    assert better_start(plain, ahead).result.public_mean is True


@pytest.mark.parametrize(
    ("epsilon", "start", "stopped"),
    [(1.0, None, False), (0.001, None, True), (1.0, False, False), (0.001, False, True)],
    ids=["published", "published, hardly any epsilon", "set aside", "set aside, hardly any epsilon"],
)
def test_a_map_that_shuffled_values_give_as_well_is_stopped(
    tmp_path_factory: pytest.TempPathFactory, epsilon: float, start: bool | None, stopped: bool
) -> None:
    town: Town = write_town(tmp_path_factory.mktemp("town"), n=1200)
    asked = town.settings(
        mechanisms=("spectral-statistics",), epsilon=epsilon, prior_mean=start, reference_public=start is None
    )
    project = load_project(asked)
    tuned = tune(project, frontier=())
    assert tuned.choice.yardsticks is not None
    gain = tuned.choice.yardsticks.gain
    assert gain == tuned.result.chosen.utility.gain
    assert gain is not None
    assert gain < 0.02 if stopped else gain > 0.2
    utility = replace(tuned.result.chosen.utility, gain=0.01)
    other = replace(tuned.result.chosen, utility=utility)
    elsewhere = settle_on(project, tuned, FrontierPoint(epsilon / 2, other))[1].yardsticks
    assert elsewhere is not None
    assert elsewhere.gain == 0.01, "a dot of the frontier has its own"
    here = settle_on(project, tuned, FrontierPoint(epsilon, tuned.result.chosen))[1].yardsticks
    assert here == tuned.choice.yardsticks
    worlds = zip(tuned.result.chosen.utility.worlds, tuned.result.free_worlds, strict=start is None)
    pairs = [pair for pair in worlds if np.isfinite(pair).all()]
    assert start is not None or len(pairs) > 4


def test_shuffled_observations_are_the_same_values_in_other_places() -> None:
    placed = PlacedObservations(np.arange(300), np.arange(300) / 7.0, 300, 0)
    mixed = shuffled(placed)
    assert np.array_equal(mixed.index, placed.index)
    assert sorted(mixed.value) == sorted(placed.value)
    assert (mixed.value == placed.value).mean() < 0.05


@pytest.mark.slow
def test_another_mechanism_tries_both_starts(tmp_path_factory: pytest.TempPathFactory) -> None:
    town: Town = write_town(tmp_path_factory.mktemp("town"), n=600)
    asked = town.settings(mechanisms=("posterior-sampling",), epsilon=3.0, prior_mean=None, quick=True)
    tuned = tune(load_project(asked), frontier=())
    assert "Starting from the public map, the best release" in tuned.starts


def test_records_that_play_private_ones_are_as_many_and_know_nothing_private(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Two changes for each of eight drifts, each way; two private tables of one length give the same ones."""
    town: Town = write_town(tmp_path_factory.mktemp("town"), n=900)
    project = load_project(town.settings(mechanisms=("spectral-statistics",), prior_mean=True))
    model = PosteriorSamplingDesign("car", 2000.0, 2.0, 1.0)
    field, scale, played = starting_point(project, model)
    n = project.private.placed.index.size
    assert [each.index.size for each in played] == [n] * 16
    assert field.count.sum() == project.reference.index.size
    means = np.array([scale.forward(each.value).mean() for each in played])
    apart = (means - means.mean()).reshape(2, 4, 2)  # changes, drifts, trusts
    still, far = np.abs(apart[:, :2]).max(), np.abs(apart[:, 3]).max()
    assert far > 2.0 * still, "the last drift is the largest"
    assert np.all(apart[:, 3].prod(axis=1) < 0.0), "each goes one way and the other"
    placed = project.private.placed
    other = replace(placed, value=placed.value[::-1] + 3.0, index=np.zeros_like(placed.index))
    _, again, same = starting_point(replace(project, private=replace(project.private, placed=other)), model)
    assert again == scale
    assert all(np.array_equal(a.value, b.value) for a, b in zip(played, same, strict=True))
    assert all(np.array_equal(a.index, b.index) for a, b in zip(played, same, strict=True))
    cells = replace(project, settings=project.settings.with_changes(unit="cell"))
    for each in starting_point(cells, model)[2]:
        assert np.unique(each.index).size == each.index.size == np.unique(placed.index).size


def test_values_drawn_from_a_field_of_cut_values_are_not_cut_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The clip bound is so narrow that many drawn values lie beyond it; their maps are made of them all."""
    town: Town = write_town(tmp_path_factory.mktemp("town"), n=900)
    asked = town.settings(mechanisms=("spectral-statistics",), prior_mean=True)
    wide = load_project(asked).response
    project = load_project(asked.with_changes(centre=wide.centre, clip=0.4 * wide.clip))
    model, facts = PosteriorSamplingDesign("car", 2000.0, 2.0, 1.0), public_facts(project)
    scene, _ = _starting_scenes(project, facts, model)
    played = starting_point(project, model)[2]
    places = np.unique(played[0].index)
    highest = max((world.offset[places] + world.records.mean).max() for world in scene.worlds)
    assert highest * scene.response.clip / project.response.clip > 1.2

    def shown(scale: ResponseScale) -> list[int]:
        worlds = [project_scene(project, facts, each, scale).world for each in played[6:8]]
        return [int(baseline_set(world, model).sum()) for world in worlds]

    found = [int(world.baseline.sum()) for world in scene.worlds[6:8] if world.baseline is not None]
    assert found == shown(replace(project.response, clip=8.0 * project.response.clip))
    assert found != shown(project.response)


def test_the_last_of_several_years_plays_the_private_records(tmp_path: Path) -> None:
    project = project_of(tmp_path, (0.2, 0.5, 0.8), prior_mean=True)
    field, _, (played,) = starting_point(project, PosteriorSamplingDesign("car", 2000.0, 2.0, 1.0))
    assert played.year is not None
    assert set(played.year.tolist()) == {2017}
    assert field.count.sum() == (project.reference.year == 2016).sum()
