"""Grow and shrink a large index: print what each change costs, and check the index that it leaves.

    python -m training.benchmarks.growing_scale 1000000

The cost of a change must depend on the size of the change, apart from a few bytes per indexed item. IDs and embeddings
are random, and a stand-in encodes the added texts.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.index import update
from genius.index.drift import DriftReport
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.index.writing import write_index
from genius.models.encoder import Features
from genius.models.fusion import Fusion, FusionConfig
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from genius.run import Run
from genius.schema import Item, Modality
from training.distributed import expect_one_process

DIM, CODES = 64, 256
ADDED = 10_000  # items at most, and a tenth of the first ones
LEAST = 1_000  # first items
FIXED = 1_000_000  # bytes of an index however small


def main() -> None:
    parser = command_parser("training.benchmarks.growing_scale", __doc__)
    parser.add_argument("items", type=int, help="indexed before the first change")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        grow(Path(scratch) / "run", arguments.items)


class RandomEncoder:
    """Stand-in for an encoder: every text has its own random vector."""

    dim, device, config = DIM, torch.device("cpu"), SimpleNamespace(preprocess={})

    def __call__(self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor) -> Features:
        zeros = torch.zeros(len(image_mask), DIM)
        return Features(zeros, zeros, image_mask, text_mask)

    def check(self) -> None:
        """It can encode anything."""

    def encode(self, images: list, texts: list[str]) -> Features:
        vectors = torch.from_numpy(
            np.stack([np.random.default_rng(len(text) + hash(text) % 2**31).normal(size=DIM) for text in texts])
        ).float()
        return Features(
            torch.zeros_like(vectors),
            vectors,
            torch.zeros(len(texts), dtype=torch.bool),
            torch.ones(len(texts), dtype=torch.bool),
        )


def models() -> update.Models:
    torch.manual_seed(0)
    quantizer = ResidualQuantizer(QuantizerConfig(dim=DIM, levels=9, codebook_size=CODES)).eval()
    for codebook in quantizer.codebooks:
        codebook.copy_(torch.randn(codebook.shape) / DIM**0.5)
    return update.Models(RandomEncoder(), Fusion(FusionConfig(dim=DIM, branch=32, hidden=32)).eval(), quantizer)


def items(dataset: int, count: int) -> Iterator[Item]:
    return (
        Item(f"{dataset}:{number}", Modality.TEXT, f"The text of item {number} of {dataset}.")
        for number in range(count)
    )


def write_run(path: Path, n: int, code_sizes: tuple[int, ...]) -> Run:
    """A run with n items that have random IDs and embeddings."""
    rng = np.random.default_rng(0)
    codes = rng.integers(CODES, size=(n, len(code_sizes)), dtype=np.uint16)
    codes[:, 0] = Modality.TEXT
    embeddings = rng.normal(size=(n, DIM)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    run = Run(path)
    for part in ("encoder", "fusion", "quantizer"):
        run.publish(part, lambda folder: (folder / "config.json").write_text("{}"))
    run.publish(
        "index",
        lambda folder: write_index(
            folder,
            items(0, n),
            codes,
            embeddings,
            code_sizes,
            image_path=None,
            instructions=[],
            errors=rng.random(n, dtype=np.float32),
        ),
        ("encoder", "fusion", "quantizer"),
    )
    return run


@contextmanager
def measured(step: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(
        f"{step:40s} {time.perf_counter() - started:7.1f} s, "
        f"peak memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:5.2f} GB",
        flush=True,
    )


def grow(path: Path, n: int) -> None:
    """Index n items in a new run, then add, remove and compact. Raises UserError for fewer than LEAST items."""
    if n < LEAST:
        raise UserError(f"{n} items are too few to add to and to remove from; give {LEAST:,} or more")
    parts, added_items = models(), min(ADDED, n // 10)
    with measured(f"index {n:,} items"):
        run = write_run(path, n, parts.quantizer.config.code_sizes).path

    def load() -> Index:
        return Index.load(Run(run).folder("index"))

    for count in (1, added_items):
        with measured(f"add {count:,}"):
            added = update.add(run, lambda dataset, count=count: ItemSource(lambda: items(dataset, count), Path), parts)
        assert added.new == count
    with measured("load index and pool"):
        index = load()
        assert len(index.pool().table) == index.n == n + added_items + 1
    written = sum(file.stat().st_size for file in index.folder.rglob("*") if file.stat().st_nlink == 1)
    print(f"written by the last addition: {written / 1e6:,.0f} MB, {written / index.n:.0f} bytes per indexed item")
    assert written < FIXED + 100 * index.n + 1000 * added_items
    with measured("remove 1"):
        assert update.remove(run, ["0:17"]).removed == 1
    with measured(f"remove {added_items:,}"):
        assert update.remove(run, (f"0:{number}" for number in range(100, 100 + added_items))).removed == added_items
    with measured("drift report"):
        print(DriftReport.of(load()))
    with measured("compact"):
        assert update.compact(run)
    index = load()
    rows = index.rows_of(["0:16", "0:17", "0:18", f"0:{n - 1}", "1:0", f"2:{added_items - 1}"])
    assert rows.tolist() == [16, -1, 17, n - added_items - 2, n - added_items - 1, n - 1]
    assert [item.id for item in index.items(rows[[0, 2, 5]])] == ["0:16", "0:18", f"2:{added_items - 1}"]


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
