"""The searches that a page names in its address and in its calls, and their answers.

A search is named by all that it consists of. Browsers keep it and send it, so all of it is checked.
Its answer is kept for a while only so that what is asked about it next (why, steps, blend, map)
need not search again.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
from PIL.Image import Image

from genius.errors import UserError, quoted
from genius.examples import Example, find_example
from genius.explore.items import item_query, row_of
from genius.index.store import Index
from genius.schema import Hit, Item, Modality, Query, SearchOptions
from genius.search.checks import MAX_TEXT
from genius.search.engine import Engine
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.formatting import (
    Json,
    describe_query,
    item_label,
    picture_address,
    picture_of,
    small_copy,
)
from genius.ui.common.uploads import UploadCache, part_of, upload_path
from genius.ui.monitoring import record_search

TARGETS = {"any": None} | {modality.name.lower(): modality for modality in Modality}
KINDS = {Modality.IMAGE: "Pictures", Modality.TEXT: "Texts", Modality.PAIR: "Both"}  # of results
TEXTS = ("q", "instruction", "item", "picture", "example", "upload", "reading")
SCOPES = {"everything": False, "added": True}  # what is searched: only what was added?
RESULTS_PER_COLUMN = 4  # results of each instruction if several are shown side by side
KEPT = 32  # searches whose answers are kept, with their traces
NOTHING = "Type a description, add a picture, or both."

Answers = tuple[LastQuery, ...]  # one, or one for each instruction of an example


def setting_defaults(engine: Engine) -> Json:
    """The run's own values of the settings, by their names in an address."""
    return {
        "beams": 50,
        "results": 10,
        "order": "cosine" if engine.index.fused is None else "fused",
        "by": "both" if engine.has_codewords else "generate",
        "kind": "any",
        "weight": engine.decoder.config.decoder_weight,
        "in": "everything",
    }


def target_of(name: Any) -> Modality | None:
    """The modality that one of TARGETS names. Raises UserError for another name."""
    if not isinstance(name, str) or name not in TARGETS:
        choices = ", ".join(TARGETS)
        raise UserError(f"The modality must be one of {choices}, not {quoted(name)}.")
    return TARGETS[name]


def present_targets(index: Index) -> list[dict[str, str]]:
    """Name and value (one of TARGETS) of each choice that finds something in the index."""
    present = map(Modality, np.flatnonzero(np.bincount(index.modalities)).tolist())
    chosen = [{"name": KINDS[kind], "value": kind.name.lower()} for kind in present]
    return [{"name": "Auto", "value": "any"}, *chosen]


@dataclass(frozen=True)
class Asked:
    """What asks for a search: the address of the page and the history have its fields."""

    q: str = ""  # the words
    instruction: str = ""
    item: str = ""  # id of the item that is the query
    picture: str = ""  # id of the item whose picture is searched with
    # place of the run's example that is asked, with its picture and all its instructions
    example: str = ""
    upload: str = ""  # file of the visitor's own picture
    reading: str = ""  # that was chosen in place of the one that was read
    part: Any = None  # of the upload, if not all of it is searched
    settings: Mapping[str, Any] = field(default_factory=dict)  # by name

    @classmethod
    def read(cls, sent: Any, defaults: Mapping[str, Any]) -> Self:
        """Of what a browser sends, texts of bounded length; nothing of what is no search.

        defaults: of the settings. What is no number stays a text, which a search refuses.
        """
        fields = sent if isinstance(sent, dict) else {}
        texts = {
            name: str(value)[: MAX_TEXT + 1] for name, value in fields.items() if value is not None
        }
        settings = dict(defaults)
        for name in defaults.keys() & texts.keys():
            settings[name] = texts[name]
            with suppress(ValueError):
                settings[name] = type(defaults[name])(texts[name])
        asked = {name: texts[name] for name in TEXTS if name in texts}
        return cls(**asked, part=fields.get("part"), settings=settings)


@dataclass(frozen=True)
class SearchRequest:
    """The queries of a search, and what they were made from."""

    queries: Sequence[Query]  # one, or one for each instruction of an example
    asked: Asked = Asked()
    example: Example | None = None
    item: Item | None = None  # that is the query
    row: int | None = None  # of that item in the index

    @property
    def query(self) -> Query:
        """The only query, or the first of several."""
        return self.queries[0]

    @property
    def instruction(self) -> str:
        """What the form shows as the instruction: what was typed, or that of an example's only
        query.
        """
        if not self.example:
            return self.asked.instruction
        return self.query.instruction if len(self.queries) == 1 else ""

    @property
    def picture_address(self) -> str:
        """Where the picture of the query is, if it is no upload."""
        if self.example and self.example.picture:
            return f"examples/{self.asked.example}/picture"
        if self.item:
            return picture_address(self.item) or ""
        return self.asked.picture and picture_of(self.asked.picture)

    @property
    def title(self) -> str:
        """What stands above the results of an example, or of an item that is the query."""
        if self.example:
            return self.example.title
        return f"Like {describe_query(self.query)}" if self.item else ""

    @property
    def past(self) -> str:
        """What was asked, in words, for the history."""
        if self.example:
            return f"Example “{self.example.title}”"
        if self.item:
            return f"Like {quoted_label(self.item)}"
        return describe_query(self.query, longest=120)

    def describe(self, query: Query) -> str:
        """One of the queries in a few words."""
        if self.item:
            return f"the item {quoted_label(self.item)}"
        return describe_query(query, part=bool(self.asked.part))


def quoted_label(item: Item) -> str:
    """What an item is called, in quotes if that is a text."""
    return f"“{item_label(item)}”" if item.text else item_label(item)


class Searches:
    """Makes queries of what browsers send, and answers them. Thread-safe."""

    def __init__(self, context: Context):
        self.context = context
        self.engine = context.engine
        self.uploads = UploadCache()
        self._answered = lru_cache(KEPT)(self._answer)

    def answered(self, search: Any) -> tuple[SearchRequest, Answers]:
        """The queries of a search, and their answers. Raises UserError."""
        return self._answered(
            json.dumps(search, sort_keys=True, default=str), self.engine.index.folder.name
        )

    def answers(self, search: Any) -> Answers:
        """The answers to a search. Raises UserError."""
        return self.answered(search)[1]

    def hit(self, search: Any, column: int, id: str) -> tuple[LastQuery, Hit]:
        """A result of a search. Raises UserError if there is none."""
        answers = self.answers(search)
        if type(column) is int and 0 <= column < len(answers):
            for hit in answers[column].result.hits:
                if hit.item.id == id:
                    return answers[column], hit
        raise UserError("That result is no longer there; search again.")

    def _answer(self, sent: str, version: str) -> tuple[SearchRequest, Answers]:
        """sent: a search as JSON. version: of the index."""
        asked = Asked.read(json.loads(sent), setting_defaults(self.engine))
        request = self.request(asked)
        query = request.query
        options = search_options(asked.settings, len(request.queries) > 1)
        with record_search(query, self.engine.resolved(options).mode, len(request.queries)):
            if request.row is None or self.engine.has_encoder:
                results = self.engine.search(request.queries, options)
            else:
                vectors = self.engine.vectors_of(request.row)
                results = self.engine.search_encoded(vectors, options)
        # shown in a saved page, and never searched again
        small = small_copy(query.image) if isinstance(query.image, Image) else None
        return request, tuple(
            LastQuery(request.describe(one), replace(one, image=small), options, result, version)
            for one, result in zip(request.queries, results, strict=True)
        )

    def request(self, asked: Asked) -> SearchRequest:
        """The queries of a search, with an instruction of the run where it has none.

        Raises UserError for items, examples and pictures that are not there, and for no query.
        """
        index = self.engine.index
        if asked.example:
            example = find_example(asked.example, self.context.served.examples)
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
        return SearchRequest([Query(asked.q, image, used, asked.reading)], asked)

    def item_picture(self, id: str) -> Image:
        """The picture of an item. Raises UserError if it has none, or was removed."""
        with suppress(UserError):
            image = item_query(self.engine.index, row_of(self.engine.index, id)).image
            if isinstance(image, Image):
                return image
        raise UserError(
            "The item whose picture you search with has none, or was removed; choose "
            "another picture."
        )


def search_options(settings: Mapping[str, Any], several: bool) -> SearchOptions:
    """The options of a search, from the values of the settings.

    several: queries, of each of which there are few results. Raises UserError for an unknown kind
    or scope.
    """
    scope, k = settings["in"], settings["results"]
    if scope not in SCOPES:
        raise UserError(
            f"What is searched must be one of {', '.join(SCOPES)}, not {quoted(scope)}."
        )
    return SearchOptions(
        beams=settings["beams"],
        k=min(k, RESULTS_PER_COLUMN) if several and type(k) is int else k,
        mode=settings["by"],
        order=settings["order"],
        modality=target_of(settings["kind"]),
        decoder_weight=settings["weight"],
        trace=True,
        added=SCOPES[scope],
    )
