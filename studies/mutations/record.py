"""The record: what became of the mutants, why survivors may live, and the score."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

FOLDER = Path(__file__).resolve().parents[1]
RESULTS = FOLDER / "results" / "mutations.json"
EXPLAINED = FOLDER / "mutations_explained.toml"
Outcome = Literal["killed", "stopped", "broken", "survived"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test noticed: where it is, and the lines before and after."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    diff: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by in the table of explanations, wherever its line has moved to."""
        return self.file, self.before, self.after


@dataclass(frozen=True)
class Draw:
    """A fresh sample of a package's mutants: how many were noticed before a test was written for any of them.

    Parameters
    ----------
    seed
        seed of the sample, None for a full run
    commit
        abbreviated commit of the checkout, with "+" where files had changed since
    tried, noticed
        how many mutants were tried, and how many of them were noticed
    """

    seed: int | None
    commit: str
    tried: int
    noticed: int


@dataclass(frozen=True)
class Part:
    """One package's share of the record: all of its draws together.

    Parameters
    ----------
    package
        the package that was mutated
    commit
        abbreviated commit of the checkout, with "+" where files had changed since
    draws
        every fresh draw, the earliest first
    mutants, tried
        how many there are, and how many were tried in all draws, less those whose line is gone
    outcomes
        how many were killed, stopped, broken and survived; they add up to `tried`
    cpu_seconds
        CPU seconds of all trials
    survivors
        those that survived, in the order of their places
    """

    package: str
    commit: str
    draws: tuple[Draw, ...]
    mutants: int
    tried: int
    outcomes: Mapping[Outcome, int]
    cpu_seconds: float
    survivors: tuple[Survivor, ...]

    @classmethod
    def of(
        cls,
        package: str,
        commit: str,
        seed: int | None,
        mutants: int,
        found: Sequence[tuple[Outcome, float, Survivor | None]],
    ) -> Part:
        """From each trial's outcome, CPU seconds and survivor: one draw."""
        counted = Counter(outcome for outcome, _, _ in found)
        alive = [one for _, _, one in found if one is not None]
        return cls(
            package,
            commit,
            (Draw(seed, commit, len(found), len(found) - counted["survived"]),),
            mutants,
            len(found),
            {name: counted[name] for name in OUTCOMES},
            round(sum(seconds for _, seconds, _ in found), 1),
            _in_order(alive),
        )

    def after(self, earlier: Part | None) -> Part:
        """Add this draw to the earlier ones of its package; list a mutant that survived twice once."""
        if earlier is None:
            return self
        again = [one for one in self.survivors if one in earlier.survivors]
        return replace(
            self,
            draws=earlier.draws + self.draws,
            tried=earlier.tried + self.tried - len(again),
            outcomes={
                name: earlier.outcomes[name] + self.outcomes[name] - (len(again) if name == "survived" else 0)
                for name in OUTCOMES
            },
            cpu_seconds=round(earlier.cpu_seconds + self.cpu_seconds, 1),
            survivors=_in_order({*earlier.survivors, *self.survivors}),
        )

    def retried(
        self,
        commit: str,
        alive: Sequence[Survivor],
        outcomes: Sequence[Outcome],
        kept: Sequence[Survivor] = (),
        at_draw: bool = False,
    ) -> Part:
        """The part after its survivors were tried again.

        Parameters
        ----------
        commit
            the checkout of the new trials
        alive
            those that survived again
        outcomes
            outcome of every survivor that was tried and whose line still exists; the others are no longer
            counted as tried
        kept
            survivors that were not tried, as their reason is known
        at_draw
            the tests that tried them are as old as the latest draw, which then counts what they noticed
        """
        counted: Counter[Outcome] = Counter({**self.outcomes, "survived": len(kept)}) + Counter(outcomes)
        gone = len(self.survivors) - len(kept) - len(outcomes)
        last = self.draws[-1]
        if at_draw:
            last = replace(last, noticed=last.noticed + sum(one != "survived" for one in outcomes))
        return replace(
            self,
            commit=commit,
            draws=(*self.draws[:-1], last),
            tried=self.tried - gone,
            outcomes={name: counted[name] for name in OUTCOMES},
            survivors=_in_order([*kept, *alive]),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Part:
        """What `asdict` made of a part."""
        survivors = tuple(
            Survivor(**{name: value for name, value in one.items() if name != "explained"})
            for one in data["survivors"]
        )
        draws = tuple(Draw(**one) for one in data["draws"])
        return cls(**{**data, "survivors": survivors, "draws": draws})


def _in_order(survivors: Iterable[Survivor]) -> tuple[Survivor, ...]:
    return tuple(sorted(survivors, key=lambda one: (one.file, one.line, one.operator, one.after)))


def stored(path: Path = RESULTS) -> dict[str, Part]:
    """The parts of the stored file by package; empty where there is none."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {each["package"]: Part.from_dict(each) for each in data["packages"]}


def store(parts: Mapping[str, Part], made_by: str, path: Path = RESULTS) -> None:
    """Write parts over those of the same packages; other packages' parts stay as they are."""
    kept = {**stored(path), **parts}
    reasons = explanations()
    packages = []
    for name in sorted(kept):
        data = asdict(kept[name])
        for one, written in zip(kept[name].survivors, data["survivors"], strict=True):
            written["explained"] = reasons.get(one.key)
        packages.append(data)
    text = json.dumps({"made_by": made_by, "score": score(kept.values()), "packages": packages}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def explanations(path: Path = EXPLAINED) -> dict[tuple[str, str, str], str]:
    """Why a survivor may live: (file, line before, line after) -> reason in words.

    Raises
    ------
    ValueError
        In one sentence, for an entry that lacks a field or has an empty one, or for one that stands twice.
    """
    found: dict[tuple[str, str, str], str] = {}
    for number, entry in enumerate(tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", []), 1):
        if set(entry) != {"file", "before", "after", "reason"} or not entry["reason"].strip():
            raise ValueError(f"Survivor {number} in {path.name} needs file, before, after and a reason.")
        key = (entry["file"], entry["before"].strip(), entry["after"].strip())
        if key in found:
            raise ValueError(f"Survivor {number} in {path.name} is explained twice: leave one entry.")
        found[key] = entry["reason"].strip()
    return found


def unexplained(parts: Sequence[Part]) -> list[Survivor]:
    """Survivors without a reason: each asks for a test or for an explanation."""
    reasons = explanations()
    return [one for part in parts for one in part.survivors if one.key not in reasons]


def score(parts: Any) -> str:
    """Share of the mutants tried that the tests noticed or that are explained, in words; rounded down."""
    parts = list(parts)
    tried = sum(part.tried for part in parts)
    if not tried:
        return "No mutants were tried."
    noticed = sum(part.tried - part.outcomes["survived"] for part in parts)
    open_ = len(unexplained(parts))
    explained = sum(part.outcomes["survived"] for part in parts) - open_
    of = sum(part.mutants for part in parts)
    return (
        f"{noticed:,} of {tried:,} mutants tried (of {of:,} there are) were noticed, "
        f"{100 * noticed // tried} %; {explained:,} survivors are explained, {open_:,} are not."
    )


def table(parts: Iterable[Part]) -> str:
    """Packages, their fresh draws and where they stand now, as rows of a table in Markdown."""
    reasons = explanations()
    rows = ["| package | noticed at first, by seed | now |", "|---|---|---|"]
    for part in parts:
        draws = "; ".join(f"{one.seed}: {one.noticed} of {one.tried}" for one in part.draws)
        explained = sum(one.key in reasons for one in part.survivors)
        now = f"{part.tried - part.outcomes['survived']} of {part.tried}"
        said = f", {explained} explained" if explained else ""
        rows.append(f"| `{part.package}` | {draws} | {now}{said} |")
    return "\n".join(rows)
