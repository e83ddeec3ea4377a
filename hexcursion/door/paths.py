"""A released path asked at further places: post-processing of its bundle, whose answers are kept for good."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.paths.design import PosteriorSamplingDesign
from dpgp_core.noise import SystemEntropy
from dpgp_core.priors.registry import DensePrior, make_prior
from dpgp_core.releasing.lazy import LazyPath
from geo.crs import project
from hexcursion.bundle.statement.designs import design_from
from hexcursion.door.released import Released
from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import home, witness_folder
from hexcursion.project.load import build_lattice

Floats = NDArray[np.float64]
FOLDER = "paths"
DIGITS = 3  # of metres: places within a millimetre are one place, and one question
NO_KERNEL = (
    "Only a path of posterior sampling with a kernel prior has values between the hexagons: release with "
    "mechanisms=('posterior-sampling',) and priors=('exponential',) or ('matern32',)."
)
DAMAGED = "The answers in {file} cannot be read: restore that file, or another path would be followed."

LOST = (
    "An answer could not be written down, so it is not given: make room on the disk and open the path again."
)


class AskedPath:
    """One released path, asked where and when somebody wants to know it; asking costs nothing more.

    Parameters
    ----------
    released : Released
        The release that was published; nothing else is read, so whoever has the bundle may ask.
    number : int
        Which of its paths, from 1.

    Raises
    ------
    WorkflowError
        One sentence, where the release has no path between hexagons.

    Notes
    -----
    The first answers are the path at the hexagons, which is published. Each further answer is drawn given all
    before it, by public numbers alone, and written to `paths` in this installation's home before anybody sees
    it: what was said of the path once is said again. The number of answers is kept beside the ledger's
    witness, so a file that was lost or put back is refused. Another installation draws other answers of the
    same law; no privacy hangs on that.
    """

    def __init__(self, released: Released, number: int = 1) -> None:
        bundle = released.bundle
        design, prior = _path_design(released)
        name = bundle.statement["release"]["id"]
        if bundle.statement["prior_mean_used"]:
            raise WorkflowError("A path around a public map has no values between the hexagons.")
        if not 1 <= number <= len(bundle.paths):
            raise WorkflowError(f"The release has {len(bundle.paths)} paths: ask for one of them.")
        self._response, self._crs = bundle.response, bundle.domain.crs
        self._file = home() / FOLDER / f"{name}-{number}.jsonl"
        self._witness = witness_folder() / FOLDER / f"{name}-{number}.count"
        self._path = LazyPath(prior, float(np.hypot(design.scale, design.noise_scale)))
        self._path.learn(np.round(prior.lattice.domain_centres, DIGITS), bundle.paths[number - 1])
        self._lost = False  # what was drawn here could not be kept
        self._taken, self._written = 0, len(self._path.values)  # lines of the file, and values that it holds

    def at(self, lon: ArrayLike, lat: ArrayLike) -> Floats:
        """Return the path at places in degrees, (B,) each, in the unit of the value; places may repeat.

        Raises
        ------
        WorkflowError
            For coordinates that are none, and where earlier answers cannot be read; nothing is drawn then.
        """
        places = np.column_stack([np.ravel(lon), np.ravel(lat)]).astype(np.float64)
        if not (np.all(np.abs(places[:, 0]) <= 180.0) and np.all(np.abs(places[:, 1]) <= 90.0)):
            raise WorkflowError("Places are longitudes and latitudes in degrees.")
        if self._lost:
            raise WorkflowError(LOST)
        metres = np.round(project(places, self._crs), DIGITS)
        with self._answers() as file:
            try:
                found = self._path.ask(metres, SystemEntropy())
            except CoreError as error:
                raise WorkflowError(str(error)) from error
            try:
                self._write(file)
            except OSError as error:
                self._lost = True
                raise WorkflowError(LOST) from error
        return np.asarray(self._response.value(found))

    @contextmanager
    def _answers(self) -> Iterator[IO[str]]:
        """The file of all answers, alone, once what others have asked meanwhile is taken over."""
        for folder in (self._file.parent, self._witness.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, whatever happens
            file.seek(0)
            text = file.read()
            whole = text[: text.rfind("\n") + 1]
            lines = whole.splitlines()
            try:
                answered = int(self._witness.read_text(encoding="utf-8")) if self._witness.exists() else 0
                if len(lines) < max(self._taken, answered):
                    raise ValueError
                for line in lines[self._taken :]:
                    said: dict[str, Any] = json.loads(line)
                    self._path.learn(np.array(said["places"], dtype=np.float64), np.array(said["values"]))
                    self._taken, self._written = self._taken + 1, len(self._path.values)
            except (ValueError, KeyError, TypeError) as error:
                raise WorkflowError(DAMAGED.format(file=self._file.name)) from error
            file.truncate(len(whole.encode()))  # an answer that was cut off was given to nobody
            yield file

    def _write(self, file: IO[str]) -> None:
        """Keep what was drawn, and how many answers there are, before anybody sees it."""
        places, values = self._path.places[self._written :], self._path.values[self._written :]
        if not values.size:
            return
        file.write(json.dumps({"places": places.tolist(), "values": values.tolist()}) + "\n")
        file.flush()
        os.fsync(file.fileno())
        self._taken, self._written = self._taken + 1, len(self._path.values)
        self._witness.write_text(str(self._taken), encoding="utf-8")


def _path_design(released: Released) -> tuple[PosteriorSamplingDesign, DensePrior]:
    design = design_from(released.statement["design"])
    if not isinstance(design, PosteriorSamplingDesign):
        raise WorkflowError(NO_KERNEL)
    prior = make_prior(design.prior, build_lattice(released.bundle.domain), design.lengthscale)
    if not isinstance(prior, DensePrior):
        raise WorkflowError(NO_KERNEL)
    return design, prior
