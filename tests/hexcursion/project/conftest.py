"""The area of the project's tests, and its lattice."""

from __future__ import annotations

import pytest

from dpgp_core.priors.lattice import Lattice
from geo import Domain, domain_from_bbox
from hexcursion.project.load import build_lattice

BOX = (-0.12, 51.49, -0.05, 51.53)


@pytest.fixture(scope="session")
def domain() -> Domain:
    """32 hexagons."""
    return domain_from_bbox(*BOX, 8)


@pytest.fixture(scope="session")
def lattice(domain: Domain) -> Lattice:
    return build_lattice(domain)
