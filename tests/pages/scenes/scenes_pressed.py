"""What becomes of a press: files read or refused, jobs begun, followed and ended, releases, signatures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.settings import settings_to_toml
from pages.data import public_files
from pages.privacy import frontier, pilot_panel, trials
from pages.release import release_panel
from pages.shared.session import previews, side_jobs
from pages.shared.session.workspace import Fetched, Workspace
from pages.shared.shipped import shelved
from tests.pages.scenes.screen import Screen
from tests.pages.scenes.states import (
    filled,
    fresh,
    put,
    released,
    scene,
    searched,
    sensors,
    table,
    without_reference,
)


class Following:
    """A job in one state; `seconds_left` is known while it runs."""

    def __init__(self, state: str = "running", result: Any = None, left: float | None = 90.0) -> None:
        self.state = SimpleNamespace(
            state=state, fraction=0.25, text="At it", seconds=30.0, seconds_left=left
        )
        self.cancelling, self._result = False, result

    def cancel(self) -> None:
        self.cancelling = True

    def result(self) -> Any:
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result


def begun(screen: Screen, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Let a job be written down instead of begun."""

    def make(*given: Any) -> Following:
        screen.lines.append(f"begun {name} with {[type(one).__name__ for one in given]}")
        return Following()

    patch.setattr(module, name, make)
    patch.setattr(Workspace, "ends_with", lambda self, job: screen.lines.append("it ends with the session"))


@scene("data: a table is read")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    sensors(screen, owner="station", most=2)
    screen.answers["Read the data"] = True


@scene("data: a table is refused, another stays")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    sensors(screen, x="no2 (ug/m3)")
    put(screen, filled())
    screen.session_state |= {"data_shown": 0}
    screen.answers["Read the data"] = True


@scene("data: the example is taken")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    screen.answers["Use the sales of Lucas County"] = True


def _settings(screen: Screen, text: str) -> None:
    put(screen, fresh())
    upload = SimpleNamespace(name="s.toml", getvalue=text.encode)
    screen.answers |= {"Settings file": upload, "Take these settings": True}
    screen.answers["Files that had been uploaded (data, postcodes, area)"] = []


@scene("data: settings are taken")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _settings(screen, settings_to_toml(searched().settings()))


@scene("data: settings are refused")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _settings(screen, "threshold = 'much'\n")


def _downloading(screen: Screen, patch: pytest.MonkeyPatch, job: Following) -> None:
    put(screen, fresh(download=job))
    patch.setattr(public_files, "date", SimpleNamespace(today=lambda: SimpleNamespace(year=2026)))
    screen.session_state |= {"data_kind": "sales", "sales_where": "path"}


@scene("data: a download is under way")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _downloading(screen, patch, Following())


@scene("data: a download is done")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _downloading(screen, patch, Following("done", Fetched("/sales.csv", "/before.csv", "/codes.zip")))


@scene("data: a download failed")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _downloading(screen, patch, Following("failed", WorkflowError("No way to the host.")))


@scene("data: a download is begun")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    patch.setattr(public_files, "date", SimpleNamespace(today=lambda: SimpleNamespace(year=2026)))
    patch.setattr(
        public_files,
        "download_job",
        lambda *given, **named: (screen.lines.append(f"download {given} {named}"), Following())[1],
    )
    patch.setattr(Workspace, "ends_with", lambda self, job: screen.lines.append("it ends with the session"))
    screen.session_state["data_kind"] = "sales"
    screen.answers["Fetch again what is here"] = True
    screen.presses = "Download from"


AREA = {"type": "Polygon", "coordinates": [[[-83.7, 41.6], [-83.5, 41.6], [-83.5, 41.7], [-83.7, 41.6]]]}


@scene("hexagons: a file that cannot be read")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, filled())
    screen.session_state |= {"region_way_0": "path", "region_path_0": table("own.geojson", "{}")}


@scene("hexagons: a proposed resolution is taken")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, filled())
    screen.session_state["records_public_0"] = 200
    screen.presses = "Use resolution"


@scene("hexagons: an area is exchanged")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, filled())
    stray = previews.Stray("They lie elsewhere.", swapped=True)
    patch.setattr(Workspace, "stray", lambda self: stray)
    sides = zip(("West", "South", "East", "North"), work.choices["bbox"], strict=True)
    screen.session_state |= {f"box_{side}_0": value for side, value in sides}
    screen.presses = "Exchange longitude"


@scene("privacy: a search is cancelled")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, filled()).job = Following(left=None)  # type: ignore[assignment]
    screen.presses = "Cancel the search"


@scene("privacy: a search failed")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    job = Following("failed", WorkflowError("No design meets the budget."))
    put(screen, filled()).job = job  # type: ignore[assignment]


@scene("privacy: a search was cancelled")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, filled()).job = Following("cancelled")  # type: ignore[assignment]


@scene("privacy: a search is done, an agreement was asked for")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    known = searched().outcome
    assert known is not None
    put(screen, filled()).job = Following("done", (known.project, known.tuned))  # type: ignore[assignment]
    screen.session_state[side_jobs.KEY] = side_jobs.Planning(0, wanted=0.75)
    screen.session_state["goal_0"] = "agreement"
    screen.answers["Agreement needed (IoU)"] = 0.75
    begun(screen, patch, frontier, "solve_job")


@scene("privacy: a design by hand is left out")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, filled(lengthscale=5_000.0, ridge=2.0))
    screen.presses = "Leave it out"


@scene("privacy: a typed design is tried")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, searched())
    begun(screen, patch, trials, "typed_job")
    screen.answers |= {"Try this design": True, "Ridge r": 2.0}


@scene("privacy: the budget moves along the frontier")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, searched())
    work.choose(epsilon=2.0, accept_low_agreement=True)
    screen.session_state["epsilon_0"] = 2.0


@scene("privacy: a pilot is paid for")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, without_reference(centre=11.0, clip=1.2, pilot=0.3))
    begun(screen, patch, pilot_panel, "pilot_job")
    screen.presses = "Pay for"


@scene("privacy: jobs are begun and others followed")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, searched())
    assert work.outcome is not None
    design = work.outcome.tuned.result.chosen.design
    plan = screen.session_state[side_jobs.KEY] = side_jobs.Planning(0)
    plan.jobs["coverage"] = side_jobs.SideJob((design, work.outcome.search), Following())  # type: ignore[arg-type]
    plan.jobs["limit"] = side_jobs.SideJob(("other",), None, done=True)
    plan.jobs["typed"] = side_jobs.SideJob(
        (design, work.outcome.tuned.result.chosen.response, work.outcome.search), None, note="It failed."
    )
    begun(screen, patch, trials, "sweep_job")
    screen.presses = "Show what each"


def _asked(screen: Screen, patch: pytest.MonkeyPatch, outcome: Any) -> None:
    """The second question was answered with yes."""
    work = put(screen, searched())
    screen.session_state[release_panel.ASKED] = (work.session, work.outcome, 2.0)
    screen.answers["Release now"] = True

    def draw(project: Any, choice: Any, total: Any, session: str) -> Any:
        screen.lines.append(f"released with a budget of {total} by {session}")
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    patch.setattr(release_panel, "release", draw)
    patch.setattr(release_panel, "random_name", lambda: "another")


@scene("release: released now")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _asked(screen, patch, SimpleNamespace(release=SimpleNamespace(release_id=shelved().name)))


@scene("release: another one is planned")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, released())
    screen.presses = "Plan another"


@scene("release: a question of the leak check is answered")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, searched())
    screen.session_state["answer_person_0"] = 5
