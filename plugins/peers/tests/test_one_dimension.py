"""Peers on a line: what the papers' examples show, and what the stored figures claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpgp_core.noise import SimulationEntropy
from hexcursion.errors import WorkflowError
from hexcursion_peers.studies import one_dimension
from hexcursion_peers.studies.one_dimension import (
    Heights,
    OneDimensionSettings,
    binned,
    cloaked,
    coverage,
    selected,
)
from plugins.peers.tests.heights import made_up


@pytest.mark.parametrize(
    ("noise", "epsilon", "bare", "shrunken"), [(0.1, 1.0, 0.234, 0.340), (0.5, 10.0, 0.837, 0.839)]
)
def test_the_noisy_function_is_covered_as_in_the_second_figure(
    noise: float, epsilon: float, bare: float, shrunken: float
) -> None:
    """Against an independent run of 40 fields: .234 and .340 at little noise, .837 and .839 at much."""
    found = {name: float(rows[0].mean()) for name, rows in coverage(noise, epsilon, 4, 7).items()}
    assert found["no noise in the variances"] == pytest.approx(bare, abs=0.08)
    assert found["shrunken"] == pytest.approx(shrunken, abs=0.08)
    assert found["shrunken"] >= found["no noise in the variances"]
    assert 0.85 < found["errors in variables"] < 0.99  # of intervals of 90 %


def test_the_heights_of_a_made_up_people(tmp_path: Path) -> None:
    heights = Heights.read(made_up(tmp_path))
    assert heights.age.size == 300
    entropy = SimulationEntropy(2)
    sharp = cloaked(heights, 25.0, 1e3, 3, entropy)
    assert float(np.mean(sharp)) < 5.0
    assert float(np.mean(cloaked(heights, 25.0, 0.2, 3, entropy))) > 2.0 * float(np.mean(sharp))
    bins = [binned(heights, 9, 0.3, "bins", entropy) for _ in range(30)]
    process = [binned(heights, 9, 0.3, "process on bins", entropy) for _ in range(30)]
    assert np.mean(process) < np.mean(bins)
    with pytest.raises(WorkflowError, match="is not there"):
        Heights.read(tmp_path / "nobody.csv")


def test_a_smaller_budget_chooses_a_longer_range(tmp_path: Path) -> None:
    """Smith et al. 2018, figure 4: the noise of the release is counted, and smooth candidates need less."""
    heights = Heights.read(made_up(tmp_path))
    lengths = [selected(heights, 5.0, epsilon, 6, SimulationEntropy(3))[1] for epsilon in (0.1, 5.0)]
    assert lengths[0] > lengths[1]


def test_heights_of_the_kung_women_follow_the_published_order(shared_data: Path) -> None:
    """At epsilon 1: bins, the process on bins and cloaking, and cloaking with its range chosen privately."""
    heights = Heights.read(shared_data / "other" / "Howell1.csv")
    entropy = SimulationEntropy(7)
    cloak = float(np.mean(cloaked(heights, 21.7, 1.0, 10, entropy)))
    assert cloak == pytest.approx(8.9, abs=0.6)  # the paper's 12.2 has the classical constants
    chosen, length = selected(heights, 1.0, 1.0, 10, entropy)
    assert cloak - 0.6 < float(np.mean(chosen)) < 17.4
    assert 10.0 < length < 60.0
    for bins in one_dimension.BINS:
        plain, process = (
            float(np.mean([binned(heights, bins, 1.0, reading, entropy) for _ in range(20)]))
            for reading in ("bins", "process on bins")
        )
        assert process < plain


def test_a_quick_run_has_the_generated_example_only() -> None:
    small = OneDimensionSettings(repeats=2, epsilons=(3.0,), noises=(0.3,), preset="quick")
    told: list[float] = []
    found = one_dimension.run(small, lambda share, text: told.append(share))
    assert [table.name for table in found.tables] == ["line"]
    assert found.table("line").column("reading") == (
        "no noise in the variances",
        "shrunken",
        "errors in variables",
    )
    assert told[-1] == 1.0
