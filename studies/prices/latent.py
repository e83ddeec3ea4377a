"""The latent models of the membership attack against what they were fitted to (figure 6 of arXiv:2606.17995).

`python -m studies.prices.latent`: the published example, ridge .1, scale .5, three paths; the mean of the
paths at the target and the logarithm of their variance, with and without the target, in shadow releases and
in fresh ones.
"""

from __future__ import annotations

import numpy as np

from dpgp_core.noise import SimulationEntropy
from studies.attacks.membership import MembershipSettings, Worlds
from studies.attacks.shadow_models import Attack, Statistics
from studies.reporting.pictures import draw_lines

RIDGE, SCALE, PATHS, SEED, BINS = 0.1, 0.5, 3, 1, 40


def main() -> None:
    """Print the distance of each model from its histograms, and draw the one of the mean."""
    entropy = SimulationEntropy(SEED)
    settings = MembershipSettings.full()
    moments = Worlds(settings, entropy).moments(RIDGE)
    seen = {}
    for key, (mean, variance) in moments.items():
        deviation = SCALE * np.sqrt(np.maximum(variance, 0.0))
        drawn = mean[:, None] + deviation[:, None] * entropy.normal((mean.size, PATHS))
        seen[key] = Statistics.of(drawn)
    learned = Attack.learn(seen["shadow", True], seen["shadow", False])
    print(f"{'statistic':22}{'target':>8}{'widest gap of distribution functions, shadow':>46}{'fresh':>8}")
    points: list[tuple[float, float, str]] = []
    for name in ("mean", "log_variance"):
        for member, word in ((True, "in"), (False, "out")):
            model = getattr(learned, f"{'mean' if name == 'mean' else 'variance'}_{word}")
            samples = [np.sort(getattr(seen[role, member], name)) for role in ("shadow", "fresh")]
            edges = np.linspace(
                min(each[0] for each in samples) - 0.5, max(each[-1] for each in samples) + 0.5, 4_001
            )
            middle = 0.5 * (edges[1:] + edges[:-1])
            mass = np.exp(model.log_density(middle)) * np.diff(edges)
            below = np.concatenate([[0.0], np.cumsum(mass)])
            gaps = [float(np.abs(np.searchsorted(each, edges) / each.size - below).max()) for each in samples]
            print(f"{name.replace('_', ' '):22}{word:>8}{gaps[0]:46.3f}{gaps[1]:8.3f}   mass {below[-1]:.4f}")
            if name == "mean":
                density, at = np.histogram(samples[1], BINS, (-2.0, 2.0), density=True)
                share = np.mean(np.abs(samples[1]) <= 2.0)
                centres = 0.5 * (at[1:] + at[:-1])
                points += [(x, y * share, f"{word}, releases") for x, y in zip(centres, density, strict=True)]
                fitted = np.exp(model.log_density(centres))
                points += [(x, y, f"{word}, model") for x, y in zip(centres, fitted, strict=True)]
    draw_lines(
        "latent", "Mean of three released paths at the target", ("mean, response units", "density"), points
    )
    print(
        f"\nSeed {SEED}; {settings.sets:,} shadow and as many fresh datasets of {settings.n} records, ridge "
        f"{RIDGE:g}, scale {SCALE:g}, {PATHS} paths."
    )


if __name__ == "__main__":
    main()
