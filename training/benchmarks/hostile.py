"""Run the hostile suite and report what each class of attempts came to.

    python -m training.benchmarks.hostile OUT
    python -m training.benchmarks.hostile OUT --part load --part disks

OUT gets hostile.json and hostile.md. Each file of tests/hostile runs in a process of its own, which is ended after ten
minutes. With --part only these classes run, and the figures of the others are kept if OUT has a report already. The
Reports tab shows the report of a run whose OUT is RUN/reports. The exit status is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from genius.errors import exit_on_user_error
from genius.evaluation.tables import table
from genius.explore.report_data import hostile_note, hostile_tables
from genius.files import write_json, write_text
from genius.reading import read_json

ROOT = Path(__file__).resolve().parents[2]
SUITE = Path("tests") / "hostile"
PARTS = ("inputs", "artifacts", "kills", "races", "disks", "load", "security")
LIMIT = 600  # seconds for one file
SHOWN = 300  # characters of a failure

Part = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="where hostile.json and hostile.md are written")
    parser.add_argument("--part", action="append", choices=PARTS, help="run this class only; repeat for several")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds for one file (default: %(default)s)")
    given = parser.parse_args(argv)
    file = given.out / "hostile.json"
    known = read_json(file)["parts"] if file.is_file() else {}
    parts = {name: run_part(name, given.limit) if name in (given.part or PARTS) else known.get(name) for name in PARTS}
    report = {
        "command": "python -m training.benchmarks.hostile OUT",
        "machine": f"{platform.system()} on {os.cpu_count()} cores, Python {platform.python_version()}",
        "parts": {name: part for name, part in parts.items() if part is not None},
    }
    write_json(file, report)
    write_text(given.out / "hostile.md", markdown(report))
    print(markdown(report))
    return int(any(part["failures"] for part in report["parts"].values()))


def run_part(name: str, limit: int) -> Part:
    """Run all files of a class and add up their figures."""
    part: Part = {"tests": 0, "seconds": 0.0, "outcomes": {}, "measured": {}, "skipped": [], "failures": []}
    for file in sorted((ROOT / SUITE / name).rglob("test_*.py")):
        print(f"{file.relative_to(ROOT)} …", flush=True)
        run_file(file.relative_to(ROOT), limit, part)
    return part


def run_file(file: Path, limit: int, part: Part) -> None:
    """Run one file and add its figures to those of its class."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "hostile", f"--junitxml={junit}", str(file)]
        try:
            ended = subprocess.run(command, cwd=ROOT, timeout=limit, check=False).returncode
        except subprocess.TimeoutExpired:
            part["failures"].append(f"{file}: not done after {limit} seconds")
        else:
            if junit.is_file():
                add_results(ElementTree.parse(junit).getroot(), part)
            elif ended != 5:  # no test was selected
                part["failures"].append(f"{file}: pytest ended with status {ended}")
    part["seconds"] = round(part["seconds"] + time.monotonic() - started, 1)


def add_results(suites: ElementTree.Element, part: Part) -> None:
    """Add the tests of a JUnit file: counts, measured values, skipped tests and failures."""
    for test in suites.iter("testcase"):
        part["tests"] += 1
        name = test.get("name", "")
        for found in test:
            if found.tag in ("failure", "error"):
                part["failures"].append(f"{name}: {found.get('message', '')}"[:SHOWN])
            elif found.tag == "skipped":
                part["skipped"].append(f"{name}: {found.get('message', '')}"[:SHOWN])
        for entry in test.iter("property"):
            if entry.get("name") == "count":
                _, outcome, number = json.loads(entry.get("value", ""))
                part["outcomes"][outcome] = part["outcomes"].get(outcome, 0) + number
            elif entry.get("name") == "measured":
                _, measure, value = json.loads(entry.get("value", ""))
                part["measured"][measure] = value


def markdown(report: dict[str, Any]) -> str:
    """The report in words: what the page shows, then the tests that failed or were skipped."""
    lines = ["# Hostile testing", "", hostile_note(report), ""]
    for shown in hostile_tables(report):
        cells = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
        lines += [f"## {shown.title}", "", table(cells, shown.words), ""]
    for name, part in report["parts"].items():
        for measure, values in part["measured"].items():
            if isinstance(values, list):
                lines += [f"{name}: {measure}: {', '.join(map(str, values))}", ""]
    for kind in ("failures", "skipped"):
        names = [f"- {name}: {entry}" for name, part in report["parts"].items() for entry in part[kind]]
        lines += [f"## {kind.capitalize()}", "", *names, ""] if names else []
    return "\n".join(lines)


if __name__ == "__main__":
    with exit_on_user_error():
        sys.exit(main())
