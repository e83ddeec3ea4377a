"""The registry of mechanisms: one line for each of ours, and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.bin_means import BinMeans
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatistics
from dpgp_core.mechanisms.posterior_sampling import PosteriorSampling
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.plugins import Registry

_OWN: tuple[Mechanism, ...] = (PosteriorSampling(), NoisyCellStatistics(), SpectralStatistics(), BinMeans())
MECHANISMS = Registry("hexcursion.mechanisms", {each.name: each for each in _OWN}, Mechanism)


def mechanism_of(design: Design) -> Mechanism:
    """The mechanism that a design belongs to."""
    return mechanism_named(design.mechanism)


def mechanism_named(name: str) -> Mechanism:
    """The mechanism of a name; raises DesignError, which names the known ones, for another."""
    if name not in MECHANISMS:
        raise DesignError(f"unknown mechanism {name!r}: choose one of {', '.join(sorted(MECHANISMS))}.")
    return MECHANISMS[name]


def design_from_mapping(values: Mapping[str, Any]) -> Design:
    """The design of a tagged mapping, as settings files and statements hold it.

    Raises
    ------
    DesignError
        If no mechanism is named, or its parameters are unknown, missing or impossible.
    """
    name = values.get("mechanism")
    if not isinstance(name, str):
        raise DesignError("A design names its mechanism.")
    return mechanism_named(name).design_type.from_mapping(values)
