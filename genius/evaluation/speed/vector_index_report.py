"""IDs and vector indexes of the same vectors, as Markdown."""

from __future__ import annotations

from typing import Any

from genius.evaluation.tables import decimals, percent, table


def markdown(report: dict[str, Any]) -> str:
    """All pools that are measured."""
    machine = report["machine"]
    parts = [
        "# IDs and vector indexes of the same fused vectors",
        f"- `{report['command']}`\n"
        f"- {machine['processor']}, {machine['threads']} threads; torch {machine['torch']}, faiss {machine['faiss']}\n"
        f"- Vectors of {report['dim']} dimensions, seed {report['seed']}; median milliseconds per query in rounds in "
        "which all systems take turns in one process; bytes per item without the weights of models.",
    ]
    for pool in report["pools"]:
        parts += [f"## {pool['items']:,} items", *_pool(pool, report["cut"])]
    return "\n\n".join(parts) + "\n"


def _pool(pool: dict[str, Any], cut: int) -> list[str]:
    found = f"hit@{cut}" if pool["own"] else f"nearest@{cut}"
    truth = (
        f"The run's own items: {found} of {pool['queries']:,} test queries, mean over rows."
        if pool["own"]
        else f"{found}: share of {pool['queries']:,} test queries whose nearest vector is among the first {cut}."
    )
    systems = [
        {"system": system["system"], found: percent(system["hit_rate"])}
        | {f"ms, batch {size}": decimals(time["median"], 2) for size, time in system["milliseconds"].items()}
        | {"bytes per item": decimals(system["bytes_per_item"], 0)}
        for system in pool["systems"]
    ]
    indexes = [
        {
            "index": index["system"],
            "built, s": decimals(index["build_seconds"], 1),
            "1,000 added, s": decimals(index["add_seconds"], 2),
            "1,000 removed, s": decimals(index["remove_seconds"], 2),
            "bytes per item": decimals(index["bytes_per_item"], 0),
        }
        for index in pool["indexes"]
    ]
    parts = [truth, table(systems), table(indexes)]
    for size, pairs in pool["equal"].items():
        equal = [
            {
                "IDs": pair["system"],
                "equaled by": pair["other"] or "none finds as much",
                "× its time": decimals(pair["times_slower"], 2),
                "× its bytes": decimals(pair["times_the_bytes"], 2),
            }
            for pair in pairs
            if not pair["dense"]
        ]
        parts += [
            f"The fastest index of vectors that finds at least as much, batch {size}:",
            table(equal, text_columns=2),
        ]
    return parts
