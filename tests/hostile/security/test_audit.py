"""pip-audit, where it is installed and reaches its database: no weakness that advisories.json does not know.

    python -m venv audit && audit/bin/pip install pip-audit
    PATH=$PATH:audit/bin pytest -m hostile tests/hostile/security/test_audit.py

Without it, test_dependencies.py checks the committed list.
"""

import json
import shutil
import subprocess
from importlib.metadata import distributions

import pytest

from tests.hostile.security.test_dependencies import ADVISORIES

KNOWN = {advisory["id"] for advisory in ADVISORIES}
SECONDS = 300
REPORT = {
    "dependencies": [
        {"name": "one", "version": "1", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2026-96639"]}]},
        {"name": "two", "version": "2", "vulns": [{"id": "PYSEC-2", "aliases": ["CVE-1999-1"]}]},
        {"name": "three", "version": "3", "vulns": []},
        {"name": "four", "skip_reason": "not found"},
    ]
}


def audited(report):
    return [package for package in report["dependencies"] if "vulns" in package]


def unknown(report):
    """Weaknesses of installed packages that the committed list does not name."""
    return [
        f"{package['name']} {package['version']}: {weakness['id']}"
        for package in audited(report)
        for weakness in package["vulns"]
        if not KNOWN & {weakness["id"], *weakness.get("aliases", ())}
    ]


@pytest.mark.sample
def test_a_weakness_that_is_not_in_the_list_is_found():
    assert len(audited(REPORT)) == 3
    assert unknown(REPORT) == ["two 2: PYSEC-2"]


def test_no_installed_package_has_a_weakness_that_is_not_in_the_list(tmp_path, counts, measured):
    program = shutil.which("pip-audit")
    if program is None:
        pytest.skip("pip-audit is not installed; the committed list is checked")
    installed = {one.metadata["Name"]: one.version for one in distributions() if "+" not in one.version}
    (tmp_path / "installed.txt").write_text("".join(f"{name}=={number}\n" for name, number in installed.items()))
    command = [program, "-r", str(tmp_path / "installed.txt"), "--no-deps", "--disable-pip", "-f", "json"]
    ended = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=SECONDS)
    report = json.loads(ended.stdout) if ended.stdout.startswith("{") else {"dependencies": []}
    if not audited(report):
        pytest.skip("pip-audit reached no database here; the committed list is checked")
    assert not unknown(report)
    measured("security", "packages that pip-audit knows", len(audited(report)))
    counts("security", "blocked", len(audited(report)))
