"""The options of `release` are the settings; what is wrong with one is one sentence and costs nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from data_loaders import LOADERS
from geo.context.surroundings import Place
from hexcursion.cli import main
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options
from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import home
from hexcursion.settings import ReleaseSettings, SourceSettings, StatedFacts, catalogue, settings_to_toml
from hexcursion.settings.catalogue import flag_of
from tests.town import Town

BASE = (
    "--data", "s.csv", "--value", "v", "--lon", "x", "--lat", "y", "--bbox", "0", "51", "1", "52",
    "--threshold", "20",
)  # fmt: skip
SENSORS = SourceSettings("s.csv", value="v", x="x", y="y")
BOX = (0.0, 51.0, 1.0, 52.0)
READERS = " or ".join(map(repr, LOADERS)) if len(LOADERS) == 2 else f"one of {', '.join(LOADERS)}"


def parsed(*words: str) -> ReleaseSettings:
    return settings_from_options(build_parser().parse_args(["release", *BASE, "--out", "o", *words]))


def test_every_setting_has_an_option_of_its_own() -> None:
    flags = [flag_of(item) for item in catalogue().values() if not item.name.startswith("stated.")]
    assert len(flags) == len(set(flags))
    assert {"--data", "--lon", "--reference-lat", "--records-per-owner"} <= set(flags)
    options = vars(build_parser().parse_args(["release", "--out", "o"]))
    left_out = set(catalogue()) - set(options)
    assert left_out == {name for name in catalogue() if name.startswith("stated.")}


def test_each_option_of_the_private_file_is_one_of_the_reference_too() -> None:
    data = [flag_of(item) for name, item in catalogue().items() if name.startswith("data.")]
    copies = [flag_of(item) for name, item in catalogue().items() if name.startswith("reference.")]
    assert copies == ["--reference", *(f"--reference-{flag[2:]}" for flag in data[1:])]
    found = parsed("--reference", "r.csv", "--reference-value", "w", "--reference-where", "year=2017")
    assert found.reference == SourceSettings("r.csv", value="w", x="x", y="y", where=(("year", "2017"),))


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["release", "--help-all"])
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "--delta NUMBER Slack of the guarantee: how much the chance of any result may change beyond epsilon;",
        "Default: 1e-5, or a power of ten below one in ten times the records.",
        "--focus {threshold,all}",
        "--bbox W S E N Bounding box of the area: west, south, east and north. In degrees.",
        "Names: exponential, car, matern32, squared-",
        "--quick, --no-quick Search on a coarser grid, which is faster. Default: false.",
        "Each option of the private file also with this prefix, as --reference-value, for reference data",
    ):
        assert part in text


@pytest.mark.parametrize("command", ["release", "compare"])
def test_the_short_help_lists_what_people_type(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 65
    assert "  --epsilon NUMBER      Privacy budget of this release.\n" in text
    assert "--ridge" not in text
    (more,) = re.findall(r"\n(\d+) more with --help-all: ", text)
    assert int(more) > 70


def test_the_new_settings_are_options() -> None:
    found = parsed(
        "--focus", "threshold", "--mechanisms", "posterior-sampling", "--places-public",
        "--no-public-counts", "--executor", "dask", "--dask",
        "tcp://192.0.2.1:8786", "--owner", "station", "--records-per-owner", "3", "--cutoff", "0.4",
        "--accept-low-agreement", "--accept-large-delta",
        "--notes", "one", "two", "--relation", "replace-one",
    )  # fmt: skip
    assert found == ReleaseSettings(
        data=SENSORS, bbox=BOX, threshold=20.0, focus="threshold", places_public=True, public_counts=False,
        mechanisms=("posterior-sampling",),
        executor="dask", dask="tcp://192.0.2.1:8786", owner="station", records_per_owner=3, cutoff=0.4,
        accept_low_agreement=True, accept_large_delta=True,
        notes=("one", "two"),
    )  # fmt: skip


def test_options_override_the_file_also_to_switch_something_off(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    stated = StatedFacts(contact="a@example.org", access="Two people.")
    kept = ReleaseSettings(data=SENSORS, bbox=BOX, threshold=20.0, quick=True, stated=stated, epsilon=2.0)
    file.write_text(settings_to_toml(kept), encoding="utf-8")
    words = ["release", "--config", str(file), "--out", "o", "--no-quick"]
    found = settings_from_options(build_parser().parse_args([*words, "--region", "r.geojson"]))
    assert found == kept.with_changes(
        quick=False,
        bbox=None,
        region="r.geojson",
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--epsilon", "much"), "epsilon must be a positive finite number, not 'much': try 1."),
        (("--paths", "1.5"), "paths must be a whole number from 1 to 1000, not '1.5': try 1."),
        (("--unit", "person"), "unit must be 'point' or 'cell', not 'person'."),
        (("--direction", "up"), "direction must be 'above' or 'below', not 'up'."),
        (
            ("--bbox", "0", "51", "1", "x"),
            "bbox must be four numbers in degrees: west, south, east, north, not 'x'.",
        ),
        (("--years", "18"), "data.years must be a list of whole numbers from 1995 to 2100, not 18."),
        (
            ("--reference", "r.csv", "--reference-years", "new"),
            "reference.years must be a list of whole numbers from 1995 to 2100, not 'new'.",
        ),
        (("--reference-years", "2018"), "Name the file of the reference with --reference."),
        (("--where", "species"), "Write row filters as COLUMN=VALUE, not 'species'."),
        (("--loader", "parquet"), f"data.loader must be {READERS}, not 'parquet'."),
        (("--cutoff", "2"), "cutoff must be a number above 0 and at most 1, not 2.0: try 0.5."),
    ],
)
def test_a_bad_option_is_one_sentence_and_nothing_is_charged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert main(["release", *BASE, "--out", str(tmp_path / "o"), *words]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"error: {sentence}\n"
    assert captured.out == ""
    assert list(home().iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_one_sentence_names_all_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ("--out", str(tmp_path / "o"))
    assert main(["release", *out, "--data", "s.csv", "--value", "v"]) == 2
    assert capsys.readouterr().err == (
        "error: Name the threshold in the data's own unit (--threshold NUMBER) and the area (--region FILE, "
        "--bbox W S E N, or --place NAME with --reach KM), or a settings file with --config.\n"
    )
    assert main(["release", *out, *BASE[2:]]) == 2
    assert capsys.readouterr().err == (
        "error: Name the private data (--data FILE), or a settings file with --config.\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--wanted-iou", "2"),
            "argument --wanted-iou: must be a number above 0 and at most 1, not '2'; compare "
            "`python -m hexcursion release --help`.",
        ),
        (
            ("--wanted-iou", "nan"),
            "argument --wanted-iou: must be a number above 0 and at most 1, not 'nan'; compare "
            "`python -m hexcursion release --help`.",
        ),
        (
            ("--bbox", "1", "2"),
            "argument --bbox: expected 4 arguments; compare `python -m hexcursion release --help`.",
        ),
        (("--nope",), "unrecognized arguments: --nope; compare `python -m hexcursion release --help`."),
    ],
)
def test_a_line_that_is_no_command_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["release", *BASE, "--out", "o", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("epsilom = 1", "Unknown settings key 'epsilom': did you mean 'epsilon'?"),
        ('data = "s.csv"', "data must be a table with at least a `path`, not 's.csv'."),
    ],
)
def test_a_bad_settings_file_is_one_sentence_and_nothing_is_charged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    table = "" if line.startswith("data") else 'data = {path = "s.csv", value = "v", x = "x", y = "y"}\n'
    file = tmp_path / "settings.toml"
    file.write_text(f"threshold = 20\nbbox = [0, 51, 1, 52]\n{table}{line}\n", encoding="utf-8")
    assert main(["release", "--config", str(file), "--out", str(tmp_path / "o")]) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"
    assert list(home().iterdir()) == []
    assert list(tmp_path.iterdir()) == [file]


def test_a_demo_with_an_impossible_budget_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--out", str(tmp_path / "o"), "--epsilon", "nan"]) == 2
    assert capsys.readouterr().err == "error: epsilon must be a positive finite number, not nan: try 1.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_settings_file_opens_neither_ledger_nor_scheduler(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even for a dry run; a person may trust the file, or name the same place himself."""
    monkeypatch.setenv("HEXCURSION_DATA", str(town.private.parent))
    place, file = tmp_path / "own.sqlite", tmp_path / "settings.toml"
    file.write_text(f'ledger = "{place}"\n{settings_to_toml(town.settings(resolution=7))}', encoding="utf-8")
    words = ["release", "--config", str(file), "--out", str(tmp_path / "o")]
    for dry in ([], ["--dry-run"]):
        assert main([*words, *dry]) == 2
        assert capsys.readouterr().err == (
            "error: These settings name `ledger`, which no settings file opens: give --trust-settings after "
            "reading them, or name it by its own option; the operator names it by HEXCURSION_LEDGER.\n"
        )
        assert not place.exists()
    assert main([*words, "--trust-settings", "--dry-run"]) == 0
    assert not (home() / "ledger.sqlite").exists()
    assert main([*words, "--trust-settings"]) == 0
    assert place.exists()
    assert not (home() / "ledger.sqlite").exists()


@pytest.mark.parametrize(
    "line",
    ['region = "{}/a.json"', 'limits = "{}/a.csv"', 'basemap = "{}/a.pmtiles"', 'layers = ["b", "{}/a.json"]',
     'reference = {{path = "{}/a.csv"}}', 'data.path = "{}/a.csv"', 'data.postcodes = "{}/a.csv"',
     'data.trip = "{}/a.csv"', 'data.path = "{}/../elsewhere/a.csv"', 'population_file = "{}/a.csv"',
     'covariates = ["b", "{}/a.csv"]'],
)  # fmt: skip
def test_a_settings_file_names_files_around_it_only(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer or region that a colleague's file names would be published as it is."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    monkeypatch.chdir(here)
    file = here / "settings.toml"
    words = ["release", "--out", "o", "--config", str(file)]
    file.write_text(line.format(elsewhere))
    with pytest.raises(WorkflowError, match="These settings name files outside of their folder"):
        settings_from_options(build_parser().parse_args(words))
    for allowed in ([*words, "--trust-settings"], words):
        with pytest.raises(WorkflowError, match=r"Name the|Give the"):  # passed: what else is missing is said
            settings_from_options(build_parser().parse_args(allowed))
        monkeypatch.setenv("HEXCURSION_DATA", str(elsewhere))
    monkeypatch.delenv("HEXCURSION_DATA")
    file.write_text(line.replace("/../elsewhere", "").format(here))
    with pytest.raises(WorkflowError, match=r"Name the|Give the"):
        settings_from_options(build_parser().parse_args(words))
    (here / "link").symlink_to(elsewhere)
    file.write_text(line.format(here / "link"))
    with pytest.raises(WorkflowError, match="outside of their folder"):
        settings_from_options(build_parser().parse_args(words))


def test_a_place_stands_for_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "Suva@178.44,-18.14": Place("Suva", 178.44, -18.14, 77_366),
        "Wien": Place("Wien", 16.4, 48.2, 2),
    }
    monkeypatch.setattr("hexcursion.cli.options.place_named", known.__getitem__)
    words = [word for word in BASE if word != "--bbox"]
    words = words[:8] + words[12:]  # without the box

    def found(*more: str) -> ReleaseSettings:
        return settings_from_options(build_parser().parse_args(["release", *words, "--out", "o", *more]))

    vienna = found("--place", "Wien", "--reach", "5")
    assert vienna.bbox == (16.3325, 48.155, 16.4675, 48.245)
    assert vienna.crosses_date_line is None
    assert found("--place", "Suva@178.44,-18.14", "--reach", "300").crosses_date_line is True
    with pytest.raises(WorkflowError, match="--place and --reach together"):
        found("--place", "Wien")
    with pytest.raises(WorkflowError, match="Name the area once: by"):
        parsed("--place", "Wien", "--reach", "5")


def test_parts_of_a_file_and_layers_are_options() -> None:
    found = parsed("--layers", "a.geojson", "b.gpkg", "--label-column", "NAME", "")
    assert found.layers == ("a.geojson", "b.gpkg")
    assert found.label_columns == ("NAME", "")
    words = [*BASE[:8], *BASE[13:], "--region", "r.geojson", "--feature", "Camden", "Barnet"]
    found = settings_from_options(
        build_parser().parse_args(["release", *words, "--out", "o", "--feature-column", "NAME"])
    )
    assert (found.features, found.feature_column) == (("Camden", "Barnet"), "NAME")


def test_filters_add_up_and_may_choose_other_rows_as_reference(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(
        "--where", "species=no2", "kind=a", "--where", "year=2023", "--reference-where", "year=2022", "kind=b"
    )
    assert found.data.where == (("kind", "a"), ("species", "no2"), ("year", "2023"))
    assert found.reference is not None
    assert found.reference.path == "s.csv"
    assert found.reference.where == (("kind", "b"), ("species", "no2"), ("year", "2022"))
    said = "The reference data are other rows of the same file: "
    assert capsys.readouterr().err == f"{said}--reference-where species=no2 kind=b year=2022.\n"
    apart = parsed(
        "--where", "species=no2", "--reference", "r.csv", "--reference-where", "year=2022"
    ).reference
    assert apart is not None
    assert (apart.path, apart.where) == ("r.csv", (("year", "2022"),))
    several = parsed(
        "--where", "year=2010", "--where", "year=2009", "--reference-where", "year=2006", "year=2007"
    )
    assert several.data.where == (("year", "2009"), ("year", "2010"))
    assert several.reference is not None
    assert several.reference.where == (("year", "2006"), ("year", "2007"))
    assert several.scope.filters == ("year = 2009 or 2010",)
