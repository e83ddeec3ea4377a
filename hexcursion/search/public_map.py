"""The public map: what reference data alone say, as prior mean, as free map and in the place of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import excursion, iou
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import coloured
from dpgp_core.mechanisms.drift_reading import TRUSTS, TRUSTS_OF_ANSWERS, suppositions
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit, mean_about
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.counts import prior_from_reference
from dpgp_core.spectral.prior import ClippedPrior, PublicPrior
from dpgp_core.spectral.public_answers import field_of_answers
from dpgp_core.spectral.public_field import MapModel, PublicField
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import FieldModel
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations, bin_records, cell_medians, public_n, public_places
from hexcursion.project.response import ResponseScale, tidy
from hexcursion.search.scenes import private_n
from hexcursion.search.task import SearchResult
from hexcursion.words import quantity

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
HALVING_SEED = 271828  # splits reference data only
THINNING_SEED = 161803  # draws among reference data only
LEAST_YEAR = 0.1
NOTHING = 8.0  # clip bounds beyond which a map cuts nothing more, nor rounds values coarsely
MORE = 1.25  # times as many reference records as private ones are no more than these


@dataclass(frozen=True, eq=False)
class PublicMap:
    """A public prior mean."""

    mean: Floats  # (N,) in units of the response scale under which it was asked for
    origin: str  # where it comes from, in words
    # the reference's field behind it, in the same units; None for a map that does not know its uncertainty
    field: PublicField | None = None


def answered(project: Project, result: SearchResult) -> Project:
    """The project as a search answered it: with or without the public map, where it tried both."""
    if project.settings.prior_mean is not None or not project.settings.tries_public_map:
        return project
    return replace(project, settings=project.settings.with_changes(prior_mean=result.public_mean))


def public_map(
    project: Project, model: FieldModel, scale: ResponseScale, ready_field: PublicField | None = None
) -> PublicMap | None:
    """Return the public prior mean under a response scale, where the settings ask for one.

    `ready_field` is its field, made already of all reference data, this model and this scale.
    """
    if not project.settings.prior_mean:
        return None
    earlier = project.reference_origin
    field = ready_field or in_scale(project, public_field(project, public_part(project)), scale, model)
    origin = f"what {earlier} tells" if earlier else "posterior mean of the public reference data"
    return PublicMap(field.at_cells(project.lattice.domain_centres), origin, field)


def public_field(project: Project, observations: PlacedObservations) -> PublicField:
    """Say the field of reference observations in the project's response units.

    Raise `WorkflowError` if all are equal.
    """
    index, value = (
        cell_medians(observations)
        if project.settings.unit == "cell"
        else (observations.index, observations.value)
    )
    nodes = Nodes.of(project.lattice)
    columns = None if project.covariates is None else project.covariates.values
    try:
        make_field = PublicField.of if project.answers is None else field_of_answers
        return make_field(nodes, index, project.response.response(value), columns)
    except InvalidValue as error:
        raise WorkflowError(f"Reference data: {error}") from error


def scale_about(project: Project, field: PublicField) -> ResponseScale:
    """The response scale of residuals from a public field, which says the clip bound unless one is given.

    Answers of yes and no have their own.
    """
    scale = project.response
    if project.answers is not None:
        return scale
    low, high = (quantity(end, project.settings.value_unit, 4) for end in scale.value(np.array([-1.0, 1.0])))
    origin = f"{scale.origin}; values are cut to between {low} and {high} before, as for the public map"
    return replace(scale, clip=project.settings.clip or tidy(field.bound * scale.clip), origin=origin)


def answers_model(project: Project) -> tuple[float, float]:
    """Range, metres, and ridge of the map of answers without privacy, by the evidence of the reference."""
    field = public_field(project, public_part(project))
    usual = float(np.average(field.at_nodes[field.index], weights=field.count))
    law = ClippedPrior.of(PublicPrior(usual, field.deviation, 1.0 / field.deviation, "yes-no"))
    return field.lengthscale, law.record_noise / law.deviation


def uncut(project: Project) -> ResponseScale:
    """The project's response scale where values of the public field are cut no more; of answers its own."""
    scale = project.response
    return scale if project.answers is not None else replace(scale, clip=NOTHING * scale.clip)


def in_scale(project: Project, field: PublicField, scale: ResponseScale, model: FieldModel) -> PublicField:
    """A public field in units of `scale`, with the model of the map without privacy.

    What that map cuts of amounts is cut already before they are released.
    """
    own_scale = project.response
    map_model = MapModel(
        model.prior,
        model.lengthscale,
        model.ridge,
        (own_scale.centre - scale.centre) / scale.clip,
        uncut(project).clip / scale.clip,
        project.usual_answer,
    )
    return field.rescaled(
        (scale.centre - own_scale.centre) / own_scale.clip, scale.clip / own_scale.clip, map_model
    )


def last_year(observations: PlacedObservations) -> int | None:
    """Return the last of several calendar years of reference observations; None where they do not span two.

    Each side needs a share LEAST_YEAR of the observations: a year that has just begun says nothing.
    """
    if observations.year is None or observations.year.size == 0:
        return None
    last = int(observations.year.max())
    share = float((observations.year == last).mean())
    return last if LEAST_YEAR <= share <= 1.0 - LEAST_YEAR else None


def two_parts(observations: PlacedObservations) -> tuple[PlacedObservations, PlacedObservations]:
    """Split reference observations into public ones and stand-ins for the private ones.

    The years before the last and the last one, where they span two: what changes from year to year is then
    seen. Otherwise two random halves, which are blind to it. `WorkflowError` if there are too few to split.
    """
    last = last_year(observations)
    first = (
        SimulationEntropy(HALVING_SEED).uniform(observations.index.size) < 0.5
        if last is None or observations.year is None
        else observations.year < last
    )
    if first.all() or not first.any():
        raise WorkflowError(
            "There are too few reference observations to split: name a larger reference file."
        )
    return observations.part(first), observations.part(~first)


def public_part(project: Project) -> PlacedObservations:
    """Reference observations from which a release starts; of an earlier release those about its mean."""
    observations = project.reference
    if not project.reference_origin or observations.year is None:
        return observations
    return observations.part(observations.year == observations.year.min())


def private_parts(project: Project) -> list[PlacedObservations]:
    """Reference observations as private ones; of an earlier release those about each draw of the field."""
    observations = project.reference
    if not project.reference_origin or observations.year is None:
        return [observations]
    return [observations.part(observations.year == year) for year in np.unique(observations.year)[1:]]


def last_of_several(project: Project) -> int | None:
    """The last year of a reference that spans several, None for one time and for an earlier release."""
    return None if project.reference_origin else last_year(project.reference)


def has_reference(project: Project) -> bool:
    """Whether real reference data stand in for the private ones, and neither simulated ones nor a pilot's."""
    return project.reference_kind in ("reference data", "public reference data")


def as_many(project: Project, observations: PlacedObservations) -> PlacedObservations:
    """Take as many reference observations as there are private ones, at random, where their number is public.

    More records make every map better, with and without privacy noise: expectations would be too high.
    """
    unit, private_count = project.settings.unit, private_n(project)
    many = public_n(observations, unit)
    if not has_reference(project) or many <= MORE * private_count:
        return observations
    sample = SimulationEntropy(THINNING_SEED).uniform(many).argsort() < private_count
    return observations.part(
        np.isin(observations.index, np.unique(observations.index)[sample]) if unit == "cell" else sample
    )


def reference_mean(
    project: Project, observations: PlacedObservations, model: FieldModel, scale: ResponseScale
) -> Floats:
    """(N,) posterior mean of reference observations under a model, in response units of `scale`."""
    records = bin_records(observations, project.response, project.settings.unit)
    posterior = fit(make_prior(model.prior, project.lattice, model.lengthscale), records, model.ridge)
    map_mean = project.response.field_of(mean_about(posterior, records, project.usual_answer))
    transformed = map_mean * project.response.clip + project.response.centre
    return np.asarray((transformed - scale.centre) / scale.clip)


def free_map_basis(project: Project, *, predicted: bool = False) -> str:
    """How `free_map_agreement` is estimated, as the end of a sentence."""
    last = last_of_several(project)
    if project.reference_origin:
        return ", by what the earlier release tells of the field now"
    if predicted:
        return ", the mean over small and large changes since"
    return (
        ", by two halves of the reference data, which cannot show what has changed since"
        if last is None
        else f", by {last} against the years before"
    )


def free_in_worlds(project: Project, model: FieldModel, predicted: Sequence[Bools]) -> tuple[float, ...]:
    """The IoU of the free map with each of `predicted` maps, (N,) each and as likely as one another; NaN
    where both are empty.
    """
    mean = reference_mean(project, public_part(project), model, project.response)
    free_map = excursion(mean, project.level, project.settings.direction)
    return tuple(float(iou(free_map, world_map)) for world_map in predicted)


def free_map_agreement(project: Project, model: FieldModel) -> float:
    """Return the IoU of maps of the reference data in two parts: what the free map is expected to reach."""
    direction = project.settings.direction
    public, private = two_parts(project.reference)
    sets = [
        excursion(reference_mean(project, part, model, project.response), project.level, direction)
        for part in (public, as_many(project, private))
    ]
    return float(iou(sets[0], sets[1]))


SEED = 141421  # draws from public facts alone
FIELDS = 2  # changes of the field drawn for each drift, each one way and the other


def starting_point(
    project: Project, model: FieldModel
) -> tuple[PublicField, ResponseScale, list[PlacedObservations]]:
    """Return the public field that a release starts from, its response scale, and records for private ones.

    Where the reference spans several years, the last one plays the private records and the years before are
    the public field. Otherwise all of it is, and the private records are drawn by `predicted_records`, one
    set for each drift: halves of one year cannot show what changes. An earlier release has draws of its own
    for them.
    """
    last = last_of_several(project)
    public, played = (public_part(project), None) if last is None else two_parts(project.reference)
    field = public_field(project, public)
    scale = scale_about(project, field)
    field = in_scale(project, field, scale, model)
    if project.reference_origin:
        return field, scale, [as_many(project, part) for part in private_parts(project)]
    if played is None:
        return field, scale, predicted_records(project, field, scale)
    return field, scale, [as_many(project, played)]


def predicted_records(project: Project, field: PublicField, scale: ResponseScale) -> list[PlacedObservations]:
    """Draw private records as they may be, a few sets for each supposition of the reading, from public facts.

    The reference shows where records lie and how they scatter; all drifts are equally likely. All sets lie at
    the same places, so that what depends on places alone is made once. `field` is in units of `scale`.
    """
    entropy = SimulationEntropy(SEED)
    mean = field.at_cells(project.lattice.domain_centres)
    index, record_sets = _places(project, field, entropy), []
    scatter = field.scatters[field.nodes.place[index]]
    answers = project.answers is not None
    supposed = suppositions(2 * TRUSTS_OF_ANSWERS) if answers else FIELDS * suppositions(TRUSTS)
    # each drift goes one way and the other, so that few worlds stand for many
    white = [(entropy.normal((2, field.nodes.size)), entropy.normal((2, index.size))) for _ in supposed[::2]]
    white_fields = np.array([fields for fields, _ in white])
    map_fields, drifted = (coloured(root, white_fields[:, kind].T).T for kind, root in enumerate(field.roots))
    for number, (trust, drift) in enumerate(supposed):
        pair, other = divmod(number, 2)
        change = np.sqrt(trust) * map_fields[pair] + drift * drifted[pair]
        change = -change if other else change
        value = (mean + field.nodes.spread(change))[index] + scatter * white[pair][1][other]
        values = np.where(value > 0.0, 100.0, 0.0) if answers else scale.value(value)
        record_sets.append(PlacedObservations(index, values, index.size, 0))
    return record_sets


def _places(project: Project, field: PublicField, entropy: SimulationEntropy) -> NDArray[np.int64]:
    """(n,) cells of the records: the known ones, or drawn around those of the reference."""
    cell = project.settings.unit == "cell"
    if project.settings.places_public:
        index = public_places(project.private.placed)
        return np.unique(index) if cell else index
    n, size = private_n(project), project.domain.size
    reference = np.bincount(project.reference.index, minlength=size).astype(np.float64)
    nodes = field.nodes
    expected = (prior_from_reference(nodes, reference, n).mean / nodes.cells_per_node)[nodes.place]
    if cell:  # n distinct ones: the first of as many exponential clocks
        return np.sort(np.argsort(-np.log(entropy.uniform(size)) / expected)[:n])
    ends = np.cumsum(expected)
    return np.asarray(np.minimum(np.searchsorted(ends, ends[-1] * entropy.uniform(n)), size - 1))
