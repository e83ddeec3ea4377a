"""Words of a receipt that stand for numbers and for a warning, on values that are written down."""

from __future__ import annotations

import math

import pytest

from hexcursion.bundle.statement.receipt import _centre, _clip, _tuning
from hexcursion.project.response import ResponseScale
from hexcursion.record import Tuning
from hexcursion.settings.names import TuningKind


def test_a_centre_and_a_clip_bound_are_said_with_these_digits() -> None:
    log = ResponseScale("log", math.log(1234567.0), math.log(2.345), "literal")
    assert _centre(log, "m") == "1,234,570 m (log 14.026)"
    assert _clip(log, "m") == "a factor of 2.35 either way (log 0.8523)"


def test_without_a_logarithm_they_are_plain_quantities() -> None:
    plain = ResponseScale("identity", 26.5, 7.25, "literal")
    assert (_centre(plain, "m"), _clip(plain, "m")) == ("26.5 m", "7.25 m either way")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("public reference data", "public reference data: b.csv"),
        (
            "reference data",
            "reference data: b.csv. Records in the reference data are not protected by this statement.",
        ),
    ],
)
def test_only_reference_data_that_were_set_aside_are_said_to_be_unprotected(
    kind: TuningKind, said: str
) -> None:
    assert _tuning(Tuning(kind, "b.csv")) == said
