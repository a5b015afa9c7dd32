"""Run commands on disks that are full, protected or slow: a sentence, nothing lost, and with room it ends the same."""

from __future__ import annotations

from tests.hostile.commands import COMMANDS, Ended, Laboratory, contents, differences, present
from tests.hostile.file_layer import FULL, PROTECTED, SLOW, Plan

STEP = 7  # between the calls from which on a disk is protected


def fill_at_every_write(lab: Laboratory, name: str, counts) -> None:
    """The disk is full from a call to the file layer on, which does half of its work if it writes."""
    for at in range(len(lab.calls(name, FULL))):
        fail_and_repeat(lab, name, Plan(FULL, at), counts)


def protect_at_some_calls(lab: Laboratory, name: str, counts) -> None:
    """The disk may not be written from a call on, as one that the system mounts again after an error."""
    for at in range(0, len(lab.calls(name)), STEP):
        fail_and_repeat(lab, name, Plan(PROTECTED, at), counts)


def fail_and_repeat(lab: Laboratory, name: str, plan: Plan, counts) -> None:
    lab.uninterrupted(name)
    lab.start(COMMANDS[name].state)
    before = present(lab.work)
    ended = lab.attempt(name, plan)
    outcome = judge(name, ended, before, present(lab.work))
    counts("disks", outcome)
    again, wrong = lab.repeat(name)
    counts("disks", "identical" if again.status == 0 and not wrong else "not repeatable")
    if outcome != "refused in a sentence" or again.status or wrong:
        print(f"{name}, {plan}: {outcome}, {ended.output[-900:]}; then {again.status}: {wrong} {again.output[-600:]}")


def judge(name: str, ended: Ended, before: dict[str, str], after: dict[str, str]) -> str:
    if ended.status == 0:
        return "unchanged"  # what failed was not needed, such as deleting what nobody uses
    if ended.has_traceback:
        return "traceback"
    if not ended.refused:
        return f"status {ended.status}"
    if name in ("add", "remove", "compact") and differences(before, after):
        return "changed"
    return "refused in a sentence"


def run_slowly(lab: Laboratory, name: str, counts) -> None:
    """Each call takes some time."""
    expected = lab.uninterrupted(name)
    lab.start(COMMANDS[name].state)
    ended = lab.attempt(name, Plan(SLOW))
    wrong = differences(expected, contents(lab.work))
    counts("disks", "identical" if ended.status == 0 and not wrong else "other files")
    assert ended.status == 0 and not wrong, (wrong, ended.output)
