"""What is known about one setting: its words and limits, and how a value is held against them."""

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
"""Sizes of a number other than 0, included: products of several are still numbers of the machine."""


class Required:
    """Stands for the default of a setting that has none."""


@dataclass(frozen=True)
class Setting:
    """What a person should know about a setting; stands in its annotation, beside its type."""

    help: str  # one plain sentence
    group: Group  # the heading it stands under
    _: KW_ONLY
    measure: Measure = ""  # unit of measure of its value, in words
    minimum: float | None = None  # of a number (of each in a list), included, as `maximum`
    maximum: float | None = None
    above: float | None = None  # excluded, as `below`
    below: float | None = None
    one_line: bool = False  # whether line breaks and control characters are refused
    shortest: int = 0  # of characters of a text, or entries of a list, as `longest`
    longest: int | None = None
    # where its words are registered; asked each time, so that a registry may grow
    names: Callable[[], tuple[str, ...]] | None = None
    must_be: str = ""  # what it must be, where the sentence made from type and limits reads badly
    remedy: str = ""  # how to mend a bad value, as in "try 1e-5"
    otherwise: str = ""  # what holds where it is left out, if its default does not say so
    flag: str = ""  # its word on the command line, if other than its name
    also: str = ""  # a second word for it there
    metavar: str | tuple[str, ...] = ""  # stands for its value in the command line's help
    in_files: bool = True  # may stand in a settings file; what opens a connection may not


@dataclass(frozen=True)
class Field:
    """One setting: its name, its type and all that its annotation says."""

    name: str  # as in a settings file, such as "data.path"
    annotation: Any  # type without `None`
    optional: bool  # whether it may be left open (None)
    default: Any  # what holds where it is not given; `Required` where it must be
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
        """The heading it stands under."""
        return self.setting.group

    @property
    def measure(self) -> str:
        """Unit of measure in words; "" where it has none."""
        return self.setting.measure

    @property
    def minimum(self) -> float | None:
        """Lower limit of a number; `open_below` says whether it is excluded."""
        return self.setting.minimum if self.setting.above is None else self.setting.above

    @property
    def maximum(self) -> float | None:
        """Upper limit of a number; `open_above` says whether it is excluded."""
        return self.setting.maximum if self.setting.below is None else self.setting.below

    @property
    def open_below(self) -> bool:
        """Whether the lower limit itself is refused."""
        return self.setting.above is not None

    @property
    def open_above(self) -> bool:
        """Whether the upper limit itself is refused."""
        return self.setting.below is not None

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is Required

    @cached_property
    def many(self) -> bool:
        """Whether it holds a list."""
        return get_origin(self.annotation) is tuple

    @property
    def length(self) -> int | None:
        """Number of entries of a list whose length is fixed."""
        entries = get_args(self.annotation)
        return len(entries) if self.many and Ellipsis not in entries else None

    @cached_property
    def item(self) -> Any:
        """Type of the value, or of each entry of a list."""
        return get_args(self.annotation)[0] if self.many else self.annotation

    @cached_property
    def kind(self) -> Kind:
        """What sort of value it is, or what sort each entry of a list is."""
        if get_origin(self.item) is Literal or self.setting.names is not None:
            return "word"
        if get_origin(self.item) is tuple:
            return "pairs"
        return _KINDS.get(self.item, "table")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may hold; empty where any value of its kind may stand."""
        if self.setting.names is not None:
            return self.setting.names()
        return tuple(get_args(self.item)) if get_origin(self.item) is Literal else ()

    @property
    def must_be(self) -> str:
        """What a value must be, as the middle of a sentence."""
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
            least = f"{self.setting.shortest:,} to" if self.setting.shortest else "at most"
            return f"a text of {least} {self.setting.longest:,} characters{QUOTED}"
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
        """Return the value in its plain form, or raise `WorkflowError` in a sentence on `subject` (its name).

        Lists become tuples, whole floats become integers where those are asked for, and a registered name
        that is given twice counts once.
        """
        if value is None and self.optional:
            return None
        if self.kind == "table":
            if not isinstance(value, self.annotation):
                raise self._refusal(value, subject)
            return value
        try:
            found = self._adapter.validate_python(_plain(value, self.kind))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            if first["type"] == "string_unicode":
                raise WorkflowError(
                    f"{subject or self.name} must be text in UTF-8, not {_shown(first['input'])}: write it "
                    "anew, or give the file that it names another name."
                ) from error
            raise self._refusal(first["input"], subject) from error
        if self.kind == "number":
            for number in found if self.many else (found,):
                if number and not SMALLEST <= abs(number) <= LARGEST:
                    raise WorkflowError(
                        f"{subject or self.name} must be of a size from {SMALLEST:g} to {LARGEST:g}, not "
                        f"{number:g}: choose a less extreme number."
                    )
        if self.kind == "text":
            for text in found if self.many else (found,):
                self._check_characters(text, subject)
        if self.setting.names is not None:
            known = self.setting.names()
            for name in found if self.many else (found,):
                if name not in known:
                    raise self._refusal(name, subject)
            return tuple(dict.fromkeys(found)) if self.many else found
        return found

    def _check_characters(self, text: str, subject: str) -> None:
        unseen = any(category(letter) in ("Cc", "Zl", "Zp") for letter in text) and self.setting.one_line
        if unseen or "\0" in text:
            what = "one line without control characters" if unseen else "a text without NUL characters"
            raise WorkflowError(f"{subject or self.name} must be {what}, not {_shown(text)}: leave them out.")

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        setting = self.setting
        entry, whole = self.item, self.annotation
        if self.kind in ("number", "whole number"):
            entry = Annotated[
                entry, Limits(gt=setting.above, ge=setting.minimum, lt=setting.below, le=setting.maximum)
            ]
        if self.many:
            whole = tuple[tuple(entry for _ in range(self.length))] if self.length else tuple[entry, ...]  # type: ignore[misc, valid-type]
        else:
            whole = entry
        if self.many or self.kind == "text":
            whole = Annotated[whole, Limits(min_length=setting.shortest, max_length=setting.longest)]
        return TypeAdapter(whole, config=_STRICT)

    def _refusal(self, value: Any, subject: str) -> WorkflowError:
        remedy = f": {self.setting.remedy}" if self.setting.remedy else ""
        return WorkflowError(f"{subject or self.name} must be {self.must_be}, not {_shown(value)}{remedy}.")


def field_of(name: str, hint: Any, default: Any) -> Field:
    """The field that an annotation `Annotated[TYPE, Setting(...)]` describes."""
    annotation, setting = get_args(hint)
    optional = get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)
    if optional:
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType)
    return Field(name, annotation, optional, default, setting)


def _plain(value: Any, kind: Kind) -> Any:
    """Lists as tuples and numbers of any library as Python's own; everything else as it is."""
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
    """A value inside a sentence: on one line and not long."""
    try:
        text = value.isoformat() if isinstance(value, date | time) else " ".join(repr(value).split())
    except ValueError:  # Python does not write integers of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:56]} ..."


@dataclass(frozen=True)
class Checked:
    """A frozen dataclass that is valid or does not exist.

    Every field of a subclass is annotated `Annotated[TYPE, Setting(...)]`. A value that may not stand there
    is refused with one sentence (`WorkflowError`); what no single field can tell stands in `agree`.
    """

    def __post_init__(self) -> None:
        for item in fields_of(type(self)).values():
            object.__setattr__(self, item.key, item.check(getattr(self, item.key)))
        self.agree()

    def agree(self) -> None:
        """Raise `WorkflowError` where fields that are valid alone do not fit together."""


_KNOWN: dict[tuple[type[Checked], str], dict[str, Field]] = {}


def fields_of(kind: type[Checked], table: str = "") -> dict[str, Field]:
    """Return the fields of a class of settings by their key, in order; a `table` begins their names."""
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
    """Raise `WorkflowError` for a key that the class does not have, naming the nearest one it has."""
    known = fields_of(kind)
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(known)}."
            raise WorkflowError(f"Unknown {where} key {key!r}: {remedy}")
