"""Reading an M-BEIR directory."""

import json
import re
from itertools import islice

import pytest

from genius.collections.lines import LineError
from genius.collections.mbeir import BenchmarkRow, Collection
from genius.errors import UserError
from genius.schema import Item, LabeledQuery, Modality
from tests.collections.samples import CANDIDATES, QUERIES, write_collection, write_jsonl

ROW = BenchmarkRow(9, 3, "shapes", ("test",))


@pytest.fixture
def root(tmp_path):
    return write_collection(tmp_path / "collection")


def test_every_field_of_a_candidate_is_read(root):
    assert list(Collection(root).candidates("union_test")) == [
        Item("9:1", Modality.IMAGE, "", "images/a.png", ""),
        Item("9:2", Modality.TEXT, "a red square", None, ""),
        Item("9:3", Modality.PAIR, "a square", "images/a.png", "{}"),
        Item("9:4", Modality.TEXT, "a blue square", None, ""),
    ]


def test_every_field_of_a_query_is_read(root):
    first, second = Collection(root).queries("test", ROW)
    assert first == LabeledQuery("9:11", Modality.IMAGE, 3, "", "images/b.png", ("9:2",))
    # lists of objects are read too
    assert second.positives == ("9:4",) and second.negatives == ("9:2",)


def test_rows_are_the_tasks_and_datasets_that_have_queries(root):
    collection = Collection(root)
    assert collection.rows() == [ROW]
    assert collection.dataset_name(9) == "shapes"
    assert collection.pools() == ["union_test", "union_train", "shapes_task3"]
    with pytest.raises(UserError, match="no dataset 4"):
        collection.dataset_name(4)


def test_a_training_file_named_without_a_task_gives_all_its_rows(root):
    write_jsonl(
        root / "query/train/mbeir_shapes_train.jsonl",
        [QUERIES[0], QUERIES[1] | {"task_id": 4, "qid": "9:13", "pos_cand_list": []}],
    )
    (root / "qrels/train").mkdir()
    (root / "qrels/train/mbeir_shapes_train_qrels.txt").write_text("9:13 0 9:1 1 4\n")
    collection = Collection(root)
    assert collection.rows() == [
        BenchmarkRow(9, 3, "shapes", ("train", "test")),
        BenchmarkRow(9, 4, "shapes", ("train",)),
    ]
    assert [query.id for query in collection.queries("train", ROW)] == ["9:11"]
    (query,) = collection.queries("train", BenchmarkRow(9, 4, "shapes"))
    assert query.positives == ("9:1",)


def test_union_files_are_not_read_twice(root):
    write_jsonl(root / "query/union_train/mbeir_union_up_train.jsonl", QUERIES)
    assert list(Collection(root).queries("train")) == []


def test_the_list_in_the_query_line_is_used_only_without_qrels(root):
    qrels = root / "qrels/test/mbeir_shapes_task3_test_qrels.txt"
    qrels.write_text(
        "9:12 0 9:3 1 3\n9:12\t0\t9:2  2 3\n9:12 0 9:4 0 3\n9:12 0 9:3 1 3\n9:11 0 9:1 0 3\n"
    )
    first, second = Collection(root).queries("test")
    assert first.positives == ("9:2",)  # qrels name no relevant one
    assert second.positives == ("9:3", "9:2")  # in their order, once, without the irrelevant one
    qrels.unlink()
    assert [query.positives for query in Collection(root).queries("test")] == [("9:2",), ("9:4",)]


def test_each_candidate_is_streamed_once(root):
    collection = Collection(root)
    assert [item.id for item in collection.all_candidates()] == ["9:2", "9:1", "9:3", "9:4"]
    for file in (root / "cand_pool/global").iterdir():
        file.unlink()
    assert [item.id for item in collection.all_candidates()] == ["9:2", "9:4"]  # of the local pools


def test_a_local_pool_named_after_a_split_is_found(root):
    local = root / "cand_pool/local"
    (local / "mbeir_shapes_task3_cand_pool.jsonl").rename(
        local / "mbeir_shapes_task3_test_cand_pool.jsonl"
    )
    assert [item.id for item in Collection(root).local_pool(ROW)] == ["9:2", "9:4"]
    with pytest.raises(UserError, match="no pool 'shapes_task7'; it has union_test"):
        list(Collection(root).local_pool(BenchmarkRow(9, 7, "shapes")))


def test_lines_are_read_lazily(root):
    file = root / "cand_pool/global/mbeir_union_test_cand_pool.jsonl"
    with file.open("a") as stream:
        stream.write("not JSON\n")
    candidates = Collection(root).candidates("union_test")
    assert len(list(islice(candidates, 4))) == 4  # the bad fifth line was not looked at
    with pytest.raises(LineError, match=r"union_test_cand_pool\.jsonl:5: the line is not JSON"):
        next(candidates)


def test_instructions_are_read_by_column_position_without_empty_prompts(root):
    key = (9, Modality.IMAGE, Modality.TEXT)
    assert Collection(root).instructions() == {key: ["Say what this is.", "Find its caption."]}


def test_both_orders_of_the_pair_modality_are_read(root):
    write_jsonl(
        root / "cand_pool/local/mbeir_shapes_task8_cand_pool.jsonl",
        [CANDIDATES[2] | {"modality": "text,image"}],
    )
    (item,) = Collection(root).candidates("shapes_task8")
    assert item.modality is Modality.PAIR


CANDIDATE_FAULTS = [
    ({"did": 5}, "did: input should be a valid string, found 5"),
    ({"did": "five"}, "did: the id 'five' does not have the form dataset:number"),
    ({"txt": 7}, "txt: input should be a valid string, found 7"),
    (
        {"modality": "video"},
        "modality: modality 'video' is unknown; expected one of 'image', 'text'",
    ),
    ({"modality": ["image"]}, "modality: input should be a valid string"),
    ({"modality": "text"}, "the modality is given as 'text', but the line contains 'image'"),
    ({"img_path": None}, "an item needs a text, an image, or both"),
    ({"img_path": "/etc/passwd"}, "img_path: '/etc/passwd' leaves the collection"),
    ({"img_path": "a/../../b.png"}, "leaves the collection"),
]
QUERY_FAULTS = [
    ({"qid": ""}, "qid: the id '' does not have the form"),
    ({"task_id": 5}, "task_id: expected one of 0, 1, 2, 3, 4, 6, 7, 8, found 5"),
    ({"task_id": "3"}, "task_id: input should be a valid integer, found '3'"),
    ({"pos_cand_list": "9:2"}, "pos_cand_list: input should be a valid list"),
    ({"neg_cand_list": ["x"]}, "neg_cand_list.0: the id 'x' does not have the form"),
    ({"pos_cand_list": [{}]}, "pos_cand_list.0: input should be a valid string"),
    ({"query_modality": "text"}, "but the line contains 'image'"),
    ({"query_img_path": "../x.png"}, "query_img_path: '../x.png' leaves the collection"),
]
POOL, QUERY_FILE = (
    "cand_pool/local/mbeir_shapes_task3_cand_pool.jsonl",
    "query/test/mbeir_shapes_task3_test.jsonl",
)
QRELS, TABLE = "qrels/test/mbeir_shapes_task3_test_qrels.txt", "instructions/query_instructions.tsv"


@pytest.mark.parametrize(
    "file, line, says",
    [
        *((POOL, json.dumps(CANDIDATES[0] | change), says) for change, says in CANDIDATE_FAULTS),
        *((QUERY_FILE, json.dumps(QUERIES[1] | change), says) for change, says in QUERY_FAULTS),
        (QRELS, "9:11 0 9:2", "expected: query id"),
        (QRELS, "9:11 0 9:2 yes 3", "relevance must be an integer, found 'yes'"),
        (QRELS, "9:11 0 two 1 3", "the id 'two'"),
        (TABLE, "image\ttext\tshapes\t9", "separated by tabs"),
        (TABLE, "image\ttext\tshapes\tnine\tGo.", "dataset_id must be an integer"),
        (TABLE, "image\tsound\tshapes\t9\tGo.", "modality 'sound' is unknown"),
    ],
)
def test_a_malformed_line_is_named_by_file_and_line(root, file, line, says):
    before = (root / file).read_text(encoding="utf-8")
    (root / file).write_text(before + line + "\n")
    collection = Collection(root)
    with pytest.raises(
        LineError, match=rf"{re.escape(file)}:{before.count(chr(10)) + 1}: .*{re.escape(says)}"
    ):
        list(collection.candidates("shapes_task3"))
        list(collection.queries("test"))
        collection.instructions()


def test_image_paths_and_links_out_of_the_collection_are_refused(root, tmp_path):
    collection = Collection(root)
    assert collection.image_path("images/a.png").is_file()
    (tmp_path / "secret.png").write_bytes(b"")
    (root / "images/link.png").symlink_to(tmp_path / "secret.png")
    (loop := root / "images/loop.png").symlink_to(loop)
    (root / "images/lost.png").symlink_to(tmp_path / "nowhere.png")
    assert collection.image_path("images/missing.png") == root / "images/missing.png"
    assert collection.image_path("images/loop.png") == loop  # which its reader refuses
    outside = ("/etc/passwd", "../secret.png", "images/../../secret.png", "images/link.png", "a\0b")
    for path in (*outside, "images/lost.png"):
        with pytest.raises(UserError, match="collection"):
            collection.image_path(path)


def test_a_collection_may_be_a_link(root, tmp_path):
    (tmp_path / "here").symlink_to(root)
    assert Collection(tmp_path / "here").image_path("images/a.png").is_file()


def test_a_directory_without_pools_is_refused(tmp_path):
    says = "is not a collection.*python -m genius.collections SOURCE"
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match=says):
            Collection(path)
