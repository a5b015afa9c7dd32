"""What the decoder and the ranker of a run are worth: every way to search and to rank, on its test queries.

    python -m training.benchmarks.worth RUN
    python -m training.benchmarks.worth RUN --collection DIR --limit 50

Candidates are those of the scan, of the beam search (its scores those of the decoder, of the codes' geometry, or both
blended as the run was tuned) and of both. Those of both are also ranked by rankers that are fitted here, each query by
one that learned from other queries (cross-validation): with all parts, without the decoder's, and, of the first
results, with the decoder's score of whole IDs in place of that of the first two codes. Prints tables of hit rates by
row and on average, with 95 % intervals, and writes RUN/reports/worth.json and .md.

Shapes: q queries, t candidates of all queries together, p parts, d dim, M levels.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from genius.errors import UserError
from genius.evaluation.arguments import add_beams, command_line, evaluation_parser, opened
from genius.evaluation.figures import PoolFigures, pool_figures, row_figures
from genius.evaluation.pools import PoolKind
from genius.evaluation.queries import EncodedSplit, in_batches, read_queries, training_targets
from genius.evaluation.report import averages_table, by_row, differences_table, hit_table
from genius.evaluation.systems import SearchedPool, found_lines, id_systems, search_by_ids
from genius.metrics.hit_rate import MISS
from genius.models.ranker import Ranker
from genius.reports import Column, Report, version
from genius.schema import RANKER_PARTS, SearchOptions
from genius.search.engine import Engine, batch_size
from training import NOTES
from training.distributed import run_alone
from training.ranker import CandidateLists, cross_validated_scores

MODULE = "training.benchmarks.worth"
SEARCHED = ("scan", "scan + ranker", "beam", "beam + ranker")
SERVED, FITTED, WITHOUT, WHOLE = "both + ranker", "fitted ranker", "without the decoder", "with whole IDs"
DECODER, FIRST_CODE = RANKER_PARTS.index("decoder"), RANKER_PARTS.index("first code")
FIRST = 20  # results whose whole IDs the decoder scores
COMPARED = [
    ("beam", "beam by geometry"),
    ("beam", "beam by decoder"),
    ("both + ranker", "scan + ranker"),
    ("both + ranker", "both + re-rank"),
    (FITTED, WITHOUT),
    (WHOLE, FITTED),
]


def candidate_lists(engine: Engine, queries: EncodedSplit, beams: int) -> tuple[CandidateLists, np.ndarray]:
    """The candidates of all queries, found in both ways, and their IDs (t, M)."""
    options, batches, codes = SearchOptions(beams=beams), [], []
    for query_set, row in zip(queries.sets, queries.rows, strict=True):
        start = 0
        for batch in in_batches(row, batch_size(beams)):
            found = engine.retrieve(batch, options)
            candidates, parts = found.candidates, engine.retriever.ranker_parts(found).cpu()
            batches.append((candidates, parts, query_set.qrels.contains(candidates.query + start, candidates.row)))
            codes.append(found.pool.table.codes(candidates.id))
            start += len(batch.z)
    sizes = [len(each) for each in queries.sets]
    number, row = np.arange(sum(sizes)), np.repeat(np.arange(len(sizes)), sizes)
    lists = CandidateLists.join(batches, engine.index.modalities, number, row, queries.cuts)
    return lists, np.concatenate(codes)


def fitted(lists: CandidateLists, seed: int, without: tuple[int, ...] = ()) -> Tensor:
    """(t,) scores by rankers that each saw the other queries, and none of some parts; lists without a target: 0."""
    kept, scores = torch.ones(len(RANKER_PARTS)), torch.zeros(len(lists.query))
    kept[list(without)] = 0
    some = replace(lists, parts=lists.parts * kept).select(lists.has_target)
    scores[torch.from_numpy(lists.has_target[lists.query])] = cross_validated_scores(some, seed)
    return scores


def ranks_by_whole_ids(
    engine: Engine, queries: EncodedSplit, lists: CandidateLists, codes: np.ndarray, scores: Tensor, seed: int
) -> np.ndarray:
    """(q,) ranks of the first targets where the first candidates by these scores (t,) are ranked by their whole IDs."""
    order, place = lists.order(scores)
    chosen = order[place <= FIRST]
    query, own = lists.query[chosen], codes[chosen]
    steps = engine.retriever.code_log_probs(queries.encoded.z[query], own)
    parts = lists.parts[chosen].clone()
    parts[:, DECODER] = sum(step.cpu()[torch.arange(len(own)), code] for step, code in zip(steps, own.T))
    few = replace(lists, query=query, parts=parts, modality=lists.modality[chosen], positive=lists.positive[chosen])
    ranks = few.ranks(fitted(few, seed))
    return np.where(ranks == MISS, lists.ranks(scores), ranks)


def measure(engine: Engine, queries: EncodedSplit, targets: np.ndarray, beams: int, seed: int) -> PoolFigures:
    """targets (n,) bool: the item was a training target."""
    named = id_systems(beams, ranker=True)
    systems = {name: named[name] for name in SEARCHED}
    systems |= {"beam by geometry": replace(named["beam"], decoder_weight=0.0)}
    systems |= {"beam by decoder": replace(named["beam"], decoder_weight=1.0)}
    lists, codes = candidate_lists(engine, queries, beams)
    everything = fitted(lists, seed)
    by_run = Ranker.load(engine.run.folder("ranker"))(lists.parts, lists.modality)[0].detach()
    of_both = {
        "both + re-rank": lists.ranks(lists.parts[:, RANKER_PARTS.index("cosine")]),
        SERVED: lists.ranks(by_run),
        FITTED: lists.ranks(everything),
        WITHOUT: lists.ranks(fitted(lists, seed, (DECODER, FIRST_CODE))),
        WHOLE: ranks_by_whole_ids(engine, queries, lists, codes, everything, seed),
    }
    measured, rows = [], np.arange(engine.index.n)
    compared = COMPARED + [(name, "dense") for name in (*systems, *of_both)]
    for number, (query_set, row) in enumerate(zip(queries.sets, queries.rows, strict=True)):
        dense = SearchedPool(engine, engine.pool, rows).dense(row, query_set.qrels)
        by_ids = search_by_ids(systems, engine, engine.pool, row, query_set.qrels)
        ranked = [found_lines(name, ranks[lists.row == number]) for name, ranks in of_both.items()]
        found, rng = pd.concat([dense, *by_ids, *ranked], ignore_index=True), np.random.default_rng((seed, number))
        measured.append(row_figures(found, query_set, rows, targets, rng, compared))
    return pool_figures(PoolKind("global", "indexed"), beams, measured)


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = evaluation_parser(MODULE, __doc__)
    add_beams(parser)
    given = parser.parse_args(arguments)
    engine, collection = opened(given)
    if not engine.has_ranker:
        raise UserError(f"{given.run} has no ranker; train one: python -m training.ranker COLLECTION {given.run}")
    sets = read_queries(collection, engine.index, given.split, limit=given.limit, seed=given.seed, answerable=True)
    queries = EncodedSplit.encode(engine, collection, sets)
    pool = measure(engine, queries, training_targets(collection, engine.index), given.beams, given.seed)
    names = pool.average.systems.index.drop("dense")
    against = by_row(
        "Hit rate less that of dense search, by row",
        pool,
        [Column(name, "%") for name in names],
        lambda row: [row.difference(f"{name} − dense") for name in names],
        "In percentage points.",
    )
    facts = {"queries": len(queries.encoded.z), "items": engine.index.n, "beams": given.beams, "seed": given.seed}
    note = f"{NOTES['worth_lead']}\n\n{NOTES['worth'].format(first=FIRST, **facts)}"
    tables = [averages_table([pool]), differences_table([pool]), hit_table(pool), against]
    report = Report(
        "What decoder and ranker are worth", note, command_line(MODULE, arguments), version(given.run), tables
    )
    report.save(given.run / "reports" / "worth.json")


if __name__ == "__main__":
    run_alone(main)
