"""Mutants of every kind of file: of its bytes, of what they mean, and other files in its place."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.hostile.artifacts.trial import Change, Mutant

PNG = io.BytesIO()
Image.new("RGB", (2, 2)).save(PNG, "PNG")
ZIP = io.BytesIO()
with zipfile.ZipFile(ZIP, "w") as archive:
    archive.writestr("a.txt", "a")
DEEP = 100_000
VALUES = (  # in place of any JSON value, as text
    *("null", "true", "false", "-1", "0", "1", "2", "7", "1000000", "1000000000000", "1" + 400 * "0", "0.5", "-0.5"),
    *("1.0", "1e308", "1e999", "NaN", "-Infinity", '""', '"x"', '"../../etc/passwd"', '"\\u0000"', '"\\ud800"'),
    *('"<script>alert(1)</script>"', '"1"', "[]", "[1, 2, 3]", "[[[]]]", "{}", '{"a": 1}', '"' + 10**6 * "x" + '"'),
    *(DEEP * "[" + DEEP * "]", DEEP * '{"a":' + "1" + DEEP * "}"),
)


def _write(data: bytes) -> Change:
    return lambda file, rng: file.write_bytes(data)


def _edit(edit: Callable[[bytearray, random.Random], bytes | bytearray]) -> Change:
    return lambda file, rng: file.write_bytes(edit(bytearray(file.read_bytes()), rng)) and None


def _flip(bits: int) -> Change:
    def edit(data: bytearray, rng: random.Random) -> bytearray:
        for _ in range(bits):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return data

    return _edit(edit)


def _flip_start(data: bytearray, rng: random.Random) -> bytearray:
    data[rng.randrange(min(len(data), 100))] ^= 1 << rng.randrange(8)
    return data


def _zeros(data: bytearray, rng: random.Random) -> bytearray:
    start = rng.randrange(len(data))
    data[start : start + 64] = bytes(len(data[start : start + 64]))
    return data


def _repeat(data: bytearray, rng: random.Random) -> bytearray:
    start = rng.randrange(len(data))
    return data[:start] + data[start : start + 100] + data[start:]


def _instead(make: Callable[[Path], None]) -> Change:
    def change(file: Path, rng: random.Random) -> None:
        file.unlink()
        make(file)

    return change


def _other(file: Path, rng: random.Random) -> None:
    """Another file of the run."""
    run = next(parent for parent in file.parents if (parent / "manifest.json").is_file())
    files = sorted(other for other in run.rglob("*") if other.is_file() and other != file and other.name[0] != ".")
    file.write_bytes(rng.choice(files).read_bytes())


BYTES: dict[str, Change] = {
    "a bit": _flip(1),
    "another bit": _flip(1),
    "64 bits": _flip(64),
    "zeros": _edit(_zeros),
    "repeated bytes": _edit(_repeat),
    "half": _edit(lambda data, rng: data[: len(data) // 2]),
    "all but one byte": _edit(lambda data, rng: data[:-1]),
    "a few bytes": _edit(lambda data, rng: data[: rng.randrange(1, 20)]),
    "more bytes": _edit(lambda data, rng: data + bytes(rng.randrange(1, 999))),
    "empty": _write(b""),
    "swapped halves": _edit(lambda data, rng: data[len(data) // 2 :] + data[: len(data) // 2]),
    "missing": lambda file, rng: file.unlink(),
    "a directory": _instead(Path.mkdir),
    "a pipe": _instead(os.mkfifo),
    "a link to a device": _instead(lambda file: file.symlink_to("/dev/zero")),
    "a link to a file": _instead(lambda file: file.symlink_to("/etc/hostname")),
    "a link to itself": _instead(lambda file: file.symlink_to(file.name)),
    "an archive": _write(ZIP.getvalue()),
    "a pickle": _write(pickle.dumps(os.getcwd)),
    "a picture": _write(PNG.getvalue()),
    "a page": _write(b"<html><script>alert(1)</script>"),
    "8 GB": lambda file, rng: os.truncate(file, 2**33),
    "another file": _other,
    "a second other file": lambda file, rng: _other(file, random.Random(file.name)),
}
BYTES["a bit at the start"] = BYTES["a second bit at the start"] = _edit(_flip_start)


def of_bytes(run: Path, *parts: str) -> Iterator[Mutant]:
    """Every file of these parts ("" for files outside of parts) with every change of its bytes, sealed and not."""
    for file in sorted(run.rglob("*")):
        name = str(file.relative_to(run))
        if not file.is_file() or name.startswith("."):
            continue
        part = name.split("/")[0].rpartition("-")[0]
        if part not in parts:
            continue
        for title, change in BYTES.items():
            for sealed in ("no", "all") if part else ("no",):
                yield Mutant(name, title, change, sealed)
        if part:
            yield Mutant(name, "64 bits", BYTES["64 bits"], "files")
            yield Mutant(name, "another file", BYTES["another file"], "files")


def of_json(run: Path, each: int) -> Iterator[Mutant]:
    """`each` mutants of every JSON file: a value replaced, a field left out, added or repeated."""
    for file in sorted(run.rglob("*.json")):
        name = str(file.relative_to(run))
        rng, known = random.Random(file.name), json.loads(file.read_text())
        paths = list(_paths(known))
        for number in range(each):
            place, value = rng.choice(paths), VALUES[number % len(VALUES)]
            if number % 11 == 10:
                value = ("", f'"extra": 1, "extra": {value}', f"{value}, {value}")[number % 3]
            text = _replaced(known, place, value)
            shown = f"{'.'.join(map(str, place))} = {value[:30]} ({number})"
            sealed = "no" if name == "manifest.json" else "all"
            yield Mutant(name, shown, _write(text.encode("utf-8", "surrogatepass")), sealed)


def _paths(value: Any, place: tuple = ()) -> Iterator[tuple]:
    if place:
        yield place
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*place, key))
    elif isinstance(value, list):
        for number in range(min(len(value), 3)):
            yield from _paths(value[number], (*place, number))


def _replaced(value: Any, place: tuple, text: str) -> str:
    """JSON with another text at a place."""
    mark = "d7e1c5a0 mark"

    def marked(part: Any, rest: tuple) -> Any:
        if not rest:
            return mark
        part = part.copy()
        part[rest[0]] = marked(part[rest[0]], rest[1:])
        return part

    whole = json.dumps(marked(value, place))
    if not text and isinstance(place[-1], str):  # the field is left out
        whole = whole.replace(f'{json.dumps(place[-1])}: "{mark}"', '"__left out__": 0')
        return json.dumps(_without(json.loads(whole)))
    return whole.replace(f'"{mark}"', text or "null")


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(one) for key, one in value.items() if key != "__left out__"}
    return [_without(one) for one in value] if isinstance(value, list) else value


def of_arrays(run: Path) -> Iterator[Mutant]:
    """Every .npy file: another type, shape, order, and numbers that are not finite or out of range."""
    for file in sorted(run.rglob("*.npy")):
        name = str(file.relative_to(run))
        array = np.load(file)
        floating = array.dtype.kind == "f"
        wrong = {
            "int16": array.view(np.int16) if array.dtype.itemsize == 2 else array.astype(np.int16),
            "float16": array.astype(np.float16) if not floating or array.dtype.itemsize != 2 else array.astype("f8"),
            "float64": array.astype(np.float64),
            "big endian": array.astype(array.dtype.newbyteorder(">")),
            "Fortran order": np.asfortranarray(array),
            "transposed": array.T.copy(),
            "one more axis": array[None],
            "flat": array.reshape(-1),
            "fewer": array[:-1],
            "more": np.concatenate([array, array[:1]]),
            "none": array[:0],
            "a number": array.reshape(-1)[0],
            "reversed": array[::-1].copy(),
            "zeros": np.zeros_like(array),
            "largest": np.full_like(array, np.finfo(array.dtype).max if floating else np.iinfo(array.dtype).max),
            "smallest": np.full_like(array, np.finfo(array.dtype).min if floating else np.iinfo(array.dtype).min),
            "objects": array.astype(object),
            "fields": np.zeros(len(array), [("a", "u1"), ("b", "f8")]),
            "complex": array.astype(np.complex64),
            "text": array.astype(str),
        }
        for special in (np.nan, np.inf, -np.inf) if floating else (250, 255):
            changed = array.copy()
            changed.reshape(-1)[len(array) // 2] = special if floating else min(special, np.iinfo(array.dtype).max)
            wrong[f"one {special}"] = changed
        for title, other in wrong.items():
            yield Mutant(name, title, _save(other))
        for title, header in HEADERS.items():
            yield Mutant(name, title, _edit(lambda data, rng, header=header: _with_header(data, header)))
        yield Mutant(name, "an archive of arrays", lambda file, rng, array=array: _savez(file, array))


HEADERS = {
    "huge": "{'descr': '<f2', 'fortran_order': False, 'shape': (1000000000000, 12), }",
    "negative": "{'descr': '<f2', 'fortran_order': False, 'shape': (-1, 12), }",
    "deep": "(" * 9000 + ")" * 9000,
    "code": "__import__('os').system('true')",
    "no shape": "{'descr': '<f2', 'fortran_order': False, }",
    "huge element": "{'descr': '|V1000000000', 'fortran_order': False, 'shape': (100,), }",
    "overflow": "{'descr': '<f2', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
}


def _save(array: np.ndarray) -> Change:
    return lambda file, rng: np.save(file, array, allow_pickle=True)


def _savez(file: Path, array: np.ndarray) -> None:
    with file.open("wb") as stream:
        np.savez(stream, a=array)


def _with_header(data: bytearray, header: str) -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(data[128:])


def of_weights(run: Path) -> Iterator[Mutant]:
    """Every .safetensors file: tensors of another name, type, shape or place, and numbers that are not finite."""
    for file in sorted(run.rglob("*.safetensors")):
        name = str(file.relative_to(run))
        data = file.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
        names = [one for one in header if one != "__metadata__"]
        rng = random.Random(file.parent.name.partition("-")[0])
        for number, one in enumerate(rng.sample(names, min(4, len(names)))):
            for title, other in _other_tensors(header, one, names).items():
                yield Mutant(name, f"{one}: {title} ({number})", _write(_packed(other, rest)))
            for title, special in (("NaN", np.nan), ("infinite", np.inf), ("large", 6e4)):
                start, end = header[one]["data_offsets"]
                width = {"F16": 2, "F32": 4, "F64": 8}.get(header[one]["dtype"])
                if width and end > start:
                    changed = bytearray(rest)
                    bits = {
                        2: (0, special),
                        4: (0, 0, 0xC0 if title == "NaN" else 0x80, 0x7F),
                        8: (0,) * 6 + (0xF8, 0x7F),
                    }
                    changed[start : start + width] = bytes(bits[width])
                    yield Mutant(name, f"{one}: {title} ({number})", _write(_packed(header, bytes(changed))))
        yield Mutant(name, "a deep header", _write(_framed(b'{"a":' * DEEP + b"1" + b"}" * DEEP, rest)))
        yield Mutant(name, "a header that is no JSON", _write(_framed(b"{" * 64, rest)))
        yield Mutant(name, "a huge header", _write(struct.pack("<Q", 2**62) + data[8:]))
        yield Mutant(name, "no tensor", _write(_packed({}, b"")))


def _other_tensors(header: dict, one: str, names: list[str]) -> dict[str, dict]:
    entry = header[one]
    shape, (start, end) = entry["shape"], entry["data_offsets"]
    twin = next((name for name in names if name != one and header[name]["shape"] == shape), None)
    same_size = {"F16": ("I16", "BF16"), "F32": ("I32", "U32"), "F64": ("I64", "U64"), "I64": ("F64", "U64")}
    changed = {
        **{kind: header | {one: entry | {"dtype": kind}} for kind in same_size.get(entry["dtype"], ("F8_E4M3", "I8"))},
        "transposed": header | {one: entry | {"shape": [*reversed(shape)]}},
        "flat": header | {one: entry | {"shape": [int(np.prod(shape))]}},
        "huge": header | {one: entry | {"shape": [10**12, *shape]}},
        "beyond the end": header | {one: entry | {"data_offsets": [start + 10**9, end + 10**9]}},
        "overlapping": header | {one: entry | {"data_offsets": [0, end - start]}},
        "another name": {(f"{name}x" if name == one else name): value for name, value in header.items()},
        "missing": {name: value for name, value in header.items() if name != one},
        "extra": header | {"extra": {"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}},
    }
    if twin:
        changed["swapped"] = header | {
            one: entry | {"data_offsets": header[twin]["data_offsets"]},
            twin: header[twin] | {"data_offsets": [start, end]},
        }
    return changed


def _packed(header: dict, rest: bytes) -> bytes:
    return _framed(json.dumps(header).encode(), rest)


def _framed(header: bytes, rest: bytes) -> bytes:
    header = header.ljust(-(-len(header) // 8) * 8)
    return struct.pack("<Q", len(header)) + header + rest


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i"
STATEMENTS = {
    "items.sqlite": {
        "an endless view": "ALTER TABLE items RENAME TO kept; CREATE VIEW items AS " + ENDLESS + " AS row, 'a' AS id, "
        "0 AS modality, 'a' AS text, NULL AS image, '' AS source FROM n",
        "a view of the items": "ALTER TABLE items RENAME TO kept; CREATE VIEW items AS SELECT * FROM kept",
        "a trigger": "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END",
        "one more table": "CREATE TABLE more (a)",
        "a virtual table": "CREATE VIRTUAL TABLE more USING fts5(a)",
        "no key": "DROP INDEX items_by_id",
        "a key that is not unique": "DROP INDEX items_by_id; CREATE INDEX items_by_id ON items (id)",
        "a computed key": "DROP INDEX items_by_id; CREATE UNIQUE INDEX items_by_id ON items (abs(row))",
        "a missing item": "DELETE FROM items WHERE row = 1",
        "no items": "DELETE FROM items",
        "one more item": "INSERT INTO items SELECT max(row) + 1, '9:9', 1, 'a', NULL, '' FROM items",
        "shifted items": "UPDATE items SET row = row + 1000",
        "an item far away": "UPDATE items SET row = 1000000000000 WHERE row = 1",
        "blobs": "UPDATE items SET text = x'ff00'",
        "a huge text": "UPDATE items SET text = printf('%.*c', 90000000, 'x') WHERE row = 1",
        "a text that is not UTF-8": "UPDATE items SET text = CAST(x'ff' AS TEXT)",
        "NUL": "UPDATE items SET text = 'a' || char(0) || 'b'",
        "numbers for sources": "UPDATE items SET source = x'31'",
        "a number for an image": "UPDATE items SET image = x'31' WHERE image IS NOT NULL",
        "an unknown modality": "UPDATE items SET modality = 7",
        "a negative modality": "UPDATE items SET modality = -1",
        "another modality": "UPDATE items SET modality = (modality + 1) % 3",
        "text for a modality": "UPDATE items SET modality = 'x'",
        "blobs for ids": "UPDATE items SET id = CAST(id AS BLOB)",
        "other ids": "UPDATE items SET id = '8:' || row",
        "other texts": "UPDATE items SET text = 'a' || row WHERE modality > 0",
        "a forged schema": "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'TEXT', 'BLOB')",
        "a forged root": "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 1",
        "a forged type": "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view' WHERE name = 'items'",
    },
    "thumbnails.sqlite": {
        "an endless view": "DROP VIEW thumbnails; CREATE VIEW thumbnails AS "
        + ENDLESS
        + " AS row, x'00' AS webp FROM n",
        "no view": "DROP VIEW thumbnails",
        "no pictures": "DELETE FROM pictures",
        "nothing shown": "DELETE FROM shown",
        "text for pictures": "UPDATE pictures SET webp = '<script>alert(1)</script>'",
        "empty pictures": "UPDATE pictures SET webp = x''",
        "a huge picture": "UPDATE pictures SET webp = zeroblob(90000000) WHERE picture = 0",
        "unknown pictures": "UPDATE shown SET picture = 100000",
        "one picture for all": "UPDATE shown SET picture = 0",
        "a trigger": "CREATE TRIGGER t AFTER INSERT ON shown BEGIN DELETE FROM shown; END",
        "one more table": "CREATE TABLE more (a)",
    },
}
PAGES = {"the journal is a log": (18, b"\2\2"), "a page of one byte": (16, b"\0\1"), "UTF-16": (56, b"\0\0\0\2")}
PAGES |= {"a schema of another format": (44, b"\0\0\0\x63"), "fewer pages": (28, b"\0\0\0\1")}


def of_databases(run: Path) -> Iterator[Mutant]:
    """Every SQLite file: other tables, views, triggers, types, missing and damaged rows, and damaged pages."""
    for file in sorted(run.rglob("*.sqlite")):
        name = str(file.relative_to(run))
        for title, statements in STATEMENTS[file.name].items():
            yield Mutant(name, title, _execute(statements))
        for title, (start, header) in PAGES.items():
            yield Mutant(name, title, _edit(lambda data, rng, at=start, new=header: _patched(data, at, new)))
        for number in range(30):
            yield Mutant(name, f"damaged page ({number})", _edit(_damaged_page))


def _execute(statements: str) -> Change:
    def change(file: Path, rng: random.Random) -> None:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.executescript(statements)
        connection.close()

    return change


def _patched(data: bytearray, start: int, new: bytes) -> bytearray:
    data[start : start + len(new)] = new
    return data


def _damaged_page(data: bytearray, rng: random.Random) -> bytearray:
    """The header or the pointers of a page: where a table's tree could lead anywhere."""
    start = rng.randrange(len(data) // 65_536) * 65_536
    start += 100 if not start else 0
    for _ in range(rng.randrange(1, 4)):
        data[start + rng.randrange(40)] = rng.randrange(256)
    return data
