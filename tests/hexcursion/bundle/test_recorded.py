"""What small bundles say, as it was found right: statement, label, map page, texts and tables.

After a change that is meant: `RECORD=1 python -m pytest tests/hexcursion/bundle/test_recorded.py -n 0`, then
read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geo import Domain, domain_from_bbox
from hexcursion.bundle import layout
from hexcursion.bundle.write import bundle_contents
from hexcursion.project.response import ResponseScale
from hexcursion.record import Expected, Release
from hexcursion.settings.privacy_settings import Scope
from hexcursion.version import VERSION
from tests.hexcursion.bundle.bundle_samples import guarded, make_release
from tests.hexcursion.bundle.spectral_samples import spectral_release
from tests.records import agrees, hash_of, recorded_lines, short

PLACE = Path(__file__).with_name("recorded.txt")
PLAIN = ResponseScale("identity", 26.5, 7.25, "given")
TEXTS = (
    layout.STATEMENT, layout.README, layout.ATTRIBUTION, layout.LABEL, layout.PAGE, layout.REGIONS,
    "cells.csv",
)  # fmt: skip
FIRST = "paths"
LONGEST = 200  # letters of a text that is shown whole


def with_a_field(domain: Domain) -> Release:
    """One whose paths are no draws of the field: its mean, deviation and draws stand beside."""
    east = np.linspace(-1.5, 1.5, domain.size)
    draws = east + 0.4 * np.random.default_rng(2).standard_normal((30, domain.size))
    return make_release(
        domain, 3, response=PLAIN, threshold=28.0, value_unit="ug/m3", mean=east,
        sd=np.full(domain.size, 0.4), draws=draws, prior_mean=np.full(domain.size, 0.1),
        records=np.geomspace(0.1, 500.0, domain.size),
    )  # fmt: skip


MADE: dict[str, Callable[[Domain], Release]] = {
    FIRST: make_release,
    "one path of generated records": lambda domain: make_release(domain, 1, generated=True),
    "below": lambda domain: make_release(
        domain, direction="below", response=PLAIN, threshold=25.0, value_unit="ug/m3", value_name="NO2"
    ),
    "of hexagons": lambda domain: make_release(
        domain, privacy=guarded(unit="cell"), scope=Scope("flats", "2018", ("new",), "the registry")
    ),
    "simulated": lambda domain: make_release(
        domain, simulation=True, expected=Expected(0.4, 0.2, 0.7, "simulated", 0.3, 0.45, little=True)
    ),
    "a field": with_a_field,
    "sums": lambda domain: spectral_release(domain, public_mean=False),
    "sums that tell a range": lambda domain: spectral_release(domain, ranged=True),
    "sums that do not fit": lambda domain: spectral_release(domain, rise=0.8, first=0.5),
}


class Words(HTMLParser):
    """What a page says to readers: texts, and what stands for a picture or a sign."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._held = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._held = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            if name in ("alt", "title", "aria-label", "placeholder") and value:
                self.said.append(f"{tag} {name}: {value}")

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._held:
            self.said.append(text)
        self._held = ""


def leaves(value: Any, place: str = "") -> Iterator[str]:
    """Every entry of a document with its place; long texts, and lists of numbers, in short."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from leaves(one, f"{place}.{name}")
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for number, one in enumerate(value):
            yield from leaves(one, f"{place}.{number}")
    else:
        text = short(value)
        whole = len(text) <= LONGEST or (" " in text and isinstance(value, str))
        yield f"{place} {text if whole else f'{len(text)} {hash_of(text)}'}"


def told(contents: Mapping[str, bytes]) -> list[str]:
    text = {name: contents[name].decode().replace(VERSION, "0") for name in TEXTS}
    shown = [*leaves(json.loads(text[layout.STATEMENT]), "statement")]
    for name in (layout.README, layout.ATTRIBUTION):
        shown += [f"{name} {line}" for line in text[name].splitlines() if line]
    for name in (layout.LABEL, layout.PAGE):
        words = Words()
        words.feed(text[name])
        shown += [f"{name} {line}" for line in words.said]
    data = text[layout.PAGE].split('id="data">', 1)[1].split("</script>", 1)[0]
    shown += leaves(json.loads(data), "data")
    shown += [f"cells {line}" for line in text["cells.csv"].splitlines()]
    return [*shown, *leaves(json.loads(text[layout.REGIONS]), "regions"), f"files {sorted(contents)}"]


def said(name: str) -> list[str]:
    return told(bundle_contents(MADE[name](domain_from_bbox(-0.14, 51.49, -0.06, 51.53, 8))))


@pytest.fixture(scope="module")
def first() -> list[str]:
    """What the first bundle says: of the others only what it does not say is kept, and how much that is."""
    return said(FIRST)


@pytest.mark.parametrize("name", MADE)
def test_a_bundle_says_what_it_said(name: str, first: list[str]) -> None:
    shown = first
    if name != FIRST:
        known, every = set(first), said(name)
        own = [line for line in every if line not in known]
        shown = [*own, f"{len(every) - len(own)} lines of the first, and all {hash_of(' '.join(every))}"]
    agrees(PLACE, MADE, name, shown)


def test_nothing_is_kept_that_no_test_shows() -> None:
    assert set(recorded_lines(PLACE)) == set(MADE)
