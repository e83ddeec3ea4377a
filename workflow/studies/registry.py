"""The registry of studies: what each asks, how it runs quickly and in full, where its figures are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workflow.jobs import Job
from workflow.project import Project
from workflow.studies import design_audit, line_excursions, london, membership, plane_excursions
from workflow.studies.design_audit import AuditSettings
from workflow.studies.line_excursions import LineSettings
from workflow.studies.london import LondonSettings
from workflow.studies.membership import MembershipSettings
from workflow.studies.plane_excursions import PlaneSettings
from workflow.studies.tables import Report, StudyResult
from workflow.tuning import Choice

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
"""Where the full figures lie, written by `make studies`."""


@dataclass(frozen=True)
class Study:
    """One study. `quick` and `full` run it at a preset; `question` is what it answers, `source` where in the
    paper it comes from, as a sentence.

    stored  file names, in RESULTS, of its full figures;  command  what makes them
    """

    name: str
    title: str
    question: str
    source: str
    quick: Callable[[Report | None], StudyResult]
    full: Callable[[Report | None], StudyResult]
    stored: tuple[str, ...]
    command: str


def study_job(name: str) -> Job[StudyResult]:
    """The quick run of a study in the background, with progress and cancel."""
    return Job(STUDIES[name].quick)


def audit_job(project: Project, choice: Choice) -> Job[StudyResult]:
    """The audit of the analyst's own design in the background."""
    return Job(lambda report: design_audit.audit_choice(project, choice, report=report))


def _study(
    name: str, title: str, question: str, source: str,
    run: Callable[[Report | None, bool], StudyResult], stored: tuple[str, ...] = (),
) -> Study:  # fmt: skip
    return Study(
        name, title, question, source, lambda report: run(report, True), lambda report: run(report, False),
        stored or (f"{name}.json",), f"python -m benchmarks.studies {name}",
    )  # fmt: skip


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        _study(
            "membership",
            "Membership attack",
            "How much does a released path tell about one record, and what does the proof allow?",
            "Paper: section 4 and appendix C, figures 2 and 3.",
            lambda report, quick: membership.run(
                MembershipSettings.quick() if quick else MembershipSettings.full(), report
            ),
        ),
        _study(
            "audit",
            "Audit of designs",
            "Does an attack on the program's own sampler stay under the proved bound, and would it notice a "
            "mistake?",
            "Not in the paper.",
            lambda report, quick: design_audit.run(
                AuditSettings.quick() if quick else AuditSettings.full(), report
            ),
        ),
        _study(
            "line",
            "Excursion sets on a line",
            "What does the privacy constraint cost where the bound is tight?",
            "Paper: section 5 and appendix D, tables 1 to 3.",
            lambda report, quick: line_excursions.run(
                LineSettings.quick() if quick else LineSettings.full(), report
            ),
        ),
        _study(
            "plane",
            "Plumes in the plane",
            "What does a sharper sensitivity buy in two dimensions?",
            "Paper: appendix D.1, table 4.",
            lambda report, quick: plane_excursions.run(
                PlaneSettings.quick() if quick else PlaneSettings.full(), report
            ),
        ),
        _study(
            "london",
            "London",
            "Which mechanism draws the best map at each epsilon, on real and on generated sales?",
            "Paper: appendix D.2, figure 4.",
            lambda report, quick: london.run(
                LondonSettings.quick() if quick else LondonSettings.full(), report
            ),
            ("london-real.json", "london-generated.json"),
        ),
    )
}
