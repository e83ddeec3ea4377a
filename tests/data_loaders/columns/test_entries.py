"""The entries of columns are counted over the whole table, given the filters on all other columns."""

from __future__ import annotations

import pytest

from data_loaders import DataError, count_entries
from data_loaders.columns import sensortable

TABLE = b"Stations\n\nyear;species;v\n" + b"2022;no2;1\n" * 1500 + b"2023;no2;2\n2023.0; o3 ;3\n2022;;4\n"


def test_entries_are_counted_beyond_the_first_rows_and_given_the_other_filters() -> None:
    found = count_entries(TABLE, ["year", "species"], {"year": "2023"})
    assert (found.rows, found.kept, found.crowded) == (1503, 2, ())
    assert found.counts == {
        "year": (("2022", 1501), ("2023", 1), ("2023.0", 1)),
        "species": (("no2", 1), ("o3", 1)),
    }
    years = count_entries(TABLE, ["year"], {"year": ["2022", "2023"]})
    assert years.kept == years.rows
    both = count_entries(TABLE, ["year", "species"], {"year": "2022", "species": "no2"})
    assert (both.kept, both.counts["year"]) == (1500, (("2022", 1500), ("2023", 1)))
    assert both.counts["species"] == (("no2", 1500),)
    assert "2022" not in repr(both)


def test_a_column_of_many_entries_is_told_and_a_missing_one_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensortable, "MOST", 2)
    table = b"a,b\n1,x\n2,x\n3,x\n1,y\n"
    found = count_entries(table, ["a", "b"], {})
    assert (found.crowded, found.counts["a"]) == (("a",), (("1", 2), ("2", 1)))
    with pytest.raises(DataError, match="no column 'c'"):
        count_entries(table, ["c"], {})
