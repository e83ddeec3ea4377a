"""How much reference data may share with the private ones, and how far a domain is padded."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import Observations
from geo import domain_from_bbox, domain_from_cells, geometry_dict
from hexcursion.errors import WorkflowError
from hexcursion.project.copies import refuse_overlap
from hexcursion.project.load import build_lattice


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
