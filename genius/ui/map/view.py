"""Data for the Map tab, as plain JSON."""

import base64
from collections.abc import Callable

import numpy as np

from genius.explore.code_names import CodeNamer
from genius.explore.code_patterns import format_pattern
from genius.explore.map_data import Maps, Region, View
from genius.explore.map_points import MapPoints
from genius.explore.playing import typical_rows
from genius.explore.word_fits import MIXED, spread
from genius.index.store import Index
from genius.schema import Modality
from genius.ui.common.formatting import Json, count, percent, tiles

SCALE = 30_000  # integer of the edge of a map; spread points may lie a little beyond it
LOOKED_AT = 4_000  # items of a choice that words are tried on
MAX_WORDS, MAX_CODES, MAX_TILES, MAX_TEXTS = 10, 6, 9, 3
MAX_COLORS = 12  # groups with a color of their own
EXAMINED = 400  # items among which tiles, and texts, are chosen


def packed(values: np.ndarray, kind: str) -> str:
    """Numbers as base64. kind: of numpy, such as <i2."""
    whole = np.rint(values) if values.dtype.kind == "f" else values
    return base64.b64encode(np.ascontiguousarray(whole.astype(kind)).tobytes()).decode()


def map_view(maps: Maps, points: MapPoints, index: Index) -> Json:
    """Views, regions, and what each point is."""
    counts = np.bincount(points.kinds, minlength=len(Modality)).tolist()
    return {
        "drawn": len(points.rows),
        "added": len(points.added),
        "views": [
            {
                "keep": one.depth,
                "label": keep_label(one.depth),
                "places": one.distinct,
                "moved": moved(one, maps),
            }
            for one in maps.views
        ],
        "sentence": sentence(points, index.n),
        "regions": [region_view(region) for region in maps.regions],
        "kinds": packed(points.kinds, "<u1"),
        "of": packed(points.regions, "<u2"),
        "counts": [
            {"kind": kind.name.lower(), "items": items}
            for kind, items in zip(Modality, counts, strict=True)
        ],
        "datasets": [
            {
                "number": number,
                "name": maps.names.get(number, "added" if number < 0 else f"dataset {number}"),
            }
            for number in np.unique(points.datasets).tolist()
        ],
        "years": points.years,
    }


def keep_label(depth: int) -> str:
    return "Everything" if not depth else f"{depth} code" + "s" * (depth > 1)


def sentence(points: MapPoints, total: int) -> str:
    """How many items there are, and how many of them are drawn."""
    drawn = count(len(points.rows), "item")
    return drawn if points.whole else f"{drawn} of {total:,}, an even sample over all codes"


def region_view(region: Region) -> Json:
    return {
        "tier": region.tier,
        "parent": region.parent,
        "name": ", ".join(region.words),
        "items": region.items,
        "checked": f"fits {region.fits:,} of {region.items:,}"
        if region.words
        else "no word fits enough of them",
        "portrait": region.portrait,
    }


def moved(one: View, maps: Maps) -> list[Json]:
    """The regions whose neighbours changed most."""

    def name(number: int | None) -> str:
        return "" if number is None else ", ".join(maps.regions[number].words)

    return [
        {
            "region": change.region,
            "name": name(change.region),
            "share": percent(change.share),
            "left": name(change.left),
            "joined": name(change.joined),
        }
        for change in one.moved
    ]


def colors_view(values: np.ndarray, label: Callable[[int], str]) -> Json:
    """The groups of the most frequent values; all others are one more."""
    distinct, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.full(len(order), MAX_COLORS)
    place[order[:MAX_COLORS]] = np.arange(min(len(order), MAX_COLORS))
    groups = [
        {"label": label(int(distinct[one])), "value": int(distinct[one]), "items": int(counts[one])}
        for one in order[:MAX_COLORS]
    ]
    return {
        "groups": groups,
        "others": int(counts[order[MAX_COLORS:]].sum()),
        "of": packed(place[number.ravel()], "<u1"),
    }


def chosen_view(namer: CodeNamer, points: MapPoints, chosen: np.ndarray) -> Json:
    """What the chosen points (c,) are."""
    index = points.index
    rows = points.rows[chosen]
    looked_at = spread(rows, LOOKED_AT)
    is_text = points.kinds[chosen] == Modality.TEXT
    pictured, worded = (spread(rows[some], EXAMINED) for some in (~is_text, is_text))
    counts = np.bincount(points.kinds[chosen], minlength=len(Modality)).tolist()
    return {
        "points": packed(chosen, "<u4"),
        "items": len(rows),
        "kinds": [
            {"kind": kind.name.lower(), "items": items, "share": items / len(rows)}
            for kind, items in zip(Modality, counts, strict=True)
            if items
        ],
        "words": [
            {"word": word.word, "items": word.fits, "of": len(looked_at)}
            for word in namer.profiles.words.telling(looked_at, MAX_WORDS)
        ],
        "codes": codes_view(namer, points, chosen),
        "tiles": tiles(index, typical_rows(namer.profiles, pictured, MAX_TILES)),
        "texts": tiles(index, typical_rows(namer.profiles, worded, MAX_TEXTS)),
    }


def codes_view(namer: CodeNamer, points: MapPoints, chosen: np.ndarray) -> list[Json]:
    """The codes that most of the chosen items have, where the first one is the kind those after
    it.
    """
    level = int(namer.forced)
    if points.codes.shape[1] <= level:
        return []
    codes, counts = np.unique(points.codes[chosen, level], return_counts=True)
    best = np.argsort(-counts, kind="stable")[:MAX_CODES]
    found = []
    for code, items in zip(codes[best].tolist(), counts[best].tolist(), strict=True):
        pattern = (*(None,) * level, code)
        label = namer.label(pattern)
        found.append(
            {
                "key": format_pattern(pattern, "."),
                "pattern": format_pattern(pattern),
                "label": "" if label == MIXED else label,
                "items": items,
            }
        )
    return found
