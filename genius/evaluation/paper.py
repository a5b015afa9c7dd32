"""What the paper prints, beside what was measured here: Tables 1 and 2, the supplement's 8 and 9, captions (3 and 7).

Figures are percentages as printed, in the files of the folder `published`: Recall@5, Recall@10 for Fashion200K and
FashionIQ. Where two tables print the same system they sometimes differ (2 and 9 in CLIP-SF on NIGHTS, FashionIQ and
CIRR, in BLIP-FF on OVEN; 3 and 7 in GENIUS trained on COCO); each is as printed, but for one: Table 8 prints 23.9 for
CLIP-SF on InfoSeek where Table 1 prints 27.9.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genius.collections.layout import TASKS
from genius.evaluation.evaluate import Evaluation, compared_kinds
from genius.evaluation.figures import PoolFigures, RowFigures
from genius.metrics.hit_rate import USUAL_CUT, mean_known, wilson_interval
from genius.reports import Cell, Column, Table

FOLDER = Path(__file__).parent / "published"
CLIP_SF, GENIUS, RERANKED = "CLIP-SF", "GENIUS", "GENIUS + re-rank"
DENSE, BEAM_SYSTEMS = "dense", ("beam", "beam + re-rank")
FLICKR, MSCOCO = "Flickr30K", "MSCOCO"
OTHERWISE_IN_TABLE_3 = f"{GENIUS}, as in Table 3"
CAPTIONS = "Captions to images, beside the paper's Table 3 and its supplement's Table 7"
CAPTION_TASK, CAPTION_CUTS = 0, (1, 5, 10)
CAPTION_SYSTEMS = {
    "dense": "dense search, the same encoder",
    "beam": GENIUS,
    "beam + re-rank": RERANKED,
    "fast + ranker": f"{GENIUS}, fast + ranker (ours)",
}
CAPTIONS_NOTE = (
    "Recall, which is the hit rate, of captions among the images of their own set. The paper's figures are of the real "
    "sets, with CLIP ViT-L/14; ours are of the sets that are named, so differences between methods can be compared, "
    "and rates cannot. † trained on another collection."
)
SAME_DATA = "The paper's rows, M-BEIR's."
OTHER_DATA = (
    "The same tasks on other data: the paper's rows are M-BEIR's, with CLIP ViT-L/14 and 5.6 million candidates, so "
    "shares of dense search can be compared and hit rates cannot."
)


@dataclass(frozen=True)
class PaperTable:
    """The figures of one table."""

    name: str
    scope: str  # of the pool: "local" or "global"
    systems: tuple[str, ...]
    figures: dict[tuple[int, str], tuple[float | None, ...]]  # (M-BEIR task, dataset) -> by system; None: not printed

    def counterpart(self, task: int, dataset: str) -> tuple[float | None, ...] | None:
        """The figures of the row that this one corresponds to: the same task, and a name with the same end."""
        for (of_task, name), figures in self.figures.items():
            if of_task == task and dataset.endswith(name):
                return figures
        return None

    def holds(self, dataset: str) -> bool:
        """Whether this is one of the paper's own datasets."""
        return any(dataset == name for _, name in self.figures)


@dataclass(frozen=True)
class PublishedCaptions:
    """Recall at 1, 5 and 10 of captions to the images of a set, in percent."""

    of: str  # the set
    method: str
    trained: str  # the training data
    zero_shot: bool  # the set is no part of the training data
    rates: tuple[float, float, float]


def read_published(file: str) -> list[dict[str, str]]:
    """The lines of a file of the folder."""
    with (FOLDER / file).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def row_key(name: str) -> tuple[int, str]:
    """0:mscoco -> its task and dataset."""
    task, _, dataset = name.partition(":")
    return int(task), dataset


def _paper_tables() -> tuple[PaperTable, ...]:
    lines = read_published("retrieval.tsv")
    tables = []
    for name in dict.fromkeys(line["table"] for line in lines):
        of_table = [line for line in lines if line["table"] == name]
        figures = {
            row_key(row): tuple(float(line[row]) if line[row] else None for line in of_table)
            for row in list(lines[0])[3:]
        }
        tables.append(PaperTable(name, of_table[0]["scope"], tuple(line["system"] for line in of_table), figures))
    return tuple(tables)


TABLES = TABLE_1, TABLE_2, TABLE_8, TABLE_9 = _paper_tables()
ROWS = tuple(TABLE_1.figures)
PUBLISHED_CAPTIONS = [
    PublishedCaptions(
        line["set"],
        line["method"],
        line["trained on"],
        line["zero-shot"] == "yes",
        (float(line["R@1"]), float(line["R@5"]), float(line["R@10"])),
    )
    for line in read_published("captions.tsv")
]


def modalities_of(task: int) -> str:
    """2 -> text → pair."""
    return " → ".join(modality.name.lower() for modality in TASKS[task])


def row_names(row: RowFigures) -> list[Cell]:
    """Task and dataset of a row, with the k of its hit rate if that is not the usual one."""
    if row.task is None:
        return ["average", ""]
    cut = "" if row.cut == USUAL_CUT else f" (hit@{row.cut})"
    return [f"{row.task} {modalities_of(row.task)}", row.dataset + cut]


def paper_tables(found: Evaluation) -> list[Table]:
    """The paper's tables with our figures, for the rows that are the paper's or their counterparts."""
    tables = []
    for paper in TABLES:
        pools = _compared_pools(found, paper.scope)
        tables += _comparison(paper, pools, found) if pools else []
    return tables


def _compared_pools(found: Evaluation, scope: str) -> list[PoolFigures]:
    """The pool of this scope that is compared with the paper's, M-BEIR's test pools: of the split, if it has pools."""
    kinds = compared_kinds([pool.kind for pool in found.pools], found.options.split)
    return [pool for pool in found.pools if pool.kind in kinds and pool.kind.scope == scope]


def _comparison(paper: PaperTable, pools: Sequence[PoolFigures], found: Evaluation) -> list[Table]:
    pool = pools[0]
    rows = [row for row in pool.rows if paper.counterpart(row.task, row.dataset)]
    if not rows or not {DENSE, *BEAM_SYSTEMS} <= rows[0].systems.keys():
        return []
    columns: dict[str, list[float | None]] = {}  # heading -> shares by row
    for number, system in enumerate(paper.systems):
        printed = [paper.counterpart(row.task, row.dataset)[number] for row in rows]
        columns[f"paper: {system}"] = [None if figure is None else figure / 100 for figure in printed]
    columns[f"here: {DENSE}"] = [row.systems[DENSE].rate[0] for row in rows]
    swept = [
        other
        for other in found.sweep
        if other.kind == pool.kind and any(f"{other.beams} beams" in system for system in paper.systems)
    ]
    for searched in swept or [pool]:
        for system in BEAM_SYSTEMS:
            heading = f"here: {system}" + (f", {searched.beams}" if swept else "")
            columns[heading] = [searched.row(row.task, row.dataset).systems[system].rate[0] for row in rows]
    last = list(columns)[-1]
    cells = {name: [*values, _mean_of_all(values)] for name, values in columns.items()}
    shares = {f"here: {DENSE}": (last, f"here: {DENSE}")}
    if f"paper: {RERANKED}" in columns:
        shares[f"paper: {CLIP_SF}"] = (f"paper: {RERANKED}", f"paper: {CLIP_SF}")
    for dense, (system, reference) in shares.items():
        cells[f"of {dense}"] = [
            None if rate is None or not whole else rate / whole
            for rate, whole in zip(cells[system], cells[reference], strict=True)
        ]
    headings = [Column(name, digits=2) if name.startswith("of ") else Column(name, "%") for name in cells]
    names = [*(row_names(row) for row in rows), ["average", ""]]
    same = all(paper.holds(row.dataset) for row in rows)
    note = (
        f"{SAME_DATA if same else OTHER_DATA} {pool.kind.scope.capitalize()} pools, {pool.kind.items} items. Shares in "
        "the last line are those of the averages."
    )
    lines = [[*name, *values] for name, values in zip(names, zip(*cells.values()), strict=True)]
    return [Table(f"Beside the paper's {paper.name}", [Column("task"), Column("dataset"), *headings], lines, note)]


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    return None if None in values else mean_known(list(values))


def caption_lines(found: Evaluation, trained: str) -> list[list[Cell]]:
    """A line for each row from texts to images in its local pool, and each system. trained: on what the run was."""
    lines = []
    for pool in _compared_pools(found, "local"):
        for row in pool.rows:
            if row.task == CAPTION_TASK:
                name, stands_for = row.dataset, stand_in(row.dataset)
                if stands_for and name not in (FLICKR.lower(), MSCOCO.lower()):
                    name += f" (stands in for {stands_for})"
                unseen = " †" * bool(found.options.trained_on)
                for system, method in CAPTION_SYSTEMS.items():
                    if system in row.systems:
                        rates = [row.systems[system].hit[cut] for cut in CAPTION_CUTS]
                        estimates = [(rate, *wilson_interval(round(rate * row.queries), row.queries)) for rate in rates]
                        lines.append([name, method, trained + unseen, "here", *estimates, row.queries, row.candidates])
    return lines


def captions_table(measured: Sequence[list[Cell]]) -> Table:
    """measured: of `caption_lines`. The paper's lines of a set, then ours of it and of those that stand in for it."""
    published = [
        [line.of, line.method, line.trained + " †" * line.zero_shot, "paper", *(rate / 100 for rate in line.rates)]
        for line in PUBLISHED_CAPTIONS
    ]
    lines = []
    for of in (FLICKR, MSCOCO, ""):
        lines += [[*line, None, None] for line in published if line[0] == of]
        lines += [line for line in measured if stand_in(str(line[0])) == of]
    rates = [Column(f"R@{cut}", "%") for cut in CAPTION_CUTS]
    columns = [Column("set"), Column("method"), Column("trained on"), Column("source"), *rates]
    return Table(CAPTIONS, [*columns, Column("queries"), Column("images")], lines, CAPTIONS_NOTE)


def stand_in(dataset: str) -> str:
    """The paper's set that a dataset is, or stands in for; empty if it is like neither."""
    name = dataset.split(" (")[0].lower()
    if "flickr" in name:
        return FLICKR
    return MSCOCO if name.endswith(("mscoco", "coco")) else ""


def trained_on(settings: Any, collection: str) -> str:
    """The collection, and the benchmark rows that the stages of training were limited to. settings: a run's."""
    stages = {"encoder": settings.encoder, "quantizer": settings.quantizer, "decoder": settings.decoder}
    limits = {name: " and ".join(stage.rows) for name, stage in stages.items() if stage.rows}
    if len(limits) == 3 and len(set(limits.values())) == 1:
        return f"{collection}, {limits['encoder']} alone"
    return ", ".join([collection, *(f"the {stage} on {rows} alone" for stage, rows in limits.items())])
