"""Helping to decide: the reference values in bars and words, and the verdict in one sentence."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.project.response import ResponseScale
from hexcursion.record import Expected, Tuning, Yardsticks
from hexcursion.search.choice import Choice
from hexcursion.settings.names import ReferenceKind
from pages.privacy.question_view import bars, published_answers, reference_sentences, share_above
from pages.privacy.search_panel import verdict
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.previews import QUANTILES, Preview

DESIGN = PosteriorSamplingDesign("car", 2000.0, 1.5, 0.4)
EVEN = tuple(float(value) for value in np.quantile(np.arange(1.0, 101.0), np.linspace(0, 1, QUANTILES + 1)))


def seen(quantiles: tuple[float, ...] = EVEN) -> Preview:
    return Preview((), 100, "ug/m3", "sensor", False, (), (), (), quantiles)


@pytest.mark.parametrize(("threshold", "share"), [(0.0, 1.0), (50.5, 0.5), (90.1, 0.1), (100.0, 0.0)])
def test_the_share_above_a_threshold(threshold: float, share: float) -> None:
    assert share_above(EVEN, threshold) == pytest.approx(share, abs=0.002)


def test_the_bars_hold_nearly_all_values_once() -> None:
    drawn = bars(EVEN)
    assert len(drawn) == 32
    assert 0.94 < sum(bar.share for bar in drawn) < 0.96  # without a fortieth on each side
    assert all(before.high == after.low for before, after in pairwise(drawn))
    assert bars((5.0,) * (QUANTILES + 1)) == ()


def test_quantiles_and_share_are_said_and_a_map_of_one_colour_is_warned_of() -> None:
    first, second = reference_sentences(seen(), "ug/m3", 90.1)
    assert "half lie below 50.5 ug/m3" in first
    assert second == "About 10 % of them lie above 90.1 ug/m3."
    assert reference_sentences(seen(), "ug/m3", 99.5)[2] == (
        "Nearly the whole map would be one colour: a lower threshold tells more."
    )
    assert reference_sentences(seen(), "ug/m3", 1.5)[2].endswith("a higher threshold tells more.")
    assert len(reference_sentences(seen(), "ug/m3", None)) == 1


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"reference_public": True, "yes_above": 90.1}, "About 10 % of the 100 public reference"),
        ({"reference_public": True}, "About 100 % of the 100"),  # values above 0.5 are ones
        ({"reference_public": False, "yes_above": 90.1}, ""),
    ],
)
def test_the_share_of_yes_is_said_of_published_values_alone(choices: dict[str, object], said: str) -> None:
    told = published_answers(SimpleNamespace(reference=seen(), choices=choices))  # type: ignore[arg-type]
    assert told.startswith(said)
    assert bool(told) is bool(said)


def found(
    records: float | None, gain: float = 0.1, threshold: float = 22.0, few: int | None = None
) -> SearchOutcome:
    expected = None
    if records is not None:
        basis: ReferenceKind = "simulated" if few else "reference data"
        expected = Expected(0.4, 0.1, 0.9, basis, records=records, gain=gain)
    response = ResponseScale("identity", 20.0, 10.0, "given")
    tuning = Tuning("given", "by hand")
    yardsticks = Yardsticks(0.2, colour_records=0.59, public_records=0.78, few=few)
    choice = Choice(DESIGN, response, tuning, expected=expected, yardsticks=yardsticks)
    settings = SimpleNamespace(epsilon=1.0, threshold=threshold)
    return SearchOutcome(SimpleNamespace(settings=settings), SimpleNamespace(), choice)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "gain", "few", "said"),
    [
        (
            0.834, 0.0, None,
            "Worth releasing for ε 1: of 100 records tried 83 lie on the side that the map shows; public map "
            "78; one colour 59.",
        ),
        (0.7, -0.01, None, "Not worth releasing as it stands: the map of public data alone would show"),
        (0.8, 0.1, 130, "Not worth releasing as it stands: 130 records are too few to tell where values lie"),
        (
            0.8, 0.1, 149,
            "Not stopped, but 149 records are too few to say how right the map will be: it takes 150, or a "
            "public map to start from.",
        ),
        (None, 0.1, None, "Nothing is known of how right this map will be"),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence(records: float | None, gain: float, few: int | None, said: str) -> None:
    sentence = verdict(found(records, gain, few=few))
    assert sentence.startswith(said)
    assert ". " not in sentence


def test_a_threshold_beyond_the_usual_values_is_not_worth_a_release_of_any_design() -> None:
    assert found(None, threshold=29.9).against == ()
    assert verdict(found(None, threshold=30.0)).startswith(
        "Not worth releasing as it stands: no value can lie beyond its threshold, as values are cut"
    )
