"""Small Price Paid and postcode files written by hand, shared by this room's tests."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import data_loaders
from data_loaders import DataError, LoadReport, Observations
from data_loaders.wanted import Wanted

# Values that stand for private ones: no message may ever show them.
CANARY_PRICE, CANARY_POSTCODE = "31415926", "ZE1 0QQ"


def sale(
    serial: int | str,
    price: str = "200000",
    postcode: str = "E1 0AA",
    *,
    date: str = "2018-03-01 00:00",
    kind: str = "F",
    new: str = "N",
    tenure: str = "L",
    district: str = "TOWER HAMLETS",
    county: str = "GREATER LONDON",
    category: str = "A",
    status: str = "A",
) -> str:
    """One line of the original format."""
    name = f"{{{serial:08d}-0000-0000-0000-000000000000}}" if isinstance(serial, int) else serial
    fields = [
        name, price, date, postcode, kind, new, tenure, "1", "FLAT 2", "HIGH STREET", "", "LONDON",
        district, county, category, status,
    ]  # fmt: skip
    return ",".join(f'"{field}"' for field in fields) + "\n"


def sales_file(*lines: str) -> bytes:
    return "".join(lines).encode()


POSTCODES = (
    b"pcds,oseast1m,osnrth1m,osgrdind,lat,long\n"
    b"E1 0AA,535267,181084,1,51.512497,-0.052098\n"
    b"E1 0AD,535042,181124,1,51.512910,-0.055323\n"
    b"SW1A 1AA,529090,179645,1,51.501009,-0.141588\n"
    b"E1 9ZZ,0,0,9,99.999999,0.000000\n"
)


def packed_zip(members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def packed_tar(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def reasons(report: LoadReport) -> dict[str, int]:
    return dict(report.dropped)


def refused(call: Callable[[], object]) -> str:
    """The sentence with which `call` is refused: one line, ending in a full stop, without private values."""
    with pytest.raises(DataError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?"))
    assert CANARY_PRICE not in said
    assert CANARY_POSTCODE not in said
    assert caught.value.__cause__ is None
    return said


def load_sensors(
    source: Any,
    *,
    value: str | None,
    unit: str,
    where: Mapping[str, Any] | None = None,
    sensor: str | None = None,
    person: str | None = None,
    limits: Any = data_loaders.LIMITS,
    **said: Any,
) -> tuple[Observations, LoadReport]:
    """Load a table by keywords; a filter may list several entries of a column."""
    pairs = [
        (column, str(entry))
        for column, entries in (where or {}).items()
        for entry in (entries if isinstance(entries, list) else [entries])
    ]
    given = {name: each for name, each in said.items() if name != "missing" or each is not None}
    wanted = Wanted("", value=value, where=tuple(pairs), **given)
    word = None if sensor is None and person is None else "sensor" if sensor is not None else "person"
    return data_loaders.load_sensors(source, wanted, unit, sensor or person, word, limits)  # type: ignore[arg-type]
