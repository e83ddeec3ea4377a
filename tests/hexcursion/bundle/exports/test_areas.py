"""Answers for areas from a bundle alone: shares, intervals that hold them, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.excursion import JointField, joint_excursions
from dpgp_core.noise import SimulationEntropy
from geo import Domain, DomainError, domain_from_bbox
from geo.context.own_layers import Feature, OwnLayer, shape_of
from geo.domains import areas as areas_module
from geo.domains.areas import named_areas
from hexcursion.bundle import BundleError, write_bundle
from hexcursion.bundle.areas import named_areas_of
from hexcursion.bundle.published.view import Viewer, answers_from
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.cli import main
from tests.hexcursion.bundle.bundle_samples import make_release


def square(west: float, south: float, east: float, north: float, **properties: object) -> dict[str, object]:
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


FEATURES = [
    square(-0.20, 51.47, -0.14, 51.54, name="west"),
    square(-0.11, 51.47, -0.05, 51.54, name="=east"),
    square(0.5, 51.47, 0.6, 51.54, name="elsewhere"),
    square(-0.08, 51.48, 0.02, 51.52, name="half"),
]
AREAS = {"type": "FeatureCollection", "features": FEATURES}


@pytest.fixture(scope="module")
def viewer(domain: Domain) -> Viewer:
    """A field that rises to the east, known up to .3, with forty joint draws."""
    release = make_release(domain, paths=1)
    east = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()
    noise = 0.3 * np.random.default_rng(3).normal(size=(40, 1)) * np.ones(domain.size)
    made = replace(release, mean=east, sd=np.full(domain.size, 0.3), draws=east + noise)
    return Viewer(bundle_from_contents(bundle_contents(made)))


def test_each_area_has_its_share_and_an_interval(viewer: Viewer) -> None:
    areas, answers = answers_from(viewer, AREAS)
    west, east, elsewhere, half = answers
    assert [answer.name for answer in answers] == ["west", "=east", "elsewhere", "half"]
    assert west.share is not None
    assert east.share is not None
    assert east.low is not None
    assert east.high is not None
    assert west.share < 0.2 < 0.8 < east.share
    assert east.low < east.share <= east.high == 1.0
    assert elsewhere.share is None
    assert 0.2 < half.covered < 0.4
    assert 0.9 < west.covered <= 1.0
    assert areas.weights[0].sum() == pytest.approx(west.covered * 4.16e3 * 7.79e3, rel=0.01)  # metres


def test_the_same_bundle_always_answers_the_same(viewer: Viewer) -> None:
    assert answers_from(viewer, AREAS)[1] == answers_from(viewer, AREAS)[1]
    wider, narrower = (answers_from(viewer, AREAS, confidence=share)[1][1] for share in (0.95, 0.5))
    assert wider.low is not None
    assert narrower.low is not None
    assert wider.low < narrower.low
    higher = answers_from(viewer, AREAS, threshold=900_000.0)[1][1]
    assert higher.share is not None
    assert higher.share < answers_from(viewer, AREAS)[1][1].share  # type: ignore[operator]


def test_joint_sets_have_the_stated_probabilities_and_the_draws_dependence() -> None:
    generator = np.random.default_rng(2)
    together = generator.normal(size=(50, 1)) * np.ones(2)
    alone = generator.normal(size=(50, 1))
    draws = np.hstack([together, alone])
    mean, sd = np.array([0.3, 0.3, 0.0]), np.array([0.6, 0.6, 1.0])
    sets = np.concatenate(
        list(
            joint_excursions(
                JointField(mean, sd, 7.0 * draws + 3.0), 0.0, "above", 4_000, SimulationEntropy(1)
            )
        )
    )
    assert sets.shape == (4_000, 3)
    assert sets[:, 0].mean() == pytest.approx(0.6915, abs=0.03)  # ndtr(.5)
    assert sets[:, 2].mean() == pytest.approx(0.5, abs=0.03)
    assert np.array_equal(sets[:, 0], sets[:, 1])
    assert abs(np.corrcoef(sets[:, 0], sets[:, 2])[0, 1]) < 0.3


def test_a_single_path_without_draws_cannot_answer(domain: Domain) -> None:
    alone = Viewer(bundle_from_contents(bundle_contents(make_release(domain, paths=1))))
    with pytest.raises(BundleError, match="1 draw of its field, too few"):
        answers_from(alone, AREAS)
    many = Viewer(bundle_from_contents(bundle_contents(make_release(domain, paths=12))))
    assert len(answers_from(many, AREAS)[1]) == 4


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"no json", "not GeoJSON"),
        ({"type": "FeatureCollection", "features": []}, "holds no area"),
        ({"type": "FeatureCollection", "features": [7]}, "no GeoJSON feature"),
        ({"type": "FeatureCollection", "features": [FEATURES[2]]}, "none of the areas touches"),
    ],
)
def test_what_is_no_map_of_areas_is_refused(viewer: Viewer, source: object, said: str) -> None:
    with pytest.raises(BundleError, match=said):
        answers_from(viewer, source)  # type: ignore[arg-type]
    with pytest.raises(BundleError, match="no property 'code'"):
        answers_from(viewer, AREAS, name="code")
    with pytest.raises(BundleError, match="strictly between"):
        answers_from(viewer, AREAS, confidence=1.0)


def comb(teeth: int, low: float = 51.41) -> dict[str, object]:
    """A polygon of so many teeth, each as high as the area of the hexagons."""
    east = np.linspace(-0.30, 0.05, 2 * teeth).tolist()
    top = [[lon, 51.60 if number % 2 else low] for number, lon in enumerate(east)]
    ring = [*top, [east[-1], 51.40], [east[0], 51.40], top[0]]
    return {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}


@pytest.fixture(scope="module")
def wide() -> Domain:
    """Hexagons in some thirty rows."""
    return domain_from_bbox(-0.30, 51.38, 0.05, 51.62, 8)


def test_an_outline_that_runs_to_and_fro_over_the_hexagons_is_refused(wide: Domain) -> None:
    with pytest.raises(DomainError, match=r"too often to be laid over them: simplify the polygons"):
        named_areas(comb(20_000), wide)
    assert named_areas(comb(200), wide).covered[0] == pytest.approx(1.0, abs=0.01)


def test_areas_of_too_many_corners_together_are_refused(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(areas_module, "MAX_VERTICES", 20)  # four squares have 20 corners
    assert len(answers_from(viewer, AREAS)[1]) == 4
    monkeypatch.setattr(areas_module, "MAX_VERTICES", 19)
    with pytest.raises(BundleError, match="more than 19 corners together"):
        answers_from(viewer, AREAS)


def test_cutting_an_outline_changes_no_share(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    source = comb(600, low=51.45)
    cut = named_areas(source, domain)
    monkeypatch.setattr(areas_module, "FEW_CORNERS", 1_000_000)
    whole = named_areas(source, domain)
    assert np.abs(cut.weights - whole.weights).max() < 1e-3  # square metres
    assert cut.weights.sum() == pytest.approx(whole.weights.sum(), rel=1e-9)
    assert (cut.weights > 0.0).sum() > 100


def test_work_on_areas_is_cancelled_and_told(viewer: Viewer) -> None:
    told: list[str] = []

    def stop(share: float, text: str) -> None:
        told.append(text)
        if text.startswith("Laying"):
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        answers_from(viewer, AREAS, progress=stop)
    assert told == ["Reading the areas"] * 4 + ["Laying the areas over the hexagons"]


def test_layers_that_no_map_of_areas_has_are_in_no_table(wide: Domain) -> None:
    ragged = OwnLayer("comb", (Feature("comb", shape_of(comb(6_000)["geometry"], "comb")),))
    plain = OwnLayer("west", (Feature("west", shape_of(FEATURES[0]["geometry"], "west")),))
    assert named_areas_of((plain,), wide) is not None
    assert named_areas_of((ragged,), wide) is None
    away = Feature("away", shape_of(square(10.0, 50.0, 10.1, 50.1)["geometry"], "away"))
    both = named_areas_of((OwnLayer("layer", (*plain.features, away)),), wide)
    assert both is not None
    assert both.names == ("west",)


def test_areas_of_one_name_are_told_by_their_outlines(wide: Domain) -> None:
    """One answer for both, which says so; two layers may share a name as two features do."""
    west, east, half = (shape_of(FEATURES[at]["geometry"], "x") for at in (0, 1, 3))
    layers = (
        OwnLayer("boroughs", (Feature("soho", west), Feature("soho", east), Feature("half", half))),
        OwnLayer("wards", (Feature("half", half),)),
    )
    found = named_areas_of(layers, wide)
    assert found is not None
    assert found.names == ("soho (2 outlines)", "half (2 outlines)")
    alone = named_areas_of((OwnLayer("boroughs", layers[0].features[1:]),), wide)
    assert alone is not None
    assert alone.names == ("soho", "half")


def test_parts_of_hexagons_are_divided_among_areas(domain: Domain) -> None:
    found = named_areas(AREAS, domain)
    whole = named_areas(square(-0.30, 51.40, 0.05, 51.60), domain)
    assert whole.names == ("area 1",)
    assert np.all(found.weights.sum(axis=0) <= 2.0 * whole.weights[0] + 1e-6)
    edge = (found.weights[0] > 0) & (found.weights[0] < 0.999 * whole.weights[0])
    assert edge.sum() > 3


def test_the_command_prints_and_writes_both_tables(
    domain: Domain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_bundle(make_release(domain, paths=12), tmp_path / "b").directory
    polygons = tmp_path / "areas.geojson"
    polygons.write_text(json.dumps(AREAS), encoding="utf-8")
    table, layer = tmp_path / "answers.csv", tmp_path / "answers.geojson"
    for out in (table, layer):
        assert main(["areas", str(folder), "--polygons", str(polygons), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "Share of each area that lies above £442,413" in said
    assert "elsewhere: no hexagon of the release lies in it" in said
    rows = table.read_text(encoding="utf-8").splitlines()
    assert rows[0] == "area,share,low,high,confidence,covered"
    assert rows[2].startswith("'=east,")  # harmless in a spreadsheet
    first = json.loads(layer.read_text(encoding="utf-8"))["features"][0]
    assert first["properties"]["area"] == "west"
    assert first["geometry"]["type"] == "MultiPolygon"
    assert main(["areas", str(folder), "--polygons", str(polygons), "--out", str(table)]) == 2
    assert main(["areas", str(folder), "--polygons", str(tmp_path / "none.geojson")]) == 2
    assert "error: The areas cannot be read" in capsys.readouterr().err
