"""What can fail fails before the charge: factorisations, writing, a full disk, a pilot that shows nothing."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hexcursion.releasing.transaction as release_module
from dpgp_core.mechanisms.cell_sums import NoisyStatistics, release_statistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import Released
from hexcursion.bundle import BundleError, workplace, write_bundle
from hexcursion.bundle.published.bundle_store import find_bundle, stored_bundles
from hexcursion.bundle.workplace import rehearse_writing
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger, LedgerError, RequestTaken, open_ledger
from hexcursion.ledger.errors import Unreleased
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.once import try_draw
from hexcursion.releasing.transaction import Plan, plan_release, publish
from hexcursion.search.choice import given_choice
from hexcursion.search.pilot import pilot_strength, pilot_warning, run_pilot
from tests.dpgp_core.drawing import draw_paths
from tests.hexcursion.ledger.storage.test_ledger_crash import start
from tests.town import Town


@pytest.fixture(scope="module")
def typed(town: Town) -> Project:
    """A project whose design is typed in: nothing is searched."""
    return load_project(town.settings(lengthscale=3000.0, ridge=20.0, priors=("car",)))


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger()


@pytest.fixture
def plan(typed: Project, ledger: Ledger) -> Plan:
    return plan_release(typed, given_choice(typed), ledger)


def charged(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries() if entry.kind != "genesis"]


# Before the charge


def test_a_factorisation_that_fails_costs_nothing(town: Town, ledger: Ledger, out: Path) -> None:
    """The finding: --priors exponential --lengthscale 1e20 --ridge 50 spent a whole budget for nothing."""
    project = load_project(town.settings(lengthscale=1e20, ridge=50.0, priors=("exponential",)))
    with pytest.raises(WorkflowError, match=r"This design cannot be drawn .*: nothing was charged"):
        publish(plan_release(project, given_choice(project), ledger), ledger, out)
    assert charged(ledger) == []
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("not positive definite"), ValueError("too far")])
def test_any_failure_of_the_draw_shows_in_the_trial(
    plan: Plan, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("hexcursion.releasing.once.draw_release", fail)
    with pytest.raises(WorkflowError, match=r"cannot be drawn .*: nothing was charged"):
        publish(plan, ledger, out)
    assert charged(ledger) == []


def test_numbers_too_large_to_publish_are_found_in_the_trial(
    plan: Plan, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_module, "try_draw", lambda *given: Released(try_draw(*given).paths + 2.0**31))
    with pytest.raises(BundleError, match="too large to publish"):
        publish(plan, ledger, out)
    assert charged(ledger) == []


def test_the_trial_uses_repeatable_noise_and_leaves_nothing_on_disk(
    plan: Plan, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its paths are the private records with noise that anybody can subtract: no byte of them is written."""
    written: list[bytes] = []
    original = workplace._write

    def watch(path: Path, size: int) -> None:
        original(path, size)
        written.append(path.read_bytes())

    trials: list[np.ndarray] = []

    def tried(*given: object) -> Released:
        found = try_draw(*given)  # type: ignore[arg-type]
        trials.append(found.paths)
        return found

    monkeypatch.setattr(workplace, "_write", watch)
    monkeypatch.setattr(release_module, "try_draw", tried)
    published = publish(plan, ledger, out)
    assert len(written) == 12 + 3 + 2 + 1  # required files, exports, the page and the draws, the zip
    design = plan.choice.design
    prior = make_prior(design.prior, plan.project.lattice, design.lengthscale)
    again = draw_paths(design, prior, plan.records, SimulationEntropy(20260618), simulation=True)
    assert np.array_equal(trials[0], again)
    for number in (trials[0][0, 0], trials[0][0, 5]):
        assert not any(np.float64(number).tobytes() in content for content in written)
    assert not np.array_equal(published.release.paths, trials[0]), "the draw is another one"


def test_a_disk_that_takes_no_bundle_is_found_before_the_charge(
    plan: Plan, ledger: Ledger, out: Path, tmp_path: Path
) -> None:
    """A real limit: no file of this process may pass 96 kB; the ledger fits, a bundle does not."""
    report = tmp_path / "report"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (98_304, 98_304))
        try:
            publish(plan, ledger, out)
        except BundleError as error:
            report.write_text(str(error))

    assert os.waitpid(start(limited), 0)[1] == 0
    assert "nothing was charged. Make room" in report.read_text()
    assert charged(ledger) == []
    assert not out.exists()


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_disk_that_refuses_to_flush_or_rename_is_found_before_the_charge(
    plan: Plan, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(*((workplace.os, "fsync") if call == "fsync" else (Path, "rename")), full)
        with pytest.raises(BundleError, match=r"No space left on device.*nothing was charged"):
            publish(plan, ledger, out)
    assert charged(ledger) == []
    assert list(out.parent.iterdir()) == []


def test_a_nearly_full_disk_is_found_before_the_charge(
    plan: Plan, ledger: Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "check_room", lambda _: None)
    for free, fits in ((1_999_999, False), (2_000_000, True)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        if fits:
            publish(plan, ledger, out)
            continue
        with pytest.raises(BundleError, match="would be full with this bundle: nothing was charged"):
            publish(plan, ledger, out)
        assert charged(ledger) == []


def test_a_full_disk_of_the_ledger_is_found_before_the_charge(
    plan: Plan, ledger: Ledger, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger may lie on another disk than the bundles."""
    original = shutil.disk_usage

    def usage(folder: Path) -> object:
        full = Path(os.environ["HEXCURSION_HOME"]) == Path(folder)
        return SimpleNamespace(free=9_999_999) if full else original(folder)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(LedgerError, match=r"disk of the ledger .* is nearly full: nothing was charged"):
        publish(plan, ledger, out)
    assert charged(ledger) == []


def test_the_rehearsal_writes_as_much_as_a_bundle_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[str, int] = {}
    original = workplace._write

    def watch(path: Path, size: int) -> None:
        original(path, size)
        sizes[path.name] = path.stat().st_size

    monkeypatch.setattr(workplace, "_write", watch)
    contents = {"a": b"x" * 3_000_001, "b": b"", "c": b"private"}
    rehearse_writing(contents, tmp_path / "target", tmp_path)
    assert sizes == {"a": 3_000_001, "b": 0, "c": 7, "rehearsal.zip": 3_000_008}
    assert list(tmp_path.iterdir()) == []


# After the charge


# One click, one release


@pytest.mark.slow
def test_the_same_plan_of_one_session_is_released_once(plan: Plan, ledger: Ledger, tmp_path: Path) -> None:
    rich = replace(
        plan, project=replace(plan.project, settings=plan.project.settings.with_changes(budget=9.0))
    )
    first = publish(rich, ledger, tmp_path / "one", session="a session")
    with pytest.raises(RequestTaken, match=f"entry 3 .released as {first.release.release_id}"):
        publish(rich, ledger, tmp_path / "two", session="a session")
    again = plan_release(rich.project, rich.choice, ledger)
    with pytest.raises(RequestTaken):
        publish(again, ledger, tmp_path / "two", session="a session")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one", "one.zip"]
    publish(again, ledger, tmp_path / "two", session="another session")
    publish(again, ledger, tmp_path / "three")
    publish(again, ledger, tmp_path / "four")
    assert len(ledger.account(plan.charge.dataset, "point").charged) == 4


# The shelf


def test_the_shelf_shows_only_what_was_committed(plan: Plan, ledger: Ledger, tmp_path: Path) -> None:
    """A valid bundle on an open charge, as the version before could leave it behind."""
    releases = Path(os.environ["HEXCURSION_HOME"]) / "releases"
    rich = replace(
        plan, project=replace(plan.project, settings=plan.project.settings.with_changes(budget=9.0))
    )
    shown = publish(rich, ledger).release.release_id
    assert [bundle.name for bundle in stored_bundles()] == [shown]
    reservation = ledger.reserve(plan.charge)
    blank = Released(np.zeros((1, plan.project.domain.size)))
    stamp = release_module.Stamp("fedcba9876543210", "2026-06-18T12:00:00Z", reservation.seal)
    left = release_module.release_of(plan, stamp, blank, None)
    write_bundle(left, releases / "fedcba9876543210")
    assert [bundle.name for bundle in stored_bundles()] == [shown]
    with pytest.raises(WorkflowError, match="no release of this address"):
        find_bundle("fedcba9876543210")
    assert find_bundle(shown).bundle.statement["release"]["id"] == shown
    reservation.begin_draw()
    reservation.commit("fedcba9876543210", "ab" * 32)
    assert {bundle.name for bundle in stored_bundles()} == {shown, "fedcba9876543210"}


# The pilot


def piloted(town: Town, **changes: object) -> Project:
    return load_project(
        town.settings(
            reference=None, reference_public=False, centre=25.0, clip=15.0, priors=("car",), **changes
        )
    )


def test_a_pilot_that_would_show_nothing_says_so_before_it_is_paid(town: Town, ledger: Ledger) -> None:
    weak = piloted(town, epsilon=0.2, pilot=0.2)
    with pytest.raises(WorkflowError) as refused:
        run_pilot(weak, ledger)
    assert charged(ledger) == []
    assert str(refused.value) == (
        "This pilot would show next to nothing: noise of 140 on each hexagon's count, where 25 records lie "
        "on average. Nothing was charged: raise `pilot` or epsilon, take larger hexagons, or tune on a "
        "simulated field."
    )
    strong = piloted(town, epsilon=2.0, pilot=0.3)
    assert pilot_warning(strong) == ""
    assert pilot_strength(3000, 114, 11.9) == pytest.approx(2.361, abs=5e-4)


def test_the_warning_looks_at_public_numbers_alone(town: Town) -> None:
    weak = piloted(town, epsilon=0.2, pilot=0.2)
    placed = weak.private.placed
    other = replace(placed, value=placed.value[::-1] * 3.0, index=np.zeros_like(placed.index))
    assert pilot_warning(replace(weak, private=replace(weak.private, placed=other))) == pilot_warning(weak)


def test_a_pilot_is_paid_for_once_in_a_session(town: Town, ledger: Ledger) -> None:
    asked = piloted(town, epsilon=2.0, pilot=0.3)
    paid = run_pilot(asked, ledger, "a session")
    assert paid.pilot is not None
    with pytest.raises(RequestTaken):
        run_pilot(asked, ledger, "a session")
    assert charged(ledger) == ["budget", "records", "reserve", "draw", "commit"]


@pytest.mark.parametrize("where", ["make_prior", "log_evidence"])
def test_a_pilot_that_cannot_be_read_is_not_paid(
    town: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(f"hexcursion.search.pilot.{where}", fail)
    expected: tuple[type[Exception], ...] = (WorkflowError, np.linalg.LinAlgError)
    with pytest.raises(expected):
        run_pilot(piloted(town, epsilon=2.0, pilot=0.3), ledger)
    assert charged(ledger) == []


def test_a_pilot_that_breaks_off_names_its_entry(
    town: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def fail_second(*given: object, n_is_public: bool = True) -> NoisyStatistics:
        calls.append(1)
        if len(calls) == 2:
            raise OSError("no entropy")
        return release_statistics(*given, n_is_public=n_is_public)  # type: ignore[arg-type]

    monkeypatch.setattr("hexcursion.search.pilot.release_statistics", fail_second)
    with pytest.raises(Unreleased, match=r"no entropy.*Entry 3 stays in the ledger"):
        run_pilot(piloted(town, epsilon=2.0, pilot=0.3), ledger)
