"""A released path asked at further places: one draw, charged once, whose answers are kept for good."""

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
from dpgp_core.noise.entropy import SystemEntropy
from dpgp_core.priors.kernels import DensePrior
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing.lazy import LazyPath
from geo.coordinates.projection import project
from hexcursion.door.pipeline import Planned
from hexcursion.door.released import Released
from hexcursion.errors import WorkflowError
from hexcursion.ledger import begin
from hexcursion.ledger.storage.places import home, witness_folder

Floats = NDArray[np.float64]
FOLDER = "paths"
DIGITS = 3  # of metres: places within a millimetre are one place, and one question
NO_KERNEL = (
    "Only a path of posterior sampling with a kernel prior has values between the hexagons: release with "
    "mechanisms=('posterior-sampling',) and priors=('exponential',) or ('matern32',)."
)
NOT_OURS = "The ledger knows no release {name!r} of these very records: its path cannot be followed."
OTHER = "This plan has another {what} than the release: plan it with the settings of the release."
DAMAGED = (
    "The answers in {file} cannot be read: restore that file, since without it a second path would be drawn."
)

LOST = (
    "An answer could not be written down, so it is not given: make room on the disk and open the path again."
)


class AskedPath:
    """One released path, asked where and when somebody wants to know it; asking costs nothing more.

    Parameters
    ----------
    planned : Planned
        The plan of the release, or one of the same records and settings: it holds the private records.
    released : Released
        The release that was published and charged.
    number : int
        Which of its paths, from 1.

    Raises
    ------
    WorkflowError
        One sentence, where the release has no path between hexagons, or is not of these records and settings.

    Notes
    -----
    The first answers are the path at the hexagons, which is published. Each further answer is drawn given all
    before it, and written to `paths` in this installation's home before anybody sees it. Without that file
    another path would be drawn, which would have to be paid for: back it up with the ledger. The number of
    answers is kept beside the ledger's witness, so a file that was lost or put back is refused.
    """

    def __init__(self, planned: Planned, released: Released, number: int = 1) -> None:
        bundle, plan = released.bundle, planned.plan
        design, prior = _path_design(planned)
        name = bundle.statement["release"]["id"]
        charge = begin(planned.ledger).charge_of(name)
        if charge is None or charge.dataset != plan.charge.dataset:
            raise WorkflowError(NOT_OURS.format(name=name))
        for what, ours, published in (
            ("design", design.to_mapping(), bundle.statement["design"]),
            ("area", plan.project.domain.cells, bundle.domain.cells),
            ("scale of responses", plan.choice.response, bundle.response),
        ):
            if ours != published:
                raise WorkflowError(OTHER.format(what=what))
        if bundle.statement["prior_mean_used"]:
            raise WorkflowError("A path around a public map has no values between the hexagons.")
        if not 1 <= number <= len(bundle.paths):
            raise WorkflowError(f"The release has {len(bundle.paths)} paths: ask for one of them.")
        self._response, self._crs = bundle.response, bundle.domain.crs
        self._file = home() / FOLDER / f"{name}-{number}.jsonl"
        self._witness = witness_folder() / FOLDER / f"{name}-{number}.count"
        self._path = LazyPath(prior, plan.binned.records, design.ridge, design.scale, design.noise_scale)
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


def _path_design(planned: Planned) -> tuple[PosteriorSamplingDesign, DensePrior]:
    design, project_ = planned.plan.choice.design, planned.plan.project
    if not isinstance(design, PosteriorSamplingDesign):
        raise WorkflowError(NO_KERNEL)
    prior = make_prior(design.prior, project_.lattice, design.lengthscale)
    if not isinstance(prior, DensePrior):
        raise WorkflowError(NO_KERNEL)
    return design, prior
