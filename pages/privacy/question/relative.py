"""A question that varies over the map, in words: what a threshold is compared with, and its unit."""

from __future__ import annotations

from typing import Literal

from hexcursion.words import plural, side_words
from pages.privacy.question.scales import uses_factors
from pages.shared.session.workspace import Workspace

Against = Literal["value", "limits", "change", "answers", "risk", "density"]


UNITS_OF: dict[Against, str] = {
    "answers": "% of the records", "risk": "times the average", "density": "per square kilometre"
}  # fmt: skip


def against_of(work: Workspace) -> Against:
    """What the threshold is compared with, by the choices made so far."""
    if work.choices.get("values") == "count":
        return "density" if work.choices.get("population_file") is None else "risk"
    if work.choices.get("values") == "yes-no":
        return "answers"
    if work.choices.get("change"):
        return "change"
    return "limits" if work.choices.get("limits") else "value"


def relative_unit(work: Workspace) -> str:
    """The unit of a threshold that is relative to a public field; "" for one value for the whole map."""
    against = against_of(work)
    if against in UNITS_OF:
        return UNITS_OF[against]
    if against == "value":
        return ""
    what = "the limit there" if against == "limits" else "the public map"
    own = str(work.choices.get("value_unit", ""))
    return f"times {what}" if uses_factors(work.choices) else f"{own} more than {what}".strip()


def relative_words(work: Workspace, threshold: float | None) -> str:
    """What a relative threshold asks, in one sentence with its number."""
    against = against_of(work)
    if against in ("risk", "density"):
        side = "more than" if work.choices.get("direction", "above") == "above" else "at most"
        many = "so many" if threshold is None else f"{threshold:g}"
        if against == "density":
            cases = plural(2, work.record_word)[2:]
            return f"A hexagon is inside where {side} {many} {cases} lie per square kilometre."
        return f"A hexagon is inside where the risk is {side} {many} times the average over the population."
    if against == "answers":
        side = "more than" if work.choices.get("direction", "above") == "above" else "at most"
        share = "so many" if threshold is None else f"{threshold:g}"
        return f"A hexagon is inside where {side} {share} % of its records say yes."
    what = "the limit of its zone" if against == "limits" else "what the public map says"
    if threshold is None:
        return f"Every value is compared with {what}."
    side = side_words(work.choices.get("direction", "above"))
    if uses_factors(work.choices):
        return f"A hexagon is inside where its value is {side} {threshold:g} times {what}."
    amount = f"{threshold:g} {work.choices.get('value_unit', '')}".strip()
    return f"A hexagon is inside where its value less {what} is {side} {amount}."
