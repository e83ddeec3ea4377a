"""PMTiles archives as basemaps: what is read of them, and one sentence for each that cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from pmtiles.tile import Compression, TileType

from geo import DomainError, domain_from_bbox
from geo.basemap import _column_row, read_basemap
from geo.domains.view import region_box
from geo.maps.linked import Pane, linked_scene
from geo.maps.painting import paint_cells
from tests.archives import archive, picture_tile, raster_archive, vector_tile

BOX = (-0.5, 51.3, 0.3, 51.7)
LONDON = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 6)
PARIS = domain_from_bbox(2.2, 48.8, 2.5, 48.9, 6)


def test_an_archive_of_vector_tiles_says_what_it_is(tmp_path: Path) -> None:
    found = read_basemap(archive(tmp_path / "london.pmtiles", vector_tile(), BOX))
    assert (found.kind, found.zooms, found.box) == ("vector", (0, 8), BOX)
    assert found.source == "© Survey & Sons"
    assert found.covers(region_box(LONDON))
    found.refuse_elsewhere(LONDON)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_an_archive_of_pictures_is_one_too(tmp_path: Path, form: str) -> None:
    assert read_basemap(raster_archive(tmp_path / "r.pmtiles", BOX, (1, 2, 3), form)).kind == "raster"


def test_a_map_of_another_place_is_refused(tmp_path: Path) -> None:
    found = read_basemap(archive(tmp_path / "london.pmtiles", vector_tile(), BOX))
    assert not found.covers(region_box(PARIS))
    with pytest.raises(
        DomainError, match=r"^london.pmtiles has no tiles of this area: choose a basemap of the"
    ):
        found.refuse_elsewhere(PARIS)


def test_a_box_that_promises_more_than_there_are_tiles_is_seen_through(tmp_path: Path) -> None:
    whole = (-1.0, 48.0, 3.0, 52.0)
    ends = dict(zip(("max_lon_e7", "min_lat_e7"), (30_000_000, 480_000_000), strict=True))
    found = read_basemap(archive(tmp_path / "a.pmtiles", vector_tile(), BOX, zooms=[8], **ends))
    assert found.covers(region_box(PARIS))
    assert found.box[2] == whole[2]
    with pytest.raises(DomainError, match="has no tiles of this area"):
        found.refuse_elsewhere(PARIS)


def test_beyond_the_date_line_an_archive_still_covers(tmp_path: Path) -> None:
    found = read_basemap(archive(tmp_path / "fiji.pmtiles", vector_tile(), (177.0, -19.0, 179.9, -16.0)))
    fiji = domain_from_bbox(179.0, -18.0, -179.0, -17.0, 5, crosses_date_line=True)
    assert found.covers(region_box(fiji))
    assert not found.covers(region_box(LONDON))


def _broken(path: Path, change: slice | int, content: bytes) -> Path:
    whole = bytearray(path.read_bytes())
    whole[change if isinstance(change, slice) else slice(change, change + len(content))] = content
    path.write_bytes(whole)
    return path


@pytest.mark.parametrize(
    ("change", "content", "said"),
    [
        (0, b"SQLite ", "b.pmtiles is no PMTiles archive: make one"),
        (0, b"\xff", "b.pmtiles is no PMTiles archive: make one"),
        (7, b"\x02", "b.pmtiles is of another version of PMTiles than 3: convert it"),
        (slice(-1, None), b"", "b.pmtiles is damaged or was cut off"),
        (slice(100, None), b"", "b.pmtiles is damaged or was cut off"),
        (slice(0, None), b"", "b.pmtiles is no PMTiles archive"),
        (100, b"\x19", "b.pmtiles is damaged or was cut off"),  # deepest zoom 8 -> least zoom 25
        (99, b"\x05", "b.pmtiles holds tiles that cannot be drawn here: choose an archive of vector"),
        (98, b"\x03", "b.pmtiles is not packed with gzip"),
        (97, b"\x04", "b.pmtiles is not packed with gzip"),
        (127, b"\0\0\0\0", "b.pmtiles is damaged or was cut off"),  # the directory
    ],
)
def test_what_cannot_be_drawn_gets_one_sentence(
    tmp_path: Path, change: slice | int, content: bytes, said: str
) -> None:
    path = _broken(archive(tmp_path / "b.pmtiles", vector_tile(), BOX), change, content)
    with pytest.raises(DomainError, match=f"^{said}") as caught:
        read_basemap(path)
    assert str(caught.value).count("\n") == 0


def test_a_damaged_tile_or_one_of_another_kind_is_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "t.pmtiles", b"\x1f\x8b" + b"x" * 90, BOX)
    with pytest.raises(DomainError, match=r"^t.pmtiles is damaged"):
        read_basemap(path)
    png = archive(
        tmp_path / "p.pmtiles",
        picture_tile((1, 2, 3)),
        BOX,
        tile_type=TileType.JPEG,
        tile_compression=Compression.NONE,
    )
    with pytest.raises(DomainError, match=r"^p.pmtiles is damaged"):
        read_basemap(png)


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        DomainError, match=r"^the basemap gone.pmtiles cannot be found: name its file again\.$"
    ):
        read_basemap(tmp_path / "gone.pmtiles")


@pytest.mark.parametrize("said", [{}, {"attribution": 3}, {"attribution": ""}])
def test_an_archive_may_name_nobody(tmp_path: Path, said: dict[str, object]) -> None:
    assert read_basemap(archive(tmp_path / "n.pmtiles", vector_tile(), BOX, metadata=said)).source == ""


def test_a_scene_names_the_address_the_source_and_the_colours_and_streets_come_first(tmp_path: Path) -> None:
    found = read_basemap(archive(tmp_path / "l.pmtiles", vector_tile(), BOX))
    how = {"mode": "single", "alt": "a", "basemap": (found, "/basemap/x.pmtiles")}
    sent = linked_scene(LONDON, [Pane("", paint_cells(LONDON.size))], **how)["scene"]
    assert sent["basemap"]["address"] == "/basemap/x.pmtiles"
    assert (sent["basemap"]["vector"], sent["basemap"]["deepest"]) == (True, 8)
    assert sent["basemap"]["source"] == "Basemap: © Survey & Sons."
    assert sent["basemap"]["colours"]["water"] == "#d6e8f2"
    assert str(tmp_path) not in str(sent)
    dark = linked_scene(LONDON, [Pane("", paint_cells(LONDON.size))], theme="dark", **how)["scene"]
    assert dark["basemap"]["colours"]["water"] == "#0a2836"
    streets = linked_scene(LONDON, [Pane("", paint_cells(LONDON.size))], streets=True, **how)["scene"]
    assert streets["basemap"] is None


@pytest.mark.parametrize(
    ("longitude", "latitude", "zoom", "tile"),
    [
        (-0.1278, 51.5074, 10, (511, 340)),  # London, as public tile servers number it
        (151.2093, -33.8688, 8, (235, 153)),  # Sydney
        (180.0, 90.0, 3, (0, 0)),
        (-180.0, -90.0, 3, (0, 7)),
        (539.9, 0.0, 1, (1, 1)),
    ],
)
def test_a_spot_lies_in_the_tile_of_web_mercator(
    longitude: float, latitude: float, zoom: int, tile: tuple[int, int]
) -> None:
    assert _column_row(longitude, latitude, zoom) == tile
