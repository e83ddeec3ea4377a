"""What the commands do: the headless main job, the demo and the view of a bundle."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from workflow.baseline import compare, fit_baseline, free_map
from workflow.bundle import BundleError, read_bundle
from workflow.cli.options import settings_from_options
from workflow.desk.designs import settle_on
from workflow.desk.example import example_settings
from workflow.errors import WorkflowError
from workflow.inverse import smallest_epsilon
from workflow.ledger import open_ledger
from workflow.pilot import run_pilot
from workflow.project import Project, load_project
from workflow.release import plan_release, publish
from workflow.released import ReceiptLine
from workflow.settings import ReleaseSettings
from workflow.tuning import Choice, Tuned, given_choice, tune
from workflow.viewer import Viewer


def run_release(options: argparse.Namespace) -> int:
    """The main job: load, tune on reference data, draw, write, print the receipt."""
    settings = settings_from_options(options)
    return _release(
        settings,
        Path(options.out),
        options.ledger,
        options.dry_run,
        options.show_baseline,
        options.wanted_iou,
    )


def run_demo(options: argparse.Namespace) -> int:
    """The main job on generated data, in a folder of its own."""
    out = Path(options.out)
    if os.path.lexists(out):
        raise BundleError(f"{out} exists already: name a new folder, nothing is overwritten.")
    settings = example_settings(out).with_changes(epsilon=options.epsilon)
    return _release(settings, out / "bundle", options.ledger or str(out / "ledger.sqlite"), False, True)


def _release(
    settings: ReleaseSettings, out: Path, place: str | None, dry: bool, baseline: bool,
    wanted: float | None = None,
) -> int:  # fmt: skip
    for target in (out, out.with_name(f"{out.name}.zip")):
        if os.path.lexists(target) and not dry:
            raise BundleError(f"{target} exists already: name a new folder, bundles are never overwritten.")
    project = load_project(settings)
    for line in project.private.sentences():
        print(line)
    ledger = open_ledger(place)
    if settings.pilot is not None:
        if dry:
            raise WorkflowError(
                "A pilot spends budget, so it has no dry run: leave --dry-run or --pilot out."
            )
        project = run_pilot(project, ledger)
    tuned = None
    if settings.lengthscale is None:
        tuned = tune(project, _progress)
        print(file=sys.stderr)
        _print_search(tuned)
    choice = given_choice(project) if tuned is None else tuned.choice
    if wanted is not None:
        project, choice = _at_wanted_iou(project, tuned, wanted)
    plan = plan_release(project, choice, ledger)
    print("\nReceipt")
    _print_receipt(plan.receipt)
    if dry:
        print("\nDry run: nothing was drawn or charged.")
        return 0
    published = publish(plan, ledger, out)
    print(
        f"\nReleased as {published.release.release_id}; bundle in {published.folder} and {published.archive}."
    )
    if baseline and tuned is not None:
        _print_baseline(project, tuned, published.folder)
    return 0


def _at_wanted_iou(project: Project, tuned: Tuned | None, wanted: float) -> tuple[Project, Choice]:
    """The release of the smallest epsilon that reaches the wanted IoU, if --epsilon allows for it."""
    if tuned is None:
        raise WorkflowError("A wanted IoU needs the search: leave --lengthscale and --ridge out.")
    point, most = smallest_epsilon(project, tuned, wanted), project.settings.epsilon
    if point is None:
        raise WorkflowError(f"No design reaches IoU {wanted:g} on the reference data: accept less.")
    needed = f"IoU {wanted:g} on the reference data needs epsilon {point.epsilon:g}"
    if point.epsilon > most:
        raise WorkflowError(f"{needed}, more than {most:g}: raise --epsilon, or accept less.")
    print(f"  {needed}: releasing at that.")
    return settle_on(project, tuned, point)


def run_view(options: argparse.Namespace) -> int:
    """Print what a bundle says at a threshold; opens the bundle and nothing else."""
    viewer = Viewer(read_bundle(options.bundle))
    print(viewer.bundle.statement["release"]["title"])
    for line in viewer.sentences(viewer.at(options.threshold)):
        print(f"  {line}")
    return 0


def _progress(fraction: float, text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{100 * fraction:3.0f} %  {text:<60}", end="", file=sys.stderr, flush=True)


def _print_receipt(lines: tuple[ReceiptLine, ...]) -> None:
    width = max(len(line.topic) for line in lines)
    for line in lines:
        print(f"{'!' if line.warning else ' '} {line.topic:<{width}}  {line.text}")


def _print_search(tuned: Tuned) -> None:
    free, chosen = tuned.result.unconstrained, tuned.result.chosen
    print(f"\nTuned on reference data, {tuned.result.evaluated:,} designs scored")
    print(f"  {'':<34}{'no privacy':>14}{'this release':>14}")
    rows = (
        ("epsilon", free.epsilon, chosen.epsilon),
        ("effective dimension", free.utility.effective_dimension, chosen.utility.effective_dimension),
        ("held-out BCE", free.utility.bce, chosen.utility.bce),
        ("held-out IoU", free.utility.holdout_iou, chosen.utility.holdout_iou),
        ("IoU with the reference baseline", free.utility.agreement, chosen.utility.agreement),
    )
    for name, left, right in rows:
        print(f"  {name:<34}{left:>14.4g}{right:>14.4g}")
    for remark in tuned.remarks():
        print(f"  {remark}")
    print(
        f"  BCE increase {100 * tuned.result.bce_increase:.1f} %, IoU gap {100 * tuned.result.iou_gap:.1f} %"
    )


def _print_baseline(project: Project, tuned: Tuned, folder: Path) -> None:
    """Curator only: the agreement is computed from private records and stands in no file."""
    baseline = fit_baseline(project, tuned.result.unconstrained.design)
    found = compare(read_bundle(folder).published.vote_set, baseline.inside)
    print("\nCurator only, do not publish:")
    print(f"  IoU of the released set with the non-private baseline  {found.iou:.3f}")
    if tuned.free_agreement is not None:
        free = compare(free_map(project, tuned.result.unconstrained.design), baseline.inside)
        print(f"  IoU of the free map (reference data only)              {free.iou:.3f}")
