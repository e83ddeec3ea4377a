"""The glossary: every symbol has a word and a sentence; screens take both from here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pages.shared.plain_text import Markdown


@dataclass(frozen=True)
class Term:
    """A symbol ("" for none), the word the screens use for it, and its meaning in one or two sentences."""

    word: str
    meaning: str
    symbol: str = ""


TERMS: dict[str, Term] = {
    name: Term(**entry)
    for name, entry in tomllib.loads(
        Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8")
    ).items()
}

GLOSSARY = tuple(
    (
        "unit epsilon delta threshold iou baseline free reference prior paths vote clip release bundle ledger"
    ).split()
)
"""The terms a reader meets; each has one plain sentence. The others name the numbers of a design."""


def tip(name: str) -> Markdown:
    """The help text of a term: its symbol, if it has one, and its meaning."""
    term = TERMS[name]
    symbol = f" ({term.symbol})" if term.symbol else ""
    return f"**{term.word.capitalize()}{symbol}.** {term.meaning}"


def label(name: str) -> Markdown:
    """The word of a term with its symbol, as a widget's label: "privacy budget ε" capitalised."""
    term = TERMS[name]
    return f"{term.word[0].upper()}{term.word[1:]} {term.symbol}".strip()


PATHS: Markdown = (
    "**Posterior sampling**, the method of the paper, publishes a *posterior path*: one whole map drawn at "
    "random from all maps that the private records make plausible. A record makes little difference to what "
    "is drawn, and several paths show what is sure."
)
STATISTICS: Markdown = (
    "**Spectral statistics** publishes noisy sums of the private values instead, a few weighted averages "
    "over the area. The map, and any number of paths, are computed from these sums at no further cost."
)
