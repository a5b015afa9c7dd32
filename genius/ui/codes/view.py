"""Data for the panels of the Codes tab, as plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Meaning, Nearness, Overview
from genius.explore.distinctive_words import Word
from genius.explore.hierarchy import Node
from genius.schema import Modality
from genius.trie.code_table import Pattern, trimmed
from genius.ui.common.formatting import MODALITY_NAMES, count, number, percent

Words = Mapping[int, tuple[Sequence[Word], int]]  # code -> its words, as Profiles.words_below gives them

Label = Callable[[Pattern], str]  # what the items of a prefix have in common; empty if that is not known

WAITING = {"title": "Words", "paragraphs": ["Collecting the words that set these items apart …"]}
PAGE = 24  # items of a page
ROWS = 300  # of the table of codes
SHOWN_WORDS = 3  # of each child code


def level_name(level: int, forced: bool) -> str:
    """A level, with its meaning where that is fixed."""
    return f"{level}: modality" if level == 0 and forced else str(level)


def code_name(code: int | None, level: int, forced: bool) -> str:
    """A code, with its modality where it stands for one."""
    named = level == 0 and forced and code is not None
    return f"{code} {MODALITY_NAMES[Modality(code)]}" if named else format_pattern((code,))


def here(pattern: Pattern, overview: Overview, total: int, forced: bool, label: str = "") -> dict[str, Any]:
    """The opened pattern: breadcrumbs, number of items, modalities and the next level. label: what the items have in
    common."""
    crumbs = [{"name": "all", "key": "", "open": False}]
    crumbs += [
        {
            "name": code_name(code, level, forced),
            "key": format_pattern(trimmed(pattern[: level + 1]), "."),
            "open": code is None,
        }
        for level, code in enumerate(pattern)
    ]
    return {
        "crumbs": crumbs,
        "items": count(overview.items, "item"),
        "empty": not overview.items,
        "common": label,
        "sentences": sentences(pattern, overview, total),
        "modalities": modalities(overview),
    }


def sentences(pattern: Pattern, overview: Overview, total: int) -> list[str]:
    """Share of all items and use of the next level, in sentences."""
    if not overview.items:
        return ["No item has these codes. Replace one with * to see similar ones."]
    parts = []
    if pattern:
        parts.append(f"{percent(overview.items / total)} of all items")
        parent = pattern[:-1]
        if trimmed(parent):
            parts[0] += f", {percent(overview.items / overview.siblings)} of those that match {format_pattern(parent)}"
        parts[0] += "."
    if overview.next_level is None:
        parts.append(
            "This is a complete ID: "
            + (
                "one item has it."
                if overview.items == 1
                else "these items share it, as a bucket, and only re-ranking orders them."
            )
        )
    else:
        used, codes = overview.next_level["used"], overview.next_level["codes"]
        parts.append(
            f"At level {len(pattern)} they have {used:,} of {count(codes, 'code')}"
            + (f", about as varied as {varied(overview.next_level)}." if used > 1 else ".")
        )
    return parts


def varied(use: Mapping[str, Any]) -> str:
    """The perplexity of a level in words."""
    return f"{use['perplexity']:.0f} equally frequent ones"


def modalities(overview: Overview) -> list[dict[str, Any]]:
    """Items per modality."""
    return [
        {
            "name": MODALITY_NAMES[modality],
            "kind": modality.name.lower(),
            "items": f"{items:,}",
            "share": items / overview.items,
        }
        for modality, items in zip(Modality, overview.modalities, strict=True)
        if items
    ]


def icicle(
    root: Node, forced: bool, words: Words | None = None, label: Label = lambda prefix: ""
) -> dict[str, Any] | None:
    """The tree, with the names of its codes, or else words for the children of the root; None if it has no items."""
    if not root.items:
        return None
    drawn = _branch(root, root.items, forced, label)
    for child, branch in zip(root.children, drawn["children"], strict=True):
        if not child.others:
            branch["words"] = branch["words"] or first_words(words, child.pattern[-1])
    return drawn


def first_words(words: Words | None, code: int | None) -> str:
    """The first distinctive words of a code, if they are computed already."""
    found, _ = (words or {}).get(code, ([], 0))
    return ", ".join(word.word for word in found[:SHOWN_WORDS])


def _branch(node: Node, siblings: int, forced: bool, label: Label) -> dict[str, Any]:
    pattern, level = node.pattern, len(node.pattern) - 1
    if node.others:
        name, key, title = f"{node.others:,} others", None, f"{node.others:,} other codes"
    elif pattern:
        name, key, title = code_name(pattern[-1], level, forced), format_pattern(pattern, "."), format_pattern(pattern)
    else:
        name, key, title = "all", "", "all"
    return {
        "name": name,
        "key": key,
        "pattern": title,
        "words": "" if node.others else label(pattern),
        "items": node.items,
        "count": count(node.items, "item"),
        "share": percent(node.items / siblings),
        "kind": Modality(pattern[0]).name.lower() if forced and pattern and pattern[0] is not None else "",
        "children": [_branch(child, node.items, forced, label) for child in node.children],
    }


def introduction(levels: int, forced: bool) -> dict[str, Any]:
    """The text shown until a code is chosen."""
    first = " The first code is its modality." if forced else ""
    return {
        "title": "How to read this",
        "paragraphs": [
            f"Every item has an ID of {levels} codes, from coarse to fine.{first}",
            "Each column is a place in the ID; the taller a code, the more items have it.",
            "Choose one, or type a pattern: 0 · 17 · * · 5 is 0, 17, any code, then 5.",
        ],
    }


def meaning(found: Meaning) -> dict[str, Any]:
    """Distinctive words and factors of a code."""
    among = f"the {count(found.siblings - 1, 'code')} beside it" if found.siblings > 1 else ""
    if found.texts:
        note = f"From {count(found.texts, 'text')}" + (
            f": more frequent here than in those of {among}; with the share of the texts (c-TF-IDF)."
            if among
            else "; it has no sibling codes."
        )
    else:
        note = (
            "These pictures have no texts: the words of the collection that are most similar to them on average, "
            "with their similarity (cosine), at most 1."
        )
    return {
        "note": note,
        "guess": not found.texts,
        "words": [
            {
                "word": word.word,
                "figure": percent(word.share) if found.texts else number(word.weight, 2),
                "share": word.share if found.texts else max(word.weight, 0.0),
            }
            for word in found.words
        ],
        "factors": [
            {
                "name": f"{one['factor']}: {one['value']}",
                "here": percent(one["share"]),
                "share": one["share"],
                "elsewhere": percent(one["elsewhere"]),
                "beside": one["elsewhere"],
            }
            for one in found.factors
        ],
    }


def near(found: Nearness, tiles: Mapping[int, Mapping[str, Any]], total: int) -> dict[str, Any] | None:
    """Typical and borderline items; None for a single item. tiles: by row."""
    if len(found.typical) < 2:
        return None
    sampled = (
        f" Based on an even sample of {found.sampled:,} of {count(total, 'item')}." if found.sampled < total else ""
    )

    def group(title: str, note: str, pairs: Iterable[tuple[int, float]]) -> dict[str, Any]:
        return {
            "title": title,
            "note": note,
            "tiles": [{**tiles[row], "figure": number(cosine, 3)} for row, cosine in pairs],
        }

    groups = [group("Typical", "nearest to the average of its items, with their similarity", found.typical)]
    if found.borderline:
        groups.append(group("Borderline", "farthest from that average." + sampled, found.borderline))
    return {"groups": groups}


def page_of(
    tiles: Sequence[Mapping[str, Any]],
    overview: Sequence[Mapping[str, Any]],
    total: int,
    shown: int,
    chosen: str,
    page: int,
) -> dict[str, Any]:
    """A page of the items that match. overview: as `modalities` gives it; shown: items of the modality chosen."""
    first = page * PAGE
    filters = [{"name": "All", "kind": "", "items": f"{total:,}"}, *overview] if len(overview) > 1 else []
    return {
        "groups": [
            {
                "title": "Items",
                "tiles": list(tiles),
                "note": f"{first + 1:,} to {first + len(tiles):,} of {shown:,}, in the order of their IDs"
                if len(tiles) < shown
                else "in the order of their IDs"
                if shown > 1
                else "",
            }
        ],
        "filters": [{**one, "chosen": one["kind"] == chosen} for one in filters],
        "kind": chosen,
        "page": page,
        "pages": -(-shown // PAGE),
    }


def codes_table(
    codes: Sequence[int],
    counts: Sequence[int],
    pattern: Pattern,
    forced: bool,
    words: Words,
    label: Label = lambda prefix: "",
) -> dict[str, Any] | None:
    """The codes that follow a pattern, largest first: the icicle as a table. A code has its name or else its words."""
    if not len(codes):
        return None
    order = sorted(range(len(codes)), key=lambda place: -counts[place])
    total, level = sum(counts), len(pattern)
    note = f"The largest {ROWS:,} of {len(codes):,} codes." if len(codes) > ROWS else ""
    return {
        "tables": [
            {
                "caption": f"Codes of level {level} that follow {format_pattern(pattern) or 'the start'}",
                "note": note,
                "columns": ["code", "items", "share", "in common"],
                "rows": [
                    [
                        {
                            "text": code_name(int(codes[place]), level, forced),
                            "key": format_pattern((*pattern, int(codes[place])), "."),
                        },
                        {"text": f"{counts[place]:,}"},
                        {"text": percent(counts[place] / total), "bar": counts[place] / total},
                        {
                            "text": label((*pattern, int(codes[place])))
                            or ", ".join(word.word for word in words.get(int(codes[place]), ([], 0))[0])
                        },
                    ]
                    for place in order[:ROWS]
                ],
            }
        ]
    }


def health(found: Mapping[str, Any], buckets: Sequence[tuple[int, int]], forced: bool) -> dict[str, Any]:
    """Use of each level, and how many items share an ID."""
    levels = [
        [
            {"text": level_name(level["level"], forced)},
            {"text": f"{level['codes']:,}"},
            {"text": f"{level['used']:,}", "bar": level["used"] / level["codes"]},
            {"text": f"{level['codes'] - level['used']:,}"},
            {"text": number(level["perplexity"], 1), "bar": level["perplexity"] / level["codes"]},
        ]
        for level in found["levels"]
    ]
    shared = [
        [
            {"text": count(size, "item")},
            {"text": f"{ids:,}"},
            {"text": percent(size * ids / found["items"]), "bar": size * ids / found["items"]},
        ]
        for size, ids in buckets
    ]
    return {
        "tables": [
            {
                "caption": "Levels",
                "columns": ["level", "codes", "used", "unused", "effective codes"],
                "rows": levels,
                "note": "Unused codes have no items. Effective codes: how many codes of equal size would "
                "divide the items as finely; it is 1 if one code has all items.",
            },
            {
                "caption": "Items that share an ID",
                "columns": ["items per ID", "IDs", "share of all items"],
                "rows": shared[:ROWS],
                "note": f"A bucket holds the items of one ID. There are {found['ids']:,} IDs for "
                f"{count(found['items'], 'item')}: {percent(found['items_alone'])} of the items "
                f"have one of their own, and the largest bucket holds {count(found['largest_bucket'], 'item')}. "
                f"The first code tells the kind of {percent(found['modality_purity'])} of the items.",
            },
        ]
    }


def factors(table: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How much the codes of each level tell about the items' factors."""
    if not table:
        return {
            "tables": [],
            "note": "The collection does not say what its items are made of (their factors), such as kind or color.",
        }
    levels = [level["level"] for level in table[0]["levels"]]

    def measured(caption: str, note: str, figure: str) -> dict[str, Any]:
        return {
            "caption": caption,
            "note": note,
            "columns": ["factor", *(f"level {level}" for level in levels)],
            "rows": [[{"text": one["factor"]}, *(_shade(level[figure]) for level in one["levels"])] for one in table],
        }

    return {
        "tables": [
            measured(
                "Each level alone",
                "How much a code of the level tells about a property (factor) of an item: 0 is no more than chance, 1 "
                "is all (adjusted mutual information among items of one kind).",
                "in_modality",
            ),
            measured(
                "Given the earlier codes",
                "What a level adds to the codes before it: the share of what they leave open about a property that it "
                "settles, beyond chance; empty where nothing is open.",
                "given_prefix",
            ),
        ],
        "note": "",
    }


def _shade(value: float | None) -> dict[str, Any]:
    return {"text": ""} if value is None else {"text": number(value, 2), "shade": max(0.0, min(1.0, value))}
