"""The Search tab: answers, the steps of their IDs, why a result came, and blends."""

from dataclasses import replace

import gradio as gr

from genius.errors import UserError, quoted
from genius.explore.items import WEIGHTS, interpolate, row_of
from genius.explore.narrowing import Narrowing
from genius.schema import Modality, Query, SearchOptions
from genius.ui.common.context import Context, Panel
from genius.ui.common.export import results_csv, results_json, saved_file, saved_page, search_fields
from genius.ui.common.formatting import Json, item_view, number, shared_prefix
from genius.ui.common.uploads import open_upload, upload_path
from genius.ui.monitoring import record_search
from genius.ui.search import view
from genius.ui.search.searches import Answers, target_of
from genius.ui.search.strip import best_codes, column, follow, initial_rank, items_by_row, narrowed
from genius.ui.search.why import explained

RESULTS_PER_STEP = 6  # of a blend
FORMS = ("csv", "json", "html")


def panel(context: Context) -> Panel:
    search = Search(context)
    return Panel(
        endpoints=[search.search],
        calls=[search.show, search.steps, search.why, search.blend, search.save, search.warm],
    )


class Search:
    """Keeps nothing of a visitor but the last answers, for a while (searches.py)."""

    def __init__(self, context: Context):
        self.context = context
        self.engine = context.engine
        self.searches, self.namer = context.searches, context.namer
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
        shares = zip(Modality, result.first_code_probabilities.tolist(), strict=True)
        return search_fields(result) | {
            "modality_probabilities": {kind.name.lower(): share for kind, share in shares}
            if result.modality_code == "forced"
            else None,
            "instruction": used,
            "notes": self.context.notes(query, result, added),
        }

    def show(self, search: dict) -> dict:
        """What the page shows of a search; search: as its address has it."""
        request, answers = self.searches.answered(search)
        first = answers[0]
        if request.example and len(answers) > 1:
            summary = view.summaries([answer.result for answer in answers], request.example)
            columns = [view.column(answer, self.forced) for answer in answers]
            generated = None
        else:
            notes = self.context.notes(request.query, first.result, first.options.added)
            summary = view.summary(first, request, self.forced, self.engine.index.n)
            summary |= {"notes": notes}
            columns = [view.cards(first.result, request.row)]
            generated = view.generated(first)
        return {
            "summary": summary,
            "columns": columns,
            "generated": generated,
            "strip": follow(self.namer, answers, 0, initial_rank(first))["strip"],
            "title": first.description,
            "form": {
                "text": request.query.text,
                "instruction": request.instruction,
                "picture": request.picture_address,
            },
            "past": request.past,
            "unkept": bool(request.asked.upload),
        }

    def steps(
        self, search: dict, column: int = 0, rank: int = 0, branches: list | None = None
    ) -> dict:
        """How an ID narrows down the collection.

        rank: of the result whose ID it is; 0: the best generated one. branches: codes that are
        chosen in place of the search's, as [level, code].
        """
        answers = self.searches.answers(search)
        return follow(self.namer, answers, column, rank, branches or ())

    def why(self, search: dict, id: str, column: int = 0) -> dict:
        """Why a result of a search came."""
        return explained(self.namer, *self.searches.hit(search, column, id))

    def warm(self, upload: str) -> bool:
        """Encode an uploaded picture while its visitor still writes."""
        self.engine.cache_image(self.searches.uploads.open(upload_path({"path": upload})))
        return True

    def save(self, search: dict, form: str) -> dict:
        """A search as a file: csv, json or html."""
        answers = self.searches.answers(search)
        if form not in FORMS:
            raise UserError(f"A search is saved as {', '.join(FORMS)}, not as {quoted(form)}.")
        if form == "html":
            return saved_file("genius-search", form, self.whole_page(answers))
        if not any(answer.result.hits for answer in answers):
            raise UserError("There are no results to save.")
        run = self.context.served.name
        text = results_csv(answers) if form == "csv" else results_json(answers, run)
        return saved_file("genius-results", form, text)

    def whole_page(self, answers: Answers) -> str:
        """A search as a page with its pictures."""
        index = self.engine.index
        answers[0].check_version(index)
        strips = [
            follow(self.namer, answers, place, initial_rank(answer))["strip"]
            for place, answer in enumerate(answers)
        ]
        rows = {hit.row for answer in answers for hit in answer.result.hits}
        rows |= {int(row) for strip in strips if strip for row in strip["items"]}
        pictures = {row: index.thumbnail(row) for row in rows}
        run = self.context.served.name
        return saved_page(answers, strips, run, pictures, self.namer.labels())

    def blend(self, search: dict, id: str, column: int = 0) -> dict:
        """How the generated ID and the results change from the query to one of its results."""
        engine = self.engine
        answer, hit = self.searches.hit(search, column, id)
        options = replace(answer.options, k=min(answer.options.k, RESULTS_PER_STEP))
        row = row_of(engine.index, hit.item.id)
        results = interpolate(engine, answer.result, row, options)
        ids = [best_codes(result) for result in results]
        ends = [
            narrowed(engine, answer, result, best_codes(result))
            for result in (results[0], results[-1])
            if result.trace is not None
        ]
        rows = {row} | {hit.row for result in results for hit in result.hits}
        rows |= {item_row for end in ends for step in end.steps for item_row in step.shown}
        return {
            "query": answer.description,
            "item": row,
            "steps": [
                {
                    "weight": number(weight, 2),
                    "codes": list(codes),
                    "query": shared_prefix(codes, ids[0]),
                    "item": shared_prefix(codes, hit.codes),
                    "same": codes == before,
                    "rows": [hit.row for hit in result.hits],
                }
                for weight, result, codes, before in zip(
                    WEIGHTS, results, ids, [None, *ids], strict=False
                )
            ],
            "strips": [
                {"name": name, "columns": self.columns(end)}
                for name, end in zip(("Query", "Result"), ends, strict=False)
                if end.steps
            ],
            "items": {str(at): item_view(item) for at, item in items_by_row(engine, rows).items()},
        }

    def columns(self, end: Narrowing) -> list[Json]:
        """How an end of a blend narrows down the collection, level by level."""
        return [
            column(end.codes[:level], step, end.items, self.forced, {})
            for level, step in enumerate(end.steps)
        ]
