"""What the Codes tab does: opens a pattern, turns a page, shows an item, measures the health of the levels."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from genius.errors import UserError, quoted
from genius.explore.code_patterns import format_pattern, parse_pattern
from genius.explore.code_profile import Profiles
from genius.explore.hierarchy import hierarchy
from genius.explore.report_data import Missing, from_report
from genius.metrics.code_health import bucket_histogram, table_health
from genius.schema import Modality
from genius.trie.code_table import Matches, Pattern, at_level
from genius.ui.codes import view
from genius.ui.common.context import Context
from genius.ui.common.formatting import tile
from genius.ui.common.item_card import card

if TYPE_CHECKING:
    from genius.index.store import Index

KINDS = {modality.name.lower(): modality for modality in Modality}


class CodesCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.served = context.engine, context.served
        self.code_sizes = context.engine.index.code_sizes
        self.forced = context.engine.quantizer.config.modality_code == "forced"
        self.namer, self.profiles_of = context.namer, context.namer.profiles_of
        self.health_of = lru_cache(1)(self.measure_health)

    def prepare(self) -> None:
        """Compute what takes longest of what a visitor may ask for first."""
        profiles = self.profiles_of(self.engine.index)
        self.health_of(self.engine.index)
        for code in [None, *profiles.table.match(()).children()[0].tolist()][: len(KINDS) + 1]:
            profiles.words_below(() if code is None else (code,))

    def on_pattern(self, text: Any):
        return self.open(parse_pattern(text, self.code_sizes))

    def on_key(self, event: gr.EventData):
        return self.on_pattern(getattr(event, "key", None))

    def on_code(self, level: Any, code: Any):
        if type(level) is not int or type(code) is not int:
            raise UserError("Choose a code of that level.")
        return self.open(parse_pattern(format_pattern(at_level(level, code)), self.code_sizes))

    def on_first_visit(self, current: Pattern | None, sent: str | None):
        """Open all codes for a visitor who comes without a pattern; one that another tab sent is opened anyway."""
        return format_pattern((None,)) if current is None and not sent else None

    def open(self, pattern: Pattern) -> tuple[Any, ...]:
        """The outputs of an opening: what is fast; `on_meaning` replaces the last two."""
        profiles = self.profiles_of(self.engine.index)
        matches = profiles.table.match(pattern)
        return (
            pattern,
            format_pattern(pattern),
            format_pattern(pattern, "."),
            view.here(pattern, profiles.overview(matches), len(profiles.table), self.forced, self.namer.label(pattern)),
            view.icicle(hierarchy(matches), self.forced, label=self.namer.label),
            self.near_of(profiles, matches) if pattern else None,
            self.page_of(profiles, matches, "", 0),
            None,
            (view.WAITING if pattern else self.introduction()) if len(matches) else None,
            None,
        )

    def on_meaning(self, current: Pattern | None):
        """What takes longer than the rest: words and factors."""
        if current is None:
            raise UserError("No pattern is open; reload the page.")
        profiles = self.profiles_of(self.engine.index)
        matches = profiles.table.match(current)
        if not len(matches):
            return None, None, None
        words = profiles.words_below(current) if len(current) < len(self.code_sizes) else {}
        codes, counts = matches.children()
        return (
            view.meaning(profiles.meaning(current)) if current else self.introduction(),
            view.icicle(hierarchy(matches), self.forced, words, self.namer.label),
            view.codes_table(codes.tolist(), counts.tolist(), current, self.forced, words, self.namer.label),
        )

    def introduction(self) -> dict[str, Any]:
        return view.introduction(len(self.code_sizes), self.forced)

    def on_page(self, event: gr.EventData, current: Pattern | None):
        kind, page = (getattr(event, name, None) for name in ("kind", "page"))
        if current is None or kind not in ("", *KINDS) or type(page) is not int or page < 0:
            raise UserError("There is no such page; reload the page.")
        profiles = self.profiles_of(self.engine.index)
        return self.page_of(profiles, profiles.table.match(current), kind, page)

    def on_item(self, event: gr.EventData):
        return card(self.engine, getattr(event, "id", None))

    def on_level(self, level: Any):
        """The codes of a level, most frequent first."""
        if type(level) is not int or not 0 <= level < len(self.code_sizes):
            raise UserError(f"There is no level {quoted(level)}.")
        counts = self.profiles_of(self.engine.index).table.code_counts(level)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
        return gr.Dropdown(
            choices=[(f"{view.code_name(code, level, self.forced)} — {counts[code]:,}", code) for code in order],
            value=None,
        )

    def on_level_health(self):
        return self.health_of(self.engine.index)

    def on_factors(self):
        shown = from_report(self.served.path, "retrieval", lambda report: view.factors(report["codes"]["factors"]))
        return {"tables": [], "note": f"{shown.reason} {shown.command}"} if isinstance(shown, Missing) else shown

    def measure_health(self, index: Index) -> dict[str, Any]:
        codes = self.profiles_of(index).table.table
        return view.health(table_health(codes, index.modalities), bucket_histogram(codes), self.forced)

    def tiles(self, index: Index, rows: np.ndarray) -> list[dict[str, Any]]:
        return [
            tile(row, item, index.thumbnail(row)) for row, item in zip(rows.tolist(), index.items(rows), strict=True)
        ]

    def page_of(self, profiles: Profiles, matches: Matches, kind: str, page: int) -> dict[str, Any]:
        """A page of the matching items; kind: of one modality only, or "" for all."""
        index = profiles.index
        chosen = matches.rows[index.modalities[matches.rows] == KINDS[kind]] if kind else matches.rows
        first = page * view.PAGE
        return view.page_of(
            self.tiles(index, chosen[first : first + view.PAGE]),
            view.modalities(profiles.overview(matches)),
            len(matches),
            len(chosen),
            kind,
            page,
        )

    def near_of(self, profiles: Profiles, matches: Matches) -> dict[str, Any] | None:
        nearness = profiles.nearness(matches)
        rows = np.array([row for row, _ in nearness.typical + nearness.borderline], dtype=np.int64)
        return view.near(nearness, {one["row"]: one for one in self.tiles(profiles.index, rows)}, len(matches))
