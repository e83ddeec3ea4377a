"""Settings files and the reference page say what each setting means, and files of before are still read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tomlkit

from hexcursion.errors import WorkflowError
from hexcursion.settings import (
    ReleaseSettings,
    SourceSettings,
    StatedFacts,
    read_toml,
    settings_from_toml,
    settings_to_toml,
)
from hexcursion.settings.catalogue import reference_page

SALES_FILE = """\
# Hexcursion settings. Public choices only: no data, no seed, no result.
threshold = 442413
reference_public = true
region = "r.geojson"
resolution = 8
unit = "point"
epsilon = 1.0
delta = 1e-05
paths = 1
direction = "above"
value_name = ""
value_unit = ""
title = ""
priors = ["car", "exponential"]
mechanisms = ["posterior-sampling"]
prior_mean = true
objective = "iou"
looked = false
budget = 3.0
quick = false
notes = ["a", "b"]

[data]
path = "pp-2018.csv"
postcodes = "codes.csv"
segment = "existing-leasehold-flats"
years = [2018]
crs = "EPSG:4326"

[reference]
path = "pp-2017.csv"
postcodes = "codes.csv"
segment = "existing-leasehold-flats"
years = [2016, 2017]
crs = "EPSG:4326"
"""
SENSOR_FILE = """\
threshold = 40
reference_public = false
bbox = [-0.5, 51, 1, 52]
unit = "cell"
direction = "below"
centre = 30
clip = 12.5
mechanisms = ["posterior-sampling"]
pilot = 0.3

[data]
path = "s.csv"
segment = "all"
value = "no2"
x = "lon"
y = "lat"

[data.where]
species = "NO2"
year = 2023
"""


def test_a_file_of_sales_written_before_is_read() -> None:
    source = SourceSettings("pp-2018.csv", "codes.csv", "existing-leasehold-flats", (2018,))
    earlier = SourceSettings("pp-2017.csv", "codes.csv", "existing-leasehold-flats", (2016, 2017))
    assert settings_from_toml(SALES_FILE) == ReleaseSettings(
        data=source, reference=earlier, reference_public=True, region="r.geojson", threshold=442413.0,
        prior_mean=True, budget=3.0, notes=("a", "b"), mechanisms=("posterior-sampling",),
        priors=("car", "exponential"), delta=1e-5,
    )  # fmt: skip


def test_a_file_of_sensors_written_before_is_read() -> None:
    rows = (("species", "NO2"), ("year", "2023"))
    assert settings_from_toml(SENSOR_FILE) == ReleaseSettings(
        data=SourceSettings("s.csv", value="no2", x="lon", y="lat", where=rows),
        bbox=(-0.5, 51.0, 1.0, 52.0),
        threshold=40.0,
        unit="cell",
        direction="below",
        centre=30.0,
        clip=12.5,
        pilot=0.3,
        mechanisms=("posterior-sampling",),
    )


FULL = ReleaseSettings(
    data=SourceSettings("s.csv", value="no2", x="lon", y="lat", where=(("a b", "c\nd"),)),
    reference=SourceSettings("t.csv", value="no2", x="lon", y="lat"),
    reference_public=True,
    bbox=(0.0, 51.0, 1.0, 52.0),
    threshold=20.0,
    focus="threshold",
    places_public=True,
    public_counts=False,
    executor="dask",
    dask="tls://192.0.2.1:8786",
    owner="station",
    records_per_owner=3,
    cutoff=0.4,
    accept_low_agreement=True,
    accept_large_delta=True,
    owner_once_per_hexagon=True,
    accept_weaker_promise=True,
    stated=StatedFacts(trust_model="One curator.", contact="data@example.org"),
)


def test_every_setting_survives_the_way_through_a_file() -> None:
    assert settings_from_toml(settings_to_toml(FULL)) == FULL.with_changes(ledger=None, dask=None)
    sales = settings_from_toml(SALES_FILE).with_changes(centre=12.8, clip=0.8)
    assert settings_from_toml(settings_to_toml(sales)) == sales


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('ledger = "postgresql://ada@192.0.2.1/x"', "ledger"),
        ('executor = "dask"\ndask = "tls://192.0.2.1:8786"', "dask"),
        ("ledger = 3", "ledger"),
    ],
)
def test_a_settings_file_opens_no_connection(line: str, name: str) -> None:
    """An address in it would be asked, with this user's own passwords, when a colleague's file is read."""
    with pytest.raises(
        WorkflowError, match=rf"^These settings name `{name}`, which no .* it by HEXCURSION_{name.upper()}\.$"
    ):
        settings_from_toml(f"{line}\n{SALES_FILE}")


def test_a_written_file_says_what_each_choice_means() -> None:
    lines = settings_to_toml(FULL).splitlines()
    assert lines[0] == "# Hexcursion settings. Public choices only: no data, no seed, no result."
    assert lines[lines.index("epsilon = 1.0") - 1] == "# Privacy budget of this release."
    at = lines.index("threshold = 20.0")
    assert lines[at - 1] == "# Threshold of the excursion set, for example 442413. In the data's own unit."
    at = lines.index("[stated]")
    assert lines[at - 1] == ""
    assert lines[at + 1] == "# What the curator states for the privacy statement."
    assert lines[at + 2] == "# Who is trusted with the records before they are released."
    assert lines[at + 3] == 'trust_model = "One curator."'
    assert tomlkit.parse("\n".join(lines)).unwrap()["data"]["where"] == {"a b": "c\nd"}


def test_a_file_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match=r"^The settings file 'none' cannot be read: name a TOML file\.$"):
        read_toml(tmp_path / "none")
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * 1_000_001)
    with pytest.raises(WorkflowError, match=r"^The settings file 'big.toml' is too large to be one"):
        read_toml(big)
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkflowError, match=r"'b.toml' is not text in UTF-8"):
        read_toml(binary)


def test_the_reference_page_names_option_limits_default_and_meaning() -> None:
    lines = reference_page().splitlines()
    assert ("| `paths` | whole number from 1 to 1000 | 1 | Number of released paths. |") in lines
    assert (
        "| `stated.contact` | text of 1 to 1,000 characters | not stated by the curator "
        "| Whom a reader may ask about the release. |"
    ) in lines
    assert "| `quick` | switch | false | Search on a coarser grid, which is faster. |" in lines
    assert "| `data.time` | text | none | Column with the date or time of a row. |" in lines
    options = {line.split("`")[1]: line.split("`")[3] for line in lines if " (`--" in line}
    assert options == {
        "data.path": "--data",
        "data.x": "--lon",
        "data.y": "--lat",
        "reference.path": "--reference",
        "covariates": "--covariate",
        "covariate_columns": "--covariate-column",
        "features": "--feature",
        "label_columns": "--label-column",
        "layer_colours": "--layer-colour",
        "layer_widths": "--layer-width",
    }
    assert (
        "Each option of the private file also with this prefix, as --reference-value, for reference data "
        "that differ: by default as there, except years, where, layer, place_sd, trip."
    ) in lines


def test_the_page_that_the_command_writes_is_the_kept_one(root: Path, tmp_path: Path) -> None:
    """In a process of its own: here fields may know what packages add already."""
    page, kept = tmp_path / "page.md", root / "docs" / "settings.md"
    subprocess.run([sys.executable, "-m", "hexcursion.settings", str(page)], cwd=root, check=True)
    assert kept.read_bytes() == page.read_bytes(), "make it anew: python -m hexcursion.settings"


def test_a_settings_file_in_another_encoding_is_told_to_be_saved_anew(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes('title = "Café"\n'.encode("latin-1"))
    with pytest.raises(
        WorkflowError, match=r"^The settings file 'plan\.toml' is not text in UTF-8: save it as"
    ):
        read_toml(path)
