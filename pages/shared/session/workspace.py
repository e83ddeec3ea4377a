"""The workspace: what one browser session has decided and computed so far; nothing of it is shared."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import streamlit as st

from data_loaders import owner_word_of
from dpgp_core.noise import random_name
from geo import Domain
from geo.context.own_layers import OwnLayer
from hexcursion import words
from hexcursion.errors import WorkflowError
from hexcursion.project.example import is_example
from hexcursion.project.model import Project
from hexcursion.search.tuning import Tuned
from hexcursion.settings.atlas import OWN, AtlasChoices, AtlasSettings, Settings, several
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.derived import Derived
from hexcursion.settings.model import ReleaseSettings
from pages.shared.session.outcome import Explored, SearchOutcome
from pages.shared.session.previews import Box, Preview, Stray, stray
from pages.shared.shipped import is_shipped
from pages.shared.steps import DATA, HEXAGONS, PRIVACY, PUBLISH, RELEASE, Screen
from pages.shared.subprocess_job import Job
from pages.shared.uploads import PrivateFolder

KEY = "workspace"
DataKind = Literal["example", "sales", "sensors", ""]
_MARKS = itertools.count()
UNREAD = (
    "The files or choices above have changed since the data were read: press 'Read the data' to use them."
)
NEEDS = {HEXAGONS: DATA, PRIVACY: HEXAGONS, RELEASE: PRIVACY, PUBLISH: RELEASE}


@dataclass(frozen=True)
class Fetched:
    """The files of a download: sales of the year, sales of the reference year, postcodes."""

    sales: str
    reference: str | None
    postcodes: str


@dataclass
class Workspace:
    """Mutable state of one session, filled from left to right along the main path."""

    # For the keys of widgets that belong to these data
    mark: int = field(default_factory=lambda: next(_MARKS))
    # By which the ledger tells a second click from a second release
    session: str = field(default_factory=random_name)
    # Settings made so far, under the names of `ReleaseSettings`
    choices: dict[str, Any] = field(default_factory=dict)
    # Of an atlas what each column has for itself, by name, as `OWN` calls it; `choices` repeats the first
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    atlas: AtlasChoices = field(default_factory=AtlasChoices)
    derived: tuple[Derived, ...] = ()  # layers that follow from others, from a settings file
    missing: dict[str, float] = field(default_factory=dict, repr=False)  # share of values, curator only
    folder: PrivateFolder = field(default_factory=PrivateFolder)
    uploads: dict[str, str] = field(default_factory=dict)  # the file of each upload widget
    private: Preview | None = None  # for the curator's eyes, as `reference`
    reference: Preview | None = None
    domain: Domain | None = None
    layers: tuple[OwnLayer, ...] = ()  # public, drawn over every map of these data
    asked_domain: tuple[str | None, Box | None, int] | None = None  # what `domain` was made from
    job: Job[tuple[Project, Tuned]] | None = None  # a search under way
    outcome: SearchOutcome | None = None
    release_id: str | None = None  # drawn once
    explored: Explored | None = None
    budget_text: str | None = None  # what the ledger said last
    download: Job[Fetched] | None = None
    lost: bool = False  # the page was reloaded and had held data before
    kept: dict[str, Any] = field(default_factory=dict)  # public choices of before a reload
    before: str = ""  # the token of before a reload, by which a release may be under way
    lost_since: float = 0.0  # `time.monotonic` of the reload
    finished: list[str] = field(default_factory=list)  # releases of this visit that were put aside
    answers: dict[str, Any] = field(default_factory=dict)  # to the leak check, by question
    seen: set[SourceSettings] = field(default_factory=set)  # data whose map without privacy was shown
    # The last comparison, and its result
    strayed: tuple[Domain, Preview, Stray | None] | None = field(default=None, repr=False)
    unread: bool = False  # the screen Data names other files or columns than were read
    other_tab: bool = False
    chosen_by_looking: bool = False  # the design was changed after that map had been shown
    trip: bool = False  # a recorded trip stays in this visit alone; its release is kept
    # Held by whoever releases: a second click waits, and finds it done
    releasing: threading.Lock = field(default_factory=threading.Lock)

    def keyed(self, name: str) -> dict[str, Any]:
        """Return the arguments of a widget that belongs to these data and keeps its value off the screen."""
        return {"key": f"{name}_{self.mark}", "persist_state": "session"}

    @property
    def generated(self) -> bool:
        """Whether the private data were made by a program."""
        return self.private is not None and self.private.generated

    @property
    def kind(self) -> DataKind:
        """What the private data are; "" before they are read."""
        source = self.choices.get("data")
        if source is None or self.private is None:
            return ""
        return "example" if is_example(source) else "sales" if source.is_sales else "sensors"

    @property
    def owner_block(self) -> dict[str, Any] | None:
        """Whom epsilon is about where a column names the owner of a record, as a statement says it."""
        owner, most_records = self.choices.get("owner"), self.choices.get("records_per_owner")
        if owner is None or most_records is None:
            return None
        apart = bool(self.choices.get("owner_once_per_hexagon", False))
        return {"word": owner_word_of(str(owner)), "records": int(most_records), "apart": apart}

    @property
    def record_word(self) -> words.UnitWord:
        """What one point record is: a whole sensor or person where each has one, otherwise a row's word."""
        owner = self.choices.get("owner")
        if owner is not None and self.choices.get("records_per_owner") == 1:
            return owner_word_of(str(owner))
        if self.private is None:
            return "record"
        return str(self.choices.get("record_word") or self.private.kind)

    @property
    def records(self) -> int | None:
        """Number of point records as far as it is public; as stated where the true one is private."""
        if self.choices.get("relation") == "add-or-remove":
            about = self.choices.get("records_about")
            return None if about is None else int(about)
        return None if self.private is None else self.private.size

    @property
    def at_risk(self) -> bool:
        """Whether closing the page now would lose private work that was never released, or a trip."""
        never_released = self.kind not in ("", "example") and self.release_id is None
        return never_released or self.trip

    def settings(self, screen: Screen | None = None) -> ReleaseSettings:
        """Return all choices as one valid value; `WorkflowError` names a missing or impossible choice.

        `screen` is the screen that shows what it says.
        """
        if "data" not in self.choices:
            raise WorkflowError(f"First finish the step {DATA.title}.")
        if self.choices.get("region") is None and self.choices.get("bbox") is None:
            raise WorkflowError(f"First finish the step {HEXAGONS.title}.")
        if "threshold" not in self.choices:
            where = "" if screen is PRIVACY else f"on {PRIVACY.title}, "
            raise WorkflowError(f"The threshold is missing: give it {where}under The question.")
        return ReleaseSettings(**self.choices)

    def asked(self, screen: Screen | None = None) -> Settings:
        """All choices as one valid value, of one column or of several; `WorkflowError` as `settings`."""
        if self.unsaid:
            usual = "" if self.told_usual else ", a usual value, and how far most lie from it"
            raise WorkflowError(
                f"Say on the step {DATA.title} for {words.listed(self.unsaid)}: the threshold{usual}."
            )
        settings = self.settings(screen)
        return several(settings, self.columns, self.atlas, self.derived) if self.columns else settings

    def choose_column(self, name: str, **choices: Any) -> None:
        """Make choices of one column of an atlas; None is not chosen yet."""
        self.columns[name] = {key: value for key, value in choices.items() if value is not None}
        if name == next(iter(self.columns)):
            for key in OWN:
                self.choices.pop(key, None)
            self.choices.update({key: value for key, value in self.columns[name].items() if key in OWN})

    def called(self, column: str) -> str:
        """What a column of an atlas is called, in words."""
        return str(self.columns[column].get("value_name") or column)

    @property
    def told_usual(self) -> bool:
        """Whether published reference data tell the usual values of each column."""
        return bool(self.choices.get("reference_public"))

    @property
    def unsaid(self) -> list[str]:
        """The columns of an atlas of which threshold or scale are still to be said, in words."""
        usual = set() if self.told_usual else {"centre", "clip"}
        return [
            self.called(name)
            for name, column in self.columns.items()
            if not {"threshold", *(() if column.get("values") == "yes-no" else usual)} <= column.keys()
        ]

    def leave_out(self, names: Collection[str]) -> None:
        """Plan the atlas without some columns; a single one that remains is planned alone."""
        self.columns = {name: column for name, column in self.columns.items() if name not in names}
        self.derived = tuple(layer for layer in self.derived if not set(layer.of) & set(names))
        first = next(iter(self.columns))
        self.choose(data=replace(self.choices["data"], value=first))
        self.choose_column(first, **self.columns[first])
        if len(self.columns) == 1:
            self.columns = {}

    def renewed(self) -> Workspace:
        """An empty workspace that holds the same uploads."""
        return Workspace(
            folder=self.folder,
            uploads=self.uploads,
            seen=self.seen,
            finished=self.finished,
            other_tab=self.other_tab,
            choices={"basemap": self.choices.get("basemap")},
        )

    def saw_baseline(self) -> None:
        """Note that the map without privacy of these data was shown."""
        self.seen.add(self.choices["data"])

    def design_changed(self) -> None:
        """Note a new search or another design: made by looking, where the map without privacy was shown."""
        if self.choices.get("data") in self.seen:
            self.chosen_by_looking = True
            self.choose(looked=True)
            self.say_looked(True)

    def keep_public_choices(self, other: Workspace) -> None:
        """Take over area, threshold and budget from before, where the data are of the same kind."""
        if self.kind in ("", "example") or other.kind != self.kind:
            return
        value_names = ("value_name", "value_unit")
        same = all(self.choices.get(name) == other.choices.get(name) for name in value_names)
        drop = {
            "data",
            "reference",
            "reference_public",
            "title",
            "owner",
            "records_per_owner",
            "places_public",
            "records_about",
            "accept_dropped",
            *value_names,
        }
        drop |= (
            set()
            if same
            else {"threshold", "direction", "transform", "centre", "clip", "values", "yes_above"}
        )
        usual = "log" if other.choices["data"].read_by.log_scale else "identity"
        if self.choices.get("transform") not in (None, other.choices.get("transform") or usual):
            drop |= {"centre", "clip"}  # an earlier release reads values on the other scale
        if other.choices.get("values") == "count":
            drop |= {"values", "population_file", "population_column"}
        choices = {name: value for name, value in other.choices.items() if name not in drop}
        if not self.choices.get("reference_public"):
            choices.pop("prior_mean", None)
            choices.pop("public_counts", None)
        self.choices = {**choices, **self.choices}
        self.domain, self.asked_domain, self.layers = other.domain, other.asked_domain, other.layers

    def adopt(self, settings: Settings) -> None:
        """Take every choice from settings; a basemap stays where they name none."""
        if isinstance(settings, AtlasSettings):
            self.adopt(settings.shared)
            self.columns, self.atlas, self.derived = settings.own, settings.choices, settings.derived
            return
        basemap = self.choices.get("basemap")
        self.choices = {item.name: getattr(settings, item.name) for item in fields(settings)}
        self.choices["basemap"] = settings.basemap or basemap
        self.asked_domain = (settings.region, settings.bbox, settings.resolution)

    def choose(self, **changes: Any) -> None:
        """Make choices; `fits` says whether earlier results still answer them."""
        self.choices.update(changes)

    def fits(self) -> bool:
        """Whether the present search result answers the present settings."""
        try:
            return self.outcome is not None and self.asked() == self.outcome.settings
        except WorkflowError:
            return False

    def decided(self, step: Screen) -> str | None:
        """The decision on a step, in one line; None while it is open."""
        if step == DATA and self.private is not None:
            origin_word = "generated " if self.generated else ""
            word = str(self.choices.get("record_word") or self.private.kind)
            outside = 0 if self.outcome is None else self.outcome.project.private.placed.outside
            count_words = f"{self.private.size:,} {origin_word}{words.plural(2, word)[2:]}"
            return f"{count_words}, {outside:,} of which lie outside the area" if outside else count_words
        if step == HEXAGONS and self.domain is not None:
            return f"{words.plural(self.domain.size, 'hexagon')} of resolution {self.domain.resolution}"
        if step == PRIVACY and self.outcome is not None and (self.fits() or self.release_id is not None):
            project = self.outcome.project
            slack = words.one_in(project.delta)
            owner = project.settings.owner_block
            noun = project.settings.unit_word if owner is None else owner["word"]
            return f"one {noun}, ε {project.settings.epsilon:g}, δ {slack}"
        if step == RELEASE and self.release_id is not None:
            return "the finished example" if is_shipped(self.release_id) else f"released as {self.release_id}"
        return None

    def missing_for(self, step: Screen) -> str | None:
        """Why a step cannot be opened yet, or None."""
        if step == HEXAGONS and self.unread:
            return UNREAD
        if step == PRIVACY and self.stray() is not None:
            return "No row lies inside the area: mend that on the step Hexagons first."
        earlier = NEEDS.get(step)
        if earlier is None or self.decided(earlier) is not None or (step == PUBLISH and self.finished):
            return None
        return f"First finish the step {earlier.title}."

    def stray(self) -> Stray | None:
        """Why no row is inside the area; None where one is."""
        if self.domain is None or self.private is None:
            return None
        cached = self.strayed
        if cached is None or cached[0] is not self.domain or cached[1] is not self.private:
            cached = self.strayed = (self.domain, self.private, stray(self.domain, self.private))
        return cached[2]

    def say_looked(self, looked: bool) -> None:
        """Note whether the design was chosen by looking; the result stays, the words about it change."""
        if self.outcome is not None and looked != self.outcome.project.settings.looked:
            self.restate(looked=looked)

    def show_layers(self, layers: tuple[OwnLayer, ...], changes: dict[str, tuple[Any, ...]]) -> None:
        """Draw public layers over the map and publish them with it; the design stays."""
        self.layers = layers
        self.choose(**changes)
        if self.outcome is not None and self.outcome.atlas is not None:
            self.outcome = None  # every column holds them: it is planned anew
        elif self.outcome is not None:
            settings = self.outcome.project.settings.with_changes(**changes)
            project = replace(self.outcome.project, settings=settings, layers=layers)
            self.outcome = replace(self.outcome, project=project)

    def show_basemap(self, path: str | None) -> None:
        """Draw a public map beneath the hexagons, or none; the design stays."""
        self.choose(basemap=path)
        self.restate(basemap=path)

    def restate(self, **changes: Any) -> None:
        """Change the words for the design, such as its title; the design stays."""
        if self.outcome is not None:
            self.outcome = self.outcome.restated(**changes)
            self.choose(**changes)

    def ends_with(self, job: Job[Any]) -> None:
        """Let a session that ends take its computation with it."""
        weakref.finalize(self, _cancel, weakref.ref(job))

    def plan_another(self) -> None:
        """Put the finished release aside, to plan a further one of the same data."""
        if self.release_id is not None:
            self.finished.append(self.release_id)
        self.release_id = self.explored = None


def _cancel(job: weakref.ref[Job[Any]]) -> None:
    """Cancel a job that is still referenced; a finished one is not kept for that, with its result."""
    if (live_job := job()) is not None:
        live_job.cancel()


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
