"""What the paper says of its ablations, and whether it holds in a report's tables.

A claim is a difference between two rows of one table, and its 95 % interval decides, see `Claim.kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from genius.evaluation.paper_ablations import COLUMNS, FULL
from training.ablations.cells import LEVEL, Cell, cell, student_half_width
from training.ablations.variants import DECODERS

BETTER, SOMEWHERE, NO_WORSE = "better", "better somewhere", "no worse"
HOLDS = "holds"


@dataclass(frozen=True)
class Claim:
    """`better` is above `worse` in a table; columns: those that are averaged, None for all.

    kind: what is tested.
      - better: the average over columns. Holds if the interval of the difference lies above 0, does not hold if it lies
        below, and is undecided otherwise.
      - better somewhere: each column by itself, with Bonferroni's correction for their number. Holds if any interval
        lies above 0, does not hold if all lie below, and is undecided otherwise.
      - no worse: as better, but holds unless the interval lies below 0, so that `worse` is significantly better.
    """

    text: str
    table: str
    better: str
    worse: str
    columns: tuple[int, ...] | None = None
    kind: str = BETTER


# other columns of these tables are of the same queries, and would make an interval too narrow
LOCAL = tuple(range(len(COLUMNS)))  # of S4, whose global pools follow
AT_5 = (1,)  # of S7, between hit@1 and hit@10
CLAIMS = (
    Claim("Modality-decoupled codes help (5.5)", "4", FULL, "w/o modality-decoupled"),
    Claim("Query augmentation helps (5.5)", "4", FULL, "w/o query augmentation"),
    Claim("Without L_cl almost nothing is found (5.5)", "4", FULL, "w/o L_cl"),
    Claim("L_mse helps in some rows (5.5)", "4", FULL, "w/o L_mse", kind=SOMEWHERE),
    Claim("Modality within quantization beats a classifier (C.2)", "S3", "modality-decoupled", "classifier"),
    Claim("A classifier beats no modality code (C.2)", "S3", "classifier", "RQ w/o modality code"),
    Claim("Larger codebooks help (5.5)", "5", "4096 × 9", "256 × 9"),
    Claim("More levels help (5.5)", "5", "4096 × 9", "4096 × 5"),
    Claim("A codebook of its own for each level is crucial (C.5)", "S6", "4096 × 9", "4096 × 9, shared"),
    Claim("8192 × 17 is not better (C.5)", "S6", "4096 × 9", "8192 × 17", kind=NO_WORSE),
    Claim("Larger decoders help (C.4)", "S5", "T5-base", "T5-small"),
    Claim("More beams help (C.3)", "S4", "30 beams", "1 beam", LOCAL),
    Claim("GENIUS beats GRACE's structured IDs (5.4)", "S7", FULL, "GRACE, structured", AT_5),
    Claim("GENIUS beats IRGen (5.4)", "S7", FULL, "IRGen", AT_5),
    Claim("Re-ranking helps (5.4)", "S7", f"{FULL} + re-rank", FULL, AT_5),
    Claim(
        "Augmentation helps where the instruction is phrased in a new way (4.3.2)",
        "R",
        FULL,
        "w/o query augmentation",
        (1,),
    ),
    Claim("Augmentation helps where words are missing (4.3.2)", "R", FULL, "w/o query augmentation", (2,)),
)


def claims(tables: list[dict[str, Any]]) -> list[dict[str, str]]:
    """{"block", "claim", "table", "verdict", "difference"} of each claim in each block that has its rows."""
    found = []
    for block in DECODERS:
        for claim in CLAIMS:
            rows = _rows_of(tables, claim.table, block)
            if claim.better not in rows or claim.worse not in rows:
                continue
            better, worse = (_cells(rows[name], claim.columns) for name in (claim.better, claim.worse))
            if not better or not worse:
                continue
            verdict, shown = decided(claim.kind, better, worse)
            found.append(
                {"block": block, "claim": claim.text, "table": claim.table, "verdict": verdict, "difference": shown}
            )
    return found


def _rows_of(tables: list[dict[str, Any]], number: str, block: str) -> dict[str, dict[str, Any]]:
    """The rows of a block of a table, by name; empty without it."""
    blocks = [one for table in tables if table["number"] == number for one in table["blocks"]]
    return {row["name"]: row for one in blocks if one["block"] == block for row in one["rows"]}


def decided(kind: str, better: list[Cell], worse: list[Cell]) -> tuple[str, str]:
    """The verdict of a claim of this kind, and the difference with its interval in points."""
    if kind == SOMEWHERE:
        level = 1 - (1 - LEVEL) / len(better)
        differences = [difference([one], [other], level) for one, other in zip(better, worse, strict=True)]
    else:
        differences = [difference(better, worse)]
    mean, half = max(differences, key=lambda one: (one[0] > one[1], one[0]))  # the best, one that holds before others
    if mean > half:
        verdict = HOLDS
    elif all(mean < -half for mean, half in differences):
        verdict = "does not hold"
    else:
        verdict = HOLDS if kind == NO_WORSE else "undecided"
    shown = f"{100 * mean:+.1f} [{100 * (mean - half):+.1f}, {100 * (mean + half):+.1f}]"
    return verdict, shown + (f", best of {len(better)} columns" if kind == SOMEWHERE else "")


def difference(better: list[Cell], worse: list[Cell], level: float = LEVEL) -> tuple[float, float]:
    """Mean difference over columns, and half of its interval at this level.

    Student's t over the seeds that both have, if these are several. If only the first is common, from the widths of
    both rows' Wilson intervals for this seed, as if the rows had other queries, which makes it rather too wide.
    """
    seeds = min(len(better[0]["values"]), len(worse[0]["values"]))
    by_seed = [
        float(np.mean([one["values"][seed] - other["values"][seed] for one, other in zip(better, worse, strict=True)]))
        for seed in range(seeds)
    ]
    mean = float(np.mean(by_seed))
    if seeds > 1:
        return mean, student_half_width(by_seed, level)
    intervals = [cell(one["values"][:1], one["queries"], level=level)["interval"] for one in (*better, *worse)]
    halves = [(high - low) / 2 for low, high in intervals]
    return mean, sqrt(sum(half**2 for half in halves)) / len(better)


def _cells(row: dict[str, Any], columns: tuple[int, ...] | None) -> list[Cell]:
    cells = row["cells"] if columns is None else [row["cells"][at] for at in columns if at < len(row["cells"])]
    return [one for one in cells if one is not None]
