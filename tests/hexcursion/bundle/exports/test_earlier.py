"""An earlier release in the place of reference data: what stands in, what is refused, where it is named."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

from dpgp_core.noise import SimulationEntropy
from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.published.earlier import (
    _places,
    earlier_transform,
    is_bundle,
    load_with_earlier,
    with_earlier,
)
from hexcursion.bundle.published.series import refuse_unreadable
from hexcursion.bundle.write import bundle_contents
from hexcursion.project.example import county_settings
from hexcursion.search.choice import tuning_of
from hexcursion.search.public_map import free_map_basis, private_parts, public_map, public_part
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.bundle.spectral_samples import DESIGN, spectral_release

BOX = (-0.20, 51.47, -0.05, 51.54)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zipped bundle whose values rise to the east."""
    path = tmp_path_factory.mktemp("earlier") / "2017.zip"
    with path.open("wb") as stream:
        zip_bytes_to(
            stream,
            "bundle",
            bundle_contents(spectral_release(small_domain(), public_mean=False, ranged=True)),
        )
    return path


@pytest.fixture
def settings(earlier: Path, tmp_path: Path) -> ReleaseSettings:
    """Settings of the same question, whose reference is that bundle."""
    rows = np.random.default_rng(1).uniform(BOX[:2], BOX[2:], (200, 2))
    table = pd.DataFrame(rows, columns=["lon", "lat"]).assign(price=np.geomspace(2e5, 9e5, 200))
    table.to_csv(tmp_path / "2018.csv", index=False)
    data, reference = (
        SourceSettings(str(path), value="price", x="lon", y="lat")
        for path in (tmp_path / "2018.csv", earlier)
    )
    return county_settings().with_changes(
        data=data,
        reference=reference,
        reference_public=False,
        bbox=BOX,
        threshold=442_413.0,
        value_unit="pounds",
    )


def test_stand_ins_rise_where_the_release_rises_and_lie_about_a_mean_and_a_draw(
    settings: ReleaseSettings,
) -> None:
    """2,000 of each sort, as many as the release had; draws of a pair lie on both sides of the mean."""
    made, held = with_earlier(settings)
    assert made.reference is not None
    assert (made.reference.value, made.reference_public) == ("value", True)
    table = pd.read_csv(io.BytesIO(held[made.reference.path].content))
    assert table["time"].value_counts().to_dict() == {f"{2000 + each}-07-01": 2000 for each in range(9)}
    east = table["lon"] > -0.125
    rise = np.log(table["value"]).groupby([table["time"], east]).mean().unstack()
    steps = (rise[True] - rise[False]).to_numpy()
    assert steps[0] == pytest.approx(0.6, abs=0.2)
    assert steps[1::2] + steps[2::2] == pytest.approx([2.0 * steps[0]] * 4, abs=0.2)
    assert steps[1:].std() > 0.03
    off = (
        steps - steps[0]
    )  # a pair lies on either side: whoever has the larger rise, the other has the smaller
    assert float(off[1::2] @ off[2::2]) < 0.0
    assert with_earlier(made, held) == (made, held)


def test_a_release_starts_from_the_mean_and_is_judged_on_the_draw(settings: ReleaseSettings) -> None:
    project = load_with_earlier(settings.with_changes(prior_mean=True, reference_public=True))
    assert project.reference_kind == "public reference data"
    assert project.settings == settings.with_changes(prior_mean=True, reference_public=True)
    assert project.reference.index.size == 18_000
    assert [each.index.size for each in private_parts(project)] == [2000] * 8
    assert len({tuple(each.index.tolist()) for each in private_parts(project)}) == 1
    assert "hx-20261121-7f3a (SHA-256 of SHA256SUMS: " in project.reference_origin
    assert free_map_basis(project) == ", by what the earlier release tells of the field now"
    model: Any = type("Model", (), {"prior": "car", "lengthscale": 2000.0, "ridge": 1.0})
    start = public_map(project, model, project.response)
    assert start is not None
    assert start.field is not None
    assert start.field.count.sum() == 2000
    assert public_part(project).year is not None
    assert set(public_part(project).year.tolist()) == {2000}  # type: ignore[union-attr]  # those about the mean
    assert start.origin == f"what {project.reference_origin} tells"
    once = tuning_of(project, "public reference data", "5 designs")
    assert once.detail.endswith("tells of the field now, and a record that is in both releases pays for both")
    assert tuning_of(project, "public reference data", once.detail) == once


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value_unit": "euros"}, "is of the unit 'pounds', these settings of 'euros'"),
        ({"value_name": "rent"}, "is of the value 'price', these settings of 'rent'"),
        ({"direction": "below"}, "is of the direction 'above', these settings of 'below'"),
        ({"transform": "identity"}, "has the transform 'log': set the same"),
        ({"unit": "cell"}, "has the unit 'point', these settings 'cell': give the same"),
        ({"resolution": 7}, "covers other hexagons than these settings"),
        ({"bbox": (-0.20, 51.47, -0.06, 51.54)}, "name the same area and resolution 8"),
        ({"change": True, "reference_public": True}, "stands in for amounts alone"),
    ],
)
def test_a_release_of_another_question_is_refused(
    settings: ReleaseSettings, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(BundleError, match=said):
        with_earlier(settings.with_changes(**changes))


def test_how_an_earlier_release_reads_values_is_known_before_a_search(earlier: Path, tmp_path: Path) -> None:
    assert earlier_transform(str(earlier)) == "log"
    path = tmp_path / "paths.zip"
    with path.open("wb") as stream:
        zip_bytes_to(stream, "bundle", bundle_contents(make_release(small_domain())))
    with pytest.raises(BundleError, match=r"holds no released sums|belongs to no release|releases none"):
        earlier_transform(str(path))


@pytest.mark.parametrize(
    ("design", "subject", "what"),
    [
        (asdict(DESIGN.for_law("rate")), {}, "Answers of yes and no, and counts,"),
        ({}, {"relative": {}}, "Releases relative to a public field"),
    ],
)
def test_what_cannot_stand_in_is_told_apart_from_what_is_read_together(
    earlier: Path, design: dict[str, Any], subject: dict[str, Any], what: str
) -> None:
    bundle = read_bundle(earlier)
    said = bundle.statement
    other = replace(
        bundle,
        statement={**said, "design": {**said["design"], **design}, "subject": {**said["subject"], **subject}},
    )
    with pytest.raises(BundleError, match=f"{what} cannot stand in for reference data yet: name another"):
        refuse_unreadable(other, reference=True)
    with pytest.raises(BundleError, match=f"{what} are not read together yet: release"):
        refuse_unreadable(other)


def test_rows_of_an_earlier_release_cannot_be_chosen(settings: ReleaseSettings) -> None:
    assert settings.reference is not None
    some = replace(settings.reference, where=(("year", "1994"),))
    with pytest.raises(BundleError, match="has no rows to choose among: leave `where`"):
        with_earlier(settings.with_changes(reference=some))


def test_simulations_and_releases_without_sums_are_refused(settings: ReleaseSettings, tmp_path: Path) -> None:
    for name, release, said in (
        ("simulated", spectral_release(small_domain(), simulation=True), "is a simulation"),
        ("paths", make_release(small_domain()), "holds no released sums|belongs to no release"),
    ):
        path = tmp_path / f"{name}.zip"
        with path.open("wb") as stream:
            zip_bytes_to(stream, "bundle", bundle_contents(release))
        reference = SourceSettings(str(path), value="price", x="lon", y="lat")
        with pytest.raises(BundleError, match=said):
            with_earlier(settings.with_changes(reference=reference))


def test_tables_are_no_bundles(settings: ReleaseSettings, earlier: Path, tmp_path: Path) -> None:
    assert is_bundle(str(earlier))
    assert not is_bundle(settings.data.path)
    assert not is_bundle(str(tmp_path))
    (tmp_path / "cut.zip").write_bytes(earlier.read_bytes()[:-30])
    assert not is_bundle(str(tmp_path / "cut.zip"))
    assert not is_bundle(str(tmp_path / "none.zip"))
    for held, bundle in (("table.csv", False), ("deep/statement.json", True), ("statement.json.csv", False)):
        with ZipFile(tmp_path / "some.zip", "w") as archive:
            archive.writestr(held, "x,y\n")
            archive.writestr("notes.txt", "notes")
        assert is_bundle(str(tmp_path / "some.zip")) is bundle
    plain = settings.with_changes(reference=None, reference_public=False, centre=13.0, clip=1.0)
    assert with_earlier(plain) == (plain, {})


def test_so_many_records_as_a_forger_may_state_are_not_drawn() -> None:
    stated = SimpleNamespace(statement={"guarantee": {"n": 10**12, "unit": "point"}})
    with pytest.raises(BundleError, match=r"states 1,000,000,000,000 records, too many to draw"):
        _places(stated, np.ones(3), SimulationEntropy(1))  # type: ignore[arg-type]
