"""The release transaction: plan, reserve, draw once, store, commit."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpgp_core.conversion import group_privacy
from dpgp_core.entropy import SystemEntropy, random_name
from dpgp_core.guarantee import guarantee
from dpgp_core.mechanisms import draw_paths
from dpgp_core.orders import ORDERS
from dpgp_core.priors import make_prior
from geo import geometry_dict
from workflow.bundle import rehearse_bundle, write_bundle
from workflow.bundle.layout import SUMS
from workflow.errors import WorkflowError
from workflow.ledger import Charge, Ledger, Preview
from workflow.ledger.places import home
from workflow.pilot import fingerprint
from workflow.project import Project
from workflow.receipt import BudgetLine, build_receipt
from workflow.records import BinnedRecords, bin_records
from workflow.released import Guarded, ReceiptLine, Release
from workflow.tuning import Choice
from workflow.words import significant

UNWRITTEN = f"0:{'0' * 64}"  # stands for the ledger entry while a bundle is rehearsed
AT_EDGE = "The best Renyi order lies at the edge of the public grid: epsilon is valid, but may be loose."
GROUPS = (2, 5, 10)  # records of one person, for the group lines of the statement


@dataclass(frozen=True)
class Plan:
    """A release as it would be: its facts, its charge and its receipt. Nothing is drawn, nothing charged.

    binned   private records (curator only)
    preview  what the ledger says of the charge now
    """

    project: Project
    choice: Choice
    binned: BinnedRecords
    privacy: Guarded
    charge: Charge
    preview: Preview
    receipt: tuple[ReceiptLine, ...]


@dataclass(frozen=True)
class Published:
    """A release that was charged, drawn, stored and committed."""

    release: Release
    folder: Path
    archive: Path


def plan_release(project: Project, choice: Choice, ledger: Ledger) -> Plan:
    """Everything the curator should read before the button; refuses unproved bounds and infinite costs."""
    settings, design = project.settings, choice.design
    mean = None if choice.public_map is None else choice.public_map.mean
    binned = bin_records(project.private.placed, choice.response, settings.unit, mean)
    facts = make_prior(design.prior, project.lattice, design.lengthscale)
    proved = guarantee(design, binned.n, facts)
    curve = proved.curve if project.pilot is None else proved.curve + project.pilot.curve
    bound = proved.epsilon(settings.delta) if project.pilot is None else curve.epsilon(settings.delta)
    if not np.isfinite(bound.epsilon):
        raise WorkflowError("This design has no finite guarantee: raise the ridge or the scale.")
    privacy = Guarded(
        epsilon=bound.epsilon,
        delta=settings.delta,
        order=bound.order,
        unit=settings.unit,
        unit_word=settings.unit_word,
        n=binned.n,
        bound=proved.bound,
        bound_source=proved.source,
        proved=proved.proved,
        rdp_orders=tuple(float(order) for order in ORDERS),
        rdp_values=tuple(float(value) for value in curve.values),
        group=tuple((q, *group_privacy(bound.epsilon, settings.delta, q)) for q in GROUPS),
    )
    charge = Charge(
        dataset=fingerprint(project, ledger),
        unit=settings.unit,
        curve=proved.curve,
        facts={
            "title": _title(project),
            "mechanism": design.mechanism,
            "bound": proved.bound,
            "epsilon": bound.epsilon,
            "delta": settings.delta,
            "n": binned.n,
            "tuning": choice.tuning.kind,
        },
        gaussian_mu=proved.exact_gaussian_mu,
    )
    preview = ledger.preview(charge, settings.delta)
    receipt = _receipt(project, choice, privacy, preview)
    if bound.at_edge:
        receipt += (ReceiptLine("Orders", AT_EDGE),)
    return Plan(project, choice, binned, privacy, charge, preview, receipt)


def publish(plan: Plan, ledger: Ledger, folder: Path | None = None) -> Published:
    """Reserve, draw once from operating-system entropy, write the bundle, commit.

    A dataset without a budget gets this release's epsilon as its budget. Raises `BudgetExceeded` before
    anything is drawn; an error after the draw leaves the charge standing in the ledger.
    """
    release_id = random_name()
    target = folder if folder is not None else home() / "releases" / release_id
    blank = np.zeros((plan.choice.design.paths, plan.project.domain.size))
    rehearse_bundle(_release(plan, release_id, blank, UNWRITTEN), target)  # what fails here costs nothing
    settings = plan.project.settings
    if settings.budget is not None or plan.preview.budget is None:
        total = settings.budget if settings.budget is not None else plan.preview.asked
        ledger.set_budget(plan.charge.dataset, plan.charge.unit, total, settings.delta)
    design = plan.choice.design
    prior = make_prior(design.prior, plan.project.lattice, design.lengthscale)
    with ledger.charged(plan.charge) as reservation:
        reservation.begin_draw()
        paths = draw_paths(design, prior, plan.binned.records, SystemEntropy())
        release = _release(plan, release_id, paths, reservation.seal)
        written = write_bundle(release, target)
        try:
            digest = hashlib.sha256((written.directory / SUMS).read_bytes()).hexdigest()
            reservation.commit(release_id, digest)
        except BaseException:  # without its ledger entry a bundle must not stand; the charge does
            shutil.rmtree(written.directory)
            written.zip.unlink()
            raise
    return Published(release, written.directory, written.zip)


def _release(plan: Plan, release_id: str, paths: np.ndarray, seal: str) -> Release:
    project, choice = plan.project, plan.choice
    settings = project.settings
    mean = None if choice.public_map is None else choice.public_map.mean
    return Release(
        release_id=release_id,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        title=_title(project),
        cells=tuple(project.domain.cells),
        resolution=project.domain.resolution,
        region=geometry_dict(project.domain.region),
        response=choice.response,
        value_name=settings.value_name or ("price" if settings.data.is_sales else "value"),
        value_unit=_unit(project),
        threshold=settings.threshold,
        direction=settings.direction,
        design=choice.design,
        privacy=plan.privacy,
        tuning=choice.tuning,
        paths=paths if mean is None else paths + mean,
        receipt=plan.receipt,
        attribution=project.attribution,
        generated=project.generated,
        prior_mean=mean,
        domain_origin=project.domain.origin,
        ledger_entry=seal,
    )


def _receipt(project: Project, choice: Choice, privacy: Guarded, preview: Preview) -> tuple[ReceiptLine, ...]:
    standing = preview.asked if preview.budget is None else preview.budget.epsilon
    budget = standing if project.settings.budget is None else project.settings.budget
    return build_receipt(
        privacy,
        choice.design,
        choice.response,
        choice.tuning,
        cells=project.domain.size,
        resolution=project.domain.resolution,
        domain_origin=project.domain.origin,
        value_unit=_unit(project),
        ledger=BudgetLine(preview.before, preview.after, budget),
        prior_mean_origin=None if choice.public_map is None else choice.public_map.origin,
        generated=project.generated,
    )


def _title(project: Project) -> str:
    settings = project.settings
    if settings.title:
        return settings.title
    name = settings.value_name or ("Price" if settings.data.is_sales else "Value")
    return f"{name} {settings.direction} {significant(settings.threshold, 9)} {_unit(project)}".strip()


def _unit(project: Project) -> str:
    return project.settings.value_unit or project.private.observations.unit
