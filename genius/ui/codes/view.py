"""What the panels of the Codes tab draw, as plain JSON data. No widget, no markup, no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Meaning, Nearness, Overview
from genius.explore.distinctive_words import Word
from genius.explore.hierarchy import Node
from genius.schema import Modality
from genius.trie.code_table import Pattern, trimmed
from genius.ui.common.formatting import NAMES, count, number, percent

Words = Mapping[int, tuple[Sequence[Word], int]]  # code -> its words, as Profiles.words_below gives them

PAGE = 24  # items of a page
ROWS = 300  # of the table of codes
SHOWN_WORDS = 3  # of a code among others


def level_name(level: int, forced: bool) -> str:
    """What a level stands for, in a word or two."""
    return f"{level}: modality" if level == 0 and forced else str(level)


def code_name(code: int | None, level: int, forced: bool) -> str:
    """A code, with its modality where it stands for one."""
    named = level == 0 and forced and code is not None
    return f"{code} {NAMES[Modality(code)]}" if named else format_pattern((code,))


def here(pattern: Pattern, overview: Overview, total: int, forced: bool) -> dict[str, Any]:
    """Where a visitor is: the way there, how many items there are, of which modality, and what comes next."""
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
        "sentences": sentences(pattern, overview, total),
        "modalities": modalities(overview),
    }


def sentences(pattern: Pattern, overview: Overview, total: int) -> list[str]:
    """How much of everything this is, and how it goes on."""
    if not overview.items:
        return ["No item of this index has these codes. Make one of them * to see what is near."]
    told = []
    if pattern:
        told.append(f"{percent(overview.items / total)} of all items")
        parent = pattern[:-1]
        if trimmed(parent):
            told[0] += f", {percent(overview.items / overview.siblings)} of those that match {format_pattern(parent)}"
        told[0] += "."
    if overview.next_level is None:
        told.append(
            "This is a whole ID: "
            + (
                "one item has it."
                if overview.items == 1
                else "these items share one bucket, and only re-ranking tells them apart."
            )
        )
    else:
        used, codes = overview.next_level["used"], overview.next_level["codes"]
        told.append(
            f"Level {len(pattern)} goes on with {used:,} of its {count(codes, 'code')}"
            + (f" (perplexity {number(overview.next_level['perplexity'], 1)})." if used > 1 else ".")
        )
    return told


def modalities(overview: Overview) -> list[dict[str, Any]]:
    """How the items are shared between the modalities that they have."""
    return [
        {"name": NAMES[modality], "kind": modality.name.lower(), "items": f"{items:,}", "share": items / overview.items}
        for modality, items in zip(Modality, overview.modalities, strict=True)
        if items
    ]


def icicle(root: Node, forced: bool, words: Words | None = None) -> dict[str, Any] | None:
    """The tree to draw, words beside the codes that follow the root. None if there is nothing in it."""
    if not root.items:
        return None
    drawn = _branch(root, root.items, forced)
    for child, branch in zip(root.children, drawn["children"], strict=True):
        branch["words"] = "" if child.others else first_words(words, child.pattern[-1])
    return drawn


def first_words(words: Words | None, code: int | None) -> str:
    """The first words of a code, if they are known already."""
    found, _ = (words or {}).get(code, ([], 0))
    return ", ".join(word.word for word in found[:SHOWN_WORDS])


def _branch(node: Node, siblings: int, forced: bool) -> dict[str, Any]:
    pattern, level = node.pattern, len(node.pattern) - 1
    if node.others:
        name, key, told = f"{node.others:,} others", None, f"{node.others:,} other codes"
    elif pattern:
        name, key, told = code_name(pattern[-1], level, forced), format_pattern(pattern, "."), format_pattern(pattern)
    else:
        name, key, told = "all", "", "all"
    return {
        "name": name,
        "key": key,
        "pattern": told,
        "words": "",
        "items": node.items,
        "count": count(node.items, "item"),
        "share": percent(node.items / siblings),
        "kind": Modality(pattern[0]).name.lower() if forced and pattern and pattern[0] is not None else "",
        "children": [_branch(child, node.items, forced) for child in node.children],
    }


def introduction(levels: int, forced: bool) -> dict[str, Any]:
    """What stands where a code's meaning would, before one is chosen."""
    first = "The first code is its modality; each later one" if forced else "Each code after the first"
    return {
        "title": "How to read this",
        "paragraphs": [
            f"Every item has an ID of {levels} codes. {first} narrows down what those before it leave open, "
            "from coarse to fine.",
            "Each column is a level; the higher a code, the more items have it. Choose one: see what its items have in "
            "common and what sets them apart from those of the codes beside it.",
            "Or type a pattern: 0 · 17 · * · 5 stands for code 0, then 17, then any code, then 5, whatever follows.",
        ],
    }


def meaning(found: Meaning) -> dict[str, Any]:
    """The words of a code and what its items are made of."""
    among = f"the {count(found.siblings - 1, 'code')} beside it" if found.siblings > 1 else ""
    if found.texts:
        note = f"From {count(found.texts, 'text')}" + (
            f", against those of {among}: commoner here than there (c-TF-IDF)."
            if among
            else "; there is no code beside it."
        )
    else:
        note = (
            "The encoder’s guess: these items are pictures without texts, so these are the words of the "
            "collection that it puts nearest to their mean, with the cosine."
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
    """Typical and borderline items; tiles by row. Nothing of a single item, which is both."""
    if len(found.typical) < 2:
        return None
    sampled = f" Seen: {found.sampled:,} of {count(total, 'item')}, evenly spread." if found.sampled < total else ""

    def group(title: str, note: str, pairs: Iterable[tuple[int, float]]) -> dict[str, Any]:
        return {
            "title": title,
            "note": note,
            "tiles": [{**tiles[row], "figure": number(cosine, 3)} for row, cosine in pairs],
        }

    groups = [group("Typical", "nearest to the mean embedding of its items, with the cosine", found.typical)]
    if found.borderline:
        groups.append(group("Borderline", "farthest from that mean." + sampled, found.borderline))
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
    codes: Sequence[int], counts: Sequence[int], pattern: Pattern, forced: bool, words: Words
) -> dict[str, Any] | None:
    """The codes that follow a pattern, largest first: the icicle as a table."""
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
                "columns": ["code", "items", "share", "words"],
                "rows": [
                    [
                        {
                            "text": code_name(int(codes[place]), level, forced),
                            "key": format_pattern((*pattern, int(codes[place])), "."),
                        },
                        {"text": f"{counts[place]:,}"},
                        {"text": percent(counts[place] / total), "bar": counts[place] / total},
                        {"text": ", ".join(word.word for word in words.get(int(codes[place]), ([], 0))[0])},
                    ]
                    for place in order[:ROWS]
                ],
            }
        ]
    }


def health(found: Mapping[str, Any], buckets: Sequence[tuple[int, int]], forced: bool) -> dict[str, Any]:
    """Use of every level, and how many items share an ID."""
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
                "columns": ["level", "codes", "used", "dead", "perplexity"],
                "rows": levels,
                "note": "Dead codes have no item. Perplexity: as many codes, used equally, would say as much; "
                "1 if a single code has all items.",
            },
            {
                "caption": "Buckets",
                "columns": ["an ID has", "IDs", "share of all items"],
                "rows": shared[:ROWS],
                "note": f"{found['ids']:,} IDs for "
                f"{count(found['items'], 'item')}: {percent(found['items_alone'])} of them "
                f"alone with theirs; the largest bucket has {count(found['largest_bucket'], 'item')}. "
                f"{percent(found['modality_purity'])} have the first code that is usual for their modality.",
            },
        ]
    }


def factors(table: Sequence[Mapping[str, Any]] | None, run: str) -> dict[str, Any]:
    """What the codes of each level say of the items' factors."""
    if table is None:
        return {
            "tables": [],
            "note": "This run has no evaluation report, which measures what codes say of the factors "
            "that items carry; make one with: "
            f"python -m genius.evaluation {run}",
        }
    if not table:
        return {"tables": [], "note": "The items of this collection carry no factors."}
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
                "By a level alone",
                "Adjusted mutual information of a level’s codes and a factor among items of one "
                "modality: 0 as by chance, 1 if the code settles it.",
                "in_modality",
            ),
            measured(
                "Given the codes before",
                "Of what the codes before leave open of a factor, the share that the level "
                "settles beyond chance; empty where nothing is left open.",
                "given_prefix",
            ),
        ],
        "note": "",
    }


def _shade(value: float | None) -> dict[str, Any]:
    return {"text": ""} if value is None else {"text": number(value, 2), "shade": max(0.0, min(1.0, value))}
