"""The studies: every table and figure of the paper's experiments, and the audit, each from one function."""

from __future__ import annotations

from workflow.studies.design_audit import audit_choice
from workflow.studies.registry import RESULTS, STUDIES, Study, study_job
from workflow.studies.tables import StudyResult, StudyTable, load_result

__all__ = [
    "RESULTS",
    "STUDIES",
    "Study",
    "StudyResult",
    "StudyTable",
    "audit_choice",
    "load_result",
    "study_job",
]
