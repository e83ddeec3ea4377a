"""JSON of strangers: what Python's own reader lets through is refused in one sentence."""

from __future__ import annotations

import pytest

from hexcursion.bundle import BundleError
from hexcursion.bundle.untrusted import strict_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, -2.5, null, true, "x"]}', {"a": [1, -2.5, None, True, "x"]}),
        (b"999999999999999999", 999_999_999_999_999_999),
        (b"1.7e308", 1.7e308),
    ],
)
def test_what_json_allows_is_read(text: bytes, value: object) -> None:
    assert strict_json(text, "a.json") == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[NaN]", "a.json holds NaN, which is not JSON."),
        (b"[-Infinity]", "a.json holds -Infinity, which is not JSON."),
        (b'{"a": 1, "a": 2}', "a.json gives a key twice."),
        (b"[1e309]", "a.json holds a number too large to read."),
        (b"[1000000000000000000]", "a.json holds a number too large to read."),
        (b"[" * 100_000, "a.json is damaged: it cannot be read as JSON."),
        (b'"\xff"', "a.json is damaged: it cannot be read as JSON."),
        (b"{", "a.json is damaged: it cannot be read as JSON."),
    ],
)
def test_what_it_does_not_is_one_sentence(text: bytes, said: str) -> None:
    with pytest.raises(BundleError) as raised:
        strict_json(text, "a.json")
    assert str(raised.value) == said
