import json
import resource
import sqlite3
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from genius.collections.images import open_image
from genius.errors import UserError
from genius.index import writing
from genius.index.segments import ItemRecords
from genius.index.store import Index
from genius.index.writing import write_index
from genius.schema import Item, Modality

SIZES = (3, 4, 5)
N, DIM = 7, 6
ITEMS = [
    Item("9:1", Modality.IMAGE, image="a.png"),
    Item("9:2", Modality.TEXT, text="A ‘quoted’ text; DROP TABLE items --"),
    Item("9:3", Modality.PAIR, text="both", image="b.png", source='{"split": "train"}'),
    Item("10:1", Modality.TEXT, text="four"),
    Item("10:2", Modality.TEXT, text="five"),
    Item("10:3", Modality.IMAGE, image="a.png"),
    Item("10:4", Modality.TEXT, text="seven"),
]
INSTRUCTIONS = [
    (Modality.TEXT, Modality.IMAGE, "Find the picture."),
    (Modality.IMAGE, Modality.PAIR, "More?"),
]


@pytest.fixture
def images(tmp_path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    Image.new("RGB", (300, 100), "red").save(folder / "a.png")
    Image.new("RGB", (50, 80), "blue").save(folder / "b.png")
    return folder


def arrays(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(N, DIM))
    return (
        rng.integers(SIZES, size=(N, 3)),
        (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
    )


def write(folder: Path, items: Iterable[Item] = ITEMS, images: Path | None = None, **how) -> Index:
    find = None if images is None else images.joinpath
    how = {"image_path": find, "instructions": INSTRUCTIONS} | how
    write_index(folder, items, *arrays(), SIZES, **how)
    return Index.load(folder)


@pytest.fixture
def folder(tmp_path, images) -> Path:
    target = tmp_path / "index"
    target.mkdir()
    return write(target, iter(ITEMS), images).folder


def sizes(index: Index) -> dict[int, tuple[int, int]]:
    """Of the thumbnails, by row."""
    return {row: open_image(picture).size for row in range(N) if (picture := index.thumbnail(row))}


def test_what_was_written_is_read_back(folder):
    codes, embeddings = arrays()
    index = Index.load(folder)
    assert (index.n, index.config.dim, index.code_sizes) == (N, DIM, SIZES)
    assert index.items([4, 0, 4, 2]) == [ITEMS[4], ITEMS[0], ITEMS[4], ITEMS[2]]
    assert np.array_equal(index.codes([6, 1]), codes[[6, 1]])
    assert index.modalities.tolist() == [item.modality for item in ITEMS]
    assert index.embeddings.dtype == np.float16 and isinstance(index.embeddings, np.memmap)
    assert np.array_equal(index.embeddings, embeddings.astype(np.float16))
    assert index.instructions == INSTRUCTIONS
    assert index.rows_of(["10:4", "no:1", "9:1", "10:4"]).tolist() == [6, -1, 0, 6]
    assert index.rows_of([]).tolist() == [] and index.items([]) == []
    # small, and only where there is an image
    assert sizes(index) == {0: (192, 64), 2: (50, 80), 5: (192, 64)}


def test_a_picture_that_items_share_is_kept_once(tmp_path, images, monkeypatch):
    monkeypatch.setattr(writing, "ITEM_BLOCK", 2)
    pictures = ["a.png", "b.png", "b.png", None, "a.png", "a.png", None]
    items = [Item(f"1:{row}", Modality.PAIR, "x", image) for row, image in enumerate(pictures)]
    index = write(tmp_path, items, images, thumbnail_side=60)
    shown = {"a.png": (60, 20), "b.png": (37, 60)}
    assert sizes(index) == {row: shown[image] for row, image in enumerate(pictures) if image}
    with closing(sqlite3.connect(tmp_path / "thumbnails.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM pictures").fetchone() == (2,)


def test_a_write_that_was_killed_goes_on_after_its_last_whole_block(tmp_path, images, monkeypatch):
    """In the second of four blocks the records were written, the thumbnails not."""
    monkeypatch.setattr(writing, "ITEM_BLOCK", 2)
    opened = []
    resume_folder = tmp_path / "resume_folder"
    resume_folder.mkdir()

    def resume(name: str, broken: tuple[str, ...]) -> Index:
        def image_path(image: str) -> Path:
            opened.append(image)
            if image in broken:
                raise KeyboardInterrupt
            return images / image

        (tmp_path / name).mkdir()
        how = {"image_path": image_path, "resume_folder": resume_folder}
        return write(tmp_path / name, iter(ITEMS), **how)

    with pytest.raises(KeyboardInterrupt):
        resume("killed", ("b.png",))
    # a.png is known from row 0, and shown again at row 5
    second = resume("second", ("a.png",))
    assert opened == ["a.png", "b.png", "b.png"]
    assert second.items(range(N)) == ITEMS
    assert second.modalities.tolist() == [item.modality for item in ITEMS]
    assert sizes(second) == {0: (192, 64), 2: (50, 80), 5: (192, 64)}

    third = resume("third", ("a.png", "b.png"))  # nobody had published the second
    assert len(opened) == 3 and third.items(range(N)) == ITEMS


def test_an_index_without_pictures_can_be_written(tmp_path):
    index = write(tmp_path, instructions=[])
    assert index.thumbnail(0) is None and index.items([0]) == ITEMS[:1] and index.instructions == []


def test_a_row_that_does_not_exist_is_an_index_error(folder):
    index = Index.load(folder)
    for row in (-1, N):
        with pytest.raises(IndexError, match=f"no row {row}"):
            index.items([0, row])


def test_a_pool_of_some_rows_holds_exactly_their_ids_and_rows(folder):
    codes, _ = arrays()
    index = Index.load(folder)
    pool = index.pool(np.array([5, 1, 5, 2]))
    assert sorted(pool.table.rows.tolist()) == [1, 2, 5]
    assert np.array_equal(pool.table.codes(np.arange(3)), codes[pool.table.rows])
    assert pool.trie.item_counts(torch.tensor(pool.trie.root)).item() == 3


def test_the_pool_of_all_rows_is_built_once_and_its_table_for_all_devices(folder):
    index = Index.load(folder)
    here, there = index.pool(), index.pool(device="meta")
    assert index.pool() is here and index.pool(device="meta") is there and len(here.table.rows) == N
    assert there.trie.device.type == "meta" and here.trie.device.type == "cpu"
    assert there.table is here.table and there.trie.crowded is here.trie.crowded
    with pytest.raises(ValueError, match="at least one item"):
        index.pool(np.array([], dtype=np.int64))


def test_a_few_unreadable_images_are_named_and_have_no_thumbnail(tmp_path, images):
    (images / "broken.png").write_bytes(b"no image at all")
    n = 30
    for number in range(2, n):
        Image.new("RGB", (20, 20), (number, 0, 0)).save(images / f"{number}.png")
    names = ["broken.png", "gone.png", *(f"{number}.png" for number in range(2, n))]
    items = [Item(f"1:{number}", Modality.IMAGE, image=name) for number, name in enumerate(names)]
    codes = np.zeros((n, 3), np.int64)
    embeddings = np.full((n, DIM), 0.4, np.float32)

    unreadable = write_index(
        tmp_path, items, codes, embeddings, SIZES, image_path=images.joinpath, instructions=[]
    )

    assert unreadable.count == 2
    assert (
        "candidate 1:0: broken.png is not" in unreadable.examples[0]
        and "1:1: gone.png" in unreadable.examples[1]
    )
    index = Index.load(tmp_path)
    assert index.items(range(n)) == items
    assert [index.thumbnail(row) is None for row in range(n)] == [True] * 2 + [False] * (n - 2)


def test_ids_and_texts_are_whole_strings(tmp_path):
    """Also with a NUL character, at which SQLite cuts strings in JSON; what is no text is in no
    index.
    """
    odd = [Item("9:1\0junk", Modality.TEXT, "a\0b"), Item("9:1", Modality.TEXT, "c"), *ITEMS[2:]]
    index = write(tmp_path, odd)
    assert index.items(range(N)) == odd
    rows = index.rows_of(["9:1", "9:1\0junk", "9:1\0", "10:1\0x", "10:1", "9:\ud800", "9:?"])
    assert rows.tolist() == [1, 0, -1, -1, 3, -1, -1]


def test_more_codes_than_a_trie_can_hold_are_refused(tmp_path):
    with pytest.raises(ValueError, match="out of range"):
        write_index(tmp_path, ITEMS, *arrays(), (3, 4, 65_537), image_path=None, instructions=[])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_many_threads_and_segments_need_few_open_files(folder):
    """41 threads, 13 segments: the threads of a page, with a limit of 40 more files than the
    segments have open.
    """
    records = ItemRecords([folder] * 13, [N] * 13)
    together = threading.Barrier(41)

    def look() -> tuple[list[Item], bytes | None]:
        return records.items(np.arange(N * 13)), records.thumbnail(N * 12)

    def read(_):
        together.wait()
        return look()

    expected = look()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(file.name) for file in Path("/proc/self/fd").iterdir()) + 40
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        with ThreadPoolExecutor(41) as threads:
            assert all(found == expected for found in threads.map(read, range(41)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "items, words",
    [
        (ITEMS[:-1], "no longer has the 7 candidates"),
        ([*ITEMS, Item("11:1", Modality.TEXT, text="more")], "no longer has the 7 candidates"),
        ([*ITEMS[:-1], Item("9:2", Modality.TEXT, text="again")], "two candidates with id '9:2'"),
        (
            [*ITEMS[:-1], Item("11:1", Modality.IMAGE, image="gone.png")],
            "candidate 11:1: gone.png is missing",
        ),
        (
            [*ITEMS[:-1], Item("11:1", Modality.IMAGE, image="broken.png")],
            "candidate 11:1: broken.png is not",
        ),
    ],
)
def test_items_that_do_not_fit_are_named(tmp_path, images, items, words):
    (images / "broken.png").write_bytes(b"no image at all")
    with pytest.raises(UserError, match=words):
        write(tmp_path, items, images)


def test_an_empty_collection_and_broken_embeddings_are_refused(tmp_path):
    codes, embeddings = arrays()
    with pytest.raises(UserError, match="no candidates"):
        write_index(
            tmp_path, [], codes[:0], embeddings[:0], SIZES, image_path=None, instructions=[]
        )
    embeddings[3, 2] = np.nan
    with pytest.raises(UserError, match="not a number"):
        write_index(tmp_path, ITEMS, codes, embeddings, SIZES, image_path=None, instructions=[])


def config(**changes):
    def change(folder):
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes))

    return change


def changed(name, value):
    """A number of an array, as files with fitting checksums may have it."""

    def change(folder):
        array = np.load(folder / name)
        array.reshape(-1)[1] = value
        np.save(folder / name, array)

    return change


ENDLESS = "WITH RECURSIVE n(row) AS (SELECT 0 UNION ALL SELECT row + 1 FROM n) SELECT row FROM n"


def sql(statements, name="items"):
    def change(folder):
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            database.executescript(statements)

    return change


@pytest.mark.parametrize(
    "change, words",
    [
        (sql("UPDATE items SET text = x'ff00'"), "holds an item of other types"),
        (sql("UPDATE items SET modality = 7"), "holds an item of other types"),
        (sql("UPDATE items SET text = CAST(x'ff' AS TEXT)"), "items.sqlite cannot be read"),
        (sql("DELETE FROM items WHERE row = 1"), "lacks an item"),
        (sql("UPDATE items SET modality = (modality + 1) % 3"), "another modality"),
        (sql("UPDATE pictures SET webp = x'00'", "thumbnails"), "thumbnails.sqlite"),
        (sql("DELETE FROM pictures", "thumbnails"), "thumbnails.sqlite"),
    ],
)
def test_records_that_no_training_writes_are_refused_when_they_are_read(folder, change, words):
    change(folder)
    index = Index.load(folder)
    with pytest.raises(UserError, match=words):
        index.items(range(N))
        [index.thumbnail(row) for row in range(N)]


@pytest.mark.parametrize(
    "damage, words",
    [
        (config(more=1), "config.json is not the config"),
        (config(n=8), "config.json is not the config"),
        (config(n=8, segments=[8], trained=8), "ids.npy .* expected uint8 of shape \\(8, 1\\)"),
        (config(dim=9), "embeddings.npy .* holds float16 of shape \\(7, 6\\)"),
        (config(code_sizes=[]), "config.json is not the config"),
        (
            lambda folder: np.save(folder / "ids.npy", np.full((N, 1), 0b11000000, np.uint8)),
            "code above 2 at level 0",
        ),
        (
            lambda folder: np.save(folder / "ids.npy", np.array([{}]), allow_pickle=True),
            "ids.npy does not fit its index",
        ),
        (sql("DELETE FROM items WHERE row = 6"), "holds 6 items"),
        (changed("modalities.npy", 3), "modalities.npy .*a number is out of range"),
        (changed("embeddings.npy", np.nan), "embeddings.npy .*out of range"),
        (sql("ALTER TABLE items RENAME TO others"), "items.sqlite cannot be read .no such table"),
        (
            sql(f"DROP TABLE items; CREATE VIEW items AS {ENDLESS}"),
            "items.sqlite cannot be read .interrupted",
        ),
        (
            lambda folder: (folder / "instructions.json").write_text('[["text", "sound", "x"]]'),
            "'sound' is unknown",
        ),
    ],
)
def test_a_damaged_index_is_refused_by_name(folder, damage, words, monkeypatch):
    monkeypatch.setattr("genius.index.database.MAX_SECONDS", 2)
    damage(folder)
    with pytest.raises(UserError, match=words):
        Index.load(folder)


def test_a_refusal_does_not_repeat_a_megabyte_of_a_damaged_file(folder):
    (folder / "instructions.json").write_text(json.dumps([["text", "x" * 2**20, "Find it."]]))
    with pytest.raises(UserError, match="is not a list of instructions") as refused:
        Index.load(folder)
    assert len(str(refused.value)) < 500
