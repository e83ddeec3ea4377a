"""Registries: objects of the program by name, then those that installed packages add by entry
points.

An entry point is a line in a package's metadata, `name = "module:object"` in a group such as
`hexcursion.mechanisms`. Every process reads them again: spawned processes, and workers on other
machines that have the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from dpgp_core.errors import HexcursionError, PluginError

Offered = TypeVar("Offered")
Answer = TypeVar("Answer")


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return a group's entry points by name, read once a process; PluginError for a name offered
    twice."""
    table: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, _package(point))):
        if point.name in table:
            raise PluginError(
                f"The packages {_package(table[point.name])} and {_package(point)} both offer {point.name!r} "
                f"in {group}: uninstall one of them."
            )
        table[point.name] = point
    return table


_left_out = False


@contextmanager
def program_alone() -> Iterator[None]:
    """Ignore all installed additions, for pages that must be the same on every machine."""
    global _left_out  # noqa: PLW0603
    _left_out = True
    try:
        yield
    finally:
        _left_out = False


class Registry(MutableMapping[str, Offered]):
    """Objects by name, those of the program first.

    A lookup of a name of the program does not read the environment. Listing all names reads the
    metadata of packages; a package is imported on the first access to one of its objects.

    `group`: group of entry points; `own`: objects of the program (the attribute `own` has their
    names); `kind`: class of all objects; `named_by`: attribute with an object's name, which must be
    equal to the name of its entry point; "" without such an attribute.
    """

    def __init__(
        self, group: str, own: MutableMapping[str, Offered], kind: Any, named_by: str = "name"
    ) -> None:
        self.group, self.kind, self.named_by = group, kind, named_by
        self.own = tuple(own)
        self._held = own

    def bring(self, *things: Offered) -> None:
        """Add objects of the program under their names."""
        self._held.update({getattr(thing, self.named_by): thing for thing in things})
        self.own = tuple(self._held)

    @property
    def _known(self) -> Mapping[str, Offered]:
        """Objects that are available without reading packages."""
        return {name: self._held[name] for name in self.own} if _left_out else self._held

    def __getitem__(self, name: str) -> Offered:
        things = self._known
        return things[name] if name in things else self._load(self._points()[name])

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._points()

    def __iter__(self) -> Iterator[str]:
        things = self._known
        return iter((*things, *(name for name in self._points() if name not in things)))

    def __len__(self) -> int:
        return len(self._known.keys() | self._points().keys())

    def __setitem__(self, name: str, thing: Offered) -> None:
        self._held[name] = thing

    def __delitem__(self, name: str) -> None:
        del self._held[name]

    def _points(self) -> Mapping[str, EntryPoint]:
        points = {} if _left_out else installed(self.group)
        for name in sorted(points.keys() & set(self.own)):
            raise PluginError(
                f"The package {_package(points[name])} offers {name!r} in {self.group}, a name of the "
                "program's own: uninstall that package, or rename what it offers."
            )
        return points

    def use(self, name: str, call: Callable[[Offered], Answer]) -> Answer:
        """Call a function with the object of a name, of the program or of a package.

        Raises PluginError, which names the package, if the object does not load or raises anything
        but an error of this program.
        """
        thing = self[name]
        if name in self.own:
            return call(thing)
        try:
            return call(thing)
        except HexcursionError:
            raise
        except Exception as error:
            raise self.refusal(name, f"fails ({_in_words(error)})") from error

    def refusal(self, name: str, why: str) -> PluginError:
        """The error for an unusable object: it names the package and the reason, "since it ..."."""
        point = self._points().get(name)
        package = "unknown" if point is None else _package(point)
        return PluginError(
            f"{name!r} of the package {package} ({self.group}) cannot be used, since it {why}: repair or "
            "uninstall that package."
        )

    def _load(self, point: EntryPoint) -> Offered:
        try:
            thing: Offered = point.load()
        except Exception as error:
            raise self.refusal(point.name, f"does not load ({_in_words(error)})") from error
        if not isinstance(thing, self.kind):
            raise self.refusal(point.name, f"is no {self.kind.__name__}")
        if self.named_by and (name := getattr(thing, self.named_by, None)) != point.name:
            raise self.refusal(point.name, f"calls itself {name!r}")
        return thing


def _in_words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else point.dist.name
