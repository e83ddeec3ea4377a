"""Safety net: what an attack sees of the sparse process."""

from __future__ import annotations

import numpy as np

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import draw_release
from tests.dpgp_core.mechanisms.net.test_net_simulation import world
from tests.dpgp_core.mechanisms.net.test_net_stated import DESIGNS


def test_an_attack_on_a_sparse_process_sees_its_paths_at_the_cells() -> None:
    mechanism, design, made = MECHANISMS["sparse-gp"], DESIGNS["sparse-gp"], world("sparse-gp")
    prepared, entropy = mechanism.prepare(design, made.facts, made.records), SimulationEntropy(1)
    drawn = [draw_release(prepared, entropy, simulation=True).paths[:, [5, 2]] for _ in range(2)]
    found = questions.seen(design, made.facts, made.records, [5, 2], 2, SimulationEntropy(1))
    np.testing.assert_array_equal(found, drawn)
