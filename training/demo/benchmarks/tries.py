"""Three tries to make the decoder's part of a run worth more, on its own queries.

    python -m training.benchmarks.tries RUN state|pairs|codebooks --collection DIR [--seed N]

state      a dense vector from the decoder's states after kind and first code, its product with a
           vector of each item added to that of fused features (COBRA); beside it the same from z
pairs      pairs of picture and text get further IDs, of the picture alone and the text alone (GRDR)
codebooks  codebooks by k-means on items and queries: of one size, growing with depth, and taught to
           rank by each prefix as fused features do (PRO)

Prints averages over rows of hit rates and candidate recall, and differences with 95 % intervals. A
query's candidates are those of the kind that it asks for; beams are scored by geometry.

Shapes: q queries, n items, t IDs, M levels, d dim.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.evaluation.arguments import evaluation_parser, opened
from genius.evaluation.queries import EncodedSplit, read_queries
from genius.models.kmeans import kmeans
from genius.search.engine import Engine
from training.distributed import run_alone

MODULE = "training.benchmarks.tries"
LIMITS = {"train": 700, "val": 75, "test": 50}  # queries of a row
BEAMS = (5, 20, 50)
WEIGHTS = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
GROWING = (64, 128, 256, 256, 256, 256, 512, 1024)
Figures = dict[str, np.ndarray]  # what is measured -> (q,) of each query


@dataclass(frozen=True)
class Queries:
    """The queries of a split that the index answers."""

    z: Tensor  # (q, d)
    positives: list[np.ndarray]  # q times rows of the index
    kind: Tensor  # (q,) of the first positive
    cut: np.ndarray  # (q,) the k of its hit rate
    row: np.ndarray  # (q,) number of its benchmark row

    @classmethod
    def read(cls, engine: Engine, collection: Collection, split: str) -> "Queries":
        limit = LIMITS[split]
        sets = read_queries(collection, engine.index, split, limit=limit, seed=0, answerable=True)
        encoded = EncodedSplit.encode(engine, collection, sets)
        offsets, rows = encoded.qrels.offsets, encoded.qrels.rows
        kind = torch.from_numpy(np.asarray(engine.index.modalities)[rows[offsets[:-1]]]).long()
        row = np.repeat(np.arange(len(sets)), [len(queries) for queries in sets])
        return cls(
            encoded.encoded.z, np.split(rows, offsets[1:-1]), kind, np.array(encoded.cuts), row
        )

    def hits(self, found: Sequence[np.ndarray]) -> np.ndarray:
        """(q,) whether a positive is among the first; found: rows of each query, best first."""
        return np.array(
            [
                np.isin(positives, rows[:cut]).any()
                for positives, rows, cut in zip(self.positives, found, self.cut, strict=True)
            ],
            dtype=float,
        )

    def average(self, figure: np.ndarray) -> float:
        """Of the averages of the rows, in percent."""
        return 100 * float(np.mean([figure[self.row == row].mean() for row in set(self.row)]))

    def interval(self, figure: np.ndarray) -> tuple[float, float]:
        """Of the average, 95 %, by bootstrap of the queries of each row."""
        rng = np.random.default_rng(0)
        parts = [figure[self.row == row] for row in set(self.row)]
        drawn = [
            np.mean([rng.choice(part, len(part)).mean() for part in parts]) for _ in range(999)
        ]
        low, high = np.percentile(drawn, [2.5, 97.5])
        return 100 * low, 100 * high


@dataclass(frozen=True)
class Tried:
    """A run with its items and queries in memory."""

    engine: Engine
    collection: Collection
    seed: int

    @cached_property
    def items(self) -> Tensor:
        """(n, d) fused features."""
        return torch.from_numpy(np.asarray(self.engine.index.fused, dtype=np.float32))

    @cached_property
    def kinds(self) -> Tensor:
        """(n,)"""
        return torch.from_numpy(np.asarray(self.engine.index.modalities)).long()

    @cached_property
    def train(self) -> Queries:
        return Queries.read(self.engine, self.collection, "train")

    @cached_property
    def val(self) -> Queries:
        return Queries.read(self.engine, self.collection, "val")

    @cached_property
    def test(self) -> Queries:
        return Queries.read(self.engine, self.collection, "test")

    def by_scores(self, queries: Queries, scores: Tensor) -> np.ndarray:
        """(q,) hits by scores (q, n) of the items of the wanted kind."""
        masked = scores.masked_fill(self.kinds != queries.kind[:, None], -torch.inf)
        return queries.hits(list(masked.topk(int(queries.cut.max())).indices.numpy()))

    def measure(self, codes: np.ndarray, owners: np.ndarray, books: list[Tensor]) -> Figures:
        """What scan and beam search find among IDs (t, M) of these items (t,), in their own order
        and in that of fused features.
        """
        found = {"scan": self._scan(codes, owners, books)}
        found |= {f"{beams} beams": self._beam(codes, owners, books, beams) for beams in BEAMS}
        figures = {}
        for name, candidates in found.items():
            figures[name] = self.test.hits(candidates)
            by_fused = [
                rows[np.argsort(-(self.items[rows] @ z).numpy(), kind="stable")]
                for rows, z in zip(candidates, self.test.z, strict=True)
            ]
            figures[f"{name} + fused"] = self.test.hits(by_fused)
            everything = replace(self.test, cut=np.full(len(candidates), len(self.items)))
            figures[f"{name}, recall"] = everything.hits(candidates)
        return figures

    def _scan(self, codes: np.ndarray, owners: np.ndarray, books: list[Tensor]) -> list[np.ndarray]:
        quantized = sum_of_codewords(codes, books)
        found = []
        for z, kind in zip(self.test.z, self.test.kind.tolist(), strict=True):
            of_kind = np.flatnonzero(codes[:, 0] == kind)
            scores = 2 * quantized[of_kind] @ z - quantized[of_kind].square().sum(-1)
            best = scores.topk(min(600, len(of_kind))).indices.numpy()
            found.append(first_of_each(owners[of_kind[best]])[:200])
        return found

    def _beam(
        self, codes: np.ndarray, owners: np.ndarray, books: list[Tensor], beams: int
    ) -> list[np.ndarray]:
        found: list[np.ndarray] = [np.empty(0, int)] * len(self.test.z)
        for kind in self.test.kind.unique().tolist():
            queries = torch.where(self.test.kind == kind)[0]
            of_kind = np.flatnonzero(codes[:, 0] == kind)
            prefix = np.zeros(len(of_kind), int)  # number of each ID's prefix so far
            vectors = torch.zeros(1, self.items.shape[1])
            kept = torch.ones(len(queries), 1, dtype=torch.bool)
            for level, book in enumerate(books):
                pairs = prefix * 2**32 + codes[of_kind, level]
                _, first, longer = np.unique(pairs, return_index=True, return_inverse=True)
                vectors = vectors[prefix[first]] + book[codes[of_kind[first], level]]
                scores = 2 * self.test.z[queries] @ vectors.T - vectors.square().sum(-1)
                scores = scores.masked_fill(~kept[:, prefix[first]], -torch.inf)
                best = scores.topk(min(beams, len(first)))
                kept = torch.zeros_like(scores, dtype=torch.bool)
                kept.scatter_(1, best.indices, best.values > -torch.inf)
                prefix = longer
            order = np.argsort(prefix, kind="stable")
            below = np.split(owners[of_kind[order]], np.flatnonzero(np.diff(prefix[order])) + 1)
            for number, ids in zip(queries.tolist(), best.indices.tolist(), strict=True):
                found[number] = first_of_each(np.concatenate([below[at] for at in ids]))
        return found


def first_of_each(rows: np.ndarray) -> np.ndarray:
    """Rows without repetition, in their order."""
    return rows[np.sort(np.unique(rows, return_index=True)[1])]


def sum_of_codewords(codes: np.ndarray | Tensor, books: list[Tensor]) -> Tensor:
    """Codes (t, M) -> (t, d)."""
    return torch.stack([book[codes[:, level]] for level, book in enumerate(books)]).sum(0)


def report(tried: Tried, name: str, figures: Figures, base: Figures | None = None) -> None:
    """Print averages, with the base also how much more they are."""
    for what, figure in figures.items():
        line = f"{name:28} {what:22} {tried.test.average(figure):5.1f}"
        if base:
            more = figure - base[what]
            low, high = tried.test.interval(more)
            line += f"  {tried.test.average(more):+.1f} [{low:.1f}, {high:.1f}]"
        print(line, flush=True)


def try_state(tried: Tried) -> None:
    exact = {name: of.z @ tried.items.T for name, of in (("val", tried.val), ("test", tried.test))}
    base = tried.by_scores(tried.test, exact["test"])
    report(tried, "exact order by z", {"hits": base})
    for name, inputs in (("decoder's states", states), ("z", lambda _, queries: queries.z)):
        train = inputs(tried.engine, tried.train)
        mean, spread = train.mean(0), train.std(0)
        heads = train_heads(tried, (train - mean) / spread)
        added = {}
        with torch.inference_mode():
            vectors = F.normalize(heads[1](tried.items), dim=-1)
            for split, queries in (("val", tried.val), ("test", tried.test)):
                asked = (inputs(tried.engine, queries) - mean) / spread
                added[split] = F.normalize(heads[0](asked), dim=-1) @ vectors.T
        best = max(
            WEIGHTS,
            key=lambda weight: tried.val.average(
                tried.by_scores(tried.val, exact["val"] + weight * added["val"])
            ),
        )
        hits = tried.by_scores(tried.test, exact["test"] + best * added["test"])
        report(tried, f"with {best} of {name}", {"hits": hits}, {"hits": base})


@torch.inference_mode()
def states(engine: Engine, queries: Queries) -> Tensor:
    """(q, 2 m) last hidden states of the decoder after the kind and after the code that it likes
    best.
    """
    decoder = engine.retriever.decoder
    codes = engine.retriever.quantizer.encode(queries.z, queries.kind)
    second = decoder.config.offsets[1]
    parts = []
    for z, known in zip(queries.z.split(512), codes.split(512), strict=True):
        liked = decoder(z, known)[:, 1, second : decoder.config.offsets[2]].argmax(-1)
        tokens = torch.stack([known[:, 0] + decoder.config.offsets[0], liked + second], dim=1)
        hidden = decoder.t5(
            inputs_embeds=decoder._prefix(z),
            decoder_input_ids=F.pad(tokens, (1, 0)),
            output_hidden_states=True,
        ).decoder_hidden_states[-1]
        parts.append(hidden[:, 1:3].flatten(1))
    return torch.cat(parts)


def train_heads(
    tried: Tried, inputs: Tensor, epochs: int = 12, batch: int = 512
) -> list[nn.Module]:
    """Heads of queries and items, contrastive against positives of the batch and drawn items."""
    torch.manual_seed(tried.seed)
    rng = np.random.default_rng(tried.seed)
    hidden, dim = 768, tried.items.shape[1]
    query: nn.Module = nn.Sequential(
        nn.Dropout(0.1),
        nn.Linear(inputs.shape[1], hidden),
        nn.GELU(),
        nn.Dropout(0.2),
        nn.Linear(hidden, dim),
    )
    item = nn.Linear(dim, dim)
    scale = nn.Parameter(torch.tensor(3.0))
    optimizer = torch.optim.AdamW(
        [*query.parameters(), *item.parameters(), scale], lr=1e-3, weight_decay=0.05
    )
    steps = len(inputs) // batch
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, epochs * steps)
    for _ in range(epochs):
        for chosen in np.array_split(rng.permutation(len(inputs)), steps):
            of_batch = [tried.train.positives[number] for number in chosen]
            drawn = rng.integers(0, len(tried.items), 2048)
            rows = np.concatenate([[rng.choice(positives) for positives in of_batch], drawn])
            asked = F.normalize(query(inputs[chosen]), dim=-1)
            answers = F.normalize(item(tried.items[rows]), dim=-1)
            right = np.stack([np.isin(rows, positives) for positives in of_batch])
            no_answer = (tried.kinds[rows] != tried.train.kind[chosen][:, None]) | torch.from_numpy(
                right
            )
            own = torch.arange(len(chosen))
            no_answer[own, own] = False
            logits = (asked @ answers.T * scale.exp()).masked_fill(no_answer, -1e4)
            optimizer.zero_grad()
            F.cross_entropy(logits, own).backward()
            optimizer.step()
            schedule.step()
    return [query.eval(), item.eval()]


def try_pairs(tried: Tried) -> None:
    engine, index = tried.engine, tried.engine.index
    codes = index.codes(np.arange(index.n)).astype(np.int64)
    books = [book.float() for book in engine.retriever.decoder.codebooks]
    base = tried.measure(codes, np.arange(index.n), books)
    report(tried, "one ID", base)
    pairs = np.flatnonzero(tried.kinds == 2)
    views: dict[str, list[Tensor]] = {"picture": [], "text": []}
    for some in np.array_split(pairs, len(pairs) // 32):
        items = index.items(some.tolist())
        images = [open_image(tried.collection.image_path(item.image or "")) for item in items]
        with torch.inference_mode():
            both = engine.encoder.encode(images, [item.text for item in items])
            nothing = {
                "zero": torch.zeros_like(both.image),
                "no": torch.zeros_like(both.image_mask),
            }
            picture = replace(both, text=nothing["zero"], text_mask=nothing["no"])
            text = replace(both, image=nothing["zero"], image_mask=nothing["no"])
            views["picture"].append(engine.fusion(picture))
            views["text"].append(engine.fusion(text))
    kinds = torch.full((len(pairs),), 2)
    further = {
        name: engine.retriever.quantizer.encode(torch.cat(parts), kinds).numpy()
        for name, parts in views.items()
    }
    for names in (["picture"], ["text"], ["picture", "text"]):
        longer = np.concatenate([codes, *(further[name] for name in names)])
        owners = np.concatenate([np.arange(index.n), *[pairs] * len(names)])
        report(tried, f"and of {', '.join(names)}", tried.measure(longer, owners, books), base)


def try_codebooks(tried: Tried) -> None:
    vectors = torch.cat([tried.items, tried.train.z])
    kinds = torch.cat([tried.kinds, tried.train.kind])
    same = residual_kmeans((256,) * 8, vectors, kinds, tried.seed)
    growing = residual_kmeans(GROWING, vectors, kinds, tried.seed)
    owners = np.arange(len(tried.items))
    base: Figures | None = None
    for name, make in {
        "k-means, 256 codes": lambda: same,
        "k-means, growing": lambda: growing,
        "prefix ranking, 256 codes": lambda: taught_to_rank(tried, same),
        "prefix ranking, growing": lambda: taught_to_rank(tried, growing),
    }.items():
        books = make()
        figures = tried.measure(quantize(books, tried.items, tried.kinds).numpy(), owners, books)
        report(tried, name, figures, base)
        base = base or figures


def residual_kmeans(
    sizes: Sequence[int], vectors: Tensor, kinds: Tensor, seed: int
) -> list[Tensor]:
    """Codebooks: the mean of each kind, then k-means of what is left."""
    books = [torch.stack([vectors[kinds == kind].mean(0) for kind in range(3)])]
    for level, size in enumerate(sizes):
        codes = quantize(books, vectors, kinds)
        left = vectors - sum_of_codewords(codes, books)
        books.append(kmeans(left, size, 30, seed * 100 + level))
    return books


def quantize(books: list[Tensor], vectors: Tensor, kinds: Tensor) -> Tensor:
    """(t, d) -> (t, M)"""
    codes = [kinds]
    left = vectors - books[0][kinds]
    for book in books[1:]:
        codes.append((book.square().sum(-1) - 2 * left @ book.T).argmin(-1))
        left = left - book[codes[-1]]
    return torch.stack(codes, dim=1)


def taught_to_rank(tried: Tried, start: list[Tensor], steps: int = 1500) -> list[Tensor]:
    """Codebooks whose sums up to each level rank items as fused features do."""
    torch.manual_seed(tried.seed)
    rng = np.random.default_rng(tried.seed)
    books = [nn.Parameter(book.clone()) for book in start]
    optimizer = torch.optim.Adam(books, lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, steps)
    of_kind = [np.flatnonzero(tried.kinds == kind) for kind in range(3)]
    asked = [np.flatnonzero(tried.train.kind == kind) for kind in range(3)]
    for _ in range(steps):
        kind = int(rng.integers(3))
        queries = rng.choice(asked[kind], 256)
        positives = [rng.choice(tried.train.positives[number]) for number in queries]
        rows = np.unique(np.concatenate([positives, rng.choice(of_kind[kind], 768)]))
        rows = rows[tried.kinds[rows] == kind]
        z, items = tried.train.z[queries], tried.items[rows]
        teacher = (z @ items.T / 0.05).softmax(-1)
        with torch.no_grad():
            codes = quantize([book.detach() for book in books], items, tried.kinds[rows])
        partial = books[0][codes[:, 0]]
        losses = []
        for level, book in enumerate(books[1:], start=1):
            partial = partial + book[codes[:, level]]
            scores = (2 * z @ partial.T - partial.square().sum(-1)) / 0.1
            losses.append(F.kl_div(scores.log_softmax(-1), teacher, reduction="batchmean"))
        optimizer.zero_grad()
        (torch.stack(losses).mean() + (partial - items).square().sum(-1).mean()).backward()
        optimizer.step()
        schedule.step()
    return [book.detach() for book in books]


TRIES: dict[str, Callable[[Tried], None]] = {
    "state": try_state,
    "pairs": try_pairs,
    "codebooks": try_codebooks,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = evaluation_parser(MODULE, __doc__ or "")
    parser.add_argument("what", choices=TRIES)
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    engine, collection = opened(given)
    TRIES[given.what](Tried(engine, collection, given.seed))


if __name__ == "__main__":
    run_alone(main)
