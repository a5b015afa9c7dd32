"""One photograph is one item, however many files a camera or a program makes of it."""

import pytest

from genius.collections.listing import HIDDEN, OTHER, PART, Folder, account
from genius.collections.shots import parts_of_others
from tests.collections.samples import photos


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
        (
            ["1.HEIC"],
            ["1.MOV", "1_HEIC.MOV", "2.MOV"],
            dict.fromkeys(["1.MOV", "1_HEIC.MOV"], "1.HEIC"),
        ),
        (["u.heic"], ["u_3.mov", "v_3.mov"], {"u_3.mov": "u.heic"}),
    ],
)
def test_the_files_of_a_photograph_belong_to_the_best_of_them(images, others, whole):
    assert parts_of_others(images, others) == whole


def test_parts_are_no_items_but_named(tmp_path):
    folder = photos(
        tmp_path / "phone", "IMG_1.JPG", "IMG_1.dng", "IMG_E2.JPG", "IMG_2.JPG", "3.png"
    )
    for name in ("IMG_1.MOV", "IMG_2.AAE", "4.MOV"):
        (folder / name).write_bytes(b"\0\0\0\x14ftypqt  ")
    listed = Folder(folder)
    assert listed.images == ["3.png", "IMG_1.JPG", "IMG_E2.JPG"]
    parts = {report.file: report.detail for report in listed.others if report.outcome == PART}
    assert parts == dict.fromkeys(("IMG_1.dng", "IMG_1.MOV"), "IMG_1.JPG") | dict.fromkeys(
        ("IMG_2.JPG", "IMG_2.AAE"), "IMG_E2.JPG"
    )
    assert [report.file for report in listed.others if report.outcome == OTHER] == ["4.MOV"]
    assert account(listed.others)[0].startswith("4 files: part of another picture (")
    assert listed.find("IMG_1.dng") == "IMG_1.dng"  # a table may name it


@pytest.mark.parametrize(
    "library, derived",
    [
        ("Fotos.photoslibrary/originals/0", "Fotos.photoslibrary/resources/derivatives/masters/0"),
        ("Old.photolibrary/Masters/2009", "Old.photolibrary/Thumbnails/2009"),
        ("Lr", "Lr/Catalog Previews.lrdata/0"),
        ("DCIM/Camera", "DCIM/thumb"),
        ("sd", "LOST.DIR"),
        ("upload/library", "encoded-video"),
    ],
)
def test_what_programs_derive_from_pictures_is_left_out(tmp_path, library, derived):
    folder = photos(tmp_path / "disk", f"{library}/1.png", f"{derived}/2.png")
    listed = Folder(folder)
    assert listed.images == [f"{library}/1.png"]
    assert [(report.file, report.outcome) for report in listed.others] == [
        (f"{derived}/2.png", HIDDEN)
    ]
    assert Folder(folder / library.split("/")[0]).images == [f"{library}/1.png".partition("/")[2]]
