"""Data for the panels of the Map tab, as plain JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from genius.explore.distinctive_words import Word
from genius.explore.map_colors import Group, Palette
from genius.explore.map_data import COARSE, MappedQuery, Maps, View
from genius.schema import Item, Modality
from genius.ui.common import formatting
from genius.ui.common.export import escape_formula

COMPARED = (  # health of the IDs: key, label, format
    ("ids", "different IDs", "{:,}"),
    ("largest_bucket", "items in the largest bucket", "{:,}"),
    ("items_alone", "items alone in their bucket", "{:.1%}"),
    ("val_hit_at_5", "validation hit@5 by features", "{:.1%}"),
    ("val_hit_at_5_quantized", "validation hit@5 by quantized features", "{:.1%}"),
)


def title(view: View, levels: int) -> str:
    """The label of a view."""
    if not view.depth:
        return "Features"
    codes = f"All {levels} codes" if view.depth == levels else f"First {view.depth} codes"
    return codes if view.contrastive else f"{codes}, no contrast"


def note(palette: Palette, view: int, levels: int, unsearched: bool) -> dict[str, Any]:
    """A description of the map, and for the views by all codes a comparison of both trainings.

    unsearched: it was to be colored by similarity to a query, but there is none.
    """
    maps, n = palette.maps, palette.index.n
    chosen, different = maps.views[view], len(np.unique(maps.places[view][palette.points], axis=0))
    drawn = f"{n:,} items" if palette.whole else f"{len(palette.points):,} of {n:,} items"
    sentences = []
    if unsearched:
        sentences.append("There is no search yet, so the colors show the kind of item.")
    if not chosen.depth:
        sentences.append(
            f"The features of {drawn}: the numbers that the model makes of words and picture, before there are codes."
        )
    elif chosen.contrastive:
        codes = f"all {levels} codes" if chosen.depth == levels else f"the first {chosen.depth} of {levels} codes"
        sentences.append(
            f"What {codes} keep of {drawn}: the sum of their codewords, the vectors that the codes stand for."
        )
    else:
        sentences.append(
            f"What all {levels} codes keep of {drawn} if training does not draw questions and answers together "
            "(no contrastive loss, supplement C.1 of the paper)."
        )
        if maps.health["without"].get(COARSE):
            sentences.append(
                "This training still drew items of the same kind together, which the paper does not, so the IDs do not "
                "collapse as the paper’s do."
            )
    if different < len(palette.points):
        places = f"{different:,} different points" if different > 1 else "one point"
        sentences.append(f"They fall on {places}; items that share one are spread around it.")
    if not palette.whole:
        sentences.append("The other items were added later, or left out of an even sample over the ID hierarchy.")
    sentences.append(
        "Only who lies near whom has a meaning. All maps were made together (by UMAP), so items stay roughly in place."
    )
    return {"sentences": sentences, "table": compared(maps) if chosen.depth == levels else None}


def compared(maps: Maps) -> dict[str, Any]:
    """The IDs of the whole collection, with and without the contrastive loss."""
    with_it, without = maps.health["with"], maps.health["without"]
    return {
        "headers": ["", "with the contrastive loss", "without"],
        "rows": [[name, form.format(with_it[key]), form.format(without[key])] for key, name, form in COMPARED],
    }


def group_table(groups: Sequence[Group], modalities: np.ndarray, colors: Sequence[str]) -> dict[str, Any]:
    """The map in numbers: items of each color by modality."""
    return {
        "headers": ["Color", "Items", *formatting.MODALITY_NAMES.values()],
        "rows": [
            {
                "label": group.label,
                "color": color,
                "counts": [
                    len(group.members),
                    *np.bincount(modalities[group.members], minlength=len(Modality)).tolist(),
                ],
            }
            for group, color in zip(groups, colors, strict=True)
        ],
    }


def query_view(query: MappedQuery, answers: Sequence[Item]) -> dict[str, Any]:
    """A query that was clicked, and its positives."""
    return {
        "text": query.text,
        "instruction": query.instruction,
        "picture": query.modality != Modality.TEXT,
        "answers": [
            {"id": item.id, "label": formatting.item_label(item), "kind": item.modality.name.lower()}
            for item in answers
        ],
    }


def selection(
    label: str, total: int, words: Sequence[Word], items: Sequence[Item], codes: np.ndarray
) -> dict[str, Any]:
    """A selection: number of items, their words, and files of the s items that can be saved.

    codes: (s, M)
    """
    return {
        "label": label,
        "total": total,
        "saved": len(items),
        "files": files(items, codes),
        "guessed": any(word.share is None for word in words),
        "words": [
            {"word": word.word, "share": f"{word.share:.0%}" if word.share is not None else None} for word in words
        ],
    }


def tiles(drawn: Sequence[dict[str, Any]], total: int) -> dict[str, Any]:
    """The first items of a set, each a tile (see formatting.tile)."""
    title = "All of them" if len(drawn) == total else f"The first {len(drawn)}"
    return {"groups": [{"title": title, "note": "", "tiles": list(drawn)}]}


def files(items: Sequence[Item], codes: np.ndarray) -> list[dict[str, str]]:
    """The items as CSV and JSON, to be saved by the browser."""
    records = [
        {"item": item.id, "modality": item.modality.name.lower(), "text": item.text, "codes": own}
        for item, own in zip(items, codes.tolist(), strict=True)
    ]
    stream = io.StringIO()
    table = csv.DictWriter(stream, ["item", "modality", "text", "codes"])
    table.writeheader()
    table.writerows(
        record | {"text": escape_formula(record["text"]), "codes": " ".join(map(str, record["codes"]))}
        for record in records
    )
    return [
        {"name": "genius-items.csv", "label": "CSV", "type": "text/csv;charset=utf-8", "text": stream.getvalue()},
        {
            "name": "genius-items.json",
            "label": "JSON",
            "type": "application/json",
            "text": json.dumps(records, ensure_ascii=False, indent=1),
        },
    ]
