"""A table written in any dialect is read back equal, or a question is asked: never another number."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from data_loaders import DataError
from tests.data_loaders.material import load_sensors

VALUES = st.lists(
    st.one_of(
        st.integers(0, 99_999).map(lambda whole: whole / 1000),
        st.integers(-5_000, 5_000_000).map(float),
        st.floats(-1e6, 1e6).map(lambda number: round(number, 2)),
    ),
    min_size=1,
    max_size=30,
)
TOPS = ("", "Annual means\n", "Annual means{d}{d}\n\n", "# made by a logger\n", "sep={d}\n")


@given(
    values=VALUES,
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    mark=st.sampled_from([".", ","]),
    place_mark=st.sampled_from([".", ","]),
    grouped=st.booleans(),
    digits=st.integers(3, 5),
    top=st.sampled_from(TOPS),
    units=st.booleans(),
    trailing=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.sampled_from(["", "\ufeff"]),
    stated=st.booleans(),
)
@settings(max_examples=3 * settings.default.max_examples)
def test_every_dialect_is_read_back_equal_or_asked_about(
    values: list[float], delimiter: str, mark: str, place_mark: str, grouped: bool, digits: int, top: str,
    units: bool, trailing: bool, end: str, bom: str, stated: bool,
) -> None:  # fmt: skip
    def number(value: float) -> str:
        text = f"{value:,.3f}" if grouped else f"{value:.3f}"
        text = text.translate(str.maketrans({",": ".", ".": ","})) if mark == "," else text
        return f'"{text}"' if delimiter in text else text

    def place(value: float) -> str:
        text = f"{value:.{digits}f}".replace(".", place_mark)
        return f'"{text}"' if delimiter in text else text

    rows = [["lon", "lat", "value"], *([["deg", "deg", "ug/m3"]] if units else [])]
    rows += [[place(0.125 + k / 1000), place(51.25 + k / 1000), number(v)] for k, v in enumerate(values)]
    body = "".join(delimiter.join(row) + (delimiter if trailing else "") + "\n" for row in rows)
    written = (bom + top.format(d=delimiter) + body).replace("\n", end).encode()
    asked = {"decimal": mark} if stated else {}
    try:
        made, report = load_sensors(
            written, value="value", x="lon", y="lat", unit="u", missing=("none",), **asked
        )  # type: ignore[arg-type]
    except DataError as error:
        few = len(values) < 5 and "one row alone decides it" in str(error)
        if not few and (stated or "state the decimal mark" not in str(error)):
            raise
        return
    assert made.value.tolist() == [float(f"{value:.3f}") for value in values]
    assert made.x.tolist() == [float(f"{0.125 + k / 1000:.{digits}f}") for k in range(len(values))]
    assert report.dropped == ((("coordinate is not a number", 1),) if units else ())
