"""What the tests notice: `python -m studies.mutations [PACKAGE ...] [--sample N --seed S] [--jobs J]`.

Without packages, all of studies/mutations/rooms.py; without --sample or --each, every mutant. Each
package's part of studies/results/mutations.json is written as soon as it is done. Survivors are listed
there; each of them is killed by a test or explained in studies/mutations_explained.toml.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Container
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from studies.mutations.mutants import Mutant, change_of, function_around, mutants_of, sampled, sampled_each
from studies.mutations.reach import Reach
from studies.mutations.record import (
    Outcome,
    Part,
    Survivor,
    explanations,
    score,
    store,
    stored,
    table,
    unexplained,
)
from studies.mutations.rooms import TESTS, covering_tests, modules_of, near_tests
from studies.mutations.trial import Verdict, copy_checkout, judge, learn, preload

ROOT = Path(__file__).resolve().parents[2]
Found = tuple[Outcome, float, Survivor | None]
_copy, _reach = Path(), Reach({}, {})  # of this worker
_killers: dict[str, list[str]] = {}  # file -> tests that have killed mutants of it, the latest first


def main() -> int:
    """Run the command; 1 where a survivor is neither killed nor explained."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.mutations", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"among {', '.join(TESTS)}")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--sample", type=int, metavar="N", help="try only N mutants, drawn over all packages")
    some.add_argument("--each", type=int, metavar="N", help="try only N mutants of each package")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (0)")
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time, each with a copy (1)")
    parser.add_argument(
        "--only", metavar="FILE", help="mutants of this file alone; prints, and stores nothing"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="print what is stored and the survivors without a reason, and stop",
    )
    parser.add_argument(
        "--again", action="store_true", help="try the stored survivors again, after tests were written"
    )
    parser.add_argument(
        "--at-draw",
        action="store_true",
        help="with --again: the tests are as old as the latest draw, so it counts what they notice",
    )
    parser.add_argument(
        "--near", action="store_true", help="only the package's tests that import the mutated modules"
    )
    parser.add_argument(
        "--within", type=float, metavar="S", help="a mutant's quickest tests alone, S CPU seconds of them"
    )
    parser.add_argument(
        "--by", nargs="+", metavar="TEST", help="files of tests to try them on, not all of the package's"
    )
    asked = parser.parse_args()
    if asked.list:
        print(table(stored().values()))
        return _said(list(stored().values()))
    packages = tuple(asked.packages or (stored() if asked.again else TESTS))
    try:
        mutants = {name: mutants_of(ROOT, name, modules_of(ROOT, name)) for name in packages}
        tests = {name: tuple(asked.by or covering_tests(ROOT, name)) for name in packages}
    except ValueError as error:
        parser.error(str(error))
    known = explanations()
    chosen = [mutant for name in packages for mutant in mutants[name]]
    if asked.only:
        chosen = [mutant for mutant in chosen if mutant.file == asked.only]
    if asked.again:
        chosen = _survivors_among(chosen, known)
    if asked.each:
        chosen = sampled_each(chosen, asked.each, asked.seed)
    chosen = sampled(chosen, asked.sample, asked.seed)
    os.nice(5)
    preload()
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for name in packages:
            mine = [mutant for mutant in chosen if mutant.package == name]
            if not mine:
                continue
            print(f"{name}: {len(mine):,} of {len(mutants[name]):,} mutants", file=sys.stderr, flush=True)
            copy = Path(tempfile.mkdtemp(dir=folder))
            copy_checkout(ROOT, copy)
            files = sorted({mutant.file for mutant in mine})
            mine_tests = near_tests(ROOT, tests[name], files) if asked.near else tests[name]
            reach = learn(copy, mine_tests, files)
            found = _try_all(mine, replace(reach, within=asked.within), folder, asked.jobs)
            seed = asked.seed if asked.sample or asked.each else None
            if asked.again:
                part = stored()[name].retried(
                    _commit(),
                    alive=[one for _, _, one in found if one is not None],
                    outcomes=[outcome for outcome, _, _ in found],
                    kept=[one for one in stored()[name].survivors if one.key in known],
                    at_draw=asked.at_draw,
                )
            else:
                part = Part.of(name, _commit(), seed, len(mutants[name]), found).after(stored().get(name))
            parts.append(part)
            if not asked.only:
                store({name: part}, f"python -m studies.mutations {' '.join(sys.argv[1:])}".strip())
    return _said(parts)


def _survivors_among(mutants: list[Mutant], known: Container[object]) -> list[Mutant]:
    """Those that are stored survivors without a known reason: the same change by the same operator, at the
    nearest line."""
    left = list(mutants)
    for part in stored().values():
        for one in part.survivors:
            if one.key in known:
                continue
            same = [
                mutant
                for mutant in left
                if (mutant.file, mutant.operator) == (one.file, one.operator)
                and (change := change_of(ROOT, mutant)) is not None
                and (change.before, change.after) == (one.before, one.after)
            ]
            if same:
                left.remove(min(same, key=lambda mutant: abs(mutant.line - one.line)))
    return [mutant for mutant in mutants if mutant not in left]


def _try_all(mutants: list[Mutant], reach: Reach, folder: str, jobs: int) -> list[Found]:
    """Every mutant's outcome, in order; each worker has a copy of the checkout to itself."""
    split = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=split, initializer=_settle, initargs=(folder, reach)) as pool:
        found: list[Found] = []
        for number, (mutant, one) in enumerate(zip(mutants, pool.map(_try, mutants), strict=True), 1):
            if one is None:
                continue
            verdict, survivor = one
            found.append((verdict.outcome, verdict.seconds, survivor))
            place = f"{mutant.file}:{mutant.line} {mutant.operator}"
            print(
                f"{number:>5}/{len(mutants)} {verdict.outcome:<8} {verdict.seconds:6.1f} s  {place}",
                verdict.by,
                file=sys.stderr,
                flush=True,
            )
        return found


def _settle(folder: str, reach: Reach) -> None:
    global _copy, _reach  # noqa: PLW0603 - a worker is a process
    _reach = reach
    _copy = Path(tempfile.mkdtemp(dir=folder))
    copy_checkout(ROOT, _copy)


def _try(mutant: Mutant) -> tuple[Verdict, Survivor | None] | None:
    """The verdict on one mutant, and the survivor it is; None where it changes nothing."""
    change = change_of(_copy, mutant)
    if change is None:
        return None
    tests = _reach.tests_for(mutant.file, mutant.line, function_around(_copy, mutant))
    killers = _killers.setdefault(mutant.file, [])
    tests = tuple(dict.fromkeys([*(name for name in killers if name in tests), *tests]))
    verdict = judge(_copy, mutant.file, change.source, tests, sum(_reach.seconds[name] for name in tests))
    if verdict.by in tests:
        killers[:] = [verdict.by, *(name for name in killers if name != verdict.by)]
    if verdict.outcome != "survived":
        return verdict, None
    return replace(verdict, by=f"{verdict.tests} tests"), Survivor(
        mutant.file, mutant.line, mutant.operator, change.before, change.after, change.diff
    )


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    return git("rev-parse", "--short=12", "HEAD").strip() + (
        "+" if git("status", "--porcelain").strip() else ""
    )


def _said(parts: list[Part]) -> int:
    left = unexplained(parts)
    for one in left:
        print(f"\n{one.file}:{one.line}  {one.operator}\n{one.diff}")
    tried = sum(part.tried for part in parts)
    seconds = sum(part.cpu_seconds for part in parts)
    print(f"\n{score(parts)}")
    if tried:
        print(f"A mutant took {seconds / tried:.1f} s of CPU time on average.")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
