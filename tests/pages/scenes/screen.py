"""A screen as text: every call of Streamlit's functions, with what it was given and where it stands."""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from inspect import isfunction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.plugins import program_alone
from hexcursion.estimates import forecasts
from pages.data.row_filters import REMEMBERED
from pages.privacy import frontier, search_panel
from pages.shared import maps
from pages.shared.released_view import OPENED
from pages.shared.session import side_jobs, workspace
from pages.shared.steps import SCREENS
from tests.pages.recorded import HOLDERS, Recorded

ROOT = Path(__file__).resolve().parents[3]
ASKS = (
    "selectbox",
    "radio",
    "multiselect",
    "segmented_control",
    "pills",
    "slider",
    "select_slider",
    "toggle",
    "number_input",
    "text_input",
    "text_area",
    "checkbox",
    "file_uploader",
    "date_input",
    "color_picker",
)
SAYS = (
    "title",
    "header",
    "subheader",
    "markdown",
    "caption",
    "info",
    "warning",
    "error",
    "success",
    "metric",
)
PRESSED = ("button", "form_submit_button", "download_button")
FOLDED = "folded "
LONG, WIDE = 12, 2_000  # items of a list and characters of an argument that are written out


def hash_of(text: str) -> str:
    """Return the first digits of a text's hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Ended(Exception):
    """A screen that runs again, or leads to another one."""


class Screen(Recorded):
    """Writes a line for each call; a widget answers with what stands in it, a pressed button with yes."""

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        super().__init__(answers)
        self.lines: list[str] = []
        self.seen = Seen()
        self.clicks: dict[str, int] = {}  # chart -> number of the dot that was clicked
        self.chooses: dict[str, int] = {}  # widget of several answers -> how many of the first are chosen
        self.presses = ""  # the beginning of the label of a button that is pressed
        self.asked_for: set[str] = set()  # keys of widgets that answered
        self.navigated: Any = None  # the page of the address
        self.places: list[str] = [""]
        self.sidebar = Part(self, "sidebar")
        self.context = SimpleNamespace(
            theme=SimpleNamespace(type="light"), headers={}, cookies={}, ip_address=None, url="", locale="en"
        )
        self.user = SimpleNamespace(is_logged_in=False, get=lambda name: None)
        self.secrets = SimpleNamespace(to_dict=dict)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: self.called(self.places[-1], name, given, named)

    def called(self, place: str, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Write the call down, and answer it."""
        if name == "fragment":
            return self._fragment(given, named)
        if name == "dialog":
            return lambda body: lambda *values: self._dialog(place, given, named, body, values)
        shown = {**named}
        read = shown.pop("format_func", None)
        seen = list(given)
        if read is not None and len(seen) > 1:
            seen[1] = [read(one) for one in seen[1]]
        if name == "get_option":
            options = {"server.address": "localhost", "server.allowedHosts": [], "secrets.files": []}
            return options[given[0]]
        if "args" in shown:  # the visit and its settings are not what a screen shows
            shown["args"] = [type(one).__name__ if is_dataclass(one) else one for one in shown["args"]]
        words = [written(one) for one in seen] + [f"{key}={written(one)}" for key, one in shown.items()]
        self.lines.append(f"{place}{name}({', '.join(words)})")
        if FOLDED not in place:
            self.seen.add(name, seen, shown)
        if name in ("rerun", "switch_page", "stop"):
            raise Ended
        if name in ("columns", "tabs"):
            many = given[0] if isinstance(given[0], int) else len(given[0])
            hidden = FOLDED if name == "tabs" else ""
            return [Part(self, f"{place}{hidden * (number > 0)}{name}[{number}] ") for number in range(many)]
        if name in HOLDERS:
            folded = name == "popover" or (name == "expander" and not named.get("expanded"))
            return Part(self, f"{place}{FOLDED if folded else name} ")
        return self._answered(name, given, named)

    def _answered(self, name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        key = str(named["key"]) if "key" in named else None
        if name == "altair_chart":
            return {"selection": {"picked": [{"number": self.clicks[key]}]} if key in self.clicks else {}}
        if name == "navigation":
            return self.navigated
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
            self.asked_for.add(key)
        if name in ("button", "form_submit_button") and answer and named.get("on_click"):
            named["on_click"](*named.get("args", ()))
        return answer

    def _fragment(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        self.lines.append(f"fragment({', '.join(f'{key}={written(one)}' for key, one in named.items())})")
        return given[0] if given else lambda body: body

    def _dialog(self, place: str, given: Any, named: Any, body: Any, values: Any) -> None:
        with self.called(place, "container", ("dialog", *given), named):
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
    """A column, a tab or a container; it records its own calls, and those made inside it, under its name."""

    def __init__(self, screen: Screen, place: str) -> None:
        self._screen, self._place = screen, place

    def __enter__(self) -> Part:
        self._screen.places.append(f"{self._place.rstrip()} > ")
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.places.pop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        place = f"{self._place.rstrip()} > "
        return lambda *given, **named: self._screen.called(place, name, given, named)


def written(value: Any) -> str:
    """A value as text: numbers to four digits, no place of a disk; what is long by beginning and hash."""
    said = _written(value)
    return said if len(said) <= WIDE else f"{said[:200]} … {len(said)} {hash_of(said)}"


def _written(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"array{list(value.shape)} {hash_of(written(value.ravel().tolist()))}"
    if isinstance(value, float | np.floating):
        return f"{float(value):.4g}"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, Path):
        return value.name
    if isinstance(value, bytes):
        return f"{len(value)} bytes" if len(value) < LONG else "bytes"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, set | frozenset):
        return f"set {written(sorted(value))}"
    if isinstance(value, Sequence):
        items = [written(one) for one in value]
        if len(items) > LONG:
            return f"[{len(items)} items, {', '.join(items[:2])} … {hash_of(' '.join(items))}]"
        return f"[{', '.join(items)}]"
    if isfunction(value) or callable(value):
        return f"<{getattr(value, '__name__', type(value).__name__)}>"
    if hasattr(value, "to_dict"):
        return f"{type(value).__name__} {written(value.to_dict())}"
    if hasattr(value, "to_json"):
        return f"{type(value).__name__} {hash_of(value.to_json())}"
    if is_dataclass(value):
        inside = (f"{one.name}={written(getattr(value, one.name))}" for one in fields(value) if one.repr)
        return f"{type(value).__name__}({', '.join(inside)})"
    return type(value).__name__


def _key(key: object) -> str:
    return _text(key)[1:-1] if isinstance(key, str) else written(key)


def _text(value: str) -> str:
    home = os.environ["HEXCURSION_HOME"]
    said = value.replace(home, "<home>").replace(str(ROOT), "<root>")
    said = re.sub(r"/[^ ]*?hexcursion-uploads-[^/]*/[^/]*/", "<uploads>/", said)
    said = re.sub(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])", "<id>", said)
    return '"' + said.replace("\r", "").replace("\n", "\\n") + '"'


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


def page(screen: Screen, address: str) -> None:
    """Run a screen's page until it ends or opens another screen; the frame has no page.

    What has become of the session's choices and state stands in the last lines."""
    path = ROOT / next((one.path for one in SCREENS if one.address == address), "")
    before = _held(screen)
    with suppress(Ended):
        if path.is_file():
            runpy.run_path(str(path))
    after = _held(screen)
    changed = {name: value for name, value in after.items() if before.get(name) != value}
    screen.lines += [f"now {name}: {value}" for name, value in sorted(changed.items())]
    screen.lines += [f"no more {name}" for name in sorted(before.keys() - after.keys())]


def _held(screen: Screen) -> dict[str, str]:
    """What a session holds: choices, the state of its screens but for what widgets say, the address."""
    work = screen.session_state.get(workspace.KEY)
    held = {f"choice {name}": value for name, value in (work.choices.items() if work else ())}
    held |= {f"address {name}": value for name, value in screen.query_params.items()}
    held |= {
        f"state {name}": value
        for name, value in screen.session_state.items()
        if name not in screen.asked_for and name not in (workspace.KEY, side_jobs.KEY, REMEMBERED, OPENED)
    }
    if work is not None:
        held |= {f"workspace {name}": getattr(work, name) for name in ("uploads", "answers", "release_id")}
        held |= {f"workspace {name}": getattr(work, name) is not None for name in ("job", "found", "private")}
    return {_key(name): written(value) for name, value in held.items()}
