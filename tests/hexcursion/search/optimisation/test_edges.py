"""What of a chosen design lies at the end of what was tried: named with its end, and nothing else is."""

from __future__ import annotations

import pytest

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.project.response import ResponseScale
from hexcursion.search.optimise import _on_edge
from hexcursion.search.task import Scored, Utility


def scored(clip: float, lengthscale: float, ridge: float) -> Scored:
    return Scored(
        PosteriorSamplingDesign("car", lengthscale, ridge, 1.0),
        ResponseScale("identity", 30.0, clip, "literal"),
        1.0,
        Utility(0.5, 0.1),
    )


# Two clip bounds, three lengthscales, one ridge and one scale were tried.
TRIED = [scored(clip, lengthscale, 2.0) for clip in (10.0, 20.0) for lengthscale in (100.0, 200.0, 400.0)]


@pytest.mark.parametrize(
    ("clip", "lengthscale", "said"),
    [
        (10.0, 100.0, (("clip bound", "smallest"), ("lengthscale", "smallest"))),
        (20.0, 400.0, (("clip bound", "largest"), ("lengthscale", "largest"))),
        (20.0, 200.0, (("clip bound", "largest"),)),
    ],
)
def test_what_was_tried_at_two_values_or_more_has_two_ends(
    clip: float, lengthscale: float, said: tuple[tuple[str, str], ...]
) -> None:
    """The only ridge and the only scale are at no end: nothing else was tried."""
    found = _on_edge(scored(clip, lengthscale, 2.0), TRIED, lambda design: design)
    assert found == said
