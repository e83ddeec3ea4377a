"""The design of an atlas, and what its maps are expected to show before any record is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.atlas.design import AtlasDesign, atlas_design
from dpgp_core.atlas.release import calibrated
from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.design import Budget
from dpgp_core.numbers import significant
from dpgp_core.releasing import PublicFacts
from geo.errors import silent
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.atlas import AtlasProject
from hexcursion.search.choice import Choice, stated
from hexcursion.search.executors import Run
from hexcursion.search.scenes import public_facts
from hexcursion.search.tuning import Tuned, tune
from hexcursion.words import listed, records_words

NOISE_BESIDE_ONE = {1: 1.0, 2: 1.25, 4: 1.6, 7: 2.0, 10: 2.4}
"""How many times the noise of one column alone each of k columns has in a ball, as measured
(docs/proofs/atlas.md): k unrelated columns agree about as each alone at mu over this."""


@dataclass(frozen=True)
class AtlasChoice:
    """The design of an atlas and, for each column, the choice that its map rests on."""

    design: AtlasDesign
    facts: PublicFacts
    layers: tuple[Choice, ...]
    tuned: tuple[Tuned, ...]  # the simulated worlds behind each
    # epsilon at which each column alone is expected to agree about as well as it does here
    alone: tuple[float, ...]


def noise_beside_one(columns: int) -> float:
    """How many times the noise of one column alone each of k has, between the measured numbers and beyond.

    Examples
    --------
    >>> noise_beside_one(4), round(noise_beside_one(3), 3), round(noise_beside_one(20), 2)
    (1.6, 1.425, 3.39)
    """
    sizes = list(NOISE_BESIDE_ONE)
    if columns > sizes[-1]:
        return NOISE_BESIDE_ONE[sizes[-1]] * math.sqrt(columns / sizes[-1])
    return float(np.interp(columns, sizes, list(NOISE_BESIDE_ONE.values())))


def noise_of_column(design: AtlasDesign, column: int) -> float:
    """How many times the noise of one column alone a column, from 0, has.

    It is the longest vector over what the column keeps of it: amounts as much as measured, answers all.

    Examples
    --------
    >>> [round(noise_of_column(atlas_design(1.0, 2, 500, answers=(1,)), column), 2) for column in (0, 1)]
    [1.41, 1.41]
    """
    ball = design.ball
    if column in ball.answers:
        return ball.radius / ball.reach(column)
    squares = [ball.reach(number) ** 2 for number in ball.amounts]
    left = ball.radius**2 - sum(ball.reach(number) ** 2 for number in ball.answers)
    usual = math.sqrt(sum(squares) / len(squares))
    return noise_beside_one(len(squares)) * ball.radius / math.sqrt(left) * usual / ball.reach(column)


def choose_atlas(project: AtlasProject, report: Report = silent) -> AtlasChoice:
    """Choose the design for all columns, and judge the map of each in simulated worlds.

    The worlds are those of one column, at the smaller epsilon at which one column alone has about the noise
    of one of these: a rule, measured for unrelated columns. Raise `WorkflowError` where no noise meets the
    budget.
    """
    settings, first = project.settings, project.first
    count, facts = len(project.layers), replace(public_facts(first), law="amount")
    budget = Budget(first.settings.epsilon, first.delta)
    try:
        drift = first.settings.weighs_drift
        shape = atlas_design(
            first.lattice.spacing,
            count,
            facts.n,
            settings.choices.gaps,
            drift,
            settings.answers,
            settings.weights,
        )
        design = calibrated(replace(shape, reading=settings.reading), facts, budget)
    except CoreError as error:
        raise WorkflowError(str(error)) from error
    if first.settings.cutoff is not None:
        design = replace(design, cutoff=first.settings.cutoff, cutoff_from="design")
    alone = tuple(
        gaussian_epsilon(budget.mu / noise_of_column(design, column), first.delta) for column in range(count)
    )
    choices, tuned = [], []
    for number, layer in enumerate(project.layers):
        # About its published map a column is cut at that map's own bound: the ball is of equal deviations.
        changes = {"clip": None} if drift else {}
        question = replace(layer, settings=layer.settings.with_changes(epsilon=alone[number], **changes))
        run = Run(report).part(number / count, 1 / count)
        tuned_layer = tune(question, run, frontier=(), facts=replace(facts, law=design.law_of(number)))
        choice = replace(tuned_layer.choice, design=design)
        choices.append(stated(layer, choice))
        tuned.append(tuned_layer)
    return AtlasChoice(design, facts, tuple(choices), tuple(tuned), alone)


def foretold_words(choice: AtlasChoice, names: tuple[str, ...]) -> tuple[str, ...]:
    """What each map is expected to show, a sentence for each, after one on how that is known."""
    alone = [significant(epsilon, 3) for epsilon in choice.alone]
    alike = len(set(alone)) == 1
    at = f"at epsilon {alone[0]}" if alike else f"at epsilon {listed(alone)} in turn"
    lines = [
        f"Each of {len(names)} maps is expected to show about what its column alone would {at}: a rule, "
        "measured for unrelated columns."
    ]
    for name, layer in zip(names, choice.layers, strict=True):
        forecast = layer.expected
        if layer.few:
            lines.append(f"{name}: {layer.few}.")
            continue
        if forecast is None or forecast.agreement is None:
            lines.append(f"{name}: nothing is known.")
            continue
        records = (
            "" if forecast.records is None else f"{records_words(forecast.records)} on their right side, "
        )
        lines.append(f"{name}: {records}agreement (IoU) {significant(forecast.agreement, 2)}.")
    return tuple(lines)
