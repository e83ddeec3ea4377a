"""A statement in the words of an earlier version, said in today's: each text that had to follow
from the same numbers is replaced, and any other is left for the checks to refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpgp_core.excursion import Direction
from dpgp_core.numbers import significant
from hexcursion import promises
from hexcursion.bundle.statement.change import CHANGED, LEAST_POINTS, change_words
from hexcursion.bundle.statement.expected import verdict_figures, verdict_words
from hexcursion.bundle.statement.guarantee import surest_of, with_words
from hexcursion.bundle.statement.promise import TOO_FEW, promise_words
from hexcursion.words import guess_words, per_cent, quantity, share

Statement = Mapping[str, Any]

_OF_THE_AREA = "Facts about the whole area that remain the same whichever single record is exchanged."


def in_todays_words(statement: Statement, *, values: int = 1) -> dict[str, Any]:
    """The statement with what earlier versions said of its guarantee, of what the map promises and
    of a change said as today, where the numbers are the same. A record has so many
    `values`."""
    todays = {**statement, "guarantee": _guarantee(statement["guarantee"], values)}
    if statement.get("told") is not None:
        todays["told"] = _told(statement)
    return todays


def _guarantee(guarantee: Statement, values: int) -> dict[str, Any]:
    """Until 29 November 2026 the chance of a guess was given in per cent; until 26 November 2026 what
    is not protected did not name refusals and the ledger."""
    today = with_words(guarantee, values=values)
    noun, chance = promises.protected_word(guarantee), surest_of(guarantee)
    guess = (
        f"Someone who gave a claim about that {noun} even odds and sees what is published guesses right "
        f"with a chance of at most {share(chance)}."
    )
    in_words = today["in_words"].replace(f"{guess_words(chance, noun)}.", guess)
    hidden = [_OF_THE_AREA if text == promises.OF_THE_AREA else text for text in today["not_protected"]]
    todays = dict(guarantee)
    if guarantee["in_words"] == in_words:
        todays["in_words"] = today["in_words"]
    if guarantee["not_protected"] in (hidden, hidden[:-2]):
        todays["not_protected"] = today["not_protected"]
    return todays


def _told(statement: Statement) -> dict[str, Any]:
    verdict, subject = statement["told"], statement["subject"]
    todays, judged, change = dict(verdict), verdict.get("judged"), verdict.get("change")
    if (
        judged is not None
        and judged["in_words"] == TOO_FEW
        and verdict["in_words"] == verdict_figures(verdict)
    ):
        todays["in_words"] = TOO_FEW
    if judged is not None and judged["in_words"] == _promise(judged, subject["direction"]):
        todays["judged"] = {**judged, "in_words": promise_words(judged, subject["direction"])}
        if verdict["in_words"] == verdict_words(verdict):
            todays["in_words"] = verdict_words(todays)
    transform = statement["response"]["transform"]
    if change is not None and change["in_words"] == _change(change, transform, subject["unit"]):
        todays["change"] = {**change, "in_words": change_words(change, transform, subject)}
    return todays


def _promise(judged: Statement, direction: Direction) -> str:
    """The promise, with the share of the places that the map finds in whole tenths."""
    if judged["orange"] is None:
        return ""
    where = "above" if direction == "above" else "at or below the threshold"
    tenths = round(10.0 * (judged["finds"] or 0.0))
    many = {0: "almost none", 10: "nearly all"}.get(tenths, f"{tenths} in 10")
    first, end, _ = promise_words(judged, direction).partition(" in 100.")
    return f"{first}{end} It finds {many} of the places {where}."


def _change(change: Statement, transform: str, unit: str) -> str:
    """With its chance, and of logarithms as a ratio."""
    what, unit = ("shares", "percentage points") if transform == "probit" else ("values", unit)

    def level(value: float) -> str:
        size = 0.0 if transform == "probit" and abs(value) < LEAST_POINTS else abs(value)
        return f"{quantity(size, unit, 2)} {'lower' if value < 0.0 else 'higher'}"

    higher, low, high = (change[name] for name in ("higher", "low", "high"))
    if transform == "log":
        times, low, high = (significant(1.0 + percentage / 100.0, 3) for percentage in (higher, low, high))
        mean = f"In the geometric mean they are {times} times as high (90 % interval: {low} to {high} times)."
    else:
        mean = f"On average they are {level(higher)} (90 % interval: {level(low)} to {level(high)})."
    differ_surely = change["chance"] <= CHANGED
    differ = f"The {what} differ" if differ_surely else f"The release does not show that the {what} differ"
    return (
        f"{differ} from those of the public map by more than chance: had nothing changed, so large a "
        f"difference had a chance of {per_cent(change['chance'])}. {mean}"
    )
