"""The paper's tables with our figures beside: for every row that is the paper's, or a counterpart of one."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from genius.evaluation.paper import CLIP_SF, RERANKED, TABLES, PaperTable
from genius.evaluation.report_cells import UNKNOWN, dataset_name, table, task_name

DENSE, BEAM_SYSTEMS = "dense", ("beam", "beam + re-rank")
SAME = "The paper's rows, M-BEIR's."
OTHER = (
    "The same tasks on other data: the paper's rows are M-BEIR's, with CLIP ViT-L/14 and 5.6 million candidates, "
    "so that a share of dense can be compared and a hit rate cannot."
)


@dataclass(frozen=True)
class Side:
    """Half of a table: the paper's figures, or ours."""

    label: str
    systems: list[str]
    figures: list[list[float | None]]  # percentages by row, by system; None: not known
    dense: str  # the system of which
    reranked: str  # this one's share is shown, if it is there

    def heading(self) -> list[str]:
        first, *others = self.systems
        return [f"{self.label}: {first}", *others, *([f"of {self.dense}"] if self.reranked in self.systems else [])]

    def lines(self) -> list[list[str]]:
        """One of each row, and that of their means."""
        means = [None if None in column else fmean(column) for column in zip(*self.figures, strict=True)]
        return [self._cells(figures) for figures in (*self.figures, means)]

    def _cells(self, figures: list[float | None]) -> list[str]:
        cells = [UNKNOWN if figure is None else f"{figure:.1f}" for figure in figures]
        if self.reranked in self.systems:
            part, whole = (figures[self.systems.index(system)] for system in (self.reranked, self.dense))
            cells.append(f"{part / whole:.2f}" if whole else UNKNOWN)
        return cells


def beside_paper(report: dict[str, Any]) -> list[str]:
    """Headings, sentences and tables of a report; none if no row is a counterpart."""
    parts, headline = [], report["pools"][0]
    for paper in TABLES:
        pool = next(
            (pool for pool in report["pools"] if (pool["scope"], pool["items"]) == (paper.scope, headline["items"])),
            None,
        )
        found = [
            (row, figures)
            for row in (pool["rows"] if pool else [])
            if (figures := paper.of(row["task"], row["dataset"]))
        ]
        if found:
            rows = [row for row, _ in found]
            theirs = Side("paper", list(paper.systems), [list(figures) for _, figures in found], CLIP_SF, RERANKED)
            ours = _ours(rows, _sweep(report, paper) if pool is headline else {})
            names = [[task_name(row["task"]), dataset_name(row)] for row in rows]
            parts += [
                f"### Beside the paper's {paper.name}",
                f"{SAME if all(paper.holds(row['dataset']) for row in rows) else OTHER} "
                f"{paper.scope.capitalize()} pools. Shares in the last line are those of the averages.",
                table(
                    ["task", "dataset", *theirs.heading(), *ours.heading()],
                    [
                        [*name, *left, *right]
                        for name, left, right in zip(
                            [*names, ["**average**", ""]], theirs.lines(), ours.lines(), strict=True
                        )
                    ],
                    words=2,
                ),
            ]
    return parts


def _sweep(report: dict[str, Any], paper: PaperTable) -> dict[int, list[dict[str, Any]]]:
    """Beam size -> rows, of those sizes that the paper prints apart and we searched by."""
    return {
        entry["beams"]: entry["rows"]
        for entry in report["sweep"]
        if any(f"{entry['beams']} beams" in system for system in paper.systems)
    }


def _ours(rows: list[dict[str, Any]], sweep: dict[int, list[dict[str, Any]]]) -> Side:
    """rows: those shown, as searched by the widest beam, which stand alone unless some sizes were swept."""
    figures = [[100 * row["systems"][DENSE]["headline"]] for row in rows]
    if not sweep:
        for row, line in zip(rows, figures, strict=True):
            line += [100 * row["systems"][system]["headline"] for system in BEAM_SYSTEMS]
        return Side("here", [DENSE, *BEAM_SYSTEMS], figures, DENSE, BEAM_SYSTEMS[-1])
    for searched in sweep.values():
        by_name = {(row["task"], row["dataset"]): row["systems"] for row in searched}
        for row, line in zip(rows, figures, strict=True):
            line += [100 * by_name[row["task"], row["dataset"]][system]["headline"] for system in BEAM_SYSTEMS]
    return Side(
        "here",
        [DENSE, *(f"{system}, {beams}" for beams in sweep for system in BEAM_SYSTEMS)],
        figures,
        DENSE,
        BEAM_SYSTEMS[-1],
    )
