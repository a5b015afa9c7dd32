"""Small sources and collections for the tests, written file by file: no help from the code under
test.
"""

import io
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from PIL import Image


def picture(shade: int, size: tuple[int, int] = (8, 6)) -> bytes:
    """PNG bytes of an image that differs from shade to shade."""
    return encoded(Image.new("RGB", size, (shade, 255 - shade, shade // 2)))


def png(width: int, height: int, bits: int, rows: bytes) -> bytes:
    """A PNG of colours whose header claims this size. rows: each after the byte of its filter."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


def encoded(image: Image.Image, form: str = "PNG", **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with these files, of texts in UTF-8."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def json_lines(records: Iterable[dict]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def write_jsonl(file: Path, records: Iterable[dict]) -> Path:
    written(file.parent, {file.name: json_lines(records)})
    return file


def read_jsonl(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def write_source(
    folder: Path, records: Iterable[dict], shades: dict[str, int] | None = None
) -> Path:
    """A source with a manifest; each record's image is made, in its own shade unless told."""
    records = list(records)
    own = {record["img_path"]: number for number, record in enumerate(records)} | (shades or {})
    written(folder, {name: picture(shade) for name, shade in own.items()})
    return written(folder, {"manifest.jsonl": json_lines(records)})


def photos(folder: Path, *names: str) -> Path:
    """A folder of pictures that differ, without a table."""
    return written(folder, {name: picture(number) for number, name in enumerate(names)})


def candidate(did: str, modality: str, text: str | None = None, image: str | None = None) -> dict:
    return {"did": did, "modality": modality, "txt": text, "img_path": image, "src_content": None}


CANDIDATES = [
    candidate("9:1", "image", image="images/a.png"),
    candidate("9:2", "text", "a red square"),
    candidate("9:3", "image,text", "a square", "images/a.png") | {"src_content": "{}"},
    candidate("9:4", "text", "a blue square", ""),
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
        "task_id": 3,
        "pos_cand_list": [{"did": "9:4"}],
        "neg_cand_list": ["9:2"],
    },
]


def write_collection(root: Path) -> Path:
    """A collection without a fault: dataset 9, "shapes", task 3, a test split."""
    files = {
        "cand_pool/global/mbeir_union_test_cand_pool.jsonl": json_lines(CANDIDATES),
        "cand_pool/global/mbeir_union_train_cand_pool.jsonl": json_lines(CANDIDATES[1:2]),
        "cand_pool/local/mbeir_shapes_task3_cand_pool.jsonl": json_lines(CANDIDATES[1::2]),
        "query/test/mbeir_shapes_task3_test.jsonl": json_lines(QUERIES),
        "qrels/test/mbeir_shapes_task3_test_qrels.txt": "9:11 0 9:2 1 3\n9:12 0 9:4 1 3\n",
        "instructions/query_instructions.tsv": "query_modality\tcand_modality\tdataset_name\t"
        "dataset_id\tprompt_1\tprompt_2\n"
        "image\ttext\tshapes\t9\tSay what this is.\tFind its caption.\t\n",
    }
    return written(root, {"images/a.png": picture(10), "images/b.png": picture(20), **files})
