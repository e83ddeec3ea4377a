"""The statement's evaluation: a field for each component that NIST SP 800-226 asks a reader to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.numbers import upper
from hexcursion.bundle.statement.expected import expected_words
from hexcursion.bundle.untrusted import clean
from hexcursion.settings.privacy_settings import LONGEST, UNSAID, StatedFacts

FRAMEWORK = "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025)"
# What only the curator knows, by the field of the settings; in the order of the statement.
STATED = (
    "trust_model",
    "actors",
    "collection",
    "retention",
    "access",
    "further_releases",
    "justification",
    "contact",
)
SYSTEM = "Every random number came from the operating system's generator; no seed exists and none was kept."
SEEDED = "Simulation: random numbers came from a fixed seed, so that this is not a private release."
GRID = (
    "Everything released is a multiple of 2^-20 response units, so that the low digits of a number tell "
    "nothing."
)
EXACT = "The proof covers the numbers as a computer draws them."
DOUBLE = "The proof is for real numbers; the noise itself is drawn in double precision."
BIAS = (
    "Errors are not spread evenly: where records are few, the map follows its model more than the records, "
    "so that sparse places are less often right than dense ones, and small groups of hexagons tend to be "
    "smoothed away."
)


def evaluation_block(statement: Mapping[str, Any], stated: StatedFacts) -> dict[str, Any]:
    """The block: what follows from the rest of the statement, and what the curator states or does not."""
    said = {name: getattr(stated, name) for name in STATED}
    return following(statement) | {
        name: UNSAID if text is None else clean(text, LONGEST, f"What is stated as {name}")
        for name, text in said.items()
    }


def following(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that follow from the rest of the statement."""
    guarantee, release = statement["guarantee"], statement["release"]
    exact = mechanism_named(statement["design"]["mechanism"]).exact_on_a_computer
    return {
        "framework": FRAMEWORK,
        "parameters": (
            f"epsilon {upper(guarantee['epsilon'])} and delta {upper(guarantee['delta'], 3)} for "
            f"one {guarantee['unit_word']}"
        ),
        "unit": guarantee["protected"],
        "variant": guarantee["variant"],
        "neighbours": guarantee["neighbours"],
        "randomness": SEEDED if release["simulation"] else SYSTEM,
        "floating_point": f"{GRID} {EXACT if exact else DOUBLE}",
        "utility": expected_words(statement["expected"]),
        "bias": BIAS,
    }
