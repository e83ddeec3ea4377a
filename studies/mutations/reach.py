"""Reach: which tests run which lines, learnt from one unharmed run."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

IMPORT = ""  # the context of what runs while modules are imported
LAWS = "tests/architecture/"  # tests that read the source instead of running it


@dataclass(frozen=True)
class Reach:
    """What an unharmed run of a package's tests has shown.

    Parameters
    ----------
    lines
        file -> line -> names of tests that run it; the name "" stands for what runs at import
    seconds
        CPU seconds of each test with the fixtures that were made for it, in the order of the run
    within
        CPU seconds that the tests of a mutant may take together beside the laws, None for all of them
    """

    lines: Mapping[str, Mapping[int, tuple[str, ...]]]
    seconds: Mapping[str, float]
    within: float | None = None

    def tests_for(self, file: str, line: int, around: range) -> tuple[str, ...]:
        """Names of the tests that could notice a change in a line, the quickest files first.

        A line that runs at import (a constant, a default) can be noticed by every test; so can a line of a
        function of which nothing is known (it may run in another process). Otherwise these are the tests that
        run the line, or else any line `around` it: its function; and laws, which read it.
        """
        names = self._quick_files_first(self._tests_for(file, line, around))
        spent = itertools.accumulate(self.seconds[name] for name in names)
        return tuple(
            name
            for number, (name, total) in enumerate(zip(names, spent, strict=True))
            if number == 0 or self.within is None or total <= self.within or name.startswith(LAWS)
        )

    def _tests_for(self, file: str, line: int, around: range) -> tuple[str, ...]:
        known = self.lines.get(file, {})
        here = known.get(line) or tuple(name for near in around for name in known.get(near, ()))
        if here and IMPORT not in known.get(line, ()):
            return tuple(name for name in self.seconds if name in set(here) or name.startswith(LAWS))
        return tuple(self.seconds)

    def _quick_files_first(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The tests of one file stay together, as they share what is made once a file."""
        files: dict[str, list[str]] = {}
        for name in names:
            files.setdefault(name.split("::")[0], []).append(name)
        mean = {file: sum(self.seconds[name] for name in own) / len(own) for file, own in files.items()}
        return tuple(name for file in sorted(files, key=lambda each: mean[each]) for name in files[file])

    def to_json(self) -> str:
        """For the way from the process that ran the tests."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Reach:
        """What `to_json` wrote."""
        data = json.loads(text)
        lines = {
            file: {int(line): tuple(names) for line, names in known.items()}
            for file, known in data["lines"].items()
        }
        return cls(lines, data["seconds"])


class Recorder:
    """A pytest plugin that names each test to coverage, and each fixture, whose lines its tests share."""

    def __init__(self, root: Path, files: Sequence[str]) -> None:
        from coverage import Coverage

        self._root, self._files = root, files
        self._coverage = Coverage(
            data_file=None, config_file=False, include=[str(root / file) for file in files]
        )
        self._fixtures: dict[str, tuple[str, ...]] = {}
        self._now: list[str] = [IMPORT]
        self.seconds: dict[str, float] = {}

    def start(self) -> None:
        """Begin before anything of the checkout is imported."""
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """One test, from its first fixture to its last."""
        self._fixtures[item.nodeid] = tuple(getattr(item, "fixturenames", ()))
        before = time.process_time()
        self._enter(item.nodeid)
        try:
            return (yield)
        finally:
            self._leave()
            self.seconds[item.nodeid] = time.process_time() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """A fixture that several tests share is made once, but all of them stand on it."""
        self._enter(f"fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._leave()

    def reach(self) -> Reach:
        """What was recorded; stops the recording."""
        self._coverage.stop()
        data = self._coverage.get_data()
        standing: dict[str, list[str]] = {}
        for test, fixtures in self._fixtures.items():
            for fixture in fixtures:
                standing.setdefault(f"fixture {fixture}", []).append(test)
        lines: dict[str, dict[int, tuple[str, ...]]] = {}
        for file in self._files:
            known = data.contexts_by_lineno(str(self._root / file))
            lines[file] = {
                line: tuple(dict.fromkeys(test for name in names for test in standing.get(name, [name])))
                for line, names in known.items()
            }
        return Reach(lines, self.seconds)

    def _enter(self, name: str) -> None:
        self._now.append(name)
        self._coverage.switch_context(name)

    def _leave(self) -> None:
        self._now.pop()
        self._coverage.switch_context(self._now[-1])
