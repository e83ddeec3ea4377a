"""Formats of a bundle: what an earlier version wrote still opens, and any mechanism's release is writable."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pytest
from jsonschema import Draft202012Validator, SchemaError

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.designs import StatementValidator, _validator, variant
from hexcursion.bundle.write import bundle_contents
from hexcursion.record import Expected, Release
from tests.hexcursion.bundle.bundle_samples import groups_of, guarded, make_release

SPECTRAL = SpectralStatisticsDesign(
    "water-filled", "car", 900.0, 0.5, 0.1, 0.6, 1.0, 1.2, 0.5, paths=4, cutoff=0.4
)


def spectral_release(domain: Domain) -> Release:
    """A Gaussian mechanism at mu 0.5, with a field whose probabilities rise to the east."""
    cost = Cost.gaussian(0.5, 2.0**-150)
    privacy = replace(
        guarded(),
        epsilon=gaussian_epsilon(0.5, 1e-5),
        order=None,
        bound="gaussian-mechanism",
        rdp_orders=tuple(ORDERS.tolist()),
        rdp_values=tuple(cost.curve.values.tolist()),
        gaussian_mu=0.5,
        cost=cost,
        group=groups_of(cost),
        bound_source=SpectralStatistics.source,
    )
    east = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()
    return make_release(
        domain,
        paths=4,
        design=SPECTRAL,
        privacy=privacy,
        mean=east,
        sd=np.full(domain.size, 0.3),
        expected=Expected(0.734, 0.051, 0.862, "public reference data"),
    )


def test_a_mechanism_that_is_registered_later_is_written_and_read(domain: Domain) -> None:
    release = spectral_release(domain)
    contents = bundle_contents(release)
    bundle = bundle_from_contents(contents)
    statement = json.loads(contents["statement.json"])
    assert statement["schema"] == "hexcursion-statement-2"
    assert statement["design"] == {
        "mechanism": "spectral-statistics", "paths": 4, "smoothing": 0, "cutoff": 0.4,
        "strategy": "water-filled", "prior": "car", "lengthscale": 900.0, "signal": 0.5, "middle": 0.1,
        "spread": 0.6, "amplitude": 1.0, "ridge": 1.2, "mu": 0.5, "common": 0.0, "cutoff_from": "design",
        "drift": False, "covariates": 0.0, "law": "amount", "first": 0.0, "tight": 0.9,
        "pool_records": 0.0, "pool_mu": 0.0,
    }  # fmt: skip
    assert statement["guarantee"]["cost"] == {
        "gaussian_mu": 0.5,
        "distance": 2.0**-150,
        "neighbours": "replace-one",
    }
    assert statement["guarantee"]["epsilon"] == pytest.approx(1.9931, abs=5e-4)
    assert statement["expected"]["in_words"] == (
        "Expected, from public reference data: agreement (intersection over union) 0.73 with the map without "
        "privacy, area wrong by 5.1 %, 86 % of the shown hexagons right."
    )
    assert bundle.field is not None
    np.testing.assert_allclose(bundle.field[0], release.mean, atol=2.0**-21)
    assert np.all(bundle.field[1] >= 0.3)
    probability = bundle.published.probability
    assert probability is not None
    assert np.array_equal(bundle.published.vote_set, probability >= 0.4 - 1e-9)
    assert b'"const": "spectral-statistics"' in contents["statement-2.schema.json"]
    assert b"statistic_noise" not in contents["statement-2.schema.json"]


def test_a_reader_that_lacks_the_mechanism_says_so(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = bundle_contents(spectral_release(domain))
    others = {name: MECHANISMS[name] for name in MECHANISMS.own if name != "spectral-statistics"}
    monkeypatch.setattr(MECHANISMS, "_held", others)
    with pytest.raises(BundleError, match="The mechanism 'spectral-statistics' is not known here: install"):
        bundle_from_contents(contents)


@dataclass(frozen=True, kw_only=True)
class Odd(Design):
    mechanism: ClassVar[str] = "odd"

    levels: tuple[float, ...]
    kind: Literal["left", "right"] = "left"
    limit: float | None = None


def test_the_variant_follows_from_the_dataclass() -> None:
    made = variant(Odd)
    assert made["required"] == ["mechanism", "levels", "paths", "smoothing", "cutoff"]
    assert made["additionalProperties"] is False
    own = {
        name: part
        for name, part in made["properties"].items()
        if name not in ("paths", "smoothing", "cutoff")
    }
    assert own == {
        "mechanism": {"const": "odd"},
        "levels": {"type": "array", "maxItems": 10_000, "items": {"type": "number"}},
        "kind": {"enum": ["left", "right"]},
        "limit": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    }
    assert {item.name for item in dataclasses.fields(Odd)} < set(made["properties"])


def test_the_schema_itself_is_valid() -> None:
    """Checked here and not whenever a bundle is written: it is part of the program."""
    schema = _validator(tuple(MECHANISMS)).schema
    assert len(schema["required"]) > 5
    Draft202012Validator.check_schema(schema)
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema({**schema, "required": "all"})


@pytest.mark.parametrize("limit", ["minimum", "exclusiveMinimum"])
@pytest.mark.parametrize("bad", [-0.1, 0, True, "1", None])
def test_one_bad_number_of_a_curve_is_refused_as_the_standard_refuses_it(bad: object, limit: str) -> None:
    schema = {"items": {"type": "number", limit: 0}}
    told, own = (
        [(list(error.path), error.message) for error in validator(schema).iter_errors([*300 * [0.5], bad])]
        for validator in (Draft202012Validator, StatementValidator)
    )
    assert own == told
    assert bool(own) == (limit == "exclusiveMinimum" or bad != 0)
    assert {300} >= {place for path, _ in own for place in path}
