"""The palette, seen with simulated colour vision: classes of one map differ for everybody, light and dark."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from geo.colours import CLASSES, PALETTES, Role, Theme, colour, rgb, steps
from geo.maps.linked import PLACE_ROLES

# Machado, Oliveira and Fernandes (2009), severity 1.0, acting on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# sRGB primaries and the D65 white point.
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
LEAST = {"set": 30.0, "three-way": 8.0, "difference": 15.0, "votes": 9.0, "field": 8.0, "paths": 9.0}
THEMES: tuple[Theme, ...] = ("light", "dark")


def linear(text: str) -> NDArray[np.float64]:
    channel = np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    return np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)


def lab(rgb_linear: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = TO_XYZ @ np.clip(rgb_linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Colour difference after Sharma, Wu and Dalal (2005), equations 2 to 22."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = (
        1
        - 0.17 * np.cos(np.radians(hue - 30))
        + 0.24 * np.cos(np.radians(2 * hue))
        + 0.32 * np.cos(np.radians(3 * hue + 6))
        - 0.20 * np.cos(np.radians(4 * hue - 63))
    )
    sl = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    rotation = 2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    rt = -np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2)))) * rotation
    return float(np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * dc / sc * dh / sh))


def seen(text: str, vision: str) -> NDArray[np.float64]:
    return lab(VISION[vision] @ linear(text))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [  # rows of table 1 of Sharma, Wu and Dalal (2005)
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_ruler_is_right(first: tuple[float, ...], second: tuple[float, ...], expected: float) -> None:
    assert ciede2000(np.array(first), np.array(second)) == pytest.approx(expected, abs=1e-4)
    assert ciede2000(np.array(second), np.array(first)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("vision", VISION)
def test_the_simulation_leaves_grey_grey(vision: str) -> None:
    np.testing.assert_allclose(VISION[vision].sum(axis=1), 1.0, atol=2e-6)


def test_the_simulation_confuses_what_it_should() -> None:
    """A red and a green that differ plainly become alike for the red-green blind: the ruler can fail."""
    red, green = "#c04040", "#6b6b20"
    assert ciede2000(seen(red, "normal"), seen(green, "normal")) > 30
    assert ciede2000(seen(red, "deuteranopia"), seen(green, "deuteranopia")) < 15


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("family", CLASSES)
def test_classes_differ_for_everybody(family: str, theme: Theme, vision: str) -> None:
    shades = [seen(colour(role, theme), vision) for role in CLASSES[family]]
    assert min(ciede2000(a, b) for a, b in combinations(shades, 2)) > LEAST[family]


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_every_class_stands_out_from_the_ground(theme: Theme, vision: str) -> None:
    ground = seen(colour("ground", theme), vision)
    roles = {role for family in CLASSES.values() for role in family if role != "empty"}
    assert min(ciede2000(seen(colour(role, theme), vision), ground) for role in roles) > 8.0


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("family", ["votes", "field"])
def test_more_is_further_from_the_ground_in_lightness(family: str, theme: Theme) -> None:
    """A sequential scale must read in black and white too."""
    light = [seen(colour(role, theme), "normal")[0] for role in CLASSES[family]]
    sign = -1 if theme == "light" else 1
    assert all(sign * (b - a) > 4 for a, b in pairwise(light))


@pytest.mark.parametrize("theme", THEMES)
def test_the_classes_of_a_release_differ_in_lightness(theme: Theme) -> None:
    """A print in black and white shows all four; the two greys are the quietest."""
    light = {role: seen(colour(role, theme), "normal")[0] for role in (*CLASSES["three-way"], "ground")}
    assert min(abs(a - b) for a, b in combinations(light.values(), 2)) > 8.0
    order = sorted(light, key=lambda role: abs(light[role] - light["ground"]))
    assert order == ["ground", "empty", "unsure", "below", "above"]


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("grey", ["unsure", "empty"])
def test_the_greys_are_told_from_colours_and_water(grey: Role, theme: Theme, vision: str) -> None:
    shade = seen(colour(grey, theme), vision)
    for role, least in (("above", 30.0), ("below", 15.0), ("water", 5.0)):
        assert ciede2000(shade, seen(colour(role, theme), vision)) > least


def test_both_themes_have_the_same_roles() -> None:
    assert PALETTES["light"].keys() == PALETTES["dark"].keys()
    assert {role for family in CLASSES.values() for role in family} <= PALETTES["light"].keys()


def test_colours_are_read_as_numbers_and_wrong_names_refused() -> None:
    assert rgb("inside") == [0xD5, 0x5E, 0x00]
    with pytest.raises(ValueError, match="'light' or 'dark'"):
        colour("inside", "sepia")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a role"):
        colour("nothing")


@pytest.mark.parametrize("family", ["votes", "field"])
def test_steps_spread_over_the_scale(family: str) -> None:
    roles = CLASSES[family]
    for count in range(2, len(roles) + 1):
        chosen = steps(family, count)
        assert chosen[0] == roles[0]
        assert chosen[-1] == roles[-1]
        assert len(set(chosen)) == count
        assert list(chosen) == sorted(chosen)
    assert steps(family, 1) == (roles[-1],)
    for count in (0, len(roles) + 1):
        with pytest.raises(ValueError, match="steps"):
            steps(family, count)


@pytest.mark.parametrize("theme", THEMES)
def test_dots_are_seen_on_the_ground(theme: Theme) -> None:
    """Graphical objects need a contrast of 3 (WCAG 2.2, 1.4.11); the lightest dots come near it."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    ground = linear(colour("ground", theme)) @ weights
    for role in PLACE_ROLES:
        own = linear(colour(role, theme)) @ weights
        assert (max(ground, own) + 0.05) / (min(ground, own) + 0.05) > 2.0, role
