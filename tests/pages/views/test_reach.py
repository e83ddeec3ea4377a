"""Which files of the machine a session may name: folders of the operator, links resolved, nothing beside."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.project.example import example_settings
from hexcursion.releasing.allowed_paths import (
    AllowedPaths,
    paths_in,
    public_folder,
    reach,
    reach_of_file,
)
from hexcursion.settings.catalogue import catalogue
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from pages.shared.uploads import PrivateFolder


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A folder that is allowed and one that is not, each with a table."""
    inside, outside = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (inside, outside):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "table.csv").write_text("x,y,v\n")
    return inside, outside


def named(*folders: Path) -> AllowedPaths:
    return reach([str(folder) for folder in folders], loopback=True, uploads=PrivateFolder().path)


def test_below_the_named_folders_and_nowhere_else(places: tuple[Path, Path]) -> None:
    inside, outside = places
    limited = named(inside)
    for allowed in (inside, inside / "deep" / "table.csv", inside / "not-there.csv"):
        limited.check(str(allowed))
    for path in (
        outside / "deep" / "table.csv",
        outside,
        inside / ".." / "elsewhere" / "deep" / "table.csv",
        inside.parent / "database.csv",  # begins with the same letters
        inside.parent,
        "/",
        "/etc/passwd",
        "table.csv",
        "",
        "a\0b",
    ):
        with pytest.raises(WorkflowError, match="HEXCURSION_DATA"):
            limited.check(str(path))


FILES = [name for name, item in catalogue().items() if item.setting.metavar == "FILE"]
SEVERAL = {"layers", "covariates"}


@pytest.mark.parametrize("name", FILES)
def test_every_setting_that_names_a_file_is_looked_at(name: str) -> None:
    table, _, key = name.rpartition(".")
    value = {key: ["/elsewhere/a"] if key in SEVERAL else "/elsewhere/a"}
    assert paths_in({table: value} if table else value) == ("/elsewhere/a",)


def test_the_settings_that_name_files_are_known() -> None:
    assert len(FILES) == 13
    assert {"population_file", "shared_design"} <= set(FILES)


def test_links_are_resolved_before_the_look(places: tuple[Path, Path]) -> None:
    inside, outside = places
    (inside / "link.csv").symlink_to(outside / "deep" / "table.csv")
    (inside / "folder").symlink_to(outside)
    (inside / "circle").symlink_to(inside / "circle")
    (outside / "welcome").symlink_to(inside / "deep")
    limited = named(inside)
    limited.check(str(outside / "welcome" / "table.csv"))
    for path in ("link.csv", "folder/deep/table.csv", "circle", "."):  # a folder is read with its links
        with pytest.raises(WorkflowError):
            limited.check(str(inside / path))
    limited.check(str(inside / "deep"))


def test_the_variable_names_folders_like_a_search_path(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = places
    table = str(outside / "deep" / "table.csv")
    monkeypatch.setenv("HEXCURSION_DATA", os.pathsep.join((str(inside), str(outside))))
    reach(None, loopback=True, uploads=inside).check(table)
    monkeypatch.setenv("HEXCURSION_DATA", str(inside))
    with pytest.raises(WorkflowError) as refusal:
        reach(None, loopback=True, uploads=inside).check(table)
    assert str(inside) in str(refusal.value)
    reach([str(outside)], loopback=False, uploads=inside).check(table)  # both lists count


def test_without_folders_any_path_is_open_on_this_machine_only(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEXCURSION_DATA", raising=False)
    table = str(places[0] / "deep" / "table.csv")
    reach(None, loopback=True, uploads=places[1]).check(table)
    for listed, loopback in ((None, False), ([], True)):
        with pytest.raises(WorkflowError, match="upload the file"):
            reach(listed, loopback=loopback, uploads=places[1]).check(table)


def test_the_apps_own_folders_are_always_in_reach() -> None:
    folder = PrivateFolder()
    limited = reach([], loopback=False, uploads=folder.path)
    limited.check(str(folder.keep("a.csv", b"1")))
    limited.check(str(public_folder() / "pp-2018.csv"))
    limited.check_settings(example_settings())
    with pytest.raises(WorkflowError):
        limited.check(str(PrivateFolder().keep("a.csv", b"1")))  # another session's uploads


@pytest.mark.parametrize(
    "changes",
    [
        {"data": SourceSettings("/etc/passwd", value="v", x="x", y="y")},
        {"data": SourceSettings("{inside}/deep/table.csv", "/etc/passwd")},
        {"reference": SourceSettings("/etc/passwd", value="v", x="x", y="y")},
        {"region": "/etc/passwd", "bbox": None},
        {"limits": "/etc/passwd"},
        {"layers": ("/etc/passwd",)},
        {"basemap": "/etc/passwd"},
    ],
    ids=["data", "postcodes", "reference", "region", "limits", "layers", "basemap"],
)
def test_every_file_that_settings_name_is_looked_at(
    places: tuple[Path, Path], changes: dict[str, object]
) -> None:
    inside = places[0]
    good = ReleaseSettings(
        data=SourceSettings(str(inside / "deep" / "table.csv"), value="v", x="x", y="y"),
        threshold=1.0,
        bbox=(0.0, 51.0, 1.0, 52.0),
    )
    limited = named(inside)
    limited.check_settings(good)
    with pytest.raises(WorkflowError):
        limited.check_settings(good.with_changes(**changes))


def test_a_settings_file_names_no_file_where_a_person_may_name_any(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A colleague's file is not the person who sits before this machine."""
    monkeypatch.delenv("HEXCURSION_DATA", raising=False)
    table = str(places[0] / "deep" / "table.csv")
    settings = ReleaseSettings(
        data=SourceSettings(table, value="v", x="x", y="y"), threshold=1.0, bbox=(0.0, 51.0, 1.0, 52.0)
    )
    anywhere = reach(None, loopback=True, uploads=places[1])
    anywhere.check(table)
    with pytest.raises(WorkflowError, match=r"^These settings name a file of this machine: upload it"):
        anywhere.check_settings(settings)
    anywhere.check_settings(
        settings.with_changes(data=SourceSettings(str(places[1] / "t.csv"), value="v", x="x", y="y"))
    )


def test_a_settings_file_on_the_command_line_names_files_beside_it_and_here(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own folder, the current one, those of the variable and public files."""
    monkeypatch.delenv("HEXCURSION_DATA", raising=False)
    inside, outside = places
    monkeypatch.chdir(inside / "deep")
    table = str(outside / "deep" / "table.csv")
    limited = reach_of_file(str(inside / "settings.toml"))
    limited.check_settings({"region": "table.csv", "limits": str(inside / "deep" / "table.csv")})
    limited.check_settings({"data": {"path": str(public_folder() / "pp-2018.csv")}})
    with pytest.raises(WorkflowError, match=r"^These settings name .* then give --trust-settings,"):
        limited.check_settings({"data": {"path": table}})
    with pytest.raises(WorkflowError, match=r"^This app reads files of its machine only below "):
        limited.check(table)  # named by a person: told of the folders
    monkeypatch.setenv("HEXCURSION_DATA", str(outside))
    reach_of_file(str(inside / "settings.toml")).check_settings({"data": {"path": table}})


def test_a_refusal_names_what_can_be_done(places: tuple[Path, Path]) -> None:
    inside, outside = places
    table = str(outside / "deep" / "table.csv")
    two = AllowedPaths((inside, inside / "deep"), (), open=False)
    with pytest.raises(WorkflowError, match=f"only below {inside} or {inside}/deep: name one"):
        two.check(table)
    for closed in (AllowedPaths(None, (), open=False), AllowedPaths((), (), open=False)):
        with pytest.raises(WorkflowError, match=r"^This app reads no files of its machine by path"):
            closed.check(table)
    with pytest.raises(WorkflowError, match=r"^This app reads files of its machine only below"):
        replace(two, from_file=True).check(table)
    AllowedPaths(None, (), open=True).check(table)


def test_a_table_of_settings_that_is_none_and_a_path_that_is_none_name_no_file() -> None:
    given = {"data": "a.csv", "reference": {"path": "b.csv", "value": "v"}, "layers": "c"}
    several = {"covariates": ("d", None, "e"), "region": 7}
    assert paths_in({**given, **several}) == ("c", "d", "e", "b.csv")
