"""The options of `release`, made from the settings' own definitions, and how they become
settings."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from data_loaders import profiles
from geo.context.named_areas import box_around, place_named
from hexcursion.cli.profile import fill_from_profile, filter_pairs
from hexcursion.errors import WorkflowError
from hexcursion.estimates.forecasts import propose_resolution
from hexcursion.releasing.allowed_paths import reach_of_file
from hexcursion.settings import atlas, field
from hexcursion.settings.atlas import AtlasChoices, AtlasSettings, ColumnChoices, Settings, any_settings
from hexcursion.settings.catalogue import (
    catalogue,
    default_words,
    flags_of,
    group_of,
    help_words,
    is_copy,
    value_words,
)
from hexcursion.settings.field import Field, fields_of
from hexcursion.settings.model import (
    TABLES,
    ReleaseSettings,
    read_toml,
    refuse_addresses,
)
from hexcursion.settings.names import GROUPS
from hexcursion.words import listed

TYPED = frozenset(
    (
        "config data.path data.value data.x data.y data.crs data.where value_unit owner centre clip "
        "records_per_owner reference.path reference_public region bbox place reach resolution unit epsilon "
        "epsilons delta budget periods threshold direction mechanisms accept_low_agreement ledger out "
        "dry_run show_baseline"
    ).split()
)
"""Options that people type: `--help` lists them in short, `--help-all` every option in full."""
ALL = "--help-all"
BY_COLUMN = frozenset({"data.value", *atlas.BY_COLUMN})
"""Options that take a column's own value, as COLUMN=VALUE, where several columns are released
together."""


OF_ATLASES = fields_of(AtlasChoices) | fields_of(ColumnChoices)
"""Settings of several columns."""


class _HelpAll(argparse.Action):
    """Prints the help in full; `const` holds the texts."""

    const: dict[str, str]

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        for action in parser._actions:
            action.help = self.const.get(action.dest, action.help)
        parser.print_help()
        parser.exit()


Chosen = TypeVar("Chosen", bound=Settings)


class _Help(argparse.HelpFormatter):
    """Names the value of an option once, also where several columns may each have their own."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        metavar = action.metavar if isinstance(action.metavar, str) else default_metavar
        return metavar if action.dest in BY_COLUMN else super()._format_args(action, default_metavar)


def shorten_help(parser: argparse.ArgumentParser) -> None:
    """Let `--help` list in short what people type, and `--help-all` the rest."""
    full = {
        option.dest: option.help
        for option in parser._actions
        if option.help not in (None, argparse.SUPPRESS) and option.dest != "help"
    }
    for action in parser._actions:
        if action.dest in full:
            first = re.split(r"[.;:] ", full[action.dest])[0].rstrip(".")
            action.help = f"{first}." if action.dest in TYPED else argparse.SUPPRESS
    parser.add_argument(ALL, action=_HelpAll, nargs=0, const=full, help="Every option in full.")
    parser.epilog = (
        f"{len(full.keys() - TYPED)} more with {ALL}: --reference-... for reference data that differ, "
        "designs by hand, pilots, layers. A settings file takes them all, and your statements."
    )


def add_release_options(parser: argparse.ArgumentParser) -> None:
    """One option for each setting, under its heading; the parsed value keeps the setting's name."""
    parser.add_argument(
        "--config", metavar="FILE.toml", help="Settings file; options given here override it."
    )
    parser.add_argument(
        "--trust-settings",
        action="store_true",
        default=None,
        help="Let that file name a ledger, a Dask scheduler, and files outside of its own folder, the "
        "current one and HEXCURSION_DATA.",
    )
    parser.formatter_class = _Help
    groups = {name: parser.add_argument_group(title) for name, title in GROUPS.items()}
    for item in catalogue().values():
        if not (flags := flags_of(item)):
            continue
        form = _form_of(item)
        default = default_words(item)
        text = help_words(item) + (f" Default: {default}." if default else "")
        text = argparse.SUPPRESS if is_copy(item) else text.replace("%", "%%")
        groups[group_of(item)].add_argument(*flags, dest=item.name, default=None, help=text, **form)
    for item in OF_ATLASES.values():
        groups[item.group].add_argument(
            f"--{item.key}", dest=item.key, default=None, help=help_words(item), **_form_of(item)
        )
    _add_further_options(groups)


def _form_of(item: Field) -> dict[str, Any]:
    """How argparse reads the option of a setting."""
    if item.kind == "switch":
        return {"action": argparse.BooleanOptionalAction}
    form: dict[str, Any] = {"metavar": item.setting.metavar or value_words(item)}
    if item.name in BY_COLUMN:
        form["nargs"] = "+"
    elif item.many:
        form["nargs"] = item.length or "+"
        # Several at once, or the option several times
        if item.kind == "pairs" or not item.length:
            form["action"] = "extend"
    return form


def _add_further_options(groups: Mapping[Any, Any]) -> None:
    """Options that set several settings, or none."""
    groups["set"].add_argument(
        "--derived",
        nargs="+",
        action="append",
        default=None,
        metavar="WORD",
        help="Several columns: a layer that follows from them, published at no cost: ratio A B NUMBER, "
        "difference A B NUMBER or sum A B NUMBER (where it lies above the number), both A B, any A B.",
    )
    groups["data"].add_argument(
        "--profile",
        metavar="NAME|none",
        help="Agency whose names of columns stand in for those that no option names: "
        f"{', '.join(profile.name for profile in profiles().values() if profile.rows == 'readings')}; none "
        "for none. Default: the one that the columns fit.",
    )
    groups["geography"].add_argument(
        "--place",
        metavar="NAME",
        help="A place that ships with the program, in place of --bbox; NAME@LONGITUDE,LATITUDE where several "
        "bear the name.",
    )
    groups["geography"].add_argument(
        "--reach", metavar="KM", type=float, help="How many kilometres the box reaches around --place."
    )
    groups["privacy"].add_argument(
        "--same-records-as",
        metavar="ENTRY",
        type=int,
        nargs="+",
        default=[],
        help="Charges of the ledger, by number, whose data hold the same records in other words: their "
        "releases and this one are counted together from here on.",
    )
    groups["privacy"].add_argument(
        "--wanted-iou",
        metavar="IOU",
        type=share,
        help="Release at the smallest epsilon, at most --epsilon, that reaches this agreement on the "
        "reference data.",
    )


def settings_from_options(options: argparse.Namespace) -> ReleaseSettings:
    """Read settings of one column as `any_from_options`; raise `WorkflowError` for those of
    several."""
    settings = any_from_options(options)
    if isinstance(settings, AtlasSettings):
        raise WorkflowError(
            "Several columns are released together by `release` and `atlas` alone: name one with --value."
        )
    return settings


def any_from_options(options: argparse.Namespace) -> Settings:
    """Read settings from the file named by --config, overridden by the options that were given.

    Raise `WorkflowError` for missing or impossible options and those that do not fit together.
    """
    return any_settings(_values(options))


def with_resolution(settings: Chosen, options: argparse.Namespace) -> Chosen:
    """Add the resolution that suits area and records, where an option or a file says none.

    A settings file that says none means the default, as everywhere else that reads one. Raise
    `WorkflowError`, `DataError` or `GeoError` for an area that cannot be read.
    """
    if not _is_proposed(options):
        return settings
    about = options.records_about
    records = None if about is None else _read(field("records_about"), about)
    proposal = propose_resolution(
        settings.first if isinstance(settings, AtlasSettings) else settings,
        records if records is None else field("records_about").check(records),
    )
    alternatives = "another" if about is not None else "another, --records-about N chooses one for N records"
    print(f"By default {proposal.sentence} (--resolution sets {alternatives}).", file=sys.stderr)
    return cast("Chosen", settings.with_changes(resolution=proposal.resolution))


def _is_proposed(options: argparse.Namespace) -> bool:
    """Whether a resolution is proposed: neither an option nor a settings file is there to say
    it."""
    return options.config is None and options.resolution is None


def _values(options: argparse.Namespace) -> dict[str, Any]:
    """The given settings, by key; it prints the substitutes for others."""
    typed_options = {name: value for name, value in vars(options).items() if value is not None}
    values: dict[str, Any] = read_toml(typed_options["config"]) if "config" in typed_options else {}
    if "config" in typed_options and "trust_settings" not in typed_options:
        refuse_addresses(values, "give --trust-settings after reading them, or name it by its own option")
        reach_of_file(typed_options["config"]).check_settings(values)
    if ("place" in typed_options) != ("reach" in typed_options):
        raise WorkflowError("Give --place and --reach together: a name, and how many kilometres around it.")
    if "place" in typed_options:
        if "region" in typed_options or "bbox" in typed_options:
            raise WorkflowError("Name the area once: by --place, --region or --bbox.")
        typed_options["bbox"] = list(box_around(place_named(typed_options["place"]), typed_options["reach"]))
        values["crosses_date_line"] = True if typed_options["bbox"][0] > typed_options["bbox"][2] else None
    if "region" in typed_options:
        values.pop("bbox", None)
    if "bbox" in typed_options:
        for name in ("region", "features", "feature_column"):
            values.pop(name, None)
    several = len(typed_options.get("data.value", ())) > 1 or isinstance(values.get("columns"), dict)
    for name, item in (catalogue() | OF_ATLASES).items():
        if name in BY_COLUMN and name in typed_options:
            _put(values, name, _by_column(item, typed_options[name], several=several))
        elif name in typed_options:
            _put(values, name, _read(item, typed_options[name]))
    if _is_proposed(options) and values.get("relation") != "add-or-remove":
        # It speaks for a resolution; the true number is public later
        values.pop("records_about", None)
    if "derived" in typed_options:
        values["derived"] = typed_options["derived"]
    if sentence := _other_rows(values):
        print(sentence, file=sys.stderr)
    if missing := list(_missing(values)):
        raise WorkflowError(f"Name {listed(missing)}, or a settings file with --config.")
    if _without_file(values.get("reference")):
        raise WorkflowError("Name the file of the reference with --reference.")
    profile: str | None = typed_options.get("profile")
    typed = "data.path" in typed_options or profile is not None  # a settings file says everything itself
    if typed and (sentence := _filled(values, profile)):
        print(sentence, file=sys.stderr)
    return values


def _missing(values: Mapping[str, Any]) -> Iterator[str]:
    """Each part of the question that is still open, with the options that give it."""
    if "data" not in values or _without_file(values["data"]):
        yield "the private data (--data FILE)"
    if "threshold" not in values and "columns" not in values:
        yield "the threshold in the data's own unit (--threshold NUMBER)"
    if "region" not in values and "bbox" not in values:
        yield "the area (--region FILE, --bbox W S E N, or --place NAME with --reach KM)"


def _without_file(table: Any) -> bool:
    return isinstance(table, dict) and "path" not in table


def _filled(values: dict[str, Any], profile: str | None) -> str:
    """Fill in what an agency's columns say, by the first of several columns; return the sentence
    about it."""
    data = values["data"]
    columns = data.get("value") if isinstance(data, dict) else None
    several = list(columns) if isinstance(columns, list) else list(values.get("columns") or ())
    if not several:
        return fill_from_profile(values, profile)
    data["value"] = several[0]
    try:
        return fill_from_profile(values, profile)
    finally:
        data["value"] = columns


def _other_rows(values: dict[str, Any]) -> str:
    """Let filters of the reference without a file choose other rows of the private table, and say
    so."""
    data, reference = values.get("data"), values.get("reference")
    if not isinstance(data, dict) or not isinstance(reference, dict) or "path" not in data:
        return ""
    if "path" in reference or not isinstance(reference.get("where"), dict):
        return ""
    filters = data.get("where")
    reference["where"] = {**(filters if isinstance(filters, dict) else {}), **reference["where"]}
    reference["path"] = data["path"]
    if "layer" in data:
        reference.setdefault("layer", data["layer"])
    listed = " ".join(shlex.quote(f"{name}={entry}") for name, entry in filter_pairs(reference["where"]))
    return f"The reference data are other rows of the same file: --reference-where {listed}."


def _by_column(item: Field, texts: list[str], *, several: bool) -> Any:
    """Typed words of a setting that each column may have: one value, or one by column."""
    if item.name == "data.value":
        return texts if len(texts) > 1 else texts[0]
    if not several and len(texts) == 1:
        return _read(item, texts[0])
    if len(texts) == 1 and "=" not in texts[0]:
        return _read(item, texts[0])
    values: dict[str, Any] = {}
    for text in texts:
        column, equals, value = text.rpartition("=")
        if not (column and equals):
            raise WorkflowError(
                f"Write --{item.key.replace('_', '-')} as COLUMN=VALUE for each of several columns, not "
                f"{text!r}."
            )
        values[column] = _read(item, value)
    return values


def share(text: str) -> float:
    """Read a number above 0 and at most 1, as an option's type; else `ArgumentTypeError`."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 1, not {text!r}")
    return number


def _put(values: dict[str, Any], name: str, value: Any) -> None:
    table, _, key = name.rpartition(".")
    if table in TABLES:
        members = values.get(table)
        values[table] = {**(members if isinstance(members, dict) else {}), key: value}
    else:
        values[name] = value


def _read(item: Field, text: Any) -> Any:
    """Typed words as the setting's kind; unreadable ones stay text, which the settings refuse."""
    if isinstance(text, list):
        return _pairs(text) if item.kind == "pairs" else [_read(item, entry) for entry in text]
    try:
        if item.kind == "number":
            return float(text)
        return int(text) if item.kind == "whole number" else text
    except ValueError:
        return text


def _pairs(texts: list[str]) -> dict[str, str | list[str]]:
    """Row filters by column, with a list where a column is given several entries."""
    entries_of: dict[str, list[str]] = {}
    for text in texts:
        column, equals, entry = text.partition("=")
        if not (column and equals):
            raise WorkflowError(f"Write row filters as COLUMN=VALUE, not {text!r}.")
        if entry not in entries_of.setdefault(column, []):
            entries_of[column].append(entry)
    return {column: entries[0] if len(entries) == 1 else entries for column, entries in entries_of.items()}
