"""Methods to make one query faster: what each saves at batch 1, and what it changes; writes OUT/one_query.json and .md.

    python -m training.benchmarks.one_query OUT [--items 1000000] [--run RUN] [--collection DIR]

Times: a decoder of the paper's size with random weights over random IDs, all methods taking turns in one process. With
a run also the change of its results: test queries searched by its own decoder, as the plain one searches.

    bfloat16        weights and activations
    int8            weights with a scale for each output, activations with one for each row
    half prefix     keys and values of the prefix in half precision
    2 layers        a decoder of two layers: what distilling one could save at most
    free head       products with the head cost nothing: what a head of valid children alone could save at most
    geometry        no decoder at all

And, with a run, how many beams of an exact search by its decoder could be skipped because of bounds: log-probabilities
are at most 0, so nothing below a beam that scores less than the last prefix kept can be kept. The share is that of a
search that decodes the beams in the best order.

Shapes: b queries, K results.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_seed, command_parser, parse_positive
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.queries import read_queries
from genius.evaluation.redraw import run_collection
from genius.evaluation.speed.equal_hit_rate import CUT, SearchSetting, mean_hit_rate
from genius.evaluation.speed.machine import describe_machine
from genius.evaluation.speed.timed_systems import K
from genius.evaluation.speed.timing import measure_in_turns
from genius.evaluation.speed.workloads import uniform
from genius.evaluation.tables import decimals, percent, table
from genius.files import write_report
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.incremental_decoder import DecoderCache, IncrementalDecoder
from genius.models.vocabulary_head import VocabularyHead
from genius.runtime import keep_freed_memory
from genius.schema import LevelTrace, SearchOptions
from genius.search.beam import MODES, beam_search
from genius.search.beam_state import Beams
from genius.search.candidate_search import CandidateSearch
from genius.search.codewords import unknown_norms
from genius.search.engine import Engine
from genius.search.rerank import rank_candidates
from genius.search.retrieval import EncodedQueries
from genius.trie.pool import Pool
from training.distributed import expect_one_process

ROUNDS, PATIENCE = 9, 20.0
SHIPPED = "as shipped"  # the method that the others are compared with
BEAMS, BUDGET = SearchOptions().beams, SearchOptions().budget
BATCH = 32  # queries searched together where time does not count


class FreeWeights:
    """Weights whose product costs nothing, and is wrong."""

    def __init__(self, outputs: int):
        self.outputs = outputs

    def __call__(self, x: Tensor) -> Tensor:
        return x[:, :1].expand(-1, self.outputs).clone()

    @staticmethod
    def prepare(x: Tensor) -> Tensor:
        return x


class HalfPrefix:
    """Keys and values (layers, 2, b, h, N, a) in half precision, converted layer by layer when they are used."""

    def __init__(self, values: Tensor):
        self.values = values.half()

    def __getitem__(self, index: Any) -> HalfPrefix:
        return HalfPrefix(self.values[index])

    def __iter__(self) -> Iterator[Tensor]:
        return (layer.float() for layer in self.values)


def with_half_prefix(decoder: IDDecoder) -> IncrementalDecoder:
    searched = IncrementalDecoder(decoder)
    start = searched.start

    def halved(z: Tensor, beams: int, first_codes: Tensor | None = None) -> DecoderCache:
        cache = start(z, beams, first_codes)
        cache.prefix_keys_values = HalfPrefix(cache.prefix_keys_values)
        return cache

    searched.start = halved
    return searched


def with_free_head(decoder: IDDecoder) -> IncrementalDecoder:
    searched = IncrementalDecoder(decoder)
    searched.head = VocabularyHead(decoder.config, decoder.t5.shared.weight, lambda head: FreeWeights(len(head)))
    return searched


EXACT: dict[str, Callable[[IDDecoder], IncrementalDecoder]] = {  # the same decoder, prepared in other ways
    SHIPPED: IncrementalDecoder,
    "bfloat16": lambda decoder: IncrementalDecoder(decoder, torch.bfloat16),
    "int8": lambda decoder: IncrementalDecoder(decoder, torch.int8),
    "half prefix": with_half_prefix,
}


METHODS = (*EXACT, "2 layers", "free head", "geometry")


def chosen_methods(without: str) -> list[str]:
    """The methods but for these, NAME,NAME; the shipped decoder stays. Raises UserError for an unknown name."""
    left_out = [name.strip() for name in without.split(",") if name.strip()]
    if unknown := [name for name in left_out if name not in METHODS]:
        raise UserError(f"--without: there is no method {unknown[0]!r}; choose from {', '.join(METHODS[1:])}")
    return [name for name in METHODS if name == SHIPPED or name not in left_out]


def measure_times(items: int, names: list[str], seed: int) -> dict[str, Any]:
    """Mode -> method -> milliseconds per query at batch 1."""
    cpu = torch.device("cpu")
    workload = uniform(items, DecoderConfig(), seed, cpu)
    pool = Pool.build(workload.packed, workload.decoder.config.code_sizes)
    small = IDDecoder(replace(DecoderConfig(), layers=2)).eval()
    for mine, theirs in zip(small.codebooks, workload.decoder.codebooks, strict=True):
        mine.copy_(theirs)
    decoders = {name: prepare(workload.decoder) for name, prepare in EXACT.items()}
    decoders |= {"2 layers": IncrementalDecoder(small), "free head": with_free_head(workload.decoder)}
    searches = {name: Search(decoder, pool) for name, decoder in decoders.items()}
    searches["geometry"] = Search(decoders[SHIPPED], pool, weight=0.0)
    times = {
        mode: measure_in_turns(
            {name: partial(searches[name], mode=mode) for name in names}, workload.draw_queries, 1, ROUNDS, PATIENCE
        )
        for mode in MODES
    }
    return {"items": items, "milliseconds": times}


class Search:
    """A beam search with one decoder, and in mode fast its shortlist."""

    def __init__(self, decoder: IncrementalDecoder, pool: Pool, weight: float = 1.0):
        self.search, self.pool, self.weight = CandidateSearch(decoder), pool, weight
        self.norms = unknown_norms(len(pool.table))

    def __call__(self, queries: EncodedQueries, mode: str) -> tuple[Beams, Any]:
        """The beams and the candidates."""
        beams = self.search.find_beams(queries.z, self.pool.trie, BEAMS, mode, BUDGET, decoder_weight=self.weight)
        return beams, self.search.find_candidates(beams, mode, self.pool, self.norms, queries.z, BUDGET)


def measure_changes(engine: Engine, queries: EncodedSplit, names: list[str]) -> list[dict[str, Any]]:
    """For each mode and method: the hit rate, re-ranked by embedding, and the share of candidates that stay."""
    weight, embeddings, changes = engine.decoder.config.decoder_weight, engine.index.embeddings, []
    for mode in MODES:
        kept: dict[str, list[set[int]]] = {}
        for name in (name for name in EXACT if name in names):
            search, found = Search(EXACT[name](engine.decoder), engine.pool, weight), kept.setdefault(name, [])

            def ranked(
                batch: EncodedQueries, search: Search = search, mode: str = mode, found: list[set[int]] = found
            ) -> np.ndarray:
                candidates = search(batch, mode)[1]
                found += [set(rows.tolist()) for rows in np.split(candidates.row, np.cumsum(candidates.counts)[:-1])]
                return rank_candidates(candidates, embeddings, batch.embeddings.numpy(), K).rows

            rate = mean_hit_rate(SearchSetting(name, False, 0.0, ranked), queries)
            same = np.mean([len(a & b) / len(a) for a, b in zip(kept[SHIPPED], found, strict=True)])
            changes.append({"mode": mode, "method": name, "hit_rate": rate, "same_candidates": float(same)})
    return changes


def measure_skippable(engine: Engine, queries: EncodedSplit) -> float:
    """The share of the decoded beams of levels 1 and on that bounds could skip at most."""
    decoder, traces = IncrementalDecoder(engine.decoder), []
    for z in queries.encoded.z.split(BATCH):
        traces += beam_search(decoder, z, engine.pool.trie, BEAMS, decoder_weight=1.0, trace=True).trace
    skipped, decoded = np.sum([skippable(trace) for trace in traces], axis=0)
    return float(skipped / decoded)


def skippable(trace: Sequence[LevelTrace]) -> tuple[int, int]:
    """Of one query: the beams that could be skipped, and all that were decoded, at levels 1 and on."""
    skipped = decoded = 0
    for before, after in pairwise(trace):
        beams, kept = before.score[before.kept], after.score[after.kept]
        decoded += len(beams)
        if len(kept) == BEAMS:
            skipped += int((beams < kept.min()).sum())
    return skipped, decoded


def markdown(report: dict[str, Any]) -> str:
    machine, times = report["machine"], report["times"]
    cells = [
        {"milliseconds": name} | {mode: decimals(times["milliseconds"][mode][name]["median"], 1) for mode in MODES}
        for name in times["milliseconds"][MODES[0]]
    ]
    parts = [
        "# One query",
        f"`{report['command']}`; {machine['processor']}, {machine['threads']} threads, torch {machine['torch']}; "
        f"{BEAMS} beams, {times['items']:,} random IDs, a decoder of the paper's size with random weights, batch 1, "
        "medians of rounds in which all take turns.",
        table(cells),
    ]
    if report["changes"]:
        parts += [
            f"The run's test queries: hit@{CUT}, re-ranked by embedding, and the share of candidates that stay.",
            table(
                [
                    {
                        "mode": change["mode"],
                        "method": change["method"],
                        f"hit@{CUT}": percent(change["hit_rate"]),
                        "same candidates": percent(change["same_candidates"]),
                    }
                    for change in report["changes"]
                ],
                text_columns=2,
            ),
            f"Bounds could skip {percent(report['skippable'])} % of the beams of exact search at most.",
        ]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> None:
    parser = command_parser("training.benchmarks.one_query", __doc__)
    parser.add_argument("out", type=Path, help="directory for the report")
    count = partial(parse_positive, "--items")
    parser.add_argument("--items", type=count, default=1_000_000, help="of the random IDs (default: %(default)s)")
    parser.add_argument("--without", default="", metavar="NAME,NAME", help="methods that are left out")
    parser.add_argument("--run", type=Path, help="a run: adds the change of its results")
    parser.add_argument("--collection", type=Path, help="default: the collection that the run was trained on")
    count = partial(parse_positive, "--limit")
    parser.add_argument("--limit", type=count, default=50, help="queries per row (default: %(default)s)")
    add_seed(parser, "IDs, weights and queries")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    names = chosen_methods(options.without)
    report = {
        "command": shlex.join(["python", "-m", "training.benchmarks.one_query", *arguments]),
        "machine": describe_machine(torch.device("cpu")),
        "times": measure_times(options.items, names, options.seed),
        "changes": [],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    write_report(options.out / "one_query", report, markdown(report))
    if options.run:
        engine = Engine.load(options.run, "cpu")
        with run_collection(options.run, options.collection, "test") as collection:
            how = {"limit": options.limit, "seed": options.seed, "phrasing": "seeded", "answerable": True}
            queries = EncodedSplit.encode(engine, collection, read_queries(collection, engine.index, "test", **how))
        report["changes"] = measure_changes(engine, queries, names)
        report["skippable"] = measure_skippable(engine, queries)
        write_report(options.out / "one_query", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main(sys.argv[1:])
