"""An atlas from the door to its bundle: charged once, published once, and refused before any charge."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import hexcursion
from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.ledger.errors import Unreleased
from hexcursion.project.atlas import joined
from hexcursion.project.load import load_source
from hexcursion.releasing import transaction
from hexcursion.search.atlas import noise_beside_one
from hexcursion.settings.atlas import any_settings
from hexcursion.settings.data_settings import SourceSettings
from tests.hexcursion.atlas.village import COLUMNS, FILE, OPTIONS, PLAN, village, written


def kinds() -> list[str]:
    steps = ("reserve", "draw", "commit", "unused")
    return [entry.kind for entry in open_ledger().entries() if entry.kind in steps]


def test_one_call_is_one_charge_and_three_maps(tmp_path: Path) -> None:
    frame = village()
    made = hexcursion.release(frame, **PLAN, out=tmp_path / "atlas")
    assert isinstance(made, hexcursion.ReleasedAtlas)
    assert list(made) == ["no2", "o3", "pm"]
    assert kinds().count("reserve") == kinds().count("commit") == 1
    west = made["no2"].map.geometry.bounds["minx"].to_numpy() < 10.05
    chance = {name: layer.map["probability"].to_numpy() for name, layer in made.items()}
    assert chance["no2"][west].mean() > chance["no2"][~west].mean() + 0.2
    assert chance["o3"][west].mean() < chance["o3"][~west].mean() - 0.2
    assert made.statement["atlas"] == {
        "columns": 3,
        "in_words": "All three maps together: a 50:50 guess about one reading becomes at most 65:35; one of "
        "them alone is not promised more.",
        "read": "Each map was read by itself.",
    }
    assert made.statement["guarantee"]["epsilon"] <= 3.0
    assert "Theorem D" in made.statement["guarantee"]["bound_source"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every map follows from the released sums
        again = hexcursion.open_atlas(made.save(tmp_path / "copy.zip"))
    assert again.statement == made.statement
    with pytest.raises(hexcursion.BundleError, match="open_atlas"):
        hexcursion.open_bundle(made.place)
    with pytest.raises(WorkflowError, match="budget"):
        hexcursion.release(frame, **PLAN, out=tmp_path / "second")


def test_command_line_and_file_plan_the_same_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, village())
    settings = tmp_path / "atlas.toml"
    settings.write_text(FILE.format(path=path), encoding="utf-8")
    assert main(["atlas", "--data", str(path), *OPTIONS]) == 0
    typed = capsys.readouterr().out
    assert main(["release", "--config", str(settings), "--dry-run"]) == 0
    assert capsys.readouterr().out == typed
    planned = hexcursion.plan(pandas.read_csv(path), **PLAN)
    lines = [f"{line.topic}  {line.text}" for line in planned.receipt]
    assert [" ".join(line.split()) for line in lines] == [
        " ".join(line.split())
        for line in typed.split("Receipt\n")[1].split("\nDry run")[0].strip().splitlines()
    ]
    assert planned.remarks[0] in typed
    assert kinds() == []


def test_what_is_foretold_is_one_column_at_more_noise() -> None:
    assert [noise_beside_one(k) for k in (1, 2, 4, 7, 10)] == [1.0, 1.25, 1.6, 2.0, 2.4]
    remarks = hexcursion.plan(village(), **PLAN).remarks
    # mu of epsilon 3 at 1e-5 is .7192; over 1.425 it is .5047, whose epsilon is 2.0095 at the same delta
    assert "at epsilon 2.01: a rule" in remarks[0]
    assert [line.split(":")[0] for line in remarks[1:]] == list(COLUMNS)


def test_columns_to_leave_out_are_named_before_the_charge() -> None:
    plan = {**PLAN, "threshold": {**PLAN["threshold"], "o3": 500.0}, "accept_low_agreement": False}
    with pytest.raises(WorkflowError, match=r"o3: no value can lie beyond its threshold.*Leave out o3"):
        hexcursion.plan(village(), **plan)
    assert kinds() == []


def gaps(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.assign(o3=frame["o3"].where(np.arange(len(frame)) % 7 > 0))


BAD: dict[str, tuple[Callable[[pandas.DataFrame], pandas.DataFrame], dict[str, Any], str]] = {
    "gaps": (gaps, {}, "different numbers of values: 'o3' lacks 82 of 614 records"),
    "no centre": (
        lambda frame: frame,
        {"centre": {"no2": 28.0, "pm": 2.5}},
        "'o3' lacks its public centre or clip bound: set `centre` and `clip` for it",
    ),
    "constant": (lambda frame: frame.assign(o3=58.0), {}, "'o3' has the same value in every row"),
    "all missing": (
        lambda frame: frame.assign(o3=np.nan),
        {},
        "The column 'o3' cannot be read: .*value missing. Leave it out, or mend the table.",
    ),
    "identifier": (
        lambda frame: frame.assign(o3=np.arange(len(frame)) + 100.0),
        {},
        "'o3' numbers the rows, so it is an identifier",
    ),
    "text": (
        lambda frame: frame.assign(o3="high"),
        {},
        "'o3' cannot be read: .*if it names kinds, give each kind that matters a column of 1 and 0",
    ),
    "two of one name": (
        lambda frame: pandas.concat([frame, frame[["o3"]]], axis=1),
        {},
        "several columns named 'o3'",
    ),
    "no such column": (lambda frame: frame.drop(columns="o3"), {}, "no column named 'o3'"),
    "below 0": (lambda frame: frame.assign(pm=-frame["pm"]), {}, "'pm': values below 0 have no logarithm"),
}


@pytest.mark.parametrize(("change", "settings", "said"), BAD.values(), ids=BAD)
def test_bad_columns_are_refused_before_any_charge(
    change: Callable[[pandas.DataFrame], pandas.DataFrame],
    settings: dict[str, Any],
    said: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(WorkflowError, match=said) as refused:
        hexcursion.release(change(village()), **{**PLAN, **settings}, out=tmp_path / "atlas")
    assert "\n" not in str(refused.value)
    assert kinds() == []
    assert not (tmp_path / "atlas").exists()


def test_gaps_that_are_said_are_counted_apart(tmp_path: Path) -> None:
    planned = hexcursion.plan(gaps(village()), **PLAN, gaps=True)
    assert "o3: 100 rows without a value." in planned.plan.project.private.sentences()
    made = hexcursion.publish(planned, tmp_path / "atlas")
    assert made.statement["design"]["presence"] is True
    assert made.statement["guarantee"]["n"] == 614
    records = [layer.bundle.records for layer in made.values()]
    assert all(each is not None for each in records)


def test_a_crash_after_the_commit_is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle that was staged is put in its place; nothing is drawn or charged again."""
    planned = hexcursion.plan(village(), **PLAN)

    class Crash(BaseException):
        pass

    def crash(staged: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("hexcursion.bundle.write.Staged.place", crash)
        with pytest.raises(Crash):
            hexcursion.publish(planned, tmp_path / "atlas")
    assert kinds().count("commit") == 1
    assert not (tmp_path / "atlas").exists()
    other = village(seed=4)
    hexcursion.release(other, **PLAN, out=tmp_path / "other")
    assert len(hexcursion.open_atlas(tmp_path / "atlas")) == 3
    assert kinds().count("reserve") == kinds().count("commit") == 2


def test_a_crash_in_the_draw_leaves_a_charge_and_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = hexcursion.plan(village(), **PLAN)

    def broken(*_: Any) -> None:
        raise OSError("no bits")

    with monkeypatch.context() as patch:
        patch.setattr(transaction, "draw_release", broken)
        with pytest.raises(Unreleased):
            hexcursion.publish(planned, tmp_path / "atlas")
    assert kinds() == ["reserve", "draw"]
    assert not (tmp_path / "atlas").exists()


def test_layers_drawn_as_the_second_turns_are_one_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Turning:
        """A clock that goes on by a second at each look."""

        seconds = count()

        @classmethod
        def now(cls, _: Any) -> datetime:
            return datetime(2026, 11, 29, 12, 0, next(cls.seconds) % 60, tzinfo=UTC)

    monkeypatch.setattr(transaction, "datetime", Turning)
    made = hexcursion.release(village(), **PLAN, out=tmp_path / "atlas")
    assert len({layer.statement["release"]["created"] for layer in made.values()}) == 1
    assert next(Turning.seconds) == 2  # of a trial and of the release


def test_a_plan_is_published_once(tmp_path: Path) -> None:
    planned = hexcursion.plan(village(), **PLAN, budget=10.0)
    hexcursion.publish(planned, tmp_path / "one")
    with pytest.raises(WorkflowError):
        hexcursion.publish(planned, tmp_path / "two")
    assert kinds().count("reserve") == 1


def parts(folder: Path, frame: pandas.DataFrame, **said: Any) -> list[Any]:
    path = str(written(folder, frame))
    return [
        load_source(
            SourceSettings(path, value=name, x="lon", y="lat", equal_rows="each", decimal=".", **said),
            "ug/m3",
        )[0]
        for name in COLUMNS
    ]


def test_rows_are_joined_by_their_place_in_the_file(tmp_path: Path) -> None:
    frame = gaps(village(50))
    records, value = joined(parts(tmp_path, frame))
    assert np.array_equal(value, frame[list(COLUMNS)].to_numpy(), equal_nan=True)
    assert np.array_equal(records.x, frame["lon"].to_numpy())


def test_one_identifier_is_one_record_whatever_its_rows_hold(tmp_path: Path) -> None:
    """A person whose values stand in three rows has one vector, and so one price."""
    frame = village(30).assign(who=[f"p{at // 3}" for at in range(30)])
    for at, name in enumerate(COLUMNS):
        frame.loc[frame.index % 3 != at, name] = np.nan
    records, value = joined(parts(tmp_path, frame, identifier="who"))
    assert records.size == 10
    assert not np.isnan(value).any()


def test_rows_that_are_equal_in_all_columns_count_once(tmp_path: Path) -> None:
    frame = village()
    twice = pandas.concat([frame, frame.iloc[:40], frame.iloc[40:80].assign(pm=11.5)])
    one = hexcursion.plan(frame, **PLAN)
    with pytest.warns(hexcursion.CuratorWarning, match="40 dropped: equal to an earlier row in place"):
        both = hexcursion.plan(twice, **PLAN)
    each = hexcursion.plan(twice, **PLAN, equal_rows="each")
    found = [planned.plan.privacy.n for planned in (one, both, each)]
    assert [found[1] - found[0], found[2] - found[1]] == [34, 35]  # of 40 each, those in the area


def test_the_settings_that_the_app_will_hold_are_taken_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, village())
    settings = any_settings(tomllib.loads(FILE.format(path=path)))
    planned = hexcursion.plan(settings)
    assert planned.plan.privacy.n == 614


def test_what_is_read_of_each_column_is_told(tmp_path: Path) -> None:
    frame = village()
    frame["o3"] = frame["o3"].astype(object)
    frame.loc[3, "o3"] = "high"
    frame = frame.assign(pm=frame["pm"].where(np.arange(len(frame)) != 9, 4_000_000.0))
    planned = hexcursion.plan(str(written(tmp_path, frame)), **PLAN, gaps=True)
    told = " ".join(planned.plan.project.private.sentences())
    assert "o3: 1 row without a value." in told
    assert "o3: Values that were not read: " in told
    assert "A number in column 'pm' lies far from all others" in told
