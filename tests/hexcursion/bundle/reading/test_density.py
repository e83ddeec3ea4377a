"""Densities from released counts, of releases of amounts and of counted records; forged sums of these."""

from __future__ import annotations

import csv
import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms import spectral_release as spectral_release_core
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.mechanisms.spectral_release import prepared_plan, records_again
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.counts import CHANCE, UNEVEN
from dpgp_core.spectral.model import PublicCounts
from geo import Domain
from geo.context.surroundings import Surroundings
from hexcursion.bundle import BundleError
from hexcursion.bundle.again import (
    check_again,
    density_if_any,
    density_of,
    holds_counts,
    released_of,
    sums_facts,
)
from hexcursion.bundle.density import Density
from hexcursion.bundle.page import drawn
from hexcursion.bundle.page.drawn import densities, drawing, thresholds
from hexcursion.bundle.published import bundle_store
from hexcursion.bundle.published.bundle_store import is_page_of, page_of
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents, write_bundle
from hexcursion.cli.main import main
from hexcursion.door.released import open_bundle
from hexcursion.errors import WorkflowError
from hexcursion.project.load import build_lattice
from hexcursion.project.public_numbers import Exposure
from hexcursion.record import Release
from tests.dpgp_core.hexmap import disk
from tests.hexcursion.bundle.bundle_samples import retold
from tests.hexcursion.bundle.reading.test_released_sums import table, with_table
from tests.hexcursion.bundle.spectral_samples import DESIGN, spectral_release


def counted_release(domain: Domain) -> Release:
    """2,000 cases, three of four in the east, over people who live evenly."""
    over = Exposure("population", "people", np.full(domain.size, 70.0))
    east = domain.centres[:, 0] > 0
    share = np.where(east, 3.0, 1.0)
    counts = np.random.default_rng(4).multinomial(2000, share / share.sum())
    facts = PublicFacts(build_lattice(domain), 2000, counts=over.values, law="rate")
    records = CollapsedRecords(np.flatnonzero(counts), counts[counts > 0], np.ones(int((counts > 0).sum())))
    design = replace(DESIGN.for_law("rate"), cutoff=0.4)
    drawn = draw_release(
        SpectralStatistics().prepare(design, facts, records), SimulationEntropy(5), simulation=True
    )
    return retold(
        spectral_release(domain, public_mean=False), design=design, response=over.scale, exposure=over,
        threshold=1.5, value_unit=over.unit, value_name="risk of a case", mean=drawn.mean, sd=drawn.sd,
        sums=drawn.sums, paths=drawn.paths, records=None, model_check=drawn.model_check,
        shown_map=drawn.shown_map, map_draws=drawn.map_draws,
    )  # fmt: skip


@pytest.fixture(scope="module")
def counted(domain: Domain) -> dict[str, bytes]:
    return bundle_contents(counted_release(domain))


def test_a_released_map_of_cases_follows_from_its_counts(counted: dict[str, bytes], domain: Domain) -> None:
    bundle = bundle_from_contents(counted)
    check_again(bundle)
    guarantee = bundle.statement["guarantee"]  # a case has no value
    assert guarantee["protected"] == "One sale: its place, among 2,000 sales."
    assert guarantee["neighbours"].endswith("filters of the release: in its place.")
    (line,) = (one for one in bundle.statement["receipt"] if one["topic"] == "Unit of protection")
    assert line["text"] == guarantee["protected"]
    assert bundle.statement["sums"]["columns"] == ["sums", "public_counts"]
    assert bundle.field is not None
    east = domain.centres[:, 0] > 0
    assert np.exp(bundle.field[0])[east].mean() > 1.2 > 0.8 > np.exp(bundle.field[0])[~east].mean()


@pytest.mark.parametrize("column", ["sums", "public_counts"])
def test_counts_or_people_that_were_changed_are_refused(counted: dict[str, bytes], column: str) -> None:
    columns = table(counted)
    columns[column][0] += (40 << 30) if column == "sums" else 500.0
    forged = bundle_from_contents(with_table(counted, columns))
    with pytest.raises(BundleError, match="does not follow"):
        check_again(forged)


def test_a_release_of_counts_has_no_second_counts(counted: dict[str, bytes]) -> None:
    columns = table(counted)
    del columns["public_counts"]
    with pytest.raises(BundleError, match="does not have the columns"):
        bundle_from_contents(with_table(counted, columns))


def test_records_lie_as_far_from_what_is_told_as_its_deviations_say(domain: Domain) -> None:
    release = spectral_release(domain)
    bundle = bundle_from_contents(bundle_contents(release))
    kept = release.sums
    assert kept is not None
    facts = sums_facts(bundle)
    mean, sd = records_again(DESIGN, facts, kept)
    assert mean.sum() == pytest.approx(2000.0)
    found = density_of(bundle, 20.0)
    assert np.allclose(found.mean, mean)
    generator = np.random.default_rng(3)  # the records of the sample
    true = np.bincount(generator.integers(0, domain.size, 2000), minlength=domain.size)
    apart = (true - mean) / sd
    assert 0.7 < apart.std() < 1.3
    even = 2000.0 / domain.size
    assert np.all(sd**2 < CHANCE * even * 3.0 + UNEVEN * even**2)
    assert np.all(sd > 1.0)


@pytest.mark.parametrize("kind", ["rough", "hot"])
def test_deviations_of_counts_hold_without_a_pattern_and_around_one_place(kind: str) -> None:
    """5,000 records shuffled over 169 hexagons, whose shares differ by exp of 1.2 normal numbers: no pattern
    that neighbours share. And around one place. Of 90 % intervals at least 80 % hold, none wider than the
    counts scatter."""
    lattice, generator = disk(7, padding=2), np.random.default_rng(5)
    away = np.square(lattice.domain_centres - lattice.domain_centres[40]).sum(axis=1)
    share = np.exp(1.2 * generator.standard_normal(169)) if kind == "rough" else 0.05 + np.exp(-away / 1e6)
    counts = generator.multinomial(5000, share / share.sum())
    there, facts, method = np.flatnonzero(counts), PublicFacts(lattice, 5000), SpectralStatistics()
    design = method.calibrate(fixed_design(lattice.spacing), facts, Budget(3.0, 1e-5))
    assert design is not None
    records = CollapsedRecords(there, counts[there], np.zeros(there.size))
    kept = draw_release(method.prepare(design, facts, records), SimulationEntropy(5), simulation=True).sums
    assert kept is not None
    mean, sd = records_again(design, facts, kept)
    assert np.mean(np.abs(counts - mean) <= 1.645 * sd + 0.5) > 0.8
    assert np.median(sd) < counts.std()


def test_counts_of_public_places_are_told_as_they_are() -> None:
    lattice = disk(3, padding=1)
    counts = np.arange(37) % 5 * 10
    there, facts, method = (
        np.flatnonzero(counts),
        PublicFacts(lattice, int(counts.sum())),
        SpectralStatistics(),
    )
    facts = replace(facts, places_public=True)
    design = method.calibrate(fixed_design(lattice.spacing), facts, Budget(1.0, 1e-5))
    assert design is not None
    records = CollapsedRecords(there, counts[there], np.zeros(there.size))
    kept = draw_release(method.prepare(design, facts, records), SimulationEntropy(5), simulation=True).sums
    assert kept is not None
    mean, sd = records_again(design, facts, kept)
    assert mean.tolist() == counts.tolist()
    assert sd.tolist() == [0.0] * 37


def test_what_neighbours_share_is_believed_where_it_makes_the_counts_likelier_alone() -> None:
    """2,000 of 5,000 records in one corner, or the same counts shuffled: 80 % of these are 0 or 1."""
    lattice, generator = disk(7, padding=2), np.random.default_rng(6)
    away = np.square(lattice.domain_centres - lattice.domain_centres[0]).sum(axis=1)
    counts = np.round(100.0 * np.exp(-away / 4e6))
    facts, method = PublicFacts(lattice, int(counts.sum())), SpectralStatistics()
    design = method.calibrate(fixed_design(lattice.spacing), facts, Budget(3.0, 1e-5))
    assert design is not None
    made = prepared_plan(design, facts)
    prior = made.count_prior(PublicCounts("unknown", counts.sum()), np.zeros(made.features.size))
    rows, noise = made.features.values, float(made.noise.counts or 0.0)
    for cells, alone in ((counts, False), (generator.permutation(counts), True)):
        released = rows.T @ cells + noise * generator.standard_normal(rows.shape[1])
        found = prior.likelier_alone(rows, released, noise)
        assert (found.relative is None) is alone
        assert (found.growths[0] >= 1.5) is alone


def test_chances_of_a_number_hardly_known_are_skewed(domain: Domain) -> None:
    """Of 5 expected records with deviation 10, a gamma law of shape 1/4, more than 5 have a chance of .24."""
    size = domain.size
    found = Density(domain, 5.6 / domain.areas.max(), np.full(size, 5.0), np.full(size, 10.0), "case")
    most = np.floor(found.above * domain.areas)
    assert np.allclose(found.probability[most == 5.0], 0.2419, atol=0.0005)
    assert np.any(most == 5.0)
    assert not found.columns()["low"][0] > 0.01 / domain.areas[0]


def test_hexagons_are_denser_where_the_expected_agreement_is_best(domain: Domain) -> None:
    mean = np.linspace(0.0, 40.0, domain.size)
    found = Density(domain, 20.0, mean, np.full(domain.size, 3.0), "case")
    limit = np.floor(20.0 * domain.areas) + 0.5
    assert np.all(found.denser[mean > limit])
    assert np.all(found.probability[found.denser] > 0.3)
    sure = Density(domain, 20.0, mean, np.zeros(domain.size), "case")
    assert np.array_equal(sure.denser, mean > limit)
    columns = found.columns()
    high = int(np.argmax(mean))
    assert columns["per_km2"][high] == pytest.approx(40.0 / domain.areas[high], rel=0.01)
    assert columns["low"][high] == pytest.approx(35.19 / domain.areas[high], rel=0.01)
    assert columns["low"][0] == 0.0
    likely = int((found.probability > 0.5).sum())
    assert found.sentence.startswith(
        f"{likely} of {domain.size} hexagons likely hold more than 20 cases per square "
    )


def test_a_density_map_is_written_by_a_command(
    domain: Domain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = write_bundle(spectral_release(domain), tmp_path / "b").directory
    words = ["view", str(place), "--density", "20", "--out"]
    assert main([*words, str(tmp_path / "d.csv")]) == 0
    assert "more than 20 sales per square kilometre" in capsys.readouterr().out
    with (tmp_path / "d.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["h3"] for row in rows] == list(domain.cells)
    assert {row["denser"] for row in rows} <= {"True", "False"}
    with pytest.warns(UserWarning, match="tells nothing of its agreement"):  # the sample keeps no range
        opened = open_bundle(place)
    told = opened.density(20.0)
    assert told["h3"].tolist() == list(domain.cells)
    assert told["probability"].tolist() == [float(row["probability"]) for row in rows]
    assert main([*words, str(tmp_path / "d.geojson")]) == 0
    features = json.loads((tmp_path / "d.geojson").read_text())["features"]
    assert features[3]["properties"]["per_km2"] == float(rows[3]["per_km2"])
    assert main([*words, str(tmp_path / "d.txt")]) == 2
    assert main(["view", str(place), "--out", "x.csv"]) == 2
    assert "Say with --density" in capsys.readouterr().err


@pytest.fixture(scope="module")
def surveyed(domain: Domain) -> dict[str, bytes]:
    return bundle_contents(spectral_release(domain))


def test_the_page_for_readers_holds_the_same_chances(
    surveyed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = bundle_from_contents(surveyed)
    shown = released_of(bundle, Surroundings())
    data = drawing(shown, bundle.published)
    rows = np.frombuffer(b64decode(data["density"]["dense"]), np.uint8).reshape(5, 122)
    assert densities(shown) == [1.0, 2.0, 5.0, 10.0, 20.0]
    for row, above in zip(rows, densities(shown), strict=True):
        assert np.abs(row - 100.0 * density_of(bundle, above).probability).max() <= 1.0
    assert [int((rows[4] >= 80).sum()), int((rows[4] <= 20).sum())] == [82, 26]
    assert data["density"]["start"] == 4  # 2,000 records on 80.4 square kilometres
    assert data["density"]["stops"][::4] == ["1 sale per square kilometre", "20 sales per square kilometre"]
    assert len(data["stops"]) == 41
    monkeypatch.setattr(drawn, "MOST_BYTES", 122 * (4 + 12) + 122 * 8)  # eight numbers of each hexagon
    assert densities(shown) == [10.0, 20.0]
    assert len(thresholds(shown)[0]) == 6
    monkeypatch.setattr(drawn, "MOST_BYTES", 122 * (4 + 12) + 122 * 3)
    assert "density" not in drawing(shown, bundle.published)
    assert len(thresholds(shown)[0]) == 3


def test_a_plan_s_work_on_the_domain_is_used_again_for_the_page(
    domain: Domain, surveyed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, release = sums_facts(bundle_from_contents(surveyed)), spectral_release(domain)
    first = bundle_contents(release, facts)["map.html"]
    monkeypatch.setattr(spectral_release_core, "SpectralModel", None)  # none is made: the cache has it
    assert bundle_contents(release, facts)["map.html"] == first == surveyed["map.html"]
    with pytest.raises(TypeError):
        bundle_contents(release)


def test_a_page_without_counts_of_single_records_shows_the_value_alone(surveyed: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(surveyed)
    assert bundle.sums is not None
    statement = {**bundle.statement, "guarantee": {**bundle.statement["guarantee"], "unit": "cell"}}
    subject = {**bundle.statement["subject"], "counts": {"per": "area", "origin": "the area of each hexagon"}}
    other = replace(bundle.sums, kept=replace(bundle.sums.kept, features="of another design"))
    for without, asked in (
        (replace(bundle, sums=None), False),
        (replace(bundle, statement=statement), False),
        (replace(bundle, statement={**bundle.statement, "subject": subject}), False),  # its question asks it
        (replace(bundle, sums=other), True),  # its sums cannot be read
    ):
        assert holds_counts(without) is asked
        assert density_if_any(without) is None
    assert b'value="density"' not in page_of(without)
    assert surveyed["map.html"].count(b'value="density"') == 1


def test_chances_of_a_page_may_differ_by_the_last_per_cent(
    surveyed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, page = bundle_from_contents(surveyed), surveyed["map.html"]
    assert page_of(bundle) == page
    monkeypatch.setattr(bundle_store, "map_html", lambda *_, **__: page)
    (text,) = re.findall(rb'"dense":"([^"]+)"', page)
    rows = bytearray(b64decode(text))
    for more, follows in ((0, True), (1, True), (2, False)):
        changed = b64encode(bytes([rows[0] - more, *rows[1:]]))
        assert is_page_of(page.replace(text, changed), bundle) is follows
    assert not is_page_of(page.replace(text, text[4:]), bundle)
    assert not is_page_of(page.replace(text, text[:-2] + b"AA"), bundle)
    assert not is_page_of(page.replace(b"<h1>", b"<h1>Not "), bundle)


@pytest.mark.parametrize("above", [0.0, -3.0, float("inf"), float("nan"), "20"])
def test_what_is_no_density_is_refused(counted: dict[str, bytes], above: Any) -> None:
    with pytest.raises(BundleError, match="per square kilometre, above 0"):
        density_of(bundle_from_contents(counted), above)


def test_a_file_that_is_there_is_kept(domain: Domain, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("mine")
    found = Density(domain, 20.0, np.ones(domain.size), np.ones(domain.size), "case")
    with pytest.raises(WorkflowError, match="exists"):
        found.save(tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text() == "mine"
