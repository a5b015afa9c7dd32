"""Kill a command, start it again, and compare what it leaves with what an undisturbed one leaves."""

from __future__ import annotations

import random
import time

from tests.hostile.commands import COMMANDS, Laboratory, begin, contents, differences
from tests.hostile.file_layer import KILL, Plan

MOMENTS = 50
PUBLISHING = {"rename", "replace", "link", "unlink"}


def kill_at_every_call(lab: Laboratory, name: str, counts, kinds: set[str] | None = None) -> None:
    """Before each call to the file layer, or each of these kinds; of a write, half is done."""
    expected, calls = lab.uninterrupted(name), lab.calls(name)
    for at, call in enumerate(calls):
        if kinds and call[0] not in kinds:
            continue
        lab.start(COMMANDS[name].state)
        ended = lab.attempt(name, Plan(KILL, at))
        if ended.status not in (-9, 0):  # threads may make fewer calls
            counts("kills", "not killed")
            print(f"{name}, call {call}: status {ended.status} {ended.output[-600:]}")
        finish(lab, name, expected, counts, f"call {at} of {len(calls)}, {call}")


def kill_at_random_moments(lab: Laboratory, name: str, counts, moments: int = MOMENTS) -> None:
    expected, drawn = lab.uninterrupted(name), random.Random(name)
    lab.start(COMMANDS[name].state)
    started = time.monotonic()
    lab.attempt(name)
    duration = time.monotonic() - started
    for _ in range(moments):
        lab.start(COMMANDS[name].state)
        seconds, child = drawn.uniform(0, duration), begin(COMMANDS[name].run, lab.work)
        child.kill(seconds)
        finish(lab, name, expected, counts, f"{seconds:.2f} of {duration:.2f} s")


def finish(lab: Laboratory, name: str, expected: dict[str, str], counts, where: str) -> None:
    ended = lab.attempt(name)
    wrong = differences(expected, contents(lab.work))
    if (ended.status == 0 or ended.refused) and not wrong:  # refused: it was done, and is not done twice
        counts("kills", "identical")
        return
    outcome = "other files" if ended.status == 0 else "not repeatable"
    counts("kills", outcome)
    print(f"{name}, killed at {where}: {outcome}, status {ended.status}: {wrong} {ended.output[-600:]}")
