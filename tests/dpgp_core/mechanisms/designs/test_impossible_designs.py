"""What mechanisms offer a search, in literal numbers, and which designs do not exist."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.paths import PathReader, PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.releasing import PublicFacts
from tests.dpgp_core.hexmap import disk
from tests.dpgp_core.mechanisms.beside import rows, table

LATTICE = disk(3, padding=1)
PUBLIC = PublicFacts(LATTICE, 150, places_public=True)
PRIVATE = PublicFacts(LATTICE, 150)
ASK = SearchSpec(("car",), paths=3)
LABELS = ("bin-means", *table("LABELS"))


@pytest.mark.parametrize("name", LABELS)
def test_a_given_model_of_public_places_has_the_middle_scale_and_private_places_have_none(name: str) -> None:
    mechanism = MECHANISMS[name]
    assert mechanism.search.given(PRIVATE, ASK, 1500.0, 2.0) is None
    design = mechanism.search.given(PUBLIC, ASK, 1500.0, 2.0)
    assert design is not None
    model = (design.prior, design.lengthscale, design.ridge, design.scale)  # type: ignore[attr-defined]
    assert model == ("car", 1500.0, 2.0, 0.6)


@pytest.mark.parametrize(
    ("name", "cutoffs"),
    [
        ("bin-means", (0.5, 0.45, 0.4, 0.35)),
        *rows("CUTOFFS"),
    ],
)
def test_the_cutoffs_that_cost_nothing_and_are_all_tried(name: str, cutoffs: tuple[float, ...]) -> None:
    mechanism = MECHANISMS[name]
    design = mechanism.search.given(PUBLIC, ASK, 1500.0, 2.0)
    assert design is not None
    tried = dict.fromkeys(each.cutoff for each in mechanism.search.variants(design, ASK))
    assert tuple(tried) == cutoffs


def test_the_cutoffs_of_spectral_statistics() -> None:
    design = SpectralStatisticsDesign("water-filled", "car", 900.0, 0.5, 0.1, 0.6, 1.0, 1.2, 1.0)
    variants = MECHANISMS["spectral-statistics"].search.variants(design, ASK)
    assert tuple(each.cutoff for each in variants) == (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)


def test_a_fifth_of_the_fields_variance_is_common_to_all_cells() -> None:
    """Beside the constant stand the patterns and what they leave out, with the other four fifths."""
    basis = PathReader(PosteriorSamplingDesign("car", 1500.0, 3.0, 0.3), PRIVATE)._basis(1.0)
    rows = np.asarray(basis.rows)
    assert rows[:, -1] ** 2 == pytest.approx(np.full(LATTICE.size, 0.2))
    variance = (rows[:, :-1] ** 2).sum(axis=1) + basis.rest
    assert variance == pytest.approx(np.full(LATTICE.size, 0.8), abs=0.02)
