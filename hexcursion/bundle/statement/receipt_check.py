"""The receipt of a statement by an unknown author: a closed list of topics, each in its
own words.

Most lines follow from the rest of the statement and are made anew here, by the code that wrote
them. The others repeat what the ledger or the curator knows: their sentences are known, their
numbers are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from dpgp_core.accounting.composition import HIDING
from dpgp_core.accounting.rdp import ORDERS
from hexcursion import promises, words
from hexcursion.bundle.statement.designs import design_from, values_of
from hexcursion.bundle.statement.guarantee import SLACK, stated_cost, stated_owner
from hexcursion.bundle.statement.promise import says_nothing
from hexcursion.bundle.statement.receipt import AT_EDGE, ReceiptFacts, build_receipt
from hexcursion.bundle.untrusted import BundleError
from hexcursion.ledger.sentences import neighbours_text
from hexcursion.project.response import ResponseScale
from hexcursion.record import (
    HALF_AS_GOOD,
    LEAST_AGREEMENT,
    LOW_AGREEMENT,
    TOO_FEW_RECORDS,
    PrivacyFacts,
    ReceiptLine,
    Tuning,
    stops_by_number,
)
from hexcursion.settings.names import TuningKind

Line = Mapping[str, Any]

_N = r"(?:(?:above )?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?|inf)"
_RECORD = r"[^\W\d_]+(?:[ '-][^\W\d_]+)*"
_UNACCOUNTED = r"Not counted in this epsilon\."
_POOR = "|".join(
    (
        r"no value can lie beyond its threshold, as values are cut to the usual ones \(centre and clip\): "
        r"take a threshold inside of them, or a larger clip",
        r"no agreement can be expected, as the map that it is tried on lies wholly on one side of the "
        r"threshold: take a threshold nearer to usual values",
        rf"(?:its|the upper end of its) expected agreement is {_N}, below {_N}",
        r"(?:a map of one colour|the map of public data alone) would agree "
        rf"(?:better \({_N} instead of {_N}\)|as well \({_N}\))",
        r"the map of public data alone would agree as well in \d+ of \d+ changes that may have come since",
        r"values exchanged among their places would give as good a map, so it would show nothing of where "
        r"they lie",
        rf"{_N} records are too few to tell where values lie: without reference data it takes more than {_N}",
        r"(?:the map of public data alone|a map of one colour) would show as many records or more on their "
        r"right side",
    )
)
_REACH = re.compile(rf"expected agreement is ({_N}), below")
_FEW = re.compile(r"(\d+) records are too few")
_BETTER = re.compile(rf"better \(({_N}) instead of ({_N})\)")
_TIMES = re.compile(r"in (\d+) of (\d+) changes")
_HIDDEN = f"(?:{'|'.join(promises.hidden_words(each) for each in HIDING)})"
_ALSO = rf"{_N} of them also hides? {_HIDDEN}, at epsilon {_N}, and the others do not"
# What the program says of facts that a statement has nowhere else: text, and whether it is a
# warning.
_SAID: dict[str, tuple[tuple[str, bool], ...]] = {
    "Prior mean": ((r"Public: .+\.", False),),
    "Ledger": (
        (
            rf"All releases of (?:these records|this dataset): epsilon (?P<before>{_N}) before, "
            rf"(?P<after>{_N}) after this one(?P<at>, at delta {_N})?\.",
            False,
        ),
        (
            rf"All releases of these records: epsilon (?P<before>{_N}) before, (?P<after>{_N}) after this one"
            rf"(?P<at>, at delta {_N})?\. They hide (?P<hide>{_HIDDEN}) and no more\.",
            True,
        ),
    ),
    "Budget": (
        (rf"epsilon {_N} in total, {_N} left\.", False),
        (rf"epsilon {_N} in total, over budget\.", True),
        (r"No budget is set for this dataset\.", True),
    ),
    "Earlier releases": (
        (
            rf"Some (?:or all )?of these records were part of releases that cost epsilon {_N} before; "
            rf"together {_N}\. How many they are is not published\.",
            False,
        ),
        (
            rf"Releases of these records promise different things\. All of them together hide {_HIDDEN}, at "
            rf"epsilon {_N}; {_ALSO}(?:; {_ALSO})*\.(?: A release that hides whether a record is there "
            r"counts for an exchanged record at its own price of an exchange, or at that of one record less "
            r"and one more\.)?",
            True,
        ),
    ),
    "Other unit": (
        (
            rf"{_N} releases? of these data protected (?:the values of )?single observations, at epsilon "
            rf"{_N} at delta {_N} together\. A hexagon's record is made of all its observations, so it is "
            rf"protected by them only as a group of that many\. {_UNACCOUNTED}",
            False,
        ),
        (
            rf"{_N} releases? of these data protected whole hexagons, at epsilon {_N} at delta {_N} "
            r"together\. Exchanging one observation can change the records of two hexagons, so for it they "
            rf"cost (?:at most epsilon {_N} at the same delta|more than any useful guarantee), provided that "
            rf"the number of non-empty hexagons stays the same\. {_UNACCOUNTED}",
            False,
        ),
        (
            rf"{_N} releases? of these data protected the values of whole hexagons, at epsilon {_N} at delta "
            rf"{_N} together, and took as public which hexagons hold observations: where one observation is, "
            rf"they do not hide\. {_UNACCOUNTED}",
            False,
        ),
    ),
    "Other numbers": (
        (
            rf"Earlier releases over other areas or filters stated {_N}(?:, {_N})*"
            rf"(?: and {_N} more numbers? of)? records\. From two such numbers it can be computed exactly "
            r"how many records lie in one area and not in the other, and no epsilon accounts for that\.",
            True,
        ),
    ),
    "Not compared": (
        (
            rf"The ledger holds releases of {_N} datasets? from before it kept hashes of records: whether "
            r"they contained some of these is not known and not counted\.",
            True,
        ),
    ),
    "Kept apart": (
        (
            rf"By a person's decision \(ledger entry {_N}\) releases of another dataset that seemed to hold "
            r"some of the same records are not counted: .+\.",
            True,
        ),
    ),
    "Owner": (),  # follows from the guarantee; before December 2026 it priced owners and records
    LOW_AGREEMENT: (
        (
            rf"Expected to be a poor map: (?:{_POOR})(?: and (?:{_POOR}))*\. The curator released it "
            r"(?:anyway|all the same)\.",
            True,  # the latter before 26 November 2026
        ),
    ),
    "Orders": ((re.escape(AT_EDGE), False),),
    "Question": ((r"Every value is taken .+\.", False),),
    "Covariates": ((r"Public numbers of each hexagon, .+\.", False),),
}
_SEVERAL = frozenset({"Other unit", "Kept apart", "Earlier releases"})
# In every version of the program, whatever was released.
_ALWAYS = (
    "Unit of protection,Records,Domain,Centre,Clip bound,Tuning,Mechanism,Paths,Bound,This release,Delta,"
    "In words"
).split(",")
_OWN_WORDS = frozenset(
    {
        "Unit of protection",
        "Domain",
        "Centre",
        "Clip bound",
        "Prior mean",
        "Tuning",
        "Question",
        "Covariates",
        "Kept apart",
    }
)
"""Topics whose lines quote the publisher: where something comes from, why, or what a record is."""
_LAST_NUMBER = re.compile(rf"^(.* has epsilon )({_N})\.$")


def checked_receipt(statement: Mapping[str, Any], *, strict: bool) -> list[dict[str, Any]]:
    """The receipt of an otherwise checked statement. Raise `BundleError`, naming the first topic
    that is missing, unknown, there twice, or said otherwise. `strict`: this version of the program
    wrote it, so each line must be word for word its own. Of another version the lines that follow
    from the statement are said anew, and a sentence that this version does not know is
    `publishers_own`."""
    lines: list[dict[str, Any]] = list(statement["receipt"])
    _check_tuning(statement["tuning"])
    following = receipt_following(statement)
    topics = {line.topic for line in following}
    for line in lines:
        if line["topic"] not in topics and line["topic"] not in _SAID:
            raise BundleError(
                f"The receipt has a line {line['topic']!r}: this program knows no such topic, and whoever "
                "published the bundle may have written it. Do not trust it."
            )
    present = {line["topic"] for line in lines}
    needed = {*(topics if strict else _ALWAYS), *(_needed(statement) if strict else ())}
    if statement["guarantee"]["groups"]:
        needed.add("Group")
    if missing := sorted(needed - present):
        raise BundleError(f"The receipt lacks the line {missing[0]!r}: the privacy statement is not whole.")
    for topic in sorted(present - topics):
        count = sum(line["topic"] == topic for line in lines)
        if count > 1 and topic not in _SEVERAL:
            raise BundleError(f"The receipt says twice what it says of {topic!r}.")
    if not strict:
        foreign = [line for line in lines if line["topic"] not in topics]
        return [{"topic": new.topic, "text": new.text, "warning": new.warning} for new in following] + foreign
    for topic in dict.fromkeys(line["topic"] for line in lines):
        texts = [line for line in lines if line["topic"] == topic]
        ours = [line for line in following if line.topic == topic]
        right = (
            len(texts) == len(ours) and all(_same(line, new) for line, new in zip(texts, ours, strict=True))
            if ours
            else all(_fits(line, statement) for line in texts)
        )
        if not right:
            raise BundleError(f"The receipt's line {topic!r} does not follow from the privacy statement.")
    return lines


def publishers_own(line: Line, statement: Mapping[str, Any]) -> bool:
    """Whether a line of a checked receipt holds words of the publisher's, which no program can
    check."""
    topic = line["topic"]
    return topic in _OWN_WORDS or (topic in _SAID and not _fits(line, statement))


def publishers_notes(statement: Mapping[str, Any]) -> list[str]:
    """The notes of a statement without the one about its trip, which follows from the trip's
    numbers."""
    trip_note = statement.get("trip", {}).get("in_words")
    return [note for note in statement["release"]["notes"] if note != trip_note]


def receipt_following(statement: Mapping[str, Any]) -> Sequence[ReceiptLine]:
    """The lines that follow from the rest of a statement, by the code that writes them."""
    guarantee, subject, release = statement["guarantee"], statement["subject"], statement["release"]
    cost, response, tuning = stated_cost(guarantee), statement["response"], statement["tuning"]
    privacy = PrivacyFacts(
        **{
            name: guarantee[name] for name in ("epsilon", "delta", "order", "unit", "unit_word", "n", "bound")
        },
        bound_source=guarantee["bound_source"],
        proved=guarantee["proved"],
        rdp_orders=tuple(ORDERS.tolist()),
        rdp_values=tuple(cost.curve.values.tolist()),
        group=tuple(
            (line["records"], math.inf if line["epsilon"] is None else line["epsilon"], line["delta"])
            for line in guarantee["groups"]
        ),
        gaussian_mu=guarantee["cost"].get("gaussian_mu"),
        owner=stated_owner(guarantee),
        owner_word=guarantee.get("owner", {}).get("word"),
        cost=replace(cost, distance=guarantee["cost"]["distance"]),
    )
    lines = build_receipt(
        ReceiptFacts(
            privacy,
            design_from(statement["design"]),
            ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"]),
            Tuning(tuning["kind"], tuning["detail"]),
            cells=subject["domain"]["cells"],
            resolution=subject["domain"]["resolution"],
            domain_origin=subject["domain"]["origin"],
            value_unit=subject["unit"],
            generated=release["generated"],
            simulation=release["simulation"],
            relation=guarantee["relation"],
            protects=guarantee["protects"],
        )
    )
    if not statement["ledger"]["entry"]:
        return lines
    protected = promises.Protected.by(guarantee, values_of(design_from(statement["design"])))
    return (*lines, ReceiptLine("Neighbours", neighbours_text(protected)))


def _check_tuning(tuning: Mapping[str, Any]) -> None:
    if tuning["kind"] not in get_args(TuningKind):  # a nested Literal is flat
        raise BundleError("The privacy statement names a kind of tuning that this program does not know.")
    if tuning["accounted"] != (tuning["kind"] != "not accounted"):
        raise BundleError("The privacy statement contradicts itself about its tuning.")


def _needed(statement: Mapping[str, Any]) -> set[str]:
    """Further topics, which other fields ask for."""
    topics = {
        "Ledger": bool(statement["ledger"]["entry"]),
        "Budget": bool(statement["ledger"]["entry"]),
        "Prior mean": statement["prior_mean_used"],
        "Question": "relative" in statement["subject"],
        "Covariates": "covariates" in statement,
        LOW_AGREEMENT: statement["expected"] is not None and _poor(statement),
    }
    return {topic for topic, needed in topics.items() if needed}


def _poor(statement: Mapping[str, Any]) -> bool:
    """Whether a release must carry the line about a poor map; too few records have no figure."""
    expected = statement["expected"]
    if stops_by_number(expected["basis"], statement["guarantee"]["n"]):
        return True
    lost = expected["agreement"] is None or expected.get("gain", 0.0) < 0.0
    return lost and not says_nothing(statement)


def _same(line: Line, should: ReceiptLine) -> bool:
    """Equal but for dots and spaces at the end, and the last digit of the one number that is solved
    for."""
    if line["warning"] != should.warning:
        return False
    texts = [_tidy(text) for text in (line["text"], should.text)]
    if should.topic == "Delta":
        numbers = [_LAST_NUMBER.match(f"{text}.") for text in texts]
        if numbers[0] is not None and numbers[1] is not None and numbers[0][1] == numbers[1][1]:
            delta, solved = (float(number[2].replace(",", "")) for number in numbers if number is not None)
            return abs(delta - solved) <= 1.1e-3 * solved
    return texts[0] == texts[1]


def _tidy(text: str) -> str:
    return " ".join(text.split()).rstrip(" .")


def _fits(line: Line, statement: Mapping[str, Any]) -> bool:
    """Whether a line is a sentence of the program's, whatever its numbers are."""
    topic = line["topic"]
    if topic == "Question" and (relative := statement["subject"].get("relative")) is not None:
        by = "divided by" if relative["ratio"] else "less"
        text = f"Every value is taken {by} a public field, which the bundle holds: {relative['origin']}"
        return _tidy(line["text"]) == _tidy(text) and not line["warning"]
    if topic == "Covariates" and (read := statement.get("covariates")) is not None:
        origins = "; ".join(column["origin"] for column in read["columns"])
        sentence = f"Public numbers of each hexagon, which the bundle holds: {origins}"
        return _tidy(line["text"]) == _tidy(sentence) and not line["warning"]
    for pattern, warning in _SAID[topic]:
        match = re.fullmatch(pattern, line["text"])
        if match is not None and line["warning"] is warning:
            if topic == "Ledger" and not _adds_up(match.groupdict(), statement["guarantee"]):
                return False
            if topic == "Budget" and not _left_follows(line["text"], statement["receipt"]):
                return False
            return topic != LOW_AGREEMENT or _poor_follows(line["text"], statement)
    return False


SHOWN = 2e-3
"""Share by which a number of a receipt may differ from what it was rounded from: it has four
digits."""


def _adds_up(numbers: Mapping[str, str | None], guarantee: Mapping[str, Any]) -> bool:
    """Whether all releases together cost at least those before, and at least this one at its own
    delta."""
    former, total = (_number(numbers[name] or "") for name in ("before", "after"))
    cost = 0.0 if numbers.get("at") or numbers.get("hide") else guarantee["epsilon"]
    return total >= former and total >= cost * (1.0 - SLACK)


def _left_follows(text: str, receipt: Sequence[Line]) -> bool:
    """Whether the rest of a budget is the total less the cost of all releases, as far as shown."""
    spent = [
        re.search(rf"({_N}) after this one", line["text"]) for line in receipt if line["topic"] == "Ledger"
    ]
    left = re.match(rf"epsilon ({_N}) in total, (?:({_N}) left|over budget)\.", text)
    if left is None or not spent or spent[0] is None:
        return True
    total, spent_now = _number(left[1]), _number(spent[0][1])
    near = SHOWN * max(total, spent_now) + words.DUST
    if left[2] is None:
        return spent_now >= total - near
    return abs(max(0.0, total - spent_now) - _number(left[2])) <= near


def _poor_follows(text: str, statement: Mapping[str, Any]) -> bool:
    """Whether the numbers in the line about a poor map would stop a release and fit the
    expectation."""
    expected = statement["expected"] or {}
    shares = [expected[name] for name in ("high", "agreement") if expected.get(name) is not None]
    short = f"{math.floor(1_000 * shares[0]) / 1_000:.3f}" if shares and shares[0] < LEAST_AGREEMENT else ""
    n = statement["guarantee"]["n"]
    if any(int(number) != n or n > TOO_FEW_RECORDS for number in _FEW.findall(text)):
        return False
    if "on their right side" in text and not (says_nothing(statement) or expected.get("gain", 0.0) < 0.0):
        return False
    return (
        all(number == short for number in _REACH.findall(text))
        and all(
            _number(other) < _number(number)
            and any(f"{share:.{len(other.partition('.')[2])}f}" == other for share in shares)
            for number, other in _BETTER.findall(text)
        )
        and all(HALF_AS_GOOD * int(of) <= int(times) <= int(of) for times, of in _TIMES.findall(text))
    )


def _number(text: str) -> float:
    return float(text.replace(",", "").removeprefix("above "))
