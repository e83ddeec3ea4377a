"""The proposal in words: which mechanism won in the trials, by how much, and what lies on an edge."""

from __future__ import annotations

import math

from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from dpgp_core.numbers import significant
from hexcursion.project.simulated import WORLD_RANGES
from hexcursion.record import Expected
from hexcursion.search.problem.task import Scored, SearchResult
from hexcursion.settings.names import TriedOn
from hexcursion.words import agreement_words, off_words, range_words, ratio_words, right_words

HALF = 0.5


def proposal_words(result: SearchResult, tried_on: TriedOn) -> str:
    """Say in one sentence what is proposed, what it is expected to reach, and what the others reached."""
    chosen = result.chosen
    title = mechanism_of(chosen.design).title
    said = (
        f"Proposed: {title} with a clip bound of {significant(chosen.response.clip, 3)}, because on "
        f"{tried_on} it {_reaches(chosen, result)}"
    )
    others = _others(result)
    if not others:
        return f"{said}."
    rest = "; ".join(
        f"{mechanism_named(name).title} {_reaches(best, result)} at its best" for name, best in others.items()
    )
    return f"{said}; {rest}."


def fixed_words(expected: Expected | None, result: SearchResult) -> tuple[str, ...]:
    """What is proposed without reference data, what simulated worlds tell of it, and what would tell more."""
    title = mechanism_of(result.chosen.design).title
    said = f"No reference data: one fixed design of {title.lower()}, nothing was searched."
    if expected is None or expected.agreement is None or expected.low is None or expected.high is None:
        return (said, "In all simulated worlds the map has one side only, so no agreement can be told.")
    told = range_words(expected.low, expected.high, little=expected.little)
    ranges = ", ".join(f"{each:g}" for each in WORLD_RANGES)
    return (
        f"{said} In simulated worlds, with ranges of {ranges} hexagons, it reaches an agreement (IoU) of "
        f"{ratio_words(expected.agreement)} on average, {told}.",
        beside_words(result),
        "The private values may be unlike all of these worlds: reference data would tell more.",
    )


def early_words(result: SearchResult) -> str:
    """Which mechanisms were not searched to their end, and why; "" where all were."""
    return " ".join(
        f"{mechanism_named(each.mechanism).title} was not searched further: of {each.designs:,} designs "
        f"across its grid the best reaches an agreement (IoU) of {agreement_words(each.agreement)}, too far "
        "behind."
        for each in result.left_early
    )


def start_words(plain: SearchResult, mapped: SearchResult) -> str:
    """What the best releases with and without the public map as prior mean reach."""
    return (
        f"Starting from the public map, the best release {_reaches(mapped.chosen, mapped)}; without it, the "
        f"best {_reaches(plain.chosen, plain)}. The better of the two is proposed."
    )


def beside_words(result: SearchResult) -> str:
    """What stands beside the agreement: area, shown hexagons, and the map of one colour."""
    found, said = result.chosen.utility, []
    if math.isfinite(found.area_error):
        said.append(f"its area is {off_words(found.area_error)}")
    if math.isfinite(found.right):
        said.append(f"{right_words(found.right)} of the hexagons that it shows are right")
    said.append(f"a map of one colour would reach {ratio_words(result.one_colour)}")
    return f"Beside it: {', '.join(said)}."


def cutoff_words(result: SearchResult) -> str:
    """Say the cutoff from which hexagons are inside, what one half would reach, and the area errors of both.

    "" where the mechanism tried one cutoff only, one half is chosen, or they are those of another design.
    """
    chosen = result.chosen
    halves = (each for each in result.cutoffs if each.design == each.design.with_cutoff(HALF))
    half = next(halves, None)
    own = any(each.design == chosen.design for each in result.cutoffs)
    if half is None or not own or chosen.design == half.design:
        return ""
    given = chosen.design == chosen.design.with_cutoff(chosen.design.cutoff)
    start = (
        f"A hexagon is inside from a probability of {significant(chosen.design.cutoff, 2)} on: the agreement"
        if given
        else "From which probability on a hexagon is inside is read from the release itself: the agreement"
    )
    return f"{start} (IoU) is then {_with_area(chosen)}. From one half on it would be {_with_area(half)}."


def _with_area(scored: Scored) -> str:
    area = scored.utility.area_error
    beside = f", the area {off_words(area)}" if math.isfinite(area) else ""
    return f"{agreement_words(scored.utility.agreement)}{beside}"


def edge_words(result: SearchResult) -> tuple[str, ...]:
    """A sentence for everything chosen that is the least or the most the search tried."""
    if not result.on_edge:
        return ()
    parts = " and ".join(f"{what} ({end})" for what, end in result.on_edge)
    return (
        f"At the end of what was tried: {parts}. Beyond it another design may do a little better; vary it by "
        "hand to see.",
    )


def _reaches(scored: Scored, result: SearchResult) -> str:
    if result.objective == "bce":
        return f"has a cross-entropy of {scored.utility.bce:.3f}"
    agreement = scored.utility.agreement
    if math.isnan(agreement):
        return "has no agreement (IoU), as their map has one side only"
    return f"reaches an agreement (IoU) of {ratio_words(agreement)}"


def _others(result: SearchResult) -> dict[str, Scored]:
    """The best design at the chosen one's budget of every other mechanism, the best first."""
    budgets = {
        point.epsilon for point in result.frontier
        if point.scored.design == result.chosen.design and point.scored.response == result.chosen.response
    }  # fmt: skip

    def loss(scored: Scored) -> float:
        return scored.utility.bce if result.objective == "bce" else -scored.utility.known_agreement

    best: dict[str, Scored] = {}
    for point in result.frontier:
        name = point.scored.design.mechanism
        if point.epsilon not in budgets or name == result.chosen.design.mechanism:
            continue
        if name not in best or loss(point.scored) < loss(best[name]):
            best[name] = point.scored
    return dict(sorted(best.items(), key=lambda item: loss(item[1])))
