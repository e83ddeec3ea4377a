"""Votes of several paths on a line, and a process on the means of bins: parts of two studies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpgp_core.noise import SimulationEntropy
from plugins.peers.studies import bicycles
from studies.excursions.line_worlds import Acceptance, LineWorlds
from studies.excursions.selection import Chosen
from studies.prices import line_votes


def test_a_lower_cutoff_holds_the_set_of_a_higher_one() -> None:
    worlds = LineWorlds.draw(2, 30, 60, SimulationEntropy(1), Acceptance())
    counted = line_votes.votes(worlds, 0.1, Chosen(0.2, 1.0, 0.2, 0.0), 3, SimulationEntropy(2))
    assert counted.shape == (2, line_votes.REPEATS, 60)
    assert set(np.unique(counted)) == {0, 1, 2, 3}
    assert np.array_equal(
        line_votes.agreement(worlds, np.where(worlds.truth, 2, 0)[:, None, :], 2), np.ones(2)
    )
    assert (line_votes.agreement(worlds, counted, 2) > 0.5).all()


def test_one_trip_in_each_bin_is_a_plain_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without privacy, and with one trip in each bin, the averages are the trips."""
    rng = np.random.default_rng(4)
    places, seconds = rng.uniform(0.0, 0.1, (12, 4)), rng.uniform(100.0, 900.0, 12)
    monkeypatch.setattr(bicycles, "bin_of", lambda at, side: np.arange(len(at)))
    asked = rng.uniform(0.0, 0.1, (3, 4))
    said = bicycles.process((places, seconds), asked, 3, rng)
    among, across = (
        500.0**2 * np.exp(-0.5 * np.square(cdist(one, places) / 0.03)) for one in (places, asked)
    )
    plain = 500.0 + across @ np.linalg.solve(among + 300.0**2 * np.eye(12), seconds - 500.0)
    assert np.allclose(said[0], plain, rtol=1e-9)
    far = np.abs(said[3] - said[0]).max()
    assert far > 0.0, "the smallest epsilon has noise"
