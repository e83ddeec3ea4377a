"""The palette of every map, screen and paper: one colour per role, for light and for dark ground.

Chosen so that the classes of one map stay apart for people with protanopia, deuteranopia or
tritanopia (tests/geo/test_colours.py simulates them after Machado, Oliveira and Fernandes 2009, doi
10.1109/TVCG.2009.113, and measures CIEDE2000 differences). The categorical hues are those of Okabe
and Ito's set. The classes of a release differ in lightness too, so that a print in black and white
shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Theme = Literal["light", "dark"]
_Set = Literal["ground", "inside", "outside", "above", "below", "unsure", "empty"]
_Agreement = Literal["agree_in", "agree_out", "falsely_in", "falsely_out"]
_Mark = Literal["line", "halo", "baseline", "point", "cell"]
_Votes = Literal["votes0", "votes1", "votes2", "votes3", "votes4", "votes5"]
_Field = Literal["field0", "field1", "field2", "field3", "field4", "field5", "field6"]
_Path = Literal["path0", "path1", "path2", "path3", "path4"]
_Place = Literal["water", "shore", "border", "park", "building", "road", "rail"]
Role = Literal[_Set, _Agreement, _Mark, _Votes, _Field, _Path, _Place]
"""The use of a colour."""

Sequential = Literal["votes", "field"]
Family = Literal["set", "three-way", "difference", Sequential, "paths"]

_COLOURS: dict[Role, tuple[str, str]] = {  # on light ground, and on dark ground
    "ground": ("#ffffff", "#10191c"),
    "inside": ("#d55e00", "#f08030"),
    "outside": ("#cfd9dd", "#304047"),
    "above": ("#d55e00", "#f08030"),
    "below": ("#6aaad9", "#3b78a8"),
    "unsure": ("#b9bfc1", "#4d585c"),
    "empty": ("#e4e4e1", "#262f32"),
    "agree_in": ("#39464c", "#aebcc2"),
    "agree_out": ("#cfd9dd", "#304047"),
    "falsely_in": ("#e69f00", "#f0b020"),
    "falsely_out": ("#0072b2", "#3f8fd0"),
    "line": ("#17262b", "#e6eef0"),
    "halo": ("#ffffff", "#10191c"),
    "baseline": ("#17262b", "#e6eef0"),
    "point": ("#17262b", "#e6eef0"),
    "cell": ("#cfd9dd", "#304047"),
    # in none of the paths ... in all of them
    "votes0": ("#cfd9dd", "#304047"),
    "votes1": ("#f4be93", "#764424"),
    "votes2": ("#e7915b", "#ad5e28"),
    "votes3": ("#d6610d", "#e77b2f"),
    "votes4": ("#a84600", "#f9af79"),
    "votes5": ("#7a2e00", "#ffe3c2"),
    # low ... high, away from the ground
    "field0": ("#f4efb2", "#25344f"),
    "field1": ("#b6dabc", "#2b547a"),
    "field2": ("#76beb3", "#2f77a0"),
    "field3": ("#4e9cae", "#459ca5"),
    "field4": ("#2a78a3", "#6cbfa9"),
    "field5": ("#235389", "#b4daae"),
    "field6": ("#1d2f6f", "#f6f3b0"),
    "path0": ("#0072b2", "#56b4e9"),
    "path1": ("#d55e00", "#e69f00"),
    "path2": ("#009e73", "#f0e442"),
    "path3": ("#cc79a7", "#dd9cc0"),
    "path4": ("#e69f00", "#1f8f70"),
    # around a region, under its cells
    "water": ("#d6e8f2", "#0a2836"),
    "shore": ("#93aeb9", "#3f6371"),
    "border": ("#b3a6bb", "#665a70"),
    # of a curator's basemap
    "park": ("#dcebd0", "#17301f"),
    "building": ("#d8d0c6", "#2c3438"),
    "road": ("#8f9ca2", "#6d7d84"),
    "rail": ("#6f6480", "#8a7d99"),
}
_THEMES: tuple[Theme, ...] = ("light", "dark")
PALETTES: Mapping[Theme, Mapping[Role, str]] = MappingProxyType(
    {
        theme: MappingProxyType({role: pair[at] for role, pair in _COLOURS.items()})
        for at, theme in enumerate(_THEMES)
    }
)

# The classes that meet on one map and must stay apart; the colour tests run over this registry.
CLASSES: Mapping[Family, tuple[Role, ...]] = MappingProxyType(
    {
        "set": ("inside", "outside"),
        "three-way": ("above", "below", "unsure", "empty"),
        "difference": ("agree_in", "agree_out", "falsely_in", "falsely_out"),
        "votes": ("votes0", "votes1", "votes2", "votes3", "votes4", "votes5"),
        "field": ("field0", "field1", "field2", "field3", "field4", "field5", "field6"),
        "paths": ("path0", "path1", "path2", "path3", "path4"),
    }
)


def colour(role: Role, theme: Theme = "light") -> str:
    """Return the colour "#rrggbb" of a role on a theme's ground; raise `ValueError` for an unknown
    one."""
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


def steps(family: Sequential, count: int) -> tuple[Role, ...]:
    """Choose roles spread evenly over a sequential family, its ends included; raise `ValueError` if
    there are fewer or more steps than the family has colours."""
    roles = CLASSES[family]
    if not 1 <= count <= len(roles):
        raise ValueError(f"the {family} colours have 1 to {len(roles)} steps, got {count}.")
    if count == 1:
        return (roles[-1],)
    return tuple(roles[round(k * (len(roles) - 1) / (count - 1))] for k in range(count))
