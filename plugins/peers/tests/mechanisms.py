"""Designs of the peers and their literal numbers, for the house's laws of all mechanisms."""

from __future__ import annotations

from typing import Any

import hexcursion_peers.neural.mechanism as neural
import hexcursion_peers.sparse.mechanism as sparse
from dpgp_core.mechanisms.label_sums import PreparedSums
from dpgp_core.releasing import PublicFacts
from hexcursion_peers.labels.cloaking import CloakingDesign
from hexcursion_peers.labels.functional import FunctionalDesign
from hexcursion_peers.neural.mechanism import ConvCnpDesign
from hexcursion_peers.neural.plan import channel_noise
from hexcursion_peers.sparse.mechanism import SparseGpDesign

BOTH, HIDDEN = ("point", "cell"), "values and places"
FOUR = (0.5, 0.45, 0.4, 0.35)
PEERS = ("sparse-gp", "convcnp", "cloaking", "functional")

EVERY: dict[str, Any] = {
    "sparse-gp": SparseGpDesign("car", 900.0, 1.5, 0.4, 900.0, 1.0, paths=3),
    "convcnp": ConvCnpDesign(300.0, 0.0, 0.5, 1.0, 1.2, 1.0, paths=3),
    "cloaking": CloakingDesign("car", 900.0, 1.5, 0.4, 1.0, paths=3),
    "functional": FunctionalDesign("car", 900.0, 1.5, 0.4, 1.0, paths=3),
}
DESIGNS: dict[str, Any] = {
    "sparse-gp": SparseGpDesign("car", 900.0, 1.5, 0.4, 900.0, 2.0, paths=3),
    "convcnp": ConvCnpDesign(300.0, 0.0, 0.5, 1.0, 1.2, 2.0, paths=3),
    "cloaking": CloakingDesign("car", 900.0, 1.5, 0.4, 2.0, paths=3),
    "functional": FunctionalDesign("car", 900.0, 1.5, 0.4, 2.0, paths=3),
}

# What a design is called in a line, at mu 1.23456.
SAID = {
    "sparse-gp": "inducing points 900 m apart, mu 1.235; prior car, range 900 m, read as shrunken",
    "convcnp": "encoder 300 m wide, mu 1.235; told a spread of 0.5 and a scatter of 1.2",
    "cloaking": "mu 1.235; prior car, range 900 m",
    "functional": "mu 1.235; prior car, range 900 m",
}
# Changes of a design, and how its line ends then.
SAID_OF_CHANGES = {
    "sparse-gp": (
        {"spacing": 812.345, "lengthscale": 912.345, "reading": "errors-in-variables"},
        "inducing points 812.3 m apart, mu 1; prior car, range 912.3 m, read as errors-in-variables",
    ),
    "convcnp": (
        {"width": 312.345, "spread": 0.412345, "amplitude": 1.5, "ridge": 1.23456, "mu": 0.123456},
        "encoder 312.3 m wide, mu 0.1235; told a spread of 0.619 and a scatter of 1.23",
    ),
    "cloaking": ({"lengthscale": 912.345}, "mu 1; prior car, range 912.3 m"),
}
RELEASED_ARRAYS = {"sparse-gp": 2, "convcnp": 2, "cloaking": 1, "functional": 1}

PARAMETERS = [
    (
        "sparse-gp",
        "lengthscale/lengthscale/length ridge/ridge/positive scale/model_scale/positive "
        "spacing/inducing_spacing/length balance/balance/positive mu/mu/positive",
    ),
    (
        "convcnp",
        "width/encoder_width/length ridge/ridge/positive amplitude/model_scale/positive mu/mu/positive",
    ),
    *(
        (
            name,
            "lengthscale/lengthscale/length ridge/ridge/positive scale/model_scale/positive "
            "blur/blur/positive mu/mu/positive",
        )
        for name in ("cloaking", "functional")
    ),
]
PROTECTIONS = [
    ("sparse-gp", HIDDEN, BOTH, ("replace-one",)),
    ("convcnp", HIDDEN, BOTH, ("replace-one",)),
    ("cloaking", "values", BOTH, ("replace-one",)),
    ("functional", "values", BOTH, ("replace-one",)),
]

# Simulation: what is added to the seed for the releases of all records.
SEEDS = {"sparse-gp": 7, "convcnp": 8, "cloaking": 6, "functional": 6}
SEEN_AS_PATHS = {"sparse-gp": True}  # what an attack sees of it is no raw number
CHANGES: dict[str, list[dict[str, Any]]] = {
    "sparse-gp": [{"lengthscale": 1400.0}, {"ridge": 0.5}, {"mu": 9.0}, {"spacing": 600.0}, {"scale": 0.9}],
    "convcnp": [{"width": 400.0}, {"ridge": 0.5}, {"mu": 9.0}, {"middle": 0.4}],
    "cloaking": [{"lengthscale": 1400.0}, {"ridge": 0.5}, {"mu": 9.0}, {"blur": 8.0}, {"scale": 0.9}],
    "functional": [{"lengthscale": 1400.0}, {"ridge": 0.5}, {"mu": 9.0}, {"blur": 8.0}],
}
MODULES = dict.fromkeys(
    f"hexcursion_peers.{name}"
    for name in ("labels.cloaking", "labels.functional", "neural.mechanism", "sparse.mechanism")
)

# Search: designs in a thorough grid on 37 hexagons, and beside the asked budget.
GRID_SIZES = [("sparse-gp", 20, 5), ("convcnp", 33, 8), ("cloaking", 12, 6), ("functional", 12, 6)]
GIVEN = [
    ("sparse-gp", SparseGpDesign("car", 900.0, 2.0, 0.6, 900.0, 1.0, paths=100)),
    ("convcnp", None),
    ("cloaking", CloakingDesign("car", 900.0, 2.0, 0.6, 1.0, 2.0, paths=100)),
    ("functional", FunctionalDesign("car", 900.0, 2.0, 0.6, 1.0, 2.0, paths=100)),
]
PRICED: dict[str, tuple[Any, dict[str, Any]]] = {
    "sparse-gp": (SparseGpDesign("car", 900.0, 2.0, 0.6, 900.0, 0.3), {"mu": 1.0}),
    "convcnp": (ConvCnpDesign(300.0, 0.1, 0.5, 1.0, 1.2, 0.3), {"mu": 1.0}),
    "cloaking": (CloakingDesign("car", 900.0, 2.0, 0.6, 0.3), {"mu": 1.0}),
    "functional": (FunctionalDesign("car", 900.0, 2.0, 0.6, 0.3), {"mu": 1.0}),
}
TOLD_OF_THE_FIELD = {"convcnp": True}  # mean and spread of a world go into its reading; it has no prior
CUTOFFS = [(name, FOUR) for name in ("cloaking", "functional", "sparse-gp")]
LABELS = {"cloaking": True, "functional": True}

# Cost: mu and pure epsilon of a design alone; where the distance of its noise is taken, of how many numbers.
LEAST_COSTS = [
    ("sparse-gp", 2.0, None),
    ("convcnp", None, None),
    ("cloaking", 2.0, None),
    ("functional", 2.0, None),
]
DISTANCES = [
    ("sparse-gp", "hexcursion_peers.sparse.mechanism", 37),
    ("convcnp", "hexcursion_peers.neural.mechanism", None),
    ("cloaking", "hexcursion_peers.labels.cloaking", 37),
    ("functional", "hexcursion_peers.labels.cloaking", 37),
]


def of_moments(mechanism: Any, design: Any, facts: PublicFacts, held: Any) -> list[Any]:
    """The second moment is symmetric: above the diagonal stands one number twice, of half the variance."""
    first, second = mechanism.plan(design, facts).noises(design)
    return [first, second]


def of_sums(mechanism: Any, design: Any, facts: PublicFacts, held: Any) -> list[Any]:
    """The deviation of the noise on all sums."""
    return [mechanism.plan(design, facts, held).noise_for(design.mu)]


def of_channels(mechanism: Any, design: Any, facts: PublicFacts, held: Any) -> list[Any]:
    """The deviations of the noise on both channels."""
    noise = channel_noise(design.mu, mechanism.plan(design, facts).products, design.accounting)
    return [noise.sums, noise.counts]


MU = 0.8
_LABEL = {"prior": "exponential", "lengthscale": 1500.0, "ridge": 1.0, "scale": 0.5, "mu": MU}
_NETWORK = {"width": 300.0, "middle": 0.0, "spread": 0.5, "amplitude": 1.0, "ridge": 1.0, "mu": MU}
_FILLED = {**_NETWORK, "width": 700.0, "sums": "water-filled"}
# Exact audit: mechanism, whether places are public, design, deviations of the noise.
AUDITED: dict[str, tuple[str, bool, dict[str, Any], Any]] = {
    "sparse gp": ("sparse-gp", False, {**_LABEL, "spacing": 700.0}, of_moments),
    "sparse gp, cheap second moment": (
        "sparse-gp",
        False,
        {**_LABEL, "spacing": 700.0, "balance": 0.05},
        of_moments,
    ),
    "cloaking": ("cloaking", True, _LABEL, of_sums),
    "cloaking by volume": ("cloaking", True, {**_LABEL, "criterion": "volume"}, of_sums),
    "functional": ("functional", True, _LABEL, of_sums),
    "neural process": ("convcnp", False, _NETWORK, of_channels),
    "neural process, water-filled": ("convcnp", False, _FILLED, of_channels),
    "neural process, water-filled, composed": (
        "convcnp",
        False,
        {**_FILLED, "accounting": "paper"},
        of_channels,
    ),
    "neural process, composed": ("convcnp", False, {**_NETWORK, "accounting": "paper"}, of_channels),
}

_MODEL = ("exponential", 1500.0, 1.0, 0.5)
KNOWN_PLACES: dict[str, Any] = {
    "cloaking": CloakingDesign(*_MODEL, 1.5, paths=4),
    "cloaking by volume": CloakingDesign(*_MODEL, 1.5, criterion="volume", paths=4),
    "functional": FunctionalDesign(*_MODEL, 1.5, paths=4),
}

# Releases: where private numbers become released ones, how many cases are served, the everyday ones.
TAPED = {
    "sparse-gp": (sparse._PreparedMoments, "moments"),
    "convcnp": (neural, "release_sums"),
    "cloaking": (PreparedSums, "draw"),
    "functional": (PreparedSums, "draw"),
}
SERVED = {"sparse-gp": 4, "convcnp": 4, "cloaking": 2, "functional": 2}
TAINTED = [("sparse-gp", False), ("cloaking", True)]
BOUNDS = dict.fromkeys(PEERS, "gaussian-mechanism")
LONG = {"convcnp": True, "sparse-gp": True}  # their searches are slow
