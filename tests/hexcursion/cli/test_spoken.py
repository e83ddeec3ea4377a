"""What the main job hands on and says, with stand-ins for what it calls: each call and line in full."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data_loaders.lucas_county import SALES
from hexcursion.bundle import BundleError
from hexcursion.cli import run
from hexcursion.cli.main import build_parser
from hexcursion.comparing.own_records import OwnRecords
from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings

MAIN = sys.modules["hexcursion.cli.main"]
SETTINGS = ReleaseSettings(
    data=SourceSettings("/a.csv", value="v", x="x", y="y", crs="EPSG:4326"),
    threshold=5.0,
    bbox=(0.0, 51.0, 0.1, 51.1),
)


class Calls(list[Any]):
    """Writes down what is called, and answers."""

    def taking(self, name: str, answer: Any = None) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            self.append((name, given, named))
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return call


@pytest.fixture
def calls() -> Calls:
    return Calls()


def words(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def line(topic: str, text: str, warning: bool = False) -> Any:
    return SimpleNamespace(topic=topic, text=text, warning=warning)


@pytest.fixture
def planned(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A plan that is made and published without a computation."""
    plan = SimpleNamespace(
        receipt=(line("Unit", "One record."), line("Promise", "Weaker.", True)),
        preview=SimpleNamespace(standing=None, alike=()),
        choice=SimpleNamespace(expected="expected"),
        project="project",
    )
    made = SimpleNamespace(plan=plan, tuned="tuned", check=calls.taking("check"))
    done = SimpleNamespace(
        release=SimpleNamespace(release_id="0123"), folder=Path("/o/new"), archive=Path("/o/new.zip")
    )
    bundle = SimpleNamespace(statement="statement", published="published")
    for name, answer in (
        ("plan_settings", made),
        ("publish_planned", done),
        ("read_bundle", bundle),
        ("weak", False),
        ("how_right", ["Nine in ten."]),
        ("_sign", None),
        ("_print_baseline", None),
        ("_print_remedies", None),
    ):
        monkeypatch.setattr(run, name, calls.taking(name, answer))
    made.done, made.bundle = done, bundle
    return made


def test_who_stops_after_the_release_is_told_that_it_stands(
    planned: Any, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It used to say that nothing was released, beside a bundle and a charge."""
    monkeypatch.setattr(run, "read_bundle", calls.taking("read", KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as stopped:
        run._release(SETTINGS, tmp_path / "new", None, False, False)
    assert stopped.value.__notes__ == ["The release 0123 is charged; its bundle is in /o/new."]


RECEIPT = ("", "Receipt", "  Unit     One record.", "! Promise  Weaker.")


@pytest.mark.parametrize("weak", [False, True])
def test_a_dry_run_checks_and_publishes_nothing(
    planned: Any,
    calls: Calls,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    weak: bool,
) -> None:
    monkeypatch.setattr(run, "weak", calls.taking("weak", weak))
    assert run._release(SETTINGS, Path("/nowhere/there"), None, True, True) == 0
    assert [name for name, _, _ in calls] == [
        *("plan_settings", "check", "weak"),
        *(["_print_remedies"] if weak else []),
    ]
    assert calls[0][2]["pay"] is False
    assert calls[2][1] == ("expected",)
    assert capsys.readouterr().out == words(
        *RECEIPT, "", "Dry run: nothing was drawn or charged. The ledger would accept it now."
    )


def test_a_bundle_or_its_zip_that_is_there_stops_a_release_before_anything(
    planned: Any, calls: Calls, tmp_path: Path
) -> None:
    (tmp_path / "new.zip").touch()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    for name in ("new", "old"):
        with pytest.raises(WorkflowError, match="exists already"):
            run._release(SETTINGS, tmp_path / name, None, False, False)
    assert calls == []


def asked(*given: str) -> argparse.Namespace:
    return build_parser().parse_args(["release", "--data", "x.csv", "--threshold", "30", *given])


def test_the_demo_is_the_shipped_sales_with_a_ledger_of_its_own(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_release", calls.taking("release", 0))
    monkeypatch.setattr(run, "ledger_to_plan", calls.taking("ledger"))
    for name, more in (("a", []), ("b", ["--epsilon", "2", "--ledger", "other.sqlite"])):
        run.run_demo(build_parser().parse_args(["demo", "--out", str(tmp_path / name), *more]))
    (_, first, _), (ledger, place, _), (_, second, _) = calls
    assert (first[0].epsilon, second[0].epsilon) == (1.0, 2.0)
    assert Path(first[0].data.path) == SALES
    assert first[1:] == (tmp_path / "a" / "bundle", str(tmp_path / "a" / "ledger.sqlite"), False, True)
    assert second[1:] == (tmp_path / "b" / "bundle", "other.sqlite", False, True)
    assert (ledger, place) == ("ledger", ("other.sqlite",))


@pytest.mark.parametrize("begun", [False, True])
def test_a_demo_that_fails_leaves_its_folder_only_where_something_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    def fail(settings: object, out: Path, *given: object) -> int:
        if begun:
            (out.parent / "ledger.sqlite").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_release", fail)
    with pytest.raises(KeyboardInterrupt):
        run.run_demo(build_parser().parse_args(["demo", "--out", str(tmp_path / "new")]))
    assert (tmp_path / "new").exists() is begun


def tuned(few: str = "", **changes: Any) -> Any:
    def figures(at: float) -> Any:
        known = {"agreement": at / 10, "judged_iou": at / 20, "records": at / 8, "aim_records": 0.875}
        return SimpleNamespace(effective_dimension=at, bce=at / 3, holdout_iou=math.nan, **known)

    result = SimpleNamespace(
        fixed=False,
        evaluated=1_200,
        bce_increase=0.2567,
        iou_gap=0.1234,
        unconstrained=SimpleNamespace(epsilon=math.inf, utility=figures(7.0)),
        chosen=SimpleNamespace(epsilon=1.0, utility=figures(6.0)),
    )
    for name, value in changes.items():
        setattr(result, name, value)
    return SimpleNamespace(
        result=result,
        tried_on="the reference data",
        free_agreement=0.5,
        few=few,
        remarks=lambda: ["So.", "And so."],
    )


SEARCHED = (
    "",
    "Tuned on the reference data, 1,200 designs scored",
    "                                        no privacy  this release",
    "  epsilon                                      inf             1",
    "  effective dimension                            7             6",
)


def test_what_a_search_found_is_a_table_with_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    run._print_search(tuned())
    assert capsys.readouterr().out == words(
        *SEARCHED[:4],
        "  records on their right side                0.875          0.75",
        *SEARCHED[4:],
        "  held-out BCE                               2.333             2",
        "  held-out IoU                           undefined     undefined",
        "  IoU in judged hexagons                       0.7           0.3",
        "  So.",
        "  And so.",
        "  BCE increase 25.7 %, IoU gap 12.3 %",
    )
    run._print_search(tuned(few="144 records are too few"))
    assert capsys.readouterr().out == words(
        *SEARCHED,
        "  So.",
        "  And so.",
    )
    run._print_search(tuned(iou_gap=math.nan))
    assert capsys.readouterr().out.endswith("  BCE increase 25.7 %, IoU gap undefined\n")
    run._print_search(tuned(fixed=True))
    assert capsys.readouterr().out == "\nSo.\nAnd so.\n"


@pytest.mark.parametrize("lacks", [False, True])
def test_remedies_are_said_as_they_are_tried(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lacks: bool
) -> None:
    def tries(project: object, tuned: object, report: object) -> Any:
        calls.append((project, tuned, report))
        yield SimpleNamespace(
            remedy=SimpleNamespace(label="Coarser", flags="--resolution 7"),
            says="0.7",
            loses="; leaves 5 rows",
        )
        raise KeyboardInterrupt

    listener: Any = SimpleNamespace(project=None, tuned=None)
    run._print_remedies(listener)
    assert capsys.readouterr() == ("", "")
    listener = SimpleNamespace(project=SimpleNamespace(settings="s"), tuned="tuned")
    monkeypatch.setattr(run, "try_remedies", tries)
    monkeypatch.setattr(run, "lacks_reference", lambda settings: lacks)
    run._print_remedies(listener)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == words(
        "",
        "What helps, tried in simulation: nothing is drawn or charged (Ctrl-C leaves the rest out)",
        "  Coarser (--resolution 7): 0.7; leaves 5 rows.",
        *([f"  {run.REFERENCE} (--reference FILE)."] if lacks else []),
    )
    assert calls == [(listener.project, "tuned", run.progress)]


@pytest.mark.parametrize("free", [None, 0.5])
def test_a_baseline_is_for_the_curator_alone(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], free: float | None
) -> None:
    both = np.array([True, True])
    monkeypatch.setattr(run, "curators_map", lambda project, model, cut: SimpleNamespace(inside=both))
    monkeypatch.setattr(run, "free_map", lambda project, model: both)
    judged = np.array([True, False])
    shown = {(False, False): 0.81, (True, False): 0.62}
    monkeypatch.setattr(run, "compare", lambda one, other: SimpleNamespace(iou=shown[tuple(one.tolist())]))
    own = OwnRecords(4_206, 0.5, 0.59, 0.79, None if free is None else 0.78)
    monkeypatch.setattr(run, "own_records", lambda project, products, public: own)
    bundle: Any = SimpleNamespace(published=SimpleNamespace(in_set=~judged & judged, judged=judged))
    run._print_baseline(
        "project",  # type: ignore[arg-type]
        SimpleNamespace(  # type: ignore[arg-type]
            result=SimpleNamespace(model="m"), choice=SimpleNamespace(cut=None), free_agreement=free
        ),
        bundle,
    )
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == words(
        "",
        "Curator only, do not publish:",
        f"  {own.words}",
        f"  {own.advice}",
        "  IoU of the released set with the non-private baseline  0.81",
        *(["  IoU of the free map (reference data only)              0.62"] if free else []),
    )


def test_what_is_private_of_a_plan_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "shared_text", lambda standing: f"{standing.shared} shared.")
    monkeypatch.setattr(run, "alike_text", lambda one: "They are alike.")
    for standing, said in (
        (None, ""),
        (SimpleNamespace(shared=0), ""),
        (SimpleNamespace(shared=2), "\nCurator only, do not publish:\n  2 shared.\n"),
    ):
        run._print_shared(SimpleNamespace(preview=SimpleNamespace(standing=standing)))  # type: ignore[arg-type]
        assert capsys.readouterr() == ("", said)
    run._print_alike([])
    assert capsys.readouterr() == ("", "")
    run._print_alike([SimpleNamespace(entry=4), SimpleNamespace(entry=7)])  # type: ignore[list-item]
    assert capsys.readouterr().err == words(
        "",
        "Curator only, do not publish:",
        "! They are alike. --same-records-as 4 does that.",
        "! They are alike. --same-records-as 7 does that.",
    )


def test_what_was_read_and_how_long_it_takes_are_no_part_of_the_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = run._Printed()
    private = SimpleNamespace(sentences=lambda: ["5 rows.", "1 dropped."])
    project: Any = SimpleNamespace(private=private, domain=SimpleNamespace(notes=("Two parts.",)))
    listener.loaded(project)
    listener.note("About a minute.")
    assert listener.project is project
    assert capsys.readouterr() == (
        "",
        words("Curator only, do not publish:", "5 rows.", "1 dropped.", "Two parts.", "About a minute."),
    )
    seen: list[Any] = []
    monkeypatch.setattr(run, "end_progress", lambda: seen.append("ended"))
    monkeypatch.setattr(run, "_print_search", seen.append)
    found: Any = "tuned"
    listener.searched(found)
    listener.solved("ε .5 reaches it.")
    assert (seen, listener.tuned) == (["ended", "tuned"], "tuned")
    assert capsys.readouterr() == ("  ε .5 reaches it.\n", "")


def test_a_release_that_could_not_be_signed_stands_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def sign(folder: Path, key: object) -> None:
        raise BundleError("It is read-only.")

    monkeypatch.setattr(run, "sign_bundle", sign)
    done: Any = SimpleNamespace(release=SimpleNamespace(release_id="0123"), folder=Path("/o/new"))
    with pytest.raises(WorkflowError) as said:
        run._sign(done, "key")  # type: ignore[arg-type]
    assert str(said.value) == (
        "The release 0123 stands in /o/new, but it is not signed: It is read-only. Sign it with `sign`."
    )
