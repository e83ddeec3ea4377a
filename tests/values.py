"""The second law of the house over a room: values are frozen, and whatever is given has a name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType

ARRAYS = ("Floats", "Ints", "Hashes", "NDArray")


def check_values(room: ModuleType) -> None:
    """Every public value of a room is frozen, and compared by identity where its fields are arrays.

    Arrays have no single truth: `==` of two such values would be an error. Every parameter has a name.
    """
    for module in _modules(room):
        for name, made in vars(module).items():
            if getattr(made, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(made) and is_dataclass(made) and not name.startswith("_"):
                told = made.__dataclass_params__  # type: ignore[attr-defined]
                assert told.frozen, f"{name} can be changed after it was checked"
                kinds = [str(each.type) for each in fields(made) if each.compare]
                arrays = [kind for kind in kinds if any(word in kind for word in ARRAYS)]
                assert not (told.eq and arrays), f"{name} compares {arrays}"
            for function in vars(made).values() if inspect.isclass(made) else (made,):
                called = getattr(function, "__func__", function)
                if inspect.isfunction(called):
                    for each in inspect.signature(called).parameters.values():
                        assert each.kind != each.POSITIONAL_ONLY, called.__qualname__


def _modules(room: ModuleType) -> Iterator[ModuleType]:
    if not hasattr(room, "__path__"):
        yield room
        return
    for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        yield importlib.import_module(found.name)
