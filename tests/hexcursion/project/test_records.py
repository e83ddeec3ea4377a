"""Observations become records: exactly, by unit of protection, and only inside the domain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from data_loaders import Observations
from data_loaders.files import spool
from dpgp_core.errors import InvalidValue
from geo import Domain, domain_from_bbox, domain_from_cells, geometry_dict
from hexcursion.errors import WorkflowError
from hexcursion.project import records, simulated
from hexcursion.project.load import build_domain, build_lattice, choose_response, load_project
from hexcursion.project.records import PlacedObservations, bin_records, cell_medians, place, public_n
from hexcursion.project.response import ResponseScale, tidy
from hexcursion.project.simulated import StandIns, world_model
from tests.town import BOX, Town

SCALE = ResponseScale("identity", 10.0, 4.0, "test")


@pytest.fixture(scope="module")
def domain() -> Domain:
    return domain_from_bbox(*BOX, 8)


def observations(x: list[float], y: list[float], value: list[float], crs: str = "EPSG:4326") -> Observations:
    return Observations(np.array(x), np.array(y), crs, np.array(value), "ug/m3", "reading", "test")


def test_rows_outside_are_dropped_and_counted(domain: Domain) -> None:
    placed = place(observations([10.05, 12.0, 10.06], [50.04, 50.04, 50.05], [1.0, 2.0, 3.0]), domain)
    assert placed.read == 3
    assert placed.outside == 1
    assert placed.value.tolist() == [1.0, 3.0]
    assert np.all(placed.index >= 0)


def test_years_are_those_of_the_rows_inside(domain: Domain) -> None:
    seen = observations([10.05, 12.0, 10.06], [50.04, 50.04, 50.05], [1.0, 2.0, 3.0])
    times = np.array(["1999-12-31", "2005-06-01", "2020-01-01"], dtype="datetime64[s]")
    year = place(replace(seen, time=times), domain).year
    assert year is not None
    assert year.tolist() == [1999, 2020]
    times[2] = np.datetime64("NaT")
    assert place(replace(seen, time=times), domain).year is None
    assert place(seen, domain).year is None


def test_swapped_coordinates_are_named(domain: Domain) -> None:
    with pytest.raises(WorkflowError, match="swapped"):
        place(observations([50.04], [10.05], [1.0]), domain)


def test_all_outside_says_where_to_look(domain: Domain) -> None:
    with pytest.raises(WorkflowError, match="outside the domain"):
        place(observations([-100.0], [40.0], [1.0]), domain)


def test_point_records_collapse_to_counts_and_clipped_means() -> None:
    placed = PlacedObservations(np.array([5, 2, 5]), np.array([12.0, 99.0, 8.0]), 3, 0)
    binned = bin_records(placed, SCALE, "point")
    assert binned.n == 3
    assert binned.index.tolist() == [2, 5]
    assert binned.count.tolist() == [1, 2]
    np.testing.assert_allclose(binned.mean, [1.0, 0.0])


def test_cell_records_are_medians_with_count_one() -> None:
    placed = PlacedObservations(np.array([5, 5, 5, 2, 2]), np.array([9.0, 30.0, 11.0, 10.0, 13.0]), 5, 0)
    cells, medians = cell_medians(placed)
    assert cells.tolist() == [2, 5]
    assert medians.tolist() == [11.5, 11.0]
    binned = bin_records(placed, SCALE, "cell")
    assert binned.n == 2
    assert binned.count.tolist() == [1, 1]
    np.testing.assert_allclose(binned.mean, [0.375, 0.25])


def test_medians_are_the_same_in_small_groups_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "GROUP", 7)
    monkeypatch.setattr(spool, "STRIDE", 5)
    generator = np.random.default_rng(3)
    index, value = generator.integers(0, 9, 60), generator.normal(size=60)
    index[:20] = 4  # one cell has more rows than a group
    cells, medians = cell_medians(PlacedObservations(index, value, 60, 0))
    assert cells.tolist() == sorted(set(index.tolist()))
    assert medians.tolist() == [float(np.median(value[index == cell])) for cell in cells]


def test_no_rows_have_no_medians() -> None:
    cells, medians = cell_medians(PlacedObservations(np.empty(0, np.int64), np.empty(0), 0, 0))
    assert (cells.size, medians.size) == (0, 0)


@pytest.mark.parametrize(
    ("known", "spots", "looked_up"), [(100, None, 4), (0, None, 8), (0, [5, 1, 5, 5, 8, 5, 5, 0, 1, 5], 4)]
)
def test_a_place_is_looked_up_once(
    domain: Domain, monkeypatch: pytest.MonkeyPatch, known: int, spots: list[int] | None, looked_up: int
) -> None:
    """Four places in ten rows, three rows at a time; without memory or numbers once in each part with it."""
    monkeypatch.setattr(records, "KNOWN_PLACES", known)
    monkeypatch.setattr(spool, "STRIDE", 3)
    asked: list[float] = []
    locate = Domain.locate

    def counted(self: Domain, lon: NDArray[np.float64], lat: NDArray[np.float64]) -> NDArray[np.int64]:
        asked.extend(lon.tolist())
        return locate(self, lon, lat)

    monkeypatch.setattr(Domain, "locate", counted)
    lon, lat = [10.05, 10.01, 10.05, 10.05, 11.0, 10.05, 10.05, 9.99, 10.01, 10.05], [50.04] * 10
    rows = observations(lon, lat, list(range(10)))
    placed = place(replace(rows, spot=None if spots is None else np.array(spots, np.int32)), domain)
    expected = locate(domain, np.array(lon), np.array(lat))
    assert placed.index.tolist() == [cell for cell in expected.tolist() if cell >= 0]
    assert placed.value.tolist() == [float(row) for row, cell in enumerate(expected.tolist()) if cell >= 0]
    assert len(asked) == looked_up


def test_a_public_prior_mean_is_subtracted_before_clipping() -> None:
    placed = PlacedObservations(np.array([0, 1]), np.array([14.0, 14.0]), 2, 0)
    binned = bin_records(placed, SCALE, "point", np.array([0.75, -2.0]))
    np.testing.assert_allclose(binned.mean, [0.25, 1.0])


def test_values_are_cut_as_the_map_without_privacy_cuts_them_before_the_public_mean_is_subtracted() -> None:
    placed = PlacedObservations(np.array([0, 1, 1]), np.array([4.0, 99.0, 12.0]), 3, 0)
    mean, wide = np.array([-0.25, 0.5]), ResponseScale("identity", 10.0, 8.0, "test")
    binned = bin_records(placed, wide, "point", mean, SCALE)  # to between 6 and 14
    np.testing.assert_allclose(binned.mean, [-0.25, -0.125])
    np.testing.assert_allclose(bin_records(placed, wide, "point", mean).mean, [-0.5, 0.375])


def test_a_scale_cuts_amounts_at_its_clip_bound_and_answers_nowhere() -> None:
    assert SCALE.cut(np.array([5.9, 6.1, 14.2])).tolist() == [6.0, 6.1, 14.0]
    logs = ResponseScale("log", 0.0, float(np.log(2.0)), "test")
    np.testing.assert_allclose(logs.cut(np.array([0.1, 0.7, 9.0])), [0.5, 0.7, 2.0])
    with pytest.raises(InvalidValue, match="logarithms need values above 0"):
        logs.cut(np.array([0.7, -5.0]))
    answers = ResponseScale("probit", 0.0, 1.0, "test")
    assert answers.cut(np.array([0.0, 100.0])).tolist() == [0.0, 100.0]


def test_the_response_scale_never_looks_at_private_values(town: Town) -> None:
    """Multiplying every private value must leave centre, clip and domain as they were."""
    lines = town.private.read_text(encoding="utf-8").splitlines()
    changed = town.private.with_name("changed.csv")
    moved = [f"{line.rsplit(',', 1)[0]},{3.7 * float(line.rsplit(',', 1)[1]):.4f}" for line in lines[1:]]
    changed.write_text("\n".join([lines[0], *moved]) + "\n", encoding="utf-8")
    settings = town.settings()
    one = load_project(settings)
    two = load_project(
        settings.with_changes(data=type(settings.data)(str(changed), value="no2", x="lon", y="lat"))
    )
    assert one.response == two.response
    assert one.domain.cells == two.domain.cells
    assert not np.array_equal(one.private.placed.value, two.private.placed.value)


def test_without_reference_data_centre_and_clip_must_be_given(town: Town) -> None:
    settings = town.settings(reference=None, reference_public=False)
    with pytest.raises(WorkflowError, match="centre"):
        choose_response(settings, None)
    given = choose_response(settings.with_changes(centre=30.0, clip=15.0), None)
    assert (given.centre, given.clip) == (30.0, 15.0)


def test_centre_and_clip_keep_four_decimals_or_as_many_digits() -> None:
    assert [tidy(number) for number in (12.345678, 0.0012345, -0.0009876543, 3.14159e-7, 0.0)] == [
        12.3457,
        0.0012,
        -0.0009877,
        3.142e-7,
        0.0,
    ]
    assert tidy(1.23456789e-6, 6) == 1.23457e-6


def test_values_in_a_small_unit_have_a_scale_of_their_own(town: Town) -> None:
    """Kilograms for what is usually given in micrograms: nothing is rounded away."""
    settings = town.settings(threshold=30e-9)
    steps = np.array([0.0, 1.0, 2.0, 3.0])
    small = choose_response(settings, PlacedObservations(np.arange(4), 20e-9 + 4e-9 * steps, 4, 0))
    assert (small.centre, small.clip) == (2.6e-8, 6e-9)
    settings = town.settings(threshold=5.123456)
    with pytest.raises(WorkflowError, match="do not vary: give a public"):
        choose_response(settings, PlacedObservations(np.arange(4), np.full(4, 5.123456), 4, 0))


@pytest.mark.parametrize("transform", ["log", "identity"])
def test_response_scale_round_trip(transform: str) -> None:
    scale = ResponseScale(transform, 3.0, 2.0, "test")
    values = np.array([5.0, 20.0, 100.0])
    np.testing.assert_allclose(scale.value(scale.forward(values)), values)
    assert np.all(np.abs(scale.response(values)) <= 1.0)


def test_log_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="values above 0"):
        ResponseScale("log", 3.0, 2.0, "test").forward(np.array([1.0, 0.0]))


def test_reference_data_that_hold_the_private_records_are_refused(town: Town) -> None:
    settings = town.settings()
    with pytest.raises(WorkflowError, match="hold the private records"):
        load_project(settings.with_changes(reference=settings.data))


def test_simulated_reference_data_know_the_public_number_only(town: Town) -> None:
    """Of cell records the public number is that of non-empty cells: more rows must change nothing."""
    few, many = (PlacedObservations(np.repeat([3, 7, 9], k), np.ones(3 * k), 3 * k, 0) for k in (1, 40))
    assert public_n(few, "cell") == public_n(many, "cell") == 3
    assert public_n(many, "point") == 120
    settings = town.settings(reference=None, reference_public=False, unit="cell")
    made = StandIns(settings, build_lattice(build_domain(settings)), SCALE, 30).draw()
    assert np.unique(made.index).size == 30
    everywhere = StandIns(settings, build_lattice(build_domain(settings)), SCALE, 10**6).draw()
    assert everywhere.index.size == build_domain(settings).size


def test_a_guess_of_a_billion_records_is_refused_before_they_are_drawn(town: Town) -> None:
    """The machine's memory went, and the process with it."""
    guess = {"relation": "add-or-remove", "mechanisms": ("spectral-statistics",)}
    assert town.settings(**guess, records_about=10**8).records_about == 10**8
    with pytest.raises(WorkflowError, match="records_about must be"):
        town.settings(**guess, records_about=10**9)


def test_simulated_reference_data_lie_at_public_places(town: Town) -> None:
    """Where places are declared public, records are simulated where they really are."""
    settings = town.settings(reference=None, reference_public=False, places_public=True)
    lattice, places = build_lattice(build_domain(settings)), np.array([9, 3, 3, 7])
    made = StandIns(settings, lattice, SCALE, 4, places).draw()
    assert made.index.tolist() == [9, 3, 3, 7]
    assert np.unique(made.value).size == 4
    cells = StandIns(settings.with_changes(unit="cell"), lattice, SCALE, 3, places).draw()
    assert cells.index.tolist() == [3, 7, 9]


def test_simulated_records_crowd(town: Town) -> None:
    """An even field of places would hold Poisson counts."""
    settings = town.settings(reference=None, reference_public=False)
    lattice = build_lattice(build_domain(settings))
    placed = StandIns(settings, lattice, SCALE, 50 * lattice.size).draw()
    counts = np.bincount(placed.index, minlength=lattice.size)
    assert float(counts.var()) > 10.0 * float(counts.mean())
    cells = StandIns(settings.with_changes(unit="cell"), lattice, SCALE, 12).draw()
    assert np.unique(cells.index).size == 12


def test_simulated_worlds_have_three_ranges_three_shares_and_two_spreads() -> None:
    """Ranges of 4, 8 and 16 spacings; shares .5, .25 and .8 of the variance; deviations .4 and .65."""
    worlds = [world_model(100.0, number) for number in range(9)]
    assert [each.lengthscale for each in worlds] == [400.0, 800.0, 1600.0] * 3
    total = [each.spread**2 + each.scatter**2 for each in worlds]
    assert total == pytest.approx([0.16, 0.4225] * 4 + [0.16])
    shares = [each.spread**2 / whole for each, whole in zip(worlds, total, strict=True)]
    assert shares == pytest.approx([0.5] * 3 + [0.25] * 3 + [0.8] * 3)


def test_simulated_records_scatter_about_a_mean_that_is_not_the_centre(town: Town) -> None:
    """At one place: 30 % of the field's variance moves the whole map, the rest the place."""
    settings = town.settings(reference=None, reference_public=False)
    lattice, places = build_lattice(build_domain(settings)), np.zeros(4000, dtype=np.int64)
    values = [
        SCALE.forward(StandIns(settings, lattice, SCALE, 4000, places).draw(number).value)
        for number in range(9)
    ]
    scatter = [0.283, 0.460, 0.283, 0.563, 0.346, 0.563, 0.179, 0.291, 0.179]
    assert [float(each.std()) for each in values] == pytest.approx(scatter, rel=0.04)
    assert max(abs(float(each.mean())) for each in values) > 0.2


def test_means_of_nine_worlds_are_one_from_each_ninth_of_their_law(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every range (every third world) and share (three in a row) has a low, a middle and a high one."""
    monkeypatch.setattr(simulated, "WORLD_COMMON", 1.0)  # the field moves as a whole
    monkeypatch.setattr(simulated, "WORLD_SHARES", (1.0, 1.0, 1.0))  # and records do not scatter about it
    settings = town.settings(reference=None, reference_public=False)
    lattice, places = build_lattice(build_domain(settings)), np.zeros(1, int)
    means = [
        float(SCALE.forward(StandIns(settings, lattice, SCALE, 1, places).draw(k).value)[0]) for k in range(9)
    ]
    ninths = np.floor(9.0 * ndtr(np.divide(means, [0.4, 0.65] * 4 + [0.4])))
    assert ninths.tolist() == [4, 6, 2, 0, 5, 7, 8, 1, 3]


def test_nine_worlds_are_followed_by_their_mirror_images(town: Town) -> None:
    settings = town.settings(reference=None, reference_public=False)
    lattice = build_lattice(build_domain(settings))
    own, image, other = (StandIns(settings, lattice, SCALE, 90).draw(k) for k in (4, 13, 22))
    assert np.array_equal(own.index, image.index)
    ratio = -0.65 / 0.4  # the image of a narrow world is wide
    assert SCALE.forward(image.value) == pytest.approx(ratio * SCALE.forward(own.value))
    assert not np.array_equal(own.index, other.index)
    full = replace(settings, quick=False)
    asked = [(full, True), (full, False), (settings, True)]
    assert [simulated.simulated_worlds(*each) for each in asked] == [18, 9, 3]


def test_a_domain_is_padded_by_four_rings() -> None:
    """One hexagon and four rings around it are 1 + 6 + 12 + 18 + 24 = 61 cells."""
    box = domain_from_bbox(10.0, 50.0, 10.12, 50.08, 7)
    one = domain_from_cells(box.cells[:1], geometry_dict(box.region))
    lattice = build_lattice(one)
    assert lattice.size == 1
    assert lattice.centres.shape == (61, 2)
    assert lattice.inside.tolist() == [0]
    steps = np.linalg.norm(lattice.centres - lattice.domain_centres, axis=1).max() / lattice.spacing
    assert 3.5 < steps < 4.5
