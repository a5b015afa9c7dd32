"""The frame of the suite itself."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = """
import pytest
from hypothesis import given, settings, strategies
@pytest.mark.sample
def test_a_good_outcome(counts, measured):
    counts("disks", "unchanged", 2)
    measured("disks", "writes", 7)
def test_a_bad_outcome(counts):
    counts("disks", "lost")
@given(strategies.integers())
def test_generated(number):
    assert settings().derandomize and settings().database is None and settings().deadline is None
"""


@pytest.mark.sample
def test_a_bad_outcome_fails_its_test_and_counts_are_kept(tmp_path):
    folder = tmp_path / "disks"
    folder.mkdir()
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text('[pytest]\naddopts = -m "not hostile or sample"\nmarkers =\n hostile\n sample')
    (folder / "test_disks.py").write_text(TESTS)
    ended = run(tmp_path, "-m", "hostile")
    assert ended == (
        1,
        {"count": [["disks", "unchanged", 2], ["disks", "lost", 1]], "measured": [["disks", "writes", 7]]},
    )
    assert run(tmp_path) == (0, {"count": [["disks", "unchanged", 2]], "measured": [["disks", "writes", 7]]})


def run(folder, *options):
    """The exit status and the properties of the tests."""
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=junit.xml", *options]
    status = subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode
    kept = {"count": [], "measured": []}
    for entry in ElementTree.parse(folder / "junit.xml").iter("property"):
        if entry.get("name") in kept:  # hypothesis has its own
            kept[entry.get("name")].append(json.loads(entry.get("value")))
    return status, kept
