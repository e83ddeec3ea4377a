"""What the command hands on and says, the viewer's tab, and that sites and programs find the reading."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import hexcursion
import hexcursion_series
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.cli.main import build_parser
from hexcursion.errors import Report
from hexcursion_series import command as COMMAND
from hexcursion_series.page import panel
from hexcursion_series.page.panel import series_of
from pages.shared.server.middleware import security_policy
from pages.shared.subprocess_job import Job
from plugins.series.tests.test_series import made
from tests.hexcursion.bundle.bundle_samples import small_domain
from tests.hexcursion.cli.test_spoken import Calls
from tests.pages.scenes.screen import Screen


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_a_series_is_read_written_and_said(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    promise = SimpleNamespace(sentences=("It promises.",))
    monkeypatch.setattr(COMMAND, "read_series_of", calls.taking("read", ("series", promise)))
    monkeypatch.setattr(COMMAND, "write_series", lambda series, promise, out: out)
    monkeypatch.setattr(COMMAND, "periods_said", lambda series: ["Two periods."])
    monkeypatch.setattr(COMMAND, "steps_of", lambda series: [SimpleNamespace(sentence="It rose.")])
    monkeypatch.setattr(COMMAND, "notes_of", lambda series: ["A note."])
    more = ["--threshold", "3", "--by", ".05", "--times", "1", "2", "--ledger", "l", "--layer", "pm"]
    usual = {"threshold": None, "by": 0.0, "times": None, "layer": None, "ledger": None}
    asked = {"threshold": 3.0, "by": 0.05, "times": [1.0, 2.0], "layer": "pm", "ledger": "l"}
    for name, given in (("a", []), ("b", more)):
        out = str(tmp_path / name)
        assert COMMAND.run_series(build_parser().parse_args(["series", "x", "y", "--out", out, *given])) == 0
    assert calls == [
        ("read", (["x", "y"],), usual),
        ("read", (["x", "y"],), asked),
    ]
    assert capsys.readouterr().out.splitlines()[:5] == [
        *("  Two periods.", "  It rose.", "  A note.", "  It promises."),
        f"Open {tmp_path / 'a' / 'series.html'}.",
    ]


def test_two_periods_make_one_page_and_one_zip() -> None:
    domain = small_domain()
    bundles = [made(domain, "2017", 1), made(domain, "2018", 2)]
    page, packed = series_of([*bundles, bundles[0]])
    assert b"2017" in page
    assert b"2018" in page
    (own,) = re.findall(r"script-src '(sha256-[^']+)'", page.decode())
    assert f"'{own}'" in security_policy(b"")  # the frame of a page inherits the app's policy
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.read("series/series.html") == page
        assert "series/SHA256SUMS" in archive.namelist()
    with pytest.raises(BundleError, match="at least two bundles"):
        series_of([bundles[0], bundles[0]])


def test_the_command_needs_bundles_and_a_folder_and_takes_the_rest_as_usual() -> None:
    found = build_parser("series").parse_args(["series", "a", "b", "--out", "x"])
    assert (found.bundles, found.out, found.by) == (["a", "b"], "x", 0.0)
    assert found.threshold is found.times is found.ledger is None
    for words in (["series", "a", "b"], ["series", "--out", "x"]):
        with pytest.raises(SystemExit):
            build_parser("series").parse_args(words)


def test_sites_and_programs_find_the_reading() -> None:
    given = build_parser("site").parse_args(["site", "a", "--out", "x", "--series"])
    assert given.readings == ["series"]
    assert build_parser("site").parse_args(["site", "a", "--out", "x"]).readings == []
    assert hexcursion.series is hexcursion_series.series
    assert "series" in dir(hexcursion)
    assert "find_spec" not in dir(hexcursion)


def test_the_tab_offers_nothing_that_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bundle_from_contents(contents_of(made(small_domain(), "2017", 1)))
    statement = {**bundle.statement, "subject": {**bundle.statement["subject"], "relative": {}}}
    screen = Screen({})
    monkeypatch.setattr(panel, "st", screen)
    for given, said in (
        (
            replace(bundle, statement=statement),
            "Releases relative to a public field are not read together yet",
        ),
        (replace(bundle, sums=None), "holds no"),
    ):
        screen.lines.clear()
        panel.ask_together(SimpleNamespace(viewer=SimpleNamespace(bundle=given, atlas=None), whole=None))
        (line,) = screen.lines
        assert line.startswith("info(")
        assert said in line


def test_the_tab_reads_what_is_brought_or_says_which_file_is_no_bundle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, other = (made(small_domain(), year, 1) for year in ("2017", "2018"))
    statement = {"release": {"id": "hx-2017-1"}}
    opened = SimpleNamespace(
        viewer=SimpleNamespace(bundle=SimpleNamespace(statement=statement), atlas=None),
        whole=lambda: own,
    )
    monkeypatch.setattr(panel, "stored_bundles", list)
    monkeypatch.setattr(panel, "stored_sums", lambda bundle: None)
    monkeypatch.setattr(panel, "PERIODS", replace(panel.PERIODS, refuse=lambda bundle: None))
    screen = Screen({"Read together": True})
    monkeypatch.setattr(panel, "st", screen)
    apart: list[object] = []

    def at_once(
        work: Callable[..., tuple[bytes, bytes]], *, cpu_seconds: int
    ) -> Callable[..., Job[tuple[bytes, bytes]]]:
        apart.append(work)
        assert cpu_seconds == 20

        def in_turn(report: Report, sources: list[bytes]) -> tuple[bytes, bytes]:
            report(0.0, "Waiting for a computation of somebody else to end; yours is next")
            for _ in range(50):  # until it is said
                if any("yours is next" in line for line in screen.lines):
                    break
                time.sleep(0.1)
            return work(report, sources)

        return lambda sources: Job(lambda report: in_turn(report, sources))

    monkeypatch.setattr(panel, "in_background", at_once)
    label = "Bundle files of other periods (.zip)"
    screen.answers[label] = [SimpleNamespace(name="a.zip", getvalue=lambda: b"no bundle")]
    panel.ask_together(opened)
    caption, *asked, said = screen.lines
    assert caption.startswith('caption("Releases of the same area and question are read together')
    brought = 'accept_multiple_files=True, key="viewer_series_files", max_upload_size=95'
    assert asked == [
        f'file_uploader("{label}", "zip", {brought})',
        'button("Read together", icon=":material/timeline:", disabled=False, key="viewer_series_read")',
        'spinner("Reading all periods together")',
    ]
    assert said.startswith('error("a.zip: This file is no zip of a bundle: ')
    assert apart == []
    screen.lines.clear()
    screen.answers[label] = [SimpleNamespace(name="b.zip", getvalue=lambda: other)]
    panel.ask_together(opened)
    waits = 'caption("Waiting for a computation of somebody else to end; yours is next")'
    assert any(line.endswith(waits) for line in screen.lines)
    download, frame = screen.lines[-2:]
    assert download.startswith('download_button("Page, tables, layers and statement (ZIP)"')
    assert frame.startswith('iframe("data:text/html;charset=utf-8;base64,')
    assert screen.session_state["series-read"][0] == "hx-2017-1"
    assert apart == [panel.series_job], "a stranger's press would hold the server itself"
    screen.lines.clear()
    statement["release"]["id"] = "another"
    screen.answers["Read together"] = False
    panel.ask_together(opened)
    assert [line for line in screen.lines if line.startswith(("download", "iframe"))] == []
