"""The verdict on a search in one sentence: whether its map is expected to be worth its budget."""

from __future__ import annotations

from hexcursion.record import LEAST_GAIN
from hexcursion.words import agreement_words, range_words
from pages.shared.session.workspace import Found

GOOD = 0.8  # agreement from which a map shows the region well; below, its outline is rough


def verdict(found: Found) -> str:
    """Worth releasing or not, and why, for the design that is to be released."""
    choice, epsilon = found.choice, found.project.settings.epsilon
    against = found.against
    expected = None if choice.expected is None else choice.expected.agreement
    if against:
        helps = "" if expected is None else "; the step Release proposes what helps"
        return f"Not worth releasing as it stands: {' and '.join(against)}{helps}."
    if expected is None or choice.expected is None:
        return "Nothing is known of how right this map will be: its design was given by hand."
    low, high, little = choice.expected.low, choice.expected.high, choice.expected.little
    free = None if choice.yardsticks is None else choice.yardsticks.free
    told = "" if low is None or high is None else range_words(low, high, little=little)
    if told and free is None:
        return (
            f"May be released: for ε {epsilon:g} simulated worlds tell an agreement of "
            f"{agreement_words(expected)} with the map without privacy, {told}."
        )
    quality = "shows the region well" if expected >= GOOD else "shows the region roughly"
    error = LEAST_GAIN if low is None or high is None else max(LEAST_GAIN, (high - low) / 2.0)
    rivals = [] if choice.yardsticks is None else [choice.yardsticks.one_colour, free]
    beside = f", {told}" if told else ""
    beside += "" if free is None else f"; public data alone reach {agreement_words(free)}"
    beats = all(each is None or expected - each > error for each in rivals)
    judged = (
        f"Worth releasing: for ε {epsilon:g} the map {quality}"
        if beats
        else f"May be released: for ε {epsilon:g} it beats what is known without it by less than its error"
    )
    return (
        f"{judged}, with an expected agreement of "
        f"{agreement_words(expected)} with the map without privacy{beside}."
    )
