"""The other files of deploy/: what they start is there, runs as nobody special, takes nothing private."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from pages.shared.server.access_rules import HOSTS, IDLE, MODE, Locked, Secrets, decide
from tests.browser.harness import ROOT

DEPLOY = ROOT / "deploy"


def test_the_example_secrets_do_not_start_until_they_are_filled_in() -> None:
    text = (DEPLOY / "secrets.example.toml").read_text()
    with pytest.raises(Locked, match="cookie_secret"):
        decide({}, (), Secrets(tomllib.loads(text)), "127.0.0.1")
    filled = text.replace("replace me", "0123456789abcdef" * 2)
    access = decide({}, (), Secrets(tomllib.loads(filled)), "127.0.0.1")
    assert (access.sign_in, access.hosts) == (True, ("maps.example.org",))
    assert access.curators == {"ada@example.org"}


def test_the_unit_starts_the_app_as_a_user_without_rights() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "hexcursion.service")
    service = unit["Service"]
    program, script, *arguments = service["ExecStart"].split()
    assert program == "/opt/hexcursion/.venv/bin/python"
    assert (ROOT / script).is_file()
    assert arguments == ["--server.port", "8501", "--secrets.files", "/etc/hexcursion/secrets.toml"]
    assert service["User"] == "hexcursion"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["PrivateTmp"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert service["UMask"] == "0077"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_takes_the_units_of_a_schedule() -> None:
    units = [DEPLOY / f"hexcursion-release.{kind}" for kind in ("service", "timer")]
    asked = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stderr) == (0, "")


def test_everything_that_serves_has_a_bound_on_its_memory() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "hexcursion.service")
    said = {name: unit["Service"][name] for name in ("MemoryHigh", "MemoryMax", "MemorySwapMax", "TasksMax")}
    assert said == {"MemoryHigh": "70%", "MemoryMax": "80%", "MemorySwapMax": "0", "TasksMax": "512"}
    for name in ("compose.yaml", "compose.office.yaml"):
        services = yaml.safe_load((DEPLOY / name).read_text())["services"]
        assert [each for each, service in services.items() if "mem_limit" not in service] == ["proxy"]
    services = yaml.safe_load((DEPLOY / "compose.office.yaml").read_text())["services"]
    assert (services["app"]["mem_limit"], services["viewer"]["mem_limit"]) == ("16g", "2g")
    assert "/tmp:mode=1777,size=512m" in services["viewer"]["tmpfs"]


def test_the_image_runs_a_viewer_as_nobody_special() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    said = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in lines if re.match(r"[A-Z]+ ", line)}
    assert said["FROM"].startswith("docker.io/library/python:3.11-slim")
    assert said["USER"] == "10001"
    assert said["CMD"] == '["--viewer"]'
    assert said["ENTRYPOINT"].startswith('["python", "app.py", "--server.address", "0.0.0.0"')
    # And without --viewer it does not start, unless somebody configures a sign-in.
    with pytest.raises(Locked):
        decide({}, (), Secrets(), "0.0.0.0")


def test_an_image_takes_nothing_private_along() -> None:
    ignored = set((ROOT / ".dockerignore").read_text().splitlines())
    assert {".git", ".venv", ".hexcursion", "**/secrets.toml", ".streamlit/secrets.toml"} <= ignored
    assert ".streamlit/secrets.toml" in (ROOT / ".gitignore").read_text().splitlines()


def test_an_image_holds_the_whole_program_and_nothing_that_it_does_without() -> None:
    """What `COPY . .` takes: all files of the repository but those of .dockerignore."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    left_out = [line.removeprefix("**/") for line in lines if line and not line.startswith("#")]
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = [name for name in asked.stdout.split("\0") if name]
    image = {
        name
        for name in tracked
        if not any(f"/{name}/".startswith(f"/{each}/") or f"/{each}/" in f"/{name}/" for each in left_out)
    }
    rooms = ("data_loaders/", "dpgp_core/", "frontend/src/", "geo/", "hexcursion/", "pages/", "static/")
    assert [name for name in tracked if name.startswith(rooms) and name not in image] == []
    assert image >= {"app.py", "requirements.txt", "frontend/build.py", "frontend/package-lock.json"}
    assert image >= {".streamlit/config.toml", "static/tour/bundle.zip", "static/tour/search.json"}
    assert [name for name in image if name.startswith("tests/") or name.endswith("secrets.toml")] == []
    modules = [name for name in image if name.startswith(rooms) and name.endswith(".py")]
    strays = re.compile(r"^(?:from|import) tests\b", re.MULTILINE)
    assert [name for name in modules if strays.search((ROOT / name).read_text(encoding="utf-8"))] == []


def test_only_the_proxy_reaches_the_composed_app() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    app, proxy = services["app"], services["proxy"]
    assert "ports" not in app
    assert app["networks"] == ["inside"]
    assert app["read_only"] is True
    assert app["cap_drop"] == ["ALL"]
    assert (ROOT / "deploy" / app["build"]["context"] / app["build"]["dockerfile"]).is_file()
    assert sorted(proxy["ports"]) == ["443:443", "80:80"]


def test_an_office_keeps_ledger_search_and_readers_apart() -> None:
    composed = yaml.safe_load((DEPLOY / "compose.office.yaml").read_text())
    services = composed["services"]
    assert sorted(services) == ["app", "ledger", "proxy", "scheduler", "viewer", "worker"]
    reached = {name: set(service["networks"]) for name, service in services.items()}
    assert reached["ledger"] == {"ledger"}
    assert reached["scheduler"] == reached["worker"] == {"search"}
    assert reached["viewer"] == {"inside"}
    assert reached["app"] == {"inside", "ledger", "search"}
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert all(composed["networks"][name]["internal"] for name in ("inside", "ledger", "search"))
    assert [volume.split(":")[0] for volume in services["viewer"]["volumes"]] == ["bundles"]
    assert services["viewer"]["volumes"][0].endswith(":ro")
    assert services["viewer"]["command"] == ["--viewer"]
    for name in ("app", "viewer", "scheduler", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
    assert services["app"]["environment"]["HEXCURSION_LEDGER"].startswith("postgresql+psycopg://")
    said = set(services["app"]["environment"]) | set(services["viewer"]["environment"])
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in said if name.startswith("HEXCURSION_"))


@pytest.mark.parametrize(
    "variable",
    [
        MODE, HOSTS, IDLE, "HEXCURSION_DATA", "HEXCURSION_HOME", "HEXCURSION_LEDGER", "HEXCURSION_AT_ONCE",
        "HEXCURSION_MEMORY_GB", "HEXCURSION_READ_BEFORE", "HEXCURSION_UPLOADS_MB",
    ],
)  # fmt: skip
def test_every_variable_is_documented(variable: str) -> None:
    assert f"`{variable}`" in (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


def test_the_document_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(deploy/[\w.-]+)`", text))
    assert named == {f"deploy/{path.name}" for path in DEPLOY.iterdir()}
    assert all(Path(ROOT / name).is_file() for name in named)
