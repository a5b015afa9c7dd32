"""Data for the panels of the Codes tab, as plain JSON."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from genius.explore.code_names import NO_COMMON_MEANING
from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Meaning, Nearness, Overview
from genius.explore.distinctive_words import Word
from genius.explore.hierarchy import Node
from genius.schema import Modality
from genius.trie.code_table import Pattern, trimmed
from genius.ui.common.formatting import MODALITY_NAMES, cells, count, number, percent, table

ChildWords = Mapping[int, tuple[Sequence[Word], int]]  # code -> its words, as Profiles.words_below gives them
Label = Callable[[Pattern], str]  # what the items of a prefix have in common; empty if that is not known

COLLECTING_WORDS = {"title": "Words", "paragraphs": ["Collecting the words that set these items apart…"]}
PAGE_SIZE = 24  # items of a page
MAX_ROWS = 300  # of a table
MAX_WORDS = 3  # of each child code


def level_name(level: int, forced: bool) -> str:
    """A level, with its meaning where that is fixed."""
    return f"{level}: modality" if level == 0 and forced else str(level)


def code_name(code: int | None, level: int, forced: bool) -> str:
    """A code, with its modality where it stands for one."""
    if level == 0 and forced and code is not None:
        return f"{code} {MODALITY_NAMES[Modality(code)]}"
    return format_pattern((code,))


def pattern_summary(pattern: Pattern, overview: Overview, total: int, forced: bool, label: str = "") -> dict[str, Any]:
    """The open pattern: breadcrumbs, number of items, modalities and use of the next level. label: what the items have
    in common."""
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
        "nothing_common": label == NO_COMMON_MEANING,
        "sentences": sentences(pattern, overview, total),
        "modalities": modality_shares(overview),
    }


def sentences(pattern: Pattern, overview: Overview, total: int) -> list[str]:
    """Share of all items and use of the next level, in sentences."""
    if not overview.items:
        return ["No item has these codes. Replace one with * to see similar ones."]
    share, parent = f"{percent(overview.items / total)} of all items", pattern[:-1]
    if trimmed(parent):
        share += f", {percent(overview.items / overview.siblings)} of those that match {format_pattern(parent)}"
    return [f"{share}."] * bool(pattern) + [_next_level_sentence(overview)]


def _next_level_sentence(overview: Overview) -> str:
    if overview.next_level is None:
        if overview.items == 1:
            return "This is a complete ID: one item has it."
        return "This is a complete ID: these items share it, as a bucket, and only re-ranking orders them."
    used, perplexity = overview.next_level["used"], overview.next_level["perplexity"]
    if used == 1:
        return "All have the same next code."
    sizes = "most of them small" if perplexity < used / 2 else "of similar size" if perplexity > 0.8 * used else ""
    return f"The next code splits them into {used:,} groups{', ' * bool(sizes)}{sizes}."


def modality_shares(overview: Overview) -> list[dict[str, Any]]:
    """Items per modality."""
    return [
        {
            "name": MODALITY_NAMES[modality],
            "modality": modality.name.lower(),
            "items": f"{items:,}",
            "share": items / overview.items,
        }
        for modality, items in zip(Modality, overview.modalities, strict=True)
        if items
    ]


def icicle_view(root: Node, forced: bool, words: ChildWords, label: Label) -> dict[str, Any] | None:
    """The tree, with the names of its codes, or else words for the children of the root; None if it has no items."""
    if not root.items:
        return None
    tree = _branch(root, root.items, forced, label)
    for child, branch in zip(root.children, tree["children"], strict=True):
        if not child.others:
            branch["words"] = branch["words"] or words_of(child.pattern[-1], words, MAX_WORDS)
    return tree


def words_of(code: int | None, words: ChildWords, most: int | None = None) -> str:
    """The distinctive words of a code, at most so many; empty if they are not computed yet."""
    distinctive, _ = words.get(code, ([], 0))
    return ", ".join(word.word for word in distinctive[:most])


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
        "modality": Modality(pattern[0]).name.lower() if forced and pattern and pattern[0] is not None else "",
        "children": [_branch(child, node.items, forced, label) for child in node.children],
    }


def introduction_view(levels: int, forced: bool) -> dict[str, Any]:
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


def meaning_view(meaning: Meaning) -> dict[str, Any]:
    """Distinctive words and factors of a code."""
    return {
        "note": _words_note(meaning),
        "guess": not meaning.texts,
        "words": [
            {
                "word": word.word,
                "figure": percent(word.share) if meaning.texts else number(word.weight, 2),
                "share": word.share if meaning.texts else max(word.weight, 0.0),
            }
            for word in meaning.words
        ],
        "factors": [
            {
                "name": f"{factor['factor']}: {factor['value']}",
                "figure": percent(factor["share"]),
                "share": factor["share"],
                "siblings_figure": percent(factor["elsewhere"]),
                "siblings_share": factor["elsewhere"],
            }
            for factor in meaning.factors
        ],
    }


def _words_note(meaning: Meaning) -> str:
    """Where the words come from, and what their figures are."""
    if not meaning.texts:
        return (
            "These pictures have no texts: the words of the collection that are most similar to them on average, "
            "with their similarity (cosine), at most 1."
        )
    source, siblings = f"From {count(meaning.texts, 'text')}", meaning.siblings - 1
    if not siblings:
        return f"{source}; it has no sibling codes."
    return (
        f"{source}: more frequent here than in those of the {count(siblings, 'code')} beside it (c-TF-IDF). The "
        "percentage is the share of texts that contain the word."
    )


def nearness_view(nearness: Nearness, tiles: Mapping[int, Mapping[str, Any]], total: int) -> dict[str, Any] | None:
    """Typical and borderline items; None for a single item. tiles: by row."""
    if len(nearness.typical) < 2:
        return None
    sampled = nearness.sampled < total
    sample = f"; based on an even sample of {nearness.sampled:,} of {count(total, 'item')}" if sampled else ""

    def group(title: str, note: str, pairs: Iterable[tuple[int, float]]) -> dict[str, Any]:
        return {
            "title": title,
            "note": note,
            "tiles": [{**tiles[row], "figure": number(cosine, 3)} for row, cosine in pairs],
        }

    groups = [group("Typical", "nearest to the average of its items, with their similarity", nearness.typical)]
    if nearness.borderline:
        groups.append(group("Borderline", f"farthest from that average{sample}", nearness.borderline))
    return {"groups": groups}


def codes_table(
    codes: Sequence[int], counts: Sequence[int], pattern: Pattern, forced: bool, words: ChildWords, label: Label
) -> dict[str, Any] | None:
    """The codes that follow a pattern, largest first: the icicle as a table. A code has its name or else its words."""
    if not len(codes):
        return None
    total, level = sum(counts), len(pattern)

    def row(code: int, items: int) -> list[dict[str, Any]]:
        prefix = (*pattern, code)
        share, name = items / total, {"text": code_name(code, level, forced), "key": format_pattern(prefix, ".")}
        return [name, *cells(f"{items:,}", (percent(share), share), label(prefix) or words_of(code, words))]

    largest_first = sorted(zip(codes, counts, strict=True), key=lambda entry: -entry[1])
    rows = [row(code, items) for code, items in largest_first[:MAX_ROWS]]
    caption = f"Codes of level {level} that follow {format_pattern(pattern) or 'the start'}"
    note = f"The largest {MAX_ROWS:,} of {len(codes):,} codes." if len(codes) > MAX_ROWS else ""
    return {"tables": [table(caption, ["code", "items", "share", "in common"], rows, note)]}


def health_view(health: Mapping[str, Any], buckets: Sequence[tuple[int, int]], forced: bool) -> dict[str, Any]:
    """Use of each level, and how many items share an ID. health: as `table_health` gives it. buckets: (items per ID,
    number of IDs)."""
    levels = [
        cells(
            level_name(level["level"], forced),
            f"{level['codes']:,}",
            (f"{level['used']:,}", level["used"] / level["codes"]),
            f"{level['codes'] - level['used']:,}",
            (number(level["perplexity"], 1), level["perplexity"] / level["codes"]),
        )
        for level in health["levels"]
    ]
    shares = [(size, ids, size * ids / health["items"]) for size, ids in buckets]
    shared_ids = [cells(count(size, "item"), f"{ids:,}", (percent(share), share)) for size, ids, share in shares]
    of_levels = table(
        "Levels",
        ["level", "codes", "used", "unused", "effective codes"],
        levels,
        "Unused codes have no items. Effective codes: how many codes of equal size would divide the items as finely; "
        "it is 1 if one code has all items.",
    )
    of_buckets = table(
        "Items that share an ID",
        ["items per ID", "IDs", "share of all items"],
        shared_ids[:MAX_ROWS],
        f"A bucket holds the items of one ID. There are {health['ids']:,} IDs for {count(health['items'], 'item')}: "
        f"{percent(health['items_alone'])} of the items have one of their own, and the largest bucket holds "
        f"{count(health['largest_bucket'], 'item')}. The first code tells the kind of "
        f"{percent(health['modality_purity'])} of the items.",
    )
    return {"tables": [of_levels, of_buckets]}
