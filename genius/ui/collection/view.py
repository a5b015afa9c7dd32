"""Data for the panels of the Collection tab, as plain JSON."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from genius.collections.listing import UNREADABLE, USED, FileReport, account
from genius.index.check import EXPECTED_FAR, QUANTILE, Dataset, DriftReport
from genius.index.layout import IndexConfig
from genius.index.update import Added, Removed
from genius.schema import Modality
from genius.ui.common.formatting import (
    MODALITY_NAMES,
    Json,
    cells,
    count,
    excerpt,
    number,
    percent,
    table,
)

MAX_UNKNOWN = 10  # ids that are listed
MAX_ID_LENGTH = 100  # characters of an id that are shown
COMMANDS = (
    "python app.py --run RUN --editable",
    "python -m genius.index RUN add FOLDER",
    "python -m genius.index RUN remove ID",
    "python -m genius.index RUN check",
)


def contents_view(
    config: IndexConfig, datasets: Sequence[Dataset], size: int, names: Mapping[int, str]
) -> Json:
    """Tables of what is indexed. size: bytes of all files. names: of datasets by number, as far as
    known.
    """
    total = [sum(dataset.modalities[modality] for dataset in datasets) for modality in Modality]
    present = [modality for modality in Modality if total[modality]]
    added_column = ["added since"] if config.grown else []

    def row(title: str, modalities: Sequence[int], added: int) -> list[Json]:
        items = sum(modalities)
        kinds = [f"{modalities[modality]:,}" for modality in present]
        return cells(
            title, (f"{items:,}", items / config.n), *kinds, *(f"{added:,}" for _ in added_column)
        )

    rows = [row(_title(dataset, names), dataset.modalities, dataset.added) for dataset in datasets]
    if len(rows) > 1:
        rows.append(row("all", total, config.grown))
    columns = [
        "dataset",
        "items",
        *(MODALITY_NAMES[modality] for modality in present),
        *added_column,
    ]
    return {"tables": [table("What is indexed", columns, rows, _contents_note(config, size))]}


def _contents_note(config: IndexConfig, size: int) -> str:
    """Size, additions and removals."""
    space = f"{count(config.n, 'item')}, {size / 2**20:,.1f} MB on disk"
    parts = len(config.segments)
    sentences = [
        f"{space} in {parts:,} parts (segments), one for each addition."
        if parts > 1
        else f"{space}."
    ]
    if config.grown:
        were = "was" if config.grown == 1 else "were"
        sentences.append(f"{count(config.grown, 'item')} {were} added after training.")
    return " ".join(sentences)


def _title(dataset: Dataset, names: Mapping[int, str]) -> str:
    if dataset.number is None:
        return "other items"
    title = names.get(dataset.number, f"dataset {dataset.number}")
    return f"added later ({title})" if dataset.items == dataset.added else title


def verdict(drift: DriftReport, advice: Sequence[str]) -> Json:
    """Whether the collection still fits the trained IDs, in sentences."""
    fit = (
        "The added items fit the learned codes"
        if drift.added
        else "Nothing was added since training"
    )
    return {
        "fits": not advice,
        "sentences": list(advice) or [f"{fit}; there is no need to train again."],
    }


def drift_view(drift: DriftReport) -> Json:
    """The numbers behind the verdict."""
    buckets, all_buckets = drift.buckets, drift.all_buckets
    trained_far = added_far = ""
    if drift.error is not None:
        trained_far = percent(EXPECTED_FAR)
        added_far = percent(drift.far / drift.added) if drift.added else ""
    rows = [
        ["items", f"{drift.trained:,}", f"{drift.added:,}", f"{drift.trained + drift.added:,}"],
        ["lost by coding, on average", _error(drift.error), _error(drift.added_error), ""],
        ["items the codes describe badly", trained_far, added_far, ""],
        [
            "items per ID, on average",
            number(buckets.mean, 3) if buckets else "",
            "",
            number(all_buckets.mean, 3),
        ],
        [
            "items per ID, at most",
            f"{buckets.largest:,}" if buckets else "",
            "",
            f"{all_buckets.largest:,}",
        ],
    ]
    columns = ["", "as trained", "added since", "all"]
    most = percent(QUANTILE)
    note = (
        f"The codes describe an item badly if they lose less of {most} of the trained items "
        "of its kind."
    )
    return {
        "tables": [
            table("How well items fit their codes", columns, [cells(*row) for row in rows], note)
        ]
    }


def _error(error: float | None) -> str:
    return "" if error is None else number(error, 4)


def progress(done: int, items: int, left: float = 0) -> Json:
    """How much of an addition is done. left: seconds."""
    title = f"{done:,} of {count(items, 'item')} added"
    if left:
        title += (
            f", {f'{left / 60:.0f} minutes' if left > 90 else count(math.ceil(left), 'second')} "
            "left"
        )
    return message(f"{title}.") | {"done": done / max(items, 1)}


def add_outcome(result: Added, kind: str, others: Sequence[FileReport]) -> Json:
    """The outcome of adding items, and a line for what became of the files or texts, as `kind`
    names them.

    others: the files that are no pictures.
    """
    copies = [
        " is ".join(excerpt(name, MAX_ID_LENGTH) for name in names) for names in result.copies
    ]
    lines = [
        f"{told}{f' ({_examples(number, named)})' if named else ''}"
        for number, told, named in (
            (result.new, f"{count(result.new, kind)}: {USED}", ()),
            (result.duplicate, f"{result.duplicate:,} skipped: already in the collection", copies),
            (
                result.unreadable,
                f"{count(result.unreadable, kind)}: {UNREADABLE}",
                result.complaints,
            ),
        )
        if number
    ]
    title = "Nothing was added."
    if result.new:
        title = (
            f"{count(result.new, 'item')} added; the next search finds "
            f"{'it' if result.new == 1 else 'them'}."
        )
    return message(title, [*lines, *account(others)])


def _examples(number: int, named: Sequence[str]) -> str:
    return "; ".join(named) + "; …" * (number > len(named))


def remove_outcome(result: Removed) -> Json:
    """The outcome of removing items."""
    unknown = result.unknown
    lines = [f"There is no item {id[:MAX_ID_LENGTH]}." for id in unknown[:MAX_UNKNOWN]]
    if len(unknown) > MAX_UNKNOWN:
        lines.append(f"{len(unknown) - MAX_UNKNOWN:,} more numbers were not found.")
    return message(
        f"{count(result.removed, 'item')} removed." if result.removed else "Nothing was removed.",
        lines,
    )


def compact_outcome(merged: bool) -> Json:
    return message(
        "All items are in one part (segment) now."
        if merged
        else "Nothing to do: there is one part (segment)."
    )


def message(title: str, lines: Sequence[str] = ()) -> Json:
    """A sentence, with further lines."""
    return {"title": title, "lines": list(lines)}


def read_only(run: Path) -> Json:
    """The commands that edit the collection of a page that may not.

    run: its folder, of which only what lies below the current one is shown: visitors need not know
    where the server keeps its files.
    """
    run = run.resolve()
    current = Path.cwd()
    name = run.relative_to(current) if run.is_relative_to(current) else run.name
    return {"commands": [command.replace("RUN", str(name)) for command in COMMANDS]}
