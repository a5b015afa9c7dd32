"""The paper's tables of captions, of the collection, and of what training costs, with ours.

    python -m genius.evaluation.paper_tables captions RUN [RUN …]
    python -m genius.evaluation.paper_tables collection COLLECTION RUN

captions: Table 3 and the supplement's Table 7, from the retrieval reports of the runs; writes RUN/reports/captions.json
and .md of the first one. Every row from texts to images is taken in its local pool. Flickr8k stands in for Flickr30K,
and any set whose name ends with mscoco for MSCOCO, where they are not the sets themselves.

collection: the supplement's Tables 1 and 2 and its section B.2; writes RUN/reports/collection.json and .md. Queries by
split, relevant candidates per query and candidates of the local pool, for each (task, dataset) row; what an item takes
on disk; and the seconds of each stage of training, as the run's manifest recorded them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_line, command_parser
from genius.evaluation.paper import CAPTIONS, captions_table, modalities_of, read_published, row_key
from genius.evaluation.report import bytes_table
from genius.index.versions import load_index
from genius.reports import UNKNOWN, Cell, Column, Report, Table, version
from genius.run import Run

MODULE = "genius.evaluation.paper_tables"
PAPER_HOURS = {"encoder": 91.0, "quantizer": 0.4, "decoder": 2.0}  # on four RTX 3090
PAPER_SAMPLES = 1_100_000
PAPER_TOTALS = ("1,100 / 182 / 190", "6.5 / 5.9 / 5.7", "5.6M")


def captions_report(runs: Sequence[Path], command: str) -> Report:
    """Raises UserError if a run has no readable report, or no row from texts to images."""
    measured = [line for run in runs for line in measured_captions(run)]
    note = "Captions to images at 1, 5 and 10, of the paper and of the runs that the command names."
    return Report("Captions to images", note, command, version(runs[0]), [captions_table(measured)])


def measured_captions(run: Path) -> list[list[Cell]]:
    """Our lines of the captions table in a run's retrieval report."""
    file = run / "reports" / "retrieval.json"
    try:
        report = Report.load(file)
    except FileNotFoundError:
        raise UserError(f"{file} is missing; write it with: python -m genius.evaluation {run}") from None
    lines = [row for table in report.tables if table.title == CAPTIONS for row in table.rows if "here" in row]
    if not lines:
        raise UserError(f"{file} has no row from texts to images")
    return lines


def collection_report(collection: Collection, run: Run, command: str) -> Report:
    """Raises UserError if the manifest of the run records no stages of training."""
    rows, samples = rows_table(collection)
    index = load_index(run)
    tables = [rows, bytes_table(index.code_sizes, index.config.dim), cost_table(run.manifest, samples)]
    note = (
        "What the collection holds, what an item takes on disk, and what training took, beside the paper's figures "
        "(supplement, Tables 1 and 2, section B.2)."
    )
    title = f"Collection and cost: {collection.root.resolve().name}"
    return Report(title, note, command, version(run.path), tables)


def rows_table(collection: Collection) -> tuple[Table, int]:
    """Supplement, Table 1, and the number of training queries."""
    published = {row_key(line["row"]): line for line in read_published("collection.tsv")}
    totals, judged, lines = [0] * len(SPLITS), [0] * len(SPLITS), []
    for row in sorted(collection.rows(), key=lambda row: (row.task, row.dataset_id)):
        counts = [[len(query.positives) for query in collection.queries(split, row)] for split in SPLITS]
        totals = [total + len(of_split) for total, of_split in zip(totals, counts, strict=True)]
        judged = [total + sum(of_split) for total, of_split in zip(judged, counts, strict=True)]
        printed = [line for (task, name), line in published.items() if task == row.task and row.dataset.endswith(name)]
        lines.append(
            [
                f"{row.task} {modalities_of(row.task)}",
                row.dataset,
                *_interleaved(
                    [*printed[0].values()][1:] if printed else [None] * 3,
                    [
                        " / ".join(f"{len(of_split):,}" for of_split in counts),
                        " / ".join(_mean(sum(of_split), len(of_split)) for of_split in counts),
                        sum(1 for _ in collection.local_pool(row)),
                    ],
                ),
            ]
        )
    ours = [
        " / ".join(f"{total:,}" for total in totals),
        " / ".join(map(_mean, judged, totals)),
        sum(1 for _ in collection.all_candidates()),
    ]
    lines.append(["all", "", *_interleaved(PAPER_TOTALS, ours)])
    columns = [Column("task"), Column("dataset")]
    for name in ("queries", "relevant per query", "candidates"):
        columns += [Column(f"paper: {name}" + ", K" * (name == "queries")), Column(name)]
    note = "Queries and relevant candidates per query in training / validation / test; candidates of the local pool."
    return Table("Queries and candidates", columns, lines, note), totals[0]


def _interleaved(of_paper: Sequence[Cell], ours: Sequence[Cell]) -> list[Cell]:
    return [cell for pair in zip(of_paper, ours, strict=True) for cell in pair]


def _mean(total: int, count: int) -> str:
    return f"{total / count:.1f}" if count else UNKNOWN


def cost_table(manifest: dict[str, Any], samples: int) -> Table:
    """Supplement, B.2: what each stage of training took, and per sample. samples: training queries.

    Raises UserError if the manifest has no stages.
    """
    stages = manifest.get("stages")
    if not stages:
        raise UserError("the run's manifest records no stages; train it with: python -m training COLLECTION RUN")
    lines = []
    for name in dict.fromkeys([*PAPER_HOURS, *stages]):
        hours, seconds = PAPER_HOURS.get(name), stages.get(name, {}).get("seconds")
        lines.append(
            [
                name,
                hours,
                None if hours is None else hours * 3.6e6 / PAPER_SAMPLES,
                None if seconds is None else seconds / 3600,
                1000 * seconds / samples if samples and seconds is not None else None,
            ]
        )
    columns = [Column("stage"), Column("paper: hours"), Column("paper: per sample", "ms")]
    columns += [Column("hours", digits=2), Column("per sample", "ms")]
    return Table("Training", columns, lines, "As recorded by the run; the paper's on four RTX 3090.")


def main(arguments: list[str]) -> None:
    parser = command_parser(MODULE, __doc__)
    commands = parser.add_subparsers(dest="table", required=True)
    captions = commands.add_parser("captions", help="Table 3, and the supplement's Table 7")
    captions.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="runs with a retrieval report")
    described = commands.add_parser("collection", help="the supplement's Tables 1 and 2, and section B.2")
    described.add_argument("collection", type=Path, help="an M-BEIR-format directory")
    described.add_argument("run", type=Path, help="a run that was trained on it")
    given = parser.parse_args(arguments)
    command = command_line(MODULE, arguments)
    if given.table == "captions":
        captions_report(given.runs, command).save(given.runs[0] / "reports" / "captions.json")
    else:
        report = collection_report(Collection(given.collection), Run(given.run), command)
        report.save(given.run / "reports" / "collection.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
