"""The paper's tables with our figures next to them, for the rows that are the paper's or their counterparts."""

from __future__ import annotations

from typing import Any

import pandas as pd

from genius.evaluation.paper import CLIP_SF, RERANKED, TABLES, PaperTable
from genius.evaluation.tables import UNKNOWN, dataset_name, table, task_name

DENSE, BEAM_SYSTEMS = "dense", ("beam", "beam + re-rank")
SAME_DATA = "The paper's rows, M-BEIR's."
OTHER_DATA = (
    "The same tasks on other data: the paper's rows are M-BEIR's, with CLIP ViT-L/14 and 5.6 million candidates, "
    "so shares of dense search can be compared and hit rates cannot."
)


def paper_tables(report: dict[str, Any]) -> list[str]:
    """Headings, sentences and tables; none if no row has a counterpart in the paper."""
    parts, items = [], compared_items(report)
    for paper in TABLES:
        pools = [pool for pool in report["pools"] if (pool["scope"], pool["items"]) == (paper.scope, items)]
        rows = [row for pool in pools for row in pool["rows"] if paper.counterpart(row["task"], row["dataset"])]
        if not rows:
            continue
        published = pd.DataFrame(
            [paper.counterpart(row["task"], row["dataset"]) for row in rows], columns=list(paper.systems), dtype=float
        )
        ours = _ours(rows, _swept_rows(report, pools[0], paper))
        names = {
            "task": [*(task_name(row["task"]) for row in rows), "**average**"],
            "dataset": [*(dataset_name(row) for row in rows), ""],
        }
        same = all(paper.holds(row["dataset"]) for row in rows)
        parts += [
            f"### Next to the paper's {paper.name}",
            f"{SAME_DATA if same else OTHER_DATA} {paper.scope.capitalize()} pools, {items} items. "
            "Shares in the last line are those of the averages.",
            table(
                pd.concat(
                    [
                        pd.DataFrame(names),
                        _side("paper", published, CLIP_SF, RERANKED),
                        _side("here", ours, DENSE, BEAM_SYSTEMS[-1]),
                    ],
                    axis="columns",
                ),
                text_columns=2,
            ),
        ]
    return parts


def _side(label: str, rates: pd.DataFrame, dense: str, reranked: str) -> pd.DataFrame:
    """Formatted cells of half a table: rates (percent) by row and system, a line of means, and the share of `dense`."""
    rates = pd.concat([rates, rates.mean(skipna=False).to_frame().T], ignore_index=True)
    cells = rates.map(lambda rate: UNKNOWN if pd.isna(rate) else f"{rate:.1f}")
    if reranked in rates:
        cells[f"of {dense}"] = (rates[reranked] / rates[dense]).map("{:.2f}".format).where(rates[dense] > 0, UNKNOWN)
    return cells.rename(columns={rates.columns[0]: f"{label}: {rates.columns[0]}"})


def compared_items(report: dict[str, Any]) -> str:
    """The items of the pools that are compared with the paper's, M-BEIR's test pools: of the split, if it has pools."""
    split = report["split"]
    return split if any(pool["items"] == split for pool in report["pools"]) else report["pools"][0]["items"]


def _swept_rows(report: dict[str, Any], pool: dict[str, Any], paper: PaperTable) -> dict[int, list[dict[str, Any]]]:
    """Beam size -> rows of a pool, for the beam sizes of its sweep that the paper prints separately."""
    sweep = report["sweep"] if pool is report["pools"][0] else []
    for other in report.get("swept", ()):  # old reports lack it
        if (other["scope"], other["items"]) == (pool["scope"], pool["items"]):
            sweep = other["sweep"]
    return {
        entry["beams"]: entry["rows"]
        for entry in sweep
        if any(f"{entry['beams']} beams" in system for system in paper.systems)
    }


def _ours(rows: list[dict[str, Any]], swept: dict[int, list[dict[str, Any]]]) -> pd.DataFrame:
    """Rates in percent: dense search, and the beam systems at the widest beam, or at every swept beam size."""
    columns = {DENSE: [row["systems"][DENSE]["headline"] for row in rows]}
    if not swept:
        columns |= {system: [row["systems"][system]["headline"] for row in rows] for system in BEAM_SYSTEMS}
    for beams, found in swept.items():
        by_name = {(row["task"], row["dataset"]): row["systems"] for row in found}
        for system in BEAM_SYSTEMS:
            columns[f"{system}, {beams}"] = [by_name[row["task"], row["dataset"]][system]["headline"] for row in rows]
    return 100 * pd.DataFrame(columns)
