"""Releases to bundle: small, quick, and without anything private, made from a fixed simulation seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import group_epsilon
from dpgp_core.accounting.rdp import ORDERS, epsilon_from_rdp, group_privacy
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.priors.lattice import smooth
from geo import Domain, domain_from_bbox, geometry_dict
from hexcursion.bundle.statement.receipt import BudgetLine, ReceiptFacts, _ledger_lines, build_receipt
from hexcursion.bundle.statement.receipt_check import receipt_following
from hexcursion.ledger.sentences import neighbours_text
from hexcursion.project.response import ResponseScale
from hexcursion.promises import Protected
from hexcursion.record import GROUPS, PrivacyFacts, ReceiptLine, Release, Tuning
from hexcursion.releasing.release_guard import stop_or_state

RESPONSE = ResponseScale("log", 12.9, 1.2, "from public reference data: median and 90 % quantile of 2017")


def guarded(epsilon_scale: float = 0.3, unit: str = "point") -> PrivacyFacts:
    """A consistent set of privacy facts: a Gaussian-like RDP curve and what follows from it."""
    orders = ORDERS
    values = epsilon_scale * orders / 2
    values[-3:] = np.inf
    bound = epsilon_from_rdp(orders, values, 1e-5)
    group = tuple((q, *group_privacy(bound.epsilon, 1e-5, q)) for q in GROUPS)
    return PrivacyFacts(
        epsilon=bound.epsilon,
        delta=1e-5,
        order=bound.order,
        unit=unit,
        unit_word="sale" if unit == "point" else "cell",
        n=30_123 if unit == "point" else 661,
        bound="joint-sharp",
        bound_source="docs/joint-bound.md",
        proved=True,
        rdp_orders=tuple(orders.tolist()),
        rdp_values=tuple(values.tolist()),
        group=group,
    )


def groups_of(cost: Cost, delta: float = 1e-5) -> tuple[tuple[int, float, float], ...]:
    """The group lines that follow from a cost."""
    return tuple((q, group_epsilon(cost, q, delta).epsilon, delta) for q in GROUPS)


def make_release(domain: Domain, paths: int = 12, **changes: Any) -> Release:
    """A release on a domain: a smooth bump over its middle plus noise, thresholded at 442,413 pounds."""
    generator = np.random.default_rng(7)
    distance = np.linalg.norm(domain.centres, axis=1) / np.abs(domain.centres).max()
    noise = generator.normal(size=(paths, domain.size))
    values = 0.6 - 1.4 * distance + 0.8 * smooth(domain.adjacency, noise, 3)
    design = Design(
        prior="car",
        lengthscale=2000.0,
        ridge=1500.0,
        scale=0.4,
        paths=paths,
        smoothing=1,
        bound="joint-sharp",
    )
    privacy = guarded()
    tuning = Tuning("public reference data", "2017 sales, expected IoU.")
    release = Release(
        release_id="hx-20261121-7f3a",
        created="2026-11-21T09:30:00Z",
        title="Flats above the stamp duty line, London 2018",
        cells=domain.cells,
        resolution=domain.resolution,
        region=geometry_dict(domain.region),
        response=RESPONSE,
        value_name="price",
        value_unit="pounds",
        threshold=442_413.0,
        direction="above",
        design=design,
        privacy=privacy,
        tuning=tuning,
        paths=values,
        receipt=(),
        attribution=("Contains HM Land Registry data. Licensed under the Open Government Licence v3.0.",),
        domain_origin=domain.origin,
        ledger_entry="17",
    )
    made = replace(release, **changes)
    return made if "receipt" in changes else replace(made, receipt=receipt_of(made))


def receipt_of(release: Release) -> tuple[ReceiptLine, ...]:
    """The receipt that follows from a release, as the transaction writes it."""
    receipt = build_receipt(
        ReceiptFacts(
            release.privacy,
            release.design,
            release.response,
            release.tuning,
            cells=len(release.cells),
            resolution=release.resolution,
            domain_origin=release.domain_origin,
            value_unit=release.value_unit,
            ledger=BudgetLine(0.0, release.privacy.epsilon, 4.0),
            prior_mean_origin=None if release.prior_mean is None else "2017 map",
            generated=release.generated,
            simulation=release.simulation,
            relation=release.relation,
            protects=release.protects,
        )
    )
    if release.relative is not None:
        receipt = (*receipt, ReceiptLine("Question", release.relative.sentence))
    if release.covariates is not None:
        receipt = (*receipt, ReceiptLine("Covariates", release.covariates.sentence))
    if release.ledger_entry:
        kept = release.privacy
        protected = Protected(kept.unit_word, kept.unit, release.relation, release.protects)
        receipt = (*receipt, ReceiptLine("Neighbours", neighbours_text(protected)))
    expected = release.expected
    return receipt + (() if expected is None else stop_or_state(expected, None, True))


def retold(release: Release, **changes: Any) -> Release:
    """A changed release with the receipt that follows from it."""
    made = replace(release, **changes)
    return replace(made, receipt=receipt_of(made))


def following(statement: dict[str, Any]) -> dict[str, Any]:
    """A changed statement with the lines of the receipt that follow from it, as a careful forger does."""
    made = receipt_following(statement)
    told = {line.topic for line in made}
    rest = [line for line in statement["receipt"] if line["topic"] not in told]
    epsilon = statement["guarantee"]["epsilon"]
    spent = {line.topic: asdict(line) for line in _ledger_lines(BudgetLine(0.0, epsilon, max(4.0, epsilon)))}
    rest = [spent.get(line["topic"], line) for line in rest]
    statement["receipt"] = [asdict(line) for line in made] + rest
    return statement


def small_domain() -> Domain:
    """About 120 cells of central London at resolution 8."""
    return domain_from_bbox(-0.20, 51.47, -0.05, 51.54, 8)


def set_at(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """An edit of the entry at a path such as "release.paths" or "rows.0"."""

    def edit(target: Any) -> None:
        *parents, last = path.split(".")
        for part in parents:
            target = target[int(part)] if part.isdigit() else target[part]
        target[int(last) if last.isdigit() else last] = value

    return edit
