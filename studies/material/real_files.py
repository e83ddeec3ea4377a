"""The real files, which are not shipped: where studies look for them."""

from __future__ import annotations

import argparse
from pathlib import Path

from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from studies.london.task import generated_settings, load_task, real_settings

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def real_files_parser(about: str | None, releases: int | None = None) -> argparse.ArgumentParser:
    """A parser that asks for the folder of the real files, which are not shipped, and for a number of
    simulated `releases` where a usual one is given."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=BESIDE, help="folder of the real files")
    if releases is not None:
        words = f"simulated releases of each row (default {releases})"
        parser.add_argument("--releases", type=int, default=releases, help=words)
    return parser


def is_here(file: Path) -> bool:
    """Whether a real file is there; say in one sentence where it is not."""
    if not file.is_file():
        print(f"{file} is not there: it is not shipped; name the folder that holds it.")
    return file.is_file()


def both_sales(folder: Path) -> list[tuple[str, Project]]:
    """The real sales, or one sentence where their files are absent, and the generated ones."""
    generated = ("generated", load_task(generated_settings(), "region"))
    try:
        return [("real", load_task(real_settings(folder), "region")), generated]
    except WorkflowError as error:
        print(error)
        return [generated]
