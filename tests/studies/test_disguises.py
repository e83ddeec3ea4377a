"""The account follows the records: each disguise of the benchmark, with what is found of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.scale.disguises import DISGUISES, OTHERS, Disguise, Found, look


def _name(disguise: Disguise) -> str:
    return f"{disguise.data}: {disguise.how}"


NAMES = [_name(each) for each in (*DISGUISES, *OTHERS)]


class Looks(dict[str, Found]):
    """What is found of each disguise, by its name: looked at when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, name: str) -> Found:
        number = NAMES.index(name)
        self[name] = look(self.folder, (*DISGUISES, *OTHERS)[number], number)
        return self[name]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Looks:
    return Looks(tmp_path_factory.mktemp("disguises"))


WARNED = {
    "samples: another value column, one value edited, nothing named": "100% of places",
    "samples: values times 1.17, nothing named": "100% of places",
    "samples: values times 1.17, half of the rows, clock two hours off": "100% of places",
    "stations: values times 1.88, clock half an hour off": "100% of places",
    "stations: whole numbers, clock half an hour off": "100% of places",
    "sales: prices 3 % up, no names, no dates": "100% of places",
}
NOT_FOUND = {
    "samples: 20 rows among 980 others, clock two hours off, other names",
    "samples: medians by squares",
    "samples: numbers for names, values times 1.17, places moved by 100 m",
    "stations: places moved by 30 m, clock half an hour off",
}
OTHERS_WARNED = {
    "samples: other samples at the same places a year later": "100% of places",
    "samples: the other half of the same file": "file",
    "stations: the same stations a month later": "100% of places",
    "stations: the same stations a month later, both numbered": "100% of places",
    "stations: the same stations a month later, whole numbers": "100% of places",
    "sales: houses after flats of one file": "file",
}


def test_there_are_at_least_forty_disguises_of_the_same_records() -> None:
    assert (len(DISGUISES), len(OTHERS)) == (51, 14)
    assert len(set(NAMES)) == 65


@pytest.mark.slow
def test_the_same_records_are_followed_but_for_what_is_listed(found: Looks) -> None:
    same = {name: each for each in DISGUISES for name in [_name(each)]}
    seen = {name: found[name].outcome for name in same}
    assert {name for name, outcome in seen.items() if outcome == "warned"} == set(WARNED)
    assert {name for name, outcome in seen.items() if outcome == "not found"} == NOT_FOUND
    assert {name: found[name].facts for name in WARNED} == WARNED


def test_other_records_are_never_followed(found: Looks) -> None:
    others = {name: found[name] for each in OTHERS for name in [_name(each)]}
    assert {each.outcome for each in others.values()} <= {"warned", "not found"}
    assert {name: each.facts for name, each in others.items() if each.outcome == "warned"} == OTHERS_WARNED


@pytest.mark.parametrize(
    ("name", "shared", "records"),
    [
        ("samples: half of the rows, clock two hours off", 150, 150),
        ("samples: another column is the name, one value edited, times not named", 299, 300),
        ("samples: another value column of the file", 300, 300),
        ("samples: another value column, named by time", 300, 300),
        ("samples: 30 rows among 270 others", 30, 300),
        ("samples: numbers for names, half of the rows, one value edited", 150, 150),
        ("samples: numbers for names, values times 1.17", 300, 300),
        ("samples: numbers for names, places moved by 100 m", 300, 300),
        ("samples: values times 1.17, times kept", 300, 300),
        ("samples: places moved by 100 m, times kept", 300, 300),
        ("stations: half of the rows, clock half an hour off", 480, 480),
        ("stations: another value column, one value edited", 960, 960),
        ("sales: half of the rows, other names", 200, 200),
    ],
)
def test_what_is_followed_is_counted(found: Looks, name: str, shared: int, records: int) -> None:
    assert (found[name].outcome, found[name].shared, found[name].records) == ("followed", shared, records)
