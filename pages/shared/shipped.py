"""The example that ships with the program: its release as files, its search, and the badges of examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

from hexcursion.bundle.published.bundle_store import ShelvedBundle, find_bundle, open_bundle
from hexcursion.bundle.published.view import Viewer
from hexcursion.project.baseline import Baseline, fit_baseline
from hexcursion.project.example import county_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.decision.stored import tuned_from
from hexcursion.search.decision.tuning import Tuned
from pages.shared.plain_text import Markdown
from pages.shared.session.previews import Preview, look_at


def generated_badge(help: Markdown | None = None) -> None:
    """Say that what is shown was made by this program; `help` says how, for who points at it."""
    st.badge("generated data", icon=":material/science:", color="violet", help=help)


def published_badge() -> None:
    """Say that the private data of the example were published long ago, and only play their part."""
    st.badge(
        "example data",
        icon=":material/public:",
        color="violet",
        help="Real sales, published long ago. Those of 1998 play the private data here, so that anybody can "
        "check what a release shows of them.",
    )


FILES = Path(__file__).resolve().parents[2] / "static" / "tour"
BUNDLE, SEARCH = FILES / "bundle.zip", FILES / "search.json"


@cache
def shipped() -> Viewer:
    """The release, the same for everybody; `WorkflowError` where its file is damaged."""
    return open_bundle(BUNDLE)


def shelved() -> ShelvedBundle:
    """The release as one to choose; it lies on no shelf and in no ledger of this installation."""
    release = shipped().bundle.statement["release"]
    return ShelvedBundle(str(release["id"]), f"{release['title']} (shipped with the program)", BUNDLE)


def is_shipped(name: str | None) -> bool:
    """Whether a release is the example that ships with the program."""
    return name is not None and name == shelved().name


def viewer_of(name: str) -> Viewer:
    """The shipped example's release, or one of this installation, by its id; `WorkflowError` if neither."""
    return shipped() if is_shipped(name) else find_bundle(name)


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step; its "private" year was published too."""

    project: Project
    tuned: Tuned
    viewer: Viewer
    private: Preview
    reference: Preview
    baseline: Baseline


@cache
def finished_example() -> Finished:
    """The example, read once and then kept: its sales are published, so all sessions may share it."""
    settings = county_settings()
    project = load_project(settings)
    assert settings.reference is not None
    tuned = tuned_from(project, SEARCH.read_text(encoding="utf-8"))
    return Finished(
        project=project,
        tuned=tuned,
        viewer=shipped(),
        private=look_at(settings.data, settings.value_unit),
        reference=look_at(settings.reference, settings.value_unit, spread=True),
        baseline=fit_baseline(project, tuned.result.model),
    )
