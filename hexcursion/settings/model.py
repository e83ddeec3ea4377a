"""The settings of one release: consistent public choices, and their files."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Table

from dpgp_core.accounting.gaussian import period_epsilons
from hexcursion.errors import WorkflowError
from hexcursion.settings.choices import Choices
from hexcursion.settings.cross_checks import agree
from hexcursion.settings.data_settings import OF_ITS_OWN, SourceSettings
from hexcursion.settings.field import Checked, Field, fields_of, refuse_unknown
from hexcursion.settings.privacy_settings import StatedFacts


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings(Choices):
    """Every choice that is fixed before the private records are read; see docs/settings.md.

    Raise `WorkflowError` for an invalid value of a field or inconsistent choices.
    """

    def agree(self) -> None:
        """Raise `WorkflowError` for inconsistent choices; remove mechanisms that cannot serve."""
        agree(self)

    def with_changes(self, **changes: Any) -> ReleaseSettings:
        """Return a valid copy with some fields changed; raise `WorkflowError` if inconsistent."""
        return replace(self, **changes)

    @property
    def parts_of_periods(self) -> tuple[float, ...]:
        """Epsilon of each of `periods`, which together cost `budget`; () without periods."""
        if self.periods is None or self.budget is None or self.delta is None:
            return ()
        front = self.period_shares == "front-loaded"
        return tuple(period_epsilons(self.budget, self.delta, self.periods, front_loaded=front))


TABLES: dict[str, type[Checked]] = {
    "data": SourceSettings,
    "reference": SourceSettings,
    "stated": StatedFacts,
}
"""The settings that are tables in a settings file, with the class of each table."""
MOST_BYTES = 1_000_000
HEAD = "Hexcursion settings. Public choices only: no data, no seed, no result."


def settings_to_toml(settings: ReleaseSettings, without: Collection[str] = ()) -> str:
    """Return the settings as a TOML text that `settings_from_toml` reads back to an equal value.

    Leave out addresses of a ledger and a scheduler, which a file may not set, the settings in
    `without`, and choices without a value. Write the help text of every other choice as a comment
    above it.
    """
    document = tomlkit.document()
    document.add(tomlkit.comment(HEAD))
    items = fields_of(ReleaseSettings)
    for name in (*(n for n in items if n not in TABLES and n not in without), *TABLES):
        value = getattr(settings, name)
        if isinstance(value, Checked):
            table = tomlkit.table()
            table.add(tomlkit.comment(items[name].help))
            for inner in (item for item in fields_of(type(value)).values() if item.key not in without):
                _write(table, inner, getattr(value, inner.key))
            if table:
                document.add(tomlkit.nl())
                document.add(name, table)
        else:
            _write(document, items[name], value)
    return tomlkit.dumps(document)


def settings_from_toml(text: str) -> ReleaseSettings:
    """Read settings.

    Raise `WorkflowError` for a text that is not TOML, names an address, has unknown or missing keys
    or impossible values.
    """
    return settings_from_mapping(mapping_from_toml(text))


def mapping_from_toml(text: str) -> dict[str, Any]:
    """Read key-value pairs from TOML; raise `WorkflowError` if not TOML or if it names an address."""
    raw = _parsed(text)
    refuse_addresses(raw, "take it out of the file")
    return raw


def refuse_addresses(raw: Mapping[str, Any], remedy: str) -> None:
    """Raise `WorkflowError`, ending with the remedy, for an address, which no settings file may
    set.

    An address would open a connection chosen by the author of the file.
    """
    for item in fields_of(ReleaseSettings).values():
        if not item.setting.in_files and item.key in raw:
            raise WorkflowError(
                f"These settings name `{item.key}`, which no settings file opens: {remedy}; the operator "
                f"names it by HEXCURSION_{item.key.upper()}."
            )


def read_toml(path: str | Path, what: str = "settings file") -> dict[str, Any]:
    """Read the raw key-value pairs of a TOML file of at most a million bytes.

    Ignore a byte order mark. Raise `WorkflowError` for a file that is unreadable or not TOML;
    `what` is its kind, for messages.
    """
    name = Path(path).name
    unreadable = WorkflowError(f"The {what} {name!r} cannot be read: name a TOML file.")
    if "\0" in str(path):
        raise unreadable
    try:
        with open(path, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise WorkflowError(f"The {what} {name!r} is too large to be one: name a TOML file.")
        return _parsed(content.decode("utf-8-sig"), what)
    except UnicodeDecodeError as error:
        raise WorkflowError(
            f"The {what} {name!r} is not text in UTF-8: save it as UTF-8 in its editor."
        ) from error
    except OSError as error:
        raise unreadable from error


def settings_from_mapping(raw: Mapping[str, Any]) -> ReleaseSettings:
    """Build settings from plain key-value pairs of a TOML file or the command line.

    Reference data inherit missing settings from the private data, except file and filters. Raise
    `WorkflowError` for unknown or missing keys and invalid values.
    """
    values = dict(raw)
    if "columns" in values:
        raise WorkflowError(
            "These settings are of an atlas, several columns released together, and this takes one column: "
            "use `hexcursion release` or `hexcursion.release`, or name one column with `value`."
        )
    refuse_unknown(values, ReleaseSettings, "settings")
    data, reference = values.get("data"), values.get("reference")
    if isinstance(data, dict) and isinstance(reference, dict):
        shared = {name: value for name, value in data.items() if name not in OF_ITS_OWN}
        values["reference"] = {**shared, **reference}
    for name, kind in TABLES.items():
        if isinstance(values.get(name), dict):
            values[name] = _table(name, kind, values[name])
    for name in ("data", "threshold"):
        if values.get(name) is None:
            raise WorkflowError(f"The settings lack `{name}`: {fields_of(ReleaseSettings)[name].help}")
    settings = ReleaseSettings(**values)
    if settings.parts_of_periods and values.get("epsilon") is None:
        return settings.with_changes(epsilon=settings.parts_of_periods[settings.period_number - 1])
    return settings


def _table(name: str, kind: type[Checked], values: dict[str, Any]) -> Checked:
    refuse_unknown(values, kind, name)
    if kind is SourceSettings and "path" not in values:
        raise WorkflowError(f"The [{name}] table lacks `path`: name its file.")
    arguments = {key: _pairs(value) if key == "where" else value for key, value in values.items()}
    for item in fields_of(kind, name).values():  # check here, so that an error names the table
        if item.key in arguments:
            item.check(arguments[item.key])
    return kind(**arguments)


def _pairs(value: Any) -> Any:
    """Convert a table of row filters to sorted pairs of texts, numbers and dates as written.

    A list of entries of a column gives a pair for each entry."""
    if not isinstance(value, dict):
        return value
    listed = {key: entry if isinstance(entry, list) else [entry] for key, entry in value.items()}
    entries = [entry for several in listed.values() for entry in several]
    if not all(listed.values()) or any(isinstance(entry, dict | list) for entry in entries):
        return value
    return tuple(sorted({(str(key), str(entry)) for key, several in listed.items() for entry in several}))


def _parsed(text: str, what: str = "settings file") -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise WorkflowError(f"The {what} is not valid TOML: {reason}.") from error


def _write(place: tomlkit.TOMLDocument | Table, item: Field, value: Any) -> None:
    if value is None or value == () or not item.setting.in_files:
        return
    measure = f" In {item.measure}." if item.measure else ""
    place.add(tomlkit.comment(item.help + measure))
    if item.kind == "pairs":
        table = tomlkit.inline_table()
        for column in dict.fromkeys(name for name, _ in value):
            entries = [entry for name, entry in value if name == column]
            table[column] = entries[0] if len(entries) == 1 else entries
        place.add(item.key, table)
    else:
        place.add(item.key, list(value) if isinstance(value, tuple) else value)
