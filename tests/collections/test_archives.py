"""Archives of a stranger are unpacked behind bounds, and those of a source are read as its folders
are.
"""

import io
import random
import tarfile
import zipfile

import pytest

from genius.collections import archives
from genius.collections.archives import find_pictures
from genius.collections.building import build
from genius.collections.listing import HIDDEN, OTHER, UNREADABLE, UNSUPPORTED
from genius.collections.sources import read_source
from genius.errors import UserError
from tests.collections.built import captions_of
from tests.collections.samples import picture

NAMES = (
    "../../etc/passwd.png",
    "/srv/a.jpg",
    "..",
    "a\\..\\b.png",
    "x" * 300 + ".png",
    "C:\\w.gif",
    "dir/",
)


def zipped(file, entries, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file


def test_no_name_of_an_archive_leads_out_of_the_folder_and_every_file_is_accounted_for(tmp_path):
    others = (("__MACOSX/._a.jpg", b"x"), (".b.jpg", b"x"), ("in.zip", b"PK"), ("n.txt", b"x"))
    archive = zipped(tmp_path / "a.zip", [*((name, b"x") for name in NAMES), *others])
    (folder := tmp_path / "to").mkdir()
    (own, *pictures), others = find_pictures([tmp_path / "own.jpg", archive], folder)
    assert own == tmp_path / "own.jpg" and len(pictures) == 5
    assert all(file.resolve().is_relative_to(folder) and file.is_file() for file in pictures)
    assert sorted(report.outcome for report in others) == [HIDDEN] * 2 + [OTHER] * 2 + [UNSUPPORTED]
    assert {file.name for file in tmp_path.iterdir()} == {"a.zip", "to"}


def test_what_is_large_damaged_or_encrypted_is_named_and_the_rest_is_used(tmp_path, monkeypatch):
    good = zipped(
        tmp_path / "good.zip", [("a.png", b"picture"), ("b.png", random.Random(0).randbytes(5000))]
    )
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
        assert len(pictures) == used and report.outcome == UNREADABLE
        assert report.detail.startswith(said)
    monkeypatch.setattr(archives, "MAX_UNPACKED", 8000)
    pictures, (report,) = find_pictures([good, good], tmp_path / "twice")
    assert len(pictures) == 2 and "it holds 2 files of 0 MB" in report.detail


@pytest.mark.parametrize("limit", ["MAX_ENTRIES", "MAX_LIST"])
def test_a_list_of_too_many_files_is_refused(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(archives, limit, 1 if limit == "MAX_ENTRIES" else 100)
    archive = zipped(tmp_path / "many.zip", [(f"{number}.png", b"x") for number in range(3)])
    pictures, (report,) = find_pictures([archive], tmp_path / "to")
    assert not pictures and report.detail.startswith("many.zip cannot be unpacked (it")


def tarred(file, entries):
    packing = {".tar": "w", ".tgz": "w:gz"}.get(file.suffix, f"w:{file.suffix[1:]}")
    with tarfile.open(file, packing) as archive:
        for name, data in entries:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file


SHARD = [
    ("000.png", picture(3)),
    ("000.txt", b"shape 000"),
    ("000.json", b'{"width": 8}'),
    ("000.cls", b"1"),
    ("22.05.png", picture(5)),
    ("22.05.txt", b"shape 22.05"),
]


@pytest.mark.parametrize(
    "pack, name",
    [
        (zipped, "0.zip"),
        *((tarred, f"0.{end}") for end in ("tar", "tar.gz", "tgz", "tar.bz2", "tar.xz")),
    ],
)
@pytest.mark.parametrize("sort", ["named", "alone", "one of two"])
def test_a_shard_of_webdataset_is_read_as_a_folder(tmp_path, monkeypatch, pack, name, sort):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (folder := tmp_path / "x").mkdir()
    pack(folder / name, SHARD)
    inside = f"{name}/" * (sort == "one of two")
    expected = {f"{inside}000.png": ["shape 000"], f"{inside}22.05.png": ["shape 22.05"]}
    if inside:
        tarred(folder / "1.tar", [("b.png", picture(9))])
        expected["1.tar/b.png"] = []
    source = read_source(folder / name if sort == "named" else folder)
    assert captions_of(source) == expected
    assert "archives are unpacked among temporary files while they are read" in source.notes
    outcomes = {report.file: report.outcome for report in source.others}
    assert outcomes[name] == "used" and outcomes[f"{name}/000.cls"] == OTHER
    archives_read = [file for file in outcomes if file in ("1.tar", name)]
    assert archives_read == sorted(archives_read)  # in every run
    build([f"x={folder}"], tmp_path / "built")
    del source
    assert not list((tmp_path / "temporary").iterdir())


def test_a_table_in_the_only_archive_of_a_folder_is_read(tmp_path):
    entries = [("images/0.png", picture(0)), ("t.csv", b"image,text\nimages/0.png,zero\n")]
    zipped(tmp_path / "all.zip", entries)
    assert captions_of(read_source(tmp_path)) == {"images/0.png": ["zero"]}


def test_a_table_beside_an_archive_describes_its_pictures_and_its_errors_name_it(tmp_path):
    (folder := tmp_path / "x").mkdir()
    zipped(folder / "images.zip", [(f"in/{n}.png", picture(n)) for n in range(3)])
    (folder / "t.csv").write_text("image,text\n0.png,zero\n1.png,one\n2.png,two\n")
    for chosen in (folder, folder / "t.csv"):
        source = read_source(chosen)
        words = enumerate(("zero", "one", "two"))
        assert captions_of(source) == {f"images.zip/in/{n}.png": [word] for n, word in words}
        error = source.error(source.records[1], "it is bad")
        assert str(error) == f"{folder / 't.csv'}:3: it is bad"
    (folder / "t.csv").write_text("image,text\n0.png,zero\n9.png,nine\n")
    with pytest.raises(UserError, match=rf"{folder}/t\.csv:3: '9\.png' is missing"):
        build([str(folder)], tmp_path / "built", benchmark=True)
    (folder / "t.csv").write_text("image,text\n0.png,zero,more\n")
    with pytest.raises(UserError, match=rf"{folder}/t\.csv:2: the row has 3 cells"):
        read_source(folder)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("pack, name", [(tarred, "a.tar"), (zipped, "a.zip")])
def test_nothing_of_an_archive_of_a_source_leaves_its_folder(tmp_path, pack, name, monkeypatch):
    monkeypatch.setattr(archives, "MAX_FILE", 1000)
    names = (
        "../../up.png",
        "/srv/root.png",
        "s/../../b.png",
        "good/a.png",
        "good/a.png",
        "good/a.png/b.png",
        "y" * 300 + ".png",
    )
    others = [(".hidden.png", b"x"), ("a.exe", b"x"), ("large.png", b"x" * 1001)]
    (folder := tmp_path / "x").mkdir()
    pack(folder / name, [*((each, picture(7)) for each in names), *others])
    (to := tmp_path / "to").mkdir()
    reports = archives.unpack_archive(folder / name, to / name)
    written_files = [file for file in tmp_path.rglob("*.png") if file.is_file()]
    assert sorted(written_files) == [to / name / "good/a.png", to / name / "srv/root.png"]
    assert [report.outcome for report in reports] == [UNREADABLE] * 5 + [HIDDEN, OTHER, UNREADABLE]
    assert reports[0].detail == f"{name}/../../up.png has a path that leads out of the archive"
    assert reports[-1].detail == f"{name}/large.png has 0 MB; the limit is 0 MB"


def test_links_devices_and_sparse_files_of_a_tar_are_not_written(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            member = tarfile.TarInfo("0.png")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    reports = archives.unpack_archive(tmp_path / "a.tar", tmp_path / "to")
    assert [report.outcome for report in reports] == [UNREADABLE] * 4
    assert not list((tmp_path / "to").iterdir())
    with pytest.raises(UserError, match="no images; .*; a.tar/0.png is a link or a device"):
        read_source(tmp_path / "a.tar")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_an_archive_that_is_damaged_or_larger_than_the_disk_is_refused_in_one_sentence(
    tmp_path, name, monkeypatch
):
    (tmp_path / name).write_bytes(b"\1" * 2000)
    with pytest.raises(UserError, match=f"contains no images; .*; {name} is damaged"):
        read_source(tmp_path / name)
    (zipped if name == "a.zip" else tarred)(tmp_path / name, SHARD)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10_000}))
    with pytest.raises(
        UserError, match=f"{name} needs too much of the disk that .* is on; unpack it elsewhere"
    ):
        read_source(tmp_path / name)


def test_a_header_of_a_tar_that_would_fill_the_memory_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_LIST", 4000)
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.png")
        member.pax_headers = {"comment": "x" * 5000}
        archive.addfile(member)
    (report,) = archives.unpack_archive(tmp_path / "a.tar", tmp_path / "to")
    assert report.detail == "a.tar is damaged (its list of files is too long)"


@pytest.mark.parametrize(
    "pack, real, name",
    [
        (zipped, "0.zip", "0.tgz"),
        (zipped, "0.zip", "0.tar.gz"),
        (zipped, "0.zip", "0.tar"),
        (tarred, "0.tar", "0.zip"),
        (tarred, "0.tar.xz", "0.zip"),
        (tarred, "0.tar", "0.tar.gz"),
        (tarred, "0.tar.bz2", "0.tgz"),
    ],
)
def test_an_archive_with_the_name_of_another_kind_is_what_its_bytes_are(tmp_path, pack, real, name):
    inner = zipped(tmp_path / "inner.zip", [("x.png", b"x")])  # at the end of a TAR
    pack(tmp_path / real, [*SHARD, ("z.cls", inner.read_bytes())]).rename(tmp_path / name)
    found = captions_of(read_source(tmp_path / name))
    assert found == {"000.png": ["shape 000"], "22.05.png": ["shape 22.05"]}


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_compressed_tar_that_expands_without_bound_or_ends_early_is_damaged(
    tmp_path, monkeypatch, suffix
):
    monkeypatch.setattr(archives, "DENSE", 5000)
    bomb = tarred(tmp_path / f"bomb{suffix}", [("a.png", bytes(10_000_000))])
    (report,) = archives.unpack_archive(bomb, tmp_path / "bomb")
    assert (
        report.detail == f"bomb{suffix} is damaged (it expands to more than pictures and texts do)"
    )
    assert not list((tmp_path / "bomb").iterdir())
    whole = tarred(tmp_path / f"cut{suffix}", [("a.png", random.Random(0).randbytes(3000))])
    whole.write_bytes(whole.read_bytes()[:2000])
    (report,) = archives.unpack_archive(whole, tmp_path / "cut")
    assert report.detail.startswith(f"cut{suffix} is damaged (")


def test_an_xz_that_asks_for_much_memory_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_XZ", 2**20)
    (report,) = archives.unpack_archive(tarred(tmp_path / "a.tar.xz", SHARD), tmp_path / "to")
    assert report.detail.startswith("a.tar.xz is damaged (Memory usage limit")


def test_an_archive_in_an_archive_is_named(tmp_path):
    inner = tarred(tmp_path / "inner.tar.gz", SHARD)
    outer = zipped(tmp_path / "outer.zip", [("inner.tar.gz", inner.read_bytes())])
    with pytest.raises(
        UserError, match="no images; .*; outer.zip/inner.tar.gz is an archive in an archive"
    ):
        read_source(outer)
