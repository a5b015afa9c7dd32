"""Disks that may not be written, and disks that are slow."""

import ctypes
import os
import stat
from functools import partial
from pathlib import Path

import pytest

from tests.hostile.commands import COMMANDS, begin, contents
from tests.hostile.disks.failing import protect_at_some_calls, run_slowly

QUICK = ("add", "remove", "compact", "collections", "ship", "evaluation", "growing", "quantizer", "index")
DAC_OVERRIDE = 1 << 1  # the capability by which root writes what nobody may write


def without_rights(name: str, root: Path) -> None:
    """Run a command as somebody who may not write what is protected, which root may."""
    if os.geteuid() == 0:
        header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.capget(header, rights) == 0
        rights[0] &= ~DAC_OVERRIDE
        assert libc.capset(header, rights) == 0, os.strerror(ctypes.get_errno())
    COMMANDS[name].run(root)


def protect(root: Path, protected: bool) -> None:
    for path in [*root.rglob("*"), root]:
        if path.name != "tmp" and not path.is_symlink():
            write = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
            path.chmod(path.stat().st_mode & ~write if protected else path.stat().st_mode | stat.S_IWUSR)


@pytest.mark.parametrize("name", COMMANDS)
def test_folders_that_may_not_be_written_get_a_sentence_and_stay_as_they_were(name, lab, counts):
    root = lab.start(COMMANDS[name].state)
    (root / "tmp").mkdir(exist_ok=True)  # an earlier command may have left it
    before = contents(root)
    protect(root, True)
    try:
        ended = begin(partial(without_rights, name), root).end()
    finally:
        protect(root, False)
    assert ended.refused, ended.output
    assert contents(root) == before
    counts("disks", "refused in a sentence")


@pytest.mark.parametrize("name", QUICK)
def test_a_disk_that_becomes_protected_gets_a_sentence_and_loses_nothing(name, lab, counts):
    protect_at_some_calls(lab, name, counts)


@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_slow_disk_every_command_ends_the_same(name, lab, counts):
    run_slowly(lab, name, counts)
