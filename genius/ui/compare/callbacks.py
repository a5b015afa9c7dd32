"""What the Compare tab does: builds the HNSW graph, and answers one query by every system."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from genius.errors import UserError
from genius.examples import find_example
from genius.explore.comparison import FLAT, Agreement, Comparison, SystemResults, rank_agreement
from genius.schema import Item, Modality, Query
from genius.search.checks import check_query
from genius.search.retrieval import EncodedQueries
from genius.ui.common import formatting
from genius.ui.common.components import open_upload, part_of, target_of
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.formatting import MODALITY_PLURALS, describe_query

ENCODING_STAGES = ("encode", "fuse")  # that all systems share
PROGRESS = gr.Progress()  # a callback gets one if it is a default argument
BUILDING = {"desc": "Building HNSW, once", "unit": "items"}


class CompareCallbacks:
    """The callbacks of one page. They keep nothing of a visitor; the graph follows from the current index.

    Settings, the last arguments of each comparison, are k, beams, hnsw (whether to include it) and the decoder weight.
    """

    def __init__(self, context: Context):
        self.engine, self.served = context.engine, context.served
        self.default_instruction = context.default_instruction
        self.comparison = Comparison(context.engine)

    def on_build(self, hnsw: bool, progress: gr.Progress = PROGRESS) -> None:
        """Build the HNSW graph if it is selected and not built yet."""
        if hnsw and not self.comparison.built:
            total = self.engine.index.n
            progress((0, total), **BUILDING)
            self.comparison.build(lambda items: progress((items, total), **BUILDING))

    def on_asked(
        self, text: Any, picture: str | None, box: Any, instruction: Any, target: Any, *settings: Any
    ) -> tuple[Any, ...]:
        """Compare the query of the form, and close the card of an item."""
        part = part_of(box)
        image = open_upload(picture, part) if picture else None
        query = Query(text or "", image, instruction or self.default_instruction(text, image))
        check_query(query)
        title = describe_query(query, part=part is not None)
        return self.compare(title, self.engine.encode([query]), target_of(target), *settings), None

    def on_example(self, place: Any, *settings: Any) -> tuple[Any, ...]:
        """Compare an example of the run under its first instruction, which also fills the form, without a box."""
        query = find_example(place, self.served.examples).queries[0]
        comparison = self.compare(describe_query(query), self.engine.encode([query]), None, *settings)
        return query.text, query.image, query.instruction, None, comparison, None

    def on_last(self, last: LastQuery | None, *settings: Any) -> tuple[Any, ...]:
        """Compare the visitor's last search."""
        if last is None:
            raise UserError("There is no search to compare yet: search first, or ask something here.")
        return self.compare(last.description, last.encoded, last.options.modality, *settings), None

    def on_open(self, last: LastQuery | None):
        """Name the last search on its button."""
        described = f": {last.description}" if last else ""
        return gr.Button(f"Compare my last search{described}", interactive=last is not None)

    def compare(
        self, title: str, query: EncodedQueries, modality: Modality | None, k: Any, beams: Any, hnsw: bool, weight: Any
    ) -> dict[str, Any]:
        """The data of the panel. title: the query in a few words. modality: the only one that is searched, or None."""
        index = self.engine.index
        by_system = list(self.comparison.search(query, k, beams, modality, hnsw, weight))
        agreement = rank_agreement(by_system)
        return comparison_view(
            title if modality is None else f"{title}, {MODALITY_PLURALS[modality]} only",
            {stage: query.milliseconds[stage] for stage in ENCODING_STAGES if stage in query.milliseconds},
            by_system,
            agreement,
            index.items(agreement.rows),
            [index.thumbnail(row) for row in agreement.rows.tolist()],
        )


def comparison_view(
    title: str,
    encoding: Mapping[str, float],
    by_system: Sequence[SystemResults],
    agreement: Agreement,
    items: Sequence[Item],
    thumbnails: Sequence[bytes | None],
) -> dict[str, Any]:
    """title: the query in a few words; encoding: milliseconds by stage; items, thumbnails: of `agreement.rows`."""
    place = {row: number for number, row in enumerate(agreement.rows.tolist())}
    numbers, slowest = range(len(by_system)), max(results.total for results in by_system)
    return {
        "sentence": _sentence(title, agreement),
        "encoding": f"It leaves out what is the same for all, turning the query into numbers: {_stage_times(encoding)}."
        if encoding
        else "The query was already encoded.",
        "reference": next(number for number in numbers if by_system[number].system is FLAT),
        "systems": [_system_view(by_system[number], agreement, number, slowest) for number in numbers],
        "agreement": [[_pair_view(agreement, first, second) for second in numbers] for first in numbers],
        "items": [
            {**formatting.item_view(item, picture), "ranks": ranks}
            for item, picture, ranks in zip(items, thumbnails, agreement.ranks.T.tolist(), strict=True)
        ],
        "columns": [
            [
                {"item": place[row], "cosine": formatting.number(cosine, 3)}
                for row, cosine in zip(results.rows.tolist(), results.cosines.tolist(), strict=True)
            ]
            for results in by_system
        ],
    }


def _sentence(title: str, agreement: Agreement) -> str:
    by_all, by_one = int((agreement.ranks > 0).all(axis=0).sum()), int(agreement.found_by_one.sum())
    items = formatting.count(len(agreement.rows), "different item")
    return (
        f"For {title}, the {len(agreement.ranks)} ways found {items}: "
        f"{by_all:,} by all of them, {by_one:,} by only one."
    )


def _stage_times(milliseconds: Mapping[str, float]) -> str:
    return ", ".join(
        f"{formatting.STAGES.get(stage, (stage,))[0]} {formatting.milliseconds(time)}"
        for stage, time in milliseconds.items()
    )


def _system_view(results: SystemResults, agreement: Agreement, number: int, slowest: float) -> dict[str, Any]:
    return {
        "name": results.system.name,
        "how": results.system.how + ("" if results.weight is None else f" Decoder weight {results.weight:g}."),
        "time": formatting.milliseconds(results.total),
        "share": results.total / slowest if slowest else 0.0,
        "stages": _stage_times(results.milliseconds),
        "only": int(agreement.found_by_one[number].sum()),
    }


def _pair_view(agreement: Agreement, first: int, second: int) -> dict[str, Any] | None:
    """How far two systems agree; None for one with itself."""
    if first == second:
        return None
    share, shift = float(agreement.overlap[first, second]), float(agreement.shift[first, second])
    return {"share": share, "overlap": f"{100 * share:.0f} %", "shift": "–" if math.isnan(shift) else f"±{shift:.1f}"}
