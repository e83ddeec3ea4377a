"""The definition of one setting: its words and limits, and the check of a value against them."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from datetime import date, time
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from unicodedata import category

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic import Field as Limits

from hexcursion.errors import WorkflowError
from hexcursion.settings.names import Group

Kind = Literal["number", "whole number", "text", "switch", "word", "pairs", "table"]
Measure = Literal["", "metres", "degrees", "pixels", "the data's own unit", "transformed units"]
_KINDS: dict[Any, Kind] = {float: "number", int: "whole number", str: "text", bool: "switch"}
QUOTED = " in quotation marks"
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
SMALLEST, LARGEST = 1e-50, 1e50
"""The least and largest size of a number other than 0, so that products of several neither overflow
nor underflow."""


class Required:
    """Marks a setting without a default."""


@dataclass(frozen=True)
class Setting:
    """The documentation and limits of a setting, in its annotation after its type."""

    help: str  # one plain sentence
    group: Group  # its heading
    _: KW_ONLY
    measure: Measure = ""  # unit of measure of its value, in words
    minimum: float | None = None  # of a number, or of each number in a list; included, as `maximum`
    maximum: float | None = None
    above: float | None = None  # excluded, as `below`
    below: float | None = None
    one_line: bool = False  # whether line breaks and control characters are refused
    shortest: int = 0  # in characters of a text or entries of a list, as `longest`
    longest: int | None = None
    # the registry of its words, called each time because it may grow
    names: Callable[[], tuple[str, ...]] | None = None
    must_be: str = ""  # the requirement in words, if the sentence from type and limits reads badly
    remedy: str = ""  # for a bad value, as in "try 1e-5"
    otherwise: str = ""  # the default in words, if the value does not show it
    flag: str = ""  # its option on the command line, if different from its name
    also: str = ""  # a second option
    metavar: str | tuple[str, ...] = ""  # placeholder of its value in the command line's help
    # whether a settings file may set it; False for settings that open a connection
    in_files: bool = True


@dataclass(frozen=True)
class Field:
    """One setting: its name, its type and its annotation."""

    name: str  # as in a settings file, such as "data.path"
    annotation: Any  # type without `None`
    optional: bool  # whether it may be None
    default: Any  # the default value; `Required` without one
    setting: Setting

    @property
    def key(self) -> str:
        """The name without its table."""
        return self.name.rsplit(".", 1)[-1]

    @property
    def help(self) -> str:
        """One plain sentence."""
        return self.setting.help

    @property
    def group(self) -> Group:
        """Its heading."""
        return self.setting.group

    @property
    def measure(self) -> str:
        """Unit of measure in words; "" without a unit."""
        return self.setting.measure

    @property
    def minimum(self) -> float | None:
        """Lower limit of a number; excluded if `open_below`."""
        return self.setting.minimum if self.setting.above is None else self.setting.above

    @property
    def maximum(self) -> float | None:
        """Upper limit of a number; excluded if `open_above`."""
        return self.setting.maximum if self.setting.below is None else self.setting.below

    @property
    def open_below(self) -> bool:
        """Whether the lower limit is excluded."""
        return self.setting.above is not None

    @property
    def open_above(self) -> bool:
        """Whether the upper limit is excluded."""
        return self.setting.below is not None

    @property
    def required(self) -> bool:
        """Whether the setting has no default."""
        return self.default is Required

    @cached_property
    def many(self) -> bool:
        """Whether it holds a list."""
        return get_origin(self.annotation) is tuple

    @property
    def length(self) -> int | None:
        """Number of entries of a list of fixed length; None for others."""
        entries = get_args(self.annotation)
        return len(entries) if self.many and Ellipsis not in entries else None

    @cached_property
    def item(self) -> Any:
        """Type of the value, or of each entry of a list."""
        return get_args(self.annotation)[0] if self.many else self.annotation

    @cached_property
    def kind(self) -> Kind:
        """The kind of the value, or of each entry of a list."""
        if get_origin(self.item) is Literal or self.setting.names is not None:
            return "word"
        if get_origin(self.item) is tuple:
            return "pairs"
        return _KINDS.get(self.item, "table")

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words; empty if any value of its kind is allowed."""
        if self.setting.names is not None:
            return self.setting.names()
        return tuple(get_args(self.item)) if get_origin(self.item) is Literal else ()

    @property
    def must_be(self) -> str:
        """The requirement on a value, as the middle of a sentence."""
        setting = self.setting
        if setting.must_be:
            return setting.must_be
        if self.kind == "word":
            words = ", ".join(self.choices)
            if not self.many:
                return " or ".join(map(repr, self.choices)) if len(self.choices) < 3 else f"one of {words}"
            return f"a list of {'at least one name' if setting.shortest else 'names'} among {words}"
        if self.kind == "switch":
            return "true or false"
        if self.kind == "text":
            return "a list of texts" if self.many else self._text()
        measure = f" in {setting.measure}" if setting.measure else ""
        return (
            f"a list of {self._number('numbers')}" if self.many else f"a {self._number('number')}"
        ) + measure

    def _text(self) -> str:
        if self.setting.longest is not None:
            shortest = f"{self.setting.shortest:,} to" if self.setting.shortest else "at most"
            return f"a text of {shortest} {self.setting.longest:,} characters{QUOTED}"
        return f"a {'non-empty ' if self.setting.shortest else ''}text{QUOTED}"

    def _number(self, noun: str) -> str:
        low, high = self.minimum, self.maximum
        noun, finite = (f"whole {noun}",) * 2 if self.kind == "whole number" else (noun, f"finite {noun}")
        if low is None:
            return (
                finite
                if high is None
                else f"{finite} {'below' if self.open_above else 'of at most'} {high:g}"
            )
        if high is None:
            if self.open_below:
                return f"positive {finite}" if low == 0 else f"{finite} above {low:g}"
            return f"{finite} of at least {low:g}"
        if self.open_below and self.open_above:
            return f"{noun} strictly between {low:g} and {high:g}"
        if self.open_below:
            return f"{noun} above {low:g} and at most {high:g}"
        return f"{noun} from {low:g} {'to' if not self.open_above else 'to below'} {high:g}"

    def check(self, value: Any, subject: str = "") -> Any:
        """Return the value in its plain form, or raise `WorkflowError` with a sentence about
        `subject` (its name).

        Turn lists into tuples and whole floats into integers if the setting is an integer, and
        remove repeated registered names.
        """
        if value is None and self.optional:
            return None
        if self.kind == "table":
            if not isinstance(value, self.annotation):
                raise self._refusal(value, subject)
            return value
        try:
            result = self._adapter.validate_python(_plain(value, self.kind))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            if first["type"] == "string_unicode":
                raise WorkflowError(
                    f"{subject or self.name} must be text in UTF-8, not {_shown(first['input'])}: write it "
                    "anew, or give the file that it names another name."
                ) from error
            raise self._refusal(first["input"], subject) from error
        if self.kind == "number":
            for number in result if self.many else (result,):
                if number and not SMALLEST <= abs(number) <= LARGEST:
                    raise WorkflowError(
                        f"{subject or self.name} must be of a size from {SMALLEST:g} to {LARGEST:g}, not "
                        f"{number:g}: choose a less extreme number."
                    )
        if self.kind == "text":
            for text in result if self.many else (result,):
                self._check_characters(text, subject)
        if self.setting.names is not None:
            names = self.setting.names()
            for name in result if self.many else (result,):
                if name not in names:
                    raise self._refusal(name, subject)
            return tuple(dict.fromkeys(result)) if self.many else result
        return result

    def _check_characters(self, text: str, subject: str) -> None:
        unseen = any(category(letter) in ("Cc", "Zl", "Zp") for letter in text) and self.setting.one_line
        if unseen or "\0" in text:
            what = "one line without control characters" if unseen else "a text without NUL characters"
            raise WorkflowError(f"{subject or self.name} must be {what}, not {_shown(text)}: leave them out.")

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        setting = self.setting
        entry, annotation = self.item, self.annotation
        if self.kind in ("number", "whole number"):
            entry = Annotated[
                entry, Limits(gt=setting.above, ge=setting.minimum, lt=setting.below, le=setting.maximum)
            ]
        if self.many:
            annotation = tuple[tuple(entry for _ in range(self.length))] if self.length else tuple[entry, ...]  # type: ignore[misc, valid-type]
        else:
            annotation = entry
        if self.many or self.kind == "text":
            annotation = Annotated[
                annotation, Limits(min_length=setting.shortest, max_length=setting.longest)
            ]
        return TypeAdapter(annotation, config=_STRICT)

    def _refusal(self, value: Any, subject: str) -> WorkflowError:
        remedy = f": {self.setting.remedy}" if self.setting.remedy else ""
        return WorkflowError(f"{subject or self.name} must be {self.must_be}, not {_shown(value)}{remedy}.")


def field_of(name: str, hint: Any, default: Any) -> Field:
    """Return the field of an annotation `Annotated[TYPE, Setting(...)]`."""
    annotation, setting = get_args(hint)
    optional = get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)
    if optional:
        (annotation,) = (kind for kind in get_args(annotation) if kind is not NoneType)
    return Field(name, annotation, optional, default, setting)


def _plain(value: Any, kind: Kind) -> Any:
    """Convert lists to tuples and numbers of any library to Python's; leave other values
    unchanged."""
    if isinstance(value, list | tuple):
        return tuple(_plain(entry, kind) for entry in value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    try:
        if kind == "number":
            return float(value)
        if kind == "whole number" and not isinstance(value, numbers.Integral):
            return int(float(value)) if float(value).is_integer() else value
        return int(value) if isinstance(value, numbers.Integral) else value
    except OverflowError:  # an integer beyond every float
        return value


def _shown(value: Any) -> str:
    """Write a value for a sentence: on one line and short."""
    try:
        text = value.isoformat() if isinstance(value, date | time) else " ".join(repr(value).split())
    except ValueError:  # Python does not write integers of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:56]} ..."


@dataclass(frozen=True)
class Checked:
    """A frozen dataclass that is valid or does not exist.

    Every field of a subclass is annotated `Annotated[TYPE, Setting(...)]`. An invalid value raises
    `WorkflowError` with one sentence; `agree` checks several fields together.
    """

    def __post_init__(self) -> None:
        for item in fields_of(type(self)).values():
            object.__setattr__(self, item.key, item.check(getattr(self, item.key)))
        self.agree()

    def agree(self) -> None:
        """Raise `WorkflowError` if fields that are valid alone are inconsistent."""


_KNOWN: dict[tuple[type[Checked], str], dict[str, Field]] = {}


def fields_of(kind: type[Checked], table: str = "") -> dict[str, Field]:
    """Return the fields of a class of settings by their key, in order; `table` is the prefix of
    names."""
    if (kind, table) not in _KNOWN:
        hints = get_type_hints(kind, include_extras=True)
        prefix = f"{table}." if table else ""
        _KNOWN[kind, table] = {
            item.name: field_of(
                prefix + item.name, hints[item.name], Required if item.default is MISSING else item.default
            )
            for item in fields(kind)
        }
    return _KNOWN[kind, table]


def refuse_unknown(values: dict[str, Any], kind: type[Checked], where: str) -> None:
    """Raise `WorkflowError` for an unknown key of the class, with the nearest known key."""
    keys = fields_of(kind)
    for key in values:
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(keys)}."
            raise WorkflowError(f"Unknown {where} key {key!r}: {remedy}")
