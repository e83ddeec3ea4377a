"""What the Compare screen shows, without Streamlit: mechanisms by budget, and today's practice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpgp_core.accounting.composition import compose
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.mechanisms.design import Protects
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.noise import SystemEntropy
from dpgp_core.numbers import lower, upper
from geo.maps.painting import Entry, Painting
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.statement.guarantee import stated_cost
from hexcursion.comparing import attacks
from hexcursion.comparing.practice import Bools, Records, Rule, Table, Target, careful
from hexcursion.comparing.run import Comparison, Row
from hexcursion.door.pipeline import compare_settings
from hexcursion.errors import Report
from hexcursion.project.model import Project
from hexcursion.promises import protected_word
from hexcursion.settings.model import ReleaseSettings
from hexcursion.words import (
    agreement_words,
    design_words,
    plural,
    quantity,
    ratio_words,
    spread_words,
)
from pages.shared.subprocess_job import executor_of, in_background

if TYPE_CHECKING:  # it knows Streamlit, which a subprocess does not load
    from pages.shared.session.outcome import SearchOutcome


@dataclass(frozen=True)
class Measure:
    """One figure that is compared: its name on the axis, its value in a row, and the deviation of that."""

    title: str
    value: Callable[[Row], float]
    spread: Callable[[Row], float] = lambda row: 0.0


MeasureName = Literal["records", "agreement", "area", "bce", "calibration", "lost"]


def _achieved(name: str) -> Callable[[Row], float]:
    """A figure of the best design; NaN where no design meets the budget."""
    return lambda row: math.nan if row.best is None else float(getattr(row.best.utility, name))


MEASURES: dict[MeasureName, Measure] = {
    "records": Measure("records on their right side", _achieved("records"), _achieved("records_spread")),
    "agreement": Measure("agreement (IoU), judged hexagons", _achieved("judged_iou")),
    "area": Measure("error of the area (share of the true area)", _achieved("area_error")),
    "bce": Measure("cross-entropy on held-out hexagons (BCE)", _achieved("bce")),
    "calibration": Measure("calibration error of the probabilities", lambda row: row.calibration),
    "lost": Measure("share of the field's variance left", lambda row: row.lost),
}


def dots(comparison: Comparison, protects: Protects, measure: MeasureName) -> list[dict[str, Any]]:
    """One dot for each mechanism and epsilon of a protection that has a figure; `number` is its row's."""
    figure = MEASURES[measure]
    rows = []
    for number, row in enumerate(comparison.rows):
        value = figure.value(row)
        if row.protects != protects or row.best is None or not math.isfinite(value):
            continue
        spread = figure.spread(row)
        rows.append(
            {
                "number": number,
                "epsilon": row.epsilon,
                "value": value,
                "low": max(0.0, value - spread),
                "high": value + spread,
                "mechanism": mechanism_named(row.mechanism).line,
                "design": design_words(row.best.design),
                "limit": row.limit,
            }
        )
    return rows


def figure_rows(comparison: Comparison, protects: Protects) -> list[dict[str, str]]:
    """The rows of one protection in words."""
    return [_line(row) for row in comparison.under(protects)]


def _line(row: Row) -> dict[str, str]:
    start = {"mechanism": row.title, "ε": f"{row.epsilon:g}"}
    if row.best is None:
        return {**start, "design": row.reason}
    utility = row.best.utility
    return {
        **start,
        "records right": spread_words(utility.records, utility.records_sd),
        "agreement": _ratio(utility.judged_iou),
        "area error": _share(utility.area_error),
        "BCE": "–" if math.isnan(utility.bce) else f"{utility.bce:.2f}",
        "calibration error": f"{row.calibration:.2f}",
        "variance left": _share(row.lost),
        "limit": "–" if math.isnan(row.limit) else f"{lower(100 * row.limit, 2)} %",
        "seconds": f"{row.seconds:.1f}",
        "design": design_words(row.best.design),
    }


def _ratio(value: float) -> str:
    return "–" if math.isnan(value) else ratio_words(value)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def load_and_compare(
    report: Report, settings: ReleaseSettings, names: tuple[str, ...], epsilons: tuple[float, ...]
) -> tuple[Project, Comparison]:
    """Picklable, for another process; nothing is drawn from private records."""
    return compare_settings(settings, names, epsilons, report, executor_of(settings))


compare_job = in_background(load_and_compare)


LEAST, SMOOTHED = (3, 5, 10), 10.0
EDITIONS = (1, 4, 12, 52)
WORDS = {1: "once", 4: "every quarter", 12: "every month", 52: "every week"}
KERNEL_HEXAGONS = 20_000  # up to which a smoothed table is made on a screen


@dataclass(frozen=True)
class Line:
    """A row of the table, a rule or the release: shares of the hexagons and of the records, agreement as
    published and as a careful reader fills the blanks (`careful`), and the AUC of "was it in?" (`apart`),
    which may be a bound."""

    name: str
    shown: float
    agreement: float
    careful: float
    exact: float
    changed: float | None
    apart: float
    bound: bool = False

    def cells(self) -> dict[str, str]:
        """In words."""
        return {
            "published": self.name,
            "shown": _percent(self.shown),
            "agreement": agreement_words(self.agreement),
            "filled": agreement_words(self.careful),
            "exact value": _percent(self.exact),
            "changes": "by noise" if self.changed is None else _percent(self.changed),
            "was it in?": f"at most {_at_most(self.apart)}" if self.bound else _percent(self.apart),
        }


def rules_of(least_count: int, hexagons: int) -> dict[str, Rule]:
    numbers = {
        f"at least {least_count}": Rule("minimum", least_count),
        f"at least {least_count}, class only": Rule("minimum", least_count, numbers=False),
    }
    if hexagons > KERNEL_HEXAGONS:
        return numbers
    return numbers | {
        "smoothed, at least 10": Rule("smoothed", SMOOTHED),
        "smoothed, class only": Rule("smoothed", SMOOTHED, numbers=False),
    }


def paint_table(table: Table, what: str, title: str) -> Painting:
    """Beyond the threshold, not, and blank, which a reader cannot tell from empty."""
    entries = (
        Entry(what, "above"),
        Entry(f"not {what}", "below"),
        Entry("hidden by the rule, or empty", "unsure"),
    )
    classes = np.where(table.shown, np.where(table.inside, 0, 1), 2)
    notes = tuple(f"Released: {entries[place].label}" for place in classes.tolist())
    return Painting(classes.astype(np.int64), entries, notes, title)


def lines_of(
    outcome: SearchOutcome,
    viewer: Viewer,
    applied: dict[str, tuple[Rule, Table]],
    records: Records,
    truth: Bools,
) -> list[Line]:
    """A row for each rule that was applied, with its table, and one for the release."""
    lines, judged = [], viewer.bundle.published.judged
    target = Target(truth, judged)
    for name, (rule, table) in applied.items():
        changed = attacks.changes(records, rule)
        row = Line(
            name,
            float(table.shown.mean()),
            target.agreement(table.inside),
            careful(outcome.project, outcome.tuned.result.model, records, table, target),
            attacks.two_editions(records, rule),
            changed,
            attacks.told_apart(changed),
        )
        lines.append(row)
    guarantee = viewer.bundle.statement["guarantee"]
    hidden = guarantee["protects"] == "values and places"  # public places tell of everybody
    apart = _apart(guarantee) if hidden else 1.0
    agreed = target.agreement(viewer.bundle.published.in_set)
    name = f"this release, ε {upper(guarantee['epsilon'], 3)}"
    return [*lines, Line(name, float(judged.mean()), agreed, agreed, 0.0, None, apart, bound=hidden)]


@dataclass(frozen=True, eq=False)
class Practice:
    """What today's rules publish of the private records with one minimum count, for the curator only; `truth`
    (N,) is the map without privacy."""

    project: Project
    records: Records
    tables: dict[str, Table]
    truth: Bools
    lines: list[Line]

    @classmethod
    def of(cls, outcome: SearchOutcome, viewer: Viewer, least_count: int, truth: Bools) -> Practice:
        """Apply every rule, and measure what its table shows and gives away."""
        records = Records.of(outcome.project)
        applied = {
            name: (rule, rule.apply(records)) for name, rule in rules_of(least_count, records.size).items()
        }
        lines = lines_of(outcome, viewer, applied, records, truth)
        tables = {name: table for name, (_, table) in applied.items()}
        return cls(outcome.project, records, tables, truth, lines)


def not_compared(project: Project) -> str:
    """Why today's rules are not applied to these records; "" where they are. They read values."""
    if project.exposure is None:
        return ""
    return (
        "Today's rules are compared for measured values and for answers of yes and no. These records are "
        "counted and have no value. The map without privacy stands on the screen Release."
    )


def sentences_of(least_count: int, lines: list[Line], viewer: Viewer) -> list[str]:
    """What the table says, and where today's practice is better; never more than it measures."""
    table, classes, ours = lines[0], lines[1], lines[-1]
    guarantee = viewer.bundle.statement["guarantee"]
    word = record_word(viewer)
    many = _many(word)
    otherwise = "For the others it does, they are identified with certainty, and "
    if not classes.changed:
        otherwise = "But "
    sentences = [
        f"A rule of at least {least_count} leaves {_percent(1.0 - table.shown)} of the hexagons blank. Where "
        f"it shows numbers, anybody with the tables before and after one {word} was added computes its "
        f"value exactly: {_percent(table.exact)} of all {many}.",
        f"Publishing the class alone is far safer: for {_percent(1.0 - (classes.changed or 0.0))} of the "
        f"{many} it makes no difference whether they are in. {otherwise}nobody can say how much the next "
        "edition, threshold or level adds.",
        f"Of two releases like this one, {_both(guarantee)}, nobody, whatever they "
        f"know, names the right one more often than {_at_most(_apart(guarantee))} of the time; and the "
        "ledger says what the next release adds.",
    ]
    best = max(lines[:-1], key=lambda line: line.careful)
    if best.careful > ours.careful:
        sentences.append(
            f"Where today's practice is better: a careful reader of the table “{best.name}” reaches an "
            f"agreement of {agreement_words(best.careful)}, this release "
            f"{agreement_words(ours.careful)}; and its numbers are exact where they are shown."
        )
    sentences.append(
        "Neither hides that a record in a high neighbourhood is probably high; laws may accept either. "
        "The yardstick is our own map without privacy."
    )
    return sentences


def record_word(viewer: Viewer) -> str:
    """What a row of the private data is called; the unit of protection may be a hexagon's whole record."""
    guarantee = viewer.bundle.statement["guarantee"]
    return "record" if guarantee["unit"] == "cell" else str(guarantee["unit_word"])


def _both(guarantee: Mapping[str, Any]) -> str:
    """The two releases that a guarantee keeps indistinguishable."""
    word = "hexagon’s whole record" if guarantee["unit"] == "cell" else protected_word(guarantee)
    if guarantee["relation"] == "add-or-remove":
        return f"one with the {word} and one without"
    if guarantee["protects"] == "values":
        return f"one with the {word} and one with any other value in its place"
    return f"one with the {word} and one with any other instead, wherever it lies"


def _apart(guarantee: Mapping[str, Any]) -> float:
    """How often both are distinguished, at most."""
    return attacks.most_told_apart(stated_cost(guarantee), guarantee["epsilon"], guarantee["delta"])


def record_sentences(record: attacks.OneMore, unit: str, word: str) -> list[str]:
    """What two editions of a table, and of its classes, say of one record."""

    def number(value: float) -> str:
        return quantity(value, unit)

    if record.before is None or record.after is None or record.found is None:
        start = "hidden without it" if record.after is not None else "hidden: nothing learned"
        sentences = [f"Its hexagon is {start}; its value is {number(record.value)}."]
    else:
        sentences = [
            f"{plural(record.after[0], word)} with a mean of {number(record.after[1])}, less "
            f"{plural(record.before[0], word)} with a mean of {number(record.before[1])}: {record.after[0]} "
            f"× {number(record.after[1])} − {record.before[0]} × {number(record.before[1])} = "
            f"{number(record.found)}, its value."
        ]
    changed = record.side_before != record.side_after
    return [*sentences, f"The map of classes {'changes' if changed else 'is the same'} with it."]


def random_record(records: Records) -> int:
    """The number of a record that is drawn at random."""
    return int(records.cell.size * SystemEntropy().uniform(1)[0])


def release_sentence(viewer: Viewer) -> str | None:
    """What two releases say of a record's value, where their cost is that of a Gaussian mechanism."""
    cost = stated_cost(viewer.bundle.statement["guarantee"])
    if not cost.gaussian_mu:
        return None
    # From one end of the clip range to the other a value moves the sums by at most mu times their noise, and
    # the difference of two releases carries sqrt(2) of it. Where mu is for one record more or less, such an
    # exchange is two steps.
    mu = cost.gaussian_mu
    if cost.neighbours == "add-or-remove":
        mu = min(2.0 * mu, cost.exchange_mu or math.inf)
    wide = lower(2.0 * 1.96 * np.sqrt(2.0) / mu, 2)
    return (
        "Two releases, without and with it, its place known: a 95 % interval for its value is at least "
        f"{wide} times as wide as the whole range within which the release tells values apart."
    )


def edition_sentences(records: Records, least_count: int, often: int, viewer: Viewer) -> list[str]:
    """A growing table renewed through the year, and what as many releases cost together."""
    guarantee = viewer.bundle.statement["guarantee"]
    together = compose([stated_cost(guarantee)] * often)
    epsilon = composed_epsilon(together, guarantee["delta"]).epsilon
    exposed, chance = (
        attacks.as_it_happens(records, least_count, often),
        attacks.most_told_apart(together, epsilon, guarantee["delta"]),
    )
    return [
        f"A table of at least {least_count} that grows through the year gives the exact value of "
        f"{_percent(exposed)} of the {_many(record_word(viewer))} away: each is the only new one of "
        "its hexagon in its period (periods at random, nothing from before the year).",
        f"{plural(often, 'release')} of all records at ε {upper(guarantee['epsilon'], 3)} "
        f"{'are' if often > 1 else 'is'} ε {upper(epsilon, 3)} together. Of two such years, "
        f"{_both(guarantee)}, the right one is named at most {_at_most(chance)} of the time. The ledger adds "
        "this up and refuses what is beyond the budget; no rule of today adds anything up.",
    ]


def _many(word: str) -> str:
    return plural(2, word).removeprefix("2 ")


def _percent(share: float) -> str:
    if 0.99 < share < 1.0:
        return f"{lower(100.0 * share, 4)} %"
    return f"{100.0 * share:.0f} %" if share == 0.0 or share >= 0.01 else f"{100.0 * share:.2g} %"


def _at_most(share: float) -> str:
    """A bound, rounded up."""
    return f"{upper(100.0 * share, 2 if share < 0.99 else 4)} %"
