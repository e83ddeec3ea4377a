"""Two neighbouring datasets, and every byte that leaves their releases: released numbers alone may differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import h3
import numpy as np
import pytest

import dpgp_core.mechanisms.spectral_statistics as spectral_statistics
import hexcursion.cli.run as run
import hexcursion.releasing.transaction as transaction
from dpgp_core.mechanisms.base import SearchSpace
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.spectral.prior import Law
from hexcursion.comparing.run import compare_mechanisms, csv_text
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import public_n
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import has_fixed
from tests.dpgp_core.mechanisms.beside import rows, table
from tests.hexcursion.releasing.leaving import RELEASES, Row, Run, Tape, leaving, rows_of, told_apart, written
from tests.town import BOX

RESOLUTION = 7
LONELY: Row = (10.115, 50.04, 1e9)
"""A record in a hexagon of its own, with a value beyond all others."""


@dataclass(frozen=True)
class Case:
    """What protects the records of two neighbours."""

    mechanism: str
    unit: str = "point"
    relation: str = "replace-one"
    places_public: bool = False
    reference: bool = True
    values: str = "amount"
    looks: int = 1

    def __str__(self) -> str:
        places = ["public-places"] if self.places_public else []
        law = [] if self.values == "amount" else [self.values]
        return "-".join([self.mechanism, self.unit, self.relation, *places, *law])

    def options(self, folder: Path, *more: str) -> list[str]:
        """Options of a quick release on 16 hexagons."""
        options = {
            "value": "no2", "lon": "lon", "lat": "lat", "resolution": RESOLUTION, "threshold": 30,
            "epsilon": 2,
            "value-name": "NO2", "value-unit": "ug/m3", "mechanisms": self.mechanism, "unit": self.unit,
            "relation": self.relation, "priors": "car", "centre": 28, "clip": 15,
        }  # fmt: skip
        if self.values != "amount":
            del options["centre"], options["clip"], options["priors"]
            options["values"] = "yes-no" if self.values == "yes-no" else "count"
            options |= {"yes-above": 30} if self.values == "yes-no" else {"record-word": "case"}
            options["threshold"] = {"yes-no": 40, "rate": 1.2, "density": 0.02}[self.values]
        if self.looks > 1:
            del options["priors"]
        if has_fixed(self.mechanism) and not self.reference:
            options.pop("priors", None)  # its design reads no prior family, and a choice of one is refused
            options["looks"] = self.looks
        if self.values in ("rate", "density"):
            del options["value"], options["value-name"], options["value-unit"]
        if self.values == "rate":
            people = folder / "people.csv"
            people.write_text("lon,lat,population\n10.02,50.02,900\n10.08,50.05,400\n", encoding="utf-8")
            options["population-file"] = people
        if self.reference and self.values == "amount":
            options["reference"] = written(folder / "reference.csv", rows_of(450, seed=6))
        if self.relation == "add-or-remove":
            options["records-about"] = 10 if self.unit == "cell" else 500
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        words += ["--bbox", *map(str, BOX), "--quick", "--accept-low-agreement", *more]
        return [*words, "--places-public"] if self.places_public else words

    def neighbour(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with one record changed by as much as can be."""
        if self.relation == "add-or-remove":
            return [*rows, LONELY]
        (lon, lat, _), hexagon = rows[0], hexagon_of(rows[0])
        others = [row for row in rows[1:] if self.unit == "point" or hexagon_of(row) != hexagon]
        changed = (lon, lat, 1e9) if self.places_public else LONELY
        return [*others, *[changed] * (1 if self.unit == "point" else 3)]


def hexagon_of(row: Row) -> str:
    return str(h3.latlng_to_cell(row[1], row[0], RESOLUTION))


SERVED = [
    Case(name, unit, relation, public)
    for name, mechanism in MECHANISMS.items()
    for unit in mechanism.protection.units
    for relation in mechanism.protection.relations
    for public in (False, True)
    if (public or mechanism.protection.what != "values") and not (public and relation == "add-or-remove")
]
"""Every mechanism with every unit, relation and knowledge of places that it serves."""

EVERY_DAY = [
    Case("posterior-sampling", "cell"),
    Case("noisy-cell-statistics", places_public=True),
    Case("spectral-statistics", "cell", "add-or-remove"),
    Case("bin-means", places_public=True),
    *(Case(name, places_public=public) for name, public in rows("TAINTED")),
]
HIDDEN = Case("spectral-statistics", relation="add-or-remove")
OTHER_LAWS = [
    Case("spectral-statistics", relation=relation, values=law)
    for law in get_args(Law)
    for relation in ("replace-one", "add-or-remove")
    if law != "amount"
]
"""Every law of a response but that of amounts."""
OFTEN = [
    Case("spectral-statistics", relation=relation, values=law)
    for law, relation in (("rate", "replace-one"), ("density", "add-or-remove"))
]


ROWS = rows_of(400)


def differing(
    folder: Path,
    case: Case,
    capsys: pytest.CaptureFixture[str],
    *more: str,
    runs: Sequence[Run] = ("release",),
    neighbour: Sequence[Row | str] = (),
) -> dict[str, str]:
    """What differs between what leaves of a case and of its neighbour."""
    options, tape = case.options(folder, *more), Tape()
    one, other = (
        leaving(folder / "work", rows, options, capsys, tape=tape, runs=runs)
        for rows in (ROWS, neighbour or case.neighbour(ROWS))
    )
    assert [one[f"{run}: status and refusal"] for run in runs] == [b"0"] * len(runs)
    assert "release" not in runs or tape.kept, "nothing was drawn"
    return told_apart(one, other)


def test_every_mechanism_says_where_it_releases() -> None:
    assert set(RELEASES) == set(MECHANISMS)
    assert {case.mechanism for case in SERVED} == set(MECHANISMS)
    assert set(EVERY_DAY) < set(SERVED)
    assert len(SERVED) == 14 + sum(table("SERVED").values())


@pytest.mark.parametrize("case", EVERY_DAY, ids=str)
def test_neighbours_differ_in_released_numbers_alone(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = MECHANISMS[case.mechanism].space.given is not SearchSpace.given
    by_hand = ("--lengthscale", "3000", "--ridge", "20") if given else ()
    assert differing(tmp_path, case, capsys, *by_hand) == {}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if case in OFTEN else pytest.mark.slow) for case in OTHER_LAWS],
    ids=str,
)
def test_so_do_those_of_records_without_amounts(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert differing(tmp_path, case, capsys) == {}


def test_so_do_those_of_two_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second looks where the first one's released numbers say: held fixed, nothing else moves it."""
    case = Case("spectral-statistics", reference=False, looks=2)
    assert differing(tmp_path, case, capsys) == {}


@pytest.mark.slow
@pytest.mark.parametrize("case", SERVED, ids=str)
def test_so_do_those_of_every_mechanism_and_their_dry_runs(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert differing(tmp_path, case, capsys, runs=("dry run", "release")) == {}


def by_value(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[2])


def mixed_up(rows: Sequence[Row]) -> list[Row]:
    return [rows[i] for i in np.random.default_rng(9).permutation(len(rows))]


def reordered(
    folder: Path, options: Sequence[str], capsys: pytest.CaptureFixture[str], rows: Sequence[Row] = ROWS
) -> dict[str, str]:
    """What the order of the rows changes in anything that leaves, noise fixed and nothing else held."""
    one, *others = (
        leaving(folder / "work", each, options, capsys) for each in (rows, by_value(rows), mixed_up(rows))
    )
    assert one["release: status and refusal"] == b"0"
    return told_apart(one, others[0]) | told_apart(one, others[1])


ORDERED_EVERY_DAY = Case("noisy-cell-statistics", places_public=True, reference=False)
"""Bin means in periods and spectral statistics from a map are, too: see below."""
ORDERED = dict.fromkeys(
    replace(case, reference=known or case.relation == "add-or-remove")
    for case in SERVED
    for known in (False, True)
)
"""Every mechanism with and without reference data. Where nobody names any, simulated values are dealt to the
places of the records; where rows are added or removed, a reference is named always."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case}-{'reference' if case.reference else 'simulated'}",
            marks=() if case == ORDERED_EVERY_DAY else pytest.mark.slow,
        )
        for case in ORDERED
    ],
)
def test_the_order_of_the_rows_is_not_published(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reordered(tmp_path, case.options(tmp_path), capsys) == {}


def test_nor_is_it_where_a_public_map_is_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case("spectral-statistics", places_public=True)
    options = case.options(tmp_path, "--reference-public", "--prior-mean")
    assert reordered(tmp_path, options, capsys) == {}


def test_nor_is_it_by_a_period_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = Case("bin-means", places_public=True, reference=False)
    periods = ("--budget", "4", "--periods", "3", "--period-number", "1", "--delta", "1e-5")
    options = [word for word in case.options(tmp_path, *periods)]
    at = options.index("--epsilon")
    assert reordered(tmp_path, options[:at] + options[at + 2 :], capsys) == {}


def test_nor_is_it_by_a_comparison(tmp_path: Path) -> None:
    tables = []
    for each in (ROWS, by_value(ROWS)):
        source = SourceSettings(str(written(tmp_path / "rows.csv", each)), value="no2", x="lon", y="lat")
        settings = ReleaseSettings(
            data=source, threshold=30.0, bbox=BOX, resolution=RESOLUTION, value_unit="ug/m3", centre=28.0,
            clip=15.0, places_public=True, quick=True,
        )  # fmt: skip
        found = compare_mechanisms(load_project(settings), ["bin-means"], [2.0])
        tables.append(csv_text(replace(found, rows=tuple(replace(row, seconds=0.0) for row in found.rows))))
    assert tables[0] == tables[1]


OWNED = ("--owner", "station", "--records-per-owner", "3", "--time", "when")


def owned(rows: Sequence[Row], changed: int = -1) -> list[str]:
    """Dated rows with a text of forty stations, of which one may report others from other places."""
    lines = ["lon,lat,no2,when,station,remark"]
    for number, (lon, lat, value) in enumerate(rows):
        if number % 40 == changed:
            lon, lat, value = 10.115, 50.04, 1e6 + number
        day = f"2023-{1 + number % 12:02d}-{1 + number % 28:02d}"
        remark = '"said ""high"", twice"' if number % 40 == changed else "as usual"
        lines.append(f"{lon:.6f},{lat:.6f},{value:.4f},{day},S{number % 40},{remark}")
    return lines


@pytest.mark.parametrize(
    "mechanism",
    ["spectral-statistics", pytest.param("noisy-cell-statistics", marks=pytest.mark.slow)],
)
def test_neighbours_may_differ_in_all_dated_rows_of_an_owner(
    mechanism: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case(mechanism, reference=False)
    one, other = owned(ROWS), owned(ROWS, changed=7)
    others = [other[0], *other[:0:-1]]  # and in the order of their rows
    options, tape = case.options(tmp_path, *OWNED), Tape()
    first, second = (leaving(tmp_path / "work", rows, options, capsys, tape=tape) for rows in (one, others))
    assert first["release: status and refusal"] == b"0"
    assert told_apart(first, second) == {}
    statement = json.loads(first["bundle: statement.json"])
    assert statement["guarantee"]["owner"] == {"word": "sensor", "records": 3, "apart": False}
    for name in ("bundle: README.txt", "bundle: label.html", "bundle: statement.json"):
        assert b"one reading" not in first[name]


ATLAS = [
    "--value", "no2", "o3", "--lon", "lon", "--lat", "lat", "--resolution", "7", "--epsilon", "2",
    "--threshold", "no2=30", "o3=50", "--centre", "no2=28", "o3=52", "--clip", "no2=15", "o3=14",
    "--value-unit", "ug/m3", "--bbox", *map(str, BOX), "--quick", "--accept-low-agreement",
]  # fmt: skip
HIDDEN_ATLAS = [*ATLAS, "--relation", "add-or-remove", "--records-about", "500"]
FURTHEST = "10.115,50.04,1e9,-1e9"


ANSWERED = [
    "--value", "no2", "o3", "--lon", "lon", "--lat", "lat", "--resolution", "7", "--epsilon", "2",
    "--threshold", "no2=30", "o3=40", "--centre", "no2=28", "--clip", "no2=15", "--values", "o3=yes-no",
    "--weight", "no2=2", "--value-unit", "ug/m3", "--bbox", *map(str, BOX), "--quick",
    "--accept-low-agreement",
]  # fmt: skip


def answered(rows: Sequence[Row], *more: str) -> list[str]:
    """Rows with an answer as the second column."""
    lines = [f"{lon:.6f},{lat:.6f},{value:.4f},{int(value > 30.0)}" for lon, lat, value in rows]
    return ["lon,lat,no2,o3", *lines, *more]


def paired(rows: Sequence[Row], *more: str, missing: int = 0) -> list[str]:
    """Rows with a second column, which every `missing`-th record lacks."""
    lines = [
        f"{lon:.6f},{lat:.6f},{value:.4f},{'' if missing and at % missing == 0 else f'{80.0 - value:.4f}'}"
        for at, (lon, lat, value) in enumerate(rows)
    ]
    return ["lon,lat,no2,o3", *lines, *more]


ATLASES = {
    "exchanged": (ATLAS, paired(ROWS), paired(ROWS[1:], FURTHEST)),
    "public places": (
        [*ATLAS, "--places-public"],
        paired(ROWS),
        paired(ROWS[1:], "{:.6f},{:.6f},1e9,-1e9".format(*ROWS[0])),
    ),
    "a gap": ([*ATLAS, "--gaps"], paired(ROWS, missing=5), paired(ROWS[1:], "10.115,50.04,,1e9", missing=5)),
    "one more": (HIDDEN_ATLAS, paired(ROWS), paired(ROWS, FURTHEST)),
    "one more with a gap": (HIDDEN_ATLAS, paired(ROWS), paired(ROWS, "10.02,50.02,31.5,")),
    "an answer": (ANSWERED, answered(ROWS), answered(ROWS[1:], "10.115,50.04,-1e9,1")),
    "an answer at a public place": (
        [*ANSWERED, "--places-public"],
        answered(ROWS),
        answered(ROWS[1:], "{:.6f},{:.6f},1e9,{:d}".format(*ROWS[0][:2], int(ROWS[0][2] <= 30.0))),
    ),
    "one more with no answer": (
        [*ANSWERED, "--relation", "add-or-remove", "--records-about", "500"],
        answered(ROWS),
        answered(ROWS, "10.02,50.02,31.5,7"),
    ),
    "one more of gaps": (
        [*HIDDEN_ATLAS, "--gaps"],
        paired(ROWS, missing=5),
        paired(ROWS, FURTHEST, missing=5),
    ),
}
"""Options, and two tables that differ in one record: in all its columns and its place, or in a gap."""
ATLASES_OFTEN = ("a gap", "one more", "an answer at a public place")


@pytest.mark.parametrize(
    "hidden", [pytest.param(False, marks=pytest.mark.slow, id="exchanged"), pytest.param(True, id="one more")]
)
def test_neighbours_beside_a_published_table_differ_in_released_numbers_alone(
    hidden: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A published map of each column: centres and clip bounds come from it, and from no private record."""
    public = tmp_path / "public.csv"
    public.write_text("\n".join(paired(rows_of(600, seed=9))), encoding="utf-8")
    own = ATLAS[: ATLAS.index("--centre")] + ATLAS[ATLAS.index("--value-unit") :]
    options = [*own, "--reference", str(public), "--reference-public"]
    if hidden:
        options += ["--relation", "add-or-remove", "--records-about", "500"]
    tape = Tape()
    first, second = (
        leaving(tmp_path / "work", rows, options, capsys, tape=tape)
        for rows in (paired(ROWS), paired(ROWS if hidden else ROWS[1:], FURTHEST))
    )
    assert first["release: status and refusal"] == b"0"
    assert tape.kept, "nothing was drawn"
    assert told_apart(first, second) == {}


@pytest.mark.parametrize(
    ("options", "one", "other"),
    [
        pytest.param(*case, id=name, marks=[] if name in ATLASES_OFTEN else pytest.mark.slow)
        for name, case in ATLASES.items()
    ],
)
def test_neighbours_of_an_atlas_differ_in_released_numbers_alone(
    options: list[str],
    one: list[str],
    other: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tape = Tape()
    first, second = (
        leaving(tmp_path / "work", rows, options, capsys, tape=tape, runs=("dry run", "release"))
        for rows in (one, other)
    )
    assert first["release: status and refusal"] == b"0"
    assert tape.kept, "nothing was drawn"
    assert told_apart(first, second) == {}


def test_the_order_of_the_rows_of_an_atlas_is_not_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *rows = paired(ROWS)
    first, second = (
        leaving(tmp_path / "work", [header, *each], ATLAS, capsys) for each in (rows, rows[::-1])
    )
    assert first["release: status and refusal"] == b"0"
    assert told_apart(first, second) == {}


MORE_OR_LESS = {
    "one less": ROWS[:-1],
    "outside the area": [*ROWS, (20.0, 50.0, 31.0)],
    "without a value": [*ROWS, "10.02,50.02,"],
    "no number": [*ROWS, "10.02,50.02,high"],
    "a value with a comma": [*ROWS, '10.02,50.02,"1,234"'],
    "too many columns": [*ROWS, "10.02,50.02,31.5,7"],
    "listed twice": [*ROWS, ROWS[0]],
    "in other letters": [*ROWS, "10.02,50.02,31\xb5"],
}


@pytest.mark.parametrize("neighbour", MORE_OR_LESS.values(), ids=MORE_OR_LESS)
def test_a_record_more_or_less_is_not_told_by_a_dry_run(
    neighbour: Sequence[Row | str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong with it: standard output, refusals and public work are the same."""
    assert differing(tmp_path, HIDDEN, capsys, runs=("dry run",), neighbour=neighbour) == {}


@pytest.mark.slow
@pytest.mark.parametrize("neighbour", MORE_OR_LESS.values(), ids=MORE_OR_LESS)
def test_nor_is_it_by_a_release(
    neighbour: Sequence[Row | str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert differing(tmp_path, HIDDEN, capsys, neighbour=neighbour) == {}


def named(rows: Sequence[Row], *more: str) -> list[str]:
    """Rows with an identifier."""
    lines = [f"{lon:.6f},{lat:.6f},{value:.4f},R{at}" for at, (lon, lat, value) in enumerate(rows)]
    return ["lon,lat,no2,id", *lines, *more]


@pytest.mark.parametrize("where", ["10.02,50.02,31.5,R7", "10.02,50.02,31.5,R400"])
def test_nor_is_an_identifier_that_two_rows_have(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It refused the release, of which nobody may tell whether a record is there."""
    options, tape = replace(HIDDEN, reference=False).options(tmp_path, "--identifier", "id"), Tape()
    one, other = (
        leaving(tmp_path / "work", rows, options, capsys, tape=tape)
        for rows in (named(ROWS), named(ROWS, where))
    )
    assert one["release: status and refusal"] == b"0"
    assert told_apart(one, other) == {}


def test_nor_is_a_value_without_a_logarithm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = ("--transform", "log", "--centre", "3.3", "--clip", "1")
    neighbour = [*ROWS, "10.02,50.02,-5"]
    assert differing(tmp_path, HIDDEN, capsys, *log, neighbour=neighbour) == {}


@pytest.mark.parametrize("n", [10_000, 1_000])
def test_a_number_of_records_at_which_delta_would_change_is_not_told(
    n: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 10,000 records delta is 1e-5 and of 10,001 it is 1e-6; a delta of 1e-3 is refused of 1,000."""
    rows = rows_of(n)
    delta = [] if n == 10_000 else ["--delta", "1e-3"]
    options = HIDDEN.options(tmp_path, *delta)
    one, other = (
        leaving(tmp_path / "work", each, options, capsys, runs=("dry run",)) for each in (rows, rows[1:])
    )
    more = leaving(tmp_path / "work", [*rows, LONELY], options, capsys, runs=("dry run",))
    assert told_apart(one, other) == told_apart(one, more) == {}
    assert one["dry run: status and refusal"] == b"0"


def test_a_pilot_tells_the_number_of_records_by_its_noisy_counts_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = replace(HIDDEN, reference=False)
    assert differing(tmp_path, case, capsys, "--pilot", "0.4") == {}


def private_n(project: Project) -> int:
    return public_n(project.private.placed, project.settings.unit)


def in_the_title(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction, "_title", lambda project: f"Air at {private_n(project)} places")


def in_the_number_of_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Project, "public_n", property(private_n))


def in_the_reading(patch: pytest.MonkeyPatch) -> None:
    known = spectral_statistics.known_counts
    patch.setattr(
        spectral_statistics,
        "known_counts",
        lambda facts, records: replace(known(facts, records), n=float(records.n)),
    )


def in_what_is_printed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run, "CURATOR_ONLY", "")
    patch.setattr(run, "sys", SimpleNamespace(stderr=sys.stdout))


TOLD = ("statement.json", "README.txt", "label.html")
"""What a release tells about its map is computed from the released numbers, and stands here beside them."""

PLANTED = [
    (in_the_title, {"bundle: statement.json", "bundle: label.html", "bundle: map.html", "zip", "ledger"}),
    (in_the_number_of_records, {"bundle: statement.json", "release: output", "ledger"}),
    (in_the_reading, {"bundle: paths.parquet", "bundle: cells.geojson", "zip"}),
    (in_what_is_printed, {"release: output"}),
]


@pytest.mark.parametrize(("plant", "where"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_a_planted_leak_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    where: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    found = differing(tmp_path, HIDDEN, capsys)
    assert where <= set(found)
    if plant is in_the_reading:
        assert "ledger" not in found
    if plant is in_what_is_printed:
        assert set(found) == where


def test_fixed_noise_alone_shows_what_the_records_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So it is the tape that makes them equal; files without released numbers are equal without it."""
    case = Case("noisy-cell-statistics")
    options = case.options(tmp_path)
    one, other = (leaving(tmp_path / "work", rows, options, capsys) for rows in (ROWS, case.neighbour(ROWS)))
    found = set(told_apart(one, other))
    assert "bundle: paths.parquet" in found
    tables = ("csv", "geojson", "parquet")
    assert found <= {
        "zip",
        "release: output",
        "bundle: SHA256SUMS",
        "bundle: paths.parquet",
        "bundle: regions.geojson",
        "bundle: map.html",
        "bundle: map.png",
        "bundle: release.gpkg",
        *(f"bundle: {name}" for name in TOLD),
        *(f"bundle: cells.{ending}" for ending in tables),
    }
