import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from genius.collections.images import open_image
from genius.collections.writer import candidate_line
from genius.errors import UserError
from genius.index import new_items, publishing, update
from genius.index.__main__ import main as index_command
from genius.index.item_source import ItemSource, read_item_source, uploaded_items
from genius.index.store import Index
from genius.index.update import Added, Models, add, compact, remove, write_descriptions
from genius.locks import write_lock
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import Item, Modality
from genius.search.scan import Codewords, squared_norms
from tests.index.changes import (
    WHOLE,
    N,
    add_items,
    add_source,
    opened,
    raise_zero_division,
    tiny_models,
)
from tests.search.tiny import tiny_items, tiny_quantizer


def test_norms_stay_those_of_the_ids_whatever_changes(run, others):
    changes = (
        lambda: None,
        lambda: add_source(run, others),
        lambda: remove(run, ["0:3", f"0:{N + 1}"]),
        lambda: compact(run),
    )
    for change in changes:
        change()
        index = opened(run)
        for pool in (index.pool(), index.pool(np.arange(1, index.n, 3))):
            codewords = Codewords(tiny_models().quantizer.codebooks)
            computed = squared_norms(replace(pool, norms=None), codewords)
            assert pool.norms is not None and torch.equal(squared_norms(pool, None), computed)


def test_settings_of_a_wrong_type_are_refused_before_anything_is_encoded(run, others):
    with Run(run).changing_manifest() as manifest:
        manifest["settings"] = {"index": {"thumbnail_side": "x"}}
    with pytest.raises(UserError, match=r"settings.index.thumbnail_side: .*; train the run again"):
        add(run, lambda _: others, Models(None, None, None))


def test_an_encoder_that_cannot_encode_is_refused_before_any_image_is_opened(
    run, others, monkeypatch
):
    monkeypatch.setattr(Encoder, "tokenize", raise_zero_division)
    monkeypatch.setattr(new_items, "open_image", None)
    with pytest.raises(UserError, match="cannot encode a text and an image .division by zero"):
        add_source(run, others)


def assert_same(index: Index, expected: Index, rows: list[int]) -> None:
    """The index holds these rows of another, in this order."""
    assert index.n == len(rows) and index.items(range(index.n)) == expected.items(rows)
    assert np.array_equal(index.codes(range(index.n)), expected.codes(rows))
    assert np.allclose(index.embeddings[:], np.asarray(expected.embeddings)[rows], atol=1e-3)
    assert np.allclose(index.fused[:], np.asarray(expected.fused)[rows], atol=1e-3)
    assert index.modalities.tolist() == expected.modalities[rows].tolist()
    assert [*map(index.thumbnail, range(index.n))] == [*map(expected.thumbnail, rows)]
    assert index.rows_of(item.id for item in expected.items(rows)).tolist() == list(range(index.n))
    mine, theirs = index.pool().table, expected.pool(np.array(rows)).table
    assert np.array_equal(mine.packed, theirs.packed)
    assert np.array_equal(np.array(rows)[mine.rows], theirs.rows)


def inode(run: Path, file: str) -> int:
    """Equal for files that are shared, not copied."""
    return (opened(run).folder / file).stat().st_ino


def test_a_run_that_grew_shrank_and_was_compacted_is_the_run_indexed_whole(run, trained, others):
    whole = opened(trained / "whole")
    assert add_source(run, others) == Added(WHOLE - N, 0, 0, 0, (), ())
    assert_same(opened(run), whole, list(range(WHOLE)))

    assert remove(run, ["0:3", "0:26", "no:1"]).unknown == ("no:1",)
    rows = [row for row in range(WHOLE) if row not in (3, 26)]
    assert_same(opened(run), whole, rows)
    assert opened(run).rows_of(["0:3", "0:26"]).tolist() == [-1, -1]
    segments = {file: inode(run, file) for file in ("embeddings.npy", "segment-1/items.sqlite")}
    assert opened(run).config.segments == (N - 1, WHOLE - N - 1)

    assert add_source(run, others).new == 1  # 0:26 again, now last
    assert_same(opened(run), whole, [*rows, 26])
    assert opened(run).config.trained == N - 1
    assert segments == {file: inode(run, file) for file in segments}
    remove(run, ["0:26"])
    # the third segment had nothing else
    assert opened(run).config.segments == (N - 1, WHOLE - N - 1)
    add_source(run, others)
    rows = [*rows, 26]
    assert_same(opened(run), whole, rows)

    before = opened(run)
    assert compact(run) and not compact(run)
    assert_same(opened(run), whole, rows)
    assert opened(run).config.segments == (WHOLE - 1,) and opened(run).config.trained == N - 1
    assert_same(before, whole, rows)  # a reader keeps what it opened
    assert remove(run, ["0:25"]).removed == 1
    assert_same(opened(run), whole, [row for row in rows if row != 25])


def test_small_segments_are_merged_when_there_are_many(run, trained, others, monkeypatch):
    """Items that come one by one, and are removed in between, end in few segments; the first one is
    not rewritten.
    """
    monkeypatch.setattr(publishing, "MERGE_AT", 3)
    whole = opened(trained / "whole")
    rows = list(range(N))
    seen = set()
    for number, item in enumerate(others.items()[:10], N):
        first = inode(run, "embeddings.npy")
        assert add_source(run, ItemSource(lambda item=item: [item], others.image_path)).new == 1
        assert inode(run, "embeddings.npy") == first
        rows.append(number)
        if number % 4 == 0:
            remove(run, [f"0:{rows.pop()}", f"0:{rows.pop(number // 2)}"])
        assert_same(opened(run), whole, rows)
        seen.add(opened(run).config.segments)
    assert len(seen) > 5 and max(map(len, seen)) == 3
    folders = (file for file in opened(run).folder.iterdir() if file.is_dir())
    assert all([*folder.iterdir()] for folder in folders)


def test_items_stay_added_if_their_segments_cannot_be_merged(run, others, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publishing, "MERGE_AT", 1)
    monkeypatch.setattr(publishing, "merge_segments", full)
    assert add_source(run, others).new == WHOLE - N
    assert opened(run).n == WHOLE and len(opened(run).config.segments) == 2
    assert "the segments were not merged: the disk of" in caplog.text


def test_known_ids_copies_and_unreadable_images_are_counted(run, tmp_path):
    pictures = run / "pictures"
    (pictures / "broken.png").write_bytes(b"no image")
    Image.new("RGB", (9, 9), "red").save(pictures / "red.png")
    known = tiny_items(N, tmp_path)
    items = [
        known[1],
        Item("0:4", Modality.TEXT, "Another text."),  # skipped: ids
        Item("9:1", Modality.PAIR, known[5].text, known[5].image),  # as 0:5
        Item("9:2", Modality.PAIR, "Red.", "red.png"),
        Item("9:3", Modality.PAIR, "Red.", "red.png"),
        Item("9:4", Modality.PAIR, "Blue.", "red.png"),  # another text
        Item("9:5", Modality.PAIR, "Broken.", "broken.png"),
        Item("9:6", Modality.IMAGE, image="gone.png"),
    ]
    added = add_items(run, items, pictures)
    assert str(added) == "new 2, skipped 2, duplicate 2, unreadable 2"
    assert added.changed == ("0:4",)
    assert added.copies == (("5.png", "item 0:5"), ("red.png", "red.png"))
    broken, gone = sorted(added.complaints)  # images are opened side by side
    assert "broken.png is not" in broken and "gone.png is missing" in gone
    assert [item.id for item in opened(run).items(range(N, opened(run).n))] == ["9:2", "9:4"]
    assert not (run / "adding").exists()


def test_nothing_new_makes_no_new_version(run):
    before = Run(run).manifest
    (run / "broken.png").write_bytes(b"no image")
    added = add_items(run, [Item("9:1", Modality.IMAGE, image="broken.png")], run)
    assert (added.new, added.unreadable) == (0, 1)
    assert add_items(run, []) == Added(0, 0, 0, 0, (), ())
    assert remove(run, ["no:1"]).removed == 0 and Run(run).manifest == before


def test_encoding_goes_on_where_it_was_killed(run, others, monkeypatch):
    encoded: list[str] = []
    encode = Encoder.encode
    kills = [KeyboardInterrupt]

    def killed_once(encoder, images, texts):
        if kills and len(encoded) > 5:
            raise kills.pop()
        encoded.extend(texts)
        return encode(encoder, images, texts)

    monkeypatch.setattr(new_items, "BATCH", 5)
    monkeypatch.setattr("genius.encoding.features.SHARD", 5)
    monkeypatch.setattr(Encoder, "check", lambda encoder: None)  # which encodes, too
    monkeypatch.setattr(Encoder, "encode", killed_once)
    before = Run(run).manifest
    with pytest.raises(KeyboardInterrupt):
        add_source(run, others)
    assert Run(run).manifest == before
    assert add_source(run, others).new == WHOLE - N
    assert len(encoded) == len(set(encoded)), "a text of a finished shard was encoded again"


def test_a_failure_at_any_point_leaves_the_run_as_it_was(run, others, monkeypatch):
    before = Run(run).manifest
    items = opened(run).items(range(N))
    for place in (
        "genius.index.update.write_segment",
        "genius.index.publishing.write_rows",
        "genius.run.write_json",
    ):
        with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
            broken.setattr(place, raise_zero_division)
            add_source(run, others)
        assert Run(run).manifest == before and opened(run).items(range(N)) == items


def test_models_of_a_run_that_was_trained_again_add_nothing(run, others):
    """As in a page that is served while its run is trained again: its IDs would mean nothing to the
    new models.
    """
    models = Models.load(run, "cpu")
    Run(run).publish("quantizer", tiny_quantizer(seed=1).save, ("encoder", "fusion"))
    with pytest.raises(UserError, match="was trained again since its models were loaded"):
        add(run, lambda _: others, models)


def test_two_writers_exclude_each_other(run, others):
    with write_lock(run), pytest.raises(UserError, match="being changed already"):
        add_source(run, others)
    with pytest.raises(UserError, match="cannot be read"):
        remove(run / "no such run", ["0:1"])


def test_the_last_item_stays(run):
    with pytest.raises(UserError, match="no item would be left"):
        remove(run, [f"0:{number}" for number in range(N)])


def test_a_folder_becomes_a_dataset_of_its_own(run, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in "abc":
        Image.effect_noise((30, 20), 90).convert("RGB").save(folder / f"{name}.png")
    rows = [{"image": f"{name}.png", "text": f"{name} picture"} for name in "abc"]
    (folder / "manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "b.png").write_bytes(b"")

    def add_folder(name: str = "") -> Added:
        read = lambda dataset: read_item_source(f"{name}{folder}", dataset)  # noqa: E731
        return add(run, read, tiny_models())

    added = add_folder("mine=")
    ids = [item.id for item in opened(run).items(range(N, opened(run).n))]
    assert added.unreadable >= 1 and added.new == len(ids)
    assert all(name.startswith("1:") for name in ids)
    assert add_folder().new == 0
    folder.joinpath("manifest.jsonl").write_text('{"image": "../a.png"}\n')
    with pytest.raises(UserError, match="manifest.jsonl:1: '../a.png' leaves the folder"):
        add_folder()


def test_an_upload_above_the_limits_of_the_page_is_not_added(run, tmp_path):
    Image.new("RGB", (13_000, 2), "green").save(tmp_path / "wide.png")
    added = add_source(run, uploaded_items([("", tmp_path / "wide.png")], 1))
    assert added.unreadable == 1 and "12000 pixels per side" in added.complaints[0]


def test_uploads_are_added_and_the_caption_in_a_picture_is_an_item_behind_it(run, tmp_path):
    text = PngInfo()
    text.add_text("Description", "Boats at rest.")
    file = tmp_path / "green.png"
    Image.new("RGB", (20, 30), "green").save(file, pnginfo=text)
    added = add(
        run, lambda number: uploaded_items([("", file), ("Ships.", file)], number, 4), tiny_models()
    )
    assert added.new == 3
    picture, caption, pair = opened(run).items(range(N, N + 3))
    assert (picture.id, picture.modality, picture.image) == ("1:4", Modality.IMAGE, "4/green.png")
    assert (caption.id, caption.modality, caption.text) == ("1:5", Modality.TEXT, "Boats at rest.")
    assert json.loads(caption.source) == {"caption from": "PNG text", "picture": "4/green.png"}
    assert (pair.id, pair.modality, pair.text) == ("1:6", Modality.PAIR, "Ships.")
    assert open_image(opened(run).thumbnail(N)).size == (20, 30)


def test_another_picture_of_the_same_name_is_encoded_anew(run, monkeypatch):
    """A killed addition keeps its features; they belong to the picture that was encoded, not to its
    name.
    """
    opened_for_encoding = []

    def noted(path: Path, **how) -> Image.Image:
        opened_for_encoding.append(open_image(path, **how))
        return opened_for_encoding[-1]

    def add_picture(color: str) -> Added:
        Image.new("RGB", (32, 32), color).save(run / "upload.png")
        return add_items(run, [Item("9:1", Modality.IMAGE, image="upload.png")], run)

    with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
        broken.setattr(update, "write_segment", raise_zero_division)
        add_picture("red")
    monkeypatch.setattr(new_items, "open_image", noted)
    assert add_picture("blue").new == 1
    assert [image.getpixel((0, 0)) for image in opened_for_encoding] == [(0, 0, 255)]


def test_another_picture_under_a_known_id_is_changed_and_replaced_on_request(run, tmp_path, capsys):
    root = tmp_path / "known"
    root.mkdir()
    items = tiny_items(N, root)
    pictured = next(item for item in items if item.image)
    assert add_items(run, items, root).changed == ()
    Image.new("RGB", (40, 40), "red").save(root / pictured.image)
    assert add_items(run, items, root).changed == (pictured.id,)
    pool = root / "cand_pool" / "global" / "mbeir_union_test_cand_pool.jsonl"
    pool.parent.mkdir(parents=True)
    pool.write_text("".join(map(candidate_line, items)))
    for words, option in (("to replace them: add --replace", []), ("replaced ", ["--replace"])):
        assert index_command([str(run), "add", *option, str(root), "--device", "cpu"]) == 0
        assert words in capsys.readouterr().out
    assert add_items(run, items, root).changed == () and opened(run).n == N


def test_the_facts_of_an_item_follow_its_collection_and_no_byte_keeps_the_old_ones(run):
    first, second = items = opened(run).items([1, 2])
    thumbnails = [*map(opened(run).thumbnail, range(N))]
    told = [replace(first, source=json.dumps({"note": "zanzibar " * 99})), second]
    assert write_descriptions(run, told) == 1 and write_descriptions(run, told) == 0
    assert b"zanzibar" in b"".join(file.read_bytes() for file in run.rglob("items.sqlite"))
    assert write_descriptions(run, [replace(first, source='{"versions": 3}'), second]) == 1
    assert opened(run).items([1, 2]) == [replace(first, source='{"versions": 3}'), items[1]]
    assert [*map(opened(run).thumbnail, range(N))] == thumbnails
    assert not any(b"zanzibar" in file.read_bytes() for file in run.rglob("*") if file.is_file())


def test_a_photograph_in_several_versions_is_added_once(run, tmp_path):
    (folder := tmp_path / "photos").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    photo = Image.fromarray(pixels).resize((120, 120), Image.Resampling.BICUBIC)
    photo.save(folder / "b.png")
    photo.resize((60, 60)).save(folder / "a.jpg")
    source = read_item_source(str(folder), 1)
    (item,) = source.items()
    assert item.image == "b.png" and json.loads(item.source)["versions"] == 2
    assert "1 file: version of another; the first: a.jpg" in source.notes
    assert len(list(read_item_source(str(folder), 1, keep_versions=True).items())) == 2
    assert add_source(run, source).new == 1
