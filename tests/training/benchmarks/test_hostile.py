from xml.etree import ElementTree

from tests.explore.sample_reports import HOSTILE_SUITE
from tests.hostile.conftest import CLASSES
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


def test_a_run_of_one_class_keeps_the_figures_of_the_others(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(hostile, "run_part", lambda name, limit: ran.append(name) or HOSTILE_SUITE["parts"]["load"])
    assert hostile.main([str(tmp_path), "--part", "load"]) == 0
    assert hostile.main([str(tmp_path), "--part", "disks"]) == 0
    assert ran == ["load", "disks"]
    assert list(hostile.read_json(tmp_path / "hostile.json")["parts"]) == ["disks", "load"]


def test_the_command_knows_the_classes_of_the_suite():
    assert hostile.PARTS == CLASSES
