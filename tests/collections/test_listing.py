"""Every file of a folder is accounted for, one photograph is one thing, and names of pictures are
understood as their writers meant them.
"""

import os
import socket
import unicodedata
from pathlib import Path

import pytest

from genius.collections.building import build
from genius.collections.images import HEIC
from genius.collections.listing import (
    COPY,
    HIDDEN,
    LINK,
    PART,
    UNREADABLE,
    UNSUPPORTED,
    FileReport,
    Folder,
    account,
    other_than_picture,
    parts_of_others,
)
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.run import Run
from tests.collections.built import captions_of, read
from tests.collections.samples import photos, picture, written


def outcomes(reports):
    return {report.file: report.outcome for report in reports}


def test_every_file_is_accounted_for(tmp_path):
    names = ("a.jfif", "b.JPE", "c", "sub/d.tif", ".hidden.png", "@eaDir/a/x.jpg", "._a.jpg")
    others = ("video.mov", "n.txt", "raw.CR2", "phone.HEIC", "layers.psd")
    folder = written(photos(tmp_path / "photos", *names), dict.fromkeys(others, b"0000ftypmp42"))
    written(folder, {"broken.png": "text", "copy.png": picture(0)})
    (row,) = build([str(folder)], tmp_path / "built")
    assert row.candidates == 4
    for words in (
        "4 files: used",
        "1 file: copy of another; the first: copy.png",
        "3 files: hidden or thumbnail",
        "unsupported kind",
        "2 files: not a picture",
        "files: unreadable",
    ):
        assert words in str(row)
    assert HEIC or "pip install pillow-heif" in str(row)
    assert len((tmp_path / "built/files.tsv").read_text(encoding="utf-8").splitlines()) == 14


def test_each_kind_of_unreadable_file_is_said_with_what_to_do():
    large, odd = "is large; save a smaller copy", "b.jpg is odd; it is a film"
    details = [f"a.jpg {large}", odd, f"c.jpg {large}"]
    (line,) = account([FileReport("x.jpg", UNREADABLE, detail) for detail in details])
    assert line == f"3 files: unreadable; the first: a.jpg {large}; others: it is a film"


def test_a_file_without_a_suffix_that_cannot_be_read_is_unreadable(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "photo").write_bytes(b"")
    monkeypatch.setattr(Path, "open", refuse)
    assert other_than_picture(tmp_path, "photo").outcome == UNREADABLE


def test_what_this_program_made_is_no_part_of_a_folder_and_a_manifest_of_others_is(tmp_path):
    folder = photos(tmp_path / "photos", "1.png", "site/2.png", "run/thumbs of ours/1.png")
    table = folder / "table.csv"
    lines = "image,text\n1.png,one\nsite/2.png,two\n"
    written(folder, {"site/manifest.json": '{"name": "a site", "icons": []}', table.name: lines})
    Run(folder / "run").record(sources=[str(table)])
    build([str(table)], folder / "collection")
    source = read_source(table)
    assert captions_of(source) == {"1.png": ["one"], "site/2.png": ["two"]}
    made = "2 folders: a run or a collection, not read; the first: collection"
    assert account(source.others) == ["1 file: used", made, "1 file: not a picture (.json 1)"]


def test_links_to_folders_are_followed_once(tmp_path):
    album = photos(tmp_path / "album", "1.png")
    disk = photos(tmp_path / "disk", "5.png", "6.png", "7.png")
    (album / "alone.png").symlink_to((disk / "5.png").rename(tmp_path / "alone.png"))
    (album / "linked").symlink_to(disk)
    (album / "again").symlink_to(disk)
    (disk / "loop").symlink_to(album)
    (album / "self").symlink_to(album / "self")
    build([str(album)], tmp_path / "built")
    # 5.png has the picture of 1.png
    assert len(list(Collection(tmp_path / "built").all_candidates())) == 4 - 1


def test_a_link_to_a_folder_around_this_one_or_in_a_hidden_one_is_not_followed_and_is_said(
    tmp_path,
):
    album = photos(tmp_path / "home" / "album", "1.png", "deep/2.png", ".wine/3.png")
    photos(tmp_path / "home", "private/4.png")
    inner = photos(tmp_path / "disk", "x/5.png", "y/6.png") / "x"
    links = {"up": "..", "root": "/", "deep/back": "..", ".wine/z:": "/", ".hidden": "../private"}
    for link, target in (links | {"linked": inner}).items():
        (album / link).symlink_to(target)
    (inner / "out").symlink_to("..")  # from a linked folder to what lies beside it
    source = read_source(album)
    assert list(captions_of(source)) == ["1.png", "deep/2.png", "linked/5.png"]
    assert source.notes == [f"linked leads to {inner}, which is read, too"]
    assert outcomes(source.others) == {
        **dict.fromkeys(("up", "root", "linked/out"), LINK),
        **dict.fromkeys((".wine/3.png", ".wine/z:", ".hidden"), HIDDEN),
        "deep/back": COPY,
    }
    said = f"3 links: {LINK}; the first: root leads to /, which it lies in"
    assert said in account(source.others)


def bound_socket(name):
    socket.socket(socket.AF_UNIX).bind(name)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "manifest.jsonl", "dataset_info.json", "x"])
def test_a_pipe_or_a_socket_with_the_name_of_a_table_is_counted_and_not_opened(
    tmp_path, name, monkeypatch
):
    monkeypatch.chdir(photos(tmp_path / "x", "1.png", "2.png"))
    for make in (os.mkfifo, bound_socket):
        make(name)
        source = read_source(tmp_path / "x")
        detail = f"{name} is no file but a pipe, a socket or a device"
        assert source.others == [FileReport(name, UNREADABLE, detail)] and len(source.records) == 2
        with pytest.raises(UserError, match=f"{name} is not a folder"):
            read_source(tmp_path / "x" / name)
        os.unlink(name)


def test_archives_are_said_to_need_unpacking_and_lock_files_of_office_are_hidden(tmp_path):
    files = dict.fromkeys(("00000.tar", "photos.zip", "~$t.xlsx"), b"x")
    assert read(tmp_path, ["1.png"], files).others == [
        FileReport("00000.tar", UNSUPPORTED, "unpack .tar files into the folder"),
        FileReport("photos.zip", UNSUPPORTED, "unpack .zip files into the folder"),
        FileReport("~$t.xlsx", HIDDEN),
    ]
    (tmp_path / "1.png").rename(tmp_path / "more.rar")
    said = "contains no images; .*unpack .rar files .*; 00000.tar is damaged"
    with pytest.raises(UserError, match=said):
        read_source(tmp_path)


@pytest.mark.parametrize(
    "images, others, whole",
    [
        (["1.NEF", "1.JPG"], [], {"1.NEF": "1.JPG"}),
        (["s/1.jpg", "1.dng"], [], {}),
        (["1.heic", "1.png"], ["1.txt"], {"1.heic": "1.png"}),
        (["1.png"], ["1.HEIC"], {"1.HEIC": "1.png"}),
        (["1.dng", "1.heic"], [], {"1.dng": "1.heic"}),
        (["1.jpg", "1.png", "1.cr2"], [], {"1.cr2": "1.jpg"}),
        (
            ["IMG_4.JPG", "IMG_E4.JPG"],
            ["IMG_4.AAE"],
            dict.fromkeys(["IMG_4.JPG", "IMG_4.AAE"], "IMG_E4.JPG"),
        ),
        (["IMG_4.JPG"], ["IMG_E4.HEIC"], {}),
        (["IMG_EN.JPG", "IMG_N.JPG"], [], {}),
        (["1.HEIC"], ["1.MOV", "2.MOV"], {"1.MOV": "1.HEIC"}),
        (["u.heic"], ["u_3.mov", "u_HEIC.MOV"], dict.fromkeys(["u_3.mov", "u_HEIC.MOV"], "u.heic")),
    ],
)
def test_the_files_of_a_photograph_belong_to_the_best_of_them(images, others, whole):
    assert parts_of_others(images, others) == whole


def test_parts_are_no_items_but_named(tmp_path):
    films = dict.fromkeys(("1.MOV", "4.MOV"), b"\0\0\0\x14ftypqt  ")
    listed = Folder(written(photos(tmp_path, "1.JPG", "1.dng", "3.png"), films))
    assert listed.images == ["1.JPG", "3.png"]
    parts = [FileReport(name, PART, "1.JPG") for name in ("1.dng", "1.MOV")]
    assert [report for report in listed.others if report.outcome == PART] == parts
    assert account(listed.others)[0].startswith("2 files: part of another picture (")
    assert listed.find("1.dng") == "1.dng"  # a table may name it


@pytest.mark.parametrize(
    "library, derived",
    [
        ("Fotos.photoslibrary/originals/0", "Fotos.photoslibrary/resources/derivatives/masters/0"),
        ("Old.photolibrary/Masters/2009", "Old.photolibrary/Thumbnails/2009"),
        ("Lr", "Lr/Catalog Previews.lrdata/0"),
        ("DCIM/Camera", "LOST.DIR"),
    ],
)
def test_what_programs_derive_from_pictures_is_left_out(tmp_path, library, derived):
    listed = Folder(photos(tmp_path, f"{library}/1.png", f"{derived}/2.png"))
    assert listed.images == [f"{library}/1.png"]
    assert listed.others == [FileReport(f"{derived}/2.png", HIDDEN)]
    # also where the library itself is the source
    inner = Folder(tmp_path / library.split("/")[0])
    assert inner.images == [f"{library}/1.png".partition("/")[2]]


@pytest.mark.parametrize("sign", ["  ", "\u00a0", "\u3000", "\u200b "])
def test_a_text_goes_to_the_file_that_the_table_names(tmp_path, sign):
    table = f"image,text\na b.png,plain\na{sign}b.png,other\n"
    source = read(tmp_path, ["a b.png", f"a{sign}b.png"], {"t.csv": table})
    assert captions_of(source) == {"a b.png": ["plain"], f"a{sign}b.png": ["other"]}
    (tmp_path / f"a{sign}b.png").unlink()
    with pytest.raises(UserError, match="looks the same, but has U"):
        read_source(tmp_path)


NFC = "caf\u00e9.png"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.mark.parametrize(
    "file, named",
    [
        (NFC, NFD),
        (NFD, NFC),
        ("s/a.JPG", "s\\a.JPG"),
        ("A.JPG", "a.jpg"),
        ("a.png", "./a.png"),
        ("a b.png", "a%20b.png"),
        ("1.png", "1"),
        ("1.png", "1.HEIC"),
    ],
)
def test_names_of_other_systems_are_understood(tmp_path, file, named):
    source = read(tmp_path, [file], {"t.csv": f"image,text\n{named},words\n"})
    assert captions_of(source) == {file: ["words"]}


ELSEWHERE = [
    "/home/ada/x/pets/{}",
    "C:\\Users\\Ada\\pets\\{}",
    "C:pets\\{}",
    "file:///home/ada/pets/{}",
    "~/pets/{}",
    "%USERPROFILE%\\Pictures\\pets\\{}",
    "$HOME/pets/{}",
    "${{DATA}}/pets/{}",
    "https://shop.example/pets/{}?w=800&sig=abc/d",
    "s3://bucket/pets/{}",
    "azure-blob://c/pets/{}",
    # of Label Studio
    "/data/upload/1/7f3a2b1c-{}",
    "/data/local-files/?d=pets/{}",
    "http://localhost:8080/data/local-files/?d=pets%2F{}",
]


@pytest.mark.parametrize("form", ELSEWHERE)
def test_paths_of_other_places_and_addresses_are_the_files_here_with_their_ends(tmp_path, form):
    name = form.format("a%20b.jpg" if "://" in form else "a b.jpg")
    table = f"id,image,choice\n1,{name},cat\n2,{form.format('b.jpg')},dog\n"
    pictures = ["pets/a b.jpg", "pets/b.jpg", "other/b.png"]
    source = read(tmp_path, pictures, {"export.csv": table})
    choices = {record.image: record.attributes["choice"] for record in source.records}
    assert choices == {"pets/a b.jpg": "cat", "pets/b.jpg": "dog"}
    assert f"2 paths or addresses are files here: {name} is pets/a b.jpg" in source.notes[-1]


def test_a_path_that_climbs_out_of_the_folder_names_nothing_outside(tmp_path):
    photos(tmp_path, "secret.png")
    table = "image,text\n/up/../../secret.png,one\ns3://b/../../secret.png,two\na.png,three\n"
    source = read(tmp_path / "x", ["a.png"], {"t.csv": table})
    assert captions_of(source) == {"a.png": ["three"]} and len(source.missing) == 2


@pytest.mark.timeout(60)
def test_a_cell_of_many_slashes_takes_no_minutes(tmp_path):
    long = f"http://{'a/' * 60_000}"
    table = f"image,note\na.png,{long}\n{long},x\nb.png,y\n"
    assert len(read(tmp_path, ["a.png", "b.png"], {"t.csv": table}).records) == 2


def test_pictures_that_are_not_here_are_counted_and_their_texts_are_kept(tmp_path):
    rows = [
        "image,text",
        "a.png,one",
        "b.png,two",
        "b.png,three",
        "/home/ada/c.png,four",
        "https://x.example/d.png,five",
        ",six",
    ]
    folder = photos(tmp_path / "x", "a.png", "old/b.png")
    written(folder, {"t.csv": "\n".join(rows)})
    said = str(build([f"x={folder}"], tmp_path / "built")[-1])
    missing = "3 pictures: missing; the first: 'b.png' in line 3 (there is 'old/b.png'); its texts"
    web = "1 picture: web address; the first: 'https://x.example/d.png' in line 6; nothing is down"
    assert f"{missing} are kept" in said and web in said
    items = Collection(tmp_path / "built").all_candidates()
    assert {item.text for item in items} - {""} == {row.partition(",")[2] for row in rows[1:]}
    written(folder, {"t.csv": "image,text\ngone.png,\na.png,one\n"})
    assert not any("are kept" in report.detail for report in read_source(folder).others)
    written(folder, {"t.csv": "image,text\ngone.png,one\n"})
    none = "none of the pictures that it names is there; the first: 'gone.png' in line 2$"
    with pytest.raises(UserError, match=none):
        read_source(folder)


def test_pictures_that_are_all_elsewhere_than_the_table_says_are_found_by_their_names(tmp_path):
    pictures = ["images/s/a.png", "2024/s/b.png", "images/s/d.png", "2024/s/d.png"]
    table = "image,text\ns/a.png,one\ns/b.png,two\ns/c.png,three\ns/d.png,four\n"
    source = read(tmp_path, pictures, {"t.csv": table})
    assert captions_of(source) == {"images/s/a.png": ["one"], "2024/s/b.png": ["two"]}
    said = "are looked up by name in all folders; the first: s/a.png is images/s/a.png"
    assert said in source.notes[-1]
    # of d it is not known which
    assert [record.image for record in source.missing] == ["s/c.png", "s/d.png"]
