"""Every number and sentence of a statement, changed one at a time: what is accepted is a list of reasons."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pytest

import hexcursion
from dpgp_core.accounting.composition import epsilon
from dpgp_core.accounting.guarantee import group_epsilon
from dpgp_core.mechanisms.base import SearchSpace
from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.bundle import BundleError, layout
from hexcursion.bundle.again import doubts
from hexcursion.bundle.layout import contents_of, sums_text, zip_bytes_to
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.build import facts
from hexcursion.bundle.statement.build import following as evaluated
from hexcursion.bundle.statement.expected import expected_words, told_words
from hexcursion.bundle.statement.guarantee import stated_cost, with_words
from hexcursion.bundle.statement.receipt_check import receipt_following
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.cli.main import main
from hexcursion.settings.names import TuningKind
from tests.hexcursion.releasing.leaving import rows_of, written
from tests.hexcursion.releasing.test_taint import EVERY_DAY, SERVED, Case

Statement = dict[str, Any]
Place = tuple[str | int, ...]

CASES = {case.mechanism: case for case in reversed([*EVERY_DAY, *reversed(SERVED)])}
OFTEN = ("spectral-statistics", "noisy-cell-statistics")
STEP = 97  # every so many of a curve's values

NAMED = "the curator's own words or names, and pages quote them as such"
SEEN = "nobody but the curator saw it: which records, which random numbers, which machine"
BEFOREHAND = "simulated by the curator before the draw, on data that do not leave"
READ_BY = "by it noise is read, not drawn; where it has a price, that is proved anew"
WORDS = {
    "release.id": NAMED, "release.created": NAMED, "release.title": NAMED, "subject.value": NAMED,
    "subject.unit": NAMED, "subject.domain.origin": NAMED, "guarantee.unit_word": NAMED,
    "response.origin": NAMED, "tuning.detail": NAMED, "software.name": NAMED,
    "software.version": "a name as well: it makes no check milder, which the file of the schema alone does",
    "evaluation.*": NAMED, "release.generated": SEEN, "release.simulation": SEEN, "tuning.kind": SEEN,
    "guarantee.n": "the number of records is counted by the curator alone; what it costs is proved anew",
    "ledger.entry": "the seal of a ledger that stays in the house",
    "receipt.Ledger": "what earlier releases cost, the ledger knows: it is never more than all together",
    "expected.*": BEFOREHAND, "design.*": READ_BY,
}  # fmt: skip
"""What may be changed at will: by a pattern, the reason why no reader can know better."""

WEAKER = {
    "guarantee.delta": "epsilon holds at every larger delta too",
    "guarantee.groups.*.epsilon": "a larger epsilon is true as well",
    "guarantee.groups.*.delta": "a group's epsilon holds at every larger delta, and a pure one at all",
    "guarantee.curve.values.*": "an upper bound above the proved one is one as well",
    "guarantee.cost.distance": "a larger distance promises less",
    "guarantee.cost.exchange_mu": "a larger price of an exchange promises less",
}
"""What may be made larger: the statement then promises less than is proved, which is true."""


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*place, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from leaves(part, (*place, number))
    else:
        yield place, value


def others(place: Place, value: Any) -> list[Any]:
    """Other values of a kind, the smaller ones first: each number in a sentence is one."""
    if place == ("tuning", "kind"):
        return [kind for kind in get_args(TuningKind) if kind not in (value, "not accounted")]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [max(value - 1, 0), value + 1]
    if isinstance(value, float):
        return [0.5 * value, 0.999 * value, 2.0 * value, value + 0.5]
    if value is None:
        return [2.0, 0]
    found = ["Changed.", f"{value} Changed."]
    for number in re.finditer(r"\d+(?:\.\d+)?", value):
        new = f"{0.5 * float(number[0]):.4g}" if "." in number[0] else f"{int(number[0]) + 1}"
        found.append(value[: number.start()] + new + value[number.end() :])
    return found


def told_anew(statement: Statement) -> Statement:
    """A statement with every sentence that follows from its numbers, as a careful forger tells it."""
    counted = statement["design"].get("law") in ("rate", "density")
    statement["guarantee"] = with_words(statement["guarantee"], counted=counted)
    for name, words in (("expected", expected_words), ("told", told_words)):
        if statement.get(name):
            statement[name]["in_words"] = words(statement[name])
    statement["evaluation"].update(evaluated(statement))
    lines = iter(receipt_following(statement))
    made = {line.topic for line in receipt_following(statement)}
    statement["receipt"] = [
        asdict(next(lines)) if line["topic"] in made else line for line in statement["receipt"]
    ]
    return statement


def with_statement(contents: dict[str, bytes], statement: Statement) -> dict[str, bytes]:
    """A bundle with another statement, its layers and checksums as a careful forger makes them."""
    files = {**contents, layout.STATEMENT: json.dumps(statement).encode()}
    for name in (layout.CELLS, layout.REGIONS, layout.BOUNDARY):
        files[name] = json.dumps({**json.loads(files[name]), "release": facts(statement)}).encode()
    del files["SHA256SUMS"]
    return {**files, "SHA256SUMS": sums_text(files).encode()}


def refused(contents: dict[str, bytes], statement: Statement) -> bool:
    """Whether a reader who does all that `lint` does refuses or doubts the bundle with another statement."""
    try:
        check_statement(copy.deepcopy(statement))
        return bool(doubts(bundle_from_contents(with_statement(contents, statement))))
    except BundleError:
        return True


def changed(statement: Statement, place: Place, value: Any) -> Iterator[Statement]:
    """A statement with one part changed, and with all that is said of it changed too, where that differs."""
    plain = copy.deepcopy(statement)
    part: Any = plain
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    yield plain
    if place[0] in ("receipt", "evaluation"):
        return
    try:
        anew = told_anew(copy.deepcopy(plain))
    except (BundleError, ArithmeticError, ValueError, TypeError, KeyError, StopIteration):
        return  # no sentence of the program's can be told of it
    if anew not in (statement, plain):
        yield anew


def name_of(statement: Statement, place: Place) -> str:
    if place[0] == "receipt":
        return f"receipt.{statement['receipt'][int(place[1])]['topic']}"
    if place[0] in ("evaluation", "expected", "design"):
        return f"{place[0]}.*"
    return ".".join("*" if isinstance(key, int) else key for key in place)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes]]:
    kept: dict[str, dict[str, bytes]] = {}

    def make(mechanism: str) -> dict[str, bytes]:
        if mechanism not in kept:
            folder = tmp_path_factory.mktemp(mechanism)
            kept[mechanism] = contents_of(bundle(folder, CASES[mechanism]))
        return kept[mechanism]

    return make


def bundle(folder: Path, case: Case) -> Path:
    by_hand = MECHANISMS[case.mechanism].space.given is not SearchSpace.given
    given = ("--lengthscale", "3000", "--ridge", "20") if by_hand else ()
    private = str(written(folder / "private.csv", rows_of(400)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXCURSION_HOME", str(folder / "home"))
        patch.setenv("HEXCURSION_WITNESS", str(folder / "witness"))
        out = ["--out", str(folder / "bundle")]
        assert main(["release", "--data", private, *case.options(folder, *given), *out]) == 0
    return folder / "bundle"


EVERY = [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.slow) for name in MECHANISMS]


@pytest.mark.parametrize("mechanism", EVERY)
def test_what_is_accepted_of_a_changed_statement_is_listed(
    made: Callable[[str], dict[str, bytes]], mechanism: str
) -> None:
    contents = made(mechanism)
    statement = json.loads(contents[layout.STATEMENT])
    assert not refused(contents, statement)
    accepted: dict[str, list[bool]] = {}  # by name, whether a change made a number smaller
    for place, value in leaves(statement):
        if place[-2:-1] in (("orders",), ("values",)) and int(place[-1]) % STEP:
            continue
        name = name_of(statement, place)
        if len(accepted.get(name, ())) > 2 and name in WORDS:
            continue
        for other in others(place, value):
            forged = changed(statement, place, other) if other != value else ()
            if not all(refused(contents, each) for each in forged):
                pure = name.endswith("groups.*.delta") and "pure_epsilon" in statement["guarantee"]["cost"]
                smaller = isinstance(value, float) and isinstance(other, float) and other < value
                accepted.setdefault(name, []).append(smaller and not pure)
    assert set(accepted) <= {*WORDS, *WEAKER}
    assert {name for name in accepted if name in WEAKER and any(accepted[name])} == set()
    assert {"release.title", "guarantee.n", "tuning.kind", "ledger.entry"} <= set(accepted)


def a_tenth(statement: Statement) -> Statement:
    """Curve, mu, pure epsilon and leverage at once, with the epsilon and the groups that follow from them."""
    guarantee, cost = statement["guarantee"], statement["guarantee"]["cost"]
    for name, share in {
        "gaussian_mu": 0.1,
        "exchange_mu": 0.1,
        "pure_epsilon": 0.1,
        "leverage": 0.01,
    }.items():
        if name in cost:
            cost[name] *= share
    if guarantee["curve"] is not None:
        share = 0.1 if "pure_epsilon" in cost else 0.01
        guarantee["curve"]["values"] = [share * value for value in guarantee["curve"]["values"]]
    made = stated_cost(guarantee)
    guarantee |= {"epsilon": epsilon(made, guarantee["delta"]).epsilon, "order": None}
    for line in guarantee["groups"]:
        line["epsilon"] = group_epsilon(made, line["records"], line["delta"]).epsilon
    return told_anew(statement)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_tenth_of_all_that_a_release_costs_is_no_cost_of_it(
    made: Callable[[str], dict[str, bytes]], mechanism: str
) -> None:
    contents = made(mechanism)
    statement = json.loads(contents[layout.STATEMENT])
    forged = a_tenth(copy.deepcopy(statement))
    assert forged["guarantee"]["epsilon"] < 0.3 * statement["guarantee"]["epsilon"]
    assert refused(contents, forged)


def test_whoever_opens_a_bundle_is_told(
    made: Callable[[str], dict[str, bytes]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lint` alone looked at the price of paths: the command `view`, the library and a site passed it on."""
    contents = made("posterior-sampling")
    forged = with_statement(contents, a_tenth(json.loads(contents[layout.STATEMENT])))
    for name, files in (("true", contents), ("forged", forged)):
        with (tmp_path / f"{name}.zip").open("wb") as stream:
            zip_bytes_to(stream, name, files)
    capsys.readouterr()
    for command in ("view", "lint"):
        assert main([command, str(tmp_path / "true.zip")]) == 0
        assert main([command, str(tmp_path / "forged.zip")]) == 2
        assert "smaller than what the noise of its design costs" in capsys.readouterr().err
    hexcursion.open_bundle(tmp_path / "true.zip")
    write_site([tmp_path / "true.zip"], tmp_path / "site")
    for refuse in (hexcursion.open_bundle, lambda path: write_site([path], tmp_path / "other")):
        with pytest.raises(BundleError, match="smaller than what the noise of its design costs"):
            refuse(tmp_path / "forged.zip")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_group_line_may_be_left_out(made: Callable[[str], dict[str, bytes]], number: int) -> None:
    contents = made("noisy-cell-statistics")
    statement = json.loads(contents[layout.STATEMENT])
    del statement["guarantee"]["groups"][number]
    lines = [line for line in statement["receipt"] if line["topic"] == "Group"]
    statement["receipt"].remove(lines[number])
    statement["software"]["version"] = "0.0.1"
    assert refused(contents, told_anew(statement))
