"""All settings by name: for help texts, limits, command-line options and the reference page."""

from __future__ import annotations

from functools import cache

from hexcursion.settings.checked import Checked, fields_of
from hexcursion.settings.field import Field
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.source import SourceSettings
from hexcursion.settings.stated import StatedFacts
from hexcursion.settings.words import Group

TABLES: dict[str, type[Checked]] = {
    "data": SourceSettings,
    "reference": SourceSettings,
    "stated": StatedFacts,
}
"""Settings that are tables of their own in a settings file, and what stands in them."""


@cache
def catalogue() -> dict[str, Field]:
    """Every setting by its name, those of a table as "data.path", in the order of the model."""
    found: dict[str, Field] = {}
    for name, item in fields_of(ReleaseSettings).items():
        if name in TABLES:
            found |= {inner.name: inner for inner in fields_of(TABLES[name], name).values()}
        else:
            found[name] = item
    return found


def field(name: str) -> Field:
    """Return help, limits, words, default and unit of a setting, named as in a file; else `KeyError`.

    >>> field("epsilon").help
    'Privacy budget of this release.'
    >>> field("paths").minimum, field("paths").maximum
    (1, 1000)
    >>> field("unit").choices
    ('point', 'cell')
    """
    found = catalogue() | fields_of(ReleaseSettings)
    if name not in found:
        raise KeyError(f"no setting is called {name!r}.")
    return found[name]


def is_copy(item: Field) -> bool:
    """Whether it is a setting of the private file once more, with a prefix, for the reference data."""
    return item.name.startswith("reference.") and item.key != "path"


def group_of(item: Field) -> Group:
    """The heading of a setting: what belongs to the reference data stands under theirs."""
    return "reference" if item.name.startswith("reference.") else item.group


def flag_of(item: Field) -> str:
    """The option of a setting on the command line, as "--reference-years"; "" where a file alone says it."""
    return next(iter(flags_of(item)), "")


def flags_of(item: Field) -> tuple[str, ...]:
    """All options that stand for a setting on the command line, the listed first; stated facts have none."""
    table, _, key = item.name.rpartition(".")
    if table == "stated":
        return ()
    if key == "path":
        return (f"--{table}",)
    prefix = "" if table in ("", "data") else f"{table}-"
    words = (item.setting.flag or key.replace("_", "-"), item.setting.also)
    return tuple(f"--{prefix}{word}" for word in words if word)
