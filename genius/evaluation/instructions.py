"""Does the wording of instructions matter? Hit rates of a row over all phrasings of its instruction."""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from genius.collections.instructions import Instructions
from genius.collections.layout import INSTRUCTIONS
from genius.collections.mbeir import Collection
from genius.evaluation.figures import Estimate
from genius.evaluation.queries import BATCH, EncodedRow, QuerySet, phrasings_of
from genius.evaluation.systems import SearchedPool
from genius.metrics.hit_rate import headline_cut, hit_rate
from genius.schema import Modality

PHRASED_SYSTEMS = ("dense", "beam", "beam + re-rank")


@dataclass(frozen=True)
class PhrasedRow:
    """Hit rates of a row over all phrasings of its instruction: the mean, the lowest and the highest."""

    task: int
    dataset: str
    cut: int
    phrasings: int
    systems: dict[str, Estimate]


def measure_phrasings(pool: SearchedPool, collection: Collection, queries: QuerySet, beams: int) -> PhrasedRow:
    """Search for every query of a row with every phrasing of the row's instruction.

    A query with fewer phrasings than others repeats its first ones.
    """
    phrasings, row = collection.instructions(), queries.row
    chosen, count = replace(pool, systems=PHRASED_SYSTEMS), count_phrasings(queries, phrasings)
    rates = defaultdict(list)
    for number in range(count):
        rephrased = queries.rephrased(phrasings, number)
        encoded = EncodedRow.encode(pool.engine, rephrased.opened(collection, BATCH))
        for system, ranks in chosen.search(encoded, rephrased.qrels, beams).ranks.items():
            rates[system].append(hit_rate(ranks, headline_cut(row.dataset)))
    systems = {system: (float(np.mean(each)), min(each), max(each)) for system, each in rates.items()}
    return PhrasedRow(row.task, row.dataset, headline_cut(row.dataset), count, systems)


def count_phrasings(queries: QuerySet, phrasings: Instructions) -> int:
    """The most phrasings that a query of the row has. Raises UserError for a query without one."""
    return max(
        len(phrasings_of(query, Modality(target), queries.row, phrasings, INSTRUCTIONS.name))
        for query, target in zip(queries.queries, queries.targets.tolist(), strict=True)
    )
