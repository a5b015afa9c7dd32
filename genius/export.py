"""Take a run elsewhere: its items as a Parquet table, or its codes and its map as a site of static
files.

    python -m genius.export RUN OUT.parquet [--pictures]    one row an item; --pictures: thumbnails,
                                                            not only paths
    python -m genius.export RUN --site FOLDER               FOLDER/index.html opens in a browser,
                                                            without a server

A table has id, kind, text, picture, codes, code_names, x, y and embedding. `pandas.read_parquet`
opens it, and so does Embedding Atlas: embedding-atlas OUT.parquet --text text --x x --y y --vector
embedding --features code_names

A site numbers the items in the order of their IDs, so the items of a code are a range, and lie
together:

    data.js        kinds, codes and places of all items, names of codes
    items-0.js …   texts, ids and thumbnails of SHARD items, loaded when they are shown

Shapes: n items, M levels, s items of a block.
"""

import json
import shutil
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from genius.commands import command_parser
from genius.errors import UserError, exit_on_user_error
from genius.explore.code_names import Names, read_names
from genius.explore.code_patterns import format_pattern
from genius.explore.map_data import Maps, read_maps
from genius.explore.map_points import spread_overlapping
from genius.files import disk_errors_explained, written_aside
from genius.index.store import Index, load_index
from genius.run import Run
from genius.schema import Item, provenance_of
from genius.trie.ids import IDTable

ROWS = 4096  # of a row group, which is all that is in memory at a time
SHARD = 256  # items of a file of a site
NO_REGION = 65_535  # of an item without a place
SITE = Path(__file__).with_name("site")


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("genius.export", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a trained run")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "table", type=Path, nargs="?", metavar="OUT.parquet", help="write the items into this file"
    )
    target.add_argument(
        "--site", type=Path, metavar="FOLDER", help="write a site into this folder, which is new"
    )
    parser.add_argument("--pictures", action="store_true", help="keep the thumbnails in the table")
    options = parser.parse_args(arguments)
    run = Run(options.run)
    if options.site:
        export_site(run, options.site)
    else:
        export_table(run, options.table, options.pictures)


def export_table(run: Run, file: Path, pictures: bool = False) -> None:
    """Write a row for each item. pictures: as Hugging Face stores images, {"bytes", "path"}; else
    their paths alone.

    Raises UserError for a file with another suffix, a run that cannot be read, or a disk that is
    full.
    """
    if file.suffix != ".parquet":
        raise UserError(
            f"the table is a Parquet file, so name it {file.stem}.parquet, not {file.name}"
        )
    index = load_index(run)
    names = read_names(run.path) or {}
    places = map_places(read_maps(run.path), index)
    image = pa.struct({"bytes": pa.binary(), "path": pa.string()}) if pictures else pa.string()
    schema = pa.schema(
        {
            "id": pa.string(),
            "kind": pa.string(),
            "text": pa.string(),
            "picture": image,
            "codes": pa.list_(pa.int32()),
            "code_names": pa.list_(pa.string()),
            "x": pa.float32(),
            "y": pa.float32(),
            "embedding": pa.list_(pa.float32(), index.config.dim),
        }
    )
    with disk_errors_explained(file.parent), written_aside(file) as aside:
        with pq.ParquetWriter(aside, schema, compression="zstd") as writer:
            for rows in blocks(np.arange(index.n), ROWS):
                writer.write_table(pa.table(_columns(index, names, places, rows, pictures), schema))
        aside.replace(file)
    print(f"{file}: {index.n:,} items, {file.stat().st_size / 1e6:,.1f} MB")


def _columns(
    index: Index, names: Names, places: np.ndarray, rows: np.ndarray, pictures: bool
) -> dict[str, Any]:
    """The columns of rows (s,)."""
    items = index.items(rows)
    codes = index.codes(rows)
    embeddings = np.asarray(index.embeddings[rows], dtype=np.float32)
    paths = [item.image for item in items]
    images = [
        path and {"bytes": index.thumbnail(row), "path": path}
        for row, path in zip(rows.tolist(), paths)
    ]
    # no place is NaN, which becomes null
    x, y = (pa.array(axis, from_pandas=True) for axis in places[rows].T)
    return {
        "id": [item.id for item in items],
        "kind": [item.modality.name.lower() for item in items],
        "text": [item.text for item in items],
        "picture": images if pictures else paths,
        "codes": list(codes.astype(np.int32)),
        "code_names": [names_of(names, tuple(of_item)) for of_item in codes.tolist()],
        "x": x,
        "y": y,
        "embedding": pa.FixedSizeListArray.from_arrays(embeddings.ravel(), embeddings.shape[1]),
    }


def names_of(names: Names, codes: tuple[int, ...]) -> list[str]:
    """What the items of each beginning of an ID have in common, as far as they have a name with
    words.
    """
    prefixes = (codes[: level + 1] for level in range(len(codes)))
    return [names[prefix].label for prefix in prefixes if prefix in names and names[prefix].words]


def map_places(maps: Maps | None, index: Index, view: int = 0) -> np.ndarray:
    """(n, 2) float32, where a view of the map shows each item; NaN for items, or of a run, without
    a place.
    """
    places = np.full((index.n, 2), np.nan, dtype=np.float32)
    if maps is not None:
        rows = index.rows_of(maps.ids())  # −1: removed since
        places[rows[rows >= 0]] = spread_overlapping(maps.places[view])[rows >= 0]
    return places


def _map_data(maps: Maps, index: Index, order: np.ndarray, number: np.ndarray) -> dict[str, Any]:
    """Views and regions of a map for a site. order (n,): rows as the site numbers them; number
    (n,): of each row.
    """
    rows = index.rows_of(maps.ids())
    region = np.full(index.n, NO_REGION)
    region[rows[rows >= 0]] = maps.region_of[rows >= 0]
    portraits = index.rows_of([one.portrait for one in maps.regions])
    views = range(len(maps.views))
    return {
        "views": [one.depth for one in maps.views],
        "places": [_base64(map_places(maps, index, view)[order].astype("<f4")) for view in views],
        "region": _base64(region[order].astype("<u2")),
        "regions": [
            [
                one.tier,
                one.parent,
                ", ".join(one.words),
                one.items,
                int(number[row]) if row >= 0 else None,
            ]
            for one, row in zip(maps.regions, portraits.tolist(), strict=True)
        ],
    }


def blocks(rows: np.ndarray, size: int) -> Iterable[np.ndarray]:
    """The rows in parts (s,), with a bar that shows how long they take."""
    return tqdm(np.split(rows, range(size, len(rows), size)), unit="block")


def export_site(run: Run, folder: Path) -> None:
    """Write a site into a new folder. Raises UserError if something is in it, or for a run that
    cannot be read.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists; name a new folder, or delete it first")
    index = load_index(run)
    names = read_names(run.path) or {}
    order = IDTable.from_packed(index.packed, index.code_sizes).rows
    maps = read_maps(run.path)
    number = np.empty(index.n, dtype=np.int64)  # of each row in the site
    number[order] = np.arange(index.n)
    named = {format_pattern(prefix, "."): name for prefix, name in names.items()}
    shown = {prefix: index.rows_of(name.pictures[:1]) for prefix, name in named.items()}
    data = {
        "name": run.path.resolve().name,
        "levels": len(index.code_sizes),
        "shard": SHARD,
        "kinds": _base64(index.modalities[order]),
        "codes": _base64(index.codes(order).astype("<u2")),
        "map": maps and _map_data(maps, index, order, number),
        "names": {prefix: name.label for prefix, name in named.items() if name.words},
        "pictures": {
            prefix: int(number[rows[0]])
            for prefix, rows in shown.items()
            if len(rows) and rows[0] >= 0
        },
    }
    with disk_errors_explained(folder.parent), written_aside(folder, folder=True) as aside:
        shutil.copytree(SITE, aside, dirs_exist_ok=True)
        _write_call(aside / "data.js", "show", data)
        for shard, rows in enumerate(blocks(order, SHARD)):
            records = [
                _record(index, row, item) for row, item in zip(rows.tolist(), index.items(rows))
            ]
            _write_call(aside / f"items-{shard}.js", "receive", shard, records)
        aside.rename(folder)
    print(f"{folder / 'index.html'}: {index.n:,} items")


def _record(index: Index, row: int, item: Item) -> tuple[str, ...]:
    """What the site shows of an item: id, text, thumbnail and credit."""
    credit = " · ".join(provenance_of(item.source).values())
    return item.id, item.text, _base64(index.thumbnail(row) or b""), credit


def _base64(data: np.ndarray | bytes) -> str:
    return b64encode(data.tobytes() if isinstance(data, np.ndarray) else data).decode()


def _write_call(file: Path, function: str, *values: Any) -> None:
    """A script that calls a function of site.js: a page opened without a server cannot read other
    files.
    """
    file.write_text(f"{function}({', '.join(map(json.dumps, values))});\n")


if __name__ == "__main__":
    with exit_on_user_error():
        main()
