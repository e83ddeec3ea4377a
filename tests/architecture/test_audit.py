"""The optional look-up of vulnerabilities: it fails for a known one, and says when it cannot look up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLEAN = '{"dependencies": [{"name": "numpy", "version": "2.4.6", "vulns": []}], "fixes": []}'
KNOWN = (
    '{"dependencies": [{"name": "numpy", "version": "2.4.6", '
    '"vulns": [{"id": "PYSEC-2099-1", "fix_versions": ["2.4.7"]}]}], "fixes": []}'
)
NPM_CLEAN = '{"auditReportVersion": 2, "vulnerabilities": {}, "metadata": {}}'
NPM_KNOWN = '{"vulnerabilities": {"esbuild": {"severity": "high", "range": "<1"}}, "metadata": {}}'
NPM_OFFLINE = '{"message": "request to https://registry failed", "error": {"summary": "", "detail": ""}}'
FAILED = "ERROR:pip_audit: could not connect to the vulnerability service"


def tool(folder: Path, name: str, *, out: str = "", err: str = "", status: int = 0) -> str:
    """A stand-in for a tool that prints something; the command that runs it."""
    script = folder / f"{name}.py"
    script.write_text(f"import sys; print({out!r}); print({err!r}, file=sys.stderr); sys.exit({status})")
    return f"{sys.executable} {script}"


def audited(pip_audit: str, npm: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci/audit")],
        env={**os.environ, "HEXCURSION_PIP_AUDIT": pip_audit, "HEXCURSION_NPM": npm},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_nothing_known_is_well(tmp_path: Path) -> None:
    status, said = audited(tool(tmp_path, "pip", out=CLEAN), tool(tmp_path, "npm", out=NPM_CLEAN))
    assert (status, said) == (
        0,
        "Python packages: no known vulnerabilities.\nnpm packages: no known vulnerabilities.\n",
    )


def test_a_known_vulnerability_fails(tmp_path: Path) -> None:
    clean, npm_clean = tool(tmp_path, "pip", out=CLEAN), tool(tmp_path, "npm", out=NPM_CLEAN)
    status, said = audited(tool(tmp_path, "pip1", out=KNOWN, status=1), npm_clean)
    assert status == 1
    assert "1 known vulnerabilities.\n  numpy 2.4.6: PYSEC-2099-1, fixed in 2.4.7\n" in said
    status, said = audited(clean, tool(tmp_path, "npm1", out=NPM_KNOWN, status=1))
    assert status == 1
    assert "  esbuild <1: high\n" in said


@pytest.mark.parametrize(
    ("out", "err"),
    [
        ("", FAILED),
        ("", ""),
        ("[]", FAILED),
        ('{"dependencies": []}', FAILED),
        ('{"dependencies": [{"name": "numpy", "skip_reason": "ERROR:pip_audit: not found on PyPI"}]}', ""),
    ],
)
def test_where_nobody_can_be_asked_it_says_so_and_does_not_fail(tmp_path: Path, out: str, err: str) -> None:
    pip_audit = tool(tmp_path, "pip", out=out, err=err, status=1)
    status, said = audited(pip_audit, tool(tmp_path, "npm", out=NPM_OFFLINE, status=1))
    assert status == 0
    assert said.count("cannot look up vulnerabilities here") == 2
    assert said.count("Not checked.") == 2
    assert said.count("ERROR:pip_audit") == (1 if err or "skip_reason" in out else 0)
    assert "request to https://registry failed" in said


def test_one_that_cannot_be_asked_hides_nothing_of_the_other(tmp_path: Path) -> None:
    status, said = audited("no-such-tool-anywhere", tool(tmp_path, "npm", out=NPM_KNOWN, status=1))
    assert status == 1
    assert "Python packages: cannot look up vulnerabilities here (no-such-tool-anywhere is not there)" in said


def test_the_test_run_calls_it_only_when_asked() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert 'if [ "${HEXCURSION_AUDIT:-}" = 1 ]; then' in script
    assert os.access(ROOT / ".ci/audit", os.X_OK)
