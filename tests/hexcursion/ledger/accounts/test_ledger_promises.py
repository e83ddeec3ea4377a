"""Releases that promise different things: consent, one common price, the budget, and what is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpgp_core.accounting.composition import Cost, Neighbours
from dpgp_core.mechanisms.design import Unit
from hexcursion.ledger import BudgetExceeded, Charge, Ledger
from hexcursion.ledger.errors import PromiseBroken
from hexcursion.ledger.sentences import account_lines
from hexcursion.promises import Protected
from tests.hexcursion.ledger.overlap.market import market
from tests.hexcursion.ledger.places import release

DELTA = 1e-5
ONE = 0.26805112321104796  # mu of a release that costs epsilon 1 at 1e-5
EXCHANGE = ONE * 2.3709**0.5  # what the features of the issue let an exchange cost of the same release
PRESENCE = Cost.gaussian(ONE).among("add-or-remove", EXCHANGE)
EXCHANGED = Cost.gaussian(ONE)
VALUES = Cost.gaussian(ONE).among("values-only")


def charge(ledger: Ledger, cost: Cost, accepts: bool = False, unit: Unit = "point") -> Charge:
    made = market(100).charge(ledger)
    return Charge(made.dataset, unit, cost, {}, made.records, accepts)


def paid(ledger: Ledger, *costs: Cost, budget: float = 9.0) -> str:
    """Each one released, with consent."""
    dataset = charge(ledger, EXCHANGED).dataset
    ledger.set_budget(dataset, "point", budget, DELTA)
    for number, cost in enumerate(costs):
        release(ledger, charge(ledger, cost, True), f"release {number}")
    return dataset


def said(ledger: Ledger, asked: Charge) -> list[str]:
    """The lines about earlier releases, but for the one on shared records."""
    standing = ledger.preview(asked).standing
    assert standing is not None
    lines = account_lines(standing, Protected("sale", asked.unit))
    return [line.text for line in lines if line.topic == "Earlier releases" and line.warning]


def test_together_is_what_an_exchange_costs_and_the_line_says_so(ledger: Ledger) -> None:
    """It said 1.835, the sum of three that were taken to be alike."""
    dataset = paid(ledger, PRESENCE, PRESENCE)
    assert ledger.account(dataset, "point").spent == pytest.approx(1.4661, abs=1e-3)
    asked = charge(ledger, EXCHANGED, True)
    preview = ledger.preview(asked)
    assert preview.after == pytest.approx(2.640, abs=1e-3)
    assert preview.before == pytest.approx(2.3704, abs=1e-3)
    assert (preview.asked, preview.neighbours) == (pytest.approx(1.0, abs=1e-6), "replace-one")
    (line,) = said(ledger, asked)
    assert line == (
        "Releases of these records promise different things. All of them together hide the value and "
        "the place of a record, at epsilon 2.641; 2 of them also hide whether a record is there at all, at "
        "epsilon 1.466, and the others do not. A release that hides whether a record is there counts for an "
        "exchanged record at its own price of an exchange, or at that of one record less and one more."
    )
    release(ledger, asked, "third")
    assert ledger.account(dataset, "point").spent == preview.after


def test_the_budget_is_held_against_the_common_price(ledger: Ledger) -> None:
    paid(ledger, PRESENCE, PRESENCE, budget=2.5)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(charge(ledger, EXCHANGED, True))
    assert refused.value.after == pytest.approx(2.640, abs=1e-3)
    release(ledger, charge(ledger, PRESENCE), "a third of the same kind fits")


@pytest.mark.parametrize(
    ("earlier", "now", "does"),
    [
        (PRESENCE, EXCHANGED, "states the number of records"),
        (PRESENCE, VALUES, "takes the places of the records as public"),
        (EXCHANGED, VALUES, "takes the places of the records as public"),
    ],
)
def test_what_breaks_an_earlier_promise_needs_consent_once(
    ledger: Ledger, earlier: Cost, now: Cost, does: str
) -> None:
    dataset = paid(ledger, earlier)
    before = len(ledger.entries())
    preview = ledger.preview(charge(ledger, now))
    assert not preview.fits
    assert preview.refused == preview.breaks
    for refuse in (ledger.check_charge, ledger.reserve):
        with pytest.raises(PromiseBroken, match=f"{does}, which 1 earlier release of the same records"):
            refuse(charge(ledger, now))
    assert len(ledger.entries()) == before
    agreed = ledger.preview(charge(ledger, now, True))
    assert (agreed.fits, agreed.refused, agreed.breaks) == (True, "", preview.breaks)
    reserved = ledger.reserve(charge(ledger, now, True))
    assert reserved.entry.facts["accepts_weaker"] is True
    later = ledger.reserve(charge(ledger, now))  # that promise no longer holds
    assert "accepts_weaker" not in later.entry.facts
    assert ledger.account(dataset, "point").cost.neighbours == now.neighbours


@pytest.mark.parametrize(("earlier", "now"), [(VALUES, EXCHANGED), (EXCHANGED, PRESENCE), (VALUES, PRESENCE)])
def test_a_stronger_promise_later_is_free_and_does_not_reach_back(
    ledger: Ledger, earlier: Cost, now: Cost
) -> None:
    paid(ledger, earlier)
    preview = ledger.preview(charge(ledger, now))
    assert (preview.fits, preview.breaks) == (True, "")
    assert preview.neighbours == earlier.neighbours
    assert "1 of them also hides" in said(ledger, charge(ledger, now))[0]
    assert "at epsilon 1," in said(ledger, charge(ledger, now))[0], "of this one alone"


def test_values_places_and_presence_each_have_their_own_sum(ledger: Ledger) -> None:
    paid(ledger, PRESENCE, EXCHANGED)
    (line,) = said(ledger, charge(ledger, VALUES, True))
    assert "together hide the value of a record, at epsilon 2.265;" in line
    assert "1 of them also hides whether a record is there at all, at epsilon 1, and the others" in line
    assert "2 of them also hide the value and the place of a record, at epsilon 1.959, and the others" in line


def test_releases_of_one_kind_say_nothing_new(ledger: Ledger) -> None:
    for unit in ("point", "cell"):
        ledger.set_budget(charge(ledger, VALUES).dataset, unit, 9.0, DELTA)  # type: ignore[arg-type]
    release(ledger, charge(ledger, VALUES), "one")
    preview = ledger.preview(charge(ledger, VALUES))
    assert (said(ledger, charge(ledger, VALUES)), preview.breaks) == ([], "")
    assert preview.after == pytest.approx(1.4661, abs=1e-3)


def test_a_release_of_hexagons_breaks_the_promise_of_points_too(ledger: Ledger) -> None:
    """The number of hexagons with records tells of a record that is alone in one."""
    paid(ledger, PRESENCE)
    ledger.set_budget(charge(ledger, EXCHANGED).dataset, "cell", 9.0, DELTA)
    with pytest.raises(PromiseBroken):
        ledger.reserve(charge(ledger, EXCHANGED, unit="cell"))
    ledger.reserve(charge(ledger, EXCHANGED, True, "cell"))
    ledger.reserve(charge(ledger, EXCHANGED, unit="cell"))
    with pytest.raises(PromiseBroken):
        ledger.reserve(charge(ledger, EXCHANGED))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("add-or-remove", "so for it they cost at most epsilon 4.747"),
        ("replace-one", "so for it they cost at most epsilon 2.155"),
        ("values-only", "where one observation is, they do not hide"),
    ],
)
def test_the_other_unit_is_priced_for_what_it_hides(ledger: Ledger, other: Neighbours, words: str) -> None:
    dataset = charge(ledger, EXCHANGED).dataset
    for unit in ("point", "cell"):
        ledger.set_budget(dataset, unit, 9.0, DELTA)  # type: ignore[arg-type]
    release(ledger, charge(ledger, Cost.gaussian(ONE).among(other), unit="cell"), "hexagons")
    standing = ledger.preview(charge(ledger, EXCHANGED, True)).standing
    assert standing is not None
    lines = {line.topic: line.text for line in account_lines(standing, Protected("sale"))}
    assert words in lines["Other unit"]


def test_a_release_of_other_records_does_not_stand_for_consent(ledger: Ledger) -> None:
    """One row of another dataset, released with its number, joins the accounts and breaks no promise."""
    paid(ledger, PRESENCE)
    other = replace(charge(ledger, EXCHANGED), dataset="cd" * 32, accepts_weaker=True)
    ledger.set_budget(other.dataset, "point", 9.0, DELTA)
    release(ledger, other, "of other records")
    assert "which 1 earlier release" in ledger.preview(charge(ledger, EXCHANGED)).breaks


def test_consent_covers_what_was_promised_until_then(ledger: Ledger) -> None:
    paid(ledger, EXCHANGED, PRESENCE)
    asked = charge(ledger, EXCHANGED)
    assert "which 1 earlier release" in ledger.preview(asked).breaks, "the promise came after the number"
    release(ledger, charge(ledger, EXCHANGED, True), "agreed")
    assert ledger.preview(asked).breaks == ""
    release(ledger, charge(ledger, PRESENCE), "promised again")
    assert "which 1 earlier release" in ledger.preview(asked).breaks


def test_a_release_that_broke_no_promise_when_it_was_made_is_no_consent(ledger: Ledger) -> None:
    """A promise of other data comes to hold for these records when a person joins the two."""
    other = market(80, seed=9).charge(ledger)
    ledger.set_budget(other.dataset, "point", 9.0, DELTA)
    release(ledger, replace(other, cost=PRESENCE), "promised")
    dataset = charge(ledger, VALUES).dataset
    ledger.set_budget(dataset, "point", 9.0, DELTA)
    release(ledger, charge(ledger, VALUES), "without consent")
    ledger.decide(dataset, other.dataset, True, reason="the same sensors", person="Ada")
    with pytest.raises(PromiseBroken, match="1 earlier release of the same records"):
        ledger.reserve(charge(ledger, VALUES))
