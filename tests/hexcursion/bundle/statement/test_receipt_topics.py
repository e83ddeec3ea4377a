"""The receipt's topics are a closed list, none that is needed may be missing, and none may be forged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.receipt_check import publishers_own
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.ledger.overlap import Decision
from hexcursion.ledger.sentences import OtherUnit, Standing, Stronger, account_lines
from hexcursion.promises import Protected
from hexcursion.record import Expected, ReceiptLine, Relation, Yardsticks
from hexcursion.releasing.release_guard import objections
from tests.hexcursion.bundle.bundle_samples import make_release

Statement = dict[str, Any]
NEEDED = ["Unit of protection", "Records", "Domain", "Centre", "Clip bound", "Tuning", "Mechanism", "Paths",
          "Bound", "This release", "Delta", "In words", "Group", "Computer", "Ledger", "Budget",
          "Neighbours"]  # fmt: skip


@pytest.fixture
def statement(domain: Domain) -> Statement:
    made: Statement = json.loads(json.dumps(build_statement(make_release(domain))))
    return made


def line(topic: str, text: str, warning: bool = False) -> dict[str, Any]:
    return {"topic": topic, "text": text, "warning": warning}


def another_version(statement: Statement) -> Statement:
    statement["software"]["version"] = "0.9.0"
    return statement


@pytest.mark.parametrize("topic", NEEDED)
def test_no_line_that_is_needed_may_be_missing(statement: Statement, topic: str) -> None:
    check_statement(statement)
    statement["receipt"] = [one for one in statement["receipt"] if one["topic"] != topic]
    with pytest.raises(BundleError, match=f"lacks the line '{topic}'"):
        check_statement(statement)


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The file of a schema that an earlier version wrote."""
    monkeypatch.setattr("hexcursion.bundle.statement.designs.earlier_schema", lambda rest: rest == {})
    return b"{}"


@pytest.mark.parametrize("topic", NEEDED[:13])
def test_nor_in_a_bundle_of_an_earlier_schema(statement: Statement, topic: str, earlier: bytes) -> None:
    check_statement(statement, earlier)
    statement["receipt"] = [one for one in statement["receipt"] if one["topic"] != topic]
    with pytest.raises(BundleError, match=f"lacks the line '{topic}'"):
        check_statement(statement, earlier)


FORMER_GUESS = (
    "Someone who gave a claim about that sale even odds and sees what is published guesses right with a "
    "chance of at most {}."
)
FORMER_AREA = "Facts about the whole area that remain the same whichever single record is exchanged."


@pytest.mark.parametrize("refusals", [True, False])
def test_bundles_of_former_words_stay_readable_and_speak_in_todays(
    statement: Statement, earlier: bytes, refusals: bool
) -> None:
    """They gave the chance of a guess in per cent; the oldest do not say that a refusal tells of a record."""
    guarantee = statement["guarantee"]
    said, hidden = guarantee["in_words"], list(guarantee["not_protected"])
    assert said.endswith(" A 50:50 guess about one sale becomes at most 92:8.")
    assert hidden[-3:] == [
        "It does not hide what is true of the area as a whole.",
        "That some records were in an earlier release: receipt and budget tell it.",
        "That a record had a map refused: the only one in the area, one without a logarithm, an identifier "
        "used twice, one too many left out.",
    ]
    first = said.removesuffix("A 50:50 guess about one sale becomes at most 92:8.")
    guarantee["in_words"] = first + FORMER_GUESS.format("91.7 %")
    guarantee["not_protected"][-3] = FORMER_AREA
    if not refusals:
        del guarantee["not_protected"][-2:]
    read = check_statement(statement, earlier)["guarantee"]
    assert (read["in_words"], read["not_protected"]) == (said, hidden)
    with pytest.raises(BundleError, match="words do not follow from its numbers: in_words"):
        check_statement(statement)
    guarantee["in_words"] = first + FORMER_GUESS.format("51 %")
    with pytest.raises(BundleError, match="words do not follow from its numbers: in_words"):
        check_statement(statement, earlier)


@pytest.mark.parametrize("topic", NEEDED)
def test_an_unknown_version_is_no_way_around(statement: Statement, topic: str) -> None:
    """The version is its publisher's word; the file of the schema is one of a closed list."""
    check_statement(another_version(statement))
    statement["receipt"] = [one for one in statement["receipt"] if one["topic"] != topic]
    with pytest.raises(BundleError, match=f"lacks the line '{topic}'"):
        check_statement(statement)


SPENT = "All releases of these records: epsilon {} before, {} after this one."


def rewritten(topic: str, text: str) -> Callable[[list[dict[str, Any]]], None]:
    def write(receipt: list[dict[str, Any]]) -> None:
        receipt[[each["topic"] for each in receipt].index(topic)]["text"] = text

    return write


FORGED: dict[str, tuple[Callable[[list[dict[str, Any]]], None], str]] = {
    "less after than before": (rewritten("Ledger", SPENT.format(5, 4)), "'Ledger' does not follow"),
    "less after than this one costs": (rewritten("Ledger", SPENT.format(0, 2)), "'Ledger' does not follow"),
    "more left than is": (rewritten("Budget", "epsilon 4 in total, 3 left."), "'Budget' does not follow"),
    "less left than is": (
        rewritten("Budget", "epsilon 40 in total, 1.075 left."),
        "'Budget' does not follow",
    ),
    "an unknown topic": (lambda r: r.append(line("Audit", "Certified by the state.")), "a line 'Audit'"),
    "a topic in other letters": (lambda r: r.append(line("ledger", "Checked.")), "a line 'ledger'"),
    "a ledger's praise": (
        lambda r: r[[one["topic"] for one in r].index("Ledger")].update(text="Nothing was ever spent."),
        "'Ledger' does not follow",
    ),
    "a second ledger": (
        lambda r: r.append(next(one for one in r if one["topic"] == "Ledger")),
        "says twice",
    ),
    "a second number of records": (
        lambda r: r.append(line("Records", "5 sales; this number is not public.")),
        "'Records' does not follow",
    ),
    "another domain": (lambda r: r[2].update(text="The whole Earth."), "'Domain' does not follow"),
    "a warning taken back": (lambda r: r[0].update(warning=True), "'Unit of protection' does not follow"),
    "over budget without a warning": (
        lambda r: [
            one.update(text="epsilon 4 in total, over budget.") for one in r if one["topic"] == "Budget"
        ],
        "'Budget' does not follow",
    ),
    "a smaller epsilon at a smaller delta": (
        lambda r: [one.update(text=one["text"].replace("2.925", "1.925")) for one in r],
        "'Delta' does not follow",
    ),
    "a sentence behind a known one": (
        lambda r: r.append(line("Orders", "The best Renyi order is right. Certified.")),
        "'Orders' does not follow",
    ),
    "other neighbours": (
        lambda r: r[[one["topic"] for one in r].index("Neighbours")].update(text="Any two."),
        "'Neighbours' does not follow",
    ),
    "a whole owner for free": (
        lambda r: r.append(
            line(
                "Owner",
                "Used of each sensor: at most 2 readings, by a public rule that "
                "does not look at the values. A whole sensor, all its readings together: epsilon 0.1.",
            )
        ),
        "'Owner' does not follow",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_no_line_poses_as_the_programs_own(statement: Statement, name: str) -> None:
    forge, sentence = FORGED[name]
    forge(statement["receipt"])
    with pytest.raises(BundleError, match=sentence):
        check_statement(statement)


def test_what_an_earlier_version_said_is_said_anew_or_is_the_publishers(
    statement: Statement, earlier: bytes
) -> None:
    for one in statement["receipt"]:
        one["text"] = {"Records": "Nobody counts them.", "Ledger": "Nothing was spent."}.get(
            one["topic"], one["text"]
        )
    kept = [one for one in statement["receipt"] if one["topic"] not in ("Computer", "Neighbours")]
    statement["receipt"] = kept
    read = check_statement(statement, earlier)
    said = {one["topic"]: one for one in read["receipt"]}
    assert said["Records"]["text"] == "30,123 sales; this number is treated as public."
    assert said["Computer"]["text"].startswith("The proof is about real numbers.")
    assert said["Neighbours"]["text"].startswith("Two datasets with the same number of sales, ")
    own = {topic for topic, one in said.items() if publishers_own(one, read)}
    assert own == {"Unit of protection", "Domain", "Centre", "Clip bound", "Tuning", "Ledger"}


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_every_sentence_about_earlier_releases_is_known(statement: Statement, relation: Relation) -> None:
    """Whoever words one anew changes the reader with it."""
    others = tuple(
        OtherUnit(unit, 2, 1.25, pair, neighbours)
        for unit in ("point", "cell")
        for pair in (2.5, float("inf"))
        for neighbours in ("values-only", "replace-one")
    )
    apart = (Decision(7, False, "Other people.", "Ada"),)
    standing = Standing(
        "point", 1e-5, 5, 3, 3, True, 1.0, 1.5, other_units=others, other_numbers=(3, 4_000), unknown=1,
        apart=apart, neighbours="values-only", stronger=(Stronger("replace-one", 2, 1.5),),
    )  # fmt: skip
    statement["guarantee"]["relation"] = relation
    lines = account_lines(standing, Protected("sale", relation=relation))
    assert {one.topic for one in lines} >= {"Neighbours", "Earlier releases", "Other unit", "Kept apart"}
    for one in lines:
        assert publishers_own(vars(one), statement) is (one.topic == "Kept apart"), one
    other = {**vars(lines[1]), "text": lines[1].text + " Certified."}
    assert publishers_own(other, statement)


def test_a_poor_map_says_so(domain: Domain) -> None:
    expected = Expected(0.3, 0.1, 0.5, "simulated", records=0.6, gain=-0.01)
    made = build_statement(make_release(domain, expected=expected))
    check_statement(made)
    made["receipt"] = [one for one in made["receipt"] if one["topic"] != "Low agreement"]
    with pytest.raises(BundleError, match="lacks the line 'Low agreement'"):
        check_statement(made)
    for asked in (
        objections(None, None, 1.0),
        objections(Expected(None, None, None, "simulated"), None),
        objections(expected, Yardsticks(0.3, public_records=0.7)),
        objections(expected, None),
    ):
        text = f"Expected to be a poor map: {asked[0]}. The curator released it anyway."
        poor = ReceiptLine("Low agreement", text, True)
        assert not publishers_own(vars(poor), made)


PUBLIC_ALONE = "the map of public data alone would agree"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("its expected agreement is 0.300, below 0.5", False),
        ("its expected agreement is 0.480, below 0.5", True),
        ("a map of one colour would agree better (0.400 instead of 0.300)", False),
        ("a map of one colour would agree better (0.30001 instead of 0.30000)", False),
        ("a map of one colour would agree better (0.300 instead of 0.400)", True),
        ("a map of one colour would agree better (0.300 instead of 0.300)", True),
        ("a map of one colour would agree better (0.400 instead of 0.310)", True),
        (
            "130 records are too few to tell where values lie: without reference data it takes more than 130",
            True,
        ),
        ("a map of one colour would show as many records or more on their right side", True),
        *(
            (f"{PUBLIC_ALONE} as well in {times} of 16 changes that may have come since", own)
            for times, own in ((7, True), (8, False), (16, False), (17, True))
        ),
    ],
)
def test_what_makes_a_map_poor_follows_from_what_was_expected(domain: Domain, text: str, own: bool) -> None:
    made = build_statement(make_release(domain, expected=Expected(0.3, 0.1, 0.5, "simulated")))
    for word in ("anyway", "all the same"):  # earlier releases said the latter
        line = f"Expected to be a poor map: {text}. The curator released it {word}."
        assert publishers_own(vars(ReceiptLine("Low agreement", line, True)), made) is own


def test_a_good_map_is_not_said_to_be_poor(domain: Domain) -> None:
    made = build_statement(make_release(domain, expected=Expected(0.7, 0.1, 0.5, "simulated")))
    line = "Expected to be a poor map: its expected agreement is 0.700, below 0.5. "
    line += "The curator released it anyway."
    assert publishers_own(vars(ReceiptLine("Low agreement", line, True)), made)


def test_a_tuning_is_accounted_for_or_not(statement: Statement) -> None:
    statement["tuning"]["accounted"] = False
    with pytest.raises(BundleError, match="contradicts itself about its tuning"):
        check_statement(statement)
    statement["tuning"] = {**statement["tuning"], "kind": "approved by the state", "accounted": True}
    with pytest.raises(BundleError, match="kind of tuning that this program does not know"):
        check_statement(statement)
