"""Privacy numbers in words: odds, chances and quantities as a reader without mathematics meets them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dpgp_core.accounting.gaussian import largest_power, surest_gaussian_guess, surest_guess
from dpgp_core.accounting.rdp import odds_factor
from dpgp_core.excursion import Direction
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.numbers import lower, significant, upper
from dpgp_core.releasing import Relation
from geo import with_unit
from hexcursion.errors import WorkflowError

UnitWord = str
"""What one record is called: a well or a moss sample by the curator's word, else a sale or a reading. It is a
sensor or a person only where a column names these and each may contribute one row; or a cell."""

Side = Literal["above", "at most"]
"""The side of a hexagon, before a threshold."""

PUBLISHERS = "the publisher's own words, which no program checks"
"""How title, notes, credits and the like are marked wherever they are shown."""
BILLION = 1e9
# A rest of a budget below this is rounding, and no release could use it.
DUST = 1e-6


def times(epsilon: float) -> str:
    """The factor e^epsilon in words, rounded up: "2.72 times", "22,100 times".

    It bounds how much more likely any result of a release can become when one record is exchanged (apart from
    delta). Beyond a billion only the power of ten is said. Raise `WorkflowError` below 0.
    """
    if math.isnan(epsilon) or epsilon < 0:
        raise WorkflowError(f"epsilon must be a number >= 0, got {epsilon!r}.")
    if epsilon == math.inf:
        return "without limit"
    if epsilon > math.log(BILLION):
        return f"10^{math.ceil(epsilon / math.log(10.0))} times"
    return f"{upper(odds_factor(epsilon), 4 if epsilon < 0.7 else 3)} times"


def surest(
    epsilon: float, delta: float, relation: Relation, mu: float | None = None, distance: float = 0.0
) -> float:
    """Chance with which a guess between two claims of even odds about a record is right, at most.

    With a delta above 0 this is no bound on a belief after one unlikely result, only on how
    often the best guess is right.

    The least of what epsilon and delta say and, for a mu-Gaussian release, mu. Where neighbours differ by one
    record more or less, two values of a record are two steps apart, with the data without it between them:
    what has chance 1/2 there has at most that of `largest_power` under either (docs/accounting.md, 10).
    """
    exchanged = relation == "replace-one"
    by_epsilon = surest_guess(epsilon, delta) if exchanged else float(largest_power(epsilon, delta, 0.5))
    if mu is None:
        return by_epsilon
    return min(by_epsilon, surest_gaussian_guess(mu if exchanged else 2.0 * mu, distance))


def share(value: float) -> str:
    """A bound on a share in per cent, rounded upwards, never past certainty."""
    return f"{upper(min(100.0, 100.0 * float(value)), 3 if value < 0.995 else 5)} %"


def guess_words(chance: float, record: UnitWord) -> str:
    """What a release makes of a guess at even odds about one record, rounded up to whole per cent.

    Examples
    --------
    >>> guess_words(0.5534, "sale")
    'A 50:50 guess about one sale becomes at most 56:44'
    """
    return f"A 50:50 guess about one {record} becomes at most {even_odds(chance)}"


def even_odds(chance: float) -> str:
    """What becomes of 50:50, rounded up to whole per cent: "56:44"."""
    right = min(100, math.ceil(100.0 * chance - 1e-9))
    return f"{right}:{100 - right}"


def agreement_words(value: float) -> str:
    """An intersection over union as "0.73", rounded down; two empty maps have none."""
    return lower(value, 2) if math.isfinite(value) else "undefined, both maps are empty"


def ratio_words(value: float) -> str:
    """An expected agreement as "0.73", rounded down; a reference map with one side only gives none."""
    return lower(value, 2) if math.isfinite(value) else "undefined"


def range_words(low: float, high: float, *, little: bool) -> str:
    """Between which agreements one release lies with a chance of 80 %, and whether that tells little.

    Examples
    --------
    >>> range_words(0.05, 0.78, little=True)
    'between 0.05 and 0.78 with a chance of 80 %, so little can be told'
    """
    text = f"between {agreement_words(low)} and {agreement_words(high)} with a chance of 80 %"
    return f"{text}, so little can be told" if little else text


def error_words(area_error: float) -> str:
    """An expected error of an area, over that area, in per cent: "3.6 %", rounded up."""
    return f"{upper(100.0 * area_error, 2)} %"


MOST_SPREAD = 0.2
"""Standard deviation of an agreement from which it is called very uncertain."""


def off_words(area_error: float) -> str:
    """An expected error of an area on a screen: "off by 3.6 %"; beyond the area itself it tells nothing."""
    return "uncertain by more than its own size" if area_error > 1.0 else f"off by {error_words(area_error)}"


def spread_words(agreement: float, deviation: float) -> str:
    """An agreement with its standard deviation: "0.73 ± 0.05"; a wide one tells little.

    Examples
    --------
    >>> spread_words(0.667, 0.354)
    'very uncertain, 0.66 ± 0.35'
    """
    text = ratio_words(agreement) + (f" ± {deviation:.2f}" if deviation >= 0.005 else "")
    return f"very uncertain, {text}" if deviation >= MOST_SPREAD else text


def right_words(right: float) -> str:
    """The expected share of hexagons that are right: "93 %", rounded down."""
    return f"{lower(100.0 * right, 2)} %"


def records_words(share: float) -> str:
    """A share of records: "83 of 100 records", "over 99 of 100 records"."""
    return f"{'over 99' if share >= 0.995 else round(100.0 * share)} of 100 records"


def one_in(delta: float) -> str:
    """A small probability as "1 in 100,000", never said smaller than it is."""
    if not 0 < delta < 1:
        return significant(delta, 2)
    if delta > 0.9:
        return slack(delta)
    return f"1 in {lower(1.0 / delta, 3)}"


def slack(delta: float) -> str:
    """A delta below 1 as a number, rounded up, but never to 1: "1e-5", "above 0.999"."""
    return "above 0.999" if 0.999 < delta < 1.0 else upper(delta, 3)


def remaining(value: float) -> str:
    """The rest of a budget, rounded down; less than `DUST` is rounding, and said as 0."""
    return "0" if value < DUST else lower(value, 4)


def quantity(value: float, unit: str, digits: int = 9) -> str:
    """A value of the data with its unit: "£442,413", "20 ug/m3"."""
    return with_unit(significant(value, digits), unit)


def per_cent(share: float) -> str:
    """A chance in whole per cent: "20 %", "under 1 %"."""
    ends = "under 1 %" if share < 0.5 else "over 99 %"
    return f"{100.0 * share:.0f} %" if 0.005 <= share <= 0.995 else ends


def side_words(direction: Direction) -> Side:
    """The side of a hexagon of the set, before a threshold: one that equals it is "at most" it."""
    return "above" if direction == "above" else "at most"


def asked(subject: Mapping[str, Any], record: UnitWord) -> str:
    """The question of a map as a reader would ask it, from a privacy statement's subject.

    Examples
    --------
    >>> subject = {"value": "price", "unit": "GBP", "threshold": 442413.0, "direction": "above"}
    >>> asked(subject, "sale")
    'Where do properties sell for more than £442,413?'
    >>> asked(subject | {"scope": {"population": "existing leasehold flats", "period": "2018"}}, "sale")
    'Where did existing leasehold flats sell for more than £442,413 in 2018?'
    >>> answers = {"answers": {"yes": "arsenic above 50 ug/l"}, "threshold": 20.0, "unit": "%"}
    >>> asked(subject | answers, "well")
    'Where do more than 20 % of wells have arsenic above 50 ug/l?'
    """
    of, period = (subject.get("scope", {}).get(name, "") for name in ("population", "period"))
    if "answers" in subject:
        who, when = of or plural(2, record)[2:], f" in {period}" if period else ""
        yes, do = subject["answers"]["yes"], "did" if period else "do"
        return f"Where {do} {_share_of(subject)} of {who} have {yes}{when}?"
    if "counts" in subject:
        when, tense = f" in {period}" if period else "", ("was", "were") if period else ("is", "are")
        what = f"{_share_of(subject)}{f' {plural(2, of or record)[2:]}' if _dense(subject) else ''}"
        if _dense(subject):
            return f"Where {tense[1]} there {what} per square kilometre{when}?"
        among = f" among {of}" if of else ""
        return f"Where {tense[0]} the risk of {a_word(record)}{among} {what} times the average{when}?"
    limit, when = quantity(subject["threshold"], subject["unit"]), f" in {period}" if period else ""
    if record == "sale" and subject["value"] == "price":
        more = "more than" if subject["direction"] == "above" else "at most"
        return f"Where {'did' if period else 'do'} {of or 'properties'} sell for {more} {limit}{when}?"
    what = f"{subject['value'] or 'value'}{f' of {of}' if of else ''}"
    return f"Where {is_the(what, bool(period))} {what} {side_words(subject['direction'])} {limit}{when}?"


# Symbols, and names of substances and the like, which take no article in a question.
_BARE = re.compile(
    r"[A-Za-z]{0,3}\d.*|[A-Z][a-z]?|[A-Z]{2,3}s?|[NS]Ox|(?i:lead|zinc|arsenic|cadmium|copper|nickel|chromium|"
    "cobalt|mercury|iron|manganese|uranium|radon|ozone|oxygen|nitrogen|phosphorus|carbon|sulphur|nitrate|"
    "phosphate|fluoride|chloride|[a-z]*oxide|rent|income|noise|rainfall|salinity|turbidity|moisture|humidity)"
)


def is_the(what: str, past: bool = False) -> str:
    """How a question goes on before the name of a value: "is the" before "height", "is" before "Pb"."""
    head = re.split(r"[,(\[]| (?:of|in|per|with|at|from|by|for) ", what)[0].split()[-1:] or [what]
    bare = _BARE.fullmatch(head[0])
    many = re.search(r"[^aius]s$", head[0]) and (not bare or len(head[0]) > 2)
    verb = {(0, 0): "is", (0, 1): "was", (1, 0): "are", (1, 1): "were"}[bool(many), past]
    return verb if bare else f"{verb} the"


def named(subject: Mapping[str, Any]) -> str:
    """The title where the curator gives none: "Price of existing flats above £442,413, 2018"."""
    period = subject.get("scope", {}).get("period")
    if "answers" in subject:
        text = f"{_share_of(subject)} with {subject['answers']['yes']}"
    elif _dense(subject):
        text = f"{_share_of(subject)} {subject['value'].removeprefix('density of ')} per square kilometre"
    else:
        limit = quantity(subject["threshold"], subject["unit"])
        text = f"{_measured(subject)} {side_words(subject['direction'])} {limit}"
    return f"{text[:1].upper()}{text[1:]}{f', {period}' if period else ''}"


def _share_of(subject: Mapping[str, Any]) -> str:
    """ "more than 20 %", or "at most 20 %", of answers; of counts the number alone."""
    side = "more than" if subject["direction"] == "above" else "at most"
    return f"{side} {quantity(subject['threshold'], '' if 'counts' in subject else '%')}"


def _dense(subject: Mapping[str, Any]) -> bool:
    """Whether records are counted over the area."""
    return bool(subject.get("counts", {}).get("per") == "area")


def _measured(subject: Mapping[str, Any]) -> str:
    of = subject.get("scope", {}).get("population")
    if "answers" in subject or "counts" in subject:
        of = ""  # of whom is said by the value itself
    what = f"{subject['value'] or 'value'}{f' of {of}' if of else ''}"
    return f"{what[:1].upper()}{what[1:]}"


def covered(statement: Mapping[str, Any]) -> str:
    """The measured quantity, its unit, of what, when, how many and by whom, in up to three sentences."""
    subject, guarantee = statement["subject"], statement["guarantee"]
    scope = subject.get("scope", {})
    unit = f" in {subject['unit']}" if subject["unit"] and "counts" not in subject else ""
    parts = [f"{_measured(subject)}{unit}"]
    period = scope.get("period", "")
    filters = [each for each in scope.get("filters", ()) if each.partition(" = ")[2] != period]
    parts += filter(None, [period, *(f"only {each}" for each in filters)])
    cells = guarantee["unit"] == "cell"
    many = plural(guarantee["n"], "hexagon" if cells else guarantee["unit_word"])
    many += " with records" if cells else ""
    about = "" if guarantee["n_is_public"] else "about "
    source = scope.get("source") or next(iter(statement["attribution"]), "")
    text = f"{', '.join(parts)}; from {about}{many}."
    return f"{text} Source: {source.rstrip('.')}." if source else text


def plural(count: int, word: str) -> str:
    """ "1 sale", "2 sales", "3 properties"."""
    if count == 1:
        return f"1 {word}"
    ending = f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{word}s"
    return f"{count:,} {ending}"


def a_word(word: str) -> str:
    """ "a case", "an event"."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def design_words(design: Design) -> str:
    """The parameters of a design in one line, each with its word and unit."""
    parts = [mechanism_of(design).describe(design), plural(design.paths, "path")]
    if design.smoothing:
        parts.append(f"smoothed {plural(design.smoothing, 'time')}")
    return ", ".join(parts)


def listed(names: Sequence[str]) -> str:
    """Names in one phrase.

    Examples
    --------
    >>> listed(["pb"]), listed(["pb", "zn", "cd"])
    ('pb', 'pb, zn and cd')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
