"""The checker: a good collection has no problem, and each fault is named by file and line."""

import csv
import json
import os
import random
import shutil
import tracemalloc
from pathlib import Path

import pytest

from genius.collections.building import build
from genius.collections.checker import Checker, ItemTable, LineWarning
from genius.collections.keys import KeySet
from genius.schema import Modality
from tests.collections.samples import (
    QUERIES,
    photos,
    picture,
    read_jsonl,
    write_collection,
    write_jsonl,
    written,
)

TEST_POOL = "cand_pool/global/mbeir_union_test_cand_pool.jsonl"
TRAIN_POOL = "cand_pool/global/mbeir_union_train_cand_pool.jsonl"
LOCAL_POOL = "cand_pool/local/mbeir_shapes_task3_cand_pool.jsonl"
QUERY_FILE = "query/test/mbeir_shapes_task3_test.jsonl"
QRELS = "qrels/test/mbeir_shapes_task3_test_qrels.txt"
INSTRUCTIONS = "instructions/query_instructions.tsv"
HELD_OUT = "instructions/held_out_instructions.tsv"
OTHER = {"did": "9:5", "txt": "another", "modality": "text"}


@pytest.fixture
def root(tmp_path):
    return write_collection(tmp_path / "collection")


def problems(root) -> list[str]:
    return [
        f"{problem.file.relative_to(root)}:{problem.line}: {problem.message}"
        for problem in Checker(root).problems()
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


def encode(file, write):
    """The same text in other bytes."""
    return lambda root: (root / file).write_bytes(write((root / file).read_text(encoding="utf-8")))


# what is done to the collection, and the problem that must be the only one; others are in
# faults.tsv
FAULTS = {
    "duplicate query": (
        lambda root: write_jsonl(root / QUERY_FILE, [*QUERIES, QUERIES[0]]),
        f"{QUERY_FILE}:3: the query 9:11 is repeated",
    ),
    "missing image": (
        lambda root: (root / "images/b.png").unlink(),
        f"{QUERY_FILE}:1: the image 'images/b.png' is missing",
    ),
    "no instruction": (
        lambda root: (root / INSTRUCTIONS).write_text("text\ttext\tshapes\t9\tGo.\n"),
        f"{QUERY_FILE}:1: dataset 9 has no instruction for 'image' queries",
    ),
    "bad instruction": (another(INSTRUCTIONS, "text\ttext"), f"{INSTRUCTIONS}:3: expected"),
    "no instructions": (
        lambda root: (root / INSTRUCTIONS).unlink(),
        f"{INSTRUCTIONS}:0: is missing",
    ),
    "byte order mark": (
        encode(QRELS, lambda text: text.encode("utf-8-sig")),
        f"{QRELS}:1: the file starts with a byte order mark",
    ),
    "UTF-16": (
        encode(TRAIN_POOL, lambda text: text.encode("utf-16")),
        f"{TRAIN_POOL}:1: the file is UTF-16",
    ),
    "Latin-1": (
        encode(TEST_POOL, lambda text: (text + "é").encode("latin-1")),
        f"{TEST_POOL}:5: the line is not UTF-8",
    ),
    "empty pool": (encode(TRAIN_POOL, lambda text: b""), f"{TRAIN_POOL}:0: the file is empty"),
    "blank query file": (
        another("query/test/mbeir_shapes_task0_test.jsonl", " \n"),
        "query/test/mbeir_shapes_task0_test.jsonl:0: the file is empty",
    ),
    "other dataset": (
        lambda root: (
            change(root, QUERY_FILE, 2, qid="8:12"),
            (root / QRELS).write_text("9:11 0 9:2 1 3\n"),
            append(root, INSTRUCTIONS, "image\ttext\tshapes\t8\tGo."),
        ),
        f"{QUERY_FILE}:2: the query 8:12 is of dataset 8, but earlier queries of shapes are of 9",
    ),
    "no local pool": (
        lambda root: (root / LOCAL_POOL).unlink(),
        f"{QUERY_FILE}:0: evaluation of the queries of task 3 needs the pool {LOCAL_POOL}; add it",
    ),
    "pools that share nothing": (
        lambda root: (
            write_jsonl(root / LOCAL_POOL, [OTHER]),
            append(root, TRAIN_POOL, json.dumps(OTHER)),
        ),
        f"{QUERY_FILE}:0: evaluation of the queries of task 3 needs a candidate that is "
        "in both pools",
    ),
    "no held-out instruction": (
        another(HELD_OUT, "text\timage\tshapes\t9\tFind it."),
        f"{QUERY_FILE}:1: dataset 9 has no instruction for 'image' queries with 'text' candidates; "
        f"add a line to {HELD_OUT}",
    ),
    "held-out folder": (lambda root: (root / HELD_OUT).mkdir(), f"{HELD_OUT}:0: is not a file"),
    "long prompt": (
        another(INSTRUCTIONS, "image\ttext\tshapes\t9\t" + "x" * 10_001),
        f"{INSTRUCTIONS}:3: a prompt has 10,001 characters",
    ),
    "folder that is a link to itself": (
        lambda root: (root / "query/val").symlink_to(root / "query/val"),
        "query/val:0: is not a folder",
    ),
    "pool that is a link to itself": (
        lambda root: (
            (root / TRAIN_POOL).unlink(),
            (root / TRAIN_POOL).symlink_to(root / TRAIN_POOL),
        ),
        f"{TRAIN_POOL}:0: is ",
    ),
    "qrels that are a pipe": (
        lambda root: ((root / QRELS).unlink(), os.mkfifo(root / QRELS)),
        f"{QRELS}:0: is not a file",
    ),
    "pool of the same name": (
        lambda root: shutil.copy(root / TRAIN_POOL, root / "cand_pool/local"),
        "cand_pool/local/mbeir_union_train_cand_pool.jsonl:0: a global pool has the same name",
    ),
}
with Path(__file__).with_name("faults.tsv").open(encoding="utf-8") as stream:
    LINES = {
        line["fault"]: line
        for line in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_the_only_problem_reported_with_file_and_line(root, fault):
    spoil, expected = FAULTS[fault]
    spoil(root)
    (problem,) = problems(root)
    assert problem.startswith(expected)


@pytest.mark.parametrize("fault", LINES.values(), ids=LINES)
def test_a_fault_of_one_line_is_the_only_problem_reported_with_file_and_line(root, fault):
    if fault["added line"]:
        append(root, fault["file"], fault["added line"])
    else:
        change(root, fault["file"], 1, **json.loads(fault["fields of line 1"]))
    (problem,) = problems(root)
    assert problem.startswith(f"{fault['file']}:{fault['problem']}")


def test_a_link_out_of_the_collection_is_a_problem(root, tmp_path):
    (tmp_path / "secret.png").write_bytes(picture(1))
    (root / "images/b.png").unlink()
    (root / "images/b.png").symlink_to(tmp_path / "secret.png")
    (problem,) = problems(root)
    assert problem.startswith(
        f"{QUERY_FILE}:1: the image 'images/b.png' is a link out of the collection"
    )


def test_a_query_needs_a_positive_in_its_line_or_in_the_qrels(root):
    change(root, QUERY_FILE, 1, pos_cand_list=[])
    assert problems(root) == []
    (root / QRELS).write_text("9:12 0 9:4 1 3\n9:11 0 9:2 0 3\n")
    assert problems(root) == [
        f"{QUERY_FILE}:1: the query 9:11 has no positive, neither here nor in the qrels"
    ]
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
    write_jsonl(
        root / QUERY_FILE, [QUERIES[0] | {"qid": f"9:{number}"} for number in range(11, 50)]
    )
    assert len(problems(root)) == 1


def test_one_qrels_file_may_serve_all_tasks_of_a_dataset(root):
    write_jsonl(
        root / "query/test/mbeir_shapes_task4_test.jsonl",
        [QUERIES[0] | {"qid": "9:13", "task_id": 4, "pos_cand_list": []}],
    )
    shutil.copy(root / LOCAL_POOL, root / "cand_pool/local/mbeir_shapes_task4_cand_pool.jsonl")
    (root / QRELS).unlink()
    (root / "qrels/test/mbeir_shapes_test_qrels.txt").write_text("9:11 0 9:2 1 3\n9:13 0 9:2 1 4\n")
    assert problems(root) == []


def test_a_faulty_line_does_not_hide_the_next_ones(root):
    append(root, TEST_POOL, '{\n{"did": "9:1"}\n{"did": "9:5", "modality": "text"}')
    assert [problem.split(":")[1] for problem in problems(root)] == ["5", "6", "7"]


def test_an_image_path_that_is_too_long_is_a_problem(root):
    change(root, QUERY_FILE, 1, query_img_path="x" * 5_000 + ".png")
    (problem,) = problems(root)
    assert problem.startswith(f"{QUERY_FILE}:1: the image 'xxx") and "cannot be read" in problem


def warnings(root) -> list[str]:
    found = [finding for finding in Checker(root).findings() if isinstance(finding, LineWarning)]
    return [
        f"{warning.file.relative_to(root)}:{warning.line}: {warning.message}" for warning in found
    ]


def test_stages_that_a_collection_is_too_small_for_are_warnings(root):
    too_small = [
        f"query/{split}:0: has 0 queries; training needs at least 2" for split in ("train", "val")
    ]
    assert warnings(root) == too_small and problems(root) == []
    shutil.rmtree(root / "query")
    shutil.rmtree(root / "qrels")
    assert warnings(root) == [
        *too_small,
        "query/test:0: has no queries; evaluation needs some, or --split val",
    ]


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (
            lambda root: change(root, QUERY_FILE, 2, neg_cand_list=["9:98"]),
            f"{QUERY_FILE}:2: the negative 9:98 is in no pool",
        ),
        (
            lambda root: (root / QRELS).write_text("9:11 0 9:2 0 3\n"),
            f"{QRELS}:0: judges no candidate relevant",
        ),
        (
            lambda root: change(root, LOCAL_POOL, 1, txt="x"),
            f"{LOCAL_POOL}:1: the candidate 9:2 has another text or image than in an earlier",
        ),
    ],
)
def test_what_no_stage_refuses_is_a_warning(root, spoil, expected):
    spoil(root)
    assert problems(root) == []
    assert warnings(root)[0].startswith(expected)


def test_an_image_of_several_lines_is_opened_once(root, monkeypatch):
    opened = []
    monkeypatch.setattr("genius.collections.checker.check_image", opened.append)
    assert list(Checker(root, images=True).problems()) == []
    assert sorted(path.name for path in opened) == ["a.png", "b.png"]


def test_a_file_name_that_is_not_utf8_can_be_printed(root):
    (root / os.fsdecode(b"query/test/\xff.jsonl")).touch()
    (problem,) = Checker(root).problems()
    assert "query/test/\\xff.jsonl: the name does not follow" in str(problem)


@pytest.mark.parametrize(
    ("keys", "most"),
    [(range(20_000), 20), (random.Random(0).sample(range(10**10), 20_000), 1000)],
    ids=["next", "far"],
)
def test_a_candidate_takes_little_memory_wherever_its_number_lies(keys, most):
    tracemalloc.start()
    try:
        items = ItemTable()
        pool = KeySet()
        for key in keys:
            assert items.add(key, Modality.TEXT, "One.") and pool.add(key)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken / len(keys) < most
    assert len(items) == len(keys) and not any(
        items.add(key, Modality.PAIR, "One.") for key in keys
    )
    assert all(items.get(key) is Modality.TEXT for key in keys) and items.get(11 * 10**11) is None


def test_the_check_reports_pictures_and_texts_that_no_pool_holds(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    written(folder, {"t.csv": 'image,text\na.png,"one ""two"""\nb.png,three\n'})
    build([str(folder)], tmp_path / "built")
    assert not [warning for warning in warnings(tmp_path / "built") if "were read" in warning]
    for file in (tmp_path / "built/cand_pool").rglob("*.jsonl"):
        lines = file.read_text(encoding="utf-8").splitlines(True)
        lines = [line for line in lines if "b.png" not in line and "three" not in line]
        file.write_text("".join(lines)) if lines else file.unlink()
    said = "".join(warnings(tmp_path / "built"))
    for kind in ("pictures", "texts"):
        assert f"1 {kind} that were read are in no pool" in said
