"""House rules that need the source: how long a module is, what a page may do (imports: `.importlinter`)."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.code import tree_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pages", "hexcursion", "dpgp_core", "geo", "data_loaders")

# Who may draw random numbers: the noise, its own secrets for the ledger, invented examples for the loaders.
RANDOM = ("dpgp_core/noise.py", "hexcursion/ledger/", "data_loaders/")
LONGEST = 400
MOST_MODULES = 17  # side by side in one folder: a room of thirty is a drawer


PLUGINS = sorted(path for path in ROOT.glob("plugins/*/src/*") if (path / "__init__.py").is_file())
"""The packages of the plugins: what they may do is said below, each may be missing."""


def plugged(folder: str = "") -> list[Path]:
    """Python files of all plugins, or of one folder of each."""
    return [path for package in PLUGINS for path in sorted((package / folder).rglob("*.py"))]


STUDIES_PAGE = ROOT / "studies" / "page.py"
"""The one screen that lies beside what it shows."""


def sources(*rooms: str) -> list[Path]:
    """Python files of the given rooms, of all rooms and `app.py` without arguments."""
    files = [path for room in (rooms or ROOMS) for path in sorted((ROOT / room).rglob("*.py"))]
    return files if rooms else [ROOT / "app.py", *files]


@cache
def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imported(path: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of every import anywhere in a module; `from a import b` gives `a.b`."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            stem = ".".join([*base, node.module] if node.module else base)
            found += [(node.lineno, f"{stem}.{alias.name}") for alias in node.names]
    return found


def under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def test_the_rooms_are_there() -> None:
    """Without this, a moved folder would make every law below hold of nothing."""
    for room in ROOMS:
        assert sources(room), f"no Python files in {room}/"


def invented(path: Path) -> bool:
    """Whether a module of a plugin makes up data of nobody: an example, training data, a study."""
    return path.name.startswith("demo_") or path.parent.name in ("simulated", "studies")


def test_randomness_has_one_owner() -> None:
    """`os.urandom`, `np.random` and the `random` module stand where `RANDOM` allows and nowhere else."""
    others = [path for path in sources() if not name_of(path).startswith(RANDOM)]
    others += [path for path in plugged() if not invented(path)]
    calls = [
        f"{name_of(path)}:{node.lineno} uses {node.value.id}.{node.attr}"
        for path in others
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("os", "urandom"), ("np", "random"), ("numpy", "random")}
    ]
    modules = [
        f"{name_of(path)}:{line} imports {name}"
        for path in others
        for line, name in imported(path)
        if under(name, "random") or name == "os.urandom"
    ]
    assert calls + modules == []


def test_a_module_has_a_duty_and_a_length() -> None:
    for path in (*sources(), *plugged()):
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        assert lines <= LONGEST, f"{name_of(path)} has {lines} lines: does it still have one duty?"
        assert not text.strip() or ast.get_docstring(tree_of(path)), f"{name_of(path)} does not say its duty"


def test_no_room_is_a_drawer() -> None:
    folders = {path.parent for path in (*sources(*ROOMS, "studies", "tests"), *plugged())}
    crowded = [name_of(each) for each in sorted(folders) if len(list(each.glob("*.py"))) > MOST_MODULES]
    assert crowded == [], "group by what changes together"


def isort_style(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, each by name, as the linter orders `__all__`."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


# `hexcursion` itself stays empty: the command line fixes the number of BLAS threads before numpy is imported.
OFFERING = (
    "data_loaders",
    "dpgp_core",
    "geo",
    *(f"hexcursion.{name}" for name in ("bundle", "cli", "ledger")),
)


@pytest.mark.parametrize("room", OFFERING)
def test_a_room_says_what_it_offers(room: str) -> None:
    module = importlib.import_module(room)
    assert hasattr(module, "__all__"), f"{room}/__init__.py has no __all__"
    assert list(module.__all__) == sorted(set(module.__all__), key=isort_style)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_pages_lie_one_level_down() -> None:
    """A Python file right in pages/ would switch on Streamlit's old page discovery and lose the frame."""
    assert list((ROOT / "pages").glob("*.py")) == []


def test_nothing_private_is_cached_for_everybody() -> None:
    """Streamlit's caches are shared by all users unless their scope is the session."""
    screens = [*sources("pages"), STUDIES_PAGE, *plugged(), ROOT / "app.py"]
    scoped = {
        id(node.func)
        for path in screens
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and any(k.arg == "scope" and getattr(k.value, "value", None) == "session" for k in node.keywords)
    }
    wrong = [
        f"{name_of(path)}:{node.lineno} uses {node.attr} without scope='session'"
        for path in screens
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and node.attr in {"cache_data", "cache_resource"}
        and id(node) not in scoped
    ]
    assert wrong == []


HEAVY = ("scipy", "pandas", "geopandas", "shapely")


def imports_below_pages(*libraries: str) -> list[tuple[Path, str]]:
    """Every module of the screens that imports one of the libraries, with the name that it imports."""
    return [
        (path, name)
        for path in (*sources("pages"), STUDIES_PAGE, *plugged("page"))
        for _, name in imported(path)
        if any(under(name, one) for one in libraries)
    ]


def test_a_page_computes_nothing() -> None:
    """What shows a screen reads widgets and draws: the core and numerical libraries are its view model's."""
    screens = {path for path, _ in imports_below_pages("streamlit")}
    assert screens
    wrong = [
        f"{name_of(path)} {name}" for path, name in imports_below_pages("numpy", *HEAVY) if path in screens
    ]
    assert wrong == []


def test_a_view_model_knows_no_map_library_and_no_tables() -> None:
    """Numbers become words there, at most with numpy; geometry and tables belong to the rooms below."""
    assert imports_below_pages("numpy")
    assert [f"{name_of(path)} {name}" for path, name in imports_below_pages(*HEAVY)] == []


def test_no_file_names_a_machine() -> None:
    """Nothing committed names a folder of one machine, and the pins hold no download address."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    machine = re.compile(r"(?<![\w.:/-])/(?:work|root)/[\w.-]+")
    wrong = []
    for name in filter(None, listed):
        data = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" in data[:8000]:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
            if machine.search(line):
                wrong.append(f"{name}:{number} {line.strip()[:90]}")
    assert not wrong
    assert "://" not in (ROOT / "requirements.txt").read_text(encoding="utf-8")


THREADS = {
    "pages/data/public_files.py",  # waits for the network
    "pages/shared/subprocess_job.py",  # what a job is
}


def test_what_a_screen_computes_in_the_background_runs_in_a_process_of_its_own() -> None:
    """A job is a thread of the server: whatever computes there holds up everybody's screens."""
    text = {path: path.read_text(encoding="utf-8") for path in (*sources("pages"), STUDIES_PAGE)}
    begun = {path for path in text if re.search(r"(?<!\w)Job\(|in_background\(", text[path])}
    elsewhere = {path for path in begun if re.search(r"in_subprocess\(report|in_background\(", text[path])}
    names = {path.relative_to(ROOT).as_posix() for path in begun}
    assert len(names - THREADS) >= 5
    assert {path.relative_to(ROOT).as_posix() for path in begun - elsewhere} <= THREADS


def loaded(path: Path, seen: set[Path]) -> set[Path]:
    """A module of the screens and all of them that it imports as it is loaded."""
    if path not in seen:
        seen.add(path)
        for node in tree_of(path).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pages"):
                base = ROOT / str(node.module).replace(".", "/")
                for one in [base, *(base / alias.name for alias in node.names)]:
                    if one.with_suffix(".py").is_file():
                        loaded(one.with_suffix(".py"), seen)
    return seen


def test_a_subprocess_of_a_screen_loads_no_streamlit() -> None:
    """Whatever a screen computes in a subprocess stands where no screen is loaded with it."""
    asked = re.compile(r"(?:in_subprocess\((?:report|lambda fraction, text: None), |in_background\()(\w+)")
    text = {path: path.read_text(encoding="utf-8") for path in (*sources("pages"), STUDIES_PAGE)}
    names = {name for each in text.values() for name in asked.findall(each)} - {"work"}
    homes = {name: path for name in names for path in text if f"def {name}(" in text[path]}
    assert set(homes) == names
    assert len(homes) >= 9
    wrong = [
        f"{name} stands in {name_of(path)}, which loads {name_of(other)}"
        for name, path in homes.items()
        for other in loaded(path, set())
        if any(re.match(r"import streamlit|from streamlit", line) for line in text[other].splitlines())
    ]
    assert wrong == []
