"""Layers that follow from several layers of an atlas: their chances, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from dpgp_core.excursion import exceedance_probability
from hexcursion.bundle.atlas.derived import chance_of, derived_words
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import WorkflowError
from hexcursion.project.response import ResponseScale
from hexcursion.settings.derived import Derived, derived_from

LOG, PLAIN = ResponseScale("log", 2.0, 0.5, "public"), ResponseScale("identity", 10.0, 4.0, "public")
SUBJECT = {"value": "lead", "unit": "mg/kg", "threshold": 9.0, "direction": "above"}


def layer(scale: ResponseScale, mean: list[float], sd: list[float], threshold: float = 9.0) -> Any:
    field = np.array(mean), np.array(sd)
    chance = exceedance_probability(*field, float(scale.forward(threshold)), "above")
    published = SimpleNamespace(chance=chance, judged=np.array([True] * len(mean)))
    statement = {"subject": {**SUBJECT, "threshold": threshold}}
    return SimpleNamespace(response=scale, field=field, published=published, statement=statement)


def atlas(reading: str = "apart", **layers: Any) -> dict[str, Any]:
    for each in layers.values():
        each.statement |= {
            "design": {"reading": "likelier"},
            "products": {"cut_by_map": True} if reading == "together" else {},
        }
    return layers


ONE, TWO = ([0.3, -0.8, 0.0], [0.4, 0.2, 0.9]), ([-0.2, 0.6, 0.1], [0.3, 0.5, 0.4])
DRAWS = 400_000


def drawn(scale: ResponseScale, field: tuple[list[float], list[float]], seed: int) -> np.ndarray:
    """Values at one draw from each of as many equal parts of the normal law, in a random order."""
    shares = (np.random.default_rng(seed).permutation(DRAWS) + 0.5) / DRAWS
    mean, sd = map(np.array, field)
    return scale.value(mean[:, None] + sd[:, None] * ndtri(shares))


@pytest.mark.parametrize("scales", [(LOG, LOG), (PLAIN, LOG), (PLAIN, PLAIN), (LOG, PLAIN)])
@pytest.mark.parametrize("kind", ["ratio", "difference", "sum"])
def test_chances_are_those_of_joint_draws(kind: str, scales: tuple[ResponseScale, ResponseScale]) -> None:
    """400,000 draws of two independent fields, spread evenly, have an error of at most .0008."""
    first, second = scales
    found = atlas(a=layer(first, *ONE), b=layer(second, *TWO))
    threshold = {"ratio": 1.2, "difference": 0.7, "sum": 17.0}[kind]
    if kind == "ratio" and second is PLAIN:
        with pytest.raises(
            BundleError, match="'b' is modelled without logarithms, so ask about a difference"
        ):
            chance_of(found, Derived("ratio", ("a", "b"), threshold))
        return
    one, two = drawn(first, ONE, 1), drawn(second, TWO, 2)
    made = {"ratio": one / two, "difference": one - two, "sum": one + two}[kind]
    chance = chance_of(found, Derived(kind, ("a", "b"), threshold))  # type: ignore[arg-type]
    assert chance == pytest.approx((made > threshold).mean(axis=1), abs=0.0015)


def test_both_and_any_are_of_independent_chances() -> None:
    found = atlas(a=layer(PLAIN, [0.0, 0.0], [1.0, 1.0], 10.0), b=layer(PLAIN, [0.0, 50.0], [1.0, 1.0], 10.0))
    assert chance_of(found, Derived("both", ("a", "b"))) == pytest.approx([0.25, 0.5])
    assert chance_of(found, Derived("any", ("a", "b"))) == pytest.approx([0.75, 1.0])
    assert derived_words(found, Derived("any", ("a", "b"))) == (
        "any of lead above 10 mg/kg and lead above 10 mg/kg: 1 of 2 hexagons likely, 1 it cannot tell, 0 "
        "likely not; 1 with a chance of at least 90 %."
    )


BAD = {
    "one column": (["both", "a"], "different columns: name two or more"),
    "twice": (["any", "a", "a"], "different columns"),
    "no number": (["ratio", "a", "b"], "End a ratio with its threshold"),
    "three": (["sum", "a", "b", "c", "3"], "of two columns and has a threshold"),
    "kind": (["product", "a", "b"], "one of ratio, difference, sum, both and any, not 'product'"),
    "infinite": (["sum", "a", "b", "inf"], "a finite number"),
}


@pytest.mark.parametrize(("typed", "said"), BAD.values(), ids=BAD)
def test_what_is_no_derived_layer_is_refused(typed: list[str], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        derived_from(typed)


def test_columns_that_were_read_together_are_not_independent() -> None:
    found = atlas("together", a=layer(LOG, *ONE), b=layer(LOG, *TWO))
    with pytest.raises(BundleError, match="read together"):
        chance_of(found, Derived("both", ("a", "b")))
    with pytest.raises(BundleError, match="a ratio is above 0"):
        chance_of(atlas(a=layer(LOG, *ONE), b=layer(LOG, *TWO)), Derived("ratio", ("a", "b"), -1.0))
