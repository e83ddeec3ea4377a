"""The workspace: what one browser session has decided and computed so far; nothing of it is shared."""

from __future__ import annotations

import itertools
import weakref
from dataclasses import dataclass, field, fields, replace
from typing import Any

import streamlit as st

from geo.layers import Domain
from pages.parts.steps import DATA, HEXAGONS, PRIVACY, PUBLISH, RELEASE, Screen
from workflow import words
from workflow.baseline import Baseline
from workflow.desk import Box, Fetched, Finished, Preview, PrivateFolder, is_example
from workflow.errors import WorkflowError
from workflow.jobs import Job
from workflow.project import Project
from workflow.scored import Scored
from workflow.settings import ReleaseSettings
from workflow.tuning import Choice, Tuned
from workflow.viewer import Viewer

KEY = "workspace"
_MARKS = itertools.count()
NEEDS = {HEXAGONS: DATA, PRIVACY: HEXAGONS, RELEASE: PRIVACY, PUBLISH: RELEASE}


@dataclass(frozen=True)
class Found:
    """A finished search: the loaded project, what was found, and the design that is to be released.

    scored  what the chosen design costs and achieves; None for the search's own
    """

    project: Project
    tuned: Tuned
    choice: Choice
    scored: Scored | None = None


@dataclass(frozen=True)
class Explored:
    """A release being explored; the baseline is for the curator's eyes only."""

    viewer: Viewer
    baseline: Baseline


@dataclass
class Workspace:
    """Mutable state of one session, filled from left to right along the main path.

    mark         a number of its own, for the keys of widgets that belong to these data
    choices      settings made so far, under the names of `ReleaseSettings`
    folder, uploads   the session's files, and which of them stands in which upload widget
    private, reference   previews of the two sources, for the curator's eyes
    domain       the public cells, and `asked_domain` what they were made from
    job          a search under way; `found` what the last one found
    release_id   the release drawn from it, once; `explored` is filled when it is first looked at
    budget_text  what the ledger said last about these data
    download     public files on their way
    lost         the page was reloaded and had held data before
    """

    mark: int = field(default_factory=lambda: next(_MARKS))
    choices: dict[str, Any] = field(default_factory=dict)
    folder: PrivateFolder = field(default_factory=PrivateFolder)
    uploads: dict[str, str] = field(default_factory=dict)
    private: Preview | None = None
    reference: Preview | None = None
    domain: Domain | None = None
    asked_domain: tuple[str | None, Box | None, int] | None = None
    job: Job[tuple[Project, Tuned]] | None = None
    found: Found | None = None
    release_id: str | None = None
    explored: Explored | None = None
    budget_text: str | None = None
    example_job: Job[Finished] | None = None
    download: Job[Fetched] | None = None
    lost: bool = False

    @property
    def generated(self) -> bool:
        """Whether the private data were made by a program."""
        return self.private is not None and self.private.generated

    @property
    def kind(self) -> str:
        """What the private data are: "example", "sales" or "sensors"; "" while there are none."""
        source = self.choices.get("data")
        if source is None or self.private is None:
            return ""
        return "example" if is_example(source) else "sales" if source.is_sales else "sensors"

    @property
    def at_risk(self) -> bool:
        """Whether closing the page now would lose private work that was never released."""
        return self.private is not None and not self.generated and self.release_id is None

    def settings(self) -> ReleaseSettings:
        """All choices as one valid value; `WorkflowError` says what is missing or impossible."""
        if "data" not in self.choices:
            raise WorkflowError(f"First finish the step {DATA.title}.")
        if self.choices.get("region") is None and self.choices.get("bbox") is None:
            raise WorkflowError(f"First finish the step {HEXAGONS.title}.")
        if "threshold" not in self.choices:
            raise WorkflowError(f"The threshold is missing: give it on the screen {PRIVACY.title}.")
        return ReleaseSettings(**self.choices)

    def renewed(self) -> Workspace:
        """An empty workspace that holds the same uploads."""
        return Workspace(folder=self.folder, uploads=self.uploads)

    def keep_public_choices(self, other: Workspace) -> None:
        """Take over area, threshold and budget from before, where the data are of the same kind."""
        if self.kind in ("", "example") or other.kind != self.kind:
            return
        named = ("value_name", "value_unit")
        same = all(self.choices.get(name) == other.choices.get(name) for name in named)
        drop = {"data", "reference", "reference_public", "title", *named}
        drop |= set() if same else {"threshold", "direction", "centre", "clip"}
        kept = {name: value for name, value in other.choices.items() if name not in drop}
        if not self.choices.get("reference_public"):
            kept.pop("prior_mean", None)
        self.choices = {**kept, **self.choices}
        self.domain, self.asked_domain = other.domain, other.asked_domain

    def adopt(self, settings: ReleaseSettings) -> None:
        """Take every choice from settings."""
        self.choices = {item.name: getattr(settings, item.name) for item in fields(settings)}
        self.asked_domain = (settings.region, settings.bbox, settings.resolution)

    def choose(self, **changes: Any) -> None:
        """Make choices; what was computed from other ones before is forgotten when it no longer fits."""
        self.choices.update(changes)

    def fits(self) -> bool:
        """Whether the search result at hand answers the settings as they stand now."""
        try:
            return self.found is not None and self.settings() == self.found.project.settings
        except WorkflowError:
            return False

    def decided(self, step: Screen) -> str | None:
        """What was decided on a step, in one line; None while it is open."""
        if step == DATA and self.private is not None:
            made = "generated " if self.generated else ""
            return f"{self.private.size:,} {made}{self.private.kind}s"
        if step == HEXAGONS and self.domain is not None:
            return f"{words.plural(self.domain.size, 'cell')} of resolution {self.domain.resolution}"
        if step == PRIVACY and self.found is not None and (self.fits() or self.release_id is not None):
            settings = self.found.project.settings
            return f"one {settings.unit_word}, ε {settings.epsilon:g}, δ {words.one_in(settings.delta)}"
        if step == RELEASE and self.release_id is not None:
            return f"released as {self.release_id}"
        return None

    def missing_for(self, step: Screen) -> str | None:
        """Why a step cannot be opened yet, or None."""
        earlier = NEEDS.get(step)
        if earlier is None or self.decided(earlier) is not None:
            return None
        return f"First finish the step {earlier.title}."

    def budget_line(self) -> str | None:
        """What the ledger says about the data at hand, in one line."""
        return self.budget_text

    def retitle(self, title: str) -> None:
        """Give the planned release a title; nothing else changes."""
        if self.found is not None:
            settings = self.found.project.settings.with_changes(title=title.strip())
            self.found = replace(self.found, project=replace(self.found.project, settings=settings))
            self.choose(title=settings.title)

    def say_looked(self, looked: bool) -> None:
        """Note whether the design was chosen by looking; what was found stays, what is said of it changes."""
        if self.found is not None and looked != self.found.project.settings.looked:
            settings = self.found.project.settings.with_changes(looked=looked)
            self.found = replace(self.found, project=replace(self.found.project, settings=settings))
            self.choose(looked=looked)

    def ends_with(self, job: Job[Any]) -> None:
        """Let a session that ends take its computation with it."""
        weakref.finalize(self, job.cancel)

    def plan_another(self) -> None:
        """Put the finished release aside, to plan a further one of the same data."""
        self.release_id = self.explored = None


def current() -> Workspace:
    """The workspace of this browser session."""
    if KEY not in st.session_state:
        st.session_state[KEY] = Workspace()
    workspace: Workspace = st.session_state[KEY]
    return workspace


def put(workspace: Workspace) -> Workspace:
    """Make this the session's workspace."""
    st.session_state[KEY] = workspace
    return workspace


def start_over() -> Workspace:
    """Forget every choice and result of this session; its uploads can be chosen again."""
    return put(current().renewed())
