"""A design that several holders of records share: every holder releases the same sums, which add."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.errors import CoreError
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.spectral.sums import features_digest
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.record import Expected, Yardsticks
from hexcursion.search.choice import Choice, expected_of, tuning_of, yardsticks_of
from hexcursion.search.public_map import public_map
from hexcursion.search.scenes import ask_of, cut, public_facts
from hexcursion.search.score import unsearched
from hexcursion.search.task import Unconstrained, Utility
from hexcursion.search.tuning import Tuned, search_task, tune
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
    response: ResponseScale  # of values; of residuals see `residuals`
    design: SpectralStatisticsDesign  # with mu 1: every holder sets its own
    features: str  # SHA-256 of the features that are summed
    # of the published reference that the sums start from, None without one: SHA-256 of its records in the
    # area; prior, range (metres) and ridge of the map by which it is read; the scale of residuals
    reference: str | None = None
    model: tuple[str, float, float] | None = None
    residuals: ResponseScale | None = None

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
    _check_holders(project, holders, records)
    budget = Budget(project.settings.epsilon, project.delta, project.settings.bound)
    mechanism = MECHANISMS[SpectralStatisticsDesign.mechanism]
    facts, tuned = public_facts(project), None
    try:
        shape = mechanism.search.fixed(project.lattice.spacing)
        if not project.simulated:
            tuned = tune(_of_all(project, holders, records), frontier=())
            shape, facts = tuned.choice.design, tuned.choice.facts(project)
        assert isinstance(shape, SpectralStatisticsDesign)
        pooled = replace(shape, pool_records=float(records), pool_mu=budget.mu / math.sqrt(holders))
        calibrated = mechanism.calibrate(pooled, facts, budget)
        assert isinstance(calibrated, SpectralStatisticsDesign)
        design = replace(calibrated, mu=1.0)
        features = features_digest(prepared_plan(design, facts).features)
    except CoreError as error:
        raise WorkflowError(str(error)) from error
    shared = SharedDesign(
        holders,
        records,
        project.domain.resolution,
        _hexagons(project),
        _question(project),
        project.response,
        design,
        features,
    )
    return shared if tuned is None else _with_model(shared, project, tuned)


def _check_holders(project: Project, holders: int, records: int) -> None:
    if not 2 <= holders <= MOST_HOLDERS:
        raise WorkflowError(f"A shared design is for 2 to {MOST_HOLDERS:,} holders, not {holders:,}.")
    if records < holders:
        raise WorkflowError("Say about how many records all holders have together: one each at least.")
    refuse_tuned(project.settings)
    if project.reference_origin:
        raise WorkflowError("A shared design starts from public records, and from no earlier release.")


def _with_model(design: SharedDesign, project: Project, tuned: Tuned) -> SharedDesign:
    """Add the public records, and the model that was tuned on them."""
    model = tuned.result.model
    return replace(
        design,
        reference=_records_digest(project),
        model=(model.prior, model.lengthscale, model.ridge),
        residuals=tuned.choice.response,
    )


def refuse_tuned(settings: ReleaseSettings) -> None:
    """Raise `WorkflowError` for settings that would tune the design of one holder alone."""
    if settings.reference is not None and not settings.reference_public:
        raise WorkflowError(
            "Every holder of a shared design names the same published reference: set `reference_public`, "
            "or leave `reference` out."
        )
    for name in ("pilot", "lengthscale", "limits"):
        if getattr(settings, name) is not None:
            raise WorkflowError(
                f"A shared design is the same for every holder: leave `{name}` out of the settings."
            )
    if settings.focus == "threshold":
        raise WorkflowError("A shared design is read at every threshold: leave `focus` out.")
    if settings.unit == "cell":
        raise WorkflowError("Holders add sums of single records: set `unit` to point.")
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
        for name in ("response", "residuals"):
            values[name] = values[name] and ResponseScale(**values[name])
        values["model"] = values["model"] and tuple(values["model"])
        values["design"] = SpectralStatisticsDesign.from_mapping(values["design"])
        shared = SharedDesign(**values)
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
            own_value = getattr(settings, name)
            if own_value is not None and own_value != getattr(scale, name):
                raise WorkflowError(
                    f"The shared design has {name} {getattr(scale, name)}, these settings {own_value}: "
                    f"leave `{name}` out."
                )
        settings = settings.with_changes(transform=scale.transform, centre=scale.centre, clip=scale.clip)
    refuse_tuned(settings)
    return settings


def _refuse_another_question(project: Project, shared: SharedDesign) -> None:
    """Raise `WorkflowError` where hexagons, question or reference differ."""
    if (project.domain.resolution, _hexagons(project)) != (shared.resolution, shared.hexagons):
        raise WorkflowError(
            f"The shared design has other hexagons (resolution {shared.resolution}): use the area and "
            "the resolution of the holder who wrote it."
        )
    for name, value in _question(project).items():
        shared_value = shared.question.get(name)
        same = shared_value == value
        if isinstance(value, float) and isinstance(shared_value, int | float):
            same = math.isclose(shared_value, value, rel_tol=TOLERANCE)
        if not same:
            raise WorkflowError(
                f"The shared design asks with {name} {shared_value!r}, these settings with {value!r}: every "
                "holder asks the same question."
            )
    if shared.reference != (None if project.simulated else _records_digest(project)):
        raise WorkflowError(
            "The shared design starts from another published reference: name the file, with the columns and "
            "filters, of the holder who wrote it."
            if shared.reference
            else "The shared design starts from no reference: leave `reference` out."
        )


def shared_choice(project: Project, shared: SharedDesign) -> Choice:
    """Choose the shared design for one holder, at this holder's epsilon.

    Raises
    ------
    WorkflowError
        Where the project's hexagons or question differ, and where this machine makes other features.
    """
    _refuse_another_question(project, shared)
    settings = project.settings
    ask, public, scale = ask_of(project), None, shared.residuals or shared.response
    if shared.model is not None:
        started = replace(project, settings=settings.with_changes(prior_mean=True))
        public = public_map(started, _model(shared), scale)
    facts = public_facts(project)
    facts = facts if public is None else replace(facts, field=public.field)
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
    return Choice(design, scale, tuning_of(project, "given", detail), public, of_all=_judged(project, shared))


def _judged(project: Project, shared: SharedDesign) -> tuple[Expected, Yardsticks]:
    """What the map of all holders is expected to show, in worlds from public facts alone."""
    joint = _of_all(project, shared.holders, shared.records)
    model = None
    if shared.model is not None and shared.residuals is not None:
        settings = joint.settings.with_changes(clip=shared.residuals.clip, prior_mean=True)
        joint = replace(joint, settings=settings)
        model = Unconstrained(
            _model(shared), joint.response, math.inf, Utility(1.0, 0.0, area_error=0.0, right=1.0)
        )
    task = replace(search_task(joint, unconstrained=model), frontier=(), walked=())
    result = unsearched(task, shared.design, lambda share, text: None)
    expected = expected_of(joint, result.chosen)
    public = shared.model is not None
    return expected, yardsticks_of(joint, result.chosen, result.one_colour, None, public=public)


def _of_all(project: Project, holders: int, records: int) -> Project:
    """The project of one holder of all records, at the epsilon that the added noise would cost.

    Of the private records only their public number is left, and their places where these are public.
    """
    settings, observations = project.settings, project.private.placed
    mu = Budget(settings.epsilon, project.delta, settings.bound).mu / math.sqrt(holders)
    index = np.resize(observations.index if settings.places_public else np.zeros(1, dtype=np.int64), records)
    blank = PlacedObservations(index, np.zeros(records), records, 0)
    about = None if settings.records_about is None else records
    return replace(
        project,
        private=replace(project.private, placed=blank),
        settings=settings.with_changes(
            epsilon=gaussian_epsilon(mu, project.delta),
            delta=project.delta,
            records_about=about,
            mechanisms=(SpectralStatisticsDesign.mechanism,),
            shared_design=None,
        ),
    )


def _model(shared: SharedDesign) -> PosteriorSamplingDesign:
    """The map without privacy by which the reference is read; it is never released."""
    assert shared.model is not None
    prior, lengthscale, ridge = shared.model
    return PosteriorSamplingDesign(prior, lengthscale, ridge, 1.0)


def _records_digest(project: Project) -> str:
    """SHA-256 of the published records in the area, in their order: cell and value of each."""
    observations = project.reference
    digest = hashlib.sha256(np.ascontiguousarray(observations.index, dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(observations.value, dtype="<f8").tobytes())
    return digest.hexdigest()


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
