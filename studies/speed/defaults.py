"""The main job with nothing chosen: `python -m studies.speed.defaults [FOLDER] [--peer FOLDER]`.

FOLDER holds the real London files, ../shared/data beside the checkout unless named; where they are absent the
generated example stands in. A run is a command line of its own: load, search, release and bundle; it is run
TIMES times, and the middle time counts. The expected agreement is with a run's own map without privacy, which
another prior draws differently; the agreement with cells that no fit has seen can be compared between runs.

With `--peer` or `PEER` (a checkout of the author's published code, see README.md) its search for London's
hyperparameters is timed beside ours: cell records, equal cells, epsilon and delta. CPU seconds of one thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import importlib.util
import io
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.tuning import tune
from hexcursion.settings import ReleaseSettings, settings_to_toml
from studies.london.task import generated_settings, occupied_only, real_settings
from studies.material.real_files import real_files_parser

RUNS: dict[str, tuple[str, ...]] = {"default": (), "with the dense prior": ("--priors", "car", "exponential")}
SCORED = re.compile(r"([\d,]+) designs scored")
AGREEMENT = re.compile(r"^ *IoU with their map without privacy +\S+ +(\S+)$", re.M)
HELD_OUT = re.compile(r"^ *held-out IoU +\S+ +(\S+)$", re.M)
ROOT = Path(__file__).resolve().parents[2]
PEER = "fit_hexbin_gp_excursion_london_private"
PEER_GRIDS = (
    (0.05, 0.10, 0.14, 0.18, 0.24, 0.35, 0.45),
    (2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0),
    (0.01, 0.05, 0.08, 0.12, 0.18, 0.27, 0.40),
)  # lengthscales of the unit square, ridges and scales: the published defaults
PEER_EPSILON, SEED = 10.0, 0
TIMES = 5


def child_seconds() -> float:
    """CPU seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one_run(settings: ReleaseSettings, more: tuple[str, ...]) -> tuple[float, str]:
    """CPU seconds of one run in a home of its own, as on a machine's first day, and what it printed."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "settings.toml").write_text(settings_to_toml(settings), encoding="utf-8")
        words = [sys.executable, "-m", "hexcursion", "release", "--config", str(place / "settings.toml")]
        words.append("--trust-settings")  # they name the shared files
        environment = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "HEXCURSION_HOME": str(place / "home"),
            "HEXCURSION_WITNESS": str(place / "witness"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        about = [
            sys.executable,
            "-m",
            "hexcursion",
            "--help",
        ]  # compiled once, as for a second start
        subprocess.run(about, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
        before = child_seconds()
        done = subprocess.run(
            [*words, "--out", str(place / "out"), *more],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return child_seconds() - before, done.stdout


def command_line(settings: ReleaseSettings, more: tuple[str, ...]) -> str:
    """What a run took and reached, in words."""
    seconds, texts = zip(*(one_run(settings, more) for _ in range(TIMES)), strict=True)
    scored, agreement, held_out = (each.search(texts[-1]) for each in (SCORED, AGREEMENT, HELD_OUT))
    if scored is None or agreement is None or held_out is None:
        raise RuntimeError(f"The command line said nothing of its search:\n{texts[-1]}")
    return (
        f"{statistics.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f}), {scored[1]} designs "
        f"scored, expected agreement (IoU) {agreement[1]}, with held-out cells {held_out[1]}"
    )


def peer_seconds(folder: Path, project: Project) -> float:
    """CPU seconds of the published private search on the medians of the project's reference cells."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location(PEER, folder / f"{PEER}.py")
    assert spec is not None  # `arguments` has seen the file
    assert spec.loader is not None
    peer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    records = bin_records(project.reference, project.response, "cell")
    places, _ = peer.normalise_xy(project.lattice.domain_centres[records.index])
    response = np.clip(records.mean - project.level, -1.0, 1.0)
    train, held = peer.validation_split(response.size, 0.5, SEED)
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        peer.private_coarse_to_refined_grid_search(
            places, response, (response > 0).astype(int), train, held, n_for_epsilon=response.size, M_Y=1.0,
            L=1, delta=response.size**-1.1, epsilon0=PEER_EPSILON, alpha_grid_size=81, chunk_size=5000,
            coarse_ell_grid=PEER_GRIDS[0], coarse_r_grid=PEER_GRIDS[1], coarse_sigma_grid=PEER_GRIDS[2],
            verbose=False,
        )  # fmt: skip
    return time.process_time() - start


def beside_peer(folder: Path, settings: ReleaseSettings, resolution: int) -> str:
    """Both searches on the occupied cells of one resolution, in words."""
    plain = settings.with_changes(resolution=resolution, unit="cell", prior_mean=False, epsilon=PEER_EPSILON)
    project = occupied_only(load_project(plain))
    cells = np.unique(project.reference.index).size
    project = occupied_only(load_project(plain.with_changes(delta=float(cells**-1.1))))
    theirs = peer_seconds(folder, project)
    start = time.process_time()
    designs = tune(project).result.evaluated
    ours = time.process_time() - start
    return (
        f"resolution {resolution}, {cells:,} occupied of {project.domain.size:,} hexagons: "
        f"published {theirs:.1f} s, ours {ours:.1f} s ({designs:,} designs at 7 budgets)"
    )


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for; an empty PEER names no folder."""
    parser = real_files_parser(__doc__)
    parser.add_argument(
        "--peer",
        type=Path,
        metavar="FOLDER",
        default=os.environ.get("PEER") or None,
        help="checkout of the published code",
    )
    asked = parser.parse_args(given)
    if asked.peer is not None and not (asked.peer / f"{PEER}.py").is_file():
        parser.error(f"{asked.peer} does not hold {PEER}.py: name a checkout of the published code.")
    return asked


def main() -> None:
    asked = arguments()
    try:
        settings = real_settings(asked.folder)
        print("Real London sales, 2018 with 2017 as public reference")
    except WorkflowError:
        settings = generated_settings()
        print("The generated example: the real London files are not there")
    settings = settings.with_changes(accept_low_agreement=True)  # the free map may well agree better
    for name, more in RUNS.items():
        print(f"{name}: {command_line(settings, more)}")
    if asked.peer is not None:
        for resolution in (8, 9):
            print(beside_peer(asked.peer, settings, resolution))
        print(f"Seed {SEED} splits the published search's cells.")
    print(f"CPU seconds: the middle of {TIMES} runs of a command line, one run of a search alone.")
    print("No random numbers of its own: searches fix their seeds.")


if __name__ == "__main__":
    main()
