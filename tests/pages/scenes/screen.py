"""A screen on a stand-in for Streamlit: its calls as lines, and what a person sees of it."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from inspect import isfunction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpgp_core.plugins import program_alone
from hexcursion.estimates import forecasts
from pages.privacy import frontier, search_panel
from pages.shared import maps
from pages.shared.steps import SCREENS
from tests.pages.recorded import HOLDERS, Recorded

ROOT = Path(__file__).resolve().parents[3]
ASKS = (
    *("selectbox", "radio", "multiselect", "segmented_control", "pills", "slider", "select_slider", "toggle"),
    *("number_input", "text_input", "text_area", "checkbox", "file_uploader", "date_input", "color_picker"),
)
SAYS = (
    *("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success", "metric"),
)
PRESSED = ("button", "form_submit_button", "download_button")
OPTIONS = {"server.address": "localhost", "server.allowedHosts": [], "secrets.files": []}


class Ended(Exception):
    """A screen that runs again, or leads to another one."""


class Screen(Recorded):
    """Writes a line for each call; a widget answers with its value, a pressed button with yes."""

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        super().__init__(answers)
        self.lines: list[str] = []
        self.seen = Seen()
        self.clicks: dict[str, int] = {}  # chart -> number of the dot that was clicked
        self.chooses: dict[str, int] = {}  # widget of several answers -> how many of the first are chosen
        self.presses = ""  # the beginning of the label of a button that is pressed
        self.folded = [False]  # whether the parts that are open now are folded away
        self.sidebar = Part(self, False)
        self.context = SimpleNamespace(
            theme=SimpleNamespace(type="light"), headers={}, cookies={}, ip_address=None, url="", locale="en"
        )
        self.user = SimpleNamespace(is_logged_in=False, get=lambda name: None)
        self.secrets = SimpleNamespace(to_dict=dict)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: self.called(self.folded[-1], name, given, named)

    def called(self, folded: bool, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Write the call down, and answer it."""
        if name == "fragment":
            return given[0] if given else lambda body: body
        if name == "dialog":
            return lambda body: lambda *values: self._dialog(folded, body, values)
        if name == "get_option":
            return OPTIONS[given[0]]
        shown = {key: value for key, value in named.items() if key not in ("format_func", "args")}
        options = list(given)
        if "format_func" in named and len(given) > 1:
            options[1] = [named["format_func"](option) for option in given[1]]
        texts = [*map(written, options), *(f"{key}={written(value)}" for key, value in shown.items())]
        self.lines.append(f"{name}({', '.join(texts)})")
        if not folded:
            self.seen.add(name, options, shown)
        if name in ("rerun", "switch_page", "stop"):
            raise Ended
        if name in ("columns", "tabs"):
            many = given[0] if isinstance(given[0], int) else len(given[0])
            return [Part(self, folded or (name == "tabs" and number > 0)) for number in range(many)]
        if name in HOLDERS:
            folds = name == "popover" or (name == "expander" and not named.get("expanded"))
            return Part(self, folded or folds)
        return self._answered(name, given, named)

    def _answered(self, name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        key = str(named["key"]) if "key" in named else None
        if name == "vega_lite_chart":
            return {"selection": {"picked": [{"number": self.clicks[key]}]} if key in self.clicks else {}}
        if name == "navigation":
            return SimpleNamespace(title="Viewer")
        if key in self.chooses:
            return list(given[1])[: self.chooses[key]]
        if name in ASKS and key in self.session_state and not (given and given[0] in self.answers):
            return self.session_state[key]
        answer = self._answer(name, given, named)
        if name in ("button", "form_submit_button") and self.presses and given[0].startswith(self.presses):
            self.presses, answer = "", True
        if name == "multiselect" and answer is None:
            answer = []
        if name in ASKS and key is not None:
            self.session_state[key] = answer
        if name in ("button", "form_submit_button") and answer and named.get("on_click"):
            named["on_click"](*named.get("args", ()))
        return answer

    def _dialog(self, folded: bool, body: Callable[..., None], values: tuple[Any, ...]) -> None:
        with Part(self, folded):
            body(*values)


class Seen:
    """What a person sees before anything is unfolded: words in their order, controls, and what says them."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.controls: list[str] = []

    def add(self, name: str, given: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Count a call of Streamlit's with what it shows."""
        texts = [given[0]] if given and isinstance(given[0], str) else []
        label = [] if named.get("label_visibility") == "collapsed" else texts
        if name in SAYS:
            texts = [*texts, *([str(given[1])] if name == "metric" and len(given) > 1 else [])]
        elif name in ("table", "dataframe"):
            texts = list(_cells(given[0] if given else {}))
        elif name in ("radio", "segmented_control", "pills"):
            texts = [*label, *map(str, given[1]), *(named.get("captions") or ())]
            self.controls.append(f"{name} {given[0]}")  # one group of choices
        elif name == "tabs":
            texts = list(given[0])
            self.controls.append(f"{name} {texts}")
        elif name in (*ASKS, *PRESSED, "page_link", "expander", "popover"):
            texts = [str(named["label"])] if "label" in named else label
            self.controls.append(f"{name} {texts[0] if texts else ''}")
        else:
            return
        for text in texts:
            plain = re.sub(r":[a-z_]+/?[a-z_]*:|[*_`#\\]|:[a-z-]+\[", " ", str(text))
            self.words += re.findall(r"[^\W_]+(?:[.,:'’/-][^\W_]+)*", plain)


def _cells(table: Any) -> Iterator[str]:
    """The texts of a table that is given by its columns."""
    if isinstance(table, Mapping):
        for head, column in table.items():
            yield str(head)
            yield from map(str, column if isinstance(column, Sequence) else ())


class Part:
    """A column, a tab or a container, which records the calls made on it and inside it."""

    def __init__(self, screen: Screen, folded: bool) -> None:
        self._screen, self._folded = screen, folded

    def __enter__(self) -> Part:
        self._screen.folded.append(self._folded)
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.folded.pop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: self._screen.called(self._folded, name, given, named)


def written(value: Any) -> str:
    """A value as text; of what is long the beginning."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 2_000 else text[:200]


@contextmanager
def recorded(screen: Screen) -> Iterator[pytest.MonkeyPatch]:
    """Put the recorder in Streamlit's place in every module of the screens that is loaded."""
    with program_alone(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "streamlit", screen)
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "pages":
                if hasattr(module, "st"):
                    patch.setattr(module, "st", screen)
                for key, one in list(vars(module).items()):
                    if isfunction(one) and one.__code__.co_filename.endswith("fragment.py"):
                        patch.setattr(module, key, one.__wrapped__)
        patch.setattr(search_panel, "workers", lambda: 1)
        patch.setattr(frontier, "lines_of", lambda result, settings: ())
        patch.setattr(forecasts, "pace", lambda: 1.0)  # whatever this machine is
        patch.setattr(maps, "built", lambda: True)
        patch.setattr(maps, "_component", lambda: screen.linked_map)
        yield patch


def page(address: str) -> None:
    """Run a screen's page until it ends or opens another screen."""
    with suppress(Ended):
        runpy.run_path(str(ROOT / next(one.path for one in SCREENS if one.address == address)))
