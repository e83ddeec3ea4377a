"""Spectral statistics in the search: proposed with a reason, focused, with public counts, both relations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.noise import SimulationEntropy
from hexcursion.project.load import load_project
from hexcursion.record import Yardsticks
from hexcursion.search.judging import SEED, agreement_in, shown_releases
from hexcursion.search.scenes import private_n, public_facts
from hexcursion.search.tuning import FOCUSED_FACTORS, Tuned, search_task, tune
from hexcursion.words import ratio_words, records_words
from tests.town import Town, write_town

SPECTRAL = ("spectral-statistics",)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return write_town(tmp_path_factory.mktemp("town"), n=1500)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))


def tuned(town: Town, **changes: object) -> Tuned:
    return tune(load_project(town.settings(**{"mechanisms": SPECTRAL, "epsilon": 1.0, **changes})))


@pytest.mark.slow
def test_it_wins_against_posterior_sampling_and_says_so(town: Town) -> None:
    found = tuned(town, mechanisms=("posterior-sampling", *SPECTRAL))
    assert isinstance(found.choice.design, SpectralStatisticsDesign)
    assert found.choice.design.common == 0.0  # the reference data say what the mean is
    assert found.result.chosen.epsilon == 1.0
    spectral, posterior = (
        max(
            (
                point.scored.utility
                for point in found.result.frontier
                if point.epsilon == 1.0 and point.scored.design.mechanism == name
            ),
            key=lambda utility: utility.agreement,
        )
        for name in ("spectral-statistics", "posterior-sampling")
    )  # the best of each by what the search ranks by
    assert spectral.agreement > posterior.agreement + 0.1
    said = found.remarks()[0]
    assert said.startswith("Proposed: Spectral statistics with a clip bound of ")
    assert f": on the reference data it shows {records_words(spectral.records)} on their right side" in said
    assert (
        f"; Posterior sampling shows {records_words(posterior.records)} on their right side at its best"
        in said
    )


def test_what_is_chosen_at_the_end_of_the_grid_is_said(town: Town) -> None:
    found = tuned(town)
    words = {parameter.name for parameter in found.result.chosen.design.__dataclass_fields__.values()}
    clips = {point.scored.response.clip for point in found.result.frontier}
    for what, end in found.result.on_edge:
        assert end in ("smallest", "largest")
        assert what == "clip bound" or what.replace(" ", "_") in words
        assert any(f"{what} ({end})" in remark for remark in found.remarks())
    assert clips


def test_a_focus_centres_the_response_at_the_threshold_with_narrow_clips(town: Town) -> None:
    project = load_project(town.settings(mechanisms=SPECTRAL, focus="threshold", quick=False))
    task = search_task(project)
    assert task.scenes[0].response == project.response
    focused = [scene.response for scene in task.scenes[1:]]
    assert [scale.centre for scale in focused] == pytest.approx([30.0] * 5, abs=1e-4)
    clips = [factor * project.response.clip for factor in FOCUSED_FACTORS]
    assert [scale.clip for scale in focused] == pytest.approx(clips, abs=1e-4)
    assert [scene.world.level for scene in task.scenes[1:]] == pytest.approx([0.0] * 5, abs=1e-5)


def test_a_quick_focus_tries_three_clips_and_a_public_field_says_its_own(town: Town) -> None:
    quick = load_project(town.settings(mechanisms=SPECTRAL, focus="threshold", quick=True))
    assert len(search_task(quick).scenes) == 4
    public = load_project(town.settings(mechanisms=SPECTRAL, prior_mean=True, quick=False))
    task = search_task(public)
    (scene,) = task.scenes
    assert task.facts.field is not None
    assert task.facts.field.bound == pytest.approx(1.0, rel=1e-3), (
        "in units of the clip bound, up to four digits"
    )
    assert 0.1 < scene.response.clip / public.response.clip < 1.2
    low, high = (f"{public.response.value(end):.4g} ug/m3" for end in (-1.0, 1.0))
    assert f"values are cut to between {low} and {high} before" in scene.response.origin
    shown = task.facts.field.map
    assert shown is not None
    assert shown.clip > 8.0, "what that map cuts is cut already"
    given = load_project(town.settings(mechanisms=SPECTRAL, prior_mean=True, clip=9.0))
    assert search_task(given).scenes[0].response.clip == 9.0


def test_published_counts_are_used_unless_refused_or_kept_back(town: Town) -> None:
    project = load_project(town.settings(mechanisms=SPECTRAL))
    counts = public_facts(project).counts
    assert counts is not None
    assert int(counts.sum()) == project.reference.index.size
    assert public_facts(load_project(town.settings(mechanisms=SPECTRAL, public_counts=False))).counts is None
    assert (
        public_facts(load_project(town.settings(mechanisms=SPECTRAL, reference_public=False))).counts is None
    )
    cells = public_facts(load_project(town.settings(mechanisms=SPECTRAL, unit="cell"))).counts
    assert cells is not None
    assert float(cells.max()) == 1.0
    assert int(cells.sum()) == np.unique(project.reference.index).size


def test_under_add_or_remove_nobody_learns_the_number_of_records(town: Town) -> None:
    hidden = {"mechanisms": SPECTRAL, "relation": "add-or-remove", "records_about": 1400}
    assert private_n(load_project(town.settings(**hidden))) == 1400
    lonely = load_project(
        town.settings(**hidden, reference=None, reference_public=False, centre=28.0, clip=15.0)
    )
    assert private_n(lonely) == lonely.reference.index.size == 1400
    found = tuned(town, **hidden)
    assert found.result.chosen.utility.agreement > 0.7


def test_cell_records_and_residuals_of_a_public_map_are_served(town: Town) -> None:
    cell = tuned(town, unit="cell")
    assert isinstance(cell.choice.design, SpectralStatisticsDesign)
    residual = tuned(town, prior_mean=True)
    assert isinstance(residual.choice.design, SpectralStatisticsDesign)
    assert residual.choice.public_map is not None
    assert residual.result.chosen.utility.agreement > 0.8


def test_without_reference_data_one_fixed_design_is_judged_in_nine_worlds_and_their_images(
    town: Town,
) -> None:
    lonely = {"reference": None, "reference_public": False, "centre": 28.0, "clip": 15.0, "resolution": 7}
    project = load_project(town.settings(mechanisms=SPECTRAL, quick=False, **lonely))
    task = search_task(project)
    scene = task.scenes[0]
    assert len(scene.others) == 17
    shares = [float(world.baseline.mean()) for world in scene.others if world.baseline is not None]
    assert len(set(shares)) >= 3
    assert scene.world.baseline is not None
    assert (scene.world.middle, scene.world.spread) == (0.0, 0.5)
    assert not scene.world.mean_known
    tuned = tune(project, frontier=())
    design = tuned.choice.design
    assert design == SpectralStatisticsDesign(
        "water-filled", "exponential", 8.0 * project.lattice.spacing, 0.5, 0.0, 0.5, 1.0, 1.28,
        task.budget.mu, 0.3, "release", paths=100,
    )  # fmt: skip
    worlds = (scene.world, *scene.others)
    each = [replace(scene, world=world, others=()).agreement(design).iou for world in worlds]
    assert scene.agreement(design).iou == pytest.approx(np.nanmean(each))
    result = tuned.result
    assert (result.fixed, result.evaluated, result.on_edge, result.cutoffs) == (True, 1, (), ())
    held = 1342178 / 2**20  # the least whole number of 2^-20 that is not below 1.28
    plain = PosteriorSamplingDesign("car", 8.0 * project.lattice.spacing, held, 0.5)
    assert replace(result.model, bound=plain.bound) == plain
    seen = [world.agreement(questions.simulate(design, world)) for world in worlds]
    mixed = [
        world.agreement(questions.simulate(design, control)).iou
        for world, control in zip(worlds, scene.controls, strict=True)
    ]
    gain = float(np.nanmean(np.array([one.iou for one in seen]) - mixed))  # NaN where a map has one side
    assert result.chosen.utility.gain == pytest.approx(gain)
    assert gain > 0.05, "1,400 records show where their values lie"
    assert tuned.choice.yardsticks is not None
    assert replace(tuned.choice.yardsticks, colour_records=None, mixed_records=None) == Yardsticks(
        result.one_colour, None, pytest.approx(gain)
    )
    assert tuned.remarks()[0].startswith("Of 100 records tried ")
    own, control = scene.world.records, scene.controls[0].records
    assert np.array_equal(own.count, control.count)
    assert own.mean @ own.count == pytest.approx(control.mean @ control.count)
    assert np.abs(own.mean - control.mean).max() > 0.1
    where = [
        agreement_in(drawn.judged, drawn.side, world.baseline).iou
        for world in worlds
        for drawn in shown_releases(world, design, SimulationEntropy(SEED), 1)
    ]
    judged = np.array([iou for iou in where if np.isfinite(iou)])
    mean, k = judged.mean(), judged.size
    spread = judged.std(ddof=1) * np.sqrt(1.0 + 1.0 / k)
    expected = tuned.choice.expected
    assert expected is not None
    assert expected.agreement == pytest.approx(mean)
    assert abs(mean - np.nanmean([one.iou for one in seen])) > 0.005, "over all hexagons it is another"
    assert f"in judged hexagons, is {ratio_words(mean)} on average" in tuned.remarks()[1]
    ends = mean + spread * student.ppf([0.1, 0.9], k - 1)
    assert (expected.low, expected.high) == pytest.approx(tuple(np.clip(ends, 0.0, 1.0)))
    assert result.further == tuple(shares), "and so is the map of one colour beside it"
    told = [share for share in (float(scene.world.baseline.mean()), *shares) if 0.0 < share < 1.0]
    assert result.one_colour == pytest.approx(sum(told) / len(told))
    assert not load_project(town.settings(**lonely)).settings.reference
    assert search_task(load_project(town.settings(mechanisms=SPECTRAL, **lonely))).scenes[0].others[2:] == ()
