"""Registries: lazy, and one sentence for whatever an installed package does wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpgp_core import plugins
from dpgp_core.errors import PluginError
from dpgp_core.plugins import Registry

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put the metadata of a package, its lines of entry points and a module `offered` beside the others."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "offered_things.py").write_text(
        "from types import SimpleNamespace\nONE, TWO, NAMED = 1, 'two', SimpleNamespace(name='two')\n"
    )
    (tmp_path / "offered_broken.py").write_text("raise RuntimeError('no\\nluck')\n")

    def made(package: str, *lines: str) -> None:
        folder = tmp_path / f"{package}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text("\n".join(["[test.numbers]", *lines]))
        plugins.installed.cache_clear()

    yield made
    plugins.installed.cache_clear()


def numbers() -> Registry[int]:
    return Registry("test.numbers", {"zero": 0}, int, "")


def test_names_are_listed_and_packages_imported_when_asked(install: Install) -> None:
    install("some-package", "broken = offered_broken:ONE", "one = offered_things:ONE")
    known = numbers()
    assert list(known) == ["zero", "broken", "one"]
    assert (len(known), known.own) == (3, ("zero",))
    assert (known["zero"], known["one"]) == (0, 1)
    assert ("one" in known, "three" in known) == (True, False)
    with pytest.raises(KeyError):
        known["three"]
    known["one"] = 11  # as a test or a leaderboard does, for its own time
    assert (known["one"], len(known), sorted(known)) == (11, 3, ["broken", "one", "zero"])
    with plugins.program_alone():
        assert (list(known), len(known), "one" in known) == (["zero"], 1, False)
    del known["one"]
    assert known["one"] == 1


def test_a_name_of_the_program_is_found_without_a_look_at_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(group: str) -> None:
        raise AssertionError(group)

    monkeypatch.setattr(plugins, "installed", looked)
    assert numbers()["zero"] == 0
    assert "zero" in numbers()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "one = offered_broken:ONE",
            "'one' of the package some-package (test.numbers) cannot be used, since it does not load "
            "(RuntimeError: no luck): repair or uninstall that package.",
        ),
        (
            "one = offered_things:TWO",
            "'one' of the package some-package (test.numbers) cannot be used, since it is no int: repair or "
            "uninstall that package.",
        ),
        (
            "zero = offered_things:ONE",
            "The package some-package offers 'zero' in test.numbers, a name of the program's own: uninstall "
            "that package, or rename what it offers.",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence_that_names_the_package(
    install: Install, line: str, said: str
) -> None:
    install("some-package", line)
    with pytest.raises(PluginError) as caught:
        dict(numbers())
    assert str(caught.value) == said


def test_a_thing_bears_the_name_of_its_entry_point(install: Install) -> None:
    install("some-package", "one = offered_things:NAMED")
    with pytest.raises(PluginError, match="since it calls itself 'two': repair"):
        Registry("test.numbers", {}, SimpleNamespace)["one"]


def test_two_packages_that_offer_one_name_are_both_named(install: Install) -> None:
    install("a-package", "one = offered_things:ONE")
    install("b-package", "one = offered_things:TWO")
    with pytest.raises(PluginError) as caught:
        list(numbers())
    assert str(caught.value) == (
        "The packages a-package and b-package both offer 'one' in test.numbers: uninstall one of them."
    )


def test_what_fails_when_it_is_used_is_one_sentence_that_names_the_package(install: Install) -> None:
    install("some-package", "one = offered_things:ONE")
    with pytest.raises(PluginError) as caught:
        numbers().use("one", lambda one: [][one])
    assert str(caught.value) == (
        "'one' of the package some-package (test.numbers) cannot be used, since it fails (IndexError: list "
        "index out of range): repair or uninstall that package."
    )
    with pytest.raises(PluginError, match="since it calls itself None"):
        Registry("test.numbers", {}, int)["one"]
