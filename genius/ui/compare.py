"""The Compare tab: one query, answered by generation, geometry, the decoder alone and dense
search.
"""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from genius.errors import UserError
from genius.explore.comparison import FLAT, Agreement, Comparison, SystemResults, rank_agreement
from genius.schema import Item
from genius.ui.calls import one_at_a_time
from genius.ui.common import formatting
from genius.ui.common.context import Context, Panel
from genius.ui.common.formatting import MODALITY_PLURALS, Json

ENCODING_STAGES = ("encode", "fuse")  # that all systems share
LARGE = 1_000_000  # items; above it the graph of HNSW is built only if a visitor asks for it
STEP = 0.2  # seconds between two words about progress


def panel(context: Context) -> Panel:
    comparer = Comparer(context)
    return Panel({"compare": comparer.on_settings}, calls=[comparer.compare])


class Comparer:
    """Keeps only the graph, which follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.searches = context.engine, context.searches
        self.comparison = Comparison(context.engine)

    def on_settings(self) -> Json:
        """Whether the graph of HNSW can be compared, and by default is."""
        items, problem = self.engine.index.n, self.comparison.hnsw_problem
        note = f"Its graph of {items:,} items is built once, when it is first needed."
        note += " That takes a while for a collection of this size." * (items > LARGE)
        return {"hnsw": items <= LARGE and not problem, "can": not problem, "note": problem or note}

    @one_at_a_time("compare")  # because they are timed
    def compare(
        self, search: dict, k: int = 10, beams: int = 50, hnsw: bool = True, weight: float = -1
    ) -> Iterator[dict]:
        """Compare what all systems find for a search; weight: of the decoder, −1: the run's."""
        answer = self.searches.answers(search)[0]
        if hnsw and not self.comparison.built:
            yield from self.build()
        yield self.compared(answer, k, beams, hnsw, None if weight < 0 else weight)

    def build(self) -> Iterator[dict]:
        """Build the HNSW graph, and say how far that is."""
        total = self.engine.index.n
        done = [0]
        failed = list[UserError]()

        def build() -> None:
            try:
                self.comparison.build(lambda items: done.__setitem__(0, items))
            except UserError as error:
                failed.append(error)

        building = threading.Thread(target=build, name="hnsw")
        building.start()
        while building.is_alive():
            building.join(STEP)
            words = f"Building HNSW, once: {done[0]:,} of {total:,} items"
            yield {"progress": done[0] / total, "words": words}
        if failed:
            raise failed[0]

    def compared(self, answer: Any, k: int, beams: int, hnsw: bool, weight: float | None) -> Json:
        query, modality = answer.encoded, answer.options.modality
        by_system = list(self.comparison.search(query, k, beams, modality, hnsw, weight))
        agreement = rank_agreement(by_system)
        title = answer.description
        times = query.milliseconds
        return comparison_view(
            title if modality is None else f"{title}, {MODALITY_PLURALS[modality]} only",
            {stage: times[stage] for stage in ENCODING_STAGES if stage in times},
            by_system,
            agreement,
            self.engine.index.items(agreement.rows),
        )


def comparison_view(
    title: str,
    encoding: Mapping[str, float],
    by_system: Sequence[SystemResults],
    agreement: Agreement,
    items: Sequence[Item],
) -> Json:
    """title: the query in a few words; encoding: milliseconds by stage; items: those of
    `agreement.rows`.
    """
    place = {row: number for number, row in enumerate(agreement.rows.tolist())}
    numbers = range(len(by_system))
    slowest = max(results.total for results in by_system)
    return {
        "sentence": _sentence(title, agreement),
        "encoding": "It leaves out what is the same for all, turning the query into numbers: "
        f"{_stage_times(encoding)}."
        if encoding
        else "The query was already encoded.",
        "reference": next(number for number in numbers if by_system[number].system is FLAT),
        "systems": [
            _system_view(by_system[number], agreement, number, slowest) for number in numbers
        ],
        "agreement": [
            [_pair_view(agreement, first, second) for second in numbers] for first in numbers
        ],
        "items": [
            {**formatting.item_view(item), "ranks": ranks}
            for item, ranks in zip(items, agreement.ranks.T.tolist(), strict=True)
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
    by_all = int((agreement.ranks > 0).all(axis=0).sum())
    by_one = int(agreement.found_by_one.sum())
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


def _system_view(results: SystemResults, agreement: Agreement, number: int, slowest: float) -> Json:
    return {
        "name": results.system.name,
        "how": results.system.how
        + ("" if results.weight is None else f" Decoder weight {results.weight:g}."),
        "time": formatting.milliseconds(results.total),
        "share": results.total / slowest if slowest else 0.0,
        "stages": _stage_times(results.milliseconds),
        "only": int(agreement.found_by_one[number].sum()),
    }


def _pair_view(agreement: Agreement, first: int, second: int) -> Json | None:
    """How far two systems agree; None for one with itself."""
    if first == second:
        return None
    share = float(agreement.overlap[first, second])
    shift = float(agreement.shift[first, second])
    return {
        "share": share,
        "overlap": f"{100 * share:.0f} %",
        "shift": "–" if math.isnan(shift) else f"±{shift:.1f}",
    }
