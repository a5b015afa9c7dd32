"""Shipped reports of an earlier form, for the page."""

from __future__ import annotations

from typing import Any

from genius.evaluation.tables import UNKNOWN, decimals

Report = dict[str, Any]


def note(report: Report) -> str:
    """What was measured, in a few sentences."""
    known = report["machine"]
    return (
        f"Texts that ask for images, batches of {report['batch']}, {report['beams']} beams, from the text to the "
        "results: every system encodes the texts itself. Medians over rounds in which the systems take turns. "
        f"GENIUS's decoder has {report['decoder_parameters'] / 1e6:.1f} million parameters; those of the other "
        "identifiers have its layers and width, with the vocabularies of their own codes (the paper: T5-small for "
        "GENIUS, Flamingo-3B for GRACE). The first "
        f"{report['images']:,} candidates are the run's images, the others are recombined from them. "
        f"{known['processor']}, {known['threads']} thread{'s' * (known['threads'] > 1)}"
        + f", {known['gpu']}" * bool(known["gpu"])
        + "."
    )


def rows(report: Report) -> list[dict[str, str]]:
    """A row per system: queries per second by number of candidates, and its speed at the most against the fewest."""
    cells = {(cell["system"], cell["items"]): cell for cell in report["cells"]}
    sizes = sorted({items for _, items in cells})
    found = []
    for system in dict.fromkeys(name for name, _ in cells):
        first, last = (cells.get((system, size)) for size in (sizes[0], sizes[-1]))
        found.append(
            {"queries per second": system}
            | {f"{size:,}": decimals(cells.get((system, size), {}).get("per_second"), 1) for size in sizes}
            | {"last / first": decimals(last["per_second"] / first["per_second"] if first and last else None, 2)}
            | {"levels at the last": str(last["levels"] or UNKNOWN) if last else UNKNOWN}
        )
    return found
