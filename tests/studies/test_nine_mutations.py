"""Nine faults that the tests of `hexcursion` once let through: each goes into a copy and must be noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from studies.mutations.record import FOLDER
from studies.mutations.trial import copy_checkout

ROOT = FOLDER.parent
RELEASE, SEARCH = "tests/hexcursion/releasing/", "tests/hexcursion/search/"
VOTES = SEARCH + "problem/test_net_votes.py::"


class Fault(NamedTuple):
    """A line before and after, and a test that has to fail."""

    file: str
    before: str
    after: str
    test: str


FAULTS = {
    "the public prior mean is subtracted from the released paths": Fault(
        "dpgp_core/releasing.py",
        "paths=self.paths + prior_mean,",
        "paths=self.paths - prior_mean,",
        RELEASE + "test_net_public_mean.py::"
        "test_a_release_with_a_public_mean_shows_the_data_not_the_mean_twice_or_never",
    ),
    "the search aims at the side above whatever was asked": Fault(
        "dpgp_core/simulation.py",
        "excursion(field + self.offset, level, self.direction)",
        'excursion(field + self.offset, level, "above")',
        VOTES + "test_the_search_itself_asks_for_the_low_side",
    ),
    "a published set is the side above whatever was asked": Fault(
        "dpgp_core/simulation.py",
        "released_set(paths, self.level, design.cutoff, self.direction)",
        'released_set(paths, self.level, design.cutoff, "above")',
        VOTES + "test_a_cell_is_inside_when_enough_paths_say_so[below-0.5-inside4]",
    ),
    "the scorer simulates the side above whatever was asked": Fault(
        "dpgp_core/mechanisms/posterior_sampling.py",
        "excursion(field, world.level, world.direction)",
        'excursion(field, world.level, "above")',
        VOTES + "test_the_asked_side_is_the_set_everywhere_in_the_scorer[below]",
    ),
    "the search votes at 0.3": Fault(
        "dpgp_core/mechanisms/design.py",
        "cutoff: float = 0.5",
        "cutoff: float = 0.3",
        VOTES + "test_the_search_votes_at_one_half",
    ),
    "the search votes at 0.9": Fault(
        "dpgp_core/mechanisms/design.py",
        "cutoff: float = 0.5",
        "cutoff: float = 0.9",
        VOTES + "test_the_search_votes_at_one_half",
    ),
    "a typed design is scored without its cutoff": Fault(
        "dpgp_core/mechanisms/posterior_sampling.py",
        "return agreed(votes, design.cutoff)",
        "return agreed(votes, 0.5)",
        VOTES + "test_a_typed_design_is_scored_at_its_own_cutoff[0.05-0.1875]",
    ),
    "a published set is voted on without its design's cutoff": Fault(
        "dpgp_core/simulation.py",
        "released_set(paths, self.level, design.cutoff, self.direction)",
        "released_set(paths, self.level, 0.5, self.direction)",
        VOTES + "test_a_cell_is_inside_when_enough_paths_say_so[above-0.3-inside1]",
    ),
    "the reader accepts half the epsilon that the curve proves": Fault(
        "hexcursion/bundle/statement/guarantee.py",
        'guarantee["epsilon"] >= proved * (1.0 - SLACK) - SLACK',
        'guarantee["epsilon"] >= 0.5 * proved',
        "tests/hexcursion/bundle/statement/test_net_epsilon.py::test_less_than_the_curve_proves_is_refused[0.51]",
    ),
    "the share of prior noise is forgotten beside a pilot": Fault(
        "dpgp_core/mechanisms/posterior_sampling.py",
        "prior, share, best = facts.prior(design.prior, design.lengthscale), design.noise_share, None",
        "prior, share, best = facts.prior(design.prior, design.lengthscale), 0.0, None",
        SEARCH + "looks/test_net_pilot.py::test_the_prior_noise_keeps_its_share_beside_a_pilot[0.75-0.36]",
    ),
    "a budget is kept to 5 % only": Fault(
        "hexcursion/ledger/account.py",
        "epsilon <= self.epsilon * (1 + ROUNDING)",
        "epsilon <= self.epsilon * 1.05",
        "tests/hexcursion/ledger/accounts/test_net_tolerance.py::test_what_is_over_the_budget_is_refused[0.01]",
    ),
    "nine tenths of the records may stand in the reference data": Fault(
        "hexcursion/project/copies.py",
        "WARNED, REFUSED, COPIED = 0.01, 0.2, 0.95",
        "WARNED, REFUSED, COPIED = 0.01, 0.9, 0.95",
        "tests/hexcursion/project/test_net_project.py::test_three_in_ten_are_refused[3]",
    ),
    "a domain is not padded": Fault(
        "hexcursion/project/load.py",
        "PADDING_RINGS = 4",
        "PADDING_RINGS = 0",
        "tests/hexcursion/project/test_net_project.py::test_a_domain_is_padded_by_four_rings",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_the_line_of_a_fault_stands_where_it_is_said_to_stand(what: str) -> None:
    """Once, so that the fault below is the one that is meant."""
    fault = FAULTS[what]
    assert (ROOT / fault.file).read_text(encoding="utf-8").count(fault.before) == 1


def outcome(copy: Path, *tests: str) -> str:
    """The last line that pytest says in the copy, by a process that has imported nothing of this checkout."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    said = subprocess.run(words, cwd=copy, env=plain, capture_output=True, text=True, check=False).stdout
    return said.rstrip().splitlines()[-1].rpartition(" in ")[0]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout to put faults into, in which every test of the list passes."""
    target = tmp_path_factory.mktemp("checkout")
    copy_checkout(ROOT, target)
    tests = {fault.test for fault in FAULTS.values()}
    assert outcome(target, *tests) == f"{len(tests)} passed"
    return target


@pytest.mark.slow
@pytest.mark.parametrize("what", FAULTS)
def test_a_test_fails_with_the_fault(copy: Path, what: str) -> None:
    fault = FAULTS[what]
    whole = (copy / fault.file).read_text(encoding="utf-8")
    (copy / fault.file).write_text(whole.replace(fault.before, fault.after), encoding="utf-8")
    try:
        assert outcome(copy, fault.test) == "1 failed"
    finally:
        (copy / fault.file).write_text(whole, encoding="utf-8")
