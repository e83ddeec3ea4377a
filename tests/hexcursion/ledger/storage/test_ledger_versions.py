"""Versions: a ledger of another form is refused with one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hexcursion.ledger import LedgerError, NoLedger, open_ledger, opening
from tests.hexcursion.ledger.places import Place


@pytest.mark.parametrize(("version", "sentence"), [(5, "newer Hexcursion"), (3, "before the first release")])
def test_a_ledger_of_another_version_is_refused_with_one_sentence(
    make_place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch, version: int, sentence: str
) -> None:
    place = make_place("sqlite")
    with monkeypatch.context() as other:
        other.setattr(opening, "SCHEMA_VERSION", version)
        with pytest.raises(LedgerError, match=sentence):
            place.open()
    with pytest.raises(LedgerError, match=sentence):
        place.open()


def test_a_place_without_a_ledger_is_still_none(make_place: Callable[[str], Place]) -> None:
    place = make_place("sqlite")
    with pytest.raises(NoLedger, match="There is no ledger"):
        open_ledger(place.address, place.key, create=False)
