"""What is taken out of a collection leaves nothing of itself there, though the process may be
killed.
"""

import shutil
from pathlib import Path

import pytest

from genius.collections import removal
from genius.collections.__main__ import check
from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.collections.removal import REMOVED, erase_candidates, erase_removed
from genius.files import describe
from tests.collections.samples import write_source

RECORDS = [
    {"img_path": "0.png", "txt": "a dog"},
    {"img_path": "1.png", "txt": "the xylophonist"},
    {"img_path": "2.png", "txt": "snow"},
    {"img_path": "3.png", "txt": "a dog"},
]


@pytest.fixture
def root(tmp_path) -> Path:
    root = tmp_path / "collection" / "shop"
    build([str(write_source(tmp_path / "shop", RECORDS))], root)
    return root


def ids(root: Path, *words: str) -> set[str]:
    items = Collection(root).all_candidates()
    return {item.id for item in items if any(word in (item.text, item.image) for word in words)}


def mentions(root: Path, *secrets: bytes) -> list[str]:
    files = (file for file in root.rglob("*") if file.is_file())
    return [file.name for file in files if any(secret in file.read_bytes() for secret in secrets)]


def test_a_picture_and_its_caption_leave_nothing(root):
    picture = (root / "images" / "shop" / "1.png").read_bytes()
    assert len(mentions(root, b"xylophonist")) >= 4
    assert erase_candidates(root, ids(root, "the xylophonist", "images/shop/1.png")) == 2
    assert (
        mentions(root.parent, b"xylophonist", b"1.png", picture) == []
        and check(root, images=True) == 0
    )
    assert erase_candidates(root, {"0:99"}) == 0


def test_a_caption_that_two_pictures_share_goes_without_them_and_a_picture_without_the_caption(
    root,
):
    (caption,) = ids(root, "a dog")
    assert erase_candidates(root, {caption}) == 1
    assert mentions(root, b"a dog") == [] and check(root, images=True) == 0
    assert len(ids(root, "images/shop/0.png", "images/shop/3.png")) == 2
    assert erase_candidates(root, ids(root, "images/shop/2.png")) == 1
    assert (
        ids(root, "snow")
        and not (root / "images" / "shop" / "2.png").exists()
        and check(root, images=True) == 0
    )


def test_after_a_kill_anywhere_it_can_be_repeated(root, tmp_path, monkeypatch):
    gone = ids(root, "the xylophonist", "images/shop/1.png")
    whole = shutil.copytree(root, tmp_path / "whole" / "shop")
    erase_candidates(whole, gone)
    rewrite = removal._rewrite
    calls = 0
    while True:
        left = [calls]

        def killed(*given, left=left):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            rewrite(*given)

        again = shutil.copytree(root, tmp_path / str(calls) / "shop")
        with monkeypatch.context() as patch:
            patch.setattr(removal, "_rewrite", killed)
            try:
                erase_candidates(again, gone)
                break
            except KeyboardInterrupt:
                pass
        erase_candidates(again, gone)
        assert describe(again.parent) == describe(whole.parent), calls
        calls += 1
    assert calls > 4


def test_what_was_removed_stays_out_of_a_collection_that_is_built_again(root, tmp_path):
    erase_candidates(root, ids(root, "the xylophonist", "images/shop/1.png"))
    again = root.with_name("shop.new")
    renamed = [record | {"img_path": f"renamed {record['img_path']}"} for record in RECORDS]
    build([f"shop={write_source(tmp_path / 'others', renamed)}"], again)
    assert erase_removed(again) == 2 and mentions(again, b"xylophonist") == []
    assert (root.parent / REMOVED).read_text(encoding="utf-8").count("\n") == 2
