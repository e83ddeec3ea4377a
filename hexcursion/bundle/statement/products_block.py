"""The statement's products: which sets are drawn from the paths, and what each of them means."""

from __future__ import annotations

from typing import Any

from dpgp_core.mechanisms.design import Design
from hexcursion.bundle.products.at_threshold import (
    BY_MAP,
    CONFIDENCE,
    MEANINGS,
    SURE,
    ProductName,
    supports,
)
from hexcursion.bundle.products.regions import MAX_PATH_REGIONS


def products_block(
    design: Design,
    draws: int | None = None,
    *,
    ranked: bool = False,
    cut_by_map: bool = False,
    regions: int = MAX_PATH_REGIONS,
) -> dict[str, Any]:
    """The block as it stands in a statement; it follows from the design and the number of draws. `draws`:
    joint draws of the field that go along with the paths, None where the paths are such draws; `ranked`:
    whether cells are ordered by their probabilities: so where there are any, but not in earlier bundles;
    `cut_by_map`: whether the set at the cutoff is cut by the chance that the map without privacy shows a cell
    in it; `regions`: paths of which a dissolved region is written."""
    count = design.paths
    joint = supports(count if draws is None else draws, CONFIDENCE)
    meanings = {name: text for name, text in MEANINGS.items() if joint or name not in ("inner", "outer")}
    left_out = []
    if not joint:
        needed = round(1.0 / (1.0 - CONFIDENCE))
        left_out.append(
            f"Inner and outer sets and 'cannot tell' at confidence {CONFIDENCE:g} need {needed} paths; "
            f"this release has {count}."
        )
    if cut_by_map:
        meanings["vote-set"] = BY_MAP
    if count > regions:
        left_out.append(f"Dissolved regions of single paths are written for the first {regions} paths.")
    return {
        "cutoff": float(design.cutoff),
        "smoothing": int(design.smoothing),
        "confidence": CONFIDENCE if joint else None,
        "vote_step": 1.0 / count,
        "meanings": {name: _said(name, text, draws) for name, text in meanings.items()}
        | ({"excursion_function": _said("inner", SURE, draws)} if ranked and joint else {}),
        "left_out": left_out,
        **({"excursion_function": joint} if ranked else {}),
        **({"cut_by_map": True} if cut_by_map else {}),
    }


def _said(name: ProductName, meaning: str, draws: int | None) -> str:
    """Joint statements rest on the draws of the field where there are such draws beside the paths."""
    if draws is None or name not in ("inner", "outer"):
        return meaning
    return meaning.replace("of the paths", f"of {draws} draws of the field")
