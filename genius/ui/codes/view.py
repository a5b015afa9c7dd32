"""Data for the Codes tab, as plain JSON."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Meaning, Nearness, Overview
from genius.explore.code_search import FoundCode
from genius.explore.playing import Group, Relatives
from genius.explore.word_fits import MIN_ITEMS, MIXED, Naming
from genius.schema import Modality
from genius.trie.code_table import Pattern, trimmed
from genius.ui.common.formatting import (
    MODALITY_NAMES,
    Json,
    cells,
    count,
    number,
    ordinal,
    percent,
    table,
)

Tiles = Callable[[Sequence[int]], list[Json]]  # rows -> their items as tiles

MAX_NEXT = 60  # next codes that are shown
MAX_ROWS = 300  # of a table


def key_of(pattern: Pattern | None) -> str | None:
    """A pattern as addresses hold it, such as 0.17."""
    return None if pattern is None else format_pattern(pattern, ".")


def naming_view(naming: Naming) -> Json:
    """A name, and on how many items it was checked; no name for too few items."""
    if naming.checked < MIN_ITEMS:
        return {"label": "", "checked": ""}
    checked = f"fits {naming.fits:,} of {naming.checked:,}"
    if not naming.words:
        checked = f"no word fits most of {naming.checked:,} items"
    return {"label": naming.label, "checked": checked}


def code_name(code: int | None, level: int, forced: bool) -> str:
    """A code, with its modality where it stands for one."""
    if level == 0 and forced and code is not None:
        return f"{code} {MODALITY_NAMES[Modality(code)]}"
    return format_pattern((code,))


def pattern_summary(
    pattern: Pattern,
    overview: Overview,
    total: int,
    forced: bool,
    naming: Naming,
    around: Relatives,
) -> Json:
    """The open pattern: breadcrumbs, name, number of items, modalities, use of the next level, the
    codes around it.
    """
    crumbs = [{"name": "all", "key": "", "open": False}]
    crumbs += [
        {
            "name": code_name(code, level, forced),
            "key": key_of(trimmed(pattern[: level + 1])),
            "open": code is None,
        }
        for level, code in enumerate(pattern)
    ]
    needs_name = len(pattern) > int(forced)
    named = naming_view(naming) if needs_name else {"label": "", "checked": ""}
    return {
        "key": key_of(pattern),
        "typed": format_pattern(pattern),
        "crumbs": crumbs,
        "items": count(overview.items, "item"),
        "empty": not overview.items,
        **named,
        "mixed": named["label"] == MIXED,
        "sentences": sentences(pattern, overview, total),
        "modalities": modality_shares(overview),
        "around": {name: key_of(value) for name, value in vars(around).items()},
    }


def introduction(levels: int, forced: bool) -> str:
    """What codes are, for who has none open."""
    first = (
        " The first is its kind, the others are its meaning, from coarse to fine." if forced else ""
    )
    return (
        f"Every item has an ID of {levels} codes.{first} Items with the same first codes are "
        "alike. Choose a code to see what it means."
    )


def sentences(pattern: Pattern, overview: Overview, total: int) -> list[str]:
    """Share of all items and use of the next level, in sentences."""
    if not overview.items:
        return ["No item has these codes. Replace one with * to see similar ones."]
    share = f"{percent(overview.items / total)} of all items"
    parent = pattern[:-1]
    if trimmed(parent):
        share += (
            f", {percent(overview.items / overview.siblings)} of those that match "
            f"{format_pattern(parent)}"
        )
    return [f"{share}."] * bool(pattern) + [_next_level_sentence(overview)]


def _next_level_sentence(overview: Overview) -> str:
    if overview.next_level is None:
        if overview.items == 1:
            return "This is a complete ID: one item has it."
        return (
            "This is a complete ID: these items share it, as a bucket, and only re-ranking "
            "orders them."
        )
    used, perplexity = overview.next_level["used"], overview.next_level["perplexity"]
    if used == 1:
        return "All have the same next code."
    sizes = (
        "most of them small"
        if perplexity < used / 2
        else "of similar size"
        if perplexity > 0.8 * used
        else ""
    )
    return f"The next code splits them into {used:,} groups{', ' * bool(sizes)}{sizes}."


def modality_shares(overview: Overview) -> list[Json]:
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


def meaning_view(meaning: Meaning) -> Json:
    """Words and factors of a code."""
    return {
        "note": f"Of {count(meaning.checked, 'item')} looked at, so many fit the word: their text "
        "has it, or they are among those nearest to it.",
        "words": [
            {"word": word.word, "figure": f"{word.fits:,}", "share": word.fits / meaning.checked}
            for word in meaning.words
        ],
        "factors": [
            {
                "name": f"{factor['factor']}: {factor['value']}",
                "figure": percent(factor["share"]),
                "siblings_figure": percent(factor["elsewhere"]),
            }
            for factor in meaning.factors
        ],
    }


def nearness_view(
    nearness: Nearness, tiles: Mapping[int, Mapping[str, Any]], total: int
) -> Json | None:
    """Typical and borderline items; None for a single item. tiles: by row."""
    if len(nearness.typical) < 2:
        return None
    sample = ""
    if nearness.sampled < total:
        sample = f"; based on an even sample of {nearness.sampled:,} of {count(total, 'item')}"

    def group(title: str, note: str, pairs: Iterable[tuple[int, float]]) -> Json:
        return {
            "title": title,
            "note": note,
            "tiles": [{**tiles[row], "figure": number(cosine, 3)} for row, cosine in pairs],
        }

    groups = [
        group(
            "Typical",
            "nearest to the average of its items, with their similarity",
            nearness.typical,
        )
    ]
    if nearness.borderline:
        groups.append(
            group("Borderline", f"farthest from that average{sample}", nearness.borderline)
        )
    return {"groups": groups}


def next_codes(
    codes: np.ndarray,
    counts: np.ndarray,
    pattern: Pattern,
    forced: bool,
    describe: Callable[[Pattern], dict],
) -> Json | None:
    """The codes (c,) that follow a pattern, with their numbers of items (c,), largest first.
    describe: what is known of one.
    """
    if not len(codes):
        return None
    total = int(counts.sum())
    largest = np.argsort(-counts, kind="stable")[:MAX_NEXT]
    return {
        "title": "First codes" if not pattern else "Next codes",
        "all": len(codes),
        "codes": [
            {
                "key": key_of((*pattern, code)),
                "name": code_name(code, len(pattern), forced),
                "items": items,
                "share": items / total,
                **describe((*pattern, code)),
            }
            for code, items in zip(codes[largest].tolist(), counts[largest].tolist(), strict=True)
        ],
    }


def found_view(title: str, note: str, codes: Sequence[FoundCode], tiles: Tiles) -> Json:
    """Codes that were found, best first."""
    return {
        "title": title,
        "note": note,
        "codes": [
            {
                "key": key_of(code.pattern),
                "pattern": format_pattern(code.pattern),
                "items": code.items,
                "fitting": code.fitting,
                "similarity": round(code.similarity, 3),
                **naming_view(code.name),
                "tiles": tiles(code.rows),
            }
            for code in codes
        ],
    }


def guess_view(
    steps: Sequence[Group], codes: Sequence[int], forced: bool, tiles: Tiles
) -> list[Json]:
    """The steps of guessing a picture from its codes."""
    return [
        {
            "title": guess_title(level, forced),
            "code": code_name(codes[level - 1], level - 1, forced) if level else "?",
            "key": key_of(step.pattern),
            "items": step.items,
            "label": naming_view(step.name)["label"] if level > 1 else "",
            "tiles": tiles(step.rows),
        }
        for level, step in enumerate(steps)
    ]


def guess_title(level: int, forced: bool) -> str:
    if not level:
        return "Nothing known"
    return f"{ordinal(level)} code{': the kind' * (forced and level == 1)}"


def groups_view(groups: Sequence[Group], level: int, forced: bool, tiles: Tiles) -> list[Json]:
    """Groups of items that differ in the code at this level."""
    return [
        {
            "key": key_of(group.pattern),
            "code": code_name(group.pattern[level], level, forced),
            "items": group.items,
            "kept": len(group.pattern),
            "mixed": not group.name.words,
            **naming_view(group.name),
            "tiles": tiles(group.rows),
        }
        for group in groups
    ]


def health_view(
    health: Mapping[str, Any], buckets: Sequence[tuple[int, int]], forced: bool
) -> Json:
    """Use of each level, and how many items share an ID. health: as `table_health` gives it.
    buckets: (items per ID, number of IDs)."""
    levels = [
        cells(
            f"{level['level']}{': modality' * (forced and not level['level'])}",
            f"{level['codes']:,}",
            (f"{level['used']:,}", level["used"] / level["codes"]),
            f"{level['codes'] - level['used']:,}",
            (number(level["perplexity"], 1), level["perplexity"] / level["codes"]),
        )
        for level in health["levels"]
    ]
    shares = [(size, ids, size * ids / health["items"]) for size, ids in buckets]
    shared_ids = [
        cells(count(size, "item"), f"{ids:,}", (percent(share), share))
        for size, ids, share in shares
    ]
    of_levels = table(
        "Levels",
        ["level", "codes", "used", "unused", "effective codes"],
        levels,
        "Unused codes have no items. Effective codes: how many codes of equal size would divide "
        "the items as finely; it is 1 if one code has all items.",
    )
    of_buckets = table(
        "Items that share an ID",
        ["items per ID", "IDs", "share of all items"],
        shared_ids[:MAX_ROWS],
        f"A bucket holds the items of one ID. There are {health['ids']:,} IDs for "
        f"{count(health['items'], 'item')}: {percent(health['items_alone'])} of the items have one "
        f"of their own, and the largest bucket holds {count(health['largest_bucket'], 'item')}. "
        f"The first code tells the kind of {percent(health['modality_purity'])} of the items.",
    )
    return {"tables": [of_levels, of_buckets]}
