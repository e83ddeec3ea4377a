"""The leak lint: what a planned or a written release gives away beside its mechanism."""

from __future__ import annotations

from workflow.lint.bundle import lint_bundle, plan_from_bundle
from workflow.lint.checks import CHECKS, LEAK, NOTE, WARNING, Finding, lint
from workflow.lint.command import add_lint_command, report, run_lint
from workflow.lint.from_settings import plan_from_settings
from workflow.lint.plan import CHOICES, PlannedRelease, plan_from_mapping
from workflow.lint.recipes import CLEAN_RECIPE, PAPER_LONDON_RECIPE

__all__ = [
    "CHECKS",
    "CHOICES",
    "CLEAN_RECIPE",
    "LEAK",
    "NOTE",
    "PAPER_LONDON_RECIPE",
    "WARNING",
    "Finding",
    "PlannedRelease",
    "add_lint_command",
    "lint",
    "lint_bundle",
    "plan_from_bundle",
    "plan_from_mapping",
    "plan_from_settings",
    "report",
    "run_lint",
]
