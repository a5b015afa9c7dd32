import hashlib
import os
import time

import numpy as np
import pytest
from PIL import Image

from genius.errors import UserError
from genius.ui.kept_pictures import KeptPictures, picture_folder


def picture(seed=0, side=24):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (side, side + 8, 3), dtype=np.uint8))


def aged(kept, checksum, seconds):
    os.utime(kept.folder / f"{checksum}.webp", (time.time() - seconds,) * 2)


def test_a_picture_comes_back_as_it_was_under_the_checksum_of_its_file(tmp_path):
    kept = KeptPictures(tmp_path / "kept")
    checksum = kept.keep(picture())
    (file,) = kept.folder.iterdir()
    assert file.name == f"{checksum}.webp" and hashlib.sha256(file.read_bytes()).hexdigest() == checksum
    assert kept.open(checksum).tobytes() == picture().tobytes()
    assert kept.keep(picture()) == checksum and kept.keep(picture(1)) != checksum
    assert kept.folder.stat().st_mode & 0o077 == 0


def test_nothing_else_of_an_upload_is_kept(tmp_path):
    image = picture()
    image.info["exif"] = b"Exif\0\0 52.37 N 4.89 E"
    kept = KeptPictures(tmp_path)
    assert b"52.37" not in (tmp_path / f"{kept.keep(image)}.webp").read_bytes()


@pytest.mark.parametrize(
    "checksum",
    [
        None,
        3,
        "",
        ["a"],
        "0" * 63,
        "0" * 65,
        "A" * 64,
        "g" * 64,
        "../" + "0" * 61,
        "0" * 64 + "\n",
        "/etc/passwd",
        "٣" * 64,
    ],
)
def test_what_is_no_checksum_opens_nothing(tmp_path, checksum):
    (tmp_path / "secret.webp").write_bytes(b"x")
    with pytest.raises(UserError, match="no longer kept"):
        KeptPictures(tmp_path / "kept").open(checksum)


def test_a_checksum_that_is_not_kept_a_link_and_a_changed_file_open_nothing(tmp_path):
    kept = KeptPictures(tmp_path / "kept")
    other = KeptPictures(tmp_path / "other")
    checksum = other.keep(picture())
    (kept.folder / f"{checksum}.webp").symlink_to(other.folder / f"{checksum}.webp")
    changed = kept.keep(picture(1))
    (kept.folder / f"{changed}.webp").write_bytes((other.folder / f"{checksum}.webp").read_bytes())
    for one in (checksum, changed, "0" * 64):
        with pytest.raises(UserError, match="no longer kept"):
            kept.open(one)


def test_the_least_recently_used_go_first_and_files_of_others_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    kept = KeptPictures(tmp_path, max_pictures=2)
    first, second = kept.keep(picture(1)), kept.keep(picture(2))
    aged(kept, first, 50)
    aged(kept, second, 100)
    third = kept.keep(picture(3))
    assert {file.name for file in tmp_path.iterdir()} == {"notes.txt", f"{first}.webp", f"{third}.webp"}
    aged(kept, first, 50)
    kept.open(first)  # a use
    aged(kept, third, 20)
    kept.keep(picture(4))
    assert kept.open(first)


def test_bytes_and_age_are_bounded(tmp_path):
    size = len((tmp_path / f"{KeptPictures(tmp_path).keep(picture())}.webp").read_bytes())
    kept = KeptPictures(tmp_path, max_bytes=int(2.5 * size), max_age=1_000)
    names = [kept.keep(picture(seed)) for seed in (5, 6, 7)]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2.5 * size
    aged(kept, names[-1], 2_000)
    with pytest.raises(UserError, match="no longer kept"):
        kept.open(names[-1])
    kept.trim()
    assert not (tmp_path / f"{names[-1]}.webp").exists()


def test_off_keeps_nothing_and_a_file_is_no_folder(tmp_path):
    assert picture_folder("off") is None
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="needs a folder"):
        picture_folder(str(tmp_path / "file"))
