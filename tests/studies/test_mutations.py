"""The record of mutations: tests chosen by what they reach, and survivors that are killed or explained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studies.mutations.reach import Reach
from studies.mutations.record import (
    EXPLAINED,
    FOLDER,
    Draw,
    Part,
    Survivor,
    explanations,
    score,
    store,
    stored,
    table,
    unexplained,
)
from studies.mutations.rooms import FROZEN, TESTS, covering_tests, modules_of, near_tests

ROOT = FOLDER.parent
LIVES = Survivor("made/up.py", 3, "core/AddNot", "if a:", "if not a:", "@@ -3 +3 @@")


def part(survivors: tuple[Survivor, ...] = (LIVES,), package: str = "made/up") -> Part:
    dead = [("killed", 1.5, None), ("stopped", 20.0, None), ("broken", 0.5, None)]
    return Part.of(package, "abc", 7, 90, [*dead, *(("survived", 2.0, one) for one in survivors)])


def test_a_part_counts_and_the_score_says_what_is_left_open() -> None:
    assert part().outcomes == {"killed": 1, "stopped": 1, "broken": 1, "survived": 1}
    assert part().cpu_seconds == 24.0
    assert unexplained([part()]) == [LIVES]
    assert score([part()]) == (
        "3 of 4 mutants tried (of 90 there are) were noticed, 75 %; 0 survivors are explained, 1 are not."
    )
    assert score([]) == "No mutants were tried."


def test_what_is_stored_is_read_again_and_other_packages_stay(tmp_path: Path) -> None:
    path = tmp_path / "mutations.json"
    assert stored(path) == {}
    store({"made/up": part()}, "a command", path)
    store({"other": part((), "other")}, "another command", path)
    assert stored(path).keys() == {"made/up", "other"}
    assert stored(path)["other"].survivors == ()
    store({"made/up": part(())}, "a command", path)
    assert stored(path)["made/up"].survivors == ()


def test_survivors_that_are_tried_again_are_counted_anew() -> None:
    """Three survived: one is killed now, one survives again, the line of one is gone."""
    three = part((LIVES, LIVES, LIVES))
    again = three.retried("def", [LIVES], ["killed", "survived"])
    assert three.tried == 6
    assert again.tried == 5
    assert again.outcomes == {"killed": 2, "stopped": 1, "broken": 1, "survived": 1}
    assert sum(again.outcomes.values()) == again.tried
    assert (again.survivors, again.commit, again.mutants) == ((LIVES,), "def", 90)


def test_a_fresh_draw_is_added_and_what_survives_twice_counts_once() -> None:
    other = Survivor("made/up.py", 1, "core/AddNot", "if b:", "if not b:", "@@ -1 +1 @@")
    two = part((LIVES, other)).after(part())
    assert two.draws == (Draw(7, "abc", 4, 3), Draw(7, "abc", 5, 3))
    assert two.survivors == (other, LIVES), "in the order of their lines"
    assert two.tried == 8
    assert two.outcomes == {"killed": 2, "stopped": 2, "broken": 2, "survived": 2}
    assert two.cpu_seconds == 50.0
    assert part().after(None) == part()


def test_tests_as_old_as_the_draw_count_for_it_and_later_ones_do_not() -> None:
    """Of two that are tried again one is killed; a third has its reason and is not tried."""
    three = part((LIVES, LIVES, LIVES))
    old = three.retried("def", [LIVES], ["killed", "survived"], kept=[LIVES], at_draw=True)
    new = three.retried("def", [LIVES], ["killed", "survived"], kept=[LIVES])
    assert old.draws == (Draw(7, "abc", 6, 4),)
    assert new.draws == (Draw(7, "abc", 6, 3),)
    assert old.tried == new.tried == 6
    assert old.outcomes == new.outcomes == {"killed": 2, "stopped": 1, "broken": 1, "survived": 2}


def test_an_explanation_needs_a_reason_and_stands_once(tmp_path: Path) -> None:
    table = tmp_path / "explained.toml"
    entry = '[[survivor]]\nfile = "a.py"\nbefore = "x"\nafter = "y"\nreason = "{}"\n'
    table.write_text(entry.format("Equal in value."), encoding="utf-8")
    assert explanations(table) == {("a.py", "x", "y"): "Equal in value."}
    table.write_text(entry.format(" "), encoding="utf-8")
    with pytest.raises(ValueError, match="a reason"):
        explanations(table)
    table.write_text(entry.format("One.") + entry.format("Two."), encoding="utf-8")
    with pytest.raises(ValueError, match="explained twice"):
        explanations(table)


def test_every_stored_survivor_is_explained() -> None:
    """A survivor asks for a test that kills it, or for a reason in studies/mutations_explained.toml."""
    assert [f"{one.file}:{one.line} {one.diff}" for one in unexplained(list(stored().values()))] == []


def test_no_explanation_outlives_its_line() -> None:
    """Those of a plugin that was deleted go with it."""
    kept = [plugin.relative_to(ROOT).as_posix() for plugin in ROOT.glob("plugins/*") if plugin.is_dir()]
    for file, before, _ in explanations():
        if file.startswith("plugins/") and not file.startswith(tuple(f"{plugin}/" for plugin in kept)):
            continue
        lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
        assert all(line in lines for line in before.split("\n")), (
            f"{EXPLAINED.name}: {file} has no {before!r}"
        )


def test_the_readme_says_the_stored_score_and_every_fresh_draw() -> None:
    said = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    assert score(stored().values()) in " ".join(said.split())
    assert table(stored().values()) in said


def test_the_table_says_each_draw_and_what_is_left() -> None:
    assert table([part().after(part(()))]).splitlines()[2:] == [
        "| `made/up` | 7: 3 of 3; 7: 3 of 4 | 6 of 7 |"
    ]


def test_the_tests_that_run_a_line_are_chosen_with_the_quickest_file_first() -> None:
    reach = Reach(
        {"m.py": {1: ("",), 5: ("t/a.py::one", "t/b.py::two"), 6: ("t/b.py::two",)}},
        {"t/a.py::one": 3.0, "t/a.py::zero": 3.0, "t/b.py::two": 1.0, "t/c.py::three": 9.0},
    )
    everything = ("t/b.py::two", "t/a.py::one", "t/a.py::zero", "t/c.py::three")
    assert reach.tests_for("m.py", 5, range(5, 8)) == ("t/b.py::two", "t/a.py::one")
    assert reach.tests_for("m.py", 6, range(5, 8)) == ("t/b.py::two",)
    assert reach.tests_for("m.py", 7, range(5, 8)) == ("t/b.py::two", "t/a.py::one"), "its function's"
    assert reach.tests_for("m.py", 1, range(1, 2)) == everything, "a constant reaches everywhere"
    assert reach.tests_for("m.py", 9, range(8, 10)) == everything, "perhaps in another process"
    assert Reach.from_json(reach.to_json()) == reach
    few = replace(reach, within=4.5)
    assert few.tests_for("m.py", 1, range(1, 2)) == ("t/b.py::two", "t/a.py::one")
    assert replace(reach, within=0.5).tests_for("m.py", 1, range(1, 2)) == ("t/b.py::two",), "one at least"
    law = "tests/architecture/test_looks.py::law"
    reach = Reach({"m.py": {6: ("t/b.py::two",)}}, {"t/b.py::two": 1.0, "t/c.py::three": 9.0, law: 2.0})
    assert reach.tests_for("m.py", 6, range(5, 8)) == ("t/b.py::two", law), "a law reads every line"


def test_packages_and_their_tests(tmp_path: Path) -> None:
    hexcursion = {f"hexcursion/{room}" for room in ("releasing", "search", "bundle", "ledger")}
    assert hexcursion < set(TESTS)
    assert {"dpgp_core/mechanisms", "dpgp_core/accounting"} < set(TESTS)
    assert "hexcursion/ledger/account.py" in modules_of(ROOT, "hexcursion/ledger")
    assert covering_tests(ROOT, "hexcursion/ledger") == (FROZEN, "tests/hexcursion/ledger")
    assert "dpgp_core/noise.py" in modules_of(ROOT, "dpgp_core")
    assert "dpgp_core/accounting/pld.py" not in modules_of(ROOT, "dpgp_core"), "of a package of its own"
    assert "dpgp_core/releasing.py" not in modules_of(ROOT, "dpgp_core"), "of a package of its own"
    (tmp_path / "hexcursion").mkdir()
    (tmp_path / "hexcursion" / "releasing.py").touch()
    assert modules_of(tmp_path, "hexcursion/releasing") == ("hexcursion/releasing.py",)
    with pytest.raises(ValueError, match="no package 'hexcursion/none'"):
        modules_of(ROOT, "hexcursion/none")
    with pytest.raises(ValueError, match="None of the tests"):
        covering_tests(tmp_path, "hexcursion/releasing")


def test_near_tests_import_the_module_or_else_a_module_that_does(tmp_path: Path) -> None:
    for name, text in {
        "room/used.py": "",
        "room/inner.py": "",
        "room/outer.py": "from room.inner import deep",
        "room/alone.py": "",
        "tests/test_used.py": "from room import used",
        "tests/test_name.py": "def test():\n    from room.used import name",
        "tests/test_outer.py": "import room.outer",
        "tests/helper.py": "import room.used",
        "tests/architecture/test_law.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    law = "tests/architecture/test_law.py"
    used = near_tests(tmp_path, ["tests"], ["room/used.py"])
    assert used == (law, "tests/test_name.py", "tests/test_used.py")
    assert near_tests(tmp_path, ["tests"], ["room/inner.py"]) == (law, "tests/test_outer.py")
    assert near_tests(tmp_path, ["tests/test_outer.py"], ["room/outer.py"]) == ("tests/test_outer.py",)
    with pytest.raises(ValueError, match=r"No test imports room/alone\.py"):
        near_tests(tmp_path, ["tests"], ["room/alone.py"])
