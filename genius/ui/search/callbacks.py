"""What the Search tab does when something is asked: by the form, an example, an item, the history, another tab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from genius.collections.images import open_image
from genius.errors import UserError
from genius.examples import Example
from genius.explore.items import item_query, row_of
from genius.schema import Hit, Modality, Query, SearchOptions, SearchResult
from genius.ui.common import formatting
from genius.ui.common.components import target_of, told
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.export import exports
from genius.ui.search import history, view
from genius.ui.search.history import Entry
from genius.ui.security import abandoned

LARGEST_SIDE = 1_024  # pixels; far more than an encoder sees, and it bounds memory under load
SIDE_BY_SIDE = 4  # results of an instruction where several stand beside each other

Answers = tuple[LastQuery, ...]  # one, or one for each instruction of an example


class Asking:
    """The callbacks. Each hands back what fills the form, unless it was the form that asked, and then what `answer`
    says; `settings` are the values of its settings. Nothing of a visitor is kept here."""

    def __init__(self, context: Context):
        self.engine, self.served = context.engine, context.served
        self.weight = self.engine.decoder.config.decoder_weight
        self.forced = self.engine.quantizer.config.modality_code == "forced"

    def on_search(self, text: Any, picture: str | None, instruction: Any, stored: Any, *settings: Any):
        with told():
            image = open_image(picture, max_side=LARGEST_SIDE) if picture else None
            return self.answer([Query(text or "", image, instruction or "")], stored, settings)

    def on_example(self, event: gr.EventData, stored: Any, *settings: Any):
        """Asks an example, under all its instructions."""
        with told():
            example = picked_example(event, self.served.examples)
            query = example.queries[0]
            return *filled(query), *self.answer(example.queries, stored, settings, example=example)

    def on_item(self, id: Any, stored: Any, *settings: Any):
        """Asks what is like an item."""
        with told():
            return self.like(id, stored, settings)

    def on_asked(self, message: Any, stored: Any, *settings: Any):
        """Asks in words that another tab or the address of the page gives."""
        with told():
            known = message if isinstance(message, dict) else {}
            query = Query(known.get("text") or "", None, known.get("instruction") or "")
            return *filled(query), *self.answer([query], stored, settings)

    def on_again(self, event: gr.EventData, stored: Any, *settings: Any):
        """Asks once more what was asked before."""
        with told():
            entry = history.picked(stored, getattr(event, "index", None))
            if entry.item:
                return self.like(entry.item, stored, settings)
            query = Query(entry.text, None, entry.instruction)
            return *filled(query), *self.answer([query], stored, settings)

    def on_given(self, text: Any, picture: str | None):
        """Reorders the suggestions. It keeps their number: Gradio's list fails if it shrinks while open."""
        modality = Modality.of(text, picture) if text or picture else None
        return gr.Dropdown(choices=formatting.suggestions(self.engine.index.instructions, modality))

    def like(self, id: Any, stored: Any, settings: Sequence[Any]) -> tuple[Any, ...]:
        """The form filled by an item, and the answer. Raises UserError if there is no such item."""
        row = row_of(self.engine.index, id)
        query = item_query(self.engine.index, row)
        return *filled(query), *self.answer([query], stored, settings, item=(row, id))

    def answer(
        self,
        queries: Sequence[Query],
        stored: Any,
        settings: Sequence[Any],
        example: Example | None = None,
        item: tuple[int, str] | None = None,
    ) -> tuple[Any, ...]:
        """What search.Answered names. item: row and id of that which the query is. Raises UserError."""
        options = options_of(*settings, at_most=SIDE_BY_SIDE if len(queries) > 1 else None)
        query = queries[0]
        entry = Entry(item=item[1]) if item else Entry(query.text, query.instruction, picture=query.image is not None)
        answers = tuple(
            LastQuery(f"item {item[1]}" if item else formatting.described(query), query, options, result)
            for query, result in zip(queries, self.engine.search(queries, options, abandoned.get()), strict=True)
        )
        title = example.title if example else f"Like item {item[1]}" if item else ""
        panels = (
            self.side_by_side(example, answers)
            if example and len(answers) > 1
            else self.panels(answers, title, item and item[0])
        )
        first = next((hit.item.id for hit in answers[0].result.hits), None)
        return (*panels, None, answers, answers[0], first, history.remembered(stored, entry), *history.address(entry))

    def panels(self, answers: Answers, title: str, itself: int | None) -> tuple[Any, Any, Any]:
        """Summary, cards and generated IDs of one query."""
        (answer,) = answers
        result, rerank = answer.result, answer.options.rerank
        cards = view.cards(result, self.pictures(result), rerank, self.weight, itself)
        return (
            view.summary(result, answer.query, answer.options.modality, self.forced, title),
            {"columns": [cards], "exports": exports(answers, self.served.name)},
            view.generated(result, self.weight),
        )

    def side_by_side(self, example: Example, answers: Answers) -> tuple[Any, Any, Any]:
        """The same of several; the generated IDs are left out."""
        columns = [
            view.column(
                answer.result, answer.query, answer.options, self.pictures(answer.result), self.weight, self.forced
            )
            for answer in answers
        ]
        return (
            view.summaries([answer.result for answer in answers], example),
            {"columns": columns, "exports": exports(answers, self.served.name)},
            None,
        )

    def pictures(self, result: SearchResult) -> list[bytes | None]:
        return [self.engine.index.thumbnail(hit.row) for hit in result.hits]


def on_why(event: gr.EventData, answers: Answers) -> tuple[LastQuery, str]:
    """The query and the id of the result that a visitor wants explained."""
    with told():
        answer, hit = picked_hit(event, answers)
        return answer, hit.item.id


def picked_hit(event: gr.EventData, answers: Answers) -> tuple[LastQuery, Hit]:
    """The result that an event names by its column and id. Raises UserError if there is none."""
    column, id = getattr(event, "column", None), getattr(event, "id", None)
    if type(column) is int and 0 <= column < len(answers):
        for hit in answers[column].result.hits:
            if hit.item.id == id:
                return answers[column], hit
    raise UserError("That result is no longer there; search again.")


def picked_example(event: gr.EventData, examples: Sequence[Example]) -> Example:
    """The example that an event names. Raises UserError if there is none."""
    place = getattr(event, "index", None)
    if type(place) is not int or not 0 <= place < len(examples):
        raise UserError("There is no such example; reload the page.")
    return examples[place]


def options_of(beams: Any, k: Any, rerank: Any, mode: Any, target: Any, at_most: int | None = None) -> SearchOptions:
    """From the values of the settings. at_most: results. Raises UserError for a target that is not offered."""
    if mode == "set" and not rerank:  # then the order of the IDs counts, which only exact search gives
        mode = "exact"
    return SearchOptions(
        beams=beams, k=k if at_most is None else min(k, at_most), rerank=rerank, mode=mode, modality=target_of(target)
    )


def filled(query: Query) -> tuple[Any, Any, Any]:
    """Text, picture and instruction of the form."""
    return query.text, query.image, query.instruction
