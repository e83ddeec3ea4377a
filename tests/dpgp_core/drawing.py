"""Releases and prices of a design under a prior that a test has made itself."""

from __future__ import annotations

from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.releasing import draw_release as draw_prepared


def facts_of(prior: Prior, n: int, places_public: bool = False) -> PublicFacts:
    """Public facts whose prior is the given one, whatever its scale."""
    facts = PublicFacts(prior.lattice, n, places_public=places_public)
    facts.cache.keep("prior", (prior.name, prior.lengthscale), lambda: prior)
    return facts


def guarantee(design: Design, n: int, prior: Prior) -> Guarantee:
    """What the design's mechanism says it costs, with places public where it protects values only."""
    mechanism = mechanism_of(design)
    return mechanism.guarantee(design, facts_of(prior, n, mechanism.protection.what == "values"))


def draw_release(
    design: Design, prior: Prior, records: CollapsedRecords, entropy: Entropy, *, simulation: bool = False
) -> Released:
    """One release, prepared and drawn."""
    mechanism = mechanism_of(design)
    facts = facts_of(prior, records.n, mechanism.protection.what == "values")
    prepared = mechanism.prepare(design, facts, records)
    return draw_prepared(prepared, entropy, simulation=simulation)


def draw_paths(
    design: Design, prior: Prior, records: CollapsedRecords, entropy: Entropy, *, simulation: bool = False
) -> Floats:
    """(L, N) paths of one release."""
    return draw_release(design, prior, records, entropy, simulation=simulation).paths
