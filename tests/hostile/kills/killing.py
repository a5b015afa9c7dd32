"""Interrupt a command, start it again, and compare what it leaves with what an undisturbed one leaves.

A command is stopped at its calls to the file layer, or at random moments, and started again in a copy of its folder:
what is on disk then is what a kill would leave, and one command serves all of its points. From equal folders it is
started once. `kill_at_every_call` does kill.
"""

from __future__ import annotations

import random
import time

from tests.hostile.commands import COMMANDS, Ended, Laboratory, begin, contents, differences
from tests.hostile.file_layer import KILL, STOP, Plan

MOMENTS = 50
PUBLISHING = frozenset({"rename", "replace", "link", "unlink"})
ALL: frozenset[str] = frozenset()


def stop_at_every_call(lab: Laboratory, name: str, counts, kinds: frozenset[str] = ALL) -> None:
    """Before each call to the file layer, or each of these kinds; of a write, half is done."""
    expected = lab.uninterrupted(name)
    child = begin(COMMANDS[name].run, lab.start(COMMANDS[name].state), Plan(STOP, kinds=kinds))
    points = 0
    while child.stopped():
        points += 1
        judge(name, *lab.repeat_elsewhere(name), counts, f"point {points}")
        child.resume()
    check(lab, expected, child.end())
    assert points, "no call was seen"


def stop_at_random_moments(lab: Laboratory, name: str, counts, moments: int = MOMENTS) -> None:
    expected, drawn = lab.uninterrupted(name), random.Random(name)
    lab.start(COMMANDS[name].state)
    started = time.monotonic()
    lab.attempt(name)
    duration = time.monotonic() - started
    child, ran = begin(COMMANDS[name].run, lab.start(COMMANDS[name].state)), 0.0
    for moment in sorted(drawn.uniform(0, duration) for _ in range(moments)):
        child.stop(moment - ran)
        judge(name, *lab.repeat_elsewhere(name), counts, f"{moment:.2f} of {duration:.2f} s")
        child.resume()
        ran = moment
    check(lab, expected, child.end())


def kill_at_every_call(lab: Laboratory, name: str, counts, kinds: frozenset[str]) -> None:
    """Each call of these kinds kills a process of its own."""
    lab.uninterrupted(name)
    points = [(at, call) for at, call in enumerate(lab.calls(name)) if call[0] in kinds]
    assert points, "no call of these kinds was seen"
    for at, call in points:
        lab.start(COMMANDS[name].state)
        ended = lab.attempt(name, Plan(KILL, at))
        assert ended.status in (-9, 0), (call, ended)  # threads may make fewer calls
        judge(name, *lab.repeat(name), counts, f"call {at}, {call}")


def judge(name: str, ended: Ended, wrong: list[str], counts, where: str) -> None:
    if (ended.status == 0 or ended.refused) and not wrong:  # refused: it was done, and is not done twice
        counts("kills", "identical")
        return
    outcome = "other files" if ended.status == 0 else "not repeatable"
    counts("kills", outcome)
    print(f"{name}, interrupted at {where}: {outcome}, status {ended.status}: {wrong} {ended.output[-600:]}")


def check(lab: Laboratory, expected: dict[str, str], ended: Ended) -> None:
    """A command that was only stopped ends like an undisturbed one."""
    assert ended.status == 0, ended.output
    assert not (wrong := differences(expected, contents(lab.work))), wrong
