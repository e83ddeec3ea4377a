"""Bundles of several holders: their sums add, their promises stay, and other designs are refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pandas
import pytest

import hexcursion
from dpgp_core.errors import DesignError, InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Ints
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign, fixed_design
from dpgp_core.mechanisms.spectral_release import PreparedSums, add_sums, prepared_plan, read_again
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.sums import KeptSums, features_digest
from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.layout import contents_of, sums_text
from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.releasing.release_guard import LowAgreement
from hexcursion.search.shared import read_shared_design, share_design
from hexcursion.settings import ReleaseSettings
from hexcursion_series.holder_files import promise_of_holders
from hexcursion_series.holders import read_holders, refuse_unaddable
from tests.town import BOX, THRESHOLD, Town, field

MECHANISM = MECHANISMS["spectral-statistics"]
SPACING = 500.0
ASKED: dict[str, Any] = {
    "value": "no2", "lon": "lon", "lat": "lat", "area": BOX, "resolution": 7, "threshold": THRESHOLD,
    "value_unit": "ug/m3",
}  # fmt: skip


class NoNoise:
    """A source of zeros: what is released are the exact sums."""

    def rounded_normal(self, scale: float, size: int) -> Ints:
        return np.zeros(size, dtype=np.int64)


def pooled(mu: float = 1.0) -> SpectralStatisticsDesign:
    return replace(fixed_design(SPACING), mu=mu, pool_records=900.0, pool_mu=0.5)


def facts(n: int) -> PublicFacts:
    return PublicFacts(Lattice.grid(8, 8, SPACING), n)


def kept_of(design: SpectralStatisticsDesign, cells: Ints, values: np.ndarray) -> KeptSums:
    records = CollapsedRecords.from_records(cells, values)
    prepared = MECHANISM.prepare(design, facts(records.n), records)
    assert isinstance(prepared, PreparedSums)
    return KeptSums.of(prepared.released(NoNoise())[0], prepared.plan.features)


def test_sums_of_holders_are_those_of_all_records() -> None:
    generator = np.random.default_rng(1)
    cells, values = generator.integers(0, 64, 900), generator.uniform(-1, 1, 900)
    whole = kept_of(pooled(), cells, values)
    parts = [kept_of(pooled(), cells[k::3], values[k::3]) for k in range(3)]
    added = add_sums([pooled()] * 3, parts, facts(900))
    assert np.array_equal(sum(part.sums for part in parts), whole.sums)
    assert added.design.mu == pytest.approx(0.5773502691896258, rel=1e-12)  # 1/sqrt(3)
    assert added.noise.sums == pytest.approx(1.7320508075688772 * whole.noise.sums, rel=1e-12)
    assert added.expected.sum() == pytest.approx(900.0, rel=0.05)


def test_four_holders_are_one_of_all_records_at_half_the_mu() -> None:
    """What a holder costs is this rule, exactly: the same sums with the same noise."""
    generator = np.random.default_rng(1)
    cells, values = generator.integers(0, 64, 900), generator.uniform(-1, 1, 900)
    parts = [kept_of(pooled(), cells[k::4], values[k::4]) for k in range(4)]
    added = add_sums([pooled()] * 4, parts, facts(900))
    one = kept_of(replace(fixed_design(SPACING), mu=0.5), cells, values)
    assert parts[0].features == one.features
    assert added.noise.sums == pytest.approx(one.noise.sums, rel=1e-9)
    assert added.noise.counts == pytest.approx(one.noise.counts, rel=1e-9)
    assert np.array_equal(sum(part.sums for part in parts), one.sums)


def test_noise_of_another_budget_than_the_design_states_is_refused() -> None:
    generator = np.random.default_rng(1)
    part = kept_of(pooled(), generator.integers(0, 64, 300), generator.uniform(-1, 1, 300))
    with pytest.raises(Exception, match="noise of these sums is not that of their designs"):
        add_sums([pooled(), pooled(2.0)], [part, part], facts(600))


@pytest.mark.parametrize(("n", "mu"), [(50, 0.2), (900, 1.0), (20_000, 3.0)])
def test_shared_features_do_not_depend_on_one_holder(n: int, mu: float) -> None:
    own = replace(fixed_design(SPACING), mu=mu)
    digest = features_digest(prepared_plan(pooled(), facts(900)).features)
    assert features_digest(prepared_plan(pooled(mu), facts(n)).features) == digest
    if n != 900:
        other = prepared_plan(replace(own, pool_records=0.0, pool_mu=0.0), facts(n)).features
        assert features_digest(other) != digest


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_each_holder_pays_its_own_budget_exactly(epsilon: float) -> None:
    """The price is that of the features that are released, whoever they were chosen for."""
    design = MECHANISM.calibrate(pooled(), facts(300), Budget(epsilon, 1e-5))
    assert isinstance(design, SpectralStatisticsDesign)
    mu = MECHANISM.guarantee(design, facts(300)).cost.gaussian_mu
    assert mu is not None
    assert design.mu * (1 - 1e-9) <= mu <= design.mu


def test_pool_numbers_come_together_and_with_one_look() -> None:
    with pytest.raises(DesignError, match="both be positive"):
        replace(fixed_design(SPACING), pool_mu=1.0)
    with pytest.raises(DesignError, match="second look"):
        replace(pooled(), first=0.3)


def design_settings(town: Town) -> ReleaseSettings:
    """The town's question without a reference, for whom a design is shared."""
    return town.settings(
        reference=None, reference_public=False, prior_mean=None, mechanisms=("spectral-statistics",),
        resolution=7, centre=28.0, clip=15.0, epsilon=1.0, quick=False, value_name="",
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, town: Town) -> Path:
    """A design file, and the bundles of two holders with half of the town's records each."""
    place = tmp_path_factory.mktemp("holders")
    rows = pandas.read_csv(town.private)
    design = share_design(load_project(design_settings(town)), 2, 3000)
    (place / "design.json").write_bytes(design.to_bytes())
    for number in range(2):
        hexcursion.release(
            rows[number::2].reset_index(drop=True), **ASKED, epsilon=1.0, title=f"Office {number}",
            shared_design=str(place / "design.json"), out=place / f"b{number}",
            ledger=str(place / f"ledger{number}.sqlite"),
        )  # fmt: skip
    return place


def test_two_bundles_are_one_map(folder: Path, tmp_path: Path) -> None:
    read = hexcursion.together([folder / "b0", folder / "b1"])
    statement = read.statement
    assert (statement["records"], len(statement["holders"])) == (2659, 2)
    assert sum(statement["hexagons"].values()) == 16
    assert "model" in statement["told"]
    assert "change" not in statement["told"], "there is no public map that it could differ from"
    assert list(read.table.columns[:3]) == ["h3", "class", "probability"]
    alone = [hexcursion.open_bundle(folder / f"b{k}").statement["design"]["mu"] for k in range(2)]
    assert alone[0] == alone[1]
    assert statement["design"]["mu"] == pytest.approx(alone[0] / 2**0.5, rel=1e-12)
    saved = read.save(tmp_path / "map")
    page = (saved / "together.html").read_text(encoding="utf-8")
    assert "Office 0" in page
    assert "Each holder protects its own records" in page
    assert json.loads((saved / "together.json").read_text())["holders"][1]["title"] == "Office 1"


def test_a_record_at_both_holders_pays_for_both(folder: Path) -> None:
    promise = promise_of_holders(read_holders([folder / "b0", folder / "b1"]))
    assert promise.every_holder == pytest.approx(1.46517, abs=1e-4)  # mu sqrt(2) of epsilon 1 at 1e-5
    assert promise.sentences[0].startswith("Office 0: each reading is protected by this holder's own noise")
    assert "one reading at each of the 2 holders: epsilon 1.4" in promise.sentences[2]


def test_the_command_adds_and_says_who_is_protected(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map"
    assert main(["together", str(folder / "b0"), str(folder / "b1"), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "Office 1: each reading is protected by this holder's own noise, epsilon 1 at delta" in said
    assert "Office 0: Not signed" in said
    assert sorted(path.name for path in out.iterdir()) == [
        "SHA256SUMS", "cells.geojson", "cells.parquet", "together.html", "together.json",
    ]  # fmt: skip
    assert main(["together", str(folder / "b0"), str(folder / "b0"), "--out", str(tmp_path / "x")]) != 0
    assert "is named twice" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_one_release_under_two_names_is_refused(folder: Path, tmp_path: Path) -> None:
    """Its noise would be added to itself, and counted as that of two."""
    contents = contents_of(folder / "b1")
    name = read_bundle(folder / "b1").statement["release"]["id"].encode()
    renamed = {
        each: content.replace(name, b"0123456789abcdef")
        for each, content in contents.items()
        if each != "SHA256SUMS"
    }
    copy = tmp_path / "copy"
    copy.mkdir()
    for each, content in {**renamed, "SHA256SUMS": sums_text(renamed).encode()}.items():
        (copy / each).write_bytes(content)
    with pytest.raises(BundleError, match="one release under two names"):
        read_holders([folder / "b1", copy])


def test_a_bundle_without_the_shared_design_is_refused(folder: Path, tmp_path: Path, town: Town) -> None:
    rows = pandas.read_csv(town.private)[:1500]
    own = hexcursion.release(
        rows, **ASKED, epsilon=1.0, centre=28.0, clip=15.0, mechanisms=("spectral-statistics",),
        title="Own", out=tmp_path / "own", accept_low_agreement=True, ledger=str(tmp_path / "l.sqlite"),
    )  # fmt: skip
    with pytest.raises(BundleError, match="sums of another design than the first"):
        read_holders([folder / "b0", own.place])
    with pytest.raises(BundleError, match="without a shared design"):
        refuse_unaddable(read_bundle(own.place))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"threshold": 31.0}, "asks with threshold 30.0, these settings with 31.0"),
        ({"resolution": 8}, "has other hexagons"),
        ({"clip": 10.0, "centre": 28.0}, "leave `clip` out"),
        ({"value_unit": "mg/m3"}, "asks with value_unit"),
        ({"pilot": 0.2}, "leave `pilot` out"),
        ({"unit": "cell"}, "set `unit` to point"),
        ({"focus": "threshold"}, "is read at every threshold: leave `focus` out"),
    ],
)
def test_another_question_is_refused_before_any_charge(
    folder: Path, town: Town, changed: dict[str, Any], said: str
) -> None:
    rows = pandas.read_csv(town.private)[:1000]
    asked = {**ASKED, **changed}
    with pytest.raises(WorkflowError, match=said):
        hexcursion.plan(rows, **asked, epsilon=1.0, shared_design=str(folder / "design.json"))


def test_a_design_file_is_read_as_it_was_written(folder: Path, tmp_path: Path) -> None:
    content = (folder / "design.json").read_bytes()
    design = read_shared_design(folder / "design.json")
    assert design.to_bytes() == content
    assert (design.holders, design.records, design.design.mu) == (2, 3000, 1.0)
    assert len(design.digest) == 16
    edited = tmp_path / "edited.json"
    for old, new in ((b'"holders": 2', b'"holders":2'), (b"{", b"["), (b'"clip": 15.0', b'"clip": -1.0')):
        edited.write_bytes(content.replace(old, new, 1))
        with pytest.raises(WorkflowError, match="no design file, or it was edited"):
            read_shared_design(edited)
    with pytest.raises(WorkflowError, match="cannot be read"):
        read_shared_design(tmp_path / "missing.json")


def test_the_command_writes_the_design_and_charges_nothing(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        *("--data", str(town.private), "--value", "no2", "--lon", "lon", "--lat", "lat"),
        *("--bbox", *map(str, BOX), "--resolution", "7", "--threshold", "30", "--centre", "28"),
        *("--clip", "15", "--value-unit", "ug/m3", "--holders", "4", "--records-of-all", "9000"),
    ]
    assert main(["design", *given, "--out", str(tmp_path / "d.json")]) == 0
    said = capsys.readouterr().out
    assert "it holds no record" in said
    assert re.search(r"Of 100 records tried \d+ lie on the side that the map shows", said)
    made = read_shared_design(tmp_path / "d.json")
    assert made.design.pool_records == 9000.0
    assert made.design.pool_mu == pytest.approx(0.134, abs=2e-3)  # .268 of epsilon 1, over sqrt(4)
    for more, said in ((["--holders", "1"], "2 to 1,000"), (["--records-of-all", "3"], "one each at least")):
        assert main(["design", *given, *more, "--out", str(tmp_path / "e.json")]) != 0
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(("records", "stopped"), [(40, True), (3000, False)])
def test_a_release_is_judged_by_the_map_of_all_holders(
    town: Town, tmp_path: Path, records: int, stopped: bool
) -> None:
    """A small holder may release what is worth it with the others, and a large one nothing that is not."""
    settings = design_settings(town)
    (tmp_path / "design.json").write_bytes(share_design(load_project(settings), 2, records).to_bytes())
    rows = pandas.read_csv(town.private)[: 1500 if stopped else 30]
    asked = {**ASKED, "epsilon": 1.0, "shared_design": str(tmp_path / "design.json"), "delta": 1e-5}
    if stopped:
        with pytest.raises(LowAgreement, match="40 records are too few to tell"):
            hexcursion.plan(rows, **asked)
    planned = hexcursion.plan(rows, **asked, accept_low_agreement=stopped)
    warned = [line.text for line in planned.receipt if line.topic == "Low agreement"]
    assert [text[:27] for text in warned] == ["Expected to be a poor map: "] * stopped


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, town: Town) -> Path:
    """A design file that starts from the town's published readings of last year, and two bundles of it."""
    place = tmp_path_factory.mktemp("started")
    settings = design_settings(town).with_changes(
        reference=town.settings().reference, reference_public=True, quick=True
    )
    (place / "design.json").write_bytes(share_design(load_project(settings), 2, 3000).to_bytes())
    rows, last = pandas.read_csv(town.private), pandas.read_csv(town.reference)
    for number in range(2):
        hexcursion.release(
            rows[number::2].reset_index(drop=True), **ASKED, epsilon=1.0, title=f"Office {number}",
            reference=last, reference_public=True, accept_low_agreement=True,
            shared_design=str(place / "design.json"), out=place / f"b{number}",
            ledger=str(place / f"ledger{number}.sqlite"),
        )  # fmt: skip
    return place


def test_a_shared_design_starts_from_the_same_published_reference(started: Path, town: Town) -> None:
    design = read_shared_design(started / "design.json")
    assert design.design.drift
    read = hexcursion.together([started / "b0", started / "b1"])
    assert read.statement["hexagons"]["likely"] >= 1
    change = read.statement["told"]["change"]
    assert change["low"] < change["higher"] < change["high"]
    assert abs(change["higher"]) < 3.0  # ug/m3: both years are drawn around one field
    lonlat = np.array([h3.cell_to_latlng(cell)[::-1] for cell in read.table["h3"]])
    missed = read.table["value_mean"] - field(*lonlat.T)
    assert float(np.sqrt(np.mean(missed**2))) < 3.0  # ug/m3
    rows, last = pandas.read_csv(town.private)[:1500], pandas.read_csv(town.reference)
    asked = {**ASKED, "epsilon": 1.0, "shared_design": str(started / "design.json")}
    with pytest.raises(WorkflowError, match="starts from another published reference"):
        hexcursion.plan(rows, **asked, reference=last[1:], reference_public=True)
    with pytest.raises(WorkflowError, match="starts from another published reference"):
        hexcursion.plan(rows, **asked)
    with pytest.raises(WorkflowError, match="names the same published reference: set `reference_public`"):
        hexcursion.plan(rows, **asked, reference=last)


def test_a_public_start_stays_with_the_added_sums() -> None:
    generator = np.random.default_rng(2)
    cells, values = generator.integers(0, 64, 900), generator.uniform(-0.5, 0.5, 900)
    start = PublicField.of(Nodes.of(facts(900).lattice), cells, values)
    design = replace(pooled(), drift=True)

    def part(chosen: slice) -> KeptSums:
        records = CollapsedRecords.from_records(cells[chosen], values[chosen])
        prepared = MECHANISM.prepare(design, replace(facts(records.n), field=start), records)
        assert isinstance(prepared, PreparedSums)
        return KeptSums.of(prepared.released(NoNoise())[0], prepared.plan.features, None, start)

    parts = [part(slice(k, None, 3)) for k in range(3)]
    added = add_sums([design] * 3, parts, facts(900))
    whole = replace(part(slice(None)), noise=prepared_plan(added.design, facts(900)).noise)
    again = read_again(added.design, facts(900), whole)
    assert added.reading.mean == pytest.approx(again.mean, abs=1e-9)
    assert parts[2].field is not None
    moved = replace(parts[2], field=replace(parts[2].field, mean=parts[2].field.mean + 1e-6))
    with pytest.raises(InvalidValue, match="start from other public records"):
        add_sums([design] * 3, [*parts[:2], moved], facts(900))
