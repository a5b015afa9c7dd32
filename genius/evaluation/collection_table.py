"""The tables of a collection and of what its run cost: the supplement's Table 1, Table 2 and section B.2.

    python -m genius.evaluation.collection_table COLLECTION
    python -m genius.evaluation.collection_table COLLECTION --run RUN

Queries by split, relevant candidates per query and candidates of the local pool, for each (task, dataset) row. With a
run: what an item takes on disk, and the seconds of each stage of training, as the run's manifest recorded them. Where
the paper has a counterpart of a row, its figures stand beside ours.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.evaluation.evaluate import bytes_per_item
from genius.evaluation.tables import UNKNOWN, decimals, table, task_name
from genius.index.versions import load_index
from genius.run import Run

MBEIR: dict[tuple[int, str], tuple[str, str, str]] = {  # queries (K), relevant per query, candidates; train, val, test
    (0, "visualnews"): ("99 / 20 / 20", "1.0 / 1.0 / 1.0", "542K"),
    (0, "mscoco"): ("100 / 24.8 / 24.8", "1.0 / 1.0 / 1.0", "5K"),
    (0, "fashion200k"): ("15 / 1.7 / 1.7", "3.3 / 3.1 / 2.8", "201K"),
    (1, "webqa"): ("16 / 1.7 / 2.4", "2.0 / 2.0 / 2.0", "544K"),
    (2, "edis"): ("26 / 3.2 / 3.2", "2.6 / 2.6 / 2.6", "1M"),
    (2, "webqa"): ("17 / 1.7 / 2.5", "1.4 / 1.4 / 1.4", "403K"),
    (3, "visualnews"): ("100 / 20 / 20", "1.0 / 1.0 / 1.0", "537K"),
    (3, "mscoco"): ("113 / 5 / 5", "5.0 / 5.0 / 5.0", "25K"),
    (3, "fashion200k"): ("15 / 4.8 / 4.8", "1.0 / 1.0 / 1.0", "61K"),
    (4, "nights"): ("16 / 2 / 2", "1.0 / 1.0 / 1.0", "40K"),
    (6, "oven"): ("150 / 50 / 50", "8.5 / 10.0 / 9.9", "676K"),
    (6, "infoseek"): ("141 / 11 / 11", "6.8 / 6.7 / 6.5", "611K"),
    (7, "fashioniq"): ("16 / 2 / 6", "1.0 / 1.0 / 1.0", "74K"),
    (7, "cirr"): ("26 / 2 / 4", "1.0 / 1.0 / 1.0", "21K"),
    (8, "oven"): ("157 / 14.7 / 14.7", "17.8 / 17.5 / 17.7", "335K"),
    (8, "infoseek"): ("143 / 17.6 / 17.6", "9.1 / 7.5 / 7.5", "481K"),
}
PAPER_HOURS = {"encoder": 91.0, "quantizer": 0.4, "decoder": 2.0}  # on four RTX 3090, 1.1 million samples
PAPER_SAMPLES = 1_100_000


@dataclass(frozen=True)
class RowStatistics:
    """One (task, dataset) row."""

    task: int
    dataset: str
    queries: tuple[int, ...]  # by split
    relevant: tuple[float | None, ...]  # mean per query, by split
    candidates: int  # of the local pool


def row_statistics(collection: Collection) -> list[RowStatistics]:
    """The statistics of every row, ordered by task and dataset."""
    found = []
    for row in sorted(collection.rows(), key=lambda row: (row.task, row.dataset_id)):
        counts = [[len(query.positives) for query in collection.queries(split, row)] for split in SPLITS]
        found.append(
            RowStatistics(
                row.task,
                row.dataset,
                tuple(map(len, counts)),
                tuple(sum(own) / len(own) if own else None for own in counts),
                sum(1 for _ in collection.local_pool(row)),
            )
        )
    return found


def rows_table(rows: list[RowStatistics], total: int) -> str:
    """Supplement, Table 1. total: candidates of all pools together."""
    lines = []
    for row in rows:
        printed = next(
            (cells for (task, name), cells in MBEIR.items() if task == row.task and row.dataset.endswith(name)),
            (UNKNOWN,) * 3,
        )
        lines.append(
            {
                "task": task_name(row.task),
                "dataset": row.dataset,
                "paper: queries, K": printed[0],
                "queries": " / ".join(f"{count:,}" for count in row.queries),
                "paper: relevant per query": printed[1],
                "relevant per query": " / ".join(decimals(mean, 1) for mean in row.relevant),
                "paper: candidates": printed[2],
                "candidates": f"{row.candidates:,}",
            }
        )
    counts = " / ".join(f"{sum(row.queries[at] for row in rows):,}" for at in range(len(SPLITS)))
    lines.append(
        {
            "task": "**all**",
            "dataset": "",
            "paper: queries, K": "1,100 / 182 / 190",
            "queries": counts,
            "paper: relevant per query": "6.5 / 5.9 / 5.7",
            "relevant per query": " / ".join(decimals(_overall(rows, at), 1) for at in range(len(SPLITS))),
            "paper: candidates": "5.6M",
            "candidates": f"{total:,}",
        }
    )
    return table(lines, text_columns=2)


def _overall(rows: list[RowStatistics], at: int) -> float | None:
    """Mean over all queries of a split."""
    known = [(row.queries[at], row.relevant[at]) for row in rows if row.relevant[at] is not None]
    return sum(count * mean for count, mean in known) / sum(count for count, _ in known) if known else None


def storage_table(run: Run) -> str:
    """Supplement, Table 2: bytes per item."""
    index = load_index(run)
    sizes = bytes_per_item(index.code_sizes, index.config.dim)
    return table([{"": what, "bytes per item": f"{size:,g}"} for what, size in sizes.items()])


def cost_table(manifest: dict[str, Any], samples: int) -> str:
    """Supplement, B.2: what each stage of training took, and per sample. samples: training queries, 0 if unknown.

    Raises UserError if the manifest has no stages.
    """
    stages = manifest.get("stages")
    if not stages:
        raise UserError("the run's manifest records no stages; train it with: python -m training COLLECTION RUN")
    lines = []
    for name in dict.fromkeys([*PAPER_HOURS, *stages]):
        hours, seconds = PAPER_HOURS.get(name), stages.get(name, {}).get("seconds")
        lines.append(
            {
                "stage": name,
                "paper: hours": decimals(hours, 1),
                "paper: ms per sample": decimals(hours, 1, factor=3.6e6 / PAPER_SAMPLES),
                "hours": decimals(seconds, 2, factor=1 / 3600),
                "ms per sample": decimals(1000 * seconds / samples if samples and seconds is not None else None, 1),
            }
        )
    return table(lines)


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.collection_table", __doc__)
    parser.add_argument("collection", type=Path, help="an M-BEIR-format directory")
    parser.add_argument("--run", type=Path, help="a run that was trained on it: also its storage and training cost")
    options = parser.parse_args(arguments)
    collection = Collection(options.collection)
    rows = row_statistics(collection)
    parts = [
        "Queries, relevant candidates per query (train / val / test) and candidates of the local pool:",
        rows_table(rows, sum(1 for _ in collection.all_candidates())),
    ]
    if options.run:
        run = Run(options.run)
        parts += [
            "Storage:",
            storage_table(run),
            "Training, seconds as recorded by the run; the paper's on four RTX 3090:",
            cost_table(run.manifest, sum(row.queries[0] for row in rows)),
        ]
    print("\n\n".join(parts))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
