"""What a session has found, the design that is to be released, and a release that it explores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hexcursion.bundle.published.view import Viewer
from hexcursion.project.atlas import AtlasProject
from hexcursion.project.baseline import Baseline
from hexcursion.project.model import Project
from hexcursion.releasing.atlas import poor_layers
from hexcursion.releasing.release_guard import objections
from hexcursion.search.atlas import AtlasChoice
from hexcursion.search.choice import Choice
from hexcursion.search.task import Scored
from hexcursion.search.tuning import Tuned
from hexcursion.settings.atlas import Settings


@dataclass(frozen=True)
class SearchOutcome:
    """A finished search: the loaded project, the tuned designs, and the design to release; `scored`
    says what that costs and achieves, None for the search's own. Of an atlas all but `atlas` is of its first
    column."""

    project: Project
    tuned: Tuned
    choice: Choice
    scored: Scored | None = None
    atlas: tuple[AtlasProject, AtlasChoice] | None = None

    @property
    def settings(self) -> Settings:
        """The question of the search."""
        return self.project.settings if self.atlas is None else self.atlas[0].settings

    @property
    def each(self) -> tuple[tuple[Project, Tuned], ...]:
        """The project of every map, and the simulated worlds behind it."""
        if self.atlas is None:
            return ((self.project, self.tuned),)
        return tuple(zip(self.atlas[0].layers, self.atlas[1].tuned, strict=True))

    @property
    def search(self) -> Choice:
        """The same object for all that is computed about this search, also after its curve has grown."""
        return self.tuned.choice

    @property
    def few(self) -> str:
        """`Choice.few` of the design to release."""
        return self.choice.few

    @property
    def poor(self) -> dict[str, str]:
        """Of an atlas why maps are not expected to be worth releasing, by their columns."""
        return {} if self.atlas is None else poor_layers(self.atlas[0], self.atlas[1].layers)

    def restated(self, **changes: Any) -> SearchOutcome:
        """The same with other words or answers in its settings; the design stays."""
        project = replace(self.project, settings=self.project.settings.with_changes(**changes))
        if self.atlas is None:
            return replace(self, project=project)
        return replace(self, project=project, atlas=(self.atlas[0].restated(**changes), self.atlas[1]))

    @property
    def against(self) -> tuple[str, ...]:
        """Why its map is not expected to be worth releasing, a clause each; see `objections`."""
        if self.atlas is not None:
            return tuple(f"{name}: {why}" for name, why in self.poor.items())
        choice, threshold = self.choice, self.project.settings.threshold
        return objections(choice.expected, choice.yardsticks, choice.level(threshold))


@dataclass(frozen=True)
class Explored:
    """A release being explored; the baseline and today's practice, by its rule, are the curator's only; so
    are the baselines of the other columns of an atlas."""

    viewer: Viewer
    baseline: Baseline
    others: tuple[Baseline, ...] = field(default=(), compare=False, repr=False)
    practice: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)
