"""Every number of every design that a search is offered, on one small map with 37 hexagons."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.bin_means import BinMeansDesign
from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.grids import coarse_grid, tried
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.releasing import PublicFacts
from tests.dpgp_core.hexmap import disk, line
from tests.dpgp_core.mechanisms.beside import rows, table

LATTICE = disk(3, padding=1)  # 400 m apart, 2,400 m across
HIDDEN = PublicFacts(LATTICE, 150)
PUBLIC = PublicFacts(LATTICE, 150, places_public=True)
ASK = SearchSpec(("car", "exponential"), paths=3)
RANGES = (800.0, 1052.8592103619944, 1385.6406460551027, 1823.6056455, 2400.0)
SPECTRAL = ("water-filled", "exponential")


def numbers(design: Any) -> list[Any]:
    """All fields of a design, its number of paths and its cutoff among them."""
    return list(design.to_mapping().values())


def same(found: Any, expected: list[Any]) -> None:
    """The same designs in the same order, numbers within a millionth of themselves."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        for value, wanted in zip(numbers(one), numbers(other), strict=True):
            assert value == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=1e-6))


def test_ranges_go_from_two_spacings_to_the_domains_extent_and_ridges_to_the_root_of_n() -> None:
    assert coarse_grid(LATTICE, 150).lengthscales == pytest.approx(RANGES)
    assert coarse_grid(LATTICE, 150, quick=True).lengthscales == pytest.approx(RANGES[::2])
    ridges = coarse_grid(LATTICE, 150).ridges
    assert ridges == pytest.approx([0.3 * (9.797958971 / 0.3) ** (k / 10) for k in range(11)])
    few = coarse_grid(LATTICE, 150, quick=True).ridges
    assert few == pytest.approx([0.3 * (9.797958971 / 0.3) ** (k / 6) for k in range(7)])


def test_few_records_still_give_ridges_up_to_4_and_a_small_map_ranges_up_to_twice_the_shortest() -> None:
    """0.8 sqrt(24) is below 4, 0.8 sqrt(26) above; two hexagons are one spacing across."""
    assert coarse_grid(LATTICE, 24).ridges[-1] == pytest.approx(4.0)
    assert coarse_grid(LATTICE, 26).ridges[-1] == pytest.approx(4.0792156)
    ends = coarse_grid(line(2), 24).lengthscales
    assert (ends[0], ends[-1]) == pytest.approx((800.0, 1600.0))


def test_beside_a_thorough_search_one_value_is_tried() -> None:
    assert tried((1.0, 2.0, 3.0), True) == (1.0, 2.0, 3.0)
    assert tried((1.0, 2.0, 3.0), False) == (2.0,)
    assert tried((1.0, 2.0, 3.0), False, 0) == (1.0,)


def test_paths_are_offered_with_every_prior_range_and_ridge() -> None:
    ridges = [0.3 * (9.797958971 / 0.3) ** (k / 10) for k in range(11)]
    same(
        MECHANISMS["posterior-sampling"].search.grid(HIDDEN, ASK),
        [PosteriorSamplingDesign(*each, 1.0, paths=3) for each in product(ASK.priors, RANGES, ridges)],
    )


def test_cell_statistics_are_offered_with_three_deviations_and_three_scatters() -> None:
    model = product(ASK.priors, RANGES, (0.25, 0.5, 1.0), (0.7, 1.5, 3.0))
    same(
        MECHANISMS["noisy-cell-statistics"].search.grid(HIDDEN, ASK),
        [NoisyCellStatisticsDesign(a, b, d, c, 1.0, paths=100) for a, b, c, d in model],
    )


@pytest.mark.parametrize(("cells", "priors"), [(600, {"car", "exponential"}), (601, {"car"})])
def test_beyond_600_cells_only_sparse_priors_are_offered_for_cell_statistics(
    cells: int, priors: set[str]
) -> None:
    facts, mechanism = PublicFacts(line(cells), 150), MECHANISMS["noisy-cell-statistics"]
    assert {each.prior for each in mechanism.search.grid(facts, ASK)} == priors  # type: ignore[attr-defined]
    dense = mechanism.search.grid(facts, SearchSpec(("exponential",)))
    assert {each.prior for each in dense} == {"exponential"}, "where no sparse one is asked for"  # type: ignore[attr-defined]


def test_spectral_statistics_are_offered_with_the_three_shortest_ranges_and_two_scatters() -> None:
    same(
        MECHANISMS["spectral-statistics"].search.grid(HIDDEN, ASK),
        [
            SpectralStatisticsDesign(*SPECTRAL, each, 0.5, 0.0, 1.0, 1.0, ridge, 1.0, paths=100)
            for each, ridge in product(RANGES[:3], (0.8, 2.0))
        ],
    )


def test_bins_are_offered_two_and_four_spacings_wide() -> None:
    same(
        MECHANISMS["bin-means"].search.grid(PUBLIC, ASK),
        [
            BinMeansDesign("car", each, 1.0, scale, width, 1.0, paths=100)
            for each, scale, width in product(RANGES[:2], (0.3, 0.6), (800.0, 1600.0))
        ],
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("posterior-sampling", PosteriorSamplingDesign("car", 900.0, 2.0, 1.0, paths=3)),
        ("noisy-cell-statistics", NoisyCellStatisticsDesign("car", 900.0, 2.0, 0.5, 1.0, paths=100)),
        ("spectral-statistics", None),
        ("bin-means", BinMeansDesign("car", 900.0, 2.0, 0.6, 800.0, 1.0, paths=100)),
        *rows("GIVEN"),
    ],
)
def test_what_a_curator_means_by_a_range_of_900_and_a_ridge_of_2(name: str, expected: Any) -> None:
    """With the first prior that was asked for; None where those two numbers say too little."""
    assert MECHANISMS[name].search.given(PUBLIC, ASK, 900.0, 2.0) == expected


PRICED: dict[str, tuple[Any, dict[str, Any]]] = {
    "posterior-sampling": (
        PosteriorSamplingDesign("car", 900.0, 2.0, 0.3, paths=3, bound="separate"),
        {"scale": 1.0, "bound": "sharp"},
    ),
    "noisy-cell-statistics": (
        NoisyCellStatisticsDesign("car", 900.0, 2.0, 0.5, 7.0),
        {"statistic_noise": 1.0},
    ),
    "spectral-statistics": (
        SpectralStatisticsDesign(*SPECTRAL, 900.0, 0.5, 0.1, 0.6, 1.0, 1.2, 0.3),
        {"mu": 1.0},
    ),
    "bin-means": (BinMeansDesign("car", 900.0, 2.0, 0.6, 800.0, 0.3), {"pure_epsilon": 1.0}),
    **table("PRICED"),
}
TOLD = ("spectral-statistics", *table("TOLD_OF_THE_FIELD"))


@pytest.mark.parametrize("name", sorted(PRICED))
def test_without_its_noise_a_design_is_what_all_that_differ_in_it_alone_have_in_common(name: str) -> None:
    design, blank = PRICED[name]
    found, other = (
        MECHANISMS[name].search.unpriced(each, PUBLIC) for each in (design, replace(design, **blank))
    )
    assert found == other
    assert replace(found, **blank) == replace(design, **blank) != replace(design, cutoff=0.3, **blank)


def test_half_of_prior_noise_stays_half_without_the_noise() -> None:
    """Equal scales; a third of the variance leaves 1 and the root of a half."""
    sampling: Any = MECHANISMS["posterior-sampling"]
    design = PosteriorSamplingDesign("car", 900.0, 2.0, 0.3, 0.3, "separate")
    assert sampling.search.unpriced(design, HIDDEN) == replace(
        design, scale=1.0, noise_scale=1.0, bound="sharp"
    )
    third = sampling.search.unpriced(replace(design, noise_scale=0.3 / 2**0.5), HIDDEN)
    assert (third.scale, third.noise_scale) == pytest.approx((1.0, 2**-0.5), rel=1e-5)


@pytest.mark.parametrize("name", TOLD)
def test_the_place_of_a_design_is_that_of_its_cutoff_at_a_half(name: str) -> None:
    design, blank = PRICED[name]
    moved = replace(design, cutoff=0.3)
    assert MECHANISMS[name].search.place_of(moved, HIDDEN) == replace(design, **blank)


def test_the_local_stage_of_paths_looks_40_per_cent_in_range_and_18_in_ridge() -> None:
    """Each place with no prior noise and with half of it; the place itself first, and none twice."""
    design = PosteriorSamplingDesign("car", 1400.0, 1.18, 0.7, paths=5, cutoff=0.3)
    around = product((1000.0, 1400.0, 1960.0), (1.0, 1.18, 1.3924))
    places = [(1400.0, 1.18), *(each for each in around if each != (1400.0, 1.18))]
    same(
        MECHANISMS["posterior-sampling"].search.refinement([design, design], HIDDEN, ASK),
        [
            PosteriorSamplingDesign("car", *each, 1.0, noise, paths=3)
            for each, noise in product(places, (0.0, 1.0))
        ],
    )


def test_the_local_stage_of_spectral_statistics_goes_up_before_it_goes_down() -> None:
    """By 1.6: ridge, amplitude, one against the other, range, and the signal by its square."""
    design: Any = replace(PRICED["spectral-statistics"][0], ridge=1.0)
    found: Any = MECHANISMS["spectral-statistics"].search.refinement([design], HIDDEN, ASK)
    moves = [(each.lengthscale / 900.0, each.signal / 0.5, each.amplitude, each.ridge) for each in found]
    up, down = 1.6, 0.625
    assert moves == [
        pytest.approx(each)
        for each in [
            (1, 1, 1, up), (1, 1, 1, down), (1, 1, up, 1), (1, 1, down, 1), (1, 1, up, down),
            (1, 1, down, up), (up, 1, 1, 1), (down, 1, 1, 1), (1, up**2, 1, 1), (1, down**2, 1, 1),
        ]
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(PRICED) - {"posterior-sampling", *TOLD}))
def test_no_other_search_looks_around_its_best_designs(name: str) -> None:
    assert MECHANISMS[name].search.refinement([PRICED[name][0]], PUBLIC, ASK) == ()


def test_paths_are_tried_with_four_numbers_of_rounds_of_smoothing() -> None:
    design = PRICED["posterior-sampling"][0]
    found = MECHANISMS["posterior-sampling"].search.variants(design, ASK)
    assert found == tuple(replace(design, smoothing=rounds) for rounds in (0, 2, 6, 15))
    with pytest.raises(DesignError, match=r"\(0, 2, 6, 15\) times, not 3 times"):
        questions.simulate(replace(design, smoothing=3), world())


def world(**changes: Any) -> Any:
    """As little of a world as `fitted` and a refused simulation look at."""
    said = {"middle": 0.12345678, "spread": 0.98765432, "mean_known": True, **changes}
    none = np.zeros((1, LATTICE.size))
    cache = SimpleNamespace(
        keep=lambda *_: {rounds: (none[0], none) for rounds in (0, 2, 6, 15)},
    )
    return SimpleNamespace(key=1, cache=cache, releases=lambda paths: 4, **said)


@pytest.mark.parametrize("name", TOLD)
def test_mean_and_spread_of_a_world_go_into_the_reading_with_six_digits(name: str) -> None:
    design = PRICED[name][0]
    fitted = MECHANISMS[name].search.fitted(design, world())
    assert fitted == replace(design, middle=0.123457, spread=0.987654)


def test_three_tenths_of_the_variance_are_common_where_no_reference_says_what_the_mean_is() -> None:
    design: Any = PRICED["spectral-statistics"][0]
    mechanism: Any = MECHANISMS["spectral-statistics"]
    assert mechanism.search.fitted(design, world(mean_known=False)).common == 0.3
    assert mechanism.search.fitted(replace(design, common=0.7), world()).common == 0.0


def test_designs_of_one_prior_and_range_share_work() -> None:
    for name in sorted(set(PRICED) - set(TOLD)):
        assert MECHANISMS[name].search.group_of(PRICED[name][0]) == ("car", 900.0)
