"""The plan of an atlas: one price, one charge, one draw, and a receipt for each of its layers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpgp_core.atlas.release import PreparedAtlas, prepare_atlas
from dpgp_core.errors import CoreError
from dpgp_core.linalg import Floats, Ints
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger
from hexcursion.project.atlas import AtlasProject
from hexcursion.project.response import ResponseScale
from hexcursion.record import AtlasRelease, ReceiptLine
from hexcursion.releasing.once import Stamp
from hexcursion.releasing.release_guard import LowAgreement, objections, stop_or_state
from hexcursion.releasing.transaction import Plan, charge_of, now, priced, receipt_of, release_of
from hexcursion.search.atlas import AtlasChoice
from hexcursion.search.choice import Choice
from hexcursion.words import listed


@dataclass(frozen=True, repr=False)
class AtlasPlan(Plan):
    """A planned atlas: the plan of its first layer for the shared facts, and the plans of all
    layers."""

    layers: tuple[Plan, ...] = ()
    names: tuple[str, ...] = ()  # the columns
    title: str = ""
    atlas: AtlasProject | None = None  # the project that `again` plans anew
    chosen: AtlasChoice | None = None

    def again(self, ledger: Ledger) -> AtlasPlan:
        """The same plan against the present state of the ledger."""
        assert self.atlas is not None
        assert self.chosen is not None
        return plan_atlas(self.atlas, self.chosen, ledger)

    def released(self, release_id: str, drawn: Any, seal: str, *, trial: bool = False) -> AtlasRelease:
        """All layers of one draw, each as a release of its column, and all of one moment."""
        stamp = Stamp(release_id, now(), seal)
        layers = tuple(
            release_of(plan, stamp, layer, None)
            for plan, layer in zip(self.layers, drawn.layers, strict=True)
        )
        return AtlasRelease(
            layers,
            self.names,
            self.title,
            () if self.atlas is None else self.atlas.settings.derived,
        )

    @property
    def wish(self) -> str:
        """All public facts that identify this plan, as one text."""
        return json.dumps({"atlas": [*self.names], "layers": [plan.wish for plan in self.layers]})


def plan_atlas(project: AtlasProject, choice: AtlasChoice, ledger: Ledger) -> AtlasPlan:
    """Plan everything that the curator should read before the button.

    Raise `LowAgreement`, which names the columns to leave out, for maps expected to be poor that
    the settings do not accept, and otherwise as `plan_release`.
    """
    first, names, settings = project.first, project.settings.names, project.settings
    first.refuse_dropped()
    _refuse_poor(project, choice)
    first.refuse_large_delta()
    price = priced(first, choice.design, choice.facts)
    price = replace(price, privacy=replace(price.privacy, each_row=settings.equal_rows == "each"))
    title = settings.title or atlas_title([layer.value_name for layer in project.layers])
    charge = charge_of(first, ledger, price, choice.layers[0].tuning.kind, title)
    charge = replace(charge, facts={**charge.facts, "columns": ", ".join(names)})
    preview = ledger.preview(charge, first.delta)
    shared = (choice.facts, None, _prepared(project, choice), price.privacy, charge, preview)
    layers = []
    for layer, layer_choice in zip(project.layers, choice.layers, strict=True):
        level = layer_choice.level(layer.settings.threshold)
        worth = stop_or_state(layer_choice.expected, layer_choice.yardsticks, True, level)
        receipt = receipt_of(layer, layer_choice, price, preview, worth)
        layers.append(Plan(layer, layer_choice, *shared, receipt))
    receipt = whole_receipt(names, [layer.receipt for layer in layers])
    return AtlasPlan(
        first,
        layers[0].choice,
        *shared,
        receipt,
        layers=tuple(layers),
        names=names,
        title=title,
        atlas=project,
        chosen=choice,
    )


def atlas_title(values: Sequence[str]) -> str:
    """The default title of an atlas."""
    return f"{len(values)} maps of the same records: {listed(values)}"[:200]


def whole_receipt(names: Sequence[str], receipts: Sequence[Sequence[ReceiptLine]]) -> tuple[ReceiptLine, ...]:
    """One receipt: the lines that all layers share, then those of single layers with their
    names."""
    shared = [line for line in receipts[0] if all(line in other for other in receipts)]
    single = [
        replace(line, text=f"{name}: {line.text}")
        for name, receipt in zip(names, receipts, strict=True)
        for line in receipt
        if line not in shared
    ]
    return (*shared, *single)


def _prepared(project: AtlasProject, choice: AtlasChoice) -> PreparedAtlas:
    """Prepare the draw; `WorkflowError` if this design cannot release the records."""
    responses, fields = np.full(project.value.shape, np.nan), []
    for column, (layer, chosen) in enumerate(zip(project.layers, choice.layers, strict=True)):
        there = ~np.isnan(project.value[:, column])
        try:
            found = responses_about(chosen, layer.response, project.cell[there], project.value[there, column])
        except CoreError as error:
            raise WorkflowError(f"The column {project.settings.names[column]!r}: {error}") from error
        responses[there, column] = found
        if chosen.public_map is not None and chosen.public_map.field is not None:
            fields.append(chosen.public_map.field)
    try:
        return prepare_atlas(choice.design, choice.facts, project.cell, responses, fields)
    except (CoreError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise WorkflowError(f"This atlas cannot be drawn, and nothing was charged: {error}") from error


def responses_about(choice: Choice, own: ResponseScale, cell: Ints, value: Floats) -> Floats:
    """Responses (n,) of the values of one column, less its published map where the release starts from one;
    such values are first cut by the column's `own` scale, as one column alone is."""
    if choice.public_map is None:
        return choice.response.response(value)
    return np.clip(choice.response.forward(own.cut(value)) - choice.public_map.mean[cell], -1.0, 1.0)


def poor_layers(project: AtlasProject, layers: Sequence[Choice]) -> dict[str, str]:
    """Reasons against the maps of columns that are not expected to be worth releasing."""
    reasons = {}
    for name, layer, choice in zip(project.settings.names, project.layers, layers, strict=True):
        level = choice.level(layer.settings.threshold)
        against = objections(choice.expected, choice.yardsticks, level)
        if against:
            reasons[name] = " and ".join(against)
    return reasons


def _refuse_poor(project: AtlasProject, choice: AtlasChoice) -> None:
    """Raise `LowAgreement` for columns with poor maps, unless the settings accept them."""
    poor = poor_layers(project, choice.layers)
    if not poor or project.settings.accept_low_agreement:
        return
    reasons = "; ".join(f"{name}: {why}" for name, why in poor.items())
    remaining = len(project.layers) - len(poor)
    remedy = (
        f"Leave out {listed(list(poor))}, which gives the other {remaining} less noise"
        if remaining
        else "Take coarser hexagons or a larger epsilon"
    )
    raise LowAgreement(
        f"This atlas is stopped, and nothing was charged: {reasons}. {remedy}, or release all anyway with "
        "--accept-low-agreement (accept_low_agreement)."
    )
