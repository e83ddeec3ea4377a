"""All settings by name and in words: for help texts, command-line options and the reference
page."""

from __future__ import annotations

from functools import cache
from typing import Any

from hexcursion.settings.atlas import BY_COLUMN, AtlasChoices, ColumnChoices
from hexcursion.settings.data_settings import OF_ITS_OWN
from hexcursion.settings.field import QUOTED, Field, fields_of
from hexcursion.settings.model import TABLES, ReleaseSettings
from hexcursion.settings.names import GROUPS, Group


@cache
def catalogue() -> dict[str, Field]:
    """Return every setting by its name, those of a table as "data.path", in the order of the
    model."""
    settings: dict[str, Field] = {}
    for name, item in fields_of(ReleaseSettings).items():
        if name in TABLES:
            settings |= {inner.name: inner for inner in fields_of(TABLES[name], name).values()}
        else:
            settings[name] = item
    return settings


def field(name: str) -> Field:
    """Return the field of a setting by its name in a file; raise `KeyError` for an unknown name."""
    settings = catalogue() | fields_of(ReleaseSettings)
    if name not in settings:
        raise KeyError(f"no setting is called {name!r}.")
    return settings[name]


def is_copy(item: Field) -> bool:
    """Whether a setting repeats one of the private file, with a prefix, for the reference data."""
    return item.name.startswith("reference.") and item.key != "path"


def group_of(item: Field) -> Group:
    """Return the heading of a setting; settings of the reference data have their own."""
    return "reference" if item.name.startswith("reference.") else item.group


def flag_of(item: Field) -> str:
    """Return the option of a setting, as "--reference-years"; "" for a setting without an
    option."""
    return next(iter(flags_of(item)), "")


def flags_of(item: Field) -> tuple[str, ...]:
    """Return all options of a setting on the command line, the listed one first; () for stated
    facts."""
    table, _, key = item.name.rpartition(".")
    if table == "stated":
        return ()
    if key == "path":
        return (f"--{table}",)
    prefix = "" if table in ("", "data") else f"{table}-"
    words = (item.setting.flag or key.replace("_", "-"), item.setting.also)
    return tuple(f"--{prefix}{word}" for word in words if word)


COMMAND = "python -m hexcursion.settings"
HEAD = f"""# Settings

Every public choice of a release has one name: in a settings file (TOML, read with `--config`), on the
command line of `python -m hexcursion release`, and in the program. A name with a point is in a table of
the settings file: `data.path` is `path` under `[data]`. Its option has hyphens and no table, as
`--place-column` for `data.place_column`; other options are in brackets, and `[stated]` has none. Switches
have a `--no-` form, as `--no-quick`. Names that installed packages add are in the help of the command
line. `{COMMAND}` makes this page.
"""


COPIES = (
    "Each option of the private file also with this prefix, as --reference-value, for reference data "
    f"that differ: by default as there, except {', '.join(OF_ITS_OWN[1:])}."
)


def value_words(item: Field) -> str:
    """Return the placeholder of a value on the command line: its words, or its kind."""
    if item.choices and item.setting.names is None:
        return "{" + ",".join(item.choices) + "}"
    return {"number": "NUMBER", "whole number": "NUMBER"}.get(item.kind, "TEXT")


def help_words(item: Field) -> str:
    """Return the help text with the names and the unit of measure of a value."""
    names = f" Names: {', '.join(item.choices)}." if item.setting.names is not None else ""
    measure = f" In {item.measure}." if item.measure else ""
    return meaning(item) + names + measure + (f" {COPIES}" if item.name == "reference.path" else "")


def meaning(item: Field) -> str:
    """Return the help text; the option of a whole table has the help of the table."""
    return field("reference").help if item.name == "reference.path" else item.help


def default_words(item: Field) -> str:
    """Describe the default of a setting; "" for a required one."""
    if item.name == "reference.path":
        return field("reference").setting.otherwise
    if item.required:
        return ""
    if item.setting.otherwise and item.default in (None, "", ()):
        return item.setting.otherwise
    return _written(item.default)


def reference_page() -> str:
    """Return the reference page of all settings, in Markdown."""
    parts = [HEAD]
    for group, title in GROUPS.items():
        parts.append(f"## {title[:1].upper()}{title[1:]}\n")
        parts.append("| setting | value | default | meaning |\n|---|---|---|---|")
        items = (item for item in catalogue().values() if group_of(item) == group and not is_copy(item))
        parts[-1] += "".join(f"\n{_row(item)}" for item in items)
        parts[-1] += f"\n\n{COPIES}\n" if group == "reference" else "\n"
    return "\n".join([*parts, *_columns_page()])


COLUMNS = f"""## Several columns (an atlas)

Several columns of the same records are released together with a table `[columns.NAME]` for each in a
settings file, with `--value NAME NAME ...`, or with a list as `value` in Python. Each column may set
{", ".join(f"`{name}`" for name in BY_COLUMN)}:
`--threshold pb=150 zn=500`, `threshold={{"pb": 150, "zn": 500}}`. All other
settings hold for all columns; those that an atlas does not read are refused.

| setting | value | default | meaning |
|---|---|---|---|"""


def _columns_page() -> list[str]:
    """Return the section on the settings of several columns."""
    rows = []
    for item in (fields_of(AtlasChoices) | fields_of(ColumnChoices)).values():
        cells = (f"`{item.key}`", _kind_words(item), _written(item.default), item.help)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    rows.append(
        "| `derived` | list of lists | none | Several columns: layers that follow from them, "
        'published at no cost: `["ratio", "pb", "zn", 0.5]`, `difference` and `sum` alike (where it is '
        'above the number), `["both", "pb", "zn"]` and `["any", "pb", "zn", "cd"]`. |'
    )
    return [COLUMNS, *rows, ""]


def _row(item: Field) -> str:
    default = default_words(item) or "must be given"
    regular = f"--{item.key.replace('_', '-')}"
    flag = flag_of(item)
    option = f" (`{flag}`)" if flag not in ("", regular) else ""
    cells = (f"`{item.name}`{option}", _kind_words(item), default, meaning(item))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _kind_words(item: Field) -> str:
    """Return the kind of a value in few words, for a column of a table."""
    words = item.must_be.removesuffix(QUOTED).removeprefix("one of ")
    short = {"true or false": "switch", "a non-empty text": "text"}
    return short.get(words, words.removeprefix("a ").removeprefix("an "))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(map(_written, value))
    return f"{value:g}".replace("e-0", "e-") if isinstance(value, float) else str(value)
