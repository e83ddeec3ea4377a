"""Forged bundles, resealed as a careful forger does: whatever follows from other fields is proved anew."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgp_core.accounting.composition import Cost, compose, epsilon
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.accounting.tails import GaussianPairs
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import sums_text
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.build import following as evaluated
from hexcursion.bundle.statement.guarantee import with_words
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.tables import read_paths
from hexcursion.bundle.write import bundle_contents
from hexcursion.record import PrivacyFacts
from tests.hexcursion.bundle.bundle_samples import following, groups_of, guarded, make_release, set_at

Contents = dict[str, bytes]
Statement = dict[str, Any]


def resealed(contents: Contents, **changed: bytes) -> Contents:
    made = {**contents, **{name.replace("__", "."): content for name, content in changed.items()}}
    rest = {name: content for name, content in made.items() if name != "SHA256SUMS"}
    return {**rest, "SHA256SUMS": sums_text(rest).encode()}


def priced(cost: Cost, order: float | None = None) -> PrivacyFacts:
    """Facts that follow from a cost at delta 1e-5."""
    return replace(
        guarded(),
        epsilon=epsilon(cost, 1e-5).epsilon,
        order=order,
        cost=cost,
        gaussian_mu=cost.gaussian_mu,
        rdp_orders=tuple(ORDERS.tolist()),
        rdp_values=tuple(cost.curve.values.tolist()),
        group=groups_of(cost),
    )


def stating(domain: Domain, cost: Cost) -> Statement:
    return build_statement(make_release(domain, privacy=priced(cost)))


def believable(statement: Statement, value: float) -> Statement:
    """Another epsilon, with every text that follows from it."""
    statement["guarantee"] = with_words({**statement["guarantee"], "epsilon": value})
    statement["evaluation"].update(evaluated(statement))
    return following(statement)


CURVE = RdpCurve(0.15 * ORDERS)
COSTS = {
    "a curve": (Cost(CURVE), 2.3976),
    "a Gaussian mechanism": (Cost.gaussian(0.5), 1.9931),
    "a pure one": (Cost.pure(1.25), 1.25),
    "pairs of Gaussians": (Cost(CURVE, pairs=GaussianPairs(0.001, 12)), 2.2078),
    "a pilot and paths": (compose([Cost.gaussian(0.3), Cost(CURVE)]), 2.75),
}


@pytest.mark.parametrize("name", COSTS)
def test_epsilon_is_proved_from_the_stated_cost(domain: Domain, name: str) -> None:
    cost, expected = COSTS[name]
    statement = stating(domain, cost)
    proved = statement["guarantee"]["epsilon"]
    assert proved == pytest.approx(expected, rel=0.02)
    check_statement(json.loads(json.dumps(statement)))
    check_statement(believable(json.loads(json.dumps(statement)), proved * 1.01))
    for share in (0.999999, 0.5, 0.01 / proved):
        with pytest.raises(BundleError, match="smaller than what its own cost proves"):
            check_statement(believable(json.loads(json.dumps(statement)), proved * share))


def test_an_epsilon_of_a_hundredth_without_an_order_is_refused(contents: Contents) -> None:
    """What passed once: the curve proves 2.40, the statement says 0.01 and gives no order."""
    statement = json.loads(contents["statement.json"])
    statement["guarantee"]["order"] = None
    forged = json.dumps(believable(statement, 0.01)).encode()
    with pytest.raises(BundleError, match="smaller than what its own cost proves"):
        bundle_from_contents(resealed(contents, statement__json=forged))


def test_a_cost_is_not_below_what_the_noise_of_the_design_costs(domain: Domain) -> None:
    """Noise 4 on sums and counts of sensitivity 2 is mu 0.5: a statement of mu 0.05 would be a lie, and so
    would be one that leaves out how far noise in whole numbers is from the ideal."""
    design = NoisyCellStatisticsDesign("car", 2000.0, 1.5, 0.4, 4.0, paths=12)
    told = 2.0**-150  # of rounded noise to the ideal
    for mu, distance, believed in (
        (0.5, told, True),
        (0.6, told, True),
        (0.499, told, False),
        (0.05, told, False),
        (0.5, 0.0, False),
        (0.5, told / 2, False),
    ):
        privacy = replace(
            priced(Cost.gaussian(mu, distance)), bound="gaussian-mechanism", bound_source="a proof"
        )
        made = build_statement(make_release(domain, design=design, privacy=privacy))
        if believed:
            check_statement(made)
            continue
        with pytest.raises(BundleError, match="smaller than what the noise of its design costs"):
            check_statement(made)


def receipt(topic: str, text: str) -> Callable[[Statement], None]:
    def edit(statement: Statement) -> None:
        lines = [line for line in statement["receipt"] if line["topic"] == topic]
        assert lines
        lines[0]["text"] = text

    return edit


FOLLOWS: dict[str, tuple[Callable[[Statement], None], str]] = {
    "words of epsilon": (set_at("guarantee.in_words", "Nothing can be learnt."), "words do not follow"),
    "odds": (set_at("guarantee.times_more_likely", "1.01 times"), "words do not follow"),
    "belief": (
        set_at(
            "guarantee.in_words",
            "Exchanging one sale can make any published result up to 1.01 times more likely. Someone who "
            "gave a claim about that sale even odds can become at most 51 % sure of it.",
        ),
        "words do not follow",
    ),
    "protected": (set_at("guarantee.protected", "Everybody."), "words do not follow"),
    "not protected": (set_at("guarantee.not_protected", []), "words do not follow"),
    "equal rows": (set_at("guarantee.equal_rows", "each"), "words do not follow"),
    "equal rows, said otherwise": (set_at("guarantee.equal_rows", "once"), "not valid at guarantee"),
    "equal rows of hexagons": (
        lambda s: s["guarantee"].update(equal_rows="each", unit="cell", unit_word="cell"),
        "counts equal rows where its records are hexagons",
    ),
    "neighbours": (set_at("guarantee.neighbours", "Any two datasets."), "words do not follow"),
    "a group's words": (set_at("guarantee.groups.0.in_words", "Safe."), "words do not follow"),
    "a group's epsilon": (set_at("guarantee.groups.1.epsilon", 2.4), "group line"),
    "places": (set_at("guarantee.protects", "values"), "for other neighbours than its promise"),
    "relation": (set_at("guarantee.relation", "add-or-remove"), "about its number of records"),
    "bound": (set_at("guarantee.bound", "magic"), "about its bound"),
    "unproved bound": (
        lambda s: (set_at("guarantee.bound", "paper-code")(s), set_at("design.bound", "paper-code")(s)),
        "not one of the proved ones",
    ),
    "order": (set_at("guarantee.order", 7.77), "not one of the public orders"),
    "mu": (set_at("guarantee.cost.gaussian_mu", 0.01), "mu is smaller"),
    "pure epsilon": (set_at("guarantee.cost.pure_epsilon", 0.01), "pure epsilon is smaller"),
    "paths of the cost": (
        lambda s: s["guarantee"]["cost"].update(leverage=0.1, paths=1),
        "paths that its cost covers",
    ),
    "half a pair": (set_at("guarantee.cost.leverage", 0.1), "not valid at guarantee.cost"),
    "vote step": (set_at("products.vote_step", 0.5), "about its products"),
    "meaning": (set_at("products.meanings.inner", "Certain."), "about its products"),
    "formula": (set_at("response.formula", "value = response"), "about its response"),
    "receipt: unit": (receipt("Unit of protection", "Everybody."), "'Unit of protection' does not follow"),
    "receipt: epsilon": (receipt("This release", "epsilon 0.01 at delta 1e-5."), "'This release' does not"),
    "receipt: words": (receipt("In words", "Nothing can be learnt."), "'In words' does not follow"),
    "receipt: group": (receipt("Group", "Safe."), "'Group' does not follow"),
    "receipt: bound": (receipt("Bound", "magic, proved."), "'Bound' does not follow"),
    "receipt: mechanism": (receipt("Mechanism", "Magic."), "'Mechanism' does not follow"),
    "foreign design field": (set_at("design.statistic_noise", 0.0), "not valid at design"),
}


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows_from_other_fields_cannot_be_said_otherwise(contents: Contents, name: str) -> None:
    edit, sentence = FOLLOWS[name]
    statement = json.loads(contents["statement.json"])
    edit(statement)
    with pytest.raises(BundleError, match=sentence):
        bundle_from_contents(resealed(contents, statement__json=json.dumps(statement).encode()))


def test_parts_are_not_cheaper_than_the_whole(domain: Domain) -> None:
    statement = json.loads(json.dumps(stating(domain, COSTS["a pilot and paths"][0])))
    assert [sorted(part) for part in statement["guarantee"]["cost"]["parts"]] == [
        ["curve", "distance", "gaussian_mu", "neighbours"],
        ["curve", "distance", "neighbours"],
    ]
    statement["guarantee"]["curve"]["values"][100] *= 0.9
    with pytest.raises(BundleError, match="smaller than its parts together"):
        check_statement(statement)


def test_the_script_must_be_the_shipped_one(contents: Contents) -> None:
    for forged in (b"", b"print('hello')\n", contents["redraw.py"] + b"#"):
        with pytest.raises(BundleError, match="do not run it"):
            bundle_from_contents(resealed(contents, redraw__py=forged))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


@pytest.mark.parametrize(
    ("forge", "sentence"),
    [
        (lambda png: png + b"secret", "does not end where its picture ends"),
        (lambda png: png + png, "does not end where its picture ends"),
        (lambda png: png[:-12], "does not end where its picture ends"),
        (lambda png: png[:-12] + chunk(b"zTXt", b"x\0\0") + png[-12:], "belongs to no picture"),
        (lambda png: png[:-1] + b"\0", "damaged"),
        (
            lambda png: (
                png[:8] + chunk(b"IHDR", struct.pack(">II5B", 60_000, 60_000, 8, 2, 0, 0, 0)) + png[33:]
            ),
            "too large a picture",
        ),
        (lambda png: b"GIF89a" + png, "not a PNG picture"),
    ],
)
def test_a_picture_is_a_picture_and_nothing_besides(
    contents: Contents, forge: Callable[[bytes], bytes], sentence: str
) -> None:
    with pytest.raises(BundleError, match=sentence):
        bundle_from_contents(resealed(contents, map__png=forge(contents["map.png"])))


def test_a_small_file_that_unpacks_to_gigabytes_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000 equal rows of 250 paths are 400 MB from a few kilobytes; 900 columns are nowhere read."""

    def never(self: pq.ParquetFile, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("unpacked before it was checked")

    monkeypatch.setattr(pq.ParquetFile, "read", never)
    column = pa.array(np.zeros(60_000))
    table = pa.table({"h3": pa.array(["x"] * 60_000), **{f"path_{k + 1}": column for k in range(900)}})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    assert len(sink.getvalue()) < 1_000_000
    with pytest.raises(BundleError, match="outside what is accepted"):
        read_paths(sink.getvalue())
    short = io.BytesIO()
    pq.write_table(table.slice(0, 1000).select(["h3", "path_2"]), short)
    with pytest.raises(BundleError, match="must have the columns"):
        read_paths(short.getvalue())


def test_a_file_of_a_mechanism_without_a_field_has_none(domain: Domain, contents: Contents) -> None:
    """Mean and deviation belong to the statement's word about them, either way."""
    mean = np.zeros(domain.size)
    both = bundle_contents(make_release(domain, mean=mean, sd=mean + 0.5))
    with pytest.raises(BundleError, match="must have the columns h3, path_1"):
        bundle_from_contents(resealed(contents, paths__parquet=both["paths.parquet"]))
    with pytest.raises(BundleError, match="must have the columns h3, mean, sd, path_1"):
        bundle_from_contents(resealed(both, paths__parquet=contents["paths.parquet"]))


def test_layers_are_compared_with_the_paths_unless_this_process_has_just_written_them(
    contents: Contents,
) -> None:
    old, new = b'"in_set":true', b'"in_set":false'
    assert old in contents["cells.geojson"]
    forged = resealed(contents, cells__geojson=contents["cells.geojson"].replace(old, new, 1))
    with pytest.raises(BundleError, match=r"cells\.geojson"):
        bundle_from_contents(forged)
    assert bundle_from_contents(forged, compared=True).paths.size == bundle_from_contents(contents).paths.size
