"""The question in numbers and words: its scale, the reference values, what it is relative to, an attacker's
odds.

Prices are modelled on the log scale, where a distance is a factor; other values on their own scale.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from data_loaders.columns.units import unit_of
from dpgp_core.accounting.gaussian import gaussian_mu, largest_power
from dpgp_core.linalg import Floats
from dpgp_core.numbers import significant
from dpgp_core.releasing import Relation
from geo.measures import format_value
from hexcursion import words
from hexcursion.errors import WorkflowError
from hexcursion.words import plural, quantity, side_words
from pages.shared.session.previews import Preview
from pages.shared.session.workspace import Workspace


def uses_factors(choices: Mapping[str, Any]) -> bool:
    """Whether distances are factors under these choices: prices, or an asked log transform."""
    if choices.get("values") == "count":
        return True
    transform = choices.get("transform")
    if transform is not None:
        return bool(transform == "log")
    data = choices.get("data")
    return data is not None and bool(data.read_by.log_scale)


def stated_scale(
    usual: float | None, spread: float | None, factors: bool
) -> tuple[float | None, float | None]:
    """Return centre and clip bound in transformed units from a usual value and a spread in the data's unit,
    which is a factor above 1 where `factors`; `WorkflowError` for values that no scale can have."""
    if factors:
        if usual is not None and not usual > 0:
            raise WorkflowError("On a logarithmic scale a usual value is above 0: 250000, for example.")
        if spread is not None and not spread > 1:
            raise WorkflowError("The factor must be above 1: 3 means a third to three times the usual value.")
        return (None if usual is None else math.log(usual), None if spread is None else math.log(spread))
    if spread is not None and not spread > 0:
        raise WorkflowError("The distance must be above 0, in the data's own unit.")
    return usual, spread


def stated_values(
    centre: float | None, clip: float | None, factors: bool
) -> tuple[float | None, float | None]:
    """The usual value and spread that a centre and clip bound say, three significant digits; the inverse."""
    if factors:
        centre = None if centre is None else math.exp(centre)
        clip = None if clip is None else math.exp(clip)
    return _short(centre), _short(clip)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def suits_factors(quantiles: Sequence[float]) -> bool:
    """Whether positive values reach half as far again above their middle as below it, from even quantiles."""
    if not quantiles or not quantiles[0] > 0.0:
        return False
    low, middle, high = (quantiles[round(at * (len(quantiles) - 1))] for at in (0.1, 0.5, 0.9))
    return high - middle > SKEWED * (middle - low)


_PRICED = re.compile(
    r"\b(prices?|rents?|incomes?|salar(y|ies)|costs?|dollars?|euros?|pounds?|concentrations?)\b"
)
_MONEY = frozenset({"euro", "pound", "US dollar", "franc"})


def named_factors(name: str, unit: str) -> bool:
    """Whether a value is a price or a concentration by its name or unit: these differ by factors."""
    if _PRICED.search(f"{name} {unit}".lower()):
        return True
    known_unit = unit_of(unit)
    if known_unit is None:
        return False
    powers = dict(known_unit.dimension)
    if not powers or ("parts" in powers and known_unit.scale < PER_MILLE):  # mg/kg, ppb
        return True
    per_volume = powers.get("length") == -3 and len(powers) == 2
    return per_volume or any(what in _MONEY or what.isupper() for what in powers)


PER_MILLE = 1e-3
SKEWED = 1.5
BARS = 32
TAIL = 0.025  # of the values on each side that the bars leave out
NEARLY = 0.02  # a share this close to none or all makes a map of one colour


@dataclass(frozen=True)
class Bar:
    """One bar: from a value to a value, and the share of the reference values between them."""

    low: float
    high: float
    share: float


def share_above(quantiles: tuple[float, ...], threshold: float) -> float:
    """Share of the reference values above a threshold, from their even quantiles."""
    return 1.0 - float(np.searchsorted(np.array(quantiles), threshold, side="right")) / len(quantiles)


def bars(quantiles: tuple[float, ...]) -> tuple[Bar, ...]:
    """A histogram of the middle of the values; none where they do not vary."""
    low, high = (quantiles[round(at * (len(quantiles) - 1))] for at in (TAIL, 1.0 - TAIL))
    if not high > low:
        return ()
    edges = np.linspace(low, high, BARS + 1)
    counts, _ = np.histogram(np.array(quantiles), edges)
    return tuple(
        Bar(float(a), float(b), float(count) / len(quantiles))
        for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )


def reference_sentences(preview: Preview, unit: str, threshold: float | None) -> tuple[str, ...]:
    """The quantiles in words, the share above the threshold, a warning where nearly all or none are."""
    tenth, quarter, middle, upper, ninth = (
        format_value(preview.quantiles[round(at * (len(preview.quantiles) - 1))], unit)
        for at in (0.1, 0.25, 0.5, 0.75, 0.9)
    )
    sentences = [
        f"Public reference, {preview.size:,} values: half lie below {middle}, the middle half between "
        f"{quarter} and {upper}, a tenth below {tenth} and a tenth above {ninth}."
    ]
    if threshold is None:
        return tuple(sentences)
    share = share_above(preview.quantiles, threshold)
    sentences.append(f"About {significant(100 * share, 2)} % of them lie above {quantity(threshold, unit)}.")
    if share < NEARLY or share > 1.0 - NEARLY:
        hint = "lower" if share < NEARLY else "higher"
        sentences.append(f"Nearly the whole map would be one colour: a {hint} threshold tells more.")
    return tuple(sentences)


Against = Literal["value", "limits", "change", "answers", "risk", "density"]


UNITS_OF: dict[Against, str] = {
    "answers": "% of the records",
    "risk": "times the average",
    "density": "per square kilometre",
}


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
    unit = str(work.choices.get("value_unit", ""))
    return f"times {what}" if uses_factors(work.choices) else f"{unit} more than {what}".strip()


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


def threshold_words(work: Workspace) -> str:
    """The question as the map's words: "above £450,000"."""
    side = side_words(work.choices.get("direction", "above"))
    if work.choices.get("change") or work.choices.get("limits"):
        what = "the public map" if work.choices.get("change") else "the limits by zone"
        return f"{side} {work.choices['threshold']:g}, relative to {what}"
    unit = {"yes-no": "%", "count": relative_unit(work)}.get(
        work.choices.get("values", ""), str(work.choices.get("value_unit", ""))
    )
    value = quantity(float(work.choices["threshold"]), unit)
    return f"{side} {value}"


def published_answers(work: Workspace) -> str:
    """How many of the published reference values say yes, in one sentence; "" where none are published."""
    preview, limit = work.reference, work.choices.get("yes_above")
    if preview is None or not preview.quantiles or not work.choices.get("reference_public"):
        return ""
    yes = significant(100 * share_above(preview.quantiles, 0.5 if limit is None else limit), 2)
    return (
        f"About {yes} % of the {preview.size:,} public reference values are a yes: the release starts there."
    )


ALARMS = (0.01, 0.1)
STEPS = 60


@dataclass(frozen=True)
class AttackOdds:
    """Upper bounds on every attack: the factor by which a result can become likelier when the record is
    exchanged, how often a guess is right, whatever the mechanism and where all its noise is Gaussian, and
    (false alarms, detections) as texts and as shares."""

    factor: str
    guesses: str
    gaussian: str
    rows: tuple[tuple[str, str], ...]
    curve: tuple[tuple[float, float], ...]


def attack_odds(epsilon: float, delta: float, relation: Relation = "replace-one") -> AttackOdds:
    """The bounds of `dpgp_core.accounting.gaussian` in words, each rounded upwards.

    Where a record comes or goes, a certain record and another are two steps apart."""
    steps = 1 if relation == "replace-one" else 2

    def most(alarms: ArrayLike) -> Floats:
        once = largest_power(epsilon, delta, alarms)
        return once if steps == 1 else largest_power(epsilon, delta, once)

    mu = gaussian_mu(epsilon, delta) if math.isfinite(epsilon) else None
    rates = np.concatenate([np.geomspace(1e-4, 0.05, STEPS), np.linspace(0.06, 1.0, STEPS)])
    powers, caught = most(rates), zip(ALARMS, most(ALARMS), strict=True)
    return AttackOdds(
        factor=words.times(steps * epsilon),
        guesses=words.even_odds(words.surest(epsilon, delta, relation)),
        gaussian=words.even_odds(words.surest(epsilon, delta, relation, mu)),
        rows=tuple((f"{100 * alarm:g} %", words.share(power)) for alarm, power in caught),
        curve=((0.0, 0.0), (0.0, float(most(0.0))), *zip(rates.tolist(), powers.tolist(), strict=True)),
    )
