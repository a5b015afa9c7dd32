"""The benchmark as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genius.evaluation.report_cells import table
from genius.evaluation.speed import equal

Cell = dict[str, Any]
OURS = ("exact", "set", "fast")


def markdown(report: dict[str, Any]) -> str:
    """Whatever has been measured so far."""
    facts = report["machine"]
    parts = [
        "# Speed of the search",
        "\n".join(
            [
                f"- `{report['command']}`",
                f"- {facts['processor']}, {facts['threads']} threads" + (f", {facts['gpu']}" if facts["gpu"] else ""),
                f"- Python {facts['python']}, torch {facts['torch']}, transformers {facts['transformers']}, "
                f"faiss {facts['faiss']}",
                f"- paper-size decoder (T5-small, 9 codes of 4,096), {report['beams']} beams, decoder weight "
                f"{report['decoder_weight']:g}, seed {report['seed']}",
                "- wall ms a query for the search alone, medians of rounds in which all systems take turns in one "
                "process; *n* rounds, least and most in the JSON",
                *(
                    f"- the decoder of {kind} IDs reads the codes' geometry (weights by hand, "
                    f"sharpness fitted to noisy "
                    "queries); mean probability of the right code by level: "
                    + ", ".join(f"{rate:.2f}" for rate in rates)
                    for kind, rates in report.get("confidence", {}).items()
                ),
            ]
        ),
    ]
    for kind in _unique(cell["ids"] for cell in report["cells"]):
        parts.append(f"## {kind.capitalize()} IDs")
        for batch in report["batches"]:
            cells = [cell for cell in report["cells"] if cell["ids"] == kind and cell["batch"] == batch]
            if cells:
                parts += [
                    f"### Batch {batch}: milliseconds a query",
                    _times(cells),
                    f"### Batch {batch}: how many times faster than generate",
                    _ratios(cells),
                    f"### Batch {batch}: beside the floor of arithmetic",
                    "Beams decoded × operations of each ÷ the matrix rate measured in the same process.",
                    _floors(cells),
                ]
        parts += [
            "### Time at the largest collection over time at the smallest",
            _growing([cell for cell in report["cells"] if cell["ids"] == kind]),
        ]
    if report["cells"]:
        parts += ["## Bytes an item", _bytes(report["cells"])]
    parts += ["## The index", _indexes(report["indexes"]), "## What is guaranteed, and what is found", _found(report)]
    if "equal" in report:
        parts += ["## On a trained run, at equal hit rate", equal.markdown(report["equal"])]
    if facts["gpu"] is None:
        parts += ["## GPU", "Not measured: no GPU was at hand."]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _times(cells: list[Cell]) -> str:
    return _by_size(
        cells, lambda cell: f"{cell['milliseconds']['median']:.2f} ({cell['milliseconds']['rounds']})", "median ms (n)"
    )


def _ratios(cells: list[Cell]) -> str:
    published = {cell["items"]: cell["milliseconds"]["median"] for cell in cells if cell["system"] == "generate"}
    return _by_size(
        [cell for cell in cells if cell["system"] != "generate" and cell["items"] in published],
        lambda cell: f"{published[cell['items']] / cell['milliseconds']['median']:.1f}",
        "times faster",
    )


def _floors(cells: list[Cell]) -> str:
    return _by_size(
        [cell for cell in cells if "floor" in cell],
        lambda cell: (
            f"{cell['milliseconds']['median'] / cell['floor']:.2f} × {cell['floor']:.1f} ms ({cell['rows']:.0f})"
        ),
        "time over floor × floor (beams decoded)",
    )


def _growing(cells: list[Cell]) -> str:
    sizes = sorted({cell["items"] for cell in cells})
    batches = sorted({cell["batch"] for cell in cells})
    median = {(cell["system"], cell["batch"], cell["items"]): cell["milliseconds"]["median"] for cell in cells}
    rows = []
    for system in _unique(cell["system"] for cell in cells):
        ends = [(median.get((system, batch, sizes[-1])), median.get((system, batch, sizes[0]))) for batch in batches]
        if all(last and first for last, first in ends):
            rows.append([system, *(f"{last / first:.2f}" for last, first in ends)])
    return table([f"{sizes[-1]:,} over {sizes[0]:,}", *(f"batch {batch}" for batch in batches)], rows)


def _bytes(cells: list[Cell]) -> str:
    batch = cells[0]["batch"]
    return "\n\n".join(
        f"{kind.capitalize()} IDs; IDs, rows and trie for ours.\n\n"
        + _by_size(
            [cell for cell in cells if cell["ids"] == kind and cell["batch"] == batch],
            lambda cell: f"{cell['bytes_per_item']:,.1f}",
            "bytes an item",
        )
        for kind in _unique(cell["ids"] for cell in cells)
    )


def _by_size(cells: list[Cell], text: Any, corner: str) -> str:
    """A row for each system, a column for each number of items."""
    sizes = sorted({cell["items"] for cell in cells})
    found = {(cell["system"], cell["items"]): text(cell) for cell in cells}
    return table(
        [corner, *(f"{size:,}" for size in sizes)],
        [
            [system, *(found.get((system, size), "–") for size in sizes)]
            for system in _unique(cell["system"] for cell in cells)
        ],
    )


def _indexes(indexes: list[dict[str, Any]]) -> str:
    timed = ("build", "save", "load", "insert_1000", "remove_1000", "insert_1")
    return table(
        ["IDs", "items", *(f"{name.replace('_', ' ')}, s" for name in timed), "bytes an item"],
        [
            [
                index["ids"],
                f"{index['items']:,}",
                *(f"{index[f'{name}_seconds']:.2f}" for name in timed),
                f"{index['bytes_per_item']['all']:.1f}",
            ]
            for index in indexes
        ],
    )


def _found(report: dict[str, Any]) -> str:
    lines = [
        f"- {where}: {check['common_ids']:.1%} of the IDs of `generate` are those of exact search, scores differ "
        f"by at most {check['largest_difference']:.1e} ({check['queries']} queries)"
        for where, check in report["agreement"].items()
    ]
    lines += [
        f"- {where}: certified " + ", ".join(f"{rate:.1%} for the first {best}" for best, rate in rates.items())
        for where, rates in report["certificates"].items()
    ]
    tables = [
        f"{where}: queries are noisy views of items ({rates['queries']}).\n\n"
        + table(
            ["mode", "candidate recall", "hit@5 after re-ranking", "items re-ranked", "at most", "beams decoded"],
            [
                [
                    mode,
                    f"{found['candidate_recall']:.1%}",
                    f"{found['hit@5']:.1%}",
                    f"{found['items']:.0f}",
                    str(found["most_items"]),
                    f"{found['rows']:.0f}",
                ]
                for mode, found in rates["modes"].items()
            ],
        )
        for where, rates in report["hit_rates"].items()
    ]
    return "\n\n".join(["\n".join(lines), *tables])


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
