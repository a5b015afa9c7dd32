"""What the panels of the Collection tab draw, as plain JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from genius.index.contents import Contents, Dataset
from genius.index.drift import QUANTILE, USUAL, DriftReport
from genius.index.update import Added, Removed
from genius.schema import Item, Modality
from genius.ui.common.formatting import NAMES, count, number, percent, tile

LINES = 10  # of ids
LONGEST = 100  # characters of an id
COMMANDS = (
    "python app.py --run RUN --editable",
    "python -m genius.index RUN add FOLDER",
    "python -m genius.index RUN remove ID",
    "python -m genius.index RUN check",
)


def held(contents: Contents, names: Mapping[int, str]) -> dict[str, Any]:
    """What is indexed. names: of datasets by number, as far as they are known."""
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
        f"{count(contents.items, 'item')} in {count(len(contents.segments), 'segment')}, "
        f"{contents.bytes / 2**20:,.1f} MB on disk."
    ]
    if contents.added:
        sentences.append(f"{count(contents.added, 'item')} came after training.")
    if contents.removed:
        takes = "takes" if contents.removed == 1 else "take"
        sentences.append(f"{count(contents.removed, 'removed item')} still {takes} space.")
    return {
        "tables": [
            {
                "caption": "What is indexed",
                "columns": ["dataset", "items", *(NAMES[kind] for kind in kinds), *since],
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


def verdict(outlook: DriftReport, advice: Sequence[str]) -> dict[str, Any]:
    """Whether the collection still fits what training made, in sentences."""
    if advice:
        return {"well": False, "sentences": list(advice)}
    return {
        "well": True,
        "sentences": [
            "What was added fits the IDs that training made. No need to train again."
            if outlook.added
            else "Nothing was added since training. No need to train again."
        ],
    }


def health(outlook: DriftReport) -> dict[str, Any]:
    """What the verdict rests on."""
    buckets, every = outlook.buckets, outlook.all_buckets
    rows = [
        ["items", f"{outlook.trained:,}", f"{outlook.added:,}", f"{outlook.trained + outlook.added:,}"],
        ["distance of features from their IDs, squared", _known(outlook.error), _known(outlook.added_error), ""],
        [
            "far from their IDs",
            *(
                ("", "")
                if outlook.error is None
                else (percent(USUAL), percent(outlook.far / outlook.compared) if outlook.compared else "")
            ),
            "",
        ],
        ["items that share an ID, on average", number(buckets.mean, 3) if buckets else "", "", number(every.mean, 3)],
        ["items that share an ID, at most", f"{buckets.largest:,}" if buckets else "", "", f"{every.largest:,}"],
    ]
    return {
        "tables": [
            {
                "caption": "Health",
                "columns": ["", "as trained", "added since", "all"],
                "rows": [[{"text": cell} for cell in row] for row in rows],
                "note": f"Far is what lies farther from its ID than {percent(QUANTILE)} of the trained items of its "
                "modality.",
            }
        ]
    }


def _known(error: float | None) -> str:
    return "" if error is None else number(error, 4)


def added(result: Added) -> dict[str, Any]:
    """What became of what a visitor dropped in."""
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
    return said(title, lines) | {
        "counts": [
            {"name": name, "number": f"{getattr(result, name):,}"}
            for name in ("new", "skipped", "duplicate", "unreadable")
        ]
    }


def removed(result: Removed) -> dict[str, Any]:
    """What became of the ids."""
    unknown = result.unknown
    lines = [f"There is no item {id[:LONGEST]}." for id in unknown[:LINES]]
    if len(unknown) > LINES:
        lines.append(f"Nor are there {len(unknown) - LINES:,} more of the ids.")
    return said(f"{count(result.removed, 'item')} removed." if result.removed else "Nothing was removed.", lines)


def compacted(done: bool) -> dict[str, Any]:
    return said(
        "All items lie in one segment now." if done else "Nothing to do: there is one segment, and nothing was removed."
    )


def said(title: str, lines: Sequence[str] = ()) -> dict[str, Any]:
    """A sentence, and what there is to add to it."""
    return {"title": title, "counts": [], "lines": list(lines)}


def closed(run: str) -> dict[str, Any]:
    """How a collection that cannot be edited here is edited. run: its name."""
    return {"commands": [command.replace("RUN", run) for command in COMMANDS]}


def listed(
    rows: Sequence[int],
    items: Sequence[Item],
    pictures: Sequence[bytes | None],
    total: int,
    page: int,
    pages: int,
    editable: bool,
) -> dict[str, Any] | None:
    """A page of what was added since training, the last first."""
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
