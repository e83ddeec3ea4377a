"""Small parts of screens, recorded: facts of a release, limits in use, exchanged columns, a pilot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hexcursion.settings.data_settings import SourceSettings
from pages.hexagons import layers, ways
from pages.privacy import question, search_panel
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Workspace
from pages.viewer import reading
from tests.pages.recorded import Recorded

SOURCE = SourceSettings("/a.csv", value="v", x="lat", y="lon", crs="EPSG:4326")


def recorded(monkeypatch: pytest.MonkeyPatch, module: Any) -> Recorded:
    made = Recorded()
    monkeypatch.setattr(module, "st", made)
    return made


def test_each_fact_has_its_subject_its_word_and_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = recorded(monkeypatch, reading)
    told = [
        SimpleNamespace(about=f"about {k}", lead=f"lead {k}", text=f"text {k}", warning=k == 2)
        for k in range(3)
    ]
    monkeypatch.setattr(reading, "three_facts", lambda statement, published: told)
    monkeypatch.setattr(reading, "belief_of", lambda statement: 0.75)
    monkeypatch.setattr(reading.words, "covered", lambda statement: "from 12 records.")
    monkeypatch.setattr(reading, "around", lambda domain: SimpleNamespace(places=()))
    monkeypatch.setattr(reading, "place", lambda domain, places: "In a town.")
    monkeypatch.setattr(reading, "signed", lambda viewer: None)
    bundle = SimpleNamespace(statement={}, published=None)
    reading.facts(SimpleNamespace(bundle=bundle, domain=None))  # type: ignore[arg-type]
    assert screen.said("caption", "header", "markdown")[:-1] == [
        *("about 0", "lead 0"),
        *("about 1", "lead 1"),
        *("about 2", ":material/warning: lead 2", "text 2"),  # a warning is never folded away
        "from 12 records. In a town.",
        *("**about 0.** text 0", "**about 1.** text 1"),
    ]
    assert screen.said("expander") == ["More about this"]
    assert len(screen.said("html")) == 1


@pytest.mark.parametrize(
    ("uploaded", "chosen", "used"),
    [
        ("/u.csv", None, "/u.csv"),
        (None, "/s.csv", "/s.csv"),
        ("/u.csv", "/s.csv", "/u.csv"),
        (None, None, None),
    ],
)
def test_limits_are_those_uploaded_or_else_those_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, uploaded: str | None, chosen: str | None, used: str | None
) -> None:
    screen = recorded(monkeypatch, question)
    monkeypatch.setattr(question, "remembered", lambda *given: uploaded)
    monkeypatch.setattr(question, "_checked", lambda work, path, name, read: path)
    assert question._limits(Workspace(choices={"limits": chosen})) == used
    assert len(screen.said("caption")) == 1


@pytest.mark.parametrize("reference", [None, SOURCE])
def test_the_columns_of_both_sources_are_exchanged(
    monkeypatch: pytest.MonkeyPatch, reference: SourceSettings | None
) -> None:
    recorded(monkeypatch, ways)
    monkeypatch.setattr(ways, "look_at", lambda source, unit, **more: source)
    work = Workspace(choices={"data": SOURCE, "reference": reference})
    ways.exchange_columns(work)
    for name in ("data", "reference")[: 1 + (reference is not None)]:
        assert (work.choices[name].x, work.choices[name].y) == ("lon", "lat")


def test_layers_keep_their_wish_and_new_ones_begin_with_their_first_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = layers.Wish("/old.geojson", "title")
    shown: list[layers.Wish] = []
    monkeypatch.setattr(layers, "_decided", lambda work: [known])
    monkeypatch.setattr(layers, "_with_uploads", lambda work, key, held: ["/old.geojson", "/new.geojson"])
    monkeypatch.setattr(layers, "_columns", lambda path: ("name", "id"))
    monkeypatch.setattr(layers, "_show", lambda work, wishes: shown.extend(wishes))
    layers._keep(Workspace())
    assert shown == [known, layers.Wish("/new.geojson", "name")]


def test_a_pilot_fixes_the_design_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = recorded(monkeypatch, search_panel)
    project = SimpleNamespace(pilot=object(), settings=SimpleNamespace(epsilon=1.0))
    search_panel._offer(Workspace(), SimpleNamespace(project=project), None)  # type: ignore[arg-type]
    assert screen.said("caption")[0].startswith("What was paid for is part of a total of ε 1 that was fixed")
    assert screen.said("button") == []


@pytest.mark.parametrize(("about", "captions"), [("first", 0), ("second", 1)])
def test_a_job_that_runs_for_other_choices_says_so(
    monkeypatch: pytest.MonkeyPatch, about: str, captions: int
) -> None:
    """The screen of studies shows one study at a time, and another one may be under way."""
    screen, work = recorded(monkeypatch, side_jobs), Workspace()
    monkeypatch.setattr(side_jobs, "show_progress", lambda *_: None)
    job: Any = SimpleNamespace(state=SimpleNamespace(state="running"))
    side_jobs.planning(work).jobs["study"] = side_jobs.SideJob(("first",), job)
    assert side_jobs.follow(work, "study", (about,), "Run", "Cancel", lambda: job) is None
    assert screen.said("button") == []
    assert [words.split(":")[2] for words in screen.said("caption")] == captions * [
        " This was begun with other choices"
    ]


def test_a_file_of_areas_has_at_most_64_whole_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = recorded(monkeypatch, reading)
    reading.ask_areas(SimpleNamespace(), 5.0, "viewer")  # type: ignore[arg-type]
    most = screen.asked("Areas (GeoJSON with polygons, such as boroughs)")["max_upload_size"]
    assert (most, type(most)) == (64, int)
    assert screen.said("error", "dataframe", "download_button") == []
