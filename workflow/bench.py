"""The bench: what any design, searched or typed in, costs and achieves on the reference data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.guarantee import guarantee
from dpgp_core.mechanisms import free_paths
from workflow.evaluation import SEED, Evaluator, Utility
from workflow.pricing import priced
from workflow.project import Project
from workflow.released import ResponseScale
from workflow.scored import Scored, SearchResult, SearchTask
from workflow.statistics_search import PATHS, simulated_statistics, statistics_utility
from workflow.tuning import private_n, search_task


class Bench:
    """Judges designs as the search of `result` judged its own: same reference data, baseline and draws.

    Everything but the price is of the reference data; the price uses the public number of records.
    """

    def __init__(self, project: Project, result: SearchResult) -> None:
        self.project, self.result = project, result
        self._tasks: dict[int, SearchTask] = {}

    def judge(self, response: ResponseScale, paths: int | None = None) -> Evaluator:
        """The judge of a response scale whose simulated releases have this many paths (None: the settings').

        `ValueError` for a response scale that the search did not try.
        """
        settings = self.project.settings
        count = settings.paths if paths is None else paths
        if count not in self._tasks:
            project = replace(self.project, settings=settings.with_changes(paths=count))
            self._tasks[count] = search_task(project, None, self.result.unconstrained)
        judges = [judge for judge in self._tasks[count].judges if judge.response == response]
        if not judges:
            raise ValueError("the response scale is none of the search's own.")
        judges[0].baseline = self.result.baseline
        return judges[0]

    def price(self, design: Design, response: ResponseScale) -> tuple[Design, float]:
        """The design under the proved bound that prices it lowest, and its epsilon (upper bound, maybe inf).

        A pilot that stands in for reference data is inside the epsilon.
        """
        settings, n = self.project.settings, private_n(self.project)
        facts = self.judge(response).prior(design.prior, design.lengthscale)
        best, epsilon = design, math.nan
        if design.mechanism != NOISY_CELL_STATISTICS:
            best, epsilon = priced(design, n, facts, settings.delta, settings.bound)
        proved = guarantee(best, n, facts)
        if self.project.pilot is not None:
            return best, (proved.curve + self.project.pilot.curve).epsilon(settings.delta).epsilon
        if design.mechanism == NOISY_CELL_STATISTICS:
            epsilon = proved.epsilon(settings.delta).epsilon
        return best, epsilon

    def score(self, design: Design, response: ResponseScale) -> Scored:
        """Price and utility of a design; smoothing rounds must be among `candidates.SMOOTHINGS`.

        Raises `ValueError` where the prior does not exist for the design's lengthscale.
        """
        best, epsilon = self.price(design, response)
        if design.mechanism == NOISY_CELL_STATISTICS:
            judge = self.judge(response)
            draws = simulated_statistics(judge, design.statistic_noise)
            prior = judge.prior(design.prior, design.lengthscale)
            utility = statistics_utility(judge, prior, design, draws, with_bce=True)
            if design.paths < PATHS:
                agreement, spread = self.agreement(design, response, judge)
                utility = replace(utility, agreement=agreement, agreement_sd=spread)
            return Scored(best, response, epsilon, utility)
        judge = self.judge(response, design.paths)
        agreement, spread = self.agreement(design, response, judge)
        mean, sd = judge.holdout_moments(design.prior, design.lengthscale, design.ridge)
        loss = judge.holdout_bce(mean, np.hypot(design.scale * sd, design.noise_scale))
        dimension = judge.effective_dimension(design.prior, design.lengthscale, design.ridge)
        return Scored(best, response, epsilon, Utility(agreement, spread, math.nan, loss, dimension))

    def agreement(self, design: Design, response: ResponseScale, judge: Evaluator) -> tuple[float, float]:
        """Mean and spread of the IoU with the baseline over simulated releases of `design.paths` paths.

        The judge's own draws are grouped by `design.paths`, of which there must be at least one group.
        """
        prior = judge.prior(design.prior, design.lengthscale)
        if design.mechanism == NOISY_CELL_STATISTICS:
            entropy, sets = SimulationEntropy(SEED + 3), []
            for draw in simulated_statistics(judge, design.statistic_noise):
                paths = free_paths(design, prior, draw, design.paths, entropy)
                sets.append(judge.inside(paths).mean(axis=0) >= design.cutoff)
            return judge.agreement(np.array(sets))
        simulated = judge.simulated_sets(design.prior, design.lengthscale, design.ridge)
        sets_of = simulated.at(design.scale, design.noise_scale, design.smoothing, design.paths)
        return judge.agreement(sets_of)
