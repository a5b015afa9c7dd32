"""The report of the ablations: one table in the paper's shape for each of its tables, as JSON and as Markdown.

Rates are shares of 1. A cell holds the published figure, if there is one, our mean over seeds and its 95 % interval:
Student's t over the seeds, or Wilson's interval of the queries where there is one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from genius.evaluation.paper_ablations import CAPTION_TO_IMAGE, FULL, QUERIES_PER_SECOND
from genius.evaluation.tables import UNKNOWN, decimals, modalities_of, percent, table
from genius.metrics.code_health import purity
from genius.schema import Modality
from genius.trie.ids import packed_bytes
from training.ablations.cells import Cell, average, cell, shown
from training.ablations.claims import claims
from training.ablations.variants import BEAMS, CONDITIONS, AblationTable, Variant, published

Result = dict[str, Any]  # what the trainer wrote of one training
BLOCK_NAMES = {
    "paper": "The paper's decoder: no geometry in the logits, no self-queries, weight 1",
    "ours": "Our decoder: geometry in the logits, self-queries, a weight against geometry chosen on validation queries",
}
INTRODUCTION = """
Every variant shares encoder and features with the run; what differs is trained anew. Cells: our mean over seeds and its
95 % interval (Student's t; with one seed, Wilson's interval of the queries). *Paper* is the published figure: other
data (M-BEIR, 5.6 million candidates), another encoder and far larger models, so differences between rows can be
compared, and hit rates cannot. What is said of first codes is of the first seed."""


def build(tables: Sequence[AblationTable], results: Callable[[Variant, str], list[Result]]) -> dict[str, Any]:
    """{"tables": […], "claims": […]}; results: of a variant in a block, one for each seed that was trained.

    A block is left out until each of its variants has a result, and a table until it has a block.
    """
    built = []
    for spec in tables:
        blocks = []
        for block in spec.blocks:
            measured = [(variant, results(variant, block)) for variant in spec.variants]
            if all(of_variant for _, of_variant in measured):
                rows = [row for variant, of_variant in measured for row in _rows(spec, variant, of_variant, block)]
                blocks.append({"block": block, "name": BLOCK_NAMES[block], "rows": rows})
        if blocks and blocks[0]["rows"]:
            first = results(spec.variants[0], blocks[0]["block"])[0]
            built.append(
                {
                    "number": spec.number,
                    "name": table_name(spec.number),
                    "title": spec.title,
                    "scope": spec.scope,
                    "columns": _columns(spec, first),
                    "extras": list(blocks[0]["rows"][0]["extras"]),
                    "blocks": blocks,
                }
            )
    return {"tables": built, "claims": claims(built)}


def table_name(number: str) -> str:
    """S3 -> Supplement, Table 3."""
    if number == "R":
        return "Robustness"
    return f"Supplement, Table {number[1:]}" if number.startswith("S") else f"Table {number}"


def _rows(spec: AblationTable, variant: Variant, results: list[Result], block: str) -> list[dict[str, Any]]:
    figures = published(spec.number, variant.name) if block == "paper" else None
    extras = {"seeds": str(len(results))} | _extras(spec, results)
    if spec.kind == "rows":
        cells = [
            _hits(
                results,
                at,
                "asked",
                spec.scope,
                BEAMS,
                None if figures is None else figures[_paper_column(spec, column)],
            )
            for at, column in enumerate(results[0]["columns"])
        ]
        return [{"name": variant.name, "cells": cells, "extras": average_extras(cells) | extras}]
    if spec.kind == "beams":
        return _by_beams(spec, results, extras, block)
    if spec.kind == "cuts":
        return _by_cuts(spec, variant, results, extras)
    return [{"name": variant.name, "cells": _by_condition(results), "extras": extras}]


def average_extras(cells: Sequence[Cell]) -> dict[str, str]:
    """The average over columns, beside the published one if the paper has a figure for each."""
    mean = average(cells)
    known = {} if mean["published"] is None else {"paper, average": percent(mean["published"])}
    return known | {"average": shown(mean)}


def _by_beams(spec: AblationTable, results: list[Result], extras: dict[str, str], block: str) -> list[dict[str, Any]]:
    rows = []
    for beams in sorted(map(int, results[0]["columns"][0]["conditions"]["asked"]["local"])):
        name = f"{beams} beam{'s' * (beams > 1)}"
        figures = published(spec.number, name) if block == "paper" else None
        cells = []
        for scope in ("local", "global"):
            for at, column in enumerate(results[0]["columns"]):
                figure = figures[_paper_column(spec, column)] if figures and scope == "local" else None
                cells.append(_hits(results, at, "asked", scope, beams, figure))
        at = _caption_column(results[0])
        speed = {"paper, queries per second": decimals(QUERIES_PER_SECOND.get(beams), 1)}
        speed["queries per second"] = decimals(_speed(results, at, beams, "beam"), 1)
        rows.append({"name": name, "cells": cells, "extras": extras | speed})
    return rows


def _by_cuts(
    spec: AblationTable, variant: Variant, results: list[Result], extras: dict[str, str]
) -> list[dict[str, Any]]:
    at, rows = _caption_column(results[0]), []
    if at is None:
        return []
    for system, suffix in (("beam", ""), ("re-ranked", " + re-rank")):
        name = variant.name + suffix
        if suffix and variant.name != FULL:
            continue
        figures = published(spec.number, name)
        cells = [
            _hits(results, at, "asked", spec.scope, BEAMS, figures and figures[place], system, cut)
            for place, cut in enumerate((1, 5, 10))
        ]
        speed = {"queries per second": decimals(_speed(results, at, BEAMS, system), 1)}
        rows.append({"name": name, "cells": cells, "extras": extras | speed})
    return rows


def _by_condition(results: list[Result]) -> list[Cell | None]:
    """Hit rates by condition, averaged over the columns that have it, and shares of first IDs of the right modality."""
    columns = list(zip(*(result["columns"] for result in results), strict=True))  # of each, all seeds
    asked, *_, swapped = CONDITIONS
    cells: list[Cell | None] = []
    for condition in CONDITIONS:
        of_columns = [
            cell(
                [one["conditions"][condition] if condition == swapped else _rate(one, condition) for one in seeds],
                seeds[0]["queries"][condition],
            )
            for seeds in columns
            if condition in seeds[0]["conditions"]
        ]
        cells.append(average(of_columns) if of_columns else None)
    follows = [cell([one["follows"] for one in seeds], seeds[0]["queries"][asked]) for seeds in columns]
    return [*cells, average(follows)]


def _hits(
    results: list[Result],
    at: int,
    condition: str,
    scope: str,
    beams: int,
    figure: float | None,
    system: str = "beam",
    cut: int | None = None,
) -> Cell:
    values = [_rate(result["columns"][at], condition, scope, beams, system, cut) for result in results]
    return cell(values, results[0]["columns"][at]["queries"][condition], figure)


def _rate(
    column: dict[str, Any],
    condition: str,
    scope: str = "global",
    beams: int = BEAMS,
    system: str = "beam",
    cut: int | None = None,
) -> float:
    by_beams = column["conditions"][condition][scope]
    return by_beams[str(beams)][system]["hit"][str(cut or column["cut"])]


def _speed(results: list[Result], at: int | None, beams: int, system: str) -> float | None:
    """Queries per second among the candidates of the captions-to-images column, the mean over seeds."""
    if at is None:
        return None
    return float(
        np.mean(
            [
                result["columns"][at]["conditions"]["asked"]["local"][str(beams)][system]["per_second"]
                for result in results
            ]
        )
    )


def _extras(spec: AblationTable, results: list[Result]) -> dict[str, str]:
    """Further facts of a row."""
    first = results[0]
    if spec.number == "S3":
        return first_code_extras(np.array(first["first_code"]["counts"]))
    if spec.number in ("5", "S6"):
        return {
            "here": f"{first['code_sizes'][-1]} × {len(first['code_sizes'])}",
            "bytes": str(packed_bytes(first["code_sizes"])),
            "IDs per item": decimals(float(np.mean([result["ids"] / result["items"] for result in results])), 3),
        }
    if spec.number == "S5":
        return {"millions of parameters": decimals(first["parameters"]["decoder"] / 1e6, 2)}
    if spec.number == "S7":
        return {"levels": str(len(first["code_sizes"])), "codes": str(max(first["code_sizes"]))}
    return {}


def first_code_extras(counts: np.ndarray) -> dict[str, str]:
    """How first codes tell modalities, from counts (3, codes) of items; they are shown where codes are few.

    In the adjusted mutual information, unlike purity, more codes count for nothing.
    """
    few = counts.shape[1] <= len(Modality)
    shown = " / ".join(", ".join(f"{n:,}" for n in row) for row in counts) if few else UNKNOWN
    return {
        "purity of the first code": percent(purity(counts)),
        "adjusted mutual information": decimals(mutual_information(counts), 2),
        "images, texts and pairs by first code": shown,
    }


def mutual_information(counts: np.ndarray) -> float:
    """Adjusted mutual information of modality and code: 0 by chance, 1 if each tells the other; counts (3, codes)."""
    modalities, codes = np.nonzero(counts)
    items = counts[modalities, codes]
    return float(adjusted_mutual_info_score(np.repeat(modalities, items), np.repeat(codes, items)))


def _columns(spec: AblationTable, first: Result) -> list[str]:
    if spec.kind == "cuts":
        column = first["columns"][_caption_column(first)]
        return [f"{_column_name(column)}, hit@{cut}" for cut in (1, 5, 10)]
    if spec.kind == "conditions":
        return [*CONDITIONS[:-1], "first ID follows a swapped instruction", "first ID follows its own"]
    names = [_column_name(column) for column in first["columns"]]
    return names if spec.kind == "rows" else [f"{name}, {scope}" for scope in ("local", "global") for name in names]


def _column_name(column: dict[str, Any]) -> str:
    cut = "" if column["cut"] == 5 else f" (hit@{column['cut']})"
    return f"{column['dataset']} {modalities_of(column['task'])}{cut}"


def _paper_column(spec: AblationTable, column: dict[str, Any]) -> int:
    return spec.columns.index(tuple(column["paper"]))


def _caption_column(result: Result) -> int | None:
    return next((at for at, one in enumerate(result["columns"]) if tuple(one["paper"]) == CAPTION_TO_IMAGE), None)


def markdown(report: dict[str, Any]) -> str:
    """The whole report."""
    parts = [
        f"# Ablations: {report['run']} on {report['collection']}",
        f"`{report['command']}`",
        report["size"],
        INTRODUCTION.strip(),
        "Stand-ins for the paper's columns: " + "; ".join(report["standing"]) + ".",
    ]
    if report["claims"]:
        parts.append("## What the paper says, and what holds here")
    for block in dict.fromkeys(one["block"] for one in report["claims"]):
        lines = [
            {"claim": one["claim"], "here": one["verdict"], "difference, points": one["difference"]}
            for one in report["claims"]
            if one["block"] == block
        ]
        parts += [f"{BLOCK_NAMES[block]}:", table(lines, text_columns=2)]
    for built in report["tables"]:
        pools = "both pools" if built["number"] == "S4" else f"{built['scope']} pools"
        parts += [f"## {built['name']}: {built['title']}", f"Percent, {pools}, {BEAMS} beams unless said."]
        for block in built["blocks"]:
            if len(built["blocks"]) > 1:
                parts.append(f"{block['name']}:")
            parts.append(_markdown_rows(built, block))
    return "\n\n".join(parts) + "\n"


def _markdown_rows(built: dict[str, Any], block: dict[str, Any]) -> str:
    lines = []
    for row in block["rows"]:
        line = {"": row["name"]}
        for at, (name, rate) in enumerate(zip(built["columns"], row["cells"], strict=True)):
            line |= _cells(name, rate, block["rows"], at)
        lines.append(line | row["extras"])
    return table(lines)


def _cells(name: str, rate: Cell | None, rows: list[dict[str, Any]], at: int) -> dict[str, str]:
    """Our cell, and the published one before it where any row of the block has one."""
    cells = {}
    if any(row["cells"][at] and row["cells"][at]["published"] is not None for row in rows):
        cells[f"paper, {name}"] = percent(rate["published"])
    return cells | {name: UNKNOWN if rate is None else shown(rate)}
