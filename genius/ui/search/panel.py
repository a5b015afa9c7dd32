"""The Search tab: answers, the steps of their IDs, why a result came, and blends."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import gradio as gr

from genius.errors import UserError, quoted
from genius.explore.items import WEIGHTS, interpolate, row_of
from genius.schema import Modality, Query, SearchOptions, SearchResult
from genius.ui.common import formatting
from genius.ui.common.context import Context, Panel
from genius.ui.common.export import FILE_NAME, exports, saved_page, search_fields
from genius.ui.common.queries import open_upload, target_of, upload_path
from genius.ui.monitoring import record_search
from genius.ui.search import view
from genius.ui.search.strip import (
    best_codes,
    branched,
    column,
    follow,
    initial_rank,
    items_by_row,
    narrowed,
)
from genius.ui.search.why import Explainer

RESULTS_PER_STEP = 6  # of a blend
FORMS = ("csv", "json", "html")


def panel(context: Context) -> Panel:
    search = Search(context)
    calls: list[Callable[..., Any]] = [
        search.show,
        search.steps,
        search.why,
        search.blend,
        search.save,
        search.warm,
    ]
    return Panel(endpoints=[search.search], calls=calls)


class Search:
    """Keeps nothing of a visitor but the last answers, for a while (searches.py)."""

    def __init__(self, context: Context):
        self.context = context
        self.engine = context.engine
        self.served = context.served
        self.searches, self.namer = context.searches, context.namer
        self.explainer = Explainer(context)
        self.forced = self.engine.first_code_is_modality

    def search(
        self,
        text: str = "",
        picture: gr.FileData | None = None,
        instruction: str = "",
        k: int = 10,
        beams: int = 50,
        modality: str = "any",
        order: str = "",
        mode: str = "both",
        added: bool = False,
        reading: str = "",
    ) -> dict:
        """Search with words, a picture or both: generate IDs and scan them all, then rank the
        items.

        Returns hits, best first, with the log-probability of each of their codes and the items that
        show the same photograph, a word for how well they match (good, fair or weak), notes on what
        was not read as it may be meant, generated IDs, the query's own codes, the probability of
        each first code, times, how the words were read, and the instruction that was used.

        text: what is wanted, in your own words: similar, the same in red, a street without cars,
        what is this. picture: a PNG, JPEG or WebP file. instruction: what kind of result is wanted,
        where the text is to say what is sought alone. k: how many results at most. beams: how many
        beginnings of IDs are followed at once. modality: any, image, text or pair. order: fused
        features, cosine of the embeddings, as published, or score of the ID; fused by default where
        the index has them. mode: both, generate or scan. added: only items that were added since
        training. reading: photo, entry, caption, similar, change, answer, paraphrase or page, in
        place of how the words are read; none to take them as they stand.
        """
        image = open_upload(upload_path(picture)) if picture else None
        options = SearchOptions(beams, k, mode, order or None, target_of(modality), added=added)
        used = instruction or self.context.default_instruction(text, image)
        query = Query(text, image, used, reading)
        with record_search(query, self.engine.resolved(options).mode):
            (result,) = self.engine.search([query], options)
        return search_fields(result) | {
            "modality_probabilities": modality_probabilities(result),
            "instruction": used,
            "notes": self.context.notes(query, result, added),
        }

    def show(self, search: dict) -> dict:
        """What the page shows of a search; search: as its address has it."""
        request, answers = self.searches.answered(search)
        first = answers[0]
        if request.example and len(answers) > 1:
            summary = view.summaries([answer.result for answer in answers], request.example)
            columns = [
                view.column(answer.result, answer.query, answer.options, self.forced)
                for answer in answers
            ]
            generated = None
        else:
            weight = first.options.decoder_weight
            assert weight is not None  # a setting of the page
            summary = view.summary(
                first.result,
                request,
                first.options.modality,
                self.forced,
                weight,
                self.engine.index.n,
            )
            summary["notes"] = self.context.notes(request.query, first.result, first.options.added)
            columns = [view.cards(first.result, first.result.order != "score", request.row)]
            generated = view.generated(first.result, weight)
        picture = request.item or request.asked.picture
        return {
            "summary": summary,
            "columns": columns,
            "generated": generated,
            "strip": follow(self.namer, answers, 0, initial_rank(first)),
            "title": first.description,
            "form": {
                "text": request.query.text,
                "instruction": request.instruction,
                "picture": request.picture_address,
            },
            "past": past_title(request),
            "unkept": bool(request.asked.upload),
            "from_item": bool(picture),
            "version": first.version,
        }

    def steps(
        self, search: dict, column: int = 0, rank: int = 0, branches: list | None = None
    ) -> dict:
        """How an ID narrows down the collection.

        rank: of the result whose ID it is; 0: the best generated one. branches: codes that are
        chosen in place of the search's, as [level, code].
        """
        answers = self.searches.answers(search)
        if branches:
            return branched(self.namer, answers, column, rank or None, branches)
        return {"strip": follow(self.namer, answers, column, rank or None), "found": None}

    def why(self, search: dict, id: str, column: int = 0) -> dict:
        """Why a result of a search came."""
        answer, hit = self.searches.hit(search, column, id)
        return self.explainer.explained(answer, hit)

    def warm(self, upload: str) -> bool:
        """Encode an uploaded picture while its visitor still writes."""
        self.engine.cache_image(self.searches.uploads.open(upload_path({"path": upload}), None))
        return True

    def save(self, search: dict, form: str) -> dict:
        """A search as a file: csv, json or html."""
        answers = self.searches.answers(search)
        if form not in FORMS:
            raise UserError(f"A search is saved as {', '.join(FORMS)}, not as {quoted(form)}.")
        if form != "html":
            files = {file["label"].lower(): file for file in exports(answers, self.served.name)}
            if form not in files:
                raise UserError("There are no results to save.")
            return files[form]
        index = self.engine.index
        answers[0].check_version(index)
        rows = {hit.row for answer in answers for hit in answer.result.hits}
        pictures = {row: index.thumbnail(row) for row in rows}
        strips = [
            follow(self.namer, answers, place, initial_rank(answer))
            for place, answer in enumerate(answers)
        ]
        inline = {
            str(row): formatting.data_uri(picture)
            for strip in strips
            if strip
            for row in strip["items"]
            if (picture := index.thumbnail(int(row)))
        }
        for strip in filter(None, strips):
            for row, item in strip["items"].items():
                item["picture"] = inline.get(row)
        text = saved_page(
            answers, self.served.name, pictures, datetime.now(), strips, self.namer.labels()
        )
        return {"name": FILE_NAME, "type": "text/html;charset=utf-8", "text": text}

    def blend(self, search: dict, id: str, column: int = 0) -> dict:
        """How the generated ID and the results change from the query to one of its results."""
        engine = self.engine
        answer, hit = self.searches.hit(search, column, id)
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
            "steps": blend_steps(results, ids, hit.codes),
            "strips": blend_strips(ends, self.forced),
            "items": {
                str(at): formatting.item_view(item)
                for at, item in items_by_row(engine, rows).items()
            },
        }


def blend_steps(
    results: Sequence[SearchResult], ids: Sequence[tuple[int, ...]], own: tuple[int, ...]
) -> list[dict[str, Any]]:
    """What is found with each weight of the query. own: codes of the item."""
    return [
        {
            "weight": formatting.number(weight, 2),
            "codes": list(codes),
            "query": formatting.shared_prefix(codes, ids[0]),
            "item": formatting.shared_prefix(codes, own),
            "same": codes == before,
            "rows": [hit.row for hit in result.hits],
        }
        for weight, result, codes, before in zip(WEIGHTS, results, ids, [None, *ids], strict=False)
    ]


def blend_strips(ends: Sequence[Any], forced: bool) -> list[dict[str, Any]]:
    """How the IDs of the query alone and of the result alone narrow down the collection."""
    return [
        {
            "name": name,
            "columns": [
                column(end.codes[:level], step, end.items, forced, {}) for level, step in levels
            ],
        }
        for name, end in zip(("Query", "Result"), ends, strict=False)
        if (levels := [*enumerate(end.steps)])
    ]


def past_title(request: Any) -> str:
    """What was asked, in words, for the history."""
    if request.example:
        return f"Example “{request.example.title}”"
    if request.item:
        return f"Like {request.describe(request.query).removeprefix('the item ')}"
    return formatting.describe_query(request.query, longest=120)


def modality_probabilities(result: SearchResult) -> dict[str, float] | None:
    """Probabilities of the first code; None where it does not stand for a modality."""
    if result.modality_code != "forced":
        return None
    return {
        modality.name.lower(): float(result.first_code_probabilities[modality])
        for modality in Modality
    }
