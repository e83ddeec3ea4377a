"""Strategies: the features each of them makes from public facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpgp_core.spectral.model as spectral_model
from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.features.gridded import Features
from dpgp_core.features.strategies import STRATEGIES, StrategyFacts, make_features
from dpgp_core.features.strategies import StrategyFacts as Facts
from dpgp_core.priors.registry import make_prior
from tests.dpgp_core.features.worlds import model_on, plan_for, prepared


def facts_of(**changes: object) -> StrategyFacts:
    model = model_on(4)
    correlation = make_prior("exponential", model.nodes.lattice, 1_500.0).correlation()
    values_of, vectors = np.linalg.eigh(correlation)
    values: dict[str, object] = {
        "nodes": model.nodes,
        "pairs": Eigenpairs(values_of[::-1], vectors[:, ::-1], correlation.diagonal()),
        "lengthscale": 1_500.0,
        "decay": 1.5,
        "density": 4.0,
        "deviation": 0.4,
        "record_noise": 0.5,
        "noise": 4.0,
        "hierarchy": model.hierarchy,
    }
    return Facts(**{**values, **changes})  # type: ignore[arg-type]


def test_the_registry_has_the_five_strategies() -> None:
    assert list(STRATEGIES) == ["water-filled", "coloured", "plane-waves", "parent-tree", "identity"]
    assert all(name == strategy.name for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_row_has_length_one_to_the_grid_and_never_more(strategy: str) -> None:
    features = make_features(strategy, facts_of())
    squares = np.sum(features.values**2, axis=1)
    assert float(squares.max()) <= 1.0
    assert float(squares.min()) > 1.0 - 1e-4
    assert np.array_equal(features.whole * 2.0**-20, features.values)
    assert features.nodes == 61


def test_identity_is_one_number_per_cell() -> None:
    assert np.array_equal(make_features("identity", facts_of()).values, np.eye(61))


def test_water_filling_releases_fewer_numbers_where_noise_is_larger() -> None:
    sizes = [make_features("water-filled", facts_of(noise=noise)).size for noise in (0.5, 4.0, 40.0)]
    assert sizes[0] > sizes[1] > sizes[2] >= 1


def test_coloured_features_have_the_priors_own_correlation() -> None:
    facts = facts_of()
    made = make_features("coloured", facts).values
    prior = (facts.pairs.vectors * facts.pairs.values) @ facts.pairs.vectors.T
    assert np.allclose(made @ made.T, prior, atol=1e-4)


def test_plane_waves_depend_on_the_way_between_cells_only() -> None:
    facts = facts_of()
    made = make_features("plane-waves", facts).values
    products, centres = made @ made.T, facts.nodes.lattice.domain_centres
    steps = np.round(centres[:, None] - centres[None], 3)
    same = np.all(steps == steps[0, 1], axis=2)
    assert int(same.sum()) > 20
    assert float(np.ptp(products[same])) < 1e-4


def test_the_tree_counts_shared_parents() -> None:
    facts = facts_of()
    made = make_features("parent-tree", facts).values
    products = made @ made.T
    assert float(products.min()) >= 0.0
    fine, coarse = facts.hierarchy[1], facts.hierarchy[0]
    cousins = (fine[:, None] != fine[None]) & (coarse[:, None] == coarse[None])
    siblings = (fine[:, None] == fine[None]) & ~np.eye(61, dtype=bool)
    strangers = (coarse[:, None] != coarse[None]) & (fine[:, None] != fine[None])
    assert float(products[strangers].max()) <= float(products[cousins].min()) + 1e-9
    assert float(products[siblings & (coarse[:, None] == coarse[None])].min()) > 0.1


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown strategy 'haar'"):
        make_features("haar", facts_of())
    with pytest.raises(ValueError, match="needs a public hierarchy"):
        make_features("parent-tree", facts_of(hierarchy=()))
    with pytest.raises(ValueError, match="one parent label per node"):
        facts_of(hierarchy=(np.zeros(3, dtype=np.int64),))
    with pytest.raises(ValueError, match="density"):
        facts_of(density=0.0)
    with pytest.raises(ValueError, match="one parent label per cell"):
        model_on(4).__class__(model_on(4).nodes.lattice, hierarchy=[np.zeros(3, dtype=np.int64)])


def test_features_off_the_grid_or_too_long_are_refused() -> None:
    with pytest.raises(ValueError, match="multiples"):
        Features("identity", np.array([[0.5]]))
    with pytest.raises(ValueError, match="length at most 1"):
        Features("identity", np.full((1, 2), 2.0**20))
    with pytest.raises(ValueError, match="all features are zero"):
        Features("identity", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one row per node"):
        Features("identity", np.zeros((0, 2)))
    with pytest.raises(ValueError, match="finite"):
        Features.of("identity", np.array([[np.nan]]))


@pytest.mark.parametrize(("prior", "decay"), [("exponential", 1.5), ("car", 1.0), ("matern32", 2.5)])
def test_a_model_takes_the_exponent_of_its_prior(
    prior: str, decay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No prior gets another one's: plane waves would be weighed by a spectrum that nobody assumed."""
    read: list[float] = []

    def remember(name: str, facts: StrategyFacts) -> Features:
        read.append(facts.decay)
        return make_features(name, facts)

    monkeypatch.setattr(spectral_model, "make_features", remember)
    model_on(3).prepare(replace(plan_for("plane-waves"), prior=prior))
    assert read == [decay]


def test_rows_are_rounded_towards_zero() -> None:
    made = Features.of("identity", np.array([[3.0, -4.0], [0.0, 0.0], [1e-9, 1.0]]))
    assert made.whole.tolist() == [[629145, -838860], [0, 0], [0, 1048576]]


def test_a_model_keeps_what_it_prepared() -> None:
    model = model_on(3)
    assert model.prepare(plan_for()).features is model.prepare(plan_for()).features
    assert model.prepare(plan_for(mu=0.6)) is not model.prepare(plan_for())
    assert prepared().products == prepared().products
