"""What every panel of the page looks at: the run itself, items, and names of codes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from genius.errors import UserError
from genius.explore.code_names import CodeNamer
from genius.explore.items import row_of
from genius.index.store import Index
from genius.schema import Modality
from genius.search.checks import MAX_BEAMS, MAX_TEXT
from genius.ui.common import formatting
from genius.ui.common.about import about_view
from genius.ui.common.context import Context, Looks, Panel
from genius.ui.common.formatting import is_prefix, item_label, picture_address
from genius.ui.common.item_card import item_card_view
from genius.ui.common.lookups import Lookups
from genius.ui.common.queries import present_targets, upload_path
from genius.ui.look import File, NotFound
from genius.ui.search.asked import setting_defaults
from genius.ui.search.view import example_card

SHORT_ASKS = ("What is this?", "Similar", "Describe it")  # of a run that reads words


def panel(context: Context) -> Panel:
    run = RunFacts(context)
    looks: Looks = {
        "about": run.on_about,
        "items/{id}": run.on_item,
        "items/{id}/picture": run.on_picture,
        "examples/{number}/picture": run.on_example,
        "uploads/picture": run.on_upload,
        "alive": lambda: True,
        "names": run.on_names,
        "names/{prefix}": run.on_name,
    }
    lookups = Lookups(context.engine)
    endpoints: list[Callable[..., Any]] = [lookups.item, lookups.code_items, lookups.neighbours]
    return Panel(looks, endpoints, [context.namer.prepare])


class RunFacts:
    """Keeps only what follows from the current index."""

    def __init__(self, context: Context):
        self.context = context
        self.engine = context.engine
        self.served = context.served
        self.facts_of = self.engine.snapshots.cached(self.facts)

    def on_about(self) -> dict[str, Any]:
        """Facts about the run, and what may be asked of it."""
        return self.facts_of(self.engine.index)

    def facts(self, index: Index) -> dict[str, Any]:
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
            "items": index.n,
            "about": about_view(served.about, items),
            "examples": [
                example_card(example, number) for number, example in enumerate(served.examples)
            ],
            "targets": [{"name": label, "value": value} for label, value in present_targets(index)],
            "instructions": formatting.suggest_instructions(index.instructions, None),
            "asks": {
                modality.name.lower(): self.asks(index, modality)
                for modality in (Modality.IMAGE, Modality.PAIR)
            },
            "settings": setting_defaults(engine),
            "editable": served.editable,
            "copies": served.copies is not None,
            "has_reader": engine.has_reader,
            "has_encoder": engine.has_encoder,
            "no_encoder": "" if engine.has_encoder else engine.encoder.sentence,
            "has_codewords": engine.has_codewords,
            "has_fused": index.fused is not None,
            "grown": index.config.grown,
            "code_sizes": list(index.code_sizes),
            "forced": engine.first_code_is_modality,
            "limits": {"beams": MAX_BEAMS, "text": MAX_TEXT},
            "version": index.folder.name,
        }

    def asks(self, index: Index, modality: Modality) -> list[str]:
        """What to offer for a picture, or for a picture with a text."""
        about, has_reader = self.served.about, self.engine.has_reader
        offered = about.ask if has_reader else about.instructions_for(modality)
        shortest = formatting.shortest_instructions
        return list(
            offered or (SHORT_ASKS if has_reader else shortest(index.instructions, modality))
        )

    def on_item(self, id: str) -> dict[str, Any]:
        """The card of an item."""
        try:
            return item_card_view(self.engine, id)
        except UserError as error:
            raise NotFound(str(error)) from None

    def on_picture(self, id: str) -> File:
        """The thumbnail of an item."""
        try:
            picture = self.engine.index.thumbnail(row_of(self.engine.index, id))
        except UserError as error:
            raise NotFound(str(error)) from None
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
        picture = self.context.searches.uploads.open(upload_path({"path": path}), None)
        return File(formatting.small_webp(picture), "image/webp")

    def on_names(self) -> dict[str, str]:
        """The names of codes, by prefix such as 0.17."""
        return self.context.namer.labels()

    def on_name(self, prefix: str) -> dict[str, Any]:
        """What is nearest to the mean of the items of a prefix."""
        if not is_prefix(prefix):
            raise UserError("A prefix is some codes, such as 0.17.")
        return {"pictures": pictures(self.context.namer, self.engine.index, prefix)}


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
