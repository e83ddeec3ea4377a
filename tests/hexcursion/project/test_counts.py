"""Counted records: settings, population, scale of rates, simulated worlds, words, statement and reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from geo import Domain
from geo.context.covariates import public_values
from geo.domains.hexagons import cell_polygons, children
from geo.errors import DomainError
from hexcursion import words
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import SUMS, sums_text
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline
from hexcursion.project.load import load_project
from hexcursion.project.public_numbers import Exposure, even_exposure, load_population
from hexcursion.project.records import PlacedObservations
from hexcursion.project.simulated import StandIns, simulated_worlds
from hexcursion.record import Release, Tuning
from hexcursion.search.choice import Choice
from hexcursion.search.scenes import project_scene, public_facts
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.hexcursion.bundle.bundle_samples import retold
from tests.hexcursion.bundle.statement.test_formats import SPECTRAL, spectral_release
from tests.hexcursion.project.conftest import BOX


def settings(path: str = "s.csv", **changes: object) -> ReleaseSettings:
    base: dict[str, object] = {
        "data": SourceSettings(path, x="lon", y="lat"),
        "threshold": 1.5,
        "bbox": BOX,
        "values": "count",
        "record_word": "case",
        "population_file": "people.csv",
        "mechanisms": ("spectral-statistics",),
    }
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threshold": 50.0}, "a number of times the average, between 0.05 and 20"),
        ({"threshold": -1.0, "population_file": None}, "A density or a relative risk needs a positive thr"),
        ({"clip": 4.0}, "Counts are released by one fixed design, without `clip`"),
        ({"places_public": True}, "their places are what is protected"),
        ({"unit": "cell"}, "one by one: choose the unit 'point'"),
        ({"population_file": "s.csv"}, "cannot be the file of the records"),
        ({"population_file": "./other/../s.csv"}, "cannot be the file of the records"),
        ({"population_file": None, "population_column": "people"}, "Name the population's file"),
        ({"values": "yes-no", "threshold": 20.0}, "A population is for records that are counted"),
        ({"values": "amount", "population_file": None, "centre": 1.0, "clip": 1.0}, "Nothing says what is"),
        ({"yes_above": 3.0}, "A limit of yes needs answers"),
        *(
            ({"mechanisms": (name,)}, "Nothing is done with `values`")
            for name in MECHANISMS
            if name != "spectral-statistics" and MECHANISMS[name].protection.what != "values"
        ),
    ],
)
def test_what_counts_do_not_need_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        settings(**changes)


def people(domain: Domain) -> np.ndarray:
    return 500.0 + 300.0 * (np.arange(domain.size) % 5)


def survey(folder: Path, domain: Domain, per_hexagon: tuple[int, int] = (8, 2)) -> str:
    """Cases without a value, more of them in the west, and a table of people."""
    middle = float(np.median(domain.centres_lonlat[:, 0]))
    rows = ["lon,lat,when"]
    for lon, lat in domain.centres_lonlat:
        many = per_hexagon[int(lon > middle)]
        rows += [f"{lon},{lat},2020-01-{k + 1:02d}" for k in range(many)]
    (folder / "s.csv").write_text("\n".join(rows), encoding="utf-8")
    table = ["h3,population", *(f"{h},{n:g}" for h, n in zip(domain.cells, people(domain), strict=True))]
    (folder / "people.csv").write_text("\n".join(table), encoding="utf-8")
    return str(folder / "s.csv")


def asked_of(folder: Path, domain: Domain, **changes: object) -> ReleaseSettings:
    source = SourceSettings(survey(folder, domain), x="lon", y="lat", time="when")
    given: dict[str, object] = {"data": source, "population_file": str(folder / "people.csv")}
    return settings(**{**given, **changes})


class Model:
    prior, lengthscale, ridge, scale = "exponential", 3_000.0, 1.0, 1.0


def test_a_project_of_cases_asks_for_their_relative_risk(domain: Domain, tmp_path: Path) -> None:
    project = load_project(asked_of(tmp_path, domain))
    assert np.allclose(project.exposure.values, people(domain))  # type: ignore[union-attr]
    assert (project.unit, project.value_name) == ("times the average", "risk of a case")
    assert project.level == pytest.approx(np.log(1.5))
    facts = public_facts(project)
    assert (facts.law, facts.counts.tolist()) == ("rate", people(domain).tolist())  # type: ignore[union-attr]
    world = project_scene(project, facts, project.reference, project.response).world
    assert np.array_equal(world.records.units, 1024 * world.records.count)  # each response is 1
    west = domain.centres_lonlat[:, 0] <= float(np.median(domain.centres_lonlat[:, 0]))
    shown = fit_baseline(project, Model()).mean
    assert shown[west].mean() > np.log(1.3)
    assert shown[~west].mean() < np.log(0.7)


def test_without_people_the_question_is_one_of_density(domain: Domain, tmp_path: Path) -> None:
    project = load_project(asked_of(tmp_path, domain, population_file=None, threshold=20.0))
    assert (project.unit, project.value_name) == ("per km²", "density of cases")
    n, area = project.public_n, domain.areas.sum()
    assert project.response.centre == pytest.approx(np.log(n / area))
    assert project.exposure is not None
    assert project.exposure.values.sum() == pytest.approx(n)
    shown = np.exp(fit_baseline(project, Model()).mean) * n / area
    assert 0.9 * n < np.sum(shown * domain.areas) < n  # medians of each hexagon
    hidden = asked_of(
        tmp_path, domain, population_file=None, threshold=20.0, relation="add-or-remove", records_about=300
    )
    assert load_project(hidden).exposure.values.sum() == pytest.approx(300.0)  # type: ignore[union-attr]


def test_people_are_read_from_areas_points_and_tables(domain: Domain, tmp_path: Path) -> None:
    west, south, _, north = BOX
    square = [[west, south], [0.0, south], [0.0, north], [west, north], [west, south]]
    tiny = [
        [[lon + a, lat + b] for a, b in ((0, 0), (1e-4, 0), (1e-4, 1e-4), (0, 0))]
        for lon, lat in domain.centres_lonlat[:1] + 1e-3
    ]
    rings = ([square], tiny)
    zones = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {"n": n}, "geometry": {"type": "Polygon", "coordinates": ring}}
            for n, ring in zip((12_000, 70), rings, strict=True)
        ],
    }
    path = tmp_path / "zones.geojson"
    path.write_text(json.dumps(zones), encoding="utf-8")
    found = load_population(str(path), "n", domain).values
    share = 12_000 * (BOX[2] - BOX[0]) / -BOX[0] / domain.size  # the rest of the square lies elsewhere
    assert np.median(found) == pytest.approx(share, rel=0.15)
    assert found[0] - np.median(found) == pytest.approx(70.0, rel=0.05)
    (lon, lat), (other, north) = domain.centres_lonlat[0], domain.centres_lonlat[5]
    table = tmp_path / "points.csv"
    table.write_text(f"Longitude,lat,n\n{lon},{lat},30\n{lon},{lat},12\n{other},{north},8\n3,3,99\n")
    found = load_population(str(table), "n", domain).values
    assert found[[0, 5]].tolist() == [42.0, 8.0]
    assert found[1] == pytest.approx(0.002 * 50.0 / domain.size)
    with pytest.raises(DomainError, match=r"there is no file nowhere\.csv"):
        load_population(str(tmp_path / "nowhere.csv"), "n", domain)
    for text, said in (
        ("lon,lat,n\n1,1,-3\n", "negative number"),
        ("a,b,n\n1,1,3\n", "must have rows, and the columns lon"),
        ("lon,lat,n\n1,1,x\n", "a feature without a number"),
    ):
        table.write_text(text)
        with pytest.raises(DomainError, match=said):
            load_population(str(table), "n", domain)
    table.write_text("lon,lat,n\n1,1,3\n")
    with pytest.raises(WorkflowError, match="is 0 in every hexagon of the area"):
        load_population(str(table), "n", domain)


def test_people_of_finer_hexagons_are_summed_to_those_of_the_map(domain: Domain, tmp_path: Path) -> None:
    """Seven finer cells below each hexagon, one person in the first and so on: 28 in all; a repeated row
    counts once, and a table of two resolutions would count twice."""
    rows = [f"{child},{k + 1}" for cell in domain.cells for k, child in enumerate(children(cell))]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["h3,n", *rows, rows[0]]), encoding="utf-8")
    assert load_population(str(table), "n", domain).values.tolist() == [28.0] * domain.size
    table.write_text("\n".join(["h3,n", *rows[7:]]), encoding="utf-8")
    with pytest.raises(DomainError, match="hexagons have no value"):
        load_population(str(table), "n", domain)
    with pytest.raises(DomainError, match="is one of the map's hexagons"):
        public_values(table, domain, "n")  # a limit is no sum
    table.write_text("\n".join(["h3,n", *rows, f"{domain.cells[0]},28"]), encoding="utf-8")
    with pytest.raises(DomainError, match="keep rows of one resolution"):
        load_population(str(table), "n", domain)


def test_a_population_that_is_the_records_themselves_is_refused(domain: Domain) -> None:
    counts = 1 + (np.arange(domain.size) * 7) % 11
    placed = PlacedObservations(np.repeat(np.arange(domain.size), counts), np.ones(counts.sum()), 9, 0)
    with pytest.raises(WorkflowError, match="repeats the number of private records"):
        Exposure("population", "x", 2.0 * counts).refuse_private(placed)
    Exposure("population", "x", people(domain)).refuse_private(placed)
    apart = np.arange(0, domain.size, 3)  # one case in each of these, and people nowhere else
    sparse = PlacedObservations(apart, np.ones(apart.size), 9, 0)
    alone = np.full(domain.size, 0.002)
    alone[apart] = 5.0
    with pytest.raises(WorkflowError, match="repeats the number of private records"):
        Exposure("population", "x", alone).refuse_private(sparse)
    for public in (np.full(domain.size, 5.0), np.where(alone > 1.0, 5.0, 1.0)):
        Exposure("population", "x", public).refuse_private(sparse)


def test_simulated_cases_follow_people_and_a_field(domain: Domain, tmp_path: Path) -> None:
    lattice = load_project(asked_of(tmp_path, domain)).lattice
    over = Exposure("population", "x", people(domain))
    assert simulated_worlds(settings(), fixed=True) == 9, "no mirror images, which take long to read"
    drawn = [
        StandIns(settings(), lattice, over.scale, 9_000, exposure=over).draw(number) for number in range(4)
    ]
    risks = [
        np.bincount(each.index, minlength=domain.size) / people(domain) * people(domain).sum() / 9_000
        for each in drawn
    ]
    assert all(risk.sum() / domain.size == pytest.approx(1.0, abs=0.3) for risk in risks)
    assert 0.25 < np.mean([np.log(risk).std() for risk in risks]) < 0.75
    assert {float(np.log(each.value).max()) for each in drawn} == {1.0}


RISK = {
    "value": "risk of a case",
    "unit": "times the average",
    "threshold": 1.5,
    "direction": "above",
    "counts": {"per": "population", "origin": "people"},
}
DENSITY = {
    "value": "density of sales",
    "unit": "per km²",
    "threshold": 20.0,
    "direction": "above",
    "counts": {"per": "area", "origin": "the area of each hexagon"},
}


def test_the_question_is_asked_in_words() -> None:
    assert words.asked(RISK, "case") == "Where is the risk of a case more than 1.5 times the average?"
    scoped = RISK | {"direction": "below", "scope": {"population": "children", "period": "2018"}}
    assert words.asked(scoped, "event") == (
        "Where was the risk of an event among children at most 1.5 times the average in 2018?"
    )
    assert words.asked(DENSITY, "sale") == "Where are there more than 20 sales per square kilometre?"
    assert words.asked(DENSITY | {"scope": {"population": "", "period": "2018"}}, "sale") == (
        "Where were there more than 20 sales per square kilometre in 2018?"
    )
    metal = {"value": "Pb", "unit": "mg/kg", "threshold": 50.0, "direction": "above"}
    assert words.asked(metal, "sample") == "Where is Pb above 50 mg/kg?"
    assert words.asked(metal | {"scope": {"population": "soils", "period": "2018"}}, "sample") == (
        "Where was Pb of soils above 50 mg/kg in 2018?"
    )
    assert words.named(RISK) == "Risk of a case above 1.5 times the average"
    assert words.named(DENSITY) == "More than 20 sales per square kilometre"


QUESTIONS = """
is Pb, is As, is NO2, is NOx, is PM10, is PM2.5, is PM10 (TEOM), is no2_ug_m3, is TOC, are PAHs,
is Pb in soil, is lead, is Arsenic, is nitrogen dioxide, is radon, is rent, is noise, is soil moisture,
is the lead concentration, is the annual mean of NO2, is the height, is the distance, is the age, is the dose,
is the density, is the score, is the index, is the content, is the price, is the thickness, is the biomass,
is the gas, is the radius, is the pH, is the value, is the Value(s), are the Levels, are the levels of lead,
are the concentrations, are the earnings, is the noise level
"""


@pytest.mark.parametrize("said", QUESTIONS.strip().replace("\n", " ").split(", "))
def test_a_name_of_a_value_takes_the_article_that_it_needs(said: str) -> None:
    subject = {"value": said.partition(" ")[2].removeprefix("the "), "unit": "", "threshold": 5.0}
    assert words.asked(subject | {"direction": "above"}, "sample") == f"Where {said} above 5?"
    past = said.replace("is", "was", 1) if said.startswith("is") else said.replace("are", "were", 1)
    dated = subject | {"direction": "above", "scope": {"population": "", "period": "2018"}}
    assert words.asked(dated, "sample") == f"Where {past} above 5 in 2018?"


def counts_release(domain: Domain, over: Exposure) -> Release:
    return retold(
        spectral_release(domain),
        response=over.scale,
        threshold=1.5,
        value_unit=over.unit,
        value_name="risk of a case",
        exposure=over,
        records=None,
        design=SPECTRAL.for_law(over.law),
    )


def test_a_bundle_of_counts_is_written_and_read(domain: Domain) -> None:
    contents = bundle_contents(counts_release(domain, Exposure("population", "people", people(domain))))
    bundle = bundle_from_contents(contents)
    assert bundle.statement["subject"]["counts"] == {"per": "population", "origin": "people"}
    assert bundle.statement["design"]["law"] == "rate"
    said = {line["topic"]: line["text"] for line in bundle.statement["receipt"]}
    assert said["Centre"] == "1 times the average (log 0); the average over people."
    assert said["Clip bound"].startswith("none: records that are counted have no values")
    for words_of_it in (
        "Where is the risk of a sale more than 1.5 times the average?",
        "Risk of a case; from 30,123 sales.",
        "1 times the average (log 0); the average over people. *",
        "none: records that are counted have no values; the average over people. *",
    ):
        assert words_of_it in bundle.label_html


def test_the_label_of_a_density_asks_how_many_lie_in_a_square_kilometre(domain: Domain) -> None:
    release = retold(counts_release(domain, even_exposure(domain, 30_123)), value_name="sales")
    label = bundle_contents(release)["label.html"].decode()
    assert "Where are there more than 1.5 sales per square kilometre?" in label


@pytest.mark.parametrize("change", ["counts", "per", "law", "unit", "centre"])
def test_a_statement_that_contradicts_itself_about_counts_is_refused(domain: Domain, change: str) -> None:
    contents = bundle_contents(counts_release(domain, Exposure("population", "people", people(domain))))
    statement = json.loads(contents["statement.json"])
    if change == "counts":
        del statement["subject"]["counts"]
    elif change == "per":
        statement["subject"]["counts"]["per"] = "area"
    elif change == "law":
        statement["design"]["law"] = "density"
    elif change == "unit":
        statement["subject"]["unit"] = "per km²"
    else:
        statement["response"]["centre"] = 0.1
        statement["subject"]["threshold_response"] -= 0.1
    other = {name: content for name, content in contents.items() if name != SUMS}
    other["statement.json"] = json.dumps(statement).encode()
    other[SUMS] = sums_text(other).encode()
    with pytest.raises(BundleError, match=r"contradicts itself about .* records"):
        bundle_from_contents(other)


@pytest.mark.parametrize(("law", "level"), [("rate", 0.0), ("density", 0.0), ("amount", 1.0986)])
def test_a_rate_far_from_the_average_is_within_reach(law: str, level: float) -> None:
    """Values are cut at a factor e of the usual ones, and rates are not: 3 times the average may be asked."""
    design = replace(SPECTRAL, law=law) if law == "amount" else SPECTRAL.for_law(law)  # type: ignore[arg-type]
    scale = Exposure("population", "x", np.ones(3)).scale
    choice = Choice(design, scale, Tuning("fixed", "one design"))
    assert choice.level(3.0) == pytest.approx(level, abs=1e-4)


def test_an_even_exposure_is_the_area_of_each_hexagon(domain: Domain) -> None:
    over = even_exposure(domain, 640)
    assert over.average == pytest.approx(640 / domain.areas.sum())
    assert 0.6 < domain.areas.min() < domain.areas.max() < 0.9
    assert np.allclose(over.values / domain.areas, over.average)
    assert len(cell_polygons(domain.cells)) == domain.areas.size
    assert replace(over, per="population").law == "rate"
