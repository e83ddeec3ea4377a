"""What a search tells of its progress never goes back and never passes the end."""

from __future__ import annotations

import pytest

from workflow.search.optimisation.optimise import _stage_part


@pytest.mark.parametrize(
    ("stages", "told"),
    [(1, [0.75, 0.875, 1.0]), (2, [0.75, 0.8125, 0.875, 0.875, 0.9375, 1.0])],
)
def test_the_local_stages_share_the_last_quarter(stages: int, told: list[float]) -> None:
    found: list[float] = []
    for stage in range(stages):
        part = _stage_part(lambda fraction, _: found.append(fraction), stage, stages)
        for fraction in (0.0, 0.5, 1.0):
            part(fraction, "")
    assert found == pytest.approx(told)
