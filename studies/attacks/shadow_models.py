"""The paper's membership attack: mixtures learned from shadow releases, likelihood ratios, ROC curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import rankdata

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_EDGE = 1e-8  # statistics are kept this far inside (-1, 1) before artanh
_GRID = 601  # points on which a latent density is tabulated while it is fitted
_FINE = 4001  # the same for scoring
_FLOOR = -690.0  # log densities are never below this: no score becomes infinite
_SMALLEST = 1e-3  # least standard deviation of any component and of the noise


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of two normal distributions: weights, means and standard deviations, each (2,)."""

    weights: Floats
    means: Floats
    deviations: Floats

    @staticmethod
    def fit(samples: Floats, rounds: int = 300, tolerance: float = 1e-7) -> Mixture:
        """Maximum likelihood from quartiles of samples (n,), by EM (Dempster et al. 1977).

        Ends after `rounds`, or where the mean log likelihood grows by less than the tolerance.
        """
        samples = np.asarray(samples, dtype=np.float64)
        means = np.quantile(samples, [0.25, 0.75])
        deviations = np.full(2, max(float(samples.std()), _SMALLEST))
        mixture = Mixture(np.array([0.5, 0.5]), means, deviations)
        reached = -np.inf
        for _ in range(rounds):
            joint = mixture._joint(samples)
            total = logsumexp(joint, axis=0)
            share = np.exp(joint - total)
            mass = share.sum(axis=1) + 1e-12
            means = share @ samples / mass
            spread = np.sum(share * np.square(samples - means[:, None]), axis=1) / mass
            mixture = Mixture(mass / mass.sum(), means, np.maximum(np.sqrt(spread), _SMALLEST))
            likelihood = float(total.mean())
            if likelihood - reached < tolerance:
                break
            reached = likelihood
        return mixture

    def log_density(self, values: Floats) -> Floats:
        """Log densities at values of shape (n,), of that shape."""
        return np.asarray(np.maximum(logsumexp(self._joint(np.asarray(values)), axis=0), _FLOOR))

    def _joint(self, values: Floats) -> Floats:
        z = (values - self.means[:, None]) / self.deviations[:, None]
        return np.log(self.weights * 0.3989422804014327 / self.deviations)[:, None] - 0.5 * z * z


@dataclass(frozen=True)
class LatentMixture:
    """The released mean statistic as `tanh(phi/2) + noise psi`: phi a two-component mixture, psi normal.

    A posterior mean of the exponential prior on a line lies in [-1, 1] (paper, Lemma B.6) and the posterior
    noise around it is normal: hence this form (paper, appendix C). `noise` = 0 describes the exact mean.
    """

    latent: Mixture
    noise: float

    @staticmethod
    def fit(samples: Floats, noisy: bool = True) -> LatentMixture:
        """Maximum likelihood of mean statistics (n,), posterior means without noise for `noisy=False`.

        The likelihood is evaluated on a grid of values and interpolated linearly to the samples, which is
        exact to the square of the grid's step. Raises InvalidValue if no fit is finite.
        """
        samples = np.asarray(samples, dtype=np.float64)
        if not noisy:
            return LatentMixture(Mixture.fit(_unsquash(samples)), 0.0)
        grid, count = _linear_counts(samples)
        inner = min(1.0, 1.0 / max(1.0, float(np.quantile(np.abs(samples), 0.995))))
        start = Mixture.fit(_unsquash(samples * inner), rounds=60)
        wide = float(samples.std())
        best, best_value = None, np.inf
        for noise, mixture in (
            (max(0.05 * max(wide, 1.0), 0.3 * wide), start),
            (0.8 * wide, Mixture(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.ones(2))),
        ):
            solved = minimize(
                _loss,
                _pack(mixture, noise),
                args=(grid, count),
                method="L-BFGS-B",
                jac=True,
                options={"maxiter": 120, "ftol": 1e-9},
            )
            if solved.fun < best_value:
                best, best_value = solved.x, float(solved.fun)
        if best is None:
            raise InvalidValue("the attack's density model could not be fitted: are the statistics finite?")
        return _unpack(best)

    def log_density(self, values: Floats) -> Floats:
        """Log densities at values of shape (n,), of that shape."""
        values = np.asarray(values, dtype=np.float64)
        if self.noise == 0.0:
            inside = np.clip(values, -1.0 + _EDGE, 1.0 - _EDGE)
            return self.latent.log_density(_unsquash(values)) + np.log(2.0 / (1.0 - inside**2))
        grid = np.linspace(float(values.min()), float(values.max()) + 1e-12, _FINE)
        return np.asarray(np.interp(values, grid, self._on(grid)))

    def _on(self, grid: Floats) -> Floats:
        """Log density on a grid."""
        first, second = (self._component(grid, k)[0] for k in (0, 1))
        density = self.latent.weights[0] * first + self.latent.weights[1] * second
        return np.asarray(np.maximum(np.log(np.maximum(density, 1e-300)), _FLOOR))

    def _component(self, grid: Floats, k: int) -> tuple[Floats, Callable[[], tuple[Floats, Floats, Floats]]]:
        """Density of component k on a grid, and its derivatives by mean, log deviation and log noise.

        The latent integral is taken by the trapezoidal rule over +-6 standard deviations; its step stays
        below the noise, where the rule is accurate beyond what a fit can notice.
        """
        mean, sd = self.latent.means[k], self.latent.deviations[k]
        z = np.linspace(-6.0, 6.0, int(np.clip(np.ceil(5.0 * sd / self.noise), 40, 400)))
        mass = np.exp(-0.5 * z * z)
        mass *= 0.3989422804014327 / (self.noise * mass.sum())
        middle = np.tanh(0.5 * (mean + sd * z))
        shift = (grid[:, None] - middle) / self.noise
        bell = np.exp(-0.5 * shift * shift)
        density = bell @ mass

        def slopes() -> tuple[Floats, Floats, Floats]:
            tilted = bell * shift
            pull = mass * 0.5 * (1.0 - middle * middle) / self.noise
            return tilted @ pull, sd * (tilted @ (pull * z)), (tilted * shift) @ mass - density

        return density, slopes


def _unsquash(means: Floats) -> Floats:
    return np.asarray(2.0 * np.arctanh(np.clip(means, -1.0 + _EDGE, 1.0 - _EDGE)))


def _linear_counts(samples: Floats) -> tuple[Floats, Floats]:
    """A grid over the samples and the weight that linear interpolation gives to each of its points."""
    grid = np.linspace(float(samples.min()), float(samples.max()) + 1e-9, _GRID)
    place = (samples - grid[0]) / (grid[1] - grid[0])
    left = np.minimum(place.astype(np.int64), _GRID - 2)
    count = np.bincount(left, 1.0 - (place - left), _GRID) + np.bincount(left + 1, place - left, _GRID)
    return grid, count / samples.size


def _pack(mixture: Mixture, noise: float) -> Floats:
    ratio = np.log(mixture.weights[0] / mixture.weights[1])
    return np.array([ratio, *mixture.means, *np.log(mixture.deviations), np.log(noise)])


def _unpack(theta: Floats) -> LatentMixture:
    weight = float(np.clip(expit(theta[0]), 1e-9, 1.0 - 1e-9))
    deviations = np.maximum(np.exp(np.clip(theta[3:5], -20.0, 4.0)), _SMALLEST)
    noise = max(float(np.exp(np.clip(theta[5], -20.0, 10.0))), _SMALLEST)
    return LatentMixture(Mixture(np.array([weight, 1.0 - weight]), theta[1:3].copy(), deviations), noise)


def _loss(theta: Floats, grid: Floats, count: Floats) -> tuple[float, Floats]:
    """Minus the mean log likelihood, and its gradient."""
    model = _unpack(theta)
    weights = model.latent.weights
    (first, slopes_first), (second, slopes_second) = (model._component(grid, k) for k in (0, 1))
    density = np.maximum(weights[0] * first + weights[1] * second, 1e-300)
    pull = count / density
    by = [
        weights[k] * np.array([pull @ slope for slope in slopes()])
        for k, slopes in enumerate((slopes_first, slopes_second))
    ]
    gradient = np.array(
        [
            weights[0] * weights[1] * (pull @ (first - second)),
            by[0][0],
            by[1][0],
            by[0][1],
            by[1][1],
            by[0][2] + by[1][2],
        ]
    )
    return -float(count @ np.log(density)), -gradient


_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the attacker sees of each release at the target: sample mean and, with L > 1, its log variance."""

    mean: Floats  # (S,) response units
    log_variance: Floats | None = None  # (S,) or None for a single path
    exact: bool = False  # true for posterior moments without sampling noise

    @staticmethod
    def of(values: Floats) -> Statistics:
        """From released values at the target, (S, L)."""
        mean = values.mean(axis=1)
        if values.shape[1] == 1:
            return Statistics(mean)
        return Statistics(mean, np.log(np.maximum(values.var(axis=1, ddof=1), _TINY)))

    @staticmethod
    def of_moments(mean: Floats, variance: Floats) -> Statistics:
        """The limit of infinitely many paths: posterior mean and variance themselves, of one shape."""
        return Statistics(mean, np.log(np.maximum(variance, _TINY)), exact=True)


@dataclass(frozen=True, eq=False)
class Scores:
    """Log likelihood ratios of S releases, in nats, in favour of "in"."""

    mean_only: Floats  # (S,) from the mean statistic alone
    combined: Floats  # (S,) from both statistics; the same where there is but one


@dataclass(frozen=True)
class Attack:
    """A likelihood-ratio attack learned from shadow releases (LiRA: Carlini et al. 2022; paper, app. C).

    The combined score is the product of the two statistics' likelihood ratios.
    """

    mean_in: LatentMixture
    mean_out: LatentMixture
    variance_in: Mixture | None
    variance_out: Mixture | None

    @staticmethod
    def learn(shadow_in: Statistics, shadow_out: Statistics) -> Attack:
        """Fit the density models to shadow releases with and without the target."""
        noisy = not shadow_in.exact
        means = (LatentMixture.fit(shadow_in.mean, noisy), LatentMixture.fit(shadow_out.mean, noisy))
        if shadow_in.log_variance is None or shadow_out.log_variance is None:
            return Attack(*means, None, None)
        return Attack(*means, Mixture.fit(shadow_in.log_variance), Mixture.fit(shadow_out.log_variance))

    def score(self, seen: Statistics) -> Scores:
        """Scores of fresh releases, (S,)."""
        mean = self.mean_in.log_density(seen.mean) - self.mean_out.log_density(seen.mean)
        if self.variance_in is None or self.variance_out is None or seen.log_variance is None:
            return Scores(mean, mean)
        spread = seen.log_variance
        return Scores(
            mean, mean + self.variance_in.log_density(spread) - self.variance_out.log_density(spread)
        )


def area_under_curve(members: Floats, others: Floats) -> float:
    """Probability that a score of the members (m,) exceeds one of the others (k,), ties counted half."""
    rank = rankdata(np.concatenate([members, others]))
    total = rank[: members.size].sum() - members.size * (members.size + 1) / 2.0
    return float(total / (members.size * others.size))


def true_positive_rates(members: Floats, others: Floats, rates: Floats) -> Floats:
    """(R,) shares of members above the thresholds of false-positive rate at most `rates` (R,)."""
    ordered = np.sort(others)[::-1]
    allowed = np.minimum((np.asarray(rates) * others.size).astype(np.int64), others.size - 1)
    return np.asarray(np.mean(members[:, None] > ordered[allowed], axis=0))


def roc(members: Floats, others: Floats, points: int = 101) -> tuple[Floats, Floats]:
    """False-positive and true-positive rates (P,) of the attack that thresholds the scores (m,) and (k,)."""
    rates = np.linspace(0.0, 1.0, points) ** 2
    return rates, true_positive_rates(members, others, rates)
