"""The receipt and the words for privacy numbers: complete, never understating, no alarm at small epsilon."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.numbers import significant, upper
from hexcursion import promises, words
from hexcursion.bundle.statement.receipt import BudgetLine, ReceiptFacts, build_receipt
from hexcursion.project.response import ResponseScale
from hexcursion.record import ReceiptLine, Tuning
from tests.hexcursion.bundle.bundle_samples import RESPONSE, guarded

DESIGN = Design(prior="car", lengthscale=2000.0, ridge=1.5, scale=0.4, paths=3, noise_scale=0.2)
TUNING = Tuning("public reference data", "2017 sales.")
SALE = promises.Protected("sale")


def surest_share(epsilon: float, delta: float = 0.0) -> str:
    """In words, how often a guess between two values of one record is right, at most."""
    return words.share(words.surest(epsilon, delta, "replace-one"))


def receipt(**changes: Any) -> dict[str, ReceiptLine]:
    given: dict[str, Any] = {
        "privacy": guarded(),
        "design": DESIGN,
        "response": RESPONSE,
        "tuning": TUNING,
        "cells": 661,
        "resolution": 8,
        "domain_origin": "Public geography.",
        "value_unit": "pounds",
        "ledger": BudgetLine(1.0, 2.25, 4.0),
    } | changes
    return {line.topic: line for line in build_receipt(ReceiptFacts(**given))}


def test_every_part_has_its_line() -> None:
    lines = receipt(prior_mean_origin="2017 map")
    expected = "Unit of protection, Records, Domain, Centre, Clip bound, Prior mean, Tuning, Mechanism, "
    expected += "Paths, Bound, Computer, This release, Delta, Ledger, Budget, In words, Group"
    assert ", ".join(lines) == expected
    assert "treated as public" in lines["Records"].text
    assert lines["Domain"].text == "661 H3 cells of resolution 8: Public geography."
    assert "£400,312" in lines["Centre"].text
    assert "factor of 3.32" in lines["Clip bound"].text
    assert "1.75 left" in lines["Budget"].text
    assert "before, 2.25 after" in lines["Ledger"].text
    assert "proved" in lines["Bound"].text
    assert "prior noise 0.2" in lines["Mechanism"].text


def test_warnings_stand_where_something_is_wrong_and_nowhere_else() -> None:
    fine = receipt()
    assert [topic for topic, line in fine.items() if line.warning] == []
    wrong = {
        "Tuning": {"tuning": Tuning("not accounted", "by eye")},
        "Domain": {"domain_origin": ""},
        "Centre": {"response": ResponseScale("log", 12.9, 1.2, "")},
        "Bound": {"privacy": replace(guarded(), proved=False)},
        "Delta": {"privacy": replace(guarded(), delta=1e-3)},
        "Budget": {"ledger": BudgetLine(3.0, 4.1, 4.0)},
        "Randomness": {"simulation": True},
        "In words": {"privacy": replace(guarded(), epsilon=4.61)},  # odds above a hundred
    }
    for topic, changes in wrong.items():
        assert receipt(**changes)[topic].warning, topic
    assert receipt(ledger=BudgetLine(0.0, 1.0))["Budget"].warning


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 0.5, 1.0, 3.0, math.log(100.0)])
def test_small_epsilon_raises_no_alarm(epsilon: float) -> None:
    lines = receipt(privacy=replace(guarded(), epsilon=epsilon))
    assert not any(line.warning for line in lines.values())


def test_epsilon_ten_is_said_plainly() -> None:
    text = receipt(privacy=replace(guarded(), epsilon=10.0))["In words"].text
    assert "up to 22,100 times more likely" in text


def test_exactly_spent_is_not_over_budget() -> None:
    assert receipt(ledger=BudgetLine(0.0, 2.0 - 1.695e-7, 2.0))["Budget"].text == (
        "epsilon 2 in total, 0 left."
    ), "rounding is no budget"
    assert "0.00123 left" in receipt(ledger=BudgetLine(0.0, 2.0 - 0.0012309, 2.0))["Budget"].text
    assert "epsilon 0.7 in total, 0.3 left" in receipt(ledger=BudgetLine(0.0, 0.4, 0.7))["Budget"].text
    accepted = receipt(ledger=BudgetLine(0.0, 2.0 + 1e-9, 2.0))["Budget"]
    assert (accepted.text, accepted.warning) == ("epsilon 2 in total, 0 left.", False), "the ledger takes it"
    line = receipt(ledger=BudgetLine(1.0, 4.0, 4.0))["Budget"]
    assert not line.warning
    assert "0 left" in line.text


def test_noisy_statistics_say_that_paths_are_free() -> None:
    design = NoisyCellStatisticsDesign("car", 2000.0, 1.5, 0.4, 3.0, paths=3)
    assert "costs nothing" in receipt(design=design)["Paths"].text


def test_delta_line_prices_a_smaller_delta() -> None:
    text = receipt()["Delta"].text
    assert text.startswith("delta 1e-5 is 1 in 100,000. At delta 1e-7 the same release has epsilon 2.925")


@pytest.mark.parametrize(("n", "warning"), [(99, False), (100, True), (101, True)])
def test_a_delta_of_one_in_n_is_warned_of(n: int, warning: bool) -> None:
    line = receipt(privacy=replace(guarded(), n=n, delta=0.01))["Delta"]
    assert line.warning is warning
    assert ("publishing whole records would be allowed" in line.text) is warning


@given(st.floats(1e-9, 700.0))
def test_upper_never_understates(epsilon: float) -> None:
    said = float(upper(epsilon).replace(",", ""))
    assert said >= epsilon * (1 - 1e-9)
    assert said <= epsilon * (1 + 1.1e-3) + 1e-300


@given(st.floats(0.0, 20.7), st.sampled_from([0.0, 1e-7, 1e-5, 0.003, 0.2]))
def test_times_and_belief_never_understate(epsilon: float, delta: float) -> None:
    """One part in 10^9 is granted, as to every stated cost; a step of the last digit is the most added."""
    factor, sure = math.exp(epsilon), (math.exp(epsilon) + delta) / (1.0 + math.exp(epsilon))
    said = float(words.times(epsilon).removesuffix(" times").replace(",", ""))
    assert factor * (1.0 - 1.1e-9) <= said <= 1.0101 * factor
    said = float(surest_share(epsilon, delta).removesuffix(" %")) / 100.0
    assert sure * (1.0 - 1.1e-9) <= said <= min(1.0, 1.0021 * sure)


@given(st.floats(1e-12, 0.9))
def test_a_slack_is_never_said_smaller_than_it_is(delta: float) -> None:
    said = float(words.one_in(delta).removeprefix("1 in ").replace(",", ""))
    assert delta * (1.0 - 1.1e-9) <= 1.0 / said <= 1.011 * delta


@given(st.floats(0.0, 1e4))
def test_times_and_belief_are_always_words(epsilon: float) -> None:
    assert words.times(epsilon).endswith("times")
    assert surest_share(epsilon).endswith("%")


def test_a_record_more_or_less_lies_two_steps_from_another_value() -> None:
    """docs/accounting.md, 10: Phi(mu/2) for an exchange, Phi(mu) where a record comes or goes."""
    mu = 0.268125  # of epsilon 1 at delta 1e-5
    assert words.surest(1.0, 1e-5, "replace-one", mu) == pytest.approx(0.5533, abs=1e-4)
    assert words.surest(1.0, 1e-5, "add-or-remove", mu) == pytest.approx(0.6057, abs=1e-4)
    assert words.surest(1.0, 1e-5, "replace-one", mu, 0.01) == pytest.approx(0.5633, abs=1e-4)
    assert words.surest(1.0, 1e-5, "replace-one") == pytest.approx(0.7311, abs=1e-4)
    assert words.surest(1.0, 1e-5, "add-or-remove") == pytest.approx(0.8161, abs=1e-3)
    assert words.surest(0.1, 0.0, "replace-one", 5.0) == pytest.approx(0.5250, abs=1e-4)  # the least of both


def test_numbers_in_words() -> None:
    assert words.times(1.0) == "2.72 times"
    assert words.times(0.25) == "1.285 times"
    assert words.times(0.0) == "1 times"
    assert words.times(10.0) == "22,100 times"
    assert words.times(math.inf) == "without limit"
    assert surest_share(1.0) == "73.2 %"
    assert surest_share(1.0, 0.1) == "75.8 %"
    assert surest_share(0.0) == "50 %"
    assert surest_share(8.0) == "99.967 %"
    assert surest_share(math.inf) == "100 %"
    assert words.one_in(1e-5) == "1 in 100,000"
    assert words.one_in(1.5e-5) == "1 in 66,600"
    assert significant(1234.5678, 6) == "1,234.57"
    assert significant(-0.00012345, 3) == "-0.000123"
    assert significant(1e-7, 3) == "1e-7"
    assert words.quantity(442_413.0, "pounds") == "£442,413"
    assert words.quantity(-3.5, "GBP") == "-£3.5"
    assert words.quantity(20.0, "ug/m3") == "20 ug/m3"
    assert words.agreement_words(0.8699) == words.ratio_words(0.8699) == "0.86"
    assert words.agreement_words(math.nan) == "undefined, both maps are empty"
    assert words.ratio_words(math.nan) == "undefined"
    assert words.error_words(0.0311) == "3.2 %"
    assert words.right_words(0.9399) == "93 %"
    assert words.plural(2, "property") == "2 properties"
    assert words.plural(1, "sale") == "1 sale"
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="epsilon"):
            words.times(wrong)


def test_group_lines() -> None:
    assert "epsilon 4.796" in promises.group_sentence(2, 4.7952, 2e-4, "sale")
    far = promises.group_sentence(10, 39.6, 1e-5, "sale")
    assert far.endswith("An epsilon above 20 protects nobody in practice.")
    for useless in (
        promises.group_sentence(9, 90.0, 1.0, "sale"),
        promises.group_sentence(9, math.inf, 0.001, "sale"),
    ):
        assert "no useful guarantee" in useless


def test_a_delta_of_one_in_n_says_that_a_whole_record_may_be_published_and_no_belief() -> None:
    said = promises.epsilon_sentence(SALE, 1.0, 0.01, n=100)
    assert "With 100 sales this slack allows a whole record to be published." in said
    assert "guess" not in said
    right = promises.epsilon_sentence(SALE, 1.0, 0.0001, n=100, chance=0.7311)
    assert right.endswith(" A 50:50 guess about one sale becomes at most 74:26.")
    assert "guess" not in promises.epsilon_sentence(SALE, 1.0, 0.0001, n=100)


def test_an_epsilon_above_20_protects_nobody() -> None:
    assert promises.epsilon_sentence(SALE, 20.1, 1e-5).endswith("protects nobody in practice.")
    assert "nobody" not in promises.epsilon_sentence(SALE, 20.0, 1e-5)


def test_a_delta_is_never_said_to_be_one() -> None:
    assert (words.slack(0.99999), words.one_in(0.99999)) == ("above 0.999", "above 0.999")
    assert (words.slack(0.998), words.slack(1e-5)) == ("0.998", "1e-5")
    text = receipt(privacy=replace(guarded(), delta=0.99999, n=1))["Delta"].text
    assert "delta above 0.999 is above 0.999" in text


def test_what_the_proof_says_of_the_computer() -> None:
    noisy = NoisyCellStatisticsDesign("car", 2000.0, 1.5, 0.4, 3.0, paths=3)
    assert receipt(design=noisy)["Computer"].text.startswith("The guarantee holds for the numbers as")
    assert "no proof covers that rounding" in receipt()["Computer"].text


def test_where_a_record_may_be_added_its_number_is_no_public_fact() -> None:
    lines = receipt(relation="add-or-remove")
    assert "true number is not published" in lines["Records"].text
    assert lines["In words"].text.startswith("Adding or removing one sale")
    assert "among about 30,123 sales" in lines["Unit of protection"].text


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (0.0, "0"),
        (5e-324, "1e-300"),
        (1e-310, "1e-300"),
        (0.333312, "0.3334"),
        (2.0, "2"),
        (1.00001, "1.001"),
    ],
)
def test_a_cost_is_rounded_up(cost: float, said: str) -> None:
    assert upper(cost) == said
