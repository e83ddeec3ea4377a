"""Theorem A+'s objective: its value at points, and certified upper bounds of it over boxes.

The two replaced records enter through their core variances v = g^2 >= v' = h^2 and the angle with
cos(angle) = c/(g h). Coordinates are (m, f, angle) with g = exp(m + f), h = exp(m - f), f >= 0. The
objective is even in f, so slopes in f are kept as f times a ratio that stays meaningful at f = 0.
In the notation of docs/mathematics.md, section 6, with x = a v, y = b v', k = x/y, S = sin^2, rho =
cos, D = x - y, u = g h,

    first^2                   =  (a g)^2 + (b h)^2 + 2 (a g)(b h) rho
    E = tr(J K0) - (s + R)/2  =  S x y K,      K = 2 + eta - u (sqrt(M) + sqrt(P))^2 / 4
    M = 4 sinh(f)^2 + 2 (1 - rho) + zeta + eta bend_m,     bend_m = 4 rho^2 sinh(f)^2 - 2 rho (1 - rho)
    P = 2 cosh(2f) + 2 rho + zeta + eta bend_p,            bend_p = 2 rho^2 cosh(2f) + 2 rho
    eta = (k - 1)^2/(k S),   zeta = (k - 1)(e^(2f) - e^(-2f)/k)

an exact rewriting (u M and u P are s -+ 2 G_12 over S x y) whose terms do not cancel; a test
compares it with the matrices. The objective is first + growth sqrt(E) with growth = sqrt(n - 1)/r,
for response bound 1.

Interval arithmetic throughout: an array of shape (2, n) is [lo, hi] of numbers >= 0 unless said to
be signed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dpgp_core.linalg import Bools, Floats

ROUNDING = 1e-11
"""Relative outward slack. Each formula is a short chain of sums and products that loses less than
1e-13 of its largest term, and each difference is given slack in proportion to that term."""
FLAT = 1e-9  # an f below this counts as 0, and its box is taken to reach f = 0
_HUGE = 1e30


def _times(positive: Floats, signed: Floats) -> Floats:
    """Product of an interval of numbers >= 0 and a signed one."""
    low = signed[0] * np.where(signed[0] < 0.0, positive[1], positive[0])
    high = signed[1] * np.where(signed[1] > 0.0, positive[1], positive[0])
    return np.stack([low, high])


def _inverse(positive: Floats) -> Floats:
    return 1.0 / positive[::-1]


def _minus(interval: Floats) -> Floats:
    return -interval[::-1]


def _meet(first: Floats, second: Floats) -> Floats:
    """Two enclosures of the same numbers make a narrower one."""
    return np.stack([np.maximum(first[0], second[0]), np.minimum(first[1], second[1])])


def parts(point: Floats, r2: Floats) -> tuple[Floats, Floats, Floats]:
    """First, E, and the largest term inside E, (...) each, for response bound 1.

    Points (3, ...) are m, f >= 0 and the angle in radians.
    """
    g, h = np.exp(point[0] + point[1]), np.exp(point[0] - point[1])
    v, w = g * g, h * h
    x, y, a, b = v / (v + r2), w / (w + r2), g / (v + r2), h / (w + r2)
    sine, rho, rho_rest = np.sin(point[2]), np.cos(point[2]), 2.0 * np.sin(0.5 * point[2]) ** 2
    k_rest = np.expm1(4.0 * point[1]) * (1.0 - x)
    c, d = sine * sine * x * y, (y * k_rest) ** 2
    apart2, cross = (g - h) ** 2, 2.0 * rho * g * h
    zeta = k_rest * (v - w / (1.0 + k_rest))
    below = c * (apart2 + 2.0 * rho_rest * g * h + zeta) + d * rho * (rho * apart2 - 2.0 * rho_rest * g * h)
    above = c * (v + w + cross + zeta) + d * (rho * rho * (v + w) + cross)
    size = d + 2.0 * c
    remainder = np.maximum(0.0, size - 0.25 * (np.sqrt(np.maximum(0.0, below)) + np.sqrt(above)) ** 2)
    return np.sqrt(a * a + b * b + 2.0 * a * b * rho), remainder, size


def value(point: Floats, r2: Floats, growth: Floats) -> Floats:
    """The objective (...) at points (3, ...) as in `parts`; `growth` = sqrt(n - 1)/ridge."""
    first, remainder, _ = parts(point, r2)
    return first + growth * np.sqrt(remainder)


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Enclosures over boxes of everything the bounds are made of, (2, n) each; bend_m is signed."""

    f: Floats
    u: Floats
    x: Floats
    y: Floats
    x_rest: Floats  # 1 - x
    y_rest: Floats
    a: Floats  # a g
    b: Floats  # b h
    ab: Floats
    xy: Floats
    shared: Floats  # 1/((v + r^2)(v' + r^2))
    first: Floats
    sine: Floats
    s2: Floats
    over_s2: Floats
    rho: Floats
    c2: Floats  # rho^2
    cosh: Floats  # cosh(2f)
    sinh: Floats  # sinh(2f)
    swell: Floats  # sinh(2f)/f
    k: Floats
    k_ratio: Floats  # (k - 1)/f
    gap: Floats  # D
    gap_ratio: Floats  # D/f
    eta: Floats
    zeta: Floats
    near: Floats  # M without its eta term
    far: Floats  # P without its eta term
    bend_m: Floats
    bend_p: Floats
    root_m: Floats
    root_p: Floats

    def where(self, keep: Bools) -> _Pieces:
        return _Pieces(**{field.name: getattr(self, field.name)[:, keep] for field in fields(self)})


def _pieces(box: Floats, half: Floats, r2: Floats) -> _Pieces:
    low, high = box - half, box + half
    f, angle = np.stack([np.where(low[1] < FLAT, 0.0, low[1]), high[1]]), np.stack([low[2], high[2]])
    g = np.exp(np.stack([low[0] + f[0], high[0] + f[1]]))
    h = np.exp(np.stack([low[0] - f[1], high[0] - f[0]]))
    u = np.exp(2.0 * np.stack([low[0], high[0]]))
    v, w = g * g, h * h
    x, y, ends_a, ends_b = v / (v + r2), w / (w + r2), g / (v + r2), h / (w + r2)
    x_rest, y_rest, peak = 1.0 - x[::-1], 1.0 - y[::-1], 0.5 / np.sqrt(r2)
    a = np.stack([ends_a.min(0), np.where((v[0] < r2) & (r2 < v[1]), peak, ends_a.max(0))])
    b = np.stack([ends_b.min(0), np.where((w[0] < r2) & (r2 < w[1]), peak, ends_b.max(0))])
    sine, rho, rho_rest = np.sin(angle), np.maximum(0.0, np.cos(angle[::-1])), 2.0 * np.sin(0.5 * angle) ** 2
    s2, c2, cosh, sinh = sine * sine, rho * rho, np.cosh(2.0 * f), np.sinh(2.0 * f)
    over_s2 = np.minimum(_HUGE, 1.0 / np.maximum(s2[::-1], 1.0 / _HUGE))
    shared = _inverse((v + r2) * (w + r2))
    ab = _meet(a * b, u * shared)
    squares = _meet(a * a + b * b, 2.0 * u * cosh * _inverse(np.stack([w[0], v[1]]) + r2) ** 2)

    step = np.where(f > 0.0, f, 1.0)
    rise = np.where(f > 0.0, np.expm1(4.0 * f) / step, 4.0)  # grows with f
    fade = np.where(f > 0.0, -np.expm1(-4.0 * f) / step, 4.0)[::-1]  # falls with f
    swell = np.where(f > 0.0, sinh / step, 2.0)  # grows with f
    k_rest = np.expm1(4.0 * f) * x_rest
    k = 1.0 + k_rest
    eta = k_rest * k_rest / k * over_s2
    # e^(2f) - e^(-2f)/k grows with f and with k, so its ends are its values at the ends.
    zeta = k_rest * (2.0 * sinh + np.exp(-2.0 * f) * k_rest / k)
    sinh2 = np.sinh(f) ** 2
    near, far = 4.0 * sinh2 + 2.0 * rho_rest + zeta, 2.0 * cosh + 2.0 * rho + zeta
    bend_m = 4.0 * c2 * sinh2 + _minus(2.0 * rho * rho_rest)
    bend_p = 2.0 * c2 * cosh + 2.0 * rho
    return _Pieces(
        f=f,
        u=u,
        x=x,
        y=y,
        x_rest=x_rest,
        y_rest=y_rest,
        a=a,
        b=b,
        ab=ab,
        xy=_meet(x * y, u * u * shared),
        shared=shared,
        first=np.sqrt(squares + 2.0 * ab * rho),
        sine=sine,
        s2=s2,
        over_s2=over_s2,
        rho=rho,
        c2=c2,
        cosh=cosh,
        sinh=sinh,
        swell=swell,
        k=k,
        k_ratio=rise * x_rest,
        gap=_meet(x * y_rest * -np.expm1(-4.0 * f), 2.0 * r2 * u * sinh * shared),
        gap_ratio=_meet(x * y_rest * fade, 2.0 * r2 * u * swell * shared),
        eta=eta,
        zeta=zeta,
        near=near,
        far=far,
        bend_m=bend_m,
        bend_p=bend_p,
        root_m=np.sqrt(np.maximum(0.0, near + _times(eta, bend_m))),
        root_p=np.sqrt(far + eta * bend_p),
    )


def _monotone(q: _Pieces, r2: Floats, growth: Floats) -> Floats:
    """(n,) upper bounds with each monotone factor at its worst end.

    With c = S x y and d = D^2, E = d (1 - u rho^2 cosh(2f)) + c (2 - u cosh(2f)) - u [c zeta +
    root]/2, where root is the geometric mean of c M and c P, and the brackets are not negative
    where v <= 1. It is used in this form, and with c and d over u^2: then E is u^2 (lift - u
    steep), which may peak inside the box.
    """
    lowest = q.cosh[0] * q.c2[0]

    def pair(c: Floats, d: Floats) -> Floats:
        below = np.maximum(0.0, c[0] * q.near[0] + q.bend_m[0] * np.where(q.bend_m[0] < 0.0, d[1], d[0]))
        return np.asarray(c[0] * q.zeta[0] + np.sqrt(below * (c[0] * q.far[0] + d[0] * q.bend_p[0])))

    c, d = q.s2 * q.xy, q.gap * q.gap
    size = d[1] + 2.0 * c[1]
    remainder = size - q.u[0] * (d[1] * lowest + c[1] * q.cosh[0] + 0.5 * pair(c, d))
    c, d = q.s2 * q.shared, (2.0 * r2 * q.sinh * q.shared) ** 2
    lift, steep = d[1] + 2.0 * c[1], d[1] * lowest + c[1] * q.cosh[0] + 0.5 * pair(c, d)
    crest = np.clip(lift / (1.5 * steep), q.u[0], q.u[1])
    remainder = np.maximum(0.0, np.minimum(remainder, crest * crest * (lift - crest * steep)))
    return np.asarray(q.first[1] * (1.0 + ROUNDING) + growth * np.sqrt(remainder + ROUNDING * size))


def _kappa_and_k(q: _Pieces) -> tuple[Floats, Floats]:
    kappa = 0.25 * q.u * (q.root_m + q.root_p) ** 2
    return kappa, np.maximum(0.0, 2.0 + q.eta - kappa[::-1])


def _slopes_of_first(q: _Pieces) -> tuple[Floats, Floats, Floats]:
    """Signed slopes of the first term in m, in f (over f) and in the angle."""
    over_first, cross = _inverse(q.first), q.rho * q.ab
    in_m = _times(q.a * q.a, 1.0 - 2.0 * q.x[::-1]) + _times(q.b * q.b, 1.0 - 2.0 * q.y[::-1])
    in_m = in_m + _times(cross, q.x_rest + q.y_rest - (q.x + q.y)[::-1])
    # In f: the mean value, between the two records, of d/dt [(a g)^2 (1 - 2x)] = 2 (a g)^2 (1 - 6 x
    # (1-x)).
    hull = np.stack([np.minimum(q.a[0], q.b[0]), np.maximum(q.a[1], q.b[1])])
    ends = np.stack([q.y[0], q.x[1]])
    bow = ends * (1.0 - ends)
    bow = np.stack([bow.min(0), np.where((ends[0] < 0.5) & (ends[1] > 0.5), 0.25, bow.max(0))])
    in_f = 2.0 * _times(hull * hull, 2.0 - 12.0 * bow[::-1]) + _minus(2.0 * cross * q.gap_ratio)
    return _times(over_first, in_m), _times(over_first, in_f), _minus(q.ab * q.sine * over_first)


def _slopes_of_rest(q: _Pieces, kappa: Floats, big_k: Floats) -> tuple[Floats, Floats, Floats]:
    """Signed slopes of E in m, in f (over f) and in the angle, over S x y, S x y and sin x y in
    turn."""
    k_inverse, over_sine = _inverse(q.k), _inverse(q.sine)
    ratio, over_ratio = q.root_m * _inverse(q.root_p), q.root_p * _inverse(q.root_m)
    # d kappa/dM and d kappa/dP
    weight_m, weight_p = 0.25 * q.u * (1.0 + over_ratio), 0.25 * q.u * (1.0 + ratio)
    weights = 0.25 * q.u * (2.0 + ratio + over_ratio)
    tilt = q.k_ratio * (k_inverse + k_inverse * k_inverse)  # (1 - 1/k^2)/f
    shrink = np.exp(-2.0 * q.f[::-1])
    pull = 2.0 * q.swell + shrink * tilt  # (e^(2f) - e^(-2f)/k^2)/f, the slope of zeta in k over f
    k_f = 2.0 * q.k * (q.x_rest + q.y_rest)  # dk/df
    k_m = 2.0 * q.k * q.gap_ratio * q.f  # -dk/dm
    eta_t = 2.0 * q.rho * q.eta * over_sine  # -d eta/d angle
    in_eta = 1.0 + _minus(_times(weight_m, q.bend_m) + weight_p * q.bend_p)  # dK/d eta, signed
    # kappa is u times a function of f, angle and k, so its slope in m at fixed k is 2 kappa.
    k_0 = (
        _minus(_times(tilt * q.f * k_m * q.over_s2, in_eta))
        + _minus(2.0 * kappa)
        + weights * pull * q.f * k_m
    )
    zeta_f = pull * k_f + 2.0 * q.k_ratio * (np.exp(2.0 * q.f) + shrink * k_inverse)
    k_1 = _times(tilt * k_f * q.over_s2, in_eta) + _minus(
        weights * (4.0 * q.swell * (1.0 + q.eta * q.c2) + zeta_f)
    )
    lean = 0.25 * q.u * np.maximum(0.0, over_ratio - ratio[::-1])
    k_2 = _minus(_times(eta_t, in_eta)) + 4.0 * q.rho * q.sine * q.cosh * q.eta * weights
    k_2 = k_2 + _minus(2.0 * q.sine * (1.0 + q.eta) * lean)
    # E = S x y K with d log(xy)/dm = 2 (1-x) + 2 (1-y), d log(xy)/df = -2 D and dS = 2 rho sin.
    return (
        2.0 * _times(q.x_rest + q.y_rest, big_k) + k_0,
        _minus(2.0 * q.gap_ratio * big_k) + k_1,
        2.0 * q.rho * big_k + _times(q.sine, k_2),
    )


@dataclass(frozen=True, eq=False)
class BoxBounds:
    """Certified statements on n boxes."""

    upper: Floats  # shape (n,), upper bounds of the objective over the part of the box with v <= 1
    looseness: Floats  # shape (3, n), how much each direction contributes to the bound's looseness
    # shape (n,), True where the objective is certified not to grow with f inside the box
    falls: Bools


def upper_bounds(box: Floats, half: Floats, r2: Floats, growth: Floats, target: Floats) -> BoxBounds:
    """Certified upper bounds (n,) of the objective over boxes in (m, f, angle): centre, half widths
    (3, n).

    The angle lies in [0, pi/2]; f below 0 is cut off. The smaller of two bounds: monotone factors
    at their worst ends; the value at the centre plus half width times the largest slope (mean value
    form), which converges quadratically. A box certified below its target needs no sharper bound.
    """
    everything = _pieces(box, half, r2)
    upper = _monotone(everything, r2, growth)
    looseness, falls = half.copy(), np.zeros(upper.shape, dtype=np.bool_)
    first, remainder, size = parts(box, r2)
    remainder = remainder + ROUNDING * size
    smooth = ~(upper <= target) & (everything.root_m[0] > 0.0) & (everything.s2[0] > 0.0) & (remainder > 0.0)
    if not np.any(smooth):
        return BoxBounds(upper, looseness, falls)
    q, remainder, growth, width = everything.where(smooth), remainder[smooth], growth[smooth], half[:, smooth]
    kappa, big_k = _kappa_and_k(q)
    first_slopes, rest_slopes = _slopes_of_first(q), _slopes_of_rest(q, kappa, big_k)
    # sqrt(E) is concave, hence at most its tangent at the centre's E0. So first + growth (E0 +
    # E)/(2 sqrt(E0)) is bounded instead, whose slopes need no lower bound of E.
    tangent = 0.5 * growth / np.sqrt(remainder)
    shares = (q.s2 * q.xy, q.s2 * q.xy, q.sine * q.xy)
    slopes = [
        in_first + tangent * _times(share, in_rest)
        for in_first, share, in_rest in zip(first_slopes, shares, rest_slopes, strict=True)
    ]
    slopes[1] = _times(q.f, slopes[1])
    # big_k may reach 0: then nothing is certified.
    with np.errstate(divide="ignore", invalid="ignore"):
        true_tangent = 0.5 * growth * q.sine * np.sqrt(q.xy * _inverse(big_k))
        falls[smooth] = first_slopes[1][1] + _times(true_tangent, rest_slopes[1])[1] <= 0.0
    mean_value = first[smooth] + growth * np.sqrt(remainder)
    for i in range(3):
        mean_value = mean_value + width[i] * np.max(np.abs(slopes[i]), axis=0)
    useful = mean_value < 2.0 * upper[smooth]  # far from smooth, slopes do not say where to split
    for i in range(3):
        looseness[i, smooth] = np.where(useful, width[i] * (slopes[i][1] - slopes[i][0]), width[i])
    upper[smooth] = np.fmin(upper[smooth], mean_value * (1.0 + ROUNDING))
    return BoxBounds(upper, looseness, falls)
