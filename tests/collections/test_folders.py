"""Folders as people have them: every file is accounted for, and each table is read as its writer
meant it.
"""

import os
import socket
import unicodedata
from pathlib import Path

import pytest

from genius.collections.building import build
from genius.collections.checker import Checker
from genius.collections.images import HEIC
from genius.collections.listing import (
    COPY,
    HIDDEN,
    LINK,
    UNREADABLE,
    UNSUPPORTED,
    FileReport,
    account,
    other_than_picture,
)
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.run import Run
from tests.collections.samples import photos, picture


def texts_of(folder, destination):
    build([f"x={folder}"], destination)
    return sorted(
        item.text
        for item in Collection(destination).all_candidates()
        if item.text and not item.image
    )


def test_every_file_is_accounted_for(tmp_path):
    folder = photos(
        tmp_path / "photos",
        "a.jfif",
        "b.JPE",
        "c",
        "sub/d.tif",
        ".hidden.png",
        "@eaDir/a/x.jpg",
        "._a.jpg",
    )
    for name in ("video.mov", "n.txt", "raw.CR2", "phone.HEIC", "layers.psd"):
        (folder / name).write_bytes(b"0000ftypmp42")
    (folder / "broken.png").write_bytes(b"text")
    (folder / "copy.png").write_bytes(picture(0))
    (row,) = build([str(folder)], tmp_path / "built")
    assert row.candidates == 4
    said = str(row)
    for words in (
        "4 files: used",
        "1 file: copy of another; the first: copy.png",
        "3 files: hidden or thumbnail",
        "unsupported kind",
        "2 files: not a picture",
        "files: unreadable",
    ):
        assert words in said, said
    assert HEIC or "pip install pillow-heif" in said
    assert len((tmp_path / "built/files.tsv").read_text(encoding="utf-8").splitlines()) == 14


def test_each_kind_of_unreadable_file_is_said_with_what_to_do():
    details = [
        "a.jpg is large; save a smaller copy",
        "b.jpg is odd; it is a film",
        "c.jpg is large; save a smaller copy",
    ]
    (line,) = account(
        [FileReport(f"{n}.jpg", UNREADABLE, detail) for n, detail in enumerate(details)]
    )
    assert (
        line == "3 files: unreadable; the first: a.jpg is large; save a smaller copy; others: it "
        "is a film"
    )


def test_a_file_without_a_suffix_that_cannot_be_read_is_unreadable(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "photo").write_bytes(b"")
    monkeypatch.setattr(Path, "open", refuse)
    assert other_than_picture(tmp_path, "photo").outcome == UNREADABLE


def test_what_this_program_made_is_no_part_of_a_folder_and_a_manifest_of_others_is(tmp_path):
    folder = photos(tmp_path / "photos", "1.png", "site/2.png")
    (folder / "site" / "manifest.json").write_text('{"name": "a site", "icons": []}')
    table = folder / "table.csv"
    table.write_text("image,text\n1.png,one\nsite/2.png,two\n")
    build([str(table)], folder / "collection")
    Run(folder / "run").record(sources=[str(table)])
    photos(folder / "run" / "thumbs of ours", "1.png")
    source = read_source(table)
    assert [record.image for record in source.records] == ["1.png", "site/2.png"]
    made = "2 folders: a run or a collection, not read; the first: collection"
    assert account(source.others) == ["1 file: used", made, "1 file: not a picture (.json 1)"]


def test_links_to_folders_are_followed_once(tmp_path):
    album = photos(tmp_path / "album", "1.png")
    photos(tmp_path / "disk", "5.png", "6.png", "7.png")
    (tmp_path / "disk" / "5.png").rename(tmp_path / "alone.png")
    (album / "alone.png").symlink_to(tmp_path / "alone.png")
    (album / "linked").symlink_to(tmp_path / "disk")
    (album / "again").symlink_to(tmp_path / "disk")
    (tmp_path / "disk" / "loop").symlink_to(album)
    (album / "self").symlink_to(album / "self")
    build([str(album)], tmp_path / "built")
    # 5.png has the picture of 1.png
    assert len(list(Collection(tmp_path / "built").all_candidates())) == 4 - 1


def test_a_link_to_a_folder_around_this_one_or_in_a_hidden_one_is_not_followed_and_is_said(
    tmp_path,
):
    album = photos(tmp_path / "home" / "album", "1.png", "deep/2.png", ".wine/3.png")
    photos(tmp_path / "home", "private/4.png")
    photos(tmp_path / "disk", "x/5.png", "y/6.png")
    for link, target in (
        ("up", ".."),
        ("root", "/"),
        ("deep/back", ".."),
        (".wine/z:", "/"),
        (".hidden", "../private"),
        ("linked", tmp_path / "disk" / "x"),
    ):
        (album / link).symlink_to(target)
    # from a linked folder to what lies beside it
    (tmp_path / "disk" / "x" / "out").symlink_to("..")
    source = read_source(album)
    assert [record.image for record in source.records] == ["1.png", "deep/2.png", "linked/5.png"]
    assert source.notes == [f"linked leads to {tmp_path / 'disk' / 'x'}, which is read, too"]
    outcomes = {report.file: report.outcome for report in source.others}
    assert outcomes == {
        **dict.fromkeys(("up", "root", "linked/out"), LINK),
        **dict.fromkeys((".wine/3.png", ".wine/z:", ".hidden"), HIDDEN),
        "deep/back": COPY,
    }
    assert f"3 links: {LINK}; the first: root leads to /, which it lies in" in account(
        source.others
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "name",
    [
        "x.parquet",
        "x.csv",
        "manifest.jsonl",
        "train.jsonl",
        "x.json",
        "captions.txt",
        "dataset_info.json",
        "x",
    ],
)
def test_a_pipe_or_a_socket_with_the_name_of_a_table_is_counted_and_not_opened(
    tmp_path, name, monkeypatch
):
    folder = photos(tmp_path / "x", "1.png", "2.png")
    for make in (os.mkfifo, bound_socket):
        monkeypatch.chdir(folder)
        make(name)
        source = read_source(folder)
        assert len(source.records) == 2
        assert [(report.file, report.outcome) for report in source.others] == [(name, UNREADABLE)]
        assert source.others[0].detail == f"{name} is no file but a pipe, a socket or a device"
        with pytest.raises(UserError, match=f"{name} is not a folder"):
            read_source(folder / name)
        os.unlink(name)


def bound_socket(name):
    socket.socket(socket.AF_UNIX).bind(name)


def test_a_source_that_is_missing_or_closed_or_one_file_says_so_and_what_to_do(
    tmp_path, monkeypatch
):
    folder = photos(tmp_path / "x", "1.png")
    for name in ("a.7z", "a.tar.gz", "notes.docx"):
        (tmp_path / name).write_bytes(b"PK")
    for source, said in (
        (tmp_path / "gone", "gone is missing; name a folder of images, or a table"),
        (folder / "1.png", "1.png is not a folder; name the folder that holds it"),
        (tmp_path / "a.7z", "a.7z is not a folder; unpack it, and name the folder with its files"),
        (tmp_path / "a.tar.gz", "contains no images; .*; a.tar.gz is damaged"),
        (
            tmp_path / "notes.docx",
            "notes.docx is not a folder; name a folder of images, or a table of them",
        ),
    ):
        with pytest.raises(UserError, match=said):
            build([str(source)], tmp_path / "built")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    with pytest.raises(
        UserError, match="x cannot be read .Permission denied.; name one that you may read"
    ):
        build([str(folder)], tmp_path / "built")


def test_archives_are_said_to_need_unpacking_and_lock_files_of_office_are_hidden(tmp_path):
    folder = photos(tmp_path / "x", "1.png")
    for name in ("00000.tar", "photos.zip", "~$t.xlsx"):
        (folder / name).write_bytes(b"x")
    others = {report.file: (report.outcome, report.detail) for report in read_source(folder).others}
    assert others == {
        "00000.tar": (UNSUPPORTED, "unpack .tar files into the folder"),
        "photos.zip": (UNSUPPORTED, "unpack .zip files into the folder"),
        "~$t.xlsx": (HIDDEN, ""),
    }
    (folder / "1.png").unlink()
    (folder / "more.rar").write_bytes(b"x")
    with pytest.raises(
        UserError, match="contains no images; .*unpack .rar files .*; 00000.tar is damaged"
    ):
        read_source(folder)


def test_one_more_caption_adds_one_text(tmp_path):
    folder = photos(tmp_path / "shop", *(f"{n}.png" for n in range(12)))
    rows = [f"{n}.png,article {n},{('red', 'blue')[n % 2]}\n" for n in range(12)]
    (folder / "table.csv").write_text("image,text,color\n" + "".join(rows))
    build([str(folder)], tmp_path / "one")
    (folder / "table.csv").write_text("image,text,color\n" + "".join(rows) + "0.png,another,red\n")
    build([str(folder)], tmp_path / "two")
    one, two = (
        {(item.text, item.image) for item in Collection(tmp_path / name).all_candidates()}
        for name in ("one", "two")
    )
    assert len(one) == 36 and two - one == {("another", None)} and one < two


def test_what_has_neither_text_nor_attributes_is_found_beside_what_has(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png", "c.png")
    (folder / "t.csv").write_text("image,text,color\na.png,words,\nb.png,,red\nc.png,,\n")
    build([str(folder)], tmp_path / "built")
    items = list(Collection(tmp_path / "built").all_candidates())
    assert {item.image[-5:] for item in items if item.image} == {"a.png", "b.png", "c.png"}


@pytest.mark.parametrize("sign", ["  ", "\u00a0", "\u202f", "\u3000", "\u200b "])
def test_a_text_goes_to_the_file_that_the_table_names(tmp_path, sign):
    folder = photos(tmp_path / "x", "a b.png", f"a{sign}b.png")
    (folder / "t.csv").write_text(f"image,text\na b.png,plain\na{sign}b.png,other\n")
    found = {record.image: record.captions for record in read_source(folder).records}
    assert found == {"a b.png": ["plain"], f"a{sign}b.png": ["other"]}
    (folder / f"a{sign}b.png").unlink()
    with pytest.raises(UserError, match="looks the same, but has U"):
        read_source(folder)


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
    ],
)
def test_names_of_other_systems_are_understood(tmp_path, file, named):
    folder = photos(tmp_path / "x", file)
    (folder / "t.csv").write_text(f"image,text\n{named},words\n")
    assert [record.image for record in read_source(folder).records] == [file]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfImage;Caption\r\na.png;words\r\n;\r\n",
        "Image\tCaption\r\na.png\twords\r\n".encode("utf-16"),
        b'sep=;\n"Image";"Caption"\na.png;words\n',
        b",File Name,Title\n0,a.png,words\n,,\n",
        b"Unnamed: 0,file_name,description,\n0,a.png,words,\n",
        b"filename|text_1\na.png|words\n",
        b'PATH,"TXT"\n a.png,words\n',
        ";;\n\nimage;text;\na.png;words;\n".encode("utf-16-le"),
        b"index,image,captions\n0,a.png,words\n",
        b"Inventory of the museum\n\nof 2024;;\nImage;Caption;\na.png;words;\n",
        b"FileName\tTitle\ra.png\twords\r",
    ],
)
def test_tables_are_read_as_spreadsheets_write_them(tmp_path, content):
    folder = photos(tmp_path / "x", "a.png")
    (folder / "t.csv").write_bytes(content)
    source = read_source(folder)
    (record,) = source.records
    assert (record.image, record.captions, record.attributes) == ("a.png", ["words"], {})
    assert "image from" in source.notes[-1]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "a.txt"])
def test_a_table_and_a_caption_in_a_code_page_are_read_and_said(tmp_path, name):
    folder = photos(tmp_path / "x", "a.png")
    text = {
        "t.csv": "image;text\na.png;Größe\n",
        "t.jsonl": '{"image": "a.png", "text": "Größe"}',
    }.get(name, "Größe")
    (folder / name).write_bytes(text.encode("cp1252"))
    source = read_source(folder)
    assert source.records[0].captions == ["Größe"] and "not UTF-8, read as cp1252" in "".join(
        source.notes
    )


ELSEWHERE = [
    "/home/ada/x/s/a b.png",
    "C:\\Users\\Ada\\s\\a b.png",
    "file:///home/ada/s/a%20b.png",
    "~/s/a b.png",
]


@pytest.mark.parametrize("name", [*ELSEWHERE, "https://shop.example/s/a%20b.png?size=2"])
def test_paths_of_other_places_and_addresses_are_the_files_here_with_their_ends(tmp_path, name):
    folder = photos(tmp_path / "x", "s/a b.png", "b.png")
    (folder / "t.csv").write_text(f"image,text\n{name},words\nb.png,others\n")
    source = read_source(folder)
    assert [record.image for record in source.records] == ["s/a b.png", "b.png"]
    assert f"1 paths or addresses are files here: {name} is s/a b.png" in source.notes[-1]


def test_pictures_that_are_not_here_are_counted_and_their_texts_are_kept(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "old/b.png")
    rows = [
        "a.png,one",
        "b.png,two",
        "b.png,three",
        "/home/ada/c.png,four",
        "https://x.example/d.png,five",
        ",six",
    ]
    (folder / "t.csv").write_text("\n".join(["image,text", *rows]))
    said = str(build([f"x={folder}"], tmp_path / "built")[-1])
    assert (
        "3 pictures: missing; the first: 'b.png' in line 3 (there is 'old/b.png'); its "
        "texts are kept" in said
    )
    assert (
        "1 picture: web address; the first: 'https://x.example/d.png' in line 6; nothing "
        "is downloaded" in said
    )
    assert texts_of(folder, tmp_path / "again") == sorted(
        ["one", "two", "three", "four", "five", "six"]
    )
    for name in ("a.png", "old/b.png"):
        (folder / name).unlink()
    photos(folder, "z.png")
    with pytest.raises(
        UserError, match="none of the pictures that it names is there; the first: 'a.png' in line 2"
    ):
        read_source(folder)


def test_pictures_that_are_all_elsewhere_than_the_table_says_are_found_by_their_names(tmp_path):
    folder = photos(
        tmp_path / "x", "images/s/a.png", "2024/s/b.png", "images/s/d.png", "2024/s/d.png"
    )
    (folder / "t.csv").write_text(
        "image,text\ns/a.png,one\ns/b.png,two\ns/c.png,three\ns/d.png,four\n"
    )
    source = read_source(folder)
    assert [record.image for record in source.records] == ["images/s/a.png", "2024/s/b.png"]
    assert (
        "are looked up by name in all folders; the first: s/a.png is images/s/a.png"
        in source.notes[-1]
    )
    # of d it is not known which
    assert [record.image for record in source.missing] == ["s/c.png", "s/d.png"]


@pytest.mark.parametrize(
    "name, content",
    [
        ("captions.txt", "image,caption\n1.png,one\n2.png,two\n"),
        (
            "captions.json",
            '[{"image": "1.png", "caption": "one"}, {"image": "2.png", "caption": "two"}]',
        ),
        (
            "t.jsonl",
            '[{"image": "1.png", "caption": "one"},\n {"image": "2.png", "caption": "two"}]',
        ),
        (
            "t.csv",
            "Handle,Image Src,text\n"
            "x,https://x.example/images/1.png?v=1,one\n"
            "y,https://x.example/images/2.png,two\n",
        ),
        ("t.csv", "Bild;Nr;text\n1.png;7;one\n2.png;8;two\n"),
        ("t.csv", "id,text\n1,one\n2,two\n"),
        ("t.csv", "image,text\n1,one\n1,NA\n2,two\n"),
        ("t.csv", "image,text\n1.HEIC,one\n2.HEIC,two\n"),
    ],
)
def test_tables_of_other_forms_are_read(tmp_path, name, content):
    folder = photos(
        tmp_path / "x", "images/1.png", "images/2.png", "images/@__thumb/1.png", "images/image.png"
    )
    (folder / name).write_text(content)
    found = {record.image: record.captions for record in read_source(folder).records}
    assert found == {"images/1.png": ["one"], "images/2.png": ["two"]}


def test_what_may_be_a_table_and_is_none_is_said_and_changes_nothing(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.heic", "s/c.png")
    (folder / "notes.txt").write_text("image of a dog, text\n")
    (folder / "s" / "labels.csv").write_text("image,text\nc.png,one\n")
    (folder / "a.txt").write_bytes(b"\xff\xd8\1\2")
    source = read_source(folder)
    assert [record.image for record in source.records] == ["a.png", "b.heic", "s/c.png"]
    said = "".join(source.notes)
    assert (
        "1 cannot be read; the first: " in said
        and "s/labels.csv is not read; name tables in folders meta" in said
    )
    (folder / "t.csv").write_text("a.png,words\nb.heic,more\n")
    with pytest.raises(
        UserError, match="the first row names a picture, not the columns; add a first row"
    ):
        read_source(folder)


def test_of_two_columns_of_images_the_better_is_taken(tmp_path):
    folder = photos(tmp_path / "x", "a.png")
    (folder / "t.csv").write_text("image,img_path,text\n7,a.png,words\n")
    (record,) = read_source(folder).records
    assert (record.image, record.captions, record.attributes) == (
        "a.png",
        ["words"],
        {"image": "7"},
    )


def test_every_text_column_can_be_found_and_the_others_are_said(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / "t.csv").write_text(
        "path,title,description,Price\na.png,A vase,Made of clay,5\nb.png,A bowl,,7\n"
    )
    assert "text from title, description; attribute: Price" in read_source(folder).notes[0]
    assert texts_of(folder, tmp_path / "built") == ["A bowl", "A vase", "Made of clay"]


def test_a_text_file_beside_a_picture_is_its_caption(tmp_path):
    folder = photos(tmp_path / "x", "1.png", "2.png", "3.png")
    (folder / "1.txt").write_text("one", encoding="utf-8-sig")
    (folder / "2.caption").write_text("two\n")
    (folder / "notes.txt").write_text("not of a picture")
    assert texts_of(folder, tmp_path / "built") == ["one", "two"]


def test_tables_in_the_folders_of_an_image_folder_are_read_with_their_splits(tmp_path):
    folder = (
        photos(tmp_path / "x", "data/train/0.png", "data/train/1.png", "data/test/0.png") / "data"
    )
    (folder / "train/metadata.jsonl").write_text(
        '{"file_name": "0.png", "text": "one"}\n{"file_name": "1.png", "text": "two"}\n'
    )
    (folder / "test/metadata.csv").write_text("file_name,text\n0.png,three\n")
    found = {
        (record.image, record.split, *record.captions)
        for record in read_source(folder.parent).records
    }
    one = ("data/train/0.png", "train", "one")
    two = ("data/train/1.png", "train", "two")
    three = ("data/test/0.png",)
    assert found == {one, two, (*three, "test", "three")}


def test_the_check_reports_pictures_and_texts_that_no_pool_holds(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / "t.csv").write_text('image,text\na.png,"one ""two"""\nb.png,three\n')
    build([str(folder)], tmp_path / "built")
    said = "".join(map(str, Checker(tmp_path / "built").findings()))
    assert "that were read" not in said
    for file in (tmp_path / "built/cand_pool").rglob("*.jsonl"):
        lines = [
            line
            for line in file.read_text(encoding="utf-8").splitlines(True)
            if "b.png" not in line and "three" not in line
        ]
        file.write_text("".join(lines)) if lines else file.unlink()
    said = "".join(map(str, Checker(tmp_path / "built").findings()))
    assert (
        "1 pictures that were read are in no pool" in said
        and "1 texts that were read are in no pool" in said
    )
