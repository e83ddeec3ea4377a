"""What a release says, in answers: the facts that a reader meets first, and where the largest
regions lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from dpgp_core.numbers import lower, significant
from geo import Domain
from geo.context.surroundings import Place
from geo.crs import project
from hexcursion import promises, words
from hexcursion.bundle.products import Products, counted, part_of
from hexcursion.bundle.statement.change import change_sentence
from hexcursion.bundle.statement.expected import (
    agreement_sentence,
    basis_of,
    beforehand_words,
    doubts_of,
    figures_beside,
    range_of,
    shown_words,
)
from hexcursion.bundle.statement.guarantee import surest_of
from hexcursion.record import LOW_AGREEMENT

NAMED_PLACES = 3  # places that describe the whole map


About = Literal["How sure", "Who is protected", "What it is not"]


@dataclass(frozen=True)
class Fact:
    """One fact of a release."""

    about: About  # the heading: the question
    lead: str  # the answer in a few words
    text: str  # the answer in sentences
    warning: bool = False  # whether a reader should not miss it


def heading_of(statement: Mapping[str, Any]) -> str:
    """The question that a release answers, with whose values and when: the heading wherever it is
    shown."""
    return words.asked(statement["subject"], statement["guarantee"]["unit_word"])


def title_of(statement: Mapping[str, Any]) -> str:
    """The curator's title, or else the subject in words."""
    return str(statement["release"]["title"] or words.named(statement["subject"]))


def added_title(statement: Mapping[str, Any]) -> str:
    """The curator's title as a line below the heading; "" where it would say the same again."""
    title = title_of(statement)
    return "" if title in (words.named(statement["subject"]), heading_of(statement)) else title


def answer(products: Products, lies: str = "") -> str:
    """How many hexagons are in each class, and where the first of them are, in up to three
    sentences."""
    return " ".join(filter(None, [f"This map answers: {counted(products)}", lies]))


def place(domain: Domain, places: Sequence[Place] = ()) -> str:
    """Where the map is and how fine its hexagons are, in one sentence; by its largest places, given in
    order."""
    (lon, lat), cell_area = domain.middle, hexagon_area(domain)
    inside = (
        domain.locate(
            [named_place.longitude for named_place in places],
            [named_place.latitude for named_place in places],
        )
        >= 0
    )
    names = [named_place.name for named_place, within in zip(places, inside, strict=True) if within][
        :NAMED_PLACES
    ]
    where = f"{', '.join(names)}: " if names else ""
    many = words.plural(domain.size, "hexagon")
    return (
        f"{where}{many} of about {area(cell_area)} each, {area(cell_area * domain.size)} in all, around "
        f"{coordinates(lon, lat)}."
    )


def hexagon_area(domain: Domain) -> float:
    """The area of a hexagon of the domain, square kilometres: a regular one of its spacing. H3's
    average over the Earth is a tenth off in some countries."""
    return math.sqrt(0.75) * domain.spacing**2 / 1e6


def coordinates(lon: float, lat: float) -> str:
    """A place as "51.50° N, 0.12° W"."""
    return f"{abs(lat):.2f}° {'N' if lat >= 0 else 'S'}, {abs(lon):.2f}° {'E' if lon >= 0 else 'W'}"


def area(square_kilometres: float) -> str:
    """An area with three significant digits: "0.737 km²", "1,750 km²"."""
    if square_kilometres < 0.01:
        return f"{significant(square_kilometres * 1e6, 3)} m²"
    return f"{significant(square_kilometres, 3)} km²"


def belief_of(statement: Mapping[str, Any]) -> float | None:
    """Chance that a guess between two claims of even odds is right, 0.5 to 1; an
    upper bound. None where n delta is at least 1: then whole records may be published, and luck
    decides."""
    guarantee = statement["guarantee"]
    if guarantee["n"] * guarantee["delta"] >= 1.0:
        return None
    return surest_of(guarantee)


def three_facts(statement: Mapping[str, Any], products: Products) -> tuple[Fact, Fact, Fact]:
    """How sure the map is, who is protected and how much, and what the map is not."""
    return _how_sure(statement, products), _protected(statement), _what_not(statement)


def in_brief(statement: Mapping[str, Any], products: Products) -> str:
    """How sure and who is protected in a line each, for a narrow screen: the boxes come below the
    map."""
    sure, protected, _ = three_facts(statement, products)
    return f"{sure.lead}. {protected.lead}."


def _how_sure(statement: Mapping[str, Any], products: Products) -> Fact:
    """Estimated by the release where it can, for the true values first; the rehearsal's figure
    follows."""
    expected, verdict, promise = (
        statement["expected"],
        statement.get("told"),
        shown_words(products, statement),
    )
    if promise:
        lead = promise.partition(". ")[0].rstrip(".")
        text = " ".join([promise, *figures_beside(statement, promise)])
    else:
        lead, text = _expected(expected)
        if products.graded and not (products.classes == 0).any():  # of no region a share is right
            lead = f"No hexagon is likely {words.side_words(products.direction)}"
            sentences = agreement_sentence(verdict), beforehand_words(expected)
            text = " ".join(filter(None, ["No region is shown.", *sentences]))
    if products.graded:
        unsure, judged = int((products.classes == 1).sum()), int(products.judged.sum())
        text += f" For {part_of(unsure, judged)} of the hexagons it cannot tell."
    text = f"{text} {change_sentence(statement)}".rstrip()
    poor = [line["text"] for line in statement["receipt"] if line["topic"] == LOW_AGREEMENT]
    warned = " ".join([*doubts_of(statement, promise), *poor])
    return Fact("How sure", lead, f"{warned} {text}".strip(), bool(warned))


def _expected(expected: Mapping[str, Any] | None) -> tuple[str, str]:
    """Lead and text where only the rehearsal says how right the map is."""
    if expected is None:
        return "Not estimated", "How right this map is was not estimated before it was drawn."
    basis = basis_of(expected)
    right, agreement = expected["right"], expected["agreement"]
    if right is not None:
        text = f"So many of its hexagons are expected in the one without privacy too, tried on {basis}."
        if agreement is not None:
            overlap = f"{lower(agreement, 2)} (1 would be the same)"
            text += f" The two regions overlap to {overlap}{range_of(expected)}."
        return f"{lower(100.0 * right, 2)} % of the region right", text
    if agreement is not None:
        text = f"With the map that would be drawn without privacy, tried on {basis}{range_of(expected)}."
        return f"Agreement {lower(agreement, 2)} of 1", text
    return "Not estimated", f"Tried on {basis}, the map is empty: how right it is cannot be said."


def _protected(statement: Mapping[str, Any]) -> Fact:
    guarantee = statement["guarantee"]
    noun, surest = promises.protected_word(guarantee), belief_of(statement)
    what = guarantee["protected"]
    if surest is None:
        return Fact("Who is protected", f"Not every {noun}", f"{what} {guarantee['in_words']}", True)
    lead = words.guess_words(surest, noun)
    text = f"{what} {lead}, whatever is made of all that is published here."
    useless = guarantee["epsilon"] > promises.USELESS_EPSILON
    return Fact("Who is protected", lead, f"{text} {promises.PROTECTS_NOBODY}" if useless else text, useless)


def _what_not(statement: Mapping[str, Any]) -> Fact:
    release, noun = statement["release"], promises.protected_word(statement["guarantee"])
    noise = (
        f"Noise was added on purpose: single hexagons can be wrong, and edges are approximate. It says "
        f"nothing certain about any single {noun}."
    )
    again = "equal_rows" in statement["guarantee"]
    limits = " ".join(promises.limits(statement)[: 2 if again else 1])
    warnings = []
    if release["generated"]:
        warnings.append("The data are generated: no real place or person is described.")
    if release["simulation"]:
        warnings.append("This is a simulation with a fixed seed: it protects nobody.")
    if not statement["tuning"]["accounted"]:
        warnings.append("Its tuning is not accounted for: the true loss of privacy is larger than stated.")
    lead = "Not real data" if release["generated"] else f"Not a map of single {words.plural(2, noun)[2:]}"
    return Fact("What it is not", lead, " ".join([*warnings, noise, limits]), bool(warnings))


MOST = 8
NAMED_REGIONS = 3  # regions that one sentence names
PEOPLE = 4_000  # of a city's square kilometre, roughly
_EAST = ("west", "", "east")
_NORTH = ("south", "", "north")


@dataclass(frozen=True)
class LargeRegion:
    """One connected region of the set."""

    cells: int  # its hexagons
    size: str  # its area, in words
    where: str  # its part of the map and its middle, in words
    near: str = ""  # the named place nearest to its middle; "" where none is near


def largest_regions(
    domain: Domain, members: NDArray[np.bool_], limit: int = MOST, places: Sequence[Place] = ()
) -> tuple[LargeRegion, ...]:
    """The largest regions of hexagons that touch each other, largest first. `members`: (N,) the
    set; `limit`: how many at most; `places`: named places: each region is described by the one nearest to
    its middle."""
    inside = np.flatnonzero(members)
    if inside.size == 0:
        return ()
    count, label = connected_components(domain.adjacency[inside][:, inside], directed=False)
    sizes = np.bincount(label, minlength=count)
    order = np.argsort(-sizes, kind="stable")[:limit]
    near = _Nearby(domain, places)
    return tuple(_region(domain, inside[label == region], near) for region in order.tolist())


def where(domain: Domain, members: NDArray[np.bool_], places: Sequence[Place] = ()) -> str:
    """The places of the largest regions of a set, in one sentence; "" for an empty or a whole map.
    `members`: (N,) the set; `places`: as for `largest_regions`."""
    regions = largest_regions(domain, members, NAMED_REGIONS, places)
    if not regions or members.all():
        return ""
    sizes = {region.near: region.size for region in reversed(regions) if region.near}  # the largest of a name
    around = [
        f"{name} ({sizes[name]})" for name in dict.fromkeys(region.near for region in regions if region.near)
    ]
    if around:
        lie = "region lies" if len(regions) == 1 else "regions lie"
        return f"The largest {lie} around {listed(around)}."
    return f"The largest region, {regions[0].size}, lies here: {regions[0].where}."


def listed(texts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _region(domain: Domain, cells: NDArray[np.int64], nearby: _Nearby) -> LargeRegion:
    centres = domain.centres[cells]
    # The hexagon nearest to the region's mean: a mean itself may be outside a bent region.
    nearest = int(cells[np.argmin(((centres - centres.mean(axis=0)) ** 2).sum(axis=1))])
    lon, lat = domain.centres_lonlat[nearest].tolist()
    size = area(cells.size * hexagon_area(domain))
    name = nearby.name(domain.centres[nearest])
    where = ", ".join(
        [_part_of_map(domain, nearest), *([f"near {name}"] if name else []), coordinates(lon, lat)]
    )
    return LargeRegion(int(cells.size), size, where, name)


class _Nearby:
    """Named places by which a region is described, projected once. A city that fills the map, such as
    London on a map of London, tells nothing about where on it, so it is left out."""

    def __init__(self, domain: Domain, places: Sequence[Place]) -> None:
        extent = float(np.ptp(domain.centres, axis=0).max())
        small = [place for place in places if 2.0 * _radius(place) < 0.5 * extent]
        self._names = [place.name for place in small]
        lonlat = [(place.longitude, place.latitude) for place in small]
        self._where = project(lonlat, domain.crs) if small else np.empty((0, 2))
        self._reach = max(0.25 * extent, 2.0 * domain.spacing)

    def name(self, centre: NDArray[np.float64]) -> str:
        """The place nearest to a hexagon's centre (2,), metres; "" beyond a quarter of the map."""
        if not self._names:
            return ""
        far = np.hypot(*(self._where - centre).T)
        return self._names[int(far.argmin())] if far.min() <= self._reach else ""


def _radius(place: Place) -> float:
    """About how far a place reaches around its middle, metres."""
    return 1e3 * math.sqrt(place.population / (math.pi * PEOPLE))


def _part_of_map(domain: Domain, cell: int) -> str:
    """The ninth of the map that has a hexagon: "north-west", "middle"."""
    low, high = domain.centres.min(axis=0), domain.centres.max(axis=0)
    share = (domain.centres[cell] - low) / np.maximum(high - low, 1e-9)
    east, north = np.minimum(2, (3 * share).astype(int)).tolist()
    return "-".join(word for word in (_NORTH[north], _EAST[east]) if word) or "middle"
