"""What the Search tab does: it searches for the form, an example, an item, a past search or another tab."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import gradio as gr
from PIL.Image import Image

from genius.errors import UserError
from genius.examples import Example, find_example
from genius.explore.items import item_query, row_of
from genius.explore.query_notes import query_notes
from genius.schema import Hit, Modality, Query, SearchOptions, SearchResult
from genius.ui.common import formatting
from genius.ui.common.about import default_instruction
from genius.ui.common.components import UploadCache, part_of, target_of
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.export import exports
from genius.ui.common.saved_page import FILE_NAME, saved_page
from genius.ui.gradio_hooks import upload_path
from genius.ui.monitoring import record_search
from genius.ui.search import history, view
from genius.ui.search.history import SearchRequest, quoted_label
from genius.ui.search.strip import follow, initial_rank

RESULTS_PER_COLUMN = 4  # results of each instruction if several are shown side by side
NO_ADDRESS = "The address of this page does not include your picture."

Answers = tuple[LastQuery, ...]  # one, or one for each instruction of an example


class SearchOutputs(NamedTuple):
    """The outputs of a search: as components in the layout, as values in a callback."""

    summary: Any
    cards: Any
    generated: Any
    blend: Any
    strip: Any
    strip_state: Any
    strip_found: Any
    answers: Any
    last_query: Any
    explained_id: Any  # id of the first result
    searched: Any
    stored: Any  # the history in the browser
    address: Any  # of the page, as Shared.address


class SearchCallbacks:
    """The callbacks of one page. Those that search return the values of the form (`form_values`; `on_quick` the
    instruction alone, and nothing if the form itself was submitted) and then those of `SearchOutputs`; `settings` are
    the values of the settings. They keep nothing of a visitor but the last uploads, for a while."""

    def __init__(self, context: Context):
        self.engine, self.served, self.namer = context.engine, context.served, context.namer
        self.uploads = UploadCache()
        self.weight = self.engine.decoder.config.decoder_weight
        self.forced = self.engine.first_code_is_modality

    def on_search(
        self, text: Any, picture: str | None, instruction: Any, box: Any, pictured: Any, stored: Any, *settings: Any
    ):
        """Search for the form. box: the part of the picture that the visitor marked. pictured: id of the item whose
        picture it is; empty for one of the visitor's own. A part of an item's picture is the visitor's own: no address
        names it."""
        part = part_of(box)
        if picture and pictured and part is None:
            image, origin = self.picture_in_form(pictured), {"pictured": pictured}
        else:
            image = self.uploads.open(picture, part) if picture else None
            origin = {"upload": picture or "", "part": box if picture and part else None}
        return self.search(self.request(text or "", image, instruction or "", **origin), stored, settings)

    def on_example(self, event: gr.EventData, stored: Any, *settings: Any):
        """Run an example with all its instructions."""
        return self.on_run_example(getattr(event, "index", None), stored, *settings)

    def on_run_example(self, number: Any, stored: Any, *settings: Any):
        example = find_example(number, self.served.examples)
        request = SearchRequest(example.queries, example=example, example_number=number)
        return *form_values(request.query), *self.search(request, stored, settings)

    def on_item(self, id: Any, stored: Any, *settings: Any):
        """Search with an item as the query."""
        return self.search_item(id, stored, settings)

    def on_ask(self, message: Any, stored: Any, *settings: Any):
        """Search for what the address of the page asks for: words, the picture of an item or an upload beside them, an
        item, or an example. Nothing empties the page. typed: what the form held before the page was loaded again."""
        asked = message if isinstance(message, dict) else {}
        words = asked.get("q") or "", asked.get("instruction") or ""
        if asked.get("example"):
            number = str(asked["example"])
            found = self.on_run_example(int(number) if number.isdecimal() else None, stored, *settings)
        elif asked.get("item"):
            found = self.search_item(asked["item"], stored, settings)
        elif asked.get("upload"):
            form = words[0], upload_path({"path": asked["upload"]}), words[1]
            found = *form, None, "", *self.on_search(*form, asked.get("part"), "", stored, *settings)
        elif asked.get("picture"):
            found = self.search_with_picture(asked["picture"], *words, stored, settings)
        elif any(words):
            found = self.search_words(*words, stored, settings)
        else:
            found = *form_values(Query()), *self.nothing(stored)
        typed = asked.get("typed")
        if isinstance(typed, list) and len(typed) == 2 and all(isinstance(value, str) for value in typed):
            found = typed[0], found[1], typed[1], *found[3:]
        return found

    def nothing(self, stored: Any) -> SearchOutputs:
        """No search."""
        nothing = SearchOutputs(*[None] * len(SearchOutputs._fields))
        return nothing._replace(answers=(), stored=stored, address={"search": {}})

    def on_other_picture(self, answers: Answers, stored: Any):
        """A new picture, or none, leaves no old question and answer beside it."""
        return (None, *self.nothing(stored)) if answers else gr.skip()

    def on_history(self, event: gr.EventData, stored: Any, *settings: Any):
        """Repeat a past search."""
        entry = history.entry_at(stored, getattr(event, "index", None))
        if entry.example is not None:
            return self.on_run_example(entry.example, stored, *settings)
        if entry.item:
            return self.search_item(entry.item, stored, settings)
        if entry.pictured:
            return self.search_with_picture(entry.pictured, entry.text, entry.instruction, stored, settings)
        return self.search_words(entry.text, entry.instruction, stored, settings)

    def on_quick(
        self, event: gr.EventData, text: Any, picture: str | None, box: Any, pictured: Any, stored: Any, *settings: Any
    ):
        """Search with an instruction that was offered for the picture of the form."""
        instruction = str(getattr(event, "instruction", ""))
        return instruction, *self.on_search(text, picture, instruction, box, pictured, stored, *settings)

    def on_picture(
        self, event: gr.EventData, text: Any, instruction: Any, last: LastQuery | None, stored: Any, *settings: Any
    ):
        """Search with the picture of a result; text and instruction stay, also one that the page gave."""
        instruction = instruction or (last.query.instruction if last else "")
        return self.search_with_picture(getattr(event, "id", None), text or "", instruction, stored, settings)

    def on_upload(self, picture: str | None) -> None:
        """Encode an uploaded picture while its visitor still writes."""
        if picture:
            with suppress(UserError):  # which the search will raise again, where it can be shown
                self.engine.cache_image(self.uploads.open(picture, None))

    def on_kind(self, kind: Any):
        """Reorder the suggested instructions for a kind of query, and offer some for a picture. kind: one of TARGETS.

        The number of suggestions stays: Gradio's list fails if it shrinks while open. Raises UserError for other kinds.
        """
        instructions, modality = self.engine.index.instructions, target_of(kind)
        dropdown = gr.Dropdown(choices=formatting.suggest_instructions(instructions, modality))
        if modality not in (Modality.IMAGE, Modality.PAIR):
            return dropdown, None
        suggestions = self.served.about.instructions_for(modality)
        suggestions = suggestions or formatting.shortest_instructions(instructions, modality)
        return dropdown, {"instructions": list(suggestions)} if suggestions else None

    def on_save_page(self, answers: Answers) -> dict[str, str]:
        """The last search as an HTML file. Raises UserError if there is none, or of another version of the index."""
        if not answers:
            raise UserError("There is no search to save yet; search first.")
        answers[0].check_version(self.engine.index)
        rows = {hit.row for answer in answers for hit in answer.result.hits}
        pictures = {row: self.engine.index.thumbnail(row) for row in rows}
        strips = [
            follow(self.engine, self.namer, answers, column, initial_rank(answer))[0]
            for column, answer in enumerate(answers)
        ]
        text = saved_page(answers, self.served.name, pictures, datetime.now(), strips, self.namer.labels())
        return {"name": FILE_NAME, "type": "text/html;charset=utf-8", "text": text}

    def search_words(self, text: Any, instruction: Any, stored: Any, settings: Sequence[Any]) -> tuple[Any, ...]:
        """Fill the form with a text and an instruction, and search."""
        request = self.request(text, None, instruction)
        return *form_values(replace(request.query, instruction=instruction)), *self.search(request, stored, settings)

    def search_item(self, id: Any, stored: Any, settings: Sequence[Any]) -> tuple[Any, ...]:
        """Fill the form with an item and search. Raises UserError if there is no such item."""
        row = row_of(self.engine.index, id)
        query, (item,) = item_query(self.engine.index, row), self.engine.index.items([row])
        request = SearchRequest([query], item=item, row=row)
        form = form_values(query, pictured=item.id if query.image else "")
        return *form, *self.search(request, stored, settings)

    def search_with_picture(
        self, id: Any, text: Any, instruction: Any, stored: Any, settings: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Fill the form with the picture of an item beside these words, and search. Raises UserError if it has none."""
        image = item_query(self.engine.index, row_of(self.engine.index, id)).image
        if image is None:
            raise UserError("That item is a text without a picture; choose another one.")
        request = self.request(text, image, instruction, pictured=id)
        form = form_values(replace(request.query, instruction=instruction), pictured=id)
        return *form, *self.search(request, stored, settings)

    def picture_in_form(self, id: Any) -> Image:
        """The picture of an item, which stands in the form, as its address will find it again. Raises UserError if the
        item was removed since."""
        with suppress(UserError):
            if image := item_query(self.engine.index, row_of(self.engine.index, id)).image:
                return image
        raise UserError("The item whose picture you search with was removed; choose another picture.")

    def request(self, text: str, image: Image | None, instruction: str, **origin: Any) -> SearchRequest:
        """A request of one query, with an instruction of the page where the visitor gave none."""
        used = instruction or default_instruction(self.served.about, text, image)
        return SearchRequest([Query(text, image, used)], **origin)

    def search(self, request: SearchRequest, stored: Any, settings: Sequence[Any]) -> SearchOutputs:
        """Search, and return what the tab shows. Raises UserError."""
        several = len(request.queries) > 1
        options = search_options(*settings, at_most=RESULTS_PER_COLUMN if several else None)
        query = request.query
        with record_search(query, self.engine.resolved(options).mode, len(request.queries)):
            results = self.engine.search(request.queries, replace(options, trace=True))
        small = query.image and formatting.small_copy(query.image)  # shown in a saved page, and never searched again
        answers = tuple(
            LastQuery(
                request.describe(asked), replace(asked, image=small), options, result, self.engine.index.folder.name
            )
            for asked, result in zip(request.queries, results, strict=True)
        )
        panels = self.side_by_side(request.example, answers) if several else self.panels(request, answers)
        first = next((hit.item.id for hit in answers[0].result.hits), None)
        return SearchOutputs(
            *panels,
            None,
            *follow(self.engine, self.namer, answers, 0, initial_rank(answers[0])),
            answers=answers,
            last_query=answers[0],
            explained_id=first,
            searched=True,
            stored=history.add_entry(stored, request.entry()),
            address={"search": request.address()},
        )

    def panels(self, request: SearchRequest, answers: Answers) -> tuple[Any, Any, Any]:
        """Summary, cards and generated IDs of one query."""
        (answer,) = answers
        result, chosen_weight = answer.result, answer.options.decoder_weight
        weight = self.weight if chosen_weight is None else chosen_weight
        cards = view.cards(result, self.pictures(result), result.order != "score", request.row)
        summary = view.summary(result, request, answer.options.modality, self.forced, weight, self.engine.index.n)
        about = self.served.about.paragraphs
        english = any("English" in paragraph for paragraph in about)
        summary["notes"] = query_notes(self.engine, request.query, result.match, next(iter(about), ""), english)
        return (
            summary | {"address": NO_ADDRESS if request.upload else "", "exports": exports(answers, self.served.name)},
            {"columns": [cards]},
            view.generated(result, weight),
        )

    def side_by_side(self, example: Example, answers: Answers) -> tuple[Any, Any, Any]:
        """Summary and cards of several instructions side by side; None for the generated IDs, which are not shown."""
        columns = [
            view.column(answer.result, answer.query, answer.options, self.pictures(answer.result), self.forced)
            for answer in answers
        ]
        return (
            view.summaries([answer.result for answer in answers], example)
            | {"exports": exports(answers, self.served.name)},
            {"columns": columns},
            None,
        )

    def on_stored(self, stored: Any) -> dict[str, Any]:
        """What the history shows, when it is opened and, while it is open, after each search."""
        entries, index = history.read_entries(stored), self.engine.index
        ids = [entry.item or entry.pictured for entry in entries]
        rows = [int(row) for row in index.rows_of(ids)] if ids else []
        labels = {row: quoted_label(index.items([row])[0]) for row in {*rows} if row >= 0}
        pictures = {row: index.thumbnail(row) for row in labels}
        items = [(labels.get(row), pictures.get(row)) for row in rows]
        for place, entry in enumerate(entries):
            if entry.example is not None:
                with suppress(UserError):  # it was removed, which is what the history says then
                    example = find_example(entry.example, self.served.examples)
                    items[place] = example.title, example.picture and formatting.small_webp(example.picture)
        return history.history_view(entries, items)

    def pictures(self, result: SearchResult) -> list[bytes | None]:
        return [self.engine.index.thumbnail(hit.row) for hit in result.hits]


def find_hit(event: gr.EventData, answers: Answers) -> tuple[LastQuery, Hit]:
    """The hit with the column and id of an event. Raises UserError if there is none."""
    column, id = getattr(event, "column", None), getattr(event, "id", None)
    if type(column) is int and 0 <= column < len(answers):
        for hit in answers[column].result.hits:
            if hit.item.id == id:
                return answers[column], hit
    raise UserError("That result is no longer there; search again.")


def search_options(
    beams: Any, k: Any, order: Any, mode: Any, target: Any, weight: Any = None, at_most: int | None = None
) -> SearchOptions:
    """The options of a search, from the values of the settings. weight: of the decoder against geometry; None: the
    run's. at_most: limit of results. Raises UserError for an unknown target."""
    return SearchOptions(
        beams=beams,
        k=k if at_most is None else min(k, at_most),
        mode="both" if mode in ("exact", "set", "fast") else mode,  # of a page that was opened before an update
        order=order,
        modality=target_of(target),
        decoder_weight=weight,
    )


def form_values(query: Query, pictured: str = "") -> tuple[Any, Any, Any, None, str]:
    """The values of the form: text, picture and instruction; no box, because the whole picture is searched; and the id
    of the item whose picture it is, if it is one."""
    return query.text, query.image, query.instruction, None, pictured
