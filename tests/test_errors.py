import errno
import re
import sqlite3

import pytest
from safetensors import SafetensorError

from genius.errors import UserError, exit_on_user_error


@pytest.mark.parametrize(
    "error, sentence",
    [
        (UserError("name a run"), "error: name a run"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            r"error: the disk is full \(.*\); finished work is kept: fix this and run the command again",
        ),
        (OSError("300 requested and 0 written"), "error: the disk is full"),  # NumPy
        (sqlite3.OperationalError("database or disk is full"), "error: the disk is full"),
        (SafetensorError("I/O error: No space left on device (os error 28)"), "error: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/run"), "error: a file or folder cannot be .*'/run'"),
        (OSError(errno.EROFS, "Read-only file system"), "error: a file or folder cannot be read or written"),
        (FileExistsError(errno.EEXIST, "File exists", "/out"), r"error: a file is where a folder should be.*'/out'\)"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "/out/a"), "error: a file is where a folder should be"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "/out/a"), ".*or a folder where a file should be"),
    ],
)
def test_a_command_ends_with_a_sentence_on_an_error_of_the_disk(error, sentence, capsys):
    with pytest.raises(SystemExit) as ended, exit_on_user_error():
        raise error
    printed = capsys.readouterr().err
    assert ended.value.code == 2 and printed.count("\n") == 1
    assert re.match(sentence, printed), printed


def test_ctrl_c_ends_a_command_with_a_sentence(capsys):
    with pytest.raises(SystemExit) as ended, exit_on_user_error():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "stopped; finished work is kept: run the command again\n"


@pytest.mark.parametrize("error", [ValueError("No space left"), FileNotFoundError(errno.ENOENT, "gone"), KeyError("a")])
def test_other_errors_pass(error):
    with pytest.raises(type(error)), exit_on_user_error():
        raise error
