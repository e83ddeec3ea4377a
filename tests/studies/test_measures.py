"""The measures that studies share, on numbers written out."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from studies.material.home import home
from studies.reporting.measures import calibration_error, growth, run_child, standard_error


def test_calibration_error_adds_up_ten_bins() -> None:
    """.9 four times, three of them true; .25, true; .35, false: (.6 + .75 + .35) / 6."""
    chance = np.array([0.9, 0.9, 0.9, 0.9, 0.25, 0.35])
    truth = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    assert calibration_error(chance, truth) == pytest.approx(1.7 / 6.0)


def test_the_standard_error_takes_the_sample_deviation() -> None:
    assert standard_error(np.array([1.0, 2.0, 3.0, 6.0])) == pytest.approx(1.0801234)


def test_growth_is_the_exponent_of_a_power() -> None:
    assert growth([1_000, 4_000, 16_000], [2.0, 16.0, 128.0]) == pytest.approx(1.5)


def test_a_home_is_gone_after_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEXCURSION_HOME", "HEXCURSION_WITNESS"):
        monkeypatch.setenv(name, "set by the study, put back by the test")
    with home() as folder:
        assert (os.environ["HEXCURSION_HOME"], folder.is_dir()) == (str(folder), True)
    assert not folder.exists()


def test_a_child_returns_its_last_line_and_a_failed_one_its_errors() -> None:
    code = "import os; print('progress'); print('{\"home\": \"' + os.environ['PLACE'] + '\"}')"
    assert run_child([sys.executable, "-c", code], PLACE="here") == {"home": "here"}
    with pytest.raises(SystemExit, match="no such size"):
        run_child([sys.executable, "-c", "raise SystemExit('no such size')"])
