"""The viewer: laws of the products at free settings, from a bundle alone."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo import Domain
from hexcursion.bundle import Bundle, products_at, read_bundle
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.products import MapValues
from hexcursion.bundle.published.view import Viewer, question_words
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from hexcursion.project.response import ResponseScale
from pages.shared.released_view import paint
from tests.hexcursion.bundle.bundle_samples import make_release


@pytest.fixture(scope="module")
def viewer(contents: dict[str, bytes]) -> Viewer:
    return Viewer(bundle_from_contents(contents))


@pytest.fixture(scope="module")
def single(domain: Domain) -> Viewer:
    return Viewer(bundle_from_contents(bundle_contents(make_release(domain, paths=1))))


def test_published_settings_are_the_default(viewer: Viewer) -> None:
    shown, published = viewer.at(), viewer.bundle.published
    assert np.array_equal(shown.votes, published.votes)
    for name, members in published.sets().items():
        assert np.array_equal(shown.sets()[name], members)
    assert np.array_equal(viewer.at(viewer.bundle.threshold).votes, published.votes)


def test_looking_changes_nothing(viewer: Viewer) -> None:
    before = viewer.bundle.paths.copy()
    low, high = viewer.thresholds
    for threshold in np.linspace(low, high, 20):
        viewer.at(float(threshold), smoothing=3)
    assert np.array_equal(viewer.bundle.paths, before)


@given(st.floats(100_000, 1_500_000), st.floats(100_000, 1_500_000), st.integers(0, 3))
def test_a_higher_threshold_never_adds_a_cell(viewer: Viewer, one: float, other: float, rounds: int) -> None:
    low, high = sorted((one, other))
    wide, narrow = viewer.at(low, smoothing=rounds), viewer.at(high, smoothing=rounds)
    assert not (narrow.paths & ~wide.paths).any()
    assert (narrow.votes <= wide.votes).all()
    assert not (narrow.vote_set & ~wide.vote_set).any()


@given(st.floats(100_000, 1_500_000), st.sampled_from([0.5, 0.7, 0.8, 0.9]))
def test_products_are_nested_and_mirror_each_other(
    viewer: Viewer, threshold: float, confidence: float
) -> None:
    paths, level = viewer.smoothed(1), viewer.level(threshold)
    above = products_at(MapValues(paths), level, "above", cutoff=0.5, confidence=confidence)
    below = products_at(MapValues(paths), level, "below", cutoff=0.5, confidence=confidence)
    assert above.inner is not None
    assert above.outer is not None
    assert below.inner is not None
    assert above.three_way is not None
    assert not (above.inner & ~above.outer).any() or confidence <= 0.5
    assert np.array_equal(above.outer, ~below.inner)
    assert np.array_equal(above.paths, ~below.paths)
    assert np.allclose(above.votes + below.votes, 1.0)
    assert np.array_equal(above.three_way, above.inner.astype(np.int8) - below.inner.astype(np.int8))
    assert above.vorobev.sum() >= above.votes.sum() - 1e-6


def test_a_threshold_means_the_datas_own_unit(viewer: Viewer) -> None:
    threshold = 500_000.0
    values = viewer.bundle.response.value(viewer.smoothed(0))
    assert np.array_equal(viewer.at(threshold, smoothing=0).paths, values > threshold)


def test_slider_ends_hold_the_published_threshold(viewer: Viewer, single: Viewer) -> None:
    for each in (viewer, single):
        low, high = each.thresholds
        assert 0 < low <= each.bundle.threshold <= high < np.inf


@pytest.mark.parametrize(
    ("paths", "confidences"),
    [
        (20, (0.5, 0.7, 0.8, 0.9, 0.95)),
        (99, (0.5, 0.7, 0.8, 0.9, 0.95)),
        (100, (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)),
    ],
)
def test_a_hundred_paths_support_99_per_cent(
    domain: Domain, paths: int, confidences: tuple[float, ...]
) -> None:
    many = Viewer(bundle_from_contents(bundle_contents(make_release(domain, paths=paths))))
    assert many.confidences == confidences


def test_few_paths_say_so(viewer: Viewer, single: Viewer) -> None:
    assert single.confidences == ()
    assert single.at().three_way is None
    assert "released path" in single.sentences(single.at())[0]
    assert viewer.confidences == (0.5, 0.7, 0.8, 0.9)
    assert "steps of 1/12" in viewer.sentences(viewer.at())[-2]
    assert viewer.sentences(viewer.at())[-1] == (
        "As published: How right this map is was not estimated before it was drawn."
    )
    unsure = replace(viewer.at(), confidence=0.99, three_way=None)
    assert "that takes 100" in viewer.sentences(unsure)[2]


def test_smoothing_in_steps_is_smoothing_at_once(contents: dict[str, bytes]) -> None:
    stepped, direct = (Viewer(bundle_from_contents(contents)) for _ in range(2))
    stepped.smoothed(1)
    stepped.smoothed(2)
    assert np.allclose(stepped.smoothed(3), direct.smoothed(3), atol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": 0.0},
        {"threshold": -5.0},
        {"threshold": float("nan")},
        {"smoothing": -1},
        {"smoothing": 21},
        {"smoothing": 0.5},
    ],
    ids=str,
)
def test_senseless_settings_are_one_sentence(viewer: Viewer, settings: dict[str, float]) -> None:
    with pytest.raises(WorkflowError) as caught:
        viewer.at(**settings)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_identity_scale(domain: Domain) -> None:
    response = ResponseScale("identity", 25.0, 15.0, "given by the curator as public")
    release = make_release(
        domain, response=response, threshold=20.0, value_name="NO2", value_unit="ug/m3", direction="below"
    )
    bundle: Bundle = read_bundle_of(release)
    assert bundle.published.direction == "below"
    viewer = Viewer(bundle)
    assert np.array_equal(viewer.at(-3.0).paths, ~(viewer.smoothed(1) * 15.0 + 25.0 > -3.0))
    said = " ".join(viewer.sentences(viewer.at(None)))
    assert "hexagons are at most the threshold in at least" in said
    assert "surely above the threshold" in said
    assert "surely at most that" in said
    assert "below" not in said
    answers = question_words(viewer, (), None)
    assert answers.startswith("Share of each area that lies at most 20 ug/m3, and")
    shown = paint(viewer, viewer.at(None), "classes", 20.0, 1)
    assert [entry.label for entry in shown.entries] == [
        "likely below",
        "cannot tell",
        "likely not",
    ]
    what = paint(viewer, viewer.at(None), "vote-set", 20.0, 1)
    assert [entry.label for entry in what.entries] == ["at most 20 ug/m3", "not at most 20 ug/m3"]


def read_bundle_of(release: object) -> Bundle:
    sink = io.BytesIO()
    zip_bytes_to(sink, "x", bundle_contents(release))  # type: ignore[arg-type]
    return read_bundle(sink.getvalue())


def test_a_slider_does_not_go_below_what_can_be(viewer: Viewer, domain: Domain) -> None:
    """Noise reaches below zero, lead does not; degrees Celsius do."""
    scale = ResponseScale("identity", 20.0, 30.0, "given")
    ends = {}
    for unit in ("mg/kg", "°C"):
        made = make_release(domain, response=scale, threshold=25.0, value_unit=unit)
        ends[unit] = Viewer(bundle_from_contents(bundle_contents(made))).thresholds
    assert ends["mg/kg"][0] == 0.0
    assert ends["°C"][0] < -5.0
    assert ends["mg/kg"][1] == ends["°C"][1]


def test_a_map_of_one_colour_says_so(viewer: Viewer) -> None:
    low, high = viewer.thresholds
    above = viewer.sentences(viewer.at(high * 100))[1]
    assert above == (
        "The whole map is one colour: no hexagon is above the threshold. Another threshold tells more."
    )
    assert "every hexagon is above the threshold" in viewer.sentences(viewer.at(low / 100))[1]
    assert "one colour" not in " ".join(viewer.sentences(viewer.at()))
