import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from genius.errors import UserError
from tests.explore.report_tables.sample_reports import HOSTILE_SUITE
from tests.hostile.conftest import CLASSES
from tests.waiting import wait_until
from training.benchmarks import hostile

RESULTS = """<testsuites><testsuite>
<testcase name="test_one"><properties><property name="count" value='["disks", "unchanged", 3]'/>
  <property name="measured" value='["disks", "writes", 12]'/></properties></testcase>
<testcase name="test_two"><failure message="traceback: 1 (disks)">…</failure><properties>
  <property name="count" value='["disks", "unchanged", 4]'/>
  <property name="count" value='["disks", "traceback", 1]'/></properties></testcase>
<testcase name="test_three"><skipped message="needs a tmpfs"/></testcase>
</testsuite></testsuites>"""


def test_the_results_of_a_file_are_added_to_its_class():
    part = {"tests": 1, "outcomes": {"unchanged": 10}, "measured": {}, "skipped": [], "failures": []}
    hostile.add_results(ElementTree.fromstring(RESULTS), part)
    assert part == {
        "tests": 4,
        "outcomes": {"unchanged": 17, "traceback": 1},
        "measured": {"writes": 12},
        "skipped": ["test_three: needs a tmpfs"],
        "failures": ["test_two: traceback: 1 (disks)"],
    }


def test_the_report_names_outcomes_failures_and_skipped_tests():
    text = hostile.markdown(HOSTILE_SUITE)
    for words in ("| inputs", "1,200", "812.50", "- inputs: test_a_text: traceback", "no network namespace"):
        assert words in text


FILE = {
    "tests": 2,
    "seconds": 4.5,
    "processor_seconds": 3.0,
    "outcomes": {"unchanged": 7},
    "measured": {"writes": 12},
    "skipped": [],
    "failures": [],
    "code": "0123abcd",
}
ONE, OTHER = "tests/hostile/disks/test_full.py", "tests/hostile/disks/test_served.py"


def test_a_run_of_some_files_keeps_the_figures_of_the_others(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(hostile, "run_file", lambda file, limit: ran.append(str(file)) or FILE)
    assert hostile.main([str(tmp_path), "--file", ONE, "--file", "tests/hostile/load/test_swaps.py"]) == 0
    assert hostile.main([str(tmp_path), "--part", "disks"]) == 0
    assert ran[:2] == [ONE, "tests/hostile/load/test_swaps.py"] and ran.count(ONE) == 2 and OTHER in ran
    report = hostile.read_json(tmp_path / "hostile.json")
    assert list(report["parts"]) == ["disks", "load"] and len(report["files"]) == len(ran) - 1
    disks = len(ran) - 2
    assert report["parts"]["disks"]["outcomes"] == {"unchanged": 7 * disks}
    assert report["parts"]["disks"]["processor_seconds"] == 3 * disks
    assert len(report["not_run"]) + len(report["files"]) == len(hostile.suite()) and ONE not in report["not_run"]


def test_a_report_is_there_after_each_file_and_failures_are_the_status(tmp_path, monkeypatch):
    reported = []

    def run_file(file, limit):
        reported.append((tmp_path / "hostile.json").is_file())
        return FILE | {"failures": ["test_one: traceback"]}

    monkeypatch.setattr(hostile, "run_file", run_file)
    assert hostile.main([str(tmp_path), "--file", ONE, "--file", OTHER]) == 1
    assert reported == [False, True]
    assert "test_one: traceback" in (tmp_path / "hostile.md").read_text()


def test_a_file_that_is_not_of_the_suite_is_refused(tmp_path):
    for file in ("tests/test_app.py", "tests/hostile/test_counting.py", "tests/hostile/disks/failing.py"):
        with pytest.raises(UserError, match="is not a file of tests/hostile"):
            hostile.main([str(tmp_path), "--file", file])


def test_a_file_that_does_not_end_is_a_failure_and_ends_with_what_it_started(tmp_path, monkeypatch):
    started = tmp_path / "started"
    child = f"sh -c 'echo $$ > {started}; sleep 300' & wait"
    monkeypatch.setattr(hostile, "command_for", lambda file, junit: ["sh", "-c", child])
    assert hostile.run_file(Path(ONE), 3)["failures"] == [f"{ONE}: not done after 3 seconds"]
    wait_until(lambda: has_ended(int(started.read_text())))  # it is killed, and may not have noticed


def has_ended(process):
    """Whether it is gone, or nobody has asked for its exit status yet."""
    try:
        return ") Z" in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def test_the_command_knows_the_classes_of_the_suite():
    assert hostile.PARTS == CLASSES


@pytest.mark.parametrize("limit", ["-1", "0"])
def test_a_limit_below_one_second_is_refused(tmp_path, limit):
    with pytest.raises(UserError, match="--limit .*at least 1"):
        hostile.main([str(tmp_path), "--limit", limit])


def test_a_file_has_as_long_as_the_limit_and_names_the_code_it_was_run_with(monkeypatch):
    child = (
        f"import os, sys; sys.exit(5 if os.environ['{hostile.LIMIT_VARIABLE}'] == '77' else 1)"  # 5: no test selected
    )
    monkeypatch.setattr(hostile, "command_for", lambda file, junit: [sys.executable, "-c", child])
    monkeypatch.setattr(hostile, "code", lambda: "0123abcd")
    found = hostile.run_file(Path(ONE), 77)
    assert found["failures"] == [] and found["code"] == "0123abcd"


def test_the_code_is_named_by_its_commit_and_changes_by_a_sign(tmp_path, monkeypatch):
    def git(*given):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a", *given], check=True)

    monkeypatch.setattr(hostile, "ROOT", tmp_path)
    assert hostile.code() == ""
    (tmp_path / "a").write_text("one")
    git("init", "-q")
    git("add", "a")
    git("commit", "-q", "-m", "one")
    assert re.fullmatch("[0-9a-f]{8}", hostile.code())
    (tmp_path / "a").write_text("two")
    assert hostile.code().endswith("+")
