"""sums.parquet: the map follows from it, a forged one is refused, others say that they have none."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgp_core.features.nodes import Nodes
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.public_answers import field_of_answers
from dpgp_core.spectral.public_field import MapModel, PublicField
from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.again import check_again, field_again
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.page.facts import three_facts
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.expected import agreement_sentence, how_right, verdict_words
from hexcursion.bundle.statement.former import in_todays_words
from hexcursion.bundle.write import bundle_contents
from hexcursion.lint.bundle import lint_bundle
from hexcursion.project.load import build_lattice
from hexcursion.project.response import Answers, ResponseScale
from tests.hexcursion.bundle.bundle_samples import following, retold
from tests.hexcursion.bundle.exports.test_exports import sealed
from tests.hexcursion.bundle.spectral_samples import DESIGN, spectral_release


@pytest.fixture(scope="module")
def spectral(domain: Domain) -> dict[str, bytes]:
    return bundle_contents(spectral_release(domain, ranged=True))


def table(contents: dict[str, bytes]) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = pq.read_table(io.BytesIO(contents["sums.parquet"])).to_pydict()
    return made


def with_table(contents: dict[str, bytes], columns: dict[str, list[Any]]) -> dict[str, bytes]:
    sink = io.BytesIO()
    kinds = dict.fromkeys(("sums", "counts", "second_sums", "second_counts"), pa.int64())
    pq.write_table(
        pa.table({name: pa.array(values, kinds.get(name, pa.float64())) for name, values in columns.items()}),
        sink,
    )
    return sealed({**contents, "sums.parquet": sink.getvalue()})


def test_mean_and_chances_follow_from_the_released_sums(spectral: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(spectral)
    assert bundle.field is not None
    assert bundle.sums is not None
    made = field_again(bundle)
    assert made.mean is not None
    assert made.sd is not None
    mean, sd = made.mean, made.sd
    np.testing.assert_allclose(mean, bundle.field[0], atol=2e-6)
    np.testing.assert_allclose(sd, bundle.field[1], atol=2e-6)
    check_again(bundle)
    stated = bundle.statement["sums"]
    assert stated["columns"] == ["sums", "counts", "public_mean"]
    columns = table(spectral)
    assert len([each for each in columns["sums"] if each is not None]) == stated["count"]
    assert len(columns["public_mean"]) == bundle.domain.size
    assert all(isinstance(each, int) for each in columns["counts"] if each is not None)


def test_sums_that_were_changed_are_refused(spectral: dict[str, bytes]) -> None:
    columns = table(spectral)
    columns["sums"][0] += 40 << 30
    forged = bundle_from_contents(with_table(spectral, columns))
    with pytest.raises(
        BundleError,
        match=r"does not follow from sums\.parquet: one of them was changed, or an earlier version",
    ):
        check_again(forged)


def test_what_is_told_of_the_model_follows_from_the_sums(spectral: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(spectral)
    chance = bundle.statement["told"]["model"]["chance"]
    assert 0.0 < chance <= 1.0
    check_again(bundle)
    for moved, refused in ((0.019, False), (0.03, True)):
        model = {**bundle.statement["told"]["model"], "chance": chance + (moved if chance < 0.5 else -moved)}
        told = {**bundle.statement["told"], "model": model}
        forged = replace(bundle, statement={**bundle.statement, "told": told})
        if refused:
            with pytest.raises(BundleError, match="stated check of the model does not follow"):
                check_again(forged)
        else:
            check_again(forged)


def test_the_range_of_the_told_agreement_follows_from_the_sums(
    spectral: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = bundle_from_contents(spectral)
    told = bundle.statement["told"]
    of_map = told["map"]
    found = [of_map[name] for name in ("agreement", "low", "high")]
    assert found == [pytest.approx(each, abs=2e-6) for each in (0.910495, 0.872727, 0.943501)]
    between = "between 0.87 and 0.94 with a chance of 80 % if its model is right"
    said = f"0.91 (intersection over union), {between},"
    assert f"It agrees to about {said} with" in told["in_words"]
    assert agreement_sentence(told) == (
        f"By the release itself its set agrees to about {said} with the map that the same "
        "records give without privacy."
    )
    assert agreement_sentence(told) in how_right(bundle.statement, bundle.published)
    assert agreement_sentence(told) in three_facts(bundle.statement, bundle.published)[0].text
    for paper in ("README.txt", "label.html", "map.html"):
        assert said in " ".join(spectral[paper].decode().split()), paper
    check_again(bundle)
    once = field_again(bundle)
    monkeypatch.setattr("hexcursion.bundle.again.field_again", lambda *_: once)
    for name, by, refused in (
        ("low", 0.02, True),
        ("high", -0.02, True),
        ("high", 0.009, False),
        ("agreement", 0.002, True),
        ("right", -0.002, True),
        ("found", 0.002, True),
    ):
        forged = {**told, "map": {**of_map, name: of_map[name] + by}}
        changed = replace(bundle, statement={**bundle.statement, "told": forged})
        if refused:
            with pytest.raises(BundleError, match="stated agreement does not follow"):
                check_again(changed)
        else:
            check_again(changed)


def test_sums_that_state_no_number_are_refused(
    spectral: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = bundle_from_contents(spectral)
    assert bundle.field is not None
    nothing = SimpleNamespace(mean=np.full(bundle.domain.size, np.nan), sd=bundle.field[1], model_check=None)
    monkeypatch.setattr("hexcursion.bundle.again.field_again", lambda *_: nothing)
    with pytest.raises(BundleError, match="does not follow"):
        check_again(bundle)


def test_the_lint_names_a_map_that_does_not_follow(spectral: dict[str, bytes]) -> None:
    found = []
    columns = table(spectral)
    columns["sums"][0] += 40 << 30
    for contents in (spectral, with_table(spectral, columns)):
        stream = io.BytesIO()
        zip_bytes_to(stream, "bundle", contents)
        found.append([each.code for each in lint_bundle(stream.getvalue()) if each.code.startswith("sums")])
    assert found == [[], ["sums-not-followed"]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda columns: columns["sums"].__setitem__(0, None), "gaps"),
        (lambda columns: columns["sums"].__setitem__(0, 1 << 62), "finite or too large"),
        (lambda columns: columns["counts"].__setitem__(-1, None), "as many numbers"),
        (lambda columns: columns.pop("counts"), "does not have the columns"),
        (lambda columns: columns.update(more=columns["public_mean"]), "does not have the columns"),
        (lambda columns: columns["public_mean"].__setitem__(-1, None), "as many numbers"),
        (lambda columns: columns["public_mean"].__setitem__(-1, np.nan), "finite or too large"),
    ],
)
def test_a_file_that_cannot_be_one_is_refused_at_once(
    spectral: dict[str, bytes], change: Callable[[dict[str, list[Any]]], None], said: str
) -> None:
    columns = table(spectral)
    change(columns)
    with pytest.raises(BundleError, match=said):
        bundle_from_contents(with_table(spectral, columns))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": "0" * 64}, "features of these sums are not those"),
        ({"noise": {"sums": 1.0, "counts": 1.5}}, "the noise of these sums is not that"),
    ],
)
def test_other_features_or_noise_than_the_statement_gives_are_refused(
    spectral: dict[str, bytes], change: dict[str, Any], said: str
) -> None:
    statement = json.loads(spectral["statement.json"])
    statement["sums"] |= change
    bundle = bundle_from_contents(sealed({**spectral, "statement.json": json.dumps(statement).encode()}))
    with pytest.raises(BundleError, match=said):
        check_again(bundle)


def test_both_looks_are_kept_and_read_again(domain: Domain) -> None:
    contents = bundle_contents(spectral_release(domain, first=0.3, ranged=True))
    bundle = bundle_from_contents(contents)
    check_again(bundle)
    stated = bundle.statement["sums"]
    assert stated["columns"] == ["sums", "counts", "second_sums", "second_counts", "public_mean"]
    assert bundle.statement["design"]["first"] == 0.3
    columns, statement = table(contents), json.loads(contents["statement.json"])
    columns["second_sums"][0] += 40 << 30
    with pytest.raises(BundleError, match=r"does not follow from sums\.parquet"):
        check_again(bundle_from_contents(with_table(contents, columns)))
    del statement["sums"]["second_look"]
    with pytest.raises(BundleError, match="contradicts itself about the columns"):
        bundle_from_contents(sealed({**contents, "statement.json": json.dumps(statement).encode()}))
    cheap = json.loads(contents["statement.json"])
    cheap["design"]["mu"] = 2.5  # more than is charged
    with pytest.raises(BundleError, match="smaller than what the noise of its design costs"):
        bundle_from_contents(sealed({**contents, "statement.json": json.dumps(cheap).encode()}))


def test_public_records_that_the_design_does_not_read_are_refused(spectral: dict[str, bytes]) -> None:
    """Their deviation and range would be the prior of a series, and no check of the map would see them."""
    columns, statement = table(spectral), json.loads(spectral["statement.json"])
    rows = len(columns["sums"])
    columns |= {
        "reference_count": [1.0] * rows,
        "reference_mean": [0.1] * rows,
        "reference_scatter": [1.0] * rows,
    }
    statement["sums"]["columns"] = list(columns)
    statement["sums"]["reference"] = {"deviation": 0.5, "scatter": 0.5, "lengthscale": 2000.0}
    forged = with_table({**spectral, "statement.json": json.dumps(statement).encode()}, columns)
    with pytest.raises(BundleError, match="disagree about public records"):
        bundle_from_contents(forged)
    statement["design"]["drift"] = True
    statement["sums"]["reference"]["covariates"] = 0.3
    forged = with_table({**spectral, "statement.json": json.dumps(statement).encode()}, columns)
    with pytest.raises(BundleError, match="disagree about public columns"):
        bundle_from_contents(forged)


def drawn_from(made: Any, domain: Domain, public: np.ndarray, **changes: Any) -> dict[str, bytes]:
    """A bundle of one draw, whose responses are differences from the public map."""
    drawn = draw_release(made, SimulationEntropy(5), simulation=True).shifted(public)
    parts = {name: getattr(drawn, name) for name in ("mean", "sd", "records", "sums", "model_check")}
    return bundle_contents(retold(spectral_release(domain), prior_mean=public, **parts, **changes))


def answered(domain: Domain, counts: np.ndarray | None) -> dict[str, bytes]:
    """A release of 2,000 answers that starts from 4,000 published ones, with fewer yes in the east."""
    lattice, generator = build_lattice(domain), np.random.default_rng(5)
    east = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()

    def said(count: int, rise: float) -> tuple[np.ndarray, np.ndarray]:
        cells = generator.integers(0, domain.size, count)
        yes = (0.8 + rise) * east[cells] - 0.5 + generator.normal(size=count) > 0
        return cells, np.where(yes, 1.0, -1.0)

    field = replace(
        field_of_answers(Nodes.of(lattice), *said(4000, 0.0)),
        map=MapModel("exponential", 2500.0, 1.3, 0.0, 1.0),
    )
    facts = PublicFacts(lattice, 2000, law="yes-no", field=field, counts=counts)
    design, public = replace(DESIGN.for_law("yes-no"), drift=True), field.at_cells(domain.centres)
    made = SpectralStatistics().prepare(design, facts, CollapsedRecords.from_records(*said(2000, -0.6)))
    return drawn_from(
        made, domain, public, design=design, threshold=20.0, value_unit="%",
        response=ResponseScale("probit", 0.0, 1.0, "the same for all answers of yes and no"),
        value_name="share of wells above the limit", answers=Answers("a value above the limit", 50.0),
    )  # fmt: skip


@pytest.fixture(scope="module")
def drifted(domain: Domain) -> dict[str, bytes]:
    return answered(domain, None)


def test_answers_beside_a_reference_are_read_again(drifted: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(drifted)
    check_again(bundle)
    assert (bundle.statement["design"]["law"], bundle.statement["design"]["drift"]) == ("yes-no", True)
    assert bundle.statement["sums"]["columns"][-3:] == [
        "reference_count",
        "reference_mean",
        "reference_scatter",
    ]


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("design", {"drift": False}, "disagree about public records"),
        ("design", {"law": "amount"}, "about answers of yes and no"),
        ("design", {"mu": 2.5}, "smaller than what the noise of its design costs"),
        ("design", {"amplitude": 3.0}, "impossible design: answers of yes and no scatter by 1"),
        ("reference", {"deviation": 3.0}, "does not follow"),
        ("reference", {"lengthscale": 9000.0}, "does not follow"),
        ("reference", {"scatter": 0.2}, "the public ones kept with the sums do not"),
        ("reference", {"covariates": 0.3}, "disagree about public columns"),
        ("response", {"centre": 0.4}, "two different thresholds"),
        ("subject", {"threshold": 40.0}, "two different thresholds"),
        ("guarantee", {"n": 900}, "words do not follow from its numbers"),
    ],
)
def test_altered_fields_of_answers_beside_a_reference_are_refused(
    drifted: dict[str, bytes], part: str, change: dict[str, Any], said: str
) -> None:
    statement = json.loads(drifted["statement.json"])
    (statement["sums"]["reference"] if part == "reference" else statement[part]).update(change)

    def read_forged() -> None:
        text = json.dumps(following(statement)).encode()
        check_again(bundle_from_contents(sealed({**drifted, "statement.json": text})))

    with pytest.raises(BundleError, match=said):
        read_forged()


@pytest.fixture(scope="module")
def moved(domain: Domain) -> dict[str, bytes]:
    """A release of 2,000 amounts that starts from 4,000 published ones and lies .3 above them everywhere."""
    lattice, generator = build_lattice(domain), np.random.default_rng(5)
    east = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()

    def amounts(count: int, rise: float) -> tuple[np.ndarray, np.ndarray]:
        cells = generator.integers(0, domain.size, count)
        return cells, 0.3 * east[cells] + rise + 0.3 * generator.normal(size=count)

    field = replace(
        PublicField.of(Nodes.of(lattice), *amounts(4000, 0.0)),
        map=MapModel("exponential", 2500.0, 1.3, 0.0, 4.0),
    )
    facts, public = PublicFacts(lattice, 2000, field=field), field.at_cells(domain.centres)
    design, (cells, values) = replace(DESIGN, drift=True, cutoff_from="release"), amounts(2000, 0.3)
    records = CollapsedRecords.from_records(cells, np.clip(values - public[cells], -1.0, 1.0))
    made = SpectralStatistics().prepare(design, facts, records)
    return drawn_from(made, domain, public, design=design)


def test_a_change_since_the_public_map_follows_from_the_sums(moved: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(moved)
    check_again(bundle)
    change = bundle.statement["told"]["change"]
    assert change["in_words"] == (
        "On average the price rose by about 45 % since the public map; that is not chance."
    )
    for name in ("README.txt", "label.html", "map.html"):
        assert change["in_words"] in " ".join(moved[name].decode().split()), name
    for name, by in (("chance", 2e-4), ("higher", 0.1), ("low", -0.1), ("high", 0.1)):
        told = {**bundle.statement["told"], "change": {**change, name: change[name] + by}}
        with pytest.raises(BundleError, match=r"stated change does not follow from sums\.parquet"):
            check_again(replace(bundle, statement={**bundle.statement, "told": told}))


FORMERLY = {
    "judged": "Orange is right about 98 times in 100. It finds 9 in 10 of the places above.",
    "change": "The values differ from those of the public map by more than chance: had nothing changed, so "
    "large a difference had a chance of under 1 %. In the geometric mean they are 1.45 times as high (90 % "
    "interval: 1.42 to 1.47 times).",
}


def test_a_map_and_a_change_in_former_words_are_told_in_todays(
    moved: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same file under today's schema is refused, and so is any other word under the former one."""
    statement = json.loads(moved["statement.json"])
    today = statement["told"]
    judged = {**today["judged"], "in_words": FORMERLY["judged"]}
    change = {**today["change"], "in_words": FORMERLY["change"]}
    told = {**today, "judged": judged, "change": change}
    told["in_words"] = verdict_words(told)
    made = in_todays_words({**statement, "told": told})
    assert made["told"] == today
    assert today["judged"]["in_words"] == (
        "Orange is right about 98 times in 100. It shows about 9 in 10 of the places that are above."
    )
    text = json.dumps(following({**statement, "told": told})).encode()
    former = sealed({**moved, "statement.json": text})
    with pytest.raises(BundleError, match="does not follow from the release"):
        bundle_from_contents(former)
    another = json.loads(moved["statement-2.schema.json"]) | {"title": "of an earlier version"}
    former = sealed({**former, "statement-2.schema.json": json.dumps(another).encode()})
    monkeypatch.setattr("hexcursion.bundle.statement.designs.earlier_schema", lambda rest: True)
    assert bundle_from_contents(former).statement["told"] == today
    told["change"] = {**change, "in_words": change["in_words"].replace("1.45", "1.46")}
    text = json.dumps(following({**statement, "told": told})).encode()
    with pytest.raises(BundleError, match="words about a change do not follow"):
        bundle_from_contents(sealed({**former, "statement.json": text}))


def test_a_change_counts_by_the_records_that_the_sums_tell(moved: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(moved)
    assert bundle.records is not None
    weighed = np.where(np.arange(bundle.records.size) == 0, 1.001 * bundle.records, bundle.records)
    with pytest.raises(BundleError, match=r"numbers of records do not follow from sums\.parquet"):
        check_again(replace(bundle, values=replace(bundle.values, records=weighed)))


def test_numbers_of_records_follow_from_the_sums_where_no_change_is_told(spectral: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(spectral)
    made = field_again(bundle).records
    assert made is not None
    none = np.where(np.arange(made.size) < 60, 0.0, made)
    with pytest.raises(BundleError, match=r"numbers of records do not follow from sums\.parquet"):
        check_again(replace(bundle, values=replace(bundle.values, records=none)))


@pytest.mark.parametrize("forged", [{"in_words": "Nothing has changed."}, {"chance": 0.5}, {"higher": -9.0}])
def test_forged_words_about_a_change_are_refused(moved: dict[str, bytes], forged: dict[str, Any]) -> None:
    statement = json.loads(moved["statement.json"])
    statement["told"]["change"] |= forged
    text = json.dumps(following(statement)).encode()
    with pytest.raises(BundleError, match="words about a change do not follow from its numbers"):
        bundle_from_contents(sealed({**moved, "statement.json": text}))


def test_of_answers_a_change_is_told_where_their_numbers_are_public(
    domain: Domain, drifted: dict[str, bytes]
) -> None:
    """Unknown numbers of records, most of whom say no, would pass for a change."""
    bundle = bundle_from_contents(answered(domain, np.full(domain.size, 3.0)))
    change = bundle.statement["told"]["change"]
    assert change["in_words"] == (
        "The share changed in places by more than chance, on average not since the public map (between -1.8 "
        "percentage points and +1.8 percentage points)."
    )
    check_again(bundle)
    told = {**bundle.statement["told"], "change": {**change, "higher": change["higher"] + 0.1}}
    with pytest.raises(BundleError, match=r"stated change does not follow from sums\.parquet"):
        check_again(replace(bundle, statement={**bundle.statement, "told": told}))
    unknown = bundle_from_contents(drifted)
    assert "change" not in unknown.statement["told"]
    told = {**unknown.statement["told"], "change": change}
    with pytest.raises(BundleError, match=r"sums\.parquet says nothing of a change"):
        check_again(replace(unknown, statement={**unknown.statement, "told": told}))


@pytest.mark.parametrize(
    ("left_out", "what"),
    [
        ("change", "a change since the public map"),
        ("model", "its model"),
        ("low", "the range of its agreement"),
        ("map", "its agreement"),
    ],
)
def test_what_follows_from_the_sums_is_not_left_out(
    moved: dict[str, bytes], spectral: dict[str, bytes], left_out: str, what: str
) -> None:
    """An earlier version of the program told less: its statements bring its own schema."""
    bundle = bundle_from_contents(moved if left_out == "change" else spectral)
    told = dict(bundle.statement["told"])
    if left_out == "low":
        told["map"] = {name: each for name, each in told["map"].items() if name not in ("low", "high")}
    elif left_out == "map":
        told["map"] = None
    else:
        told.pop(left_out, None)
    less = replace(bundle, statement={**bundle.statement, "told": told})
    check_again(replace(less, is_complete=False))
    with pytest.raises(BundleError, match=f"tells nothing of {what}, which follows from sums"):
        check_again(less)


def test_a_statement_with_todays_schema_tells_all_and_one_with_an_earlier_schema_less(
    spectral: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bundle_from_contents(spectral).is_complete
    older = json.loads(spectral["statement-2.schema.json"])
    older["title"] = "of an earlier version"
    contents = sealed({**spectral, "statement-2.schema.json": json.dumps(older).encode()})
    with pytest.raises(BundleError, match="is not the schema of"):
        bundle_from_contents(contents)
    monkeypatch.setattr("hexcursion.bundle.statement.designs.earlier_schema", lambda rest: True)
    assert not bundle_from_contents(contents).is_complete


@pytest.mark.parametrize("column", ["reference_count", "reference_mean", "reference_scatter", "public_mean"])
def test_altered_public_records_beside_answers_are_refused(drifted: dict[str, bytes], column: str) -> None:
    columns = table(drifted)
    columns[column][0] += 2.0
    with pytest.raises(BundleError, match=r"sums\.parquet"):
        check_again(bundle_from_contents(with_table(drifted, columns)))


def test_statement_and_file_come_together(spectral: dict[str, bytes]) -> None:
    left = {name: content for name, content in spectral.items() if name != "sums.parquet"}
    with pytest.raises(BundleError, match=r"disagree about sums\.parquet"):
        bundle_from_contents(sealed(left))
    with pytest.raises(BundleError, match=r"sums\.parquet is damaged"):
        bundle_from_contents(sealed({**spectral, "sums.parquet": b"PAR1"}))


def test_a_release_without_sums_says_why(domain: Domain, contents: dict[str, bytes]) -> None:
    assert "sums.parquet" not in contents
    with pytest.raises(BundleError, match="its mechanism, posterior-sampling, releases none"):
        check_again(bundle_from_contents(contents))
    older = bundle_from_contents(bundle_contents(replace(spectral_release(domain), sums=None)))
    with pytest.raises(BundleError, match="written by an earlier version"):
        check_again(older)
