"""The settings of one release: public choices that fit together, and the files that keep them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
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
    """Everything fixed before the private records are touched; see docs/settings.md.

    Raise `WorkflowError` for a value that may not stand in its field or choices that do not fit together.
    """

    def agree(self) -> None:
        """Raise `WorkflowError` where choices do not fit together; leave out mechanisms that cannot serve."""
        agree(self)

    def with_changes(self, **changes: Any) -> ReleaseSettings:
        """Return a valid copy with some fields changed; `WorkflowError` where they do not fit together."""
        return replace(self, **changes)

    @property
    def parts_of_periods(self) -> tuple[float, ...]:
        """Epsilon of each of `periods`, all of which cost `budget` together; () where there are none."""
        if self.periods is None or self.budget is None or self.delta is None:
            return ()
        front = self.period_shares == "front-loaded"
        return tuple(period_epsilons(self.budget, self.delta, self.periods, front_loaded=front))


TABLES: dict[str, type[Checked]] = {
    "data": SourceSettings,
    "reference": SourceSettings,
    "stated": StatedFacts,
}
"""Settings that are tables in a settings file, and the class of each table."""
MOST_BYTES = 1_000_000
HEAD = "Hexcursion settings. Public choices only: no data, no seed, no result."


def settings_to_toml(settings: ReleaseSettings) -> str:
    """Return the settings as a TOML text that `settings_from_toml` reads back to an equal value.

    What may not stand in a file (addresses of a ledger and a scheduler) is left out, and so are choices left
    open; every other one has its help text as a comment above it.
    """
    document = tomlkit.document()
    document.add(tomlkit.comment(HEAD))
    items = fields_of(ReleaseSettings)
    for name in (*(n for n in items if n not in TABLES), *TABLES):
        value = getattr(settings, name)
        if isinstance(value, Checked):
            table = tomlkit.table()
            table.add(tomlkit.comment(items[name].help))
            for inner in fields_of(type(value)).values():
                _write(table, inner, getattr(value, inner.key))
            if table:
                document.add(tomlkit.nl())
                document.add(name, table)
        else:
            _write(document, items[name], value)
    return tomlkit.dumps(document)


def settings_from_toml(text: str) -> ReleaseSettings:
    """Read settings.

    Raise `WorkflowError` for a text that is not TOML, names an address, has unknown or missing keys or
    impossible values.
    """
    raw = _parsed(text)
    refuse_addresses(raw, "take it out of the file")
    return settings_from_mapping(raw)


def refuse_addresses(raw: Mapping[str, Any], remedy: str) -> None:
    """Raise `WorkflowError`, ending with the remedy, for what no settings file may state.

    It would open a connection for whoever wrote the file.
    """
    for item in fields_of(ReleaseSettings).values():
        if not item.setting.in_files and item.key in raw:
            raise WorkflowError(
                f"These settings name `{item.key}`, which no settings file opens: {remedy}; the operator "
                f"names it by HEXCURSION_{item.key.upper()}."
            )


def read_toml(path: str | Path, what: str = "settings file") -> dict[str, Any]:
    """Read the raw key-value pairs of a TOML file of at most a million bytes.

    A byte order mark is passed over. Raise `WorkflowError` for a file that cannot be read or is not TOML;
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
    """Build settings from plain key-value pairs, as a TOML file or the command line give them.

    Reference data take over from the private data what they do not say themselves, except file and filters.
    Raise `WorkflowError` for unknown or missing keys and impossible values.
    """
    values = dict(raw)
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
    made = ReleaseSettings(**values)
    if made.parts_of_periods and values.get("epsilon") is None:
        return made.with_changes(epsilon=made.parts_of_periods[made.period_number - 1])
    return made


def _table(name: str, kind: type[Checked], values: dict[str, Any]) -> Checked:
    refuse_unknown(values, kind, name)
    if kind is SourceSettings and "path" not in values:
        raise WorkflowError(f"The [{name}] table lacks `path`: name its file.")
    given = {key: _pairs(value) if key == "where" else value for key, value in values.items()}
    for item in fields_of(kind, name).values():  # so that a sentence says in which table
        if item.key in given:
            item.check(given[item.key])
    return kind(**given)


def _pairs(value: Any) -> Any:
    """A table of row filters as sorted pairs of texts; numbers and dates count as what is written."""
    if isinstance(value, dict) and not any(isinstance(entry, dict | list) for entry in value.values()):
        return tuple(sorted((str(key), str(entry)) for key, entry in value.items()))
    return value


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
        written = tomlkit.inline_table()
        written.update(dict(value))
        place.add(item.key, written)
    else:
        place.add(item.key, list(value) if isinstance(value, tuple) else value)
