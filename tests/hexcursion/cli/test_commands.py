"""What each command needs, what it takes when nothing is said, and that it says what it does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hexcursion.cli import bundles, run
from hexcursion.cli.main import build_parser

OWN = {
    *("release", "demo", "view", "areas", "outline", "site", "compare"),
    *("key", "sign", "verify", "ledger", "lint"),
}


def commands(
    parser: argparse.ArgumentParser, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, each in action.choices.items():
                if name or word in OWN:  # others are of installed packages
                    yield f"{name} {word}".strip(), each
                    yield from commands(each, f"{name} {word}".strip())


def own(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    held = (argparse._HelpAction, argparse._SubParsersAction)
    return [action for action in parser._actions if not isinstance(action, held)]


MAIN = sys.modules["hexcursion.cli.main"]  # the package's own name of it is the function
PARSERS = dict(commands(build_parser()))


def test_every_command_says_what_it_does_and_where_to_go() -> None:
    assert set(PARSERS) >= OWN
    assert [name for name, parser in PARSERS.items() if not parser.description] == []
    for name, parser in PARSERS.items():
        has_parts = any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)
        assert has_parts or callable(parser.get_default("run")), name


@pytest.mark.parametrize("word", ["key", "ledger"])
def test_a_command_of_several_parts_needs_one(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([word])
    assert ended.value.code == 2
    assert "required" in capsys.readouterr().err


def test_a_new_password_is_asked_for_twice_and_an_old_one_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str]] = []

    def password(prompt: str, again: str = "") -> str:
        asked.append((prompt.rstrip(": "), again))
        return "a long enough password"

    monkeypatch.setattr(bundles, "_password", password)
    file = str(tmp_path / "office.key")
    assert bundles.run_key(SimpleNamespace(kind="new", file=file)) == 0  # type: ignore[arg-type]
    assert bundles.run_key(SimpleNamespace(kind="public", file=file)) == 0  # type: ignore[arg-type]
    assert asked == [
        ("New password, at least 16 characters", "The same again: "),
        (f"Password of {file}", ""),
    ]
    said = capsys.readouterr().out
    assert said.count("Public key:  ") == said.count("Fingerprint: ") == 2
    assert said.count("Keep a copy of it, and its password, apart from each other.") == 1


@pytest.mark.parametrize(
    ("covered", "said"),
    [
        (1.0, "Town: 25 % (10 % to 40 %)"),
        (0.996, "Town: 25 % (10 % to 40 %)"),
        (0.995, "Town: 25 % (10 % to 40 %); hexagons cover 100 % of it"),
        (0.5, "Town: 25 % (10 % to 40 %); hexagons cover 50 % of it"),
    ],
)
def test_an_area_is_said_with_what_of_it_is_covered(covered: float, said: str) -> None:
    answer = SimpleNamespace(name="Town", share=0.25, low=0.1, high=0.4, covered=covered)
    assert bundles.line(answer) == said  # type: ignore[arg-type]
    nothing = SimpleNamespace(name="Town", share=None, low=None, high=None, covered=0.0)
    assert bundles.line(nothing) == "Town: no hexagon of the release lies in it"  # type: ignore[arg-type]


def test_a_comparison_is_printed_after_its_progress_and_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = build_parser().parse_args(
        ["compare", "--data", "x.csv", "--threshold", "30", "--epsilons", "1", "--out", str(tmp_path / "new")]
    )
    monkeypatch.setattr(
        MAIN, "settings_from_options", lambda given: SimpleNamespace(mechanisms=("m",), executor="e")
    )
    monkeypatch.setattr(MAIN, "with_resolution", lambda settings, given: settings)
    asked: list[object] = []

    def compare(
        settings: object, names: object, epsilons: object, report: object, executor: object
    ) -> object:
        asked.append((names, epsilons, executor))
        return None, "found"

    monkeypatch.setattr(MAIN, "compare_settings", compare)
    monkeypatch.setattr(MAIN, "end_progress", lambda: print("ended"))
    for name, text in (("lines", ["one"]), ("csv_text", "a,b\n"), ("svg_text", "<svg/>")):
        monkeypatch.setattr(MAIN, name, lambda found, text=text: text)
    assert MAIN.run_compare(options) == 0
    assert asked == [((), (1.0,), ("e", None))]
    assert capsys.readouterr().out == (
        f"ended\none\n\nTable and figure in {tmp_path / 'new'}. Nothing was released or charged.\n"
    )
    assert {path.name: path.read_text() for path in (tmp_path / "new").iterdir()} == {
        "comparison.csv": "a,b\n",
        "comparison.svg": "<svg/>",
    }


@pytest.mark.parametrize(
    ("density", "out", "said"),
    [
        (None, None, []),
        (2.0, None, ["  Dense."]),
        (2.0, "f.csv", ["  Dense.", "  Written: f.csv."]),
    ],
)
def test_a_bundle_is_viewed_in_its_sentences_and_saved_where_asked(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    density: float | None,
    out: str | None,
    said: list[str],
) -> None:
    bundle = SimpleNamespace(statement={"release": {"title": "Prices"}}, signature=None)
    viewer = SimpleNamespace(
        bundle=bundle, at=lambda threshold: threshold, sentences=lambda at: ["One sentence."]
    )
    monkeypatch.setattr(run, "open_any", lambda path: bundle)
    monkeypatch.setattr(run, "Viewer", lambda given: viewer)
    monkeypatch.setattr(run.again, "doubts", lambda given: ["One doubt."])
    monkeypatch.setattr(
        run, "signers_of", lambda given: SimpleNamespace(says=lambda signature: "Signed by nobody.")
    )
    dense = SimpleNamespace(sentence="Dense.", save=lambda path: path)
    monkeypatch.setattr(run, "density_of", lambda given, above: dense)
    options = SimpleNamespace(
        bundle="b", threshold=None, density=density, out=out, signers=None, layer=None, derive=[]
    )
    assert run.run_view(options) == 0  # type: ignore[arg-type]
    first = ["Prices", "  Signed by nobody.", "! One doubt.", "  One sentence."]
    assert capsys.readouterr().out.splitlines() == [*first, *said]
