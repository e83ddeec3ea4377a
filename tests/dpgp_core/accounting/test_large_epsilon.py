"""Epsilons so large that exactly rounded noise cannot prove them: the noise of the largest provable one."""

from __future__ import annotations

import math

import pytest

from dpgp_core import MECHANISMS, Budget, PublicFacts
from dpgp_core.accounting.gaussian import allowed_mu, gaussian_mu, provable_epsilon
from dpgp_core.mechanisms.design import SearchSpec
from tests.dpgp_core.hexmap import disk


def test_the_largest_provable_epsilon_is_108_bits_and_delta() -> None:
    # 150 bits of distance, less 42 of room: 108 ln 2 - 5 ln 10 = 74.859895 - 11.512925.
    assert provable_epsilon(100.0, 1e-5) == pytest.approx(63.346970, abs=1e-6)
    assert provable_epsilon(63.3, 1e-5) == 63.3
    assert provable_epsilon(100.0, 1e-40) == 100.0  # nothing is proved there, whatever is aimed at
    assert allowed_mu(1e300, 1e-5) == allowed_mu(100.0, 1e-5) < gaussian_mu(64.0, 1e-5)
    assert allowed_mu(1.0, 1e-5) == gaussian_mu(1.0, 1e-5) * (1.0 - 2.0**-40)


@pytest.mark.parametrize("name", ["noisy-cell-statistics", "spectral-statistics"])
@pytest.mark.parametrize("epsilon", [70.0, 100.0, 1e6, 1e300])
def test_a_mechanism_with_rounded_noise_meets_every_large_epsilon(name: str, epsilon: float) -> None:
    mechanism, facts = MECHANISMS[name], PublicFacts(disk(2), n=2000)
    for design in mechanism.search.grid(facts, SearchSpec(("car",)))[:2]:
        found = mechanism.calibrate(design, facts, Budget(epsilon, 1e-5))
        assert found is not None
        proved = mechanism.guarantee(found, facts).epsilon(1e-5).epsilon
        assert math.isfinite(proved)
        assert proved == pytest.approx(63.346970, abs=1e-3)
