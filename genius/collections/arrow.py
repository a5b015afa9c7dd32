"""Tables that Arrow reads: Parquet files and, after `pip install datasets`, datasets of Hugging
Face.

things.parquet      pictures by path, as in a CSV file, or as Hugging Face stores them: {bytes,
                    path}
saved               a folder that `Dataset.save_to_disk` wrote, or one with Parquet files of its
                    splits
hf://OWNER/NAME     a dataset of the hub
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from genius.errors import UserError
from genius.reading import damage_explained, one_line

MOST_ROWS = 256  # rows in memory, with the bytes of their pictures
SAVED = ("dataset_info.json", "dataset_dict.json")  # in a folder that `save_to_disk` wrote
HUB = "hf:"  # begins the path of a dataset of the hub
MANIFEST = "manifest.jsonl"
SPLIT_OF_FILE = re.compile(r"(train|validation|val|test)\b")  # train-00000-of-00002.parquet

Batch = tuple[str, Any]  # the split, if it is known, and a pyarrow.RecordBatch or Table


def open_parquet(file: Path) -> Any:
    """A pyarrow.parquet.ParquetFile. Raises UserError if it is none."""
    from pyarrow import parquet  # here, as below: it is slow to import, and few sources need it

    # ArrowInvalid is a ValueError
    with damage_explained(f"{file} is not a Parquet file", "write it again"):
        return parquet.ParquetFile(file)


def parquet_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number, from 1, and cells of each row of a Parquet file, without vectors."""
    return enumerate((cells for batch in _batches(file) for cells in _cells(batch)), 1)


def dataset_batches(source: Path) -> Iterator[Batch] | None:
    """The rows of a source that is a dataset of Hugging Face, or a table with the bytes of
    pictures; None: it is none.

    Raises UserError for what cannot be read.
    """
    if source.is_dir() and any((source / name).is_file() for name in SAVED):
        return _loaded("load_from_disk", str(source))
    if source.parts[:1] == (HUB,):
        return _loaded("load_dataset", "/".join(source.parts[1:]))
    found = [source] if source.suffix.lower() == ".parquet" else []
    if source.is_dir() and not (source / MANIFEST).is_file():
        # the last: as Spark writes a table
        patterns = ("*.parquet", "data/*.parquet", "*.parquet/*.parquet")
        found = sorted(file for pattern in patterns for file in source.glob(pattern))
    files: dict[Path, str] = {}  # their splits
    damaged = list[UserError]()
    for file in found:
        if file.is_file() and not file.name.startswith("."):  # opening a pipe would block forever
            try:
                if pictured(open_parquet(file).schema_arrow):
                    match = SPLIT_OF_FILE.match(file.stem)
                    files[file] = match[1] if match else ""
            except UserError as error:
                damaged.append(error)
    if damaged and (files or found == [source]):
        raise damaged[0]
    batches = ((split, batch) for file, split in files.items() for batch in _batches(file))
    return batches if files else None


def pictured(schema: Any) -> list[str]:
    """The columns that hold the bytes of pictures."""
    from pyarrow import types

    return [
        field.name
        for field in schema
        if types.is_struct(field.type) and {"bytes", "path"} <= {part.name for part in field.type}
    ]


def vector_columns(schema: Any) -> list[str]:
    """The columns whose cells are lists of floating-point numbers."""
    from pyarrow import types

    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return [
        field.name
        for field in schema
        if any(is_list(field.type) for is_list in lists)
        and types.is_floating(field.type.value_type)
    ]


def unpack(batches: Iterator[Batch], folder: Path) -> None:
    """Write the pictures of a dataset into a folder with `manifest.jsonl`, a row for each. Of
    several pictures in a row the one in the column `image` counts, or else the first.
    """
    rows = (
        (split, pictured(batch.schema), row) for split, batch in batches for row in _cells(batch)
    )
    with (folder / MANIFEST).open("w", encoding="utf-8") as manifest:
        for number, (split, columns, row) in enumerate(rows, 1):
            nothing = {"bytes": None, "path": None}
            pictures = {column: row.pop(column) or nothing for column in columns}
            row |= {column: cell["path"] for column, cell in pictures.items()}
            if split:
                row["split"] = split
            if columns:
                cell = pictures.get("image", pictures[columns[0]])
                row["image"] = cell["path"]
                if cell["bytes"] is not None:
                    row["image"] = f"{number}{Path(cell['path'] or '').suffix}"
                    (folder / row["image"]).write_bytes(cell["bytes"])
            print(json.dumps(row, ensure_ascii=False, default=str), file=manifest)


def _loaded(function: str, name: str) -> Iterator[Batch]:
    try:
        import datasets
    except ModuleNotFoundError:
        message = f"to read {name}, a dataset of Hugging Face: pip install datasets"
        raise UserError(message) from None
    try:
        loaded = getattr(datasets, function)(name)
    except Exception as error:  # datasets, the hub and the network raise many types
        message = f"{name} cannot be loaded as a dataset of Hugging Face ({one_line(error)})"
        raise UserError(f"{message}; check its name, or the network") from error
    parts = loaded if isinstance(loaded, dict) else {"": loaded}
    return (
        (split, batch)
        for split, part in parts.items()
        for batch in part.with_format("arrow").iter(MOST_ROWS)
    )


def _batches(file: Path) -> Iterator[Any]:
    """The rows of a Parquet file, without vectors, which say nothing to a person."""
    opened = open_parquet(file)
    vectors = vector_columns(opened.schema_arrow)
    return opened.iter_batches(
        MOST_ROWS, columns=[name for name in opened.schema_arrow.names if name not in vectors]
    )


def _cells(batch: Any) -> list[dict[str, Any]]:
    """The rows of a batch; where Hugging Face says that a number is a label, its name."""
    rows = batch.to_pylist()
    about = json.loads((batch.schema.metadata or {}).get(b"huggingface", b"{}"))
    for column, feature in about.get("info", {}).get("features", {}).items():
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            for row in rows:
                row[column] = feature["names"][row[column]] if row[column] is not None else None
    return rows
