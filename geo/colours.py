"""The palette of every map, screen and paper: one colour per role, for light and for dark ground.

Chosen so that the classes of one map stay apart for people with protanopia, deuteranopia or tritanopia
(tests/geo/test_colours.py simulates them after Machado, Oliveira and Fernandes 2009, doi
10.1109/TVCG.2009.113, and measures CIEDE2000 differences). The categorical hues are those of Okabe and
Ito's set. Where a class must be told apart without any colour it also carries a mark (`geo.maps.painting`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Theme = Literal["light", "dark"]
Role = Literal[
    "ground", "inside", "outside", "above", "below", "unsure", "agree_in", "agree_out", "falsely_in",
    "falsely_out", "line", "halo", "baseline", "point", "cell", "votes0", "votes1", "votes2", "votes3",
    "votes4", "votes5", "field0", "field1", "field2", "field3", "field4", "field5", "field6", "path0",
    "path1", "path2", "path3", "path4", "water", "shore", "border", "park", "building", "road", "rail",
]  # fmt: skip
"""What a colour stands for."""

Ink = Literal["line", "ground"]
Sequential = Literal["votes", "field"]
Family = Literal["set", "three-way", "difference", Sequential, "paths"]

_LIGHT: dict[Role, str] = {
    "ground": "#ffffff",
    "inside": "#d55e00",
    "outside": "#cfd9dd",
    "above": "#d55e00",
    "below": "#0072b2",
    "unsure": "#cfd9dd",
    "agree_in": "#39464c",
    "agree_out": "#cfd9dd",
    "falsely_in": "#e69f00",
    "falsely_out": "#0072b2",
    "line": "#17262b",
    "halo": "#ffffff",
    "baseline": "#17262b",
    "point": "#17262b",
    "cell": "#cfd9dd",
    # in none of the paths ... in all of them
    "votes0": "#cfd9dd",
    "votes1": "#f4be93",
    "votes2": "#e7915b",
    "votes3": "#d6610d",
    "votes4": "#a84600",
    "votes5": "#7a2e00",
    # low ... high, away from the ground
    "field0": "#f4efb2",
    "field1": "#b6dabc",
    "field2": "#76beb3",
    "field3": "#4e9cae",
    "field4": "#2a78a3",
    "field5": "#235389",
    "field6": "#1d2f6f",
    "path0": "#0072b2",
    "path1": "#d55e00",
    "path2": "#009e73",
    "path3": "#cc79a7",
    "path4": "#e69f00",
    # around a region, under its cells
    "water": "#e6f0f4",
    "shore": "#93aeb9",
    "border": "#b3a6bb",
    # of a basemap of one's own
    "park": "#dcebd0",
    "building": "#d8d0c6",
    "road": "#8f9ca2",
    "rail": "#6f6480",
}
_DARK: dict[Role, str] = {
    "ground": "#10191c",
    "inside": "#f08030",
    "outside": "#304047",
    "above": "#f08030",
    "below": "#4aa3df",
    "unsure": "#304047",
    "agree_in": "#aebcc2",
    "agree_out": "#304047",
    "falsely_in": "#f0b020",
    "falsely_out": "#3f8fd0",
    "line": "#e6eef0",
    "halo": "#10191c",
    "baseline": "#e6eef0",
    "point": "#e6eef0",
    "cell": "#304047",
    "votes0": "#304047",
    "votes1": "#764424",
    "votes2": "#ad5e28",
    "votes3": "#e77b2f",
    "votes4": "#f9af79",
    "votes5": "#ffe3c2",
    "field0": "#25344f",
    "field1": "#2b547a",
    "field2": "#2f77a0",
    "field3": "#459ca5",
    "field4": "#6cbfa9",
    "field5": "#b4daae",
    "field6": "#f6f3b0",
    "path0": "#56b4e9",
    "path1": "#e69f00",
    "path2": "#f0e442",
    "path3": "#dd9cc0",
    "path4": "#1f8f70",
    "water": "#0a242e",
    "shore": "#3f6371",
    "border": "#665a70",
    "park": "#17301f",
    "building": "#2c3438",
    "road": "#6d7d84",
    "rail": "#8a7d99",
}
PALETTES: Mapping[Theme, Mapping[Role, str]] = MappingProxyType(
    {"light": MappingProxyType(_LIGHT), "dark": MappingProxyType(_DARK)}
)

# The classes that meet on one map and must stay apart; the colour tests run over this registry.
CLASSES: Mapping[Family, tuple[Role, ...]] = MappingProxyType(
    {
        "set": ("inside", "outside"),
        "three-way": ("above", "below", "unsure"),
        "difference": ("agree_in", "agree_out", "falsely_in", "falsely_out"),
        "votes": ("votes0", "votes1", "votes2", "votes3", "votes4", "votes5"),
        "field": ("field0", "field1", "field2", "field3", "field4", "field5", "field6"),
        "paths": ("path0", "path1", "path2", "path3", "path4"),
    }
)


def colour(role: Role, theme: Theme = "light") -> str:
    """Return the colour "#rrggbb" of a role on a theme's ground; raise `ValueError` for an unknown one."""
    if theme not in PALETTES:
        raise ValueError(f"a map theme is 'light' or 'dark', got {theme!r}.")
    if role not in PALETTES[theme]:
        raise ValueError(f"{role!r} is not a role of the palette.")
    return PALETTES[theme][role]


def rgb(role: Role, theme: Theme = "light") -> list[int]:
    """Return the colour of a role as [red, green, blue], 0 to 255; errors as `colour`."""
    return channels(colour(role, theme))


def channels(text: str) -> list[int]:
    """Read "#rrggbb" as [red, green, blue], 0 to 255 each."""
    return [int(text[start : start + 2], 16) for start in (1, 3, 5)]


def ink_on(role: Role, theme: Theme = "light") -> Ink:
    """Choose the ink of marks over a class: the role, "line" or "ground", whose colour stands out more."""
    back = _luminance(colour(role, theme))

    def contrast(ink: Ink) -> float:  # WCAG 2.2
        dark, bright = sorted((back, _luminance(colour(ink, theme))))
        return (bright + 0.05) / (dark + 0.05)

    inks: tuple[Ink, ...] = ("line", "ground")
    return max(inks, key=contrast)


def steps(family: Sequential, count: int) -> tuple[Role, ...]:
    """Choose roles spread evenly over a sequential family, its ends included; raise `ValueError` if there are
    fewer or more steps than the family has colours."""
    roles = CLASSES[family]
    if not 1 <= count <= len(roles):
        raise ValueError(f"the {family} colours have 1 to {len(roles)} steps, got {count}.")
    if count == 1:
        return (roles[-1],)
    return tuple(roles[round(k * (len(roles) - 1) / (count - 1))] for k in range(count))


def _luminance(text: str) -> float:
    """Relative luminance, 0 to 1, of an sRGB colour (WCAG 2.2)."""
    shares = (channel / 255.0 for channel in channels(text))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
