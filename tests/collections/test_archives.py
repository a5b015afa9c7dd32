"""A ZIP of a stranger is unpacked behind bounds."""

import random
import zipfile

import pytest

from genius.collections import archives
from genius.collections.archives import find_pictures
from genius.collections.listing import HIDDEN, OTHER, UNSUPPORTED

NAMES = ("../../etc/passwd.png", "/srv/a.jpg", "..", "a\\..\\b.png", "x" * 300 + ".png", "C:\\w.gif", "dir/")


def zipped(file, entries, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file


def test_no_name_of_an_archive_leads_out_of_the_folder_and_every_file_is_accounted_for(tmp_path):
    others = (("__MACOSX/._a.jpg", b"x"), (".b.jpg", b"x"), ("in.zip", b"PK"), ("n.txt", b"x"))
    archive = zipped(tmp_path / "a.zip", [*((name, b"x") for name in NAMES), *others])
    (folder := tmp_path / "to").mkdir()
    pictures, others = find_pictures([tmp_path / "own.jpg", archive], folder)
    assert pictures[0] == tmp_path / "own.jpg" and len(pictures) == 6
    assert all(picture.resolve().is_relative_to(folder) and picture.is_file() for picture in pictures[1:])
    assert sorted(report.outcome for report in others) == [HIDDEN] * 2 + [OTHER] * 2 + [UNSUPPORTED]
    assert {file.name for file in tmp_path.iterdir()} == {"a.zip", "to"}


def test_what_is_large_damaged_or_encrypted_is_named_and_the_rest_is_used(tmp_path, monkeypatch):
    good = zipped(tmp_path / "good.zip", [("a.png", b"picture"), ("b.png", random.Random(0).randbytes(5000))])
    data = bytearray(good.read_bytes())
    data[data.find(b"b.png") + 900] ^= 255
    (damaged := tmp_path / "damaged.zip").write_bytes(data)
    data = bytearray(good.read_bytes())
    data[6] |= 1
    data[data.find(b"PK\1\2") + 8] |= 1
    (encrypted := tmp_path / "encrypted.zip").write_bytes(data)
    (cut := tmp_path / "cut.zip").write_bytes(good.read_bytes()[:100])
    rare = zipped(tmp_path / "rare.zip", [("a.png", b"picture")], zipfile.ZIP_LZMA)
    for archive, used, said in (
        (rare, 0, "a.png is compressed in a rare way"),
        (damaged, 1, "b.png cannot be unpacked"),
        (encrypted, 1, "a.png is encrypted"),
        (cut, 0, "cut.zip cannot be unpacked (File is not a zip file)"),
    ):
        pictures, (report,) = find_pictures([archive], tmp_path / archive.stem)
        assert len(pictures) == used and report.outcome == "unreadable" and report.detail.startswith(said)
    monkeypatch.setattr(archives, "MAX_UNPACKED", 8000)
    pictures, (report,) = find_pictures([good, good], tmp_path / "twice")
    assert len(pictures) == 2 and "it holds 2 files of 0 MB" in report.detail


@pytest.mark.parametrize("limit", ["MAX_ENTRIES", "MAX_LIST"])
def test_a_list_of_too_many_files_is_refused(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(archives, limit, 1 if limit == "MAX_ENTRIES" else 100)
    archive = zipped(tmp_path / "many.zip", [(f"{number}.png", b"x") for number in range(3)])
    pictures, (report,) = find_pictures([archive], tmp_path / "to")
    assert not pictures and report.detail.startswith("many.zip cannot be unpacked (it")
