"""The glossary: every symbol has a word and a sentence; screens take both from here."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared.plain_text import Markdown


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
        "", "unit of protection", "What the guarantee protects: ε and δ bound how well anybody who sees the "
        "release can tell whether one of these was exchanged for another."
    ), "record": Term("", "record", "What the mechanism protects: one observation, or one hexagon's median."),
    "n": Term(
        "n", "number of records", "Taken as public, or stated by public knowledge where it is kept private."
    ),
    "epsilon": Term(
        "ε", "privacy budget", "A bound on what the release reveals: exchanging one record changes the "
        "chance of any result by at most the factor e to the ε, apart from the slack δ, so smaller is safer."
    ),
    "delta": Term(
        "δ", "slack", "How much the chance of any result may change beyond what ε allows; keep it far below "
        "one over the number of records."
    ),
    "paths": Term(
        "L", "paths", "Random private maps of one release, which together say how often a hexagon lies "
        "inside; with some mechanisms each costs budget."
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
    "mu": Term(
        "μ", "strength of the release", "How far one record may move what is released, in units of the "
        "noise. Smaller is safer."
    ),
    "model_scale": Term(
        "λ", "spread of the field", "How widely the field itself varies: assumed when the noisy numbers "
        "are read. It costs nothing."
    ),
    "blur": Term(
        "", "blur", "How much smoother the released map is than the model by which it is read. A smoother "
        "one needs less noise."
    ), "bin_width": Term("", "width of the bins", "Side of the public squares whose values are added up."),
    "pure_epsilon": Term(
        "ε", "pure privacy budget", "The bound ε without any slack: it never fails. Smaller is safer."
    ),
    "inducing_spacing": Term(
        "", "distance of inducing points", "How far apart the public points are with which the records are "
        "compared. Wider means fewer numbers and less noise on each."
    ),
    "encoder_width": Term(
        "", "width of the encoder", "How far the released sums reach around each point of the lattice. Wider "
        "means fewer numbers with less noise on each, and less detail."
    ),
    "balance": Term(
        "c", "balance of the moments", "How the noise is shared between the sums of values and the sums over "
        "pairs of points: the larger, the more of it falls on the values."
    ), "noise_scale": Term("η", "prior noise", "Extra noise of the prior's own shape, added to the map."),
    "threshold": Term(
        "t", "threshold", "The value to exceed, in the data's own unit, chosen from public knowledge and not "
        "by looking at the private map."
    ),
    "clip": Term(
        "M", "clip bound", "Values further than this from the public centre are moved to it, which bounds "
        "what one record can do."
    ),
    "iou": Term(
        "IoU", "agreement", "The area that the released region and the map without privacy share, "
        "divided by the area that either covers: 1 is perfect, 0 is none."
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
        "", "map without privacy", "The map drawn from the same data without any protection; it is never "
        "published."
    ),
    "free": Term(
        "", "public map", "The map that public data alone give, which a private release should beat."
    ), "release": Term("", "release", "Private paths with their privacy statement and their ledger entry."),
    "bundle": Term("", "bundle", "The files that are published: the map, its statement and its label."),
    "ledger": Term(
        "", "ledger", "The account of every release and what it cost; it refuses what would exceed the "
        "budget."
    ),
    "reference": Term(
        "", "reference data", "Public or set-aside data of the same kind, for example last year's, on which "
        "the design is chosen so that the private data are not looked at."
    ),
    "vote": Term(
        "", "share of paths", "In how many of the released paths a hexagon lies inside, in steps of one over "
        "their number."
    ),
}  # fmt: skip

GLOSSARY = (
    "unit", "epsilon", "delta", "threshold", "iou", "baseline", "free", "reference", "prior", "paths", "vote",
    "clip", "release", "bundle", "ledger",
)  # fmt: skip
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
