"""One search on more and more workers: `python -m studies.scale.workers [--cells 1000] [--full]`.

The search of `studies.scale.cells` runs in this process, on one and two worker processes of this machine,
and on the Dask cluster of two workers that $HEXCURSION_DASK names, if any; every answer must be the same,
bit for bit. Each piece of the work reports its CPU seconds, so that the same pieces can be laid out on any
number of workers: a free worker takes the next piece, as in all executors, and each round waits for its last.
`expected` is that time with the work between the rounds, without the start of the workers and the transfer;
`clock` is the time of a run on a machine that does other work too.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hexcursion.project.load import load_project
from hexcursion.search.executors import Executor, Run, make_executor, scheduler_address
from hexcursion.search.tuning import Tuned, tune
from studies.material.home import home
from studies.reporting.measures import growth
from studies.scale.cells import RECORDS, SEED, settings_of

RUNS = [("serial", 1), ("processes", 1), ("processes", 2)]
LAID_OUT = (1, 2, 4, 8, 16, 32, 64)


def _timed(shared: tuple[Callable[[Any, Any], Any], Any], item: Any) -> tuple[Any, float]:
    """An answer, and the CPU seconds it took."""
    work, argument = shared
    start = time.thread_time()
    return work(argument, item), time.thread_time() - start


class Timed:
    """An executor that keeps the CPU seconds of each piece of each round."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.rounds: list[list[float]] = []

    def map(self, work: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Answers in the order of the items."""
        took: list[float] = []
        self.rounds.append(took)
        answers = self._inner.map(_timed, (work, shared), items)
        try:
            for answer, seconds in answers:
                took.append(seconds)
                yield answer
        finally:
            answers.close()  # type: ignore[attr-defined]

    def close(self) -> None:
        """End the workers."""
        self._inner.close()


def laid_out(rounds: Sequence[Sequence[float]], workers: int) -> float:
    """Seconds until the last round is over: a free worker takes the next piece.

    Examples
    --------
    >>> laid_out([[3.0, 1.0, 1.0], [2.0, 2.0]], 2)
    5.0
    """
    total = 0.0
    for pieces in rounds:
        free = [0.0] * workers
        for piece in pieces:
            heapq.heapreplace(free, free[0] + piece)
        total += max(free)
    return total


def _answer(tuned: Tuned) -> str:
    """The whole result of a search, with every digit."""
    return repr((tuned.choice, tuned.result.evaluated, tuned.result.frontier, tuned.result.chosen))


def _row(*cells: object) -> str:
    return " ".join(f"{cell:>10}" for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=1_000, help="of the domain, about (default 1000)")
    parser.add_argument("--full", action="store_true", help="the search of a release, not the quick one")
    options = parser.parse_args()
    with home() as folder:
        project = load_project(settings_of(options.cells, folder, not options.full))
        print(f"{project.domain.size:,} cells, {'full' if options.full else 'quick'} search")
        print(_row("executor", "workers", "pieces", "rounds", "pieces s", "clock s", "answer"))
        answer = ""
        for kind, workers in [*RUNS, *([("dask", 2)] if scheduler_address(None) else [])]:
            executor = Timed(make_executor(kind, workers))
            start, worked = time.perf_counter(), time.process_time()
            try:
                tuned = tune(project, Run(executor=executor))
            finally:
                executor.close()
            seconds, main_thread = time.perf_counter() - start, time.process_time() - worked
            spent = sum(map(sum, executor.rounds))
            if not answer:
                answer, rounds, between = _answer(tuned), executor.rounds, main_thread - spent
            same = "the same" if _answer(tuned) == answer else "ANOTHER"
            counts = workers, sum(map(len, executor.rounds)), len(executor.rounds)
            print(_row(kind, *counts, f"{spent:.1f}", f"{seconds:.1f}", same), flush=True)
    print(f"\nthe pieces of the serial run laid out; {between:.1f} s of CPU between the rounds")
    print(_row("workers", "expected s", "faster"))
    expected = [between + laid_out(rounds, workers) for workers in LAID_OUT]
    for workers, seconds in zip(LAID_OUT, expected, strict=True):
        print(_row(workers, f"{seconds:.1f}", f"{expected[0] / seconds:.2f}"))
    slope = growth(LAID_OUT[:4], expected[:4])
    longest = sum(max(pieces, default=0.0) for pieces in rounds)
    print(f"time grows like workers^{slope:.2f} up to {LAID_OUT[3]}; never below {between + longest:.1f} s")
    print(f"Seed {SEED} of {RECORDS:,} generated readings; every run once.")


if __name__ == "__main__":
    main()
