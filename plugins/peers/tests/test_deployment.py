"""The process that is trained at release in the study of times: what one record moves, and what is told."""

from __future__ import annotations

import numpy as np

from hexcursion_peers.studies.neural_line import draw, nothing
from plugins.peers.studies.deployment import LAWS, Training, clipped_gradient, trained


def test_no_record_moves_the_gradient_by_more_than_its_clip_bound() -> None:
    """An exchange moves a step by at most twice the bound, and by that much where both are clipped."""
    random, longest = np.random.default_rng(1), 0.0
    for _ in range(200):
        phi, apart, turned = (
            random.standard_normal((5, 4)),
            random.standard_normal(5),
            random.standard_normal((5, 4)),
        )
        other = [each.copy() for each in (phi, apart, turned)]
        for each in other:
            each[0] = -each[0] if random.random() < 0.5 else random.standard_normal(each[0].shape)
        moved = clipped_gradient(phi, apart, turned, 0.5) - clipped_gradient(*other, 0.5)
        longest = max(longest, float(np.linalg.norm(moved)))
    assert 0.9 < longest <= 1.0 + 1e-12


def test_training_tells_of_the_field_and_less_where_mu_is_small() -> None:
    law, random = LAWS["Gaussian kernel"], np.random.default_rng(2)
    seen, held = draw(law, 256, random)
    scores = [
        trained(law, seen, mu, Training(60, 0.1, 3.0), random).nll(held.at, held.said) for mu in (3.0, 0.02)
    ]
    assert scores[0] < 0.3 < nothing(law).nll(held.at, held.said) < scores[1] + 1.0
    assert scores[0] < scores[1] - 0.5
