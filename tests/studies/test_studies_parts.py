"""The parts of the studies: posteriors, worlds, tables, figures, the London task."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h3
import numpy as np
import pytest
from scipy.stats import norm

from dpgp_core.noise import SimulationEntropy
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from studies.attacks.published_draws import published_draws
from studies.excursions import plane_excursions
from studies.excursions.fields import Spectrum, best_cutoff, ious_at, losses, weighted_ious
from studies.excursions.line_worlds import Acceptance, LineWorlds, joint_draws
from studies.excursions.plane_worlds import PlaneWorlds, square_grid
from studies.excursions.selection import Search, choose, free_scales
from studies.london.paper_map import map_svg, paper_maps
from studies.london.task import occupied_only, real_settings
from studies.registry import RESULTS, STUDIES
from studies.reporting.figures import Figure, Point, points, svg
from studies.reporting.tables import StudyResult, StudyTable, load_result
from tests.town import write_town


def test_a_spectrum_gives_the_textbook_posterior() -> None:
    entropy, ridge = SimulationEntropy(1), 0.7
    x, grid = entropy.uniform(9), np.linspace(0.0, 1.0, 15)
    y = entropy.normal(9)
    among = np.exp(-np.abs(x[:, None] - x))
    across = np.exp(-np.abs(grid[:, None] - x))
    spectrum = Spectrum.of(among, across)
    inverse = np.linalg.inv(among + ridge**2 * np.eye(9))
    ridges = np.array([ridge, 2.0])
    assert spectrum.mean(y, ridges)[:, 0] == pytest.approx(across @ inverse @ y)
    assert spectrum.variance(ridges)[:, 0] == pytest.approx(1.0 - np.sum(across @ inverse * across, axis=1))
    assert spectrum.effective_dimension(ridge) == pytest.approx(np.trace(among @ inverse))


def test_residual_paths_have_the_posterior_covariance() -> None:
    """40,000 paths; every entry of the covariance within six standard errors (below 1e-6 for all 36)."""
    entropy, ridge, draws = SimulationEntropy(2), 0.5, 40_000
    grid, x = np.linspace(0.0, 1.0, 6), entropy.uniform((1, 4))
    on_grid, on_data = joint_draws(grid, x, 0.5, draws, entropy)
    across = np.exp(-np.abs(grid[:, None] - x[0]) / 0.5)
    among = np.exp(-np.abs(x[0][:, None] - x[0]) / 0.5)
    paths = Spectrum.of(among, across).residuals(on_grid[0], on_data[0], entropy.normal((draws, 4)), ridge)
    prior = np.exp(-np.abs(grid[:, None] - grid) / 0.5)
    exact = prior - across @ np.linalg.solve(among + ridge**2 * np.eye(4), across.T)
    error = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / draws)
    assert np.all(np.abs(np.cov(paths, rowvar=False) - exact) < 6.0 * error)


def test_losses_are_cross_entropies_and_infinite_scales_are_never_chosen() -> None:
    mean, variance = np.array([[0.5], [-1.0]]), np.array([[0.3], [0.8]])
    truth, weight = np.array([True, True]), np.array([0.25, 0.75])
    value = losses(mean, variance, np.array([[2.0, np.inf]]), truth, weight)
    chance = norm.cdf(mean[:, 0] / (2.0 * np.sqrt(variance[:, 0])))
    assert value[0, 0] == pytest.approx(-weight @ np.log(chance))
    assert value[0, 1] == np.inf


def test_ious_and_cutoffs_by_volume() -> None:
    sets = np.array([[True, False, True], [False, False, False]])
    weight = np.array([0.5, 0.3, 0.2])
    assert weighted_ious(sets, np.array([True, True, False]), weight) == pytest.approx([0.5, 0.0])
    assert weighted_ious(sets[1:], np.zeros(3, dtype=bool), weight) == pytest.approx([1.0])
    chance = np.array([[0.9, 0.6, 0.2]])
    cutoff = best_cutoff(chance, np.array([[True, True, False]]), weight)
    assert 0.2 < cutoff <= 0.6
    assert ious_at(chance, np.array([[True, False, True]]), weight, cutoff) == pytest.approx([0.5])


def test_a_study_cuts_its_maps_with_the_slack_of_every_map() -> None:
    chance, truth, weight = np.array([[0.06 - 5e-10, 0.055]]), np.array([[True, False]]), np.array([0.5, 0.5])
    assert best_cutoff(chance, truth, weight) == pytest.approx(0.06)
    assert ious_at(chance, truth, weight, 0.06).tolist() == [1.0]


def test_line_worlds_are_bounded_and_accepted() -> None:
    worlds = LineWorlds.draw(10, 30, 200, SimulationEntropy(3), Acceptance())
    assert worlds.size == 10
    largest = np.maximum(np.abs(worlds.f_grid).max(axis=1), np.abs(worlds.f_x).max(axis=1))
    assert largest == pytest.approx(np.ones(10))
    assert np.abs(worlds.responses(0.6)).max() <= 1.0
    assert np.all(Acceptance().accepts(worlds.truth))
    assert not Acceptance().accepts(np.ones((1, 200), dtype=bool)).any()
    assert worlds.weight.sum() == pytest.approx(1.0)


def test_plumes_fill_their_range() -> None:
    worlds = PlaneWorlds.draw(4, 50, SimulationEntropy(4))
    field = worlds.plumes.at(square_grid(80))
    assert field.min(axis=1) == pytest.approx(-np.ones(4))
    assert field.max(axis=1) == pytest.approx(np.ones(4))
    assert np.abs(worlds.responses(0.5)).max() <= 1.0
    assert np.all((worlds.truth(20).mean(axis=1) > 0.02) & (worlds.truth(20).mean(axis=1) < 0.9))


def test_tables_are_rectangular_and_quote_what_csv_must() -> None:
    table = StudyTable("t", "T", ("a", "b, c"), ((1.5, 'say "x"'), (float("inf"), None)))
    assert table.csv() == 'a,"b, c"\n1.5,"say ""x"""\ninf,\n'
    assert table.records()[1] == {"a": None, "b, c": None}
    with pytest.raises(ValueError, match="2 cells"):
        StudyTable("t", "T", ("a", "b"), ((1.0,),))
    with pytest.raises(WorkflowError, match="make studies"):
        StudyResult.from_json('{"study": 1}')
    assert load_result(Path("nowhere.json")) is None


def test_a_figure_as_svg_is_xml_with_every_point_inside() -> None:
    figure = Figure("f", "t", "A < B & C", "x", ("y",), "s", log_x=True, log_y=True)
    drawn = [Point(0.01, 3.0, "one"), Point(10.0, 4000.0, "one"), Point(1.0, 20.0, "two & more")]
    root = ElementTree.fromstring(svg(figure, drawn))
    space = "{http://www.w3.org/2000/svg}"
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    circles = root.findall(f"{space}circle")
    assert len(circles) == 3
    assert all(0 <= float(c.attrib["cx"]) <= width for c in circles)
    assert all(0 <= float(c.attrib["cy"]) <= height for c in circles)
    assert "two & more" in [text.text for text in root.findall(f"{space}text")]
    assert len(root.findall(f"{space}polyline")) == 2
    ElementTree.fromstring(svg(figure, []))


MAP = StudyTable(
    "map",
    "A < B",
    ("h3", "longitude", "latitude", "without privacy", "path 1", "path 2", "path 3"),
    tuple(
        (cell, 0.0, 0.0, int(k < 4), int(k < 3), int(k == 5), 0)
        for k, cell in enumerate(sorted(h3.grid_disk("88194ad32dfffff", 1), reverse=True))
    ),
)


def test_a_stored_map_is_read_in_the_domains_order_and_drawn() -> None:
    """Rows stand in another order than the domain's cells; sets stay with their cells."""
    made = StudyResult("london", "test", {}, (1,), "one", 0.0, (MAP,))
    (drawn,) = paper_maps(made)
    for name, mask in (("without privacy", drawn.baseline), ("path 1", drawn.paths[0])):
        inside = {row["h3"] for row in MAP.records() if row[name] == 1}
        assert {cell for cell, held in zip(drawn.domain.cells, mask, strict=True) if held} == inside
    assert drawn.agreement == pytest.approx((0.75, 0.0, 0.0))
    assert "4 of 7 hexagons" in drawn.words
    root = ElementTree.fromstring(map_svg(drawn))
    space = "{http://www.w3.org/2000/svg}"
    lines = [path.attrib["d"] for path in root.findall(f"{space}path[@class='boundary']")]
    assert [bool(line) for line in lines] == [True, True, True, False]
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    numbers = [tuple(map(float, pair.split())) for pair in lines[0][1:].replace("M", "L").split("L")]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in numbers)
    other = StudyResult("line", "test", {}, (1,), "one", 0.0, (StudyTable("t", "T", ("a",), ((1,),)),))
    assert paper_maps(other) == ()


def test_refinement_finds_what_the_grid_misses_and_stays_within_its_largest_ridge() -> None:
    def losses(lengthscale: float, ridges: np.ndarray, scales: np.ndarray) -> np.ndarray:
        return np.broadcast_to((1.0 + 1.0 / ridges + (lengthscale - 0.6) ** 2)[:, None], scales.shape)

    search = Search(losses, free_scales, (0.5, 1.0), (2.0, 5.0))
    coarse, refined = (choose({"only": search}, refinements=rounds)["only"] for rounds in (0, 2))
    assert (coarse.lengthscale, coarse.ridge) == (0.5, 5.0)
    assert refined.ridge == 5.0
    assert abs(refined.lengthscale - 0.6) < 0.05
    assert refined.loss < coarse.loss
    other = Search(losses, free_scales, (0.5, 2.0), (1.0, 3.0))
    assert choose({"a": search, "b": other}) == choose({"a": search}) | choose({"b": other})


STORED = [study.folder / name for study in STUDIES.values() for name in study.stored]


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.stem)
def test_stored_figures_say_how_they_were_made(file: Path) -> None:
    """Every stored file is there, is of full size, and draws at least one of its study's figures."""
    stored = load_result(file)
    assert stored is not None, f"{file} is missing: run `make studies`"
    assert stored.preset in ("full", "real")
    assert stored.seeds
    assert stored.seconds > 0.0
    assert any(points(figure, stored) for figure in STUDIES[stored.study].figures)


def test_the_stored_attack_reproduces_the_published_one() -> None:
    """The criterion itself, at full size: within .02, on the published draws, of every published figure; and
    each published figure lies inside the spread of ours over seeds."""
    stored = load_result(RESULTS / "membership.json")
    assert stored is not None
    rows = stored.table("example").records()
    same = [row for row in rows if row["covariates"] == "halves, the published draws"]
    spread = [row for row in rows if row["covariates"] == "halves"]
    assert len(same) == len(spread) == 8
    assert max(abs(float(row["mean minus published"])) for row in same) < 0.02  # type: ignore[arg-type]
    assert all(str(row["published lies"]).startswith("inside") for row in spread)


def test_the_stored_plumes_gain_by_our_bound() -> None:
    """At full size, in the published range of ridges: at every noise level by over two standard errors."""
    stored = load_result(RESULTS / "plane.json")
    assert stored is not None
    found = {
        (row["M_xi"], row["bound"]): row
        for row in stored.table("plumes").records()
        if row["private ridges"] == plane_excursions.PUBLISHED
    }
    assert len(found) == 6
    for noise in (0.1, 0.3, 0.5):
        paper, ours = found[noise, "paper"], found[noise, "ours"]
        gain = float(ours["mean one-path IoU"]) - float(paper["mean one-path IoU"])  # type: ignore[arg-type]
        assert gain > 2.0 * float(ours["standard error"])  # type: ignore[arg-type]
        assert float(ours["mean BCE increase"]) < float(paper["mean BCE increase"])  # type: ignore[arg-type]


def test_the_stored_audit_catches_both_mistakes_and_accuses_nobody_else() -> None:
    stored = load_result(RESULTS / "audit.json")
    assert stored is not None
    accused = {row["design"] for row in stored.table("audit").records() if row["alarm"] == "alarm"}
    assert len(accused) == 2
    assert {str(name).split(":")[0] for name in accused} == {"broken sampler", "broken accountant"}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES["london"].stored)
def test_the_stored_london_holds_figure_4_twice(name: str) -> None:
    """By the published recipe and by this program: three paths each, on the domain they were released on."""
    stored = load_result(RESULTS / name)
    assert stored is not None
    drawn = {found.table: found for found in paper_maps(stored)}
    assert set(drawn) == {"map", "map-paper"}
    assert drawn["map"].domain.size > drawn["map-paper"].domain.size > 500
    for found in drawn.values():
        assert len(found.paths) == 3
        assert min(found.agreement) > 0.25


def test_the_published_draws_are_a_generators_in_the_published_order() -> None:
    """Two datasets and one path, beside numpy's generator asked for the numbers one by one."""
    generator = np.random.default_rng(3)
    drawn = published_draws(SimulationEntropy(3), 2, 1)
    for role in ("shadow", "fresh"):
        for member in (True, False):
            x, labels, normal = drawn[role, member]
            for row in range(2):
                left, right = generator.uniform(0.0, 0.5, 5), generator.uniform(0.5, 1.0, 5 - member)
                assert x[row] == pytest.approx([*[0.5][: int(member)], *left, *right], rel=1e-14)
                assert list(labels[row]) == [1.0] * member + [-1.0] * 5 + [1.0] * (5 - member)
                generator.uniform(-1.0, 1.0, 10)
                assert normal[row] == pytest.approx(generator.normal(size=1))
        if role == "shadow":
            generator.normal(size=2 * 14 * 6)


def test_the_comparison_domain_keeps_every_record(tmp_path: Path) -> None:
    """Same values cell by cell under their H3 names, no empty cell left."""
    project = load_project(write_town(tmp_path, n=150).settings())
    small = occupied_only(project)
    assert small.domain.size < project.domain.size
    for before, after in (
        (project.private.placed, small.private.placed),
        (project.reference, small.reference),
    ):
        assert [project.domain.cells[c] for c in before.index] == [small.domain.cells[c] for c in after.index]
        assert np.array_equal(before.value, after.value)
    seen = np.union1d(small.private.placed.index, small.reference.index)
    assert np.array_equal(seen, np.arange(small.domain.size))


def test_absent_real_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match="not shipped"):
        real_settings(tmp_path)
