"""What the Codes tab does: opens a pattern, shows a page of items or one item, measures the use of the levels."""

from contextlib import suppress
from typing import Any

import gradio as gr

from genius.errors import UserError
from genius.explore.code_patterns import format_pattern, parse_pattern
from genius.explore.code_profile import Profiles
from genius.explore.hierarchy import hierarchy
from genius.index.store import Index
from genius.metrics.code_health import bucket_histogram, table_health
from genius.schema import Modality
from genius.trie.code_table import Matches, Pattern
from genius.ui.codes import view
from genius.ui.codes.find import CodeFinder
from genius.ui.common import formatting
from genius.ui.common.context import Context

MODALITIES = {modality.name.lower(): modality for modality in Modality}


class LastOpened:
    """The pattern that a visitor opened last. A gr.State hands the same object to all events of a visitor, so that one
    sees what was opened while it was at work."""

    pattern: Pattern | None = None


class CodesCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine = context.engine
        self.code_sizes = context.engine.index.code_sizes
        self.forced = context.engine.first_code_is_modality
        self.namer, self.profiles_of = context.namer, context.namer.profiles_of
        self.finder = CodeFinder(context)
        self.health_of = self.engine.versions.cached(self.measure_health)
        self.introduction = view.introduction_view(len(self.code_sizes), self.forced)

    def prepare(self) -> None:
        """Compute what takes longest of what a visitor may ask for first."""
        profiles = self.profiles_of(self.engine.index)
        self.health_of(self.engine.index)
        profiles.words_below(())
        first_codes, _ = profiles.table.match(()).children()
        for code in first_codes[: len(MODALITIES)].tolist():
            profiles.words_below((code,))
        self.finder.search_of(self.engine.index)

    def on_pattern(self, text: Any, last: LastOpened):
        last.pattern = parse_pattern(text, self.code_sizes)
        return self.open(last.pattern)

    def on_first_visit(self, open_pattern: Pattern | None, sent_pattern: str | None):
        """Open all codes for a visitor who comes without a pattern, or with one in the address that cannot be read; one
        that another tab sent is opened anyway."""
        if open_pattern is None and sent_pattern:
            with suppress(UserError):  # which opening that pattern raises, where it can be shown
                parse_pattern(sent_pattern, self.code_sizes)
                return None
        return format_pattern((None,)) if open_pattern is None else None

    def on_changed(self, last: LastOpened):
        """Open the pattern again, because items were added or removed, unless another one is opened meanwhile."""
        pattern = last.pattern
        outputs = None if pattern is None else self.open(pattern)
        return gr.skip() if outputs is None or last.pattern != pattern else outputs

    def open(self, pattern: Pattern) -> tuple[Any, ...]:
        """What every panel shows of a pattern, as far as it is computed fast, and a signal that lets `on_meaning`
        add words and the table."""
        profiles = self.profiles_of(self.engine.index)
        matches = profiles.table.match(pattern)
        return (
            pattern,
            format_pattern(pattern),
            {"codes": format_pattern(pattern, ".")},
            view.pattern_summary(
                pattern, profiles.overview(matches), len(profiles.table), self.forced, self.namer.label(pattern)
            ),
            view.icicle_view(hierarchy(matches), self.forced, {}, self.namer.label),
            self.nearness_of(profiles, matches) if pattern else None,
            self.items_page(profiles, matches, "", 0),
            None,
            (view.COLLECTING_WORDS if pattern else self.introduction) if len(matches) else None,
            None,
            None,
            True,
        )

    def on_meaning(self, pattern: Pattern | None):
        """What takes longer than the rest: words and factors."""
        if pattern is None:
            raise UserError("No pattern is open; reload the page.")
        profiles = self.profiles_of(self.engine.index)
        matches = profiles.table.match(pattern)
        if not len(matches):
            return None, None, None
        words = profiles.words_below(pattern) if len(pattern) < len(self.code_sizes) else {}
        codes, counts = matches.children()
        return (
            view.meaning_view(profiles.meaning(pattern)) if pattern else self.introduction,
            view.icicle_view(hierarchy(matches), self.forced, words, self.namer.label),
            view.codes_table(codes.tolist(), counts.tolist(), pattern, self.forced, words, self.namer.label),
        )

    def on_page(self, event: gr.EventData, pattern: Pattern | None):
        modality, page = getattr(event, "modality", None), getattr(event, "page", None)
        if pattern is None or modality not in ("", *MODALITIES) or type(page) is not int or page < 0:
            raise UserError("There is no such page; reload the page.")
        profiles = self.profiles_of(self.engine.index)
        return self.items_page(profiles, profiles.table.match(pattern), modality, page)

    def on_level_health(self):
        return self.health_of(self.engine.index)

    def measure_health(self, index: Index) -> dict[str, Any]:
        codes = self.profiles_of(index).table.table
        return view.health_view(table_health(codes, index.modalities), bucket_histogram(codes), self.forced)

    def items_page(self, profiles: Profiles, matches: Matches, modality: str, page: int) -> dict[str, Any]:
        """A page of the matching items; the last one where there are fewer. modality: only these items; "": all."""
        index = profiles.index
        rows = matches.rows[index.modalities[matches.rows] == MODALITIES[modality]] if modality else matches.rows
        if not len(rows):  # the last of them was removed since
            modality, page, rows = "", 0, matches.rows
        pages = -(-len(rows) // view.PAGE_SIZE)
        page = max(0, min(page, pages - 1))
        first, note = page * view.PAGE_SIZE, "in the order of their IDs" if len(rows) > 1 else ""
        tiles = formatting.tiles(index, rows[first : first + view.PAGE_SIZE].tolist())
        if pages > 1:
            note = f"{first + 1:,} to {first + len(tiles):,} of {len(rows):,}, {note}"
        shares = view.modality_shares(profiles.overview(matches))
        filters = [{"name": "All", "modality": "", "items": f"{len(matches):,}"}, *shares] if len(shares) > 1 else []
        return {
            "groups": [{"title": "Items", "tiles": tiles, "note": note}],
            "filters": [{**choice, "chosen": choice["modality"] == modality} for choice in filters],
            "modality": modality,
            "page": page,
            "pages": pages,
        }

    def nearness_of(self, profiles: Profiles, matches: Matches) -> dict[str, Any] | None:
        nearness = profiles.nearness(matches)
        rows = [row for row, _ in nearness.typical + nearness.borderline]
        tiles = {tile["row"]: tile for tile in formatting.tiles(profiles.index, rows)}
        return view.nearness_view(nearness, tiles, len(matches))
