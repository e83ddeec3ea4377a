"""Several curators at once: no error, nobody sees another's numbers, every release is charged once."""

from __future__ import annotations

from pathlib import Path

from studies.scale.sessions import foreign_rows, rows_of, run
from tests.browser.harness import running_app


def test_two_curators_beside_each_other(tmp_path: Path) -> None:
    with running_app(tmp_path / "home") as app:
        found = run(app, 2, 0.0, tmp_path / "sessions")
    assert found.faults == []
    assert len(found.releases) == 2


def test_a_number_of_somebody_else_is_noticed() -> None:
    assert (rows_of(0), rows_of(2)) == (2000, 2026)
    assert foreign_rows("2,000 rows read, 2,000 kept\n2,026 rows read, 2,000 kept", 0, 3) == [2]
    assert foreign_rows("2,000 rows read, 2,000 kept", 0, 3) == []
