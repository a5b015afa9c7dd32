"""The blend panel: how the generated ID and the results change from the query to one of its results."""

from dataclasses import replace
from typing import Any

import gradio as gr

from genius.explore.items import WEIGHTS, interpolate, row_of
from genius.ui.common import formatting
from genius.ui.common.components import SEARCHES, UNQUEUED, Panel
from genius.ui.common.context import Context
from genius.ui.search.callbacks import find_hit
from genius.ui.search.newest import if_still_shown
from genius.ui.search.strip import best_codes, column, items_by_row, narrowed

RESULTS_PER_STEP = 6


def blend_panel(context: Context, cards: Panel, answers: gr.State, newest: gr.State) -> Panel:
    """The panel, filled by the event `blend` of the cards. answers: the searches that these show. newest: Newest."""
    engine = context.engine
    forced = engine.first_code_is_modality

    def on_blend(event: gr.EventData, shown_answers: Any) -> dict[str, Any]:
        """What blend.js draws."""
        answer, hit = find_hit(event, shown_answers)
        options = replace(answer.options, k=min(answer.options.k, RESULTS_PER_STEP), trace=True)
        row = row_of(engine.index, hit.item.id)
        results = interpolate(engine, answer.result, row, options)
        ids = [best_codes(result) for result in results]
        traced = [result for result in (results[0], results[-1]) if result.trace is not None]
        ends = [narrowed(engine, answer, result, best_codes(result)) for result in traced]
        rows = {row} | {hit.row for result in results for hit in result.hits}
        rows |= {item_row for end in ends for step in end.steps for item_row in step.shown}
        return {
            "query": answer.description,
            "item": row,
            "steps": [
                {
                    "weight": formatting.number(weight, 2),
                    "codes": list(codes),
                    "query": formatting.shared_prefix(codes, ids[0]),
                    "item": formatting.shared_prefix(codes, hit.codes),
                    "same": codes == before,
                    "rows": [hit.row for hit in result.hits],
                }
                for weight, result, codes, before in zip(WEIGHTS, results, ids, [None, *ids], strict=False)
            ],
            "strips": [  # of the query alone and of the result alone
                {
                    "name": name,
                    "columns": [column(end.codes[:level], step, end.items, forced, {}) for level, step in levels],
                }
                for name, end in zip(("Query", "Result"), ends, strict=False)
                if (levels := [*enumerate(end.steps)])
            ],
            "items": {str(at): formatting.item_view(*shown) for at, shown in items_by_row(engine, rows).items()},
        }

    panel = Panel("blend", "search/blend.js")
    cards.blend(
        if_still_shown(on_blend),
        [answers, newest],
        panel,
        show_progress="minimal",
        show_progress_on=panel,
        trigger_mode="always_last",
        api_visibility="private",
        **SEARCHES,
    )
    panel.closed(lambda: None, None, panel, **UNQUEUED)
    return panel
