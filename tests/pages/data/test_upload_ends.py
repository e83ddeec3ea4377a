"""What a session's uploads leave behind when it ends: nothing, not in memory either."""

from __future__ import annotations

import gc
import weakref

import pytest

from data_loaders import LOADERS, PostcodeTable
from hexcursion.settings import SourceSettings
from pages.shared.uploads import PrivateFolder

LOOKUP = b"pcds,lat,long\nE1 6AN,51.52,-0.07\n"
SALE = b'"{A}","250000","2018-03-01 00:00","E1 6AN","F","N","L","1","","","","","","","A","A"\n'


@pytest.mark.slow
def test_a_lookup_is_kept_for_the_second_file_and_let_go_with_its_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[weakref.ref[PostcodeTable]] = []
    check = PostcodeTable.__post_init__

    def noted(table: PostcodeTable) -> None:
        check(table)
        made.append(weakref.ref(table))

    def alive() -> list[bool]:
        gc.collect()
        return [table() is not None for table in made]

    monkeypatch.setattr(PostcodeTable, "__post_init__", noted)
    mine, others = PrivateFolder(), PrivateFolder()
    sales = SourceSettings(str(mine.keep("pp.csv", SALE)), str(mine.keep("codes.csv", LOOKUP)))
    for _ in range(2):
        LOADERS["price-paid"].read(sales, "", None)
    assert alive() == [True]
    del others
    assert alive() == [True]
    del mine
    assert alive() == [False]


def test_a_lookup_that_changed_is_read_again() -> None:
    folder = PrivateFolder()
    codes = folder.keep("codes.csv", LOOKUP)
    sales = SourceSettings(str(folder.keep("pp.csv", SALE)), str(codes))
    assert LOADERS["price-paid"].read(sales, "", None)[0].y.tolist() == [51.52]
    codes.write_bytes(LOOKUP.replace(b"51.52,", b"51.519,"))
    assert LOADERS["price-paid"].read(sales, "", None)[0].y.tolist() == [51.519]
