"""What would a decoder find that knew exactly what lies below each prefix? Writes RUN/reports/lookahead.json and .md.

    python -m training.benchmarks.lookahead COLLECTION RUN [--temperatures 0.01,0.02,0.05] [--limit 40]

Validation queries among all candidates of the collection, by the run's features: candidate recall (the share of queries
with a positive among the generated IDs) at few and many beams, by

    geometry         the distance of codewords
    decoder          the run's decoder alone
    nearest below    the same, but a prefix of at most 16 items (trie.MAX_SCANNED) has the distance of the nearest of
                     their quantized vectors: what the codes alone say of what lies below, without training
    mass, τ = …      the exact mass below each prefix of a softmax over all items with this temperature, what
                     decoder.mass_temperature teaches (prefix_mass.py): as if a decoder had learned it fully
    all items        exhaustive search over the fused features, as many items as beams
    by the ranker    the same two by the scores of the run's ranker, where it has one, without the parts that a beam
                     search gives

Shapes: b queries, w beams, c children, n items, d dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.collections.mbeir import Collection
from genius.encoding.quantize import quantize_all
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, add_seed, command_parser, parse_integers, parse_positive
from genius.evaluation.tables import percent, table
from genius.files import write_report
from genius.models.decoder import IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.models.ranker import Ranker
from genius.run import Run
from genius.runtime import keep_freed_memory, usable_device
from genius.search.beam import beam_search
from genius.search.checks import MAX_BEAMS
from genius.trie.trie import MAX_SCANNED, Trie, expand_on_device
from training.command_line import expect_run, reported_command
from training.distributed import expect_one_process
from training.features import FeatureSet
from training.pairs import CandidateTable, Pairs
from training.prefix_mass import PrefixMass
from training.validation import targets_seen, unseen_queries

BATCH = 64  # queries searched together
PRODUCTS = 1 << 18  # of two vectors, computed at once
BEAMS = "1,2,5,10,20,50"
TEMPERATURES = "0.01,0.02,0.05"
RANKER_TEMPERATURE = 0.5  # on photographs better than 1 and 2

Found = tuple[Tensor, Tensor]  # (b, w) twice: the ranges low … high − 1 of the ID table that were found
PrefixScores = Callable[[Tensor, Tensor, int], Tensor]  # query (c,), node (c,), level of their last code -> (c,)


@dataclass(frozen=True)
class ValidationQueries:
    """What is searched for."""

    z: Tensor  # (q, d) fused features
    embeddings: Tensor  # (q, d)
    positives: list[np.ndarray]  # (q,) positions of their positives in the ID table
    rows: np.ndarray  # (q,) number of the (task, dataset) row
    unseen: np.ndarray  # (q,) bool: no positive was a training target

    def mean_recall(self, found: Found, chosen: np.ndarray) -> float | None:
        """The recall of the chosen (q,) queries, averaged over their rows; None: there are none."""
        low, high = (values.cpu().numpy() for values in found)
        recalled = np.array(
            [
                ((low[query] <= positives[:, None]) & (positives[:, None] < high[query])).any()
                for query, positives in enumerate(self.positives)
            ]
        )
        rows = np.unique(self.rows[chosen])
        return float(np.mean([recalled[chosen & (self.rows == row)].mean() for row in rows])) if len(rows) else None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.lookahead", __doc__)
    parser.add_argument("collection", type=Path, help="the M-BEIR-format directory that RUN was trained on")
    parser.add_argument("run", type=Path, help="a trained run with its features")
    parser.add_argument("--beams", default=BEAMS, metavar="N,N,…", help="beam sizes (default: %(default)s)")
    parser.add_argument(
        "--temperatures", default=TEMPERATURES, metavar="τ,τ,…", help="of the softmax (default: %(default)s)"
    )
    parser.add_argument(
        "--limit",
        type=lambda text: parse_positive("--limit", text),
        default=40,
        metavar="N",
        help="queries with seen and with unseen targets of each row (default: %(default)s)",
    )
    add_seed(parser, "the sample")
    add_device(parser)
    options = parser.parse_args(arguments)
    beams = parse_integers(options.beams, "--beams", 1, MAX_BEAMS)
    temperatures = parse_temperatures(options.temperatures)
    expect_run(options.run)
    keep_freed_memory()
    report = {
        "command": reported_command(
            "training.benchmarks.lookahead", arguments, {options.collection: "COLLECTION", options.run: "RUN"}
        )
    } | measure(
        Collection(options.collection),
        Run(options.run),
        beams,
        temperatures,
        options.limit,
        options.seed,
        str(usable_device(options.device)),
    )
    write_report(options.run / "reports" / "lookahead", report, markdown(report))


def parse_temperatures(text: str) -> tuple[float, ...]:
    """ "0.02,0.01" -> (0.01, 0.02). Raises UserError unless they are numbers above 0."""
    try:
        values = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        values = ()
    if not values or not 0 < values[0] <= values[-1] < float("inf"):
        raise UserError(f"--temperatures {text}: expected numbers above 0, separated by commas")
    return values


@torch.inference_mode()
def measure(
    collection: Collection,
    run: Run,
    beams: Sequence[int],
    temperatures: Sequence[float],
    limit: int,
    seed: int,
    device: str,
) -> dict[str, Any]:
    """The report, ready for JSON, without the command. limit: see `read_queries`.

    Raises UserError if the run lacks features of this collection.
    """
    candidates = CandidateTable.read(collection)
    data, fusion = FeatureSet.read(run, collection, candidates, "val", run.settings.seed), run.digest("fusion")
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(device)
    decoder = IncrementalDecoder(IDDecoder.load(run.folder("decoder")).to(device))
    fused = data.candidate_files.fused(fusion)[:, 0]
    codes = quantize_all(fused, candidates.modalities, quantizer)
    mass = PrefixMass(fused, codes, quantizer.config.code_sizes, device)
    training_targets = np.unique(Pairs.read(collection, "train", candidates).positives)
    queries = read_queries(data, fusion, mass, training_targets, limit, seed)

    def by_beam_search(weight: float) -> Callable[[Tensor, int], Found]:
        def search(z: Tensor, width: int) -> Found:
            found = beam_search(decoder, z, mass.trie, width, decoder_weight=weight)
            return found.low, found.high

        return search

    nearest = NearestBelow(mass.trie, quantizer, codes[mass.position.argsort().cpu().numpy()])
    searches = {
        "geometry": (by_beam_search(0.0), queries.z),
        f"nearest below, {MAX_SCANNED}": (
            lambda z, width: beams_by(nearest.scores_of(z), mass.trie, len(z), width),
            queries.z,
        ),
        "decoder": (by_beam_search(1.0), queries.z),
    }
    for temperature in temperatures:
        searches[f"mass, τ = {temperature:g}"] = (partial(mass_beams, mass, temperature=temperature), queries.z)
    searches["all items"] = (partial(nearest_items, mass), queries.z)
    if run.has("ranker"):
        vectors, items = ranker_vectors(
            Ranker.load(run.folder("ranker")),
            queries,
            data.candidate_files.embedding,
            fused,
            quantizer.decode(torch.from_numpy(codes.astype(np.int64)).to(device)).cpu(),
            candidates.modalities,
        )
        by_ranker = PrefixMass(items.numpy(), codes, quantizer.config.code_sizes, device)
        norm = float(vectors.norm(dim=-1).mean())  # of all queries, which PrefixMass normalizes
        searches[f"mass by the ranker, τ = {RANKER_TEMPERATURE:g}"] = (
            partial(mass_beams, by_ranker, temperature=RANKER_TEMPERATURE / norm),
            vectors,
        )
        searches["all items by the ranker"] = (partial(nearest_items, by_ranker), vectors)
    measured = []
    for name, (search, vectors) in searches.items():
        for width in beams:
            parts = [search(part, width=width) for part in vectors.to(device).split(BATCH)]
            found = tuple(torch.cat(values) for values in zip(*parts, strict=True))
            measured.append(
                {
                    "scores": name,
                    "beams": width,
                    "recall": queries.mean_recall(found, np.ones_like(queries.unseen)),
                    "recall_unseen": queries.mean_recall(found, queries.unseen),
                }
            )
    return {
        "queries": len(queries.rows),
        "unseen": int(queries.unseen.sum()),
        "candidates": len(candidates),
        "measured": measured,
    }


def read_queries(
    data: FeatureSet, fusion: str, mass: PrefixMass, training_targets: np.ndarray, limit: int, seed: int
) -> ValidationQueries:
    """A sample: of each row at most `limit` queries with unseen targets, and as many others."""
    pairs = data.pairs
    seen = targets_seen(pairs, training_targets)
    rng = np.random.default_rng(seed)
    others = [rng.permutation(np.flatnonzero(seen & (pairs.rows == row)))[:limit] for row in np.unique(pairs.rows)]
    chosen = np.sort(np.concatenate([unseen_queries(pairs, training_targets, limit, seed), *others]))
    position = mass.position.cpu().numpy()
    return ValidationQueries(
        torch.from_numpy(data.query_files.fused(fusion)[chosen, 0].astype(np.float32)),
        torch.from_numpy(data.query_files.embedding[chosen].astype(np.float32)),
        [position[pairs.positives[pairs.offsets[query] : pairs.offsets[query + 1]]] for query in chosen],
        pairs.rows[chosen],
        ~seen[chosen],
    )


def ranker_vectors(
    ranker: Ranker,
    queries: ValidationQueries,
    embeddings: np.ndarray,
    fused: np.ndarray,
    quantized: Tensor,
    modalities: np.ndarray,
) -> tuple[Tensor, Tensor]:
    """Vectors of queries (q, 2d + 1) and items (n, 2d + 1) whose inner products are the ranker's scores.

    They are without the parts that a beam search gives, and fused features are those of the items, not derived ones.
    embeddings, fused, quantized (n, d) and modalities (n,): of the items.
    """
    cosine, inner, distance = ranker.weight[:3].tolist()  # of RANKER_PARTS
    bias = ranker.bias[torch.from_numpy(modalities.astype(np.int64))] - distance * quantized.square().sum(-1)
    features = inner * torch.from_numpy(fused.astype(np.float32)) + 2 * distance * quantized
    items = torch.cat([torch.from_numpy(embeddings.astype(np.float32)), features, bias[:, None]], dim=1)
    one = torch.ones(len(queries.z), 1)
    return torch.cat([cosine * queries.embeddings, F.normalize(queries.z, dim=-1), one], dim=1), items


def mass_beams(mass: PrefixMass, z: Tensor, temperature: float, width: int) -> Found:
    """A beam search for features z (b, d) in which a prefix scores the mass below it."""
    cumulative = mass.cumulative(z, temperature)
    return beams_by(lambda query, node, level: mass.masses(cumulative, query, node), mass.trie, len(z), width)


def beams_by(prefix_scores: PrefixScores, trie: Trie, queries: int, width: int) -> Found:
    """A beam search by any scores of prefixes."""
    node = torch.full((queries, 1), trie.root, device=trie.device)
    for level in range(trie.levels):
        children = trie.children(node.flatten(), level)
        query = children.owner // node.shape[1]  # (c,) ascending
        sizes = torch.bincount(query, minlength=queries)
        place = torch.arange(len(query), device=trie.device) - (sizes.cumsum(0) - sizes)[query]
        scores = torch.full((queries, int(sizes.max())), -torch.inf, dtype=torch.float64, device=trie.device)
        nodes = torch.full(scores.shape, trie.root, device=trie.device)
        scores[query, place], nodes[query, place] = prefix_scores(query, children.node, level).double(), children.node
        node = nodes.gather(1, scores.topk(min(width, int(sizes.min()))).indices)
    return trie.ranges(node)


class NearestBelow:
    """Scores of prefixes by their codes: 2⟨z, e⟩ − ‖e‖², where e is what the prefix says of the vectors below it.

    That is the sum of its codewords or, if at most MAX_SCANNED items lie below, the nearest of their quantized vectors.
    """

    def __init__(self, trie: Trie, quantizer: ResidualQuantizer, codes: np.ndarray):
        """codes (n, M), in the order of the trie's ID table."""
        self._trie, self._quantizer = trie, quantizer
        self._codes = torch.from_numpy(codes.astype(np.int64)).to(trie.device)
        self._quantized = quantizer.decode(self._codes)  # (n, d)

    def scores_of(self, z: Tensor) -> PrefixScores:
        """For features z (b, d)."""

        def scores(query: Tensor, node: Tensor, level: int) -> Tensor:
            low, high = self._trie.ranges(node)
            is_few, found = high - low <= MAX_SCANNED, torch.empty(len(node), device=z.device)
            few, many = is_few.nonzero()[:, 0], (~is_few).nonzero()[:, 0]
            prefixes, place = low[many].unique(return_inverse=True)
            sums = self._quantizer.decode(self._codes[prefixes, : level + 1])
            found[many] = _nearness(z, query[many], sums, place)
            if len(few):
                owner, position = expand_on_device(low[few], (high - low)[few])
                each = _nearness(z, query[few][owner], self._quantized, position)
                found[few] = torch.full((len(few),), -torch.inf, device=z.device).scatter_reduce_(
                    0, owner, each, "amax"
                )
            return found

        return scores


def _nearness(z: Tensor, query: Tensor, vectors: Tensor, place: Tensor) -> Tensor:
    """(c,) 2⟨z, e⟩ − ‖e‖² of the queries (c,) and the vectors at these places (c,)."""
    parts = zip(query.split(PRODUCTS), place.split(PRODUCTS), strict=True)
    products = [(z[queries] * vectors[places]).sum(-1) for queries, places in parts]
    return 2 * torch.cat(products) - vectors.square().sum(-1)[place]


def nearest_items(mass: PrefixMass, z: Tensor, width: int) -> Found:
    """The nearest items by fused features, as ranges of one item each."""
    nearest = mass.similarities(z).topk(min(width, len(mass.position))).indices
    return nearest, nearest + 1


def markdown(report: dict[str, Any]) -> str:
    """A table with beams across; in brackets the recall of unseen targets."""
    rows = []
    for name in dict.fromkeys(entry["scores"] for entry in report["measured"]):
        own = [entry for entry in report["measured"] if entry["scores"] == name]
        cells = {
            str(entry["beams"]): f"{percent(entry['recall'])} ({percent(entry['recall_unseen'])})" for entry in own
        }
        rows.append({"scores": name} | cells)
    facts = (
        f"`{report['command']}`; {report['queries']:,} validation queries among {report['candidates']:,} candidates, "
        f"{report['unseen']:,} of them without any target that training saw (in brackets). Candidate recall in percent "
        "at these beams, means over rows."
    )
    return "\n\n".join(("# What lies below a prefix", facts, table(rows))) + "\n"


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
