"""Small sources and collections for the tests, written file by file: no help from the code under
test.
"""

import io
import json
from collections.abc import Iterable
from pathlib import Path

from PIL import Image


def picture(shade: int, size: tuple[int, int] = (8, 6)) -> bytes:
    """PNG bytes of an image that differs from shade to shade."""
    return encoded(Image.new("RGB", size, (shade, 255 - shade, shade // 2)))


def encoded(image: Image.Image, form: str = "PNG", **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def write_jsonl(file: Path, records: Iterable[dict]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def read_jsonl(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def write_source(
    folder: Path, records: Iterable[dict], shades: dict[str, int] | None = None
) -> Path:
    """A source with a manifest; each record's image is made, in its own shade unless told."""
    records = list(records)
    write_jsonl(folder / "manifest.jsonl", records)
    for number, record in enumerate(records):
        file = folder / record["img_path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture((shades or {}).get(record["img_path"], number)))
    return folder


def photos(folder: Path, *names: str) -> Path:
    """A folder of pictures that differ, without a table."""
    for number, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture(number))
    return folder


CANDIDATES = [
    {
        "did": "9:1",
        "txt": None,
        "img_path": "images/a.png",
        "modality": "image",
        "src_content": None,
    },
    {
        "did": "9:2",
        "txt": "a red square",
        "img_path": None,
        "modality": "text",
        "src_content": None,
    },
    {
        "did": "9:3",
        "txt": "a square",
        "img_path": "images/a.png",
        "modality": "image,text",
        "src_content": "{}",
    },
    {"did": "9:4", "txt": "a blue square", "img_path": "", "modality": "text", "src_content": None},
]
QUERIES = [
    {
        "qid": "9:11",
        "query_txt": None,
        "query_img_path": "images/b.png",
        "query_modality": "image",
        "query_src_content": None,
        "task_id": 3,
        "pos_cand_list": ["9:2"],
        "neg_cand_list": [],
    },
    {
        "qid": "9:12",
        "query_txt": "",
        "query_img_path": "images/a.png",
        "query_modality": "image",
        "query_src_content": None,
        "task_id": 3,
        "pos_cand_list": [{"did": "9:4"}],
        "neg_cand_list": ["9:2"],
    },
]


def write_collection(root: Path) -> Path:
    """A collection without a fault: dataset 9, "shapes", task 3, a test split."""
    for name, shade in (("a", 10), ("b", 20)):
        (root / "images").mkdir(parents=True, exist_ok=True)
        (root / "images" / f"{name}.png").write_bytes(picture(shade))
    write_jsonl(root / "cand_pool/global/mbeir_union_test_cand_pool.jsonl", CANDIDATES)
    write_jsonl(root / "cand_pool/global/mbeir_union_train_cand_pool.jsonl", CANDIDATES[1:2])
    write_jsonl(
        root / "cand_pool/local/mbeir_shapes_task3_cand_pool.jsonl", [CANDIDATES[1], CANDIDATES[3]]
    )
    write_jsonl(root / "query/test/mbeir_shapes_task3_test.jsonl", QUERIES)
    (root / "qrels/test").mkdir(parents=True)
    (root / "qrels/test/mbeir_shapes_task3_test_qrels.txt").write_text(
        "9:11 0 9:2 1 3\n9:12 0 9:4 1 3\n"
    )
    (root / "instructions").mkdir()
    (root / "instructions/query_instructions.tsv").write_text(
        "query_modality\tcand_modality\tdataset_name\tdataset_id\tprompt_1\tprompt_2\n"
        "image\ttext\tshapes\t9\tSay what this is.\tFind its caption.\t\n"
    )
    return root
