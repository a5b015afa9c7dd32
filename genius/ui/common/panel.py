"""What every panel of the page looks at: the run itself, its items, and names of codes."""

import re

import numpy as np

from genius.errors import UserError
from genius.explore.code_names import CodeNamer
from genius.explore.code_patterns import format_pattern, parse_pattern
from genius.explore.items import describe_item, row_of
from genius.index.store import Index
from genius.schema import Modality, provenance_of
from genius.search.checks import MAX_BEAMS, MAX_TEXT, checked_k, whole_number
from genius.trie.code_table import CodeTable
from genius.ui.common import formatting
from genius.ui.common.about import about_view
from genius.ui.common.context import Context, Panel
from genius.ui.common.export import coded_items, item_fields
from genius.ui.common.formatting import Json, item_label, picture_address
from genius.ui.common.uploads import upload_path
from genius.ui.look import File, NotFound
from genius.ui.search.searches import present_targets, setting_defaults
from genius.ui.search.view import example_card

SHORT_ASKS = ("What is this?", "Similar", "Describe it")  # of a run that reads words
MOST_LISTED = 100  # items of one page of code_items
PREFIX = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,63}")  # of an ID, such as 0.17


def panel(context: Context) -> Panel:
    run = RunFacts(context)
    return Panel(
        {
            "about": run.on_about,
            "items/{id}": run.on_item,
            "items/{id}/picture": run.on_picture,
            "examples/{number}/picture": run.on_example,
            "uploads/picture": run.on_upload,
            "alive": lambda: True,
            "names": run.on_names,
            "names/{prefix}": run.on_name,
        },
        [run.item, run.code_items, run.neighbours],
        [context.namer.prepare],
    )


class RunFacts:
    """Keeps only what follows from the current index. The public functions have docstrings of three
    paragraphs, which the API tab shows.
    """

    def __init__(self, context: Context):
        self.context = context
        self.engine = context.engine
        self.served = context.served
        self.facts_of = self.engine.snapshots.cached(self.facts)

    def on_about(self) -> Json:
        """Facts about the run, and what may be asked of it."""
        return self.facts_of(self.engine.index)

    def facts(self, index: Index) -> Json:
        engine, served = self.engine, self.served
        several = len(served.run_names) > 1
        facts = [formatting.count(index.n, "item"), f"IDs of {len(index.code_sizes)} codes"]
        if served.collection:
            facts.insert(0, f"collection {served.collection}")
        if not several:
            facts.append(f"run {served.name}")
        items = np.bincount(index.modalities, minlength=len(Modality)).tolist()
        return {
            "name": served.name,
            "runs": list(served.run_names) if several else [],
            "facts": [*facts, f"computed on {engine.device}"],
            "about": about_view(served.about, items),
            "examples": [
                example_card(example, number) for number, example in enumerate(served.examples)
            ],
            "targets": present_targets(index),
            "instructions": formatting.suggest_instructions(index.instructions),
            "asks": {
                modality.name.lower(): self.asks(index, modality)
                for modality in (Modality.IMAGE, Modality.PAIR)
            },
            "settings": setting_defaults(engine),
            "editable": served.editable,
            "login": served.login,
            "has_reader": engine.has_reader,
            "has_encoder": engine.has_encoder,
            "no_encoder": "" if engine.has_encoder else engine.encoder.sentence,
            "has_codewords": engine.has_codewords,
            "has_fused": index.fused is not None,
            "grown": index.config.grown,
            "limits": {"beams": MAX_BEAMS, "text": MAX_TEXT},
        }

    def asks(self, index: Index, modality: Modality) -> list[str]:
        """What to offer for a picture, or for a picture with a text."""
        about = self.served.about
        if self.engine.has_reader:
            return list(about.ask or SHORT_ASKS)
        shortest = formatting.shortest_instructions(index.instructions, modality)
        return list(about.instructions_for(modality) or shortest)

    def row_of(self, id: str) -> int:
        """Raises NotFound."""
        try:
            return row_of(self.engine.index, id)
        except UserError as error:
            raise NotFound(str(error)) from None

    def on_item(self, id: str) -> Json:
        """The card of an item."""
        return formatting.item_card(self.engine, self.row_of(id))

    def on_picture(self, id: str) -> File:
        """The thumbnail of an item."""
        picture = self.engine.index.thumbnail(self.row_of(id))
        if picture is None:
            raise NotFound("That item has no picture.")
        return File(picture, "image/webp", kept=True)

    def on_example(self, number: int) -> File:
        """The picture of an example."""
        examples = self.served.examples
        picture = examples[number].picture if 0 <= number < len(examples) else None
        if picture is None:
            raise NotFound("There is no such example.")
        return File(formatting.small_webp(picture), "image/webp", kept=True)

    def on_upload(self, path: str) -> File:
        """A small copy of a picture that the visitor uploaded."""
        picture = self.context.searches.uploads.open(upload_path({"path": path}))
        return File(formatting.small_webp(picture), "image/webp")

    def on_names(self) -> dict[str, str]:
        """The names of codes, by prefix such as 0.17."""
        return self.context.namer.labels()

    def on_name(self, prefix: str) -> Json:
        """What is nearest to the mean of the items of a prefix."""
        if not PREFIX.fullmatch(prefix):
            raise UserError("A prefix is some codes, such as 0.17.")
        return {"pictures": pictures(self.context.namer, self.engine.index, prefix)}

    def item(self, id: str) -> dict:
        """One item: its modality, text, picture (a small WebP as a data URI), codes and the facts
        of its source.

        Raises an error where there is no such item.

        id: the number of the item in the collection, as hits name it.
        """
        row = row_of(self.engine.index, id)
        known = describe_item(self.engine, row, neighbors=0)
        picture = self.engine.index.thumbnail(row)
        return {
            **item_fields(known["item"]),
            "picture": formatting.data_uri(picture) if picture else None,
            "codes": known["codes"],
            "facts": dict(known["facts"]) | provenance_of(known["item"].source),
        }

    def code_items(self, pattern: str, limit: int = 20, offset: int = 0) -> dict:
        """The items whose IDs match a pattern of codes such as 0.17.*.5, where * is any code.

        Returns their number, and a page of them in the order of their IDs.

        pattern: how the IDs begin. limit: items of the page, at most 100. offset: where the page
        starts.
        """
        index = self.engine.index
        read = parse_pattern(pattern, index.code_sizes)
        first = whole_number("offset", offset, index.n, 0)
        most = whole_number("limit", limit, MOST_LISTED, 0)
        matches = CodeTable(self.engine.pool.table).match(read)
        rows = matches.rows[first : first + most]
        return {
            "pattern": format_pattern(read, "."),
            "count": len(matches),
            "items": coded_items(index, rows),
        }

    def neighbours(self, id: str, k: int = 10) -> list:
        """The items nearest to an item by embedding, with their cosines.

        Exact over the whole index for up to 200,000 items; in a larger one approximate, among items
        with similar IDs.

        id: the number of the item in the collection. k: how many neighbours.
        """
        near = describe_item(self.engine, row_of(self.engine.index, id), checked_k(k))["neighbours"]
        return [
            {**item_fields(neighbour["item"]), "cosine": neighbour["cosine"]} for neighbour in near
        ]


def pictures(namer: CodeNamer, index: Index, prefix: str) -> list[dict[str, str]]:
    """The pictures nearest to the mean of the items of a prefix such as 0.17, with what they show;
    none if it has none or they were removed.
    """
    name = namer.name(tuple(map(int, prefix.split("."))))
    rows = index.rows_of(name.pictures if name else ())
    present = [int(row) for row in rows if row >= 0]
    return [
        {"picture": address, "label": item_label(item)}
        for item in (index.items(present) if present else [])
        if (address := picture_address(item))
    ]
