"""The viewer as a page for readers: from an unzipped bundle, with every answer as text."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from streamlit.testing.v1 import AppTest

from dpgp_core.errors import PluginError
from hexcursion.bundle import write_bundle
from hexcursion.bundle.published.bundle_store import media_of, offers, open_bundle, slug, stored_bundles
from hexcursion.bundle.published.office_key import public_line, sign_bundle
from hexcursion.bundle.published.readings import READINGS, Reading
from hexcursion.bundle.read import read_bundle
from hexcursion.record import Expected
from pages.shared import subprocess_job
from pages.shared.released_view import threshold_stops
from pages.shared.session.side_jobs import SideJobName
from pages.shared.steps import VIEWER
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.bundle.spectral_samples import spectral_release
from tests.pages.conftest import press, texts
from tests.patience import HANG


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("published")
    expected = Expected(0.874, 0.05, 0.931, "public reference data")
    written = write_bundle(make_release(small_domain(), expected=expected), place / "london")
    written.zip.unlink()
    return place


def test_released_counts_tell_where_many_records_lie(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(spectral_release(small_domain()), tmp_path / "london")
    (tmp_path / "london.zip").unlink()
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    app = open_app(VIEWER.path)
    app.number_input(key="viewer_density").set_value(20.0).run()
    computed(app, "density")
    assert "of 122 hexagons likely hold more than 20 sales per square kilometre" in texts(app)
    assert not app.exception


def test_the_page_answers_in_words(
    open_app: Callable[..., AppTest], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(folder))
    app = open_app(VIEWER.path)
    assert [title.value for title in app.title] == ["Where do properties sell for more than £442,413?"]
    said = texts(app)
    assert "Flats above the stamp duty line, London 2018" in said
    assert (
        "This map answers: 3 of 122 hexagons (2 %) are likely above the threshold, 25 it cannot tell, 94"
        in said
    )
    assert [header.value.replace("\\", "") for header in app.header][:2] == [
        "93 % of the region right",
        "A 50:50 guess about one sale becomes at most 92:8",
    ]
    assert "**What it is not.**" in said
    assert [tab.label for tab in app.tabs] == [
        "In words",
        *(READINGS[name].tab for name in READINGS),
        "Downloads",
        "Protection and cost",
        "Label",
        "Attribution",
    ]


def test_a_tab_that_fails_is_one_sentence_and_the_others_stand(
    open_app: Callable[..., AppTest], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(folder))

    def nothing(*_: Any) -> Any:
        raise RuntimeError("no such file")

    broken = Reading("broken", "two", "Two.", "two.html", nothing, nothing, nothing, "Two together", nothing)
    monkeypatch.setitem(READINGS, "broken", broken)
    app = open_app(VIEWER.path)
    (said,) = [error.value for error in app.error]
    assert said.startswith(
        "'broken' of the package unknown (hexcursion.readings) cannot be used, since it fails"
    )
    assert [tab.label for tab in app.tabs][-4:] == [
        "Downloads",
        "Protection and cost",
        "Label",
        "Attribution",
    ]
    monkeypatch.setattr("hexcursion.bundle.published.readings.READINGS.use", nothing_loads)
    app = open_app(VIEWER.path)
    assert "Two together" not in [tab.label for tab in app.tabs]
    assert {error.value for error in app.error} == {"It does not load."}


def nothing_loads(*_: Any) -> Any:
    """As the registry refuses what a damaged package offers."""
    raise PluginError("It does not load.")


def test_without_a_bundle_it_says_what_to_do(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    app = open_app(VIEWER.path)
    assert [title.value for title in app.title] == ["Viewer"]
    assert "Open a bundle file: whoever published" in texts(app)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "statement.json").write_text("{}")
    app = open_app(VIEWER.path)
    assert "not a complete bundle" in texts(app)


def test_an_address_without_a_release_opens_no_other(
    open_app: Callable[..., AppTest], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(folder))
    app = open_app()
    app.query_params["release"] = "0" * 16
    app.switch_page(VIEWER.path).run()
    assert not app.exception
    assert [error.value for error in app.error] == [
        "There is no release of this address on this machine: open its bundle file or choose one of the "
        "published maps."
    ]
    assert [title.value for title in app.title] == ["Viewer"]
    app.selectbox(key="shelved").set_value(stored_bundles()[0]).run()
    assert not app.error
    assert [title.value for title in app.title] == ["Where do properties sell for more than £442,413?"]
    assert app.query_params["release"] == "london"


def test_each_release_begins_as_it_was_published(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    for name, threshold in (("a", 442_413.0), ("b", 450_000.0)):
        write_bundle(
            make_release(small_domain(), release_id=f"hx-{name}", threshold=threshold), tmp_path / name
        )
    app = open_app()
    app.query_params["release"] = "a"
    app.switch_page(VIEWER.path).run()
    app.slider[0].set_value(4).run()
    app.select_slider[0].set_value(threshold_stops(open_bundle(tmp_path / "a"))[0]).run()
    app.selectbox(key="shelved").set_value(next(o for o in stored_bundles() if o.name == "b")).run()
    assert not app.exception
    assert (app.select_slider[0].value, app.slider[0].value) == (450_000.0, 1)


def test_releases_of_one_title_and_minute_can_be_told_apart(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    for name in ("a", "b"):
        write_bundle(make_release(small_domain(), release_id=f"hx-{name}"), tmp_path / name)
    app = open_app(VIEWER.path)
    assert sorted(app.selectbox(key="shelved").options) == [
        f"Flats above the stamp duty line, London 2018 (2026-11-21 09:30 UTC), {name}" for name in "ab"
    ]


def test_every_file_that_is_offered_can_be_made(folder: Path) -> None:
    bundle = read_bundle(folder / "london")
    made = {offer.file: offer.make() for offer in offers(bundle)}
    assert made.keys() == {
        *("map.png", "map.pdf", "map.html", "cells.geojson", "regions.geojson", "cells.csv"),
        *("release.gpkg", "cells.parquet", "statement.json"),
    }
    for name in made.keys() - {"map.pdf"}:  # which no bundle holds
        assert made[name] == (folder / "london" / name).read_bytes(), name
    assert made["map.pdf"].startswith(b"%PDF-")
    assert b"CreationDate" not in made["map.pdf"]
    assert {media_of(name) for name in made} & {"application/octet-stream"} == set()
    assert slug(bundle) == "price-above-442413-hx-20261121-7f3a"


def test_the_viewer_says_who_signed_by_the_operators_list(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Ed25519PrivateKey.from_private_bytes(b"7" * 32)
    written = write_bundle(make_release(small_domain(), title="Signed by Office of Maps"), tmp_path / "maps")
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    said = texts(open_app(VIEWER.path))
    assert "Not signed: nothing shows who published this bundle." in said
    sign_bundle(written.directory, key)
    assert "Signed with a key that this viewer does not know" in texts(open_app(VIEWER.path))
    signers = tmp_path / "signers.toml"
    signers.write_text(f'"Office of Maps" = "{public_line(key)}"')
    monkeypatch.setenv("HEXCURSION_SIGNERS", str(signers))
    assert "Signed by Office of Maps (fingerprint " in texts(open_app(VIEWER.path))
    signers.write_text("broken")
    assert "list of known signers cannot be read" in texts(open_app(VIEWER.path))


SQUARE = [[-0.16, 51.48], [-0.10, 51.48], [-0.10, 51.53], [-0.16, 51.53], [-0.16, 51.48]]
AREA = {
    "type": "Feature",
    "properties": {"name": "West <b>"},
    "geometry": {"type": "Polygon", "coordinates": [SQUARE]},
}


def with_areas(app: AppTest, content: bytes) -> AppTest:
    """Hand a file to the panel and wait until its shares are computed, or refused."""
    app.file_uploader(key="viewer_areas").set_value(("areas.geojson", content, "application/geo+json")).run()
    return computed(app)


def computed(app: AppTest, name: SideJobName = "areas") -> AppTest:
    job = app.session_state["planning"].jobs[name].job
    assert job is None or job.wait(HANG)
    return app.run()


def test_shares_of_areas_are_computed_apart_and_once_for_each_threshold(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, float]] = []

    def counted(
        report: Callable[[float, str], None], work: Any, *arguments: Any, niceness: int, cpu_seconds: int
    ) -> Any:
        assert cpu_seconds == 20
        asked.append((type(arguments[1]).__name__, arguments[2]))
        return work(report, *arguments)

    write_bundle(make_release(small_domain(), paths=12), tmp_path / "london")
    monkeypatch.setattr(subprocess_job, "in_subprocess", counted)
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    app = with_areas(open_app(VIEWER.path), json.dumps(AREA).encode())
    assert not app.error
    table = next(frame.value for frame in app.dataframe if "area" in frame.value)
    assert table["area"].tolist() == ["West <b>"]
    assert 0.0 <= table["share"].item() <= 1.0
    app.run()
    assert [what for what, _ in asked] == ["bytes"]
    app.select_slider[0].set_value(threshold_stops(open_bundle(tmp_path / "london"))[0]).run()
    computed(app)
    assert [what for what, _ in asked] == ["bytes", "Areas"]
    assert asked[0][1] != asked[1][1]
    with_areas(app, b"no json")
    assert [what for what, _ in asked] == ["bytes", "Areas", "bytes"]
    assert [error.value for error in app.error if "areas cannot be read" in error.value] != []


def test_a_computation_of_shares_is_cancelled_and_begun_again(
    open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = threading.Event()

    def waiting(
        report: Callable[[float, str], None], work: Any, *arguments: Any, niceness: int, cpu_seconds: int
    ) -> Any:
        assert cpu_seconds == 20
        while not stuck.wait(0.01):
            report(0.5, "Laying the areas over the hexagons")
        return work(report, *arguments)

    write_bundle(make_release(small_domain(), paths=12), tmp_path / "london")
    monkeypatch.setattr(subprocess_job, "in_subprocess", waiting)
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    app = open_app(VIEWER.path)
    file = ("areas.geojson", json.dumps(AREA).encode(), "application/geo+json")
    app.file_uploader(key="viewer_areas").set_value(file).run()
    job = app.session_state["planning"].jobs["areas"].job
    press(app, "Cancel")
    assert job.wait(HANG)
    app.run()
    assert "Cancelled." in [error.value for error in app.error]
    stuck.set()
    press(app, "Compute the shares")
    computed(app)
    assert not app.error
    assert any("area" in frame.value for frame in app.dataframe)
