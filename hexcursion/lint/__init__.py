"""The leak lint: what a planned or a written release gives away beside its mechanism."""

from __future__ import annotations

from hexcursion.lint.bundle import lint_bundle, plan_from_bundle
from hexcursion.lint.checks import (
    CHECKS,
    CHOICES,
    LEAK,
    NOTE,
    WARNING,
    Finding,
    PlannedRelease,
    lint,
    plan_from_mapping,
)
from hexcursion.lint.command import (
    CLEAN_RECIPE,
    PAPER_LONDON_RECIPE,
    add_lint_command,
    plan_from_settings,
    report,
    run_lint,
)

__all__ = [
    "CHECKS", "CHOICES", "CLEAN_RECIPE", "LEAK", "NOTE", "PAPER_LONDON_RECIPE", "WARNING", "Finding",
    "PlannedRelease", "add_lint_command", "lint", "lint_bundle", "plan_from_bundle", "plan_from_mapping",
    "plan_from_settings", "report", "run_lint",
]  # fmt: skip
