"""A design that several holders of records share: every holder releases the same sums, which add."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.spectral.sums import features_digest
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.scenes import ask_of, cut, public_facts
from hexcursion.settings import ReleaseSettings

SCHEMA = "hexcursion-shared-design-1"
MOST_BYTES = 100_000
MOST_HOLDERS = 1_000
_EDITED = (
    "{name!r} is no design file, or it was edited: take the one that the first holder wrote with "
    "`hexcursion design`."
)
TOLERANCE = 1e-12  # of a threshold, relative: files hold every digit


@dataclass(frozen=True)
class SharedDesign:
    """What all holders fix before one of them releases: public, and free of every record."""

    holders: int  # how many holders are expected to release
    records: int  # about how many records all holders have together, by public knowledge
    resolution: int  # of the hexagons
    hexagons: str  # SHA-256 of their names, in order
    question: Mapping[str, Any]  # what every holder asks, as `_question` lists it
    response: ResponseScale
    design: SpectralStatisticsDesign  # with mu 1: every holder sets its own
    features: str  # SHA-256 of the features that are summed

    @property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of the file's SHA-256: holders compare them."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:16]

    def to_bytes(self) -> bytes:
        """The design file."""
        values = {
            "schema": SCHEMA,
            **{name: value for name, value in asdict(self).items() if name != "design"},
            "design": self.design.to_mapping(),
        }
        return (json.dumps(values, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def share_design(project: Project, holders: int, records: int) -> SharedDesign:
    """Make the design that holders of the project's area and question share.

    The sums are chosen for the records of all holders and for their added noise where every holder
    releases at the project's epsilon. Nothing depends on a private record.

    Parameters
    ----------
    holders : int
        How many holders are expected, at least 2. A bound on nothing: fewer or more may release.
    records : int
        About how many records all holders have together, by public knowledge.

    Raises
    ------
    WorkflowError
        For fewer than two holders or records, and for data that are not released by the fixed
        design of spectral statistics.
    """
    if not 2 <= holders <= MOST_HOLDERS:
        raise WorkflowError(f"A shared design is for 2 to {MOST_HOLDERS:,} holders, not {holders:,}.")
    if records < holders:
        raise WorkflowError("Say about how many records all holders have together: one each at least.")
    refuse_tuned(project.settings)
    budget = Budget(project.settings.epsilon, project.delta, project.settings.bound)
    mechanism = MECHANISMS[SpectralStatisticsDesign.mechanism]
    facts = public_facts(project)
    try:
        shape = mechanism.search.fixed(project.lattice.spacing)
        assert isinstance(shape, SpectralStatisticsDesign)
        pooled = replace(shape, pool_records=float(records), pool_mu=budget.mu / math.sqrt(holders))
        calibrated = mechanism.calibrate(pooled, facts, budget)
        assert isinstance(calibrated, SpectralStatisticsDesign)
        design = replace(calibrated, mu=1.0)
        features = features_digest(prepared_plan(design, facts).features)
    except CoreError as error:
        raise WorkflowError(str(error)) from error
    return SharedDesign(
        holders,
        records,
        project.domain.resolution,
        _hexagons(project),
        _question(project),
        project.response,
        design,
        features,
    )


def refuse_tuned(settings: ReleaseSettings) -> None:
    """Raise `WorkflowError` for settings that would tune the design of one holder alone."""
    for name in ("reference", "pilot", "lengthscale", "limits"):
        if getattr(settings, name) is not None:
            raise WorkflowError(
                f"A shared design is the same for every holder: leave `{name}` out of the settings."
            )
    if settings.looks > 1 or settings.change:
        raise WorkflowError("A shared design takes one look and no change: set `looks` to 1.")
    if SpectralStatisticsDesign.mechanism not in settings.mechanisms:
        raise WorkflowError(
            "Several holders share sums of spectral statistics: name it in `mechanisms`, or leave "
            "`mechanisms` out."
        )


def read_shared_design(path: str | Path) -> SharedDesign:
    """Read a design file.

    Raises
    ------
    WorkflowError
        One sentence, for a file that cannot be read or holds no such design.
    """
    name = Path(path).name
    try:
        with open(path, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise WorkflowError(
            f"The design file {name!r} cannot be read: name the one that the first holder wrote."
        ) from error
    try:
        values = json.loads(content[:MOST_BYTES])
        schema = values.pop("schema")
        response = ResponseScale(**values.pop("response"))
        design = SpectralStatisticsDesign.from_mapping(values.pop("design"))
        shared = SharedDesign(**values, response=response, design=design)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise WorkflowError(_EDITED.format(name=name)) from error
    if schema != SCHEMA or shared.to_bytes() != content:
        raise WorkflowError(_EDITED.format(name=name))
    return shared


def with_shared_scale(settings: ReleaseSettings, shared: SharedDesign) -> ReleaseSettings:
    """Return the settings with the centre, clip and transform of a shared design.

    Raises
    ------
    WorkflowError
        Where the settings give another centre, clip or transform.
    """
    scale = shared.response
    if settings.values == "amount":
        for name in ("transform", "centre", "clip"):
            given = getattr(settings, name)
            if given is not None and given != getattr(scale, name):
                raise WorkflowError(
                    f"The shared design has {name} {getattr(scale, name)}, these settings {given}: "
                    f"leave `{name}` out."
                )
        settings = settings.with_changes(transform=scale.transform, centre=scale.centre, clip=scale.clip)
    refuse_tuned(settings)
    return settings


def shared_choice(project: Project, shared: SharedDesign) -> Choice:
    """Choose the shared design for one holder, at this holder's epsilon.

    Raises
    ------
    WorkflowError
        Where the project's hexagons or question differ, and where this machine makes other features.
    """
    settings = project.settings
    if (project.domain.resolution, _hexagons(project)) != (shared.resolution, shared.hexagons):
        raise WorkflowError(
            f"The shared design has other hexagons (resolution {shared.resolution}): use the area and "
            "the resolution of the holder who wrote it."
        )
    for name, value in _question(project).items():
        wanted = shared.question.get(name)
        same = wanted == value
        if isinstance(value, float) and isinstance(wanted, int | float):
            same = math.isclose(wanted, value, rel_tol=TOLERANCE)
        if not same:
            raise WorkflowError(
                f"The shared design asks with {name} {wanted!r}, these settings with {value!r}: every "
                "holder asks the same question."
            )
    facts, ask = public_facts(project), ask_of(project)
    budget = Budget(settings.epsilon, project.delta, settings.bound)
    try:
        design = MECHANISMS[shared.design.mechanism].calibrate(shared.design, facts, budget)
        assert isinstance(design, SpectralStatisticsDesign)
        features = features_digest(prepared_plan(design, facts).features)
    except CoreError as error:
        raise WorkflowError(str(error)) from error
    if features != shared.features:
        raise WorkflowError(
            "This machine computes other features than the holder who wrote the shared design: use "
            "the same version of this program on the same kind of processor."
        )
    design = cut(ask, (questions.sharpened(design, facts, budget),))[0]
    detail = f"the design {shared.digest} that about {shared.holders:,} holders share"
    return Choice(design, shared.response, tuning_of(project, "given", detail))


def _hexagons(project: Project) -> str:
    return hashlib.sha256("\n".join(project.domain.cells).encode()).hexdigest()


def _question(project: Project) -> dict[str, Any]:
    """What all holders must ask alike, by the names of the settings."""
    settings = project.settings
    return {
        "value_name": project.value_name,
        "value_unit": project.unit,
        "values": settings.values,
        "threshold": float(settings.threshold),
        "direction": settings.direction,
        "unit": settings.unit,
        "relation": settings.relation,
        "places_public": settings.places_public,
    }
