"""The Codes tab: what can be asked of codes."""

from typing import Any

import gradio as gr
import numpy as np

from genius.errors import UserError
from genius.explore.code_patterns import format_pattern, parse_pattern
from genius.explore.code_profile import Profiles
from genius.explore.items import row_of
from genius.explore.playing import change_code, change_first, guess, picture_to_guess, relatives
from genius.explore.word_fits import Naming
from genius.index.store import Index
from genius.metrics.code_health import bucket_histogram, table_health
from genius.schema import UNREAD, Modality, Query
from genius.search.checks import check_query
from genius.trie.code_table import Matches, Pattern
from genius.ui.codes import view
from genius.ui.common import formatting
from genius.ui.common.context import Context, Panel
from genius.ui.common.formatting import Json
from genius.ui.common.uploads import open_upload, upload_path

MODALITIES = {modality.name.lower(): modality for modality in Modality}
FOUND, NEAREST, CHANGED = 12, 6, 6  # codes that are shown
FOUND_NOTE = (
    "Ranked by how many of a code’s items fit, times their share of its items, so that of two that "
    "fit alike the larger one comes first."
)


def panel(context: Context) -> Panel:
    """What the tab looks at, and the endpoint that finds codes."""
    codes = Codes(context)
    return Panel(
        {
            "codes": codes.on_pattern,
            "codes/near": codes.on_near,
            "codes/random": codes.on_random,
            "codes/health": codes.on_health,
            "codes/guess": codes.on_guess,
            "codes/change": codes.on_change,
        },
        [codes.find_codes] if context.engine.has_encoder else [],
        [codes.prepare],
    )


class Codes:
    """Keeps only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.namer = context.engine, context.namer
        self.code_sizes = context.engine.index.code_sizes
        self.forced = context.engine.first_code_is_modality
        self.health_of = self.engine.snapshots.cached(self.measure_health)

    @property
    def profiles(self) -> Profiles:
        return self.namer.profiles

    def prepare(self) -> None:
        """Compute what takes longest of what a visitor may ask for first."""
        self.health_of(self.engine.index)
        self.namer.search_of(self.engine.index)

    def tiles(self, rows: Any) -> list[Json]:
        return formatting.tiles(self.engine.index, rows)

    def on_pattern(self, code: str = "", kind: str = "", page: int = 0) -> Json:
        """A pattern of codes, and a page of the items that match it."""
        pattern = parse_pattern(code, self.code_sizes)
        profiles = self.profiles
        matches = profiles.table.match(pattern)
        naming = profiles.words.naming(matches.rows)
        overview = profiles.overview(matches)
        around = relatives(profiles.table, pattern)
        codes, counts = matches.children()
        nexts = view.next_codes(codes, counts, pattern, self.forced, self.describe)
        return {
            **view.pattern_summary(
                pattern, overview, len(profiles.table), self.forced, naming, around
            ),
            "introduction": "" if pattern else view.introduction(len(self.code_sizes), self.forced),
            "next": nexts,
            "second": self.second_codes() if self.forced and not pattern else None,
            "meaning": view.meaning_view(profiles.meaning(pattern))
            if pattern and len(matches)
            else None,
            "nearness": self.nearness_of(matches) if pattern else None,
            "page": self.items_page(matches, kind, page),
        }

    def second_codes(self) -> Json | None:
        """The codes after the kind, of items of all kinds."""
        matches = self.profiles.table.match(())
        if len(matches.levels) < 2:
            return None
        codes, counts = np.unique(matches.codes(1), return_counts=True)
        found = view.next_codes(codes, counts, (None,), True, self.describe)
        return found and found | {"title": "Second codes"}

    def describe(self, prefix: Pattern) -> Json:
        """The name of a code and its picture; of a code without a name, what one of its items
        is.
        """
        is_open = self.forced and prefix[0] is None
        kinds = Modality if is_open else prefix[:1]
        names = [name for kind in kinds if (name := self.namer.name((kind, *prefix[1:])))]
        if not names:
            (item,) = self.engine.index.items(self.rows(prefix)[:1])
            picture = item.id if item.image else None
            one = formatting.item_label(item)
            return {"label": "", "mixed": False, "one": one, "picture": picture}
        named: Naming = names[0]
        if is_open:
            named = self.profiles.words.naming(self.rows(prefix))
        label = view.naming_view(named)["label"] if len(prefix) > int(self.forced) else ""
        pictures = [id for name in names for id in name.pictures][:1]
        rows = self.engine.index.rows_of(pictures)
        shown = self.engine.index.items(rows[rows >= 0])
        picture = next((item.id for item in shown if item.image), None)
        return {"label": label, "mixed": label == view.MIXED, "one": "", "picture": picture}

    def rows(self, pattern: Pattern) -> np.ndarray:
        return self.profiles.table.match(pattern).rows

    def on_near(self, code: str) -> Json | None:
        """The codes nearest to those of a pattern."""
        pattern = parse_pattern(code, self.code_sizes)
        found = self.namer.search_of(self.engine.index).near(pattern, NEAREST)
        return (
            view.found_view("Nearest codes", "of other branches", found, self.tiles)
            if found
            else None
        )

    def on_random(self) -> dict[str, str]:
        """A code by chance."""
        return {"code": format_pattern(self.namer.search_of(self.engine.index).by_chance(), ".")}

    def on_health(self) -> Json:
        """How well the codes of each level are used."""
        return self.health_of(self.engine.index)

    def on_guess(self, item: str = "", seed: int = 0) -> Json:
        """An item as the codes of its ID tell it, one after the other; one by chance if none is
        named.
        """
        row = row_of(self.engine.index, item) if item else picture_to_guess(self.profiles, seed)
        (answer,) = self.tiles([row])
        steps = guess(self.profiles, row)
        return {
            "answer": answer,
            "steps": view.guess_view(steps, answer["codes"], self.forced, self.tiles),
        }

    def on_change(self, code: str, level: int = 1) -> Json:
        """What becomes of the beginning of an ID if one of its codes is another; level 0: the
        first.
        """
        codes = parse_pattern(code, self.code_sizes)
        known = tuple(one for one in codes if one is not None)
        if known != codes or not 0 <= level < len(codes) or not len(self.rows(codes)):
            raise UserError("Name the beginning of an item’s ID, and which of its codes to change.")
        if level or not self.forced:
            groups = change_code(self.profiles, known, level, CHANGED)
        else:
            groups = change_first(self.profiles, known)
        return {
            "codes": list(codes),
            "level": level,
            "rows": view.groups_view(groups, level, self.forced, self.tiles),
        }

    def find_codes(self, text: str = "", picture: gr.FileData | None = None) -> dict:
        """Find the codes that mean something, by words, a sentence, a picture or both.

        A code is the beginning of IDs; * stands for any first code, because items of all kinds
        share the codes after it. Each has its name, the number of its items, of those that fit, and
        items that stand for it.

        text: what the codes should mean. picture: a picture of it.
        """
        image = open_upload(upload_path(picture)) if picture else None
        query = Query(text=text, image=image, reading=UNREAD)
        check_query(query)
        embedding = self.engine.encode([query]).embeddings[0].cpu().numpy()
        found = self.namer.search_of(self.engine.index).find(
            embedding, text, image is not None, FOUND
        )
        return view.found_view(
            f"Codes for {formatting.describe_query(query)}", FOUND_NOTE, found, self.tiles
        )

    def measure_health(self, index: Index) -> Json:
        codes = self.namer.profiles_of(index).table.table
        return view.health_view(
            table_health(codes, index.modalities), bucket_histogram(codes), self.forced
        )

    def items_page(self, matches: Matches, kind: str, page: int) -> Json:
        """A page of the matching items; the last one where there are fewer. kind: only these items;
        "": all.
        """
        if kind not in ("", *MODALITIES):
            raise UserError("There is no such page; reload the page.")
        rows = matches.rows
        if kind:
            rows = rows[self.engine.index.modalities[rows] == MODALITIES[kind]]
        if not len(rows):  # the last of them was removed since
            kind, page, rows = "", 0, matches.rows
        shown, page, pages = formatting.page_of(rows, page)
        note = "in the order of their IDs" if len(rows) > 1 else ""
        if pages > 1:
            first = page * formatting.PAGE_SIZE
            note = f"{first + 1:,} to {first + len(shown):,} of {len(rows):,}, {note}"
        shares = view.modality_shares(self.profiles.overview(matches))
        whole = {"name": "All", "modality": "", "items": f"{len(matches):,}"}
        filters = [whole, *shares] if len(shares) > 1 else []
        return {
            "tiles": self.tiles(shown),
            "note": note,
            "filters": [{**choice, "chosen": choice["modality"] == kind} for choice in filters],
            "kind": kind,
            "page": page,
            "pages": pages,
        }

    def nearness_of(self, matches: Matches) -> Json | None:
        nearness = self.profiles.nearness(matches)
        rows = [row for row, _ in nearness.typical + nearness.borderline]
        tiles = dict(zip(rows, self.tiles(rows), strict=True))
        return view.nearness_view(nearness, tiles, len(matches))
