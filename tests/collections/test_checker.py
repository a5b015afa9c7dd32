"""The checker: a good collection has no problem, and each fault is named by file and line."""

import os
import shutil
from pathlib import Path

import pytest

from genius.collections.checker import Checker
from tests.collections.samples import QUERIES, picture, read_jsonl, write_collection, write_jsonl

TEST_POOL = "cand_pool/global/mbeir_union_test_cand_pool.jsonl"
TRAIN_POOL = "cand_pool/global/mbeir_union_train_cand_pool.jsonl"
LOCAL_POOL = "cand_pool/local/mbeir_shapes_task3_cand_pool.jsonl"
QUERY_FILE = "query/test/mbeir_shapes_task3_test.jsonl"
QRELS = "qrels/test/mbeir_shapes_task3_test_qrels.txt"
INSTRUCTIONS = "instructions/query_instructions.tsv"


@pytest.fixture
def root(tmp_path):
    return write_collection(tmp_path / "collection")


def problems(root) -> list[str]:
    return [
        f"{problem.file.relative_to(root)}:{problem.line}: {problem.message}" for problem in Checker(root).problems()
    ]


def test_a_good_collection_has_no_problem(root):
    checker = Checker(root)
    assert list(checker.problems()) == []
    assert checker.summary() == "4 candidates, 2 queries"


def append(root, file, text):
    with (root / file).open("a", encoding="utf-8") as stream:
        stream.write(text + "\n")


def change(root, file, line, **fields):
    records = read_jsonl(root / file)
    records[line - 1] |= fields
    write_jsonl(root / file, records)


def another(file, line):
    """One more line at the end of a file."""
    return lambda root: append(root, file, line)


def other(file, line, **fields):
    """Other fields in one line of a file."""
    return lambda root: change(root, file, line, **fields)


def encode(file, write):
    """The same text in other bytes."""
    return lambda root: (root / file).write_bytes(write((root / file).read_text()))


FAULTS = {  # what is done to the collection, and the problem that must be the only one
    "bad JSON": (another(TEST_POOL, "{"), f"{TEST_POOL}:5: the line is not JSON"),
    "missing id": (another(TEST_POOL, '{"txt": "x", "modality": "text"}'), f"{TEST_POOL}:5: the field did is missing"),
    "missing modality": (
        another(TEST_POOL, '{"did": "9:5", "txt": "x"}'),
        f"{TEST_POOL}:5: the field modality is missing",
    ),
    "duplicate candidate": (
        another(LOCAL_POOL, '{"did": "9:2", "txt": "a red square", "modality": "text"}'),
        f"{LOCAL_POOL}:3: the candidate 9:2 is repeated",
    ),
    "duplicate query": (
        lambda root: write_jsonl(root / QUERY_FILE, [*QUERIES, QUERIES[0]]),
        f"{QUERY_FILE}:3: the query 9:11 is repeated",
    ),
    "unknown modality": (
        another(TEST_POOL, '{"did": "9:5", "txt": "x", "modality": "sound"}'),
        f"{TEST_POOL}:5: modality: modality 'sound' is unknown",
    ),
    "contradicting modality": (
        other(LOCAL_POOL, 1, img_path="images/b.png"),
        f"{LOCAL_POOL}:1: the modality is given as 'text', but the line contains 'image,text'",
    ),
    "two modalities": (
        other(LOCAL_POOL, 1, img_path="images/b.png", modality="image,text"),
        f"{LOCAL_POOL}:1: the candidate 9:2 is 'image,text' here, but 'text' in an earlier line",
    ),
    "absolute path": (
        another(TEST_POOL, '{"did": "9:5", "img_path": "/x", "modality": "image"}'),
        f"{TEST_POOL}:5: img_path: '/x' leaves the collection",
    ),
    "path upwards": (
        another(TEST_POOL, '{"did": "9:5", "img_path": "../x", "modality": "image"}'),
        f"{TEST_POOL}:5: img_path: '../x' leaves the collection",
    ),
    "missing image": (
        lambda root: (root / "images/b.png").unlink(),
        f"{QUERY_FILE}:1: the image 'images/b.png' is missing",
    ),
    "folder as image": (
        other(QUERY_FILE, 1, query_img_path="images"),
        f"{QUERY_FILE}:1: the image 'images' is missing",
    ),
    "unknown query in qrels": (another(QRELS, "9:99 0 9:2 1 3"), f"{QRELS}:3: the query 9:99 is in no query file"),
    "unknown candidate in qrels": (another(QRELS, "9:11 0 9:99 1 3"), f"{QRELS}:3: the candidate 9:99 is in no pool"),
    "unknown positive": (
        other(QUERY_FILE, 1, pos_cand_list=["9:2", "9:98"]),
        f"{QUERY_FILE}:1: the candidate 9:98 is in no pool",
    ),
    "short judgement": (another(QRELS, "9:11 9:2"), f"{QRELS}:3: expected: query id, 0, candidate id"),
    "foreign qrels": (
        another("qrels/test/mbeir_cars_task0_test_qrels.txt", "9:11 0 9:2 1 3"),
        "qrels/test/mbeir_cars_task0_test_qrels.txt:0: belongs to no query file",
    ),
    "no instruction": (
        lambda root: (root / INSTRUCTIONS).write_text("text\ttext\tshapes\t9\tGo.\n"),
        f"{QUERY_FILE}:1: dataset 9 has no instruction for 'image' queries",
    ),
    "bad instruction": (another(INSTRUCTIONS, "text\ttext"), f"{INSTRUCTIONS}:3: expected"),
    "no instructions": (lambda root: (root / INSTRUCTIONS).unlink(), f"{INSTRUCTIONS}:0: is missing"),
    "byte order mark": (
        encode(QRELS, lambda text: text.encode("utf-8-sig")),
        f"{QRELS}:1: the file starts with a byte order mark",
    ),
    "UTF-16": (encode(TRAIN_POOL, lambda text: text.encode("utf-16")), f"{TRAIN_POOL}:1: the file is UTF-16"),
    "Latin-1": (
        encode(TEST_POOL, lambda text: (text + "é").encode("latin-1")),
        f"{TEST_POOL}:5: the line is not UTF-8",
    ),
    "empty pool": (encode(TRAIN_POOL, lambda text: b""), f"{TRAIN_POOL}:0: the file is empty"),
    "blank query file": (
        another("query/test/mbeir_shapes_task0_test.jsonl", " \n"),
        "query/test/mbeir_shapes_task0_test.jsonl:0: the file is empty",
    ),
    "odd name": (
        another("query/test/shapes.jsonl", "{}"),
        "query/test/shapes.jsonl:0: the name does not follow M-BEIR's scheme",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_the_only_problem_reported_with_file_and_line(root, fault):
    spoil, expected = FAULTS[fault]
    spoil(root)
    found = problems(root)
    assert found and found[0].startswith(expected)
    assert len(found) == 1


def test_a_link_out_of_the_collection_is_a_problem(root, tmp_path):
    (tmp_path / "secret.png").write_bytes(picture(1))
    (root / "images/b.png").unlink()
    (root / "images/b.png").symlink_to(tmp_path / "secret.png")
    (problem,) = problems(root)
    assert problem.startswith(f"{QUERY_FILE}:1: the image 'images/b.png' is a link out of the collection")


def test_a_query_needs_a_positive_in_its_line_or_in_the_qrels(root):
    change(root, QUERY_FILE, 1, pos_cand_list=[])
    assert problems(root) == []
    (root / QRELS).write_text("9:12 0 9:4 1 3\n9:11 0 9:2 0 3\n")
    assert problems(root) == [f"{QUERY_FILE}:1: the query 9:11 has no positive, neither here nor in the qrels"]
    shutil.rmtree(root / "qrels")
    assert len(problems(root)) == 1


def test_a_positive_may_be_outside_the_local_pool(root):
    append(root, QRELS, "9:11 0 9:3 1 3")
    assert problems(root) == [
        f"{QRELS}:3: dataset 9 has no instruction for 'image' queries with "
        f"'image,text' candidates; add a line to {INSTRUCTIONS}"
    ]
    append(root, INSTRUCTIONS, "image\timage,text\tshapes\t9\tFind both.")
    assert problems(root) == []


def test_a_missing_instruction_is_reported_once(root):
    (root / INSTRUCTIONS).write_text("text\ttext\tshapes\t9\tGo.\n")
    write_jsonl(root / QUERY_FILE, [QUERIES[0] | {"qid": f"9:{number}"} for number in range(11, 50)])
    assert len(problems(root)) == 1


def test_one_qrels_file_may_serve_all_tasks_of_a_dataset(root):
    write_jsonl(
        root / "query/test/mbeir_shapes_task4_test.jsonl",
        [QUERIES[0] | {"qid": "9:13", "task_id": 4, "pos_cand_list": []}],
    )
    (root / QRELS).unlink()
    (root / "qrels/test/mbeir_shapes_test_qrels.txt").write_text("9:11 0 9:2 1 3\n9:13 0 9:2 1 4\n")
    assert problems(root) == []


def test_a_faulty_line_does_not_hide_the_next_ones(root):
    append(root, TEST_POOL, '{\n{"did": "9:1"}\n{"did": "9:5", "modality": "text"}')
    assert [problem.split(":")[1] for problem in problems(root)] == ["5", "6", "7"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_a_pool_that_is_not_a_regular_file_is_a_problem(root, kind):
    pool = root / TRAIN_POOL
    pool.unlink()
    {"pipe": os.mkfifo, "folder": Path.mkdir, "loop": lambda path: path.symlink_to(path)}[kind](pool)
    (problem,) = problems(root)
    assert problem.startswith(f"{TRAIN_POOL}:0: is ")


def test_an_image_path_that_is_too_long_is_a_problem(root):
    change(root, QUERY_FILE, 1, query_img_path="x" * 5_000 + ".png")
    (problem,) = problems(root)
    assert problem.startswith(f"{QUERY_FILE}:1: the image 'xxx") and "cannot be read" in problem
