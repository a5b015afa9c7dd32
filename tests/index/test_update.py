import json
import os
import shutil
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
from genius.index import update
from genius.index.__main__ import main as index_command
from genius.index.item_source import ItemSource, read_item_source, uploaded_items
from genius.index.store import Index
from genius.index.update import Added, Models, Removed, add, compact, describe, remove
from genius.locks import write_lock
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import Item, Modality
from genius.search.scan import Codewords, squared_norms
from tests.search.tiny import (
    publish_tiny_run,
    tiny_encoder,
    tiny_fusion,
    tiny_items,
    tiny_quantizer,
)

N, WHOLE = 24, 40


@pytest.fixture(scope="module")
def models() -> Models:
    return Models(tiny_encoder(), tiny_fusion(), tiny_quantizer())


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Two runs: one of the first items, and one of all."""
    root = tmp_path_factory.mktemp("runs")
    publish_tiny_run(root / "run", N, fused=True)
    publish_tiny_run(root / "whole", WHOLE, fused=True)
    return root


@pytest.fixture
def run(trained, tmp_path) -> Path:
    return shutil.copytree(trained / "run", tmp_path / "run")


@pytest.fixture
def others(tmp_path) -> ItemSource:
    """The items that the whole run has besides."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    return item_source(tiny_items(WHOLE, pictures)[N:], pictures)


def item_source(items: list[Item], pictures: Path) -> ItemSource:
    return ItemSource(lambda: items, pictures.joinpath)


def opened(run: Path) -> Index:
    return Index.load(Run(run).folder("index"))


def test_norms_stay_those_of_the_ids_whatever_changes(run, models, others):
    changes = (
        lambda: None,
        lambda: add(run, lambda _: others, models),
        lambda: remove(run, ["0:3", f"0:{N + 1}"]),
        lambda: compact(run),
    )
    for change in changes:
        change()
        index = opened(run)
        for pool in (index.pool(), index.pool(np.arange(1, index.n, 3))):
            computed = squared_norms(
                replace(pool, norms=None), Codewords(models.quantizer.codebooks)
            )
            assert pool.norms is not None and torch.equal(squared_norms(pool, None), computed)


def test_an_older_run_knows_no_norms_and_still_grows(run, models, others):
    errors = np.array(opened(run).errors)
    files = Run(run).manifest["parts"]["index"]["files"].keys() - {"distances.npy"}
    Run(run).replace(
        "index",
        lambda folder: np.save(folder / "errors.npy", errors),
        {name: name for name in files},
    )
    assert opened(run).pool().norms is None and np.array_equal(opened(run).errors, errors)
    add(run, lambda _: others, models)
    assert opened(run).pool().norms is None and np.array_equal(opened(run).errors[:N], errors)
    assert (
        not np.isnan(opened(run).errors).any() and not (opened(run).folder / "errors.npy").exists()
    )


def test_settings_of_a_wrong_type_are_refused_before_anything_is_encoded(run, others):
    with Run(run).changing_manifest() as manifest:
        manifest["settings"] = {"index": {"thumbnail_side": "x"}}
    with pytest.raises(UserError, match=r"settings.index.thumbnail_side: .*; train the run again"):
        add(run, lambda _: others, Models(None, None, None))


def test_an_encoder_that_cannot_encode_is_refused_before_any_image_is_opened(
    run, others, models, monkeypatch
):
    def fail(*given):
        raise OSError("the tokenizer is gone")

    monkeypatch.setattr(Encoder, "tokenize", fail)
    monkeypatch.setattr(update, "open_image", None)
    with pytest.raises(UserError, match="cannot encode a text and an image .the tokenizer is gone"):
        add(run, lambda dataset: others, models)


def assert_same(index: Index, expected: Index, rows: list[int]) -> None:
    """The index holds these rows of another, in this order."""
    assert index.n == len(rows) and index.items(range(index.n)) == expected.items(rows)
    assert np.array_equal(index.codes(range(index.n)), expected.codes(rows))
    assert np.allclose(index.embeddings[:], np.asarray(expected.embeddings)[rows], atol=1e-3)
    assert np.allclose(index.fused[:], np.asarray(expected.fused)[rows], atol=1e-3)
    assert index.modalities.tolist() == expected.modalities[rows].tolist()
    assert [index.thumbnail(row) for row in range(index.n)] == [
        expected.thumbnail(row) for row in rows
    ]
    assert index.rows_of(item.id for item in expected.items(rows)).tolist() == list(range(index.n))
    mine, theirs = index.pool().table, expected.pool(np.array(rows)).table
    assert np.array_equal(mine.packed, theirs.packed) and np.array_equal(
        np.array(rows)[mine.rows], theirs.rows
    )


def test_a_run_that_grew_shrank_and_was_compacted_is_the_run_indexed_whole(
    run, trained, models, others
):
    whole = opened(trained / "whole")
    assert add(run, lambda _: others, models) == Added(WHOLE - N, 0, 0, 0, (), ())
    assert_same(opened(run), whole, list(range(WHOLE)))

    assert remove(run, ["0:3", "0:30", "no:1"]).unknown == ("no:1",)
    rows = [row for row in range(WHOLE) if row not in (3, 30)]
    assert_same(opened(run), whole, rows)
    assert opened(run).rows_of(["0:3", "0:30"]).tolist() == [-1, -1]
    parts = {
        file: (opened(run).folder / file).stat().st_ino
        for file in ("embeddings.npy", "segment-1/items.sqlite")
    }
    assert opened(run).config.segments == (N - 1, WHOLE - N - 1)

    assert add(run, lambda _: others, models).new == 1  # 0:30 again, now last
    assert_same(opened(run), whole, [*rows, 30])
    assert opened(run).config.trained == N - 1
    for file, node in parts.items():  # segments are shared, not copied
        assert (opened(run).folder / file).stat().st_ino == node
    remove(run, ["0:30"])
    # the third segment had nothing else
    assert opened(run).config.segments == (N - 1, WHOLE - N - 1)
    add(run, lambda _: others, models)
    rows = [*rows, 30]
    assert_same(opened(run), whole, rows)

    before = opened(run)
    assert compact(run) and not compact(run)
    assert_same(opened(run), whole, rows)
    assert opened(run).config.segments == (WHOLE - 1,) and opened(run).config.trained == N - 1
    assert_same(before, whole, rows)  # a reader keeps what it opened
    assert remove(run, ["0:39"]).removed == 1
    assert_same(opened(run), whole, [row for row in rows if row != 39])


def test_small_segments_are_merged_when_there_are_many(run, models, tmp_path, monkeypatch):
    """Items that come one by one, and are removed in between, end in few segments; the first one is
    not rewritten.
    """
    monkeypatch.setattr(update, "MERGE_AT", 3)
    pictures = tmp_path / "more"
    pictures.mkdir()
    items = tiny_items(WHOLE, pictures)
    expected = items[:N]
    seen = set()

    def first() -> int:
        return (opened(run).folder / "embeddings.npy").stat().st_ino

    for number in range(N, WHOLE):
        new = items[number]
        file = first()
        assert (
            add(run, lambda _, new=new: item_source([new], pictures), models).new == 1
            and first() == file
        )
        expected = [*expected, new]
        if number % 4 == 0:
            remove(run, [expected[-1].id, expected[number // 2].id])
            expected = [item for item in expected[:-1] if item.id != expected[number // 2].id]
        index = opened(run)
        seen.add(index.config.segments)
        assert index.items(range(index.n)) == expected and len(index.config.segments) <= 3
        assert index.rows_of([item.id for item in expected]).tolist() == list(range(index.n))
        assert index.modalities.tolist() == [item.modality for item in expected]
        assert [index.thumbnail(row) is not None for row in range(index.n)] == [
            item.image is not None for item in expected
        ]
        assert np.allclose(
            index.embeddings[:],
            models.encoder.encode(*shown(expected, pictures)).embedding(),
            atol=2e-3,
        )
    assert len(seen) > 6
    assert not [
        folder
        for folder in opened(run).folder.iterdir()
        if folder.is_dir() and not any(folder.iterdir())
    ]


def shown(items: list[Item], pictures: Path) -> tuple[list, list[str]]:
    return [item.image and open_image(pictures / item.image) for item in items], [
        item.text for item in items
    ]


def test_items_stay_added_if_their_segments_cannot_be_merged(
    run, models, others, monkeypatch, caplog
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(update, "MERGE_AT", 1)
    monkeypatch.setattr(update, "merge_segments", full)
    assert add(run, lambda _: others, models).new == WHOLE - N
    assert opened(run).n == WHOLE and len(opened(run).config.segments) == 2
    assert "the segments were not merged: the disk of" in caplog.text


def test_known_ids_copies_and_unreadable_images_are_counted(run, models, tmp_path):
    pictures = run / "pictures"
    (pictures / "broken.png").write_bytes(b"no image")
    Image.new("RGB", (9, 9), "red").save(pictures / "red.png")
    known = tiny_items(N, tmp_path)
    added = add(
        run,
        lambda _: item_source(
            [
                known[1],
                Item("0:4", Modality.TEXT, "Another text."),  # skipped: ids
                Item("9:1", Modality.PAIR, known[5].text, known[5].image),  # as 0:5
                Item("9:2", Modality.PAIR, "Red.", "red.png"),
                Item("9:3", Modality.PAIR, "Red.", "red.png"),
                Item("9:4", Modality.PAIR, "Blue.", "red.png"),  # another text
                Item("9:5", Modality.PAIR, "Broken.", "broken.png"),
                Item("9:6", Modality.IMAGE, image="gone.png"),
            ],
            pictures,
        ),
        models,
    )
    assert (added.new, added.skipped, added.duplicate, added.unreadable) == (2, 2, 2, 2)
    assert added.changed == ("0:4",)
    broken, gone = sorted(added.complaints)  # images are opened side by side
    assert "broken.png is not" in broken and "gone.png is missing" in gone
    assert str(added) == "new 2, skipped 2, duplicate 2, unreadable 2"
    assert [item.id for item in opened(run).items([N, N + 1])] == ["9:2", "9:4"] and opened(
        run
    ).n == N + 2
    assert not (run / "adding").exists()


def test_nothing_new_makes_no_new_version(run, models):
    before = Run(run).manifest
    (run / "broken.png").write_bytes(b"no image")
    added = add(
        run, lambda _: item_source([Item("9:1", Modality.IMAGE, image="broken.png")], run), models
    )
    assert (added.new, added.unreadable) == (0, 1)
    assert add(run, lambda _: item_source([], run), models) == Added(0, 0, 0, 0, (), ())
    assert remove(run, ["no:1"]).removed == 0 and Run(run).manifest == before


def test_encoding_goes_on_where_it_was_killed(run, models, others, monkeypatch):
    encoded = []

    def encode(images, texts, fail):
        if fail and len(encoded) == 2:
            raise KeyboardInterrupt
        encoded.append(sorted(texts))
        return type(models.encoder).encode(models.encoder, images, texts)

    monkeypatch.setattr(update, "BATCH", 5)
    monkeypatch.setattr("genius.encoding.features.SHARD", 5)
    before = Run(run).manifest
    monkeypatch.setattr(models.encoder, "check", lambda: None, raising=False)  # which encodes, too
    monkeypatch.setattr(
        models.encoder, "encode", lambda images, texts: encode(images, texts, True), raising=False
    )
    with pytest.raises(KeyboardInterrupt):
        add(run, lambda _: others, models)
    assert Run(run).manifest == before
    monkeypatch.setattr(
        models.encoder, "encode", lambda images, texts: encode(images, texts, False), raising=False
    )
    assert add(run, lambda _: others, models).new == WHOLE - N
    texts = [text for batch in encoded for text in batch]
    assert len(encoded) > 2 and len(texts) == len(set(texts)), (
        "a text of a finished shard was encoded again"
    )


def test_a_failure_at_any_point_leaves_the_run_as_it_was(run, models, others, monkeypatch):
    before = Run(run).manifest
    index = opened(run)
    for name in ("write_segment", "write_rows"):
        with monkeypatch.context() as broken:
            broken.setattr(update, name, lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                add(run, lambda _: others, models)
    monkeypatch.setattr("genius.run.write_json", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        add(run, lambda _: others, models)
    assert Run(run).manifest == before and opened(run).items(range(N)) == index.items(range(N))


def test_models_of_a_run_that_was_trained_again_add_nothing(run, others):
    """As in a page that is served while its run is trained again: its IDs would mean nothing to the
    new models.
    """
    models = Models.load(run, "cpu")
    opened_run = Run(run)
    opened_run.publish("quantizer", tiny_quantizer(seed=1).save, ("encoder", "fusion"))
    with pytest.raises(UserError, match="was trained again since its models were loaded"):
        add(run, lambda _: others, models)


def test_two_writers_exclude_each_other(run, models, others):
    with write_lock(run), pytest.raises(UserError, match="being changed already"):
        add(run, lambda _: others, models)
    with pytest.raises(UserError, match="cannot be read"):
        remove(run / "no such run", ["0:1"])


@pytest.mark.parametrize(
    "id", ["0:1\0", "0:1\0junk", "0:1\ud800", "0:1" + "x" * 1_000_000, "0:1 "], ids=len
)
def test_an_id_is_the_whole_string(run, id):
    assert remove(run, [id]) == Removed(0, (id,))


def test_the_last_item_stays(run):
    with pytest.raises(UserError, match="no item would be left"):
        remove(run, [f"0:{number}" for number in range(N)])


def test_a_folder_becomes_a_dataset_of_its_own(run, models, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("a.png", "b.png", "c.png"):
        Image.effect_noise((30, 20), 90).convert("RGB").save(folder / name)
    (folder / "manifest.jsonl").write_text(
        "".join(
            json.dumps({"image": f"{name}.png", "text": f"{name} picture"}) + "\n" for name in "abc"
        )
    )
    (folder / "b.png").write_bytes(b"")
    added = add(run, lambda dataset: read_item_source(f"mine={folder}", dataset), models)
    index = opened(run)
    ids = [item.id for item in index.items(range(N, index.n))]
    assert (
        added.unreadable >= 1
        and added.new == len(ids)
        and all(name.startswith("1:") for name in ids)
    )
    assert add(run, lambda dataset: read_item_source(str(folder), dataset), models).new == 0
    folder.joinpath("manifest.jsonl").write_text('{"image": "../a.png"}\n')
    with pytest.raises(UserError, match="manifest.jsonl:1: '../a.png' leaves the folder"):
        add(run, lambda dataset: read_item_source(str(folder), dataset), models)


def test_uploads_of_a_visitor_are_added(run, models, tmp_path):
    Image.new("RGB", (20, 30), "green").save(tmp_path / "green.png")
    assert (
        add(
            run,
            lambda dataset: uploaded_items(
                [("Only words.", None), ("", tmp_path / "green.png")], dataset
            ),
            models,
        ).new
        == 2
    )
    words, picture = opened(run).items([N, N + 1])
    assert (words.id, words.text, words.image) == ("1:1", "Only words.", None)
    assert (picture.id, picture.modality, picture.image) == ("1:2", Modality.IMAGE, "2/green.png")
    assert open_image(opened(run).thumbnail(N + 1)).size == (20, 30)


def test_an_upload_above_the_limits_of_the_page_is_not_added(run, models, tmp_path):
    Image.new("RGB", (13_000, 2), "green").save(tmp_path / "wide.png")
    added = add(run, lambda dataset: uploaded_items([("", tmp_path / "wide.png")], dataset), models)
    assert added.unreadable == 1 and "12000 pixels per side" in added.complaints[0]


def test_another_picture_of_the_same_name_is_encoded_anew(run, models, monkeypatch):
    """A killed addition keeps its features; they belong to the picture that was encoded, not to its
    name.
    """

    def picture(color):
        Image.new("RGB", (32, 32), color).save(run / "upload.png")
        return item_source([Item("9:1", Modality.IMAGE, image="upload.png")], run)

    with monkeypatch.context() as broken:
        broken.setattr(update, "write_segment", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            add(run, lambda _: picture("red"), models)
    opened_for_encoding = []
    monkeypatch.setattr(
        update,
        "open_image",
        lambda path, **how: (
            opened_for_encoding.append(open_image(path, **how)) or opened_for_encoding[-1]
        ),
    )
    assert add(run, lambda _: picture("blue"), models).new == 1
    assert [image.getpixel((0, 0)) for image in opened_for_encoding] == [(0, 0, 255)]


def test_a_file_name_that_is_not_utf8_is_left_out_and_said(tmp_path):
    Image.new("RGB", (20, 30)).save(tmp_path / "good.png")
    shutil.copy(tmp_path / "good.png", tmp_path / os.fsdecode(b"bad\xff.png"))
    source = read_item_source(str(tmp_path), 1)
    assert len(list(source.items())) == 1 and "the file name is not UTF-8" in source.notes[0]


def test_another_picture_under_a_known_id_is_changed_and_replaced_on_request(
    run, models, tmp_path, capsys
):
    root = tmp_path / "known"
    root.mkdir()
    items = tiny_items(N, root)
    pictured = next(item for item in items if item.image)
    assert add(run, lambda _: item_source(items, root), models).changed == ()
    Image.new("RGB", (40, 40), "red").save(root / pictured.image)
    changed = {item.id for item in items if item.image == pictured.image}
    assert set(add(run, lambda _: item_source(items, root), models).changed) == changed
    pool = root / "cand_pool" / "global" / "mbeir_union_test_cand_pool.jsonl"
    pool.parent.mkdir(parents=True)
    pool.write_text("".join(map(candidate_line, items)))
    for words, option in (("to replace them: add --replace", []), ("replaced ", ["--replace"])):
        assert index_command([str(run), "add", *option, str(root), "--device", "cpu"]) == 0
        assert words in capsys.readouterr().out
    assert add(run, lambda _: item_source(items, root), models).changed == () and opened(run).n == N


def test_the_facts_of_an_item_follow_its_collection_and_no_byte_keeps_the_old_ones(run, models):
    items = list(opened(run).items(range(N)))
    told = [
        replace(items[1], source=json.dumps({"versions": 2, "note": "zanzibar " * 99})),
        items[2],
    ]
    assert describe(run, told) == 1 and describe(run, told) == 0
    assert b"zanzibar" in b"".join(file.read_bytes() for file in run.rglob("items.sqlite"))
    before = [opened(run).thumbnail(row) for row in range(N)]
    assert describe(run, [replace(items[1], source='{"versions": 3}'), items[2]]) == 1
    index = opened(run)
    assert [item.source for item in index.items([1, 2])] == ['{"versions": 3}', items[2].source]
    assert [item.id for item in index.items(range(N))] == [item.id for item in items]
    assert [index.thumbnail(row) for row in range(N)] == before
    assert not any(b"zanzibar" in file.read_bytes() for file in run.rglob("*") if file.is_file())


def test_a_photograph_in_several_versions_is_added_once(run, models, tmp_path):
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
    assert add(run, lambda dataset: source, models).new == 1


def test_the_caption_in_an_uploaded_picture_is_an_item_behind_it(run, models, tmp_path):
    text = PngInfo()
    text.add_text("Description", "Boats at rest.")
    Image.new("RGB", (20, 30), "green").save(tmp_path / "green.png", pnginfo=text)
    uploads = [("", tmp_path / "green.png"), ("Ships.", tmp_path / "green.png")]
    source = uploaded_items(uploads, 7, first=4)
    picture, caption, pair = source.items()
    assert (picture.id, picture.modality, picture.image) == ("7:4", Modality.IMAGE, "4/green.png")
    assert (caption.id, caption.modality, caption.text) == ("7:5", Modality.TEXT, "Boats at rest.")
    assert json.loads(caption.source) == {"caption from": "PNG text", "picture": "4/green.png"}
    assert (pair.id, pair.modality, pair.text) == ("7:6", Modality.PAIR, "Ships.")
    assert add(run, lambda dataset: source, models).new == 3
