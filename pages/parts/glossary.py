"""The glossary: every symbol has a word and a sentence; screens take both from here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A symbol, the word the screens use for it, and what it means, in one or two sentences."""

    symbol: str
    word: str
    meaning: str


TERMS: dict[str, Term] = {
    "observation": Term("", "observation", "A row as loaded: a place and a value, for example one sale."),
    "domain": Term(
        "", "domain", "The public set of H3 hexagons that is modelled. It comes from public geography, "
        "never from the data."
    ),
    "resolution": Term(
        "", "resolution", "How fine the hexagons are: each step up makes them about seven times smaller."
    ),
    "unit": Term(
        "", "unit of protection", "What the guarantee is about. Nobody who sees the release can tell whether "
        "one of these was exchanged for another."
    ),
    "record": Term("", "record", "What the mechanism protects: one observation, or one hexagon's median."),
    "n": Term("n", "number of records", "Taken as public."),
    "epsilon": Term(
        "ε", "privacy budget", "An upper bound on what the release reveals about one record. Exchanging "
        "the record changes the chance of any result by at most the factor e to the ε. Smaller is safer."
    ),
    "delta": Term(
        "δ", "slack", "The small probability with which the bound ε may fail. Keep it far below one over "
        "the number of records."
    ),
    "paths": Term(
        "L", "paths", "Independent private draws of the whole map. Each costs budget; together they say how "
        "often a hexagon lies inside."
    ),
    "prior": Term(
        "", "prior", "What is assumed about the field before the data are seen: how similar neighbours are."
    ),
    "lengthscale": Term("ℓ", "range of the prior", "The distance over which values stay similar, in metres."),
    "ridge": Term(
        "r", "ridge", "Noise-to-signal ratio: how little a single record may move the map. Larger is safer "
        "and smoother."
    ),
    "scale": Term(
        "σ", "scale", "How widely the released map is spread around the smoothed data. It is solved for: the "
        "smallest one that meets the budget."
    ),
    "statistic_noise": Term("s", "noise of the statistics", "Random noise added to each hexagon's count "
        "and sum before anything else is done with them. Larger is safer."),
    "noise_scale": Term("η", "prior noise", "Extra noise of the prior's own shape, added to the map."),
    "threshold": Term(
        "t", "threshold", "The value to exceed, in the data's own unit. Choose it from public knowledge, not "
        "by looking at the private map."
    ),
    "clip": Term(
        "M", "clip bound", "Values further than this from the public centre are moved to it. It bounds what "
        "one record can do."
    ),
    "iou": Term(
        "IoU", "agreement", "Overlap of the released region and the baseline: shared area divided by joint "
        "area. 1 is perfect, 0 is none."
    ),
    "held_iou": Term(
        "IoU", "agreement on held-out labels", "Overlap with the labels of hexagons that were left out of "
        "the fit. Known for the search's own design only."
    ),
    "iou_gap": Term(
        "", "agreement lost to privacy", "By how much the agreement with held-out labels falls, compared "
        "with the design chosen without a privacy constraint."
    ),
    "bce": Term(
        "BCE", "cross-entropy", "How badly the map's probabilities predict held-out cells: 0 is "
        "perfect, 0.69 is a coin. A map that starts from public knowledge is very sure of itself, so a few "
        "hexagons it gets wrong make this large although the region agrees well."
    ),
    "dimension": Term(
        "", "effective dimension", "How many independent numbers the fitted map really contains."
    ),
    "baseline": Term(
        "", "baseline", "The map without any privacy, from the same data. For the curator's eyes only; it is "
        "in no export."
    ),
    "free": Term(
        "", "free map", "What public knowledge alone gives, at no cost. A private release should beat it."
    ),
    "release": Term("", "release", "Private paths with their privacy statement and their ledger entry."),
    "bundle": Term("", "bundle", "The files that leave the building."),
    "ledger": Term(
        "", "ledger", "The append-only account of every release and what it cost. It refuses what would "
        "exceed the dataset's budget."
    ),
    "reference": Term(
        "", "reference data", "Public or set-aside data of the same kind, for example last year's, on which "
        "the design is chosen so that the private data are not looked at."
    ),
    "vote": Term(
        "", "share of paths", "In how many of the released paths a hexagon lies inside. With L paths it "
        "moves in steps of 1/L."
    ),
}  # fmt: skip


def tip(name: str) -> str:
    """The help text of a term: its symbol, if it has one, and its meaning."""
    term = TERMS[name]
    symbol = f" ({term.symbol})" if term.symbol else ""
    return f"**{term.word.capitalize()}{symbol}.** {term.meaning}"


def label(name: str) -> str:
    """The word of a term with its symbol, as a widget's label: "privacy budget ε" capitalised."""
    term = TERMS[name]
    return f"{term.word[0].upper()}{term.word[1:]} {term.symbol}".strip()
