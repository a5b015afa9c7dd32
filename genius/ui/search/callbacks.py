"""What the Search tab does: it searches for the form, an example, an item, a past search or another tab."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import gradio as gr
from PIL.Image import Image

from genius.errors import UserError, quoted
from genius.examples import Example, find_example
from genius.explore.items import item_query, row_of
from genius.schema import Hit, Modality, Query, SearchOptions, SearchResult
from genius.ui.common import formatting
from genius.ui.common.components import SCOPES, UploadCache, part_of, target_of
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.export import FILE_NAME, exports, saved_page
from genius.ui.gradio_hooks import upload_path
from genius.ui.monitoring import record_search
from genius.ui.search import view
from genius.ui.search.history import SETTINGS, Asked, SearchRequest, quoted_label, read_entries
from genius.ui.search.strip import follow, initial_rank

# Values of the form: text, picture and instruction; no box, because the whole picture is searched; and the id of the
# item whose picture it is, if it is one
EMPTY_FORM = ("", None, "", None, "")
SHORT_ASKS = ("What is this?", "Similar", "Describe it")  # of a run that reads words, and suggests none of its own
RESULTS_PER_COLUMN = 4  # results of each instruction if several are shown side by side
MAX_SHOWN_TEXT = 120  # characters of a past search

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
    address: Any  # of the page, as Shared.address


class SearchCallbacks:
    """The callbacks of one page; `settings` are the values of the settings. They keep nothing of a visitor but the last
    uploads, for a while."""

    def __init__(self, context: Context, defaults: Sequence[Any] = ()):
        """defaults: the run's own values of the settings; the address of a search names others."""
        self.defaults = defaults
        self.engine, self.served, self.namer = context.engine, context.served, context.namer
        self.default_instruction, self.notes = context.default_instruction, context.notes
        self.uploads = UploadCache()
        self.weight = self.engine.decoder.config.decoder_weight
        self.forced = self.engine.first_code_is_modality

    def on_search(self, text: Any, picture: str | None, instruction: Any, box: Any, pictured: Any, *settings: Any):
        """Search for the form. box: the part of the picture that the visitor marked. pictured: id of the item whose
        picture it is; empty for one of the visitor's own. A part of an item's picture is the visitor's own: no address
        names it."""
        return self.search_form(text, picture, instruction, box, pictured, settings)

    def on_reading(self, event: gr.EventData, *form: Any):
        """Search for the form, read as the visitor says; form: the arguments of `on_search`."""
        return self.search_form(*form[:5], form[5:], str(getattr(event, "reading", "")))

    def search_form(
        self,
        text: Any,
        picture: str | None,
        instruction: Any,
        box: Any,
        pictured: Any,
        settings: Sequence[Any],
        reading: str = "",
    ) -> SearchOutputs:
        """As `on_search`; reading: chosen in place of what is read."""
        part = part_of(box)
        origin = {"upload": picture, "part": box if part else None} if picture else {}
        if picture and pictured and part is None:
            origin = {"picture": pictured}
        asked = Asked(text or "", instruction or "", reading=reading, **origin)
        return self.search(self.request(asked), settings)

    def on_quick(
        self, event: gr.EventData, text: Any, picture: str | None, box: Any, pictured: Any, *settings: Any
    ) -> tuple[Any, ...]:
        """Ask what was offered for the picture of the form, for whatever kind of result it asks for. Where the run
        reads words it takes their place, so that what is typed later is asked, not added."""
        offered = str(getattr(event, "instruction", ""))
        text, instruction = (offered, "") if self.engine.has_reader else (text, offered)
        found = self.on_search(text, picture, instruction, box, pictured, *of_any_kind(settings))
        return text, instruction, "any", *found

    def on_ask(
        self, message: Any, text: Any, instruction: Any, last: LastQuery | None, *settings: Any
    ) -> tuple[Any, ...]:
        """Search for what a part of the page, another tab, the history or the address asks for; returns the values of
        the form, of the settings and of `SearchOutputs`.

        message: fields of `Asked`; without any the page is emptied. keep: with the words of the form, its instruction,
        or the one that the page gave, and the kind of result; others say themselves what they want. restored: the
        address asks, so the settings are the run's own where it names none. typed: what the form held before the page
        was loaded again.
        """
        fields = message if isinstance(message, dict) else {}
        asked, shown = Asked.read(fields), [gr.skip()] * len(settings)
        if asked.settings or fields.get("restored"):
            shown = settings = asked.setting_values(self.defaults)
        elif fields.get("keep"):
            asked = replace(asked, q=text or "", instruction=instruction or (last.query.instruction if last else ""))
        else:
            shown, settings = of_any_kind(shown), of_any_kind(settings)
        if asked.upload:
            asked = replace(asked, upload=upload_path({"path": asked.upload}))
        nothing = asked == Asked(part=asked.part, settings=asked.settings)
        form, found = (EMPTY_FORM, self.nothing()) if nothing else self.fill(asked, settings)
        typed = fields.get("typed")
        if isinstance(typed, list) and len(typed) == 2 and all(isinstance(value, str) for value in typed):
            form = typed[0], form[1], typed[1], *form[3:]
        return *form, *shown, *found

    def nothing(self) -> SearchOutputs:
        """No search."""
        nothing = SearchOutputs(*[None] * len(SearchOutputs._fields))
        return nothing._replace(answers=(), address={"search": {}})

    def on_other_picture(self, answers: Answers):
        """A new picture, or none, leaves no old question and answer beside it."""
        return (None, *self.nothing()) if answers else gr.skip()

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
        about, has_reader = self.served.about, self.engine.has_reader
        suggestions = about.ask if has_reader else about.instructions_for(modality)
        if not suggestions:
            suggestions = SHORT_ASKS if has_reader else formatting.shortest_instructions(instructions, modality)
        return dropdown, {"instructions": list(suggestions)} if suggestions else None

    def on_save_page(self, answers: Answers) -> dict[str, str]:
        """The last search as an HTML file. Raises UserError if there is none, or of another version of the index."""
        if not answers:
            raise UserError("There is no search to save yet; search first.")
        answers[0].check_version(self.engine.index)
        rows = {hit.row for answer in answers for hit in answer.result.hits}
        pictures = {row: self.engine.index.thumbnail(row) for row in rows}
        strips = [follow(self.namer, answers, column, initial_rank(answer))[0] for column, answer in enumerate(answers)]
        text = saved_page(answers, self.served.name, pictures, datetime.now(), strips, self.namer.labels())
        return {"name": FILE_NAME, "type": "text/html;charset=utf-8", "text": text}

    def fill(self, asked: Asked, settings: Sequence[Any]) -> tuple[tuple[Any, ...], SearchOutputs]:
        """The values of the form for a search, and the search. An instruction of the page is not written into it."""
        request = self.request(asked)
        query, pictured = request.query, asked.picture or (asked.item if request.query.image else "")
        instruction = query.instruction if request.example else asked.instruction
        form = query.text, asked.upload or query.image, instruction, None, pictured
        return form, self.search(request, settings)

    def request(self, asked: Asked) -> SearchRequest:
        """The queries of a search, with an instruction of the page where it has none. Raises UserError for items,
        examples and pictures that are not there."""
        index = self.engine.index
        if asked.example:
            example = find_example(asked.example, self.served.examples)
            return SearchRequest(example.queries, asked, example)
        if asked.item:
            row = row_of(index, asked.item)
            query, item = item_query(index, row), index.items([row])[0]
            if item.modality == Modality.IMAGE and self.engine.has_reader:
                query = replace(query, reading="similar")
            return SearchRequest([query], asked, item=item, row=row)
        image = self.item_picture(asked.picture) if asked.picture else None
        if asked.upload:
            image = self.uploads.open(asked.upload, part_of(asked.part))
        used = asked.instruction or self.default_instruction(asked.q, image)
        return SearchRequest([Query(asked.q, image, used, asked.reading)], replace(asked, instruction=used))

    def item_picture(self, id: Any) -> Image:
        """The picture of an item. Raises UserError if it has none, or was removed."""
        with suppress(UserError):
            if image := item_query(self.engine.index, row_of(self.engine.index, id)).image:
                return image
        raise UserError("The item whose picture you search with has none, or was removed; choose another picture.")

    def search(self, request: SearchRequest, settings: Sequence[Any]) -> SearchOutputs:
        """Search, and return what the tab shows. Raises UserError."""
        several = len(request.queries) > 1
        options = search_options(*settings, at_most=RESULTS_PER_COLUMN if several else None)
        query, traced = request.query, replace(options, trace=True)
        with record_search(query, self.engine.resolved(options).mode, len(request.queries)):
            if request.row is None or self.engine.has_encoder:
                results = self.engine.search(request.queries, traced)
            else:
                results = self.engine.search_encoded(self.engine.vectors_of(request.row), traced)
        small = query.image and formatting.small_copy(query.image)  # shown in a saved page, and never searched again
        version = self.engine.index.folder.name
        answers = tuple(
            LastQuery(request.describe(asked), replace(asked, image=small), options, result, version)
            for asked, result in zip(request.queries, results, strict=True)
        )
        summary, *panels = self.side_by_side(request.example, answers) if several else self.panels(request, answers[0])
        first = next((hit.item.id for hit in answers[0].result.hits), None)
        return SearchOutputs(
            summary | {"exports": exports(answers, self.served.name)},
            *panels,
            None,
            *follow(self.namer, answers, 0, initial_rank(answers[0])),
            answers=answers,
            last_query=answers[0],
            explained_id=first,
            searched=True,
            address={"search": request.asked.with_settings(settings, self.defaults).fields()},
        )

    def panels(self, request: SearchRequest, answer: LastQuery) -> tuple[Any, Any, Any]:
        """Summary, cards and generated IDs of one query."""
        result, chosen_weight = answer.result, answer.options.decoder_weight
        weight = self.weight if chosen_weight is None else chosen_weight
        summary = view.summary(result, request, answer.options.modality, self.forced, weight, self.engine.index.n)
        summary["notes"] = self.notes(request.query, result, answer.options.added)
        cards = view.cards(result, self.pictures(result), result.order != "score", request.row)
        return summary, {"columns": [cards]}, view.generated(result, weight)

    def side_by_side(self, example: Example, answers: Answers) -> tuple[Any, Any, Any]:
        """Summary and cards of several instructions side by side; None for the generated IDs, which are not shown."""
        columns = [
            view.column(answer.result, answer.query, answer.options, self.pictures(answer.result), self.forced)
            for answer in answers
        ]
        return view.summaries([answer.result for answer in answers], example), {"columns": columns}, None

    def on_history(self, stored: Any) -> dict[str, Any]:
        """What the history shows, when it is opened and, while it is open, after each search. stored: as the browser
        keeps it."""
        return {"entries": [self.past(entry) for entry in read_entries(stored)]}

    def past(self, entry: Asked) -> dict[str, Any]:
        """An entry of the history as history.js draws it."""
        label, picture, instruction = "", None, entry.instruction
        with suppress(UserError):  # it was removed, which the history says then
            if entry.example:
                example = find_example(entry.example, self.served.examples)
                label, instruction = example.title, example.instructions[0].instruction
                picture = example.picture and formatting.small_webp(example.picture)
            elif id := entry.item or entry.picture:
                row = row_of(self.engine.index, id)
                label, picture = quoted_label(self.engine.index.items([row])[0]), self.engine.index.thumbnail(row)
        return {
            "title": past_title(entry, label),
            "thumbnail": formatting.data_uri(picture) if picture else None,
            "instruction": instruction,
            "picture": entry.unkept,
            "asked": entry.fields(),
        }

    def pictures(self, result: SearchResult) -> list[bytes | None]:
        return [self.engine.index.thumbnail(hit.row) for hit in result.hits]


def past_title(entry: Asked, label: str) -> str:
    """What was asked, in words. label: of its item or example; empty if that was removed."""
    if entry.example:
        return f"Example “{label}”" if label else "An example that was removed"
    label = label or "an item that was removed"
    if entry.item:
        return f"Like {label}"
    words = f"“{formatting.excerpt(entry.q, MAX_SHOWN_TEXT)}”" if entry.q else ""
    return " and ".join(filter(None, [words, f"the picture of {label}" if entry.picture else ""]))


def of_any_kind(settings: Sequence[Any]) -> list[Any]:
    """The settings, but for any kind of result."""
    return ["any" if name == "kind" else value for name, value in zip(SETTINGS, settings, strict=False)]


def find_hit(event: gr.EventData, answers: Answers) -> tuple[LastQuery, Hit]:
    """The hit with the column and id of an event. Raises UserError if there is none."""
    column, id = getattr(event, "column", None), getattr(event, "id", None)
    if type(column) is int and 0 <= column < len(answers):
        for hit in answers[column].result.hits:
            if hit.item.id == id:
                return answers[column], hit
    raise UserError("That result is no longer there; search again.")


def search_options(
    beams: Any,
    k: Any,
    order: Any,
    mode: Any,
    target: Any,
    weight: Any = None,
    scope: Any = "everything",
    at_most: int | None = None,
) -> SearchOptions:
    """The options of a search, from the values of the settings. weight: of the decoder against geometry; None: the
    run's. scope: one of SCOPES. at_most: limit of results. Raises UserError for an unknown target or scope."""
    if scope not in SCOPES:
        raise UserError(f"What is searched must be one of {', '.join(SCOPES)}, not {quoted(scope)}.")
    return SearchOptions(
        beams=beams,
        k=min(k, at_most) if at_most and type(k) is int else k,
        mode=mode,
        order=order,
        modality=target_of(target),
        decoder_weight=weight,
        added=SCOPES[scope],
    )
