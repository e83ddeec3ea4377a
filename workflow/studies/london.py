"""stub"""

from __future__ import annotations
from dataclasses import dataclass
from workflow.studies.tables import Report, StudyResult


@dataclass(frozen=True)
class LondonSettings:
    @staticmethod
    def quick() -> LondonSettings:
        return LondonSettings()

    @staticmethod
    def full() -> LondonSettings:
        return LondonSettings()


def run(settings: LondonSettings, report: Report | None = None) -> StudyResult:
    raise NotImplementedError
