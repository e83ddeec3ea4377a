"""Randomness: the right law to the tails, never repeatable for a release, and made in one module only."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import kstwo

from dpgp_core.noise import Entropy, SimulationEntropy, SystemEntropy

FAILURE = 1e-9
"""Probability with which each random test below fails although the code is right."""


@pytest.mark.parametrize("source", [SystemEntropy(), SimulationEntropy(7)], ids=["system", "simulation"])
def test_numbers_follow_their_law(source: Entropy) -> None:
    """Kolmogorov-Smirnov distance to the CDF, at the exact quantile of its law."""
    size = 200_000
    band = kstwo.isf(FAILURE / 2, size)
    grid = np.arange(1, size + 1) / size
    for values in (np.sort(ndtr(source.normal(size))), np.sort(source.uniform((size,)))):
        assert max(np.max(grid - values), np.max(values - grid + 1 / size)) < band


@pytest.mark.parametrize("source", [SystemEntropy(), SimulationEntropy(7)], ids=["system", "simulation"])
def test_neighbouring_numbers_are_uncorrelated(source: Entropy) -> None:
    """The lag-one sum of m products has standard deviation sqrt(m), and nearly a normal's tail."""
    values = source.normal((200_001,))
    assert abs(values[1:] @ values[:-1]) / np.sqrt(200_000) < 1.1 * ndtri(1 - FAILURE / 2)


def test_shapes() -> None:
    for source in (SystemEntropy(), SimulationEntropy(1)):
        assert source.normal((3, 5)).shape == source.uniform((3, 5)).shape == (3, 5)
        assert source.normal(4).shape == (4,)
        assert source.normal((0, 3)).shape == (0, 3)


def words(monkeypatch: pytest.MonkeyPatch, *values: int) -> None:
    data = np.array(values, dtype=np.uint64).tobytes()
    monkeypatch.setattr(os, "urandom", lambda size: data[:size])


def test_extreme_words_give_finite_symmetric_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    words(monkeypatch, 0, 1 << 63, (1 << 63) - 1, (1 << 64) - 1)
    low, high, near, far = SystemEntropy().normal(4)
    assert high == -low == pytest.approx(9.16, abs=0.1)
    assert low == ndtri(2.0**-65)
    assert near == far == 0.0
    uniform = SystemEntropy().uniform(4)
    assert uniform.min() == 2.0**-53
    assert uniform.max() == 1 - 2.0**-53


def test_a_word_is_mapped_by_the_inverse_normal_cdf(monkeypatch: pytest.MonkeyPatch) -> None:
    words(monkeypatch, 1 << 62, (1 << 63) | (1 << 61))
    assert SystemEntropy().normal(2) == pytest.approx([ndtri(0.25), -ndtri(0.125)], rel=1e-15)


def test_system_entropy_never_repeats_and_simulations_always_do() -> None:
    assert not np.array_equal(SystemEntropy().normal(4), SystemEntropy().normal(4))
    np.testing.assert_array_equal(SimulationEntropy(5).normal(4), SimulationEntropy(5).normal(4))
    assert not np.array_equal(SimulationEntropy(5).normal(4), SimulationEntropy(6).normal(4))


def test_system_entropy_keeps_nothing_that_could_leak() -> None:
    source = SystemEntropy()
    assert not hasattr(source, "__dict__")
    with pytest.raises(AttributeError):
        source.seed = 1  # type: ignore[attr-defined]


def test_no_other_module_of_the_core_makes_randomness(root: Path) -> None:
    makers = {"random", "urandom", "secrets", "default_rng", "RandomState", "rvs", "uuid4", "SystemRandom"}
    for path in sorted((root / "dpgp_core").glob("**/*.py")):
        if path.name == "noise.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: set[str] = set()
            if isinstance(node, ast.Attribute):
                names = {node.attr}
            elif isinstance(node, ast.Name):
                names = {node.id} - {"secrets"}  # the module is found by its import; the word has other uses
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = {part for alias in node.names for part in alias.name.split(".")}
                names |= set((getattr(node, "module", None) or "").split("."))
            assert not names & makers, f"{path.name} line {node.lineno} makes randomness of its own"
