"""The leaderboard: rivals are priced as all are, blocks are ranked by themselves, guests leave no trace."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgp_core.errors import BoundRefused
from dpgp_core.mechanisms.cell_sums import noisy_totals
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from studies.leaderboard.adaptive_grid import AdaptiveGrid, AdaptiveGridDesign, parts
from studies.leaderboard.parts import merged
from studies.leaderboard.quadtree import Quadtree, QuadtreeDesign, Tree
from studies.leaderboard.run import (
    COLUMNS,
    SECONDS_OF,
    LeaderboardSettings,
    entered,
    ranked,
    run,
    tables_of,
)
from studies.leaderboard.squares import square_of
from studies.registry import RESULTS
from studies.reporting.tables import Cell, StudyResult
from tests.dpgp_core.hexmap import disk

LATTICE = disk(6, padding=1)
FACTS = PublicFacts(LATTICE, 600)
RIVALS = pytest.mark.parametrize("mechanism", [Quadtree(), AdaptiveGrid()], ids=lambda each: each.name)


def records() -> CollapsedRecords:
    generator = np.random.default_rng(5)
    cells = generator.integers(0, LATTICE.size, 600)
    high = np.where(LATTICE.domain_centres[cells, 0] > 0.0, 0.7, -0.7)
    return CollapsedRecords.from_records(cells, high)


@RIVALS
def test_a_rival_costs_its_budget_and_finds_the_high_side(mechanism: Quadtree | AdaptiveGrid) -> None:
    design = mechanism.calibrate(mechanism.design_type(), FACTS, Budget(4.0, 1e-5))
    assert design is not None
    assert 3.99 < mechanism.guarantee(design, FACTS).epsilon(1e-5).epsilon <= 4.0
    drawn = draw_release(mechanism.prepare(design, FACTS, records()), SimulationEntropy(1), simulation=True)
    probability = drawn.probability(0.0)
    assert probability is not None
    high = LATTICE.domain_centres[:, 0] > 0.0
    assert probability[high].mean() > 0.75
    assert probability[~high].mean() < 0.25
    known = PublicFacts(LATTICE, 600, relation="add-or-remove")
    with pytest.raises(BoundRefused, match="replace-one"):
        mechanism.guarantee(design, known)
    assert mechanism.calibrate(design, known, Budget(4.0, 1e-5)) is None


def test_the_levels_and_the_two_grids_compose_to_the_declared_mu() -> None:
    """Sums and counts of one partition move by at most 2, counts alone by sqrt(2)."""
    for growth in (1.0, 2.0):
        noises = QuadtreeDesign(depth=4, growth=growth, mu=0.7).noises()
        assert math.sqrt(sum((2.0 / noise) ** 2 for noise in noises)) == pytest.approx(0.7, rel=1e-9)
        assert math.sqrt(sum((2.0 / noise) ** 2 for noise in noises)) <= 0.7
    coarse, fine = AdaptiveGridDesign(share=0.3, mu=0.7).noises()
    assert math.hypot(math.sqrt(2.0) / coarse, 2.0 / fine) == pytest.approx(0.7, rel=1e-9)
    assert math.hypot(math.sqrt(2.0) / coarse, 2.0 / fine) <= 0.7


def test_no_exchanged_record_moves_the_squares_by_more_than_two() -> None:
    groups, worst = square_of(LATTICE, 4), 0.0
    groups = np.unique(groups, return_inverse=True)[1]
    generator, held = np.random.default_rng(2), CollapsedRecords.from_records
    for _ in range(100):
        cells, values = generator.integers(0, LATTICE.size, 9), generator.choice([-1.0, 1.0], 9)
        other, said = cells.copy(), values.copy()
        other[0], said[0] = generator.integers(0, LATTICE.size), generator.choice([-1.0, 1.0])
        one, two = (
            np.concatenate(noisy_totals(held(*each), groups, 1e-6, SimulationEntropy(1)))
            for each in ((cells, values), (other, said))
        )
        worst = max(worst, float(np.linalg.norm(one - two)))
    assert 1.9 < worst <= 2.0 + 1e-9


def test_parts_follow_the_counts_and_are_a_partition() -> None:
    whole = np.unique(square_of(LATTICE, 3)).size
    few = parts(LATTICE, 3, np.zeros(whole), 10.0)
    assert few.max() + 1 == whole
    many = parts(LATTICE, 3, np.full(whole, 90.0), 10.0)  # each into 3 by 3
    assert whole < many.max() + 1 <= 81
    assert np.array_equal(np.unique(many), np.arange(many.max() + 1))
    assert len({(int(a), int(b)) for a, b in zip(few, many, strict=True)}) == many.max() + 1


def test_a_tree_knows_which_leaves_share_a_square() -> None:
    tree = Tree.of(LATTICE, 2)
    assert [int(level.max()) + 1 for level in tree.levels] == [4, int(tree.leaf.max()) + 1]
    alike = tree.alike(np.array([1.0, 10.0]))
    assert set(np.unique(alike)) == {0.0, 1.0, 11.0}
    assert np.all(np.diag(alike) == 11.0)


def row(name: str, iou: float | None, error: float, hides: str = "values", epsilon: float = 1.0) -> dict:
    block = {"data": "A", "hides": hides, "epsilon": epsilon}
    return {**block, "mechanism": name, "right": iou, "standard error": error}


def test_places_are_given_within_a_block_and_shared_within_two_standard_errors() -> None:
    rows = [
        row("low", 0.50, 0.01),
        row("high", 0.80, 0.01),
        row("near", 0.78, 0.01),
        row("none", None, 0.0),
        row("one colour", 0.6, 0.0),
        row("other", 0.30, 0.01, hides="values and places"),
        row("later", 0.20, 0.01, epsilon=3.0),
    ]
    place = {line[COLUMNS.index("mechanism")]: line[COLUMNS.index("place")] for line in ranked(rows)}
    assert place == {
        "high": 1,
        "near": 1,
        "one colour": None,
        "low": 3,
        "none": None,
        "other": 1,
        "later": 1,
    }
    (table,) = tables_of(ranked(rows))
    assert table.name == "a"
    assert table.column("mechanism")[:4] == ("high", "near", "one colour", "low")


def test_guests_are_gone_when_it_is_over() -> None:
    def fail() -> None:
        with entered(Quadtree()):
            assert "quadtree" in MECHANISMS
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fail()
    assert "quadtree" not in MECHANISMS


@pytest.mark.slow
def test_a_quick_leaderboard_ranks_the_plumes() -> None:
    small = LeaderboardSettings(
        epsilons=(4.0,),
        releases=4,
        mechanisms=("noisy-cell-statistics", "quadtree"),
        data=("plumes",),
        quick_search=True,
    )
    found = run(small)
    (table,) = found.tables
    assert set(table.column("mechanism")) == {"Noisy cell statistics", "Private quadtree", "one colour"}
    assert set(table.column("hides")) == {"values and places"}
    assert max(float(each or 0.0) for each in table.column("right")) > 0.5


def test_a_part_takes_the_place_of_its_older_self_and_leaves_the_others() -> None:
    def part(data: str, iou: float, seconds: dict[str, float]) -> StudyResult:
        rows = [{**row("high", iou, 0.01), "data": data}]
        total, said = sum(seconds.values()), {"releases": 60, SECONDS_OF: seconds}
        return StudyResult("leaderboard", "full", said, (60,), "60", total, tables_of(ranked(rows)), ("n",))

    def best(result: StudyResult, name: str) -> object:
        return result.table(name).column("right")[0]

    stored = merged(part("London, 1", 0.5, {"London": 9.0}), part("Meuse lead", 0.7, {"Meuse lead": 2.0}))
    assert [table.name for table in stored.tables] == ["meuse-lead", "london-1"]
    again = merged(stored, part("London, 1", 0.6, {"London": 5.0}))
    assert (best(again, "london-1"), best(again, "meuse-lead")) == (0.6, 0.7)
    assert again.settings[SECONDS_OF] == {"London": 5.0, "Meuse lead": 2.0}
    assert again.seconds == 7.0
    old = StudyResult("leaderboard", "full", {}, (60,), "60", 600.0, stored.tables, ())
    assert merged(old, part("Plumes", 0.6, {"plumes": 5.0})).seconds == 605.0


def test_one_mechanism_run_again_leaves_the_rows_of_the_others_and_is_ranked_among_them() -> None:
    def part(rows: list[dict[str, Cell]], mechanisms: tuple[str, ...]) -> StudyResult:
        said = {"mechanisms": mechanisms, SECONDS_OF: {"London": 4.0}}
        return StudyResult("leaderboard", "full", said, (60,), "60", 4.0, tables_of(ranked(rows)), ("n",))

    whole = part([row("high", 0.5, 0.01), row("low", 0.3, 0.01), row("other", 0.2, 0.01)], ())
    again = merged(whole, part([row("low", 0.9, 0.01), row("new", 0.4, 0.01)], ("low", "new")))
    (table,) = again.tables
    assert table.column("mechanism") == ("low", "high", "new", "other")
    assert table.column("right") == (0.9, 0.5, 0.4, 0.2)
    assert table.column("place") == (1, 2, 3, 4)
    assert again.settings[SECONDS_OF] == {"London": 4.0, "London: low, new": 4.0}
    assert again.seconds == 8.0
    assert again.settings["mechanisms"] == ()


def test_the_stored_table_of_the_limit_has_every_mechanism_above_it_at_every_budget() -> None:
    stored = StudyResult.from_json((RESULTS / "leaderboard.json").read_text(encoding="utf-8"))
    table = stored.table("worlds-of-the-prior")
    assert (len(table.rows), set(table.column("epsilon"))) == (24, {0.25, 1.0, 3.0})
    for row in table.records():
        assert 0.0 < float(row["limit"] or 0.0) < float(row["left by records"] or 0.0) < 1.0
        assert 0.0 < float(row["limit by hexagons"] or 0.0) < float(row["left by hexagons"] or 0.0) < 1.0
