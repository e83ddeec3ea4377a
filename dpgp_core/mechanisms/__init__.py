"""The mechanisms: private releases of a field on hexagons, and the functions of each."""

from __future__ import annotations

from dpgp_core.mechanisms.bin_means import BinMeans
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatistics
from dpgp_core.mechanisms.posterior_sampling import PosteriorSampling
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics

MECHANISMS.bring(PosteriorSampling(), NoisyCellStatistics(), SpectralStatistics(), BinMeans())
