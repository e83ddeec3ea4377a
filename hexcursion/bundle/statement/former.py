"""A statement in the words of an earlier version, said in today's: each text that had to follow
from the same numbers is replaced, and any other is left for the checks to refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpgp_core.excursion import Direction
from dpgp_core.numbers import significant
from hexcursion import promises
from hexcursion.bundle.statement.change import CHANGED, LEAST_POINTS, change_words
from hexcursion.bundle.statement.expected import figures_told, told_words
from hexcursion.bundle.statement.guarantee import surest_of, with_words
from hexcursion.bundle.statement.promise import TOO_FEW, promise_words
from hexcursion.words import guess_words, per_cent, quantity, share

Statement = Mapping[str, Any]

_OF_THE_AREA = "Facts about the whole area that remain the same whichever single record is exchanged."


def in_todays_words(statement: Statement, *, values: int = 1) -> dict[str, Any]:
    """The statement with what earlier versions said of its guarantee, of what the map promises and
    of a change said as today, where the numbers are the same. A record has so many
    `values`."""
    made = {**statement, "guarantee": _guarantee(statement["guarantee"], values)}
    if statement.get("told") is not None:
        made["told"] = _told(statement)
    return made


def _guarantee(stated: Statement, values: int) -> dict[str, Any]:
    """Until 29 November 2026 the chance of a guess was given in per cent; until 26 November 2026 what
    is not protected did not name refusals and the ledger."""
    today = with_words(stated, values=values)
    one, chance = promises.protected_word(stated), surest_of(stated)
    guess = (
        f"Someone who gave a claim about that {one} even odds and sees what is published guesses right "
        f"with a chance of at most {share(chance)}."
    )
    in_words = today["in_words"].replace(f"{guess_words(chance, one)}.", guess)
    hidden = [_OF_THE_AREA if text == promises.OF_THE_AREA else text for text in today["not_protected"]]
    made = dict(stated)
    if stated["in_words"] == in_words:
        made["in_words"] = today["in_words"]
    if stated["not_protected"] in (hidden, hidden[:-2]):
        made["not_protected"] = today["not_protected"]
    return made


def _told(statement: Statement) -> dict[str, Any]:
    told, subject = statement["told"], statement["subject"]
    made, judged, change = dict(told), told.get("judged"), told.get("change")
    if judged is not None and judged["in_words"] == TOO_FEW and told["in_words"] == figures_told(told):
        made["in_words"] = TOO_FEW
    if judged is not None and judged["in_words"] == _promise(judged, subject["direction"]):
        made["judged"] = {**judged, "in_words": promise_words(judged, subject["direction"])}
        if told["in_words"] == told_words(told):
            made["in_words"] = told_words(made)
    transform = statement["response"]["transform"]
    if change is not None and change["in_words"] == _change(change, transform, subject["unit"]):
        made["change"] = {**change, "in_words": change_words(change, transform, subject)}
    return made


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
        shown = 0.0 if transform == "probit" and abs(value) < LEAST_POINTS else abs(value)
        return f"{quantity(shown, unit, 2)} {'lower' if value < 0.0 else 'higher'}"

    higher, low, high = (change[name] for name in ("higher", "low", "high"))
    if transform == "log":
        now, least, most = (significant(1.0 + each / 100.0, 3) for each in (higher, low, high))
        mean = f"In the geometric mean they are {now} times as high (90 % interval: {least} to {most} times)."
    else:
        mean = f"On average they are {level(higher)} (90 % interval: {level(low)} to {level(high)})."
    shown = change["chance"] <= CHANGED
    differ = f"The {what} differ" if shown else f"The release does not show that the {what} differ"
    return (
        f"{differ} from those of the public map by more than chance: had nothing changed, so large a "
        f"difference had a chance of {per_cent(change['chance'])}. {mean}"
    )
