"""Settings of an atlas: several columns of the same records, released together under one promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, Literal

import tomlkit

from dpgp_core.atlas.design import AtlasDesign, Columns
from dpgp_core.spectral.ball import MOST_COLUMNS
from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.derived import Derived, derived_from, refuse_mixed
from hexcursion.settings.field import Checked, Setting, fields_of
from hexcursion.settings.model import (
    ReleaseSettings,
    mapping_from_toml,
    settings_from_mapping,
    settings_to_toml,
)

OWN = tuple("threshold direction transform centre clip value_name value_unit values yes_above".split())
"""Settings that each column of an atlas may have for itself; all others hold for all columns but a weight."""

SCALE = ("transform", "centre", "clip")
"""Of them those that answers of yes and no do without."""

NOT_READ = tuple(
    (
        "prior_mean public_counts limits change pilot pilot_by shared_design lengthscale ridge owner "
        "records_per_owner owner_once_per_hexagon covariates covariate_columns population_file "
        "population_column looked"
    ).split()
)
"""Settings of one column that an atlas does not read."""

MUST_BE = {"unit": "point", "looks": 1}
"""Settings that an atlas takes with this value alone."""

MECHANISM = AtlasDesign.mechanism
"""The only mechanism that releases several columns together."""


@dataclass(frozen=True, kw_only=True)
class AtlasChoices(Checked):
    """The choices for all columns of an atlas together."""

    # fmt: off
    gaps: Annotated[bool, Setting(
        "Several columns: values may be missing. The records that have each column are counted apart.",
        "data",
    )] = False
    reading: Annotated[Columns, Setting(
        "Several columns: each is read with all others where the released sums make that likelier, or "
        "always by itself, as with gaps, a reference, derived layers, weights or answers.", "design",
    )] = "likelier"
    # fmt: on


@dataclass(frozen=True, kw_only=True)
class ColumnChoices(Checked):
    """The choices for one column of an atlas; none if it is released alone."""

    # fmt: off
    weight: Annotated[float, Setting(
        "Several columns: public priority of one. Twice the weight is half the noise, and more for the "
        "others.", "design", minimum=1.0, maximum=10.0,
    )] = 1.0
    # fmt: on


@dataclass(frozen=True)
class AtlasSettings:
    """The settings of an atlas: those of each column as if it were released alone, and what all share."""

    layers: tuple[ReleaseSettings, ...]  # one for each column, in order; alike but for `OWN`
    choices: AtlasChoices
    title: str = ""  # of the whole
    equal_rows: Literal["once", "each"] | None = None  # of rows equal in all columns; None: once, unsaid
    derived: tuple[Derived, ...] = ()  # layers that follow from others, published with them at no cost
    weights: tuple[float, ...] = ()  # priorities of the columns, in their order; () where all are alike

    @property
    def first(self) -> ReleaseSettings:
        """The settings of the first column, for what all columns share."""
        return self.layers[0]

    @property
    def shared(self) -> ReleaseSettings:
        """The settings of the first column as a file says them: with the title of all, and with what becomes
        of rows that are equal in all columns."""
        data = replace(self.first.data, equal_rows=self.equal_rows)
        return self.first.with_changes(title=self.title, data=data)

    @property
    def own(self) -> dict[str, dict[str, Any]]:
        """What each column has for itself, by its name, as `OWN` calls it; open settings are left out."""
        columns: dict[str, dict[str, Any]] = {}
        for number, (name, layer) in enumerate(zip(self.names, self.layers, strict=True)):
            values = {key: value for key in OWN if (value := getattr(layer, key)) is not None}
            if layer.values == "amount":
                del values["values"]
            columns[name] = values | ({"weight": self.weights[number]} if self.weights else {})
        return columns

    @property
    def ledger(self) -> str | None:
        """Database of the ledger."""
        return self.first.ledger

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(str(layer.data.value) for layer in self.layers)

    @property
    def answers(self) -> tuple[int, ...]:
        """The columns, from 0, that are answers of yes and no."""
        return tuple(number for number, layer in enumerate(self.layers) if layer.values == "yes-no")

    @property
    def reading(self) -> Columns:
        """How the amounts are read: apart where values may be missing, layers follow from others, each starts
        from its published map, they have several weights, or one is beside answers alone."""
        one_amount = len(self.layers) - len(self.answers) < 2
        alone = self.derived or self.weights
        apart = self.choices.gaps or one_amount or self.first.reference is not None or bool(alone)
        return "apart" if apart else self.choices.reading

    @property
    def accept_low_agreement(self) -> bool:
        """Whether the release goes on although some maps are expected to be poor."""
        return self.first.accept_low_agreement

    def with_changes(self, **changes: Any) -> AtlasSettings:
        """Return a copy with some settings changed for all columns."""
        return replace(self, layers=tuple(layer.with_changes(**changes) for layer in self.layers))


Settings = ReleaseSettings | AtlasSettings
"""Settings of one column, or of several."""


def any_settings(raw: Mapping[str, Any]) -> Settings:
    """Build settings of one column or of several from plain key-value pairs.

    Several columns are a table `columns` of tables, or a list of names as `data.value` with settings that
    are tables by column, such as `threshold = {pb = 150, zn = 500}`. Raise `WorkflowError` as
    `settings_from_mapping`, and for columns that cannot be released together.
    """
    values = _gathered(dict(raw))
    columns = values.pop("columns", None)
    if columns is None:
        return settings_from_mapping({key: value for key, value in values.items() if key not in ONLY})
    choices = AtlasChoices(**{key: values.pop(key) for key in _CHOICES if values.get(key) is not None})
    _check_columns(columns)
    derived = _derived(values.pop("derived", None) or (), columns)
    by_name = {
        name: {key: value for key, value in column.items() if key != "weight"}
        for name, column in columns.items()
    }
    if len(columns) == 1:
        ((name, single),) = by_name.items()
        return settings_from_mapping({**values, **single, "data": {**_data(values), "value": name}})
    _refuse_not_read(values)
    values = _with_reference(values, tuple(columns))
    title = values.pop("title", None) or ""
    data = _data(values)
    equal = data.get("equal_rows")
    layers = tuple(
        _layer(values, column, {**data, "value": name, "equal_rows": "each"})
        for name, column in by_name.items()
    )
    weights = _weights(columns)
    _refuse_layers(layers, weights, choices)
    refuse_mixed(derived, [str(layer.data.value) for layer in layers if layer.values == "yes-no"])
    checked_title = fields_of(ReleaseSettings)["title"].check(title)
    return AtlasSettings(layers, choices, checked_title, equal, derived, weights)


def _layer(values: Mapping[str, Any], own_values: Mapping[str, Any], data: dict[str, Any]) -> ReleaseSettings:
    """The settings of one column; what all columns say of their scale holds for amounts alone. Raise
    `WorkflowError` for counted records."""
    members = {**values, **own_values}
    if members.get("values") == "count":
        raise WorkflowError(
            "An atlas has amounts and answers, and its records are counted at no cost: leave `values` = "
            "'count' out, or release counted records alone."
        )
    if members.get("values") == "yes-no":
        members = {key: value for key, value in members.items() if key not in SCALE or key in own_values}
    elif "yes_above" not in own_values:
        members.pop("yes_above", None)
    return settings_from_mapping({**members, "data": data}).with_changes(mechanisms=(MECHANISM,))


def _weights(columns: Mapping[str, Mapping[str, Any]]) -> tuple[float, ...]:
    """The priorities of the columns; () where all are alike."""
    item = fields_of(ColumnChoices)["weight"]
    weights = tuple(float(item.check(column.get("weight", 1.0))) for column in columns.values())
    return weights if len(set(weights)) > 1 else ()


def _refuse_layers(
    layers: Sequence[ReleaseSettings], weights: Sequence[float], choices: AtlasChoices
) -> None:
    """Refuse columns that cannot be released together yet."""
    kinds = {layer.values for layer in layers}
    if layers[0].reference is not None and ("yes-no" in kinds or weights):
        raise WorkflowError(
            "Answers and weighted columns of an atlas start from no published table yet: leave `reference` "
            "out, or release them alone."
        )
    if weights and choices.gaps and "yes-no" in kinds:
        raise WorkflowError("Answers beside gaps have the weight of all: leave `weight` out, or the answers.")


def several(
    first: ReleaseSettings,
    columns: Mapping[str, Mapping[str, Any]],
    choices: AtlasChoices,
    derived: Sequence[Derived] = (),
) -> AtlasSettings:
    """Settings of two columns or more, each with its `OWN`, which share all else with those of the first.
    Raise `WorkflowError` as `any_settings`."""
    shared, data = _said(first), _said(first.data)
    raw = {name: value for name, value in shared.items() if name not in OWN}
    data.pop("value", None)
    own_tables = {"columns": columns, "derived": [layer.words for layer in derived]}
    atlas = any_settings({**raw, **asdict(choices), "data": data, **own_tables})
    if not isinstance(atlas, AtlasSettings):
        raise WorkflowError("An atlas has several columns: name two or more.")
    return atlas


def any_to_toml(settings: Settings) -> str:
    """Return settings of one column or several as a TOML text that `any_from_toml` reads back."""
    if isinstance(settings, ReleaseSettings):
        return settings_to_toml(settings)
    document = tomlkit.parse(settings_to_toml(settings.shared, (*OWN, *NOT_READ, "value")))
    for name, value in asdict(settings.choices).items():
        document.add(name, value)
    if settings.derived:
        document.add("derived", [layer.words for layer in settings.derived])
    columns = tomlkit.table(is_super_table=True)
    for name, column in settings.own.items():
        table = tomlkit.table()
        table.update(column)
        columns.add(name, table)
    document.add("columns", columns)
    return tomlkit.dumps(document)


def any_from_toml(text: str) -> Settings:
    """Read settings of one column or several; `WorkflowError` as `settings_from_toml` and `any_settings`."""
    return any_settings(mapping_from_toml(text))


def _said(settings: ReleaseSettings | SourceSettings) -> dict[str, Any]:
    """The settings that differ from the defaults, by name."""
    values = {name: getattr(settings, name) for name in fields_of(type(settings))}
    usual = {item.name: item.default for item in fields(settings)}
    return {name: value for name, value in values.items() if value != usual.get(name)}


_CHOICES = tuple(item.name for item in fields(AtlasChoices))
BY_COLUMN = (*OWN, *(item.name for item in fields(ColumnChoices)))
"""Settings that each column of an atlas may have for itself."""
ONLY = (*_CHOICES, "derived", "weight")
"""Settings that say nothing of one column."""


def _derived(rows: Any, columns: Any) -> tuple[Derived, ...]:
    """The layers that follow from others, as lists of a kind, columns and a threshold."""
    if isinstance(rows, str) or not all(isinstance(words, list | tuple) for words in rows):
        raise WorkflowError(
            'Write each derived layer as a list, such as derived = [["ratio", "pb", "zn", 0.5], '
            '["both", "pb", "zn"]].'
        )
    layers = tuple(map(derived_from, rows))
    for name in (name for layer in layers for name in layer.of):
        if name not in columns:
            raise WorkflowError(
                f"A derived layer names {name!r}, which is none of the columns: name that too."
            )
    return layers


def _gathered(values: dict[str, Any]) -> dict[str, Any]:
    """Settings whose lists of columns and tables by column have become the one table `columns`."""
    data = values.get("data")
    value_names = data.get("value") if isinstance(data, Mapping) else None
    by_column = {key: values[key] for key in BY_COLUMN if isinstance(values.get(key), Mapping)}
    listed = list(value_names) if isinstance(value_names, list | tuple) else []
    tables = values.get("columns")
    if not listed and not by_column:
        return values
    if tables is not None and not _are_tables(tables):
        return values  # refused later
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise WorkflowError(f"The column {twice!r} is named twice: name each column of an atlas once.")
    if not listed and tables is None:
        raise WorkflowError(
            f"`{next(iter(by_column))}` is given by column: name the columns too, such as value = "
            f"{list(next(iter(by_column.values())))}."
        )
    names = listed or list(tables or {})
    columns = {name: dict((tables or {}).get(name, {})) for name in names}
    for key, table in by_column.items():
        if strange := [name for name in table if name not in columns]:
            raise WorkflowError(
                f"`{key}` is given for {strange[0]!r}, which is none of the columns {', '.join(names)}: "
                "name that column, or leave it out."
            )
        for name, value in table.items():
            columns[name][key] = value
        values = {name: value for name, value in values.items() if name != key}
    return {**values, "data": {k: v for k, v in _data(values).items() if k != "value"}, "columns": columns}


def _data(values: Mapping[str, Any]) -> dict[str, Any]:
    data = values.get("data")
    if not isinstance(data, Mapping):
        raise WorkflowError("The settings lack `data`: the private records, a table with at least a path.")
    return dict(data)


def _with_reference(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The same with a reference table that has all columns under their `names`. Raise `WorkflowError` for a
    reference that is not published, or names other columns."""
    reference = values.get("reference")
    if reference is None:
        return values
    if values.get("reference_public") is not True:
        raise WorkflowError(
            "An atlas starts from a published table of an earlier time: declare it public with "
            "`reference_public`, or leave `reference` out."
        )
    source = _said(reference) if isinstance(reference, SourceSettings) else reference
    if not isinstance(source, Mapping):
        return values  # refused later
    column = source.get("value")
    if column is not None and (column not in names if isinstance(column, str) else tuple(column) != names):
        raise WorkflowError(
            "The reference of an atlas has its columns under the same names: leave its `value` out."
        )
    return {**values, "reference": {key: value for key, value in source.items() if key != "value"}}


def _are_tables(columns: Any) -> bool:
    """Whether columns are a table of tables."""
    return isinstance(columns, Mapping) and all(isinstance(table, Mapping) for table in columns.values())


def _check_columns(columns: Any) -> None:
    """Refuse columns that are no table, are too many, or lack a threshold."""
    if not _are_tables(columns) or not columns:
        raise WorkflowError(
            "Write each column of an atlas as a table, such as [columns.pb] with a threshold."
        )
    if len(columns) > MOST_COLUMNS:
        raise WorkflowError(
            f"An atlas has at most {MOST_COLUMNS} columns, and {len(columns)} are named: leave some out, as "
            "each needs more noise than the one before."
        )
    for name, table in columns.items():
        if strange := [key for key in table if key not in BY_COLUMN]:
            raise WorkflowError(
                f"The column {name!r} has no setting {strange[0]!r} of its own: a column may have "
                f"{', '.join(BY_COLUMN)}."
            )
        if table.get("threshold") is None:
            raise WorkflowError(
                f"The column {name!r} lacks a threshold: give each column its own, as in --threshold pb=150 "
                "zn=500."
            )


def _refuse_not_read(values: Mapping[str, Any]) -> None:
    """Refuse settings of one column that do nothing for several."""
    for key in NOT_READ:
        if values.get(key) not in (None, False, (), []):
            raise WorkflowError(
                f"An atlas does not read `{key}`: leave that out, or release its column alone."
            )
    for key, only in MUST_BE.items():
        if values.get(key) not in (None, only):
            raise WorkflowError(
                f"An atlas is released with `{key}` = {only!r} alone: leave that out, or release its column "
                "alone."
            )
    if _data(values).get("trip") is not None:
        raise WorkflowError("An atlas does not read the places of a trip: leave `trip` out.")
    mechanisms = values.get("mechanisms")
    if mechanisms is not None and MECHANISM not in mechanisms:
        raise WorkflowError(f"Only {MECHANISM} releases several columns together: leave `mechanisms` out.")
