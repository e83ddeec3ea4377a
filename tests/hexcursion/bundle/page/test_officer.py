"""The text for a data protection officer: its numbers are the statement's, its markup is its own."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from geo import Domain
from hexcursion.bundle.page.officer import NO_ADVICE, officer_text
from hexcursion.bundle.write import bundle_contents
from hexcursion.cli.main import build_parser
from tests.hexcursion.bundle.bundle_samples import small_domain
from tests.hexcursion.bundle.spectral_samples import spectral_release


@pytest.fixture(scope="module")
def domain() -> Domain:
    return small_domain()


@pytest.fixture(scope="module")
def statement(domain: Domain) -> dict[str, Any]:
    contents = bundle_contents(spectral_release(domain, public_mean=False))
    return dict(json.loads(contents["statement.json"]))


def test_the_numbers_are_those_of_the_statement(statement: dict[str, Any]) -> None:
    """mu 2: epsilon 9.998 at 1e-5, and the best guess is right with a chance of Phi(1) = .8414."""
    text = officer_text(statement)
    assert "with epsilon 9.998 and delta 1e-5" in text
    assert "right at most 85 times in 100" in text
    assert "Values below £120,600 count as that, values above £1,329,000 as that." in text
    assert text.endswith(f"{NO_ADVICE}\n")


def test_what_does_not_hold_is_not_said(statement: dict[str, Any]) -> None:
    changed = deepcopy(statement)
    changed["guarantee"]["delta"] = 1e-3  # n is 2,000
    changed["tuning"]["accounted"] = False
    changed["release"]["simulation"] = True
    text = officer_text(changed)
    assert "times in 100 after" not in text
    assert "no bound on a guess is given" in text
    assert "number of times in 100" not in text
    assert text.count("No bound on a guess about one record") == 2
    assert "The promise does not cover that look" in text
    assert "It protects nobody" in text


def test_texts_of_a_bundle_are_no_markup(statement: dict[str, Any]) -> None:
    changed = deepcopy(statement)
    changed["subject"]["value"] = "<b>x</b>\n# y [z](https://a.example)"
    text = officer_text(changed)
    assert "\\<b\\>x\\</b\\> \\# y \\[z\\](https://a.example)" in text
    assert "\n# y" not in text


def test_the_command_prints_or_writes(
    domain: Domain, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bundle"
    folder.mkdir()
    for name, content in bundle_contents(spectral_release(domain)).items():
        (folder / name).write_bytes(content)
    for more in ([], ["--out", str(tmp_path / "officer.md")]):
        options = build_parser("explain").parse_args(["explain", str(folder), *more])
        assert options.run(options) == 0
    printed = capsys.readouterr().out
    written = (tmp_path / "officer.md").read_text(encoding="utf-8")
    assert written.startswith("# For the data protection officer: ")
    assert printed.startswith(written)
