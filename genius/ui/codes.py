"""The Codes tab: a code or a pattern in; its items, its place in the hierarchy and what it means out."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from genius.errors import UserError
from genius.explore.code_patterns import MAX_PATTERN_LENGTH, format_pattern, parse_pattern
from genius.explore.code_profile import Profiles
from genius.explore.hierarchy import hierarchy
from genius.metrics.code_health import bucket_sizes, table_health
from genius.metrics.factor_agreement import reported_factors
from genius.schema import Modality
from genius.trie.code_table import Matches, Pattern, at_level
from genius.ui import codepanels, links
from genius.ui.components import QUICK, Panel, told
from genius.ui.context import Context, Signal
from genius.ui.itemcard import ItemCard, card

if TYPE_CHECKING:
    from genius.index.store import Index

KINDS = {modality.name.lower(): modality for modality in Modality}


def codes_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it to the engine."""
    engine, open_code, code_sizes = context.engine, context.shared.open_code, context.engine.index.code_sizes
    forced = engine.quantizer.config.modality_code == "forced"

    @lru_cache(1)
    def profiles_of(index: Index) -> Profiles:
        return Profiles(engine, index)

    @lru_cache(1)
    def health_of(index: Index) -> dict[str, Any]:
        table = profiles_of(index).table.table
        return codepanels.health(table_health(table, index.modalities), bucket_sizes(table), forced)

    def tiles(index: Index, rows: np.ndarray) -> list[dict[str, Any]]:
        return [
            codepanels.tile(int(row), item, index.thumbnail(int(row)))
            for row, item in zip(rows, index.items(rows), strict=True)
        ]

    def page_of(profiles: Profiles, matches: Matches, kind: str, page: int) -> dict[str, Any]:
        index = profiles.index
        chosen = matches.rows[index.modalities[matches.rows] == KINDS[kind]] if kind else matches.rows
        first = page * codepanels.PAGE
        return codepanels.page_of(
            tiles(index, chosen[first : first + codepanels.PAGE]),
            codepanels.modalities(profiles.overview(matches)),
            len(matches),
            len(chosen),
            kind,
            page,
        )

    def near_of(profiles: Profiles, matches: Matches) -> dict[str, Any] | None:
        found = profiles.nearness(matches)
        rows = np.array([row for row, _ in found.typical + found.borderline], dtype=np.int64)
        return codepanels.near(found, {one["row"]: one for one in tiles(profiles.index, rows)}, len(matches))

    def opened(pattern: Pattern) -> tuple[Any, ...]:
        """What the outputs of an opening show of a pattern; the last two are on their way."""
        profiles = profiles_of(engine.index)
        matches = profiles.table.match(pattern)
        return (
            pattern,
            format_pattern(pattern),
            format_pattern(pattern, "."),
            codepanels.here(pattern, profiles.overview(matches), len(profiles.table), forced),
            codepanels.icicle(hierarchy(matches), forced),
            near_of(profiles, matches) if pattern else None,
            page_of(profiles, matches, "", 0),
            None,
            None,
            None,
        )

    def on_pattern(text: Any):
        with told():
            return opened(parse_pattern(text, code_sizes))

    def on_key(picked: gr.EventData):
        return on_pattern(getattr(picked, "key", None))

    def on_code(level: Any, code: Any):
        with told():
            if code is None:
                raise UserError("Choose a code of that level.")
            return opened(parse_pattern(format_pattern(at_level(level, code)), code_sizes))

    def on_first(current: Pattern | None, sent: str | None):
        """Asks for everything if a visitor comes without a pattern; one that was sent here is on its way already."""
        return format_pattern((None,)) if current is None and not sent else None

    def on_meaning(current: Pattern):
        """What takes longer: words and factors."""
        with told():
            profiles = profiles_of(engine.index)
            matches = profiles.table.match(current)
            if not len(matches):
                return None, None, None
            below = profiles.words_below(current) if len(current) < len(code_sizes) else {}
            codes, counts = matches.children()
            return (
                codepanels.meaning(profiles.meaning(current))
                if current
                else codepanels.introduction(len(code_sizes), forced),
                codepanels.icicle(hierarchy(matches), forced, below),
                codepanels.codes_table(codes.tolist(), counts.tolist(), current, forced, below),
            )

    def on_page(picked: gr.EventData, current: Pattern | None):
        kind, page = (getattr(picked, name, None) for name in ("kind", "page"))
        with told():
            if current is None or kind not in ("", *KINDS) or type(page) is not int or page < 0:
                raise UserError("There is no such page; reload the page.")
            profiles = profiles_of(engine.index)
            return page_of(profiles, profiles.table.match(current), kind, page)

    def on_item(picked: gr.EventData):
        with told():
            return card(engine, getattr(picked, "id", None))

    def on_level(level: Any):
        """The codes of a level, largest first."""
        with told():
            if type(level) is not int or not 0 <= level < len(code_sizes):
                raise UserError(f"There is no level {level!r}.")
            counts = profiles_of(engine.index).table.code_counts(level)
            order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
            return gr.Dropdown(
                choices=[
                    (f"{codepanels.code_name(int(code), level, forced)} — {counts[code]:,}", int(code))
                    for code in order
                ],
                value=None,
            )

    current, everything = gr.State(None), Signal("codes-everything")
    with gr.Row(elem_id="codes-ask"):
        pattern = gr.Textbox(
            label="Pattern",
            placeholder="0 · 17 · * · 5",
            max_length=MAX_PATTERN_LENGTH,
            scale=3,
            min_width=240,
            info="Codes from the first level on; * stands for any code.",
            elem_id="codes-pattern",
        )
        level = gr.Dropdown(
            [(codepanels.level_name(at, forced), at) for at in range(len(code_sizes))],
            value=None,
            label="Level",
            info="Or choose a level …",
            min_width=140,
            elem_id="codes-level",
        )
        code = gr.Dropdown(
            [], label="Code", info="… and one of its codes, by items.", min_width=180, elem_id="codes-code"
        )
    key = gr.Textbox(visible="hidden", elem_id="codes-key")
    here = Panel("codes-here")
    with gr.Row():
        with gr.Column(scale=3, min_width=320):
            icicle = Panel("codes-icicle")
        with gr.Column(scale=2, min_width=300):
            meaning = Panel("codes-meaning")
    with gr.Accordion("The codes that follow, as a table", open=False):
        table = Panel("codes-below", script="codes-table")
    with gr.Row(elem_id="codes-items-row"):
        with gr.Column(scale=3, min_width=320):
            near = Panel("codes-near", script="codes-tiles")
            items = Panel("codes-items", script="codes-tiles")
        with gr.Column(scale=2, min_width=300, elem_id="codes-picked"):
            picked = ItemCard("codes-card", context)
    with gr.Accordion("Health of the levels", open=False) as healthy:
        levels = Panel("codes-health", script="codes-table")
    with gr.Accordion("What codes say of the items’ factors", open=False) as factored:
        factors = Panel("codes-factors", script="codes-table")

    outputs = [current, pattern, key, here, icicle, near, items, picked, meaning, table]
    quick = {**QUICK, "trigger_mode": "always_last"}
    waiting = {**quick, "show_progress": "minimal", "show_progress_on": here}
    for opening in (
        pattern.submit(on_pattern, pattern, outputs, **waiting),
        open_code.sent(on_pattern, open_code, outputs, **waiting),
        code.input(on_code, [level, code], outputs, **waiting),
        everything.sent(on_pattern, everything, outputs, **waiting),
        *(panel.select(on_key, None, outputs, **waiting) for panel in (here, icicle, table)),
    ):
        links.follow(opening, "codes", code=key)
        opening.success(on_meaning, current, [meaning, icicle, table], **waiting | {"show_progress_on": meaning})
    tab.select(on_first, [current, open_code], everything, **quick)
    level.input(on_level, level, code, **quick)
    items.turn(on_page, current, items, **quick)
    for panel in (near, items):
        panel.select(on_item, None, picked, **quick)
    healthy.expand(lambda: health_of(engine.index), None, levels, **waiting | {"show_progress_on": levels})
    factored.expand(
        lambda: codepanels.factors(reported_factors(context.served.path), context.served.name),
        None,
        factors,
        **waiting | {"show_progress_on": factors},
    )
