"""An atlas that cannot be drawn is refused in one sentence, before a charge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from hexcursion.errors import WorkflowError
from hexcursion.releasing import atlas


def project() -> Any:
    return SimpleNamespace(
        value=np.array([[1.0, np.nan], [2.0, 3.0]]),
        layers=[SimpleNamespace(response=None)] * 2,
        settings=SimpleNamespace(names=("no2", "o3")),
        cell=np.array([0, 1]),
    )


def chosen(response: Any) -> Any:
    layer = SimpleNamespace(response=SimpleNamespace(response=response), public_map=None)
    return SimpleNamespace(design=None, facts=None, layers=[layer] * 2)


@pytest.mark.parametrize(
    "error",
    [InvalidValue("too little noise."), OverflowError("too large."), np.linalg.LinAlgError("singular.")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_stops_the_draw_is_said_as_a_refusal(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise error

    monkeypatch.setattr(atlas, "prepare_atlas", fail)
    with pytest.raises(WorkflowError, match=f"cannot be drawn, and nothing was charged: {error}"):
        atlas._prepared(project(), chosen(lambda values: values))


def test_a_missing_value_is_no_response_and_an_impossible_one_names_its_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(atlas, "prepare_atlas", lambda design, facts, cell, responses, fields: responses)
    made: Any = atlas._prepared(project(), chosen(lambda values: values / 10.0))
    np.testing.assert_array_equal(made, [[0.1, np.nan], [0.2, 0.3]])

    def refuse(values: np.ndarray) -> np.ndarray:
        raise InvalidValue("logarithms need values above 0.")

    with pytest.raises(WorkflowError, match="The column 'no2': logarithms need values above 0"):
        atlas._prepared(project(), chosen(refuse))
