"""Numbers that the page of a map says, and the bar of its guess."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from geo import Domain
from hexcursion.bundle.areas import BoroughTable
from hexcursion.bundle.page.drawn import Released, thresholds
from hexcursion.bundle.page.facts import _how_sure, area, hexagon_area
from hexcursion.bundle.page.html import belief_svg
from hexcursion.bundle.products import Products
from hexcursion.bundle.statement.build import build_statement
from hexcursion.project.response import ResponseScale
from tests.hexcursion.bundle.bundle_samples import make_release

UNKNOWN: dict[str, Any] = {
    "expected": None, "receipt": [], "prior_mean_used": False, "guarantee": {"n": 4_206}
}  # fmt: skip


def shown(votes: list[float], paths: int, probability: list[float] | None = None) -> Products:
    """Products of which only shares are known."""
    none, known = np.zeros(len(votes), dtype=bool), None if probability is None else np.array(probability)
    return Products(
        level=0.0, direction="above", cutoff=0.5, confidence=0.9, votes=np.array(votes), probability=known,
        paths=np.zeros((paths, len(votes)), dtype=bool), vote_set=none, vorobev=none, inner=None, outer=None,
        three_way=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("products", "unsure"),
    [
        (shown([0.0, 0.2, 0.21, 0.5, 0.79, 0.8, 1.0, 0.1], 12), "For 38 % of the hexagons it cannot tell."),
        (shown([0.0, 1.0, 0.9, 0.1], 12), "For 0 % of the hexagons it cannot tell."),
        (shown([0.0, 1.0, 0.0, 1.0], 1, [0.5, 0.9, 0.3, 0.8]), "For 50 % of the hexagons it cannot tell."),
        (shown([0.5, 0.5, 0.5, 0.5], 12, [0.1, 0.9, 0.3, 0.8]), "For 25 % of the hexagons it cannot tell."),
        (shown([0.5] + 200 * [1.0], 12), "For under 1 % of the hexagons it cannot tell."),
    ],
)
def test_between_a_fifth_and_four_fifths_a_hexagon_is_open(products: Products, unsure: str) -> None:
    assert _how_sure(UNKNOWN, products).text.endswith(f" {unsure}")


def test_one_path_without_probabilities_leaves_nothing_open() -> None:
    assert "open" not in _how_sure(UNKNOWN, shown([0.0, 1.0], 1)).text


def test_a_hexagon_whose_neighbours_lie_a_kilometre_off_has_866_thousandths_of_one_square() -> None:
    assert hexagon_area(cast(Domain, SimpleNamespace(spacing=1000.0))) == pytest.approx(0.8660254)
    assert hexagon_area(cast(Domain, SimpleNamespace(spacing=2000.0))) == pytest.approx(3.4641016)
    assert [area(each) for each in (0.00999, 0.01, 1750.4)] == ["9,990 m²", "0.01 km²", "1,750 km²"]


@pytest.mark.parametrize(
    ("surest", "after", "at"),
    [(0.5, "0.0", "150"), (0.6, "30.0", "180"), (0.75, "75.0", "208"), (1.2, "150.0", "208")],
)
def test_the_bar_of_a_guess_goes_from_one_half_to_what_is_surest(surest: float, after: str, at: str) -> None:
    """300 units are certainty; the words stand where they still have room."""
    drawn = belief_svg(surest)
    assert '<rect class="before" x="0" y="0" width="150.0" height="14"/>' in drawn
    assert f'<rect class="after" x="150.0" y="0" width="{after}" height="14"/>' in drawn
    assert '<text x="150" y="27" text-anchor="end">before: 50:50</text>' in drawn
    assert f'<text x="{at}" y="27">at most' in drawn


def test_thresholds_below_one_are_offered_where_values_lie_there(domain: Domain) -> None:
    """Shares on a logarithmic scale around 0.05: none of them is below nothing, all of them are below one."""
    scale = ResponseScale("log", -3.0, 1.0, "given")
    release = make_release(domain, response=scale, threshold=0.05)
    made = Released(build_statement(release), domain, release.paths, None)
    stops, published = thresholds(made)
    assert len(stops) > 10
    assert stops[published] == 0.05
    assert 0.0 < stops[0] < 0.05 < stops[-1] < 1.0


ROWS = tuple(
    (name, share, "", "100 %") for name, share in (("a", "9 %"), ("b", "5 %"), ("c", "0 %"), ("d", "0 %"))
)


def test_a_table_of_areas_names_its_largest_and_says_what_it_means() -> None:
    table = BoroughTable(ROWS, 0, True)
    assert table.lead == "Largest shares: a 9 %, b 5 %."
    more = (("e", "8 %", "", ""), ("f", "7 %", "", ""))
    assert BoroughTable((*ROWS[:1], *more, *ROWS[1:]), 0, True).lead == "Largest shares: a 9 %, e 8 %, f 7 %."
    assert BoroughTable(ROWS[2:], 0, True).lead == ""
    share = "The share is that of the area's judged hexagons, by the part of them that lies in it."
    by_chance = "Open hexagons count by their chance."
    assert table.note == f"{share} The interval holds it with 90 % confidence, given the release. {by_chance}"
    few = f"{share} The release has too few draws of its field for intervals: that takes 10. {by_chance}"
    assert BoroughTable(ROWS, 0, False).note == few
    assert BoroughTable(ROWS, 1_234, False).note == (
        f"{few} 1,234 more areas: python -m hexcursion areas says them all."
    )
