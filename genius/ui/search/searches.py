"""The searches that a page names in its address and in its calls, and their answers.

A search is named by all that it consists of. Its answer is kept for a while only so that what is
asked about it next (why, steps, blend, map) need not search again.
"""

import json
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from typing import Any

from PIL.Image import Image

from genius.errors import UserError, quoted
from genius.examples import find_example
from genius.explore.items import item_query, row_of
from genius.schema import Hit, Modality, Query, SearchOptions
from genius.ui.common import formatting
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.queries import SCOPES, UploadCache, part_of, target_of, upload_path
from genius.ui.monitoring import record_search
from genius.ui.search.asked import Asked, SearchRequest, setting_defaults

RESULTS_PER_COLUMN = 4  # results of each instruction if several are shown side by side
KEPT = 32  # searches whose answers are kept, with their traces
NOTHING = "Type a description, add a picture, or both."

Answers = tuple[LastQuery, ...]  # one, or one for each instruction of an example


class Searches:
    """Makes queries of what browsers send, and answers them. Thread-safe."""

    def __init__(self, context: Context):
        self.context = context
        self.engine = context.engine
        self.served = context.served
        self.uploads = UploadCache()
        self._kept: OrderedDict[str, tuple[SearchRequest, Answers]] = OrderedDict()
        self._lock = threading.Lock()

    def answers(self, search: Any) -> Answers:
        """The answers to a search. Raises UserError."""
        return self.answered(search)[1]

    def answered(self, search: Any) -> tuple[SearchRequest, Answers]:
        """The queries of a search, and their answers. Raises UserError."""
        key = json.dumps([search, self.engine.index.folder.name], sort_keys=True, default=str)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        defaults = setting_defaults(self.engine)
        asked = Asked.read(search, defaults)
        request = self.request(asked)
        found = request, self._answer(request, asked.setting_values(defaults))
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def request(self, asked: Asked) -> SearchRequest:
        """The queries of a search, with an instruction of the run where it has none.

        Raises UserError for items, examples and pictures that are not there, and for no query.
        """
        index = self.engine.index
        if asked.example:
            example = find_example(asked.example, self.served.examples)
            return SearchRequest(example.queries, asked, example)
        if asked.item:
            row = row_of(index, asked.item)
            query = item_query(index, row)
            item = index.items([row])[0]
            if item.modality == Modality.IMAGE and self.engine.has_reader:
                query = replace(query, reading="similar")
            return SearchRequest([query], asked, item=item, row=row)
        image = self.item_picture(asked.picture) if asked.picture else None
        if asked.upload:
            image = self.uploads.open(upload_path({"path": asked.upload}), part_of(asked.part))
        if image is None and not asked.q.strip():
            raise UserError(NOTHING)
        used = asked.instruction or self.context.default_instruction(asked.q, image)
        query = Query(asked.q, image, used, asked.reading)
        return SearchRequest([query], asked)

    def item_picture(self, id: Any) -> Image:
        """The picture of an item. Raises UserError if it has none, or was removed."""
        with suppress(UserError):
            image = item_query(self.engine.index, row_of(self.engine.index, id)).image
            if isinstance(image, Image):
                return image
        raise UserError(
            "The item whose picture you search with has none, or was removed; choose "
            "another picture."
        )

    def _answer(self, request: SearchRequest, settings: dict[str, Any]) -> Answers:
        """Search for each query of a request. Raises UserError."""
        several = len(request.queries) > 1
        options = search_options(settings, at_most=RESULTS_PER_COLUMN if several else None)
        query = request.query
        traced = replace(options, trace=True)
        mode = self.engine.resolved(options).mode
        with record_search(query, mode, len(request.queries)):
            if request.row is None or self.engine.has_encoder:
                results = self.engine.search(request.queries, traced)
            else:
                vectors = self.engine.vectors_of(request.row)
                results = self.engine.search_encoded(vectors, traced)
        # shown in a saved page, and never searched again
        small = formatting.small_copy(query.image) if isinstance(query.image, Image) else None
        version = self.engine.index.folder.name
        return tuple(
            LastQuery(
                request.describe(asked), replace(asked, image=small), options, result, version
            )
            for asked, result in zip(request.queries, results, strict=True)
        )

    def hit(self, search: Any, column: int, id: str) -> tuple[LastQuery, Hit]:
        """A result of a search. Raises UserError if there is none."""
        answers = self.answers(search)
        if 0 <= column < len(answers):
            for hit in answers[column].result.hits:
                if hit.item.id == id:
                    return answers[column], hit
        raise UserError("That result is no longer there; search again.")


def search_options(settings: dict[str, Any], at_most: int | None = None) -> SearchOptions:
    """The options of a search, from the values of the settings.

    at_most: limit of results. Raises UserError for an unknown kind or scope.
    """
    scope, k = settings["in"], settings["results"]
    if scope not in SCOPES:
        raise UserError(
            f"What is searched must be one of {', '.join(SCOPES)}, not {quoted(scope)}."
        )
    return SearchOptions(
        beams=settings["beams"],
        k=min(k, at_most) if at_most and type(k) is int else k,
        mode=settings["by"],
        order=settings["order"],
        modality=target_of(settings["kind"]),
        decoder_weight=settings["weight"],
        added=SCOPES[scope],
    )
