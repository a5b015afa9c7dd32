"""Data for the Why panels, as plain JSON made from an explanation and a beam tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from genius.explore.beam_figure import FATES, format_probability, format_softmax
from genius.explore.beam_tree import BeamTree, Fate
from genius.explore.explanation import Explanation
from genius.schema import Hit
from genius.ui.common.formatting import MODALITY_NAMES, count, identifier, item_label, number

PART_NAMES = (  # of RANKER_PARTS
    "Similarity",
    "Similarity of the model’s features",
    "Closeness to its codes",
    "Probability of its ID",
    "Probability of its first code",
)
MODALITY_NAME = "Kind of item"
RETRACED = {  # by the mode of the visitor's search
    "exact": "",
    "set": "Repeated here in mode Exact. Your search found the same IDs, but stopped as soon as they were certain, so "
    "their order and scores may differ.",
    "fast": "Repeated here in mode Exact; your fast search may have generated other IDs.",
}


def explanation(
    reason: Explanation,
    tree: BeamTree,
    query_codes: Sequence[int],
    beams: int,
    reranked: bool,
    mode: str,
    first_codes: Sequence[str],
) -> dict[str, Any]:
    """The ID of the result next to the best one and the query's own, its path level by level, and a summary.

    tree: everything that the search considered. mode: of the visitor's search.
    """
    hit, modality = reason.hit, reason.hit.item.modality
    ids = [
        {"name": name, "opens": opens, **identifier(codes, hit.codes)}
        for name, opens, codes in (
            ("This result", True, hit.codes),
            ("Best generated ID", True, reason.best),
            ("The query’s own ID", False, query_codes),
        )
    ]
    ids[0]["shared"] = reason.shared
    return {
        "title": f"Why result {hit.rank}",
        "label": item_label(hit.item),
        "name": MODALITY_NAMES[modality],
        "modality": modality.name.lower(),
        "sentences": sentences(reason, tree, beams, reranked),
        "flags": flags(reason),
        "note": RETRACED[mode],
        "shares": shares(hit),
        "ids": ids,
        "first_codes": list(first_codes),
        "steps": path_table(reason, tree),
        "legend": [{"key": fate.name.lower(), "name": name} for fate, name in FATES.items()],
    }


def shares(hit: Hit) -> list[dict[str, Any]]:
    """What each part of the ranker adds to the item's score, compared with the mean candidate; none without a ranker.

    bar: its size relative to the largest, from −1 to 1.
    """
    if not hit.shares:
        return []
    largest = max(map(abs, hit.shares)) or 1.0
    return [
        {"name": name, "share": signed(share), "bar": share / largest}
        for name, share in zip((*PART_NAMES, MODALITY_NAME), hit.shares, strict=True)
    ]


def signed(share: float) -> str:
    """0.5 -> +0.50."""
    text = number(share, 2)
    return f"+{text}" if round(share, 2) > 0 else text


def sentences(reason: Explanation, tree: BeamTree, beams: int, reranked: bool) -> list[str]:
    """How the item was found, and where it was ranked."""
    hit = reason.hit
    if reranked:
        by = "The ranker" if hit.shares else "Re-ranking by similarity"
        ranked = f"{by} {rank_change(hit.generated_rank, hit.rank)} (similarity {number(hit.cosine, 3)})."
    else:
        ranked = f"Without re-ranking it is {ordinal(hit.rank)}."
    about = "" if reason.dense_rank_is_exact else "about "
    return [
        generation_sentence(reason, tree, beams),
        f"{ranked} Dense search, which compares the query with all {count(reason.items, 'item')}, would rank it "
        f"{about}{ordinal(reason.dense_rank)}.",
    ]


def generation_sentence(reason: Explanation, tree: BeamTree, beams: int) -> str:
    """Which beam found its ID, or where it was pruned."""
    if reason.beam is None:
        return (
            f"The search, which follows {count(beams, 'ID')} at once, followed this one for {len(reason.path)} of its "
            f"{count(tree.levels, 'code')} and then dropped it."
        )
    last = reason.path[-1]
    score = f"score {number(tree.score[last], 2)}, log p {logarithm(tree.log_prob[last])}"
    sentences = [f"Its ID is number {reason.beam} of the {beams} that the search wrote ({score})."]
    if reason.beam > 1 and reason.shared:
        first = "first" if reason.shared == 1 else f"first {reason.shared}"
        sentences.append(f"Its ID shares the {first} of {count(tree.levels, 'code')} with the best one.")
    elif reason.beam > 1:
        sentences.append("Its ID shares no code with the best one.")
    return " ".join([*sentences, bucket_sentence(reason.bucket)])


def bucket_sentence(bucket: int) -> str:
    return "No other item has this ID." if bucket == 1 else f"{bucket:,} items have exactly this ID."


def rank_change(before: int, after: int) -> str:
    return f"left it at rank {after}" if before == after else f"moved it from rank {before} to {after}"


def ordinal(rank: int) -> str:
    """1 -> 1st, 12 -> 12th, 1002 -> 1,002nd."""
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"


def logarithm(value: float) -> str:
    """A log-probability with two decimals."""
    return number(value, 2)


def flags(reason: Explanation) -> list[str]:
    """The most important facts, as labels."""
    return (
        ["the best generated ID"] * (reason.beam == 1)
        + [f"shares its ID with {count(reason.bucket - 1, 'other')}"] * ((reason.bucket or 1) > 1)
        + [f"{'' if reason.dense_rank_is_exact else 'about '}{ordinal(reason.dense_rank)} by dense search"]
    )


def path_table(reason: Explanation, tree: BeamTree) -> list[dict[str, Any]]:
    """Rows of numbers, with a column per level that the search reached."""
    path = reason.path
    rows = (
        ("Probability of the code", [format_softmax(share) for share in np.exp(tree.step[path]).tolist()]),
        ("log p so far", [logarithm(log_prob) for log_prob in tree.log_prob[path].tolist()]),
        ("Rank at its level", [f"{place:,}" for place in tree.place[path].tolist()]),
        ("Items with this beginning", [f"{items:,}" for items in tree.items[path].tolist()]),
        ("Ruled out (masked)", [format_probability(share) for share in tree.masked[path].tolist()]),
    )
    return [{"name": name, "figures": figures} for name, figures in rows]


def prefixes(tree: BeamTree) -> dict[str, Any]:
    """The figure as a table: a row per prefix; prefixes of generated IDs are marked."""
    return {
        "rows": [
            {
                "codes": list(codes),
                "shared": len(codes) if fate == Fate.FOUND else 0,
                "level": level,
                "place": place,
                "fate": FATES[Fate(fate)],
                "step": format_softmax(np.exp(step)),
                "log_prob": logarithm(log_prob),
                "items": f"{items:,}",
            }
            for codes, level, place, fate, step, log_prob, items in zip(
                tree.prefixes(),
                *(
                    column.tolist()
                    for column in (tree.level, tree.place, tree.fate, tree.step, tree.log_prob, tree.items)
                ),
                strict=True,
            )
        ]
    }
