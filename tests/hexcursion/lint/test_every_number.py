"""Every number and sentence of a statement, changed one at a time: what is accepted is a list of reasons."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, get_args

import pytest

import hexcursion
from dpgp_core.accounting.composition import epsilon
from dpgp_core.accounting.guarantee import group_epsilon
from dpgp_core.mechanisms.base import SearchSpace
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.numbers import upper
from hexcursion.bundle import BundleError, layout
from hexcursion.bundle.again import doubts
from hexcursion.bundle.atlas.read import atlas_doubts, atlas_facts, atlas_from_contents
from hexcursion.bundle.atlas.statement import check_atlas_statement, fold, layer_names, unfold
from hexcursion.bundle.layout import contents_of, sums_text, zip_bytes_to
from hexcursion.bundle.page.papers import readme_text
from hexcursion.bundle.published.bundle_store import page_of
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement import guarantee
from hexcursion.bundle.statement.build import facts
from hexcursion.bundle.statement.build import following as evaluated
from hexcursion.bundle.statement.designs import design_from, values_of
from hexcursion.bundle.statement.expected import expected_words, verdict_words
from hexcursion.bundle.statement.guarantee import stated_cost, with_words
from hexcursion.bundle.statement.promise import says_nothing
from hexcursion.bundle.statement.receipt_check import publishers_own, receipt_following
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.cli.main import main
from hexcursion.settings.names import TuningKind
from tests.hexcursion.atlas.village import PLAN, village
from tests.hexcursion.releasing.leaving import rows_of, written
from tests.hexcursion.releasing.test_taint import EVERY_DAY, ROWS, SERVED, Case, owned
from tests.remembered import once

Statement = dict[str, Any]
Place = tuple[str | int, ...]

CASES = {case.mechanism: case for case in reversed([*EVERY_DAY, *reversed(SERVED)])}
OF_OWNERS = "spectral-statistics of owners"
CASES[OF_OWNERS] = Case("spectral-statistics", reference=False)
HIDING = "spectral-statistics that hides the number of records"
CASES[HIDING] = Case("spectral-statistics", relation="add-or-remove")
OWNERS = ("--owner", "station", "--records-per-owner", "4", "--time", "when")
OFTEN = ("spectral-statistics", "noisy-cell-statistics")
STEP = 97  # every so many of a curve's values

NAMED = "the curator's own words or names, and pages quote them as such"
SEEN = "nobody but the curator saw it: which records, which random numbers, which machine"
COUNTED = "how many rows of an owner were used, no file shows: papers say whose word it is, and price it"
BEFOREHAND = "simulated by the curator before the draw, on data that do not leave"
READ_BY = "by it noise is read, not drawn; where it has a price, that is proved anew"
WORDS = {
    "release.id": NAMED, "release.created": NAMED, "release.title": NAMED, "subject.value": NAMED,
    "subject.unit": NAMED, "subject.domain.origin": NAMED, "guarantee.unit_word": NAMED,
    "response.origin": NAMED, "tuning.detail": NAMED, "software.name": NAMED,
    "software.version": "a name as well: it makes no check milder, which the file of the schema alone does",
    "evaluation.*": NAMED, "release.generated": SEEN, "release.simulation": SEEN, "tuning.kind": SEEN,
    "guarantee.n": "the number of records is counted by the curator alone; what it costs is proved anew",
    "guarantee.owner.records": COUNTED, "guarantee.owner.apart": COUNTED, "guarantee.owner.word": NAMED,
    "ledger.entry": "the seal of a ledger that stays in the house",
    "receipt.Ledger": "what earlier releases cost, the ledger knows: it is never more than all together",
    "expected.*": BEFOREHAND, "design.*": READ_BY, "layers.*.title": NAMED,
    "layers.*.receipt.*.at": "the order of the lines",
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


CLOSE = 0.02
"""How far a told chance may lie from what another machine computes anew: a few replicates may tie there."""


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
    values = values_of(design_from(statement["design"]))
    statement["guarantee"] = with_words(statement["guarantee"], values=values)
    few = says_nothing(statement)
    for name, words in (("expected", partial(expected_words, too_few=few)), ("told", verdict_words)):
        if statement.get(name):
            statement[name]["in_words"] = words(statement[name])
    statement["evaluation"].update(evaluated(statement))
    lines = iter(receipt_following(statement))
    made = {line.topic for line in receipt_following(statement)}
    statement["receipt"] = [
        asdict(next(lines)) if line["topic"] in made else line for line in statement["receipt"]
    ]
    return statement


def atlas_told_anew(whole: Statement) -> Statement:
    """The same of an atlas, whose layers are told one by one."""
    layers = [told_anew(unfold(whole, number)) for number in range(len(whole["layers"]))]
    return fold(layers, layer_names(whole), whole["release"]["title"], whole.get("derived", ()))


def with_statement(contents: dict[str, bytes], statement: Statement) -> dict[str, bytes]:
    """A bundle with another statement, its layers and checksums as a careful forger makes them."""
    files = {**contents, layout.STATEMENT: json.dumps(statement).encode()}
    of_layer = (layout.CELLS, layout.REGIONS)
    if "layers" in statement:
        told = {layout.BOUNDARY: atlas_facts(statement)}
        for number in range(len(statement["layers"])):
            own = facts(unfold(statement, number))
            told |= {layout.of_layer(name, number + 1): own for name in of_layer}
    else:
        told = dict.fromkeys((*of_layer, layout.BOUNDARY), facts(statement))
    for name, own in told.items():
        files[name] = json.dumps({**json.loads(files[name]), "release": own}).encode()
    del files["SHA256SUMS"]
    return {**files, "SHA256SUMS": sums_text(files).encode()}


def refused(contents: dict[str, bytes], statement: Statement) -> bool:
    """Whether a reader who does all that `lint` does refuses or doubts the bundle with another statement."""
    try:
        if "layers" in statement:
            check_atlas_statement(copy.deepcopy(statement))
            return bool(atlas_doubts(atlas_from_contents(with_statement(contents, statement))))
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
    if {"receipt", "evaluation"} & set(place):
        return
    tell = atlas_told_anew if "layers" in statement else told_anew
    try:
        anew = tell(copy.deepcopy(plain))
    except (BundleError, ArithmeticError, ValueError, TypeError, KeyError, StopIteration):
        return  # no sentence of the program's can be told of it
    if anew not in (statement, plain):
        yield anew


def name_of(statement: Statement, place: Place) -> str:
    if place[0] == "layers" and place[2] not in ("name", "title", "cutoff") and place[-1] != "at":
        return name_of(statement["layers"][int(place[1])], place[2:])
    if place[0] == "receipt":
        return f"receipt.{statement['receipt'][int(place[1])]['topic']}"
    if place[0] in ("evaluation", "expected", "design"):
        return f"{place[0]}.*"
    return ".".join("*" if isinstance(key, int) else key for key in place)


@pytest.fixture(autouse=True, scope="module")
def _priced_once() -> Iterator[None]:
    """Few changes touch the price, and that of groups is a third of a reader's work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guarantee, "group_epsilon", once(group_epsilon, 200))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes]]:
    kept: dict[str, dict[str, bytes]] = {}

    def make(mechanism: str) -> dict[str, bytes]:
        if mechanism not in kept:
            folder = tmp_path_factory.mktemp(mechanism)
            rows = owned(ROWS) if mechanism == OF_OWNERS else rows_of(400)
            more = OWNERS if mechanism == OF_OWNERS else ()
            kept[mechanism] = contents_of(bundle(folder, CASES[mechanism], rows, *more))
        return kept[mechanism]

    return make


def bundle(folder: Path, case: Case, rows: Sequence[Any] | None = None, *more: str) -> Path:
    by_hand = MECHANISMS[case.mechanism].space.given is not SearchSpace.given
    given = ("--lengthscale", "3000", "--ridge", "20") if by_hand else ()
    private = str(written(folder / "private.csv", rows_of(400) if rows is None else rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXCURSION_HOME", str(folder / "home"))
        patch.setenv("HEXCURSION_WITNESS", str(folder / "witness"))
        out = ["--out", str(folder / "bundle")]
        assert main(["release", "--data", private, *case.options(folder, *given, *more), *out]) == 0
    return folder / "bundle"


def daily(*names: str) -> list[Any]:
    """All mechanisms: those of these names every day, the others in CI."""
    return [pytest.param(name, marks=[] if name in names else pytest.mark.slow) for name in MECHANISMS]


@pytest.mark.parametrize("mechanism", daily(OFTEN[0]))
def test_what_is_accepted_of_a_changed_statement_is_listed(
    made: Callable[[str], dict[str, bytes]], mechanism: str
) -> None:
    accepted = accepted_of(made(mechanism))
    assert set(accepted) <= {*WORDS, *WEAKER}
    assert {name for name in accepted if name in WEAKER and any(accepted[name])} == set()
    assert {"release.title", "guarantee.n", "tuning.kind", "ledger.entry"} <= set(accepted)


ABSENT = {
    "design.*": "what it is without a statement of it is public, and its price is proved anew",
}
"""What may be left out of a statement: the reason why nothing is hidden by it."""


def blocks(value: Any, place: Place = ()) -> Iterator[Place]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if place[-1:] not in (("orders",), ("values",)) or not int(key) % STEP:
            yield (*place, key)
            yield from blocks(part, (*place, key))


def without(statement: Statement, place: Place) -> Iterator[Statement]:
    """A statement without one block or line, and the same told anew."""
    less = copy.deepcopy(statement)
    part: Any = less
    for key in place[:-1]:
        part = part[key]
    del part[place[-1]]
    yield less
    try:
        yield told_anew(copy.deepcopy(less))
    except (BundleError, ArithmeticError, ValueError, LookupError, TypeError, StopIteration):
        return  # no sentence of the program's can be told of it


LEFT_OUT = [OF_OWNERS, *daily(), pytest.param(HIDING, marks=pytest.mark.slow)]
"""Of an owner's release there is a line or block more than of one without."""


@pytest.mark.parametrize("mechanism", LEFT_OUT)
def test_what_may_be_left_out_of_a_statement_is_listed(
    made: Callable[[str], dict[str, bytes]], mechanism: str
) -> None:
    contents = made(mechanism)
    statement = json.loads(contents[layout.STATEMENT])
    assert mechanism != HIDING or "exchange_mu" in statement["guarantee"]["cost"]
    assert mechanism != OF_OWNERS or "owner" in statement["guarantee"]
    found = {
        name_of(statement, place)
        for place in blocks(statement)
        if not all(refused(contents, less) for less in without(statement, place) if less != statement)
    }
    assert found <= set(ABSENT)


def as_other_unit(statement: Statement) -> Statement:
    """One reading told as a whole hexagon, or a hexagon as one reading."""
    guarantee = statement["guarantee"]
    single = guarantee["unit"] == "cell"
    guarantee["unit"], guarantee["unit_word"] = ("point", "reading") if single else ("cell", "cell")
    return told_anew(statement)


def test_the_unit_is_the_publishers_word_where_the_mechanism_serves_two(
    made: Callable[[str], dict[str, bytes]],
) -> None:
    assert MECHANISMS["noisy-cell-statistics"].protection.units == ("point",)
    for mechanism, stops in (("noisy-cell-statistics", True), ("posterior-sampling", False)):
        contents = made(mechanism)
        statement = json.loads(contents[layout.STATEMENT])
        assert refused(contents, as_other_unit(copy.deepcopy(statement))) == stops
    forged = with_statement(contents, as_other_unit(copy.deepcopy(statement)))
    for files, record in ((contents, "the median of one hexagon"), (forged, "one reading")):
        read = bundle_from_contents(files)
        (line,) = [line for line in read.statement["receipt"] if line["topic"] == "Unit of protection"]
        assert publishers_own(line, read.statement)
        said = f"That a record is {record}: the publisher's own words, which no program checks."
        texts = [read.label_html, page_of(read).decode(), readme_text(read.statement, read.published)]
        assert [said in " ".join(unescape(text).split()) for text in texts] == [True, True, True]


TWO = {**PLAN, "value": ["no2", "pm"], "derived": [["both", "no2", "pm"], ["ratio", "no2", "pm", 2.0]]}
for _name in ("threshold", "centre", "clip"):
    TWO[_name] = {column: PLAN[_name][column] for column in TWO["value"]}


@pytest.mark.slow
def test_what_is_accepted_of_a_changed_statement_of_an_atlas_is_listed(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXCURSION_HOME", str(tmp_path / "home"))
        patch.setenv("HEXCURSION_WITNESS", str(tmp_path / "witness"))
        hexcursion.release(village(), **TWO, out=tmp_path / "atlas")
    accepted = accepted_of(contents_of(tmp_path / "atlas"))
    assert set(accepted) <= {*WORDS, *WEAKER}
    assert "layers.*.name" not in accepted
    assert {name for name in accepted if name in WEAKER and any(accepted[name])} == set()
    assert {"release.title", "layers.*.title", "tuning.kind", "ledger.entry"} <= set(accepted)


def accepted_of(contents: dict[str, bytes], within: Place = ()) -> dict[str, list[bool]]:
    """What may be changed of a statement or a part of it, by name, and whether a number became smaller."""
    statement = json.loads(contents[layout.STATEMENT])
    assert not refused(contents, statement)
    accepted: dict[str, list[bool]] = {}
    for place, value in leaves(statement):
        if place[: len(within)] != within:
            continue
        if place[0] == "layers" and place[1] != 1:
            continue  # what holds for one layer holds for all
        if place[-2:-1] in (("orders",), ("values",)) and int(place[-1]) % STEP:
            continue
        name = name_of(statement, place)
        if len(accepted.get(name, ())) > 2 and name in WORDS:
            continue
        for other in others(place, value):
            drawn = place[0] == "layers" and place[2:4] in (("told", "map"), ("told", "model"))
            near = drawn and isinstance(value, float) and abs(other - value) <= CLOSE
            forged = changed(statement, place, other) if other != value and not near else ()
            if not all(refused(contents, each) for each in forged):
                pure = name.endswith("groups.*.delta") and "pure_epsilon" in statement["guarantee"]["cost"]
                smaller = isinstance(value, float) and isinstance(other, float) and other < value
                accepted.setdefault(name, []).append(smaller and not pure)
    return accepted


HIDE_PUBLIC_PLACES = {"noisy-cell-statistics", "convcnp", "sparse-gp"}
"""Mechanisms whose noise hides places at the price of values, also where places are said to be public."""


@pytest.mark.parametrize("mechanism", daily(*OFTEN))
def test_places_are_said_to_be_hidden_only_where_the_noise_hides_them(tmp_path: Path, mechanism: str) -> None:
    """A release of public places, told as one of private ones: price, sums or law betray it.

    Where they do not, the claim is true of what was drawn: an exchange of places is proved to cost as much.
    That the design was chosen without the places is the publisher's word, like the line "Tuning".
    """
    contents = contents_of(bundle(tmp_path, Case(mechanism, places_public=True)))
    statement = json.loads(contents[layout.STATEMENT])
    guarantee = statement["guarantee"]
    assert (guarantee["protects"], guarantee["cost"]["neighbours"]) == ("values", "values-only")
    guarantee["protects"] = "values and places"
    for cost in (guarantee["cost"], *guarantee["cost"].get("parts", ())):
        cost["neighbours"] = "replace-one"
    statement["receipt"] = [line for line in statement["receipt"] if line["topic"] != "Places"]
    assert refused(contents, told_anew(statement)) == (mechanism not in HIDE_PUBLIC_PLACES)
    (line,) = [line for line in statement["receipt"] if line["topic"] == "Tuning"]
    assert publishers_own(line, statement)


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


@pytest.mark.parametrize("mechanism", daily(*(name for name in MECHANISMS if name != "convcnp")))
def test_a_tenth_of_all_that_a_release_costs_is_no_cost_of_it(
    made: Callable[[str], dict[str, bytes]], mechanism: str
) -> None:
    contents = made(mechanism)
    statement = json.loads(contents[layout.STATEMENT])
    forged = a_tenth(copy.deepcopy(statement))
    assert forged["guarantee"]["epsilon"] < 0.3 * statement["guarantee"]["epsilon"]
    assert refused(contents, forged)


def of_fewer(statement: Statement, records: int, share: float) -> Statement:
    """Told as if of each owner so many records were used, at a share of the price."""
    guarantee, cost = statement["guarantee"], statement["guarantee"]["cost"]
    guarantee["owner"]["records"] = records
    cost["gaussian_mu"] *= share
    guarantee["curve"]["values"] = [share * share * value for value in guarantee["curve"]["values"]]
    made = stated_cost(guarantee)
    guarantee |= {"epsilon": epsilon(made, guarantee["delta"]).epsilon, "order": None}
    for line in guarantee["groups"]:
        line["epsilon"] = group_epsilon(made, line["records"], line["delta"]).epsilon
    for line in statement["receipt"]:
        if line["topic"] == "Ledger":
            after = upper(guarantee["epsilon"])
            line["text"] = f"All releases of these records: epsilon 0 before, {after} after this one."
        if line["topic"] == "Budget":
            line["text"] = f"epsilon {upper(guarantee['epsilon'])} in total, 0 left."
    return told_anew(statement)


def test_how_many_records_an_owner_has_is_the_publishers_word_and_its_price_is_not(
    made: Callable[[str], dict[str, bytes]],
) -> None:
    """Four of each are used. That one is used can be said of the same files: they show no owners."""
    contents = made(OF_OWNERS)
    statement = json.loads(contents[layout.STATEMENT])
    assert statement["guarantee"]["owner"]["records"] == 4
    accepted = set(accepted_of(contents, ("guarantee", "owner")))
    assert {"guarantee.owner.records"} <= accepted <= set(WORDS)
    for records, share, stops in ((4, 0.99, True), (2, 0.49, True), (1, 0.24, True), (1, 0.2501, False)):
        assert refused(contents, of_fewer(copy.deepcopy(statement), records, share)) == stops
    forged = with_statement(contents, of_fewer(copy.deepcopy(statement), 1, 0.2501))
    for files, used in ((contents, "4 rows"), (forged, "1 row")):
        read = bundle_from_contents(files)
        (line,) = [line for line in read.statement["receipt"] if line["topic"] == "Owner"]
        assert publishers_own(line, read.statement)
        said = f"That at most {used} of each sensor were used: the publisher's own words, which no program"
        texts = [read.label_html, page_of(read).decode(), readme_text(read.statement, read.published)]
        assert [said in " ".join(unescape(text).split()) for text in texts] == [True, True, True]


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
