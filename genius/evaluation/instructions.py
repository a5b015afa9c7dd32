"""What instructions do to a search: does the first code follow them, and does their wording matter?

Shapes: q queries of a row, n items of the index.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from genius.collections.instructions import Instructions
from genius.collections.layout import INSTRUCTIONS
from genius.collections.mbeir import Collection
from genius.evaluation.figures import Estimate
from genius.evaluation.queries import BATCH, EncodedRow, QuerySet, phrasings_of, right_first_codes, stable_hash
from genius.evaluation.systems import SearchedPool
from genius.index.store import Index
from genius.metrics.hit_rate import Qrels, headline_cut, hit_rate
from genius.schema import Modality, SearchOptions
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.trie.code_table import CodeTable

PHRASED_SYSTEMS = ("dense", "beam", "beam + re-rank")


@dataclass(frozen=True)
class FollowedRow:
    """Shares of a row's queries whose most probable first code, which determines the modality, is right.

    None: there are no such queries.
    """

    task: int
    dataset: str
    asked: float | None  # with the instructions of the tables: the code of a positive
    held_out: float | None  # with phrasings that training never used
    swapped: float | None  # with an instruction for another target modality: the code of that modality


@dataclass(frozen=True)
class PhrasedRow:
    """Hit rates of a row over all phrasings of its instruction: the mean, the lowest and the highest."""

    task: int
    dataset: str
    cut: int
    phrasings: int
    systems: dict[str, Estimate]


def swap_instructions(queries: QuerySet, phrasings: Instructions, seed: int) -> QuerySet:
    """The queries of a row with an instruction for another target modality; queries without one are left out.

    The instruction is one for queries of the same modality, chosen by seed and query id. Positives are unknown, so
    there are none.
    """
    chosen, instructions, targets = [], [], []
    for query, target in zip(queries.queries, queries.targets, strict=True):
        others = sorted(key for key in phrasings if key[1] == query.modality and key[2] != target)
        if others:
            key = others[stable_hash(seed, "swap", query.id) % len(others)]
            chosen.append(query)
            instructions.append(phrasings[key][stable_hash(seed, "instruction", query.id) % len(phrasings[key])])
            targets.append(key[2])
    return replace(
        queries,
        queries=chosen,
        instructions=instructions,
        qrels=Qrels.from_lists([[]] * len(chosen)),
        targets=np.array(targets, dtype=np.int64),
    )


def measure_following(
    engine: Engine,
    collection: Collection,
    sets: Sequence[QuerySet],
    held_out: Sequence[QuerySet | None],
    encoded: Sequence[EncodedRow],
    seed: int,
) -> list[FollowedRow]:
    """sets: the queries of the tables. held_out: the same with held-out phrasings; None where there are none. encoded:
    each set. seed: of swapped instructions.
    """
    index, phrasings = engine.index, collection.instructions()
    right_by_modality = np.eye(index.code_sizes[0], dtype=bool)[most_frequent_first_codes(index)]  # (3, codes)

    def share(right: np.ndarray, batches: Iterable[EncodedQueries]) -> float | None:
        """right: (q, codes) bool."""
        if not len(right):
            return None
        codes = first_codes(engine, batches)
        return float(np.take_along_axis(right, codes[:, None], axis=1).mean())

    def encode(queries: QuerySet) -> Iterable[EncodedQueries]:
        return map(engine.encode, queries.opened(collection, BATCH))

    rows = []
    progress = tqdm(sets, desc="first codes", unit="row")
    for queries, encoded_row, rephrased in zip(progress, encoded, held_out, strict=True):
        swapped, right = swap_instructions(queries, phrasings, seed), right_first_codes(queries.qrels, index)
        rows.append(
            FollowedRow(
                queries.row.task,
                queries.row.dataset,
                asked=share(right, encoded_row.batches),
                held_out=None if rephrased is None else share(right, encode(rephrased)),
                swapped=share(right_by_modality[swapped.targets], encode(swapped)),
            )
        )
    return rows


def first_codes(engine: Engine, batches: Iterable[EncodedQueries]) -> np.ndarray:
    """(q,) the most probable first code of each query."""
    options = SearchOptions(beams=1, k=1, mode="generate")
    return np.concatenate(
        [engine.retrieve(batch, options).first_log_probs.argmax(-1).cpu().numpy() for batch in batches]
    )


def most_frequent_first_codes(index: Index) -> np.ndarray:
    """(3,) the most frequent first code of each modality's items: the modality itself, unless first codes emerged."""
    table = index.pool().table
    codes, modalities = CodeTable(table).match(()).codes(0), index.modalities[table.rows]
    counts = np.stack(
        [np.bincount(codes[modalities == modality], minlength=index.code_sizes[0]) for modality in Modality]
    )
    return counts.argmax(1)


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
