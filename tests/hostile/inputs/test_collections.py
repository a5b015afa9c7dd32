"""Collections spoiled by hand: each is refused by the check with a sentence, or accepted by every stage."""

import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from tests.hostile.inputs.collection_stages import Stages, good_files, write_files

POOL = "cand_pool/global/mbeir_union_train_cand_pool.jsonl"
TEST_POOL = "cand_pool/global/mbeir_union_test_cand_pool.jsonl"
LOCAL = "cand_pool/local/mbeir_squares_task3_cand_pool.jsonl"
QUERIES = "query/train/mbeir_squares_task3_train.jsonl"
TEST_QUERIES = "query/test/mbeir_squares_task0_test.jsonl"
QRELS = "qrels/train/mbeir_squares_task3_train_qrels.txt"
INSTRUCTIONS = "instructions/query_instructions.tsv"
HELD_OUT = "instructions/held_out_instructions.tsv"
IMAGE = "images/0.png"
WORLD = {"seed": 0, "scale": 1000, "pixels": 32, "digest": "0" * 64}


def put(name, content):
    return lambda root: (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def gone(name):
    return lambda root: (root / name).unlink()


def instead(name, make):
    """Another kind of file in place of this one."""

    def spoil(root):
        (root / name).unlink(missing_ok=True)
        make(root / name)

    return spoil


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        before = os.getcwd()
        os.chdir(path.parent)  # the path of a socket has at most 108 bytes
        try:
            server.bind(path.name)
        finally:
            os.chdir(before)


def link(target):
    return lambda path: path.symlink_to(target)


def loop(path):
    path.symlink_to(path)


def replace_folder(name, make):
    def spoil(root):
        shutil.rmtree(root / name)
        make(root / name)

    return spoil


def add(name, *lines):
    def spoil(root):
        with (root / name).open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    return spoil


def change(name, line=0, **fields):
    """Other fields in one line of a file."""

    def spoil(root):
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        lines[line] = json.dumps(json.loads(lines[line]) | fields)
        (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return spoil


def every(name, **fields):
    """Other fields in every line of a file."""

    def spoil(root):
        records = [json.loads(line) | fields for line in (root / name).read_text().splitlines()]
        (root / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    return spoil


def edit(name, old, new):
    def spoil(root):
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new), encoding="utf-8")

    return spoil


def nested(depth):
    return "[" * depth + "]" * depth


def own_pool_only(root):
    """A text is in its local pool, and no longer in the global one."""
    lines = (root / TEST_POOL).read_text().splitlines(keepends=True)
    (root / TEST_POOL).write_text("".join(line for line in lines if '"7:14"' not in line))


def longest_name(root):
    (root / "cand_pool/global" / ("x" * 255)).touch()


def name_of_bytes(root):
    Path(os.fsdecode(os.fsencode(root / "cand_pool/global") + b"/mbeir_\xff_cand_pool.jsonl")).write_text("")


PROBLEM = {
    # special files
    "a pool is a pipe": instead(POOL, os.mkfifo),
    "a pool is a socket": instead(POOL, listening),
    "a pool is a folder": instead(POOL, Path.mkdir),
    "a pool is a link to itself": instead(POOL, loop),
    "a pool is a broken link": instead(POOL, link("nowhere")),
    "a pool is /dev/zero": instead(POOL, link("/dev/zero")),
    "a pool is /dev/stdin": instead(POOL, link("/dev/stdin")),
    "a pool cannot be read": instead(POOL, link("/proc/self/mem")),
    "a query file is a pipe": instead(QUERIES, os.mkfifo),
    "the qrels are a pipe": instead(QRELS, os.mkfifo),
    "the instructions are a pipe": instead(INSTRUCTIONS, os.mkfifo),
    "the held-out instructions are a pipe": instead(HELD_OUT, os.mkfifo),
    "the held-out instructions are a folder": instead(HELD_OUT, Path.mkdir),
    "the synonyms are a pipe": instead("synonyms.json", os.mkfifo),
    "the world is a pipe": instead("world.json", os.mkfifo),
    "the world is a broken link": instead("world.json", link("nowhere")),
    "an image is a pipe": instead(IMAGE, os.mkfifo),
    "an image is a folder": instead(IMAGE, Path.mkdir),
    "an image is a link to itself": instead(IMAGE, loop),
    "an image is /dev/zero": instead(IMAGE, link("/dev/zero")),
    "an image is a link out": instead(IMAGE, link("/etc/passwd")),
    "the test queries are a link to themselves": replace_folder("query/test", loop),
    "the images are a link to themselves": replace_folder("images", loop),
    # images
    "an image is missing": gone(IMAGE),
    "an image is empty": put(IMAGE, b""),
    "an image is a text": put(IMAGE, "not an image"),
    "an image is cut": lambda root: put(IMAGE, (root / IMAGE).read_bytes()[:45])(root),
    "an image is an SVG": put(IMAGE, '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    "the path of an image is long": change(POOL, img_path="x" * 5_000 + ".png"),
    "the path of an image leaves": change(POOL, img_path="../0.png"),
    "the path of an image is absolute": change(POOL, img_path="/etc/passwd"),
    "the path of an image has a NUL": change(POOL, img_path="images/0\0.png"),
    # lines
    "a pool is empty": put(POOL, b""),
    "a pool is binary": put(POOL, bytes(range(256)) * 40),
    "a pool is UTF-16": lambda root: put(POOL, (root / POOL).read_text().encode("utf-16"))(root),
    "a line of 17 megabytes": add(POOL, "x" * (17 << 20)),
    "deep brackets": add(POOL, nested(100_000)),
    "deep brackets in a field": add(POOL, f'{{"did": "7:9", "modality": "text", "txt": {nested(900)}}}'),
    "a number of 5,000 digits": add(QUERIES, '{"qid": "7:9", "task_id": ' + "9" * 5_000 + "}"),
    "not a number": add(POOL, '{"did": "7:9", "modality": "text", "txt": NaN}'),
    "a key twice after 100,000 others": add(
        POOL, "{" + "".join(f'"{number}":0,' for number in range(10**5)) + '"did": "7:9", "did": "7:9"}'
    ),
    "a key twice": add(POOL, '{"did": "7:9", "did": "7:8", "modality": "text", "txt": "x"}'),
    "an unpaired surrogate": add(POOL, '{"did": "7:9", "modality": "text", "txt": "\\ud800"}'),
    "an id with a zero in front": change(POOL, did="7:00"),
    "an id twice": add(POOL, '{"did": "7:0", "modality": "text", "txt": "x"}'),
    "a file name that is not UTF-8": name_of_bytes,
    "a file name of 255 letters": longest_name,
    # what belongs together
    "the task of a query is another": change(QUERIES, task_id=0),
    "the task of a whole file is another": every(TEST_QUERIES, task_id=4),
    "a query of another dataset": change(QUERIES, qid="8:300"),
    "a candidate that is in its local pool alone": own_pool_only,
    "no pool of the test queries": gone(TEST_POOL),
    "no local pool": gone(LOCAL),
    "a positive in no pool": change(QUERIES, pos_cand_list=["7:999999"]),
    "no held-out instruction": put(HELD_OUT, "text\timage\tsquares\t7\tGet it.\n"),
    "a held-out file of another format": put(HELD_OUT, "{}"),
    "a prompt of 5 megabytes": add(INSTRUCTIONS, "text\timage\tsquares\t7\t" + "find " * 1_000_000),
    "a world of bad JSON": put("world.json", "{bad"),
    "a world without a seed": put("world.json", "{}"),
    "a world that is a list": put("world.json", "[]"),
    "a world of other records": put("world.json", json.dumps(WORLD)),
    "a world of deep brackets": put("world.json", nested(100_000)),
    "synonyms of bad JSON": put("synonyms.json", "{bad"),
    "synonyms that are numbers": put("synonyms.json", '{"square": [1]}'),
    "synonyms that are not UTF-8": put("synonyms.json", b'{"\xff": []}'),
}
WARNING = {
    "no candidate is judged relevant": edit(QRELS, " 1 3", " 0 3"),
    "an unknown negative": change(QUERIES, neg_cand_list=["7:999999"]),
    "another text under the same id": change(LOCAL, txt="another square"),
    "no training queries": lambda root: [shutil.rmtree(root / part / "train") for part in ("query", "qrels")],
    "no test queries": lambda root: [shutil.rmtree(root / part / "test") for part in ("query", "qrels")],
}
FINE = {
    "Windows line breaks": lambda root: put(POOL, (root / POOL).read_bytes().replace(b"\n", b"\r\n"))(root),
    "a text of a megabyte": change(TEST_QUERIES, query_txt="word " * 200_000),
    "a word of 100,000 letters": change(TEST_QUERIES, query_txt="ab" * 50_000),
    "odd letters in a text": change(TEST_QUERIES, query_txt="\0\x1b\u202e\ufeff😀"),
    "a text of quotation marks": change(TEST_QUERIES, query_txt='"'),
    "markup in a text": change(TEST_QUERIES, query_txt="<script>alert(1)</script>"),
    "a source of deep brackets": change(POOL, src_content=nested(100_000)),
    "a source with a surrogate": change(POOL, src_content='{"\\ud800": "\\udfff"}'),
    "a source with NaN": change(POOL, src_content='{"color": NaN}'),
    "ids up to the limit": lambda root: (
        [
            edit(name, '"7:14"', '"7:999999999999"')(root)
            for name in (TEST_POOL, LOCAL, "query/test/mbeir_squares_task3_test.jsonl")
        ]
        + [edit("qrels/test/mbeir_squares_task3_test_qrels.txt", "7:14", "7:999999999999")(root)]
    ),
    "a pool is a link": lambda root: [(root / POOL).rename(root / "pool"), (root / POOL).symlink_to(root / "pool")],
    "no synonyms": gone("synonyms.json"),
    "no held-out file": gone(HELD_OUT),
    "no qrels": lambda root: shutil.rmtree(root / "qrels"),
}
CASES = {
    name: (kind, spoil)
    for kind, cases in (("problem", PROBLEM), ("warning", WARNING), ("fine", FINE))
    for name, spoil in cases.items()
}


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    return Stages(tmp_path_factory.mktemp("stages"))


@pytest.mark.parametrize("name", CASES)
def test_a_spoiled_collection_is_refused_by_the_check_or_accepted_by_every_stage(name, stages, tmp_path, counts):
    kind, spoil = CASES[name]
    root = write_files(tmp_path / "collection", good_files())
    spoil(root)
    check, outcomes, flaw = stages.judge(root)
    for outcome in outcomes:
        counts("inputs", outcome.kind)
    assert not flaw, flaw
    assert (bool(check.problems), bool(check.warnings)) == {
        "problem": (True, bool(check.warnings)),
        "warning": (False, True),
        "fine": (False, False),
    }[kind], check


@pytest.mark.sample
def test_the_good_collection_passes_every_stage(stages):
    check, outcomes, flaw = stages.judge_files(good_files())
    assert not check.problems and not check.warnings
    assert not flaw and {outcome.kind for outcome in outcomes} == {"answered"}


def test_there_are_enough_cases():
    assert len(CASES) >= 80
