"""The registry of studies: their questions, quick and full runs, and stored figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dpgp_core.plugins import Registry
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from studies.attacks import design_audit, membership, reconstruction
from studies.attacks.design_audit import AuditSettings
from studies.attacks.membership import MembershipSettings
from studies.attacks.reconstruction import ReconstructionSettings
from studies.excursions import line_excursions, plane_excursions
from studies.excursions.line_excursions import LineSettings
from studies.excursions.plane_excursions import PlaneSettings
from studies.leaderboard import run as leaderboard
from studies.leaderboard.run import LeaderboardSettings
from studies.london import study as london
from studies.london.study import LondonSettings
from studies.reporting.figures import FIGURES, Figure
from studies.reporting.tables import Report, StudyResult

RESULTS = Path(__file__).resolve().parent / "results"
"""Folder of the full figures, written by `make studies`."""

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
        file names, in `folder`, of its full figures
    command
        what makes them
    figures
        how they are drawn
    """

    name: str
    title: str
    question: str
    source: str
    quick: Callable[[Report | None], StudyResult]
    full: Callable[[Report | None], StudyResult]
    stored: tuple[str, ...]
    command: str
    figures: tuple[Figure, ...]
    folder: Path = RESULTS


def make_study(
    name: str,
    title: str,
    question: str,
    source: str,
    run: Callable[[Report | None, bool], StudyResult],
    stored: tuple[str, ...] = (),
    command: str = "",
    figures: tuple[Figure, ...] = (),
    folder: Path = RESULTS,
) -> Study:
    """Return a study; by default `python -m studies NAME` stores its figures under its name."""
    return Study(
        name, title, question, source, lambda report: run(report, True), lambda report: run(report, False),
        stored or (f"{name}.json",), command or f"python -m studies {name}", figures or FIGURES[name], folder,
    )  # fmt: skip


def presets(
    quick: Callable[[], Preset],
    full: Callable[[], Preset],
    run: Callable[[Preset, Report | None], StudyResult],
) -> Callable[[Report | None, bool], StudyResult]:
    """Return a function that runs a study at its quick or its full preset."""
    return lambda report, quickly: run(quick() if quickly else full(), report)


_OWN = {
    study.name: study
    for study in (
        make_study(
            "membership",
            "Membership attack",
            "How much does a released path tell about one record, and what does the proof allow?",
            "Paper: section 4 and appendix C, figures 2 and 3.",
            presets(MembershipSettings.quick, MembershipSettings.full, membership.run),
        ),
        make_study(
            "reconstruction",
            "Reconstruction attack",
            "How often does somebody who knows all records but one guess that one, and what does the proof "
            "allow?",
            "Not in the paper, which names it as open.",
            presets(ReconstructionSettings.quick, ReconstructionSettings.full, reconstruction.run),
        ),
        make_study(
            "audit",
            "Audit of designs",
            "Does an attack on the program's own sampler stay under the proved bound, and would it notice a "
            "mistake?",
            "Not in the paper.",
            presets(AuditSettings.quick, AuditSettings.full, design_audit.run),
        ),
        make_study(
            "line",
            "Excursion sets on a line",
            "What does the privacy constraint cost where the bound is tight?",
            "Paper: section 5 and appendix D, tables 1 to 3.",
            presets(LineSettings.quick, LineSettings.full, line_excursions.run),
        ),
        make_study(
            "plane",
            "Plumes in the plane",
            "What does a sharper sensitivity buy in two dimensions?",
            "Paper: appendix D.1, table 4.",
            presets(PlaneSettings.quick, PlaneSettings.full, plane_excursions.run),
        ),
        make_study(
            "london",
            "London",
            "Which mechanism draws the best map at each epsilon, on real and on generated sales?",
            "Paper: appendix D.2, figure 4.",
            presets(LondonSettings.quick, LondonSettings.full, london.run),
            ("london-real.json", "london-generated.json"),
        ),
        make_study(
            "leaderboard",
            "Leaderboard",
            "Which mechanism comes closest at equal epsilon, delta, unit and protection, map by map?",
            "Not in the paper. How to enter a mechanism of one's own is in the documentation.",
            presets(LeaderboardSettings.quick, LeaderboardSettings, leaderboard.run),
            (),
            "python -m studies.agreement.leaderboard",
        ),
    )
}

STUDIES: Registry[Study] = Registry("hexcursion.studies", _OWN, Study)
"""Those of this folder, then those of installed packages."""


def run_quickly(report: Report, name: str) -> StudyResult:
    """Run a study by its name, reduced; picklable, for a subprocess of the screens."""
    return STUDIES[name].quick(report)


def audit_quickly(report: Report, project: Project, choice: Choice) -> StudyResult:
    """Attack an analyst's own design; picklable, for a subprocess of the screens."""
    result = reconstruction.reconstruct_choice(project, choice, report=report)
    return design_audit.audit_choice(project, choice, report=report) if result is None else result
