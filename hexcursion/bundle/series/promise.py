"""What releases of several periods promise together: for one record, and for who has one in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.composition import epsilon as composed
from dpgp_core.accounting.guarantee import priced_for, together
from dpgp_core.numbers import upper
from hexcursion.bundle.series.gather import Series
from hexcursion.bundle.statement.recomputed import stated_cost
from hexcursion.ledger.periods import PeriodsShared, nothing_known

SIMULATED = (
    "At least one release is a simulation, which protects nobody: the epsilons are what a release costs."
)
SHARED = (
    "Records that are in several releases are read as if each release had its own: what they have in common "
    "may be known a little less well than is stated."
)
FREE = "Reading the releases together costs nothing: it computes with what each of them published."


@dataclass(frozen=True)
class Promise:
    """What holds for whom."""

    delta: float  # at which all epsilons here are stated: the smallest of the releases' own
    # epsilon of any one record; None where it is not known which releases share records, and of hexagons
    one_record: float | None
    # epsilon of somebody with a record in every period, and of a record that is in all of them
    every_period: float
    sentences: tuple[str, ...]  # the same in words


def promise_of(series: Series, shared: PeriodsShared | None = None) -> Promise:
    """What the releases of a series promise together. `shared`: what the curator's ledger knows of their
    records; None where nobody asked one."""
    guarantees = [bundle.statement["guarantee"] for bundle in series.bundles]
    costs = [stated_cost(each) for each in guarantees]
    delta = min(each["delta"] for each in guarantees)
    every = composed(together(costs), delta).epsilon
    named = {each["unit_word"] for each in guarantees}
    word, unit = named.pop() if len(named) == 1 else "record", guarantees[-1]["unit"]
    record = "hexagon's record" if unit == "cell" else word
    told = nothing_known(len(costs)) if shared is None else shared
    one = _one_record(costs, told, delta) if all(told.known) and unit != "cell" else None
    if unit == "cell":
        first = "A hexagon may have a record in every period, so nothing smaller is promised for one hexagon."
    else:
        first = _of_one(one, every, delta, record, shared, told, series.labels)
    said = [FREE, first]
    if any(bundle.statement["release"]["simulation"] for bundle in series.bundles):
        said.insert(0, SIMULATED)
    many = f"Somebody with one {record} in each of the {len(costs)} periods"
    said.append(f"{many}: epsilon {upper(every)} at delta {upper(delta, 3)}, all releases together.")
    said.append("Other releases of the same records, outside of this series, come on top.")
    if set(told.pairs.values()) & {"same", "shared"}:
        said.append(SHARED)
    if (hidden := together(costs).neighbours) == "values-only":
        said.append("These epsilons hide values only: at least one of the releases takes places as public.")
    elif len({cost.neighbours for cost in costs}) > 1:
        said.append(f"The releases promise different things; the epsilons here are of the weakest, {hidden}.")
    return Promise(delta, one, every, tuple(said))


def _one_record(costs: Sequence[Cost], told: PeriodsShared, delta: float) -> float:
    """The most that the releases which may hold one record cost together, for what all releases hide."""
    hidden = together(costs).neighbours
    groups = [
        priced_for(together(costs[k] for k in told.together_with(place)), hidden)
        for place in range(len(costs))
    ]
    return max(composed(each, delta).epsilon for each in groups)


def _of_one(
    one: float | None, every: float, delta: float, record: str, shared: PeriodsShared | None,
    told: PeriodsShared, labels: Sequence[str],
) -> str:  # fmt: skip
    at = f"at delta {upper(delta, 3)}"
    if shared is None:
        return (
            f"One {record}: no ledger was asked, so it is not known whether one is in several of these "
            f"releases. If in one only, epsilon is that of this release; if in all, {upper(every)} {at}."
        )
    if one is None:
        missing = ", ".join(label for label, known in zip(labels, told.known, strict=True) if not known)
        return (
            f"One {record}: the ledger does not know the records of {missing}, so nothing shows that periods "
            f"are disjoint. Epsilon {upper(every)} {at} covers one that is in all of them."
        )
    kinds = set(told.pairs.values())
    if kinds & {"same", "shared", "unknown"}:
        return (
            f"One {record}: epsilon at most {upper(one)} {at}. Some of these releases hold, or may hold, the "
            "same records by the curator's ledger, and their costs are added."
        )
    said = "The curator's ledger recognises none in two of these releases (by the hashes of all records)."
    if "none in a sample" in kinds:
        said = (
            "The curator's ledger recognises none in two of these releases in a sample of their hashes: a "
            f"few may be missed, and one that is in all costs {upper(every)}."
        )
    if "kept apart" in kinds:
        said = "That no two releases hold the same one is, for some of them, the word of a person alone."
    return f"One {record}: epsilon {upper(one)} {at}, however many periods are published. {said}"
