"""What the other commands hand on and say: sites, areas, signatures, and the options of a release."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hexcursion.cli import bundles, options
from hexcursion.cli.main import build_parser
from hexcursion.errors import WorkflowError
from tests.hexcursion.cli.test_spoken import SETTINGS, Calls, asked, words

MAIN = sys.modules["hexcursion.cli.main"]


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_areas_are_asked_with_what_was_typed_and_written_where_asked(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = SimpleNamespace(name="Town", share=0.25, low=0.1, high=0.4, covered=1.0, row=lambda: {"a": 1})
    found = (SimpleNamespace(shapes="shapes"), [answer])
    for name, value in (
        ("layer_of", "bundle"),
        ("Viewer", "viewer"),
        ("answers_from", found),
        ("write_table", None),
        ("question_words", "Shares:"),
        ("new_table", Path("t.csv")),
    ):
        monkeypatch.setattr(bundles, name, calls.taking(name, value))
    full = ["--threshold", "9", "--confidence", ".8", "--name", "id", "--out", "t.csv"]
    for more in ([], full):
        assert bundles.run_areas(build_parser().parse_args(["areas", "b", "--polygons", "p", *more])) == 0
    asked = [(given, named) for name, given, named in calls if name == "answers_from"]
    assert asked == [
        (("viewer", "p"), {"threshold": None, "confidence": 0.9, "name": ""}),
        (("viewer", "p"), {"threshold": 9.0, "confidence": 0.8, "name": "id"}),
    ]
    assert [given for name, given, _ in calls if name == "question_words"] == [
        ("viewer", [answer], None),
        ("viewer", [answer], 9.0),
    ]
    assert [given for name, given, _ in calls if name == "write_table"] == [
        (Path("t.csv"), [{"a": 1}], "shapes")
    ]
    assert capsys.readouterr().out == 2 * words("Shares:", "  Town: 25 % (10 % to 40 %)")


@pytest.mark.parametrize(
    ("typed", "again", "said"),
    [
        (["one", "one"], "Again: ", "one"),
        (["one"], "", "one"),
        (["one", "two"], "Again: ", "The two passwords differ: nothing was written."),
    ],
)
def test_a_password_is_typed_again_where_it_is_new(
    typed: list[str], again: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEXCURSION_SIGNING_PASSWORD", raising=False)
    monkeypatch.setattr(bundles.sys, "stdin", SimpleNamespace(isatty=lambda: True))
    prompts: list[str] = []
    left = iter(typed)
    monkeypatch.setattr(bundles.getpass, "getpass", lambda asked: prompts.append(asked) or next(left))
    try:
        found = bundles._password("Asked: ", again)
    except WorkflowError as error:
        found = str(error)
    assert (found, prompts) == (said, ["Asked: ", "Again: "][: len(typed)])
    monkeypatch.setattr(bundles.sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(WorkflowError, match="no terminal to ask for the password: set HEXCURSION_SIGNING"):
        bundles._password("Asked: ")
    monkeypatch.setenv("HEXCURSION_SIGNING_PASSWORD", "")
    assert bundles._password("Asked: ") == ""


@pytest.mark.parametrize(
    ("text", "read"), [("1", 1.0), ("0.01", 0.01), ("0", None), ("1.01", None), ("-1", None), ("x", None)]
)
def test_a_wanted_agreement_is_above_0_and_at_most_1(text: str, read: float | None) -> None:
    if read is not None:
        assert options.share(text) == read
        return
    with pytest.raises(argparse.ArgumentTypeError) as said:
        options.share(text)
    assert str(said.value) == f"must be a number above 0 and at most 1, not {text!r}"


@pytest.mark.parametrize(
    ("typed", "proposed", "records", "said"),
    [
        ((), True, None, "another, --records-about N chooses one for N records"),
        (("--records-about", "500"), True, 500, "another"),
        (("--resolution", "7"), False, None, ""),
        (("--config", "s.toml"), False, None, ""),
    ],
)
def test_a_resolution_is_proposed_where_nothing_says_one(
    typed: tuple[str, ...],
    proposed: bool,
    records: int | None,
    said: str,
    calls: Calls,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = SimpleNamespace(resolution=6, sentence="resolution 6 suits")
    monkeypatch.setattr(options, "propose_resolution", calls.taking("propose", found))
    given = options.with_resolution(SETTINGS, asked(*typed))
    assert given.resolution == (6 if proposed else SETTINGS.resolution)
    assert calls == ([("propose", (SETTINGS, records), {})] if proposed else [])
    told = f"By default resolution 6 suits (--resolution sets {said}).\n" if proposed else ""
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(
    ("data", "reference", "where"),
    [
        ({"path": "a.csv"}, {"where": {"year": "1"}}, {"year": "1"}),
        ({"path": "a.csv", "where": {"kind": "b"}}, {"where": {"year": "1"}}, {"kind": "b", "year": "1"}),
        ({"path": "a.csv", "where": {"year": "2"}}, {"where": {"year": "1"}}, {"year": "1"}),
        ({"path": "a.csv", "where": "much"}, {"where": {"year": "1"}}, {"year": "1"}),
        ({"path": "a.csv"}, {"where": {"year": "1"}, "path": "b.csv"}, None),
        ({"path": "a.csv"}, {"where": "year=1"}, None),
        ({"path": "a.csv"}, {}, None),
        ({"path": "a.csv"}, "b.csv", None),
        ({}, {"where": {"year": "1"}}, None),
        ("a.csv", {"where": {"year": "1"}}, None),
    ],
)
def test_filters_alone_choose_other_rows_of_the_private_file(data: Any, reference: Any, where: Any) -> None:
    values = {"data": data, "reference": reference}
    said = options._other_rows(values)
    if where is None:
        assert (said, values) == ("", {"data": data, "reference": reference})
        return
    assert values["reference"] == {"path": "a.csv", "where": where}
    listed = " ".join(f"{name}={entry}" for name, entry in where.items())
    assert said == f"The reference data are other rows of the same file: --reference-where {listed}."


def test_other_rows_lie_in_the_same_layer_unless_another_is_named() -> None:
    values: Any = {"data": {"path": "a.gpkg", "layer": "one"}, "reference": {"where": {"year": "a b"}}}
    assert options._other_rows(values).endswith(" --reference-where 'year=a b'.")
    assert values["reference"]["layer"] == "one"
    values = {"data": {"path": "a.gpkg", "layer": "one"}, "reference": {"where": {"y": "1"}, "layer": "two"}}
    options._other_rows(values)
    assert values["reference"]["layer"] == "two"
