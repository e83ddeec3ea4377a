"""The examples and their settings: sales of a real county, and a generated city with a known
truth."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from data_loaders import DEMO_SEED, DEMO_YEARS, write_demo
from data_loaders.lucas_county import SALES, TOLEDO
from hexcursion.ledger.places import home
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.privacy_settings import StatedFacts

SEGMENT = "existing-leasehold-flats"
THRESHOLD = 450_000.0
EXAMPLE_REGION = "generated-demo-region.geojson"
EXAMPLE_DISTRICTS = "generated-demo-districts.geojson"


COUNTY_YEARS = (1993, 1998)
COUNTY_THRESHOLD = 80_000.0


def county_settings(public: int = COUNTY_YEARS[0]) -> ReleaseSettings:
    """Return the settings of the real example: house sales of Lucas County in 1998, with an earlier
    year as public reference.

    All of them have since been published; the sales of 1998 play private records.
    """
    private = COUNTY_YEARS[1]
    data, reference = (
        SourceSettings(str(SALES), value="price", x="lon", y="lat", where=(("year", str(year)),))
        for year in (private, public)
    )
    return ReleaseSettings(
        data=data,
        reference=reference,
        reference_public=True,
        bbox=TOLEDO,
        resolution=8,
        threshold=COUNTY_THRESHOLD,
        transform="log",
        value_name="price",
        value_unit="dollars",
        record_word="sale",
        population="houses in Lucas County",
        period=str(private),
        source="Lucas County auditor, by J. P. LeSage's Spatial Econometrics Toolbox and spData (CC0)",
        title="House sales of Lucas County, Ohio: an example",
        stated=StatedFacts(
            collection="Every record of this example was published long ago. It plays a private one, so that "
            "anybody can check what a release shows of it and what it hides."
        ),
    )


def example_folder(place: Path | None = None, *, changed: bool = False) -> Path:
    """Return the folder of the example's files, in `place` or in this installation's home."""
    return (place or home()).absolute() / ("generated-change" if changed else "generated-example")


def example_folders() -> tuple[Path, Path, Path]:
    """Return the folders of the examples: the county's in the program, generated ones in the
    home."""
    return SALES.parent, example_folder(), example_folder(changed=True)


def of_example(path: str | Path) -> bool:
    """Whether a file belongs to an example."""
    return any(Path(path).is_relative_to(folder) for folder in example_folders())


def is_example(source: SourceSettings) -> bool:
    """Whether a source is an example."""
    return of_example(source.path)


def changed_settings(place: Path | None = None) -> ReleaseSettings:
    """Return the settings of the generated city whose last year differs in kind from the public
    year.

    The release starts from the public year and weighs the drift of prices since.
    """
    settings = example_settings(place, changed=True)
    title = f"Generated example of a change: flats above {THRESHOLD:,.0f} pounds"
    districts = str(Path(settings.data.path).with_name(EXAMPLE_DISTRICTS))
    return settings.with_changes(title=title, layers=(districts,), label_columns=("name",))


def example_settings(place: Path | None = None, *, changed: bool = False) -> ReleaseSettings:
    """Return the settings of the generated example, writing its files unless they exist.

    The files are in `place`, by default in this installation's home. Two sessions may do this at
    once: the files appear under their final name only when they are complete.
    """
    folder = example_folder(place, changed=changed)
    place = folder.parent
    if not folder.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            files = Path(scratch) / "files"
            write_demo(files, seed=DEMO_SEED, changed=changed)
            try:
                os.rename(files, folder)
            except OSError:
                if not folder.is_dir():  # otherwise another session was faster
                    raise
    first, last = DEMO_YEARS
    postcodes = str(folder / "generated-demo-postcodes.csv.gz")
    return ReleaseSettings(
        data=SourceSettings(str(folder / f"generated-demo-pp-{last}.csv.gz"), postcodes, SEGMENT),
        reference=SourceSettings(str(folder / f"generated-demo-pp-{first}.csv.gz"), postcodes, SEGMENT),
        reference_public=True,
        prior_mean=True,
        region=str(folder / EXAMPLE_REGION),
        resolution=8,
        threshold=THRESHOLD,
        value_name="price",
        value_unit="GBP",
        period=str(last),
        title=f"Generated example: flats above {THRESHOLD:,.0f} pounds",
    )
