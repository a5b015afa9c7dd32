"""Data for the panels of the Collection tab, as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genius.index.contents import Contents, Dataset
from genius.index.drift import QUANTILE, USUAL, DriftReport
from genius.index.update import Added, Removed
from genius.schema import Item, Modality
from genius.ui.common.formatting import MODALITY_NAMES, count, number, percent, tile

LINES = 10  # of ids
LONGEST = 100  # characters of an id
COMMANDS = (
    "python app.py --run RUN --editable",
    "python -m genius.index RUN add FOLDER",
    "python -m genius.index RUN remove ID",
    "python -m genius.index RUN check",
)


def held(contents: Contents, names: Mapping[int, str]) -> dict[str, Any]:
    """Tables of what is indexed. names: of datasets by number, as far as known."""
    kinds = [modality for modality in Modality if contents.modalities[modality]]
    since = ["added since"] * bool(contents.added)

    def row(title: str, modalities: Sequence[int], added: int) -> list[dict[str, Any]]:
        items = sum(modalities)
        return [
            {"text": title},
            {"text": f"{items:,}", "bar": items / contents.items},
            *({"text": f"{modalities[kind]:,}"} for kind in kinds),
            *({"text": f"{added:,}"} for _ in since),
        ]

    rows = [row(_title(one, names), one.modalities, one.added) for one in contents.datasets]
    if len(rows) > 1:
        rows.append(row("all", contents.modalities, contents.added))
    sentences = [
        f"{count(contents.items, 'item')}, {contents.bytes / 2**20:,.1f} MB on disk"
        + (
            f" in {len(contents.segments):,} parts (segments), one for each addition."
            if len(contents.segments) > 1
            else "."
        )
    ]
    if contents.added:
        sentences.append(f"{count(contents.added, 'item')} were added after training.")
    if contents.removed:
        takes = "takes" if contents.removed == 1 else "take"
        sentences.append(f"{count(contents.removed, 'removed item')} still {takes} up space.")
    return {
        "tables": [
            {
                "caption": "What is indexed",
                "columns": ["dataset", "items", *(MODALITY_NAMES[kind] for kind in kinds), *since],
                "rows": rows,
                "note": " ".join(sentences),
            }
        ]
    }


def _title(dataset: Dataset, names: Mapping[int, str]) -> str:
    if dataset.number is None:
        return "other ids"
    title = names.get(dataset.number, f"dataset {dataset.number}")
    return f"{title}, added" if dataset.items == dataset.added else title


def verdict(drift: DriftReport, advice: Sequence[str]) -> dict[str, Any]:
    """Whether the collection still fits the trained IDs, in sentences."""
    if advice:
        return {"well": False, "sentences": list(advice)}
    return {
        "well": True,
        "sentences": [
            "The added items fit the learned codes; there is no need to train again."
            if drift.added
            else "Nothing was added since training; there is no need to train again."
        ],
    }


def health(drift: DriftReport) -> dict[str, Any]:
    """The numbers behind the verdict."""
    buckets, every = drift.buckets, drift.all_buckets
    rows = [
        ["items", f"{drift.trained:,}", f"{drift.added:,}", f"{drift.trained + drift.added:,}"],
        ["squared distance from an item to what its codes say", _known(drift.error), _known(drift.added_error), ""],
        [
            "items far from their codes",
            *(
                ("", "")
                if drift.error is None
                else (percent(USUAL), percent(drift.far / drift.compared) if drift.compared else "")
            ),
            "",
        ],
        ["items per ID, on average", number(buckets.mean, 3) if buckets else "", "", number(every.mean, 3)],
        ["items per ID, at most", f"{buckets.largest:,}" if buckets else "", "", f"{every.largest:,}"],
    ]
    return {
        "tables": [
            {
                "caption": "How well items fit their codes",
                "columns": ["", "as trained", "added since", "all"],
                "rows": [[{"text": cell} for cell in row] for row in rows],
                "note": f"An item is far from its codes if {percent(QUANTILE)} of the trained items of its kind are "
                "closer to theirs.",
            }
        ]
    }


def _known(error: float | None) -> str:
    return "" if error is None else number(error, 4)


def added(result: Added) -> dict[str, Any]:
    """The outcome of adding items."""
    lines = [f"Unreadable: {complaint}" for complaint in result.complaints]
    if (more := result.unreadable - len(lines)) > 0:
        lines.append(f"Unreadable: {more:,} more.")
    if result.duplicate:
        lines.append("Duplicate: the collection holds the same picture and text under another id.")
    title = (
        f"{count(result.new, 'item')} added; the next search finds {'it' if result.new == 1 else 'them'}."
        if result.new
        else "Nothing was added."
    )
    return message(title, lines) | {
        "counts": [
            {"name": name, "number": f"{getattr(result, name):,}"}
            for name in ("new", "skipped", "duplicate", "unreadable")
        ]
    }


def removed(result: Removed) -> dict[str, Any]:
    """The outcome of removing items."""
    unknown = result.unknown
    lines = [f"There is no item {id[:LONGEST]}." for id in unknown[:LINES]]
    if len(unknown) > LINES:
        lines.append(f"{len(unknown) - LINES:,} more ids were not found.")
    return message(f"{count(result.removed, 'item')} removed." if result.removed else "Nothing was removed.", lines)


def compacted(done: bool) -> dict[str, Any]:
    return message(
        "All items are in one part (segment) now."
        if done
        else "Nothing to do: there is one part (segment), and nothing was removed."
    )


def message(title: str, lines: Sequence[str] = ()) -> dict[str, Any]:
    """A sentence, with further lines."""
    return {"title": title, "counts": [], "lines": list(lines)}


def closed(run: Path) -> dict[str, Any]:
    """The commands that edit a collection elsewhere. run: its folder, of which only what lies below the current one is
    shown: visitors need not know where the server keeps its files."""
    run, here = run.resolve(), Path.cwd()
    shown = run.relative_to(here) if run.is_relative_to(here) else run.name
    return {"commands": [command.replace("RUN", str(shown)) for command in COMMANDS]}


def listed(
    rows: Sequence[int],
    items: Sequence[Item],
    pictures: Sequence[bytes | None],
    total: int,
    page: int,
    pages: int,
    editable: bool,
) -> dict[str, Any] | None:
    """A page of the items added since training, newest first."""
    return (
        {
            "total": count(total, "item"),
            "page": page,
            "pages": pages,
            "editable": editable,
            "tiles": [tile(row, item, picture) for row, item, picture in zip(rows, items, pictures, strict=True)],
        }
        if total
        else None
    )
