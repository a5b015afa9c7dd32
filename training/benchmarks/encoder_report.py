"""The table of the encoder baselines in the shape of the supplement's Tables 8 (local) and 9 (global)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from genius.evaluation.paper import TABLE_8, TABLE_9, PaperTable
from genius.evaluation.queries import QuerySet
from genius.evaluation.tables import UNKNOWN, dataset_name, percent, table, task_name
from genius.metrics.hit_rate import headline_cut
from training.ablations.cells import Cell, average, cell, shown

AVERAGE = "average"
NOTE = """
Hit rates of exact dense search in percent, and their 95 % intervals (Wilson's, of the queries; one training). *Paper*
is the published figure: M-BEIR, CLIP ViT-L/14 and BLIP ViT-L, so encoders can be compared with each other, and hit
rates cannot. An average of the paper is over the rows that stand here."""


def build(sets: list[QuerySet], measured: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """measured: system -> "TASK:DATASET" -> scope -> cut -> hit rate. -> {"tables": […], "claims": []}."""
    return {
        "claims": [],
        "tables": [built for paper in (TABLE_9, TABLE_8) if (built := _table(paper, sets, measured)) is not None],
    }


def _table(paper: PaperTable, sets: list[QuerySet], measured: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Rows are benchmark rows and their average, columns the systems that were searched in the table's pool."""
    systems = [name for name, rows in measured.items() if all(paper.scope in rates for rates in rows.values())]
    if not systems:
        return None
    rows = [
        {
            "name": row_name(queries),
            "cells": [_cell(paper, queries, system, measured[system]) for system in systems],
            "extras": {"queries": f"{len(queries):,}"},
        }
        for queries in sets
    ]
    total = sum(map(len, sets))
    averages = [_average([row["cells"][at] for row in rows]) for at in range(len(systems))]
    rows.append({"name": AVERAGE, "cells": averages, "extras": {"queries": f"{total:,}"}})
    return {
        "number": f"S{paper.name.split()[1]}",
        "name": f"Supplement, {paper.name}",
        "title": f"Encoders, {paper.scope} pools",
        "scope": paper.scope,
        "first_column": "Row",
        "columns": systems,
        "extras": ["queries"],
        "blocks": [{"block": "dense", "name": "Dense search, exact", "rows": rows}],
    }


def _cell(paper: PaperTable, queries: QuerySet, system: str, rows: Mapping[str, Any]) -> Cell:
    cut = headline_cut(queries.row.dataset)
    printed = paper.counterpart(queries.row.task, queries.row.dataset)
    figure = printed[paper.systems.index(system)] if printed and system in paper.systems else None
    return cell([rows[f"{queries.row.task}:{queries.row.dataset}"][paper.scope][str(cut)]], len(queries), figure)


def _average(cells: list[Cell]) -> Cell:
    """The mean over rows; the paper's over the rows that it prints."""
    printed = [row["published"] for row in cells if row["published"] is not None]
    return average(cells) | {"published": float(np.mean(printed)) if printed else None}


def row_name(queries: QuerySet) -> str:
    """Such as: 0 text → image, mscoco."""
    row = {"dataset": queries.row.dataset, "cut": headline_cut(queries.row.dataset)}
    return f"{task_name(queries.row.task)}, {dataset_name(row)}"


def markdown(report: dict[str, Any]) -> str:
    """The whole report."""
    parts = [f"# Encoders on {report['collection']}", f"`{report['command']}`", report["size"], NOTE.strip()]
    for built in report["tables"]:
        parts.append(f"## {built['name']}: {built['title']}")
        lines = []
        for row in built["blocks"][0]["rows"]:
            line = {"": row["name"]}
            for system, rate in zip(built["columns"], row["cells"], strict=True):
                line |= {f"paper, {system}": percent(rate["published"])} if known(built, system) else {}
                line[system] = UNKNOWN if rate is None else shown(rate)
            lines.append(line | row["extras"])
        parts.append(table(lines))
    return "\n\n".join(parts) + "\n"


def known(built: dict[str, Any], system: str) -> bool:
    """Whether the paper prints a figure of this system for any row."""
    at = built["columns"].index(system)
    return any(row["cells"][at]["published"] is not None for row in built["blocks"][0]["rows"])
