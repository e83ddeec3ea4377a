"""The receipt: every public fact of a planned or finished release, one line each, warnings marked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core.conversion import epsilon_from_rdp
from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from workflow import words
from workflow.released import Guarded, ReceiptLine, ResponseScale, Tuning

# From here on the odds line is marked: any result may become over 100 times more likely. Small epsilons
# never carry a warning.
LARGE_EPSILON = math.log(100.0)
# n delta: the expected number of records that a mechanism of this delta might publish whole. Above this the
# receipt also says what a smaller delta would cost.
SMALL_EXPOSURE = 0.01


@dataclass(frozen=True)
class BudgetLine:
    """The dataset's budget around one release: epsilons at the release's delta, composed by the ledger.

    `budget` None means that no budget was set for the dataset.
    """

    before: float
    after: float
    budget: float | None = None

    @property
    def left(self) -> float | None:
        """What remains after the release, never negative; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget - self.after)


def build_receipt(
    privacy: Guarded,
    design: Design,
    response: ResponseScale,
    tuning: Tuning,
    *,
    cells: int,
    resolution: int,
    domain_origin: str,
    value_unit: str = "",
    ledger: BudgetLine | None = None,
    prior_mean_origin: str | None = None,
    generated: bool = False,
    simulation: bool = False,
) -> tuple[ReceiptLine, ...]:
    """Receipt lines from public facts only: the unit first, then what was fixed before, then the cost.

    Raises nothing of its own: the arguments are valid values already.
    """
    lines = [
        ReceiptLine("Unit of protection", words.protected_text(privacy.unit, privacy.unit_word, privacy.n)),
        _records_line(privacy),
        ReceiptLine("Domain", _domain(cells, resolution, domain_origin), not domain_origin),
        ReceiptLine("Centre", f"{_centre(response, value_unit)}; {_origin(response)}.", not response.origin),
        ReceiptLine(
            "Clip bound", f"{_clip(response, value_unit)}; {_origin(response)}.", not response.origin
        ),
    ]
    if prior_mean_origin is not None:
        lines.append(ReceiptLine("Prior mean", f"Public: {prior_mean_origin}."))
    lines += [
        ReceiptLine("Tuning", _tuning(tuning), not tuning.accounted),
        ReceiptLine("Mechanism", _mechanism(design)),
        ReceiptLine("Paths", _paths(design)),
        ReceiptLine(
            "Bound",
            f"{privacy.bound}: {privacy.bound_source}, {'proved' if privacy.proved else 'NOT proved'}.",
            not privacy.proved,
        ),
        ReceiptLine(
            "This release",
            f"epsilon {words.upper(privacy.epsilon)} at delta {words.upper(privacy.delta, 3)}.",
        ),
        _delta_line(privacy),
        *_ledger_lines(ledger),
        ReceiptLine(
            "In words",
            words.epsilon_sentence(privacy.epsilon, privacy.delta, privacy.unit_word),
            privacy.epsilon > LARGE_EPSILON,
        ),
        *(
            ReceiptLine("Group", words.group_sentence(q, epsilon, delta, privacy.unit_word))
            for q, epsilon, delta in privacy.group
        ),
    ]
    if generated:
        lines.append(ReceiptLine("Data", "Generated demo data: no real person is described."))
    if simulation:
        lines.append(ReceiptLine("Randomness", "Simulation with a fixed seed: not a private release.", True))
    return tuple(lines)


def _records_line(privacy: Guarded) -> ReceiptLine:
    noun = "non-empty cell" if privacy.unit == "cell" else privacy.unit_word
    return ReceiptLine("Records", f"{words.plural(privacy.n, noun)}; this number is treated as public.")


def _domain(cells: int, resolution: int, origin: str) -> str:
    return (
        f"{cells:,} H3 cells of resolution {resolution}: {origin or 'their origin is not stated'}".rstrip(".")
        + "."
    )


def _origin(response: ResponseScale) -> str:
    return response.origin or "its origin is not stated"


def _centre(response: ResponseScale, unit: str) -> str:
    if response.transform == "log":
        value = words.quantity(math.exp(response.centre), unit, 6)
        return f"{value} (log {words.significant(response.centre, 5)})"
    return words.quantity(response.centre, unit)


def _clip(response: ResponseScale, unit: str) -> str:
    if response.transform == "log":
        factor = words.significant(math.exp(response.clip), 3)
        return f"a factor of {factor} either way (log {words.significant(response.clip, 4)})"
    return f"{words.quantity(response.clip, unit)} either way"


def _tuning(tuning: Tuning) -> str:
    if not tuning.accounted:
        return (
            f"NOT ACCOUNTED: the design was chosen by looking at the private records. {tuning.detail}".strip()
        )
    text = f"{tuning.kind}: {tuning.detail}".rstrip(": ")
    if tuning.kind == "reference data":  # set aside, not published
        text += ". Records in the reference data are not protected by this statement."
    return text


def _mechanism(design: Design) -> str:
    if design.mechanism == NOISY_CELL_STATISTICS:
        text = f"Noisy cell statistics, noise {words.significant(design.statistic_noise, 4)} (response units)"
    else:
        ridge, scale = words.significant(design.ridge, 4), words.significant(design.scale, 4)
        text = f"Posterior sampling, ridge {ridge}, scale {scale}"
        if design.noise_scale > 0:
            text += f", prior noise {words.significant(design.noise_scale, 4)}"
    return f"{text}; prior {design.prior}, range {words.significant(design.lengthscale, 4)} m."


def _paths(design: Design) -> str:
    if design.mechanism == NOISY_CELL_STATISTICS:
        return f"{words.plural(design.paths, 'path')}, drawn after the noise: their number costs nothing."
    return f"{words.plural(design.paths, 'path')}; the stated epsilon covers all of them together."


def _delta_line(privacy: Guarded) -> ReceiptLine:
    """delta against 1/n, and what the same release costs at a delta that is small against it."""
    exposure = privacy.n * privacy.delta
    text = (
        f"delta {words.upper(privacy.delta, 3)} is {words.one_in(privacy.delta)}; "
        f"times n it is {words.upper(exposure, 2)}"
    )
    if exposure >= 1:
        remedy = "at least 1, so publishing whole records would be allowed. Choose a smaller delta"
        return ReceiptLine("Delta", f"{text}: {remedy}.", warning=True)
    if exposure > SMALL_EXPOSURE and privacy.rdp_orders:
        smaller = 10.0 ** math.floor(math.log10(SMALL_EXPOSURE / privacy.n))
        orders, values = np.array(privacy.rdp_orders), np.array(privacy.rdp_values)
        epsilon = epsilon_from_rdp(orders, values, smaller).epsilon
        text += f". At delta {words.upper(smaller, 1)} the same release has epsilon {words.upper(epsilon)}"
    return ReceiptLine("Delta", f"{text}.")


def _ledger_lines(ledger: BudgetLine | None) -> tuple[ReceiptLine, ...]:
    if ledger is None:
        return ()
    before, after = (words.upper(value) for value in (ledger.before, ledger.after))
    spent = ReceiptLine(
        "Ledger", f"All releases of this dataset: epsilon {before} before, {after} after this one."
    )
    if ledger.left is None or ledger.budget is None:
        return (spent, ReceiptLine("Budget", "No budget is set for this dataset.", True))
    over = ledger.after > ledger.budget
    left = "over budget" if over else f"{words.significant(ledger.left, 4)} left"
    return (
        spent,
        ReceiptLine("Budget", f"epsilon {words.significant(ledger.budget, 4)} in total, {left}.", over),
    )
