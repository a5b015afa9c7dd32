"""Train the ranker of a run: it orders candidates by all that a search knows of them (ours).

    python -m training.ranker COLLECTION RUN [--device cpu]

It learns from validation queries none of whose targets was a training target, so that it learns how far each part can
be trusted where encoder, fusion and decoder do not remember the answer. A (task, dataset) row that has few of them also
gives queries whose targets training saw: its test queries ask for such targets, too. Their candidates come from the
run's own search over all candidates of the collection, generation and scan together. The loss is listwise: the
probability that a softmax over the scores gives to the targets among the candidates. Prints what the ranker finds of
queries that a model of the other queries ranks (cross-validation), next to the cosine.

Shapes: n items, q queries, t candidates of all queries together, d dim, p parts.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from genius.encoding.quantize import QUANTIZE_BLOCK, quantize_all
from genius.errors import UserError
from genius.metrics.hit_rate import MISS, headline_cut
from genius.models.decoder import IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.models.ranker import Ranker, RankerConfig
from genius.models.saving import round_to_half
from genius.run import BUILT_FROM, Run, expect_run
from genius.schema import RANKER_PARTS, Modality, SearchOptions
from genius.search.candidates import Candidates, CandidateSearch
from genius.search.engine import batch_size
from genius.search.request_reader import sure_of
from genius.search.rerank import ranker_parts
from genius.trie.ids import pack
from genius.trie.pool import Pool
from training.class_pictures import training_collection
from training.command_line import parse_run
from training.distributed import run_alone
from training.features import FeatureSet
from training.pairs import CandidateTable, Pairs, unseen_queries
from training.reader import PART as READER
from training.stage import only_trainer, recorded_settings

PART = "ranker"
PER_ROW = 300  # validation queries with unseen targets of each (task, dataset) row
AT_LEAST = 50  # queries of a row; where fewer have unseen targets, others fill it up
MIN_QUERIES = 50  # with a target among their candidates
BEAMS = SearchOptions().beams
FOLDS = 5  # of the cross-validation
RIDGES = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of the map that predicts fused features, see Ranker
PENALTY = 1e-3  # of squared weights, each in units of its part's spread
STEPS = 200  # of L-BFGS
RESIDUALS = 200_000  # items at most that the map is fitted on


@dataclass(frozen=True)
class CandidateLists:
    """Candidates of q queries, one list after the other."""

    query: np.ndarray  # (t,) ascending
    parts: Tensor  # (t, p)
    modality: Tensor  # (t,)
    positive: Tensor  # (t,) bool
    number: np.ndarray  # (q,) of the query in its split
    row: np.ndarray  # (q,) the query's (task, dataset) row
    cut: np.ndarray  # (q,) the k of its hit rate

    @classmethod
    def join(
        cls,
        batches: Iterable[tuple[Candidates, Tensor, np.ndarray]],
        modalities: np.ndarray,
        number: np.ndarray,
        row: np.ndarray,
        cut: np.ndarray,
    ) -> "CandidateLists":
        """Of batches of queries: candidates, parts (t, p), which are targets (t,). modalities: of all items."""
        found, parts, targets = zip(*batches, strict=True)
        starts = np.cumsum([0, *(len(candidates.counts) for candidates in found)])
        query = np.concatenate([candidates.query + start for candidates, start in zip(found, starts)])
        modality = modalities[np.concatenate([candidates.row for candidates in found])].astype(np.int64)
        positive = torch.from_numpy(np.concatenate(targets))
        return cls(query, torch.cat(parts), torch.from_numpy(modality), positive, number, row, cut)

    @property
    def has_target(self) -> np.ndarray:
        """(q,) bool: there is a target among the candidates."""
        return np.bincount(self.query[self.positive.numpy()], minlength=len(self.row)) > 0

    def select(self, queries: np.ndarray) -> "CandidateLists":
        """The lists of some queries; queries (q,) bool."""
        selected = torch.from_numpy(queries[self.query])
        place = np.cumsum(queries) - 1
        of_candidates = (values[selected] for values in (self.parts, self.modality, self.positive))
        of_queries = (values[queries] for values in (self.number, self.row, self.cut))
        return CandidateLists(place[self.query[selected.numpy()]], *of_candidates, *of_queries)

    def order(self, scores: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """The candidates (t,) query by query, the highest of these scores (t,) first; and their ranks, from 1."""
        order = np.lexsort((np.arange(len(scores)), -scores.numpy(), self.query))
        first = np.searchsorted(self.query, np.arange(len(self.row)))
        return order, np.arange(len(order)) - first[self.query] + 1

    def ranks(self, scores: Tensor) -> np.ndarray:
        """(q,) rank of the first target among the candidates in the order of these scores (t,), or MISS."""
        order, place = self.order(scores)
        target, ranks = self.positive.numpy()[order], np.full(len(self.row), MISS)
        np.minimum.at(ranks, self.query[target], place[target])
        return ranks

    def hits(self, scores: Tensor) -> np.ndarray:
        """(q,) bool: a target is among the first `cut` of its candidates in the order of these scores (t,)."""
        return self.ranks(scores) <= self.cut


def main(arguments: Sequence[str] | None = None) -> None:
    train(*parse_run("training.ranker", __doc__, arguments))


def train(root: Path, path: Path, device: str) -> None:
    """Train the ranker and publish it as a part of the run.

    Raises UserError if the run was not trained on this collection, has too few validation queries or cannot be written,
    or if another process is changing it.
    """
    expect_run(path)
    started = time.perf_counter()
    with only_trainer(path):
        run = Run(path)
        settings = recorded_settings(run)
        collection, seed = training_collection(root, settings, run), settings.seed
        quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(device)
        decoder = IDDecoder.load(run.folder("decoder")).to(device)
        candidates = CandidateTable.read(collection)
        data = FeatureSet.read(run, collection, candidates, "val", seed)
        fused, embeddings = data.candidate_files.fused(run.digest("fusion"))[:, 0], data.candidate_files.embedding
        codes = quantize_all(fused, candidates.modalities, quantizer)
        ranker = Ranker(RankerConfig(quantizer.config.dim)).to(device)
        explained = fit_residuals(ranker, quantizer, fused, codes, embeddings, candidates.modalities)
        round_to_half(ranker)
        print(f"ranker: {explained:.1%} of what the quantizer lost of other items is predicted", flush=True)
        training_targets = np.unique(Pairs.read(collection, "train", candidates).positives)
        queries = unseen_queries(data.pairs, training_targets, PER_ROW, seed, AT_LEAST)
        lists = search_validation_queries(run, data, quantizer, decoder, ranker, codes, queries)
        for name, scores in (("cosine", lists.parts[:, 0]), ("ranker", cross_validated_scores(lists, seed))):
            hits = lists.hits(scores)
            found = np.mean([hits[lists.row == row].mean() for row in np.unique(lists.row)])
            print(f"ranker: hit rate of {len(lists.row)} lists by {name} {found:.1%}")
        fit(ranker, lists)
        round_to_half(ranker)
        weights = dict(zip(RANKER_PARTS, ranker.weight.tolist(), strict=True))
        weights |= {kind.name.lower(): bias for kind, bias in zip(Modality, ranker.bias.tolist(), strict=True)}
        print("ranker: " + "  ".join(f"{name} {weight:.3g}" for name, weight in weights.items()))
        run.publish(PART, partial(ranker.save, half=True), tuple(sorted(BUILT_FROM[PART])))
        print(f"ranker: {time.perf_counter() - started:.0f} s")


def fit_residuals(
    ranker: Ranker,
    quantizer: ResidualQuantizer,
    fused: np.ndarray,
    codes: np.ndarray,
    embeddings: np.ndarray,
    modalities: np.ndarray,
) -> float:
    """Fit the map that predicts what the quantizer lost, on a sample of items.

    The ridge is the one whose map of every other item explains most of the items between; returns this share.
    """
    device = quantizer.codebook_0.device
    rows = np.unique(np.linspace(0, len(fused) - 1, RESIDUALS).astype(np.int64))
    z = torch.from_numpy(fused[rows].astype(np.float32))
    vectors = torch.from_numpy(embeddings[rows].astype(np.float32))
    parts = torch.from_numpy(codes[rows].astype(np.int64)).split(QUANTIZE_BLOCK)
    quantized = torch.cat([quantizer.decode(part.to(device)).cpu() for part in parts])
    inputs = (z, quantized, vectors, torch.from_numpy(modalities[rows]))
    even, odd = [values[::2] for values in inputs], [values[1::2] for values in inputs]
    shares = {}
    for ridge in RIDGES:
        trial = Ranker(ranker.config)
        trial.fit_residuals(*even, ridge)
        shares[ridge] = trial.explained(*odd)
    best = max(shares, key=shares.get)
    ranker.cpu().fit_residuals(*inputs, best)
    return shares[best]


@torch.no_grad()
def search_validation_queries(
    run: Run,
    data: FeatureSet,
    quantizer: ResidualQuantizer,
    decoder: IDDecoder,
    ranker: Ranker,
    codes: np.ndarray,
    chosen: np.ndarray,
) -> CandidateLists:
    """Search for the chosen validation queries; lists without a target among them are left out.

    Where the run has a reader, the modality that a query asks for is known, as in searches.
    """
    device, modalities = quantizer.codebook_0.device, data.candidates.modalities
    pool = Pool.build(pack(codes, quantizer.config.code_sizes), quantizer.config.code_sizes, device=device)
    search, weight = CandidateSearch(IncrementalDecoder(decoder)), decoder.config.decoder_weight
    embeddings, fused = data.candidate_files.embedding, data.query_files.fused(run.digest("fusion"))
    normalize = run.manifest.get("normalize_embeddings", False)
    cuts = np.array([headline_cut(dataset) for dataset in data.pairs.datasets])
    has_reader = run.has(READER) and quantizer.config.modality_code == "forced"
    wanted = modalities[data.pairs.positives[data.pairs.offsets[:-1]]]
    check_enough(len(chosen))

    def search_batch(batch: np.ndarray) -> tuple[Candidates, Tensor, np.ndarray]:
        z = torch.from_numpy(fused[batch, 0].astype(np.float32)).to(device)
        query_embeddings = torch.from_numpy(data.query_files.embedding[batch].astype(np.float32)).to(device)
        kinds = torch.from_numpy(sure_of(wanted[batch])).to(device) if has_reader else None
        _, candidates = search.search(z, pool, beams=BEAMS, decoder_weight=weight, kinds=kinds)
        given = search.first_codes(z, pool, kinds), pool.table, embeddings, modalities, query_embeddings, z, normalize
        parts = ranker_parts(ranker.to(device), search.codewords, candidates, *given)
        is_target = data.pairs.positive_mask(batch, candidates.row)[candidates.query, np.arange(len(candidates.row))]
        return candidates, parts.cpu(), is_target

    row, batches = data.pairs.rows[chosen], np.array_split(chosen, -(-len(chosen) // batch_size(BEAMS)))
    lists = CandidateLists.join(map(search_batch, batches), modalities, chosen, row, cuts[row])
    check_enough(lists.has_target.sum())
    return lists.select(lists.has_target)


def check_enough(lists: int) -> None:
    """Raises UserError if these lists of candidates are too few to train on."""
    if lists < MIN_QUERIES:
        raise UserError(
            f"a ranker learns from what a search finds for validation queries, and needs {MIN_QUERIES} lists with a "
            f"target among them; there are {lists}: add queries to the val split"
        )


def fit(ranker: Ranker, lists: CandidateLists) -> None:
    """Set the weights: −log of the probability of the targets, averaged over (task, dataset) rows."""
    ranker.cpu()
    query, count = torch.from_numpy(lists.query), len(lists.row)
    share = torch.from_numpy(1 / np.bincount(lists.row)[lists.row]).float()
    share /= share.sum()
    center, spread = lists.parts.mean(0), lists.parts.std(0).clamp(min=1e-6)
    inputs = (lists.parts - center) / spread
    first = torch.from_numpy(np.searchsorted(lists.query, np.arange(count)))
    place, longest = torch.arange(len(query)) - first[query], int(np.bincount(lists.query).max())
    scaled = torch.zeros(len(RANKER_PARTS), requires_grad=True)  # weights in units of the spreads
    bias = torch.zeros(len(Modality), requires_grad=True)
    optimizer = torch.optim.LBFGS([scaled, bias], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        scores = inputs @ scaled + bias[lists.modality]
        table = torch.full((2, count, longest), -torch.inf)
        table[0, query, place] = scores
        table[1, query, place] = scores.masked_fill(~lists.positive, -torch.inf)
        everything, targets = table.logsumexp(-1)
        value = (share * (everything - targets)).sum() + PENALTY * (scaled.square().sum() + bias.square().sum())
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        ranker.weight.copy_(scaled / spread)
        ranker.bias.copy_(bias - ranker.weight @ center)


def cross_validated_scores(lists: CandidateLists, seed: int) -> Tensor:
    """(t,) scores, each by a ranker that was fitted without the list's query."""
    fold = np.random.default_rng(seed).integers(FOLDS, size=lists.number.max() + 1)[lists.number]
    scores = torch.zeros(len(lists.query))
    for part in range(FOLDS):
        ranker = Ranker(RankerConfig(1))
        fit(ranker, lists.select(fold != part))
        left_out = torch.from_numpy(fold[lists.query] == part)
        scores[left_out] = ranker(lists.parts[left_out], lists.modality[left_out])[0].detach()
    return scores


if __name__ == "__main__":
    run_alone(main)
