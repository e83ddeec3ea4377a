"""The bench: what any design, searched or typed in, costs and achieves on the reference data."""

from __future__ import annotations

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.simulation.world import Agreement
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.decision.tuning import search_task
from hexcursion.search.looks.beside_pilot import cost_beside_pilot
from hexcursion.search.optimisation.score import as_shown, utility_of
from hexcursion.search.problem.public_map import answered
from hexcursion.search.problem.task import Scene, Scored, SearchResult


class Bench:
    """Judges designs as the search of `result` judged its own: same reference data, baseline and draws.

    Everything but the price is of the reference data; the price uses the public number of records.
    """

    def __init__(self, project: Project, result: SearchResult) -> None:
        project = answered(project, result)
        self.project, self.result = project, result
        self._task = search_task(project, None, result.unconstrained).aiming_at(result.baseline)

    def scene(self, response: ResponseScale) -> Scene:
        """The world of a response scale.

        Raises
        ------
        WorkflowError
            For one that the search did not try.
        """
        return self._task.scene_of(response)

    def price(self, design: Design) -> tuple[Design, float]:
        """The design under the proved bound that prices it lowest, and its epsilon (upper bound, maybe inf).

        A pilot that stands in for reference data is inside the epsilon.
        """
        delta, bound = self.project.delta, self.project.settings.bound
        best, epsilon = mechanism_of(design).priced(design, self._task.facts, delta, bound)
        if self.project.pilot is not None:
            epsilon = cost_beside_pilot(best, self._task.facts, self.project.pilot, delta)
        return best, epsilon

    def score(self, design: Design, response: ResponseScale) -> Scored:
        """Price and utility of a design, held-out figures included.

        Raises
        ------
        ValueError
            If the prior does not exist for the design's lengthscale.
        """
        best, epsilon = self.price(design)
        scene = self.scene(response)
        return as_shown(scene, Scored(best, response, epsilon, utility_of(scene, design)))

    def agreement(self, design: Design, response: ResponseScale) -> Agreement:
        """How simulated releases of a design compare with the baseline."""
        return self.scene(response).agreement(design)
