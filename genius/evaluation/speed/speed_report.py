"""The benchmark as Markdown and as a figure."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from genius.evaluation.tables import UNKNOWN, decimals, table
from genius.files import write_text

ID_KINDS_EXPLAINED = {
    "uniform": "Random IDs and an untrained decoder of the paper's size (T5-small, 9 codes of 4,096).",
    "realistic": "The run's decoder and test queries. IDs are the run's; a larger collection adds IDs that begin like "
    "one of them and end like another.",
}


def markdown(report: dict[str, Any]) -> str:
    """All steps that are finished."""
    machine, cells = report["machine"], pd.DataFrame(report["cells"])
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    dtype = f", set and fast in {report['decoder_dtype']}" if "decoder_dtype" in report else ""  # old reports lack it
    parts = [
        "# Speed of the search",
        f"- `{report['command']}`\n"
        f"- {machine['processor']}, {machine['threads']} threads{gpu}\n"
        f"- Python {machine['python']}, torch {machine['torch']}, transformers {machine['transformers']}, "
        f"faiss {machine['faiss']}\n"
        f"- {report['beams']} beams, decoder weight {report['decoder_weight']:g}{dtype}, seed {report['seed']}\n"
        "- Wall-clock milliseconds per query of the search alone: medians over rounds in which all systems take turns "
        "in one process; *n*: rounds; minima and maxima are in the JSON.",
    ]
    if report["cells"]:
        cells["median"] = [times["median"] for times in cells["milliseconds"]]
        cells["rounds"] = [times["rounds"] for times in cells["milliseconds"]]
        for kind, of_kind in cells.groupby("ids", sort=False):
            parts += [f"## {kind.capitalize()} IDs", ID_KINDS_EXPLAINED[kind], *_by_batch(of_kind), *_scaling(of_kind)]
        parts += ["## Bytes per item", "IDs, rows and trie for the modes; vectors and links for dense search."]
        for kind, of_kind in cells.groupby("ids", sort=False):
            parts += [f"{kind.capitalize()} IDs:", _by_size(of_kind, "bytes per item", _bytes)]
    parts += ["## The index", _indexes(report["indexes"]), "## Guarantees", _guarantees(report)]
    if "equal" in report:
        parts += ["## On a trained run, at equal hit rate", *_equal(report["equal"])]
    if machine["gpu"] is None:
        parts += ["## GPU", "Not measured: these are times of a processor."]
    return "\n\n".join(part for part in parts if part) + "\n"


def draw_figure(report: dict[str, Any], file: Path) -> None:
    """Milliseconds per query by number of items at the largest batch size, one panel per kind of IDs; an SVG file."""
    cells = [cell for cell in report["cells"] if cell["batch"] == max(report["batches"])]
    kinds = list(dict.fromkeys(cell["ids"] for cell in cells))
    figure = Figure(figsize=(7.5 * max(len(kinds), 1), 4.5), layout="constrained")
    for axes, kind in zip(figure.subplots(1, max(len(kinds), 1), squeeze=False)[0], kinds):
        frame = pd.DataFrame([cell | {"ms": cell["milliseconds"]["median"]} for cell in cells if cell["ids"] == kind])
        for number, (system, points) in enumerate(frame.groupby("system", sort=False)):
            axes.loglog(points["items"], points["ms"], f"C{number}", marker="os^vDP*X<>"[number % 10], label=system)
        title = f"{kind.capitalize()} IDs, batch {max(report['batches'])}"
        axes.set(title=title, xlabel="items", ylabel="milliseconds per query")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    svg = io.StringIO()
    figure.savefig(svg, format="svg")
    write_text(file, svg.getvalue())


def _by_batch(cells: pd.DataFrame) -> list[str]:
    parts = []
    for batch, of_batch in cells.groupby("batch"):
        parts += [
            f"### Batch {batch}: milliseconds per query",
            _by_size(of_batch, "median ms (n)", lambda cell: f"{cell['median']:.2f} ({cell['rounds']})"),
        ]
        published = of_batch[of_batch["system"] == "generate"].set_index("items")["median"]
        others = of_batch[(of_batch["system"] != "generate") & of_batch["items"].isin(published.index)]
        if len(others):
            others = others.assign(speedup=others["items"].map(published) / others["median"])
            parts += [
                f"### Batch {batch}: how many times faster than generate",
                _by_size(others, "times faster", lambda cell: f"{cell['speedup']:.1f}"),
            ]
        if "floor" in cells and len(bounded := of_batch.dropna(subset="floor")):
            parts += [
                f"### Batch {batch}: compared with the compute-bound minimum (roofline)",
                "The minimum is the operations of all beams that are scored, divided by the rate of matrix products "
                "measured in the same process.",
                _by_size(bounded, "time / minimum × minimum (beams scored)", _against_floor),
            ]
    return parts


def _scaling(cells: pd.DataFrame) -> list[str]:
    """Time at the largest size over time at the smallest, by batch size; systems that have both."""
    few, many = cells["items"].min(), cells["items"].max()
    if few == many:
        return []
    medians = cells.pivot(index=["system", "batch"], columns="items", values="median")
    ratios = (medians[many] / medians[few]).unstack("batch").reindex(cells["system"].unique()).add_prefix("batch ")
    shown = ratios.dropna().map("{:.2f}".format)
    if shown.empty:
        return []
    title = "### Time at the largest collection over time at the smallest"
    return [title, table(shown.rename_axis(f"{many:,} over {few:,}").reset_index())]


def _by_size(cells: pd.DataFrame, corner: str, text: Callable[[pd.Series], str]) -> str:
    """A row per system, a column per number of items."""
    frame = cells.assign(text=cells.apply(text, axis=1)).drop_duplicates(["system", "items"])
    frame = frame.pivot(index="system", columns="items", values="text").reindex(cells["system"].unique())
    frame.columns = [f"{items:,}" for items in frame.columns]
    return table(frame.fillna(UNKNOWN).rename_axis(corner).reset_index())


def _against_floor(cell: pd.Series) -> str:
    return f"{cell['median'] / cell['floor']:.2f} × {cell['floor']:.1f} ms ({cell['rows']:.0f})"


def _bytes(cell: pd.Series) -> str:
    return f"{cell['bytes_per_item']:,.1f}"


def _indexes(indexes: list[dict[str, Any]]) -> str:
    timed = ("build", "insert_1000", "remove_1000", "insert_1")
    return (
        table(
            [
                {"IDs": index["ids"], "items": f"{index['items']:,}"}
                | {f"{name.replace('_', ' ')}, s": f"{index[f'{name}_seconds']:.2f}" for name in timed}
                | {"bytes per item": f"{index['bytes_per_item']['all']:.1f}"}
                for index in indexes
            ]
        )
        if indexes
        else ""
    )


def _guarantees(report: dict[str, Any]) -> str:
    lines = [
        f"- {where}: {check['common_ids']:.1%} of the IDs of exact search are those of `generate`; scores differ by at "
        f"most {check['largest_difference']:.1e} ({check['queries']} queries)"
        for where, check in report["agreement"].items()
    ]
    lines += [
        f"- {where}: provably the best: " + ", ".join(f"first {best}: {rate:.1%}" for best, rate in rates.items())
        for where, rates in report["certificates"].items()
    ]
    return "\n".join(lines)


def _equal(report: dict[str, Any]) -> list[str]:
    """Two tables: all systems, and the fastest one of the other kind that equals each."""
    sizes = [str(size) for size in report["batches"]]
    systems = [
        {"system": found["system"], f"hit@{report['cut']}": f"{found['hit_rate']:.1%}"}
        | {f"ms, batch {size}": f"{found['milliseconds'][size]['median']:.2f}" for size in sizes}
        | {"bytes per item": f"{found['bytes_per_item']:.0f}"}
        for found in report["systems"]
    ]
    pairs = [
        {
            "system": pair["system"],
            "equaled by": pair["other"] or "none finds as much",
            "× its time": decimals(pair["times_slower"], 2),
            "× its bytes": decimals(pair["times_the_bytes"], 2),
        }
        for pair in report["equal"]
        if not pair["dense"] or pair["other"]
    ]
    return [
        f"{report['items']:,} items, embeddings of {report['dim']}; {report['queries']:,} test queries in "
        f"{report['rows']} rows, global pool, with the run's decoder weight and the default number of beams. "
        f"Hit rate at {report['cut']}, the mean over rows; median milliseconds per query of the search alone; bytes "
        "per item without the weights of models.",
        table(systems),
        "At equal hit rate: the fastest search of the other kind that finds at least as much, and by which factor a "
        f"system needs more time (batch {sizes[-1]}) and more bytes.",
        table(pairs, text_columns=2),
    ]
