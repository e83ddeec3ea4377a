"""delta: the usual one for a number of records, and a second consent for one that promises little."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.choice import given_choice
from hexcursion.search.pilot import run_pilot
from hexcursion.search.scenes import private_n, public_facts
from hexcursion.settings import usual_delta
from tests.town import Town


def asked(project: Project, delta: float | None, *, accepted: bool = False) -> Project:
    changed = project.settings.with_changes(
        delta=delta, accept_large_delta=accepted, lengthscale=3000.0, ridge=20.0, priors=("car",)
    )
    return replace(project, settings=changed)


@pytest.mark.parametrize(
    ("n", "delta"), [(1, 1e-5), (2885, 1e-5), (10_000, 1e-5), (10_001, 1e-6), (171_000, 1e-7)]
)
def test_the_usual_delta_is_at_most_a_tenth_of_one_in_n(n: int, delta: float) -> None:
    assert usual_delta(n) == delta


def test_a_release_that_states_no_delta_has_the_usual_one(hamlet: Project) -> None:
    project = asked(hamlet, None)
    assert project.delta == 1e-5
    assert plan_release(project, given_choice(project), open_ledger()).privacy.delta == 1e-5


def test_a_delta_of_one_in_n_needs_a_second_consent(hamlet: Project) -> None:
    n = plan_release(asked(hamlet, None), given_choice(asked(hamlet, None)), open_ledger()).records.n
    asked(hamlet, 0.99 / n).refuse_large_delta()
    large = asked(hamlet, 1.01 / n)
    with pytest.raises(WorkflowError, match=r"even publishing a whole record.*choose delta 1e-05 or less"):
        plan_release(large, given_choice(large), open_ledger())
    consented = asked(hamlet, 1.01 / n, accepted=True)
    plan = plan_release(consented, given_choice(consented), open_ledger())
    assert [line.warning for line in plan.receipt if line.topic == "Delta"] == [True]


def test_a_pilot_is_not_paid_for_at_such_a_delta(town: Town) -> None:
    ledger = open_ledger()
    project = load_project(
        town.settings(reference=None, reference_public=False, centre=25.0, clip=15.0, pilot=0.3, delta=0.01)
    )
    with pytest.raises(WorkflowError, match="accept_large_delta"):
        run_pilot(project, ledger)
    assert ledger.accounts() == ()


HIDDEN = {"relation": "add-or-remove", "mechanisms": ("spectral-statistics",)}


def of_so_many(project: Project, n: int, **changes: object) -> Project:
    """The project with n private readings, each of them among its own."""
    placed = project.private.placed
    rows = np.resize(np.arange(placed.index.size), n)
    few = PlacedObservations(placed.index[rows], placed.value[rows], n, 0)
    settings = project.settings.with_changes(**changes)
    return replace(project, private=replace(project.private, placed=few), settings=settings)


def test_two_neighbours_of_ten_thousand_records_have_one_delta(hamlet: Project) -> None:
    """Where a record may be more or less: 10,000 records published 1e-5 and 10,001 published 1e-6."""
    for n in (10_000, 10_001, 171_000):
        assert of_so_many(hamlet, n, **HIDDEN, records_about=9_000).delta == 1e-5
        assert of_so_many(hamlet, n, **HIDDEN, records_about=10_001).delta == 1e-6
    assert [of_so_many(hamlet, n).delta for n in (10_000, 10_001)] == [1e-5, 1e-6], "there n is public"


def test_a_large_delta_is_refused_by_the_stated_number_of_records(hamlet: Project) -> None:
    for n in (50, 5_000):
        of_so_many(hamlet, n, **HIDDEN, records_about=999, delta=1e-3).refuse_large_delta()
        with pytest.raises(WorkflowError, match=r"delta 0\.001 is .* number of records, 1,000 records,"):
            of_so_many(hamlet, n, **HIDDEN, records_about=1_000, delta=1e-3).refuse_large_delta()


def test_cells_that_are_said_to_hold_records_are_no_more_than_there_are(town: Town) -> None:
    cells = {**HIDDEN, "unit": "cell", "resolution": 7}
    assert private_n(load_project(town.settings(**cells, records_about=16))) == 16
    with pytest.raises(WorkflowError, match=r"^The area has 16 hexagons, of which not 17 can hold records"):
        load_project(town.settings(**cells, records_about=17))


def test_the_stated_number_is_that_of_simulated_records(town: Town) -> None:
    alone = {"reference": None, "reference_public": False, "centre": 25.0, "clip": 15.0, "resolution": 7}
    project = load_project(town.settings(**HIDDEN, **alone, records_about=2_500))
    assert project.reference.index.size == public_facts(project).n == 2_500
