"""Jobs of this screen: the quick run of a study, and the audit of the analyst's own design."""

from __future__ import annotations

from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from pages.shared.subprocess_job import Job, in_subprocess
from studies.attacks.design_audit import audit_choice
from studies.attacks.reconstruction import reconstruct_choice
from studies.registry import STUDIES
from studies.reporting.tables import Report, StudyResult


def study_job(name: str) -> Job[StudyResult]:
    """The quick run of a study in the background, with progress and cancel."""
    return Job(lambda report: in_subprocess(report, run_quickly, name))


def run_quickly(report: Report, name: str) -> StudyResult:
    """The quick run of a study by its name: picklable, for a process of its own."""
    return STUDIES[name].quick(report)


def audit_job(project: Project, choice: Choice) -> Job[StudyResult]:
    """The audit of the analyst's own design in the background."""
    return Job(lambda report: in_subprocess(report, audit_quickly, project, choice))


def audit_quickly(report: Report, project: Project, choice: Choice) -> StudyResult:
    """The audit of a design: picklable, for a process of its own."""
    found = reconstruct_choice(project, choice, report=report)
    return audit_choice(project, choice, report=report) if found is None else found
