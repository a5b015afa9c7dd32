"""The Why panel of the Search tab: the path of one result through the beam search, traced on request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from genius.errors import UserError
from genius.explore.beam_figure import beam_figure
from genius.explore.beam_tree import BeamTree, beam_tree
from genius.explore.explanation import dense_ranks, explain
from genius.schema import Hit, Modality, SearchResult
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.ui.common.components import LATEST, LATEST_WITH_PROGRESS, UNQUEUED, Panel
from genius.ui.common.context import WHY, Context, LastQuery
from genius.ui.common.figures import PlotlyFigure, base_layout
from genius.ui.common.formatting import MODALITY_NAMES, is_prefix
from genius.ui.search import why_view
from genius.ui.search.callbacks import find_hit
from genius.ui.search.newest import Newest, if_still_shown

PATHS = 10  # drawn unless all are asked for


@dataclass(frozen=True)
class TracedSearch:
    """A visitor's last search, repeated in mode exact with a trace."""

    last: LastQuery
    result: SearchResult
    tree: BeamTree
    dense_ranks: dict[str, int]  # id of a hit -> rank
    explained_id: str = ""  # of the hit that the panel explains

    @classmethod
    def of(cls, last: LastQuery, engine: Engine) -> TracedSearch:
        query = EncodedQueries.from_vectors(last.result.embedding[None], last.result.z[None])
        options = replace(last.options, mode="exact", trace=True)
        (result,) = engine.search_encoded(query, options)
        ids = [hit.item.id for hit in last.result.hits]
        rows = engine.index.rows_of(ids)  # −1: it was removed since
        ranks = dense_ranks(engine.index.embeddings, last.result.embedding, rows[rows >= 0])
        present = [id for id, row in zip(ids, rows, strict=True) if row >= 0]
        return cls(last, result, beam_tree(result.trace), dict(zip(present, ranks.tolist(), strict=True)))

    def hit(self, id: Any) -> Hit:
        """The visitor's hit of this item id, with the rank before re-ranking of exact search unless theirs was fast.

        Raises UserError if there is none.
        """
        shown_hits = self.last.result.hits
        for hit in shown_hits if self.last.result.mode == "fast" else (*self.result.hits, *shown_hits):
            if hit.item.id == id and id in self.dense_ranks:
                return hit
        raise UserError("That result is not part of your last search; search again.")


def why_panel(context: Context, cards: Panel, answers: gr.State, newest: gr.State) -> None:
    """Lay out and wire the panel, which explains the result in `Shared.explained_id`.

    answers: the searches whose results are on the cards; choosing one there opens the panel. newest: Newest.
    """
    engine, shared = context.engine, context.shared
    forced = engine.first_code_is_modality
    first_codes = [MODALITY_NAMES[modality] if forced else str(int(modality)) for modality in Modality]

    def draw(search: TracedSearch, hit: Hit, all_prefixes: bool) -> tuple[Any, ...]:
        """The beam tree as a figure and as a table."""
        tree = search.tree if all_prefixes else search.tree.best(PATHS, hit.codes)
        return base_layout(beam_figure(tree, hit.codes, first_codes)), why_view.prefixes(tree)

    def on_why(event: gr.EventData, shown_answers: Any, search: TracedSearch | None, all_prefixes: bool):
        """Explain a result that was chosen on its card."""
        answer, hit = find_hit(event, shown_answers or ())
        return answer, hit.item.id, gr.update(open=True), *explained(hit.item.id, answer, search, all_prefixes)

    def on_open(
        id: Any, last: LastQuery | None, search: TracedSearch | None, all_prefixes: bool, newest: Newest
    ) -> Any:
        """Explain the result, unless the panel shows it already: “Why?” opens the section, which asks for it again."""
        if search is not None and search.last is last and search.explained_id == id:
            return gr.skip()
        return explain_newest(id, last, search, all_prefixes, newest)

    def explained(id: Any, last: LastQuery | None, search: TracedSearch | None, all_prefixes: bool):
        """The traced search is kept until another search is to be explained."""
        if last is None or not last.result.hits:
            return [None] * 4
        if search is None or search.last is not last:
            search = TracedSearch.of(last, engine)
        hit = search.hit(id)
        shown_hit = next(one for one in last.result.hits if one.item.id == id)
        hit = replace(hit, rank=shown_hit.rank, shares=shown_hit.shares)  # the ranker's, as the visitor's search had it
        reason = explain(hit, search.tree, engine.index.n, search.dense_ranks[id])
        explanation = why_view.explanation(
            reason,
            search.tree,
            last.result.query_codes,
            len(search.result.generated),
            last.options.rerank,
            last.result.mode,
            first_codes,
        )
        return replace(search, explained_id=id), explanation, *draw(search, hit, all_prefixes)

    explain_newest = if_still_shown(explained, "why")

    def on_every(id: Any, search: TracedSearch | None, all_prefixes: bool):
        return [gr.skip()] * 2 if search is None else draw(search, search.hit(id), all_prefixes)

    def on_prefix(event: gr.EventData) -> str | None:
        """Open Codes at the prefix that was clicked, in the tree or in a table; at none for anything else."""
        prefix = getattr(event, "value", None)
        return prefix if is_prefix(prefix) else None

    search = gr.State(None)
    with gr.Accordion("Why this result?", open=False, elem_id=WHY) as section:
        panel = Panel("why", "search/why.js")
        figure = PlotlyFigure(
            "why-tree",
            "The beam tree: which prefixes the search considered, level by level. The table below has the same data.",
            after_text=True,
        )
        all_prefixes = gr.Checkbox(
            False,
            label="Draw every beginning of an ID that was considered",
            elem_id="why-every",
            info=f"Otherwise only the ways to the {PATHS} best IDs and to this result",
        )
        with gr.Accordion("The tree as a table", open=False, elem_id="why-rows"):
            table = Panel("why-prefixes", "search/why_prefixes.js")

    inputs, outputs = [shared.explained_id, shared.last_query, search, all_prefixes], [search, panel, figure, table]
    event_options = {**LATEST_WITH_PROGRESS, "show_progress_on": panel}
    for trigger in (section.expand, shared.searched.while_open(WHY)):
        trigger(on_open, [*inputs, newest], outputs, **event_options)
    chosen_outputs = [shared.last_query, shared.explained_id, section]
    cards.why(
        if_still_shown(on_why, "why"),
        [answers, search, all_prefixes, newest],
        [*chosen_outputs, *outputs],
        **event_options,
    )
    all_prefixes.change(
        if_still_shown(on_every, "why", chooses=False),
        [shared.explained_id, search, all_prefixes, newest],
        [figure, table],
        **LATEST,
    )
    for drawing in (panel, figure, table):
        drawing.select(on_prefix, None, shared.open_code, **UNQUEUED)
