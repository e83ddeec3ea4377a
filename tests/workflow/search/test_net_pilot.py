"""A design keeps its share of prior noise when its noise is solved anew beside a pilot."""

from __future__ import annotations

from dataclasses import replace

import pytest

import workflow.search.tuning as tuning_module
from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.mechanisms.posterior_sampling import path_guarantee
from dpgp_core.priors.registry import make_prior
from workflow.project.load import Pilot, Project
from workflow.search.beside_pilot import with_pilot
from workflow.search.facts import private_n
from workflow.search.tuning import Tuned, tune

PILOT = Pilot(Cost.gaussian(0.2), 0.85, "1:x")


@pytest.mark.parametrize(("noise_in_scales", "share"), [(0.0, 0.0), (0.75, 0.36), (1.0, 0.5)])
def test_the_prior_noise_keeps_its_share_beside_a_pilot(
    hamlet: Project,
    hamlet_tuned: Tuned,
    monkeypatch: pytest.MonkeyPatch,
    noise_in_scales: float,
    share: float,
) -> None:
    """The search's answer has prior noise of 0, 3/4 or 1 times its scale; so has the release's design."""
    chosen = hamlet_tuned.result.chosen
    noisy = replace(chosen.design, noise_scale=noise_in_scales * chosen.design.scale)
    result = replace(hamlet_tuned.result, chosen=replace(chosen, design=noisy))
    monkeypatch.setattr(tuning_module, "search", lambda task, report, executor: result)
    design = tune(replace(hamlet, pilot=PILOT)).choice.design
    variance = design.scale**2 + design.noise_scale**2
    assert design.noise_scale**2 / variance == pytest.approx(share, abs=1e-9)
    prior = make_prior(design.prior, hamlet.lattice, design.lengthscale)
    own = path_guarantee(design, private_n(hamlet), prior)
    assert 1.999 < epsilon(with_pilot(own.cost, PILOT), 1e-5).epsilon <= 2.0
    assert own.epsilon(1e-5).epsilon < 1.9, "the pilot has a part of the budget"
