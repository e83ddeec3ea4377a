"""Answers of yes and no: settings, the scale of shares, simulated worlds, words, statement and reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from dpgp_core.errors import InvalidValue
from geo import Domain
from hexcursion import words
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import SUMS, sums_text
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.resources.redraw import response_of
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline
from hexcursion.project.load import build_lattice, load_project
from hexcursion.project.records import bin_records
from hexcursion.project.response import Answers, ResponseScale
from hexcursion.project.simulated import StandIns
from hexcursion.record import Release
from hexcursion.search.public_map import starting_point
from hexcursion.search.scenes import project_scene, public_facts
from hexcursion.search.tuning import tune
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.hexcursion.bundle.bundle_samples import retold
from tests.hexcursion.bundle.statement.test_formats import SPECTRAL, spectral_release
from tests.hexcursion.project.conftest import BOX

REFERENCE = SourceSettings("r.csv", value="as", x="lon", y="lat")
SHARES = ResponseScale("probit", 0.0, 1.0, "the same for all answers of yes and no")


def settings(path: str = "s.csv", **changes: object) -> ReleaseSettings:
    base: dict[str, object] = {
        "data": SourceSettings(path, value="as", x="lon", y="lat"),
        "threshold": 20.0,
        "bbox": BOX,
        "values": "yes-no",
        "value_unit": "ug/l",
        "value_name": "arsenic",
        "record_word": "well",
        "mechanisms": ("spectral-statistics",),
    }
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


def test_a_yes_is_a_value_above_the_limit_or_a_one() -> None:
    assert Answers("arsenic above 50", 50.0).of(np.array([50.0, 50.1, 3.0])).tolist() == [0.0, 100.0, 0.0]
    assert Answers("heating", None).of(np.array([1.0, 0.0])).tolist() == [100.0, 0.0]
    with pytest.raises(InvalidValue, match="must be 1 and 0"):
        Answers("heating", None).of(np.array([1.0, 2.0]))


def test_shares_have_a_scale_of_their_own_and_answers_its_ends() -> None:
    assert SHARES.forward(np.array([0.0, 50.0, 100.0])).tolist() == [-3.0, 0.0, 3.0]
    assert SHARES.response(np.array([0.0, 100.0])).tolist() == [-1.0, 1.0]
    assert float(SHARES.forward(20.0)) == pytest.approx(-0.8416212)
    assert float(SHARES.value(SHARES.forward(20.0))) == pytest.approx(20.0)
    assert SHARES.seen(float(SHARES.forward(20.0))) == pytest.approx(-0.6)  # 20 % of yes, 80 % of no
    assert SHARES.field_of(np.array([-0.6, 0.0, 1.3])).tolist() == pytest.approx([-0.8416212, 0.0, 3.0])
    plain = ResponseScale("identity", 3.0, 2.0, "")
    assert plain.seen(0.7) == plain.field_of(np.array([0.7]))[0] == 0.7
    stated = {"response": {"transform": "probit", "centre": 0.0, "clip": 1.0}}
    assert response_of(20.0, stated) == pytest.approx(-0.8416212)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threshold": 442_413.0}, "a share of the records in per cent, between 1 and 99"),
        ({"centre": 40.0}, "without `centre`"),
        ({"transform": "log"}, "without `transform`"),
        ({"reference": REFERENCE}, "declare it public with `reference_public`"),
        ({"reference": REFERENCE, "reference_public": True, "prior_mean": False}, "leave `prior_mean` out"),
        ({"reference": REFERENCE, "reference_public": True, "change": True}, "A change is one of amounts"),
        ({"reference": REFERENCE, "reference_public": True, "focus": "threshold"}, "with `focus`"),
        ({"pilot": 0.1}, "without `pilot`"),
        ({"unit": "cell"}, "choose the unit 'point'"),
        ({"values": "amount", "yes_above": 50.0, "centre": 1.0, "clip": 1.0}, "A limit of yes needs answers"),
        ({"mechanisms": ("posterior-sampling",)}, "Nothing is done with `values`"),
    ],
)
def test_what_answers_do_not_need_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        settings(**changes)


def survey(path: Path, domain: Domain, *, values: tuple[str, str] = ("80", "7")) -> str:
    """Eight wells in each hexagon: seven above the limit in the west, none in the east."""
    middle = float(np.median(domain.centres_lonlat[:, 0]))
    rows = ["lon,lat,as"]
    for lon, lat in domain.centres_lonlat:
        for k in range(8):
            rows.append(f"{lon + 1e-5 * k},{lat},{values[int(lon > middle or k == 0)]}")
    path.write_text("\n".join(rows), encoding="utf-8")
    return str(path)


def test_a_project_of_answers_asks_for_a_share(domain: Domain, tmp_path: Path) -> None:
    project = load_project(settings(survey(tmp_path / "s.csv", domain), yes_above=50.0))
    assert set(project.private.placed.value.tolist()) == {0.0, 100.0}
    assert project.private.observations.value.max() == 80.0  # the ledger knows the rows as they are
    assert (project.unit, project.value_name) == ("%", "share of wells with arsenic above 50 ug/l")
    assert project.level == pytest.approx(-0.8416212)
    assert public_facts(project).law == "yes-no"
    assert set(np.unique(project.reference.value).tolist()) == {0.0, 100.0}
    scene = project_scene(project, public_facts(project), project.reference, project.response)
    assert scene.world.seen_level == pytest.approx(-0.6)
    assert set(np.unique(np.abs(scene.world.records.mean * scene.world.records.count)) % 1.0) == {0.0}

    class Model:
        prior, lengthscale, ridge, scale = "exponential", 3_000.0, 1.0, 1.0

    inside = fit_baseline(project, Model()).inside
    west = domain.centres_lonlat[:, 0] <= float(np.median(domain.centres_lonlat[:, 0]))
    assert inside[west].all()
    assert not inside[~west].all()


def test_values_that_are_no_answers_are_refused(domain: Domain, tmp_path: Path) -> None:
    path = survey(tmp_path / "s.csv", domain)
    with pytest.raises(WorkflowError, match="Private data: values of yes and no must be 1 and 0"):
        load_project(settings(path))
    long = "a very long name of what was measured, " * 2
    with pytest.raises(WorkflowError, match="take a shorter `value_name`"):
        load_project(settings(path, yes_above=50.0, value_name=long))


def test_published_answers_may_agree_with_private_ones_but_not_be_these(
    domain: Domain, tmp_path: Path
) -> None:
    """Wells of a hexagon lie within 8 m: in the west a published one says the same, in the east none does."""
    now = survey(tmp_path / "s.csv", domain, values=("1", "0"))
    other = replace(REFERENCE, path=survey(tmp_path / "r.csv", domain, values=("0", "1")))
    asked = settings(now, reference=other, reference_public=True)
    (note,) = [each for each in load_project(asked).private.report.notes if "copies of one another" in each]
    count = len(domain.cells)
    west = int((domain.centres_lonlat[:, 0] <= float(np.median(domain.centres_lonlat[:, 0]))).sum())
    assert note.startswith(f"{8 * west} private readings of {8 * count} agree ")
    with pytest.raises(WorkflowError, match="hold the private records themselves"):
        load_project(asked.with_changes(reference=replace(other, path=now)))


def test_simulated_answers_have_the_shares_of_their_field(domain: Domain) -> None:
    lattice = build_lattice(domain)
    drawn = [StandIns(settings(), lattice, SHARES, 4_000).draw(number) for number in range(6)]
    shares = [
        np.bincount(each.index, weights=each.value, minlength=domain.size)
        / np.maximum(np.bincount(each.index, minlength=domain.size), 1)
        for each in drawn
    ]
    assert all(set(np.unique(each.value)) == {0.0, 100.0} for each in drawn)
    assert 15.0 < np.mean([share.std() for share in shares]) < 35.0


@pytest.mark.parametrize(("share", "yes"), [(50.0, 48.9), (20.0, 39.9)])
def test_simulated_answers_lie_between_even_odds_and_the_asked_share(
    domain: Domain, share: float, yes: float
) -> None:
    """A world and its mirror image, which is wider."""
    lattice, asked = build_lattice(domain), settings(threshold=share)
    own, image = (StandIns(asked, lattice, SHARES, 4_000).draw(k) for k in (3, 12))
    assert float((own.value + image.value).mean()) / 2.0 == pytest.approx(yes, abs=1.0)


def test_the_question_is_asked_in_words() -> None:
    subject = {
        "value": "share of wells with arsenic above 50 ug/l",
        "unit": "%",
        "threshold": 20.0,
        "direction": "above",
        "answers": {"yes": "arsenic above 50 ug/l", "yes_above": 50.0},
    }
    assert words.asked(subject, "well") == "Where do more than 20 % of wells have arsenic above 50 ug/l?"
    below = subject | {"direction": "below", "scope": {"population": "shallow wells", "period": "1998"}}
    assert words.asked(below, "well") == (
        "Where did at most 20 % of shallow wells have arsenic above 50 ug/l in 1998?"
    )
    assert words.named(subject) == "More than 20 % with arsenic above 50 ug/l"


def answers_release(domain: Domain) -> Release:
    return retold(
        spectral_release(domain),
        response=SHARES,
        threshold=20.0,
        value_unit="%",
        value_name="share of wells with arsenic above 50 ug/l",
        answers=Answers("arsenic above 50 ug/l", 50.0),
        design=replace(SPECTRAL.for_law("yes-no")),
    )


def test_a_bundle_of_answers_is_written_and_read(domain: Domain) -> None:
    contents = bundle_contents(answers_release(domain))
    bundle = bundle_from_contents(contents)
    subject = bundle.statement["subject"]
    assert subject["answers"] == {"yes": "arsenic above 50 ug/l", "yes_above": 50.0}
    assert subject["threshold_response"] == pytest.approx(-0.8416212)
    viewer = Viewer(bundle)
    assert [viewer.level(share) for share in (50.0, 99.5)] == [0.0, pytest.approx(2.5758293)]
    for share in (0.0, 100.0):
        with pytest.raises(WorkflowError, match="above 0 and below 100 per cent"):
            viewer.level(share)
    said = {line["topic"]: line["text"] for line in bundle.statement["receipt"]}
    assert said["Centre"] == "a share of 50 %; the same for all answers of yes and no."
    assert said["Clip bound"].startswith("none: answers of yes and no are not clipped")
    cells = json.loads(contents["cells.geojson"])["features"]
    for words_of_it in (
        "Where do more than 20 % of sales have arsenic above 50 ug/l?",
        "Share of wells with arsenic above 50 ug/l in %; from 30,123 sales.",
        "One sale: its value and its place, among 30,123 sales.",
        "none: answers of yes and no are not clipped; the same for all answers of yes and no. *",
    ):
        assert words_of_it in bundle.label_html
    assert len(cells) == domain.size


def test_a_release_of_answers_starts_from_a_published_reference(
    domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Published: seven eighths of yes in the west, one in the east; private answers enter as -1 and 1."""
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))
    before = survey(tmp_path / "r.csv", domain, values=("80", "7"))
    now = survey(tmp_path / "s.csv", domain, values=("90", "6"))
    source = SourceSettings(before, value="as", x="lon", y="lat")
    asked = settings(now, yes_above=50.0, reference=source, reference_public=True, quick=True)
    project = load_project(asked)
    share = float(project.reference.value.mean())
    assert project.usual_answer == pytest.approx(share / 50.0 - 1.0)
    tuned = tune(project, frontier=())
    design, public = tuned.choice.design, tuned.choice.public_map
    assert (design.law, design.drift) == ("yes-no", True)  # type: ignore[attr-defined]
    assert not any("clip bound" in each for each in tuned.remarks())
    assert public is not None
    west = domain.centres_lonlat[:, 0] <= float(np.median(domain.centres_lonlat[:, 0]))
    assert ndtr(public.mean[west]).mean() > 0.6 > 0.3 > ndtr(public.mean[~west]).mean()
    assert tuned.choice.level(2.0) == 0.0  # nothing is cut, so that no share is out of reach
    records = bin_records(project.private.placed, SHARES, "point", public.mean)
    assert set((records.mean * records.count % 2.0).tolist()) == {0.0}
    (worlds,) = [starting_point(project, tuned.result.model)[2]]
    assert len(worlds) == 8  # each of four drifts, one way and the other
    assert all(set(np.unique(each.value)) <= {0.0, 100.0} for each in worlds)

    class Model:
        prior, lengthscale, ridge, scale = "exponential", 100.0, 1.0, 1.0

    placed = project.private.placed
    alone = replace(project, private=replace(project.private, placed=placed.part(west[placed.index])))
    far = fit_baseline(alone, Model()).mean[np.argmax(domain.centres_lonlat[:, 0])]
    assert far == pytest.approx(float(SHARES.forward(share)), abs=0.02)  # no record is near: the usual share


@pytest.mark.parametrize("change", ["answers", "transform", "law", "unit"])
def test_a_statement_that_contradicts_itself_about_answers_is_refused(domain: Domain, change: str) -> None:
    contents = bundle_contents(answers_release(domain))
    statement = json.loads(contents["statement.json"])
    if change == "answers":
        del statement["subject"]["answers"]
    elif change == "transform":
        statement["response"]["transform"] = "identity"
        statement["response"]["formula"] = "value = centre + clip * response"
        statement["subject"]["threshold_response"] = 20.0
    elif change == "law":
        statement["design"]["law"] = "amount"
    else:
        statement["subject"]["unit"] = "ug/l"
    other = {name: content for name, content in contents.items() if name != SUMS}
    other["statement.json"] = json.dumps(statement).encode()
    other[SUMS] = sums_text(other).encode()
    with pytest.raises(BundleError, match="about answers of yes and no"):
        bundle_from_contents(other)
