"""What the commands do: the headless main job, the demo and the view of a bundle."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hexcursion.bundle import Bundle, BundleError, again, read_bundle
from hexcursion.bundle.again import density_of
from hexcursion.bundle.areas import new_table
from hexcursion.bundle.atlas.derived import derived_words
from hexcursion.bundle.atlas.read import AtlasBundle, atlas_doubts, atlas_from_contents, open_any
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.products import counted
from hexcursion.bundle.published.office_key import sign_bundle
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.signature import fingerprint
from hexcursion.bundle.statement.expected import how_right
from hexcursion.cli.bundles import office_key, signers_of
from hexcursion.cli.options import any_from_options, with_resolution
from hexcursion.comparing.own_records import own_records
from hexcursion.door.pipeline import Listener, Planned, plan_settings, publish_planned
from hexcursion.door.remedies import REFERENCE, lacks_reference, try_remedies, weak
from hexcursion.errors import WorkflowError
from hexcursion.ledger import ledger_to_plan
from hexcursion.ledger.sentences import Alike, alike_text, shared_text
from hexcursion.new_place import new_place
from hexcursion.project.baseline import compare, curators_map, free_map
from hexcursion.project.example import county_settings
from hexcursion.project.model import Project
from hexcursion.record import ReceiptLine
from hexcursion.releasing.atlas import AtlasPlan
from hexcursion.releasing.once import told_that_it_stands
from hexcursion.releasing.release_guard import LowAgreement
from hexcursion.releasing.transaction import Plan, Published
from hexcursion.search.tuning import Tuned
from hexcursion.settings import ReleaseSettings, field
from hexcursion.settings.atlas import Settings
from hexcursion.settings.catalogue import flag_of
from hexcursion.settings.derived import derived_from
from hexcursion.words import agreement_words, plural


def progress(fraction: float, text: str) -> None:
    """Print the current step and its progress on standard error."""
    if sys.stderr.isatty():
        print(f"\r{100 * fraction:3.0f} %  {text:<60}", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    """Leave the line, so that what follows begins a new one."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


CURATOR_ONLY = "Curator only, do not publish:"


def run_release(options: argparse.Namespace) -> int:
    """Do the main job: load, tune on reference data, draw, write, print the receipt.

    Raise `WorkflowError` for what stops the release; `DataError` and `GeoError` for what files
    hold.
    """
    if options.out is None and not options.dry_run:
        raise WorkflowError("Name a new folder for the bundle: --out DIR. A try without one is --dry-run.")
    settings = any_from_options(options)
    return _release(
        settings,
        Path(options.out or ""),
        settings.ledger,
        options.dry_run,
        options.show_baseline,
        options.wanted_iou,
        None if options.sign is None or options.dry_run else office_key(options.sign),
        options.same_records_as,
        options,
    )


def run_demo(options: argparse.Namespace) -> int:
    """Release a map of the sales that ship with the program, into a new folder.

    Raise `WorkflowError` if it cannot.
    """
    out, epsilon = new_place(options.out), field("epsilon").check(options.epsilon)
    settings = county_settings().with_changes(epsilon=epsilon)
    if options.ledger:
        ledger_to_plan(options.ledger)  # said before the folder is made
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkflowError(f"The example cannot be written to {out}: {error.strerror}.") from error
    try:
        return _release(settings, out / "bundle", options.ledger or str(out / "ledger.sqlite"), False, True)
    except BaseException:
        # No ledger was begun there and nothing drawn: the name stays free
        if not any(out.iterdir()):
            out.rmdir()
        raise


class _Printed(Listener):
    """Says on the terminal how far it is: on standard output nothing but what may be published."""

    project: Project | None = None
    tuned: Tuned | None = None

    def loaded(self, project: Project) -> None:
        """Print the report of reading and notes on the public area on standard error, for the
        curator."""
        self.project = project
        print(CURATOR_ONLY, *project.private.sentences(), *project.domain.notes, sep="\n", file=sys.stderr)

    def note(self, line: str) -> None:
        """On standard error: how long something takes is no part of a release."""
        print(line, file=sys.stderr)

    def progress(self, fraction: float, text: str) -> None:
        """One line that is written over again."""
        progress(fraction, text)

    def searched(self, tuned: Tuned) -> None:
        """What the search found, from reference data alone."""
        self.tuned = tuned
        end_progress()
        _print_search(tuned)

    def foretold(self, lines: Sequence[str]) -> None:
        """What each map of an atlas is expected to show, from simulated worlds alone."""
        end_progress()
        print("", *lines, sep="\n")

    def solved(self, sentence: str) -> None:
        """The epsilon that a wanted agreement needs."""
        print(f"  {sentence}")


def _release(
    settings: Settings,
    out: Path,
    place: str | None,
    dry: bool,
    baseline: bool,
    wanted: float | None = None,
    key: Ed25519PrivateKey | None = None,
    same_as: Sequence[int] = (),
    options: argparse.Namespace | None = None,
) -> int:
    if not dry:
        new_place(new_place(out).with_name(f"{out.name}.zip"))
    elif isinstance(settings, ReleaseSettings) and settings.pilot is not None:
        raise WorkflowError(
            f"A pilot spends budget, so it has no dry run: leave --dry-run or {flag_of(field('pilot'))} out."
        )
    if options is not None:
        settings = with_resolution(settings, options)
    listener = _Printed()
    try:
        planned = plan_settings(settings, place, listener, wanted=wanted, same_as=same_as, pay=not dry)
    except LowAgreement:
        _print_remedies(listener)
        raise
    plan = planned.plan
    print("\nReceipt")
    _print_receipt(plan.receipt)
    _print_shared(plan)
    _print_alike(plan.preview.alike)
    if dry:
        planned.check()
        if weak(plan.choice.expected):
            _print_remedies(listener)
        print("\nDry run: nothing was drawn or charged. The ledger would accept it now.")
        return 0
    published = publish_planned(planned, out)
    if options is not None:
        options.released = _outcome(planned, published)
    with told_that_it_stands(published.release.release_id, published.folder):
        if key is not None:
            _sign(published, key)
        where = f"bundle in {published.folder} and {published.archive}"
        print(f"\nReleased as {published.release.release_id}; {where}.")
        if key is not None:
            print(f"Signed with the key {fingerprint(key.public_key().public_bytes_raw())}.")
        _print_written(published.folder, plan, planned.tuned if baseline else None)
    return 0


def _outcome(planned: Planned, published: Published) -> dict[str, Any]:
    """What the line of JSON says of a release."""
    return {
        "release": published.release.release_id,
        "bundle": str(published.folder),
        "archive": str(published.archive),
        "epsilon": planned.epsilon,
        "delta": planned.delta,
    }


def _print_written(folder: Path, plan: Plan, tuned: Tuned | None) -> None:
    """What the bundle says of its maps, and with a search the curator's comparison."""
    if isinstance(plan, AtlasPlan):
        for line in atlas_sentences(atlas_from_contents(contents_of(folder), compared=True)):
            print(f"  {line}")
        return
    bundle = read_bundle(folder, just_written=True)
    for line in how_right(bundle.statement, bundle.published):
        print(f"  {line}")
    if tuned is not None:
        _print_baseline(plan.project, tuned, bundle)


def atlas_sentences(atlas: AtlasBundle) -> Iterator[str]:
    """What all maps promise together, then each layer with how right its map is."""
    yield atlas.statement["atlas"]["in_words"]
    yield from (block["in_words"] for block in atlas.statement.get("derived", ()))
    for name, layer in zip(atlas.names, atlas.layers, strict=True):
        yield f"{name}: {' '.join((counted(layer.published), *how_right(layer.statement, layer.published)))}"


def _print_remedies(listener: _Printed) -> None:
    """Other choices with what simulations say of each, as they are tried; Ctrl-C leaves the rest
    out."""
    project, tuned = listener.project, listener.tuned
    if project is None or tuned is None:
        return
    text = "\nWhat helps, tried in simulation: nothing is drawn or charged (Ctrl-C leaves the rest out)"
    print(text, file=sys.stderr)
    try:
        for trial in try_remedies(project, tuned, progress):
            end_progress()
            print(
                f"  {trial.remedy.label} ({trial.remedy.flags}): {trial.says}{trial.loses}.", file=sys.stderr
            )
    except KeyboardInterrupt:
        end_progress()
    if lacks_reference(project.settings):
        print(f"  {REFERENCE} (--reference FILE).", file=sys.stderr)


def _sign(published: Published, key: Ed25519PrivateKey) -> None:
    try:
        sign_bundle(published.folder, key)
    except BundleError as error:
        raise WorkflowError(
            f"The release {published.release.release_id} stands in {published.folder}, but it is not signed: "
            f"{error} Sign it with `sign`."
        ) from error


def run_view(options: argparse.Namespace) -> int:
    """Print what a bundle says at a threshold; opens the bundle and nothing else.

    Raise `BundleError` if it is not valid, or has no counts for a density; `WorkflowError` for the
    threshold.
    """
    if options.out is not None and options.density is None:
        raise BundleError("Say with --density above how many records per square kilometre the file is about.")
    if options.out is not None:
        new_table(options.out)
    threshold = None if options.threshold is None else field("threshold").check(options.threshold)
    bundle = open_any(options.bundle)
    if isinstance(bundle, AtlasBundle):
        if options.layer is None:
            return _view_atlas(bundle, options)
        bundle = bundle.layer(options.layer)
    elif options.layer is not None or options.derive:
        raise BundleError(
            "This bundle is a map of one column and has no layers: leave --layer and --derive out."
        )
    viewer = Viewer(bundle)
    print(viewer.bundle.statement["release"]["title"])
    print(f"  {signers_of(options).says(viewer.bundle.signature)}")
    for doubt in () if options.layer else again.doubts(viewer.bundle):
        print(f"! {doubt}")
    for line in viewer.sentences(viewer.at(threshold)):
        print(f"  {line}")
    if options.density is not None:
        density = density_of(viewer.bundle, options.density)
        print(f"  {density.sentence}")
        if options.out is not None:
            print(f"  Written: {density.save(options.out)}.")
    return 0


def _view_atlas(atlas: AtlasBundle, options: argparse.Namespace) -> int:
    """Print what an atlas promises and what each of its maps shows, as published."""
    if options.threshold is not None or options.density is not None:
        raise BundleError(
            f"This bundle is an atlas: name the layer that is asked about with --layer, one of "
            f"{', '.join(atlas.names)}."
        )
    print(atlas.statement["release"]["title"])
    print(f"  {signers_of(options).says(atlas.signature)}")
    for doubt in atlas_doubts(atlas):
        print(f"! {doubt}")
    for line in atlas_sentences(atlas):
        print(f"  {line}")
    for typed in options.derive:
        print(f"  {derived_words(atlas.by_name, derived_from(typed))}")
    return 0


def _print_receipt(lines: tuple[ReceiptLine, ...]) -> None:
    width = max(len(line.topic) for line in lines)
    for line in lines:
        print(f"{'!' if line.warning else ' '} {line.topic:<{width}}  {line.text}")


def _print_shared(plan: Plan) -> None:
    """Curator only: no file has the exact number, since it tells who was in an earlier
    release."""
    standing = plan.preview.standing
    if standing is not None and standing.shared:
        print(f"\n{CURATOR_ONLY}\n  {shared_text(standing)}", file=sys.stderr)


def _print_alike(likenesses: Sequence[Alike]) -> None:
    """Curator only: likenesses come from private records, and no file has them."""
    if likenesses:
        print(f"\n{CURATOR_ONLY}", file=sys.stderr)
    for alike in likenesses:
        print(f"! {alike_text(alike)} --same-records-as {alike.entry} does that.", file=sys.stderr)


def _print_search(tuned: Tuned) -> None:
    free, design = tuned.result.unconstrained, tuned.result.chosen
    if tuned.result.fixed:
        print()
        for remark in tuned.remarks():
            print(remark)
        return
    print(f"\nTuned on {tuned.tried_on}, {plural(tuned.result.evaluated, 'design')} scored")
    print(f"  {'':<34}{'no privacy':>14}{'this release':>14}")
    rows = [("epsilon", free.epsilon, design.epsilon)]
    if not tuned.few:
        rows.append(("records on their right side", design.utility.aim_records, design.utility.records))
    rows.append(("effective dimension", free.utility.effective_dimension, design.utility.effective_dimension))
    if not tuned.few:
        rows += [
            ("held-out BCE", free.utility.bce, design.utility.bce),
            ("held-out IoU", free.utility.holdout_iou, design.utility.holdout_iou),
            ("IoU in judged hexagons", free.utility.agreement, design.utility.judged_iou),
        ]
    for name, left, right in rows:
        print(f"  {name:<34}{_figure(left):>14}{_figure(right):>14}")
    for remark in tuned.remarks():
        print(f"  {remark}")
    if tuned.few:
        return
    gap = tuned.result.iou_gap
    text = "undefined" if math.isnan(gap) else f"{100 * gap:.1f} %"
    print(f"  BCE increase {100 * tuned.result.bce_increase:.1f} %, IoU gap {text}")


def _figure(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.4g}"


def _print_baseline(project: Project, tuned: Tuned, bundle: Bundle) -> None:
    """Curator only: all of it is computed from private records, and no file has it."""
    baseline = curators_map(project, tuned.result.model, tuned.choice.cut)
    judged = bundle.published.judged
    agreement = compare(bundle.published.in_set, baseline.inside & judged)
    print(f"\n{CURATOR_ONLY}", file=sys.stderr)
    public = None if tuned.free_agreement is None else free_map(project, tuned.result.model)
    yardstick = own_records(project, bundle.published, public)
    for text in () if yardstick is None else filter(None, (yardstick.words, yardstick.advice)):
        print(f"  {text}", file=sys.stderr)
    text = agreement_words(agreement.iou)
    print(f"  IoU of the released set with the non-private baseline  {text}", file=sys.stderr)
    if public is not None:
        free = compare(public & judged, baseline.inside & judged)
        text = agreement_words(free.iou)
        print(f"  IoU of the free map (reference data only)              {text}", file=sys.stderr)
