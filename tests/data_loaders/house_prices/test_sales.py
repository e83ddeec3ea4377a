"""Sales: formats, filters, corrections, drop reasons and refusals."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_loaders import SEGMENTS, load_postcodes, load_sales
from data_loaders.house_prices.segments import sales_filter
from tests.data_loaders.material import (
    CANARY_POSTCODE,
    CANARY_PRICE,
    POSTCODES,
    packed,
    packed_zip,
    reasons,
    refused,
    sale,
    sales_file,
)

TABLE = load_postcodes(POSTCODES)[0]
REPORT_HEADER = (
    "unique_id,price_paid,deed_date,postcode,property_type,new_build,estate_type,saon,paon,street,locality,"
    "town,district,county,transaction_category,linked_data_uri\n"
)
LINK = "http://landregistry.data.gov.uk/data/ppi/transaction/X/current"


def report_row(serial: int, price: str, postcode: str = "E1 0AA") -> str:
    return (
        f'"{serial:08d}-0000","{price}","2018-03-01","{postcode}","F","N","L","FLAT 2","1","HIGH STREET","",'
        f'"LONDON","TOWER HAMLETS","GREATER LONDON","A","{LINK}"\n'
    )


def values(data: object, **filters: object) -> list[float]:
    return sorted(load_sales(data, TABLE, **filters)[0].value.tolist())  # type: ignore[arg-type]


def test_original_format_in_every_packing_and_kind_of_source(tmp_path: Path) -> None:
    data = sales_file(sale(1, "250000", "e1  0aa"), sale(2, "300000.00", "SW1A1AA"))
    path = tmp_path / "pp-2018.csv"
    path.write_bytes(data)
    packings = (data, io.BytesIO(data), path, str(path), packed(data), packed_zip({"pp.csv": data}))
    for source in packings:
        made, report = load_sales(source, POSTCODES)
        assert (made.value.tolist(), made.unit, made.kind) == ([250000.0, 300000.0], "GBP", "sale")
        assert made.crs == "EPSG:4326"
        np.testing.assert_allclose(made.x, [-0.052098, -0.141588])
        np.testing.assert_allclose(made.y, [51.512497, 51.501009])
        assert (report.rows_read, report.kept, report.dropped) == (2, 2, ())
        assert not made.generated
        assert "HM Land Registry" in made.attribution[0]


def test_report_builder_with_and_without_header_and_in_words() -> None:
    rows = report_row(1, "250000") + report_row(2, "300000")
    for data, word in ((REPORT_HEADER + rows, "with header"), (rows, "without header")):
        made, report = load_sales(data.encode(), TABLE, segment="existing-leasehold-flats", years=2018)
        assert made.value.tolist() == [250000.0, 300000.0]
        assert any(word in note for note in report.notes)
    shouted = REPORT_HEADER.upper() + rows
    assert values(shouted.encode()) == [250000.0, 300000.0]


def test_a_report_without_a_needed_column_names_it() -> None:
    data = REPORT_HEADER.replace("estate_type,", "").encode()
    assert "'estate_type'" in refused(lambda: load_sales(data, TABLE))


def test_several_years_are_one_load() -> None:
    first = sales_file(sale(1, "100000", date="2017-05-01 00:00"))
    second = sales_file(sale(2, "200000", date="2018-05-01 00:00"))
    assert values([first, second]) == [100000.0, 200000.0]
    assert values([first, second], years=[2018]) == [200000.0]


def test_every_row_is_accounted_for_by_reason() -> None:
    data = sales_file(
        sale(1),
        sale(2, postcode=""),
        sale(3, postcode="nonsense"),
        sale(4, postcode="N1 1AA"),
        sale(5, postcode="E1 9ZZ"),
        sale(6, price=""),
        sale(7, price="NaN"),
        sale(8, price="abc"),
        sale(9, price="0"),
        sale(10, price="-5"),
        sale(11, price="inf"),
        '"one","two"\n',
        sale(12, new=""),
        sale(13, new="Y"),
        sale(14, tenure="F"),
        sale(15, kind="T"),
        sale(16, date="2017-01-01 00:00"),
        sale(17, date="soon"),
        sale(18, price="1,250,000"),
        sale(19, price="£1,250,000"),
    )
    made, report = load_sales(data, TABLE, segment="existing-leasehold-flats", years=2018)
    assert made.value.tolist() == [200000.0, 1250000.0, 1250000.0]
    assert report.rows_read == 20
    assert reasons(report) == {
        "wrong number of columns": 1,
        "date unreadable": 1,
        "other year": 1,
        "other property type": 1,
        "other tenure": 1,
        "new-build flag blank or unknown": 1,
        "newly built": 1,
        "price missing or not a number": 4,
        "price not positive": 2,
        "postcode blank or malformed": 2,
        "postcode without coordinates": 1,
        "postcode not in the postcode table": 1,
    }
    assert any("2 prices were written with thousands" in note for note in report.notes)


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({}, {1, 2, 3, 4, 5}),
        ({"segment": "existing-leasehold-flats"}, {1}),
        ({"segment": "new-homes"}, {2}),
        ({"segment": "existing-freehold-houses"}, {3, 4}),
        ({"segment": "standard"}, {1, 2, 3, 5}),
        ({"years": "2016"}, {4}),
        ({"years": {2016, 2018}}, {1, 2, 3, 4, 5}),
        ({"segment": "existing-flats"}, {1}),
        ({"segment": "existing-homes"}, {1, 3, 4}),
        ({"segment": "existing-homes", "years": [2016]}, {4}),
    ],
)
def test_filters_keep_what_they_say(filters: dict[str, object], kept: set[int]) -> None:
    data = sales_file(
        sale(1, "1"),
        sale(2, "2", new="Y"),
        sale(3, "3", kind="T", tenure="F", district="HACKNEY"),
        sale(4, "4", kind="D", tenure="F", category="B", date="2016-02-03 00:00"),
        sale(5, "5", tenure="U", new="", district="ASHFORD", county="KENT"),
    )
    assert set(values(data, **filters)) == kept


def test_dates_that_a_spreadsheet_has_rewritten_are_understood() -> None:
    data = sales_file(sale(1, "1", date="18/07/2018"), sale(2, "2", date="7/18/2017"))
    assert values(data, years=2018) == [1.0]


def test_one_sale_is_one_record_however_often_it_is_listed() -> None:
    """A sale listed twice would be two records and get half the protection that is stated."""
    year = sales_file(sale(1, "100"), sale(2, "200"), sale(2, "200"))
    made, report = load_sales([year, year], TABLE)
    assert sorted(made.value.tolist()) == [100.0, 200.0]
    assert sum(reasons(report).values()) == 4


def test_a_sale_is_known_again_beside_longer_identifiers_and_by_its_last_letter() -> None:
    alone = sales_file(sale("AB12", "100"), sale("AB13", "150"))
    beside = sales_file(sale("AB12", "110"), sale("0123456789ABCDEF0123456789ABCDEF", "200"))
    odd = sales_file(sale("0123456789ABCDEF0123456789ABCDEG", "300"), sale("AB12", "120"))
    made = load_sales([alone, beside, odd], TABLE)[0]
    assert sorted(made.value.tolist()) == [120.0, 150.0, 200.0, 300.0]


@pytest.mark.parametrize(
    ("segment", "other"),
    [
        ("existing-flats", {"kind": "T"}),
        ("existing-leasehold-flats", {"tenure": "F"}),
        ("existing-flats", {"new": "Y"}),
        ("standard", {"category": "B"}),
    ],
)
def test_every_segment_reads_its_own_columns(segment: str, other: dict[str, str]) -> None:
    """Columns that no segment asks for are not read at all."""
    data = sales_file(sale(1, "100"), sale(2, "200", **other))  # type: ignore[arg-type]
    assert values(data, segment=segment) == [100.0]
    assert values(data) == [100.0, 200.0]


def test_changes_and_deletions_of_a_monthly_file_apply_to_what_came_before() -> None:
    year = sales_file(sale(1, "100"), sale(2, "200"), sale(3, "300"), sale(4, "400"))
    month = sales_file(
        sale(1, "110", status="C"),
        sale(2, "200", status="D"),
        sale(3, "300", status="C", tenure="F"),  # corrected to something the filter leaves out
        sale(5, "500"),
        sale(6, "600", status="D"),
    )
    made, report = load_sales([year, month], TABLE, segment="existing-leasehold-flats")
    assert sorted(made.value.tolist()) == [110.0, 400.0, 500.0]
    assert reasons(report) == {
        "deleted by the Land Registry (record status D)": 2,
        "other tenure": 1,
        "replaced or deleted by a later row with the same transaction identifier": 3,
    }
    assert any("record status C" in note for note in report.notes)


def test_a_sale_added_again_after_its_deletion_counts() -> None:
    assert values([sales_file(sale(1, "1", status="D"), sale(1, "2"))]) == [2.0]


def test_changes_before_the_rows_that_they_change_are_said_to_have_no_effect() -> None:
    year = sales_file(sale(1, "100"), sale(2, "200"), sale(3, "300"))
    month = sales_file(
        sale(2, "999", status="C"),
        sale(3, "300", status="D"),
        sale(4, "400", status="C"),  # of a year that is not among the files
        sale(4, "400", status="D"),
    )
    made, report = load_sales([month, year], TABLE)
    assert sorted(made.value.tolist()) == [100.0, 200.0, 300.0]
    assert sum("2 changes or deletions" in note and "no effect" in note for note in report.notes) == 1
    assert not any("no effect" in note for note in load_sales([year, month], TABLE)[1].notes)


def test_rows_without_an_identifier_are_all_kept_and_said() -> None:
    made, report = load_sales(sales_file(sale("", "1"), sale("", "2")), TABLE)
    assert made.size == 2
    assert any("2 rows have no transaction identifier" in note for note in report.notes)


OPERATIONS = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 999), st.sampled_from("AACD"), st.sampled_from("FT")),
    max_size=25,
)


@given(OPERATIONS, st.integers(0, 25))
@settings(max_examples=60)
def test_corrections_agree_with_replaying_them_one_by_one(
    operations: list[tuple[int, int, str, str]], cut: int
) -> None:
    """The fast way (last row of each identifier) against the naive one (a dictionary, row by row).

    Additions never reuse an identifier for another sale, so a filtered-out addition changes nothing.
    """
    state: dict[int, tuple[int, str]] = {}
    lines = []
    for serial, price, status, kind in operations:
        lines.append(sale(serial, str(price), status=status, kind=kind))
        if status == "D":
            state.pop(serial, None)
        elif status == "C" or kind == "F":
            state[serial] = (price, kind)
    expected = sorted(float(price) for price, kind in state.values() if kind == "F")
    parts = [part for part in (sales_file(*lines[:cut]), sales_file(*lines[cut:])) if part]
    if expected:
        assert values(parts, segment="existing-flats") == expected
    elif parts:
        refused(lambda: load_sales(parts, TABLE, segment="existing-flats"))


def test_generated_rows_are_marked_and_never_mixed_with_real_ones() -> None:
    made, report = load_sales(sales_file(sale("{GENERATED-2024-1}")), TABLE)
    assert made.generated
    assert made.attribution == ("Generated by Hexcursion; not real sales.",)
    assert made.title.startswith("Generated")
    assert "not real" in report.notes[-1]
    mixed = sales_file(sale("{GENERATED-2024-1}"), sale(1))
    assert "mixes generated and real" in refused(lambda: load_sales(mixed, TABLE))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"a,b,c\n1,2,3\n", "3 comma-separated columns"),
        (b"no comma at all\n", "1 comma-separated columns"),
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04", "damaged"),
        (packed(sales_file(sale(1)) * 500)[:-30], "cut short"),
        (REPORT_HEADER.encode(), "no rows below its header"),
        (sales_file(sale(1, price="x"), sale(2, price="")), "usable price"),
        (sales_file(sale(1, price="0"), sale(2, price="-1")), "positive"),
        (sales_file(sale(1, CANARY_PRICE, CANARY_POSTCODE)), "'E1  0AA'"),
        (sales_file(sale(1, CANARY_PRICE, "")), "postcode blank"),
    ],
)
def test_unusable_files_are_refused(data: bytes, word: str) -> None:
    assert word in refused(lambda: load_sales(data, TABLE))


@pytest.mark.parametrize(
    ("filters", "word"),
    [
        ({"segment": "existing-leasehold-flat"}, "did you mean 'existing-leasehold-flats'"),
        ({"segment": "zzz"}, "Choose one of: all"),
        ({"years": 217}, "four digits"),
        ({"years": "last"}, "four digits"),
        ({"years": [2018, 1066]}, "1995"),
        ({"years": 2018.5}, "four digits"),
        ({"years": 1999}, "other year"),
    ],
)
def test_unusable_filters_are_refused(filters: dict[str, object], word: str) -> None:
    data = sales_file(sale(1, CANARY_PRICE))
    assert word in refused(lambda: load_sales(data, TABLE, **filters))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SEGMENTS)
def test_every_segment_has_a_title_and_makes_a_filter(name: str) -> None:
    assert SEGMENTS[name].name == name
    assert sales_filter(name, years=[2018, 2017]).title == f"{SEGMENTS[name].title}, 2017 to 2018"
