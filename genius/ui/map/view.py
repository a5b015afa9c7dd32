"""Data for the panels of the Map tab, as plain JSON."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from genius.explore.distinctive_words import Word
from genius.explore.map_colors import Group, Palette
from genius.explore.map_data import MappedQuery, Maps, View
from genius.schema import Item, Modality
from genius.ui.common import formatting
from genius.ui.common.export import OF_ITEM, csv_text, item_fields, save_files

HEALTH_ROWS = (  # of the table that compares the IDs of both trainings: key, label, format
    ("ids", "different IDs", "{:,}"),
    ("largest_bucket", "items in the largest bucket", "{:,}"),
    ("items_alone", "items alone in their bucket", "{:.1%}"),
    ("val_hit_at_5", "validation hit@5 by features", "{:.1%}"),
    ("val_hit_at_5_quantized", "validation hit@5 by quantized features", "{:.1%}"),
)


def view_label(view: View, levels: int) -> str:
    """The label of a view."""
    if not view.depth:
        return "Everything"
    codes = f"All {levels} codes" if view.depth == levels else f"{view.depth} codes"
    return codes if view.contrastive else f"{codes}, without contrastive loss"


def map_note(palette: Palette, number: int, levels: int) -> list[str]:
    """A description of the map in sentences. number: of the view."""
    maps, view = palette.maps, palette.maps.views[number]
    sentences = [
        "Click a point to see its item. To see many, choose Select in the settings and draw around them, or choose a "
        "color in the table.",
        _vectors_sentence(palette, view, levels),
    ]
    distinct = len(np.unique(maps.places[number][palette.mapped], axis=0))
    if distinct < len(palette.mapped):
        places = f"{distinct:,} different points" if distinct > 1 else "one point"
        sentences.append(f"They fall on {places}; items that share one are spread around it.")
    if palette.added:
        sentences.append("Triangles are items that were added since training; each lies between those most like it.")
    if not palette.whole:
        sentences.append("The other items were added later, or left out of an even sample over the ID hierarchy.")
    sentences.append(
        "Only which items lie close together is meaningful. All maps were made together (by UMAP), so items stay "
        "roughly in place."
    )
    return sentences


def _vectors_sentence(palette: Palette, view: View, levels: int) -> str:
    """From which vectors the map is made, and of how many items."""
    n = palette.index.n
    items = f"{n:,} items" if palette.whole else f"{len(palette.points):,} of {n:,} items"
    if not view.depth:
        return (
            f"The features of {items}: the numbers that the model makes of words and picture, before there are codes."
        )
    if view.contrastive:
        codes = f"all {levels} codes" if view.depth == levels else f"the first {view.depth} of {levels} codes"
        return f"What {codes} keep of {items}: the sum of their codewords, the vectors that the codes stand for."
    return (
        f"What all {levels} codes keep of {items} if training does not draw questions and answers together "
        "(no contrastive loss, supplement C.1 of the paper)."
    )


def health_table(maps: Maps, shown: int) -> dict[str, Any]:
    """The IDs of the collection that was trained on, with and without the contrastive loss. shown: items of the map."""
    contrastive, plain = maps.health["with"], maps.health["without"]
    larger = max(contrastive["ids"], plain["ids"]) > shown
    caption = "IDs of the collection that was trained on" + ", which is larger than what is shown here" * larger
    rows = [
        formatting.cells(label, *(form.format(health[key]).replace("%", " %") for health in (contrastive, plain)))
        for key, label, form in HEALTH_ROWS
    ]
    return {"tables": [formatting.table(caption, ["", "with the contrastive loss", "without"], rows)]}


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
            {"id": item.id, "label": formatting.item_label(item), "modality": item.modality.name.lower()}
            for item in answers
        ],
    }


def selection_view(
    label: str, total: int, words: Sequence[Word], items: Sequence[Item], codes: np.ndarray
) -> dict[str, Any]:
    """A selection: number of items, their words, and files of the s items that can be saved.

    codes: (s, M)
    """
    records = [item_fields(item) | {"codes": of_item} for item, of_item in zip(items, codes.tolist(), strict=True)]
    table, record = csv_text([*OF_ITEM, "codes"], records), json.dumps(records, ensure_ascii=False, indent=1)
    return {
        "label": label,
        "total": total,
        "saved": len(items),
        "files": save_files("genius-items", table, record),
        "guess": any(word.share is None for word in words),
        "words": [
            {"word": word.word, "share": None if word.share is None else formatting.percent(word.share)}
            for word in words
        ],
    }
