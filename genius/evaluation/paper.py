"""What the paper prints, beside what was measured here.

Every retrieval report has the paper's Tables 1 and 2, its supplement's 8 and 9, and captions to
images.

    python -m genius.evaluation.paper RUN [RUN …]     Table 3 and the supplement's Table 7, of
                                                      several runs

The command reads the retrieval reports of the runs, and writes RUN/reports/captions.json and .md of
the first one. Every row from texts to images is taken in its local pool. Flickr8k stands in for
Flickr30K, and any set whose name ends with mscoco for MSCOCO, where they are not the sets
themselves.

Published figures are percentages as printed, in the files of the folder `published`: Recall@5,
Recall@10 for Fashion200K and FashionIQ. Where two tables print the same system they sometimes
differ (2 and 9 in CLIP-SF on NIGHTS, FashionIQ and CIRR, in BLIP-FF on OVEN; 3 and 7 in GENIUS
trained on COCO); each is as printed.
"""

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from genius.collections.layout import TASKS
from genius.commands import command_parser
from genius.errors import UserError, exit_on_user_error
from genius.evaluation import NOTES
from genius.evaluation.arguments import command_line
from genius.evaluation.evaluate import Evaluation
from genius.evaluation.figures import PoolFigures, RowFigures
from genius.metrics.hit_rate import USUAL_CUT, wilson_interval
from genius.reports import Cell, Column, Report, Table, program_version
from genius.trie.ids import packed_bytes

MODULE = "genius.evaluation.paper"
FOLDER = Path(__file__).parent / "published"
CLIP_SF, GENIUS, RERANKED = "CLIP-SF", "GENIUS", "GENIUS + re-rank"
DENSE = "dense"
BEAM_SYSTEMS = ("beam", "beam + re-rank")
FLICKR, MSCOCO = "Flickr30K", "MSCOCO"
OTHERWISE_IN_TABLE_3 = f"{GENIUS}, as in Table 3"
CAPTIONS = "Captions to images, beside the paper's Table 3 and its supplement's Table 7"
CAPTION_TASK = 0
CAPTION_CUTS = (1, 5, 10)
CAPTION_SYSTEMS = {
    "dense": "dense search, the same encoder",
    "beam": GENIUS,
    "beam + re-rank": RERANKED,
    "both + fused": f"{GENIUS}, both + fused (ours)",
}


@dataclass(frozen=True)
class PaperTable:
    """The figures of one table."""

    name: str
    scope: str  # of the pool: "local" or "global"
    systems: tuple[str, ...]
    # (M-BEIR task, dataset) -> by system; None: not printed
    figures: dict[tuple[int, str], tuple[float | None, ...]]

    def counterpart(self, task: int | None, dataset: str) -> tuple[float | None, ...] | None:
        """The figures of the row that this one corresponds to: the same task, and a name with the
        same end.
        """
        for (of_task, name), figures in self.figures.items():
            if of_task == task and dataset.endswith(name):
                return figures
        return None

    def by_system(self) -> dict[str, tuple[float | None, ...]]:
        """System -> its figures by row."""
        return dict(zip(self.systems, zip(*self.figures.values(), strict=True), strict=True))

    def holds(self, dataset: str) -> bool:
        """Whether this is one of the paper's own datasets."""
        return any(dataset == name for _, name in self.figures)


def read_published(file: Path) -> list[dict[str, str]]:
    """The lines of a table of published figures, by column."""
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def _paper_tables() -> tuple[PaperTable, ...]:
    lines = read_published(FOLDER / "retrieval.tsv")
    tables = []
    for name in dict.fromkeys(line["table"] for line in lines):
        of_table = [line for line in lines if line["table"] == name]
        figures = {}
        for row in list(lines[0])[3:]:  # such as 0:mscoco
            task, _, dataset = row.partition(":")
            figures[int(task), dataset] = tuple(
                float(line[row]) if line[row] else None for line in of_table
            )
        tables.append(
            PaperTable(
                name, of_table[0]["scope"], tuple(line["system"] for line in of_table), figures
            )
        )
    return tuple(tables)


TABLES = TABLE_1, TABLE_2, TABLE_8, TABLE_9 = _paper_tables()
ROWS = tuple(TABLE_1.figures)
PUBLISHED_CAPTIONS = read_published(FOLDER / "captions.tsv")  # by set, method and training data


def recalls(line: dict[str, str]) -> tuple[float, ...]:
    """Those of PUBLISHED_CAPTIONS at CAPTION_CUTS, in percent."""
    return tuple(float(line[f"R@{cut}"]) for cut in CAPTION_CUTS)


def modalities_of(task: int | None) -> str:
    """2 -> text → pair."""
    assert task is not None, "an average has no task"
    return " → ".join(modality.name.lower() for modality in TASKS[task])


def row_names(row: RowFigures) -> list[Cell]:
    """Task and dataset of a row, with the k of its hit rate if that is not the usual one."""
    if row.task is None:
        return ["average", ""]
    cut = "" if row.cut == USUAL_CUT else f" (hit@{row.cut})"
    return [f"{row.task} {modalities_of(row.task)}", row.dataset + cut]


def paper_tables(evaluation: Evaluation) -> list[Table]:
    """The paper's tables with our figures, for the rows that are the paper's or their
    counterparts.
    """
    tables = []
    for paper in TABLES:
        for pool in _compared_pools(evaluation, paper.scope):
            tables += _comparison(paper, pool, evaluation)
    return tables


def _compared_pools(evaluation: Evaluation, scope: str) -> list[PoolFigures]:
    """The pool of this scope that is compared with the paper's, M-BEIR's test pools: of the split,
    if it has any.
    """
    pools, split = evaluation.pools, evaluation.options.split
    items = split if any(pool.kind.items == split for pool in pools) else pools[0].kind.items
    return [pool for pool in pools if pool.kind == (scope, items)]


def _comparison(paper: PaperTable, pool: PoolFigures, evaluation: Evaluation) -> list[Table]:
    """One table, or none if no row has a counterpart or the systems were not searched."""
    rows = [row for row in pool.rows if paper.counterpart(row.task, row.dataset)]
    if not rows or not {DENSE, *BEAM_SYSTEMS} <= set(rows[0].systems.index):
        return []
    printed = [paper.counterpart(row.task, row.dataset) for row in rows]
    of_paper = (
        pd.DataFrame(printed, columns=[f"paper: {system}" for system in paper.systems], dtype=float)
        / 100
    )
    here = {f"here: {DENSE}": [row.figure(DENSE, "rate") for row in rows]}
    printed_sizes = [
        swept
        for swept in evaluation.sweep(pool.kind)
        if any(f"{swept.beams} beams" in system for system in paper.systems)
    ]
    for searched in printed_sizes or [pool]:
        for system in BEAM_SYSTEMS:
            name = f"here: {system}" + (f", {searched.beams}" if printed_sizes else "")
            here[name] = [
                searched.row(row.task, row.dataset).figure(system, "rate") for row in rows
            ]
    columns = [Column("task"), Column("dataset")]
    cells = [[*row_names(row)] for row in rows] + [["average", ""]]
    for side, dense, reranked in (
        (of_paper, f"paper: {CLIP_SF}", f"paper: {RERANKED}"),
        (pd.DataFrame(here), f"here: {DENSE}", list(here)[-1]),
    ):
        columns += [Column(name, "%") for name in side]
        side.loc["average"] = {name: figures.mean(skipna=False) for name, figures in side.items()}
        if reranked in side:
            columns.append(Column(dense.replace(": ", ": of "), digits=2))
            side["share"] = side[reranked] / side[dense].where(side[dense] > 0)
        for line, values in zip(cells, side.to_numpy().tolist(), strict=True):
            line += [None if np.isnan(value) else value for value in values]
    note = NOTES["same_data" if all(paper.holds(row.dataset) for row in rows) else "other_data"]
    note += " " + NOTES["beside_the_paper"].format(
        scope=pool.kind.scope.capitalize(), items=pool.kind.items
    )
    return [Table(f"Beside the paper's {paper.name}", columns, cells, note)]


def caption_lines(evaluation: Evaluation, trained: str) -> list[list[Cell]]:
    """A line for each row from texts to images in its local pool, and each system. trained: on what
    the run was.
    """
    lines: list[list[Cell]] = []
    for pool in _compared_pools(evaluation, "local"):
        for row in pool.rows:
            if row.task == CAPTION_TASK:
                name = row.dataset
                stands_for = stand_in(row.dataset)
                if stands_for and name not in (FLICKR.lower(), MSCOCO.lower()):
                    name += f" (stands in for {stands_for})"
                for system, method in CAPTION_SYSTEMS.items():
                    if system in row.systems.index:
                        rates = row.systems.loc[
                            system, [f"hit@{cut}" for cut in CAPTION_CUTS]
                        ].tolist()
                        n, images = row.counts["queries"], row.counts["candidates"]
                        estimates = [(rate, *wilson_interval(round(rate * n), n)) for rate in rates]
                        lines.append([name, method, trained, "here", *estimates, n, images])
    return lines


def captions_table(measured: Sequence[Sequence[Cell]]) -> Table:
    """measured: of `caption_lines`. The paper's lines of a set, then ours of it and of those that
    stand in for it.
    """
    lines: list[Sequence[Cell]] = []
    for of in (FLICKR, MSCOCO, ""):
        for line in (line for line in PUBLISHED_CAPTIONS if line["set"] == of):
            trained = line["trained on"] + " †" * (line["zero-shot"] == "yes")
            lines.append(
                [
                    of,
                    line["method"],
                    trained,
                    "paper",
                    *(rate / 100 for rate in recalls(line)),
                    None,
                    None,
                ]
            )
        lines += [line for line in measured if stand_in(str(line[0])) == of]
    rates = [Column(f"R@{cut}", "%") for cut in CAPTION_CUTS]
    columns = [Column("set"), Column("method"), Column("trained on"), Column("source"), *rates]
    return Table(
        CAPTIONS, [*columns, Column("queries"), Column("images")], lines, NOTES["captions"]
    )


def stand_in(dataset: str) -> str:
    """The paper's set that a dataset is, or stands in for; empty if it is like neither."""
    name = dataset.split(" (")[0].lower()
    if "flickr" in name:
        return FLICKR
    return MSCOCO if name.endswith(("mscoco", "coco")) else ""


def trained_on(settings: Any, collection: str) -> str:
    """The collection, and the benchmark rows that the stages of training were limited to. settings:
    a run's.
    """
    stages = {
        "encoder": settings.encoder,
        "quantizer": settings.quantizer,
        "decoder": settings.decoder,
    }
    limits = {name: " and ".join(stage.rows) for name, stage in stages.items() if stage.rows}
    if len(limits) == 3 and len(set(limits.values())) == 1:
        return f"{collection}, {limits['encoder']} alone"
    return ", ".join(
        [collection, *(f"the {stage} on {rows} alone" for stage, rows in limits.items())]
    )


def measured_captions(run: Path) -> list[Sequence[Cell]]:
    """Our lines of the captions table in a run's retrieval report. Raises UserError if there are
    none.
    """
    file = run / "reports" / "retrieval.json"
    try:
        report = Report.load(file)
    except FileNotFoundError:
        raise UserError(
            f"{file} is missing; write it with: python -m genius.evaluation {run}"
        ) from None
    lines = [
        row
        for table in report.tables
        if table.title == CAPTIONS
        for row in table.rows
        if "here" in row
    ]
    if not lines:
        raise UserError(f"{file} has no row from texts to images")
    return lines


def bytes_table(code_sizes: Sequence[int], dim: int) -> Table:
    """Bytes per item, and the paper's figures (supplementary, section on storage)."""
    rows: list[list[Cell]] = [
        ["ID", sum((size - 1).bit_length() for size in code_sizes) / 8],
        ["ID, in whole bytes as stored", float(packed_bytes(tuple(code_sizes)))],
        [f"embedding of {dim}, fp16 as stored", 2.0 * dim],
        [f"embedding of {dim}, fp32", 4.0 * dim],
        ["paper: ID of 2 + 8 · 12 bits", 12.25],
        ["paper: embedding of 768, fp32", 3072.0],
    ]
    return Table("Bytes per item", [Column("what"), Column("bytes", digits=2)], rows)


def main(arguments: list[str]) -> None:
    parser = command_parser(MODULE, __doc__)
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="runs with a retrieval report"
    )
    runs = parser.parse_args(arguments).runs
    table = captions_table([line for run in runs for line in measured_captions(run)])
    note = "Captions to images at 1, 5 and 10, of the paper and of the runs that the command names."
    report = Report(
        "Captions to images",
        note,
        command_line(MODULE, arguments),
        program_version(runs[0]),
        [table],
    )
    report.save(runs[0] / "reports" / "captions.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
