"""A stand-in for Streamlit: it writes down what a screen shows and asks, and answers as nobody would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

FIRST_OF = ("selectbox", "radio")  # what stands at `index` is their answer
HOLDERS = ("container", "expander", "popover", "form", "empty", "spinner", "status", "chat_message")
QUIET = ("key", "persist_state")  # of a widget: told by no eye


class Recorded:
    """Calls of Streamlit's functions in their order: (name, what is seen of its arguments).

    Parameters
    ----------
    answers
        answers by the label of a widget, instead of those that it begins with
    """

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers = dict(answers or {})
        self.session_state: dict[str, Any] = {}
        self.query_params: dict[str, Any] = {}
        self.sidebar = self.column_config = self

    def __enter__(self) -> Recorded:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append((name, arguments, {key: one for key, one in named.items() if key not in QUIET}))
            return self._answer(name, arguments, named)

        return call

    def _answer(self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if name in ("columns", "tabs"):
            many = arguments[0]
            return [self] * (many if isinstance(many, int) else len(many))
        if name in HOLDERS:
            return self
        if arguments and isinstance(arguments[0], str) and arguments[0] in self.answers:
            return self.answers[arguments[0]]
        if name in FIRST_OF:
            index = named.get("index", 0)
            return None if index is None else list(arguments[1])[index]
        if name in ("multiselect", "segmented_control", "pills"):
            return named.get("default")
        if name in ("slider", "number_input"):
            return named.get("value", arguments[3] if len(arguments) > 3 else None)
        if name in ("button", "form_submit_button", "download_button"):
            return False
        return named.get("value", "" if name.startswith("text_") else None)

    def said(self, *names: str) -> list[Any]:
        """First argument of each call of these functions, in order: its label or text."""
        return [arguments[0] if arguments else None for name, arguments, _ in self.calls if name in names]

    def asked(self, label: str) -> dict[str, Any]:
        """Arguments of the one widget of this label by name; those given by position under "_", in order."""
        ((_, arguments, named),) = [one for one in self.calls if one[1] and one[1][0] == label]
        return {**named, "_": arguments[1:]}

    def shown(self, label: str) -> list[str]:
        """The options of a widget as they are read."""
        asked = self.asked(label)
        return [asked.get("format_func", str)(one) for one in asked["_"][0]]
