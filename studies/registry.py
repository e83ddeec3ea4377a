"""The registry of studies: what each asks, how it runs quickly and in full, where its figures are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from studies.attacks import design_audit, membership
from studies.attacks.design_audit import AuditSettings
from studies.attacks.membership import MembershipSettings
from studies.excursions import line_excursions, plane_excursions
from studies.excursions.line_excursions import LineSettings
from studies.excursions.plane_excursions import PlaneSettings
from studies.leaderboard import run as leaderboard
from studies.leaderboard.run import LeaderboardSettings
from studies.london import study as london
from studies.london.study import LondonSettings
from studies.peers import neural_line, one_dimension
from studies.peers.neural_line import NeuralSettings
from studies.peers.one_dimension import OneDimensionSettings
from studies.reporting.tables import Report, StudyResult

RESULTS = Path(__file__).resolve().parent / "results"
"""Where the full figures lie, written by `make studies`."""

Preset = TypeVar("Preset")


@dataclass(frozen=True)
class Study:
    """One study.

    Parameters
    ----------
    question
        what it answers
    source
        where in the paper it comes from, as a sentence
    quick, full
        run it at a preset
    stored
        file names, in `RESULTS`, of its full figures
    command
        what makes them
    """

    name: str
    title: str
    question: str
    source: str
    quick: Callable[[Report | None], StudyResult]
    full: Callable[[Report | None], StudyResult]
    stored: tuple[str, ...]
    command: str


def _study(
    name: str, title: str, question: str, source: str,
    run: Callable[[Report | None, bool], StudyResult], stored: tuple[str, ...] = (), command: str = "",
) -> Study:  # fmt: skip
    return Study(
        name, title, question, source, lambda report: run(report, True), lambda report: run(report, False),
        stored or (f"{name}.json",), command or f"python -m studies {name}",
    )  # fmt: skip


def _presets(
    quick: Callable[[], Preset],
    full: Callable[[], Preset],
    run: Callable[[Preset, Report | None], StudyResult],
) -> Callable[[Report | None, bool], StudyResult]:
    return lambda report, quickly: run(quick() if quickly else full(), report)


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        _study(
            "membership",
            "Membership attack",
            "How much does a released path tell about one record, and what does the proof allow?",
            "Paper: section 4 and appendix C, figures 2 and 3.",
            _presets(MembershipSettings.quick, MembershipSettings.full, membership.run),
        ),
        _study(
            "audit",
            "Audit of designs",
            "Does an attack on the program's own sampler stay under the proved bound, and would it notice a "
            "mistake?",
            "Not in the paper.",
            _presets(AuditSettings.quick, AuditSettings.full, design_audit.run),
        ),
        _study(
            "line",
            "Excursion sets on a line",
            "What does the privacy constraint cost where the bound is tight?",
            "Paper: section 5 and appendix D, tables 1 to 3.",
            _presets(LineSettings.quick, LineSettings.full, line_excursions.run),
        ),
        _study(
            "plane",
            "Plumes in the plane",
            "What does a sharper sensitivity buy in two dimensions?",
            "Paper: appendix D.1, table 4.",
            _presets(PlaneSettings.quick, PlaneSettings.full, plane_excursions.run),
        ),
        _study(
            "london",
            "London",
            "Which mechanism draws the best map at each epsilon, on real and on generated sales?",
            "Paper: appendix D.2, figure 4.",
            _presets(LondonSettings.quick, LondonSettings.full, london.run),
            ("london-real.json", "london-generated.json"),
        ),
        _study(
            "leaderboard",
            "Leaderboard",
            "Which mechanism comes closest at equal epsilon, delta, unit and protection, map by map?",
            "Not in the paper. How to enter a mechanism of one's own is in the documentation.",
            _presets(LeaderboardSettings.quick, LeaderboardSettings, leaderboard.run),
            (),
            "python -m studies.agreement.leaderboard",
        ),
        _study(
            "one-dimension",
            "Beyond maps",
            "Do the peers show on a line what their papers show?",
            "Smith et al. 2018, figures 1 and 4; Honkela and Melkas 2021, figure 2.",
            _presets(OneDimensionSettings.quick, OneDimensionSettings.full, one_dimension.run),
        ),
        _study(
            "neural-line",
            "Neural process",
            "How close does the neural process come to what no privacy allows, and to the sparse process?",
            "Raisa et al. 2024, section 5.2, figures 6 and 7, at a reduced scale.",
            _presets(NeuralSettings.quick, NeuralSettings.full, neural_line.run),
        ),
    )
}
