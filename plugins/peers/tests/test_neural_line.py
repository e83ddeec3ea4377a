"""The neural process on a line: its rivals by hand, and what the stored figures claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from hexcursion_peers.neural.line import CELLS, PLACES
from hexcursion_peers.neural.simulated.line_tasks import Law
from hexcursion_peers.studies import RESULTS, neural_line
from hexcursion_peers.studies.neural_line import (
    NeuralSettings,
    Predicted,
    Sample,
    draw,
    likelihood,
    mean_nll,
    network_predictions,
    nothing,
    read_people,
    sparse_predictions,
    without_privacy,
)
from plugins.peers.studies import stricter
from plugins.peers.tests.heights import made_up
from studies.reporting.tables import load_result


def test_scores_by_hand() -> None:
    """A unit normal at 0 and 2: .9189 and 2.9189; one of both lies within 95 %."""
    flat, at, said = Predicted(np.zeros(CELLS), np.ones(CELLS)), np.array([3, 700]), np.array([0.0, 2.0])
    assert flat.nll(at, said) == pytest.approx(1.9189385, abs=1e-6)
    assert flat.covered(at, said) == 0.5
    assert flat.covered(at, np.array([0.0, 1.95])) == 1.0


def test_the_exact_posterior_of_one_record() -> None:
    """Scatter .2, one response of 1: mean 1/1.04 there, variance 1 - 1/1.04 + .04 of another response."""
    law, seen = Law("eq", 0.71), Sample(np.array([512]), np.array([1.0]))
    found = without_privacy(law, seen)
    assert (found.mean[512], found.sd[512]) == pytest.approx((0.9615385, np.sqrt(0.0784615)), abs=1e-6)
    correlation = np.exp(-np.square(100 * 4.0 / CELLS / 0.71) / 2.0)
    assert found.mean[612] == pytest.approx(0.9615385 * correlation, abs=1e-6)
    assert likelihood(law, seen) == pytest.approx(-0.5 / 1.04 - 0.5 * np.log(1.04), abs=1e-9)


def test_many_records_tell_a_sawtooths_phase_and_direction() -> None:
    law, rng = Law("sawtooth", 0.5), np.random.default_rng(4)
    wave = law.sawtooth(np.array(0.3), np.array(-1.0), PLACES)
    at = rng.integers(0, CELLS, 400)
    found = without_privacy(law, Sample(at, wave[at] + 0.2 * rng.standard_normal(400)))
    assert np.abs(found.mean - wave).max() < 0.1
    assert found.sd.max() < 0.25


def test_without_privacy_as_in_the_specification() -> None:
    """Anchors at lengthscale .71 from 128 tasks: -.121 at 64 records, -.175 at 512; 24 tasks here."""
    law, rng = Law("eq", 0.71), np.random.default_rng(1)
    for number, anchor in ((64, -0.121), (512, -0.175)):
        drawn = [draw(law, number, rng) for _ in range(24)]
        made = [without_privacy(law, seen) for seen, _ in drawn]
        assert mean_nll(made, [held for _, held in drawn]) == pytest.approx(anchor, abs=0.05)


@pytest.mark.parametrize("law", [Law("eq", 0.71), Law("sawtooth", 0.5)])
def test_methods_stand_in_order(law: Law) -> None:
    """512 records, epsilon 3: without privacy, then what is released, then nothing; the network below .3."""
    rng, mu = np.random.default_rng(2), float(gaussian_mu(3.0, 1e-3))
    drawn = [draw(law, 512, rng) for _ in range(12)]
    seen, held = [each for each, _ in drawn], [each for _, each in drawn]
    exact = mean_nll([without_privacy(law, each) for each in seen], held)
    network = mean_nll(network_predictions(law.family, seen, mu, rng), held)
    sparse = mean_nll(sparse_predictions(law, seen, held, mu, 5), held)
    assert exact < network < 0.3  # acceptance of the reduced run in the specification
    assert exact < sparse < mean_nll([nothing(law)] * 12, held)


def test_people_by_age(tmp_path: Path) -> None:
    """Ages in 1,024 steps of 90 years; heights in units of 25 cm around 140."""
    people = read_people(made_up(tmp_path), "height")
    assert people.at.size == 301
    last = np.array([people.at[-1], people.said[-1]])
    np.testing.assert_allclose(last, [341, 1.2])  # 30 years, 170 cm


def test_the_stored_figures_say_what_the_docs_say() -> None:
    stored = load_result(RESULTS / "neural-line.json")
    assert stored is not None
    found = {
        (row["law"], row["records"], row["epsilon"], row["method"]): float(str(row["NLL"]))
        for row in stored.table("synthetic").records()
    }
    for law in ("Gaussian kernel", "Matern 3/2", "weakly periodic", "sawtooth"):
        for epsilon in (0.333, 1.0, 3.0):
            row = [found[law, 512, epsilon, name] for name in ("without privacy", "neural process")]
            assert row[0] < row[1] < found[law, 512, epsilon, "sparse process"]
        assert found[law, 512, 3.0, "neural process"] < found[law, 64, 3.0, "neural process"]
        assert found[law, 512, 3.0, "neural process"] < found[law, 512, 0.333, "neural process"]


def test_a_quick_run_has_the_synthetic_laws_only() -> None:
    small = NeuralSettings(tasks=2, numbers=(64,), epsilons=(3.0,), preset="quick")
    told: list[float] = []
    found = neural_line.run(small, lambda share, text: told.append(share))
    assert [table.name for table in found.tables] == ["synthetic"]
    assert set(found.table("synthetic").column("method")) == {
        "without privacy",
        "neural process",
        "sparse process",
        "nothing released",
    }
    assert told[-1] == 1.0


def test_the_people_themselves(shared_data: Path) -> None:
    """256 of the !Kung at epsilon 3: trained on simulated fields only, it is calibrated and beats nothing."""
    settings = NeuralSettings(
        tasks=8, numbers=(256,), epsilons=(3.0,), people=str(shared_data / "other" / "Howell1.csv")
    )
    rows = {(row[0], row[3]): row for row in neural_line._people(settings, lambda share, text: None)}
    for response in ("height", "weight"):
        network, before = rows[response, "neural process"], rows[response, "nothing released"]
        assert float(network[4]) < float(before[4]) - 0.4
        assert 0.88 < float(network[6]) <= 0.995


def test_exchanged_responses_keep_places_and_values_and_tell_nothing_of_the_field() -> None:
    rng = np.random.default_rng(4)
    seen, held = draw(stricter.LAWS[0], 512, rng)
    other = stricter.exchanged(seen, rng)
    assert np.array_equal(other.at, seen.at)
    assert np.array_equal(np.sort(other.said), np.sort(seen.said))
    assert not np.array_equal(other.said, seen.said)
    own, control = (
        stricter.scores(stricter.read("eq", [sample] * 70, 0.388, rng), [held] * 70)[0]
        for sample in (seen, other)
    )
    assert own < 0.5
    assert control > own + 0.5


def test_a_smaller_delta_costs_the_network_likelihood() -> None:
    rng = np.random.default_rng(5)
    tasks = [draw(stricter.LAWS[0], 256, rng) for _ in range(12)]
    loose, strict = (
        stricter.scores(
            stricter.read("eq", [seen for seen, _ in tasks], mu, rng), [held for _, held in tasks]
        )[0]
        for mu in (gaussian_mu(1.0, 1e-3), gaussian_mu(1.0, 1e-5))
    )
    assert loose + 0.05 < strict < 1.2
