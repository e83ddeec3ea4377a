"""The example: generated data in the real formats, written once per home, with settings that fit them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from data_loaders import DEMO_SEED, DEMO_YEARS, write_demo
from workflow.ledger.places import home
from workflow.settings import ReleaseSettings, SourceSettings

SEGMENT = "existing-leasehold-flats"
THRESHOLD = 450_000.0
EXAMPLE_REGION = "generated-demo-region.geojson"


def example_folder(place: Path | None = None) -> Path:
    """Where the files of the example lie: in `place`, or in this installation's home."""
    return (place or home()).absolute() / "generated-example"


def is_example(source: SourceSettings) -> bool:
    """Whether a source is the generated example of this installation."""
    return Path(source.path).is_relative_to(example_folder())


def example_settings(place: Path | None = None) -> ReleaseSettings:
    """Settings of the generated example; its files are written into `place` if they are not there yet.

    `place` is this installation's home unless given.
    Two sessions may ask at once: the files appear under their final name only when they are complete.
    """
    folder = example_folder(place)
    place = folder.parent
    if not folder.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            made = Path(scratch) / "files"
            write_demo(made, seed=DEMO_SEED)
            try:
                os.rename(made, folder)
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
        title=f"Generated example: flats above {THRESHOLD:,.0f} pounds",
    )
