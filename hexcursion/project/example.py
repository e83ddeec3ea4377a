"""The example: generated data in the real formats, written once per home, with settings that fit them."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from data_loaders import DEMO_SEED, DEMO_YEARS, write_demo
from hexcursion.ledger.storage.places import home
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.source import SourceSettings

SEGMENT = "existing-leasehold-flats"
THRESHOLD = 450_000.0
EXAMPLE_REGION = "generated-demo-region.geojson"
EXAMPLE_DISTRICTS = "generated-demo-districts.geojson"


def example_folder(place: Path | None = None, *, changed: bool = False) -> Path:
    """Where the files of the example lie: in `place`, or in this installation's home."""
    return (place or home()).absolute() / ("generated-change" if changed else "generated-example")


def example_folders() -> tuple[Path, Path]:
    """Where the files of either example lie in this installation's home."""
    return example_folder(), example_folder(changed=True)


def of_example(path: str | Path) -> bool:
    """Whether a file is one of the generated examples' of this installation."""
    return any(Path(path).is_relative_to(folder) for folder in example_folders())


def is_example(source: SourceSettings) -> bool:
    """Whether a source is a generated example of this installation."""
    return of_example(source.path)


def changed_settings(place: Path | None = None, files: Path | None = None) -> ReleaseSettings:
    """Settings of the generated city whose last year differs from what the public year lets one expect.

    The release starts from the public year and weighs how far prices have drifted since.
    """
    made = example_settings(place, changed=True, files=files)
    title = f"Generated example of a change: flats above {THRESHOLD:,.0f} pounds"
    districts = str(Path(made.data.path).with_name(EXAMPLE_DISTRICTS))
    return made.with_changes(title=title, layers=(districts,), label_columns=("name",))


def example_settings(
    place: Path | None = None, *, changed: bool = False, files: Path | None = None
) -> ReleaseSettings:
    """Settings of the generated example; its files are written into `place` if they are not there yet.

    `place` is this installation's home unless given; `files` is a folder that holds the files made before.
    Two sessions may ask at once: the files appear under their final name only when they are complete.
    """
    folder = example_folder(place, changed=changed)
    place = folder.parent
    if not folder.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            made = Path(scratch) / "files"
            if files is None:
                write_demo(made, seed=DEMO_SEED, changed=changed)
            else:
                shutil.copytree(files, made)
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
        period=str(last),
        title=f"Generated example: flats above {THRESHOLD:,.0f} pounds",
    )
