"""Run the hostile suite and report what each class of attempts came to.

    python -m training.benchmarks.hostile OUT
    python -m training.benchmarks.hostile OUT --part load --part disks
    python -m training.benchmarks.hostile OUT --file tests/hostile/load/test_swaps.py

OUT gets hostile.json and hostile.md, written anew after each file of tests. Each file runs in a process of its own,
which is ended after ten minutes (--limit). With --part or --file only these are run, and the figures of the others are
kept if OUT has a report already, with the commit of the code that each was run with; the report names the files that
were not run. The Reports tab shows the report of a run whose OUT is RUN/reports. The exit status is 1 if a test failed.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser, parse_positive
from genius.evaluation.tables import table
from genius.explore.report_tables.hostile_tables import hostile_note, hostile_tables
from genius.files import write_json, write_text
from genius.reading import read_json
from training.distributed import expect_one_process

ROOT = Path(__file__).resolve().parents[2]
SUITE = Path("tests") / "hostile"
PARTS = ("inputs", "artifacts", "kills", "races", "disks", "load", "security")
LIMIT = 600  # seconds for one file
LIMIT_VARIABLE = "GENIUS_HOSTILE_LIMIT"  # by which the tests are told of it
SHOWN = 300  # characters of a failure

Part = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    parser = command_parser("training.benchmarks.hostile", __doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="where hostile.json and hostile.md are written")
    parser.add_argument("--part", action="append", default=[], choices=PARTS, help="run this class; repeat for several")
    parser.add_argument("--file", action="append", default=[], type=Path, help="run this file of tests")
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=LIMIT,
        help="seconds for one file (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    report = options.out / "hostile.json"
    known = read_json(report)["files"] if report.is_file() else {}
    files = {name: known[name] for name in map(str, suite()) if name in known}  # others are no longer there
    failed = False
    for file in chosen(options.part, options.file):
        print(f"{file} …", flush=True)
        files[str(file)] = found = run_file(file, options.limit)
        failed |= bool(found["failures"])
        print(f"{found['seconds']:.0f} s, of a processor {found['processor_seconds']:.0f} s", flush=True)
        write_report(options.out, files)
    return int(failed)


def suite(part: str = "") -> list[Path]:
    """The files of the suite, or of one class, below the repository."""
    files = sorted((ROOT / SUITE / part).rglob("test_*.py"), key=lambda file: (class_of(file.relative_to(ROOT)), file))
    return [file.relative_to(ROOT) for file in files if file.relative_to(ROOT / SUITE).parts[0] in PARTS]


def class_of(file: Path) -> int:
    """The place of its class in the report."""
    name = file.relative_to(SUITE).parts[0]
    return PARTS.index(name) if name in PARTS else len(PARTS)


def chosen(parts: Sequence[str], files: Sequence[Path]) -> list[Path]:
    """Raises UserError for a file that is not of the suite."""
    known = suite()
    for file in files:
        if file not in known:
            raise UserError(f"{file} is not a file of {SUITE}, such as {known[0]}")
    if not parts and not files:
        return known
    return [file for file in known if file in files or PARTS[class_of(file)] in parts]


def write_report(out: Path, files: dict[str, Part]) -> None:
    report = {
        "command": "python -m training.benchmarks.hostile OUT",
        "machine": f"{platform.system()} on {os.cpu_count()} cores, Python {platform.python_version()}",
        "parts": parts_of(files),
        "files": files,
        "not_run": [name for name in map(str, suite()) if name not in files],
    }
    write_json(out / "hostile.json", report)
    write_text(out / "hostile.md", markdown(report))


def parts_of(files: dict[str, Part]) -> dict[str, Part]:
    """The figures of the classes: those of their files, added up."""
    parts: dict[str, Part] = {}
    for name in sorted(files, key=lambda name: class_of(Path(name))):
        file, part = files[name], parts.setdefault(PARTS[class_of(Path(name))], empty())
        for key in ("tests", "seconds", "processor_seconds"):
            part[key] = round(part[key] + file[key], 1)
        for outcome, number in file["outcomes"].items():
            part["outcomes"][outcome] = part["outcomes"].get(outcome, 0) + number
        part["measured"] |= file["measured"]
        for key in ("skipped", "failures"):
            part[key] += file[key]
    return parts


def empty() -> Part:
    figures = {"tests": 0, "seconds": 0.0, "processor_seconds": 0.0}
    return figures | {"outcomes": {}, "measured": {}, "skipped": [], "failures": []}


def run_file(file: Path, limit: int) -> Part:
    """The figures of one file of tests."""
    found, started, used = empty(), time.monotonic(), processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        environment = os.environ | {LIMIT_VARIABLE: str(limit)}
        process = subprocess.Popen(command_for(file, junit), cwd=ROOT, env=environment, start_new_session=True)
        try:
            ended = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the servers and commands that the tests started
            process.wait()
            found["failures"].append(f"{file}: not done after {limit} seconds")
        else:
            if junit.is_file():
                add_results(ElementTree.parse(junit).getroot(), found)
            elif ended != 5:  # no test was selected
                found["failures"].append(f"{file}: pytest ended with status {ended}")
    found["seconds"] = round(time.monotonic() - started, 1)
    found["processor_seconds"] = round(processor_seconds() - used, 1)
    return found | {"code": code()}


def code() -> str:
    """The commit of this checkout; with a plus sign if files differ from it; empty outside a checkout."""
    if not shutil.which("git"):
        return ""
    describe = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty=+"]
    return subprocess.run(describe, capture_output=True, text=True).stdout.strip()


def command_for(file: Path, junit: Path) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "hostile", f"--junitxml={junit}", str(file)]


def processor_seconds() -> float:
    """What the processes took that have ended: unlike the time of a clock, the same on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
        expect_one_process()
        sys.exit(main())
