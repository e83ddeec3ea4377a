"""Exploring a release: each product as a painting, what the controls begin with, and what is said."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import numpy as np
import pytest

from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.promises import limits
from pages.shared import released_view
from pages.shared.plain_text import plain
from pages.shared.released_view import (
    PRODUCTS,
    in_words,
    legend,
    paint,
    products_of,
    receipt_lines,
    threshold_stops,
)
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.pages.recorded import Recorded


@pytest.fixture(scope="module")
def viewer() -> Viewer:
    return Viewer(bundle_from_contents(bundle_contents(make_release(small_domain()))))


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(released_view, "st", recorded)
    return recorded


def test_each_product_is_painted_as_itself(viewer: Viewer) -> None:
    products = viewer.at(threshold=viewer.bundle.threshold, smoothing=0)
    painted = {
        name: paint(viewer, products, name, viewer.bundle.threshold, 0) for name in products_of(viewer)
    }
    assert {name: one.title for name, one in painted.items()} == {name: PRODUCTS[name] for name in painted}
    labels = {name: [entry.label for entry in one.entries] for name, one in painted.items()}
    assert labels["classes"] == [
        "likely above",
        "cannot tell",
        "likely not",
    ]
    for name in ("vote-set", "vorobev", "inner", "outer"):
        assert labels[name] == ["above £442,413", "not above £442,413"]
    assert labels["votes"][::5] == ["in none", "over 80 % of paths"]
    assert labels["three-way"] == [
        "surely above £442,413",
        "cannot tell",
        "surely at most £442,413",
    ]
    assert labels["field"][0] == "below £140,000"
    assert labels["field"][-1] == "£442,413 and more"
    sets = products.sets()
    for name in ("vorobev", "inner", "outer"):
        assert ((painted[name].classes == 0) == sets[name]).all(), name  # type: ignore[index]
    assert ((painted["vote-set"].classes == 0) == products.vote_set).all()


@pytest.mark.parametrize(("name", "word"), [("probability", "a probability of"), ("surely", "confidence")])
def test_probability_and_confidence_are_shares(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch, name: str, word: str
) -> None:
    told: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr(released_view, "paint_shares", lambda shares, **said: told.append((shares, said)))
    products = SimpleNamespace(direction="above", probability="P", surely="S")
    paint(viewer, products, name, 5.0, 0)  # type: ignore[arg-type]
    ((shares, said),) = told
    assert shares == {"probability": "P", "surely": "S"}[name]
    assert (said["word"], said["title"]) == (word, PRODUCTS[name])  # type: ignore[index]
    assert said["what"] == {"probability": "above £5", "surely": "all surer hexagons above £5"}[name]
    assert said.get("averaged", True) is (name == "probability")


def test_what_a_release_has_not_is_not_offered(viewer: Viewer) -> None:
    assert set(products_of(viewer)) == set(PRODUCTS) - {"probability", "surely"}
    one = SimpleNamespace(count=1, confidences=(), bundle=viewer.bundle)
    assert list(products_of(one)) == ["classes", "vote-set", "field"]  # type: ignore[arg-type]


def test_thresholds_go_evenly_through_the_range_and_hold_the_published_one(viewer: Viewer) -> None:
    stops = threshold_stops(viewer)
    low, high = viewer.thresholds
    assert 90 <= len(stops) <= 97
    assert low <= stops[0] < stops[-1] <= high
    assert viewer.bundle.threshold in stops
    assert list(stops) == sorted(set(stops))
    at = viewer.bundle.response.forward(np.array(stops))
    assert np.diff(at).max() < 0.03 * (at[-1] - at[0])


def test_the_controls_begin_as_it_was_published(screen: Recorded, viewer: Viewer) -> None:
    product, threshold, rounds, products = released_view.controls(viewer, "k")
    assert (product, threshold, rounds) == (
        "classes",
        viewer.bundle.threshold,
        screen.asked("Smoothing (times)")["value"],
    )
    assert rounds == viewer.bundle.statement["products"]["smoothing"]
    assert products.direction == "above"
    assert screen.said("columns") == [[2, 4, 2]]
    assert screen.said("selectbox", "select_slider", "slider") == [
        "Show",
        "Threshold (pounds)",
        "Smoothing (times)",
    ]
    assert screen.asked("Smoothing (times)")["_"] == (0, released_view.MAX_ROUNDS)
    assert screen.asked("Threshold (pounds)")["format_func"](250_000.0) == "£250,000"
    assert "bind" not in screen.asked("Show")
    screen.calls.clear()
    released_view.controls(viewer, "k", shareable=True)
    assert {screen.asked(label)["bind"] for label in ("Show", "Threshold (pounds)", "Smoothing (times)")} == {
        "query-params"
    }


def test_a_receipt_folds_the_proof_and_never_a_warning(screen: Recorded) -> None:
    unit = ("Unit of protection", "one sale", False)
    receipt_lines([unit, ("Bound", "theorem 1", False), ("Orders", "look", True)])
    assert screen.said("columns") == [[1, 4]] * 3
    assert screen.said("expander", "markdown") == [
        "**Unit of protection**",
        "one sale",
        "**Orders**",
        ":red[:material/warning: look]",
        "All lines that are published with the map",
        "**Bound**",
        "theorem 1",
    ]
    screen.calls.clear()
    receipt_lines([unit])
    assert screen.said("expander") == []


def test_a_map_in_words_counts_its_hexagons(viewer: Viewer) -> None:
    products = viewer.at(threshold=viewer.bundle.threshold, smoothing=0)
    painting = paint(viewer, products, "vote-set", viewer.bundle.threshold, 0)
    inside = int(products.vote_set.sum())
    assert in_words(painting, legend(painting, "light")).startswith(
        f"Released region. above £442,413: {inside:,} hexagon"
    )


def test_the_label_stands_in_a_frame_of_its_own(screen: Recorded, viewer: Viewer) -> None:
    released_view.embedded_label(viewer)
    ((_, (address,), named),) = [call for call in screen.calls if call[0] == "iframe"]
    start = "data:text/html;charset=utf-8;base64,"
    assert base64.b64decode(address.removeprefix(start)).decode() == viewer.bundle.label_html
    assert named["height"] == 1240


def test_what_is_protected_and_what_is_not_is_said(screen: Recorded, viewer: Viewer) -> None:
    released_view.statement_facts(viewer)
    release = viewer.bundle.statement["release"]
    said = screen.said("markdown")
    assert said[0].endswith(f"released {release['created'][:10]}")
    assert said[1].startswith(":material/shield: ")
    assert screen.said("expander") == ["What is protected, and what is not"]
    assert said[2].startswith("Exchanging one sale can make any published result up to ")
    assert said[3:] == [plain(sentence) for sentence in limits(viewer.bundle.statement)]
    assert len(said) > 3
